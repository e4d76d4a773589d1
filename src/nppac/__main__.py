"""`python -m nppac`."""

from nppac.cli import main

if __name__ == "__main__":
    main()

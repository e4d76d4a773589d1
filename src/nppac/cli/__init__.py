"""The command line; only this package knows how arguments are parsed."""

import sys

try:
    from nppac.cli.main import main
except KeyboardInterrupt:  # the imports take seconds
    print("Stopped.", file=sys.stderr)
    raise SystemExit(130) from None

__all__ = ["main"]

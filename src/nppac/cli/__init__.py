"""The command line; only this package knows how arguments are parsed."""

from nppac.cli.starting import EndingAtOnce

with EndingAtOnce():
    from nppac.cli.main import main

__all__ = ["main"]

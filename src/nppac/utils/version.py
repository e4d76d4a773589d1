"""The version of the package, for records and for `nppac --version`."""

VERSION = "0.1.0"

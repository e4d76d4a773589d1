"""Reads pickles of NumPy arrays and plain containers, and executes nothing.

A pickle is a program. Here it is parsed into inert nodes, and arrays are built only afterwards,
from bytes that are copied, with types from a list of plain numbers.
"""

"""Sweeps: many runs from one plan, on the cores of this machine or on a Ray cluster."""

"""Figures, drawn from the records of runs and never from memory."""

"""The files of a run's directory; `metrics.csv` is described in `nppac.evaluation.metrics`."""

CONFIG_FILE = "config.json"
SUMMARY_FILE = "summary.json"
CHECKPOINT_FILE = "checkpoint.npz"
REFERENCE_FILE = "reference.npz"
DEMOS_FILE = "demos.npz"
"""Demonstrations that a program gave, and that are in no other file."""

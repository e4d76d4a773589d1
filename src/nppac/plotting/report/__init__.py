"""The report of runs: one HTML file that needs nothing but a browser."""

from nppac.plotting.report.page import write_report

__all__ = ["write_report"]

"""Conditions a GP on more than 20,000 points: no N x N matrix, only iterations."""

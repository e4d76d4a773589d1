"""Policies that leave the training machine: distillation, and acting with NumPy alone."""

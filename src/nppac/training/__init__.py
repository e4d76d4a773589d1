"""Training: configuration, replay, updates, the loop, checkpoints and run directories."""

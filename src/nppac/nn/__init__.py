"""Networks: perceptrons, policy heads, critics and densities."""

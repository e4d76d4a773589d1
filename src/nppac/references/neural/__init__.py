"""References made of networks: one network, a deep ensemble, dropout."""

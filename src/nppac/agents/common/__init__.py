"""What several methods share: losses, returns, networks and their steps."""

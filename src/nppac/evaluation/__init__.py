"""How good policies and methods are: episodes, metrics, comparisons and statistics."""

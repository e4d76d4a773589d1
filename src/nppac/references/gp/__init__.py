"""The Gaussian process reference: its variance grows away from the demonstrations."""

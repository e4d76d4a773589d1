"""Conditioning on more points than an N x N matrix can be held for."""

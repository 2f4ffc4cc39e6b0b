"""Probability distributions that scipy lacks or computes too slowly."""

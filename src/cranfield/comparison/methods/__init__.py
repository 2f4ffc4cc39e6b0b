"""Significance tests, one file for each family."""

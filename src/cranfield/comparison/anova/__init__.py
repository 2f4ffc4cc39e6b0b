"""Analysis of variance."""

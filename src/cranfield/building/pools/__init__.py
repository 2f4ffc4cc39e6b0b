"""Pools: which documents to judge, in which order, and what a pool would have found."""

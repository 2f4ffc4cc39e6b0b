"""A whole meta-evaluation from one file."""

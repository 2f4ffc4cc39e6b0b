"""A whole meta-evaluation study from one file."""

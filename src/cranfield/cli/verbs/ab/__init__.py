"""The verbs of `cranfield ab`: experiments with users."""

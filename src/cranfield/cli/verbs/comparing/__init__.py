"""The verbs that compare systems."""

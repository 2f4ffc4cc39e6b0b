"""The verbs that work with files."""

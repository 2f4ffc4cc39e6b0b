"""The verbs that build a test collection."""

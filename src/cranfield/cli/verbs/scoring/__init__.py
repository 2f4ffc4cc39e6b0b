"""The verbs that score search results."""

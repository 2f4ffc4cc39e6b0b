"""The verbs that score summaries and answers."""

"""The verbs on judgments by language models."""

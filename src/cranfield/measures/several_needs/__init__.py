"""Measures for topics with several needs: intents, aspects and dimensions of relevance."""

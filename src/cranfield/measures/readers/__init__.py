"""Measures that are models of readers: how far they go down the list, what they click, the time that they take."""

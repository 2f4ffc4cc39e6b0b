"""Which measure should I trust? Methods that evaluate measures, on scores and on collections."""

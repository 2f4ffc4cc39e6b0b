"""The verbs on labels of several assessors."""

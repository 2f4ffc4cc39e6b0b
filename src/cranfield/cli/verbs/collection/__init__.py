"""The verbs on the files of a collection."""

"""Names of measures: from a name to a measure and back."""

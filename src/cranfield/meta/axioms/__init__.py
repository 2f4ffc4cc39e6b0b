"""Which axioms a measure satisfies."""

"""What does a measure reward? Axioms tested on small lists."""

"""How many topics an experiment needs, and what it can find."""

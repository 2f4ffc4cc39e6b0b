"""The methods that merge labels, one file per idea; `merging_registry.py` finds them here."""

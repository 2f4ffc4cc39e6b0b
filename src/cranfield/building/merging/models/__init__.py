"""The methods that merge labels, one file per idea; `label_problem.py` finds them here."""

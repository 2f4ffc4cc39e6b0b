"""The report of an evaluation of runs: what is computed for it, one file per section."""

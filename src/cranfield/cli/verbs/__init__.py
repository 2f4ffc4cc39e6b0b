"""One file per verb: its options, what it calls, and how it prints the result."""

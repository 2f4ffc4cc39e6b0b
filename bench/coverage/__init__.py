"""What our intervals, tests and verdicts do at their defaults, on data like people's with a known truth."""

"""`cranfield log VERB`: logs of live traffic. One file per verb."""

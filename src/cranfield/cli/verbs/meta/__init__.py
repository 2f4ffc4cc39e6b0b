"""`cranfield meta VERB`: which measure should I trust? One file per verb."""

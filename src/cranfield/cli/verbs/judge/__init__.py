"""`cranfield judge VERB`: judge documents in the browser. One file per verb."""

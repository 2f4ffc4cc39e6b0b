"""`cranfield campaign VERB`: run an evaluation campaign. One file per verb."""

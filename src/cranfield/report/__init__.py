"""Reports: tables of scores, and figures."""

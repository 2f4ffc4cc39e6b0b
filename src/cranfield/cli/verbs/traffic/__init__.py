"""The verbs that evaluate with live traffic."""

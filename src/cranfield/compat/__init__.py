"""Stand-ins for the tools people evaluate with today: trec_eval, pytrec_eval and ir_measures."""

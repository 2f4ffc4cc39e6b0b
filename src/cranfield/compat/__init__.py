"""Replacements for other tools: trec_eval, ndeval, NTCIREVAL, pytrec_eval and ir_measures."""

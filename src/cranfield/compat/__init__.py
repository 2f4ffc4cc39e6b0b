"""Replacements for other tools: trec_eval, ndeval, gdeval, NTCIREVAL, pytrec_eval and ir_measures."""

"""Summaries, answers, nuggets, sessions."""

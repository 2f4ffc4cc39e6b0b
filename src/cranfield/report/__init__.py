"""Scores told to people and programs: tables in plain text, LaTeX, Markdown, HTML, CSV and JSON."""

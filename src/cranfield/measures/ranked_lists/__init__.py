"""Measures of ranked lists for one need: a file is a family, and its first line is the title and summary."""

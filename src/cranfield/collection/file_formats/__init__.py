"""The formats of runs and judgments: how they are recognised, read and written."""

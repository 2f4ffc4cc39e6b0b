"""The database of a judging project: SQLite by path, PostgreSQL by URL, and commits that many changes share."""

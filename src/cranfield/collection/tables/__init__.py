"""Small tables: their columns by name, their cells, and schemas that say what the columns may hold."""

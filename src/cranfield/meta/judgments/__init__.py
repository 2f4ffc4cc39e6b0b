"""How scores and rankings change with fewer or other judgments."""

"""How scores change with fewer or other judgments."""

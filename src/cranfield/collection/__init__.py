"""Topics, qrels and runs: reading, checking, converting and writing them."""

"""Lists made from joined lists: cut, in other orders, resampled, or under other judgments."""

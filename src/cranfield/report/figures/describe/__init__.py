"""What each figure shows, as data."""

"""What each figure shows, as data: columns, axes, titles and notes."""

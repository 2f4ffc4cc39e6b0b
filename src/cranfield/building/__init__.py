"""Make a test collection: choose topics, pool documents, measure agreement, merge labels, check machine judges."""

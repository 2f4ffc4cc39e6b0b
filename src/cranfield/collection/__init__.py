"""What was asked, judged and retrieved: topics, qrels and runs."""

"""A judging project: its settings, people, documents and judgments, who gets which document, and its files."""

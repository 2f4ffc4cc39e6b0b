"""Machine judges: compare their judgments with human ones, use both in valid intervals, and ask a language model."""

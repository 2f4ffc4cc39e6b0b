"""The options that several verbs share: what is read, and single options that recur."""

from cranfield.cli.options.option_values import (
    assumed_length,
    baseline_file,
    bytes_of,
    columns_of,
    named_files,
    numbers,
    whole_numbers,
)
from cranfield.cli.options.reading_options import QRELS_FORMATS, RUN_FORMATS, Detected, Files, Lists, Ranked, Sized
from cranfield.cli.options.recurring import (
    TESTS,
    alpha,
    asl,
    condensed,
    depth,
    intent_types,
    level,
    measures,
    missing,
    nan,
    order,
    per_topic,
    pool_depth,
    rel,
    resamples,
    scores,
    seed,
    show,
    significance_test,
    split_tags,
    threads,
    ties,
    topic_texts,
)
from cranfield.cli.options.source_options import (
    QRELS,
    RUNS,
    USUAL,
    Collection,
    Rescaled,
    Source,
    read_score_files,
    shared_measures,
)

__all__ = [
    "QRELS", "QRELS_FORMATS", "RUNS", "RUN_FORMATS", "TESTS", "USUAL", "Collection", "Detected", "Files",
    "Lists", "Ranked", "Rescaled", "Sized", "Source", "alpha", "asl", "assumed_length", "baseline_file", "bytes_of",
    "columns_of", "condensed", "depth", "intent_types", "level", "measures", "missing", "named_files", "nan",
    "numbers", "order", "per_topic", "pool_depth", "read_score_files", "rel", "resamples", "scores", "seed",
    "shared_measures", "show", "significance_test", "split_tags", "threads", "ties", "topic_texts", "whole_numbers",
]  # fmt: skip

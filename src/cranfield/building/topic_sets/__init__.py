"""Choose topics: a sample of a query log in strata, and train, validation and test parts of a set of topics."""

from __future__ import annotations

from cranfield.building.topic_sets.query_log import QueryLog
from cranfield.building.topic_sets.split_files import split_files
from cranfield.building.topic_sets.topic_sample import TopicSample, sample_topics
from cranfield.building.topic_sets.topic_split import TopicSplit, split_topics

__all__ = ["QueryLog", "TopicSample", "TopicSplit", "sample_topics", "split_files", "split_topics"]

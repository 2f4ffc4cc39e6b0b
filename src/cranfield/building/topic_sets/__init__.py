"""Choose topics from a query log, split them into train, validation and test parts, and plan user studies with them."""

from __future__ import annotations

from cranfield.building.topic_sets.query_log import QueryLog
from cranfield.building.topic_sets.topic_sample import TopicSample, sample_topics
from cranfield.building.topic_sets.topic_split import TopicSplit, split_files, split_topics
from cranfield.building.topic_sets.user_study import UserStudy, user_study

__all__ = [
    "QueryLog",
    "TopicSample",
    "TopicSplit",
    "UserStudy",
    "sample_topics",
    "split_files",
    "split_topics",
    "user_study",
]

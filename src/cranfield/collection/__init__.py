"""Topics, qrels and runs: reading, checking, converting and writing them.

The functions have the names of the verbs of `cranfield collection`.
"""

from typing import TYPE_CHECKING

from cranfield._lazy import names_of

if TYPE_CHECKING:
    from cranfield.building.topic_sets.topic_sample import sample_topics as sample_topics
    from cranfield.building.topic_sets.topic_split import split_files as split
    from cranfield.building.topic_sets.user_study import user_study as design
    from cranfield.collection.shards import shard_files as shard
    from cranfield.collection.stats import of_collection as stats

__all__ = ["design", "sample_topics", "shard", "split", "stats"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "stats": "collection.stats:of_collection",
            "sample_topics": "building.topic_sets.topic_sample:sample_topics",
            "split": "building.topic_sets.topic_split:split_files",
            "shard": "collection.shards:shard_files",
            "design": "building.topic_sets.user_study:user_study",
        },
    )

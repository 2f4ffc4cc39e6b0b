"""Verbs of no group, whose functions have other names."""

from typing import TYPE_CHECKING

from cranfield._lazy import names_of

if TYPE_CHECKING:
    from cranfield.collection.linting.lint import check_files as validate
    from cranfield.comparison.power.topic_set_size import topic_set_size as power
    from cranfield.evaluation.topic_sheet import topic_sheet as topics
    from cranfield.fairness.audit import audit as fairness

__all__ = [
    "fairness",
    "power",
    "topics",
    "validate",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "fairness": "fairness.audit:audit",
            "power": "comparison.power.topic_set_size:topic_set_size",
            "topics": "evaluation.topic_sheet:topic_sheet",
            "validate": "collection.linting.lint:check_files",
        },
    )

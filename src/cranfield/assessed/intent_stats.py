"""Statistics of diversity judgments: intents per topic, their types, and relevant documents by type and grade.

These are the numbers that papers report about diversity collections (Sakai 2013, Table 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.intents import Intents, judged_by_intent
from cranfield.collection.qrels import Qrels
from cranfield.collection.stats import Spread


@dataclass(frozen=True)
class IntentGroup:
    """The intents of one type, or all."""

    kind: str
    """`all`, `informational` or `navigational`."""
    per_topic: Spread
    """Intents with a relevant document per topic; the total is their number."""
    relevant: Spread
    """Relevant documents per intent; a document that is relevant to two intents counts twice in the total."""
    by_level: Mapping[float, int]
    """The number of these with each grade."""


@dataclass(frozen=True)
class IntentStatistics:
    """The intents of diversity judgments.

    >>> statistics = of_intents(b"1 1 d1 2\\n1 2 d1 1\\n1 2 d2 1\\n", types={"1": {"1": "nav", "2": "inf"}})
    >>> [(group.kind, group.per_topic.total, group.relevant.total) for group in statistics.groups]
    [('all', 2, 3), ('informational', 1, 2), ('navigational', 1, 1)]
    """

    topics: int
    groups: tuple[IntentGroup, ...]
    """All intents, then those of each type if types are given."""
    per_document: Spread
    """Intents to which a document is relevant, over the documents that are relevant to one or more."""
    relevant_documents: int
    """The number of these documents."""


def of_intents(qrels: Any, types: Any = None, rel: float = 1) -> IntentStatistics:
    """Statistics of judgments by intent; `types` is {topic: {intent: type}} or a file, as in `JoinOptions`.

    Intents without relevant documents are left out, with a warning.
    """
    judgments = Qrels.of(qrels)
    if types is not None and not judgments.has_intents:
        judgments = judgments.with_intents()
    _, intents = judged_by_intent(judgments, None, types)
    every = np.ones(len(intents), dtype=bool)
    groups = [_group("all", intents, every, rel)]
    if types is not None:
        groups.append(_group("informational", intents, ~intents.navigational, rel))
        groups.append(_group("navigational", intents, intents.navigational, rel))
    relevant = np.bincount(intents.document[intents.grade >= rel], minlength=len(intents.topic_of_document))
    relevant = relevant[relevant > 0]
    return IntentStatistics(len(judgments.topics), tuple(groups), Spread.of(relevant), len(relevant))


def _group(kind: str, intents: Intents, kept: NDArray[np.bool_], rel: float) -> IntentGroup:
    relevant = (intents.grade >= rel) & kept[intents.intent]
    levels, counts = np.unique(intents.grade[relevant], return_counts=True)
    return IntentGroup(
        kind,
        Spread.of(np.bincount(intents.topic[kept], minlength=intents.topics)),
        Spread.of(np.bincount(intents.intent[relevant], minlength=len(intents))[kept]),
        dict(zip(levels.tolist(), counts.tolist(), strict=True)),
    )

"""The judged documents of runs that are joined with judgments, as lists to pool from: what a simulation needs."""

from __future__ import annotations

import numpy as np

from cranfield.assessed.judged_documents import JudgedDocuments
from cranfield.assessed.segments import segment_starts
from cranfield.building.pools.pooled_lists import NEVER, DocumentNames, PooledLists, best_ranks
from cranfield.types import Index64


def lists_of_judged(documents: JudgedDocuments, depth: int | None) -> tuple[PooledLists, Index64]:
    """The judged documents among the first `depth` of every list, at their ranks; and their numbers in `documents`.

    >>> judged = JudgedDocuments.of({"q": {"b": 0, "c": 1}}, {"mine": {"q": {"a": 3, "b": 2, "c": 1}}})
    >>> lists, _ = lists_of_judged(judged, depth=2)
    >>> lists.docs(0), lists.rank.tolist()
    (['b'], [2])
    """
    lists = documents.lists
    assert lists.document is not None
    hits = np.flatnonzero(lists.rank <= depth) if depth else np.arange(len(lists.rank))
    run, topic = lists.run[lists.row[hits]].astype(np.int64), lists.topic[lists.row[hits]].astype(np.int64)
    rank, judged = lists.rank[hits].astype(np.int64), lists.document[hits].astype(np.int64)
    best = best_ranks(judged, rank, run, len(documents), len(lists.runs))
    kept = np.flatnonzero(best < NEVER)
    kept = kept[np.lexsort((best[kept], documents.topic[kept]))]
    number = np.full(len(documents), -1)
    number[kept] = np.arange(len(kept))
    row = topic * len(lists.runs) + run
    order = np.lexsort((rank, row))
    line = np.zeros(len(documents), dtype=np.int64)
    line[documents.document] = np.arange(len(documents.document))
    pooled = PooledLists(
        tuple(lists.topics),
        tuple(lists.runs),
        segment_starts(documents.topic[kept], len(lists.topics)),
        segment_starts(row[order], len(lists.topics) * len(lists.runs)),
        number[judged[order]],
        rank[order],
        DocumentNames(documents.qrels.table, line[kept]),
    )
    return pooled, kept

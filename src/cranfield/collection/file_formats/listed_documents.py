"""Records that hold a list of documents each: a question with its passages, a user with recommended or liked items.

{"question": ..., "contexts": [{"id": "p3", "score": 0.9}, ...]}, {"user": ..., "items": ["a", "b"]}, and frames with
such a column. A list of a run is in its order, best first, unless its documents have scores; in judgments each
document is relevant, unless it has a grade.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.collection.column_names import COLUMNS, DOCUMENTS, ITEMS, VALUE, find_columns
from cranfield.collection.columns import Columns, shown
from cranfield.errors import DataError

LISTS = {
    "run": (
        "retrieved", "retrieved_context_ids", "retrieved_contexts", "contexts", "context", "passages", "chunks",
        "results", "hits", "recommended", "recommendations", "documents", "docs", "items",
    ),
    "qrels": (
        "relevant_docs", "relevant_documents", "relevant_passages", "relevant_chunks", "relevant_items", "relevant_ids",
        "relevant", "evidence", "reference_context_ids", "reference_contexts", "gold",
    ),
}  # fmt: skip
"""What the lists are called. A column named by hand, or with a usual name of documents, may hold lists too."""
_NUMBERS = {"run": COLUMNS["score"], "qrels": COLUMNS["grade"]}


def listed_documents(names: Sequence[str], first: Callable[[str], Any], kind: str) -> tuple[str, str] | None:
    """The columns of the topic and of the lists; None if no column holds lists of documents.

    first: the value of a column in the first record.

    >>> record = {"id": "q1", "question": "why?", "contexts": ["p1", "p2"]}
    >>> listed_documents(list(record), record.get, "run")
    ('id', 'contexts')
    """
    words = {"topic": ("id", *COLUMNS["topic"]), "doc": (*DOCUMENTS, *LISTS[kind], *ITEMS)}
    places = find_columns(names, words)
    if len(places) < 2 or not _is_list(first(names[places["doc"]])):
        return None
    return names[places["topic"]], names[places["doc"]]


def columns_of_lists(topics: Sequence[Any], lists: Sequence[Any], kind: str, origin: str, unit: str) -> Columns:
    """An entry for each document of each list."""
    columns = Columns([], [], [], origin=origin, unit=unit, rows=[])
    for row, (topic, documents) in enumerate(zip(topics, lists, strict=True)):
        if not _is_list(documents):
            raise DataError(origin, None, f"{unit} {row + 1} is {shown(documents)}, expected a list of documents")
        ids, values = _documents(list(documents), kind, f"{unit} {row + 1}", origin)
        columns.topics += [topic] * len(ids)
        columns.docs += ids
        columns.values += values
        columns.rows += [row] * len(ids)  # type: ignore[operator]
    return columns


def _documents(documents: list[Any], kind: str, where: str, origin: str) -> tuple[list[Any], list[Any]]:
    """The ids of the documents of a list, and their scores or grades."""
    defaults = [1.0 / rank for rank in range(1, len(documents) + 1)] if kind == "run" else [1] * len(documents)
    if not documents or not isinstance(documents[0], Mapping):
        return documents, defaults
    places = find_columns(list(documents[0]), {"doc": (*DOCUMENTS, "id", *ITEMS), VALUE[kind]: _NUMBERS[kind]})
    keys = [list(documents[0])[places[role]] for role in ("doc", VALUE[kind]) if role in places]
    wrong = next((d for d in documents if not isinstance(d, Mapping) or not set(keys) <= d.keys()), None)
    if "doc" not in places or wrong is not None:
        first = documents[0] if wrong is None else wrong
        what = f"expected a document with {' and '.join(keys) or 'an id'}"
        raise DataError(origin, None, f"{where} has {shown(first)}, {what}")
    ids = [document[keys[0]] for document in documents]
    return ids, [document[keys[1]] for document in documents] if len(keys) == 2 else defaults


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray)

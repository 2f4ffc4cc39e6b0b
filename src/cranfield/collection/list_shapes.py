"""Shapes of dicts that people bring: {topic: {doc: value}}, {topic: [doc, ...]}, yes and no as grades, and a level too
many or too few."""

from __future__ import annotations

from collections.abc import Mapping, Set
from numbers import Real
from typing import Any

from cranfield.collection.column_names import VALUE
from cranfield.errors import DataError


def plain_lists(lists: Mapping[Any, Any], kind: str, origin: str) -> dict[Any, dict[Any, Any]]:
    """{topic: {doc: value}} from any of the shapes; each topic is looked at, and its documents only if they are a list.

    A list of documents is a ranking, best first, or in judgments the relevant documents.

    >>> plain_lists({"q": ["a", "b"]}, "run", "run")
    {'q': {'a': 1.0, 'b': 0.5}}
    >>> plain_lists({"q": ["a", "b"]}, "qrels", "qrels")
    {'q': {'a': 1, 'b': 1}}
    """
    if isinstance(lists, dict) and set(map(type, lists.values())) <= {dict}:
        return lists
    return {topic: _documents(topic, documents, kind, origin) for topic, documents in lists.items()}


def _documents(topic: Any, documents: Any, kind: str, origin: str) -> dict[Any, Any]:
    if isinstance(documents, Mapping):
        return dict(documents)
    if isinstance(documents, list | tuple) or (isinstance(documents, Set) and kind == "qrels"):
        for doc in documents:
            if not isinstance(doc, str | bytes | int) or isinstance(doc, bool):
                expected = f"a document's id, as in {{topic: [doc, ...]}}; with {VALUE[kind]}s: {{doc: {VALUE[kind]}}}"
                raise DataError(origin, None, f"topic {topic!r}: {str(doc)[:40]!r} in a list, expected {expected}")
        found = {doc: 1 if kind == "qrels" else 1 / rank for rank, doc in enumerate(documents, 1)}
        if len(found) < len(documents):
            twice = next(doc for place, doc in enumerate(documents) if doc in list(documents)[:place])
            raise DataError(origin, None, f"topic {topic!r}: document {twice!r} appears twice in its list")
        return found
    if isinstance(documents, Real):
        message = f"{topic!r} has the number {documents}, one level too few: expected {{topic: {{doc: {VALUE[kind]}}}}}"
        raise DataError(origin, None, message)
    raise DataError(origin, None, f"topic {topic!r}: expected a dict of documents")


def wrong_depth(lists: Mapping[Any, Any], kind: str) -> str:
    """A message if a dict has a level too many; empty otherwise.

    >>> wrong_depth({"bm25": {"q": {"d": 1.0}}}, "run")
    "one level too many: 'bm25' has {'q': {...}}, expected {topic: {doc: score}}"
    """
    for name, documents in lists.items():
        for inner, value in documents.items() if isinstance(documents, Mapping) else ():
            if isinstance(value, Mapping | list | tuple):
                shown = f"{{{inner!r}: {'{...}' if isinstance(value, Mapping) else '[...]'}}}"
                return f"one level too many: {name!r} has {shown}, expected {{topic: {{doc: {VALUE[kind]}}}}}"
            break
    return ""


def booleans_as_grades(lists: dict[Any, dict[Any, Any]]) -> dict[Any, dict[Any, Any]] | None:
    """The same with 1 for True and 0 for False; None if there is neither."""
    if not any(type(value) is bool for documents in lists.values() for value in documents.values()):
        return None
    return {
        topic: {doc: int(value) if type(value) is bool else value for doc, value in documents.items()}
        for topic, documents in lists.items()
    }

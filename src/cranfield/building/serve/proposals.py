"""Where documents come from: the order of a pool file, or a policy that learns from judgments."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Protocol

Item = tuple[str, str]
"""Topic and document."""


class Proposals(Protocol):
    """A source of documents to judge."""

    def next(self, topic: str) -> tuple[Item, float | None] | None:
        """The next document of a topic with its estimate, or None if the topic has no more."""

    def tell(self, topic: str, doc: str, grade: float) -> None:
        """A document was judged, whether it was proposed or not."""


class InOrder:
    """The documents of a pool in the order of its file.

    >>> order = InOrder([("1", "a"), ("2", "b")])
    >>> order.next("2"), order.next("2")
    ((('2', 'b'), None), None)
    """

    def __init__(self, items: Iterable[Item]) -> None:
        self._left: dict[str, deque[str]] = defaultdict(deque)
        for topic, doc in items:
            self._left[topic].append(doc)

    def next(self, topic: str) -> tuple[Item, float | None] | None:
        docs = self._left.get(topic)
        return ((topic, docs.popleft()), None) if docs else None

    def tell(self, topic: str, doc: str, grade: float) -> None:
        """The order of a file does not depend on judgments."""

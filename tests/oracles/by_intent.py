"""Hits by intent, in slow and obvious Python: the core computes the same in one pass over the lists."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hypothesis import strategies as st


@dataclass(frozen=True)
class Columns:
    """Lists of documents, the number of intents of each list's topic, and the intents of each document."""

    lists: list[list[int]]
    intents: list[int]
    documents: list[list[int]]

    @property
    def hits(self) -> list[tuple[int, int]]:
        """(list, document) of every hit."""
        return [(number, document) for number, documents in enumerate(self.lists) for document in documents]

    @property
    def start(self) -> list[int]:
        return [sum(map(len, self.documents[:n])) for n in range(len(self.documents) + 1)]

    def entries(self) -> list[tuple[int, int, int, int]]:
        """(list, intent, hit, entry), by hit."""
        return [
            (number, intent, hit, self.start[document] + place)
            for hit, (number, document) in enumerate(self.hits)
            for place, intent in enumerate(self.documents[document])
        ]

    def before(self) -> list[tuple[int, int, int]]:
        """(hit, entry, hits above it in the list that have an entry for the same intent)."""
        seen: Counter[tuple[int, int]] = Counter()
        found = []
        for number, intent, hit, entry in self.entries():
            found.append((hit, entry, seen[number, intent]))
            seen[number, intent] += 1
        return found

    def by_intent(self) -> list[tuple[int, int, int]]:
        """(number of the list and intent, hit, entry), sorted by it and by rank."""
        return sorted(
            (sum(self.intents[:number]) + intent, hit, entry) for number, intent, hit, entry in self.entries()
        )


@st.composite
def columns(draw: st.DrawFn) -> Columns:
    most = draw(st.integers(1, 4))
    documents = draw(st.lists(st.sets(st.integers(0, most - 1)).map(sorted), min_size=1, max_size=6))
    numbers = st.lists(st.integers(0, len(documents) - 1), unique=True)
    lists = draw(st.lists(numbers, max_size=4))
    return Columns(lists, draw(st.lists(st.integers(most, 5), min_size=len(lists), max_size=len(lists))), documents)

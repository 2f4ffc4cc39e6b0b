"""Rankings, and how much attention the document at each rank gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.collection.run import Run
from cranfield.errors import DataError, UsageError
from cranfield.types import Array

Rankings = dict[str, list[list[str]]]

KINDS = ("geometric", "log", "trec")


@dataclass(frozen=True)
class Attention:
    r"""How much attention the document at each rank gets.

    | kind | at rank r |
    |---|---|
    | `geometric` | :math:`p^{r-1}`, as in RBP |
    | `log` | :math:`1 / \log_2(r + 1)`, as in nDCG |
    | `trec` | :math:`1 / \log_2 \max(r, 2)`, as in the TREC Fair Ranking tracks of 2021 and 2022 |

    Every relevant document above ends the reading with probability `stop` (a cascade, as in ERR). Ranks beyond `cutoff`
    get none.

    >>> Attention("geometric", p=0.5).of(np.zeros(3, dtype=bool)).tolist()
    [1.0, 0.5, 0.25]
    >>> Attention("geometric", p=1, stop=0.5).of(np.array([True, True, False])).tolist()
    [1.0, 0.5, 0.25]
    """

    kind: str = "geometric"
    p: float = 0.5
    stop: float = 0.0
    cutoff: int | None = None

    def __post_init__(self) -> None:
        check.one_of("attention", KINDS, kind=self.kind)
        check.finite("attention", p=self.p, stop=self.stop)
        check.between("attention", low=0, high=1, p=self.p, stop=self.stop)
        check.whole("attention", cutoff=self.cutoff)

    def of(self, relevant: NDArray[np.bool_]) -> Array:
        """The attention at every rank of a list, given which of its documents are relevant."""
        rank = np.arange(1, len(relevant) + 1, dtype=np.float64)
        if self.kind == "geometric":
            weight = self.p ** (rank - 1)
        else:
            weight = 1.0 / np.log2(rank + 1 if self.kind == "log" else np.maximum(rank, 2))
        if self.stop:
            above: NDArray[np.int64] = np.cumsum(relevant) - relevant
            weight = weight * (1.0 - self.stop) ** above
        return weight if self.cutoff is None else np.where(rank <= self.cutoff, weight, 0.0)

    def told(self) -> str:
        """In words.

        >>> Attention(p=0.8, cutoff=10).told()
        'geometric, p = 0.8, down to rank 10'
        """
        parts = [self.kind, *([f"p = {self.p:g}"] if self.kind == "geometric" else [])]
        parts += [f"stop = {self.stop:g}"] if self.stop else []
        return ", ".join([*parts, *([f"down to rank {self.cutoff}"] if self.cutoff else [])])


GEOMETRIC = Attention()
TREC = Attention("trec")


def rankings_of(thing: Any) -> Rankings:
    """{topic: rankings}, each the documents from the top."""
    if isinstance(thing, Mapping) and thing and all(_is_sequence(lists) for lists in thing.values()):
        found: Rankings = {}
        for topic, lists in thing.items():
            several = [lists] if lists and all(isinstance(doc, str) for doc in lists) else lists
            if not all(_is_sequence(one) for one in several):
                raise UsageError(f"rankings of topic {topic!r}: expected lists of documents, from the top")
            found[str(topic)] = [list(map(str, one)) for one in several]
    elif isinstance(thing, list | tuple) and thing and not isinstance(thing[0], tuple):
        found = {}
        for run in thing:
            for topic, lists in rankings_of(run).items():
                found.setdefault(topic, []).extend(lists)
    else:
        run = Run.of(thing)
        found = {topic: [[place.doc for place in run.ranking(topic)]] for topic in run.topics}
    for topic, lists in found.items():
        for one in lists:
            if len(set(one)) < len(one):
                doc = next(doc for i, doc in enumerate(one) if doc in one[:i])
                raise DataError("rankings", None, f"topic {topic!r}: document {doc!r} is ranked twice")
    return found


def _is_sequence(thing: Any) -> bool:
    return isinstance(thing, Sequence) and not isinstance(thing, str | bytes)


def relevant_grades(grades: Mapping[str, float], rel: float) -> dict[str, float]:
    """The relevant documents and their grades."""
    return {doc: float(grade) for doc, grade in grades.items() if grade >= rel}

"""Rankings, and the attention that the document at each rank gets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    r"""A model of the reader: how much attention the document at each rank gets.

    | kind | at rank r |
    |---|---|
    | `geometric` | :math:`p^{r-1}`, as in RBP |
    | `log` | :math:`1 / \log_2(r + 1)`, as in nDCG |
    | `trec` | :math:`1 / \log_2 \max(r, 2)`, as in the TREC Fair Ranking tracks of 2021 and 2022 |

    The reader stops after each relevant document with probability `stop` (a cascade, as in ERR). Ranks below `cutoff`
    get no attention.

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
        """Return the attention at every rank of a list; `relevant` says which of its documents are relevant."""
        rank = np.arange(1, len(relevant) + 1, dtype=np.float64)
        if self.kind == "geometric":
            weight = self.p ** (rank - 1)
        else:
            weight = 1.0 / np.log2(rank + 1 if self.kind == "log" else np.maximum(rank, 2))
        if self.stop:
            above: NDArray[np.int64] = np.cumsum(relevant) - relevant
            weight = weight * (1.0 - self.stop) ** above
        return weight if self.cutoff is None else np.where(rank <= self.cutoff, weight, 0.0)

    def __str__(self) -> str:
        """Describe the model in words.

        >>> print(Attention(p=0.8, cutoff=10))
        geometric, p = 0.8, down to rank 10
        """
        parts = [self.kind]
        if self.kind == "geometric":
            parts.append(f"p = {self.p:g}")
        if self.stop:
            parts.append(f"stop = {self.stop:g}")
        if self.cutoff:
            parts.append(f"down to rank {self.cutoff}")
        return ", ".join(parts)


GEOMETRIC = Attention()
TREC = Attention("trec")


def rankings_of(source: Any) -> Rankings:
    """Return {topic: rankings}; each ranking is a list of documents from the top."""
    rankings: Rankings = {}
    if isinstance(source, Mapping) and source and all(_is_sequence(lists) for lists in source.values()):
        for topic, lists in source.items():
            several = [lists] if lists and all(isinstance(doc, str) for doc in lists) else lists
            if not all(_is_sequence(ranking) for ranking in several):
                raise UsageError(f"rankings of topic {topic!r}: expected lists of documents, from the top")
            rankings[str(topic)] = [list(map(str, ranking)) for ranking in several]
    elif isinstance(source, list | tuple) and source and not isinstance(source[0], tuple):
        rankings = merged(rankings_of(run) for run in source)
    else:
        run = Run.of(source)
        rankings = {topic: [[place.doc for place in run.ranking(topic)]] for topic in run.topics}
    for topic, lists in rankings.items():
        for ranking in lists:
            if len(set(ranking)) < len(ranking):
                doc = next(doc for i, doc in enumerate(ranking) if doc in ranking[:i])
                raise DataError("rankings", None, f"topic {topic!r}: document {doc!r} is ranked twice")
    return rankings


def merged(parts: Iterable[Rankings]) -> Rankings:
    """Return the rankings of all parts, topic by topic."""
    rankings: Rankings = {}
    for part in parts:
        for topic, lists in part.items():
            rankings.setdefault(topic, []).extend(lists)
    return rankings


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def relevant_grades(grades: Mapping[str, float], rel: float) -> dict[str, float]:
    """Return the grades of the relevant documents."""
    return {doc: float(grade) for doc, grade in grades.items() if grade >= rel}

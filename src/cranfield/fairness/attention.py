"""What all measures of fairness read: rankings, the attention at each rank, and the groups of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.collection.run import Run
from cranfield.collection.tables.table_schema import DOC, Numbers, Schema, Words
from cranfield.errors import DataError, UsageError
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed
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


def scores_of_lists(
    names: Sequence[str], run: str, rankings: Rankings, of_list: Callable[[list[str]], Sequence[float] | Array]
) -> Scores:
    """Scores of every topic: the mean over its rankings of the numbers of each; undefined without rankings."""
    values = np.full((len(names), 1, len(rankings)), np.nan)
    for t, lists in enumerate(rankings.values()):
        if lists:
            values[:, 0, t] = np.mean([np.asarray(of_list(docs)) for docs in lists], axis=0)
    return Scores(names, (run,), tuple(rankings), values)


def relevant_grades(grades: Mapping[str, float], rel: float) -> dict[str, float]:
    """Return the grades of the relevant documents."""
    return {doc: float(grade) for doc, grade in grades.items() if grade >= rel}


UNKNOWN = "unknown"
GROUPS = Schema(
    "doc group [weight]",
    key=("doc", "group"),
    doc=DOC,
    group=Words(("group", "label", "category")),
    weight=Numbers(("weight", "share", "probability"), least=0, default=1.0),
)


@dataclass(frozen=True, eq=False)
class Groups:
    """How much each document belongs to each group; the shares of a document sum to 1.

    >>> groups = Groups.of({"d1": "north", "d2": {"north": 0.25, "south": 0.75}})
    >>> groups.names
    ('north', 'south')
    >>> groups.of_documents(["d2", "d1"]).tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """

    names: tuple[str, ...]
    documents: tuple[str, ...]
    membership: Array
    """documents × groups."""
    origin: str = "groups"

    @staticmethod
    def of(thing: Any) -> Groups:
        """Read {document: group}, {document: {group: weight}}, a frame, a file, or (document, group, weight) tuples.

        A file has lines `doc group` or `doc group weight`, separated by blanks, tabs or commas; the first line may
        hold the column names. Parquet files are also read. A document on several lines belongs to several groups, and
        its weights are divided by their sum.
        """
        if isinstance(thing, Groups):
            return thing
        if isinstance(thing, Mapping):
            thing = [(doc, group, weight) for doc, label in thing.items() for group, weight in _shares(label)]
        rows = GROUPS.read(thing, "groups")
        documents = {doc: i for i, doc in enumerate(dict.fromkeys(rows["doc"]))}
        names = {group: i for i, group in enumerate(dict.fromkeys(rows["group"]))}
        membership = np.zeros((len(documents), len(names)))
        membership[[documents[doc] for doc in rows["doc"]], [names[group] for group in rows["group"]]] = rows["weight"]
        total = membership.sum(axis=1)
        if (total == 0).any():
            doc = list(documents)[int(np.flatnonzero(total == 0)[0])]
            raise DataError(rows.origin, None, f"document {doc!r}: all its weights are 0, expected one above 0")
        return Groups(tuple(names), tuple(documents), membership / total[:, None], rows.origin)

    def __len__(self) -> int:
        return len(self.documents)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {doc: i for i, doc in enumerate(self.documents)}

    def of_documents(self, documents: Sequence[str]) -> Array:
        """Return the shares of these documents, as an array documents × groups."""
        lacking = [doc for doc in documents if doc not in self._place]
        if lacking:
            many = counted(len(lacking), "document has", "documents have")
            message = f"{many} no group: {listed(lacking)}; add them, or use covering(documents)"
            raise DataError(self.origin, None, message)
        return np.asarray(self.membership[[self._place[doc] for doc in documents]])

    def covering(self, documents: Iterable[str], group: str = UNKNOWN) -> Groups:
        """Return these groups with all of `documents`; those without a label are put in `group`.

        >>> Groups.of({"d1": "a"}).covering(["d1", "d2"]).of_documents(["d2"]).tolist()
        [[0.0, 1.0]]
        """
        new = [doc for doc in dict.fromkeys(map(str, documents)) if doc not in self._place]
        if not new:
            return self
        names = self.names if group in self.names else (*self.names, group)
        membership = np.zeros((len(self) + len(new), len(names)))
        membership[: len(self), : len(self.names)] = self.membership
        membership[len(self) :, names.index(group)] = 1.0
        return Groups(names, (*self.documents, *new), membership, self.origin)

    def column(self, group: str) -> int:
        """Return the column of a group in `membership`."""
        check.one_of("groups", self.names, group=group)
        return self.names.index(group)


def _shares(label: Any) -> list[tuple[Any, Any]]:
    """Return the (group, weight) pairs of one document."""
    if isinstance(label, Mapping):
        return list(label.items())
    if isinstance(label, set | frozenset):
        label = sorted(label)
    return [(group, 1.0) for group in (label if isinstance(label, list | tuple) else [label])]

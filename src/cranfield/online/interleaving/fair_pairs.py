"""FairPairs: swap neighbours of a list at random, so that clicks say which of two documents users prefer."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from cranfield.assessed.join_options import JoinOptions
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.collection.doors import reads
from cranfield.collection.source import PathLike, load, shown_path, text_of
from cranfield.declared.operation import Alpha, Seed, about, operation
from cranfield.errors import DataError, UsageError
from cranfield.notes import Notes
from cranfield.online.interleaving.interleaved_batch import ListLength
from cranfield.record import Record, column
from cranfield.text import counted, listed, shown
from cranfield.types import Array, Index64, Progress

METHOD = "fair-pairs"
EXPECTED = "a list of `fair_lists` with its clicks"


@dataclass(frozen=True)
class FairList:
    """A list to show, with what is needed to read clicks on it."""

    query_id: str
    query: str
    first: int
    """The position at which the pairs begin: 1 (1 and 2, 3 and 4, ...) or 2 (2 and 3, 4 and 5, ...)."""
    documents: tuple[str, ...]
    """As shown."""
    ranks: tuple[int, ...]
    """The rank of each document in the list of the system."""
    seed: int = 0
    clicks: tuple[str | int, ...] | None = None
    """Clicked documents or positions from 1 on; None if there are none yet."""

    def pairs(self) -> list[tuple[int, int]]:
        """The places, from 0 on, of the upper and the lower document of each pair.

        >>> FairList("i1", "q", 2, ("a", "b", "c", "d"), (1, 2, 3, 4)).pairs()
        [(1, 2)]
        """
        return [(place, place + 1) for place in range(self.first - 1, len(self.documents) - 1, 2)]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; log it with the positions or the documents that were clicked."""
        places = [
            {"position": at, "doc": doc, "rank": rank}
            for at, (doc, rank) in enumerate(zip(self.documents, self.ranks, strict=True), 1)
        ]
        entry = {"query_id": self.query_id, "query": self.query, "method": METHOD, "first": self.first}
        entry |= {"seed": self.seed, "shown": places}
        return entry if self.clicks is None else entry | {"clicks": list(self.clicks)}


def fair_list(ranking: Sequence[str], seed: int, query_id: str = "", query: str = "") -> FairList:
    """The list with some neighbours swapped: with equal chance the pairs begin at the first or at the second document,
    and each of them is swapped with probability 1/2.

    >>> fair_list(["a", "b", "c", "d"], seed=4).documents
    ('b', 'a', 'c', 'd')
    """
    if len(set(ranking)) < len(ranking):
        raise UsageError(f"fair_list: query {query!r} has a document twice")
    rng = random.Random(seed)
    first = rng.randint(1, 2)
    order = list(range(len(ranking)))
    for place in range(first - 1, len(order) - 1, 2):
        if rng.random() < 0.5:
            order[place], order[place + 1] = order[place + 1], order[place]
    documents = tuple(ranking[at] for at in order)
    return FairList(query_id, query, first, documents, tuple(at + 1 for at in order), seed)


@operation
def fair_lists(
    runs: Any,
    *,
    length: ListLength = 10,
    copies: Annotated[int, about("Lists of each topic, each with a seed of its own.", least=1)] = 1,
    seed: Seed = 0,
    options: JoinOptions | None = None,
    progress: Progress | None = None,
) -> list[FairList]:
    """The lists of one run to show to users, with neighbours swapped at random (FairPairs).

    >>> fair_lists({"mine": {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}}, copies=2)[1].query_id
    'i2'
    """
    pooled = PooledLists.of(runs, depth=length, options=options, progress=progress)
    if len(pooled.runs) != 1:
        raise UsageError(f"fair_lists: {counted(len(pooled.runs), 'run')}, must be one: {listed(pooled.runs)}")
    rng = random.Random(seed)
    made: list[FairList] = []
    for number, topic in enumerate(pooled.topics):
        for _ in range(copies):
            made.append(fair_list(pooled.docs(number), rng.getrandbits(32), f"i{len(made) + 1}", topic))
    return made


@reads
def read_fair_lists(path: PathLike) -> list[FairList]:
    """The lists of a JSON-lines file, with `clicks`: clicked documents, or positions from 1 on."""
    origin = shown_path(os.fspath(path))
    made: list[FairList] = []
    for number, line in enumerate(text_of(load(path), origin).splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError as error:
            raise DataError(origin, number, f"not valid JSON ({error}), expected {EXPECTED}") from None
        try:
            made.append(_of_entry(entry, number))
        except UsageError as error:
            raise DataError(origin, number, f"{error}, expected {EXPECTED}") from None
    if not made:
        raise DataError(origin, None, f"no lists, expected lines that hold {EXPECTED}")
    return made


def _of_entry(entry: Any, number: int) -> FairList:
    if not isinstance(entry, dict) or entry.get("method") != METHOD:
        raise UsageError(f"no list of the method {METHOD}")
    first, places, clicks = entry.get("first"), entry.get("shown"), entry.get("clicks")
    if first not in (1, 2):
        raise UsageError(f"'first' is {shown(first)}, must be 1 or 2")
    if not isinstance(places, list) or not all(isinstance(p, dict) and {"doc", "rank"} <= p.keys() for p in places):
        raise UsageError("'shown' must be a list of objects with doc and rank")
    if not all(isinstance(place["rank"], int) for place in places):
        raise UsageError("a rank is not a whole number")
    if not isinstance(clicks, list) or not all(isinstance(click, str | int) for click in clicks):
        raise UsageError(f"'clicks' is {shown(clicks)}, must be a list of documents or positions")
    documents = tuple(str(place["doc"]) for place in places)
    wrong = [c for c in clicks if not (c in documents if isinstance(c, str) else 1 <= c <= len(documents))]
    if wrong:
        raise UsageError(f"click {shown(wrong[0])} is on no document of the list")
    ranks = tuple(int(place["rank"]) for place in places)
    name = str(entry.get("query_id", f"line {number}"))
    return FairList(name, str(entry.get("query", "")), first, documents, ranks, 0, tuple(clicks))


@dataclass(frozen=True, eq=False, repr=False)
class PairPreferences(Record):
    """A row per query and pair of neighbours of the system's list: what clicks say of the two documents."""

    caption = "Preferences of users between neighbours"
    facts = ("alpha",)

    query: Annotated[Any, column()]
    upper: Annotated[Any, column()]
    """The document that the system ranks higher."""
    lower: Annotated[Any, column()]
    upper_clicks: Annotated[Index64, column("clicks on upper")]
    """Clicks on the upper document where it was shown below the other one."""
    upper_shown: Annotated[Index64, column("shown below")]
    lower_clicks: Annotated[Index64, column("clicks on lower")]
    lower_shown: Annotated[Index64, column("not swapped")]
    difference: Annotated[Array, column(better="higher")]
    """The share of clicks on the upper document, minus that on the lower one, each where it was shown below."""
    naive: Annotated[Array, column()]
    """The same share with clicks at both places, for the list as the system ranks it: biased by position."""
    p: Annotated[Array, column()]
    """Fisher's exact test of the two shares."""
    alpha: float
    notes: tuple[str, ...]

    def preferred(self) -> dict[str, set[tuple[str, str]]]:
        """{query: pairs of documents, the preferred one first} whose difference is significant."""
        found: dict[str, set[tuple[str, str]]] = {}
        for at in np.flatnonzero(self.p < self.alpha).tolist():
            pair = (str(self.upper[at]), str(self.lower[at]))
            found.setdefault(str(self.query[at]), set()).add(pair if self.difference[at] > 0 else pair[::-1])
        return found

    def sorted_rows(self) -> Index64:
        """The clearest differences first."""
        return np.argsort(np.where(np.isnan(self.p), 2.0, self.p), kind="stable")[:MOST_ROWS]


MOST_ROWS = 30


@operation
def fair_preferences(lists: Iterable[FairList] | PathLike, *, alpha: Alpha = 0.05) -> PairPreferences:
    r"""Which of two neighbours users prefer, from clicks on lists of FairPairs.

    A click on the lower document of a pair is a preference for it over the upper one. Users look at a place more or
    less often, whichever document is there; so where x was below y as often as y was below x, equally good documents
    get equally many preferences. With :math:`n_x` lists in which x is the lower one and :math:`c_x` clicks on it there,

    .. math:: \Delta_{xy} = \frac{c_x}{n_x} - \frac{c_y}{n_y}

    is above 0 if users prefer x. Pairs count in the lists in which they could have been swapped. The test is Fisher's
    exact test; it takes lists as independent.

    Reference: Radlinski & Joachims, Minimally Invasive Randomization for Collecting Unbiased Preferences from
    Clickthrough Logs, AAAI 2006; Ferro & Maistro 2024, §6.5

    >>> below = FairList("1", "q", 1, ("a", "b"), (1, 2), clicks=(2,))
    >>> above = FairList("2", "q", 1, ("b", "a"), (2, 1), clicks=())
    >>> fair_preferences([below, above]).difference.tolist()
    [-1.0]
    """
    from scipy.stats import fisher_exact

    every = read_fair_lists(lists) if isinstance(lists, str | os.PathLike) else list(lists)
    if not every:
        raise UsageError("fair_preferences: no lists")
    counts: dict[tuple[str, str, str], Index64] = {}
    clicked = 0
    for shown_list in every:
        if shown_list.clicks is None:
            raise UsageError(f"fair_preferences: list {shown_list.query_id} has no clicks; give those of all lists")
        marks = {c if isinstance(c, str) else shown_list.documents[c - 1] for c in shown_list.clicks}
        clicked += bool(marks)
        for above, below in shown_list.pairs():
            docs, ranks = shown_list.documents, shown_list.ranks
            swapped = ranks[above] > ranks[below]
            upper, lower = (docs[below], docs[above]) if swapped else (docs[above], docs[below])
            row = counts.setdefault((shown_list.query, upper, lower), np.zeros(6, dtype=np.int64))
            # shown and clicked below: of the upper document, of the lower one; clicks on both if not swapped
            row[0 if swapped else 2] += 1
            row[1 if swapped else 3] += docs[below] in marks
            if not swapped:
                row[4] += upper in marks
                row[5] += lower in marks
    if not counts:
        raise UsageError("fair_preferences: no pairs; lists need two documents or more")
    table = np.array(list(counts.values()))
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = table[:, 1] / table[:, 0] - table[:, 3] / table[:, 2]
        naive = (table[:, 4] - table[:, 5]) / table[:, 2]
    p = np.array([
        fisher_exact([[up, shown_up - up], [down, shown_down - down]]).pvalue if shown_up and shown_down else np.nan
        for shown_up, up, shown_down, down in table[:, :4].tolist()
    ])  # fmt: skip
    notes = Notes()
    if half := int(np.isnan(p).sum()):
        notes.caution(f"{counted(half, 'pair')} shown in one order only, so without a difference")
    lists_of = counted(len(every), "list")
    notes.method(f"{lists_of}, {clicked:,} with clicks; differences above 0: the upper one is preferred")
    low = int((p < alpha).sum())
    notes.method(f"{low:,} of {counted(len(p), 'pair')} with p < {alpha:g}, not corrected for their number")
    queries, uppers, lowers = (np.array(names, dtype=object) for names in zip(*counts, strict=True))
    return PairPreferences(
        queries, uppers, lowers,
        upper_clicks=table[:, 1], upper_shown=table[:, 0], lower_clicks=table[:, 3], lower_shown=table[:, 2],
        difference=difference, naive=naive, p=p, alpha=alpha, notes=tuple(notes),
    )  # fmt: skip


def with_clicks(lists: Iterable[FairList], clicks: Mapping[str, Sequence[str | int]]) -> list[FairList]:
    """The lists with {query_id: clicked documents or positions}; a list that is not named has no clicks.

    >>> with_clicks([fair_list(["a", "b"], seed=0, query_id="i1")], {"i1": [1]})[0].clicks
    (1,)
    """
    from dataclasses import replace

    return [replace(own, clicks=tuple(clicks.get(own.query_id, ()))) for own in lists]

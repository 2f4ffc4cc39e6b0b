"""Draw topics from a query log: head, torso and tail, with the probability of each query to be drawn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from cranfield import check
from cranfield.building.topic_sets.near_duplicates import near_duplicates
from cranfield.building.topic_sets.query_log import USUAL, QueryLog
from cranfield.collection.topics import Topic, Topics
from cranfield.declared.operation import Seed, about, operation
from cranfield.record import Columns, Record, column
from cranfield.table import Column, Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

STRATA = ("head", "torso", "tail")


@dataclass(frozen=True)
class Stratum:
    """The queries of a stratum, and how many were drawn."""

    name: str
    queries: int
    volume: int
    """How often the queries of the stratum were asked in all."""
    share: float
    """Its share of the volume of the log."""
    most: int
    """The count of its most frequent query."""
    least: int
    drawn: int


@dataclass(frozen=True, eq=False, repr=False)
class TopicSample(Record):
    """Topics drawn from a query log."""

    facts = ("seed", "draw", "queries", "volume")

    topics: Annotated[tuple[str, ...], column("topic")]
    """The ids of the topics."""
    texts: Annotated[tuple[str, ...], column("query")]
    """The queries."""
    classes: Annotated[tuple[str, ...], column("class")]
    """The stratum of each topic."""
    counts: Annotated[Index64, column("count")]
    """How often each query was asked, its near-duplicates included."""
    users: Annotated[Index64, column()] | None
    """How many users asked the query itself."""
    probability: Annotated[Array, column()]
    """The probability that the query is drawn."""
    strata: tuple[Stratum, ...]
    dropped: tuple[tuple[str, int, str], ...]
    """Near-duplicates: the query, how often it was asked, and the query that stands for it."""
    queries: int
    """The queries from which the topics were drawn."""
    volume: int
    draw: str
    seed: int
    notes: tuple[str, ...]

    @property
    def weight(self) -> Array:
        """The number of queries that each topic stands for: 1 / probability."""
        return 1 / self.probability

    def columns(self) -> Columns:
        """Also the weight."""
        return super().columns() | {"weight": self.weight}

    def strata_table(self) -> Table:
        """A row per stratum: its queries, their share of the volume, their counts, and how many were drawn."""
        columns = (
            Column("class"), Column("queries", "count"), Column("volume", "count"), Column("share", "number"),
            Column("most frequent", "count"), Column("least frequent", "count"), Column("drawn", "count"),
        )  # fmt: skip
        rows = tuple((s.name, s.queries, s.volume, s.share, s.most, s.least, s.drawn) for s in self.strata)
        return Table(columns, rows, "Strata of the log", self.notes)

    def dropped_table(self) -> Table:
        """A row per near-duplicate that was dropped, the most frequent first."""
        columns = (Column("dropped"), Column("count", "count"), Column("kept"))
        return Table(columns, self.dropped, "Near-duplicates", self.notes)

    def to_topics(self) -> Topics:
        """The topics, with the fields class, count, probability and (if the log names them) users."""
        made = []
        for i, (name, text) in enumerate(zip(self.topics, self.texts, strict=True)):
            fields = {"class": self.classes[i], "count": str(int(self.counts[i]))}
            if self.users is not None:
                fields["users"] = str(int(self.users[i]))
            made.append(Topic(name, text, fields=fields | {"probability": repr(float(self.probability[i]))}))
        return Topics(made)

    def to_classes(self) -> dict[str, str]:
        """{topic: class}."""
        return dict(zip(self.topics, self.classes, strict=True))


@operation
def sample_topics(
    log: Any,
    n: int | Sequence[int] = 50,
    *,
    strata: Sequence[str] = STRATA,
    shares: Sequence[float] | None = None,
    draw: Annotated[
        str,
        about(
            "{names}: every query of a stratum alike, or in proportion to how often it was asked.",
            choices=("uniform", "volume"),
            spelled="--sampling RULE",
        ),
    ] = "uniform",
    times: Annotated[
        int, about("Only queries that were asked N times or more.", least=1, spelled="--least-asked N")
    ] = 1,
    users: Annotated[int, about("Only queries that N users or more asked.", least=1, spelled="--least-users N")] = 1,
    normalise: Iterable[str] = USUAL,
    jaccard: float | None = 0.8,
    stem: bool = True,
    edits: bool = True,
    first: int = 1,
    prefix: str = "",
    seed: Seed = 0,
    **reading: Any,
) -> TopicSample:
    r"""Draw topics from a query log, in strata by frequency.

    1. Spellings of a query are counted as one (`normalise`, see `QueryLog.of`).
    2. Queries asked fewer than `times` times, or by fewer than `users` users, are left out.
    3. Near-duplicates are dropped, and their counts added to the query that is kept (`jaccard`, `stem`, `edits`; see
       `near_duplicates`). `jaccard=None` does not compare words.
    4. With queries in order, the most frequent first, a query is in the first stratum if those before it have less
       than the first share of the volume, and so on. Equally frequent queries are in the order of a hash of their text.
    5. `n` queries are drawn, the same number from each stratum, or the number given for each. The earlier strata get
       what is left over.

    draw: `uniform`, without replacement, where a query of a stratum of N queries has the probability n / N; or
        `volume`, where the probability is in proportion to the count: n · count / volume of the stratum, and 1 for
        queries so frequent that this would exceed 1 (systematic sampling in random order: Madow 1949).
    strata: names of the strata; one name draws from the whole log.
    shares: where strata end, as shares of the volume, such as (1/3, 2/3); by default strata have equal shares.
    first, prefix: topics are numbered from `first` on, and the number follows the prefix.

    The mean of a measure over all queries of the log is estimated by :math:`\sum_i s_i w_i / \sum_i w_i` with weights
    :math:`w_i = 1 / \text{probability}_i`, and the mean over all times that a query was asked with
    :math:`w_i = \text{count}_i / \text{probability}_i`.

    >>> log = {"weather": 60, "maps": 25, "news": 20, "tv guide": 8, "how to tie a tie": 4, "tie a how tie to": 1}
    >>> sample = sample_topics(log, 3, seed=1)
    >>> sample.texts, sample.classes, sample.probability.tolist()
    (('weather', 'maps', 'tv guide'), ('head', 'torso', 'tail'), [1.0, 1.0, 0.3333333333333333])
    """
    if jaccard is not None and not 0 < jaccard <= 1:
        raise check.wrong("sample_topics", "jaccard", jaccard, "above 0 and at most 1")
    strata = tuple(strata)
    ends = _ends(strata, shares)
    numbers = _numbers(n, strata)
    queries = QueryLog.of(log, normalise=normalise, **reading)
    before = len(queries)
    queries = queries.at_least(times, users)
    notes = [*queries.notes]
    queries, dropped = _without_duplicates(queries, jaccard, stem, edits)
    if dropped:
        lost = sum(count for _, count, _ in dropped)
        examples = listed([f"{query!r} ({kept!r} is kept)" for query, _, kept in dropped], most=3)
        what = counted(len(dropped), "near-duplicate is", "near-duplicates are")
        notes.append(f"{what} dropped, and their volume ({lost:,}) is added to the queries that are kept: {examples}")
    if before == 1:
        notes.append("the log has one query")
    queries = queries.take(_ranked(queries))
    stratum = strata_of(queries.counts, ends)
    notes += _notes_on_ties(queries.counts, stratum, strata)
    rng = np.random.default_rng(seed)
    rows: list[Index64] = []
    chances: list[Array] = []
    summaries = []
    for number, (name, wanted) in enumerate(zip(strata, numbers, strict=True)):
        members = np.flatnonzero(stratum == number)
        size = min(wanted, len(members))
        if size < wanted:
            have = f"{counted(len(members), 'query', 'queries')}, fewer than the {wanted:,} asked for"
            notes.append(f"{name} has {have}" + ("; all are taken" if size else ""))
        counts = queries.counts[members]
        probability = _probabilities(counts, size, draw)
        rows.append(members[_drawn(probability, size, draw, rng)])
        chances.append(probability[rows[-1] - members[0]] if size else np.empty(0))
        volume = int(counts.sum())
        limits = (int(counts.max()), int(counts.min())) if len(counts) else (0, 0)
        summaries.append(Stratum(name, len(members), volume, volume / queries.volume, *limits, size))
    at = np.concatenate(rows)
    chosen = queries.take(at)
    return TopicSample(
        tuple(f"{prefix}{first + i}" for i in range(len(at))), chosen.queries,
        tuple(strata[number] for number in stratum[at].tolist()), chosen.counts, chosen.users, np.concatenate(chances),
        tuple(summaries), dropped, len(queries), queries.volume, draw, seed, tuple(notes),
    )  # fmt: skip


def strata_of(counts: Index64, ends: Sequence[float]) -> Index64:
    """The number of the stratum of each query; the counts are in order, highest first.

    A query is in the first stratum if those before it have less than the first share of the volume, and so on.

    >>> strata_of(np.array([60, 25, 20, 10, 3, 2]), [1 / 3, 2 / 3]).tolist()
    [0, 1, 2, 2, 2, 2]
    """
    before = np.cumsum(counts) - counts
    limits = np.asarray(ends) * float(counts.sum())
    strata: Index64 = np.searchsorted(limits, before, side="right").astype(np.int64)
    return strata


def _ends(strata: Sequence[str], shares: Sequence[float] | None) -> list[float]:
    if not strata or len(set(strata)) < len(strata) or any(not name or name.split() != [name] for name in strata):
        raise check.wrong("sample_topics", "strata", ", ".join(strata), "names without blanks that differ")
    if shares is None:
        return [i / len(strata) for i in range(1, len(strata))]
    ends = [float(share) for share in shares]
    rising = all(a < b for a, b in zip([0.0, *ends], [*ends, 1.0], strict=True))
    if len(ends) != len(strata) - 1 or not rising:
        need = f"{len(strata) - 1} rising numbers between 0 and 1, where the first of {len(strata)} strata end"
        raise check.wrong("sample_topics", "shares", ends, need)
    return ends


def _numbers(n: int | Sequence[int], strata: Sequence[str]) -> list[int]:
    """How many topics to draw from each stratum."""
    if isinstance(n, int):
        check.whole("sample_topics", n=n)
        each, rest = divmod(n, len(strata))
        return [each + (number < rest) for number in range(len(strata))]
    numbers = list(n)
    if (
        len(numbers) != len(strata)
        or any(int(number) != number or number < 0 for number in numbers)
        or not any(numbers)
    ):
        need = f"a whole number for each of the {len(strata)} strata ({', '.join(strata)}), and not all 0"
        raise check.wrong("sample_topics", "n", numbers, need)
    return [int(number) for number in numbers]


def _without_duplicates(
    log: QueryLog, jaccard: float | None, stem: bool, edits: bool
) -> tuple[QueryLog, tuple[tuple[str, int, str], ...]]:
    """The log with the counts of near-duplicates added to those kept, and the queries that were dropped."""
    if jaccard is None and not edits:
        return log, ()
    kept = near_duplicates(log.keys, jaccard=2 if jaccard is None else jaccard, stem=stem, edits=edits)
    lost = np.flatnonzero(kept != np.arange(len(log)))
    counts = log.counts.copy()
    np.add.at(counts, kept[lost], log.counts[lost])
    dropped = tuple((log.queries[i], int(log.counts[i]), log.queries[int(kept[i])]) for i in lost.tolist())
    merged = replace(log, counts=counts)
    return merged.take(np.flatnonzero(kept == np.arange(len(log)))), dropped


def _ranked(log: QueryLog) -> Index64:
    """The order of queries: the most frequent first, equally frequent ones by a hash, so that no letter comes first."""
    digests = [hashlib.blake2b(key.encode(), digest_size=8).digest() for key in log.keys]
    hashes = np.frombuffer(b"".join(digests), dtype=np.uint64)
    return np.lexsort((hashes, -log.counts)).astype(np.int64)


def _notes_on_ties(counts: Index64, stratum: Index64, strata: Sequence[str]) -> list[str]:
    """Notes about queries of the same count on both sides of a border."""
    notes = []
    for at in np.flatnonzero(np.diff(stratum)).tolist():
        if counts[at] == counts[at + 1]:
            tied = int((counts == counts[at]).sum())
            names = f"{strata[int(stratum[at])]} and {strata[int(stratum[at + 1])]}"
            notes.append(
                f"the border between {names} is among {counted(tied, 'query', 'queries')} that were each asked "
                f"{counted(int(counts[at]), 'time')}; a hash of their text decides"
            )
    return notes


def _probabilities(counts: Index64, size: int, draw: str) -> Array:
    """The probability of each query of a stratum to be among the `size` that are drawn."""
    if draw == "uniform" or size in (0, len(counts)):
        return np.full(len(counts), size / max(1, len(counts)))
    probability = np.zeros(len(counts))
    certain = np.zeros(len(counts), dtype=bool)
    while True:
        rest = size - int(certain.sum())
        weights = np.where(certain, 0.0, counts.astype(np.float64))
        probability = np.where(certain, 1.0, rest * weights / weights.sum() if rest else 0.0)
        over = ~certain & (probability >= 1)
        if not over.any():
            return probability
        certain |= over


def _drawn(probability: Array, size: int, draw: str, rng: np.random.Generator) -> Index64:
    """The queries that are drawn, in order."""
    if draw == "uniform" or size in (0, len(probability)):
        return np.sort(rng.choice(len(probability), size, replace=False)).astype(np.int64)
    # Madow: lay the probabilities end to end in random order, and take the query at u, u + 1, u + 2 …
    order = rng.permutation(len(probability))
    upper = np.cumsum(probability[order])
    upper *= size / upper[-1]
    points = rng.random() + np.arange(size)
    return np.sort(order[np.minimum(np.searchsorted(upper, points, side="right"), len(order) - 1)]).astype(np.int64)

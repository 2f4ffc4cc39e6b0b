"""Predictive power: does a measure prefer the list that people prefer, side by side?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.collection.side_files import read_side_file
from cranfield.comparison.differences import gap
from cranfield.comparison.distributions.rank_distributions import sign_p
from cranfield.comparison.methods.resamples import check_resampling
from cranfield.errors import DataError, UsageError
from cranfield.frames import Tidy
from cranfield.measures.property_tables import lower_is_better
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Column, Estimate, Table
from cranfield.types import Array

TIES = ("half", "leave-out", "wrong")
"""A measure that finds both lists equally good, where a person preferred one: half right, not counted, or wrong."""
_HEADER = {"topic", "query", "query_id", "qid", "topic_id"}


@dataclass(frozen=True)
class Preferences:
    """Which of two runs people preferred on a topic, a row per judgment."""

    topic: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    preferred: tuple[int, ...]
    """1: the first, −1: the second, 0: neither."""
    assessor: tuple[str, ...]
    """Empty where it is not known."""
    origin: str = "preferences"

    def __len__(self) -> int:
        return len(self.topic)


def read_preferences(path: str | os.PathLike[str]) -> Preferences:
    """Lines of topic, run A, run B, preferred (A, B, tie, or the run's name), and maybe assessor.

    Columns are separated by tabs, commas, blanks or semicolons. A first line that begins with `topic` is a header.
    Empty lines and lines that begin with # are skipped.
    """
    file = read_side_file(
        path, "topic runA runB preferred [assessor]", [4, 5], separators="\t, ;", mixed=True, filled=4,
        header=lambda cells: cells[0].casefold() in _HEADER,
    )  # fmt: skip
    origin = file.origin
    rows: list[tuple[str, str, str, int, str]] = []
    for number, cells in file:
        topic, first, second, says = cells[:4]
        if first == second:
            raise DataError(origin, number, f"run {first!r} is compared with itself")
        ways = {"a": 1, "b": -1, "tie": 0, "both": 0, "=": 0, "neither": 0, first: 1, second: -1}
        way = ways.get(says, ways.get(says.casefold()))
        if way is None:
            raise DataError(origin, number, f"preferred {says!r}, must be A, B, tie, {first!r} or {second!r}")
        rows.append((topic, first, second, way, cells[4] if len(cells) == 5 else ""))
    if not rows:
        raise DataError(origin, None, "has no judgment, expected lines of topic runA runB preferred")
    topics, firsts, seconds, ways_told, who = zip(*rows, strict=True)
    return Preferences(topics, firsts, seconds, ways_told, who, origin)


@dataclass(frozen=True, eq=False, repr=False)
class PredictivePower(Tidy):
    """How often measures agree with preferences; arrays have an entry per measure."""

    measures: tuple[str, ...]
    agreement: Array
    """The share of judgments with which the measure agrees, by the rule for its ties."""
    low: Array
    high: Array
    agree: NDArray[np.int64]
    tied: NDArray[np.int64]
    """The measure finds both lists equally good."""
    disagree: NDArray[np.int64]
    p: Array
    """Two-sided sign test of agreements against disagreements: is it better than a coin?"""
    ties: str
    level: float
    resamples: int
    seed: int
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, agreement, low, high, agree, tied, disagree, p."""
        arrays = ("agreement", "low", "high", "agree", "tied", "disagree", "p")
        return {
            "measure": np.array(self.measures, dtype=object),
            **{name: np.asarray(getattr(self, name)) for name in arrays},
        }

    def _metadata(self) -> dict[str, Any]:
        facts = {name: getattr(self, name) for name in ("ties", "level", "resamples", "seed")}
        return {**facts, "notes": list(self.notes)}

    def table(self) -> Table:
        """A row per measure, the one that agrees most first."""
        kinds = {"agreement": "number", "agree": "count", "tied": "count", "disagree": "count", "p": "probability"}
        columns = (Column("measure"), *(Column(name, kind, "higher" if name == "agreement" else "neither")
                                        for name, kind in kinds.items()))  # fmt: skip
        rows: list[tuple[Cell, ...]] = []
        for i in np.argsort(-np.nan_to_num(self.agreement, nan=-1), kind="stable").tolist():
            name = self.measures[i]
            share = Estimate(name, "", float(self.agreement[i]), float(self.low[i]), float(self.high[i]), 0, 0, 0)
            rows.append((name, share, int(self.agree[i]), int(self.tied[i]), int(self.disagree[i]), float(self.p[i])))
        return Table(columns, tuple(rows), "Agreement with preferences", self.notes)

    def __str__(self) -> str:
        return self.table().text()

    __repr__ = __str__


def predictive_power(
    scores: Scores,
    preferences: Preferences | str | os.PathLike[str],
    measures: Any = None,
    *,
    ties: str = "half",
    level: float = 0.95,
    resamples: int = 1_000,
    seed: int = 0,
) -> PredictivePower:
    """How often each measure prefers the list that people preferred, side by side (Sakai 2014 §5.3).

    preferences: what `read_preferences` gave, or its file. Judgments of a tie are left out, and counted in a note: no
    measure can be right or wrong there. `ties` says what becomes of a tie by the measure. Each assessor's judgment
    counts once. The interval is the middle of the shares over resampled topics, for judgments of one topic go together;
    the sign test leaves out ties and takes judgments for independent.
    Reference: Sanderson, Paramita, Clough & Kanoulas, SIGIR 2010, doi:10.1145/1835449.1835542

    >>> scores = Scores(["P@1"], ["a", "b"], ["1", "2"], [[[1, 0], [0, 1]]])
    >>> given = Preferences(("1", "2"), ("a", "a"), ("b", "b"), (1, 1), ("", ""))
    >>> predictive_power(scores, given, resamples=0).agreement.tolist()
    [0.5]
    """
    check.one_of("predictive_power", TIES, ties=ties)
    check.between("predictive_power", low=0, high=1, level=level)
    check_resampling("predictive_power", resamples or 1, seed, None)
    if not isinstance(preferences, Preferences):
        preferences = read_preferences(preferences)
    if measures is not None:
        scores = scores.select(measures=measures)
    signs, topic, notes = _signs(scores, preferences)
    topics = int(topic.max()) + 1
    credit = (signs > 0) + (0.5 if ties == "half" else 0.0) * (signs == 0)
    counts = (signs != 0) if ties == "leave-out" else np.ones(signs.shape, dtype=bool)
    there = ~np.isnan(signs)
    right, judged = (
        np.stack([np.bincount(topic, weights=row, minlength=topics) for row in np.where(there, one, 0.0)])
        for one in (credit, counts)
    )
    low = high = np.full(len(scores.measures), np.nan)
    if resamples and topics > 1:
        times = np.random.default_rng(seed).multinomial(topics, np.full(topics, 1 / topics), size=resamples)
        drawn = times.astype(np.float64)
        low, high = _middle(_share(drawn @ right.T, drawn @ judged.T), level)
    agree, tied, disagree = ((signs == way).sum(axis=1).astype(np.int64) for way in (1, 0, -1))
    notes += [f"a tie by a measure: {ties}"]
    if resamples and topics > 1:
        notes += [f"{level:.0%} intervals: percentiles over {resamples:,} resamples of {topics} topics, seed {seed}"]
    elif resamples:
        notes += ["1 topic: no intervals over topics"]
    p = np.asarray(sign_p(agree.astype(np.float64), disagree.astype(np.float64), "two-sided"))
    share = _share(right.sum(axis=1), judged.sum(axis=1))
    return PredictivePower(
        scores.measures, share, low, high, agree, tied, disagree, p, ties, level, resamples, seed, tuple(notes)
    )


def _signs(scores: Scores, given: Preferences) -> tuple[Array, NDArray[np.int64], list[str]]:
    """measures × judgments that prefer one: 1 the measure agrees, −1 it does not, 0 it ties; and topics by number."""
    runs = {name: i for i, name in enumerate(scores.runs)}
    topics = {name: i for i, name in enumerate(scores.topics)}
    known = [
        topic in topics and first in runs and second in runs
        for topic, first, second in zip(given.topic, given.first, given.second, strict=True)
    ]
    if not any(known):
        raise UsageError(
            f"{given.origin}: no judgment is about runs and topics that have scores; the first is on topic "
            f"{given.topic[0]!r}, {given.first[0]!r} and {given.second[0]!r}; there are runs "
            f"{', '.join(scores.runs[:5])} and topics {', '.join(scores.topics[:5])}"
        )
    notes = [f"{len(given):,} judgments"]
    if not all(known):
        notes.append(f"{known.count(False):,} judgments left out: their run or topic has no scores")
    strict = [i for i, there in enumerate(known) if there and given.preferred[i] != 0]
    if not strict:
        raise UsageError(f"{given.origin}: all {known.count(True)} judgments are ties; nothing to predict")
    if len(strict) < known.count(True):
        notes.append(f"{known.count(True) - len(strict):,} judgments left out: neither list was preferred")
    t, a, b = (
        np.array([place[names[i]] for i in strict])
        for place, names in ((topics, given.topic), (runs, given.first), (runs, given.second))
    )
    way = np.array([given.preferred[i] for i in strict])
    turn = np.array([-1.0 if lower_is_better(name) else 1.0 for name in scores.measures])
    signs = np.sign(gap(scores.values[:, a, t], scores.values[:, b, t])) * way * turn[:, None]
    lacking = int(np.isnan(signs).any(axis=0).sum())
    if lacking:
        notes.append(f"{lacking:,} judgments count only for measures that are defined there")
    return signs, np.unique(t, return_inverse=True)[1].reshape(-1), notes


def _share(right: Array, judged: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(judged > 0, right / judged, np.nan))


def _middle(drawn: Array, level: float) -> tuple[Array, Array]:
    """resamples × measures → the ends of the middle; NaN for a measure that never counts."""
    never = np.isnan(drawn).all(axis=0)
    ends = np.nanquantile(np.where(never, 0.0, drawn), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return np.where(never, np.nan, ends[0]), np.where(never, np.nan, ends[1])

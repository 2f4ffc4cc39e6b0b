"""Runs topic by topic: the best, median and worst score of each topic, and the topics that decide between two runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.check import nearest
from cranfield.collection.accepted_inputs import TopicsLike
from cranfield.errors import UsageError
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.notes import caution_note
from cranfield.record import Columns, Record, table_of
from cranfield.table import Table
from cranfield.text import counted, listed
from cranfield.types import Array

if TYPE_CHECKING:
    from cranfield.scores.labels import MeasureLike
    from cranfield.scores.scores import Scores

SORTS = ("hardest", "difference", "spread", "topic")
"""The orders of topics: lowest median first, the run's largest deficit, largest spread, or as in the scores."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ByTopic(Record):
    """A row per measure and topic."""

    kinds: ClassVar[Mapping[str, str]]
    """The kinds of columns that are not text, counts or numbers."""
    measures: tuple[str, ...]
    data: Columns
    notes: tuple[str, ...]

    def columns(self) -> Columns:
        """measure, topic, title, and what the kind of table has."""
        return dict(self.data)

    def table(self) -> Table:
        """The columns, with the measure only if there are several."""
        shown = {name: column for name, column in self.data.items() if name != "measure" or len(self.measures) > 1}
        return table_of(shown, kinds=self.kinds, caption=self.caption, notes=self.notes)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TopicSheet(ByTopic):
    """The best, median and worst score of all runs, and one run against the median."""

    figure = "describe_topics"
    facts = ("measures", "runs", "run", "sort")
    kinds: ClassVar[Mapping[str, str]] = {"− median": "difference", "rank": "count"}

    runs: int
    run: str | None
    sort: str

    @property
    def caption(self) -> str:
        of = f"{self.run} against " if self.run is not None else ""
        return f"{listed(self.measures)} by topic: {of}{counted(self.runs, 'run')}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DecidingTopics(ByTopic):
    """The scores of two runs and their difference, largest first, and the mean difference without the topic."""

    figure = "deciding_topics_figure"
    facts = ("measures", "first", "second")
    kinds: ClassVar[Mapping[str, str]] = {"difference": "difference", "mean without it": "difference"}

    first: str
    second: str

    @property
    def caption(self) -> str:
        return f"{listed(self.measures)}: {self.first} − {self.second}"


@takes_runs
def topic_sheet(
    scores: Scores,
    measure: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    run: str | None = None,
    sort: str | None = None,
    topics: TopicsLike | None = None,
) -> TopicSheet:
    """The best, median and worst score of every topic, as in TREC's sheets of results, hardest topics first.

    With a `run`, also its score, its difference from the median and its rank; the topics where it is furthest below the
    median come first. `sort` is hardest, difference, spread (best − worst) or topic. `topics` is a file of topics,
    `Topics` or {topic: query}, for a column of titles. Undefined scores are left out of the median.

    >>> from cranfield.scores import Scores
    >>> values = [[0.2, 0.5, 0.9], [0.1, 0.0, 0.3]]
    >>> scores = Scores.from_matrix(values, runs=["a", "b", "c"], topics=["301", "302"], measure="AP")
    >>> print(topic_sheet(scores, run="a"))
    AP by topic: a against 3 runs
    topic       a  − median  rank    best  best run  median   worst  worst run  spread
    301    0.2000   -0.3000     3  0.9000  c         0.5000  0.2000  a          0.7000
    302    0.1000   +0.0000     2  0.3000  c         0.1000  0.0000  b          0.3000
    """
    sort = sort or ("hardest" if run is None else "difference")
    check.one_of("topic_sheet", SORTS, sort=sort)
    if sort == "difference" and run is None:
        raise UsageError("topic_sheet: sort == 'difference' is that of a run from the median; name the run: run=")
    if run is not None and run not in scores.runs:
        raise nearest(run, scores.runs, "run")
    chosen = scores if measure is None else scores.select(measures=measure)
    titles, notes = _titles(topics, chosen.topics)
    parts, undefined = [], []
    for name, values in zip(chosen.measures, chosen.values, strict=True):
        part, order = _sheet(name, values, chosen, run, sort)
        part = {"measure": np.full(len(order), name, dtype=object), **_labels(chosen.topics, titles), **part}
        parts.append({column: cells[order] for column, cells in part.items()})
        undefined += [
            f"{name} ({topic})" for topic in np.array(chosen.topics, dtype=object)[np.isnan(values).all(axis=0)]
        ]
    if _tied(chosen.values):
        notes.append("best run, worst run: of several runs with the same score, the first")
    if undefined:
        notes.append(caution_note(f"undefined for all runs: {listed(undefined)}"))
    notes += [*_missing(chosen), *chosen.notes]
    data = {column: np.concatenate([part[column] for part in parts]) for column in parts[0]}
    return TopicSheet(
        measures=chosen.measures, runs=len(chosen.runs), run=run, sort=sort, data=data, notes=tuple(notes)
    )


def _sheet(
    name: str, values: Array, scores: Scores, run: str | None, sort: str
) -> tuple[dict[str, NDArray[Any]], NDArray[np.intp]]:
    """The columns of one measure, and the order of its topics."""
    from cranfield.measures.property_tables import lower_is_better

    sign = -1.0 if lower_is_better(name) else 1.0
    good, runs = sign * values, np.array(scores.runs, dtype=object)
    undefined = np.isnan(good).all(axis=0)
    with np.errstate(invalid="ignore"):
        filled = np.where(undefined, 0.0, good)
        best, worst, median = (f(filled, axis=0) for f in (np.nanmax, np.nanmin, np.nanmedian))
    best, worst, median = (np.where(undefined, np.nan, x) for x in (best, worst, median))
    at = [np.argmax(np.where(np.isnan(good), -np.inf, x), axis=0) for x in (good, -good)]
    columns: dict[str, NDArray[Any]] = {}
    key = {"hardest": median, "spread": worst - best, "topic": np.zeros(len(median))}
    if run is not None:
        own = good[scores.runs.index(run)]
        rank: NDArray[Any] = 1 + (good > own).sum(axis=0)
        rank = np.where(np.isnan(own), np.nan, rank) if np.isnan(own).any() else rank
        columns = {run: sign * own, "− median": sign * (own - median), "rank": rank}
        key["difference"] = own - median
    columns |= {
        "best": sign * best,
        "best run": np.where(undefined, "", runs[at[0]]),
        "median": sign * median,
        "worst": sign * worst,
        "worst run": np.where(undefined, "", runs[at[1]]),
        "spread": best - worst,
    }
    return columns, np.lexsort((best, key[sort]))


def deciding_topics(
    scores: Scores,
    first: str,
    second: str,
    measure: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    topics: TopicsLike | None = None,
) -> DecidingTopics:
    """The topics that decide between two runs: the largest differences first, and the mean difference without each.

    A note says without how many topics the better run would no longer be better.

    >>> from cranfield.scores import Scores
    >>> values = [[0.2, 0.5], [0.4, 0.3], [0.3, 0.3]]
    >>> scores = Scores.from_matrix(values, runs=["a", "b"], topics=["301", "302", "303"], measure="AP")
    >>> print(deciding_topics(scores, "b", "a"))
    AP: b − a
    topic       b       a  difference  mean without it
    301    0.5000  0.2000     +0.3000          -0.0500
    302    0.3000  0.4000     -0.1000          +0.1500
    303    0.3000  0.3000     +0.0000          +0.1000
    AP: mean difference +0.0667 on 3 topics, 1 won, 1 tied, 1 lost; it changes sign without its most favourable topic
    """
    for name in (first, second):
        if name not in scores.runs:
            raise nearest(name, scores.runs, "run")
    if first == second:
        raise UsageError(f"deciding_topics: both runs are {first!r}, name two runs")
    chosen = scores if measure is None else scores.select(measures=measure)
    titles, notes = _titles(topics, chosen.topics)
    parts, sentences = [], []
    for name, values in zip(chosen.measures, chosen.values, strict=True):
        x, y = (values[chosen.runs.index(run)] for run in (first, second))
        difference = x - y
        defined = np.flatnonzero(~np.isnan(difference))
        total, n = difference[defined].sum(), len(defined)
        order = defined[np.argsort(-np.abs(difference[defined]), kind="stable")]
        without = (total - difference) / (n - 1) if n > 1 else np.full(len(difference), np.nan)
        part = {"measure": np.full(len(x), name, dtype=object), **_labels(chosen.topics, titles)}
        part |= {first: x, second: y, "difference": difference, "mean without it": without}
        parts.append({column: cells[order] for column, cells in part.items()})
        sentences.append(_sentence(name, difference[defined]))
        if n < len(difference):
            sentences.append(f"{name}: {counted(len(difference) - n, 'topic')} without a score of both runs left out")
    data = {column: np.concatenate([part[column] for part in parts]) for column in parts[0]}
    notes = [*sentences, *notes, *_missing(chosen), *chosen.notes]
    return DecidingTopics(measures=chosen.measures, first=first, second=second, data=data, notes=tuple(notes))


def _tied(values: Array) -> bool:
    """Do several runs share the highest or the lowest score of a topic?"""
    ends = (np.fmax.reduce(values, axis=1, keepdims=True), np.fmin.reduce(values, axis=1, keepdims=True))
    counts = [(values == end).sum(axis=1) for end in ends]
    return any(bool((count > 1).any()) for count in counts)


def _missing(scores: Scores) -> list[str]:
    """A note on topics that runs lack."""
    how = caution_note("count as empty lists") if scores.missing_rule == "zero" else "are left out"
    return [f"missing topics {how}: {listed(scores.lacking())}"] if scores.missing.any() else []


def _sentence(measure: str, difference: Array) -> str:
    n = len(difference)
    mean = difference.mean() if n else np.nan
    won, lost = int((difference > 0).sum()), int((difference < 0).sum())
    fewest = topics_that_decide(difference)
    topics = "most favourable topic" if fewest == 1 else f"{fewest} most favourable topics"
    sign = f"; it changes sign without its {topics}" if fewest else ""
    counts = f"{won} won, {n - won - lost} tied, {lost} lost"
    return f"{measure}: mean difference {mean:+.4f} on {counted(n, 'topic')}, {counts}{sign}"


def topics_that_decide(difference: Array) -> int:
    """The smallest number of topics without which the better system is no longer better; 0 if both are equal.

    >>> topics_that_decide(np.array([0.3, -0.1, 0.0]))
    1
    """
    total = float(difference.sum())
    if total == 0:
        return 0
    signed = difference if total > 0 else -difference
    left = signed.sum() - np.cumsum(-np.sort(-signed))
    return int(np.argmax(left <= 1e-12)) + 1


def _labels(topics: Iterable[str], titles: NDArray[Any] | None) -> Mapping[str, NDArray[Any]]:
    return {"topic": np.array(tuple(topics), dtype=object), **({} if titles is None else {"title": titles})}


def _titles(topics: TopicsLike | None, wanted: Iterable[str]) -> tuple[NDArray[Any] | None, list[str]]:
    """The title of each topic, and a note on topics without one."""
    if topics is None:
        return None, []
    from cranfield.collection.topics import topics_of  # only here: it needs parsers of markup

    known = topics_of(topics)
    ids = list(wanted)
    absent = [topic for topic in ids if topic not in known]
    if len(absent) == len(ids):
        raise UsageError(f"topics: none of the {len(ids)} judged topics, such as {ids[0]!r}, is in the file of topics")
    titles = [known[topic].title if topic in known else "" for topic in ids]
    return np.array(titles, dtype=object), [f"not in the file of topics: {listed(absent)}"] if absent else []

"""Scores with human and machine judgments, a row for each run or each difference of two runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.data import all_pairs
from cranfield.comparison.differences import noise, without_noise
from cranfield.errors import UsageError
from cranfield.measures.naming.parse import parse
from cranfield.scores.labels import positions
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed
from cranfield.types import Array, Index64


@dataclass(frozen=True, eq=False)
class ScoresByRow:
    """The scores of runs, or their differences, on topics with both judgments and on those with machine judgments."""

    measure: NDArray[Any]
    run: NDArray[Any]
    other: NDArray[Any] | None
    """The second run of each pair; None for single runs."""
    human: Array
    """rows × topics with both judgments."""
    machine: Array
    """The same with machine judgments."""
    others: Array
    """rows × topics with machine judgments only."""
    limits: tuple[Array, Array]
    """The smallest and the largest possible value of each row; NaN for a measure whose range is unknown."""
    topics: tuple[str, ...]
    other_topics: tuple[str, ...]
    notes: tuple[str, ...]

    @staticmethod
    def of(human: Scores, machine: Scores, baseline: str | None = None, pairs: bool = False) -> ScoresByRow:
        """A row per measure and run; per run other than the baseline; or per pair of runs."""
        if pairs and baseline is not None:
            raise UsageError(f"baseline == {baseline!r} and pairs=True exclude each other; leave out one of them")
        shared, others, notes = split_topics(human, machine)
        machine = machine.select(human.measures, human.runs)
        first, second = _runs_of_rows(human, baseline, pairs)
        names = np.array(human.runs, dtype=object)
        both = human.select(topics=shared), machine.select(topics=shared)
        return ScoresByRow(
            np.repeat(np.array(human.measures, dtype=object), len(first)),
            np.tile(names[first], len(human.measures)),
            None if second is None else np.tile(names[second], len(human.measures)),
            _rows_of(both[0], first, second),
            _rows_of(both[1], first, second),
            _rows_of(machine.select(topics=others), first, second),
            _limits_of(human.measures, len(first), second is not None),
            shared,
            others,
            tuple(dict.fromkeys([*notes, *human.notes])),
        )


def _limits_of(measures: tuple[str, ...], rows: int, differences: bool) -> tuple[Array, Array]:
    """The range of each measure, or of its differences; each stands `rows` times."""
    ranges = np.array([_range_of(name) for name in measures]).reshape(-1, 2)
    if differences:
        width = ranges[:, 1] - ranges[:, 0]
        ranges = np.stack([-width, width], axis=1)
    low, high = np.repeat(ranges, rows, axis=0).T
    return low, high


def _range_of(name: str) -> tuple[float, float]:
    try:
        properties = parse(name).properties
    except UsageError:
        return np.nan, np.nan
    finite = np.isfinite(properties.low) and np.isfinite(properties.high)
    return (properties.low, properties.high) if finite else (np.nan, np.nan)


def split_topics(human: Scores, machine: Scores) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """The topics with both judgments, those with machine judgments only, and notes about them."""
    known = set(machine.topics)
    shared = tuple(topic for topic in human.topics if topic in known)
    if len(shared) < 2:
        raise UsageError(
            f"{counted(len(shared), 'topic')} with both judgments, an interval needs 2 or more; the human judgments "
            f"have {listed(human.topics)}, the machine judgments {listed(machine.topics)}"
        )
    labelled = set(human.topics)
    others = tuple(topic for topic in machine.topics if topic not in labelled)
    notes = [
        f"{counted(len(shared), 'topic')} with human and machine judgments, {len(others):,} with machine judgments only"
    ]
    if lost := [topic for topic in human.topics if topic not in known]:
        notes.append(f"{counted(len(lost), 'topic')} without machine judgments, left out: {listed(lost)}")
    if len(others) < 2:
        notes.append(
            "the machine judged hardly any topics without human judgments: the intervals are the classical ones"
        )
    return shared, others, notes


def _runs_of_rows(scores: Scores, baseline: str | None, pairs: bool) -> tuple[Index64, Index64 | None]:
    """The runs of each row: one, or two whose difference is taken."""
    m = len(scores.runs)
    if baseline is not None:
        at = positions(baseline, scores.runs, "run")[0]
        others = np.array([i for i in range(m) if i != at], dtype=np.int64)
        if not len(others):
            raise UsageError(f"baseline == {baseline!r} is the only run; add the runs to compare with it")
        return others, np.full(len(others), at, dtype=np.int64)
    if pairs:
        if m < 2:
            raise UsageError(f"{counted(m, 'run')}, a difference needs 2 or more")
        return all_pairs(m)
    return np.arange(m, dtype=np.int64), None


def _rows_of(scores: Scores, first: Index64, second: Index64 | None) -> Array:
    """measures · rows × topics."""
    rows = []
    for values in scores.values:
        if second is None:
            rows.append(values[first])
        else:
            close = noise(np.nan_to_num(values))
            rows.append(without_noise(values[first] - values[second], np.full(len(first), close)))
    return np.concatenate(rows)

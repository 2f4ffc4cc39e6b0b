"""The input of every comparison: the scores of one measure as topics × systems, and differences between systems.

Everywhere in this package rows are topics and columns are systems. NaN means that a system has no score on a topic.

In floating point 0.3 − 0.2 and 0.4 − 0.3 differ in their last bits. Ranks, signs and variances must not treat this as a
difference. So anything below 2⁻⁴⁴ (6e-14) of the largest score of the two systems is noise: a difference that small
is set to 0, and differences that close to each other are made equal.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Annotated, Any, TypeAlias, Union

import numpy as np
from numpy.typing import NDArray

from cranfield.check import nearest
from cranfield.collection.accepted_inputs import FrameLike
from cranfield.declared.operation import about
from cranfield.errors import UsageError
from cranfield.notes import caution_note
from cranfield.scores.labels import label
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

ScoresLike: TypeAlias = Union[
    "Matrix", Scores, str, os.PathLike[str], FrameLike, Mapping[str, Mapping[Any, float]],
    Mapping[str, Sequence[float]], NDArray[Any], Sequence[Sequence[float]],
]  # fmt: skip
"""Anything that `Matrix.of` reads: scores, a file of scores, a frame, {system: scores}, or topics × systems."""

NAN_RULES = ("listwise", "pairwise")
NAN: dict[str, Any] = {
    "summary": "Topics on which a run has no score: {names} (left out for all runs, or only for this run).",
    "choices": NAN_RULES, "spelled": "--nan RULE", "rare": True,
}  # fmt: skip
NanRule = Annotated[str, about(**NAN)]
Baseline = Annotated[
    str | None, about("Compare all other runs with this one; default: all pairs.", spelled="--baseline, -b RUN")
]


@dataclass(frozen=True, eq=False)
class Matrix:
    """The scores of systems (columns) on topics (rows) by one measure.

    >>> Matrix.of([[0.2, 0.4], [0.6, 0.4]]).systems
    ('run1', 'run2')
    """

    values: Array
    topics: tuple[str, ...]
    systems: tuple[str, ...]
    measure: str = "score"
    notes: tuple[str, ...] = ()
    """What a reader of the result must know, such as how many topics were left out."""

    @staticmethod
    def of(data: ScoresLike, measure: Any = None) -> Matrix:
        """Accept `Scores`, a file of scores, {system: {topic: score}}, {system: [score, ...]}, a frame or an array.

        A frame has a row per score (columns run, topic, value, ...), or a row per topic and a column per system. A
        topic that is missing for a system has no score (NaN); it does not count as 0.
        """
        if isinstance(data, Matrix):
            return data
        if isinstance(data, Scores):
            return _of_scores(data, measure)
        if isinstance(data, (str, os.PathLike)):
            return _of_scores(Scores.read(data, measure=_name_of(measure)), measure)
        if _is_frame(data):
            return _of_frame(data, measure)
        if isinstance(data, Mapping):
            return _of_mapping(data, measure)
        values = numbers(data, "scores must be numbers, a row per topic and a column per system")
        if values.ndim != 2:
            raise UsageError(f"scores.shape == {values.shape}, must be topics × systems")
        return _of_scores(Scores.from_matrix(values, measure=_name_of(measure)), None)

    @property
    def n(self) -> int:
        """The number of topics."""
        return len(self.topics)

    def complete(self) -> Matrix:
        """Only the topics on which every system has a score; a note counts the others. No such topic is an error.

        >>> Matrix.of([[0.2, 0.4], [0.6, float("nan")]]).complete().notes
        ('1 of 2 topics left out: some system has no score (2)',)
        """
        whole = np.asarray(~np.isnan(self.values).any(axis=1))
        if whole.all():
            return self
        if not whole.any():
            empty = list(compress(self.systems, np.asarray(np.isnan(self.values).all(axis=0))))
            if empty:
                raise UsageError(f"{self.measure}: no topic has a score for {listed(empty)}")
            if len(self.systems) == 2:
                raise UsageError(f"{self.measure}: {' and '.join(self.systems)} have no topic in common")
            raise UsageError(
                f"{self.measure}: no topic has a score for all {len(self.systems)} systems; "
                "compare fewer systems, or use nan='pairwise'"
            )
        lost = list(compress(self.topics, ~whole))
        note = caution_note(f"{len(lost)} of {self.n} topics left out: some system has no score ({listed(lost)})")
        topics = tuple(compress(self.topics, whole))
        return replace(self, values=self.values[whole], topics=topics, notes=(*self.notes, note))

    def column(self, system: str) -> int:
        """The index of a system; the error message suggests the nearest name."""
        if system not in self.systems:
            raise nearest(system, self.systems, "system")
        return self.systems.index(system)

    def select(self, systems: Sequence[str]) -> Matrix:
        """Only these systems, in this order."""
        chosen = [self.column(system) for system in systems]
        return replace(self, values=self.values[:, chosen], systems=tuple(self.systems[c] for c in chosen))


def all_pairs(count: int) -> tuple[Index64, Index64]:
    """The indices of the first and the second member of every pair.

    >>> [index.tolist() for index in all_pairs(3)]
    [[0, 0, 1], [1, 2, 2]]
    """
    first, second = np.triu_indices(count, 1)
    return first.astype(np.int64), second.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two samples, either matched topic by topic or independent."""

    x: Array
    y: Array
    names: tuple[str, str]
    topics: tuple[str, ...] = ()
    """The topics of matched samples, if they have names."""
    measure: str = "score"
    notes: tuple[str, ...] = ()

    @property
    def difference(self) -> Array:
        """x − y, topic by topic."""
        return self.x - self.y

    def facts(self, *notes: str) -> dict[str, Any]:
        """The fields that every result has, with further notes."""
        return {"measure": self.measure, "systems": self.names, "notes": (*self.notes, *notes)}


def paired(x: Any, y: Any = None, *, systems: Sequence[str] | None = None, measure: Any = None) -> Pair:
    """Two samples matched by topic; topics on which either has no score are left out.

    `x` and `y` are arrays of the same length or {topic: score}. Or `x` alone holds both systems (anything that
    `Matrix.of` accepts); `systems` names them if there are more than two.

    >>> paired({"301": 0.2, "302": 0.4}, {"302": 0.5, "303": 0.1}).difference.round(2).tolist()
    [-0.1]
    """
    if y is None:
        matrix = Matrix.of(x, measure)
        two = matrix.select(_two_names(matrix.systems, systems)).complete()
        names = (two.systems[0], two.systems[1])
        return Pair(two.values[:, 0], two.values[:, 1], names, two.topics, two.measure, two.notes)
    names = _two_names(("x", "y"), systems)
    notes: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    if _by_topic(x) and _by_topic(y):
        x, y, topics, notes = _matched(dict(x.items()), dict(y.items()))
    a, b = sample(x, "x"), sample(y, "y")
    if len(a) != len(b):
        raise UsageError(f"x has {len(a)} scores and y has {len(b)}; paired samples need both scores of every topic")
    whole = ~(np.isnan(a) | np.isnan(b))
    if not whole.any():
        raise UsageError("no topic has a score for both systems")
    if not whole.all():
        notes = (
            *notes,
            caution_note(f"{int((~whole).sum())} of {len(a)} topics left out: one of the systems has no score"),
        )
        topics = tuple(compress(topics, whole))
    return Pair(a[whole], b[whole], names, topics, _name_of(measure), notes)


def unpaired(x: Any, y: Any = None, *, systems: Sequence[str] | None = None, measure: Any = None) -> Pair:
    """Two independent samples of any size, such as one system on two collections; NaN is left out, with a note.

    `x` alone may hold both, as for `paired`; the samples may then share topics. If `x` and `y` are `Scores` with
    several systems, `systems` names the system of x and the system of y.

    >>> easy, hard = Scores.from_matrix([[0.6, 0.7], [0.8, 0.9]]), Scores.from_matrix([[0.1, 0.2]])
    >>> unpaired(easy, hard, systems=("run2", "run2")).y.tolist()
    [0.2]
    """
    measure_name = _name_of(measure)
    if y is None:
        matrix = Matrix.of(x, measure)
        names = _two_names(matrix.systems, systems)
        two = matrix.select(names)
        x, y, measure_name = two.values[:, 0], two.values[:, 1], two.measure
    else:
        names = _two_names(("x", "y"), systems)
    notes: list[str] = []
    samples = []
    for name, source in zip(names, (x, y), strict=True):
        if isinstance(source, (Matrix, Scores)):
            values, _, measure_name, more = single(source, system=name if systems else None, measure=measure)
            notes.extend(more)
        else:
            values = _without_nan(sample(source, name), name, notes)
        samples.append(values)
    return Pair(samples[0], samples[1], names, (), measure_name, tuple(notes))


def single(x: Any, *, system: str | None = None, measure: Any = None) -> tuple[Array, str, str, tuple[str, ...]]:
    """The scores of one system without NaN, the name of the system, the name of the measure, and notes.

    >>> single({"301": 0.25, "302": 0.5})[0].tolist()
    [0.25, 0.5]
    """
    notes: list[str] = []
    if isinstance(x, (Matrix, Scores, str, os.PathLike)) or _is_frame(x) or np.ndim(x) == 2:
        matrix = Matrix.of(x, measure)
        if system is None and len(matrix.systems) != 1:
            raise UsageError(f"there are {len(matrix.systems)} systems; choose one with system=name")
        column = 0 if system is None else matrix.column(system)
        name = matrix.systems[column]
        return _without_nan(matrix.values[:, column], name, notes), name, matrix.measure, tuple(notes)
    return _without_nan(sample(x, "x"), "x", notes), system or "x", _name_of(measure), tuple(notes)


def _without_nan(values: Array, name: str, notes: list[str]) -> Array:
    kept = values[~np.isnan(values)]
    if not len(kept):
        raise UsageError(f"{name} has no scores")
    if len(kept) < len(values):
        notes.append(caution_note(f"{len(values) - len(kept)} of {len(values)} scores of {name} left out: undefined"))
    return kept


def sample(values: Any, name: str = "x") -> Array:
    """Numbers in one dimension; an infinite number is an error.

    >>> sample([0.1, 0.2]).tolist()
    [0.1, 0.2]
    """
    if isinstance(values, Mapping):
        values = list(values.values())
    array = numbers(values, f"{name} must hold numbers, one per topic")
    if array.ndim != 1:
        raise UsageError(f"{name}.shape == {array.shape}, must be one score per topic")
    if np.isinf(array).any():
        raise UsageError(f"{name} has an infinite score (entry {int(np.flatnonzero(np.isinf(array))[0])})")
    return array


def numbers(values: Any, expected: str) -> Array:
    """The values as an array of numbers; `expected` begins the error message if they are not numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{expected}, not {type(values).__name__}") from None


def check_topics(n: int, least: int, method: str, noun: str = "topic") -> None:
    """Raise an error if there are too few topics (or systems, or scores) for a test or an effect size.

    >>> check_topics(1, 2, "a paired t test")
    Traceback (most recent call last):
    cranfield.errors.UsageError: 1 topic, a paired t test needs 2 or more
    """
    if n < least:
        raise UsageError(f"{counted(n, noun)}, {method} needs {least} or more")


def check_systems(count: int, method: str) -> None:
    check_topics(count, 2, method, "system")


def check_common_topics(n: Array, least: int, method: str) -> tuple[str, ...]:
    """Raise an error if no pair has enough topics in common; a note counts the pairs that have too few."""
    if len(n) and n.max() < least:
        check_topics(int(n.max()), least, method)
    few = int((n < least).sum())
    return (f"{few:,} of {len(n):,} pairs were not tested: fewer than {least} topics in common",) if few else ()


def _name_of(measure: Any) -> str:
    return "score" if measure is None else label(measure)


def _of_scores(scores: Scores, measure: Any) -> Matrix:
    if measure is not None and scores.measures != (measure,):
        scores = scores[measure]
    if len(scores.measures) != 1:
        raise UsageError(f"there are {len(scores.measures)} measures; choose one of {listed(scores.measures, 8)}")
    name, notes = scores.measures[0], list(scores.notes)
    if lacking := scores.lacking():
        rule = caution_note("count as empty lists") if scores.missing_rule == "zero" else "have no score"
        notes.append(caution_note(f"missing topics {rule}: {listed(lacking)}"))
    values = np.ascontiguousarray(scores.values[0].T)
    if np.isinf(values).any():
        topic, run = (int(index[0]) for index in np.nonzero(np.isinf(values)))
        raise UsageError(f"{name}: {scores.runs[run]} has an infinite score on topic {scores.topics[topic]}")
    return Matrix(values, scores.topics, scores.runs, name, tuple(notes))


def _of_mapping(data: Mapping[Any, Any], measure: Any) -> Matrix:
    values = list(data.values())
    if values and all(isinstance(of_system, Mapping) for of_system in values):
        inner = next((score for of_system in values for score in of_system.values()), None)
        if isinstance(inner, Mapping):
            return _of_scores(Scores.from_dict(data, missing="skip"), measure)
        return _of_scores(Scores.from_dict(data, measure=_name_of(measure), missing="skip"), None)
    columns = [sample(scores, repr(system)) for system, scores in data.items()]
    if len({len(column) for column in columns}) != 1:
        sizes = ", ".join(f"{system} {len(column)}" for system, column in zip(data, columns, strict=True))
        raise UsageError(f"every system needs a score for every topic; the numbers are: {sizes or 'no systems'}")
    return _of_columns(data, columns, None, measure)


def _of_columns(systems: Mapping[Any, Any], columns: list[Array], topics: list[str] | None, measure: Any) -> Matrix:
    values, runs = np.stack(columns, axis=1), [str(system) for system in systems]
    return _of_scores(Scores.from_matrix(values, runs=runs, topics=topics, measure=_name_of(measure)), None)


TIDY = {"run", "system", "value", "score", "run_id"}


def _of_frame(frame: Any, measure: Any) -> Matrix:
    names = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)  # Arrow's columns are arrays
    if {str(name).casefold() for name in names} & TIDY:
        default = "score" if measure is None else measure  # for a frame without a column of measures
        return _of_scores(Scores.from_frame(frame, measure=default, missing="skip"), measure)
    topics = [str(topic) for topic in frame.index] if hasattr(frame, "index") and hasattr(frame, "loc") else None
    table = {name: np.asarray(frame[name]) for name in names}
    first = next(iter(table), None)
    if first is not None and str(first).casefold() in ("topic", "query", "query_id", "qid", "topic_id"):
        topics = [str(topic) for topic in table.pop(first).tolist()]
    if not table:
        raise UsageError("the frame has no column of scores")
    return _of_columns(table, [sample(column, repr(name)) for name, column in table.items()], topics, measure)


def _is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "__getitem__") and not isinstance(data, Mapping)


def _two_names(known: tuple[str, ...], systems: Sequence[str] | None) -> tuple[str, str]:
    if systems is None:
        if len(known) != 2:
            raise UsageError(f"there are {len(known)} systems; choose two with systems=(name, name)")
        systems = known
    if len(systems) != 2:
        raise UsageError(f"systems == {tuple(systems)!r}, must be two names")
    return systems[0], systems[1]


def _by_topic(data: Any) -> bool:
    return isinstance(data, Mapping) or (hasattr(data, "index") and hasattr(data, "items"))  # a pandas Series


def _matched(x: dict[Any, Any], y: dict[Any, Any]) -> tuple[list[Any], list[Any], tuple[str, ...], tuple[str, ...]]:
    shared = [topic for topic in x if topic in y]
    if not shared:
        raise UsageError("the two systems have no topic in common")
    alone = len(x) + len(y) - 2 * len(shared)
    note = caution_note(
        f"compared on {counted(len(shared), 'topic')}; {counted(alone, 'topic')} of only one system left out"
    )
    return [x[t] for t in shared], [y[t] for t in shared], tuple(map(str, shared)), (note,) if alone else ()


_GRAIN = 2.0**-44
_BLOCK = 2_000_000
"""The number of differences in memory at once; it does not change results."""


def noise(*samples: Array) -> float:
    """The largest distance that rounding alone can cause between numbers computed from these scores."""
    return _GRAIN * max(float(np.abs(sample).max(initial=0.0)) for sample in samples)


def noise_of_pairs(matrix: Matrix, first: Index64, second: Index64) -> Array:
    """`noise` for many pairs."""
    largest = np.nan_to_num(np.abs(matrix.values)).max(axis=0, initial=0)
    return np.asarray(_GRAIN * np.maximum(largest[first], largest[second]))


def without_noise(difference: Array, close: Array | float) -> Array:
    """Rows of differences: noise becomes 0, and rows that vary only by noise become constant.

    >>> without_noise(np.array([[0.3 - 0.2, 0.4 - 0.3], [0.1 + 0.2 - 0.3, 0.5]]), 1e-14).tolist()
    [[0.09999999999999998, 0.09999999999999998], [0.0, 0.5]]
    """
    close = np.asarray(close)[..., None]
    clean = np.where(np.abs(difference) <= close, 0.0, difference)
    low = np.fmin.reduce(clean, axis=-1, keepdims=True, initial=np.inf)  # ignores NaN
    high = np.fmax.reduce(clean, axis=-1, keepdims=True, initial=-np.inf)
    constant = high - low <= close
    return np.where(constant & ~np.isnan(clean), low, clean) if constant.any() else clean


def gap(x: Array, y: Array) -> Array:
    """x − y entry by entry; noise becomes 0.

    >>> gap(np.array([0.1 + 0.2, 0.5]), np.array([0.3, 0.4])).round(2).tolist()
    [0.0, 0.1]
    """
    close = _GRAIN * np.maximum(np.abs(x), np.abs(y))
    return np.where(np.abs(x - y) <= close, 0.0, x - y)


def differences(x: Array, y: Array | float) -> Array:
    """x − y without noise.

    >>> differences(np.array([0.3, 0.1]), np.array([0.2, 0.0])).std().item()
    0.0
    """
    return without_noise(x - y, noise(x, np.asarray(y)))


def difference_blocks(matrix: Matrix, first: Index64, second: Index64) -> Iterator[tuple[slice, Array]]:
    """Blocks of pairs and their differences (pairs × topics); NaN if either system has no score."""
    by_system = np.ascontiguousarray(matrix.values.T)
    close = noise_of_pairs(matrix, first, second)
    step = max(1, _BLOCK // max(1, len(matrix.topics)))
    for begin in range(0, len(first), step):
        block = slice(begin, min(begin + step, len(first)))
        yield block, without_noise(by_system[first[block]] - by_system[second[block]], close[block])


def row_moments(values: Array) -> tuple[Array, Array, Array]:
    """The number of entries, the mean and the standard deviation (n − 1) of each row; NaN entries are ignored.

    The mean of no entries and the deviation of fewer than two are NaN. The deviation of equal entries is exactly 0.

    >>> [part.tolist() for part in row_moments(np.array([[0.1, 0.1, 0.1], [1.0, 3.0, np.nan]]))]
    [[3.0, 2.0], [0.1, 2.0], [0.0, 1.4142135623730951]]
    """
    entries, n = zeros_for_nan(values)
    low = np.fmin.reduce(values, axis=1, initial=np.inf)
    equal = (n > 0) & (np.fmax.reduce(values, axis=1, initial=-np.inf) <= low)
    mean = np.where(equal, low, entries.sum(axis=1) / np.where(n > 0, n, np.nan))
    deviation = np.where(np.isnan(values), 0.0, values - mean[:, None])
    spread = np.sqrt((deviation**2).sum(axis=1) / np.where(n > 1, n - 1, np.nan))
    return n, mean, np.where(equal & (n > 1), 0.0, spread)


def zeros_for_nan(difference: Array) -> tuple[Array, Array]:
    """The differences with 0 for NaN (pairs × topics), and the number that are not NaN (per pair)."""
    defined = ~np.isnan(difference)
    return np.where(defined, difference, 0.0), defined.sum(axis=-1).astype(np.float64)

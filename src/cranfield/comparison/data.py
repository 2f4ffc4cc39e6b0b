"""What is compared: one measure's scores as topics × systems, from anything that holds them.

Rows are topics and columns systems everywhere in this package. NaN is a topic on which a system has no value.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.scores.labels import label
from cranfield.scores.scores import Scores
from cranfield.types import Array

NAN_RULES = ("listwise", "pairwise")
"""Topics without a value for some system are left out of everything, or only of the pairs that lack it."""


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
    """What a reader of a result must know, such as how many topics were left out."""

    @staticmethod
    def of(data: Any, measure: Any = None) -> Matrix:
        """From `Scores`, a file of scores, {system: {topic: score}}, {system: [score, ...]}, a frame, or an array.

        A frame holds a row per score (columns run, topic, value, ...) or a row per topic and a column per system. A
        topic that a system lacks in a dict or a frame has no value there; it is not 0.
        """
        if isinstance(data, Matrix):
            return data
        if isinstance(data, Scores):
            return _of_scores(data, measure)
        named = label(measure) if measure is not None else "score"
        if isinstance(data, (str, os.PathLike)):
            return _of_scores(Scores.read(data, measure=named), measure)
        if _is_frame(data):
            return _of_frame(data, measure)
        if isinstance(data, Mapping):
            return _of_mapping(data, measure)
        return _of_scores(Scores.from_matrix(_two_dimensional(data), measure=named), None)

    @property
    def n(self) -> int:
        """How many topics."""
        return len(self.topics)

    def complete(self) -> Matrix:
        """Only the topics on which every system has a value; a note says how many were left out, an error if all.

        >>> Matrix.of([[0.2, 0.4], [0.6, float("nan")]]).complete().notes
        ('1 of 2 topics left out: no value for some system (2)',)
        """
        whole = np.asarray(~np.isnan(self.values).any(axis=1))
        if whole.all():
            return self
        if not whole.any():
            lacking = np.asarray(np.isnan(self.values).all(axis=0))
            if lacking.any():
                raise UsageError(f"{self.measure}: no topic has a value for {some(self.systems, lacking)}")
            if len(self.systems) == 2:
                raise UsageError(f"{self.measure}: {' and '.join(self.systems)} have no topic in common")
            raise UsageError(
                f"{self.measure}: no topic has a value for all {len(self.systems)} systems; "
                "compare fewer, or say nan='pairwise'"
            )
        lost = self.n - int(whole.sum())
        note = f"{lost} of {self.n} topics left out: no value for some system ({some(self.topics, ~whole)})"
        kept = tuple(topic for topic, keep in zip(self.topics, whole.tolist(), strict=True) if keep)
        return replace(self, values=self.values[whole], topics=kept, notes=(*self.notes, note))

    def column(self, system: str) -> int:
        """Where a system stands; an error names the nearest."""
        if system not in self.systems:
            raise nearest(system, self.systems, "system")
        return self.systems.index(system)

    def select(self, systems: Sequence[str]) -> Matrix:
        """Some of the systems, in the order given."""
        chosen = [self.column(one) for one in systems]
        return replace(self, values=self.values[:, chosen], systems=tuple(self.systems[c] for c in chosen))


@dataclass(frozen=True, eq=False)
class Pair:
    """Two samples: of one length and matched topic by topic, or not matched at all."""

    x: Array
    y: Array
    names: tuple[str, str]
    topics: tuple[str, ...] = ()
    """What the entries are, where they are matched and named."""
    measure: str = "score"
    notes: tuple[str, ...] = ()

    @property
    def difference(self) -> Array:
        """x − y, topic by topic."""
        return self.x - self.y


def paired(x: Any, y: Any = None, *, systems: Sequence[str] | None = None, measure: Any = None) -> Pair:
    """Two samples matched by topic, without the topics that lack a value.

    `x` and `y` are arrays of one length or {topic: score}; or `x` alone holds both systems (anything `Matrix.of`
    takes), named by `systems` if it holds more than two.

    >>> paired({"301": 0.2, "302": 0.4}, {"302": 0.5, "303": 0.1}).difference.round(2).tolist()
    [-0.1]
    """
    if y is None:
        matrix = Matrix.of(x, measure)
        two = matrix.select(_two(matrix.systems, systems)).complete()
        names = (two.systems[0], two.systems[1])
        return Pair(two.values[:, 0], two.values[:, 1], names, two.topics, two.measure, two.notes)
    names = _named(systems)
    notes: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    if _by_topic(x) and _by_topic(y):
        x, y, topics, notes = _matched(dict(x.items()), dict(y.items()))
    a, b = sample(x, "x"), sample(y, "y")
    if len(a) != len(b):
        raise UsageError(f"x has {len(a)} scores and y {len(b)}; paired samples have one of each a topic")
    whole = ~(np.isnan(a) | np.isnan(b))
    if not whole.any():
        raise UsageError("no topic has a value for both systems")
    if not whole.all():
        notes = (*notes, f"{int((~whole).sum())} of {len(a)} topics left out: no value for one of the systems")
        topics = tuple(topic for topic, keep in zip(topics, whole.tolist(), strict=False) if keep)
    return Pair(a[whole], b[whole], names, topics, label(measure) if measure is not None else "score", notes)


def unpaired(x: Any, y: Any = None, *, systems: Sequence[str] | None = None, measure: Any = None) -> Pair:
    """Two samples of any lengths, such as one system on two collections; NaN entries are left out and counted.

    `x` alone may hold both, as for `paired`; whether they share topics then makes no difference. Or each is `Scores` of
    a collection, of which `systems` names the system to take from x and that from y, if they hold several.

    >>> easy, hard = Scores.from_matrix([[0.6, 0.7], [0.8, 0.9]]), Scores.from_matrix([[0.1, 0.2]])
    >>> unpaired(easy, hard, systems=("run2", "run2")).y.tolist()
    [0.2]
    """
    label_of = label(measure) if measure is not None else "score"
    names: tuple[str, str]
    if y is None:
        matrix = Matrix.of(x, measure)
        two = matrix.select(_two(matrix.systems, systems))
        x, y, label_of = two.values[:, 0], two.values[:, 1], two.measure
        names = (two.systems[0], two.systems[1])
    else:
        names = _named(systems)
    notes: list[str] = []
    both = []
    for name, thing in zip(names, (x, y), strict=True):
        if isinstance(thing, (Matrix, Scores)):
            values, _, label_of, told = single(thing, system=name if systems else None, measure=measure)
            notes.extend(told)
        else:
            values = _there(sample(thing, name), name, notes)
        both.append(values)
    return Pair(both[0], both[1], names, (), label_of, tuple(notes))


def single(x: Any, *, system: str | None = None, measure: Any = None) -> tuple[Array, str, str, tuple[str, ...]]:
    """One sample without NaN, the system's name, the measure's, and notes; `x` holds scores or one system's `Scores`.

    >>> single({"301": 0.25, "302": 0.5})[0].tolist()
    [0.25, 0.5]
    """
    notes: list[str] = []
    if isinstance(x, (Matrix, Scores, str, os.PathLike)) or _is_frame(x) or np.ndim(x) == 2:
        matrix = Matrix.of(x, measure)
        if system is None and len(matrix.systems) != 1:
            raise UsageError(f"there are {len(matrix.systems)} systems, say which: system=name")
        column = 0 if system is None else matrix.column(system)
        name = matrix.systems[column]
        return _there(matrix.values[:, column], name, notes), name, matrix.measure, tuple(notes)
    named = label(measure) if measure is not None else "score"
    return _there(sample(x, "x"), "x", notes), system or "x", named, tuple(notes)


def _there(values: Array, name: str, notes: list[str]) -> Array:
    """The entries that have a value; a note says how many have none."""
    kept = values[~np.isnan(values)]
    if not len(kept):
        raise UsageError(f"{name} has no values")
    if len(kept) < len(values):
        notes.append(f"{len(values) - len(kept)} of {len(values)} entries of {name} left out: no value")
    return kept


def sample(values: Any, name: str = "x") -> Array:
    """One-dimensional numbers; infinite ones are refused.

    >>> sample([0.1, 0.2]).tolist()
    [0.1, 0.2]
    """
    if isinstance(values, Mapping):
        values = list(values.values())
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must hold numbers, one a topic; it is {type(values).__name__}") from None
    if array.ndim != 1:
        raise UsageError(f"{name}.shape == {array.shape}, must be one score a topic")
    if np.isinf(array).any():
        raise UsageError(f"{name} has an infinite score (entry {int(np.flatnonzero(np.isinf(array))[0])})")
    return array


def check_topics(n: int, least: int, what: str) -> None:
    """Enough topics, or entries of a sample, for a test or an effect size to be defined.

    >>> check_topics(1, 2, "a paired t test")
    Traceback (most recent call last):
    cranfield.errors.UsageError: 1 topic, a paired t test needs 2 or more
    """
    if n < least:
        raise UsageError(f"{n} topic{'' if n == 1 else 's'}, {what} needs {least} or more")


def check_nan(who: str, rule: str) -> None:
    check.one_of(who, NAN_RULES, nan=rule)


def some(names: Iterable[str], chosen: NDArray[np.bool_], most: int = 5) -> str:
    """The first few of the chosen names, and how many more there are."""
    picked = [name for name, one in zip(names, chosen.tolist(), strict=True) if one]
    return ", ".join(picked[:most]) + (f" and {len(picked) - most} more" if len(picked) > most else "")


def _of_scores(scores: Scores, measure: Any) -> Matrix:
    if measure is not None:
        scores = scores[measure]
    if len(scores.measures) != 1:
        raise UsageError(f"there are {len(scores.measures)} measures, say which: {', '.join(scores.measures[:8])}")
    lacking = scores.missing.sum(axis=1)
    notes = list(scores.notes)
    if lacking.any():
        fate = "count as empty lists" if scores.missing_rule == "zero" else "have no value"
        notes.append(f"missing topics {fate}: {some(scores.runs, lacking > 0)}")
    values = np.ascontiguousarray(scores.values[0].T)
    if np.isinf(values).any():
        topic, run = (int(where[0]) for where in np.nonzero(np.isinf(values)))
        raise UsageError(
            f"{scores.measures[0]}: {scores.runs[run]} has an infinite score on topic {scores.topics[topic]}"
        )
    return Matrix(values, scores.topics, scores.runs, scores.measures[0], tuple(notes))


def _of_mapping(data: Mapping[Any, Any], measure: Any) -> Matrix:
    values = list(data.values())
    if values and all(isinstance(of, Mapping) for of in values):
        inner = [one for of in values for one in of.values()]
        if inner and isinstance(inner[0], Mapping):
            return _of_scores(Scores.from_dict(data, missing="skip"), measure)
        named = label(measure) if measure is not None else "score"
        return _of_scores(Scores.from_dict(data, measure=named, missing="skip"), None)
    columns = [sample(of, repr(system)) for system, of in data.items()]
    if len({len(column) for column in columns}) != 1:
        sizes = ", ".join(f"{system} {len(column)}" for system, column in zip(data, columns, strict=True))
        raise UsageError(f"every system needs a score for every topic; there are: {sizes or 'no systems'}")
    named = label(measure) if measure is not None else "score"
    return _of_scores(Scores.from_matrix(np.stack(columns, axis=1), runs=list(map(str, data)), measure=named), None)


TIDY = {"run", "system", "value", "score", "run_id"}


def _of_frame(frame: Any, measure: Any) -> Matrix:
    names = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)  # Arrow's columns are arrays
    if {str(name).casefold() for name in names} & TIDY:
        named = "score" if measure is None else measure  # for a frame that does not say
        return _of_scores(Scores.from_frame(frame, measure=named, missing="skip"), measure)
    topics = [str(one) for one in frame.index] if hasattr(frame, "index") and hasattr(frame, "loc") else None
    table = {name: np.asarray(frame[name]) for name in names}
    first = next(iter(table), None)
    if first is not None and str(first).casefold() in ("topic", "query", "query_id", "qid", "topic_id"):
        topics = [str(one) for one in table.pop(first).tolist()]
    columns = [sample(column, repr(system)) for system, column in table.items()]
    if not columns:
        raise UsageError("the frame has no column of scores")
    named = label(measure) if measure is not None else "score"
    values = np.stack(columns, axis=1)
    return _of_scores(Scores.from_matrix(values, runs=[str(one) for one in table], topics=topics, measure=named), None)


def _is_frame(thing: Any) -> bool:
    return hasattr(thing, "columns") and hasattr(thing, "__getitem__") and not isinstance(thing, Mapping)


def _two_dimensional(data: Any) -> Array:
    try:
        values = np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"scores must be numbers, a row per topic and a column per system; {type(data)}") from None
    if values.ndim != 2:
        raise UsageError(f"scores.shape == {values.shape}, must be topics × systems")
    return values


def _two(there: tuple[str, ...], systems: Sequence[str] | None) -> Sequence[str]:
    if systems is None:
        if len(there) != 2:
            raise UsageError(f"there are {len(there)} systems, say which two: systems=(name, name)")
        return there
    if len(systems) != 2:
        raise UsageError(f"systems == {tuple(systems)!r}, must be two names")
    return systems


def _named(systems: Sequence[str] | None) -> tuple[str, str]:
    first, second = _two(("x", "y"), systems)
    return first, second


def _by_topic(thing: Any) -> bool:
    return isinstance(thing, Mapping) or (hasattr(thing, "index") and hasattr(thing, "items"))  # a pandas Series


def _matched(x: dict[Any, Any], y: dict[Any, Any]) -> tuple[list[Any], list[Any], tuple[str, ...], tuple[str, ...]]:
    shared = [topic for topic in x if topic in y]
    if not shared:
        raise UsageError("the two systems have no topic in common")
    alone = len(x) + len(y) - 2 * len(shared)
    notes = (f"compared on {len(shared)} topics; {alone} that only one system has left out",) if alone else ()
    return [x[t] for t in shared], [y[t] for t in shared], tuple(map(str, shared)), notes

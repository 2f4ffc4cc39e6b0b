"""Build scores from entries: matrices, columns, frames and nested dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield import check
from cranfield.collection.column_names import COLUMNS, find_columns, repeated_column
from cranfield.collection.side_files import number_in
from cranfield.collection.structured import parsed_json
from cranfield.errors import CranfieldWarning, DataError, UsageError, warn_caller
from cranfield.frames import need
from cranfield.scores.basis import Basis
from cranfield.scores.labels import label
from cranfield.text import listed
from cranfield.types import Array

Mask = NDArray[np.bool_]
MISSING_RULES = ("zero", "skip")
AXES = ("measure", "run", "topic")
Fault = Callable[[int | None, str], DataError]
"""Returns the error about the n-th entry, or about all of them."""


@dataclass(frozen=True)
class Cells:
    """The arguments of `Scores`."""

    measures: Sequence[str]
    runs: Sequence[str]
    topics: Sequence[str]
    values: Array
    """measures × runs × topics."""
    missing: Mask | None = None
    """runs × topics: the run lacks the topic."""
    missing_rule: str = "zero"
    notes: Sequence[str] = ()
    basis: Basis | None = None


def grid(
    names: Mapping[str, Sequence[str]], value: Array, flagged: Mask, rule: str | None, facts: Mapping[str, Any],
    fault: Fault,
) -> Cells:  # fmt: skip
    """Arrange entries, one per score and in any order, as measures × runs × topics.

    A (run, topic) without any entry is missing. If `rule` is None, it is `skip` if no entry flagged as missing has a
    value, else `zero`. `facts` may have notes, and the measures, runs and topics that come first.
    """
    labels = {axis: list(dict.fromkeys((*map(str, facts.get(f"{axis}s", ())), *names[axis]))) for axis in AXES}
    measures, runs, topics = labels.values()
    shape = (len(measures), len(runs), len(topics))
    m, r, t = (codes(names[axis], labels[axis]) for axis in AXES)
    place = np.ravel_multi_index((m, r, t), shape) if len(m) else m
    _, first = np.unique(place, return_index=True)
    if len(first) < len(place):
        i = int(np.setdiff1d(np.arange(len(place)), first)[0])
        raise fault(i, ", ".join(f"{axis} {names[axis][i]!r}" for axis in AXES) + " already has a score")
    values = np.full(shape, np.nan)
    values.reshape(-1)[place] = value
    absent = np.ones(shape[1:], dtype=bool)
    absent[r, t] = False
    missing = absent.copy()
    missing[r[flagged], t[flagged]] = True
    if rule is None:
        rule = "skip" if flagged.any() and np.isnan(value[flagged]).all() else "zero"
    check.one_of("Scores", MISSING_RULES, missing=rule)
    if rule == "zero" and absent.any():
        scored = np.zeros((shape[0], 1, shape[2]), dtype=bool)
        scored[m, 0, t] = True
        values[absent[None] & scored] = 0.0
        examples = listed((f"{runs[i]} {topics[j]}" for i, j in np.argwhere(absent)), 3)
        message = f"{absent.sum()} of {absent.size} lists have no score and count as 0: {examples}"
        warn_caller(f"{message}; missing='skip' leaves them out", CranfieldWarning)
    notes = tuple(map(str, facts.get("notes", ())))
    return Cells(measures, runs, topics, values, missing, rule, notes, Basis.of_plain(facts.get("basis")))


def codes(names: Sequence[str], known: Sequence[str]) -> NDArray[np.int64]:
    """The position of each name among the known names."""
    place = {name: i for i, name in enumerate(known)}
    return np.fromiter(map(place.__getitem__, names), dtype=np.int64, count=len(names))


def from_matrix(
    values: ArrayLike, runs: Iterable[str] | None = None, topics: Iterable[str] | None = None, measure: str = "score"
) -> Cells:
    """From a row per topic and a column per run, with default names if none are given."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise UsageError(f"from_matrix: values.ndim == {table.ndim}, must be 2: a row per topic, a column per run")
    n_topics, n_runs = table.shape
    return Cells(
        [measure],
        [f"run{i + 1}" for i in range(n_runs)] if runs is None else list(runs),
        [f"{i + 1}" for i in range(n_topics)] if topics is None else list(topics),
        table.T[None],
    )


def from_columns(
    columns: Mapping[str, Sequence[Any]], facts: Mapping[str, Any], fault: Fault,
    measure: str | None = None, run: str | None = None, missing: str | None = None,
) -> Cells:  # fmt: skip
    """From columns by role; `measure` and `run` replace a column that is missing."""
    for kind in ("topic", "value"):
        if kind not in columns:
            raise fault(None, f"no column {kind!r}, expected measure, run, topic, value")
    n = len(columns["value"])
    if n == 0 and "topics" not in facts:
        raise fault(None, "no scores")
    names = {}
    for axis, default in zip(AXES, (measure, run, None), strict=True):
        if axis not in columns and default is None:
            raise fault(None, f"no column {axis!r}, expected one, or {axis}=")
        names[axis] = list(map(str, columns.get(axis, [default] * n)))
    for kind, column in columns.items():
        if len(column) != n:
            raise fault(min(n, len(column)), f"column {kind!r} has {len(column)} entries, value has {n}")
    rule = facts.get("missing_rule")
    if rule not in (None, *MISSING_RULES):
        raise fault(None, f"'missing_rule' is {rule!r}, expected one of {', '.join(MISSING_RULES)}")
    value = np.array([number(x, partial(fault, i)) for i, x in enumerate(columns["value"])], dtype=np.float64)
    flags = columns.get("missing", [False] * n)
    flagged = np.array([_flag(x, partial(fault, i)) for i, x in enumerate(flags)], dtype=bool)
    return grid(names, value, flagged, missing or rule, facts, fault)


def from_frame(frame: Any, measure: str | None, run: str | None, missing: str | None, origin: str = "frame") -> Cells:
    """From a frame with a row per score, or a mapping from column names to columns."""

    def fault(row: int | None, message: str) -> DataError:
        return DataError(origin, None, message if row is None else f"row {row}: {message}")

    if not hasattr(frame, "columns") and not isinstance(frame, Mapping) and hasattr(frame, "__arrow_c_stream__"):
        frame = need("pyarrow", "an Arrow stream").table(frame)
    facts = getattr(frame, "attrs", {}).get("cranfield", {})  # of pandas
    about = getattr(getattr(frame, "schema", None), "metadata", None) or {}  # of Arrow
    if b"cranfield" in about:
        facts = parsed_json(about[b"cranfield"].decode(), origin)
    every = frame if isinstance(frame, Mapping) else getattr(frame, "column_names", None) or frame.columns
    names, columns = [str(name) for name in every], {}
    places = find_columns(names, SCORE_COLUMNS)
    if message := repeated_column(names, places.values()):
        raise fault(None, message)
    for kind, place in places.items():
        column = frame[names[place]]
        as_list = next((getattr(column, m) for m in ("to_pylist", "to_list", "tolist") if hasattr(column, m)), None)
        columns[kind] = list(column) if as_list is None else as_list()
    return from_columns(columns, facts, fault, measure, run, missing)


def from_nested(data: Any, measure: str, missing: str | None, facts: Mapping[str, Any], origin: str = "dict") -> Cells:
    """From {run: {topic: {measure: value}}} or {run: {topic: value}}; `facts["missing"]` may be {run: [topics]}."""
    entries: list[tuple[str, str, str]] = []
    values: list[Any] = []

    def fault(i: int | None, message: str) -> DataError:
        where = "" if i is None else "measure {!r}, run {!r}, topic {!r}: ".format(*entries[i])
        return DataError(origin, None, where + message)

    if not isinstance(data, Mapping):
        raise fault(None, f"{type(data).__name__}, expected {{run: {{topic: {{measure: value}}}}}}")
    for run, topics in data.items():
        if not isinstance(topics, Mapping):
            raise fault(None, f"run {run!r}: {topics!r}, expected {{topic: {{measure: value}}}}")
        for topic, row in topics.items():
            for name, x in row.items() if isinstance(row, Mapping) else [(measure, row)]:
                entries.append((label(name), str(run), str(topic)))
                values.append(x)
    columns: dict[str, Sequence[Any]] = {axis: [entry[i] for entry in entries] for i, axis in enumerate(AXES)}
    absent = {(run, str(topic)) for run, topics in facts.get("missing", {}).items() for topic in topics}
    columns |= {"value": values, "missing": [entry[1:] in absent for entry in entries]}
    return from_columns(columns, {"runs": list(data), **facts}, fault, missing=missing)


# -- names and numbers

SCORE_COLUMNS = {
    "measure": ("measure", "metric"),
    "run": COLUMNS["name"],
    "topic": ("topic", *COLUMNS["topic"]),
    "value": ("value", "score"),
    "missing": ("missing",),
}
_UNDEFINED = ("", "nan", "na", "n/a", "null", "none")
_FLAGS = {"true": True, "1": True, "false": False, "0": False, "": False, "none": False}


def parsed_number(text: str) -> float | None:
    """The number in a text; NaN for an empty text, "n/a" and the like; None if it is not a number."""
    if text.strip().casefold() in _UNDEFINED:
        return np.nan
    try:
        return number_in(text)
    except ValueError:
        return None


def number(x: Any, fault: Callable[[str], DataError]) -> float:
    """A value as a number; NaN if it is undefined."""
    if x is None or type(x).__name__ == "NAType":  # pandas.NA
        return np.nan
    try:
        value = parsed_number(x) if isinstance(x, str) else float(x)
    except (TypeError, ValueError, OverflowError):  # an integer may be too large
        value = None
    if value is None:
        raise fault(f"{x!r:.80} is not a number")
    return value


def _flag(x: Any, fault: Callable[[str], DataError]) -> bool:
    flag = _FLAGS.get(str(x).strip().casefold())
    if flag is None:
        raise fault(f"missing is {x!r}, expected true or false")
    return flag

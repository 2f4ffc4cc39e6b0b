"""The input of an analysis of variance: an entry per score, with its level of every factor."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from cranfield.check import nearest
from cranfield.collection.source import PathLike
from cranfield.collection.tables.table_schema import Schema, Words
from cranfield.comparison.data import NAN, Matrix, sample
from cranfield.declared.operation import about
from cranfield.errors import UsageError
from cranfield.notes import caution_note
from cranfield.scores.score_input import codes
from cranfield.scores.topic_classes import Classes, topics_by_class
from cranfield.text import listed
from cranfield.types import Array

Codes = NDArray[np.int64]
Columns = dict[str, tuple[Sequence[str], Codes]]
"""{factor: (levels, the index of the level of each score)}."""
Nested = Mapping[str, str | Sequence[str]] | None
"""{child: parent}, or {child: parents}."""


class LayoutSettings(TypedDict, total=False):
    """What says to which level of each factor a score belongs; see `anova`."""

    factors: Any
    across: str | None
    nested: Nested
    classes: Classes | None
    value: str | None
    nan: Annotated[str, about(**NAN, default="pairwise")]


TOPIC, RUN, SYSTEM, CLASS = "topic", "run", "system", "class"


@dataclass(frozen=True, eq=False)
class Factor:
    """A factor: its levels, and the level of each score."""

    name: str
    levels: tuple[str, ...]
    codes: Codes
    """The index of the level of each score; for a nested factor, its index within the parent."""
    parents: tuple[str, ...] = ()
    """The factors in which this one is nested: its levels are different ones in each of theirs."""


@dataclass(frozen=True, eq=False)
class Layout:
    """The scores and their factors, in the order of the table."""

    values: Array
    factors: dict[str, Factor]
    measure: str = "score"
    notes: tuple[str, ...] = ()
    _cells: dict[frozenset[str], tuple[Codes, int]] = field(default_factory=dict, repr=False)

    @property
    def n(self) -> int:
        """The number of scores."""
        return len(self.values)

    def factor(self, name: str) -> Factor:
        """A factor by its name; the error about an unknown name suggests the most similar one."""
        if name not in self.factors:
            raise nearest(name, list(self.factors), "factor")
        return self.factors[name]

    def closure(self, names: Iterable[str]) -> frozenset[str]:
        """These factors, and the factors in which they are nested."""
        wanted = set(names)
        for name in list(wanted):
            wanted |= set(self.factor(name).parents)
        return frozenset(wanted)

    def cells(self, names: frozenset[str]) -> tuple[Codes, int]:
        """The combination of levels of each score, numbered from 0, and the number of combinations."""
        if names not in self._cells:
            joint = np.zeros(self.n, dtype=np.int64)
            for factor in (factor for name, factor in self.factors.items() if name in names):
                joint = joint * len(factor.levels) + factor.codes
                _, joint = np.unique(joint, return_inverse=True)
                joint = joint.reshape(-1)
            self._cells[names] = joint, int(joint.max(initial=-1)) + 1
        return self._cells[names]

    @cached_property
    def balanced(self) -> bool:
        """Every combination of levels has the same number of scores."""
        total = math.prod(len(factor.levels) for factor in self.factors.values())
        if total == 0 or self.n % total:
            return False
        counts = np.bincount(self._place(), minlength=total)
        return bool((counts == self.n // total).all())

    def _place(self) -> Codes:
        factors = list(self.factors.values())
        place: Codes = np.ravel_multi_index([f.codes for f in factors], [len(f.levels) for f in factors])
        return place

    def grid_order(self) -> Codes:
        """The scores of a balanced layout in the order of its grid, as their places in `values`."""
        return np.argsort(self._place(), kind="stable")

    def grid(self) -> Array:
        """The scores of a balanced layout, with an axis per factor and a last one for repetitions."""
        return self.values[self.grid_order()].reshape(*(len(f.levels) for f in self.factors.values()), -1)


def layout_of(
    data: Any,
    measure: Any = None,
    *,
    factors: Any = None,
    across: str | None = None,
    nested: Nested = None,
    classes: Classes | None = None,
) -> Layout:
    """Topics × systems × other factors, from scores and a table of factors.

    Parameters are those of `anova`. Without `factors`, every run is a system. Runs with the same levels of all factors,
    such as seeds of one model, are replicates: they become the factor `run`, nested in the other factors. Topics are
    nested in `across` if it is called `collection`, and in the factor `class` if there are `classes`.
    """
    parts = _parts(data, measure, across)
    runs = list(dict.fromkeys(system for matrix in parts.values() for system in matrix.systems))
    topics = list(dict.fromkeys(topic for matrix in parts.values() for topic in matrix.topics))
    matrices = list(parts.values())
    values = np.concatenate([matrix.values.ravel() for matrix in matrices])
    rows = [np.repeat(codes(matrix.topics, topics), len(matrix.systems)) for matrix in matrices]
    run_codes = np.concatenate([np.tile(codes(matrix.systems, runs), matrix.n) for matrix in matrices])
    topic_codes = np.concatenate(rows)
    columns_of: Columns = {TOPIC: (topics, topic_codes)}
    run_factors = factor_table(factors, runs) if factors is not None else {SYSTEM: dict(zip(runs, runs, strict=True))}
    for name, of_run in run_factors.items():
        levels = list(dict.fromkeys(of_run.values()))
        columns_of[name] = levels, codes([of_run[run] for run in runs], levels)[run_codes]
    if across:
        if across in columns_of:
            raise UsageError(f"across == {across!r} is already the name of a factor; choose another name")
        part_codes = np.repeat(np.arange(len(matrices)), [matrix.values.size for matrix in matrices])
        columns_of[across] = list(parts), part_codes
    inside = _nesting(nested)
    if across == "collection":
        inside.setdefault(TOPIC, (across,))
    if across and TOPIC not in inside:
        _check_crossed(parts, across)
    if classes is not None:
        names, of_topic = _class_codes(topics, classes)
        taken = [CLASS] if CLASS in columns_of else [TOPIC] if TOPIC in inside else []
        if taken:
            raise UsageError(
                f"classes of topics: {taken[0]} is a factor, or nested in one, already; leave out one of them"
            )
        inside[TOPIC] = (CLASS,)
        columns_of = {CLASS: (names, of_topic[topic_codes]), **columns_of}
        known = columns_of[CLASS][1] >= 0
        values, run_codes = values[known], run_codes[known]
        columns_of = {name: (levels, number[known]) for name, (levels, number) in columns_of.items()}
    alike = [tuple(of_run[run] for of_run in run_factors.values()) for run in runs]
    if len(set(alike)) < len(runs):
        columns_of[RUN] = runs, run_codes
        inside[RUN] = tuple(run_factors)
    notes = tuple(dict.fromkeys(note for matrix in matrices for note in matrix.notes))
    return _layout(values, columns_of, inside, matrices[0].measure, notes)


def _class_codes(topics: Sequence[str], classes: Classes) -> tuple[list[str], Codes]:
    """The names of the classes, and the class of each topic; −1 for topics without a class."""
    groups = topics_by_class(topics, classes)
    if len(groups) < 2:
        raise UsageError(f"all topics are in one class ({next(iter(groups))}); an interaction needs 2 or more")
    place = {topic: i for i, topic in enumerate(topics)}
    number = np.full(len(topics), -1)
    for i, members in enumerate(groups.values()):
        number[[place[topic] for topic in members]] = i
    return list(groups), number


def from_columns(columns: Any, value: str, factors: Sequence[str] | None, nested: Nested) -> Layout:
    """A layout from a table with a row per score: a column of scores and a column per factor."""
    table = _table(columns)
    if value not in table:
        raise nearest(value, list(table), "column")
    names = [name for name in table if name != value] if factors is None else list(factors)
    levels_of: Columns = {}
    for name in names:
        if name not in table:
            raise nearest(name, list(table), "factor")
        entries = [str(level) for level in table[name]]
        levels = list(dict.fromkeys(entries))
        levels_of[name] = levels, codes(entries, levels)
    return _layout(sample(list(table[value]), value), levels_of, _nesting(nested), value, ())


def factor_table(factors: Any, runs: Sequence[str]) -> dict[str, dict[str, str]]:
    """{factor: {run: level}} for all runs, from such a dict, a table of columns, or a file.

    >>> factor_table({"run": ["a", "b"], "stemmer": ["porter", "none"]}, ["a", "b"])
    {'stemmer': {'a': 'porter', 'b': 'none'}}
    """
    if isinstance(factors, (str, os.PathLike)):
        factors = read_factors(factors)
    if isinstance(factors, Mapping) and factors and all(isinstance(of_run, Mapping) for of_run in factors.values()):
        by_name = {
            str(name): {str(run): str(level) for run, level in of_run.items()} for name, of_run in factors.items()
        }
    else:
        table = _table(factors)
        key = next((name for name in table if name.casefold() in (RUN, "run_id", "runid")), next(iter(table), None))
        if key is None or len(table) < 2:
            raise UsageError("a table of factors needs a column 'run' and a column for each factor")
        names = [str(run) for run in table[key]]
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise UsageError(f"run {twice!r} appears twice in the table of factors")
        by_name = {
            name: dict(zip(names, map(str, column), strict=True)) for name, column in table.items() if name != key
        }
    for name, of_run in by_name.items():
        if name in (TOPIC, RUN):
            raise UsageError(f"a factor cannot be called {name!r}, the name of a built-in factor; choose another name")
        lacking = [run for run in runs if run not in of_run]
        if lacking:
            raise UsageError(f"factor {name!r} has no level for {listed(lacking)}")
    return {name: {run: of_run[run] for run in runs} for name, of_run in by_name.items()}


FACTORS = Schema(
    "run and a level of each factor", layouts=(), placed=True, run=Words(("run", "run_id", "runid")),
    others=Words(may_be_empty=True),
)  # fmt: skip


def read_factors(path: PathLike) -> dict[str, list[str]]:
    """The runs and their levels in a file with a header, between tabs, commas, semicolons or blanks."""
    rows = FACTORS.read(path)
    return {RUN: rows[RUN], **rows.others}


def _parts(data: Any, measure: Any, across: str | None) -> dict[str, Matrix]:
    if across is None:
        return {"": Matrix.of(data, measure)}
    if not re.fullmatch(r"\w[\w -]*", across):
        raise UsageError(f"across == {across!r}, must be a name such as 'shard'")
    if not isinstance(data, Mapping) or not data:
        raise UsageError(f"with across={across!r}, data must be {{{across}: scores}}, not {type(data).__name__}")
    return {str(level): Matrix.of(part, measure) for level, part in data.items()}


def _check_crossed(parts: dict[str, Matrix], across: str) -> None:
    """Raise an error if two parts have no topic in common."""
    (first, whole), *others = parts.items()
    for name, part in others:
        if not set(whole.topics) & set(part.topics):
            where = f"no topic is in both {first!r} and {name!r}"
            if across == "shard":
                raise UsageError(
                    f"{where}: topics without a relevant document in a shard are left out; use fewer shards"
                )
            raise UsageError(f"{where}; nest topics in {across}: topic in {across}")


def _layout(
    values: Array, columns: Columns, nested: dict[str, tuple[str, ...]], measure: str, notes: tuple[str, ...]
) -> Layout:
    """The layout without undefined scores and without factors that do not vary."""
    for name in columns:
        if re.search(r"[:×*()]", name):
            raise UsageError(f"factor {name!r}: names cannot contain ':', '×', '*' or brackets, which join factors")
    for child, parents in nested.items():
        for name in (child, *parents):
            if name not in columns:
                raise nearest(name, list(columns), "factor")
        if child in parents or any(parent in nested for parent in parents):
            raise UsageError(f"nested: {child!r} in {', '.join(parents)}: only one level of nesting is possible")
    whole = ~np.isnan(values)
    if not whole.all():
        notes = (*notes, caution_note(f"{int((~whole).sum()):,} of {len(values):,} scores are undefined and left out"))
    if not whole.any():
        raise UsageError(f"{measure}: every score is undefined")
    factors: dict[str, Factor] = {}
    for name, (levels, number) in columns.items():
        kept, renumbered = np.unique(number[whole], return_inverse=True)
        factors[name] = Factor(name, tuple(levels[i] for i in kept.tolist()), renumbered.reshape(-1))
    flat = [name for name, factor in factors.items() if len(factor.levels) < 2]
    parents_flat = {parent for parents in nested.values() for parent in parents} & set(flat)
    for name in flat:
        (level,) = factors.pop(name).levels
        if name in (TOPIC, SYSTEM):
            raise UsageError(f"{measure}: 1 {name} ({level}), an analysis of variance needs 2 or more")
        notes = (*notes, f"{name} left out: its only level is {level}")
    if not factors:
        raise UsageError(f"{measure}: no factor varies, so there is nothing to analyse")
    for child, parents in nested.items():
        left = tuple(parent for parent in parents if parent not in parents_flat)
        if child in factors and left:
            factors[child] = _within(factors[child], [factors[parent] for parent in left])
    return Layout(values[whole], factors, measure, notes)


def _within(child: Factor, parents: Sequence[Factor]) -> Factor:
    """The factor with its levels numbered from 0 within every combination of levels of its parents."""
    joint = np.ravel_multi_index([p.codes for p in parents], [len(p.levels) for p in parents])
    pairs, place = np.unique(joint * len(child.levels) + child.codes, return_inverse=True)
    owner = pairs // len(child.levels)
    starts = np.searchsorted(owner, owner)
    number = np.arange(len(pairs)) - starts
    levels = tuple(str(i + 1) for i in range(int(number.max()) + 1))
    return Factor(child.name, levels, number[place.reshape(-1)], tuple(parent.name for parent in parents))


def _nesting(nested: Nested) -> dict[str, tuple[str, ...]]:
    pairs = (nested or {}).items()
    return {child: (parents,) if isinstance(parents, str) else tuple(parents) for child, parents in pairs}


def _table(columns: Any) -> dict[str, list[Any]]:
    names = columns if isinstance(columns, Mapping) else getattr(columns, "column_names", None)
    if names is None:
        names = getattr(columns, "columns", None)
    if names is None:
        raise UsageError(f"expected a table of columns, not {type(columns).__name__}")
    table = {str(name): list(getattr(columns[name], "to_pylist", columns[name].__iter__)()) for name in names}
    expected = len(next(iter(table.values()), []))
    for name, column in table.items():
        if len(column) != expected:
            raise UsageError(f"column {name!r} has {len(column)} entries, others have {expected}")
    return table

"""Moments by arm straight from Parquet files with a row per user; a database would take longer to start and plan."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.online.engines.table_source import REMOTE_MARK, find_table
from cranfield.online.experiments.unit_table import ARM
from cranfield.online.moments import FAR, Moments, moments_from_sums, shift_distance
from cranfield.types import Array

Whole = NDArray[np.int32]
FLOATS = ("double", "float")
MOST_ARMS = 100
"""With more arms, rows are not sorted by arm here; an engine does it."""


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """Local Parquet files of the same columns."""

    files: tuple[str, ...]

    @cached_property
    def schemas(self) -> list[Any]:
        """The columns of each file."""
        from pyarrow.parquet import read_schema

        return [read_schema(path, memory_map=True) for path in self.files]

    @cached_property
    def types(self) -> dict[str, Any]:
        """The type of each column."""
        return dict(zip(self.schemas[0].names, self.schemas[0].types, strict=True))

    def moments(self, arm: str, sets: Mapping[str, Sequence[str]]) -> dict[str, Moments] | None:
        """The moments of each set of columns by arm, as `moments_of_sets` gives them, in one pass over the files.

        None if a value, an arm or a column of numbers is missing, or if digits would be lost: that is for an engine.
        """
        from pyarrow.parquet import ParquetFile

        columns = list(dict.fromkeys(name for names in sets.values() for name in names))
        if not columns or not self._plain(arm, columns):
            return None
        place = {name: i for i, name in enumerate(columns)}
        wanted = {(place[a], place[b]) for names in sets.values() for i, a in enumerate(names) for b in names[i:]}
        pairs = np.array(sorted({(min(pair), max(pair)) for pair in wanted}), dtype=np.int32)
        totals: dict[str, tuple[int, Array, Array]] = {}
        shift: Array | None = None
        largest = dict.fromkeys(columns, 0.0)
        for path in self.files:
            file = ParquetFile(path, memory_map=True, read_dictionary=[arm])
            _note_largest(file.metadata, largest)
            for g in range(file.num_row_groups):
                table = file.read_row_group(g, columns=[arm, *columns])
                part = _part(table, arm, columns, pairs, shift)
                if part is None:
                    return None
                shift, sums = part
                for name, (n, first, products) in sums.items():
                    n0, first0, products0 = totals.get(name, (0, np.zeros(len(columns)), np.zeros(len(pairs))))
                    totals[name] = n0 + n, first0 + first, products0 + products
        if shift is None or len(totals) > MOST_ARMS:
            return None
        return _of_sets(totals, sets, place, pairs, shift, np.array([largest[name] for name in columns]))

    def _plain(self, arm: str, columns: Sequence[str]) -> bool:
        import pyarrow.types as kinds

        if any(self.types.get(name) is None for name in (arm, *columns)):
            return False
        if any(schema != self.schemas[0] for schema in self.schemas[1:]):
            return False
        text = kinds.is_string(self.types[arm]) or kinds.is_large_string(self.types[arm])
        return text and all(kinds.is_integer(self.types[name]) or str(self.types[name]) in FLOATS for name in columns)


def parquet_table(source: Any) -> ParquetTable | None:
    """The local Parquet files of a source; None if it is something else."""
    if not isinstance(source, str | os.PathLike):
        return None
    table = find_table(source)
    if table.format != "parquet" or any(REMOTE_MARK in path for path in table.files):
        return None
    return ParquetTable(tuple(table.files))


def _note_largest(metadata: Any, largest: dict[str, float]) -> None:
    """Raise the largest absolute values of columns to those that a file says it has; ∞ if it does not say."""
    for g in range(metadata.num_row_groups):
        group = metadata.row_group(g)
        for c in range(group.num_columns):
            column = group.column(c)
            if column.path_in_schema in largest:
                stats = column.statistics
                known = stats is not None and stats.has_min_max
                most = max(abs(float(stats.min)), abs(float(stats.max))) if known else np.inf
                largest[column.path_in_schema] = max(largest[column.path_in_schema], most)


def _part(
    table: Any, arm: str, columns: Sequence[str], pairs: Whole, shift: Array | None
) -> tuple[Array, dict[str, tuple[int, Array, Array]]] | None:
    """The shifts, and the rows, sums and sums of products of each arm, of a part of a table."""
    if not table.num_rows or any(column.null_count for column in table.columns):
        return None
    arms = table[arm].unify_dictionaries().combine_chunks()
    arms = arms.chunk(0) if hasattr(arms, "chunk") else arms
    if len(arms.dictionary) > MOST_ARMS:
        return None
    codes = np.ascontiguousarray(arms.indices.to_numpy(), dtype=np.int32)
    numbers: list[Any] = []
    for name in columns:
        values = table[name].to_numpy()
        exact = np.int64 if values.dtype.kind in "iu" and values.dtype != np.uint64 else np.float64
        numbers.append(np.ascontiguousarray(values, dtype=exact))
    if shift is None:  # the first rows are near enough to the mean to keep its digits
        shift = np.array([float(values[:1000].mean()) for values in numbers])
    groups, threads = len(arms.dictionary), os.cpu_count() or 1
    first, second = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    sums, products = _core.group_sums(codes, groups, numbers, shift, first, second, threads)
    if not (np.isfinite(sums).all() and np.isfinite(products).all()):
        return None
    rows = np.bincount(codes, minlength=groups)
    sums, products = sums.reshape(groups, -1), products.reshape(groups, -1)
    names = arms.dictionary.to_pylist()
    return shift, {name: (int(rows[g]), sums[g], products[g]) for g, name in enumerate(names)}


def _of_sets(
    totals: Mapping[str, tuple[int, Array, Array]], sets: Mapping[str, Sequence[str]], place: Mapping[str, int],
    pairs: Whole, shift: Array, largest: Array,
) -> dict[str, Moments] | None:  # fmt: skip
    arms = sorted(totals)
    rows = np.array([totals[arm][0] for arm in arms], dtype=np.int64)
    first = np.array([totals[arm][1] for arm in arms])
    products = np.array([totals[arm][2] for arm in arms])
    square = np.zeros((len(arms), len(place), len(place)))
    square[:, pairs[:, 0], pairs[:, 1]] = square[:, pairs[:, 1], pairs[:, 0]] = products
    groups = tuple((arm,) for arm in arms)
    result = {}
    for label, names in sets.items():
        at = [place[name] for name in names]
        own = moments_from_sums(
            tuple(names), (ARM,), groups, rows, rows, first[:, at], square[:, at][:, :, at], shift[at],
            np.tile(largest[at], (len(arms), 1)),
        )  # fmt: skip
        if (shift_distance(own, dict(zip(names, shift[at].tolist(), strict=True))) > FAR).any():
            return None
        result[label] = own
    return result

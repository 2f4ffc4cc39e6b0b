"""Counts, means and covariances per group, computed where the rows are: all that the statistics of live traffic need.

A frame of a billion rows and one of a thousand cost the same after the scan. Frames are lazy frames of narwhals, on
DuckDB or Spark; only the sums of each group leave the engine.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.frames import need
from cranfield.record import Record
from cranfield.types import Array

Group = tuple[Hashable, ...]
"""The values of the `by` columns."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """An estimate per group, with its standard error."""

    groups: tuple[Group, ...]
    value: Array
    error: Array
    """Standard errors; NaN for fewer than two rows."""
    n: NDArray[np.int64]

    def difference(self, first: Any, second: Any) -> tuple[float, float]:
        """The estimate of the first group minus that of the second, and its standard error; groups are independent."""
        i, j = _index(self.groups, first), _index(self.groups, second)
        return float(self.value[i] - self.value[j]), float(np.hypot(self.error[i], self.error[j]))


@dataclass(frozen=True, eq=False, repr=False)
class Moments(Record):
    """The number of rows, the means and the covariances of columns, for each group.

    A row counts if all columns have a finite number in it.
    """

    names: tuple[str, ...]
    """The columns."""
    by: tuple[str, ...]
    groups: tuple[Group, ...]
    """Sorted; a missing value of a `by` column comes last."""
    n: NDArray[np.int64]
    """The rows of each group that have all columns."""
    rows: NDArray[np.int64]
    """All rows of each group."""
    mean: Array
    """groups × columns; NaN for an empty group."""
    cov: Array
    """groups × columns × columns, with n − 1 below; NaN for fewer than two rows."""

    def columns(self) -> dict[str, NDArray[Any]]:
        """The `by` columns, n, missing, and the mean and variance of each column."""
        keys = {name: np.array([group[i] for group in self.groups], dtype=object) for i, name in enumerate(self.by)}
        means = {f"mean {name}": self.mean[:, i] for i, name in enumerate(self.names)}
        variances = {f"variance {name}": self.cov[:, i, i] for i, name in enumerate(self.names)}
        return {**keys, "n": self.n, "missing": self.missing, **means, **variances}

    @property
    def missing(self) -> NDArray[np.int64]:
        """The number of rows of each group without a number in some column."""
        return np.asarray(self.rows - self.n)

    def group(self, group: Any) -> int:
        """The place of a group; a single value stands for a group of one `by` column."""
        return _index(self.groups, group)

    def column(self, name: str) -> int:
        """The place of a column."""
        if name not in self.names:
            raise nearest(name, self.names, "column")
        return self.names.index(name)

    def means(self, name: str) -> Estimates:
        r"""The mean of a column in each group, with its standard error :math:`s / \sqrt n`."""
        i = self.column(name)
        return self.linear(self.mean[:, i], _one_hot(len(self.groups), len(self.names), i))

    def ratio(self, numerator: str, denominator: str) -> Estimates:
        r"""Σ numerator / Σ denominator in each group, with a standard error by the delta method.

        .. math:: R = \frac{\bar y}{\bar x}, \quad
            \text{var}(R) \approx \frac{s_y^2 - 2 R s_{xy} + R^2 s_x^2}{n\, \bar x^2}

        Reference: Deng, Knoblich & Lu, Applying the Delta Method in Metric Analytics, KDD 2018,
        doi:10.1145/3219819.3219919
        """
        i, j = self.column(numerator), self.column(denominator)
        below = np.where(self.mean[:, j] == 0, np.nan, self.mean[:, j])
        value = self.mean[:, i] / below
        gradient = _one_hot(len(self.groups), len(self.names), i) / below[:, None]
        gradient[:, j] -= value / below
        return self.linear(value, gradient)

    def linear(self, value: Array, gradient: Array) -> Estimates:
        """Estimates that are functions of the means, with this gradient (groups × columns) in each group."""
        variance = np.einsum("gi,gij,gj->g", gradient, self.cov, gradient)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.sqrt(np.maximum(variance, 0.0) / self.n)
        return Estimates(self.groups, np.asarray(value), np.asarray(error), self.n)

    def pooled(self, keep: Sequence[str] = ()) -> Moments:
        """The moments of larger groups: those of all rows with the same values of the columns in `keep`."""
        places = [self.by.index(name) for name in keep]
        parts: dict[Group, list[int]] = {}
        for i, group in enumerate(self.groups):
            parts.setdefault(tuple(group[place] for place in places), []).append(i)
        merged = [self._merged(np.array(part)) for part in parts.values()]
        n, mean, cov = (np.array(column) for column in zip(*merged, strict=True))
        rows = np.array([self.rows[part].sum() for part in parts.values()])
        return Moments(self.names, tuple(keep), tuple(parts), n, rows, mean, cov)

    def _merged(self, part: NDArray[Any]) -> tuple[int, Array, Array]:
        part = part[self.n[part] > 0]
        n, mean = self.n[part], self.mean[part]
        size = len(self.names)
        if not n.sum():
            return 0, np.full(size, np.nan), np.full((size, size), np.nan)
        centre = n @ mean / n.sum()
        within = np.where(n[:, None, None] > 1, self.cov[part] * (n[:, None, None] - 1), 0.0).sum(axis=0)
        between = np.einsum("g,gi,gj->ij", n, mean - centre, mean - centre)
        below = n.sum() - 1
        cov = (within + between) / below if below > 0 else np.full((size, size), np.nan)
        return int(n.sum()), np.asarray(centre), np.asarray(cov)


def moments(frame: Any, columns: Iterable[str], by: Iterable[str] = ()) -> Moments:
    r"""Counts, means and covariances of columns for each group, in two scans of the frame.

    .. math:: \bar x = c + \frac{1}{n} \sum (x - c), \qquad
        s_{xy} = \frac{1}{n - 1} \left( \sum (x - c_x)(y - c_y) - n (\bar x - c_x)(\bar y - c_y) \right)

    The first scan finds the shifts c, the means over all rows; so large numbers that differ little lose no digits.
    Rows in which a column has no finite number do not count; `Moments.missing` says how many.

    >>> import duckdb
    >>> rows = duckdb.sql("SELECT * FROM (VALUES ('A', 1, 2), ('A', 3, 2), ('B', 5, NULL)) AS t(arm, clicks, shown)")
    >>> by_arm = moments(rows, ["clicks", "shown"], ["arm"])
    >>> by_arm.groups, by_arm.n.tolist(), by_arm.missing.tolist(), by_arm.mean[0].tolist()
    ((('A',), ('B',)), [2, 0], [0, 1], [2.0, 2.0])
    >>> float(by_arm.ratio("clicks", "shown").value[0])
    1.0
    """
    return moments_of_sets(frame, {"": tuple(columns)}, by)[""]


def moments_of_sets(frame: Any, sets: Mapping[str, Sequence[str]], by: Iterable[str] = ()) -> dict[str, Moments]:
    """Moments of several sets of columns together, in two scans; a row counts for each set that it is complete for."""
    nw = need("narwhals", "moments of a frame")
    lazy = lazy_frame(frame)
    keys = tuple(by)
    every = tuple(dict.fromkeys(name for names in sets.values() for name in names))
    schema = _checked_schema(nw, lazy, every, keys)
    numbers = {name: f"v{i}" for i, name in enumerate(every)}
    labels = [f"k{i}" for i in range(len(keys))]
    clean = lazy.select(
        *(nw.col(name).alias(label) for name, label in zip(keys, labels, strict=True)),
        *(_finite(nw, name, schema[name]).alias(number) for name, number in numbers.items()),
    )
    shifts, full = _shifts(nw, clean, numbers)
    shifted = clean.with_columns(*(nw.col(number) - shift for number, shift in shifts.items()))
    masked = {s for s, names in enumerate(sets.values()) if not full.issuperset(names)}
    sums: dict[str, Any] = {}
    for s, names in enumerate(sets.values()):
        terms = {key: _product(nw, numbers, pair) for key, pair in _keys(s, names, numbers, s in masked)}
        if s in masked:
            complete = nw.all_horizontal(*(~nw.col(numbers[name]).is_null() for name in names), ignore_nulls=False)
            terms = {key: nw.when(complete).then(term) for key, term in terms.items()}
            sums[f"n{s}"] = nw.when(complete).then(nw.lit(1)).otherwise(nw.lit(0))
        sums |= terms
    frame = shifted.select(*labels, *(term.alias(key) for key, term in sums.items()))
    totals = (nw.len().alias("rows"), *(nw.col(key).sum() for key in sums))
    table = fetched(frame.group_by(*labels).agg(*totals) if keys else frame.select(*totals)).to_pylist()
    table.sort(key=lambda row: [(row[label] is None, "" if row[label] is None else row[label]) for label in labels])
    groups = tuple(tuple(row[label] for label in labels) for row in table)
    rows = np.array([row["rows"] for row in table], dtype=np.int64)
    result = {}
    for s, (label, names) in enumerate(sets.items()):
        n = np.array([row[f"n{s}"] or 0 for row in table], dtype=np.int64) if s in masked else rows
        first, second = np.empty((len(table), len(names))), np.empty((len(table), len(names), len(names)))
        for key, pair in _keys(s, names, numbers, s in masked):
            i, *j = (names.index(name) for name in pair)
            column = [row[key] or 0.0 for row in table]
            if j:
                second[:, i, j[0]] = second[:, j[0], i] = column
            else:
                first[:, i] = column
        shift = np.array([shifts[numbers[name]] for name in names])
        result[label] = _moments(tuple(names), keys, groups, n, rows, first, second, shift)
    return result


def _checked_schema(nw: Any, lazy: Any, columns: Sequence[str], keys: Sequence[str]) -> Any:
    schema = lazy.collect_schema()
    if not columns:
        raise UsageError("moments: no columns")
    for name in (*columns, *keys):
        if name not in schema:
            raise nearest(name, list(schema), "column")
    for name in columns:
        if not (schema[name].is_numeric() or schema[name] == nw.Boolean):
            raise UsageError(f"column {name!r} holds {schema[name]}, must hold numbers")
    return schema


def _shifts(nw: Any, clean: Any, numbers: Mapping[str, str]) -> tuple[dict[str, float], set[str]]:
    """The first scan: the mean of each column over all rows, and the columns that are never missing."""
    facts = clean.select(
        nw.len().alias("rows"),
        *(nw.col(number).count().alias(f"n_{number}") for number in numbers.values()),
        *(nw.col(number).mean().alias(f"m_{number}") for number in numbers.values()),
    )
    row = fetched(facts).to_pylist()[0]
    shifts = {number: row[f"m_{number}"] or 0.0 for number in numbers.values()}
    return shifts, {name for name, number in numbers.items() if row[f"n_{number}"] == row["rows"]}


def _keys(
    s: int, names: Sequence[str], numbers: Mapping[str, str], masked: bool
) -> Iterable[tuple[str, tuple[str, ...]]]:
    """The name of each sum that a set needs, and the columns that it multiplies; complete sets share their sums."""
    prefix = f"set{s}" if masked else "all"
    for i, name in enumerate(names):
        for pair in ((name,), *((name, other) for other in names[i:])):
            yield "_".join([prefix, *sorted(numbers[one] for one in pair)]), pair


def _product(nw: Any, numbers: Mapping[str, str], pair: Sequence[str]) -> Any:
    first, *second = (nw.col(numbers[name]) for name in pair)
    return first * second[0] if second else first


def lazy_frame(frame: Any) -> Any:
    """The frame as a lazy frame of narwhals."""
    nw = need("narwhals", "a frame of an engine")
    try:
        return nw.from_native(frame).lazy()
    except TypeError:
        raise UsageError(f"a frame must be one of DuckDB, Spark, pandas, polars or Arrow, not {type(frame)}") from None


def fetched(frame: Any) -> Any:
    """A small lazy frame as a pyarrow table."""
    return frame.collect("pyarrow").to_native()


def _finite(nw: Any, name: str, dtype: Any) -> Any:
    """The column as floats; what is not finite is missing."""
    value = nw.col(name).cast(nw.Float64)
    return nw.when(value.is_finite()).then(value) if dtype.is_float() or dtype.is_decimal() else value


def _moments(
    names: tuple[str, ...],
    by: tuple[str, ...],
    groups: tuple[Group, ...],
    n: NDArray[np.int64],
    rows: NDArray[np.int64],
    sums: Array,
    products: Array,
    shift: Array,
) -> Moments:
    """Moments from the sums of shifted values."""
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = sums / n[:, None]
        cov = (products - n[:, None, None] * centre[:, :, None] * centre[:, None, :]) / (n - 1)[:, None, None]
    cov[n < 2] = np.nan
    diagonal = np.einsum("gii->gi", cov)
    np.maximum(diagonal, 0.0, out=diagonal, where=~np.isnan(diagonal))
    return Moments(names, by, groups, n, rows, centre + shift, cov)


def _index(groups: tuple[Group, ...], group: Any) -> int:
    key = group if isinstance(group, tuple) else (group,)
    if key not in groups:
        raise nearest(str(group), [str(one[0]) if len(one) == 1 else str(one) for one in groups], "group")
    return groups.index(key)


def _one_hot(rows: int, columns: int, at: int) -> Array:
    out = np.zeros((rows, columns))
    out[:, at] = 1.0
    return out

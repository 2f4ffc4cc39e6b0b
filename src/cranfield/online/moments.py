"""Counts, means and covariances per group, computed where the rows are: all that the statistics of live traffic need.

A frame of a billion rows and one of a thousand cost the same after the scan. Frames are lazy frames of narwhals, on
DuckDB or Spark; only the sums of each group leave the engine.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.online.expressions import nw
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
    largest: Array | None = None
    """groups × columns: the largest absolute value, or a number that is not below it; None if it was not looked for."""

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
        most = self.largest
        largest = None if most is None else np.array([most[part].max(axis=0) for part in parts.values()])
        return Moments(self.names, tuple(keep), tuple(parts), n, rows, mean, cov, largest)

    def at(self, places: Sequence[int], groups: Sequence[Group], by: Sequence[str]) -> Moments:
        """The groups at these places, called by other names; −1 is a group without rows."""
        where, there = np.array(places, dtype=np.int64), np.array(places) >= 0
        n, rows = np.where(there, self.n[where], 0), np.where(there, self.rows[where], 0)
        mean = np.where(there[:, None], self.mean[where], np.nan)
        cov = np.where(there[:, None, None], self.cov[where], np.nan)
        largest = None if self.largest is None else np.where(there[:, None], self.largest[where], 0.0)
        return Moments(self.names, tuple(by), tuple(groups), n, rows, mean, cov, largest)

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
    r"""Counts, means and covariances of columns for each group, in one scan of the frame.

    .. math:: \bar x = c + \frac{1}{n} \sum (x - c), \qquad
        s_{xy} = \frac{1}{n - 1} \left( \sum (x - c_x)(y - c_y) - n (\bar x - c_x)(\bar y - c_y) \right)

    The shifts c are 0 at first. A group of large numbers that differ little would lose digits: then another scan has
    the mean of the group as shift. Rows in which a column has no finite number do not count; `Moments.missing` says how
    many; such rows also cost a second scan.

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
    """Moments of several sets of columns together; a row counts for each set that it is complete for."""
    lazy = lazy_frame(frame)
    keys = tuple(by)
    every = tuple(dict.fromkeys(name for names in sets.values() for name in names))
    schema = _checked_schema(lazy, every, keys)
    scan = _Scan(lazy, sets, keys, {name: schema[name] for name in every})
    shifts = dict.fromkeys(every, 0.0)
    result = scan.run(shifts)
    if not scan.complete:
        result = scan.run(shifts)
    lost = {label: shift_distance(own, shifts, scan.constant[label]) for label, own in result.items()}
    for _ in range(SCANS):
        if not any((distance > FAR).any() for distance in lost.values()):
            break
        moved = _better_shifts(result, lost, shifts)
        if moved == shifts:
            break  # the same scan would find the same
        shifts = moved
        for label, again in scan.run(shifts).items():
            now = shift_distance(again, shifts, scan.constant[label])
            better = now < lost[label]
            result[label], lost[label] = _chosen(again, result[label], better), np.minimum(now, lost[label])
    return result


ROUNDING = 1e-13
"""A standard deviation below this share of the mean is rounding."""
SCANS = 4
"""The most further scans for groups that are far from the shifts."""
FAR = 1e6
"""A shift whose squared distance from the mean is this many variances costs too many digits: six of sixteen."""


class _Scan:
    """A scan that sums shifted columns and their products, for each group."""

    def __init__(
        self, lazy: Any, sets: Mapping[str, Sequence[str]], keys: tuple[str, ...], types: Mapping[str, Any]
    ) -> None:
        self.sets, self.keys = sets, keys
        self.numbers = {name: f"v{i}" for i, name in enumerate(types)}
        self.labels = [f"k{i}" for i in range(len(keys))]
        self.complete = True
        """Is every value of every column a finite number, as far as is known?"""
        self.constant: dict[str, NDArray[np.bool_]] = {}
        """groups × columns of each set: are all values the same? They lose no digits, wherever the shift is."""
        self._shared = True
        labelled = [nw.col(name).alias(label) for name, label in zip(keys, self.labels, strict=True)]
        floats = {name: nw.col(name).cast(nw.Float64) for name in types}
        self.rows = lazy.select(*labelled, *(value.alias(self.numbers[name]) for name, value in floats.items()))
        finite = {name: nw.when(value.is_finite()).then(value) for name, value in floats.items()}
        self.clean = lazy.select(*labelled, *(value.alias(self.numbers[name]) for name, value in finite.items()))

    def run(self, shifts: Mapping[str, float]) -> dict[str, Moments]:
        """The moments of each set; they are wrong if `complete` turns out to be false, then run it again."""
        numbers = self.numbers
        self._shared = self.complete
        rows = self.rows if self.complete else self.clean
        moved = {name: shift for name, shift in shifts.items() if shift}
        shifted = (
            rows.with_columns(*(nw.col(numbers[name]) - shift for name, shift in moved.items())) if moved else rows
        )
        sums: dict[str, Any] = {}
        counts: dict[str, Any] = {}
        singles: dict[str, None] = {}
        for s, names in enumerate(self.sets.values()):
            terms = {key: self._product(pair) for key, pair in self._keys(s, names)}
            singles |= dict.fromkeys(key for key, pair in self._keys(s, names) if len(pair) == 1)
            if self.complete:
                counts |= {f"n_{numbers[name]}": nw.col(f"all_{numbers[name]}").count() for name in names}
            else:
                there = nw.all_horizontal(*(~nw.col(numbers[name]).is_null() for name in names), ignore_nulls=False)
                terms = {key: nw.when(there).then(term) for key, term in terms.items()}
                terms[f"n{s}"] = nw.when(there).then(nw.lit(1)).otherwise(nw.lit(0))
            sums |= terms
        frame = shifted.select(*self.labels, *(term.alias(key) for key, term in sums.items()))
        totals = (
            nw.len().alias("rows"),
            *(nw.col(key).sum() for key in sums),
            *(
                end.alias(f"{which}_{key}")
                for key in singles
                for which, end in (("most", nw.col(key).max()), ("least", nw.col(key).min()))
            ),
            *(count.alias(key) for key, count in counts.items()),
        )
        grouped = frame.group_by(*self.labels).agg(*totals) if self.keys else frame.select(*totals)
        table = fetched(grouped).to_pylist()
        table.sort(
            key=lambda row: [(row[label] is None, "" if row[label] is None else row[label]) for label in self.labels]
        )
        if self.complete:
            whole = all(row[key] == row["rows"] for row in table for key in counts)
            self.complete = whole and all(np.isfinite(row[key] or 0.0) for row in table for key in sums)
        return {label: self._read(table, s, label, shifts) for s, label in enumerate(self.sets)}

    def _read(self, table: list[dict[str, Any]], s: int, label: str, shifts: Mapping[str, float]) -> Moments:
        names = self.sets[label]
        groups = tuple(tuple(row[label] for label in self.labels) for row in table)
        rows = np.array([row["rows"] for row in table], dtype=np.int64)
        n = rows if self._shared else np.array([row[f"n{s}"] or 0 for row in table], dtype=np.int64)
        first, second = np.empty((len(table), len(names))), np.empty((len(table), len(names), len(names)))
        most, least = np.empty((len(table), len(names))), np.empty((len(table), len(names)))
        for key, pair in self._keys(s, names):
            i, *j = (names.index(name) for name in pair)
            column = [row[key] or 0.0 for row in table]
            if j:
                second[:, i, j[0]] = second[:, j[0], i] = column
            else:
                first[:, i] = column
                most[:, i], least[:, i] = ([row[f"{end}_{key}"] or 0.0 for row in table] for end in ("most", "least"))
        shift = np.array([shifts[name] for name in names])
        largest = np.maximum(np.abs(most), np.abs(least))
        made = moments_from_sums(tuple(names), self.keys, groups, n, rows, first, second, shift, largest)
        self.constant[label] = same = (most == least) & (n > 0)[:, None] & np.isfinite(first)
        made.mean[same] = (most + shift)[same]
        made.cov[(same[:, :, None] | same[:, None, :]) & (n > 1)[:, None, None]] = 0.0
        return made

    def _keys(self, s: int, names: Sequence[str]) -> Iterable[tuple[str, tuple[str, ...]]]:
        """The name of each sum that a set needs, and the columns that it multiplies; complete sets share their sums."""
        prefix = "all" if self._shared else f"set{s}"
        for i, name in enumerate(names):
            for pair in ((name,), *((name, other) for other in names[i:])):
                yield "_".join([prefix, *sorted(self.numbers[member] for member in pair)]), pair

    def _product(self, pair: Sequence[str]) -> Any:
        first, *second = (nw.col(self.numbers[name]) for name in pair)
        return first * second[0] if second else first


def shift_distance(moments: Moments, shifts: Mapping[str, float], constant: NDArray[np.bool_] | None = None) -> Array:
    """How far the shifts are from the means of each group: the largest squared distance in variances of the column.

    Columns with one value only are left out if `constant` (groups × columns) says which ones they are.
    """
    with np.errstate(invalid="ignore"):
        distance = np.abs(moments.mean - np.array([shifts[name] for name in moments.names]))
    distance = np.where(distance > ROUNDING * np.abs(moments.mean), distance, 0.0)
    if constant is not None:
        distance = np.where(constant, 0.0, distance)
    variance = np.einsum("gii->gi", moments.cov)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.asarray(np.nan_to_num(np.where(distance > 0, distance**2 / variance, 0.0), nan=0.0).max(axis=1))


def _better_shifts(
    result: Mapping[str, Moments], lost: Mapping[str, Array], shifts: Mapping[str, float]
) -> dict[str, float]:
    """The means of the largest group of each set that lost digits."""
    better = dict(shifts)
    for label, moments in result.items():
        far = np.where(lost[label] > FAR, moments.n, 0)
        if far.any():
            means = moments.mean[int(far.argmax())].tolist()
            better |= dict(zip(moments.names, means, strict=True))
    return better


def _chosen(first: Moments, second: Moments, where: NDArray[np.bool_]) -> Moments:
    """The means and covariances of the first where it is better, else of the second."""
    mean = np.where(where[:, None], first.mean, second.mean)
    cov = np.where(where[:, None, None], first.cov, second.cov)
    return replace(second, mean=mean, cov=cov)


def _checked_schema(lazy: Any, columns: Sequence[str], keys: Sequence[str]) -> Any:
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


def lazy_frame(frame: Any) -> Any:
    """The frame as a lazy frame of narwhals."""
    try:
        return nw.from_native(frame).lazy()
    except TypeError:
        raise UsageError(f"a frame must be one of DuckDB, Spark, pandas, polars or Arrow, not {type(frame)}") from None


def fetched(frame: Any) -> Any:
    """A small lazy frame as a pyarrow table."""
    return frame.collect("pyarrow").to_native()


def moments_from_sums(
    names: tuple[str, ...],
    by: tuple[str, ...],
    groups: tuple[Group, ...],
    n: NDArray[np.int64],
    rows: NDArray[np.int64],
    sums: Array,
    products: Array,
    shift: Array,
    largest: Array | None = None,
) -> Moments:
    """Moments from the sums of shifted values."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        centre = sums / n[:, None]
        cov = (products - n[:, None, None] * centre[:, :, None] * centre[:, None, :]) / (n - 1)[:, None, None]
    cov[n < 2] = np.nan
    diagonal = np.einsum("gii->gi", cov)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = centre + shift
        diagonal[diagonal <= (ROUNDING * mean) ** 2] = 0.0  # a constant column, but for rounding
    if largest is not None:
        zero = (largest == 0) & (n > 0)[:, None]  # the shift, which is that of all groups, leaves rounding
        mean[zero] = 0.0
        cov[(zero[:, :, None] | zero[:, None, :]) & (n > 1)[:, None, None]] = 0.0
    return Moments(names, by, groups, n, rows, mean, cov, largest)


def _index(groups: tuple[Group, ...], group: Any) -> int:
    key = group if isinstance(group, tuple) else (group,)
    if key not in groups:
        raise nearest(str(group), [str(other[0]) if len(other) == 1 else str(other) for other in groups], "group")
    return groups.index(key)


def _one_hot(rows: int, columns: int, at: int) -> Array:
    out = np.zeros((rows, columns))
    out[:, at] = 1.0
    return out

"""Gains of grades and discounts of ranks, in which forms of nDCG differ, and the documents that gain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.collection.grade_labels import grade_called
from cranfield.errors import UsageError
from cranfield.notes import method_note
from cranfield.types import Array, Index


@dataclass(frozen=True)
class Gain:
    """What a grade is worth: `"linear"` (the grade), `"exp"` (2^grade − 1) or a table such as `{1: 1, 2: 3}`.

    Grades of 0 and below gain nothing, unless a table says otherwise. The grades of a table can be written as at
    NTCIR: S, A, B, C are 3, 2, 1, 0, and L0, L1, ... are 0, 1, ... A grade above 0 that is missing from a table is an
    error, unless the table ends with `"else": "linear"`. Gains are never negative: a number below 0 in a table is an
    error. A table can give a higher grade less than a lower one, but evaluation then warns.

    >>> Gain.of("exp")(np.array([-1.0, 0.0, 1.0, 2.0])).tolist()
    [0.0, 0.0, 1.0, 3.0]
    >>> Gain.of({1: 1, 2: 5})(np.array([0.0, 2.0])).tolist()
    [0.0, 5.0]
    >>> str(Gain.of({1: 1, 2: 5}))
    '{1:1,2:5}'
    >>> Gain.of({1: 3, "else": "linear"})(np.array([1.0, 2.0])).tolist()
    [3.0, 2.0]
    """

    kind: str
    table: tuple[tuple[float, float], ...] = ()
    unlisted: str = ""

    @staticmethod
    def of(gain: GainLike, name: str = "gain", *, finite: bool = True) -> Gain:
        if isinstance(gain, Gain):
            return gain
        if isinstance(gain, Mapping):
            return Gain._from_table(dict(gain), name, finite)
        if gain in ("linear", "exp"):
            return Gain(gain)
        raise UsageError(f'{name} == {gain!r}, must be "linear", "exp" or a table such as {{1: 1, 2: 3}}')

    @staticmethod
    def _from_table(table: dict[float | str, float | str], name: str, finite: bool) -> Gain:
        unlisted = str(table.pop("else", ""))
        if unlisted not in ("", "linear"):
            raise UsageError(f'{name} table: "else" == {unlisted!r}, must be "linear"')
        try:
            pairs = sorted((_grade(grade), float(worth)) for grade, worth in table.items())
        except (TypeError, ValueError):
            pairs = []
        if not pairs:
            raise UsageError(f"{name} == {table!r}, must be a table of numbers such as {{1: 1, 2: 3}}")
        if len(dict(pairs)) < len(pairs):
            raise UsageError(f"{name} == {table!r}, one grade is in the table twice")
        numbers = [grade for grade, _ in pairs] + [worth for _, worth in pairs if finite or worth != math.inf]
        if not all(map(math.isfinite, numbers)):
            raise UsageError(f"{name} == {table!r}, every number must be finite")
        return Gain("table", tuple(pairs), unlisted)

    def __call__(self, grade: Array) -> Array:
        if self.kind == "linear":
            return np.maximum(grade, 0.0)
        if self.kind == "exp":
            with np.errstate(over="ignore"):
                gains = np.exp2(np.maximum(grade, 0.0)) - 1.0
            if not np.isfinite(gains).all():
                large = grade[~np.isfinite(gains)][0]
                raise UsageError(f"gain == exp: the gain of grade {large:g} is too large for a float; give a table")
            return gains
        grades, worths = (np.array(column) for column in zip(*self.table, strict=True))
        at = np.minimum(np.searchsorted(grades, grade), len(grades) - 1)
        listed = grades[at] == grade
        if self.unlisted == "linear":
            return np.where(listed, worths[at], np.maximum(grade, 0.0))
        unlisted = grade[~listed & (grade > 0)]
        if len(unlisted):
            raise UsageError(f"grade {unlisted[0]:g} is in the judgments but not in the gain table {self}; add it")
        return np.where(listed, worths[at], 0.0)

    def __str__(self) -> str:
        if self.kind != "table":
            return self.kind
        pairs = [f"{number(grade)}:{number(worth)}" for grade, worth in self.table]
        return "{" + ",".join(pairs + (["else:linear"] if self.unlisted else [])) + "}"

    def check(self, caller: str) -> None:
        """Raise an error if a gain is below 0."""
        for grade, worth in self.table:
            if worth < 0:
                raise UsageError(f"{caller}: gain == {self}: grade {grade:g} gains {worth:g}, must be 0 or more")

    def falls(self, grades: Array) -> list[tuple[float, float]]:
        """Pairs of successive grades of which the higher gains less: among these grades, 0 and those of the table.

        >>> Gain.of({1: 3, 2: 1, 3: 4}).falls(np.array([1.0, 2.0]))
        [(1.0, 2.0)]
        """
        if self.kind != "table":
            return []
        listed = np.array([0.0, *(grade for grade, _ in self.table)])
        every = np.unique(np.concatenate((listed, grades)) if self.unlisted else listed)
        at = np.flatnonzero(np.diff(self(every)) < 0)
        return [(float(every[i]), float(every[i + 1])) for i in at]

    def scale(self, grade: float) -> float:
        """The divisor that brings the gains of grades up to `grade` into 0 to 1; it is 1 if they already are."""
        return max(self.most(grade), 1.0)

    def most(self, grade: float) -> float:
        """The largest gain of a grade from 0 to `grade`."""
        listed = [worth for listed, worth in self.table if listed <= grade]
        if self.kind == "table" and not self.unlisted:
            return max(listed, default=0.0)
        plain = LINEAR if self.kind == "table" else self
        return max([float(plain(np.array([grade]))[0]), *listed])


def _grade(written: float | str) -> float:
    """A grade given as a number or as NTCIR writes it: S, A, B, C or L0, L1, ..."""
    grade = grade_called(written) if isinstance(written, str) else None
    return float(written) if grade is None else grade


GainLike = Gain | str | Mapping[Any, Any]


def number(value: float) -> str:
    """The shortest way to write a number without loss: `1`, `0.1`, `1e-05`, `inf`."""
    return (
        "inf"
        if value == math.inf
        else str(int(value))
        if value == int(value) and abs(value) < 1e15
        else repr(float(value))
    )


def note_scale(largest: float) -> str | None:
    """The note that gains are divided, unless the divisor is 1."""
    return None if largest == 1 else method_note(f"gains are divided by {largest:g}, the largest in the judgments")


LINEAR = Gain("linear")
EXP = Gain("exp")


@dataclass(frozen=True)
class Discount:
    r"""The number by which the gain at rank r is divided.

    | kind | divisor | source |
    |---|---|---|
    | `log2` | log2(r + 1) | Burges et al. 2005; trec_eval; Sakai 2014 (6) |
    | `jk` | max(1, log_b r) | Järvelin & Kekäläinen 2002; Ferro & Maistro 2024 (5) |
    | `jk08` | 1 + log_b r | Järvelin et al. 2008 |

    >>> Discount("log2")(np.array([1, 3, 7])).tolist()
    [1.0, 2.0, 3.0]
    >>> Discount("jk", 2)(np.array([1, 2, 4])).tolist()
    [1.0, 1.0, 2.0]
    """

    kind: str
    base: float = 2.0

    def __post_init__(self) -> None:
        if self.kind not in ("log2", "jk", "jk08"):
            raise UsageError(f'discount == {self.kind!r}, must be "log2", "jk" or "jk08"')
        if not self.base > 1:
            raise UsageError(f"base == {self.base!r}, must be above 1")

    def __call__(self, rank: Index) -> Array:
        deepest = int(rank.max(initial=1))
        return np.asarray(_divisors(self, 1 << deepest.bit_length())[rank])


@lru_cache(maxsize=32)
def _divisors(discount: Discount, deepest: int) -> Array:
    """The divisor at every rank up to `deepest`. Uses C's log2: numpy's can differ from trec_eval's in the last bit."""
    log = np.array([0.0, *map(math.log2, range(1, deepest + 2))])
    if discount.kind == "log2":
        return log[1:]
    log = log / math.log2(discount.base)
    return np.maximum(1.0, log) if discount.kind == "jk" else np.asarray(1.0 + log)


def num_retrieved(lists: Assessed, cutoff: int | None) -> Array:
    """The number of documents in each list down to the cutoff."""
    last = np.inf if cutoff is None else cutoff
    return lists._once(("num_retrieved", cutoff), lambda: np.minimum(lists.retrieved, last, dtype=np.float64))


def precision_divisor(lists: Assessed, cutoff: int | None) -> Array:
    """The cutoff, even for a shorter list; without a cutoff the number of retrieved documents (at least 1)."""
    if cutoff is not None:
        return np.full(lists.rows, float(cutoff))
    return lists._once("precision divisor", lambda: np.maximum(num_retrieved(lists, None), 1.0))


def ones(hits: Hits) -> Array:
    return np.ones(len(hits))


def gained(lists: Assessed, gain: Gain, cutoff: int | None = None) -> tuple[Hits, Array]:
    """The hits with a gain other than 0 down to the cutoff, and their gains."""

    def find() -> tuple[Hits, Array]:
        if cutoff is not None and lists.ranks_on_demand:
            hits = lists.hits(cutoff)
            gains = gain(hits.grade)
            gaining = np.flatnonzero(gains if gain.kind == "table" else hits.grade > 0)
            return hits.at(gaining), gains[gaining]
        if cutoff is not None:
            hits, gains = gained(lists, gain)
            inside = np.flatnonzero(hits.rank <= cutoff)
            return hits.at(inside), gains[inside]
        if gain.kind == "table":
            gains = gain(lists.grade)
            gaining = np.flatnonzero(gains)
            return lists.hits().at(gaining), gains[gaining]
        gaining = np.flatnonzero(lists.grade > 0)
        return lists.hits().at(gaining), gain(lists.grade[gaining])

    return lists._once(("gained", gain, cutoff), find)


def total_gain(lists: Assessed, gain: Gain) -> Array:
    """What all judged documents of each list's topic gain together."""
    ideal = lists.ideal(gain)
    return lists._once(("total gain", gain), lambda: ideal.sum(ideal.gain))

"""Rank-biased overlap: how alike two rankings are at the top, when neither needs to hold what the other holds."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.errors import UsageError
from cranfield.frames import Tidy
from cranfield.table import Column, Table
from cranfield.types import Array

TIES = ("w", "a", "b")
"""`w`: tied items share the top rank of their group (Webber et al., a tie is equality); `a`: the mean over all orders
of the ties (a tie is not knowing the order); `b`: as `a`, corrected so that a ranking overlaps with itself by 1."""

_BLOCK = 500_000
"""How many items × depths are held at a time; bounds memory, and changes no answer."""

Ranking = Sequence[Any] | Mapping[Any, float]
"""Items best first, those that tie in a set; or {item: score}, higher better, equal scores tie."""


@dataclass(frozen=True)
class Overlap(Tidy):
    """How alike two rankings are: the extrapolated value, and what more of the rankings could make of it at most."""

    extrapolated: float
    low: float
    """RBO_min: nothing beyond what was seen is common."""
    high: float
    """RBO_max: everything beyond what was seen is common."""
    p: float
    ties: str
    lengths: tuple[int, int]
    tied: tuple[int, int]
    """How many items of each ranking tie with another."""

    @property
    def residual(self) -> float:
        """high − low: what was not seen."""
        return self.high - self.low

    def columns(self) -> dict[str, NDArray[Any]]:
        """One row: extrapolated, low, high, residual, p, ties."""
        row = {"extrapolated": self.extrapolated, "low": self.low, "high": self.high, "residual": self.residual}
        numbers = {name: np.array([value]) for name, value in {**row, "p": self.p}.items()}
        return {**numbers, "ties": np.array([self.ties], dtype=object)}

    def table(self) -> Table:
        headers = ("extrapolated", "low", "high", "residual")
        row = tuple(float(self.columns()[name][0]) for name in headers)
        note = f"p = {self.p:g}, ties {self.ties}, {self.lengths[0]} and {self.lengths[1]} items"
        return Table(tuple(Column(name, "number") for name in headers), (row,), "Rank-biased overlap", (note,))

    def __str__(self) -> str:
        tied = f", {self.tied[0]} and {self.tied[1]} tied (rule {self.ties})" if any(self.tied) else ""
        return (
            f"RBO = {self.extrapolated:.4f}, between {self.low:.4f} and {self.high:.4f}; p = {self.p:g}, "
            f"{self.lengths[0]} and {self.lengths[1]} items{tied}"
        )


def rbo(x: Ranking, y: Ranking, p: float = 0.9, *, ties: str = "a") -> Overlap:
    r"""Rank-biased overlap of two rankings, which may differ in length and in what they hold.

    .. math:: (1 - p) \sum_{d=1}^{\infty} p^{d-1} A_d, \qquad A_d = \frac{|X_{1..d} \cap Y_{1..d}|}{d}

    p is the probability of looking one rank further: with p = 0.9 the first 10 ranks have 86 % of the weight. What lies
    beyond the end of the rankings is unknown; `low` and `high` are the ends of what it could add, `extrapolated`
    supposes the agreement seen last to go on. With c_x(e, d) the part of item e that is within depth d (0 or 1 without
    ties, see `TIES`), the overlap is :math:`\sum_e c_x c_y`, divided by the mean of the sums of c_x and c_y (w), by d
    (a), or by the root of the product of the sums of squares (b).
    References: Webber, Moffat & Zobel, TOIS 28(4), 2010, doi:10.1145/1852102.1852106; ties: Corsi & Urbano, SIGIR 2024

    >>> print(rbo("abcdefghij", "abcdefghij", p=0.9))
    RBO = 1.0000, between 0.8556 and 1.0000; p = 0.9, 10 and 10 items
    >>> rbo(["red", {"blue", "green"}], [{"red", "blue"}, "green"], ties="b").tied
    (2, 2)
    """
    check.between("rbo", low=0, high=1, p=p)
    if p in (0, 1):
        raise UsageError(f"rbo: p == {p!r}, must be above 0 and below 1")
    check.one_of("rbo", TIES, ties=ties)
    given = [_groups(one, name) for one, name in ((x, "x"), (y, "y"))]
    lengths = [sum(map(len, one)) for one in given]
    shorter, longer = given if lengths[0] <= lengths[1] else given[::-1]
    low, high, extrapolated = _sums(_Seen(shorter, longer, ties), p)
    tied = [sum(len(group) for group in one if len(group) > 1) for one in given]
    return Overlap(extrapolated, low, high, p, ties, (lengths[0], lengths[1]), (tied[0], tied[1]))


def weight_of_top(p: float, depth: int) -> float:
    """How much of the weight the first ranks have in rank-biased overlap (Webber et al. 2010, (21)).

    >>> round(weight_of_top(0.9, 10), 3)
    0.856
    """
    check.whole("weight_of_top", depth=depth)
    return rbo(range(depth), range(depth), p).low


@dataclass(frozen=True, eq=False)
class _Side:
    """One ranking as arrays over all items: how many stand above, and over how many ranks its ties are spread."""

    above: Array
    """Infinite for an item that the ranking does not hold."""
    spread: Array

    @staticmethod
    def of(groups: list[list[Hashable]], place: dict[Hashable, int], ties: str) -> _Side:
        above, spread = np.full(len(place), np.inf), np.ones(len(place))
        begin = 0
        for group in groups:
            mine = [place[item] for item in group]
            above[mine] = begin
            spread[mine] = 1 if ties == "w" else len(group)
            begin += len(group)
        return _Side(above, spread)

    def parts(self, depth: Array) -> Array:
        """items × depths: which part of each item is within each depth."""
        return np.clip((depth - self.above[:, None]) / self.spread[:, None], 0, 1)


class _Seen:
    """Two rankings down to the end of the longer one: sums over items, an entry per depth."""

    def __init__(self, shorter: list[list[Hashable]], longer: list[list[Hashable]], ties: str) -> None:
        self.ties = ties
        self.short_end, self.end = sum(map(len, shorter)), sum(map(len, longer))
        self.depth = np.arange(1.0, self.end + 1)
        if self.short_end == len(shorter) and self.end == len(longer):
            self.common, self.sizes, self.most, self.mean_part = self._without_ties(shorter, longer)
            return
        every = dict.fromkeys(item for ranking in (longer, shorter) for group in ranking for item in group)
        place = {item: i for i, item in enumerate(every)}
        self.short, self.long = (_Side.of(groups, place, ties) for groups in (shorter, longer))
        step = max(1, _BLOCK // len(place))
        blocks = [self._sums(self.depth[begin : begin + step]) for begin in range(0, self.end, step)]
        self.common, self.sizes, self.most, self.mean_part = (
            np.concatenate(column) for column in zip(*blocks, strict=True)
        )

    def _without_ties(
        self, shorter: list[list[Hashable]], longer: list[list[Hashable]]
    ) -> tuple[Array, Array, Array, Array]:
        """What `_sums` gives at all depths, where items are either within a depth or not: fast for long lists."""
        ranks = {group[0]: rank for rank, group in enumerate(longer)}
        other = np.array([ranks.get(group[0], self.end) for group in shorter])  # the end: not in the longer one
        both = np.maximum(other, np.arange(self.short_end))[other < self.end]
        common = np.cumsum(np.bincount(both, minlength=self.end), dtype=np.float64)
        shared = np.cumsum(np.bincount(other, minlength=self.end + 1)[:-1])
        alone = self.depth - shared
        most = np.minimum(alone, np.maximum(self.depth - self.short_end, 0))
        return common, self.depth, most, np.minimum(alone, 1)

    def _sums(self, depth: Array) -> tuple[Array, Array, Array, Array]:
        """At some depths: the overlap, what it is divided by, the most that the shorter ranking could add beyond its
        end, and the mean part of those items that only the longer one holds."""
        short, long = self.short.parts(depth), self.long.parts(depth)
        # Beyond its end the shorter ranking is supposed to go on without ties.
        beyond = depth > self.short_end
        if self.ties == "a":
            sizes = depth
        elif self.ties == "w":
            sizes = (np.where(beyond, depth, short.sum(axis=0)) + long.sum(axis=0)) / 2
        else:
            squares = np.where(beyond, depth, (short**2).sum(axis=0))
            sizes = np.sqrt(squares * (long**2).sum(axis=0))
        # Items are numbered in the order of the longer ranking. At best those that the shorter one lacks are the first
        # that only the longer one holds.
        alone = long[np.isinf(self.short.above)]
        first = np.arange(1, len(alone) + 1)[:, None] <= depth - self.short_end
        present = np.maximum((alone > 0).sum(axis=0), 1)
        return (short * long).sum(axis=0), sizes, (alone * first).sum(axis=0), alone.sum(axis=0) / present


def _sums(seen: _Seen, p: float) -> tuple[float, float, float]:
    """Least, most and extrapolated: the depths seen in both, those seen in the longer one, and those beyond."""
    short, end, depth = seen.short_end, seen.end, seen.depth
    weight = p**depth
    last = float(seen.common[-1])
    at_short = float(seen.common[short - 1] / seen.sizes[short - 1])
    # Extrapolated: what the shorter ranking lacks is common with the probability of the agreement at its end.
    expected = seen.common + np.maximum(depth - short, 0) * at_short * seen.mean_part
    tail_least = last * (-np.log1p(-p) - (weight / depth).sum())
    full = end + short - round(last)  # from this depth on everything can be common
    further = np.arange(end + 1.0, full + 1)
    tail_most = ((2 * further - end - short + last) / further * p**further).sum() + p ** (full + 1) / (1 - p)
    tail_expected = (last + (end - short) * at_short) / end * p ** (end + 1) / (1 - p)
    least, top, middle = (
        float((1 - p) / p * ((common / seen.sizes * weight).sum() + tail))
        for common, tail in ((seen.common, tail_least), (seen.common + seen.most, tail_most), (expected, tail_expected))
    )
    return max(least, 0.0), min(top, 1.0), middle


def _groups(ranking: Ranking, name: str) -> list[list[Hashable]]:
    """Best first: the items of each group of ties."""
    if isinstance(ranking, Mapping):
        by_score: dict[float, list[Hashable]] = {}
        for item, score in ranking.items():
            by_score.setdefault(float(score), []).append(item)
        groups = [by_score[score] for score in sorted(by_score, reverse=True)]
    elif isinstance(ranking, Iterable):
        groups = [list(one) if isinstance(one, AbstractSet) else [one] for one in ranking]
    else:
        raise UsageError(f"rbo: {name} == {ranking!r}, must be items best first, or {{item: score}}")
    items = [item for group in groups for item in group]
    if not items:
        raise UsageError(f"rbo: {name} is empty, must hold at least one item")
    if len(set(items)) < len(items):
        twice = next(item for i, item in enumerate(items) if item in items[:i])
        raise UsageError(f"rbo: {name} holds {twice!r} twice")
    return groups

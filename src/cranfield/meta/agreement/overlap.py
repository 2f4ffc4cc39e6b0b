"""Rank-biased overlap: how alike two rankings are at the top, even if they hold different items."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import check
from cranfield.errors import UsageError
from cranfield.notes import method_note
from cranfield.record import Columns, Record, one_row, table_of
from cranfield.table import Table
from cranfield.types import Array

TIES = ("w", "a", "b")
"""`w`: tied items are equal and share the top rank of their group (Webber et al.); `a`: the order of tied items is
unknown, so take the mean over all orders; `b`: as `a`, corrected so that the overlap of a ranking with itself is 1."""

_BLOCK = 500_000
"""Number of items × depths held at a time, to bound memory; it does not change the result."""

Ranking = Sequence[Any] | Mapping[Any, float]
"""Items from best to worst, with tied items in a set; or {item: score}, where higher is better and equal scores tie."""


@dataclass(frozen=True)
class Overlap(Record):
    """How alike two rankings are: the extrapolated value, and bounds for every continuation of the rankings."""

    extrapolated: float
    low: float
    """RBO_min: nothing beyond the end of the rankings is common."""
    high: float
    """RBO_max: everything beyond the end of the rankings is common."""
    p: float
    ties: str
    lengths: tuple[int, int]
    tied: tuple[int, int]
    """How many items of each ranking tie with another."""

    @property
    def residual(self) -> float:
        """high − low: the uncertainty about what follows the end of the rankings."""
        return self.high - self.low

    @property
    def notes(self) -> tuple[str, ...]:
        return (method_note(f"p = {self.p:g}, ties {self.ties}, {self.lengths[0]} and {self.lengths[1]} items"),)

    def columns(self) -> Columns:
        """One row: extrapolated, low, high, residual, p, ties."""
        return one_row({name: getattr(self, name) for name in ("extrapolated", "low", "high", "residual", "p", "ties")})

    def table(self) -> Table:
        columns = self.columns()
        del columns["p"], columns["ties"]
        return table_of(columns, notes=self.notes, caption="Rank-biased overlap")

    def __str__(self) -> str:
        tied = f", {self.tied[0]} and {self.tied[1]} tied (rule {self.ties})" if any(self.tied) else ""
        items = f"{self.lengths[0]} and {self.lengths[1]} items{tied}"
        return f"RBO = {self.extrapolated:.4f}, between {self.low:.4f} and {self.high:.4f}; p = {self.p:g}, {items}"


def rbo(x: Ranking, y: Ranking, p: float = 0.9, *, ties: str = "a") -> Overlap:
    r"""Rank-biased overlap of two rankings, which may differ in length and in their items.

    .. math:: (1 - p) \sum_{d=1}^{\infty} p^{d-1} A_d, \qquad A_d = \frac{|X_{1..d} \cap Y_{1..d}|}{d}

    p is the probability of looking one rank further: with p = 0.9 the first 10 ranks have 86 % of the weight. Ranks
    beyond the end of the rankings are unknown: `low` and `high` are the smallest and largest possible value, and
    `extrapolated` assumes that the last agreement continues. With c_x(e, d) the part of item e that is within depth d
    (0 or 1 without ties, see `TIES`), the overlap is :math:`\sum_e c_x c_y`, divided by the mean of the sums of c_x and
    c_y (w), by d (a), or by the root of the product of the sums of squares (b).
    References: Webber, Moffat & Zobel, TOIS 28(4), 2010, doi:10.1145/1852102.1852106; ties: Corsi & Urbano, SIGIR 2024

    >>> print(rbo("abcdefghij", "abcdefghij", p=0.9))
    RBO = 1.0000, between 0.8556 and 1.0000; p = 0.9, 10 and 10 items
    >>> rbo(["red", {"blue", "green"}], [{"red", "blue"}, "green"], ties="b").tied
    (2, 2)
    """
    check_settings(p, ties)
    rankings = [_groups(x, "x"), _groups(y, "y")]
    lengths = [sum(map(len, groups)) for groups in rankings]
    shorter, longer = rankings if lengths[0] <= lengths[1] else rankings[::-1]
    low, high, extrapolated = _bounds(_Depths(shorter, longer, ties), p)
    tied = [sum(len(group) for group in groups if len(group) > 1) for groups in rankings]
    return Overlap(extrapolated, low, high, p, ties, (lengths[0], lengths[1]), (tied[0], tied[1]))


def check_settings(p: float, ties: str) -> None:
    if not 0 < p < 1:
        raise UsageError(f"rbo: p == {p!r}, must be above 0 and below 1")
    check.one_of("rbo", TIES, ties=ties)


def weight_of_top(p: float, depth: int) -> float:
    """The share of the weight of rank-biased overlap that the first ranks have (Webber et al. 2010, (21)).

    >>> round(weight_of_top(0.9, 10), 3)
    0.856
    """
    check.whole("weight_of_top", depth=depth)
    return rbo(range(depth), range(depth), p).low


@dataclass(frozen=True, eq=False)
class _TiedRanking:
    """One ranking as arrays over all items: the number of items above, and the number of ranks its tie covers."""

    above: Array
    """Infinite for an item that is not in the ranking."""
    spread: Array

    @staticmethod
    def of(groups: list[list[Hashable]], place: dict[Hashable, int], ties: str) -> _TiedRanking:
        above, spread = np.full(len(place), np.inf), np.ones(len(place))
        begin = 0
        for group in groups:
            places = [place[item] for item in group]
            above[places] = begin
            spread[places] = 1 if ties == "w" else len(group)
            begin += len(group)
        return _TiedRanking(above, spread)

    def parts(self, depth: Array) -> Array:
        """items × depths: the part of each item that is within each depth."""
        return np.clip((depth - self.above[:, None]) / self.spread[:, None], 0, 1)


class _Depths:
    """Two rankings down to the end of the longer one: sums over items for each depth."""

    def __init__(self, shorter: list[list[Hashable]], longer: list[list[Hashable]], ties: str) -> None:
        self.ties = ties
        self.short_end, self.end = sum(map(len, shorter)), sum(map(len, longer))
        self.depth = np.arange(1.0, self.end + 1)
        if self.short_end == len(shorter) and self.end == len(longer):
            self.common, self.sizes, self.most, self.mean_part = self._without_ties(shorter, longer)
            return
        items = dict.fromkeys(item for ranking in (longer, shorter) for group in ranking for item in group)
        place = {item: i for i, item in enumerate(items)}
        self.short, self.long = (_TiedRanking.of(groups, place, ties) for groups in (shorter, longer))
        step = max(1, _BLOCK // len(place))
        blocks = [self._sums(self.depth[begin : begin + step]) for begin in range(0, self.end, step)]
        self.common, self.sizes, self.most, self.mean_part = (
            np.concatenate(column) for column in zip(*blocks, strict=True)
        )

    def _without_ties(
        self, shorter: list[list[Hashable]], longer: list[list[Hashable]]
    ) -> tuple[Array, Array, Array, Array]:
        """The same as `_sums`, faster, for rankings without ties."""
        ranks = {group[0]: rank for rank, group in enumerate(longer)}
        other = np.array([ranks.get(group[0], self.end) for group in shorter])  # the end means: not in the longer one
        both = np.maximum(other, np.arange(self.short_end))[other < self.end]
        common = np.cumsum(np.bincount(both, minlength=self.end), dtype=np.float64)
        shared = np.cumsum(np.bincount(other, minlength=self.end + 1)[:-1])
        alone = self.depth - shared
        most = np.minimum(alone, np.maximum(self.depth - self.short_end, 0))
        return common, self.depth, most, np.minimum(alone, 1)

    def _sums(self, depth: Array) -> tuple[Array, Array, Array, Array]:
        """For each depth: the overlap, its divisor, the most that the shorter ranking could add beyond its end, and
        the mean part of the items that only the longer ranking holds."""
        short, long = self.short.parts(depth), self.long.parts(depth)
        # Beyond its end, the shorter ranking is assumed to continue without ties.
        beyond = depth > self.short_end
        if self.ties == "a":
            sizes = depth
        elif self.ties == "w":
            sizes = (np.where(beyond, depth, short.sum(axis=0)) + long.sum(axis=0)) / 2
        else:
            squares = np.where(beyond, depth, (short**2).sum(axis=0))
            sizes = np.sqrt(squares * (long**2).sum(axis=0))
        # Items are numbered in the order of the longer ranking. In the best case, the shorter ranking continues with
        # the first items that only the longer one holds.
        alone = long[np.isinf(self.short.above)]
        first = np.arange(1, len(alone) + 1)[:, None] <= depth - self.short_end
        present = np.maximum((alone > 0).sum(axis=0), 1)
        return (short * long).sum(axis=0), sizes, (alone * first).sum(axis=0), alone.sum(axis=0) / present


def _bounds(seen: _Depths, p: float) -> tuple[float, float, float]:
    """The lowest, highest and extrapolated overlap: sums over the depths of the rankings, plus a tail beyond them."""
    short, end, depth = seen.short_end, seen.end, seen.depth
    weight = p**depth
    last = float(seen.common[-1])
    at_short = float(seen.common[short - 1] / seen.sizes[short - 1])
    # Extrapolated: an item beyond the end of the shorter ranking is common with the probability of agreement there.
    expected = seen.common + np.maximum(depth - short, 0) * at_short * seen.mean_part
    tail_least = last * (-np.log1p(-p) - (weight / depth).sum())
    full = end + short - round(last)  # from this depth on, everything can be common
    further = np.arange(end + 1.0, full + 1)
    tail_most = ((2 * further - end - short + last) / further * p**further).sum() + p ** (full + 1) / (1 - p)
    tail_expected = (last + (end - short) * at_short) / end * p ** (end + 1) / (1 - p)
    least, top, middle = (
        float((1 - p) / p * ((common / seen.sizes * weight).sum() + tail))
        for common, tail in ((seen.common, tail_least), (seen.common + seen.most, tail_most), (expected, tail_expected))
    )
    return max(least, 0.0), min(top, 1.0), middle


def _groups(ranking: Ranking, name: str) -> list[list[Hashable]]:
    """The groups of tied items, best first."""
    if isinstance(ranking, Mapping):
        by_score: dict[float, list[Hashable]] = {}
        for item, score in ranking.items():
            by_score.setdefault(float(score), []).append(item)
        groups = [by_score[score] for score in sorted(by_score, reverse=True)]
    elif isinstance(ranking, Iterable):
        groups = [list(entry) if isinstance(entry, AbstractSet) else [entry] for entry in ranking]
    else:
        raise UsageError(f"rbo: {name} == {ranking!r}, must be items from best to worst, or {{item: score}}")
    items = [item for group in groups for item in group]
    if not items:
        raise UsageError(f"rbo: {name} is empty, must hold at least one item")
    if len(set(items)) < len(items):
        twice = next(item for i, item in enumerate(items) if item in items[:i])
        raise UsageError(f"rbo: {twice!r} appears twice in {name}")
    return groups

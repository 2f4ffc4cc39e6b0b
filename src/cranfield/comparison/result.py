"""What a comparison of systems found: pairs, a ranking with groups, and the topics that decide a difference."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.check import nearest
from cranfield.comparison.corrections import out_of_reach
from cranfield.comparison.data import Matrix
from cranfield.comparison.letters import letters
from cranfield.comparison.registry import PairTests
from cranfield.comparison.test_result import Assumption, pairs_differ
from cranfield.errors import UsageError
from cranfield.frames import Tidy
from cranfield.record import plain
from cranfield.scores.summary import t_interval
from cranfield.table import Cell, Column, Estimate, Table, number_kind
from cranfield.types import Array, Index64

MOST_LETTERS = 200
"""With more systems than this, groups are not shown as letters: nobody reads them."""
FEW_PAIRS = 28
"""As many pairs as eight systems have are shown with the ranking."""
BETTER_MARK, WORSE_MARK = "▲", "▼"


@dataclass(frozen=True, eq=False)
class Family:
    """The pairs of one measure on one collection; arrays have an entry per pair, `first` − `second`."""

    collection: str
    matrix: Matrix
    first: Index64
    second: Index64
    difference: Array
    tests: PairTests
    adjusted: Array
    """p-values corrected for all comparisons of the call."""
    effect: Array
    effect_low: Array
    effect_high: Array
    win: NDArray[np.int64]
    tie: NDArray[np.int64]
    loss: NDArray[np.int64]

    @cached_property
    def means(self) -> Array:
        return np.asarray(np.nanmean(self.matrix.values, axis=0))

    @cached_property
    def lower_is_better(self) -> bool:
        """As the measure says of itself; a name that is no measure's: higher is better."""
        from cranfield.measures.property_tables import lower_is_better

        return lower_is_better(self.matrix.measure)

    @cached_property
    def ranking(self) -> NDArray[np.int64]:
        """Columns of the matrix, best first."""
        return np.argsort(self.means if self.lower_is_better else -self.means, kind="stable")

    def intervals(self, level: float) -> tuple[Array, Array]:
        """Around each mean: half the critical difference if the test has one (Ferro & Maistro 2024 (11)), else t."""
        if not math.isnan(self.tests.critical):
            return self.means - self.tests.critical / 2, self.means + self.tests.critical / 2
        low, high = t_interval(self.matrix.values.T, "mean", level)
        return low, high

    def letters(self, alpha: float) -> list[str] | None:
        """The groups of each system in the order of `ranking`; None if there are too many to show."""
        m = len(self.matrix.systems)
        if m > MOST_LETTERS:
            return None
        place = np.empty(m, dtype=np.int64)
        place[self.ranking] = np.arange(m)
        differ = np.zeros((m, m), dtype=bool)
        found = self.adjusted <= alpha
        a, b = place[self.first[found]], place[self.second[found]]
        differ[a, b] = differ[b, a] = True
        return letters(differ)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tidy):
    """All comparisons of one call, a row per pair, with what was done and what must be known.

    `rows`, `to_pandas` and the rest give the pairs; `ranking` and `pairs` give tables; `topics` one pair's topics.
    """

    families: tuple[Family, ...]
    test: str
    statistic: str
    correction: str
    simultaneous: bool
    alpha: float
    alternative: str
    baseline: str | None
    effect: str
    resamples: int | None
    seed: int | None
    assumptions: tuple[Assumption, ...]

    # -- as data

    def columns(self) -> dict[str, NDArray[Any]]:
        """collection, measure, system, other, means, difference, low, high, statistic, p, p adjusted, effect, ..."""
        parts = [self._family_columns(family) for family in self.families]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _family_columns(self, family: Family) -> dict[str, NDArray[Any]]:
        names = np.array(family.matrix.systems, dtype=object)
        n = len(family.first)
        statistic = {} if "difference" in self.statistic else {self.statistic: family.tests.statistic}
        return {
            "collection": np.full(n, family.collection, dtype=object),
            "measure": np.full(n, family.matrix.measure, dtype=object),
            "system": names[family.first],
            "other": names[family.second],
            "mean": family.means[family.first],
            "other mean": family.means[family.second],
            "difference": family.difference,
            "low": family.tests.low,
            "high": family.tests.high,
            **statistic,
            "p": family.tests.p,
            "p adjusted": family.adjusted,
            "significant": family.adjusted <= self.alpha,
            self.effect: family.effect,
            "effect low": family.effect_low,
            "effect high": family.effect_high,
            "win": family.win,
            "tie": family.tie,
            "loss": family.loss,
            "topics": family.tests.n,
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dict per pair."""
        columns = {name: column.tolist() for name, column in self.columns().items()}
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(columns, values, strict=True))

    def _metadata(self) -> dict[str, Any]:
        return {
            "test": self.test,
            "correction": self.correction,
            "alpha": self.alpha,
            "alternative": self.alternative,
            "baseline": self.baseline,
            "resamples": self.resamples,
            "seed": self.seed,
            "comparisons": self.comparisons,
            "notes": list(self.notes()),
        }

    def to_dict(self) -> dict[str, Any]:
        """How it was done, the ranking and the pairs, for JSON; undefined is None."""
        ranking = [plain(row) for family in self.families for row in self._ranked(family)]
        assumptions = [dict(vars(one)) for one in self.assumptions]
        return {
            **self._metadata(),
            "assumptions": assumptions,
            "ranking": ranking,
            "pairs": [plain(row) for row in self.rows()],
        }

    def to_json(self) -> str:
        """As `to_dict`, as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=1)

    @property
    def comparisons(self) -> int:
        """How many pairs were compared, over all measures and collections."""
        return sum(len(family.first) for family in self.families)

    @property
    def significant(self) -> int:
        """How many of them differ."""
        return sum(int((family.adjusted <= self.alpha).sum()) for family in self.families)

    # -- as tables

    def _ranked(self, family: Family) -> Iterator[dict[str, Any]]:
        """A dict per system, best first."""
        low, high = family.intervals(1 - self.alpha)
        counts = (~np.isnan(family.matrix.values)).sum(axis=0)
        shown = family.letters(self.alpha) if self.baseline is None else self._marks(family)
        for place, column in enumerate(family.ranking.tolist()):
            yield {
                "collection": family.collection,
                "measure": family.matrix.measure,
                "rank": place + 1,
                "system": family.matrix.systems[column],
                "mean": float(family.means[column]),
                "low": float(low[column]),
                "high": float(high[column]),
                "groups" if self.baseline is None else "against baseline": shown[place] if shown else "",
                "topics": int(counts[column]),
            }

    def _marks(self, family: Family) -> list[str]:
        """How each system of the ranking stands to the baseline: higher, lower, or not different."""
        marks = dict.fromkeys(family.matrix.systems, "")
        assert self.baseline is not None
        marks[self.baseline] = "baseline"
        for system, difference, p in zip(family.first.tolist(), family.difference, family.adjusted, strict=True):
            if p <= self.alpha:
                marks[family.matrix.systems[system]] = BETTER_MARK if difference > 0 else WORSE_MARK
        return [marks[family.matrix.systems[column]] for column in family.ranking.tolist()]

    def ranking(self) -> Table:
        """Systems, best first, with intervals, and letters (two systems differ if they share none) or marks."""
        several = len(self.families) > 1
        groups = "groups" if self.baseline is None else "against baseline"
        columns = [Column("rank", "count"), Column("system"), Column("mean", "number"), Column(groups)]
        columns.append(Column("topics", "count"))
        context = [name for name in ("collection", "measure") if several and any(map(self._part(name), self.families))]
        rows: list[tuple[Cell, ...]] = []
        for family in self.families:
            for row in self._ranked(family):
                mean = Estimate(
                    row["measure"], row["system"], row["mean"], row["low"], row["high"], row["topics"], 0, 0
                )
                rows.append(
                    (*(row[name] for name in context), row["rank"], row["system"], mean, row[groups], row["topics"])
                )
        head = tuple(Column(name) for name in context)
        caption = "" if several else self.families[0].matrix.measure
        return Table((*head, *columns), tuple(rows), caption=caption, notes=tuple(self.notes()))

    @staticmethod
    def _part(name: str) -> Any:
        return lambda family: family.collection if name == "collection" else family.matrix.measure

    def pairs(self, *, only_significant: bool = False) -> Table:
        """A row per pair, largest difference first."""
        kinds = dict.fromkeys(("collection", "measure", "system", "other", "significant"), "text")
        counts = ("win", "tie", "loss", "topics")
        columns = self.columns()
        hidden = {"effect low", "effect high", "low", "high", "mean", "other mean"}
        hidden |= {name for name in ("collection",) if not any(columns[name])}
        hidden |= {"measure"} if len({family.matrix.measure for family in self.families}) == 1 else set()
        hidden |= {"p adjusted"} if self.correction == "none" else set()
        shown = [name for name in columns if name not in hidden]
        order = np.argsort(-np.abs(columns["difference"]), kind="stable")
        order = order[np.argsort([self._position(one) for one in order], kind="stable")]
        rows: list[tuple[Cell, ...]] = []
        for i in order.tolist():
            if only_significant and not columns["significant"][i]:
                continue
            cells: list[Cell] = []
            for name in shown:
                value = columns[name][i]
                if name == "difference":
                    span = float(columns["low"][i]), float(columns["high"][i])
                    cells.append(Estimate("", "", float(value), *span, int(columns["topics"][i]), 0, 0))
                else:
                    cells.append(("yes" if value else "") if name == "significant" else value)
            rows.append(tuple(cells))
        heads = [Column(name, kinds.get(name, "count" if name in counts else number_kind(name))) for name in shown]
        return Table(tuple(heads), tuple(rows), notes=tuple(self.notes()))

    def _position(self, pair: int) -> int:
        """Which family a pair belongs to."""
        ends = np.cumsum([len(family.first) for family in self.families])
        return int(np.searchsorted(ends, pair, side="right"))

    def topics(self, system: str, other: str | None = None, *, measure: str | None = None) -> Table:
        """The topics that decide: both scores, their difference, and what the mean difference is without the topic.

        Largest difference first. `other` is the baseline unless said.
        """
        family = self._family(measure)
        against = other if other is not None else self.baseline
        if against is None:
            raise UsageError(f"topics: compare {system!r} with which system? Say other=")
        x, y = (family.matrix.values[:, family.matrix.column(one)] for one in (system, against))
        away = x - y
        there = np.flatnonzero(~np.isnan(away))
        total, n = away[there].sum(), len(there)
        rows: list[tuple[Cell, ...]] = []
        for t in there[np.argsort(-np.abs(away[there]), kind="stable")].tolist():
            without = (total - away[t]) / (n - 1) if n > 1 else math.nan
            rows.append((family.matrix.topics[t], float(x[t]), float(y[t]), float(away[t]), float(without)))
        heads = (Column("topic"), *(Column(h, "number") for h in (system, against, "difference", "mean without it")))
        caption = (
            f"{family.matrix.measure}: {system} − {against}, mean difference {total / max(n, 1):.4f} on {n} topics"
        )
        half = _topics_that_turn(away[there])
        note = f"without the {half} topics that speak loudest for it, the mean difference would change sign or vanish"
        return Table(heads, tuple(rows), caption=caption, notes=(note,) if half else ())

    def _family(self, measure: str | None) -> Family:
        if measure is None:
            return self.families[0]
        found = [family for family in self.families if family.matrix.measure == measure]
        if not found:
            raise nearest(measure, [family.matrix.measure for family in self.families], "measure")
        return found[0]

    # -- in words

    def method(self) -> str:
        """Test, correction, α, n, B: what the caption of a table must say."""
        ns = sorted({int(n) for family in self.families for n in family.tests.n})
        n = f"n = {ns[0]}" if len(ns) == 1 else f"n = {ns[0]} to {ns[-1]}"
        told = [f"{self.test} test, {self.alternative}", f"α = {self.alpha:g}", f"{n} topics"]
        if self.simultaneous:
            told.append("simultaneous for all pairs")
        elif self.correction != "none" and self.comparisons > 1:
            told.append(f"p corrected for {self.comparisons:,} comparisons ({self.correction})")
        elif self.comparisons > 1:
            told.append(f"p not corrected for {self.comparisons:,} comparisons")
        if self.resamples:
            told.append(f"B = {self.resamples:,}, seed {self.seed}")
        return "; ".join(told)

    def notes(self) -> Iterator[str]:
        """What a reader of the numbers must know."""
        yield self.method()
        yield pairs_differ(self.significant, self.comparisons)
        if self.resamples and not self.simultaneous:
            yield from out_of_reach(self.resamples, self.comparisons, self.correction, self.alpha)
        if self.correction == "none" and not self.simultaneous and self.comparisons > 1:
            error = 1 - (1 - self.alpha) ** self.comparisons
            yield (
                f"uncorrected: were there no differences at all, {self.comparisons:,} independent tests at α = "
                f"{self.alpha:g} would find one with probability {error:.2f} (1 − (1 − α)^c)"
            )
        if self.baseline is None:
            yield "groups: two systems differ exactly when they share no letter"
        else:
            yield f"against {self.baseline}: {BETTER_MARK} higher, {WORSE_MARK} lower, blank not different"
        critical = [family.tests.critical for family in self.families if not math.isnan(family.tests.critical)]
        if critical:
            widths = ", ".join(f"{one / 2:.4f}" for one in critical)
            yield f"[low, high]: means ± {widths}; they overlap exactly when two systems do not differ"
        else:
            yield (
                f"[low, high]: {100 * (1 - self.alpha):g}% interval of each mean (Student's t); whether two systems "
                "differ is told by p, not by overlap"
            )
        same = self._identical()
        if same:
            yield f"identical on every topic, so p = 1 and effect 0: {same}"
        for family in self.families:
            yield from family.tests.notes
        seen = set()
        for family in self.families:
            for note in family.matrix.notes:
                if note not in seen:
                    seen.add(note)
                    yield note
        yield from (f"caution: {one.says}" for one in self.assumptions if one.holds is False)

    def _identical(self) -> str:
        found = []
        for family in self.families:
            alike = np.flatnonzero((family.win == 0) & (family.loss == 0) & (family.tie > 0))
            names = family.matrix.systems
            found += [f"{names[family.first[i]]} and {names[family.second[i]]}" for i in alike.tolist()]
        more = f" and {len(found) - 5} more pairs" if len(found) > 5 else ""
        return ", ".join(found[:5]) + more

    def __str__(self) -> str:
        if self.comparisons > FEW_PAIRS:
            return self.ranking().text()
        return replace(self.ranking(), notes=()).text() + "\n\n" + self.pairs().text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if self.comparisons > FEW_PAIRS:
            return self.ranking().html()
        return replace(self.ranking(), notes=()).html() + self.pairs().html()

    def to_latex(self) -> str:
        """A paper's table: systems × measures, the best bold, significance as superscripts, a caption that says how."""
        from cranfield.comparison.latex import latex

        return latex(self)


def _topics_that_turn(away: Array) -> int:
    """How many of the topics that favour the leader must go until it leads no longer; 0 where nobody leads."""
    total = float(away.sum())
    if total == 0:
        return 0
    signed = away if total > 0 else -away
    left = signed.sum() - np.cumsum(-np.sort(-signed))
    return int(np.argmax(left <= 1e-12)) + 1

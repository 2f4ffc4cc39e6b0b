"""Discriminative power: how many pairs of systems does a measure tell apart, at one and the same error rate?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.check import nearest
from cranfield.comparison.borderline import bootstrap_borderline
from cranfield.comparison.data import Matrix, check_topics
from cranfield.comparison.registry import PairTest, TestSettings, find_test
from cranfield.comparison.resampling import ASL, check_resampling
from cranfield.comparison.test_result import check_alpha
from cranfield.errors import UsageError
from cranfield.frames import Tidy
from cranfield.measures.property_tables import lower_is_better
from cranfield.meta.rankings import Panel
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Column, Table, number_kind
from cranfield.types import Array, Index64, Progress

BORDERLINE = "Δ: |mean(w*)| of the resample with the Bα-th largest |t(w*)|, largest over pairs (Sakai 2007 Fig. 7)"
OBSERVED = "Δ: smallest difference of means that was found significant (Sakai 2013 Fig. 5)"
"""How the difference is found that a significant result needs."""


@dataclass(frozen=True, eq=False, repr=False)
class DiscriminativePower(Tidy):
    """Which pairs of systems each measure tells apart. Arrays are measures × pairs.

    `columns` has a row per measure; `pairs` one per measure and pair, `asl` the curves of Sakai 2014 Fig. 16.
    """

    measures: tuple[str, ...]
    systems: tuple[str, ...]
    first: Index64
    second: Index64
    """The systems of each pair."""
    difference: Array
    """Mean of the first system less mean of the second."""
    p: Array
    differ: NDArray[np.bool_]
    """The pair is significantly different."""
    delta: Array
    """For each measure, the difference that a significant result needs; NaN where that cannot be told."""
    test: str
    simultaneous: bool
    alpha: float
    topics: int
    resamples: int | None
    seed: int | None
    asl_rule: str
    """`plus-one`: significant if p ≤ α; `seed`: if p = hits / B < α."""
    notes: tuple[str, ...]

    @property
    def significant(self) -> NDArray[np.int64]:
        """For each measure, how many pairs differ."""
        return np.asarray(self.differ.sum(axis=1), dtype=np.int64)

    @property
    def share(self) -> Array:
        """For each measure, its discriminative power: the share of pairs that differ."""
        return np.asarray(self.differ.mean(axis=1))

    def p_of(self, measure: str) -> Array:
        """The p-values of one measure, pair by pair."""
        if measure not in self.measures:
            raise nearest(measure, self.measures, "measure")
        return np.asarray(self.p[self.measures.index(measure)])

    # -- as data

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, pairs, significant, share, delta; the most discriminative first."""
        order = self._order()
        return {
            "measure": np.array(self.measures, dtype=object)[order],
            "pairs": np.full(len(order), len(self.first)),
            "significant": self.significant[order],
            "share": self.share[order],
            "delta": self.delta[order],
        }

    def pairs(self) -> dict[str, NDArray[Any]]:
        """measure, system, other, difference, p, significant: every pair by every measure."""
        names = np.array(self.systems, dtype=object)
        many = len(self.measures)
        return {
            "measure": np.repeat(np.array(self.measures, dtype=object), len(self.first)),
            "system": np.tile(names[self.first], many),
            "other": np.tile(names[self.second], many),
            "difference": self.difference.ravel(),
            "p": self.p.ravel(),
            "significant": self.differ.ravel(),
        }

    def asl(self) -> dict[str, NDArray[Any]]:
        """measure, pair, p: each measure's p-values in ascending order (Sakai 2014 Fig. 16)."""
        order = self._order()
        pairs = len(self.first)
        return {
            "measure": np.repeat(np.array(self.measures, dtype=object)[order], pairs),
            "pair": np.tile(np.arange(1, pairs + 1), len(order)),
            "p": np.sort(self.p[order], axis=1).ravel(),
        }

    def common(self) -> NDArray[np.int64]:
        """measures × measures: how many pairs both find different; on the diagonal how many the measure finds."""
        found = self.differ.astype(np.float64)  # counts are exact in it, and its products are fast
        return np.asarray(found @ found.T, dtype=np.int64)

    def _order(self) -> NDArray[np.intp]:
        return np.argsort(-self.significant, kind="stable")

    def _metadata(self) -> dict[str, Any]:
        facts = ("test", "alpha", "topics", "resamples", "seed", "asl_rule")
        return {
            **{name: getattr(self, name) for name in facts},
            "systems": len(self.systems),
            "notes": list(self.told()),
        }

    # -- as tables

    def table(self, digits: int | None = None) -> Table:
        """Significant pairs, discriminative power and Δ needed, best first.

        As Sakai 2007 Table 4 and Sakai 2013 Tables 2 and 3: Δ to two significant figures, the share to one decimal; or
        both to `digits` decimals.
        """
        kinds = (Column("significant pairs"), Column("discriminative power"), Column("Δ needed"))
        rows: list[tuple[Cell, ...]] = []
        for name, pairs, significant, share, delta in self._rows():
            needed = two_figures(delta) if digits is None or math.isnan(delta) else f"{delta:.{digits}f}"
            power = f"{100 * share:.{1 if digits is None else digits}f}%"
            rows.append((name, f"{significant}/{pairs}", power, needed))
        return Table((Column("measure"), *kinds), tuple(rows), "Discriminative power", self.told())

    def data(self) -> Table:
        """The same as plain numbers, for formats that programs read."""
        return table_of(self.columns(), self.told())

    def overlap(self) -> Table:
        """`13/38/5`: pairs that only the row's measure tells apart, both, only the column's (Sakai 2013 Table 4)."""
        both = self.common()
        rows: list[tuple[Cell, ...]] = []
        for i, name in enumerate(self.measures[:-1]):
            cells = ["-"] * i
            for j in range(i + 1, len(self.measures)):
                cells.append(f"{both[i, i] - both[i, j]}/{both[i, j]}/{both[j, j] - both[i, j]}")
            rows.append((name, *cells))
        note = "a/b/c: a pairs only by the measure of the row, b by both, c only by that of the column"
        heads = (Column(""), *map(Column, self.measures[1:]))
        return Table(heads, tuple(rows), "Significantly different pairs", (note, *self.told()))

    def overlap_data(self) -> Table:
        """The same with a row per pair of measures, for formats that programs read."""
        both = self.common()
        i, j = np.triu_indices(len(self.measures), 1)
        names = np.array(self.measures, dtype=object)
        columns: dict[str, NDArray[Any]] = {"measure": names[i], "other": names[j]}
        columns |= {"only measure": both[i, i] - both[i, j], "both": both[i, j], "only other": both[j, j] - both[i, j]}
        return table_of(columns, self.told())

    def pair_table(self) -> Table:
        """A row per measure and pair."""
        columns = self.pairs()
        columns["significant"] = np.where(columns["significant"], "yes", "").astype(object)
        return table_of(columns, self.told())

    def asl_table(self) -> Table:
        """The ASL curves: a row per measure and pair, by p."""
        return table_of(self.asl(), self.told())

    def _rows(self) -> list[tuple[Any, ...]]:
        return rows_of(self.columns())

    def told(self) -> tuple[str, ...]:
        """What a reader of the numbers must know."""
        means = "p ≤ α" if self.asl_rule == "plus-one" else "ASL = hits / B < α"
        drawn = "" if self.resamples is None else f", B = {self.resamples:,}, seed {self.seed}"
        pairs = len(self.first)
        method = (
            f"{self.test} test at α = {self.alpha:g} ({means}{drawn}); {len(self.systems)} systems, "
            f"{pairs:,} pairs, {self.topics} topics"
        )
        family = "p holds for all pairs together"
        if not self.simultaneous:
            error = 1 - (1 - self.alpha) ** pairs
            family = f"p pair by pair, not corrected: family-wise error {error:.4g} (1 − (1 − α)^k)"
        return (method, family, BORDERLINE if self.test == "bootstrap" else OBSERVED, *self.notes)

    def __str__(self) -> str:
        return self.table().text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.table().html()


def discriminative_power(
    scores: Scores,
    measures: Any = None,
    *,
    test: str = "bootstrap",
    alpha: float = 0.05,
    resamples: int = 1_000,
    seed: int = 0,
    asl: str = "plus-one",
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> DiscriminativePower:
    r"""How many pairs of systems each measure tells apart with a significance test at α, and from what difference on.

    .. math:: \text{discriminative power} = |\{(X, Y) \in C : p_{XY} \le \alpha\}| / |C|

    `test` is any that `compare` knows: bootstrap, randomised-tukey, t, randomisation, wilcoxon, tukey, ... Tests of
    single pairs are not corrected for their number: measures are compared at the same error per pair. The difference
    needed is, with the bootstrap, |w̄*| of the resample with the Bα-th largest |t(w*)|, the maximum over pairs (Sakai
    2007 Fig. 7, Sakai 2013 Fig. 3); with other tests the smallest that was found significant (Sakai 2013 Fig. 5). The
    same resamples serve all measures. Topics on which some measure is undefined for some run are left out for all.
    `asl="share"`: a pair differs if ASL = hits / B < α, as in Sakai's papers; else if p = (1 + hits) / (1 + B) ≤ α.

    This is about consistency over topics; it does not say that a measure measures what is wanted.
    References: Sakai, SIGIR 2006, doi:10.1145/1148170.1148261; Sakai 2014 §5.1, Sakai 2007 §4.3, Sakai 2013 §4.1

    >>> rng = np.random.default_rng(0)
    >>> steady = np.array([0.2, 0.4, 0.6])[:, None] + rng.normal(0, 0.05, (3, 20))
    >>> noisy = np.array([0.2, 0.4, 0.6])[:, None] + rng.normal(0, 0.5, (3, 20))
    >>> scores = Scores(["noisy", "steady"], ["a", "b", "c"], map(str, range(20)), [noisy, steady])
    >>> discriminative_power(scores).significant.tolist()
    [0, 3]
    """
    check_alpha("discriminative_power", alpha)
    check_resampling("discriminative_power", resamples, seed, threads)
    check.one_of("discriminative_power", ASL, asl=asl)
    chosen = find_test(test)
    if asl == "share" and not chosen.resampling:
        raise UsageError(f"discriminative_power: asl == 'share' is for tests that resample; {chosen.name} does not")
    panel = Panel.of(scores, "discriminative_power", measures, several=1)
    check_topics(len(panel.topics), 2, "discriminative power")
    first, second = (side.astype(np.int64) for side in np.triu_indices(len(panel.runs), 1))
    found = []
    for i, name in enumerate(panel.measures):
        sign = -1.0 if lower_is_better(name) else 1.0  # panels have it turned round
        matrix = Matrix(np.ascontiguousarray(sign * panel.values[i].T), panel.topics, panel.runs, name)
        shown = _part_of(progress, i, len(panel.measures))
        asked = TestSettings(alpha=alpha, resamples=resamples, seed=seed, threads=threads, progress=shown)
        found.append(_one(matrix, first, second, chosen, asked, alpha, asl))
        if progress is not None:
            progress((i + 1) * resamples, len(panel.measures) * resamples)
    same = [name for name, values in zip(panel.measures, panel.values, strict=True) if not np.ptp(values, axis=0).any()]
    ties = (f"all systems score the same on every topic by {', '.join(same)}: no pair differs",) if same else ()
    drawn = chosen.resampling and not all(one.exact for one in found)
    return DiscriminativePower(
        panel.measures,
        panel.runs,
        first,
        second,
        difference=np.stack([one.difference for one in found]),
        p=np.stack([one.p for one in found]),
        differ=np.stack([one.differ for one in found]),
        delta=np.array([one.delta for one in found]),
        test=chosen.name,
        simultaneous=chosen.simultaneous,
        alpha=alpha,
        topics=len(panel.topics),
        resamples=resamples if drawn else None,
        seed=seed if drawn else None,
        asl_rule=asl if drawn else "plus-one",
        notes=(*panel.notes, *ties, *dict.fromkeys(note for one in found for note in one.notes)),
    )


@dataclass(frozen=True, eq=False)
class _Found:
    """What a test says by one measure."""

    difference: Array
    p: Array
    differ: NDArray[np.bool_]
    delta: float
    exact: bool
    notes: tuple[str, ...]


def _one(
    matrix: Matrix, first: Index64, second: Index64, test: PairTest, asked: TestSettings, alpha: float, asl: str
) -> _Found:
    means = matrix.values.mean(axis=0)
    difference = means[first] - means[second]
    exact, border = False, None
    if test.name == "bootstrap":
        told = bootstrap_borderline(matrix, first, second, asked)
        p, border, notes = told.p, told.difference, told.notes
    else:
        tests = test.run(matrix, first, second, asked)
        if tests.resamples is not None and tests.resamples < asked.resamples:
            # Stopped by Ctrl-C: measures tested on fewer resamples than others cannot be compared with them.
            raise KeyboardInterrupt
        p, exact, notes = tests.p, tests.exact, tests.notes
    if asl == "share" and not exact:
        p = np.round(p * (1 + asked.resamples) - 1) / asked.resamples
        differ = p < alpha - 1e-12
    else:
        differ = p <= alpha + 1e-12
    needed = np.abs(difference[differ]).min(initial=math.inf) if border is None else border.max()
    # 0 where all systems score the same: no difference was seen to vary, so none can be told from chance.
    delta = float(needed) if 0 < needed < math.inf else math.nan
    return _Found(difference, p, np.asarray(differ), delta, exact, notes)


def _part_of(progress: Progress | None, done: int, parts: int) -> Progress | None:
    """Progress of one of several parts, as progress of the whole."""
    if progress is None:
        return None
    return lambda now, total: progress(done * total + now, parts * total)


def rows_of(columns: Mapping[str, NDArray[Any]]) -> list[tuple[Any, ...]]:
    """Columns row by row."""
    return list(zip(*(column.tolist() for column in columns.values()), strict=True))


def table_of(columns: Mapping[str, NDArray[Any]], notes: tuple[str, ...]) -> Table:
    """Columns of text, counts and numbers as a table; p-values are probabilities."""
    kinds = {"i": "count", "O": "text"}
    heads = (Column(name, kinds.get(column.dtype.kind) or number_kind(name)) for name, column in columns.items())
    return Table(tuple(heads), tuple(rows_of(columns)), notes=notes)


def two_figures(value: float) -> str:
    """Rounded to two significant figures; a dash where there is no value.

    >>> two_figures(0.1849), two_figures(0.0996), two_figures(0.2), two_figures(12.3), two_figures(math.nan)
    ('0.18', '0.10', '0.20', '12', '-')
    """
    if math.isnan(value) or value == 0:
        return "-" if math.isnan(value) else "0"
    rounded = float(f"{value:.1e}")
    return f"{rounded:.{max(0, 1 - math.floor(math.log10(abs(rounded))))}f}"

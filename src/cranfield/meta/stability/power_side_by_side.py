"""Discriminative power side by side: on several collections, by several tests, or for several classes of topics."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from cranfield.comparison.pair_tests import TESTS
from cranfield.comparison.resampling import Asl, Threads
from cranfield.declared.operation import RESAMPLES, Alpha, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.meta.stability.discrimination import (
    DiscriminativePower,
    default_resamples,
    discriminative_power,
    two_figures,
)
from cranfield.notes import Notes, rewritten
from cranfield.record import Columns, Record, crossed, labels, table_of
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Table, headings
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress, part_of

MOST_ORDERS = 50_000
"""Up to this number of combinations of orders, the p-value of Kendall's W is exact."""
DRAWS = 20_000
"""The number of random combinations otherwise."""
SEPARATE = ("collection", "class")
"""Parts with topics of their own: agreement between them says something about other topics."""


def kendalls_w(values: Array) -> float:
    r"""Kendall's W: how alike the rows order the columns, from 0 to 1 (the same order); NaN if nothing varies in a row.

    .. math:: W = \frac{12 \sum_i (R_i - \bar R)^2}{m^2 (n^3 - n) - m \sum_j \sum_t (t^3 - t)}

    R_i is the sum of the ranks of column i over the m rows; tied values share a rank, and t are the sizes of ties.
    Reference: Kendall & Babington Smith, The Problem of m Rankings, Annals of Mathematical Statistics 10(3), 1939

    >>> kendalls_w(np.array([[1.0, 2, 3], [1, 2, 3]])), kendalls_w(np.array([[1.0, 2, 3], [3, 2, 1]]))
    (1.0, 0.0)
    """
    rank = _ranks(values)
    m, n = rank.shape
    ties = sum(float((size**3 - size).sum()) for row in values for size in [np.unique(row, return_counts=True)[1]])
    most = m * m * (n**3 - n) - m * ties
    total = rank.sum(axis=0)
    return float(12 * ((total - total.mean()) ** 2).sum() / most) if most > 0 else math.nan


def w_p_value(values: Array, seed: int = 0) -> tuple[float, int]:
    """How probable so high a W is if every row has a random order, and the number of random draws; 0: exact.

    >>> w_p_value(np.array([[1.0, 2, 3], [1, 2, 3]]))
    (0.16666666666666666, 0)
    """
    rank = _ranks(values)
    m, n = rank.shape
    observed = ((rank.sum(axis=0) - m * (n + 1) / 2) ** 2).sum() - 1e-9
    if math.factorial(min(n, 20)) ** (m - 1) <= MOST_ORDERS:
        orders = list(itertools.permutations(range(n)))
        combined = itertools.product(orders, repeat=m - 1)
        sums = [rank[0] + sum(rank[1 + i, order] for i, order in enumerate(each)) for each in map(np.array, combined)]
        return float(np.mean([((total - m * (n + 1) / 2) ** 2).sum() >= observed for total in sums])), 0
    rng = np.random.default_rng(seed)
    total = sum(rng.permuted(np.broadcast_to(row, (DRAWS, n)), axis=1) for row in rank)
    hits = (((total - m * (n + 1) / 2) ** 2).sum(axis=1) >= observed).sum()
    return float((1 + hits) / (1 + DRAWS)), DRAWS


def _ranks(values: Array) -> Array:
    """Ranks in each row, from 1 for the lowest; tied values have the mean of their ranks."""
    below = (values[:, :, None] > values[:, None, :]).sum(axis=2)
    same = (values[:, :, None] == values[:, None, :]).sum(axis=2)
    return np.asarray(below + (same + 1) / 2, dtype=np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class PowerSideBySide(Record):
    """The discriminative power of the same measures under several conditions, such as collections or tests."""

    figure = "power_side_by_side_figure"
    facts = ("kind", "conditions", "concordance", "p")

    kind: str
    """What the conditions are: `collection`, `test`, `class`, ..."""
    parts: Mapping[str, DiscriminativePower]
    """The power of each condition."""
    concordance: float
    """Kendall's W of the order of measures by power; NaN if there are fewer than two measures."""
    p: float
    """Its p-value if every condition had a random order; NaN unless conditions have topics of their own."""
    draws: int
    """The number of random orders behind `p`; 0: all orders."""

    @property
    def conditions(self) -> tuple[str, ...]:
        return tuple(self.parts)

    @property
    def measures(self) -> tuple[str, ...]:
        return next(iter(self.parts.values())).measures

    @property
    def share(self) -> Array:
        """Conditions × measures: the share of pairs that differ."""
        return np.stack([part.share for part in self.parts.values()])

    @property
    def same_pairs(self) -> bool:
        """Do all conditions compare the same systems?"""
        first, *others = self.parts.values()
        return all(part.systems == first.systems for part in others)

    def _order(self) -> Index64:
        """The measures, the highest mean share first."""
        return np.asarray(np.argsort(-self.share.mean(axis=0), kind="stable"), dtype=np.int64)

    def columns(self) -> Columns:
        """The kind of condition, measure, pairs, significant, share, delta."""
        order = self._order()
        parts = self.parts.values()
        arrays = {
            "pairs": np.array([[len(part.first)] for part in parts]),
            "significant": np.stack([part.significant[order] for part in parts]),
            "share": self.share[:, order],
            "delta": np.stack([part.delta[order] for part in parts]),
        }
        return crossed({self.kind: self.conditions, "measure": labels(self.measures)[order]}, arrays)

    def table(self, digits: int | None = None) -> Table:
        """A row per measure; the share of significant pairs and Δ by condition (Sakai 2007 Table 4, 2013 Table 2)."""
        rows: list[tuple[Cell, ...]] = []
        for i in self._order().tolist():
            cells: list[Cell] = [self.measures[i]]
            for part in self.parts.values():
                delta = float(part.delta[i])
                needed = two_figures(delta) if digits is None or math.isnan(delta) else f"{delta:.{digits}f}"
                cells += [f"{100 * part.share[i]:.{1 if digits is None else digits}f}%", needed]
            rows.append(tuple(cells))
        names = [name for condition in self.conditions for name in (condition, f"Δ {condition}")]
        agreement = "" if math.isnan(self.concordance) else f"; order of measures: Kendall's W = {self.concordance:.2f}"
        agreement += "" if math.isnan(self.p) else f", p = {self.p:.2g}"
        caption = f"Discriminative power{agreement}"
        return Table(headings("text", "measure", *names), tuple(rows), caption, self.notes)

    def data(self) -> Table:
        """The same as plain numbers, for data formats."""
        return super().table()

    def agreement_data(self) -> Table:
        """A row per measure and two conditions: the pairs that only one finds, that both find, and neither."""
        self._check_same_pairs()
        rows: dict[str, list[Any]] = {"measure": [], self.kind: [], "other": []}
        counts: list[list[int]] = []
        for i in self._order().tolist():
            for (name, part), (other, again) in itertools.combinations(self.parts.items(), 2):
                a, b = part.differ[i], again.differ[i]
                for key, value in zip(rows, (self.measures[i], name, other), strict=True):
                    rows[key].append(value)
                counts.append([int(x.sum()) for x in (a & ~b, a & b, ~a & b, ~a & ~b)])
        names = ("only first", "both", "only other", "neither")
        columns = {name: labels(column) for name, column in rows.items()}
        columns |= dict(zip(names, np.array(counts).T, strict=True))
        return table_of(columns, caption="Significantly different pairs", notes=self.notes)

    def pair_table(self) -> Table:
        """A row per measure and pair of systems: p and whether it is significant, by condition."""
        self._check_same_pairs()
        first = next(iter(self.parts.values()))
        arrays: dict[str, Any] = {"difference": first.difference}
        for name, part in self.parts.items():
            arrays |= {f"p {name}": part.p, f"significant {name}": part.differ}
        columns = crossed({"measure": self.measures, "pair": range(len(first.first))}, arrays)
        pair, systems = columns.pop("pair"), labels(first.systems)
        named = {"system": systems[first.first[pair]], "other": systems[first.second[pair]]}
        return table_of({"measure": columns.pop("measure"), **named, **columns}, notes=self.notes)

    def asl_table(self) -> Table:
        """The p-values of each measure and condition in ascending order."""
        parts = [(name, part.asl()) for name, part in self.parts.items()]
        columns: Columns = {self.kind: labels([name for name, asl in parts for _ in range(len(asl["p"]))])}
        columns |= {key: np.concatenate([asl[key] for _, asl in parts]) for key in parts[0][1]}
        return table_of(columns, notes=self.notes)

    def _check_same_pairs(self) -> None:
        if not self.same_pairs:
            raise UsageError(f"the systems differ between {self._plural}, so that their pairs cannot be compared")

    @property
    def _plural(self) -> str:
        return {"class": "classes", "probabilities": "probabilities"}.get(self.kind, f"{self.kind}s")

    @property
    def notes(self) -> tuple[str, ...]:
        """How alike the conditions order the measures, and the notes of each."""
        notes = Notes()
        if not math.isnan(self.concordance):
            how = f"the {len(self.parts)} {self._plural} order the {len(self.measures)} measures by power"
            said = f"Kendall's W: how alike {how}; 1: all the same"
            if not math.isnan(self.p):
                drawn = f"{self.draws:,} random orders" if self.draws else "all orders"
                said += f"; p: by {drawn}, how probable so high a W is if each has a random order"
            notes.method(said)
        first, *others = self.parts.values()
        shared = [note for note in first.notes if all(note in part.notes for part in others)]
        notes += shared
        for name, part in self.parts.items():
            for note in part.notes:
                if note not in shared:
                    notes.append(rewritten(note, f"{name}: {note}"))
        return tuple(notes)


def power_side_by_side(parts: Mapping[str, DiscriminativePower], kind: str, seed: int = 0) -> PowerSideBySide:
    """The power of the same measures under several conditions, and how alike these order the measures.

    `kind` says what the conditions are, such as `collection`. Kendall's W is 1 if all order the measures by their share
    of significant pairs alike. Its p-value is given for conditions with topics of their own (`collection`, `class`):
    how probable so high a W is if every condition had a random order.

    >>> from cranfield.scores.scores import Scores
    >>> rng = np.random.default_rng(0)
    >>> def made():
    ...     values = [np.array([[0.2], [0.4], [0.6]]) + rng.normal(0, noise, (3, 20)) for noise in (0.05, 0.5)]
    ...     return Scores(["steady", "noisy"], ["a", "b", "c"], map(str, range(20)), values)
    >>> parts = {name: discriminative_power(made(), test="t") for name in ("news", "web")}
    >>> power_side_by_side(parts, "collection").concordance
    1.0
    """
    if len(parts) < 2:
        raise UsageError(f"power_side_by_side: {counted(len(parts), 'condition')}, must be 2 or more")
    first = next(iter(parts.values()))
    for name, part in parts.items():
        if part.measures != first.measures:
            raise UsageError(f"{kind} {name!r} has {listed(part.measures)}, but others have {listed(first.measures)}")
    share = np.stack([part.share for part in parts.values()])
    w = kendalls_w(share) if len(first.measures) > 1 else math.nan
    p, draws = w_p_value(share, seed) if kind in SEPARATE and not math.isnan(w) else (math.nan, 0)
    return PowerSideBySide(kind, dict(parts), w, p, draws)


@takes_runs
@operation
def power_by_test(
    scores: Scores,
    measures: MeasuresLike | None = None,
    *,
    tests: Annotated[Sequence[str], about("The significance tests.", names="comparison.pair_tests:TESTS")] = (
        "bootstrap",
        "randomised-tukey",
    ),
    resamples: Annotated[
        int | Sequence[int] | None, about("Numbers of resamples; default: as for a single test.", **RESAMPLES)
    ] = None,
    alpha: Alpha = 0.05,
    seed: Seed = 0,
    asl: Asl = "plus-one",
    threads: Threads = None,
    progress: Progress | None = None,
) -> PowerSideBySide:
    """The discriminative power by several tests and numbers of resamples: curves of p-values, pairs that each finds.

    `agreement_data()` counts the pairs that only one of two tests finds significant; `pair_table()` names them.
    Reference: Sakai 2013 §5.1 and §5.3, Fig. 7, Tables 2 and 3

    >>> rng = np.random.default_rng(0)
    >>> values = np.array([0.2, 0.3, 0.5])[:, None] + rng.normal(0, 0.2, (3, 20))
    >>> scores = Scores(["AP"], ["a", "b", "c"], map(str, range(20)), [values])
    >>> power_by_test(scores, tests=["t", "bootstrap"], resamples=[100, 1000]).conditions
    ('t', 'bootstrap, B = 100', 'bootstrap, B = 1,000')
    """
    if isinstance(tests, str) or not tests:
        raise UsageError(f"power_by_test: tests == {tests!r}, must be a list of tests")
    sizes = [resamples] if resamples is None or isinstance(resamples, int | np.integer) else list(resamples)
    found = list(dict.fromkeys(TESTS.find(test) for test in tests))
    chosen: dict[str, tuple[str, int | None]] = {}
    for test in found:
        for size in dict.fromkeys(sizes if test.resampling else [None]):
            draws = default_resamples(test.name) if size is None else size
            chosen[f"{test.name}, B = {draws:,}" if test.resampling else test.name] = (test.name, size)
    if len(chosen) < 2:
        raise UsageError("power_by_test: one test with one number of resamples; give several of either")
    parts = {}
    for at, (name, (test_name, size)) in enumerate(chosen.items()):
        part = None if progress is None else part_of(progress, at, len(chosen))
        rule = asl if TESTS.find(test_name).resampling else "plus-one"
        parts[name] = discriminative_power(
            scores, measures, test=test_name, resamples=size, alpha=alpha, seed=seed, asl=rule, threads=threads,
            progress=part,
        )  # fmt: skip
    return power_side_by_side(parts, "test", seed)

"""Concordance: when two measures disagree, which of them agrees with a simple measure of what we want?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.distributions import sign_p
from cranfield.errors import UsageError
from cranfield.meta.agreement.coefficients import products
from cranfield.meta.complete_scores import CompleteScores, divided, names_of
from cranfield.meta.meta_record import MetaRecord, index_of, report, upper_triangle
from cranfield.record import Columns, labels, table_of
from cranfield.scores.scores import Scores
from cranfield.table import Table
from cranfield.text import counted
from cranfield.types import Array, Progress

Counts = NDArray[np.int64]

MARKS = ((0.01, "‡"), (0.05, "†"))
"""As in Sakai 2013 Table 6."""
AND = " AND "
_BLOCK = 1_000_000
"""Number of signs held at a time, over all measures, to bound memory; it does not change the result."""


@dataclass(frozen=True, eq=False, repr=False)
class Concordance(MetaRecord):
    """Counts over pairs of runs and topics, measures × measures: the row's measure against the column's.

    The first axis of arrays that depend on the gold standard is the gold standard.
    """

    figure = "describe_concordance"
    facts = ("compared", "runs", "topics")

    measures: tuple[str, ...]
    golds: tuple[str, ...]
    """The gold standards: each alone, and if there are several, all together: `I-rec@10 AND P@10`."""
    disagreements: Counts
    """Pairs of lists that the two measures order in opposite ways."""
    concordant: Counts
    """Disagreements in which the row's measure agrees with the gold standard, or the gold standard ties."""
    wins: Counts
    """Disagreements in which the row's measure is concordant and the column's is not."""
    compared: int
    """The number of pairs of lists."""
    runs: int
    topics: int
    notes: tuple[str, ...]

    @property
    def shares(self) -> Array:
        """gold × measures × measures: Conc(row | column, gold); NaN where the two never disagree."""
        return divided(self.concordant, self.disagreements)

    @property
    def p(self) -> Array:
        """gold × measures × measures: two-sided sign test of wins against losses."""
        wins = self.wins.astype(np.float64)
        return np.asarray(sign_p(wins, np.swapaxes(wins, 1, 2), "two-sided"))

    def columns(self) -> Columns:
        """gold, measure, other, disagreements, concordance, other concordance, wins, losses, both, neither, p."""
        i, j = np.triu_indices(len(self.measures), 1)
        g, pair = np.indices((len(self.golds), len(i))).reshape(2, -1)
        i, j = i[pair], j[pair]
        names = labels(self.measures)
        wins, losses = self.wins[g, i, j], self.wins[g, j, i]
        both = self.concordant[g, i, j] - wins
        return {
            "gold": labels(self.golds)[g],
            "measure": names[i],
            "other": names[j],
            "disagreements": self.disagreements[i, j],
            "concordance": self.shares[g, i, j],
            "other concordance": self.shares[g, j, i],
            "wins": wins,
            "losses": losses,
            "both": both,
            "neither": self.disagreements[i, j] - wins - losses - both,
            "p": self.p[g, i, j],
        }

    def table(self, gold: str | None = None) -> Table:
        """As Sakai 2014 Table 2: concordance of row and column, the sign test's mark, and the disagreements.

        `gold` is one of `golds`; the default is the last one, which is all gold standards together.
        """
        g = index_of(self.golds[-1] if gold is None else gold, self.golds, "gold standard")
        shares, p = self.shares[g], self.p[g]

        def cell(i: int, j: int) -> str:
            if not self.disagreements[i, j]:
                return "(0)"
            mark = next((mark for alpha, mark in MARKS if p[i, j] < alpha), "")
            return f"{shares[i, j]:.1%}/{shares[j, i]:.1%}{mark} ({self.disagreements[i, j]})"

        return upper_triangle(self.measures, cell, f"Concordance with {self.golds[g]}", self.notes)

    def pairs(self) -> Table:
        """A row per gold standard and pair of measures."""
        return table_of(self.columns(), notes=self.notes, caption="Concordance")


def concord(scores: Scores, gold: Any, measures: Any = None, *, progress: Progress | None = None) -> Concordance:
    r"""The concordance test of all pairs of measures (Sakai 2014 Fig. 17, Sakai 2013 Fig. 6).

    Over all pairs of runs X, Y and topics on which M1 and M2 disagree (ΔM1 ΔM2 < 0): how often does each of them agree
    with the gold standard M*?

    .. math:: Conc(M_1 | M_2, M^*) = \frac{|\Delta M_1 \Delta M_2 < 0 \wedge \Delta M_1 \Delta M^* \ge 0|}
        {|\Delta M_1 \Delta M_2 < 0|}

    gold: one or several measures of `scores`; several are used one by one and all together (M1 must agree with each).
    measures: the measures to compare; default: all but the gold standards. A win is a disagreement in which one measure
    agrees with the gold standard and the other does not; the sign test compares wins. It treats pairs of lists as
    independent, although pairs that share a run or topic are not. Differences within rounding error are ties. Topics
    with an undefined score are left out.
    Reference: Sakai, Evaluation with Informational and Navigational Intents, WWW 2012, 499-508

    >>> values = [[[0.5, 0.2], [0.4, 0.3]], [[0.1, 0.9], [0.2, 0.8]], [[1, 0], [0, 0]]]
    >>> result = concord(Scores(["Q", "RR", "P@1"], ["a", "b"], ["1", "2"], values), "P@1")
    >>> result.disagreements[0, 1].item(), result.shares[0].round(2).tolist()[0][1]  # Q agrees once, P@1 ties once
    (2, 1.0)
    """
    golds = names_of([gold] if isinstance(gold, (str, type)) or not isinstance(gold, Iterable) else gold)
    if not golds:
        raise UsageError("concord: no gold standard; give a measure such as 'P@10'")
    names = names_of(measures) if measures is not None else [name for name in scores.measures if name not in golds]
    if len(names) < 2:
        count = f"{counted(len(names), 'measure')} to compare ({', '.join(names) or 'none'})"
        raise UsageError(f"concord: {count}, must be 2 or more in addition to the gold standard")
    complete = CompleteScores.of(scores, "concord", list(dict.fromkeys([*names, *golds])), least_systems=2)
    gold_sets = [[name] for name in golds] + ([golds] if len(golds) > 1 else [])
    counts = _counts(complete, [complete.measures.index(name) for name in names], gold_sets, progress)
    runs, topics = len(complete.runs), len(complete.topics)
    compared = runs * (runs - 1) // 2 * topics
    marks = ", ".join(f"{mark} p < {alpha:g}" for alpha, mark in reversed(MARKS))
    notes = (
        f"{compared:,} pairs of lists: {runs} runs, {topics} topics; in brackets: disagreements",
        f"row/column; a tie by the gold standard is concordant; two-sided sign test of wins: {marks}",
        *complete.notes,
    )
    return Concordance(tuple(names), tuple(map(AND.join, gold_sets)), *counts, compared, runs, topics, notes)


def _counts(
    complete: CompleteScores, measures: list[int], gold_sets: list[list[str]], progress: Progress | None
) -> tuple[Counts, Counts, Counts]:
    """Disagreements, concordant and wins: each is a product of 0/1 matrices, measures × pairs of lists."""
    disagree = np.zeros((len(measures), len(measures)))
    concordant = np.zeros((len(gold_sets), *disagree.shape))
    both = np.zeros_like(concordant)
    first, second = np.triu_indices(len(complete.runs), 1)
    close = complete.close[:, None, None]
    size = max(1, _BLOCK // (len(complete.topics) * len(complete.measures)))
    for begin in range(0, len(first), size):
        block = np.s_[begin : begin + size]
        difference = complete.values[:, first[block]] - complete.values[:, second[block]]
        sign = (difference > close).view(np.int8) - (difference < -close).view(np.int8)
        sign = sign.reshape(len(complete.measures), -1)
        up, down = ((sign[measures] == direction).astype(np.float32) for direction in (1, -1))
        disagree += _opposite(up, down)
        for g, golds in enumerate(gold_sets):
            agrees = np.ones(up.shape, dtype=bool)
            for name in golds:
                agrees &= sign[measures] * sign[complete.measures.index(name)] >= 0
            up_agrees, down_agrees = up * agrees, down * agrees
            concordant[g] += products(up_agrees, down) + products(down_agrees, up)
            both[g] += _opposite(up_agrees, down_agrees)
        report(progress, min(begin + size, len(first)), len(first))
    counts = [np.rint(count).astype(np.int64) for count in (disagree, concordant, concordant - both)]
    return counts[0], counts[1], counts[2]


def _opposite(up: NDArray[np.float32], down: NDArray[np.float32]) -> Array:
    one_way = products(up, down)
    return one_way + one_way.T

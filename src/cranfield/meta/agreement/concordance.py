"""Concordance: of two measures that disagree, which one agrees with a simple measure that says what we want?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.check import nearest
from cranfield.comparison.differences import noise
from cranfield.comparison.distributions.rank_distributions import sign_p
from cranfield.errors import UsageError
from cranfield.frames import Tidy
from cranfield.meta.agreement.coefficients import products
from cranfield.meta.rankings import Panel, names_of
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Column, Table
from cranfield.text import counted
from cranfield.types import Array

Counts = NDArray[np.int64]

MARKS = ((0.01, "‡"), (0.05, "†"))
"""As in Sakai 2013 Table 6."""
AND = " AND "
_BLOCK = 1_000_000
"""How many signs are held at a time, all measures together; bounds memory, and changes no answer."""


@dataclass(frozen=True, eq=False, repr=False)
class Concordance(Tidy):
    """Counts over pairs of runs and topics, measures × measures; what is of the row against the column.

    Those that depend on a gold standard have it as the first axis.
    """

    measures: tuple[str, ...]
    golds: tuple[str, ...]
    """The gold standards; with several, each alone and then all at once: `I-rec@10 AND P@10`."""
    disagreements: Counts
    """Pairs of lists that the two measures put in opposite order."""
    concordant: Counts
    """Disagreements in which the row's measure is concordant with the gold standard (which may tie)."""
    wins: Counts
    """Disagreements in which the row's measure is concordant and the column's is not."""
    compared: int
    """How many pairs of lists there were."""
    runs: int
    topics: int
    notes: tuple[str, ...]

    @property
    def shares(self) -> Array:
        """gold × measures × measures: Conc(row | column, gold); NaN where the two never disagree."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.concordant / self.disagreements)

    @property
    def p(self) -> Array:
        """gold × measures × measures: two-sided sign test of wins against losses."""
        wins = self.wins.astype(np.float64)
        return np.asarray(sign_p(wins, np.swapaxes(wins, 1, 2), "two-sided"))

    def columns(self) -> dict[str, NDArray[Any]]:
        """gold, measure, other, disagreements, concordance, other concordance, wins, losses, both, neither, p."""
        i, j = np.nonzero(np.triu(np.ones(self.disagreements.shape, dtype=bool), 1))
        g = np.repeat(np.arange(len(self.golds)), len(i))
        i, j = np.tile(i, len(self.golds)), np.tile(j, len(self.golds))
        names = np.array(self.measures, dtype=object)
        wins, losses = self.wins[g, i, j], self.wins[g, j, i]
        both = self.concordant[g, i, j] - wins
        return {
            "gold": np.array(self.golds, dtype=object)[g],
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

    def _metadata(self) -> dict[str, Any]:
        return {"compared": self.compared, "runs": self.runs, "topics": self.topics, "notes": list(self.notes)}

    def table(self, gold: str | None = None) -> Table:
        """As Sakai 2014 Table 2: concordance of the row and of the column, the mark of the sign test, disagreements.

        `gold` is one of `golds`; left out, the last: all at once.
        """
        g = len(self.golds) - 1 if gold is None else self._which(gold)
        shares, p = self.shares[g], self.p[g]
        rows: list[tuple[Cell, ...]] = []
        for i, name in enumerate(self.measures[:-1]):
            cells = ["-"] * i + [
                self._cell(shares[i, j], shares[j, i], p[i, j], int(self.disagreements[i, j]))
                for j in range(i + 1, len(self.measures))
            ]
            rows.append((name, *cells))
        columns = (Column(""), *(Column(name) for name in self.measures[1:]))
        return Table(columns, tuple(rows), f"Concordance with {self.golds[g]}", self._told())

    def pairs(self) -> Table:
        """A row per gold standard and pair of measures."""
        kinds = {"gold": "text", "measure": "text", "other": "text", "p": "probability"}
        kinds |= dict.fromkeys(("concordance", "other concordance"), "number")
        made = self.columns()
        columns = tuple(Column(name, kinds.get(name, "count")) for name in made)
        rows = tuple(zip(*(column.tolist() for column in made.values()), strict=True))
        return Table(columns, rows, "Concordance", self._told())

    def _which(self, gold: str) -> int:
        if gold not in self.golds:
            raise nearest(gold, self.golds, "gold standard")
        return self.golds.index(gold)

    def _cell(self, mine: float, other: float, p: float, disagreements: int) -> str:
        if not disagreements:
            return "(0)"
        mark = next((mark for alpha, mark in MARKS if p < alpha), "")
        return f"{mine:.1%}/{other:.1%}{mark} ({disagreements})"

    def _told(self) -> tuple[str, ...]:
        marks = ", ".join(f"{mark} p < {alpha:g}" for alpha, mark in reversed(MARKS))
        return (
            f"{self.compared:,} pairs of lists: {self.runs} runs, {self.topics} topics; in brackets: disagreements",
            f"row/column; a tie by the gold standard is concordant; two-sided sign test of wins: {marks}",
            *self.notes,
        )

    def __str__(self) -> str:
        return self.table().text()

    __repr__ = __str__


def concord(
    scores: Scores,
    gold: Any,
    measures: Any = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Concordance:
    r"""The concordance test of all pairs of measures (Sakai 2014 Fig. 17, Sakai 2013 Fig. 6).

    Over all pairs of runs X, Y and topics on which M1 and M2 disagree (ΔM1 ΔM2 < 0): how often does each of them go
    with the gold standard M*?

    .. math:: Conc(M_1 | M_2, M^*) = \frac{|\Delta M_1 \Delta M_2 < 0 \wedge \Delta M_1 \Delta M^* \ge 0|}
        {|\Delta M_1 \Delta M_2 < 0|}

    gold: one measure of `scores` or several; of several, each alone and all at once (M1 has to go with every one).
    measures: those compared; left out, all but the gold standards. A win is a disagreement in which one goes with the
    gold standard and the other does not; the sign test is on wins. It looks at pairs of lists as if they were
    independent, which pairs of the same runs or topics are not. Differences that are rounding only are ties, and topics
    on which something is undefined are left out.
    Reference: Sakai, Evaluation with Informational and Navigational Intents, WWW 2012, 499-508

    >>> values = [[[0.5, 0.2], [0.4, 0.3]], [[0.1, 0.9], [0.2, 0.8]], [[1, 0], [0, 0]]]
    >>> found = concord(Scores(["Q", "RR", "P@1"], ["a", "b"], ["1", "2"], values), "P@1")
    >>> found.disagreements[0, 1].item(), found.shares[0].round(2).tolist()[0][1]  # of both, Q is right or excused
    (2, 1.0)
    """
    golds = names_of([gold] if isinstance(gold, (str, type)) or not isinstance(gold, Iterable) else gold)
    if not golds:
        raise UsageError("concord: no gold standard; give a measure such as 'P@10'")
    chosen = names_of(measures) if measures is not None else [one for one in scores.measures if one not in golds]
    if len(chosen) < 2:
        said = ", ".join(chosen) or "none"
        raise UsageError(
            f"concord: {counted(len(chosen), 'measure')} to compare ({said}), must be 2 or more beside the gold"
        )
    panel = Panel.of(scores, "concord", list(dict.fromkeys([*chosen, *golds])), least=2)
    sets = [[one] for one in golds] + ([golds] if len(golds) > 1 else [])
    tallies = _counted(panel, [panel.measures.index(one) for one in chosen], sets, progress)
    runs, topics = len(panel.runs), len(panel.topics)
    named = tuple(AND.join(one) for one in sets)
    return Concordance(tuple(chosen), named, *tallies, runs * (runs - 1) // 2 * topics, runs, topics, panel.notes)


def _counted(
    panel: Panel, chosen: list[int], sets: list[list[str]], progress: Callable[[int, int], None] | None
) -> tuple[Counts, Counts, Counts]:
    """Disagreements, concordant and wins. Every count is a product of matrices: measures × pairs of lists, 0 or 1."""
    count = len(chosen)
    disagree = np.zeros((count, count))
    concordant = np.zeros((len(sets), count, count))
    both = np.zeros_like(concordant)
    first, second = np.triu_indices(len(panel.runs), 1)
    close = np.array([noise(one) for one in panel.values])[:, None, None]
    size = max(1, _BLOCK // (len(panel.topics) * len(panel.measures)))
    for begin in range(0, len(first), size):
        some = np.s_[begin : begin + size]
        difference = panel.values[:, first[some]] - panel.values[:, second[some]]
        sign = (difference > close).view(np.int8) - (difference < -close).view(np.int8)
        sign = sign.reshape(len(panel.measures), -1)
        up, down = ((sign[chosen] == way).astype(np.float32) for way in (1, -1))
        disagree += _either(up, down)
        for g, golds in enumerate(sets):
            goes = np.ones(up.shape, dtype=bool)
            for name in golds:
                goes &= sign[chosen] * sign[panel.measures.index(name)] >= 0
            up_goes, down_goes = up * goes, down * goes
            concordant[g] += products(up_goes, down) + products(down_goes, up)
            both[g] += _either(up_goes, down_goes)
        if progress is not None:
            progress(min(begin + size, len(first)), len(first))
    whole = [np.rint(one).astype(np.int64) for one in (disagree, concordant, concordant - both)]
    return whole[0], whole[1], whole[2]


def _either(up: NDArray[np.float32], down: NDArray[np.float32]) -> Array:
    one_way = products(up, down)
    return one_way + one_way.T

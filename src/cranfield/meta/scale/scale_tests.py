"""What the scale of a measure does to significance: pairs found by ranks and by means.

The comparison is that of Ferro & Maistro 2024 Table 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.assumptions import interval_scale
from cranfield.comparison.data import Matrix
from cranfield.comparison.registry import TestSettings, find_test
from cranfield.comparison.test_result import check_alpha
from cranfield.errors import UsageError
from cranfield.frames import Tidy
from cranfield.scores.scores import Scores
from cranfield.table import Column, Table

BY_RANKS, BY_MEANS = "kruskal-wallis", "tukey"
FEWEST = 3
"""Of two systems there is one pair, and nothing to count."""


@dataclass(frozen=True, eq=False)
class ScaleTests(Tidy):
    """For each measure, the pairs of systems that differ by ranks (Kruskal–Wallis) and by means (ANOVA)."""

    measures: tuple[str, ...]
    interval: tuple[bool | None, ...]
    """Is the measure on an interval scale, as the second test asks? None: it is not known."""
    by_ranks: NDArray[np.int64]
    by_means: NDArray[np.int64]
    both: NDArray[np.int64]
    """How many pairs both find."""
    pairs: NDArray[np.int64]
    topics: NDArray[np.int64]
    alpha: float
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.table().text()

    __repr__ = __str__

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, interval (yes, no or empty), pairs, by_ranks, by_means, both, topics; a row per measure."""
        words = {True: "yes", False: "no", None: ""}
        return {
            "measure": np.array(self.measures, dtype=object),
            "interval": np.array([words[one] for one in self.interval], dtype=object),
            "pairs": self.pairs,
            "by_ranks": self.by_ranks,
            "by_means": self.by_means,
            "both": self.both,
            "topics": self.topics,
        }

    def table(self) -> Table:
        """Table 3: counts and shares of the pairs."""
        heads = (
            Column("measure"),
            Column("interval scale"),
            Column("pairs", "count"),
            Column("Kruskal–Wallis", "count"),
            Column("Kruskal–Wallis share", "number"),
            Column("ANOVA", "count"),
            Column("ANOVA share", "number"),
            Column("both", "count"),
        )
        columns = self.columns()
        rows = tuple(
            (name, scale, pairs, ranks, ranks / pairs, means, means / pairs, both)
            for name, scale, pairs, ranks, means, both, _ in zip(
                *(column.tolist() for column in columns.values()), strict=True
            )
        )
        return Table(heads, rows, notes=self.notes)


def scale_tests(scores: Scores, *, alpha: float = 0.05) -> ScaleTests:
    """How many pairs of systems differ by a test that asks for order only, and by one that asks for an interval scale.

    Kruskal–Wallis on the ranks of all scores, and the two-way ANOVA (topics × systems), each with Tukey's HSD for all
    pairs. More pairs by means are expected, as that test is the more powerful one; a measure that is on no interval
    scale may gain or lose for that reason alone.

    Reference: Ferrante, Ferro & Losiouk, Information Retrieval Journal 23(3), 2020; Ferro & Maistro 2024 §7.8, Table 3

    >>> values = [[0.1, 0.5, 0.9], [0.2, 0.5, 0.8], [0.1, 0.4, 0.9], [0.0, 0.6, 0.7]]
    >>> scale_tests(Scores.from_matrix(values, measure="AP")).by_means.tolist()
    [3]
    """
    check_alpha("scale_tests", alpha)
    if len(scores.runs) < FEWEST:
        raise UsageError(f"scale_tests: {len(scores.runs)} systems, give {FEWEST} or more")
    first, second = np.triu_indices(len(scores.runs), 1)
    asked = TestSettings(alpha=alpha)
    counts: list[tuple[int, int, int, int, int]] = []
    notes: list[str] = []
    for name in scores.measures:
        matrix = Matrix.of(scores, name).complete()
        if matrix.n < 2:
            raise UsageError(f"scale_tests: {matrix.n} topic with a value for every system in {name}, 2 or more needed")
        differ = [find_test(test).run(matrix, first, second, asked).p <= alpha for test in (BY_RANKS, BY_MEANS)]
        ranks, means = differ
        counts.append((int(ranks.sum()), int(means.sum()), int((ranks & means).sum()), len(first), matrix.n))
        notes += matrix.notes
    notes.append(
        f"pairs that differ at α = {alpha:g}, Tukey's HSD after Kruskal–Wallis and after the two-way ANOVA of topics "
        "and systems"
    )
    by_ranks, by_means, both, pairs, topics = np.array(counts, dtype=np.int64).reshape(-1, 5).T
    return ScaleTests(
        scores.measures,
        tuple(interval_scale(name).holds for name in scores.measures),
        by_ranks,
        by_means,
        both,
        pairs,
        topics,
        alpha,
        tuple(dict.fromkeys(notes)),
    )

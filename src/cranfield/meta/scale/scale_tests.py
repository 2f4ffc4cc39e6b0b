"""How the scale of a measure affects significance: pairs of systems that differ by ranks and by means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.data import Matrix
from cranfield.comparison.pair_tests import TESTS, TestSettings
from cranfield.comparison.test_result import check_alpha
from cranfield.errors import UsageError
from cranfield.measures.scale_type import scale_of
from cranfield.meta.complete_scores import check_count
from cranfield.meta.meta_record import Columns, MetaRecord, headings, labels, rows_of
from cranfield.scores.scores import Scores
from cranfield.table import Table
from cranfield.text import counted

BY_RANKS, BY_MEANS = "kruskal-wallis", "tukey"


@dataclass(frozen=True, eq=False, repr=False)
class ScaleTests(MetaRecord):
    """For each measure, the pairs of systems that differ by ranks (Kruskal–Wallis) and by means (ANOVA)."""

    figure = "scale_tests_figure"
    facts = ("alpha",)

    measures: tuple[str, ...]
    scales: tuple[str, ...]
    """The scale of each measure, with its conditions; the second test assumes an interval scale."""
    by_ranks: NDArray[np.int64]
    by_means: NDArray[np.int64]
    both: NDArray[np.int64]
    """The number of pairs that differ by both tests."""
    pairs: NDArray[np.int64]
    topics: NDArray[np.int64]
    alpha: float
    notes: tuple[str, ...] = ()

    def columns(self) -> Columns:
        """measure, scale, pairs, by_ranks, by_means, both, topics; a row per measure."""
        counts = ("pairs", "by_ranks", "by_means", "both", "topics")
        return {
            "measure": labels(self.measures),
            "scale": labels(self.scales),
            **{name: getattr(self, name) for name in counts},
        }

    def table(self) -> Table:
        """Ferro & Maistro 2024 Table 3: counts and shares of the pairs."""
        rows = tuple(
            (name, scale, pairs, ranks, ranks / pairs, means, means / pairs, both)
            for name, scale, pairs, ranks, means, both, _ in rows_of(self.columns())
        )
        heads = (
            *headings("text", "measure", "scale"),
            *headings("count", "pairs", "Kruskal–Wallis"),
            *headings("number", "Kruskal–Wallis share"),
            *headings("count", "ANOVA"),
            *headings("number", "ANOVA share"),
            *headings("count", "both"),
        )
        return Table(heads, rows, notes=self.notes)


def scale_tests(scores: Scores, *, alpha: float = 0.05) -> ScaleTests:
    """How many pairs of systems differ by a test that needs only an order, and by one that needs an interval scale.

    The tests are Kruskal–Wallis on the ranks of all scores, and the two-way ANOVA (topics × systems), each with Tukey's
    HSD for all pairs. The second is more powerful, so more pairs are expected to differ by means; but a measure that is
    not on an interval scale may gain or lose pairs for that reason alone.

    Reference: Ferrante, Ferro & Losiouk, Information Retrieval Journal 23(3), 2020; Ferro & Maistro 2024 §7.8, Table 3

    >>> values = [[0.1, 0.5, 0.9], [0.2, 0.5, 0.8], [0.1, 0.4, 0.9], [0.0, 0.6, 0.7]]
    >>> scale_tests(Scores.from_matrix(values, measure="AP")).by_means.tolist()
    [3]
    """
    check_alpha("scale_tests", alpha)
    check_count("scale_tests", len(scores.runs), "system")
    first, second = np.triu_indices(len(scores.runs), 1)
    settings, tests = TestSettings(alpha=alpha), (TESTS.find(BY_RANKS), TESTS.find(BY_MEANS))
    counts: list[tuple[int, int, int, int, int]] = []
    notes: list[str] = []
    for name in scores.measures:
        matrix = Matrix.of(scores, name).complete()
        if matrix.n < 2:
            defined = counted(matrix.n, "topic")
            raise UsageError(f"scale_tests: {defined} with a value of {name} for every system, must be 2 or more")
        ranks, means = (test.run(matrix, first, second, settings).p <= alpha for test in tests)
        counts.append((int(ranks.sum()), int(means.sum()), int((ranks & means).sum()), len(first), matrix.n))
        notes += matrix.notes
    tested = "Tukey's HSD after Kruskal–Wallis and after the two-way ANOVA of topics and systems"
    notes = [*dict.fromkeys(notes), f"pairs that differ at α = {alpha:g}, {tested}"]
    scales = tuple(scale_of(name).words for name in scores.measures)
    by_ranks, by_means, both, pairs, topics = np.array(counts, dtype=np.int64).reshape(-1, 5).T
    return ScaleTests(scores.measures, scales, by_ranks, by_means, both, pairs, topics, alpha, tuple(notes))

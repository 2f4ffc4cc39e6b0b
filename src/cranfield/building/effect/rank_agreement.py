"""Rankings and significant pairs under two sets of scores of the same runs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.comparison.corrections import adjust
from cranfield.comparison.data import Matrix, all_pairs
from cranfield.comparison.differences import noise
from cranfield.comparison.pair_tests import PairTest, TestSettings
from cranfield.errors import CranfieldError
from cranfield.meta.agreement.coefficients import tau_ap, tau_b
from cranfield.meta.complete_scores import levels_of
from cranfield.text import counted
from cranfield.types import Array, Index64


def correlations(reference: Array, other: Array, lower: Sequence[bool]) -> tuple[Array, Array]:
    """measures: τ_b, and τ_ap with the reference as the gold standard, of two rankings by mean scores.

    reference, other: measures × runs. lower: for each measure, whether lower scores are better. NaN if a run has no
    score, or if all runs tie in one of the rankings.
    """
    both = np.full((2, len(lower)), np.nan)
    for m, is_lower in enumerate(lower):
        pair = np.stack([reference[m], other[m]]) * (-1.0 if is_lower else 1.0)
        if not np.isfinite(pair).all():
            continue
        levels = levels_of(pair, np.array([noise(row) for row in pair]))
        if (levels.max(axis=1) == 0).any():
            continue
        both[:, m] = np.clip(tau_b(levels)[0, 1], -1, 1), tau_ap(levels)[0, 1]
    return both[0], both[1]


def mean_scores(values: Array) -> Array:
    """… × runs: means over the topics (the last axis) that have a score; NaN if none has."""
    defined = ~np.isnan(values)
    count = defined.sum(axis=-1)
    sums = np.where(defined, values, 0.0).sum(axis=-1)
    return np.asarray(np.divide(sums, count, out=np.full(sums.shape, np.nan), where=count > 0))


@dataclass(frozen=True)
class Significance:
    """How pairs of runs are tested."""

    test: PairTest
    correction: str
    settings: TestSettings

    def signs(
        self, values: Array, runs: Sequence[str], topics: Sequence[str], measure: str
    ) -> tuple[Index64, str | None]:
        """For each pair of runs 1 or -1 if the first is significantly higher or lower, else 0.

        If the pairs cannot be tested, all are 0, and the reason is returned too. values: runs × topics. Topics on which
        a run has no score are left out.
        """
        first, second = all_pairs(len(runs))
        matrix = Matrix(values.T, tuple(topics), tuple(runs), measure)
        untested = np.zeros(len(first), dtype=np.int64)
        complete = int((~np.isnan(matrix.values).any(axis=1)).sum())
        if complete < 2:
            return untested, f"{counted(complete, 'topic')} with scores of all runs, a test needs 2 or more"
        matrix = matrix.complete()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                tests = self.test.run(matrix, first, second, self.settings)
            except CranfieldError as error:  # such as too few topics for the test
                return untested, str(error)
        differs = adjust(tests.p, self.correction) <= self.settings.alpha
        means = matrix.values.mean(axis=0)
        return np.where(differs, tests.signs(means[first] - means[second]), 0).astype(np.int64), None


def pair_counts(reference: Index64, other: Index64) -> tuple[int, int, int, int]:
    """Pairs that are kept, lost, new and reversed.

    >>> pair_counts(np.array([1, 1, -1, 0, 0]), np.array([1, 0, 1, -1, 0]))
    (1, 1, 1, 1)
    """
    kept = (reference != 0) & (reference == other)
    lost = (reference != 0) & (other == 0)
    new = (reference == 0) & (other != 0)
    turned = (reference != 0) & (reference == -other)
    return int(kept.sum()), int(lost.sum()), int(new.sum()), int(turned.sum())

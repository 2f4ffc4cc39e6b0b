"""Pairs of runs that differ significantly: which of them still do with other scores of the same runs?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cranfield.comparison.corrections import adjust
from cranfield.comparison.data import Matrix, all_pairs
from cranfield.comparison.pair_tests import PairTest, TestSettings
from cranfield.errors import CranfieldError
from cranfield.text import counted
from cranfield.types import Array, Index64


class KeptPairs(NamedTuple):
    """Numbers of pairs of runs. `significant` = `kept` + `lost` + `reversed`."""

    significant: int
    """Differ by the reference."""
    kept: int
    """Also differ by the other scores, in the same direction."""
    lost: int
    """Do not differ any more."""
    reversed: int
    """Differ in the other direction."""
    new: int
    """Differ only by the other scores."""

    @staticmethod
    def of(reference: Index64, other: Index64) -> KeptPairs:
        """From the signs of the pairs by both scores.

        >>> KeptPairs.of(np.array([1, 1, -1, 0, 0]), np.array([1, 0, 1, -1, 0]))
        KeptPairs(significant=3, kept=1, lost=1, reversed=1, new=1)
        """
        before, after = reference != 0, other != 0
        same = reference == other
        masks = (before, before & same, before & ~after, before & after & ~same, ~before & after)
        return KeptPairs(*(int(mask.sum()) for mask in masks))


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

"""Pairs of runs that differ significantly with all judgments: which still do with fewer?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.corrections import CORRECTIONS, adjust
from cranfield.comparison.data import Matrix, all_pairs
from cranfield.comparison.pair_tests import TESTS, PairTest, TestSettings
from cranfield.comparison.test_result import check_alpha
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.scores.scores import Scores
from cranfield.types import Array, Index64

LEAST_TOPICS = 2


class KeptPairs(NamedTuple):
    """Numbers of pairs of runs. `significant` = `kept` + `lost` + `reversed`."""

    significant: int
    """Differ with all judgments."""
    kept: int
    """Also differ with fewer, in the same direction."""
    lost: int
    """Do not differ any more."""
    reversed: int
    """Differ in the other direction."""
    new: int
    """Differ only with fewer judgments."""


@dataclass(frozen=True, eq=False)
class SignificantPairs:
    """Which pairs differ with all judgments: +1 if the first is higher, -1 if the second is, 0 if they do not."""

    sign: NDArray[np.int64]
    """measures × pairs."""
    chosen: PairTest
    correction: str
    settings: TestSettings
    first: Index64
    second: Index64
    notes: tuple[str, ...]

    @staticmethod
    def of(scores: Scores, test: str, correction: str, alpha: float, seed: int = 0) -> SignificantPairs:
        """The pairs by each measure."""
        check_alpha("simulate", alpha)
        chosen = TESTS.find(test)
        name = "none" if chosen.simultaneous else CORRECTIONS.find(correction).name
        first, second = all_pairs(len(scores.runs))
        settings = TestSettings(alpha=alpha, seed=seed)
        corrected = "for all pairs together" if chosen.simultaneous else f"corrected by {name}"
        note = (
            f"pairs: those of {len(first):,} that differ with all judgments ({chosen.name}, α = {alpha:g}, {corrected})"
        )
        empty = SignificantPairs(np.zeros((0, 0), dtype=np.int64), chosen, name, settings, first, second, (note,))
        sign = np.stack([empty.signs(values) for values in scores.values])
        return SignificantPairs(sign, chosen, name, settings, first, second, (note,))

    def signs(self, values: Array) -> NDArray[np.int64]:
        """For each pair, the direction in which it differs significantly, from scores (runs × topics)."""
        defined = values[:, ~np.isnan(values).any(axis=0)]
        if defined.shape[1] < LEAST_TOPICS:
            return np.zeros(len(self.first), dtype=np.int64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CranfieldWarning)
            try:
                tests = self.chosen.run(Matrix.of(defined.T), self.first, self.second, self.settings)
            except UsageError:  # too few topics for this test
                return np.zeros(len(self.first), dtype=np.int64)
        means = defined.mean(axis=1)
        differ = adjust(tests.p, self.correction) <= self.settings.alpha
        return np.asarray(np.where(differ, tests.signs(means[self.first] - means[self.second]), 0), dtype=np.int64)

    def compare(self, measure: int, values: Array) -> KeptPairs:
        """How many pairs are kept with other scores (runs × topics) of a measure."""
        full, other = self.sign[measure], self.signs(values)
        both = (full != 0) & (other != 0)
        return KeptPairs(
            int((full != 0).sum()),
            int((both & (full == other)).sum()),
            int(((full != 0) & (other == 0)).sum()),
            int((both & (full != other)).sum()),
            int(((full == 0) & (other != 0)).sum()),
        )

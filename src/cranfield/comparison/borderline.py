"""The smallest difference between two systems that the paired bootstrap test would call significant."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cranfield import _core
from cranfield.comparison.data import Matrix
from cranfield.comparison.pair_tests import TESTS, TestSettings
from cranfield.comparison.resampling import BootstrapGroup, check_resampling, groups_of, moments_of, p_of, threads_of
from cranfield.types import Array, Index64

MOST_SUMS = 50_000_000
"""The number of resampled means in memory at once: 400 MB."""


@dataclass(frozen=True, eq=False)
class Borderline:
    """The paired bootstrap test of many pairs, an entry per pair."""

    p: Array
    difference: Array
    """|w̄*| of the resample with the Bα-th largest |t(w*)|; NaN if Bα is below 1."""
    notes: tuple[str, ...] = ()


def bootstrap_borderline(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> Borderline:
    r"""The p-value of each pair, and the mean difference from which it would be significant at α.

    .. math:: \Delta_\alpha(X, Y) = |\bar w^{*b'}|, \quad |t(w^{*b'})| \text{ the } B\alpha\text{-th largest}

    Every system needs a score on every topic. Of resamples with the same |t|, the one with the larger mean comes first.
    Reference: Sakai, SIGIR 2006, doi:10.1145/1148170.1148261 (Sakai 2007 Fig. 7, Sakai 2013 Fig. 3)

    >>> matrix = Matrix.of({"a": [0.5, 0.7, 0.3, 0.6, 0.4], "b": [0.4, 0.5, 0.3, 0.3, 0.3]})
    >>> result = bootstrap_borderline(matrix, np.array([0]), np.array([1]), TestSettings(resamples=2000))
    >>> round(float(result.p[0]), 3), round(float(result.difference[0]), 3)
    (0.092, 0.08)
    """
    check_resampling("bootstrap", settings.resamples, settings.seed, settings.threads)
    used = min(settings.resamples, max(1_000, MOST_SUMS // len(matrix.systems)))
    rank = math.floor(used * settings.alpha + 1e-9)
    moments = moments_of(matrix, first, second)
    (group,) = groups_of(matrix, first, second)
    ready = BootstrapGroup.of(group, 0)
    hits, difference = _core.bootstrap_borderline(
        ready.centred, ready.largest, group.first, group.second, moments.ratio_limits(two_sided=True), max(rank, 1),
        settings.seed, used, threads_of(settings.threads),
    )  # fmt: skip
    notes: tuple[str, ...] = ()
    if rank == 0:
        difference = np.full(len(first), np.nan)
        notes = (f"{used:,} resamples are too few to find the difference needed at α = {settings.alpha:.4g}",)
    if used == settings.resamples:
        return Borderline(p_of(hits, used), difference, notes)
    notes = (*notes, f"the difference needed is based on the first {used:,} resamples")
    return Borderline(TESTS.find("bootstrap").run(matrix, first, second, settings).p, difference, notes)

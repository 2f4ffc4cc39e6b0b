"""The difference between two systems at which the paired bootstrap would just call it significant."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cranfield import _core
from cranfield.comparison.data import Matrix
from cranfield.comparison.methods.resamples import Gathered, check_resampling, groups_of, moments_of, p_of, threads_of
from cranfield.comparison.methods.resampling import ratio_limits
from cranfield.comparison.registry import TestSettings, find_test
from cranfield.types import Array, Index64

MOST_SUMS = 50_000_000
"""How many resampled means of systems may be held: 400 MB."""


@dataclass(frozen=True, eq=False)
class Borderline:
    """The paired bootstrap test of many pairs, one entry per pair."""

    p: Array
    difference: Array
    """|w̄*| of the resample with the Bα-th largest |t(w*)|; NaN if Bα is below 1."""
    notes: tuple[str, ...] = ()


def bootstrap_borderline(matrix: Matrix, first: Index64, second: Index64, asked: TestSettings) -> Borderline:
    r"""p-values, and for each pair the mean difference between significance and none at α = 1 − level.

    .. math:: \Delta_\alpha(X, Y) = |\bar w^{*b'}|, \quad |t(w^{*b'})| \text{ the } B\alpha\text{-th largest}

    Every system needs a value on every topic. Where resamples have the same |t|, the larger mean comes first.
    Reference: Sakai, SIGIR 2006, doi:10.1145/1148170.1148261 (Sakai 2007 Fig. 7, Sakai 2013 Fig. 3)

    >>> matrix = Matrix.of({"a": [0.5, 0.7, 0.3, 0.6, 0.4], "b": [0.4, 0.5, 0.3, 0.3, 0.3]})
    >>> found = bootstrap_borderline(matrix, np.array([0]), np.array([1]), TestSettings(resamples=2000))
    >>> round(float(found.p[0]), 3), round(float(found.difference[0]), 3)
    (0.092, 0.08)
    """
    check_resampling("bootstrap", asked.resamples, asked.seed, asked.threads)
    held = min(asked.resamples, max(1_000, MOST_SUMS // len(matrix.systems)))
    rank = math.floor(held * (1 - asked.level) + 1e-9)
    moments = moments_of(matrix, first, second)
    (group,) = groups_of(matrix, first, second)
    ready = Gathered.of(group, 0)
    hits, difference = _core.bootstrap_borderline(
        ready.centred, ready.largest, group.first, group.second, ratio_limits(moments, True), max(rank, 1),
        asked.seed, held, threads_of(asked.threads),
    )  # fmt: skip
    notes: tuple[str, ...] = ()
    if rank == 0:
        difference = np.full(len(first), np.nan)
        notes = (f"{held:,} resamples are too few to tell the difference needed at α = {1 - asked.level:.4g}",)
    if held == asked.resamples:
        return Borderline(p_of(hits, held), difference, notes)
    notes = (*notes, f"the difference needed rests on the first {held:,} resamples")
    return Borderline(find_test("bootstrap").run(matrix, first, second, asked).p, difference, notes)

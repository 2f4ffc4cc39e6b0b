"""All pairs of systems at once, each with its own standard error: the max-t test of Westfall and Young."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.comparison.data import Matrix, check_common_topics
from cranfield.comparison.differences import difference_blocks, zeros_for_nan
from cranfield.comparison.registry import PairTests, TestSettings, pair_test
from cranfield.comparison.resampling import TIE, Resampling, moments_of, p_of, rank_of_critical, resample
from cranfield.text import counted
from cranfield.types import Array, Index64

_DRAWN = 512
"""The number of resamples in a block, which has its own random numbers."""
_PAIRS = 1024
"""The number of pairs in a block; it does not change results."""


@pair_test(
    "max-t",
    aliases=("maxt", "westfall-young", "max-t-test"),
    statistic="t",
    simultaneous=True,
    resampling=True,
    source="Westfall & Young, Resampling-Based Multiple Testing, 1993; Romano & Wolf, JASA 100(469), 2005",
)
def max_t_of_pairs(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
    r"""The largest |t| of all pairs, each divided by its own standard error, when topics change signs.

    .. math:: u_{XY}(s) = \frac{|\sum_i s_i z_i|}{\sqrt{\sum_i z_i^2}} \qquad
        p_{XY} = \frac{1 + |\{b : \max_{VW} u_{VW}(s^b) \ge u_{XY}(1)\}|}{1 + B}

    z are the differences of a pair on its topics; a topic's sign is the same for all pairs, which keeps their
    dependence. u grows with Student's t. The interval of a difference is ± a critical t, the same for all pairs with
    the same number of topics, times the standard error of the pair, and contains 0 exactly if p is above α.
    """
    moments = moments_of(matrix, first, second)
    notes = [*check_common_topics(moments.n, 2, "a max-t test")]
    unit = unit_differences(matrix, first, second)
    state, exact = largest_flipped(unit, settings)
    notes = [*state.notes, *notes]
    observed = np.abs(unit.sum(axis=1))
    reached = len(state.result) - np.searchsorted(state.result[::-1], observed - TIE * np.sqrt(matrix.n), side="left")
    p = reached / len(state.result) if exact else p_of(reached, state.done, settings.asl)
    critical = Critical.of(state.result, settings.alpha, exact)
    half = critical.t(moments.n) * np.where(moments.sd > 0, moments.error, np.nan)
    if constant := int(((moments.sd == 0) & (moments.n > 1)).sum()):
        notes.append(f"the difference is the same on every topic in {counted(constant, 'pair')}: no interval")
    if np.isinf(half).any():
        notes.append(f"too few topics for intervals at level {settings.level:g}: they are infinite")
    return PairTests(
        moments.t,
        np.where(moments.n > 1, p, np.nan),
        moments.mean - half,
        moments.mean + half,
        moments.n.astype(np.int64),
        resamples=None if exact else state.done,
        exact=exact,
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class Critical:
    """The largest u of all pairs that does not show a difference."""

    u: float

    @staticmethod
    def of(largest: Array, alpha: float, exact: bool) -> Critical:
        """From the largest u of every resample, in falling order."""
        rank = int(alpha * len(largest) + 1e-9) if exact else rank_of_critical(len(largest), alpha)
        return Critical(float(largest[rank - 1]) if rank else np.inf)

    def t(self, n: Array) -> Array:
        """The same as Student's t, for each number of topics; infinite if no t could be above it."""
        square = self.u**2
        room = np.where(n > square * (1 + TIE), n - square, 0.0) if np.isfinite(square) else np.zeros_like(n)
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(room > 0, self.u * np.sqrt((n - 1) / np.where(room > 0, room, 1)), np.inf))


def unit_differences(matrix: Matrix, first: Index64, second: Index64) -> Array:
    """The differences of each pair (a row), divided so that their squares sum to 1; 0 where a score is missing."""
    unit = np.empty((len(first), matrix.n))
    for block, difference in difference_blocks(matrix, first, second):
        values, n = zeros_for_nan(difference)
        length = np.sqrt((values**2).sum(axis=1, keepdims=True))
        unit[block] = np.divide(values, length, out=np.zeros_like(values), where=(length > 0) & (n > 1)[:, None])
    return unit


def largest_flipped(unit: Array, settings: TestSettings) -> tuple[Resampling, bool]:
    """The largest |sum| of all rows under each way to flip the signs of columns, in falling order.

    All ways are counted if they are no more than the resamples; the second value says so. A flip of all signs changes
    nothing, so one sign can stay.
    """
    unit = unit[:, unit.any(axis=0)]
    topics = unit.shape[1]
    exact = 2 ** max(topics - 1, 0) <= settings.resamples
    total = 2 ** max(topics - 1, 0) if exact else settings.resamples

    def more(largest: list[Array], begin: int, end: int) -> list[Array]:
        if exact:
            flipped = (np.arange(begin, end)[:, None] >> np.arange(topics)) & 1
        else:
            flipped = np.random.default_rng([settings.seed, begin // _DRAWN]).integers(0, 2, (_DRAWN, topics))
        signs = 1.0 - 2.0 * flipped[: end - begin].T
        top = np.zeros(end - begin)
        for at in range(0, len(unit), _PAIRS):
            sums = unit[at : at + _PAIRS] @ signs
            np.maximum(top, np.maximum(sums.max(axis=0), -sums.min(axis=0)), out=top)
        return [*largest, top]

    state = resample(total, _DRAWN, [], more, settings.progress, keep=not exact)
    return Resampling(state.total, np.sort(np.concatenate(state.result))[::-1], state.done), exact

"""Sample-ratio mismatch: do the arms have the numbers of users that the design says?

If not, some users were lost or counted twice in one arm, and no other result of the experiment can be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.test_result import check_alpha, shown_p
from cranfield.errors import UsageError
from cranfield.record import Record, column
from cranfield.text import listed
from cranfield.types import Array, Index64

EXACT_USERS = 10_000
"""Two arms with at most this many users get an exact binomial test."""
EXACT_OUTCOMES = 200_000
"""Several arms get an exact multinomial test if there are at most this many ways to fill them."""


@dataclass(frozen=True, eq=False, repr=False)
class SampleRatio(Record):
    """The users of each arm, those expected, and how likely a larger mismatch is by chance."""

    facts = ("p", "alpha", "mismatch", "test", "statistic", "df")

    arms: Annotated[tuple[str, ...], column("arm")]
    users: Annotated[Index64, column()]
    expected: Annotated[Array, column()]
    p: float
    alpha: float
    test: str
    """`binomial`, `multinomial` (both exact) or `chi-squared`."""

    @property
    def statistic(self) -> float:
        """χ² of the numbers of users; p is that of the exact test, if there is one."""
        return chi_squared(self.users, self.expected) if self.users.sum() else math.nan

    @property
    def df(self) -> int:
        """The degrees of freedom of χ²."""
        return len(self.arms) - 1

    @property
    def mismatch(self) -> bool:
        """Is p below α?"""
        return self.p < self.alpha

    @property
    def notes(self) -> tuple[str, ...]:
        """The result as a sentence."""
        return (self.sentence(),)

    def sentence(self) -> str:
        """What the test says, in one sentence."""
        counts = listed((f"{arm} {users:,}" for arm, users in zip(self.arms, self.users.tolist(), strict=True)), 6)
        expected = (f"{users:,.1f}".removesuffix(".0") for users in self.expected.tolist())
        wanted = listed((f"{arm} {users}" for arm, users in zip(self.arms, expected, strict=True)), 6)
        tested = f"χ²({self.df}) = {self.statistic:.4g}, {shown_p(self.p)} by a {self.test} test"
        if self.mismatch:
            return (
                f"SAMPLE-RATIO MISMATCH: users are {counts}, expected {wanted} ({tested}, below the limit "
                f"{self.alpha:g}); do not trust any result below until the cause is found"
            )
        if math.isnan(self.p):
            return f"sample ratio: users are {counts}, expected {wanted}: not tested"
        return (
            f"sample ratio: users are {counts}, expected {wanted} ({tested}): no mismatch at the limit {self.alpha:g}"
        )


def sample_ratio(
    users: Mapping[str, int], shares: Mapping[str, float] | None = None, *, alpha: float = 0.001
) -> SampleRatio:
    r"""Test whether the numbers of users agree with the shares of the arms; equal shares by default.

    .. math:: \chi^2 = \sum_a \frac{(n_a - N w_a)^2}{N w_a}

    The test is exact for two arms with at most 10,000 users, and for more arms if few users make that possible. The
    usual α is small, 0.001: a mismatch is an error of the set-up, and every experiment is tested.

    Reference: Fabijan et al., Diagnosing Sample Ratio Mismatch in Online Controlled Experiments, KDD 2019,
    doi:10.1145/3292500.3330722

    >>> sample_ratio({"A": 5_000, "B": 5_100}).mismatch
    False
    >>> sample_ratio({"A": 50_000, "B": 51_000}).p < 0.01
    True
    """
    check_alpha("sample_ratio", alpha)
    arms = tuple(users)
    counts = np.array([users[arm] for arm in arms], dtype=np.int64)
    wanted = normalised_shares(arms, shares)
    total = int(counts.sum())
    if len(arms) < 2 or not total:
        return SampleRatio(arms, counts, wanted * total, math.nan, alpha, "no")
    test, p = _tested(counts, wanted)
    return SampleRatio(arms, counts, wanted * total, p, alpha, test)


def normalised_shares(arms: Sequence[str], shares: Mapping[str, float] | None) -> Array:
    """The share of each arm, which sum to 1; equal without `shares`."""
    if shares is None:
        return np.full(len(arms), 1 / max(1, len(arms)))
    unknown = [arm for arm in shares if arm not in arms]
    lacking = [arm for arm in arms if arm not in shares]
    if unknown or lacking:
        raise UsageError(
            f"shares are for {listed(map(repr, shares))}, but the arms are {listed(map(repr, arms))}; "
            "give a share for each arm"
        )
    for arm, share in shares.items():
        check.finite("shares", **{arm: share})
        check.positive("shares", **{arm: share})
    weights = np.array([float(shares[arm]) for arm in arms])
    return np.asarray(weights / weights.sum())


def _tested(counts: NDArray[np.int64], wanted: Array) -> tuple[str, float]:
    """The name of the test, and p."""
    from scipy import stats
    from scipy.special import chdtrc

    total = int(counts.sum())
    if len(counts) == 2 and total <= EXACT_USERS:
        return "binomial", float(stats.binomtest(int(counts[0]), total, float(wanted[0])).pvalue)
    if len(counts) > 2 and math.comb(total + len(counts) - 1, len(counts) - 1) <= EXACT_OUTCOMES:
        outcomes = _compositions(total, len(counts))
        law = stats.multinomial(total, wanted)
        probability = law.pmf(outcomes)
        observed = float(law.pmf(counts))
        return "multinomial", min(1.0, float(probability[probability <= observed * (1 + 1e-7)].sum()))
    return "chi-squared", float(chdtrc(len(counts) - 1, chi_squared(counts, total * wanted)))


def chi_squared(counts: NDArray[np.int64], expected: Array) -> float:
    """χ² of counts against those expected."""
    return float(((counts - expected) ** 2 / expected).sum())


def _compositions(total: int, parts: int) -> NDArray[np.int64]:
    """All ways to write `total` as an ordered sum of `parts` whole numbers, 0 or more."""
    if parts == 1:
        return np.array([[total]])
    blocks = []
    for first in range(total + 1):
        rest = _compositions(total - first, parts - 1)
        blocks.append(np.column_stack([np.full(len(rest), first), rest]))
    return np.concatenate(blocks)

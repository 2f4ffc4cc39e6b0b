"""How often each system won against each other: counts by user and by query, from which all statistics follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.errors import UsageError
from cranfield.online.interleaving.sign_statistics import always_valid, always_valid_flips, flip_test
from cranfield.types import Array, Index64

CLOSE = 1e-9
"""Credits that differ by less are equal: sums of fractions are not exact."""


@dataclass(frozen=True, eq=False)
class ClusterCounts:
    """Users or queries that have the same numbers of wins, ties and losses of a pair of systems, counted."""

    outcomes: Index64
    """kinds × 3: wins of the first system, ties, losses."""
    number: Index64
    """kinds: how many users or queries have these."""

    @staticmethod
    def of(outcomes: Index64) -> ClusterCounts:
        """From a row for each cluster.

        >>> ClusterCounts.of(np.array([[1, 0, 0], [0, 2, 1], [1, 0, 0]])).number.tolist()
        [1, 2]
        """
        if not len(outcomes):
            return ClusterCounts(np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.int64))
        kinds, number = np.unique(outcomes, axis=0, return_counts=True)
        return ClusterCounts(kinds.astype(np.int64), number.astype(np.int64))

    @property
    def clusters(self) -> int:
        """The number of users or queries."""
        return int(self.number.sum())

    @property
    def totals(self) -> tuple[int, int, int]:
        """Wins, ties and losses."""
        wins, ties, losses = (self.number @ self.outcomes).tolist() if len(self.number) else (0, 0, 0)
        return wins, ties, losses

    @property
    def repeated(self) -> bool:
        """Does any user or query have several impressions?"""
        return bool((self.outcomes.sum(axis=1) > 1).any())

    def votes(self) -> tuple[int, int]:
        """The numbers of users or queries for which the first system won more, and less, often than the second."""
        return int(self.number[self.net > 0].sum()), int(self.number[self.net < 0].sum())

    @property
    def net(self) -> Index64:
        """kinds: wins minus losses."""
        return self.outcomes[:, 0] - self.outcomes[:, 2]

    def flip_p(self) -> float:
        """The p-value of no preference, where each user or query counts as a whole."""
        return flip_test(self.net, self.number)

    def any_time_p(self) -> float:
        """The same, however often one looks: a mixture of likelihoods if no user decided twice, else of sign flips."""
        wins, _, losses = self.totals
        if not len(self.number) or (self.outcomes[:, 0] + self.outcomes[:, 2]).max() <= 1:
            return always_valid(wins, losses)
        return always_valid_flips(wins - losses, float(self.number @ self.net**2))

    def interval(self, level: float) -> tuple[float, float]:
        r"""An interval of Δ over users or queries, by the jackknife; NaN with fewer than two.

        .. math:: \hat\Delta \pm t\, \frac{1}{2N} \sqrt{\sum_u \left(\frac{d_u - 2 \hat\Delta n_u}{1 - n_u/N}\right)^2}

        A user has n impressions, and d more wins than losses. An imaginary win and a loss are added, so that few
        decided impressions, or only wins, do not look certain. t has as many degrees of freedom as there are effective
        users, (Σn)² / Σn², less one: a user with a large share of all impressions is little evidence.
        References: Bell & McCaffrey, Survey Methodology 28(2), 2002; Agresti & Coull, American Statistician 52(2), 1998
        """
        from scipy.special import stdtrit

        if self.clusters < 2:
            return np.nan, np.nan
        net, size = np.append(self.net, [1, -1]), np.append(self.outcomes.sum(axis=1), [1, 1])
        number = np.append(self.number, [1, 1])
        total = int(number @ size)
        mean = float(number @ net) / total
        error = float(np.sqrt(number @ ((net - mean * size) / (1 - size / total)) ** 2)) / total
        freedom = max(total**2 / float(number @ size**2) - 1, 1.0)
        reach = float(stdtrit(freedom, (1 + level) / 2)) * error
        return max((mean - reach) / 2, -0.5), min((mean + reach) / 2, 0.5)

    def design_effect(self) -> float:
        """The variance of Δ by clusters, relative to independent impressions; NaN if that cannot be said.

        The variance of a ratio of sums over clusters, by linearisation (Kish, Survey Sampling, 1965, §6.3).
        """
        wins, ties, losses = self.totals
        n = wins + ties + losses
        if self.clusters < 2 or wins + losses == 0:
            return np.nan
        mean = (wins - losses) / n
        residual = self.net - mean * self.outcomes.sum(axis=1)
        by_cluster = float(self.number @ residual**2)
        alone = wins + losses - n * mean**2
        return by_cluster / alone if alone > 0 else np.nan


@dataclass(frozen=True)
class CreditMoments:
    """Sums over users (or impressions, if users are not known): all that the mean difference in credit needs."""

    clusters: int
    impressions: int
    difference: float
    """The sum of the credit of the first system minus that of the second."""
    squares: float
    """The sum over clusters of squared sums of differences."""
    products: float
    """The sum over clusters of that sum times the number of impressions."""
    sizes: float
    """The sum over clusters of squared numbers of impressions."""

    @staticmethod
    def of(difference: Array, number: NDArray[Any] | None = None) -> CreditMoments:
        """From the difference of each impression, and the number of its user.

        >>> CreditMoments.of(np.array([1.0, 0.0, -0.5]), np.array([0, 0, 1])).squares
        1.25
        """
        if number is None:
            number = np.arange(len(difference))
        sums, sizes = np.bincount(number, weights=difference), np.bincount(number).astype(np.float64)
        return CreditMoments(
            int((sizes > 0).sum()), len(difference), float(sums.sum()), float((sums**2).sum()),
            float((sums * sizes).sum()), float((sizes**2).sum()),
        )  # fmt: skip

    @property
    def mean(self) -> float:
        """The mean difference of an impression; NaN without any."""
        return self.difference / self.impressions if self.impressions else np.nan

    @property
    def error(self) -> float:
        """Its standard error: that of a ratio of sums over clusters (Kish, Survey Sampling, 1965, §6.3)."""
        if self.clusters < 2:
            return np.nan
        squares = self.squares - 2 * self.mean * self.products + self.mean**2 * self.sizes
        return float(np.sqrt(max(squares, 0.0) * self.clusters / (self.clusters - 1)) / self.impressions)

    def interval(self, level: float) -> tuple[float, float]:
        """An interval of the mean difference, by the t distribution."""
        from scipy.special import stdtrit

        reach = float(stdtrit(self.clusters - 1, (1 + level) / 2)) * self.error
        return self.mean - reach, self.mean + reach

    def needed(self, alpha: float, power: float) -> float:
        """The impressions after which a two-sided z test finds this mean difference; infinite for none."""
        from scipy.special import ndtri

        if not self.mean or not self.error >= 0:
            return np.inf
        reach = float(ndtri(1 - alpha / 2) + ndtri(power))
        return float(self.impressions * (max(reach, 0.0) * self.error / self.mean) ** 2)

    @property
    def p(self) -> float:
        """The two-sided p-value of no difference, by the t distribution; 1 if all impressions are ties."""
        from scipy.special import stdtr

        if self.error > 0:
            return float(2 * stdtr(self.clusters - 1, -abs(self.mean) / self.error))
        return 1.0 if self.mean == 0 or np.isnan(self.error) else 0.0


@dataclass(frozen=True, eq=False)
class PreferenceCounts:
    """Wins, ties and losses of every pair of systems, by user and by query."""

    systems: tuple[str, ...]
    by_user: tuple[ClusterCounts, ...]
    """For each pair of systems, in the order of `pairs`; empty without users."""
    by_query: tuple[ClusterCounts, ...]
    """For each pair; empty without queries."""
    totals: Index64
    """pairs × 3: wins of the first system, ties, losses."""
    credit: tuple[CreditMoments, ...] = ()
    """For each pair, the difference in credit; empty if only wins are known."""
    notes: tuple[str, ...] = ()

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The numbers of the first and the second system of each pair."""
        return list(combinations(range(len(self.systems)), 2))


def outcomes_of(credit: Array) -> NDArray[np.int8]:
    """lists × pairs: 1 if the first system has more credit, -1 if less, 0 if they are equal.

    >>> outcomes_of(np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 1.0]])).tolist()
    [[1, 1, 0], [0, -1, -1]]
    """
    first, second = np.triu_indices(credit.shape[1], 1)
    difference = credit[:, first] - credit[:, second]
    return np.where(np.abs(difference) <= CLOSE, 0, np.sign(difference)).astype(np.int8)


def count_preferences(
    systems: Sequence[str],
    credit: Array,
    users: Sequence[str] | None = None,
    queries: Sequence[str] | None = None,
    notes: Sequence[str] = (),
) -> PreferenceCounts:
    """Count who won each impression: the system with more credit.

    credit: impressions × systems. users, queries: of each impression, if they are known.

    >>> counts = count_preferences(["a", "b"], np.array([[1, 0], [0, 0], [0, 2]]), users=["u", "u", "v"])
    >>> counts.totals.tolist(), counts.by_user[0].outcomes.tolist()
    ([[1, 1, 1]], [[0, 0, 1], [1, 1, 0]])
    """
    credit = np.asarray(credit, dtype=np.float64)
    if credit.ndim != 2 or credit.shape[1] != len(systems) or len(systems) < 2:
        raise check.wrong("count_preferences", "credit", credit.shape, "impressions × systems, of two or more systems")
    if not np.isfinite(credit).all():
        raise UsageError("count_preferences: a credit that is not a number")
    outcomes = outcomes_of(credit)
    totals = np.stack([(outcomes == sign).sum(axis=0) for sign in (1, 0, -1)], axis=1)
    user, query = (_numbered(names, len(outcomes)) for names in (users, queries))
    moments = [CreditMoments.of(credit[:, i] - credit[:, j], user) for i, j in combinations(range(len(systems)), 2)]
    return PreferenceCounts(
        tuple(systems), _by_cluster(outcomes, user), _by_cluster(outcomes, query), totals.astype(np.int64),
        tuple(moments), tuple(notes),
    )  # fmt: skip


def _numbered(names: Sequence[str] | None, impressions: int) -> NDArray[Any] | None:
    """The number of the user or query of each impression."""
    if names is None:
        return None
    if len(names) != impressions:
        raise UsageError(f"{len(names)} users or queries for {impressions} impressions; there must be one for each")
    return np.unique(np.asarray(names, dtype=object).astype(str), return_inverse=True)[1]


def _by_cluster(outcomes: NDArray[np.int8], number: NDArray[Any] | None) -> tuple[ClusterCounts, ...]:
    if number is None:
        return ()
    size = int(number.max(initial=-1)) + 1
    sums = [
        np.stack([np.bincount(number[column == sign], minlength=size) for sign in (1, 0, -1)], axis=1)
        for column in outcomes.T
    ]
    return tuple(ClusterCounts.of(table) for table in sums)

"""Statistics of wins and losses: Δ, exact tests over impressions and users, always-valid tests, impressions needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.test_result import check_alpha
from cranfield.declared.operation import Alpha, about, operation
from cranfield.errors import UsageError
from cranfield.notes import method_note
from cranfield.record import Record, table_of
from cranfield.table import Table
from cranfield.types import Array, Index64

FIRST_GUESS = 50.0
"""The prior of the always-valid test is Beta(a, a) with this a. Its standard deviation is 0.05, so the test is most
sensitive to systems that win about 0.45 or 0.55 of the decided impressions; its level holds whatever the truth is."""
MOST_WORK = 1_000_000
"""Above this product of distinct net wins and their sum, the sign-flip test uses the normal distribution."""


def preference(wins: Any, losses: Any, ties: Any) -> Array:
    r"""Chapelle et al.'s Δ: the share of impressions that a system wins, where a tie is half a win, minus one half.

    .. math:: \Delta_{AB} = \frac{\text{wins}(A) + \frac{1}{2} \text{ties}(A, B)}
        {\text{wins}(A) + \text{wins}(B) + \text{ties}(A, B)} - \frac{1}{2}

    NaN without impressions.
    Reference: Chapelle, Joachims, Radlinski & Yue, TOIS 30(1), 2012, doi:10.1145/2094072.2094078

    >>> float(preference(30, 20, 50))
    0.05
    """
    wins, losses, ties = (np.asarray(values, dtype=np.float64) for values in (wins, losses, ties))
    total = wins + losses + ties
    return np.asarray(np.divide(wins - losses, 2 * total, out=np.full(np.shape(total), np.nan), where=total > 0))


def sign_test(wins: int, losses: int) -> float:
    """The exact two-sided sign test: how likely are wins at least as uneven if both systems are equally good?

    Ties are left out (Conover, Practical Nonparametric Statistics, 1999, §3.4). Without wins and losses: 1.

    >>> round(sign_test(8, 2), 4)  # 2 (1 + 10 + 45) / 2^10
    0.1094
    """
    from scipy.stats import binom

    n = int(wins) + int(losses)
    return min(1.0, 2 * float(binom.cdf(min(wins, losses), n, 0.5))) if n else 1.0


def flip_test(net: Index64, users: Index64) -> float:
    r"""The two-sided sign-flip test of users: how likely is a sum of net wins as far from 0 if each may turn around?

    .. math:: p = P\left(\Big|\sum_u \varepsilon_u d_u\Big| \ge \Big|\sum_u d_u\Big|\right), \quad
        \varepsilon_u = \pm 1 \text{ by a fair coin}

    net: different numbers of wins minus losses. users: how many users have each. A user counts as a whole, however
    alike their impressions are. The p-value is exact if users prefer either system alike, for any number of users; with
    one impression for each user it is that of the sign test. For large sums it is that of the normal distribution.
    Reference: Fisher, The Design of Experiments, 1935, §21

    >>> round(flip_test(np.array([3, 1, -1]), np.array([2, 2, 1])), 6)  # 3 + 3 + 1 + 1 - 1 or more: 2 (1 + 3) / 2^5
    0.25
    """
    from scipy.special import ndtr
    from scipy.stats import binom

    size, place = np.unique(np.abs(net), return_inverse=True)
    number = np.bincount(place.ravel(), weights=users, minlength=len(size)).astype(np.int64)
    size, number = size[(size > 0) & (number > 0)], number[(size > 0) & (number > 0)]
    total, reach = abs(int(net @ users)), int(size @ number)
    if total == 0:
        return 1.0
    # With each user turned around or not, the sum is reach - 2 · (the sum of those that are negative).
    below = (reach - total) // 2
    if len(size) == 1:
        tail = float(binom.cdf(below // int(size[0]), int(number[0]), 0.5))
    elif reach * len(size) <= MOST_WORK:
        angle = 2 * np.pi / (reach + 1) * np.arange((reach + 1) // 2 + 1)
        characteristic = np.ones(len(angle), dtype=np.complex128)
        for each, users_of in zip(size.tolist(), number.tolist(), strict=True):
            characteristic *= ((1 + np.exp(-1j * each * angle)) / 2) ** users_of
        tail = float(np.fft.irfft(characteristic, reach + 1)[: below + 1].sum())
    else:
        tail = float(ndtr(-total / math.sqrt(float(size**2 @ number))))
    return min(1.0, 2 * max(tail, 0.5 ** int(number.sum())))


def always_valid_flips(total: float, squares: float) -> float:
    r"""A p-value of net wins of users that holds however often one looks, also if users come back and click alike.

    .. math:: p = \min\left(1, \sqrt{1 + \frac{Q}{2a}}\; e^{-S^2 / (2 (2a + Q))}\right), \quad
        S = \sum_u d_u,\; Q = \sum_u d_u^2,\; a = 50

    It is the inverse of a normal mixture of :math:`e^{\lambda S - \lambda^2 Q / 2}`, whose mean is at most 1 if net
    wins are as often positive as negative. Users who come at different times make it a supermartingale. If they come
    back, their impressions are alike, so that S at two times is correlated more than that of independent impressions
    would be, and crosses the boundary less often (Slepian's inequality; for sums of many users).
    References: Robbins, Annals of Mathematical Statistics 41(5), 1970; de la Peña, Klass & Lai, Annals of Probability
    32(3), 2004

    >>> round(always_valid_flips(60, 100), 6)
    0.000175
    """
    prior = 2 * FIRST_GUESS
    log_ratio = total**2 / (2 * (prior + squares)) - math.log1p(squares / prior) / 2
    return min(1.0, math.exp(-max(0.0, log_ratio)))


def always_valid(wins: int, losses: int) -> float:
    r"""A p-value of wins and losses that holds however often one looks at the results, and whenever one stops.

    .. math:: p = \min\left(1, \frac{B(a, a)\, 2^{-(W + L)}}{B(a + W, a + L)}\right), \quad a = 50

    It is the inverse of a mixture likelihood ratio: under equal systems, the ratio exceeds 1/α at any time with a
    probability of at most α (Ville's inequality).
    References: Robbins, Annals of Mathematical Statistics 41(5), 1970; Johari et al., Operations Research 70(3), 2022

    >>> round(always_valid(8, 2), 4), round(always_valid(80, 20), 8)
    (0.8893, 0.00014488)
    """
    log_ratio = _log_beta(FIRST_GUESS + wins, FIRST_GUESS + losses) - _log_beta(FIRST_GUESS, FIRST_GUESS)
    return min(1.0, math.exp(min(0.0, -log_ratio - (wins + losses) * math.log(2))))


def impressions_needed(wins: float, losses: float, alpha: float = 0.05, power: float = 0.8) -> float:
    r"""The impressions after which a two-sided sign test finds the difference with this power; infinite for none.

    .. math:: n = \left(\frac{z_{1 - \alpha/2} \sqrt{w + l} + z_{\text{power}} \sqrt{w + l - (w - l)^2}}{w - l}\right)^2

    `wins` and `losses` are shares of all impressions; the rest are ties.
    Reference: Connor, Biometrics 43(1), 1987, of McNemar's test, which is the sign test of pairs

    >>> round(impressions_needed(0.30, 0.20))
    390
    """
    from scipy.special import ndtri

    check_shares(wins, losses)
    for name, value in (("alpha", alpha), ("power", power)):
        check_alpha("impressions_needed", value, name)
    difference, decided = wins - losses, wins + losses
    if difference == 0:
        return math.inf
    root = ndtri(1 - alpha / 2) * math.sqrt(decided) + ndtri(power) * math.sqrt(max(decided - difference**2, 0.0))
    return float((max(root, 0.0) / difference) ** 2)


def power_at(wins: float, losses: float, impressions: Any, alpha: float = 0.05) -> Array:
    """The probability that a two-sided sign test of a number of impressions finds the difference, and its direction.

    It is the formula of `impressions_needed`, solved for the power.

    >>> float(power_at(0.30, 0.20, 390).round(3))
    0.8
    """
    from scipy.special import ndtr, ndtri

    check_shares(wins, losses)
    difference, decided = abs(wins - losses), wins + losses
    spread = math.sqrt(decided - difference**2)
    n = np.asarray(impressions, dtype=np.float64)
    if decided == 0:
        return np.zeros_like(n)
    reach = difference * np.sqrt(n) - ndtri(1 - alpha / 2) * math.sqrt(decided)
    return np.asarray(ndtr(reach / spread) if spread > 0 else (reach > 0).astype(np.float64))


def check_shares(wins: float, losses: float) -> None:
    """Raise an error unless wins and losses are shares of all impressions."""
    check.between("", low=0, high=1, wins=wins, losses=losses)
    if wins + losses > 1 + 1e-12:
        raise check.wrong("", "wins + losses", wins + losses, "at most 1; the rest are ties")


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@dataclass(frozen=True, eq=False, repr=False)
class InterleavingPower(Record):
    """For each Δ: the impressions that are needed, and the power at a number of impressions."""

    figure = "interleaving_power_figure"
    facts = ("ties", "alpha", "power", "design_effect", "impressions")

    delta: Array
    needed: Array
    reached: Array
    """The power at `impressions`; NaN if that was not asked for."""
    ties: float
    alpha: float
    power: float
    design_effect: float
    impressions: int | None

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed."""
        effect = "" if self.design_effect == 1 else f", design effect {self.design_effect:g}"
        return (
            method_note(
                f"two-sided sign test at α = {self.alpha:g}, power {self.power:g}, {100 * self.ties:g}% of "
                "impressions are "
                f"ties{effect} (Connor 1987)"
            ),
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """delta, wins and losses (shares of all impressions), needed, and power if a number of impressions is given."""
        decided = 1 - self.ties
        columns = {
            "delta": self.delta, "wins": decided / 2 + self.delta, "losses": decided / 2 - self.delta,
            "needed": np.ceil(self.needed),
        }  # fmt: skip
        return columns if self.impressions is None else {**columns, "power": self.reached}

    def table(self) -> Table:
        """A row per Δ."""
        columns = {
            {"delta": "Δ", "needed": "impressions"}.get(name, name): column for name, column in self.columns().items()
        }
        columns["impressions"] = columns["impressions"].astype(np.int64)
        if self.impressions is not None:
            columns[f"power at {self.impressions:,}"] = columns.pop("power")
        return table_of(columns, notes=self.notes)

    def curve(self, points: int = 60) -> dict[str, NDArray[Any]]:
        """delta, impressions, power: how power grows."""
        sizes = np.unique(np.geomspace(10, max(float(self.needed.max()) * 1.5, 20), points).round())
        shares = [((1 - self.ties) / 2 + delta, (1 - self.ties) / 2 - delta) for delta in self.delta.tolist()]
        curves = [power_at(wins, losses, sizes / self.design_effect, self.alpha) for wins, losses in shares]
        return {
            "delta": np.repeat(self.delta, len(sizes)),
            "impressions": np.tile(sizes, len(shares)),
            "power": np.concatenate(curves),
        }


POWER: dict[str, Any] = {"above": 0, "below": 1, "spelled": "--power P"}
POWER_COUNTED = "The power for which impressions are counted."


@operation
def interleaving_power(
    delta: float | Sequence[float] = (0.01, 0.02, 0.05, 0.1),
    *,
    ties: Annotated[
        float, about("The share of impressions without a winner, most of all those without clicks.", least=0, below=1)
    ] = 0.0,
    alpha: Alpha = 0.05,
    power: Annotated[float, about(POWER_COUNTED, **POWER)] = 0.8,
    design_effect: Annotated[float, about("Impressions needed, relative to independent ones.", above=0)] = 1.0,
    impressions: Annotated[int | None, about("Also compute the power at this number of impressions.", least=1)] = None,
) -> InterleavingPower:
    """The impressions after which a sign test finds a difference Δ with this power.

    delta: Chapelle et al.'s Δ, one or several.
    design_effect: how much larger the variance is than for independent impressions, as `analyse_interleaving` reports
        it; the impressions grow by this factor.

    >>> interleaving_power([0.05], ties=0.5).needed.round(1).tolist()
    [390.1]
    """
    values = np.atleast_1d(np.asarray(delta, dtype=np.float64))
    for value in values.tolist():
        if not 0 < abs(value) <= (1 - ties) / 2:
            raise UsageError(
                f"interleaving_power: delta == {value:g}, must be above 0 and at most {(1 - ties) / 2:g}, half of the "
                "impressions that are not ties"
            )
    values = np.abs(values)
    shares = [((1 - ties) / 2 + value, (1 - ties) / 2 - value) for value in values.tolist()]
    needed = np.array([impressions_needed(wins, losses, alpha, power) for wins, losses in shares]) * design_effect
    reached = np.full(len(values), np.nan)
    if impressions is not None:
        size = impressions / design_effect
        reached = np.array([float(power_at(wins, losses, size, alpha)) for wins, losses in shares])
    return InterleavingPower(values, needed, reached, ties, alpha, power, design_effect, impressions)

"""Several looks at an experiment: group-sequential boundaries, and inference that is valid at any time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.test_result import check_alpha
from cranfield.errors import UsageError
from cranfield.record import Record
from cranfield.types import Array

NODES = 201
"""Points of Gauss and Legendre's rule; the probabilities are exact to about ten digits."""
WIDEST = 8.0
"""Values of z beyond this are not integrated over: their probability is below 1e-14."""
LEAST = 1e-13
"""The smallest p-value of a sequential test."""


@dataclass(frozen=True, eq=False, repr=False)
class Boundaries(Record):
    """The values of |z| that stop an experiment, for each planned look."""

    facts = ("design", "alpha")

    design: str
    alpha: float
    fraction: Array
    """The share of the planned users at each look; the last is 1, or less before the end."""
    z: Array
    """The critical value of |z| at each look; infinite if nothing may be spent."""
    spent: Array
    """The probability, under no effect, that a boundary is crossed at this look or before."""

    def columns(self) -> dict[str, NDArray[Any]]:
        """look, fraction, z, nominal p, spent."""
        from scipy.special import ndtr

        return {
            "look": np.arange(1, len(self.z) + 1),
            "fraction": self.fraction,
            "z": self.z,
            "nominal p": 2 * ndtr(-self.z),
            "spent": self.spent,
        }


def obrien_fleming_spending(t: float, alpha: float) -> float:
    """The error spent at fraction t by the O'Brien–Fleming-type function of Lan and DeMets, on both sides together."""
    from scipy.special import ndtr, ndtri

    return float(4 * ndtr(ndtri(alpha / 4) / math.sqrt(t)))


def pocock_spending(t: float, alpha: float) -> float:
    """The error spent at fraction t by the Pocock-type function of Lan and DeMets."""
    return alpha * math.log1p((math.e - 1) * t)


SPENDING: dict[str, Callable[[float, float], float]] = {
    "lan-demets-of": obrien_fleming_spending,
    "lan-demets-pocock": pocock_spending,
}
DESIGNS = ("obrien-fleming", "pocock", *SPENDING)
"""The designs: classical boundaries for looks that are known in advance, and error spending for any looks."""


def boundaries(fractions: Sequence[float] | int, design: str = "lan-demets-of", *, alpha: float = 0.05) -> Boundaries:
    r"""Two-sided boundaries for looks at some fractions of the planned users; a number means equally spaced looks.

    .. math:: P_0\Big(\bigcup_k \{|Z_k| \ge c_k\}\Big) = \alpha, \qquad
        c_k = C / \sqrt{t_k} \text{ (O'Brien–Fleming)}, \quad c_k = C \text{ (Pocock)}

    With error spending (Lan & DeMets) the first k boundaries satisfy this with α(t_k), and need only the looks so far,
    which may come at any time: `lan-demets-of` spends :math:`4 \Phi(z_{\alpha/4} / \sqrt t)`, `lan-demets-pocock`
    :math:`\alpha \ln(1 + (e - 1) t)`. The probabilities come from recursive integration (Armitage, McPherson & Rowe).

    References: O'Brien & Fleming, Biometrics 35(3), 1979; Pocock, Biometrika 64(2), 1977; Lan & DeMets, Biometrika
    70(3), 1983; Jennison & Turnbull, Group Sequential Methods, 2000, chapters 2, 7 and 19

    >>> boundaries(5, "obrien-fleming").z.round(3).tolist()
    [4.562, 3.226, 2.634, 2.281, 2.04]
    >>> boundaries([0.2, 0.5, 1.0], "pocock").z.round(3).tolist()
    [2.323, 2.323, 2.323]
    """
    check.one_of("boundaries", DESIGNS, design=design)
    check_alpha("boundaries", alpha)
    t = look_fractions(fractions)
    return _boundaries(t, design, alpha)


def look_fractions(fractions: Sequence[float] | int) -> Array:
    """The fractions of looks; a number of looks means equal steps."""
    if isinstance(fractions, int):
        check.whole("boundaries", looks=fractions)
        return np.arange(1, fractions + 1) / fractions
    t = np.asarray(fractions, dtype=np.float64)
    if t.ndim != 1 or not len(t) or not np.all((t > 0) & (t <= 1)) or np.any(np.diff(t) <= 0):
        raise UsageError(f"boundaries: fractions == {t.tolist()}, must be above 0, at most 1, and rise")
    return t


def repeated_p(z: float, fractions: Sequence[float] | int, design: str, look: int) -> float:
    """The smallest α whose boundary at this look |z| reaches: a p-value that is valid at every look.

    `look` is 1-based. The boundaries are those of `boundaries`; p is 1 if no α below 1 is enough.

    Reference: Jennison & Turnbull, Group Sequential Methods, 2000, §9.3

    >>> c = boundaries(3, "pocock", alpha=0.05).z[1]
    >>> round(repeated_p(c, 3, "pocock", 2), 6)
    0.05
    """
    from scipy.optimize import brentq

    t = look_fractions(fractions)
    if not 1 <= look <= len(t):
        raise check.wrong("repeated_p", "look", look, f"between 1 and {len(t)}")
    if math.isnan(z):
        return math.nan
    used = t[:look] if design in SPENDING else t
    size = abs(z)

    def excess(log_alpha: float) -> float:
        return float(_boundaries(used, design, math.exp(log_alpha)).z[look - 1]) - min(size, WIDEST)

    low, high = math.log(LEAST), math.log(0.9999)
    if excess(high) >= 0:
        return 1.0
    if excess(low) <= 0:
        return math.exp(low)
    return math.exp(brentq(excess, low, high, xtol=1e-9))


def crossing(z: Array, fractions: Array) -> Array:
    """The probability, under no effect, that |Z| reaches its boundary for the first time at each look."""
    walk = _Walk()
    return np.array([walk.step(float(c), float(t)) for c, t in zip(z, fractions, strict=True)])


def _boundaries(t: Array, design: str, alpha: float) -> Boundaries:
    from scipy.optimize import brentq

    if design in SPENDING:
        z = _spent(t, [SPENDING[design](float(fraction), alpha) for fraction in t])
    else:
        shape = 1 / np.sqrt(t / t[-1]) if design == "obrien-fleming" else np.ones(len(t))

        def excess(c: float) -> float:
            return float(crossing(c * shape, t).sum()) - alpha

        z = shape * brentq(excess, 1e-6, WIDEST, xtol=1e-10)
    return Boundaries(design, alpha, t, z, np.cumsum(crossing(z, t)))


def _spent(t: Array, spending: Sequence[float]) -> Array:
    """Boundaries at which so much error is spent up to each look."""
    from scipy.optimize import brentq

    walk, z, before = _Walk(), [], 0.0
    for fraction, total in zip(t.tolist(), spending, strict=True):
        budget = total - before

        def excess(c: float, fraction: float = fraction, budget: float = budget) -> float:
            return walk.probability(c, fraction) - budget

        c = math.inf if excess(WIDEST) >= 0 else float(brentq(excess, 1e-6, WIDEST, xtol=1e-11))
        before += walk.step(c, fraction)
        z.append(c)
    return np.array(z)


leggauss = cache(np.polynomial.legendre.leggauss)


class _Walk:
    """Brownian motion that has not crossed a boundary so far: its density at the nodes of a quadrature rule."""

    def __init__(self) -> None:
        self.time = 0.0
        self.nodes = np.zeros(1)
        self.mass = np.ones(1)

    def probability(self, c: float, t: float) -> float:
        """The probability to cross |Z| = c at time t, and not before."""
        from scipy.special import ndtr

        step = math.sqrt(t - self.time)
        edge = min(c, 40.0) * math.sqrt(t)
        beyond = ndtr((-edge - self.nodes) / step) + ndtr((self.nodes - edge) / step)
        return float(self.mass @ beyond)

    def step(self, c: float, t: float) -> float:
        """Go on to time t, and stop what crosses c there; return its probability."""
        crossed = self.probability(c, t)
        points, weights = leggauss(NODES)
        edge = min(c, WIDEST) * math.sqrt(t)
        nodes, step = edge * points, math.sqrt(t - self.time)
        density = np.exp(-0.5 * ((nodes[:, None] - self.nodes) / step) ** 2) / (step * math.sqrt(2 * math.pi))
        self.mass = edge * weights * (density @ self.mass)
        self.nodes, self.time = nodes, t
        return crossed


TUNED_FOR = 10_000
"""The number of users, all arms together, at which intervals are narrowest by default."""


def mixing_variance(variance: float, users: int, *, tuned_for: float = TUNED_FOR, alpha: float = 0.05) -> float:
    r"""The variance τ² of the mixture that makes the interval narrowest with `tuned_for` users.

    .. math:: \tau^2 = V \frac{n}{n^*} \left(-W_{-1}(-\alpha^2 / e) - 1\right)

    `variance` is the squared standard error V of the difference with `users` users, so V n / n* is what it is with n*
    users. n* must be chosen before the experiment: any value is valid, and another only makes intervals wider.

    Reference: Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas, Time-uniform Central Limit Theory and Asymptotic
    Confidence Sequences, Annals of Statistics 52(6), 2024 (§B.2)

    >>> round(mixing_variance(0.01, 10_000), 4)
    0.0821
    """
    from scipy.special import lambertw

    check_alpha("mixing_variance", alpha)
    check.positive("mixing_variance", tuned_for=tuned_for)
    ratio = -lambertw(-(alpha**2) / math.e, -1).real - 1
    return float(variance * users / tuned_for * ratio)


def always_valid_p(difference: float, variance: float, mixing: float) -> float:
    r"""The p-value of the mixture sequential probability ratio test against no difference.

    .. math:: \Lambda = \sqrt{\frac{V}{V + \tau^2}} \exp\left(\frac{\tau^2\, \Delta^2}{2 V (V + \tau^2)}\right),
        \qquad p = \min(1, 1 / \Lambda)

    Under no difference, the probability that p ever falls below α is at most α, as the number of users grows without
    end. This is p at one look; the smallest p of all looks so far is also valid.

    Reference: Johari, Koomen, Pekelis & Walsh, Peeking at A/B Tests, KDD 2017, doi:10.1145/3097983.3097992

    >>> round(always_valid_p(0.3, 0.01, 0.08), 4)
    0.0549
    """
    if math.isnan(variance) or math.isnan(difference):
        return math.nan
    if variance <= 0:
        return 1.0 if difference == 0 else 0.0
    total = variance + mixing
    log_ratio = 0.5 * math.log(variance / total) + mixing * difference**2 / (2 * variance * total)
    return math.exp(min(0.0, -log_ratio))


def always_valid_half_width(variance: float, mixing: float, alpha: float = 0.05) -> float:
    r"""Half the width of the interval of which all, at all numbers of users, hold together with probability 1 − α.

    .. math:: \sqrt{\frac{V (V + \tau^2)}{\tau^2} \left(2 \ln \frac{1}{\alpha} + \ln \frac{V + \tau^2}{V}\right)}

    The interval excludes 0 exactly if `always_valid_p` is below α.

    >>> round(always_valid_half_width(0.01, 0.08), 4)
    0.3035
    """
    if math.isnan(variance):
        return math.nan
    if variance <= 0:
        return 0.0
    total = variance + mixing
    return math.sqrt(variance * total / mixing * (2 * math.log(1 / alpha) + math.log(total / variance)))

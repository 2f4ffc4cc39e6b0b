"""Always-valid inference: intervals and p-values that hold however often one looks, and whenever one stops."""

from __future__ import annotations

import math

from cranfield import check
from cranfield.comparison.test_result import check_alpha

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

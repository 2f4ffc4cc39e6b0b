"""Corrections for many tests at once: adjusted p-values that can be compared with α.

With c independent tests of true null hypotheses, each at α, some test is significant with probability 1 − (1 − α)^c
(Ferro & Maistro 2024 §4.2.4). NaN stands for a test that was not done: it stays NaN and does not count.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from cranfield import check
from cranfield.comparison.data import numbers
from cranfield.comparison.test_result import check_alpha
from cranfield.declared.operation import about
from cranfield.declared.registry import Registry
from cranfield.errors import UsageError
from cranfield.types import Array

CorrectionName = Annotated[
    str | None,
    about(
        "Correction of p-values: {names}; default: that of the test, mostly holm.",
        names="comparison.corrections:CORRECTIONS",
    ),
]


@dataclass(frozen=True)
class Correction:
    """A way to adjust p-values for their number."""

    name: str
    aliases: tuple[str, ...]
    of_sorted: Callable[[Array], Array]
    """From p-values in ascending order to adjusted p-values, which may exceed 1."""
    controls: str
    """What is kept below α: the family-wise error, the false discovery rate, or nothing."""
    assumes: str
    source: str


def bonferroni(p: Any) -> Array:
    """Bonferroni's correction, c·p.

    Reference: Dunn, Multiple Comparisons Among Means, JASA 56(293), 1961

    >>> bonferroni([0.01, 0.04, 0.5]).round(4).tolist()
    [0.03, 0.12, 1.0]
    """
    return adjust(p, "bonferroni")


def holm(p: Any) -> Array:
    r"""Holm's correction: Bonferroni's step by step from the smallest p. It is never larger, and controls as much.

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min(1, (c - j + 1)\, p_{(j)})

    Reference: Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian J. of Statistics 6(2), 1979

    >>> holm([0.01, 0.04, 0.5]).round(4).tolist()
    [0.03, 0.08, 0.5]
    """
    return adjust(p, "holm")


def benjamini_hochberg(p: Any) -> Array:
    r"""Benjamini and Hochberg's correction: it keeps the false discovery rate, the share of false alarms, below α.

    .. math:: \tilde p_{(i)} = \min_{j \ge i} \min(1, p_{(j)}\, c / j)

    Reference: Benjamini & Hochberg, Controlling the False Discovery Rate, J. Royal Statistical Society B 57(1), 1995

    >>> benjamini_hochberg([0.01, 0.04, 0.5]).round(4).tolist()
    [0.03, 0.06, 0.5]
    """
    return adjust(p, "benjamini-hochberg")


def adjust(p: Any, method: str = "holm") -> Array:
    """Adjusted p-values in the shape of `p`; `method` is the name of a correction.

    >>> adjust([0.01, float("nan"), 0.04], "bonferroni").tolist()
    [0.02, nan, 0.08]
    """
    values = numbers(p, "p must hold numbers, one per test")
    outside = (values < 0) | (values > 1)
    if outside.any():
        raise UsageError(f"p == {values[outside].flat[0]:g}, must be between 0 and 1")
    correction = CORRECTIONS.find(method)
    flat = values.ravel()
    defined = np.flatnonzero(~np.isnan(flat))
    order = defined[np.argsort(flat[defined], kind="stable")]
    adjusted = np.full(flat.shape, np.nan)
    adjusted[order] = np.minimum(correction.of_sorted(flat[order]), 1.0)
    return adjusted.reshape(values.shape)


def family_wise_error(alpha: float, comparisons: int) -> float:
    """The probability of at least one false alarm in c independent tests at α: 1 − (1 − α)^c.

    Reference: Hochberg & Tamhane, Multiple Comparison Procedures, 1987, pp. 7-8 (Ferro & Maistro 2024 §4.2.4)

    >>> round(family_wise_error(0.05, 10), 4)
    0.4013
    """
    check_alpha("family_wise_error", alpha)
    check.finite("family_wise_error", comparisons=comparisons)
    check.not_negative("family_wise_error", comparisons=comparisons)
    return float(-np.expm1(comparisons * np.log1p(-alpha)))


def interval_alpha(method: str, alpha: float, comparisons: int) -> float | None:
    """1 − the level at which each interval must be taken, so that all together have level 1 − α.

    Bonferroni's α/c, or Šidák's 1 − (1 − α)^(1/c) for corrections after Šidák. Corrections that go step by step, such
    as Holm's, find more differences than these intervals show; they have no intervals of their own. None for
    corrections of the false discovery rate, which say nothing about all comparisons together.

    >>> round(interval_alpha("holm", 0.05, 10), 6), round(interval_alpha("sidak", 0.05, 10), 6)
    (0.005, 0.005116)
    >>> interval_alpha("bh", 0.05, 10)
    """
    correction = CORRECTIONS.find(method)
    if comparisons < 2 or correction.name == "none":
        return alpha
    if correction.controls != _ANY:
        return None
    return float(-np.expm1(np.log1p(-alpha) / comparisons)) if "sidak" in correction.name else alpha / comparisons


def out_of_reach(resamples: int, comparisons: int, correction: str, alpha: float) -> Iterator[str]:
    """A caution if no p from this number of resamples can be below α after the correction.

    >>> next(out_of_reach(1_000, 100, "holm", 0.05)).partition(", and")[0].partition(":")[2]
    ' with 1,000 resamples no p is below 0.001'
    >>> list(out_of_reach(1_000, 100, "bh", 0.05))
    []
    """
    least = 1 / (1 + resamples)
    if adjust(np.full(comparisons, least), correction).min() > alpha:
        yield (
            f"caution: with {resamples:,} resamples no p is below {least:.2g}, and after the correction for "
            f"{comparisons:,} comparisons none is below α; use more resamples, or a test of all pairs together"
        )


# -- the corrections of p-values in ascending order


def _countdown(p: Array) -> Array:
    """c, c − 1, ..., 1: the number of hypotheses left at each step."""
    return np.arange(len(p), 0, -1, dtype=np.float64)


def _up(steps: Array) -> Array:
    """Each value is at least the one before."""
    return np.asarray(np.maximum.accumulate(steps))


def _down(steps: Array) -> Array:
    """Each value is at most the one after."""
    return np.asarray(np.minimum.accumulate(steps[::-1])[::-1])


def _sidak(p: Array, tests: Array | float) -> Array:
    with np.errstate(divide="ignore"):  # p = 1: log 0
        return np.asarray(-np.expm1(tests * np.log1p(-p)))


def _false_discovery(p: Array) -> Array:
    return _down(p * len(p) / np.arange(1, len(p) + 1))


def _hommel(p: Array) -> Array:
    r"""Hommel's correction: :math:`\tilde p_i = \max_m \min(S_m, m\, p_i)`, with Simes' p-value :math:`S_m` of the m
    largest p-values.

    With all larger m, S only falls, so that m·p is the smaller one up to some m, which is found by bisection.
    """
    c = len(p)
    if not c:
        return p
    sizes = np.arange(1, c + 1)
    simes = np.maximum.accumulate((sizes * _least_slopes(p))[::-1])[::-1]
    below = np.searchsorted(-simes / sizes, -p, side="right")  # the number of m with m·p ≤ S_m
    return np.asarray(np.maximum(below * p, np.append(simes, 0.0)[below]))


def _least_slopes(p: Array) -> Array:
    """For m = 1, ..., c: the least of p / k over the m largest p-values, of which the k-th has the factor 1 / k.

    It is the least slope from the point before them on the axis to their points. Going to larger m, it is never again
    that of a point further right, and only points of the lower convex hull can have it.
    """
    points: deque[tuple[int, float]] = deque()
    slopes = []
    for j in range(len(p) - 1, -1, -1):
        new = (j + 1, float(p[j]))
        while len(points) > 1 and _slope(new, points[0]) >= _slope(points[0], points[1]):
            points.popleft()
        points.appendleft(new)
        start = (j, 0.0)
        while len(points) > 1 and _slope(start, points[-2]) <= _slope(start, points[-1]):
            points.pop()
        slopes.append(_slope(start, points[-1]))
    return np.array(slopes)


def _slope(a: tuple[int, float], b: tuple[int, float]) -> float:
    return (b[1] - a[1]) / (b[0] - a[0])


_ANY = "family-wise error"
_SHARE = "false discovery rate"

CORRECTIONS: Registry[Correction] = Registry(
    "correction",
    (
        Correction("none", ("no",), lambda p: p, "nothing", "", ""),
        Correction("bonferroni", ("dunn",), lambda p: p * len(p), _ANY, "nothing", "Dunn, JASA 1961"),
        Correction(
            "holm", ("holm-bonferroni",), lambda p: _up(_countdown(p) * p), _ANY, "nothing",
            "Holm, Scandinavian J. of Statistics 1979",
        ),
        Correction("sidak", (), lambda p: _sidak(p, len(p)), _ANY, "independent tests", "Šidák, JASA 1967"),
        Correction(
            "holm-sidak", (), lambda p: _up(_sidak(p, _countdown(p))), _ANY, "independent tests",
            "Holland & Copenhaver, Biometrics 1987",
        ),
        Correction(
            "hochberg", ("simes-hochberg",), lambda p: _down(_countdown(p) * p), _ANY,
            "independent or positively dependent tests", "Hochberg, Biometrika 1988",
        ),
        Correction(
            "hommel", (), _hommel, _ANY, "independent or positively dependent tests", "Hommel, Biometrika 1988",
        ),
        Correction(
            "benjamini-hochberg", ("bh", "fdr", "fdr-bh"), _false_discovery, _SHARE,
            "independent or positively dependent tests", "Benjamini & Hochberg, J. Royal Statistical Society B 1995",
        ),
        Correction(
            "benjamini-yekutieli", ("by", "fdr-by"),
            lambda p: float((1 / np.arange(1, len(p) + 1)).sum()) * _false_discovery(p), _SHARE,
            "nothing", "Benjamini & Yekutieli, Annals of Statistics 2001",
        ),
    ),
)  # fmt: skip
"""All corrections by name. max-t, Tukey's, Scheffé's and the randomised Tukey test need none: they test all pairs."""

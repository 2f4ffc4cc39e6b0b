"""The assumptions of tests, and whether the data agree with them.

A failed check is a caution, not a verdict: t and F are robust if the samples are of similar size (Ferro & Maistro 2024
§4.2.5), and a check finds little with few topics and almost everything with many.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.comparison.data import Matrix
from cranfield.comparison.differences import difference_blocks
from cranfield.comparison.normality import FEWEST, MOST, shapiro_wilk
from cranfield.comparison.test_result import Assumption
from cranfield.errors import UsageError
from cranfield.text import counted
from cranfield.types import Array, Index64

FEW_TOPICS = 25
"""The minimum for a comparison of two systems (Buckley & Voorhees, SIGIR 2000; Ferro & Maistro 2024 §2.3)."""
MANY_ZEROS = 0.5
"""If two systems have the same score on more than this share of topics, the other topics decide."""
DOUBT = 0.05
"""A check fails if its p-value is below this."""
MOST_PAIRS = 20_000
"""At most this many pairs are checked, evenly spread."""
MEANS = "it uses means"
"""The usual reason why a test needs an interval scale (Ferro & Maistro 2024 §7.5)."""


def check_paired(
    difference: Array, measure: Any = None, *, normal: bool = True, needs: str | None = MEANS
) -> tuple[Assumption, ...]:
    """Check the differences of matched samples: number of topics, zeros, normality, and the scale of the measure.

    `needs` is the reason why the test needs an interval scale; None if it does not.

    >>> for assumption in check_paired(np.array([0.1, 0.2, 0.0, 0.3, -0.1])): print(assumption.name, assumption.holds)
    topics False
    zeros True
    normality True
    """
    zeros = int((difference == 0).sum())
    says = f"the systems have the same score on {zeros} of {len(difference)} topics"
    checks = [few_topics(len(difference)), Assumption("zeros", zeros <= MANY_ZEROS * len(difference), says)]
    if normal:
        checks.append(normality(difference, "differences"))
    return (*checks, *_scale(measure, needs))


def check_unpaired(
    x: Array,
    y: Array,
    measure: Any = None,
    *,
    normal: bool = True,
    equal_variance: bool = False,
    needs: str | None = MEANS,
) -> tuple[Assumption, ...]:
    """Check independent samples: number of topics, normality of each, equal variance, and the scale of the measure."""
    checks = [few_topics(min(len(x), len(y)))]
    if normal:
        checks += [normality(x, "scores of the first sample"), normality(y, "scores of the second sample")]
    if equal_variance:
        checks.append(same_variance(x, y))
    return (*checks, *_scale(measure, needs))


def check_sample(x: Array, measure: Any = None) -> tuple[Assumption, ...]:
    """Check one sample whose mean is tested."""
    return (few_topics(len(x)), normality(x, "scores"), *_scale(measure, MEANS))


def check_matrix(
    matrix: Matrix, first: Index64, second: Index64, *, normal: bool = True, needs: str | None = MEANS
) -> tuple[Assumption, ...]:
    """`check_paired` for many pairs: in how many of them does each check fail?"""
    checks = [few_topics(len(matrix.topics))]
    taken = np.unique(np.linspace(0, len(first) - 1, min(len(first), MOST_PAIRS)).astype(np.int64))
    first, second = first[taken], second[taken]
    zeros = not_normal = decided = 0
    for _, difference in difference_blocks(matrix, first, second):
        defined = (~np.isnan(difference)).sum(axis=1)
        zeros += int(((difference == 0).sum(axis=1) > MANY_ZEROS * defined).sum())
        if normal:
            p = shapiro_wilk(difference)[1]
            decided += int((~np.isnan(p)).sum())
            not_normal += int((p < DOUBT).sum())
    where = "" if len(first) == 1 else f"in {zeros:,} of {len(first):,} pairs "
    says = f"{where}the systems have the same score on more than half of the topics"
    checks.append(Assumption("zeros", zeros == 0, says))
    if decided:
        where = "" if decided == 1 else f"in {not_normal:,} of {decided:,} pairs "
        chance = "" if decided == 1 else f"; by chance alone, {DOUBT * decided:.0f} would"
        # Chance alone explains this many failures.
        holds = not_normal <= DOUBT * decided + 3 * (DOUBT * (1 - DOUBT) * decided) ** 0.5
        says = f"differences do not look normal {where}(Shapiro–Wilk, p < {DOUBT:g}{chance})"
        checks.append(Assumption("normality", holds, says))
    return (*checks, *_scale(matrix.measure, needs))


def few_topics(n: int) -> Assumption:
    """Are there enough topics to compare systems?

    >>> few_topics(10).holds, few_topics(50).says
    (False, '50 topics; the minimum is 25')
    """
    if n >= FEW_TOPICS:
        return Assumption("topics", True, f"{n} topics; the minimum is {FEW_TOPICS}")
    minimum = f"the minimum is {FEW_TOPICS} (Buckley & Voorhees, SIGIR 2000), and 50 may not be enough"
    return Assumption("topics", False, f"{counted(n, 'topic is', 'topics are')} few: {minimum} (Voorhees, SIGIR 2009)")


def normality(x: Array, noun: str = "scores") -> Assumption:
    """Shapiro and Wilk's test; undecided for fewer than 3 or more than 5,000 values, and if all are the same."""
    w, p = (float(part[0]) for part in shapiro_wilk(np.asarray(x, dtype=np.float64)[None, :]))
    if np.isnan(p):
        why = f"there are {len(x)}" if not FEWEST <= len(x) <= MOST else "all are the same"
        return Assumption("normality", None, f"cannot decide whether {noun} are normal: {why}")
    verdict = "do not look normal" if p < DOUBT else "may well be normal"
    return Assumption("normality", p >= DOUBT, f"{noun} {verdict} (Shapiro–Wilk W = {w:.3f}, p = {p:.4f})")


def same_variance(x: Array, y: Array) -> Assumption:
    """Brown and Forsythe's test: Levene's with deviations from the median (JASA 69(346), 1974)."""
    from scipy.special import fdtrc

    n, m = len(x), len(y)
    undecided = "cannot decide whether variances are equal"
    if n < 2 or m < 2:
        return Assumption("equal variance", None, f"{undecided}: fewer than 2 scores")
    a, b = np.abs(x - np.median(x)), np.abs(y - np.median(y))
    within = float(((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())
    between = n * m / (n + m) * float(a.mean() - b.mean()) ** 2
    if within <= 1e-24 * float((x**2).sum() + (y**2).sum()):
        return Assumption("equal variance", None, f"{undecided}: the deviations do not vary")
    f = between / (within / (n + m - 2))
    p = float(fdtrc(1, n + m - 2, f))
    verdict = "differ" if p < DOUBT else "may well be equal"
    return Assumption("equal variance", p >= DOUBT, f"variances {verdict} (Brown–Forsythe F = {f:.3f}, p = {p:.4f})")


def interval_scale(measure: Any, needs: str = MEANS) -> Assumption:
    """Is the measure on an interval scale, as tests that use means need (Ferro & Maistro 2024 §7.5)?

    >>> interval_scale("AP").holds, interval_scale("P@10").holds, interval_scale("score").holds
    (False, True, None)
    >>> interval_scale("RBP(p=0.5)").holds, interval_scale("RBP").holds
    (True, False)
    """
    from cranfield.measures.naming.parse import parse
    from cranfield.measures.property_tables import properties_of

    name = str(measure() if isinstance(measure, type) else measure)
    try:
        parsed = parse(name, modules=False)
    except UsageError:
        return Assumption("scale", None, f"the scale of {name} is not known")
    scale = properties_of(parsed).scale
    why = f"this test needs an interval scale, because {needs} (Ferro & Maistro, Evaluation of IR Systems, 2024, §7.5)"
    if scale in ("interval", "ratio"):
        return Assumption("scale", True, f"{name} is on {'a' if scale == 'ratio' else 'an'} {scale} scale")
    if scale == "interval iff p = 1/2":
        if getattr(parsed, "gain", None) is not None:  # p must be G / (G + 1), where G is the smallest gap of gains
            return Assumption("scale", None, f"{name} is on an interval scale for one p only; {why}")
        if getattr(parsed, "p", None) == 0.5:
            return Assumption("scale", True, f"{name} is on an interval scale, because p = 1/2")
        return Assumption("scale", False, f"{name} is on an interval scale for p = 1/2 only; {why}")
    if scale.startswith("interval iff"):
        return Assumption("scale", None, f"{name} is on an {scale.replace('iff', 'scale if')}; {why}")
    return Assumption("scale", False, f"{name} is on an {scale} scale; {why}")


def _scale(measure: Any, needs: str | None) -> tuple[Assumption, ...]:
    """The check of the scale, if the test needs one and the measure is known."""
    if needs is None or measure is None or measure == "score":
        return ()
    return (interval_scale(measure, needs),)

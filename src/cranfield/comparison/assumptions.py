"""What a test takes for granted, and what the data say about it.

A check that fails is a caution, not a verdict: t and F are known to be robust where samples are of a size (Ferro &
Maistro 2024 §4.2.5), and a check finds nothing in few topics and everything in many.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.comparison.data import Matrix
from cranfield.comparison.differences import difference_blocks
from cranfield.comparison.normality import FEWEST, MOST, shapiro_wilk
from cranfield.comparison.test_result import Assumption
from cranfield.errors import UsageError
from cranfield.types import Array, Index64

FEW_TOPICS = 25
"""The bare minimum for a comparison of two systems (Buckley & Voorhees, SIGIR 2000; Ferro & Maistro 2024 §2.3)."""
MANY_ZEROS = 0.5
"""With more than this share of topics on which two systems score the same, the others decide."""
DOUBT = 0.05
"""Below this p-value a check fails."""
MOST_PAIRS = 20_000
"""Of more pairs than this, so many are looked at, evenly spread."""

NEEDS = {
    "t": "it takes means",
    "wilcoxon": "it ranks differences, which must be evenly spaced to compare",
}
"""Why a test asks for an interval scale (Ferro & Maistro 2024 §7.5)."""
NORMAL = ("t", "welch", "tukey", "scheffe")
"""The tests of pairs that take differences or errors to be normal."""


def check_paired(
    difference: Array, measure: Any = None, *, normal: bool = True, needs: str | None = "t"
) -> tuple[Assumption, ...]:
    """Differences of matched samples: few topics, many zeros, normality, and the measure's scale.

    `needs` is what asks for an interval scale (a key of `NEEDS`); None: nothing does.

    >>> for one in check_paired(np.array([0.1, 0.2, 0.0, 0.3, -0.1])): print(one.name, one.holds)
    topics False
    zeros True
    normality True
    """
    found = [few_topics(len(difference)), _zeros(difference)]
    if normal:
        found.append(normality(difference, "differences"))
    return tuple(found) + _scales(measure, needs)


def check_unpaired(
    x: Array,
    y: Array,
    measure: Any = None,
    *,
    normal: bool = True,
    equal_variance: bool = False,
    needs: str | None = "t",
) -> tuple[Assumption, ...]:
    """Samples that are not matched: few topics, normality of each, equal variance if asked for, the measure's scale."""
    found = [few_topics(min(len(x), len(y)))]
    if normal:
        found += [normality(x, "scores of the first sample"), normality(y, "scores of the second sample")]
    if equal_variance:
        found.append(same_variance(x, y))
    return tuple(found) + _scales(measure, needs)


def check_sample(x: Array, measure: Any = None) -> tuple[Assumption, ...]:
    """One sample whose mean is tested."""
    return (few_topics(len(x)), normality(x, "scores"), *_scales(measure, "t"))


def check_matrix(
    matrix: Matrix, first: Index64, second: Index64, *, interval_scale: bool = True, test: str = "t"
) -> tuple[Assumption, ...]:
    """As `check_paired`, for many pairs: in how many of them each fails.

    `test` is the name of the test of pairs; normality is looked at if it is in `NORMAL`.
    """
    found = [few_topics(matrix.n)]
    take = np.unique(np.linspace(0, len(first) - 1, min(len(first), MOST_PAIRS)).astype(np.int64))
    first, second = first[take], second[take]
    zeros = crooked = told = 0
    for _, difference in difference_blocks(matrix, first, second):
        there = (~np.isnan(difference)).sum(axis=1)
        zeros += int(((difference == 0).sum(axis=1) > MANY_ZEROS * there).sum())
        if test in NORMAL:
            p = shapiro_wilk(difference)[1]
            told += int((~np.isnan(p)).sum())
            crooked += int((p < DOUBT).sum())
    where = "" if len(first) == 1 else f"in {zeros:,} of {len(first):,} pairs "
    says = f"{where}the systems score the same on more than half of the topics"
    found.append(Assumption("zeros", zeros == 0, says))
    if told:
        where = "" if told == 1 else f"in {crooked:,} of {told:,} pairs "
        chance = "" if told == 1 else f"; {DOUBT * told:.0f} would by chance"
        # as many as chance alone would give are no reason for doubt
        holds = crooked <= DOUBT * told + 3 * (DOUBT * (1 - DOUBT) * told) ** 0.5
        says = f"differences do not look normal {where}(Shapiro–Wilk, p < {DOUBT:g}{chance})"
        found.append(Assumption("normality", holds, says))
    needs = "wilcoxon" if test == "wilcoxon" else "t"
    return tuple(found) + _scales(matrix.measure, needs if interval_scale else None)


def few_topics(n: int) -> Assumption:
    """Are there enough topics to compare systems at all?

    >>> few_topics(10).holds, few_topics(50).says
    (False, '50 topics, of which 25 are the bare minimum')
    """
    if n >= FEW_TOPICS:
        return Assumption("topics", True, f"{n} topics, of which {FEW_TOPICS} are the bare minimum")
    what = "1 topic is" if n == 1 else f"{n} topics are"
    return Assumption(
        "topics",
        False,
        f"{what} few: {FEW_TOPICS} are the bare minimum (Buckley & Voorhees, SIGIR 2000), "
        "and 50 may not be enough (Voorhees, SIGIR 2009)",
    )


def normality(x: Array, what: str = "scores") -> Assumption:
    """Shapiro and Wilk's test; undecided for fewer than 3 or more than 5,000 entries, and if all are the same."""
    w, p = (float(one[0]) for one in shapiro_wilk(np.asarray(x, dtype=np.float64)[None, :]))
    if np.isnan(p):
        why = f"{len(x)} of them" if not FEWEST <= len(x) <= MOST else "all the same"
        return Assumption("normality", None, f"whether {what} are normal cannot be told: {why}")
    verdict = "do not look normal" if p < DOUBT else "may well be normal"
    return Assumption("normality", p >= DOUBT, f"{what} {verdict} (Shapiro–Wilk W = {w:.3f}, p = {p:.4f})")


def same_variance(x: Array, y: Array) -> Assumption:
    """Brown and Forsythe's test: Levene's with deviations from the median (JASA 69(346), 1974)."""
    from scipy.special import fdtrc

    n, m = len(x), len(y)
    if n < 2 or m < 2:
        return Assumption("equal variance", None, "whether variances are equal cannot be told: fewer than 2 entries")
    a, b = np.abs(x - np.median(x)), np.abs(y - np.median(y))
    within = float(((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())
    between = n * m / (n + m) * float(a.mean() - b.mean()) ** 2
    if within <= 1e-24 * float((x**2).sum() + (y**2).sum()):
        return Assumption("equal variance", None, "whether variances are equal cannot be told: no deviations")
    f = between / (within / (n + m - 2))
    p = float(fdtrc(1, n + m - 2, f))
    verdict = "differ" if p < DOUBT else "may well be equal"
    return Assumption("equal variance", p >= DOUBT, f"variances {verdict} (Brown–Forsythe F = {f:.3f}, p = {p:.4f})")


def interval_scale(measure: Any, needs: str = "t") -> Assumption:
    """Is the measure on an interval scale, as a test that takes means asks (Ferro & Maistro 2024 §7.5)?

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
    told = properties_of(parsed).scale
    why = f"this test asks for an interval scale, for {NEEDS[needs]}"
    source = "(Ferro & Maistro, Evaluation of IR Systems, 2024, §7.5)"
    if told in ("interval", "ratio"):
        return Assumption("scale", True, f"{name} is on {'a' if told == 'ratio' else 'an'} {told} scale")
    if told == "interval iff p = 1/2":
        p, gain = getattr(parsed, "p", None), getattr(parsed, "gain", None)
        if gain is not None:  # graded: p must be G / (G + 1), G being the smallest gap between gains
            return Assumption("scale", None, f"{name} is on an interval scale for one p only; {why} {source}")
        if p == 0.5:
            return Assumption("scale", True, f"{name} is on an interval scale, as p = 1/2")
        return Assumption("scale", False, f"{name} is on an interval scale for p = 1/2 only; {why} {source}")
    if told.startswith("interval iff"):
        return Assumption("scale", None, f"{name} is on an {told.replace('iff', 'scale if')}; {why} {source}")
    return Assumption("scale", False, f"{name} is on an {told} scale; {why} {source}")


def _zeros(difference: Array) -> Assumption:
    zeros = int((difference == 0).sum())
    says = f"the systems score the same on {zeros} of {len(difference)} topics"
    return Assumption("zeros", zeros <= MANY_ZEROS * len(difference), says)


def _scales(measure: Any, needs: str | None) -> tuple[Assumption, ...]:
    """A word on the scale, where there is a measure to have one."""
    if needs is None or measure is None or measure == "score":
        return ()
    return (interval_scale(measure, needs),)

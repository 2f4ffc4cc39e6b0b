"""On which scale of measurement are the scores of a measure? The one answer that all verbs give.

The verdicts are those of Ferro & Maistro 2024 §7.7, on the orders of lists by rank (RBTO) or by set (SBTO, or the sum
of grades). They hold for a single topic; across topics the step of the scale must also be the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cranfield.errors import UsageError
from cranfield.measures.base import Measure
from cranfield.measures.gain import Gain

ORDER = "on the total orders of lists, by rank or by set"
"""The order that the verdict is relative to (Ferro & Maistro 2024 §7.7–7.8)."""
RATIO_GRADES = "the grades are on a ratio scale"
STEPS = {
    "length": "all lists have the same length",
    "relevant": "all topics have equally many relevant documents",
}
"""{what the step of a scale depends on: when it is the same for all topics}."""
SMALL = 1e-9


class ScaleType(NamedTuple):
    """The scale of a measure."""

    kind: str
    """`interval`, `ratio`, `not interval`, or `unknown` for a name that is not a measure."""
    conditions: tuple[str, ...] = ()
    """An interval scale only if all of these hold; they depend on the data, so they are not known here."""

    @property
    def holds(self) -> bool | None:
        """Whether it is an interval scale across topics, as means need; False if that depends on conditions."""
        return None if self.kind == "unknown" else self.kind != "not interval" and not self.conditions

    @property
    def verdict(self) -> str:
        """How to say it after "is" or "are".

        >>> scale_of("R@10").verdict
        'on an interval scale only if all topics have equally many relevant documents'
        """
        if self.kind == "unknown":
            return "on a scale that is not known"
        if self.kind == "not interval":
            return f"not on an interval scale, {ORDER}"
        if self.conditions:
            return f"on an interval scale only if {' and '.join(self.conditions)}"
        return f"on {'a' if self.kind == 'ratio' else 'an'} {self.kind} scale, {ORDER}"

    @property
    def words(self) -> str:
        """The kind with its conditions, for a cell of a table."""
        return f"{self.kind} if {' and '.join(self.conditions)}" if self.conditions else self.kind


def scale_of(measure: Measure | type[Measure] | str) -> ScaleType:
    """The scale of a measure, given as a measure or by its name.

    >>> scale_of("AP").holds, scale_of("P@10").holds, scale_of("my own").holds
    (False, True, None)
    >>> scale_of("RBP(p=0.5)").holds, scale_of("RBP").holds, scale_of('RBP(p=0.5, gain="linear")').conditions
    (True, False, ('the highest grade is 1', 'the grades are on a ratio scale'))
    """
    from cranfield.measures.naming.parse import parse
    from cranfield.measures.property_tables import properties_of

    try:
        parsed = parse(str(measure() if isinstance(measure, type) else measure))
    except UsageError:
        return ScaleType("unknown")
    properties = properties_of(parsed)
    if properties.scale == "interval iff p = 1/2":
        return _rank_biased(parsed)
    if not properties.scale.startswith(("interval", "ratio")):
        return ScaleType("not interval")
    conditions = [RATIO_GRADES] if properties.scale == f"interval iff {RATIO_GRADES}" else []
    steps = [part for part in STEPS if part in properties.step and not (part == "length" and parsed.cutoff is not None)]
    return ScaleType(properties.scale.partition(" ")[0], (*conditions, *(STEPS[part] for part in steps)))


def _rank_biased(measure: Measure) -> ScaleType:
    """RBP: p = 1/2; graded, p = G/(G + 1), where G is the smallest gap of gains as a share of the largest gain.

    With grades 0 to c on a ratio scale all gaps are 1/c, so p = 1/(c + 1).
    """
    p, gain = float(getattr(measure, "p", 0.0)), getattr(measure, "gain", None)
    if gain is None:
        return ScaleType("interval" if p == 0.5 else "not interval")
    worth = Gain.of(gain)
    if worth.kind == "table" and not worth.unlisted:
        gaps = np.diff([0.0, *sorted(gains for _, gains in worth.table if gains > 0)])
        even = len(gaps) > 0 and float(np.ptp(gaps)) <= SMALL * float(gaps.max())
        fits = even and abs(p - 1 / (len(gaps) + 1)) <= SMALL
        return ScaleType("interval", (RATIO_GRADES,)) if fits else ScaleType("not interval")
    highest = round(1 / p) - 1 if p > 0 else 0
    if highest < 1 or abs(p - 1 / (highest + 1)) > SMALL or (worth.kind == "exp" and highest > 1):
        return ScaleType("not interval")
    return ScaleType("interval", (f"the highest grade is {highest}", RATIO_GRADES))


def declared_scale(scale: str, step: str) -> str:
    """The scale of a measure with any parameters, from its `Properties`, for its page.

    >>> declared_scale("interval", "relevant").partition("; ")[2]
    'across topics only if all topics have equally many relevant documents'
    """
    means = [STEPS[part] + (" (without a cutoff)" if part == "length" else "") for part in STEPS if part in step]
    return f"{scale}, {ORDER}" + (f"; across topics only if {' and '.join(means)}" if means else "")

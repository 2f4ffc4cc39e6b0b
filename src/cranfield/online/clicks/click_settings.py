"""The settings of a fit of a click model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cranfield import check
from cranfield.errors import UsageError
from cranfield.types import Progress

Prior = tuple[float, float] | None
"""Imaginary successes and failures; None: half an observation, whose mean comes from the log."""
CLICKS = ("all", "first")


@dataclass(frozen=True)
class ClickSettings:
    """How a click model is fitted.

    prior: imaginary successes and failures of each parameter of a document (attractiveness, satisfaction): an estimate
        is (successes + a) / (trials + a + b), the mode under a Beta(a + 1, b + 1) prior. (0, 0) is maximum likelihood.
        None: a + b = 0.5, and a / (a + b) is the mean of the estimates of all documents (empirical Bayes).
    rank_prior: the same for parameters of ranks and of the whole model, such as examination.
    steps, tolerance: EM stops after this number of steps, or if a step raises the log-likelihood per impression by
        less than the tolerance.
    level: the level of intervals; None computes no intervals, which saves time with EM models.
    exact: for DCM and SDBN: False estimates them by counting, under the assumption that users stop after their last
        click. Where they do not, estimates are off by more than any interval would say, so there are no intervals.
    clicks: `all` clicks of a session, or only the `first` (the highest in the list).
    """

    prior: Prior = None
    rank_prior: Prior = None
    steps: int = 2000
    tolerance: float = 1e-8
    level: float | None = 0.95
    exact: bool = True
    clicks: str = "all"
    progress: Progress | None = None

    def __post_init__(self) -> None:
        for name in ("prior", "rank_prior"):
            object.__setattr__(self, name, two_counts(name, getattr(self, name)))
        check.whole("click model", steps=self.steps)
        check.not_negative("click model", tolerance=self.tolerance)
        if self.level is not None and not 0 < self.level < 1:
            raise check.wrong("click model", "level", self.level, "between 0 and 1, without the ends")
        check.one_of("click model", CLICKS, clicks=self.clicks)


def two_counts(name: str, value: Sequence[float] | None) -> Prior:
    """Check a prior: imaginary successes and failures, or None."""
    if value is None:
        return None
    try:
        successes, failures = (float(count) for count in value)
    except (TypeError, ValueError):
        raise UsageError(f"{name} == {value!r}, must be two numbers: imaginary successes and failures") from None
    check.finite("click model", **{name: successes})
    check.finite("click model", **{name: failures})
    check.not_negative("click model", **{name: min(successes, failures)})
    return successes, failures

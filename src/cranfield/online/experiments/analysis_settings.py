"""How the effects of an experiment are computed: the level, the looks, and which metrics should be low."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cranfield import check
from cranfield.comparison.test_result import check_alpha
from cranfield.errors import UsageError
from cranfield.online.experiments.arm_effects import RELATIVE, Looks
from cranfield.online.experiments.arm_estimates import CUPED
from cranfield.online.experiments.repeated_looks import DESIGNS, SPENDING, look_fractions

METHODS = ("analytic", "bootstrap")
SEQUENTIAL = ("once", "always-valid", *DESIGNS)
"""How often the result is looked at: once, at any time, or at planned times."""


@dataclass(frozen=True)
class Settings:
    """How effects are computed."""

    alpha: float
    looks: Looks
    relative: str
    lower: frozenset[str]
    """Metrics of which lower values are better."""
    cuped: str = "within"

    @property
    def of_another_program(self) -> bool:
        """Are the figures to be those of another program?"""
        return self.relative in ("tea-tasting", "growthbook") or self.cuped != "within"


def checked_settings(
    alpha: float,
    relative: str,
    sequential: str,
    looks: int | Sequence[float],
    look: int | None,
    tuned_for: float,
    lower: Iterable[str],
    cuped: str = "within",
) -> Settings:
    """The settings, or an error that names what is wrong."""
    check_alpha("analyse", alpha)
    check.one_of("analyse", RELATIVE, relative=relative)
    check.one_of("analyse", CUPED, cuped=cuped)
    check.one_of("analyse", SEQUENTIAL, sequential=sequential)
    check.positive("analyse", tuned_for=tuned_for)
    chosen = Looks(sequential, tuned_for=tuned_for)
    if sequential in DESIGNS:
        fractions = look_fractions(looks)
        if look is None:
            raise UsageError(f"analyse: sequential == {sequential!r} needs look=, the number of this look")
        check.whole("analyse", look=look)
        check.between("analyse", low=1, high=len(fractions), look=look)
        used = fractions[:look] if sequential in SPENDING else fractions
        chosen = Looks(sequential, tuple(used.tolist()), look)
    elif look is not None:
        raise UsageError(f"analyse: look == {look}, but sequential == {sequential!r}; name a group-sequential design")
    return Settings(alpha, chosen, relative, frozenset([lower] if isinstance(lower, str) else lower), cuped)

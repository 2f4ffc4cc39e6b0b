"""Do systems differ for users? A mixed model of ratings, and the number of users that a study needs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import check
from cranfield.collection.source import PathLike
from cranfield.comparison.anova.mixed import Component, MixedAnova, mixed
from cranfield.comparison.power.designs import DESIGNS, Experiment
from cranfield.comparison.test_result import check_alpha
from cranfield.errors import UsageError
from cranfield.meta.agreement.user_ratings import UserRatings, read_user_ratings
from cranfield.meta.meta_record import Columns, MetaRecord, headings
from cranfield.table import Table
from cranfield.text import counted, listed

INTERACTIONS = ("topic:system", "user:system")
"""Random terms of the model if there are ratings enough to estimate them."""
MOST_USERS = 10**6
"""The largest number of users to consider."""


def rating_model(
    ratings: UserRatings | PathLike, outcome: str | None = None, *, interactions: Iterable[str] | None = None
) -> MixedAnova:
    r"""A linear mixed model of what users said: systems are fixed, users and topics are samples (REML).

    .. math:: y_{uts} = \mu + \alpha_s + u_u + t_t + (ts)_{ts} + (us)_{us} + \varepsilon_{uts}

    outcome: `rating` or `time`, by default the first that there is. Of times, the logarithm is analysed.
    interactions: of `topic:system` and `user:system`, by default those of which some combination was rated twice or
        more, so that they can be told from the error. Without topic:system, a system that is good on the topics of this
        study counts as good in general.

    The result has tests of systems, components of variance, means of systems, and `tukey` compares all pairs.

    >>> ratings = UserRatings.of("uuvvww", "121212", "ababba", rating=[5, 2, 4, 3, 2, 4])
    >>> print(rating_model(ratings, interactions=())["system"])
    system: F(1, 1) = 18.0000, p = 0.1474
    """
    if not isinstance(ratings, UserRatings):
        ratings = read_user_ratings(ratings)
    if not ratings.outcomes:
        raise UsageError(f"{ratings.origin}: only preferences; a model needs ratings or times")
    name = next(iter(ratings.outcomes)) if outcome is None else outcome
    columns, values = ratings.outcome(name)
    for role in ("system", "user", "topic"):
        if len(set(columns[role])) < 2:
            only = columns[role][0]
            raise UsageError(f"{ratings.origin}: one {role} ({only}), a model of {name}s needs 2 or more")
    if values.max() == values.min():
        raise UsageError(f"{ratings.origin}: every {name} is {values[0]:g}, so there is nothing to analyse")
    label = "log time" if name == "time" else name
    table: dict[str, Any] = {label: np.log(values) if name == "time" else values}
    table |= {role: columns[role] for role in ("system", "user", "topic")}
    wanted = _estimable(columns) if interactions is None else list(interactions)
    while True:
        try:
            return mixed(table, value=label, random=["user", "topic"], interactions=wanted)
        except UsageError:
            if interactions is not None or not wanted:
                raise
            wanted = wanted[:-1]  # too few ratings for both


def _estimable(columns: dict[str, list[str]]) -> list[str]:
    """The interactions of which some combination was rated twice or more."""
    terms = []
    for term in INTERACTIONS:
        first, second = (columns[role] for role in term.split(":"))
        if len(set(zip(first, second, strict=True))) < len(first):
            terms.append(term)
    return terms


@dataclass(frozen=True, eq=False, repr=False)
class UsersNeeded(MetaRecord):
    """The number of users to find differences between two systems; a row per difference."""

    facts = ("power", "alpha", "topics", "per_system")

    outcome: str
    differences: tuple[float, ...]
    users: tuple[int | None, ...]
    """If conclusions are about the topics of the study."""
    users_any: tuple[int | None, ...]
    """If they are about other topics too; None if no number of users is enough."""
    topics_least: tuple[int, ...]
    """The number of topics without which no number of users is enough for other topics."""
    power: float
    alpha: float
    topics: int
    per_system: float
    """The number of topics that a user searches for with each system."""
    notes: tuple[str, ...]

    def columns(self) -> Columns:
        """difference, users, users_any, topics_least; NaN if no number is enough."""
        return {
            "difference": np.array(self.differences),
            "users": np.array([math.nan if n is None else n for n in self.users]),
            "users_any": np.array([math.nan if n is None else n for n in self.users_any]),
            "topics_least": np.array(self.topics_least),
        }

    def table(self) -> Table:
        """A row per difference; no number if no number of users is enough."""
        heads = (
            *headings("number", "difference"),
            *headings("count", "users, these topics", "users, any topics", "topics needed at least"),
        )
        rows = tuple(zip(self.differences, self.users, self.users_any, self.topics_least, strict=True))
        return Table(heads, rows, f"Users needed to find a difference in {self.outcome}", self.notes)


def users_needed(
    model: MixedAnova | UserRatings | PathLike,
    differences: float | Iterable[float],
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    topics: int | None = None,
    per_system: float | None = None,
) -> UsersNeeded:
    r"""How many users a study needs to find a difference between two systems, from the variances of an earlier one.

    Every user works with both systems, on `per_system` topics (m) with each. The difference of two systems then varies
    with n users and T topics by

    .. math:: \sigma_d^2 = \frac{2 (\sigma_{us}^2 + \sigma_\varepsilon^2 / m)}{n} + \frac{2 \sigma_{ts}^2}{T}

    For conclusions about these topics the last term is 0: a paired t test of the users' mean differences, exact. For
    conclusions about any topics it is not, and no number of users makes it smaller; with n − 1 degrees of freedom
    this is an approximation, too optimistic if there are fewer topics than users.

    model: the result of `rating_model`, or ratings.
    topics, per_system: by default as in the study.

    >>> ratings = UserRatings.of("uuvvww", "121212", "ababba", rating=[5, 2, 4, 3, 2, 4])
    >>> users_needed(rating_model(ratings, interactions=()), 1.0).users
    (8,)
    """
    if not isinstance(model, MixedAnova):
        model = rating_model(model)
    sought = tuple(float(d) for d in ([differences] if isinstance(differences, int | float) else differences))
    if not sought:
        raise UsageError("users_needed: no difference to find")
    for difference in sought:
        check.finite("users_needed", difference=difference)
        check.positive("users_needed", difference=difference)
    check_alpha("users_needed", alpha)
    check_alpha("users_needed", power, "power")
    if power <= alpha:
        raise UsageError(f"power == {power!r}, must be above alpha ({alpha:g}), the power of a test without data")
    layout = model.model.layout
    total = len(layout.factor("topic").levels) if topics is None else topics
    if per_system is None:
        per_system = layout.n / layout.cells(frozenset({"user", "system"}))[1]
    check.whole("users_needed", topics=total)
    check.positive("users_needed", per_system=per_system)
    variances = {part.source: part.variance for part in model.components if isinstance(part, Component)}
    within = 2 * (_variance(variances, "user", "system") + variances["error"] / per_system)
    between = 2 * _variance(variances, "topic", "system")
    if within <= 0:
        raise UsageError("users_needed: the variance of the error is 0, so one user would be enough")
    experiment = Experiment(DESIGNS.find("t"), within, alpha)
    # With endlessly many users the test is a z test with variance 2σ²_ts / T.
    from scipy.special import ndtri

    least = between * (ndtri(1 - alpha / 2) + ndtri(power)) ** 2
    fixed: list[int | None] = []
    other: list[int | None] = []
    enough: list[int] = []
    for difference in sought:
        fixed.append(_fewest_users(experiment, difference, power, within, 0.0))
        other.append(_fewest_users(experiment, difference, power, within, between / total))
        enough.append(max(1, math.floor(least / difference**2) + 1))
    shares = ", ".join(f"{name} {value:.4g}" for name, value in variances.items())
    notes = [
        f"variances: {shares}",
        f"every user works with both systems, on {per_system:.4g} topics with each; power {power:g}, α = {alpha:g}",
        f"these topics: a paired t test over users; any topics: also for other samples of {counted(total, 'topic')}",
    ]
    absent = [name for name in INTERACTIONS if not {name, ":".join(reversed(name.split(":")))} & set(variances)]
    if absent:
        notes.append(f"the variance of {listed(absent)} could not be estimated and counts as 0; numbers are too low")
    if None in other:
        notes.append(f"-: not even {MOST_USERS:,} users are enough; for any topics, more topics are needed")
    return UsersNeeded(
        model.measure, sought, tuple(fixed), tuple(other), tuple(enough), power, alpha, total, float(per_system),
        tuple(notes),
    )  # fmt: skip


def _variance(variances: dict[str, float], first: str, second: str) -> float:
    return variances.get(f"{first}:{second}", variances.get(f"{second}:{first}", 0.0))


def _fewest_users(experiment: Experiment, difference: float, power: float, within: float, between: float) -> int | None:
    """The fewest users, if the difference also varies over topics by `between`; None if no number is enough."""

    def enough(n: int) -> bool:
        seen = difference * math.sqrt(within / (within + n * between))
        return bool(experiment.power(n, seen) >= power)

    return experiment.fewest_topics(enough) if enough(MOST_USERS) else None

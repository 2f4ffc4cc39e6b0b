"""What users said about systems: ratings and times of searches, preferences, and a mixed model of the ratings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield import check
from cranfield.collection.source import PathLike
from cranfield.collection.tables.table_schema import MISSING, Numbers, Schema, Words
from cranfield.comparison.anova.mixed import Component, MixedAnova, mixed
from cranfield.comparison.power.designs import DESIGNS, Experiment
from cranfield.comparison.test_result import check_alpha
from cranfield.errors import DataError, UsageError
from cranfield.meta.agreement.concordance import Preferences, preferences_of
from cranfield.notes import caution_note, method_note
from cranfield.record import Columns, Record
from cranfield.table import Table, headings
from cranfield.text import counted, listed
from cranfield.types import Array

OUTCOMES = ("rating", "time")
"""What a user can say about a search with one system."""
EXPECTED = "a header with user, topic, system and rating or time; or user, topic, first, second and preferred"
RATINGS = Schema(
    EXPECTED, layouts=(), separators="\t,;|",
    user=Words(("user", "user_id", "userid", "participant", "subject", "assessor", "worker")),
    topic=Words(("topic", "topic_id", "query_id", "qid", "q_id", "task", "query")),
    system=Words(("system", "system_id", "run", "run_id", "runid", "tag"), optional=True, may_be_empty=True),
    rating=Numbers(
        ("rating", "satisfaction", "score", "grade", "value"), optional=True, blank=np.nan, called=MISSING
    ),
    time=Numbers(
        ("time", "seconds", "duration", "time_on_task"), optional=True, blank=np.nan, called=MISSING, above=0
    ),
    first=Words(("first", "system_a", "run_a", "systema", "runa", "a"), optional=True, may_be_empty=True),
    second=Words(("second", "system_b", "run_b", "systemb", "runb", "b"), optional=True, may_be_empty=True),
    preferred=Words(("preferred", "preference", "winner", "choice"), optional=True, may_be_empty=True),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class UserRatings:
    """Ratings and times, one entry for each search of a user; and preferences between two systems.

    >>> ratings = UserRatings.of(["ann", "ann", "bob"], ["1", "2", "1"], ["a", "b", "b"], rating=[5, 2, 3])
    >>> ratings
    UserRatings(3 searches by 2 users, 2 topics, 2 systems: rating)
    """

    user: tuple[str, ...]
    topic: tuple[str, ...]
    system: tuple[str, ...]
    outcomes: Mapping[str, Array]
    """{rating or time: a number for each search, NaN if it is missing}."""
    preferences: Preferences | None = None
    origin: str = "ratings"
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def of(
        cls, user: Sequence[Any], topic: Sequence[Any], system: Sequence[Any], *, rating: Any = None, time: Any = None,
        preferences: Preferences | None = None,
    ) -> UserRatings:  # fmt: skip
        """Ratings from columns of one length."""
        columns = {"rating": rating, "time": time}
        outcomes = {name: np.asarray(list(values), float) for name, values in columns.items() if values is not None}
        lengths = {"user": len(user), "topic": len(topic), "system": len(system)}
        lengths |= {name: len(values) for name, values in outcomes.items()}
        if len(set(lengths.values())) > 1:
            raise UsageError(f"ratings: columns of different lengths: {lengths}")
        for name, values in outcomes.items():
            if np.isinf(values).any() or (name == "time" and (values <= 0).any()):
                raise UsageError(f"ratings: every {name} must be a number{' above 0' if name == 'time' else ''}")
        people, topics, systems = (tuple(map(str, column)) for column in (user, topic, system))
        kept = {name: values for name, values in outcomes.items() if len(values)}
        return cls(people, topics, systems, kept, preferences)

    def __repr__(self) -> str:
        sizes = [counted(len(set(getattr(self, name))), name) for name in ("user", "topic", "system")]
        what = listed([*self.outcomes, *(["preferences"] if self.preferences else [])])
        return f"UserRatings({counted(len(self.user), 'search', 'searches')} by {', '.join(sizes)}: {what})"

    def outcome(self, name: str) -> tuple[dict[str, list[str]], Array]:
        """{user, topic, system: names} and the numbers of the searches that have this outcome."""
        if name not in self.outcomes:
            raise UsageError(f"{self.origin}: no {name}, only {listed(self.outcomes) or 'preferences'}")
        values = self.outcomes[name]
        kept = np.flatnonzero(~np.isnan(values)).tolist()
        columns = {role: [getattr(self, role)[i] for i in kept] for role in ("user", "topic", "system")}
        return columns, values[kept]


def read_user_ratings(path: PathLike) -> UserRatings:
    """Read what users said from a table with names of columns: CSV, TSV or JSON-lines, perhaps compressed.

    A row is a search (user, topic, system, and rating, time or both) or a preference (user, topic, first, second, and
    preferred: A, B, tie or the name of a system). A file may hold both kinds of rows. Cells may be empty.
    """
    rows = RATINGS.read(path)
    rated = "system" in rows and any(name in rows for name in OUTCOMES)
    compared = all(name in rows for name in ("first", "second", "preferred"))
    if not (rated or compared):
        raise DataError(rows.origin, None, f"columns {listed([*rows.columns, *rows.unused])}; expected {EXPECTED}")
    outcomes = {name: rows[name] for name in OUTCOMES if rated and name in rows}
    searched = ~np.isnan(list(outcomes.values())).all(axis=0) if rated else np.zeros(len(rows), dtype=bool)
    judged = np.array([compared and bool(text) for text in rows["preferred"]] if compared else searched & False)
    for row in np.flatnonzero(searched).tolist():
        if not rows["system"][row]:
            said = next(name for name, values in outcomes.items() if not math.isnan(values[row]))
            raise rows.fault(row, f"a {said} without a system")
    empty = int((~searched & ~judged).sum())
    if empty == len(rows):
        raise DataError(rows.origin, None, "holds neither ratings nor times nor preferences, only empty cells")
    notes = (
        [caution_note(f"{counted(empty, 'row')} without a rating, a time or a preference left out")] if empty else []
    )
    searches = np.flatnonzero(searched).tolist()
    people, topics, systems = (
        tuple(rows[name][row] for row in searches) if searches else () for name in ("user", "topic", "system")
    )
    kept = {name: values[searches] for name, values in outcomes.items() if not np.isnan(values[searches]).all()}
    preferences = preferences_of(rows, np.flatnonzero(judged).tolist(), rows["user"]) if judged.any() else None
    return UserRatings(people, topics, systems, kept, preferences, rows.origin, tuple(notes))


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
class UsersNeeded(Record):
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
        method_note(
            f"every user works with both systems, on {per_system:.4g} topics with each; power {power:g}, α = {alpha:g}"
        ),
        f"these topics: a paired t test over users; any topics: also for other samples of {counted(total, 'topic')}",
    ]
    absent = [name for name in INTERACTIONS if not {name, ":".join(reversed(name.split(":")))} & set(variances)]
    if absent:
        notes.append(
            caution_note(
                f"the variance of {listed(absent)} could not be estimated and counts as 0; numbers are too low"
            )
        )
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

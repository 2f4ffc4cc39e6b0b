"""What users said about systems: ratings and times of searches, preferences, and a mixed model of the ratings."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield import check
from cranfield.collection.column_names import COLUMNS, DELIMITERS, find_columns, no_column, repeated_column
from cranfield.collection.doors import header_cells, reads
from cranfield.collection.named_tables import Coded, NamedTable, lines_of, read_csv, read_json_lines, text_blocks
from cranfield.collection.side_files import number_in
from cranfield.collection.source import HEAD, PathLike, check_content, load, shown_path
from cranfield.comparison.anova.mixed import Component, MixedAnova, mixed
from cranfield.comparison.power.designs import DESIGNS, Experiment
from cranfield.comparison.test_result import check_alpha
from cranfield.errors import DataError, UsageError
from cranfield.meta.agreement.preferences import Preferences, sign_of
from cranfield.meta.meta_record import MetaRecord
from cranfield.record import Columns
from cranfield.table import Table, headings
from cranfield.text import counted, listed, shown
from cranfield.types import Array

RATING_COLUMNS = {
    "user": ("user", "user_id", "userid", "participant", "subject", "assessor", "worker"),
    "topic": ("topic", "topic_id", "query_id", "qid", "q_id", "task", "query"),
    "system": ("system", "system_id", "run", "run_id", "runid", "tag"),
    "rating": ("rating", "satisfaction", "score", "grade", "value"),
    "time": ("time", "seconds", "duration", "time_on_task"),
    "first": ("first", "system_a", "run_a", "systema", "runa", "a"),
    "second": ("second", "system_b", "run_b", "systemb", "runb", "b"),
    "preferred": ("preferred", "preference", "winner", "choice"),
}
"""Names of columns by role, the most specific first."""
OUTCOMES = ("rating", "time")
"""What a user can say about a search with one system."""
EXPECTED = "a header with user, topic, system and rating or time; or user, topic, first, second and preferred"
_EMPTY = ("", "nan", "na", "null", "none")


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
        given = {"rating": rating, "time": time}
        outcomes = {name: np.asarray(list(values), float) for name, values in given.items() if values is not None}
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


@reads
def read_user_ratings(path: PathLike) -> UserRatings:
    """Read what users said from a table with names of columns: CSV, TSV or JSON-lines, perhaps compressed.

    A row is a search (user, topic, system, and rating, time or both) or a preference (user, topic, first, second, and
    preferred: A, B, tie or the name of a system). A file may hold both kinds of rows. Cells may be empty.
    """
    origin = shown_path(os.fspath(path))
    buffer = load(path)
    check_content(bytes(buffer[:HEAD]), origin)
    first = next((line for line in lines_of(text_blocks(buffer, origin)) if line.strip()), "")
    if not first:
        raise DataError(origin, None, f"is empty, expected {EXPECTED}")
    if first.lstrip().startswith("{"):
        table = read_json_lines(text_blocks(buffer, origin), origin, "an object with user, topic, system and rating")
    else:
        widths = {mark: len(header_cells(first, mark, origin)) for mark in DELIMITERS}
        delimiter = max(widths, key=widths.__getitem__)
        table = read_csv(text_blocks(buffer, origin), delimiter, origin, "ratings")
    return _by_name(table, origin)


def _by_name(table: NamedTable, origin: str) -> UserRatings:
    places = find_columns(table.names, RATING_COLUMNS)
    if message := repeated_column(table.names, places.values()):
        raise DataError(origin, None, message)
    rated = "system" in places and any(name in places for name in OUTCOMES)
    compared = all(name in places for name in ("first", "second", "preferred"))
    for role in ("user", "topic"):
        if role not in places:
            words = [*RATING_COLUMNS[role], *COLUMNS[role]] if role in COLUMNS else RATING_COLUMNS[role]
            raise DataError(origin, None, no_column(role, table.names, dict.fromkeys(words)))
    if not (rated or compared):
        raise DataError(origin, None, f"columns {listed(table.names)}; expected {EXPECTED}")
    columns = {role: _texts(table.columns[at]) for role, at in places.items()}
    outcomes = {name: _numbers(columns[name], name, table.lines, origin) for name in OUTCOMES if name in places}
    searches, judged, empty = [], [], 0
    for i, line in enumerate(table.lines):
        if any(not columns[role][i] for role in ("user", "topic")):
            role = next(role for role in ("user", "topic") if not columns[role][i])
            raise DataError(origin, line, f"no {role}; expected {EXPECTED}")
        said = [name for name in outcomes if not math.isnan(outcomes[name][i])] if rated else []
        if said and not columns["system"][i]:
            raise DataError(origin, line, f"a {said[0]} without a system")
        searches += [i] if said else []
        judged += [i] if compared and columns["preferred"][i] else []
        empty += not said and not (judged and judged[-1] == i)
    if not searches and not judged:
        raise DataError(origin, None, "holds neither ratings nor times nor preferences, only empty cells")
    notes = [f"{counted(empty, 'row')} without a rating, a time or a preference left out"] if empty else []
    kept = {name: values[searches] for name, values in outcomes.items() if not np.isnan(values[searches]).all()}
    people, topics = (tuple(columns[role][i] for i in searches) for role in ("user", "topic"))
    systems = tuple(columns["system"][i] for i in searches) if searches else ()
    preferences = _preferences(columns, judged, table.lines, origin) if judged else None
    return UserRatings(people, topics, systems, kept, preferences, origin, tuple(notes))


def _texts(cells: Sequence[Any]) -> Coded:
    return cells.mapped(_text) if isinstance(cells, Coded) else Coded.of(map(_text, cells))


def _text(cell: Any) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return str(cell).strip()


def _numbers(cells: Sequence[str], name: str, lines: Sequence[int], origin: str) -> Array:
    """Numbers in cells; NaN where the cell is empty."""
    values = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        if cell.lower() in _EMPTY:
            continue
        try:
            values[i] = number_in(cell)
        except ValueError:
            raise DataError(origin, lines[i], f"{name} {shown(cell)}, expected a number") from None
        if not math.isfinite(values[i]) or (name == "time" and values[i] <= 0):
            wanted = "a number above 0" if name == "time" else "a finite number"
            raise DataError(origin, lines[i], f"{name} {shown(cell)}, expected {wanted}")
    return values


def _preferences(
    columns: Mapping[str, Sequence[str]], judged: Sequence[int], lines: Sequence[int], origin: str
) -> Preferences:
    signs = []
    for i in judged:
        first, second, preferred = (columns[role][i] for role in ("first", "second", "preferred"))
        if not first or not second:
            raise DataError(origin, lines[i], f"a preference between {first!r} and {second!r}, must be two systems")
        signs.append(sign_of(preferred, first, second, origin, lines[i]))
    topic, first_of, second_of, user = (
        tuple(columns[role][i] for i in judged) for role in ("topic", "first", "second", "user")
    )
    return Preferences(topic, first_of, second_of, tuple(signs), user, origin)


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

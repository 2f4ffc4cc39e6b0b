"""What users said about systems: ratings and times of searches, and preferences between two systems."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield.collection.column_names import COLUMNS, DELIMITERS, find_columns, no_column, repeated_column
from cranfield.collection.doors import header_cells, reads
from cranfield.collection.named_tables import Coded, NamedTable, lines_of, read_csv, read_json_lines, text_blocks
from cranfield.collection.side_files import number_in
from cranfield.collection.source import HEAD, PathLike, check_content, load, shown_path
from cranfield.errors import DataError, UsageError
from cranfield.meta.agreement.preferences import Preferences, sign_of
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
        found = [name for name in outcomes if not math.isnan(outcomes[name][i])] if rated else []
        if found and not columns["system"][i]:
            raise DataError(origin, line, f"a {found[0]} without a system")
        searches += [i] if found else []
        judged += [i] if compared and columns["preferred"][i] else []
        empty += not found and not (judged and judged[-1] == i)
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

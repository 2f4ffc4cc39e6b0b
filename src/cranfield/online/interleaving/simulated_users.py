"""Simulated users: where they click on a list, given the grades of its documents."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.types import Array

Clicks = NDArray[np.bool_]
Table = tuple[tuple[float, ...], tuple[float, ...]]
"""For each grade from 0 on, the probability of a click; and of stopping after one."""

HIGHEST_GRADE = 1000
USERS: dict[str, dict[int, Table]] = {
    "perfect": {
        1: ((0.0, 1.0), (0.0, 0.0)),
        2: ((0.0, 0.5, 1.0), (0.0, 0.0, 0.0)),
        4: ((0.0, 0.2, 0.4, 0.8, 1.0), (0.0, 0.0, 0.0, 0.0, 0.0)),
    },
    "navigational": {
        1: ((0.05, 0.95), (0.2, 0.9)),
        2: ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
        4: ((0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)),
    },
    "informational": {
        1: ((0.4, 0.9), (0.1, 0.5)),
        2: ((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
        4: ((0.4, 0.6, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)),
    },
    "random": {1: ((0.5, 0.5), (0.0, 0.0))},
}
"""For each kind of user, and for collections with this highest grade: the probabilities of clicks and of stopping."""


class ClickingUser(Protocol):
    """Anything that clicks on lists."""

    def simulate(self, grades: Array, rng: np.random.Generator) -> Clicks:
        """lists × places: the clicks on documents with these grades; NaN is not judged or no document."""
        ...


class FittedUser(Protocol):
    """A click model that knows documents, such as one that was fitted to a log."""

    def simulate(self, queries: Sequence[Any], docs: Any, rng: np.random.Generator) -> Clicks:
        """lists × places: the clicks on lists of documents, which end in "" if they are short."""
        ...


@dataclass(frozen=True)
class CascadeUser:
    """A user who reads from the top, clicks with a probability by grade, and may stop after a click.

    This is the dependent click model of Guo, Liu & Wang (WSDM 2009). The probabilities of `perfect`, `navigational` and
    `informational` users are those of Hofmann, Whiteson & de Rijke (TOIS 31(4), 2013, three grades) and of Schuth et
    al. and Oosterhuis & de Rijke (CIKM 2017, five grades); two grades take the ends. `random` users click each document
    with probability 0.5 and never stop. Documents without a judgment have grade 0.

    >>> user = CascadeUser.of("navigational", highest=2)
    >>> user.click, user.stop
    ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9))
    """

    name: str
    click: tuple[float, ...]
    """For each grade from 0 on, the probability of a click."""
    stop: tuple[float, ...]
    """For each grade from 0 on, the probability to stop after a click."""

    def __post_init__(self) -> None:
        for name, values in {"click": self.click, "stop": self.stop}.items():
            for value in values:
                check.between(f"user {self.name}", low=0, high=1, **{name: value})
        if len(self.click) != len(self.stop) or not self.click:
            raise check.wrong(f"user {self.name}", "stop", self.stop, f"as long as click: {len(self.click)} grades")

    @staticmethod
    def of(name: str, highest: float) -> CascadeUser:
        """The user with this name, for a collection with this highest grade.

        For other highest grades than 1, 2 and 4, the table of five grades is interpolated.

        >>> CascadeUser.of("perfect", highest=3).click
        (0.0, 0.2667, 0.6667, 1.0)
        """
        if name not in USERS:
            raise nearest(name, tuple(USERS), "user")
        tables = USERS[name]
        if not highest <= HIGHEST_GRADE:
            raise UsageError(f"the highest grade is {highest:g}; users are simulated for grades up to {HIGHEST_GRADE}")
        top = max(1, round(float(highest)))
        if top in tables:
            return CascadeUser(name, *tables[top])
        click, stop = tables[max(tables)]
        at, known = np.linspace(0, 1, top + 1), np.linspace(0, 1, len(click))
        values = (np.interp(at, known, table).round(4).tolist() for table in (click, stop))
        return CascadeUser(name, *(tuple(one) for one in values))

    def simulate(self, grades: Array, rng: np.random.Generator) -> Clicks:
        """lists × places: the clicks on documents with these grades; NaN is not judged."""
        level = np.clip(np.nan_to_num(grades, nan=0.0).round().astype(np.int64), 0, len(self.click) - 1)
        click = rng.random(level.shape) < np.array(self.click)[level]
        stops = click & (rng.random(level.shape) < np.array(self.stop)[level])
        stopped_above = np.cumsum(stops, axis=1) - stops > 0
        return np.asarray(click & ~stopped_above)

    def described(self) -> str:
        """The probabilities in words.

        >>> CascadeUser.of("navigational", highest=1).described()
        'navigational: clicks 0.05, 0.95 and stops 0.2, 0.9 for grades 0, 1'
        """
        grades = ", ".join(map(str, range(len(self.click))))
        click, stop = (", ".join(f"{value:g}" for value in values) for values in (self.click, self.stop))
        return f"{self.name}: clicks {click} and stops {stop} for grades {grades}"


def knows_documents(user: ClickingUser | FittedUser) -> bool:
    """Does `simulate` take documents (a fitted click model), or grades?

    >>> knows_documents(CascadeUser.of("perfect", highest=1))
    False
    """
    return "docs" in inspect.signature(user.simulate).parameters


def user_of(user: str | ClickingUser | FittedUser | Mapping[str, Any], highest: float) -> tuple[str, Any]:
    """A user by name, or any object with `simulate`; and a name for it."""
    if isinstance(user, str):
        made = CascadeUser.of(user, highest)
        return made.name, made
    if isinstance(user, Mapping):
        custom = CascadeUser(str(user.get("name", "custom")), tuple(user["click"]), tuple(user["stop"]))
        return custom.name, custom
    return str(getattr(user, "name", type(user).__name__)), user

"""What an online measure is: a ratio of two sums over users. The registry, and measures from their names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple, TypeVar

from cranfield.declared.registry import Registry, given_once, read_name
from cranfield.declared.settings import Setting, changed, checked_values, full_name
from cranfield.online.expressions import col, indicator, lit, nw
from cranfield.online.log_measures.log_signals import CONVERSIONS, DWELLS, HOVERS, PRICED, Signal

LEVELS = ("document", "ranking", "session", "loyalty", "business", "query")
"""What a measure is about, in the order of tables. `query` is about the texts of queries."""

RATES = ("clicks per impression", "reciprocal rank", "Jaccard coefficient")
"""Units of measures that lie between 0 and 1; shares do too."""

ONLINE_MEASURES: Registry[type[OnlineMeasure]] = Registry(
    "online measure", order=lambda measure: LEVELS.index(measure.level)
)
"""Every online measure by its name; filled by `@online_measure`."""


class Evidence(NamedTuple):
    """A signal that has to be in the log, and what to say if it is not; without a signal, the texts of queries."""

    signal: Signal | None
    missing: str


@dataclass(frozen=True)
class OnlineMeasure:
    """A measure of a log: the sum of `numerator` over rows, divided by the sum of `denominator`.

    Both sums are first taken per user. The interval comes from the users' pairs of sums, because the queries of one
    user are not independent. A measure is a value: `parse_online(str(m)) == m`.

    A subclass says what it `counts` per query, and defines `numerator` and `denominator`, expressions on the columns of
    its rows, if they are not the first of these signals and 1.
    """

    name: ClassVar[str] = ""
    level: ClassVar[str] = ""
    unit: ClassVar[str] = ""
    better: ClassVar[str] = "neither"
    rows: ClassVar[str] = "queries"
    """What a row is: `queries`, `sessions` or `users`."""
    needs: ClassVar[frozenset[str]] = frozenset()
    """What has to be worked out for its rows: `shown`, `expected`, `sessions`, `similarity`, `repeats`, `words`,
    `absence`, `days`, `history`. See `log_rows`."""

    counts: ClassVar[tuple[Signal, ...]] = ()
    """What is counted in the events of a query."""
    requires: ClassVar[tuple[Evidence, ...]] = ()
    """Without these signals anywhere in the log, the measure is undefined: the log does not record them."""

    def signals(self) -> tuple[Signal, ...]:
        """What is counted in the events of a query, with the parameters of the measure."""
        return self.counts

    def evidence(self) -> tuple[Evidence, ...]:
        """What the log has to record, with the parameters of the measure."""
        return self.requires

    def numerator(self) -> nw.Expr:
        """What a row adds to the sum above the line: its first signal, unless a measure says otherwise."""
        return col(self.counts[0].name)

    def denominator(self) -> nw.Expr:
        """What a row adds to the sum below the line."""
        return lit(1)

    def terms(self) -> tuple[nw.Expr, nw.Expr]:
        """What a row adds above and below the line."""
        return self.numerator(), self.denominator()

    @property
    def is_share(self) -> bool:
        """Does it lie between 0 and 1?"""
        return "share" in self.unit or self.unit in RATES

    def note(self) -> str:
        """What a reader of the number must know; empty if its definition says everything."""
        return ""

    def __str__(self) -> str:
        values = {name: getattr(self, name) for name in self.declared()}
        cutoff = f"@{values.pop('k')}" if "k" in values else ""
        return full_name(self.name.removesuffix("@k"), changed(values, self.declared())) + cutoff

    @classmethod
    def declared(cls) -> dict[str, Setting]:
        """Its parameters: a field with the type `float` takes any number, one with `int` whole numbers."""
        number = {"float": float, "int": int}
        return {
            each.name: Setting(number.get(str(each.type), lambda value: value)(each.default)) for each in fields(cls)
        }

    @classmethod
    def summary(cls) -> str:
        """The first sentence of the docstring."""
        return (cls.__doc__ or "").partition("\n\n")[0].strip()

    @classmethod
    def formula(cls) -> str:
        """The formula in the docstring, in LaTeX."""
        match = re.search(r"\.\. math:: (.+?)\n\s*\n", cls.__doc__ or "", re.DOTALL)
        return " ".join(match[1].split()) if match else ""

    @classmethod
    def reference(cls) -> str:
        """The paper or the page of a book that the docstring names."""
        match = re.search(r"Reference: (.+?)(?:\n\s*\n|\Z)", cls.__doc__ or "", re.DOTALL)
        return " ".join(match[1].split()) if match else ""


class MeanOfRows(OnlineMeasure):
    """The mean of a number over the rows that have it."""

    def denominator(self) -> nw.Expr:
        return indicator(~self.numerator().is_null())


M = TypeVar("M", bound=type[OnlineMeasure])


def online_measure(cls: M) -> M:
    """Add a measure to the registry; its parameters are the fields of a frozen dataclass."""
    ONLINE_MEASURES.add(dataclass(frozen=True, repr=False)(cls))
    return cls


def parse_online(text: str | OnlineMeasure) -> OnlineMeasure:
    """The measure of a name such as `CTR@5` or `satisfied-clicks(seconds=20)`.

    >>> from cranfield.online.log_measures import parse_online
    >>> str(parse_online("ctr@5")), str(parse_online("satisfied-clicks(seconds=30)"))
    ('CTR@5', 'satisfied-clicks')
    """
    if isinstance(text, OnlineMeasure):
        return text
    written = read_name(text, "online measure", cutoffs=True)
    cls = ONLINE_MEASURES.find(written.name if written.cutoff is None else f"{written.name}@k")
    cutoff = {} if written.cutoff in (None, "k", "K") else {"k": written.cutoff}
    parameters = given_once(cls.name, written.parameters, cutoff)
    return cls(**checked_values(cls.name, parameters, cls.declared()))


def parse_online_many(names: Iterable[str | OnlineMeasure]) -> tuple[OnlineMeasure, ...]:
    """The measures of several names, each once."""
    return tuple(dict.fromkeys(map(parse_online, names)))


NO_DWELL = Evidence(DWELLS, "no click has a dwell time")
NO_TEXTS = Evidence(None, "no query has a text")
NO_HOVERS = Evidence(HOVERS, "no event has the action 'hover'")
NO_CONVERSIONS = Evidence(CONVERSIONS, "no event has the action 'conversion'")
NO_VALUES = Evidence(PRICED, "no conversion has a value")

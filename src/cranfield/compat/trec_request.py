"""Requested measures with their parameters, in the syntax of trec_eval, and their values as named columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.compat.trec_lists import TrecLists
from cranfield.compat.trec_measures import NICKNAMES, TABLE, Entry, Parameters, Setting, numbered, relstring
from cranfield.errors import UsageError
from cranfield.types import Array

SHARED = ("dcg", "ideal_dcg", "ndcg")
"""trec_eval 10 uses the same gains for these three: those of the last one that has gains, in table order."""


@dataclass(frozen=True, eq=False)
class Column:
    """The values of a measure with one parameter on every topic; `summary` as in the table."""

    name: str
    values: Array | list[str]
    summary: str


class Request:
    """The measures requested with -m, in table order, with their parameters."""

    def __init__(self, names: Iterable[str], dialect: int = 9) -> None:
        self.dialect = dialect
        self.known = {entry.name: entry for entry in TABLE if entry.since <= dialect}
        self.wanted: set[str] = set()
        self.typed: dict[str, str] = {}
        for name in names:
            self._add(name)
        self.parameters = {name: self._parsed(self.known[name]) for name in self.wanted}
        if dialect == 10:
            with_gains = [name for name in SHARED if name in self.wanted and name in self.typed]
            for name in SHARED:
                if with_gains and name in self.wanted:
                    self.parameters[name] = self.parameters[with_gains[-1]]

    def _add(self, text: str) -> None:
        name, dot, typed = text.partition(".")
        if dot and not typed:
            raise UsageError(f"measure {text!r}: no parameter after the dot")
        members = [member for member in NICKNAMES.get(name, (name,)) if member in self.known or name not in NICKNAMES]
        for member in members:
            if member not in self.known:
                raise UsageError(_unknown(member, self.dialect))
            self.wanted.add(member)
        if dot and name in self.known:
            self.typed.setdefault(name, typed)  # trec_eval keeps the first of several

    def _parsed(self, entry: Entry) -> Parameters:
        if entry.name not in self.typed or entry.takes == "none":
            return entry.defaults
        typed = self.typed[entry.name]
        if entry.takes == "gains":
            return _gain_pairs(entry.name, typed, self.dialect)
        if entry.takes == "cutoffs":
            cutoffs = [atol(item) for item in typed.split(",")]
            for cutoff in cutoffs:
                if cutoff < 1:
                    raise UsageError(f"{entry.name}.{typed}: cutoff == {cutoff}, must be 1 or more")
            return _sorted_once(entry.name, typed, cutoffs)
        numbers = [atof(item) for item in typed.split(",")]
        if entry.takes == "points":
            return _sorted_once(entry.name, typed, numbers)
        return tuple(numbers)

    def check_judgments(self, format: str, formats: Mapping[str, str]) -> None:
        """Refuse measures that need other judgments than the format has; `formats` says what each format holds."""
        holds = formats[format]
        for entry in self.known.values():
            if entry.name in self.wanted and entry.reads not in (holds, "any"):
                fitting = [other for other in formats if formats[other] == entry.reads]
                suited = {"qrels": "official", "groups": "qrels_jg", "preferences": "prefs"}[holds]
                raise UsageError(
                    f"measure {entry.name!r} needs judgments in the format {' or '.join(fitting)}, not {format}: "
                    f"add -R {fitting[0]}, or choose other measures (-m {suited})"
                )

    def columns(self, lists: TrecLists, setting: Setting, *, typed_names: bool = True) -> list[Column]:
        """The requested values on these lists; `typed_names=False` leaves the parameters as typed out of the names."""
        out: list[Column] = []
        for entry in TABLE:
            if entry.name not in self.wanted:
                continue
            parameters = self.parameters[entry.name]
            names = self._names(entry, typed_names)
            if entry.summary == "text":
                out.append(Column(names[0], relstring(lists, parameters[0]), "text"))
            elif entry.summary in ("runid", "num_q"):
                out.append(Column(entry.name, np.zeros(0), entry.summary))
            else:
                assert entry.compute is not None
                values = entry.compute(lists, setting, parameters)
                if entry.name != "G":  # 0/0 has the sign bit, the logarithm of a negative number does not
                    values = [np.where(np.isnan(value), -np.nan, value) for value in values]
                out.extend(Column(name, value, entry.summary) for name, value in zip(names, values, strict=True))
        return out

    def _names(self, entry: Entry, typed_names: bool) -> list[str]:
        if entry.takes == "cutoffs":
            return [f"{entry.name}_{cutoff}" for cutoff in self.parameters[entry.name]]
        if entry.takes == "points":
            return [f"{entry.name}_{point:3.2f}" for point in self.parameters[entry.name]]
        if entry.takes != "none" and entry.name in self.typed and typed_names:
            return [f"{entry.name}_{self.typed[entry.name]}"]
        return [entry.name]


def _unknown(name: str, dialect: int) -> str:
    if any(entry.name == name for entry in TABLE):
        return f"measure {name!r} is new in trec_eval 10, this is dialect {dialect}: add --dialect 10"
    return f"no measure {name!r}; -h lists the measures"


def _sorted_once(name: str, typed: str, numbers: list[Any]) -> Parameters:
    if len(set(numbers)) < len(numbers):
        raise UsageError(f"{name}.{typed}: the same cutoff appears twice")
    return tuple(sorted(numbers))


def _gain_pairs(name: str, typed: str, dialect: int) -> Parameters:
    pairs: list[tuple[float | str, float]] = []
    for item in typed.split(","):
        level, equals, gain = item.partition("=")
        if not equals or "=" in gain:
            raise UsageError(f"{name}.{typed}: {item!r} must be a pair such as 1=3")
        if dialect == 10 and not re.fullmatch(r"[-+]?\d+", level):
            pairs.append((level, atof(gain)))
        else:
            pairs.append((float(atol(level)), atof(gain)))
    return tuple(pairs) if name.startswith("rbp") else numbered(tuple(pairs))


WHOLE = re.compile(r"\s*([-+]?\d+)")
DECIMAL = re.compile(r"\s*([-+]?(?:inf(?:inity)?|nan|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?))", re.IGNORECASE)
HEXADECIMAL = re.compile(r"\s*([-+]?0x(?:[\da-f]+\.?[\da-f]*|\.[\da-f]+)(?:p[-+]?\d+)?)", re.IGNORECASE)


def atol(text: str) -> int:
    """The whole number at the start of a text, or 0, as in C.

    >>> atol("23.4"), atol("-3x"), atol("x")
    (23, -3, 0)
    """
    match = WHOLE.match(text)
    return int(match.group(1)) if match else 0


def atof(text: str) -> float:
    """The number at the start of a text, or 0, as in C.

    >>> atof(".5x"), atof("0x10"), atof("x")
    (0.5, 16.0, 0.0)
    """
    if match := HEXADECIMAL.match(text):
        return float.fromhex(match.group(1))
    match = DECIMAL.match(text)
    return float(match.group(1)) if match else 0.0

"""Names as people write them: any case, with or without `_` and `-`, with the cutoff attached, and everyday names."""

from __future__ import annotations

import re
from typing import NamedTuple

from cranfield.declared.registry import folded
from cranfield.measures.naming.known_names import names
from cranfield.measures.naming.trec_names import TAKES_NUMBERS, WITHOUT_PARAMETERS

EVERYDAY = {
    "hr": "Success",
    "hits": "Success",
    "hitratio": "Success",
    "f1": "F",
    "f1score": "F",
    "f1measure": "F",
    "fscore": "F",
    "fmeasure": "F",
    "rprecision": "Rprec",
    "averageprecision": "AP",
    "meanaverageprecision": "AP",
    "avgprec": "AP",
    "reciprocalrank": "RR",
    "meanreciprocalrank": "RR",
    "expectedreciprocalrank": "ERR",
    "rankbiasedprecision": "RBP",
    "discountedcumulativegain": "DCG",
    "normalizeddiscountedcumulativegain": "nDCG",
}
"""Names in everyday use that no paper or tool among the aliases has, folded."""

BETA_OR_CUTOFF = ("F", "E")
"""Measures after whose name a number could also be beta."""

_BY_INTENT = re.compile(r"(?:(d|din)([#♯]?)[-_])?(.+?)([-_]ia)?([#♯]?)", re.IGNORECASE)
_CUTOFF = re.compile(r"(.*?)[-_]*(\d{1,18})")
_LONGEST = 60


class Reading(NamedTuple):
    """What a loosely written name can mean: our name, and the cutoff that it contains."""

    name: str
    cutoff: int | None = None

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"


def readings(name: str) -> list[Reading]:
    """All that a name can mean if case, `_` and `-` are ignored and a number at its end is a cutoff.

    >>> list(map(str, readings("ndcg10"))), list(map(str, readings("ap11"))), readings("nothing")
    (['nDCG@10'], ['AP11', 'AP@11'], [])
    """
    if len(name) > _LONGEST:
        return []
    possible = [Reading(known) for known in _named(name)]
    number = _CUTOFF.fullmatch(name)
    if number and folded(name) not in EVERYDAY:
        base, cutoff = number[1], int(number[2])
        without_at = re.sub(r"[-_]*at$", "", base, flags=re.IGNORECASE)
        known_names = _named(base) or _named(without_at)
        possible += [Reading(known, cutoff) for known in known_names if _takes_cutoff(known)]
    return list(dict.fromkeys(possible))


def meanings(name: str) -> list[str]:
    """As `readings`, as names to write; a number that a tool or the literature reads otherwise has two meanings.

    >>> meanings("f2"), meanings("Rbp")
    (['F@2', 'F(beta=2)'], ['RBP', 'RBP(p=0.9)'])
    """
    texts: list[str] = []
    for reading in readings(name):
        texts.append(str(reading))
        if reading.cutoff is not None and reading.name in BETA_OR_CUTOFF:
            texts.append(f"{reading.name}(beta={reading.cutoff})")
        elif reading.cutoff is None and (other := _OTHER_DEFAULTS.get(folded(name))):
            texts.append(other)
        elif reading.cutoff is not None and (trec := _TREC_NUMBERS.get(re.sub(r"\d+$", "", folded(name)))):
            texts.append(f"{trec}.{reading.cutoff}")
    return texts


_OTHER_DEFAULTS = {folded(name): str(measure) for name, measure in WITHOUT_PARAMETERS.items()}
_TREC_NUMBERS = {folded(name): name for name in TAKES_NUMBERS}


def _named(name: str) -> list[str]:
    """The names of measures that are the same if case, `_` and `-` are ignored, with marks for intents."""
    if known := _folded_names().get(folded(name)):
        return known
    match = _BY_INTENT.fullmatch(name)
    if match is None or match[3] == name:
        return []
    prefix = f"{match[1].upper()}{match[2]}-" if match[1] else ""
    suffix = ("-IA" if match[4] else "") + match[5]
    return [f"{prefix}{known}{suffix}" for known in _folded_names().get(folded(match[3]), ())]


def _takes_cutoff(name: str) -> bool:
    kind = names().get(name)
    return kind is None or kind.cutoff_kind == "rank"


_folded: tuple[int, dict[str, list[str]]] = (0, {})


def _folded_names() -> dict[str, list[str]]:
    """Our names by their folded spellings; made again if a user has added a measure."""
    global _folded
    known = names()
    if _folded[0] != len(known):
        table: dict[str, list[str]] = {spelling: [name] for spelling, name in EVERYDAY.items()}
        for name, kind in known.items():
            own = table.setdefault(folded(name), [])
            if kind.name not in own:
                own.append(kind.name)
        _folded = (len(known), table)
    return _folded[1]

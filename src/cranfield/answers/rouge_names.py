"""Names of ROUGE measures: ROUGE-2, ROUGE-Lsum, ROUGE-W-1.2, ROUGE-SU4-R."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cranfield.errors import UsageError
from cranfield.text import shown

VALUES = ("R", "P", "F")
"""Recall, precision, and their weighted harmonic mean."""
DIALECTS = ("rouge-1.5.5", "paper")
KNOWN = ("ROUGE-1", "ROUGE-2", "ROUGE-L", "ROUGE-Lsum", "ROUGE-W-1.2", "ROUGE-S4", "ROUGE-S*", "ROUGE-SU4", "ROUGE-SU*")
DEFAULT = ("ROUGE-1", "ROUGE-2", "ROUGE-L", "ROUGE-Lsum")
_NAME = re.compile(
    r"rouge-?(?:(?P<n>[1-9]\d?)|(?P<lcs>lsum|l)|w(?:-?(?P<weight>\d+(?:\.\d+)?))?|s(?P<u>u?)(?P<skip>\d+|\*)?)"
    r"(?:[- ](?P<value>[rpf]))?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class RougeMeasure:
    """What is counted: n-grams (`N`), a common subsequence (`L`, `Lsum`, `W`) or skip-bigrams (`S`, `SU`).

    n: the words of an n-gram. skip: the most words between the two of a skip-bigram; None: any number. weight: a run of
    k consecutive matches is worth k to the power of this, for `W`.
    """

    kind: str
    n: int = 1
    skip: int | None = None
    weight: float = 1.2

    def __str__(self) -> str:
        if self.kind == "N":
            return f"ROUGE-{self.n}"
        if self.kind == "W":
            return f"ROUGE-W-{self.weight:g}"
        return f"ROUGE-{self.kind}" + (
            "" if self.kind in ("L", "Lsum") else "*" if self.skip is None else f"{self.skip}"
        )

    def unit(self, dialect: str) -> str:
        """What the core counts."""
        weighted = "weighted by sentence" if dialect == "rouge-1.5.5" else "weighted"
        return {
            "N": "ngram", "L": "subsequence", "Lsum": "subsequence by sentence", "W": weighted, "S": "skip-bigram",
            "SU": "skip-bigram and word",
        }[self.kind]  # fmt: skip


def parse_rouge(name: str) -> tuple[RougeMeasure, tuple[str, ...]]:
    """A measure and its values by name; without R, P or F at the end, all three.

    >>> measure, values = parse_rouge("ROUGE-SU4-R")
    >>> str(measure), values
    ('ROUGE-SU4', ('R',))
    >>> [str(parse_rouge(text)[0]) for text in ("rouge1", "rougeLsum", "ROUGE-W", "ROUGE-S")]
    ['ROUGE-1', 'ROUGE-Lsum', 'ROUGE-W-1.2', 'ROUGE-S*']
    """
    match = _NAME.fullmatch(name.strip())
    if match is None:
        raise UsageError(f"no measure {shown(name)}; there are {', '.join(KNOWN)}, each also with -R, -P or -F")
    values = (match["value"].upper(),) if match["value"] else VALUES
    if match["n"]:
        return RougeMeasure("N", n=int(match["n"])), values
    if match["lcs"]:
        return RougeMeasure("L" if match["lcs"].lower() == "l" else "Lsum"), values
    if match["u"] is not None:
        skip = None if match["skip"] in (None, "*") else int(match["skip"])
        return RougeMeasure("SU" if match["u"] else "S", skip=skip), values
    weight = float(match["weight"] or 1.2)
    if weight <= 1:
        raise UsageError(f"{name}: the weight is {weight:g}, must be above 1, so that longer runs are worth more")
    return RougeMeasure("W", weight=weight), values

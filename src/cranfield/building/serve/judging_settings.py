"""The settings of a judging project: the mode, the grades, and how documents are handed out."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from cranfield import check
from cranfield.errors import UsageError
from cranfield.text import shown

MODES = {
    "graded": "one grade for each document",
    "intents": "a grade for each intent of the topic",
    "dimensions": "a grade in each dimension, such as relevance and credibility",
    "preferences": "which of two documents or lists is better, side by side",
    "nuggets": "passages of the document, each attached to a nugget",
    "answers": "a grade for each nugget: does the answer contain it?",
}
"""{mode: what an assessor gives}."""
DEFAULT_GRADES = ((0.0, "not relevant"), (1.0, "relevant"), (2.0, "highly relevant"))
MODE_GRADES = {
    "answers": ((0.0, "not there"), (1.0, "partly"), (2.0, "fully")),
    "dimensions": ((0.0, "not at all"), (1.0, "partly"), (2.0, "fully")),
}
"""{mode: grades} where the usual ones do not fit: a document is not "highly relevant" in its credibility."""
ORDERS = {
    "own": "an order of its own for each assessor and topic, which tells nothing about the ranks of documents",
    "pool": "the order of the pool, or of the method that chooses documents: good ones are often first",
}
"""{order: in which the documents of a topic are offered}."""
SHARES = {
    "equal": "every topic gets the same number of documents",
    "adaptive": "half of the budget is shared equally; the rest goes to topics where relevant documents are found",
}
"""{share: how a budget is shared over topics}."""
MOST_GRADES = 10
"""Each grade has a key, 0 to 9."""
_DIMENSION = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class Settings:
    """How a project judges. The settings are kept in its database."""

    title: str = "Judgments"
    mode: str = "graded"
    grades: tuple[tuple[float, str], ...] = DEFAULT_GRADES
    """The value and meaning of each grade. The first has the key 0, and so on."""
    dimensions: tuple[str, ...] = ()
    overlap: int = 1
    """How many assessors judge each document."""
    budget: int | None = None
    """The most judgments that count; None: the whole pool."""
    per_topic: int | None = None
    """The most judgments of a topic that count; None: all documents of the topic, or its share of the budget."""
    share: str = "equal"
    """How the budget is shared over topics, one of `SHARES`."""
    order: str = "own"
    """The order of the documents of a topic, one of `ORDERS`."""
    gold_rate: float = 0.0
    """The share of offers that are documents with a known grade."""
    repeat_rate: float = 0.0
    """The share of offers that are documents that the assessor has already judged."""
    seed: int = 0
    lease: float = 900.0
    """Seconds that a document is kept for an assessor who does nothing."""
    search: bool = True
    """May assessors search the collection, and judge documents outside the pool?"""
    url: str | None = None
    """The address of a document, with `{doc}` for its id, if documents are pages of another server."""

    def check(self) -> None:
        """Raise an error for settings that make no sense."""
        check.one_of("", tuple(MODES), mode=self.mode)
        check.one_of("", tuple(ORDERS), order=self.order)
        check.one_of("", tuple(SHARES), share=self.share)
        check.whole("", overlap=self.overlap, budget=self.budget, per_topic=self.per_topic)
        for name, most in {"budget": self.budget, "per_topic": self.per_topic}.items():
            if most is not None and most < self.overlap:
                raise UsageError(
                    f"{name} == {most}, must be at least the overlap, {self.overlap}: judgments a document"
                )
        check.between("", low=0, high=0.5, gold_rate=self.gold_rate, repeat_rate=self.repeat_rate)
        check.positive("", lease=self.lease)
        if not 2 <= len(self.grades) <= MOST_GRADES:
            raise UsageError(f"grades: there are {len(self.grades)}, must be 2 to {MOST_GRADES}, one for each key")
        values = [value for value, _ in self.grades]
        if len(set(values)) < len(values):
            raise UsageError(f"grades == {', '.join(f'{value:g}' for value in values)}, must differ")
        if self.mode == "dimensions" and not self.dimensions:
            raise UsageError("dimensions: there are none; name them, such as relevance, credibility")
        for name in self.dimensions:
            if not _DIMENSION.fullmatch(name):
                raise UsageError(f"dimensions: name == {name!r}, must consist of letters, digits, '_', '.' and '-'")
        if len(set(self.dimensions)) < len(self.dimensions):
            raise UsageError(f"dimensions == {', '.join(self.dimensions)}, must differ")
        if self.url is not None and not re.match(r"https?://[^{}\s]+", self.url):
            raise UsageError(f"url == {shown(self.url)}, must begin with http:// or https:// and contain {{doc}}")

    def to_json(self) -> str:
        """All settings as text."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Settings from text; names that this version does not know are ignored."""
        known = {field.name for field in fields(cls)}
        values = {name: value for name, value in json.loads(text).items() if name in known}
        values["grades"] = tuple((float(value), str(label)) for value, label in values["grades"])
        values["dimensions"] = tuple(values["dimensions"])
        return cls(**values)

    def changed(self, **values: Any) -> Settings:
        """The settings with some of them replaced, checked; None leaves a setting as it is."""
        settings = replace(self, **{name: value for name, value in values.items() if value is not None})
        settings.check()
        return settings

    @property
    def values(self) -> tuple[float, ...]:
        """The values of the grades."""
        return tuple(value for value, _ in self.grades)


def read_grades(text: str) -> tuple[tuple[float, str], ...]:
    """Grades from text: their number, or their meanings, lowest first, or values with meanings.

    >>> read_grades("3")
    ((0.0, ''), (1.0, ''), (2.0, ''))
    >>> read_grades("no, yes")
    ((0.0, 'no'), (1.0, 'yes'))
    >>> read_grades("-2=spam, 0=no, 1=yes")
    ((-2.0, 'spam'), (0.0, 'no'), (1.0, 'yes'))
    """
    if text.strip().isdigit():
        return tuple((float(value), "") for value in range(int(text)))
    parts: Sequence[str] = [part.strip() for part in text.split(",")]
    if not all("=" in part for part in parts):
        return tuple((float(value), part) for value, part in enumerate(parts))
    grades = []
    for part in parts:
        value, _, label = part.partition("=")
        try:
            grades.append((float(value), label.strip()))
        except ValueError:
            raise UsageError(f"grades: {part!r}, must be a number, '=' and a meaning, such as 1=relevant") from None
    return tuple(grades)

"""How a project judges: its settings, what its mode asks of an assessor for a document, and what a judgment holds.

In most modes an assessor gives grades: one for the document, or one for each intent, dimension or nugget (the *rows* of
the page). In the others an assessor chooses between two documents, or marks passages.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any, TypedDict

from cranfield.collection.topics import Subtopic, Topic
from cranfield.declared.operation import about, check_setting, declared_settings
from cranfield.errors import UsageError
from cranfield.text import listed, shown

LIST_DEPTH = 10
"""Documents of a list that are shown when two lists are compared."""


@dataclass(frozen=True)
class Document:
    """A document to show. `kind` is `text`, `html`, `image` or `missing`; `extra` has the path of an image."""

    id: str
    title: str = ""
    text: str = ""
    kind: str = "text"
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class PoolEntry:
    """A document to judge. `audit` is the trail of the pool: runs, ranks, stratum; assessors never see it."""

    topic: str
    doc: str
    audit: Mapping[str, Any]
    source: str = "pool"
    query: str | None = None


@dataclass(frozen=True)
class Facet:
    """An intent or a nugget of a topic."""

    topic: str
    kind: str
    """`intent` or `nugget`."""
    id: str
    text: str = ""
    type: str = ""
    """For an intent, `inf` or `nav`; for a nugget, `vital` or `okay`, or empty."""
    weight: float | None = None
    """The probability of an intent, or the weight of a nugget."""


def topic_record(topic: Topic) -> dict[str, Any]:
    """A topic as the database keeps it."""
    texts = {name: getattr(topic, name) for name in ("id", "title", "description", "narrative", "lang")}
    subtopics = [{"number": sub.number, "text": sub.text, "type": sub.type} for sub in topic.subtopics]
    return {**texts, "subtopics": subtopics}


def topic_of(record: Mapping[str, Any]) -> Topic:
    """A topic from what the database keeps."""
    subtopics = tuple(Subtopic(sub["number"], sub["text"], sub["type"]) for sub in record["subtopics"])
    texts = {name: record[name] for name in ("id", "title", "description", "narrative", "lang")}
    return Topic(**texts, subtopics=subtopics)


def intents_of(topic: Topic) -> list[Facet]:
    """The subtopics of a topic as intents."""
    return [Facet(topic.id, "intent", sub.number, sub.text, _type(sub.type), _weight(sub)) for sub in topic.subtopics]


def _type(text: str) -> str:
    return {"navigational": "nav", "informational": "inf"}.get(text.lower(), text.lower())


def _weight(subtopic: Subtopic) -> float | None:
    try:
        return float(subtopic.fields.get("probability", ""))
    except (TypeError, ValueError):
        return None


def list_key(topic: str, name: str) -> str:
    """Where the documents of a list are kept."""
    return f"list/{topic}/{name}"


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


class JudgingSettings(TypedDict, total=False):
    """How a project judges, where that is said anew; what is None stays as it is in the database."""

    title: Annotated[str | None, about("The name of the project.", None, spelled="--title TEXT", rare=True)]
    mode: Annotated[str | None, about("What is judged: {names}.", None, choices=tuple(MODES), spelled="--mode MODE")]
    grades: Annotated[
        str | Sequence[tuple[float, str]] | None,
        about(
            "The grades: their number, or their meanings, lowest first: 'not relevant, relevant'.",
            None,
            spelled="--grade-names LIST",
        ),
    ]
    dimensions: Annotated[
        Sequence[str] | None,
        about(
            "The dimensions of mode dimensions, with commas.",
            None,
            spelled="--dimensions LIST",
            rare=True,
            solves="dimensions: there are none",
        ),
    ]
    overlap: Annotated[int | None, about("How many assessors judge each document; default: 1.", None, least=1)]
    budget: Annotated[
        int | None,
        about("The most judgments, divided evenly over topics; default: the whole pool.", None, least=1),
    ]
    most_per_topic: Annotated[int | None, about("The most judgments of a topic.", None, least=1)]
    share: Annotated[
        str | None,
        about(
            "How --budget is shared over topics: {names}; default: equal. With adaptive, half of it goes to topics "
            "where relevant documents are found.",
            None,
            choices=tuple(SHARES),
            spelled="--sharing RULE",
            rare=True,
        ),
    ]
    order: Annotated[
        str | None,
        about(
            "The order of the documents of a topic: {names}; default: own, an order of its own for each assessor, "
            "which does not tell the rank.",
            None,
            choices=tuple(ORDERS),
            spelled="--document-order NAME",
            rare=True,
        ),
    ]
    gold_rate: Annotated[
        float | None,
        about("The share of gold documents among those offered.", None, least=0, most=0.5, rare=True),
    ]
    repeat_rate: Annotated[
        float | None,
        about("The share of documents that an assessor gets a second time.", None, least=0, most=0.5, rare=True),
    ]
    seed: Annotated[int | None, about("Seed of the random numbers; default: 0.", None, least=0, rare=True)]
    lease: Annotated[
        float | None,
        about(
            "Seconds that a document is kept for somebody who does nothing; default: 900.",
            None,
            above=0,
            spelled="--lease S",
            rare=True,
        ),
    ]
    search: bool | None


@dataclass(frozen=True)
class Settings:
    """How a project judges, see `JudgingSettings`. The settings are kept in its database."""

    title: str = "Judgments"
    mode: str = "graded"
    grades: tuple[tuple[float, str], ...] = DEFAULT_GRADES
    """The value and meaning of each grade. The first has the key 0, and so on."""
    dimensions: tuple[str, ...] = ()
    overlap: int = 1
    budget: int | None = None
    most_per_topic: int | None = None
    share: str = "equal"
    order: str = "own"
    gold_rate: float = 0.0
    repeat_rate: float = 0.0
    seed: int = 0
    lease: float = 900.0
    search: bool = True
    """May assessors search the collection, and judge documents outside the pool?"""
    url: str | None = None
    """The address of a document, with `{doc}` for its id, if documents are pages of another server."""

    def check(self) -> None:
        """Raise an error for settings that make no sense."""
        for name, setting in declared_settings(JudgingSettings).items():
            if name not in ("grades", "dimensions"):
                check_setting("", name, getattr(self, name), setting)
        for name, most in {"budget": self.budget, "most_per_topic": self.most_per_topic}.items():
            if most is not None and most < self.overlap:
                raise UsageError(
                    f"{name} == {most}, must be at least the overlap, {self.overlap}: judgments a document"
                )
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


PREFERRED = {"first": 1.0, "second": -1.0, "tie": 0.0}
"""What an assessor prefers, and the number that stands for it where judgments are compared."""
MOST_SPANS = 1_000


@dataclass(frozen=True)
class RowToGrade:
    """A line of the page that wants a grade."""

    id: str
    label: str
    help: str = ""


@dataclass(frozen=True)
class Answer:
    """A judgment in the form that the log keeps."""

    grade: float | None
    payload: Mapping[str, Any] | None = None


def facet_kind(mode: str) -> str | None:
    """The kind of facets that a mode works with."""
    return {"intents": "intent", "nuggets": "nugget", "answers": "nugget"}.get(mode)


def rows_to_grade(settings: Settings, facets: Sequence[Facet]) -> list[RowToGrade]:
    """The lines that want a grade; empty in modes without grades."""
    if settings.mode == "graded":
        return [RowToGrade("", "relevance")]
    if settings.mode == "dimensions":
        return [RowToGrade(name, name) for name in settings.dimensions]
    if settings.mode in ("intents", "answers"):
        return [RowToGrade(facet.id, facet.text or facet.id, facet.type) for facet in facets]
    return []


def left_is_first(settings: Settings, assessor: str, topic: str, doc: str) -> bool:
    """Which of two documents is on the left: as good as random, and always the same for an assessor."""
    return random.Random(f"{settings.seed}/{assessor}/{topic}/{doc}").random() < 0.5


def read_answer(
    settings: Settings, body: Mapping[str, Any], facets: Sequence[Facet], *, text: str = "", flipped: bool = False
) -> Answer:
    """Check what the page sends, and put it into the form of the log.

    text: the document, whose passages spans refer to. flipped: the second of two documents is on the left.
    """
    if settings.mode == "graded":
        return Answer(_grade(settings, body.get("grade"), "grade"))
    if settings.mode == "preferences":
        side = body.get("preferred")
        sides = {"left": "second" if flipped else "first", "right": "first" if flipped else "second", "tie": "tie"}
        if side not in sides:
            raise UsageError(f"preferred == {shown(side)}, must be left, right or tie")
        return Answer(PREFERRED[sides[side]], {"preferred": sides[side]})
    if settings.mode == "nuggets":
        return _spans(body.get("spans"), {facet.id for facet in facets}, text)
    rows = [row.id for row in rows_to_grade(settings, facets)]
    sent = body.get("grades")
    if not isinstance(sent, Mapping) or set(sent) != set(rows):
        names = listed(sent) if isinstance(sent, Mapping) else "none"
        raise UsageError(f"grades are given for {names or 'none'}, must be for {listed(rows, most=20)}")
    grades = {name: _grade(settings, sent[name], name) for name in rows}
    main = grades["relevance"] if "relevance" in grades else max(grades.values(), default=0.0)
    return Answer(main, {"grades": grades})


def _grade(settings: Settings, value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in settings.values:
        allowed = ", ".join(f"{grade:g}" for grade in settings.values)
        raise UsageError(f"{name} == {shown(value)}, must be one of {allowed}")
    return float(value)


def _spans(sent: Any, nuggets: set[str], text: str) -> Answer:
    """Passages by nugget: {nugget, start, end}, in characters of the text, end not included."""
    if not isinstance(sent, list) or len(sent) > MOST_SPANS:
        raise UsageError(f"spans == {shown(sent)}, must be a list of at most {MOST_SPANS:,}")
    spans = set()
    for span in sent:
        nugget, start, end = (
            span.get(name) if isinstance(span, Mapping) else None for name in ("nugget", "start", "end")
        )
        if nugget not in nuggets:
            raise UsageError(f"a passage is attached to {shown(nugget)}, which is not a nugget of the topic")
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
            raise UsageError(f"a passage goes from {shown(start)} to {shown(end)}, must be within 0 and {len(text):,}")
        spans.add((start, end, str(nugget)))
    payload = [{"nugget": nugget, "start": start, "end": end} for start, end, nugget in sorted(spans)]
    return Answer(float(len({nugget for _, _, nugget in spans})), {"spans": payload})

"""The modes of judging: what an assessor is asked for a document, and what a judgment holds.

In most modes an assessor gives grades: one for the document, or one for each intent, dimension or nugget (the *rows* of
the page). In the others an assessor chooses between two documents, or marks passages.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cranfield.building.serve.judging_settings import Settings
from cranfield.building.serve.project_parts import Facet
from cranfield.building.serve.store import Store
from cranfield.errors import UsageError
from cranfield.text import listed, shown

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
    given = body.get("grades")
    if not isinstance(given, Mapping) or set(given) != set(rows):
        names = listed(given) if isinstance(given, Mapping) else "none"
        raise UsageError(f"grades are given for {names or 'none'}, must be for {listed(rows, most=20)}")
    grades = {name: _grade(settings, given[name], name) for name in rows}
    main = grades["relevance"] if "relevance" in grades else max(grades.values(), default=0.0)
    return Answer(main, {"grades": grades})


def _grade(settings: Settings, value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in settings.values:
        allowed = ", ".join(f"{grade:g}" for grade in settings.values)
        raise UsageError(f"{name} == {shown(value)}, must be one of {allowed}")
    return float(value)


def _spans(given: Any, nuggets: set[str], text: str) -> Answer:
    """Passages by nugget: {nugget, start, end}, in characters of the text, end not included."""
    if not isinstance(given, list) or len(given) > MOST_SPANS:
        raise UsageError(f"spans == {shown(given)}, must be a list of at most {MOST_SPANS:,}")
    spans = set()
    for span in given:
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


def need_facets(store: Store, settings: Settings) -> None:
    """Raise an error if a topic lacks the intents or nuggets that the mode works with."""
    kind = facet_kind(settings.mode)
    if kind is None or settings.mode == "nuggets":  # assessors may add nuggets
        return
    described = {facet.topic for facet in store.facets(kind)}
    pooled = [topic for (topic,) in store.database.read("SELECT DISTINCT topic FROM pool ORDER BY topic")]
    without = [topic for topic in pooled if topic not in described]
    if without:
        raise UsageError(
            f"mode {settings.mode}: no {kind}s for topic {listed(without)}; add subtopics to the topics, or give a "
            f"file of {kind}s with lines of topic, {kind}, text"
        )

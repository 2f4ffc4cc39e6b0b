"""Judgments from clicks: what a click model says about documents, as expected grades with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.qrels import Qrels
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.notes import caution_note, method_note
from cranfield.online.clicks.click_kinds import ATTRACTIVENESS, PAIR, RELEVANCE
from cranfield.online.clicks.click_model import ClickModel
from cranfield.record import Record, column
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

FEW = 10
"""Documents shown fewer times are marked."""


@dataclass(frozen=True, eq=False, repr=False)
class ClickJudgments(Record):
    """An expected grade for every document that a click model has seen, with its interval."""

    facts = ("model", "parameter", "top", "level", "least")

    model: str
    parameter: str
    """The parameter of the model that the grades are made of."""
    topic: Annotated[NDArray[Any], column()]
    doc: Annotated[NDArray[Any], column()]
    grade: Annotated[Array, column()]
    low: Annotated[Array, column()]
    high: Annotated[Array, column()]
    shown: Annotated[Index64, column("impressions")]
    clicked: Annotated[Index64, column("clicks")]
    few: Annotated[NDArray[np.bool_], column()]
    """Shown fewer than `least` times."""
    top: float
    level: float | None
    least: int
    notes: tuple[str, ...] = ()

    @property
    def caption(self) -> str:
        return f"Judgments from clicks: {self.parameter} of {self.model}"

    def to_qrels(self) -> Qrels:
        """Judgments for our measures."""
        rows = zip(self.topic.tolist(), self.doc.tolist(), self.grade.tolist(), strict=True)
        return Qrels.from_tuples(rows, name=f"{self.model}-clicks")


@operation
def click_judgments(
    model: ClickModel,
    parameter: Annotated[
        str | None,
        about(
            "What grades are made of: {names}; default: relevance (the product of the others) if the model has it, "
            "otherwise attractiveness.",
            choices=("attractiveness", "satisfaction", "relevance"),
        ),
    ] = None,
    *,
    top: Annotated[
        float, about("The grade of a document that is relevant for sure.", above=0, spelled="--top-grade GRADE")
    ] = 1.0,
    whole: Annotated[bool, about("Round grades to whole numbers; otherwise they are expected grades.")] = False,
    least: Annotated[
        int, about("Mark documents that were shown fewer than N times: their grade is mostly the prior.", least=0)
    ] = FEW,
    leave_out_few: Annotated[bool, about("Leave these documents out.")] = False,
    topics: Mapping[str, str] | None = None,
) -> ClickJudgments:
    """Turn what a click model knows about documents into grades: probability × top.

    topics: {topic: query}, to write ids of topics instead of queries. Queries that are not among them are left out.

    >>> from cranfield.online.clicks import Pages, fit_clicks
    >>> pages = Pages.of(["cats"] * 4, [["d1", "d2"]] * 4, [[1, 0], [1, 0], [0, 1], [0, 0]])
    >>> click_judgments(fit_clicks(pages, "DCTR", prior=(0, 0)), top=2).to_qrels().to_dict()
    {'cats': {'d1': 1.0, 'd2': 0.5}}
    """
    own = [name for name, scope in model.kind.parameters.items() if scope == PAIR]
    if not own:
        raise UsageError(f"{model.model} says nothing about documents, so there are no judgments; fit another model")
    chosen = parameter or (RELEVANCE if RELEVANCE in own else ATTRACTIVENESS)
    if chosen not in own:
        raise UsageError(f"{model.model} has no {chosen} of documents; it has {', '.join(own)}")
    estimates, names = model.values[chosen], model.names
    few = model.shown < least
    keep = ~few if leave_out_few else np.ones(len(few), dtype=bool)
    notes = []
    if few.any():
        what = "left out" if leave_out_few else "marked"
        notes.append(
            caution_note(f"{counted(int(few.sum()), 'document')} shown fewer than {counted(least, 'time')}, {what}")
        )
    topic = np.array(names.queries, dtype=object)[names.query] if len(names) else np.zeros(0, dtype=object)
    if topics is not None:
        topic, known, more = _as_topics(names.queries, names.query, topics)
        keep &= known
        notes += more
    if not keep.any():
        raise UsageError(f"no documents are left: {'; '.join(notes)}")
    if model.converged is False:
        notes.append(caution_note(f"{model.model} did not converge when it was fitted"))
    grade, low, high = (top * end[keep] for end in (estimates.value, estimates.low, estimates.high))
    if whole:
        grade, low, high = np.round(grade), np.round(low), np.round(high)
        notes.append(method_note("grades are rounded to whole numbers"))
    return ClickJudgments(
        model.model, chosen, topic[keep], names.doc[keep], grade, low, high, model.shown[keep].astype(np.int64),
        model.clicked[keep].astype(np.int64), few[keep], top, model.level, least, tuple(notes),
    )  # fmt: skip


def _as_topics(
    queries: tuple[str, ...], query: Index64, topics: Mapping[str, str]
) -> tuple[NDArray[Any], NDArray[np.bool_], list[str]]:
    """The topic of each pair, whether it has one, and notes."""
    ids: dict[str, str] = {}
    for topic, text in topics.items():
        if text in ids:
            raise UsageError(f"topics {ids[text]!r} and {topic!r} have the same query {text!r}; leave out one of them")
        ids[text] = topic
    of_query = np.array([ids.get(text, "") for text in queries], dtype=object)
    missing = [text for text in queries if text not in ids]
    if len(missing) == len(queries):
        raise UsageError(f"no query of the model is among the topics; the first query is {queries[0]!r}")
    notes = []
    if missing:
        notes.append(
            caution_note(
                f"{counted(len(missing), 'query', 'queries')} without a topic, left out: {listed(missing, most=3)}"
            )
        )
    chosen = of_query[query]
    return chosen, np.asarray(chosen != "", dtype=bool), notes

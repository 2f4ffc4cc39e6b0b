"""One click access: S-measure, T-measure and their kin, from iUnits and where they end in an output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.answers.answer_texts import (
    ANSWER,
    END,
    NUGGET,
    RUN,
    START,
    TOPIC,
    Answer,
    AnswerTable,
    Name,
    Row,
    TextsOfRuns,
    optional,
)
from cranfield.answers.nugget_scores import characters, f_measure
from cranfield.answers.passages import Counter, overlapping, span_of
from cranfield.collection.source import PathLike
from cranfield.collection.tables.table_schema import Anything, Numbers
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.record import Record, column
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed, shown
from cranfield.types import Array

MEASURES = ("S", "T", "S-flat", "T-flat", "S#")
_SPELLED = {name.lower(): name for name in MEASURES} | {"s♭": "S-flat", "t♭": "T-flat", "s♯": "S#"}


IUNITS = AnswerTable(
    "topic iunit weight vital_string", key=("topic", "iunit"), topic=TOPIC, iunit=NUGGET,
    weight=Numbers(least=0), vital_string=Name(("vital_string", "vital", "vs", "text")),
)  # fmt: skip
SPANS = AnswerTable(
    "topic iunit run start end [text]", any_of=("run", "answer"), topic=TOPIC, iunit=NUGGET, run=optional(RUN),
    answer=optional(ANSWER), start=START, end=END, span_text=Anything(("span_text", "text", "passage"), default=None),
)  # fmt: skip


@dataclass(frozen=True)
class IUnit:
    """A piece of information, with its weight and the shortest text that conveys it."""

    id: str
    weight: float
    vital_string: str


IUnits = Mapping[str, Mapping[str, IUnit]]
"""{topic: {id: iUnit}}."""
Ends = Mapping[str, Mapping[str, Mapping[str, int]]]
"""{run: {topic: {iUnit: the end of its first span, in characters of the output}}}."""


def read_iunits(path: PathLike) -> dict[str, dict[str, IUnit]]:
    """iUnits: rows of topic, iunit (or nugget), weight and vital_string; without that column, the text is used."""
    units: dict[str, dict[str, IUnit]] = {}
    for topic, id, weight, vital_string in IUNITS.read(path):
        units.setdefault(topic, {})[id] = IUnit(id, float(weight), vital_string)
    return units


def read_ends(
    path: PathLike, units: IUnits, answers: Sequence[Answer], *, offsets: str = "characters"
) -> tuple[dict[str, dict[str, dict[str, int]]], list[str]]:
    """Where iUnits end in outputs: rows of topic, iunit, run (or doc, as `judge export` names outputs), start and end.

    The first end counts if an iUnit was found several times. Returns notes about repeated and overlapping spans, too.
    offsets: what start and end count, from 0: `characters` or `bytes`.
    """
    by_id = {answer.id: answer for answer in answers if answer.id}
    by_run = {(answer.run, answer.topic): answer for answer in answers}
    ends: dict[str, dict[str, dict[str, int]]] = {}
    spans: dict[tuple[str, str], set[tuple[int, int]]] = {}
    again = 0
    for row in SPANS.each(path):
        topic, id = row["topic"], row["iunit"]
        if topic not in units:
            raise row.fault(f"topic {shown(topic)} has no iUnits; the topics are {listed(units)}")
        if id not in units[topic]:
            raise row.fault(f"no iUnit {shown(id)} in topic {shown(topic)}; it has {listed(units[topic])}")
        answer = _answer(row, topic, by_id, by_run)
        span = span_of(row, answer.text, offsets)
        of_topic = ends.setdefault(answer.run, {}).setdefault(topic, {})
        again += id in of_topic
        of_topic[id] = min(span[1], of_topic.get(id, span[1]))
        spans.setdefault((answer.run, topic), set()).add(span)
    notes = []
    if again:
        notes.append(f"{counted(again, 'further span')} of an iUnit that was found before; the first end counts")
    if overlaps := sum(map(overlapping, spans.values())):
        notes.append(f"{counted(overlaps, 'span')} overlapping with another; all count")
    return ends, notes


def _answer(row: Row, topic: str, by_id: Mapping[str, Answer], by_run: Mapping[tuple[str, str], Answer]) -> Answer:
    name = row["run"] or row.checked("answer", ANSWER)
    answer = by_run.get((name, topic)) if row.has("run") else by_id.get(name) or by_run.get((name, topic))
    if answer is None:
        known = sorted({run for run, _ in by_run}) if row.has("run") or not by_id else list(by_id)
        raise row.fault(f"there is no output of {shown(name)} for topic {shown(topic)}; there are {listed(known)}")
    if answer.topic != topic:
        raise row.fault(f"output {shown(name)} is of topic {shown(answer.topic)}, not of {shown(topic)}")
    return answer


def minimal_output(units: Iterable[IUnit], white_space: bool = True) -> list[tuple[IUnit, int]]:
    """The pseudo minimal output: iUnits in their order, each with the end of its vital string.

    Vital strings are put one after the other, those of the highest weight first, and the shortest of these first.

    >>> units = [IUnit("a", 1, "born 6/18/1942"), IUnit("b", 3, "bass"), IUnit("c", 1, "Liverpool")]
    >>> [(unit.id, end) for unit, end in minimal_output(units)]
    [('b', 4), ('c', 13), ('a', 27)]
    """
    ordered = sorted(units, key=lambda unit: (-unit.weight, characters(unit.vital_string, white_space), unit.id))
    ends = np.cumsum([characters(unit.vital_string, white_space) for unit in ordered]).tolist()
    return list(zip(ordered, ends, strict=True))


@operation
def one_click_scores(
    texts: TextsOfRuns,
    units: IUnits,
    ends: Ends,
    measures: Iterable[str] = MEASURES,
    *,
    patience: Annotated[
        float, about("After this many characters, nothing is worth anything.", above=0, spelled="--patience L")
    ] = 1000.0,
    beta: Annotated[float, about("In S#, S counts B times as much as T.", above=0, spelled="--beta B")] = 1.0,
    white_space: Annotated[bool, about("Count white space in positions and lengths.")] = True,
    notes: Sequence[str] = (),
) -> Scores:
    r"""S-measure, T-measure and their combination for outputs of one click access systems.

    .. math:: S = \frac{\sum_{v \in V} w(v) \max(0, L - pos(v))}{\sum_{v \in V^*} w(v) \max(0, L - pos^*(v))}, \quad
              T = \frac{\sum_{v \in V} |vs(v)|}{l}, \quad
              S\sharp = \frac{(1 + \beta^2) T\flat S\flat}{\beta^2 T\flat + S\flat}

    pos(v) is where the iUnit v ends in the output, and :math:`pos^*(v)` where it ends in the pseudo minimal output,
    both in characters; L is the `patience` of the reader in characters; |vs(v)| is the length of the vital string,
    and l that of the output. `S-flat` and `T-flat` are S and T, cut off at 1, which they can exceed.

    white_space: does it count in positions and lengths?
    A topic without iUnits of positive weight is undefined in S and S#; an empty output has T = 0.
    Reference: Sakai, Kato & Song, Click the Search Button and Be Happy, CIKM 2011, doi:10.1145/2063576.2063668; Sakai &
    Kato, One Click One Revisited, AIRS 2012

    >>> units = {"1": {"a": IUnit("a", 2, "bass"), "b": IUnit("b", 1, "Liverpool")}}
    >>> one_click_scores({"mine": {"1": "He was born in Liverpool."}}, units, {"mine": {"1": {"b": 24}}})
    Scores: 5 measures × 1 run × 1 topic
               S       T  S-flat  T-flat      S#
    mine  0.3276  0.3600  0.3276  0.3600  0.3431
    L = 1000 characters; white space counts
    S#: β = 1
    """
    names = list(dict.fromkeys(map(_spelled, measures)))
    topics, runs = list(units), list(texts)
    if not topics:
        raise UsageError("no iUnits")
    values, missing = np.zeros((len(names), len(runs), len(topics))), np.zeros((len(runs), len(topics)), dtype=bool)
    for r, run in enumerate(runs):
        for t, topic in enumerate(topics):
            text = texts[run].get(topic)
            missing[r, t] = text is None
            row = _of_output(text or "", units[topic], ends.get(run, {}).get(topic, {}), patience, beta, white_space)
            values[:, r, t] = [row[name] for name in names]
    how = f"L = {patience:g} characters; white space {'counts' if white_space else 'does not count'}"
    more = [f"S#: β = {beta:g}"] if "S#" in names else []
    empty = [
        f"{run}: {topic}" for run in runs for topic, text in texts[run].items() if topic in units and not text.strip()
    ]
    if empty:
        more.append(f"{counted(len(empty), 'empty output')}, scored 0: {listed(empty)}")
    return Scores(names, runs, topics, values, missing, "zero", [how, *more, *notes])


def _spelled(name: str) -> str:
    known = _SPELLED.get(name.strip().lower())
    if known is None:
        raise check.nearest(name, MEASURES, "measure")
    return known


def _of_output(
    text: str, units: Mapping[str, IUnit], ends: Mapping[str, int], patience: float, beta: float, white_space: bool
) -> dict[str, float]:
    counter = Counter(text, white_space)
    gained = sum(units[id].weight * max(0.0, patience - counter.upto(end)) for id, end in ends.items())
    best = sum(unit.weight * max(0.0, patience - end) for unit, end in minimal_output(units.values(), white_space))
    length = characters(text, white_space)
    s = gained / best if best > 0 else np.nan
    t = sum(characters(units[id].vital_string, white_space) for id in ends) / length if length else 0.0
    flat = {"S-flat": min(1.0, s) if s == s else s, "T-flat": min(1.0, t)}
    sharp = f_measure(flat["T-flat"], flat["S-flat"], beta) if s == s else np.nan
    return {"S": s, "T": t, **flat, "S#": sharp}


@dataclass(frozen=True, eq=False, repr=False)
class IUnitPositions(Record):
    """The iUnits of a topic in the order of the pseudo minimal output, and where they end in an output."""

    facts = ("run", "topic")

    run: str
    topic: str
    ids: Annotated[tuple[str, ...], column("iunit")]
    weight: Annotated[Array, column()]
    vital_strings: Annotated[tuple[str, ...], column("vital string")]
    ideal_end: Annotated[NDArray[np.int64], column()]
    ideal_gain: Annotated[Array, column()]
    end: Annotated[Array, column()]
    """NaN: not found."""
    gain: Annotated[Array, column()]
    notes: tuple[str, ...]


def explain_one_click(
    text: str,
    units: IUnits,
    ends: Mapping[str, int],
    topic: str,
    *,
    patience: float = 1000,
    white_space: bool = True,
    run: str = "system",
) -> IUnitPositions:
    """What each iUnit of a topic adds to the S-measure of an output, and what it could add."""
    if topic not in units:
        raise check.nearest(topic, list(units), "topic")
    minimal = minimal_output(units[topic].values(), white_space)
    counter = Counter(text, white_space)
    end = np.array(
        [counter.upto(ends[unit.id]) if unit.id in ends else np.nan for unit, _ in minimal], dtype=np.float64
    )
    weight = np.array([unit.weight for unit, _ in minimal])
    ideal = np.array([at for _, at in minimal], dtype=np.int64)
    gain = np.nan_to_num(weight * np.maximum(0, patience - end))
    ideal_gain = weight * np.maximum(0, patience - ideal)
    below = ideal_gain.sum()
    note = f"S = {gain.sum():g}/{below:g}" + (f" = {gain.sum() / below:.4f}" if below else ", undefined")
    return IUnitPositions(
        run, topic, tuple(unit.id for unit, _ in minimal), weight,
        tuple(unit.vital_string for unit, _ in minimal), ideal, ideal_gain, end, gain,
        (note, f"gain: weight × (L − end), L = {patience:g}"),
    )  # fmt: skip

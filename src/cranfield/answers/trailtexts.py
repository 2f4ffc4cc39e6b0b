"""Any text that users have read, string by string: scores by U-measure, whatever they did to read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from cranfield import check
from cranfield.answers.answer_texts import RUN, TEXT, TOPIC, AnswerTable, Name, optional, optional_number
from cranfield.collection.source import PathLike, expand, shown_path, stem
from cranfield.collection.tables.table_schema import Numbers
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import as_measures
from cranfield.measures.readers.time import Trailtext, U
from cranfield.notes import method_note
from cranfield.record import Record, column
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed
from cranfield.types import Array

STRINGS = AnswerTable(
    "topic gain length [text] [string] [run]", any_of=("length", "text"), topic=TOPIC,
    gain=Numbers(("gain", "grade", "weight", "value")), length=optional_number("length", "characters", least=0),
    text=TEXT, string=optional(Name(("string", "what", "string_name"))), run=optional(RUN),
)  # fmt: skip
Trailtexts = Mapping[str, Mapping[str, Trailtext]]
"""{run: {topic: the text that was read}}."""


def read_trailtexts(paths: PathLike | Iterable[PathLike]) -> dict[str, dict[str, Trailtext]]:
    """Trailtexts: a row for each string, in the order in which they were read.

    The columns are topic (or a session), gain, and length in characters or text, of which the characters are counted;
    and perhaps string (its name, such as `snippet 1`) and run, unless it is named after the file.
    """
    read: dict[str, dict[str, list[tuple[float, float, str]]]] = {}
    for path in expand([paths] if isinstance(paths, str) or not isinstance(paths, Iterable) else paths):
        rows = STRINGS.read(path)
        for at, (topic, gain, length, text, string, run) in enumerate(rows):
            if np.isnan(length):
                if not isinstance(text, str):
                    raise rows.fault(at, "a string has neither a length nor a text")
                length = float(len(text))
            strings = read.setdefault(run or stem(path), {}).setdefault(topic, [])
            strings.append((float(length), float(gain), string or f"string {len(strings) + 1}"))
    if not read:
        raise UsageError("no trailtexts")
    return {
        run: {topic: Trailtext(*zip(*strings, strict=True)) for topic, strings in topics.items()}
        for run, topics in read.items()
    }


def as_trail_measures(measures: Iterable[U | str]) -> list[U]:
    """U-measures, by their names, such as `U(L=1000)`."""
    chosen = as_measures(list(measures))
    for measure in chosen:
        if not isinstance(measure, U) or measure.k is not None or measure.views:
            raise UsageError(f"{measure}: a trailtext has no ranks or judgments, so only U can score it, as U(L=1000)")
    return [measure for measure in chosen if isinstance(measure, U)]


@operation
def trailtext_scores(
    trailtexts: Trailtexts,
    measures: Iterable[U | str] = ("U",),
    *,
    ideal: Annotated[
        Mapping[str, Trailtext] | None,
        about("Trailtexts to divide by, one for each topic: what a user would best read.", spelled="--ideal FILE"),
    ] = None,
) -> Scores:
    r"""U-measure of any text that was read: summaries, result pages, ranked lists, sessions (Sakai 2014 Fig. 4).

    .. math:: U = \frac{1}{N} \sum_k g(s_k)\, D(pos(s_k)), \quad pos(s_k) = \sum_{j \le k} |s_j|

    The gain of a string counts at its end. D and N are those of `U`: its parameters are L (or decay and h) and norm.
    With `ideal`, N is U of the ideal text of the topic; if that is the pseudo minimal output, and gains are the weights
    of iUnits, U is S-measure. Texts can come from eye tracking, from clicks, or from a model of a reader.

    A topic that is missing in a run scores 0; with `ideal`, a topic whose ideal text is worth 0 is undefined.
    Reference: Sakai & Dou, SIGIR 2013, doi:10.1145/2484028.2484031; Sakai 2014 (19)-(20), (43)

    >>> read = {"mine": {"1": Trailtext.of([(200, 0), (200, 0), (100, 1)])}}
    >>> trailtext_scores(read, ["U(L=1000)"])
    Scores: 1 measure × 1 run × 1 topic
          U(L=1000)
    mine     0.5000
    3 strings were read
    """
    chosen = as_trail_measures(measures)
    topics, runs = list(dict.fromkeys(topic for read in trailtexts.values() for topic in read)), list(trailtexts)
    if ideal is not None:
        known = [topic for topic in topics if topic in ideal]
        if not known:
            raise UsageError(f"no topic of the trailtexts has an ideal text; it has topics {listed(ideal)}")
        left, topics = [topic for topic in topics if topic not in ideal], known
    values, missing = np.zeros((len(chosen), len(runs), len(topics))), np.zeros((len(runs), len(topics)), dtype=bool)
    for t, topic in enumerate(topics):
        for m, measure in enumerate(chosen):
            best = 1.0 if ideal is None else measure.of_trailtext(ideal[topic])
            for r, run in enumerate(runs):
                missing[r, t] = topic not in trailtexts[run]
                score = 0.0 if missing[r, t] else measure.of_trailtext(trailtexts[run][topic])
                values[m, r, t] = score / best if best > 0 else np.nan
    strings = sum(len(read.lengths) for texts in trailtexts.values() for read in texts.values())
    notes = [method_note(f"{counted(strings, 'string was', 'strings were')} read")]
    if ideal is not None:
        notes.append(method_note("divided by the score of the ideal text of the topic"))
        if left:
            notes.append(f"{counted(len(left), 'topic')} without an ideal text left out: {listed(left)}")
    return Scores([str(measure) for measure in chosen], runs, topics, values, missing, "zero", notes)


@dataclass(frozen=True, eq=False, repr=False)
class ExplainedTrailtext(Record):
    """What each string of a trailtext adds to U."""

    facts: ClassVar[tuple[str, ...]] = ("run", "topic", "measure", "score")

    name: Annotated[tuple[str, ...], column("string")]
    length: Annotated[Array, column()]
    offset: Annotated[Array, column()]
    gain: Annotated[Array, column()]
    decay: Annotated[Array, column()]
    adds: Annotated[Array, column()]
    run: str
    topic: str
    measure: str
    score: float
    notes: tuple[str, ...] = ()


def explain_trailtext(
    trailtext: Trailtext, measure: U | str = "U", *, run: str = "", topic: str = ""
) -> ExplainedTrailtext:
    """What each string of a trailtext adds to U, before any division by an ideal text.

    >>> explained = explain_trailtext(Trailtext.of([(200, 0), (300, 1)]), "U(L=1000)")
    >>> explained.offset.tolist(), explained.adds.tolist()
    ([200.0, 500.0], [0.0, 0.5])
    """
    (chosen,) = as_trail_measures([measure])
    gains, left = np.array(trailtext.gains, dtype=np.float64), chosen.left_at(trailtext.offsets)
    score = chosen.of_trailtext(trailtext)
    names = trailtext.names or tuple(f"string {number}" for number in range(1, len(gains) + 1))
    return ExplainedTrailtext(
        names, np.array(trailtext.lengths, dtype=np.float64), trailtext.offsets, gains, left, gains * left,
        run, topic, str(chosen), score, (f"{chosen}{f' of {run}' if run else ''}: {score:.4f}",),
    )  # fmt: skip


def ideal_texts(path: PathLike) -> dict[str, Trailtext]:
    """The ideal text of each topic, from a file of trailtexts with a single run."""
    read = read_trailtexts(path)
    if len(read) > 1:
        raise UsageError(f"{shown_path(str(path))}: {len(read)} runs ({listed(read)}), expected one ideal text a topic")
    return next(iter(read.values()))


def named_topic(trailtexts: Trailtexts, topic: str) -> Sequence[tuple[str, Trailtext]]:
    """(run, trailtext) of each run that has the topic."""
    found = [(run, texts[topic]) for run, texts in trailtexts.items() if topic in texts]
    if not found:
        raise check.nearest(topic, list(dict.fromkeys(t for texts in trailtexts.values() for t in texts)), "topic")
    return found

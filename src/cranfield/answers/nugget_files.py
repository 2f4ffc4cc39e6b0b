"""Read nuggets, the votes of assessors on them, and which answer has which nugget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cranfield import check
from cranfield.answers.answer_texts import (
    ANSWER,
    ASSESSOR,
    IMPORTANCE,
    NUGGET,
    RUN,
    SUPPORT,
    TOPIC,
    Answer,
    AnswerTable,
    Row,
    optional,
    optional_number,
)  # fmt: skip
from cranfield.collection.source import PathLike
from cranfield.collection.tables.cells import number_or_none
from cranfield.collection.tables.table_schema import NO_DEFAULT, Anything
from cranfield.errors import UsageError, warn_caller
from cranfield.notes import caution_note
from cranfield.text import counted, listed, shown, unguarded

VITAL, OKAY = "vital", "okay"
_IMPORTANCE = {"vital": VITAL, "okay": OKAY, "ok": OKAY, "v": VITAL, "o": OKAY}
_SUPPORT = {
    "support": 1.0, "full_support": 1.0, "full": 1.0, "supported": 1.0, "yes": 1.0, "true": 1.0,
    "partial_support": 0.5, "partial": 0.5, "partially_supported": 0.5,
    "not_support": 0.0, "no_support": 0.0, "none": 0.0, "not_supported": 0.0, "no": 0.0, "false": 0.0,
}  # fmt: skip
_NUGGETS = Anything((*NUGGET.words, "nuggets"))
"""Names of nuggets; in JSON lines also a list of the nuggets of a topic."""
_TEXT = Anything(("nugget_text", "text"), default=None)
NUGGETS = AnswerTable(
    "topic nugget [type] [weight] [text]", topic=TOPIC, nugget=_NUGGETS, importance=IMPORTANCE,
    weight=optional_number("weight", least=0), nugget_text=_TEXT,
)  # fmt: skip
VOTES = AnswerTable(
    "topic nugget assessor type", topic=TOPIC, nugget=NUGGET, assessor=ASSESSOR,
    importance=replace(IMPORTANCE, default=NO_DEFAULT),
)  # fmt: skip
ASSIGNMENTS = AnswerTable(
    "topic nugget run [support] [type] [text]", any_of=("run", "answer"), topic=TOPIC, nugget=_NUGGETS,
    run=optional(RUN), answer=optional(ANSWER), support=SUPPORT, importance=IMPORTANCE, nugget_text=_TEXT,
)  # fmt: skip
UNKNOWN = ("error", "zero")
"""What to do with support and importance that have no meaning, such as the word `failed` of a language model."""


@dataclass
class UnknownValues:
    """The values of rows that have no meaning: an error that counts and lists them, or notes."""

    rule: str = "error"
    other_rule: str = "zero"
    counted_as: Mapping[str, str] = field(
        default_factory=lambda: {"support": "not supported", "importance": "part of all and all-strict only"}
    )
    rows: dict[str, list[tuple[Row, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check.one_of("", ("error", self.other_rule), unknown=self.rule)

    def add(self, row: Row, role: str, expected: str) -> None:
        self.rows.setdefault(role, []).append((row, expected))

    def notes(self) -> list[str]:
        """How many values of which kind count as what; an error if the rule says so."""
        if self.rows and self.rule == "error":
            role, rows = next(iter(self.rows.items()))
            row, expected = rows[0]
            value = f"{role} is {shown(row[role]) if row.has(role) else 'empty'}, expected {expected}"
            every = " and ".join(f"{len(rows):,} × {role} ({_counts(role, rows)})" for role, rows in self.rows.items())
            counts = " and ".join(f"{role} as {self.counted_as[role]}" for role in self.rows)
            way_out = f"correct them, or count such {counts}: unknown={self.other_rule!r}"
            raise row.fault(f"{value}; values without meaning: {every}; {way_out}")
        return [
            caution_note(
                f"{len(rows):,} × {role} without meaning, counted as {self.counted_as[role]}: {_counts(role, rows)}"
            )
            for role, rows in self.rows.items()
        ]


def _counts(role: str, rows: Sequence[tuple[Row, str]]) -> str:
    """The values, those that appear most often first."""
    values = Counter(shown(row[role]) if row.has(role) else "empty" for row, _ in rows)
    return listed(f"{value} {count:,} times" if count > 1 else value for value, count in values.most_common())


@dataclass(frozen=True)
class Nugget:
    """A piece of information that an answer should have."""

    id: str
    text: str = ""
    importance: str = ""
    """`vital`, `okay`, or empty if unknown."""
    weight: float | None = None
    votes: int = 0
    """The number of assessors who called it vital."""
    voters: int = 0


Nuggets = Mapping[str, Mapping[str, Nugget]]
"""{topic: {id: nugget}}."""
Support = Mapping[str, Mapping[str, Mapping[str, float]]]
"""{run: {topic: {nugget: 1 (full), 0.5 (partial) or 0}}}."""


@dataclass(frozen=True)
class Assignments:
    """Which answer has which nugget, and the nuggets as far as the file names them."""

    support: Support
    nuggets: Nuggets
    notes: tuple[str, ...] = field(default=())


def importance_of(row: Row, unknown: UnknownValues) -> str:
    """`vital`, `okay`, or empty."""
    if not row.has("importance"):
        return ""
    name = _IMPORTANCE.get(str(row["importance"]).strip().lower())
    if name is None:
        unknown.add(row, "importance", "vital or okay")
    return name or ""


def nested_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """A row for each nugget: some files have a row per topic, with a list `nuggets` of objects or texts."""
    for row in rows:
        if not isinstance(row["nugget"], list):
            yield replace(row, values={**row.values, "nugget": row.checked("nugget", NUGGET)})
            continue
        for number, entry in enumerate(row["nugget"], 1):
            record = entry if isinstance(entry, dict) else {"text": entry}
            names = {
                "support": ("assignment", "support"),
                "importance": ("importance",),
                "nugget_text": ("text", "nugget"),
            }
            values = dict(row.values) | {"nugget": record.get("id", str(number))}
            for role, words in names.items():
                values[role] = next((record[word] for word in words if word in record), None)
            nested = replace(row, values=values)
            values["nugget"] = nested.checked("nugget", NUGGET)
            yield nested


def read_nuggets(
    path: PathLike, votes: PathLike | None = None, *, unknown: str | UnknownValues = "error"
) -> dict[str, dict[str, Nugget]]:
    """Nuggets: rows of topic, nugget, and optionally type (vital or okay), weight and text, as `judge export` writes.

    votes: rows of topic, nugget, assessor and type: what each assessor called the nugget.
    unknown: a type that is neither is an error, which lists all of them; with `zero`, such a nugget has no type, and
        such a vote does not count.
    """
    values = unknown if isinstance(unknown, UnknownValues) else UnknownValues(unknown)
    nuggets: dict[str, dict[str, Nugget]] = {}
    for row in nested_rows(NUGGETS.each(path)):
        topic, id = row["topic"], row["nugget"]
        of_topic = nuggets.setdefault(topic, {})
        if id in of_topic:
            raise row.fault(f"nugget {shown(id)} of topic {shown(topic)} appears twice")
        weight = row["weight"] if row["weight"] == row["weight"] else None
        of_topic[id] = Nugget(id, _text_of(row).strip(), importance_of(row, values), weight)
    if votes is not None:
        nuggets = _with_votes(nuggets, votes, values)
    for note in values.notes():
        if values is not unknown:  # else the caller has them
            warn_caller(note)
    return nuggets


def _text_of(row: Row) -> str:
    return unguarded(str(row["nugget_text"] or ""))


def _with_votes(
    nuggets: dict[str, dict[str, Nugget]], path: PathLike, unknown: UnknownValues
) -> dict[str, dict[str, Nugget]]:
    voted: dict[tuple[str, str], dict[str, str]] = {}
    for row in VOTES.each(path):
        topic, id, assessor = row["topic"], row["nugget"], row["assessor"]
        _known(nuggets, topic, id, row)
        of_nugget = voted.setdefault((topic, id), {})
        if assessor in of_nugget:
            raise row.fault(f"{assessor} votes twice on nugget {shown(id)} of topic {shown(topic)}")
        vote = importance_of(row, unknown)
        if vote or not row.has("importance"):
            of_nugget[assessor] = vote or OKAY
    return {
        topic: {
            id: replace(
                nugget,
                votes=sum(vote == VITAL for vote in voted.get((topic, id), {}).values()),
                voters=len(voted.get((topic, id), {})),
            )
            for id, nugget in of_topic.items()
        }
        for topic, of_topic in nuggets.items()
    }


def _known(nuggets: Nuggets, topic: str, id: str, row: Row) -> None:
    if topic not in nuggets:
        raise row.fault(f"topic {shown(topic)} has no nuggets; the topics are {listed(nuggets)}")
    if id not in nuggets[topic]:
        raise row.fault(f"no nugget {shown(id)} in topic {shown(topic)}; it has {listed(nuggets[topic])}")


def read_assignments(
    path: PathLike,
    nuggets: Nuggets | None = None,
    answers: Sequence[Answer] = (),
    *,
    full_grade: float | None = None,
    unknown: str | UnknownValues = "error",
) -> Assignments:
    """Which answer has which nugget: rows of topic, nugget, run (or answer) and support.

    support: `support`, `partial_support` or `not_support`; or grades, see `SupportReader`. Without such a column, as in
    the spans that `judge export` writes, every row is a nugget that was found. A column importance (vital or okay)
    names the nuggets if no `nuggets` are given. A column answer (or doc) is the id of an answer in `answers`, or the
    name of a run.

    unknown: a support or an importance without meaning, such as `failed`, is an error, which counts and lists all of
        them; with `zero`, such support is 0 and such nuggets count only in `all` and `all-strict`.
    """
    values = unknown if isinstance(unknown, UnknownValues) else UnknownValues(unknown)
    rows = list(nested_rows(ASSIGNMENTS.each(path)))
    ids = {answer.id: answer for answer in answers if answer.id}
    runs = {answer.run for answer in answers}
    read = SupportReader(rows, full_grade, values)
    judged = any(row["support"] is not None for row in rows)
    support: dict[str, dict[str, dict[str, float]]] = {}
    named: dict[str, dict[str, Nugget]] = {}
    for row in rows:
        topic, id = row["topic"], row["nugget"]
        if nuggets is not None:
            _known(nuggets, topic, id, row)
        run = _run_of(row, topic, ids, runs)
        of_run = support.setdefault(run, {}).setdefault(topic, {})
        if id in of_run and judged:
            raise row.fault(f"nugget {shown(id)} of topic {shown(topic)} is assigned twice for run {shown(run)}")
        of_run[id] = (read(row) or 0.0) if judged else 1.0
        nugget = Nugget(id, _text_of(row), importance_of(row, values))
        known = named.setdefault(topic, {}).setdefault(id, nugget)
        if values.rule == "zero" and not (known.importance and nugget.importance):
            named[topic][id] = replace(known, importance=known.importance or nugget.importance)
        elif known.importance != nugget.importance:
            message = f"nugget {shown(id)} of topic {shown(topic)} is {nugget.importance or 'without importance'}"
            raise row.fault(f"{message} here and {known.importance or 'without importance'} before")
    notes = (
        list(read.notes)
        if judged
        else ["no column says how far a nugget is supported: every row is one that was found"]
    )
    notes += values.notes()
    complete = nuggets if nuggets is not None else named
    lacking = [
        f"{run}: {topic}"
        for run, topics in support.items()
        for topic, of_topic in topics.items()
        if judged and len(of_topic) < len(complete[topic])
    ]
    if lacking:
        notes.append(
            caution_note(
                f"{counted(len(lacking), 'answer')} without an assignment of some nuggets, which count as not "
                f"supported: {listed(lacking)}"
            )
        )
    return Assignments(support, complete, tuple(notes))


def _run_of(row: Row, topic: str, ids: Mapping[str, Answer], runs: set[str]) -> str:
    if row["run"]:
        return str(row["run"])
    name = str(row.checked("answer", ANSWER))
    if name in ids:
        answer = ids[name]
        if answer.topic != topic:
            raise row.fault(f"answer {shown(name)} is of topic {shown(answer.topic)}, not of {shown(topic)}")
        return answer.run
    if runs and name not in runs:
        raise row.fault(f"no answer {shown(name)} among the texts; their runs are {listed(sorted(runs))}")
    return name


class SupportReader:
    """Reads the support in the rows of a file, as 1 (full), 0.5 (partial) or 0: words, or grades.

    Values without meaning are None, and are added to `unknown`, whose `notes` has to be called at the end.

    full_grade: the lowest grade that is full support; grades between 0 and that are partial support. By default 2 if
    the file has a grade above 1, else 1.
    """

    def __init__(self, rows: Sequence[Row], full_grade: float | None, unknown: UnknownValues) -> None:
        grades = [number for row in rows if (number := _number(row["support"])) is not None]
        check.positive("", full_grade=1 if full_grade is None else full_grade)
        self.full = full_grade or (2.0 if any(grade > 1 for grade in grades) else 1.0)
        self.unknown = unknown
        self.notes: list[str] = []
        if grades:
            between = "grades between 0 and that: partial" if any(0 < grade < self.full for grade in grades) else ""
            self.notes.append("; ".join(filter(None, [f"full support: grade {self.full:g} or more", between])))

    def __call__(self, row: Row) -> float | None:
        value = row["support"]
        number = _number(value)
        if number is None:
            word = str(value).strip().lower().replace(" ", "_").replace("-", "_")
            if word not in _SUPPORT or value is None:
                self.unknown.add(row, "support", "support, partial_support, not_support, or a grade")
                return None
            return _SUPPORT[word]
        if not 0 <= number < float("inf"):
            self.unknown.add(row, "support", "a grade, 0 or above")
            return None
        return 1.0 if number >= self.full else 0.5 if number > 0 else 0.0


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, bool) else number_or_none(value)


def check_nuggets(nuggets: Nuggets) -> None:
    """Raise an error if there is nothing to score."""
    empty = [topic for topic, of_topic in nuggets.items() if not of_topic]
    if not nuggets or len(empty) == len(nuggets):
        raise UsageError("no nuggets")


def weights_of(nuggets: Nuggets, weighting: str) -> tuple[dict[str, dict[str, float]], str]:
    """The weight of each nugget, and a note that says where it is from.

    weighting: `votes` (vital votes, divided by the most of a nugget of the topic), `weight` (as given), `vital` (1 for
    vital, 0 for okay), `equal`; `auto` is the first of these that the nuggets have.
    """
    every = [nugget for of_topic in nuggets.values() for nugget in of_topic.values()]
    has = {
        "votes": any(nugget.voters for nugget in every),
        "weight": any(nugget.weight is not None for nugget in every),
        "vital": any(nugget.importance for nugget in every),
        "equal": True,
    }
    kind = next(name for name in has if has[name]) if weighting == "auto" else weighting
    if not has[kind]:
        raise UsageError(
            f"weighting == {weighting!r}, but the nuggets have no {'importance' if kind == 'vital' else kind}"
        )
    weights: dict[str, dict[str, float]] = {}
    for topic, of_topic in nuggets.items():
        most = max((nugget.votes for nugget in of_topic.values()), default=0)
        for id, nugget in of_topic.items():
            if kind == "weight" and nugget.weight is None:
                raise UsageError(f"nugget {shown(id)} of topic {shown(topic)} has no weight, but others have")
            value = {
                "votes": nugget.votes / most if most else 0.0,
                "weight": nugget.weight or 0.0,
                "vital": float(nugget.importance == VITAL),
                "equal": 1.0,
            }[kind]
            weights.setdefault(topic, {})[id] = value
    how = {
        "votes": "vital votes, divided by the most of a nugget of the topic",
        "weight": "as given",
        "vital": "1 for vital nuggets, 0 for others",
        "equal": "1 for all nuggets",
    }[kind]
    return weights, f"weights of nuggets: {how}"

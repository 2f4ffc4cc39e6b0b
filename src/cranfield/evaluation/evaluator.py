"""From judgments and runs to scores, in one call."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import compress, islice
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from cranfield import check
from cranfield.assessed.intent_files import DISTRIBUTIONS
from cranfield.assessed.join import TYPES_FROM, PreparedJudgments, prepare
from cranfield.assessed.join_options import JoinOptions, Sharding
from cranfield.assessed.lengths import LengthTable
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import distinct
from cranfield.collection.accepted_inputs import Content, Numbers, QrelsLike, RunsLike
from cranfield.collection.column_names import ColumnNames, named_columns
from cranfield.collection.grade_labels import named_grades
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import load
from cranfield.errors import CranfieldError, CranfieldWarning, DataError, NotedWarning, UsageError, warn_caller
from cranfield.measures import DEFAULT, Gain, Measure
from cranfield.measures.naming.parse import names_in, parse, parse_many
from cranfield.measures.naming.spelling import definition
from cranfield.scores.basis import Basis, Facts
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed
from cranfield.types import Array, Progress

if TYPE_CHECKING:
    from concurrent.futures import Executor


class EvaluateOptions(TypedDict, total=False):
    """The keyword arguments of `evaluate`; a test compares them with its signature."""

    missing: str
    order: str | None
    ties: str
    precision: int
    on_duplicate: str
    depth: int | None
    format: str | None
    split_tags: bool
    threads: int | None
    memory: int | str | None
    intent_probabilities: Content | Numbers | None
    intent_types: Content | Mapping[Any, Mapping[Any, str]] | None
    lengths: Content | Mapping[Any, float] | None
    missing_length: float | str | None
    strata: bool
    inclusion: Content | Numbers | None
    dimensions: Mapping[str, QrelsLike] | None
    empty_intents: str
    topic_numbers: Content | Numbers | None
    together: Content | Mapping[Any, Mapping[Any, Iterable[str]]] | None
    columns: ColumnNames | None
    grades: Mapping[str, float] | None
    progress: Progress | None
    shards: int | None
    executor: Executor | None
    resume: str | os.PathLike[str] | None


BY_HIGHEST_GRADE = "measures without intents use a document's highest grade over all intents"
ALL_INFORMATIONAL = "all intents are assumed to be informational; intent_types= says which are navigational"

MeasureLike = Measure | type[Measure] | str
MeasuresLike = MeasureLike | Iterable[MeasureLike]
SEVERAL = re.compile(r"[,\s]")
"""Names are separated by commas or blanks."""


def evaluate(
    qrels: QrelsLike,
    runs: RunsLike,
    measures: MeasuresLike | None = None,
    *,
    missing: str = "zero",
    order: str | None = None,
    ties: str = "z-a",
    precision: int = 64,
    on_duplicate: str = "error",
    depth: int | None = None,
    format: str | None = None,
    split_tags: bool = False,
    threads: int | None = None,
    memory: int | str | None = None,
    executor: Executor | None = None,
    shards: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    intent_probabilities: Content | Numbers | None = None,
    intent_types: Content | Mapping[Any, Mapping[Any, str]] | None = None,
    lengths: Content | Mapping[Any, float] | None = None,
    missing_length: float | str | None = None,
    strata: bool = False,
    inclusion: Content | Numbers | None = None,
    dimensions: Mapping[str, QrelsLike] | None = None,
    empty_intents: str = "renormalise",
    topic_numbers: Content | Numbers | None = None,
    together: Content | Mapping[Any, Mapping[Any, Iterable[str]]] | None = None,
    columns: ColumnNames | None = None,
    grades: Mapping[str, float] | None = None,
    progress: Progress | None = None,
) -> Scores:
    """Score runs against judgments.

    qrels: path, dict of dicts, frame, `Qrels`, or an iterable of (query_id, doc_id, relevance).
    runs: one or several of: path, glob, dict of dicts, frame, `Run`; or a mapping {name: run}.
    measures: measures or their names; None: a default set.
    missing: a judged topic that a run lacks scores as an empty list (`"zero"`), or is left out (`"skip"`).
    executor, shards, resume: join run files in about `shards` parts, by an executor of concurrent.futures, and keep
    their hits in the folder `resume`, so that a job that was stopped goes on where it was. The scores are the same.
    columns: columns of tables with unusual names, {"topic": "search term"}; or all columns of files without a header.
    grades: the numbers of labels in place of grades: {"Exact": 3, "Partial": 1, "Irrelevant": 0}.
    The other arguments are those of `JoinOptions`.

    >>> qrels = {"q1": {"d1": 2, "d2": 0, "d3": 1}}
    >>> run = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
    >>> evaluate(qrels, {"mine": run}, ["AP", "RR"]).mean()["mine"]
    {'AP': 0.8333333333333333, 'RR': 1.0}
    """
    options = JoinOptions(
        order=order,
        ties=ties,
        precision=precision,
        on_duplicate=on_duplicate,
        depth=depth,
        format=format,
        split_tags=split_tags,
        threads=threads,
        memory=memory,
        sharding=None if (executor, shards, resume) == (None, None, None) else Sharding(shards, resume, executor),
        intent_probabilities=intent_probabilities,
        intent_types=intent_types,
        lengths=lengths,
        missing_length=missing_length,
        strata=strata,
        inclusion=inclusion,
        dimensions=dimensions,
        empty_intents=empty_intents,
        topic_numbers=topic_numbers,
        together=together,
    )
    if columns or grades:
        with named_columns(columns), named_grades(grades):
            return Evaluator(qrels, measures, missing=missing, options=options).evaluate(runs, progress=progress)
    return Evaluator(qrels, measures, missing=missing, options=options).evaluate(runs, progress=progress)


class Evaluator:
    """Judgments that are read once to score many runs, for training loops and services.

    Any number of threads may use one evaluator at the same time. What depends only on the judgments, such as ideal
    lists, is computed once.

    >>> evaluator = Evaluator({"q1": {"d1": 1}}, ["RR"])
    >>> [evaluator.evaluate({"q1": {"d1": s, "d2": 0.5}}).means().item() for s in (0.1, 0.9)]
    [0.5, 1.0]
    """

    def __init__(
        self,
        qrels: QrelsLike,
        measures: MeasuresLike | None = None,
        *,
        missing: str = "zero",
        options: JoinOptions | None = None,
    ) -> None:
        check.one_of("", ("zero", "skip"), missing=missing)
        self.missing = missing
        self.measures = as_measures(measures)
        self.options = with_scores(options or JoinOptions(), self.measures)
        if self.options.lengths is not None or self.options.dimensions is not None:
            self.options = self.options.read()
        self.qrels = judgments_of(qrels, self.options.on_duplicate)

    @cached_property
    def _prepared(self) -> PreparedJudgments:
        return prepare(self.qrels, self.options)

    @cached_property
    def _basis(self) -> Basis:
        return basis_of(self._prepared, self.measures, self.missing)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(map(str, self.measures))

    def assess(self, runs: RunsLike, progress: Progress | None = None) -> Assessed:
        """The runs joined with the judgments."""
        lists = self._prepared.join(runs, progress)
        warn_if_swapped(lists, runs)
        return lists

    def evaluate(self, runs: RunsLike, progress: Progress | None = None) -> Scores:
        """The scores of one or several runs."""
        return _score(self.assess(runs, progress), self.measures, self.missing, self._names, self._basis)


FIRST, MOST_SCORES = 8, 1000
"""How many runs, lists of each and scores of each list tell whether judgments and runs were swapped."""


def judgments_of(qrels: QrelsLike, on_duplicate: str) -> Qrels:
    """The judgments; an error about runs in their place says which comes first."""
    if isinstance(qrels, Qrels):
        return qrels
    try:
        return Qrels.of(qrels, on_duplicate=on_duplicate)
    except DataError as error:
        if ": one level too many" in str(error):
            error.add_note("judgments come first: evaluate(qrels, runs)")
        raise


def warn_if_swapped(lists: Assessed, runs: RunsLike) -> None:
    """Warn if the judgments are numbers with fractions and the runs have whole numbers with ties, as judgments do.

    The first lists of a few runs tell: a run of a million documents costs no more than a small one.
    """
    if not isinstance(runs, Mapping):
        return
    by_topic = [each for each in islice(runs.values(), FIRST) if isinstance(each, Mapping)]
    nested = [inner for each in by_topic for inner in islice(each.values(), FIRST) if isinstance(inner, Mapping)]
    scores = [list(islice(topic.values(), MOST_SCORES)) for topic in nested or by_topic]
    numbers = [x for topic in scores for x in topic if isinstance(x, (int, float))]
    tied = any(len(set(map(str, topic))) < len(topic) for topic in scores)
    if not numbers or any(not float(x).is_integer() for x in numbers) or not (tied or min(numbers) == 0):
        return
    grades = lists.judged.grade
    fractions = grades[grades != np.floor(grades)]
    if len(fractions):
        warn_caller(
            f"the judgments have grades such as {fractions[0]:g}, and the runs have whole numbers only; are they "
            "swapped? Judgments come first: evaluate(qrels, runs)",
            CranfieldWarning,
        )


def with_scores(options: JoinOptions, measures: Iterable[Measure]) -> JoinOptions:
    """The options, with the scores of the runs kept and column 2 read as the stratum if a measure needs that."""
    needed = {name for measure in measures for name in measure.looks_at()}
    scores, sampled = options.scores or "scores" in needed, options.sampled or "sample" in needed
    unchanged = (scores, sampled) == (options.scores, options.sampled)
    return options if unchanged else replace(options, scores=scores, sampled=sampled)


def as_measures(measures: MeasuresLike | None) -> list[Measure]:
    """Measures from instances, classes and names, without duplicates. A text may hold several names.

    >>> as_measures(["nDCG@10", "map"]), as_measures("RR,P@5,10")
    ([nDCG@10, AP], [RR, P@5, P@10])
    """
    if measures is None:
        return list(DEFAULT)
    if isinstance(measures, str | Measure | type):
        measures = [measures]
    if isinstance(measures, Mapping) or hasattr(measures, "columns"):
        what = "a dict" if isinstance(measures, Mapping) else f"of type {type(measures).__name__}"
        raise UsageError(f"the measures are {what}; the order is judgments, runs, measures")
    if not isinstance(measures, Iterable):
        raise _not_a_measure(measures)
    chosen: list[Measure] = []
    for measure in each_measure(measures):
        if isinstance(measure, str):
            measure = parse(measure)
        elif isinstance(measure, type) and issubclass(measure, Measure):
            measure = measure()
        if not isinstance(measure, Measure):
            raise _not_a_measure(measure)
        if measure not in chosen:
            chosen.append(measure)
    if not chosen:
        raise UsageError("no measures given")
    return chosen


def each_measure(measures: Iterable[MeasureLike]) -> Iterator[MeasureLike]:
    """The measures, where a text with several names, such as "RR,AP", gives each of them."""
    for measure in measures:
        if isinstance(measure, str) and SEVERAL.search(measure):
            for name in names_in([measure]):
                yield from parse_many(name)
        else:
            yield measure


def _not_a_measure(thing: object) -> UsageError:
    return UsageError(f"{thing!r} is not a measure; give a measure such as nDCG @ 10, or its name")


def score(
    lists: Assessed, measures: MeasuresLike | None = None, *, missing: str = "zero",
    basis: Basis | None = None,
) -> Scores:  # fmt: skip
    """The scores of assessed lists that form a grid of runs × topics; `basis` is kept with them."""
    return _score(lists, as_measures(measures), missing, basis=basis)


def _score(
    lists: Assessed, chosen: list[Measure], missing: str, names: tuple[str, ...] | None = None,
    basis: Basis | None = None,
) -> Scores:  # fmt: skip
    warn_of_gains(chosen, lists)
    shape = (len(lists.runs), len(lists.topics))
    absent = lists.missing.reshape(shape)
    values = np.empty((len(chosen), *shape))
    for number, measure in enumerate(chosen):
        values[number] = values_of(measure, lists).reshape(shape)
    if missing == "skip":
        values[:, absent] = np.nan
    names = names or tuple(map(str, chosen))
    undefined = np.isnan(values)
    if undefined.any():
        _warn_undefined(lists, dict(zip(names, chosen, strict=True)), undefined & ~absent)
    return Scores(
        measures=names,
        runs=lists.runs,
        topics=lists.topics,
        values=values,
        missing=absent,
        missing_rule=missing,
        notes=tuple(dict.fromkeys([*lists.notes, *notes_of(chosen, lists)])),
        basis=basis,
    )


def notes_of(measures: list[Measure], lists: Assessed) -> list[str]:
    """How intents were read, if it matters to the measures, and the notes of each measure."""
    notes: list[str] = []
    if lists.intents is not None:
        if not all(measure.grades_by_intent() for measure in measures):
            notes.append(BY_HIGHEST_GRADE)
        types_given = lists.intents.navigational.any() or any(note.startswith(TYPES_FROM) for note in lists.notes)
        by_type = (m.uses_intent_types or any(view.uses_intent_types for view in m.views) for m in measures)
        if not types_given and any(by_type):
            notes.append(ALL_INFORMATIONAL)
    return notes + [note for measure in measures for note in (measure.note(lists) or "").splitlines()]


def warn_of_gains(measures: Iterable[Measure], lists: Assessed) -> None:
    """Warn, once for all measures, if a higher grade gains less than a lower grade."""
    gains = [(measure, gain) for measure in measures if (gain := measure.gains()) is not None and gain.table]
    grades = distinct(lists.judged.grade) if gains else np.zeros(0)
    falling: dict[Gain, list[str]] = {}
    for measure, gain in gains:
        if gain.falls(grades):
            falling.setdefault(gain, []).append(str(measure))
    for gain, names in falling.items():
        falls = ", ".join(f"grade {high:g} gains less than grade {low:g}" for low, high in gain.falls(grades))
        warn_caller(f"{', '.join(names)}: {falls}; check the gain table {gain}", CranfieldWarning)


def values_of(measure: Measure, lists: Assessed) -> Array:
    """One number per list; if a user-defined measure fails, the error says so."""
    try:
        values = measure.evaluate(lists)
        if np.shape(values) != lists.run.shape:
            raise TypeError(
                f"an array of shape {np.shape(values)}, must be one number for each of {counted(len(lists), 'list')}"
            )
        return np.asarray(values, dtype=np.float64)
    except CranfieldError:
        raise
    except Exception as error:
        if type(measure).__module__.partition(".")[0] == "cranfield":
            raise
        raise UsageError(f"the user-defined measure {measure} failed: {type(error).__name__}: {error}") from error


def _warn_undefined(lists: Assessed, measures: dict[str, Measure], undefined: Any) -> None:
    topics = np.flatnonzero(undefined.any(axis=(0, 1)))
    if not len(topics):
        return
    affected = dict(compress(measures.items(), undefined.any(axis=(1, 2)).tolist()))
    least = min(float(getattr(measure, "rel", 1)) for measure in affected.values())
    relevant = np.zeros(len(lists.topics))
    relevant[lists.topic] = lists.num_rel(least)
    empty = int((relevant[topics] == 0).sum())
    single = len(topics) == 1
    if empty == len(topics):
        reason = f", because {'it has' if single else 'they have'} no relevant document"
    else:
        reasons = dict.fromkeys(why for measure in affected.values() if (why := measure.undefined_because()))
        pages = dict.fromkeys(f"`cranfield measures {measure.name}`" for measure in affected.values())
        mixed = f"{empty} of them without relevant documents, the others have"
        subject = mixed if empty else "it has" if single else "they have"
        reason = f"; {subject} relevant documents: {'; '.join(reasons) or 'see ' + ' and '.join(pages)}"
    names = listed([lists.topics[topic] for topic in topics])
    warn_caller(
        f"{', '.join(affected)}: undefined on {len(topics)} of {len(lists.topics)} topics ({names}), which "
        f"{'is' if single else 'are'} left out of means{reason}",
        NotedWarning,
    )


# -- what the scores were computed from

RULES = ("ties", "precision", "on_duplicate", "depth", "missing_length", "strata", "empty_intents")
"""The options of a join that change scores and are plain values."""
SIDE = ("intent_probabilities", "intent_types", "lengths", "inclusion", "topic_numbers", "together")
"""Those that hold data."""
COLUMN_2 = {"intents": "intent", "sample": "stratum"}
"""What column 2 of the judgments means if they have one of these attachments."""


def basis_of(prepared: PreparedJudgments, measures: Sequence[Measure], missing: str) -> Basis:
    """The basis of the scores of runs that are joined with these judgments."""
    column_2 = next((COLUMN_2[name] for name in prepared.attachments if name in COLUMN_2), "")
    return Basis(partial(_facts, prepared.qrels, tuple(measures), missing, prepared.options, column_2))


def _facts(qrels: Qrels, measures: Sequence[Measure], missing: str, options: JoinOptions, column_2: str) -> Facts:
    rules = {"missing": missing, "order": options.order or "score"}
    rules |= {name: "none" if (value := getattr(options, name)) is None else str(value) for name in RULES}
    rules["column 2"] = column_2 or "ignored"
    rules |= {name: digest_of(getattr(options, name)) for name in SIDE if getattr(options, name) is not None}
    for name, judgments in (options.dimensions or {}).items():
        rules[f"dimension {name}"] = digest_of(judgments)
    return Facts(
        judgment_digests(qrels, labels_count=bool(column_2)),
        {str(measure): definition(measure) for measure in measures},
        rules,
    )


def judgment_digests(qrels: Qrels, *, labels_count: bool = False) -> dict[str, str]:
    """For each topic a digest of its judgments, whatever their order; column 2 only if it has a meaning.

    >>> one, two = Qrels.of(b"1 0 a 1\\n1 0 b 0\\n"), Qrels.of(b"1 0 b 0\\n1 0 a 1\\n")
    >>> judgment_digests(one) == judgment_digests(two), judgment_digests(one)
    (True, {'1': 'bfcaf8cda72ad4e5'})
    """
    digests = qrels.table.digests(labels_count).tolist()
    return {topic: f"{digest:016x}" for topic, digest in zip(qrels.topics, digests, strict=True)}


def digest_of(thing: Any) -> str:
    """A digest of a side file or mapping: the same for all orders of lines and for a compressed file."""
    if isinstance(thing, Qrels):
        return _digest(f"{topic} {digest}" for topic, digest in judgment_digests(thing, labels_count=True).items())
    if isinstance(thing, LengthTable):
        columns = [column.tolist() for column in thing.columns.values()]
        return _digest([*thing.columns, *map(repr, zip(thing.documents, *columns, strict=True))])
    if isinstance(thing, Mapping):
        return _digest(f"{key!s} {_sorted(value)}" for key, value in thing.items())
    if isinstance(thing, str) and thing in (*DISTRIBUTIONS, "-"):
        return "standard input" if thing == "-" else thing
    if isinstance(thing, str | os.PathLike):
        if not os.path.isfile(thing):
            return "unknown"  # a pipe, which can be read only once
        lines = bytes(load(thing)).decode("utf-8", "surrogateescape").splitlines()
        return _digest(line.strip() for line in lines if line.strip())
    return repr(thing)


def _sorted(value: Any) -> str:
    """A value of a mapping as text that does not depend on the order of keys."""
    if isinstance(value, Mapping):
        return repr(sorted((str(key), _sorted(entry)) for key, entry in value.items()))
    return repr(value)


def _digest(lines: Any) -> str:
    total = hashlib.blake2b(digest_size=8)
    for line in sorted(lines):
        total.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return total.hexdigest()

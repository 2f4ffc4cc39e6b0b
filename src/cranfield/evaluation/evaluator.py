"""From judgments and runs to scores, in one call."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield import check
from cranfield.assessed.dimensions import named_qrels
from cranfield.assessed.join import TYPES_FROM, join
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lengths import LengthTable
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import distinct
from cranfield.collection.qrels import Qrels
from cranfield.errors import CranfieldError, CranfieldWarning, UsageError
from cranfield.measures import DEFAULT, Gain, Measure
from cranfield.measures.diversity import EfP, PplusQ
from cranfield.measures.multidimensional import OverDimensions
from cranfield.measures.naming.parse import parse
from cranfield.measures.recall import LastRel
from cranfield.scores.scores import Scores
from cranfield.types import Array, Progress
from cranfield.views.by_intent import ByIntent, GlobalGain

BY_HIGHEST_GRADE = "measures that know of no intents take a document's highest grade over all intents"
ALL_INFORMATIONAL = (
    "all intents are taken as informational; --intent-types FILE (intent_types=) says which are navigational"
)

MeasureLike = Measure | type[Measure] | str


def evaluate(
    qrels: Any,
    runs: Any,
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    missing: str = "zero",
    order: str | None = None,
    precision: int = 64,
    on_duplicate: str = "error",
    depth: int | None = None,
    format: str | None = None,
    threads: int | None = None,
    intent_probabilities: Any = None,
    intent_types: Any = None,
    lengths: Any = None,
    missing_length: float | str | None = None,
    inclusion: Any = None,
    dimensions: Any = None,
    progress: Progress | None = None,
) -> Scores:
    """Score runs against judgments.

    qrels: path, dict of dicts, frame, `Qrels`, or an iterable of (query_id, doc_id, relevance).
    runs: one or several of: path, glob, dict of dicts, frame, `Run`; or a mapping {name: run}.
    measures: measures or their names; sensible ones when left out.
    missing: a judged topic that a run lacks scores as an empty list does (`"zero"`), or is left out (`"skip"`).
    The other arguments are those of `JoinOptions`.

    >>> qrels = {"q1": {"d1": 2, "d2": 0, "d3": 1}}
    >>> run = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
    >>> evaluate(qrels, {"mine": run}, ["AP", "RR"]).mean()["mine"]
    {'AP': 0.8333333333333333, 'RR': 1.0}
    """
    options = JoinOptions(
        order, precision, on_duplicate, depth, format, threads, intent_probabilities, intent_types, lengths,
        missing_length, inclusion, dimensions=dimensions,
    )  # fmt: skip
    return Evaluator(qrels, measures, missing=missing, options=options).evaluate(runs, progress=progress)


class Evaluator:
    """Judgments prepared once, to score many runs: for training loops and services.

    >>> evaluator = Evaluator({"q1": {"d1": 1}}, ["RR"])
    >>> [evaluator.evaluate({"q1": {"d1": s, "d2": 0.5}}).means().item() for s in (0.1, 0.9)]
    [0.5, 1.0]
    """

    def __init__(
        self,
        qrels: Any,
        measures: MeasureLike | Iterable[MeasureLike] | None = None,
        *,
        missing: str = "zero",
        options: JoinOptions | None = None,
    ) -> None:
        check.one_of("evaluate", ("zero", "skip"), missing=missing)
        self.missing = missing
        self.options = options or JoinOptions()
        if self.options.lengths is not None:  # read once for all runs to come
            self.options = replace(self.options, lengths=LengthTable.of(self.options.lengths))
        if self.options.dimensions is not None:
            others = named_qrels(self.options.dimensions, self.options.on_duplicate)
            self.options = replace(self.options, dimensions=others)
        self.measures = as_measures(measures)
        self.options = with_scores(self.options, self.measures)
        self.qrels = Qrels.of(qrels, on_duplicate=self.options.on_duplicate)

    def assess(self, runs: Any, progress: Progress | None = None) -> Assessed:
        """The runs joined with the judgments."""
        return join(self.qrels, runs, self.options, progress)

    def evaluate(self, runs: Any, progress: Progress | None = None) -> Scores:
        """The scores of one run or several."""
        return score(self.assess(runs, progress), self.measures, missing=self.missing)


def with_scores(options: JoinOptions, measures: Iterable[Measure]) -> JoinOptions:
    """The options, with the scores of the runs kept if one of the measures looks at them."""
    within = (one.inner if isinstance(one, OverDimensions) else one for one in measures)
    return replace(options, scores=True) if any(measure.needs == "scores" for measure in within) else options


def as_measures(measures: MeasureLike | Iterable[MeasureLike] | None) -> list[Measure]:
    """Measures from instances, classes and names; each once.

    >>> as_measures(["nDCG@10", "map"])
    [nDCG@10, AP]
    """
    if measures is None:
        return list(DEFAULT)
    if isinstance(measures, str | Measure | type):
        measures = [measures]
    if not isinstance(measures, Iterable):
        raise UsageError(f"{measures!r} is no measure; give one such as nDCG @ 10, or its name")
    found: dict[Measure, None] = {}
    for one in measures:
        if isinstance(one, str):
            one = parse(one)
        elif isinstance(one, type) and issubclass(one, Measure):
            one = one()
        if not isinstance(one, Measure):
            raise UsageError(f"{one!r} is no measure; give one such as nDCG @ 10, or its name")
        found[one] = None
    if not found:
        raise UsageError("no measures given")
    return list(found)


def score(
    lists: Assessed, measures: MeasureLike | Iterable[MeasureLike] | None = None, *, missing: str = "zero"
) -> Scores:
    """The scores of assessed lists that form a grid of runs × topics."""
    chosen = as_measures(measures)
    warn_of_gains(chosen, lists)
    shape = (len(lists.runs), len(lists.topics))
    absent = lists.missing.reshape(shape)
    values = np.empty((len(chosen), *shape))
    notes = list(lists.notes)
    for i, one in enumerate(chosen):
        values[i] = values_of(one, lists).reshape(shape)
    notes += about_intents(chosen, lists)
    notes += [note for one in chosen for note in notes_of(one, lists)]
    if missing == "skip":
        values[:, absent] = np.nan
    _warn_undefined(lists, chosen, np.isnan(values) & ~absent)
    return Scores(
        measures=tuple(map(str, chosen)),
        runs=lists.runs,
        topics=lists.topics,
        values=values,
        missing=absent,
        missing_rule=missing,
        notes=tuple(dict.fromkeys(notes)),
    )


def notes_of(measure: Measure, lists: Assessed) -> list[str]:
    """What the measure has to say of its scores, remark by remark: two measures may share one of several."""
    return (measure.note(lists) or "").splitlines()


def about_intents(measures: list[Measure], lists: Assessed) -> list[str]:
    """How intents were read, as far as it matters to these measures."""
    notes: list[str] = []
    if lists.intents is None:
        return notes
    if any(_takes_highest_grade(one) for one in measures):
        notes.append(BY_HIGHEST_GRADE)
    told = any(note.startswith(TYPES_FROM) for note in lists.notes)
    if not told and not lists.intents.navigational.any() and any(map(_looks_at_types, measures)):
        notes.append(ALL_INFORMATIONAL)
    return notes


def _takes_highest_grade(measure: Measure) -> bool:
    by_intent = any(isinstance(view, GlobalGain | ByIntent) for view in measure.views)
    return measure.needs != "intents" and not by_intent


def _looks_at_types(measure: Measure) -> bool:
    din = any(isinstance(view, GlobalGain) and view.din for view in measure.views)
    return din or isinstance(measure, PplusQ | EfP)


def warn_of_gains(measures: Iterable[Measure], lists: Assessed) -> None:
    """Say, once for all measures, where a better grade is worth less than a lower one."""
    gains = [(one, gain) for one in measures if (gain := one.gains()) is not None]
    grades = distinct(lists.judged.grade) if gains else np.zeros(0)
    told: dict[Gain, list[str]] = {}
    for one, gain in gains:
        if gain.falls(grades):
            told.setdefault(gain, []).append(str(one))
    for gain, names in told.items():
        falls = ", ".join(f"grade {high:g} gains less than grade {low:g}" for low, high in gain.falls(grades))
        warnings.warn(f"{', '.join(names)}: {falls}; check the gain table {gain}", CranfieldWarning, stacklevel=3)


def values_of(measure: Measure, lists: Assessed) -> Array:
    """One number per list; where a measure of the user's own fails, the error says that it is theirs."""
    try:
        values = measure.evaluate(lists)
        if np.shape(values) != (len(lists),):
            raise TypeError(f"an array of shape {np.shape(values)}, must be one number for each of {len(lists)} lists")
        return np.asarray(values, dtype=np.float64)
    except CranfieldError:
        raise
    except Exception as error:
        if type(measure).__module__.partition(".")[0] == "cranfield":
            raise
        raise UsageError(f"{measure}, a measure of yours, failed: {type(error).__name__}: {error}") from error


def _warn_undefined(lists: Assessed, measures: list[Measure], undefined: Any) -> None:
    topics = np.flatnonzero(undefined.any(axis=(0, 1)))
    if not len(topics):
        return
    some = [m for m, here in zip(measures, undefined.any(axis=(1, 2)), strict=True) if here]
    shown = ", ".join(lists.topics[t] for t in topics[:5]) + (f" and {len(topics) - 5} more" if len(topics) > 5 else "")
    least = min(float(getattr(m, "rel", 1)) for m in some)
    relevant = np.zeros(len(lists.topics))
    relevant[lists.topic] = lists.num_rel(least)
    empty = int((relevant[topics] == 0).sum())
    if empty == len(topics):
        why = "such a topic has no relevant document"
    else:
        ways = list(dict.fromkeys(way for m in some if (way := _way_out(m))))
        others = "they have" if not empty else f"{empty} of them without relevant documents, the others have"
        why = f"{others} relevant documents: {'; '.join(ways) or 'see ' + _pages(some) + ' for when it is undefined'}"
    warnings.warn(
        f"{', '.join(map(str, some))}: undefined on {len(topics)} of {len(lists.topics)} topics ({shown}), which the "
        f"means leave out; {why}",
        CranfieldWarning,
        stacklevel=2,
    )


def _way_out(measure: Measure) -> str | None:
    """What would define a score for lists that lack relevant documents, where that is why there is none."""
    if isinstance(measure, LastRel) and measure.N is None:
        return "a list lacks some of them, which LastRel(N=...) scores N, the number of documents there are to read"
    return None


def _pages(measures: list[Measure]) -> str:
    return " and ".join(f"`cranfield measures {name}`" for name in dict.fromkeys(m.name for m in measures))

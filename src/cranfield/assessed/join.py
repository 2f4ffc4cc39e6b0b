"""Join runs with judgments. Order, ties, missing topics and duplicates are settled here; measures only see hits."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cranfield import _core
from cranfield.assessed.attachment import Attachment
from cranfield.assessed.dimensions import judged_in_dimensions
from cranfield.assessed.intent_files import DISTRIBUTIONS, descriptions
from cranfield.assessed.intents import judged_by_intent
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.joined_runs import JudgedIndex, join_runs
from cranfield.assessed.lists import Assessed
from cranfield.assessed.matrix_lists import assess_arrays as assess_arrays
from cranfield.assessed.sampling import AS_STRATA, has_strata, sample_of
from cranfield.assessed.together import sets_together
from cranfield.collection.accepted_inputs import QrelsLike, RunsLike
from cranfield.collection.qrels import Qrels
from cranfield.collection.records import NO_LABEL
from cranfield.errors import CranfieldWarning, UsageError, warn_caller
from cranfield.types import Array, Progress

HIGHEST = 1000.0
"""A higher grade is probably a mistake; from 1024 on, the gain 2^grade is not even a number any more."""
FEW = 100
"""If fewer than one document in 100 has two labels, the judgments are probably not by intent."""
TYPES_FROM = "intent types: from "
"""The beginning of the note that names the source of intent types."""


def join(
    qrels: QrelsLike, runs: RunsLike, options: JoinOptions | None = None, progress: Progress | None = None
) -> Assessed:
    """Assessed lists of every run on every judged topic.

    `qrels` is anything that `Qrels.of` takes. `runs` is one run or a list of them: paths, globs, dicts, frames, `Run`s;
    a mapping {name: run} names them.

    >>> lists = join({"q1": {"d1": 1, "d2": 0}}, {"mine": {"q1": {"d2": 2.0, "d1": 1.0, "d3": 0.5}}})
    >>> lists.rank.tolist(), lists.grade.tolist(), lists.retrieved.tolist()
    ([1, 2], [0.0, 1.0], [3])
    """
    options = options or JoinOptions()
    judgments = qrels if isinstance(qrels, Qrels) else Qrels.of(qrels, on_duplicate=options.on_duplicate)
    return prepare(judgments, options).join(runs, progress)


def _odd_grades(qrels: Qrels, documents: JudgedIndex) -> Iterator[str]:
    """Messages about judgments from which no useful score can be computed."""
    if not len(qrels):
        yield f"{qrels.path or 'the judgments'}: empty, no document is judged; all measures are undefined"
    elif documents.by_topic.highest <= 0:
        yield "no document is judged relevant (grade 1 or more); measures that need one are undefined"
    place, value = qrels.table.furthest_from_zero()
    if abs(value) > HIGHEST:
        topic = qrels.topics[int(np.searchsorted(qrels.starts, place, side="right")) - 1]
        doc = qrels.table.docs(place, place + 1)[0]
        yield (
            f"{qrels.path or 'the judgments'}: the grade of document {doc!r} for topic {topic!r} is {value:g}, which "
            "is unlikely to be a grade; check the column of grades"
        )


@dataclass(frozen=True)
class PreparedJudgments:
    """Judgments ready to be joined, with attachments, notes and the options of joins; used for any number of joins."""

    qrels: Qrels
    options: JoinOptions
    documents: JudgedIndex
    attachments: Mapping[str, Attachment]
    notes: tuple[str, ...]
    odd_grades: tuple[str, ...]
    """Messages about judgments from which no useful score can be computed."""
    other_dimensions: bool
    """Whether some documents are judged only in other dimensions, and have no grade."""

    def join(self, runs: RunsLike, progress: Progress | None = None) -> Assessed:
        """Assessed lists of every run on every judged topic."""
        return self.attach(join_runs(self.documents, runs, self.options, progress, self.qrels))

    def attach(self, lists: Assessed) -> Assessed:
        """Lists that are already joined, with the attachments and notes of the judgments."""
        for message in self.odd_grades:
            warn_caller(message, CranfieldWarning)
        if self.options.together is not None:
            if self.attachments:
                raise UsageError(f"together cannot be combined with {' and '.join(self.attachments)}")
            lists = sets_together(self.options.together, self.qrels, self.documents.table).read(lists)
        if not self.notes and not self.attachments:
            return lists
        attachments = {name: attachment.joined(lists) for name, attachment in self.attachments.items()}
        lists = lists.replace(notes=lists.notes + self.notes, **attachments)
        if not self.other_dimensions:
            return lists
        hits = np.flatnonzero(~np.isnan(lists.grade))
        return lists.take_hits(slice(None), hits, lists.row[hits])


def prepare(qrels: Qrels, options: JoinOptions) -> PreparedJudgments:
    """Judgments ready to be joined."""
    prepared = _prepared(qrels, options)
    documents = JudgedIndex.of(prepared.judged, prepared.grade)
    return PreparedJudgments(
        qrels,
        options,
        documents,
        prepared.attachments,
        (*qrels.notes, *prepared.notes),
        tuple(_odd_grades(qrels, documents)),
        prepared.grade is not None,
    )


class _Prepared(NamedTuple):
    """Judgments in the form that the core joins, with attachments and notes."""

    judged: _core.Judged
    attachments: Mapping[str, Attachment] = {}
    notes: tuple[str, ...] = ()
    grade: Array | None = None
    """Grades of the documents, NaN for documents that only other dimensions judge; None: those of `judged`."""


def _prepared(qrels: Qrels, options: JoinOptions) -> _Prepared:
    described = options.described_intents
    if options.strata and (described or qrels.by_intent or qrels.plain):
        what = "is ignored in format 'trec'" if qrels.plain else "is the intent"
        raise UsageError(f"strata are column 2 of the judgments, which {what} here; leave out one of them")
    if options.dimensions is not None:
        if described or options.inclusion is not None:
            raise UsageError("dimensions cannot be combined with intents or inclusion")
        judged, dimensions = judged_in_dimensions(qrels, options.dimensions, options.on_duplicate)
        return _Prepared(judged, {"dimensions": dimensions}, grade=dimensions.grade[0])
    has_intents = qrels.has_intents
    if is_sample(qrels, options):
        sample = sample_of(qrels, options.inclusion)
        return _Prepared(qrels.judged(), {"sample": sample}, (AS_STRATA,) if sample.strata > 1 else ())
    if described and not has_intents:
        if NO_LABEL.issuperset(qrels.table.labels):
            raise UsageError(
                f"intents are described, but {qrels.path or 'the judgments'} have none: column 2 is the same "
                "everywhere; if it is the intent, read the judgments with format='diversity'"
            )
        qrels, has_intents = qrels.with_intents(), True
    if not has_intents:
        return _Prepared(qrels.judged(options.on_duplicate))
    probabilities, types = descriptions(options.intent_probabilities, options.intent_types)
    judged, intents = judged_by_intent(qrels, probabilities, types, keep_empty=options.empty_intents == "keep")
    if not (described or qrels.by_intent):
        _warn_of_few_intents(qrels, int(judged.start[-1]))
    return _Prepared(judged, {"intents": intents}, _about_intents(options, types))


def is_sample(qrels: Qrels, options: JoinOptions) -> bool:
    """Whether the judgments are read as a sample, because that is asked for or because most documents are not drawn."""
    if options.inclusion is not None or options.strata:
        return True
    if options.described_intents or not (qrels.labels_vary or len(qrels.probabilities)):
        return False
    return has_strata(qrels, wanted=options.sampled)


def _warn_of_few_intents(qrels: Qrels, judged: int) -> None:
    """Warn if hardly any of the judged documents has two labels in column 2, which may be the round of judging."""
    again = len(qrels) - judged
    have = "has" if again == 1 else "have"
    if again * FEW < judged:
        warn_caller(
            f"{qrels.path or 'the judgments'}: column 2 is read as the intent, because {again:,} of {judged:,} "
            f"documents {have} two labels in a topic; if it is a round or an iteration, read the judgments with "
            "format='trec'",
            CranfieldWarning,
        )


def _about_intents(options: JoinOptions, types: Any) -> tuple[str, ...]:
    """Notes on where probabilities and types of intents come from."""
    notes = []
    if (probabilities := options.intent_probabilities) is not None:
        named = DISTRIBUTIONS.get(probabilities) if isinstance(probabilities, str) else None
        source = f"{probabilities}, {named}" if named else f"from {_source(probabilities)}"
        notes.append(f"intent probabilities: {source}")
    if types is not None:
        notes.append(TYPES_FROM + _source(options.intent_types or options.intent_probabilities))
    if options.empty_intents == "keep":
        notes.append("intents without relevant documents keep their probability; no document can serve them")
    return tuple(notes)


def _source(thing: Any) -> str:
    path = os.fspath(thing) if isinstance(thing, str | os.PathLike) else "a mapping"
    return "standard input" if path == "-" else path

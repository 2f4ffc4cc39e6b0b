"""Runs meet judgments: the one step from documents to hits. Ties, order, missing and duplicates are settled here."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from cranfield.assessed.by_rank import ByRank
from cranfield.assessed.dimensions import graded
from cranfield.assessed.intent_files import DISTRIBUTIONS
from cranfield.assessed.intents import by_document
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.joined_runs import joined
from cranfield.assessed.lists import Assessed
from cranfield.assessed.sampling import AS_STRATA, drawn, has_strata
from cranfield.assessed.segments import Judged, segment_starts
from cranfield.collection.qrels import Qrels
from cranfield.collection.records import NO_LABEL
from cranfield.errors import CranfieldWarning, DataError, UsageError
from cranfield.types import Array, Progress

TYPES_FROM = "intent types: from "
"""How the note begins that says where they are from."""


def join(qrels: Any, runs: Any, options: JoinOptions | None = None, progress: Progress | None = None) -> Assessed:
    """Assessed lists of every run on every judged topic.

    `qrels` is anything `Qrels.of` takes. `runs` is one run or a list of them: paths, globs, dicts, frames, `Run`s;
    a mapping {name: run} names them.

    >>> lists = join({"q1": {"d1": 1, "d2": 0}}, {"mine": {"q1": {"d2": 2.0, "d1": 1.0, "d3": 0.5}}})
    >>> lists.rank.tolist(), lists.grade.tolist(), lists.retrieved.tolist()
    ([1, 2], [0.0, 1.0], [3])
    """
    options = options or JoinOptions()
    judgments = Qrels.of(qrels, on_duplicate=options.on_duplicate)
    described = options.intent_probabilities is not None or options.intent_types is not None
    if options.dimensions is not None:
        if described or options.inclusion is not None:
            raise UsageError("dimensions: judgments of several dimensions are read without intents and inclusion")
        return _joined_dimensions(judgments, runs, options, progress)
    told_of_intents = described or judgments.by_intent
    if options.inclusion is not None or (not told_of_intents and has_strata(judgments)):
        return _joined_sample(judgments, runs, options, progress)
    if described and not judgments.has_intents:
        if NO_LABEL.issuperset(judgments.table.labels):
            raise UsageError(
                f"intents are described, but {judgments.path or 'the judgments'} have none: column 2 says nothing; "
                "if its one word is the intent, read them as 'diversity' (--qrels-format diversity)"
            )
        judgments = judgments.with_intents()
    if not judgments.has_intents:
        lists = joined(judgments.judged(options.on_duplicate), runs, options, progress)
        _warn_without_relevant(judgments.values)
        return lists.replace(notes=(*lists.notes, *judgments.notes)) if judgments.notes else lists
    documents = by_document(judgments, options.intent_probabilities, options.intent_types)
    lists = joined(documents.judged, runs, options, progress)
    _warn_without_relevant(documents.grade)
    number = lists.grade.astype(np.int64)
    return lists.replace(
        document=number,
        grade=documents.grade[number],
        judged=Judged.of(documents.intents.topic_of_document, documents.grade, len(lists.topics)),
        intents=documents.intents,
        notes=(*lists.notes, *judgments.notes, *_about_intents(options)),
    )


def _about_intents(options: JoinOptions) -> list[str]:
    """What was said of intents."""
    notes = []
    if (given := options.intent_probabilities) is not None:
        named = DISTRIBUTIONS.get(given) if isinstance(given, str) else None
        notes.append(f"intent probabilities: {f'{given}, {named}' if named else f'from {_whence(given)}'}")
    if (given := options.intent_types) is not None:
        notes.append(TYPES_FROM + _whence(given))
    return notes


def _whence(given: Any) -> str:
    path = os.fspath(given) if isinstance(given, str | os.PathLike) else "a mapping"
    return "standard input" if path == "-" else path


def _joined_sample(judgments: Qrels, runs: Any, options: JoinOptions, progress: Progress | None) -> Assessed:
    """Lists whose judgments are a sample: each hit remembers which document it is."""
    documents = drawn(judgments, options.inclusion)
    lists = joined(documents.judged, runs, options, progress)
    sample = documents.sample
    _warn_without_relevant(sample.grade)
    number = lists.grade.astype(np.int64)
    notes = (AS_STRATA,) if judgments.has_intents else ()
    return lists.replace(
        document=number,
        grade=sample.grade[number],
        judged=Judged.of(sample.topic, sample.grade, len(lists.topics)),
        sample=sample,
        notes=(*lists.notes, *judgments.notes, *notes),
    )


def _joined_dimensions(judgments: Qrels, runs: Any, options: JoinOptions, progress: Progress | None) -> Assessed:
    """Lists judged in several dimensions: each hit remembers which document it is."""
    documents = graded(judgments, options.dimensions, options.on_duplicate)
    lists = joined(documents.judged, runs, options, progress)
    relevance = documents.grade[0]
    judged = ~np.isnan(relevance)
    _warn_without_relevant(relevance[judged])
    number = lists.grade.astype(np.int64)
    hit = judged[number]
    first, last = lists.tie_first, lists.tie_last
    return lists.replace(
        row=lists.row[hit],
        rank=lists.rank[hit],
        grade=relevance[number[hit]],
        tie_first=None if first is None else first[hit],
        tie_last=None if last is None else last[hit],
        document=number[hit],
        judged=Judged.of(documents.topic[judged], relevance[judged], len(lists.topics)),
        dimensions=documents.joined(segment_starts(lists.row, len(lists)), lists.rank, number, first, last),
        notes=(*lists.notes, *judgments.notes),
    )


def _warn_without_relevant(grades: Array) -> None:
    if not (grades > 0).any():
        told = "no document is judged relevant (grade 1 or more): measures that need one are undefined"
        warnings.warn(told, CranfieldWarning, stacklevel=2)


def assess_arrays(grades: Any, scores: Any, mask: Any = None) -> Assessed:
    """Assessed lists from matrices (queries × documents), for people who train rankers.

    `mask` is true where a document exists; NaN in `grades` is an unjudged document. Ties go to the higher column,
    as document ids compare in trec_eval's rule.

    >>> lists = assess_arrays([[0, 1, 2]], [[0.1, 0.9, 0.5]])
    >>> lists.grade.tolist()
    [1.0, 2.0, 0.0]
    """
    try:
        grade, score = np.asarray(grades, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    except (ValueError, TypeError) as error:  # text, or rows of different lengths
        raise UsageError(f"grades and scores must be matrices of numbers (queries × documents): {error}") from None
    there = np.ones(score.shape, dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    if grade.ndim != 2 or grade.shape != score.shape or there.shape != score.shape:
        raise UsageError(f"shapes {grade.shape}, {score.shape} and {there.shape}: all must be queries × documents")
    if np.isnan(score[there]).any():
        row, column = np.argwhere(np.isnan(score) & there)[0]
        raise DataError("scores", None, f"NaN at query {row}, document {column}")
    queries, documents = score.shape
    backwards = slice(None, None, -1)
    order = np.lexsort((-score[:, backwards], ~there[:, backwards]), axis=1)  # a document with -inf exists all the same
    order = documents - 1 - order
    length = there.sum(axis=1)
    sorted_grade = np.take_along_axis(grade, order, axis=1)
    sorted_score = np.take_along_axis(score, order, axis=1)
    inside = np.arange(documents) < length[:, None]
    hit = inside & ~np.isnan(sorted_grade)
    row, column = np.nonzero(hit)
    new_group = np.ones(score.shape, dtype=bool)
    new_group[:, 1:] = sorted_score[:, 1:] != sorted_score[:, :-1]
    position = np.broadcast_to(np.arange(documents), score.shape)
    first = np.maximum.accumulate(np.where(new_group, position, 0), axis=1)
    ends = np.where(inside, np.roll(new_group, -1, axis=1), True)
    ends[:, -1:] = True
    ends |= position == length[:, None] - 1
    last = np.minimum.accumulate(np.where(ends, position, documents)[:, backwards], axis=1)[:, backwards]
    judged = there & ~np.isnan(grade)
    topic = np.nonzero(judged)[0]
    return Assessed.grid(
        ["run"],
        [str(q) for q in range(queries)],
        retrieved=length,
        missing=np.zeros(queries, dtype=bool),
        row=row,
        rank=column + 1,
        grade=sorted_grade[hit],
        tie_first=first[hit] + 1,
        tie_last=last[hit] + 1,
        judged=Judged.of(topic, grade[judged], queries),
        notes=("order: score",),
    ).replace(scores=ByRank(np.cumsum(length) - length, {"score": sorted_score[inside]}))

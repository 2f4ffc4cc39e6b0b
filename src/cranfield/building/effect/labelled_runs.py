"""Runs joined once with the labelled documents, and scored with many sets of grades."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from cranfield.assessed.changed_lists.judged_documents import JudgedDocuments
from cranfield.assessed.join_options import JoinOptions
from cranfield.building.assessor_labels import Labels
from cranfield.collection.qrels import Qrels
from cranfield.evaluation.evaluator import as_measures, values_of, with_scores
from cranfield.notes import caution_note
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed
from cranfield.types import Array, Progress
from cranfield.views.ties import Ties


class LabelledRuns:
    """Runs on the topics of labels.

    >>> labels = Labels.of([("1", "d1", "anna", 1), ("1", "d2", "anna", 0), ("1", "d1", "ben", 0)])
    >>> runs = LabelledRuns(labels, {"mine": {"1": {"d2": 2.0, "d1": 1.0}}}, "AP")
    >>> runs.values(np.array([1.0, 0.0])).tolist()  # d1 is relevant, at rank 2
    [[[0.5]]]
    """

    def __init__(
        self,
        labels: Labels,
        runs: Any,
        measures: Any = None,
        *,
        missing: str = "zero",
        options: JoinOptions | None = None,
        progress: Progress | None = None,
    ) -> None:
        labels.need_topics()
        self.labels = labels
        self.measures = as_measures(measures)
        rows = [(topic, doc, i + 1) for i, (topic, doc) in enumerate(zip(labels.topics, labels.docs, strict=True))]
        numbered = Qrels.from_tuples(rows, name="labels")  # the grade is the number of the item, from 1
        options = with_scores(options or JoinOptions(), self.measures)
        documents = JudgedDocuments.of(numbered, runs, options, progress)
        uses_ties = any(isinstance(view, Ties) for measure in self.measures for view in measure.views)
        self._documents = documents if uses_ties else documents.without_ties()
        self._item = documents.grade.astype(np.int64) - 1
        """The item of each judged document."""
        self.missing_rule = missing
        self.lists = documents.lists
        self.runs, self.topics = documents.lists.runs, documents.lists.topics
        self.absent = documents.lists.missing.reshape(len(self.runs), len(self.topics))

    def on(self, labels: Labels) -> LabelledRuns:
        """The same runs with labels of the same items, on another scale."""
        other = copy(self)
        other.labels = labels
        return other

    def values(self, grades: Array) -> Array:
        """measures × runs × topics: scores with a grade per item, where NaN is not judged.

        A topic without a judged document has no score (NaN).
        """
        of_documents = grades[self._item]
        keep = ~np.isnan(of_documents)
        lists = self._documents.judged(keep=keep, grade=np.where(keep, of_documents, 0.0))
        shape = self.absent.shape
        values = np.stack([values_of(measure, lists).reshape(shape) for measure in self.measures])
        judged = np.bincount(self._documents.topic[keep], minlength=len(self.topics)) > 0
        values[:, :, ~judged] = np.nan
        if self.missing_rule == "skip":
            values[:, self.absent] = np.nan
        return values

    def scores(self, values: Array, notes: Sequence[str] = ()) -> Scores:
        """Scores of these runs and topics."""
        names = tuple(map(str, self.measures))
        every = tuple(dict.fromkeys([*self.lists.notes, *self.notes(), *notes]))
        return Scores(names, self.runs, self.topics, values, self.absent, self.missing_rule, every)

    def notes(self) -> list[str]:
        """What a reader of scores must know about the runs."""
        notes = []
        hits = np.bincount(self.lists.run[self.lists.row], minlength=len(self.runs))
        if len(none := [run for run, count in zip(self.runs, hits.tolist(), strict=True) if not count]):
            notes.append(f"{counted(len(none), 'run retrieves', 'runs retrieve')} no labelled document: {listed(none)}")
        names = [run for run, lacks in zip(self.runs, self.absent, strict=True) if lacks.any()]
        if names:
            effect = caution_note("count as empty lists") if self.missing_rule == "zero" else "have no score"
            notes.append(caution_note(f"topics that a run does not contain {effect}: {listed(names)}"))
        return notes

    def grades_by_assessor(self) -> Array:
        """assessors × items: the grade that each assessor gave; NaN if none."""
        grades = np.full((len(self.labels.workers), len(self.labels.items)), np.nan)
        grades[self.labels.worker, self.labels.item] = self.labels.values[self.labels.label]
        return grades

    def values_by_assessor(self, progress: Progress | None = None) -> Array:
        """assessors × measures × runs × topics: scores with the labels of one assessor alone."""
        grades = self.grades_by_assessor()
        parts = []
        for number, own in enumerate(grades):
            parts.append(self.values(own))
            if progress is not None:
                progress(number + 1, len(grades))
        return np.stack(parts)

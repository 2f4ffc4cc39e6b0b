"""Judgments by several judges, as in `-R qrels_jg` of trec_eval: a measure is the mean over the judges of a topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.assessed.segments import Judged
from cranfield.compat.trec_lists import TrecLists, graded, lists_of, sorted_labels
from cranfield.types import Array


class TrecGroups:
    """Judgments by group (column 2), ready to be joined with runs."""

    def __init__(self, table: _core.Table) -> None:
        self._labels, label = sorted_labels(table)
        self.core, rows, start = _core.by_document(table, np.arange(len(self._labels), dtype=np.int64))
        self.topics: list[str] = self.core.topics
        self._topic = np.repeat(np.arange(len(self.topics)), np.diff(self.core.start))
        self._document = np.repeat(np.arange(len(start) - 1), np.diff(start))
        self._label = label[rows]
        self._grade = graded(table.values[rows], whole=True)

    def lists(
        self, joined: _core.Joined, *, judged_only: bool, nothing: bool, unjudged_for_missing: bool
    ) -> GroupedLists:
        """The lists of a join once for each group; see `TrecQrels.lists`."""
        groups = []
        for label in range(len(self._labels)):
            mine = self._label == label
            document, grade = self._document[mine], self._grade[mine]
            of_document = np.full(len(self._topic), np.nan)
            of_document[document] = grade
            judged = Judged.of(self._topic[document], grade, len(self.topics))
            hit = of_document[joined["document"]]
            lists = lists_of(
                joined, self.topics, hit, judged, nothing=nothing, unjudged_for_missing=unjudged_for_missing
            )
            lists = lists.hits_where(~np.isnan(lists.grade))
            groups.append((lists.only_judged() if judged_only else lists, np.diff(judged.start) > 0))
        return GroupedLists(**vars(groups[0][0]), groups=tuple(groups))


@dataclass(frozen=True, eq=False)
class GroupedLists(TrecLists):
    """The lists of the first group, and for every group its lists and the topics it has judged."""

    groups: tuple[tuple[TrecLists, NDArray[np.bool_]], ...] = ()

    def mean(self, values: Callable[[TrecLists], list[Array]]) -> list[Array]:
        """The mean over the groups of each topic, added up in the order of the groups, like in C."""
        number = np.zeros(self.rows)
        totals: list[Array] = []
        for lists, judged in self.groups:
            number += judged
            of_group = [np.where(judged, value, 0.0) for value in values(lists)]
            totals = [a + b for a, b in zip(totals, of_group, strict=True)] if totals else of_group
        return [total / number for total in totals]

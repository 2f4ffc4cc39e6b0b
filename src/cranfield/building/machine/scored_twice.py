"""Scores of the same runs with human and with machine judgments, on the same topics."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.assessed.join_options import JoinOptions
from cranfield.building.machine.judged_pairs import JudgedPairs
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.errors import CranfieldWarning, UsageError, warn_caller
from cranfield.evaluation.evaluator import Evaluator, score
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed

BOTH, ALL = "both", "all"
DOCUMENTS = {BOTH: "only documents that both judged", ALL: "all judgments of each file"}
"""Which judgments count, on topics that both have."""


@dataclass(frozen=True, eq=False)
class ScoredTwice:
    """The scores of all runs with human and with machine judgments, on the same topics."""

    judge: str
    documents: str
    """`both` or `all`, see `DOCUMENTS`."""
    human: Scores
    machine: Scores
    left_out: tuple[str, ...]
    """The topics on which a score is undefined with human or machine judgments."""
    notes: tuple[str, ...] = ()
    """Warnings about the runs, such as topics that they lack."""


def score_twice(
    human: Qrels, machine: Qrels, pairs: JudgedPairs, runs: Mapping[str, Run], measures: Any, **options: Any
) -> list[ScoredTwice]:
    """Scores on documents that both judged, and on all judgments; only topics with such documents count.

    If both judged the same documents of these topics, there is only the first. A topic on which a score is undefined
    with either judgments is left out of both.
    """
    common = set(pairs.topics)
    used = {BOTH: (human.of_rows(pairs.human_rows), machine.of_rows(np.sort(pairs.machine_rows)))}
    whole = _on_topics(human, common), _on_topics(machine, common)
    if any(len(qrels) > len(pairs) for qrels in whole):
        used[ALL] = whole
    return [
        _scored(pairs.name, documents, *judgments, runs=runs, measures=measures, **options)
        for documents, judgments in used.items()
    ]


def _scored(judge: str, documents: str, human: Qrels, machine: Qrels, **options: Any) -> ScoredTwice:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        by_human, by_machine = (_scores(qrels, **options) for qrels in (human, machine))
    messages = _repeated(caught)
    by_machine = by_machine.select(topics=by_human.topics)
    undefined = np.asarray(np.isnan(by_human.values + by_machine.values).any(axis=(0, 1)))
    if undefined.all():
        raise UsageError(
            f"{judge}: no topic has a score of every run and measure with both judgments; choose measures that are "
            "defined without relevant documents, or other runs"
        )
    lost = tuple(topic for topic, gone in zip(by_human.topics, undefined.tolist(), strict=True) if gone)
    if lost:
        kept = [topic for topic in by_human.topics if topic not in lost]
        by_human, by_machine = by_human.select(topics=kept), by_machine.select(topics=kept)
    return ScoredTwice(judge, documents, by_human, by_machine, lost, messages)


def _scores(qrels: Qrels, *, runs: Mapping[str, Run], measures: Any, missing: str = "zero", **options: Any) -> Scores:
    evaluator = Evaluator(qrels, measures, missing=missing, options=JoinOptions(**options))
    lists = evaluator.assess(dict(runs))
    hits = np.bincount(lists.run[lists.row], minlength=len(lists.runs))
    if (hits == 0).any():
        empty = [run for run, count in zip(lists.runs, hits.tolist(), strict=True) if not count]
        message = f"{counted(len(empty), 'run')} without any judged document: {listed(empty)}"
        warn_caller(message, CranfieldWarning)
    return score(lists, evaluator.measures, missing=missing)


def _repeated(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """The warnings about scores, for notes. An audit uses some topics only, and names undefined scores itself."""
    messages = []
    for warning in caught:
        text = str(warning.message)
        if not isinstance(warning.message, CranfieldWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        elif not re.search("without judgments ignored|undefined", text):
            messages.append(text)
    return tuple(dict.fromkeys(messages))


def _on_topics(qrels: Qrels, topics: set[str]) -> Qrels:
    rows = np.array([row for row, topic in enumerate(qrels.row_topics) if topic in topics], dtype=np.int64)
    return qrels.of_rows(rows)

"""The join of runs with judgments in slow and obvious Python, and random collections to join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
from hypothesis import strategies as st

from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged

Judgments = Mapping[str, Mapping[str, float]]
Run = Mapping[str, Mapping[str, float]]


def ranked(scores: Mapping[str, float]) -> list[str]:
    """Documents by score descending, ties by document id descending: trec_eval's order."""
    return sorted(scores, key=lambda document: (scores[document], document), reverse=True)


def joined(judgments: Judgments, runs: Mapping[str, Run]) -> Assessed:
    """Assessed lists of every run on every judged topic, with the bounds of ties."""
    run_of, topic_of, rank_of, grade_of, first_of, last_of = [], [], [], [], [], []
    retrieved = {}
    for run, found in runs.items():
        for topic in judgments:  # in the order in which rows are numbered
            if topic not in found:
                continue
            scores = found[topic]
            order = ranked(scores)
            retrieved[run, topic] = len(order)
            rank = 0
            for _, tied in groupby(order, key=scores.__getitem__):
                group = list(tied)
                first, last = rank + 1, rank + len(group)
                for document in group:
                    rank += 1
                    if document in judgments[topic]:
                        run_of.append(run)
                        topic_of.append(topic)
                        rank_of.append(rank)
                        grade_of.append(judgments[topic][document])
                        first_of.append(first)
                        last_of.append(last)
    for run in runs:  # a run without any judged topic still has its rows
        retrieved.setdefault((run, ""), 0)
    lists = Assessed.from_table(
        run_of,
        topic_of,
        rank_of,
        grade_of,
        judged={topic: list(grades.values()) for topic, grades in judgments.items()},
        retrieved=retrieved,
    )
    return lists.replace(tie_first=np.array(first_of, dtype=np.int64), tie_last=np.array(last_of, dtype=np.int64))


DOCUMENTS = [f"d{number}" for number in range(16)]


@st.composite
def collections(
    draw: st.DrawFn, *, lowest: int = -1, highest: int = 3, ties: bool = True, every_topic: bool = False
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgments and one run, with unjudged documents, missing topics, and topics without relevant documents."""
    topics = draw(st.lists(st.sampled_from("abcde"), min_size=1, max_size=4, unique=True))
    judgments: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for topic in topics:
        judged = draw(st.lists(st.sampled_from(DOCUMENTS), min_size=1, unique=True))
        judgments[topic] = {document: draw(st.integers(lowest, highest)) for document in judged}
        if every_topic or not run or draw(st.integers(0, 3)):
            found = draw(st.lists(st.sampled_from(DOCUMENTS), min_size=1, unique=True))
            possible = st.integers(0, 5) if ties else st.integers(0, 10**6)
            values = draw(st.lists(possible, min_size=len(found), max_size=len(found), unique=not ties))
            run[topic] = {document: float(value) for document, value in zip(found, values, strict=True)}
    return judgments, run


@st.composite
def graded_lists(
    draw: st.DrawFn, *, lowest: int = 0, highest: int = 3, longest: int = 12, unjudged: bool = True
) -> tuple[list[float | None], list[float]]:
    """One list as its grades from the top (None: unjudged), and the grades of the judged documents it missed."""
    grade: st.SearchStrategy[float] = st.integers(lowest, highest)
    listed: list[float | None] = draw(st.lists(st.one_of(st.none(), grade) if unjudged else grade, max_size=longest))
    missed: list[float] = draw(st.lists(grade, max_size=6))
    return listed, missed


def side_by_side(lists: Sequence[Sequence[float | None]], judged: Sequence[float]) -> Assessed:
    """Many lists of one topic that share one set of judgments. A list is given as its grades from the top."""
    hits = [
        (row, rank, grade)
        for row, grades in enumerate(lists)
        for rank, grade in enumerate(grades, 1)
        if grade is not None
    ]
    return Assessed(
        runs=tuple(f"run{row}" for row in range(len(lists))),
        topics=("topic",),
        run=np.arange(len(lists)),
        topic=np.zeros(len(lists), dtype=np.int64),
        retrieved=np.array([len(grades) for grades in lists], dtype=np.int64),
        missing=np.zeros(len(lists), dtype=bool),
        row=np.array([row for row, _, _ in hits], dtype=np.int64),
        rank=np.array([rank for _, rank, _ in hits], dtype=np.int64),
        grade=np.array([grade for _, _, grade in hits], dtype=np.float64),
        judged=Judged.of(np.zeros(len(judged), dtype=np.int64), np.asarray(judged, dtype=np.float64), 1),
        set_of_row=np.zeros(len(lists), dtype=np.int64),
    )

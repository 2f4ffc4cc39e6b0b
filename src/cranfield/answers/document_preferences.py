"""Measures from preferences between documents: which of two did an assessor find better, side by side?"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.given_runs import each_run
from cranfield.collection.accepted_inputs import RunsLike
from cranfield.collection.run import runs_of
from cranfield.collection.source import PathLike
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.meta.agreement.concordance import Preferences, read_preferences
from cranfield.notes import Notes, method_note
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed
from cranfield.types import Array

MEASURES = ("ppref", "rpref", "wpref", "appref")
_NOWHERE = np.iinfo(np.int64).max
"""The rank of a document that is not in the list."""
Pairs = Mapping[str, list[tuple[str, str]]]
"""{topic: (the better document, the other one), one for each preference}."""


@operation
def document_preferences(
    preferences: Preferences | PathLike | Sequence[tuple[str, str, str]],
    runs: RunsLike,
    measures: Iterable[str] = MEASURES,
    *,
    transitive: Annotated[
        bool, about("Add what follows from an assessor's preferences: a before b and b before c make a before c.")
    ] = False,
    order: str = "score",
    ties: str = "z-a",
) -> Scores:
    r"""Scores of ranked lists from preferences between documents, where nobody judged a document on its own.

    A preference is ordered by the first k documents if one of the two documents is among them, and ordered correctly if
    the better document comes first. With c(k) correct and o(k) ordered preferences, of all P of the topic,

    .. math:: \text{ppref@}k = \frac{c(k)}{o(k)}, \quad \text{rpref@}k = \frac{c(k)}{P}, \quad
              \text{wpref@}k = \frac{\sum_{correct} w}{\sum_{ordered} w}, \quad w = \frac{1}{\log_2(\min(r_i, r_j) + 1)}

    r_i and r_j are the ranks of the two documents. `appref` is the mean of ppref@r over the ranks r at which rpref
    grows. Without @k, the whole list counts. A preference of each assessor counts; ties are no preferences.

    A list without ordered preferences scores 0. A topic without preferences is left out, and a note counts them.
    Preferences that an assessor contradicts (a before b and b before a, also by what follows) are left out of
    `transitive` judgments, and a note counts them.

    References: Carterette, Bennett, Chickering & Dumais, Here or There, ECIR 2008, doi:10.1007/978-3-540-78646-7_5;
    Carterette & Bennett, Evaluation Measures for Preference Judgments, SIGIR 2008, doi:10.1145/1390334.1390451, of
    which only the first page was at hand: the discount of wpref, and that it is divided by that of the ordered
    preferences, are ours. See also bpref and the preference measures of `cranfield trec_eval`.

    >>> better = [("1", "a", "b"), ("1", "a", "c"), ("1", "c", "b")]  # topic, the better document, the other
    >>> document_preferences(better, {"mine": {"1": ["a", "b", "d"]}}, ["ppref@1", "ppref", "rpref", "wpref"])
    Scores: 4 measures × 1 run × 1 topic
          ppref@1   ppref   rpref   wpref
    mine   1.0000  0.6667  0.6667  0.7602
    3 preferences on 1 topic
    """
    judged = _preferences(preferences)
    names = list(dict.fromkeys(measures))
    chosen = [_measure(name) for name in names]
    if not chosen:
        raise UsageError("document_preferences: no measure")
    pairs, notes = pairs_of(judged, transitive)
    if not pairs:
        raise UsageError(f"{judged.origin}: no preferences, only ties")
    lists = [run for name, given in each_run(runs) for run in runs_of(given, name)]
    values, missing = np.zeros((len(names), len(lists), len(pairs))), np.zeros((len(lists), len(pairs)), dtype=bool)
    seen = 0
    for r, run in enumerate(lists):
        known = set(run.topics)
        for t, (topic, of_topic) in enumerate(pairs.items()):
            missing[r, t] = topic not in known
            docs = [] if missing[r, t] else run.ordered_docs(topic, order, ties)
            rank = {doc: place for place, doc in enumerate(docs, 1)}
            ranks = np.array([[rank.get(doc, _NOWHERE) for doc in pair] for pair in of_topic], dtype=np.int64)
            seen += int((ranks.min(axis=1) < _NOWHERE).any())
            values[:, r, t] = [_score(kind, ranks, depth) for kind, depth in chosen]
    if not seen:
        raise UsageError(f"{judged.origin}: no run has a document of a preference on its topic; are the ids the same?")
    return Scores(names, [run.name for run in lists], list(pairs), values, missing, "zero", notes)


def _preferences(given: Preferences | PathLike | Sequence[tuple[str, str, str]]) -> Preferences:
    if isinstance(given, Preferences):
        return given
    if isinstance(given, str | os.PathLike):
        return read_preferences(given)
    if not given:
        raise UsageError("document_preferences: no preferences")
    topic, better, other = zip(*given, strict=True)
    return Preferences(topic, better, other, (1,) * len(given), ("",) * len(given))


def pairs_of(preferences: Preferences, transitive: bool = False) -> tuple[Pairs, tuple[str, ...]]:
    """The better and the other document of each preference, by topic; and notes."""
    by_assessor: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    tied, topics = 0, dict.fromkeys(preferences.topic)
    columns = (preferences.topic, preferences.first, preferences.second, preferences.preferred, preferences.assessor)
    for topic, first, second, sign, assessor in zip(*columns, strict=True):
        if sign:
            by_assessor[topic, assessor].append((first, second) if sign > 0 else (second, first))
        tied += not sign
    pairs: dict[str, list[tuple[str, str]]] = {}
    given = contradicted = 0
    for (topic, _), found in by_assessor.items():
        given += len(found)
        if transitive:
            closed = _closure(found)
            kept = [pair for pair in closed if pair[::-1] not in closed]
            contradicted += (len(closed) - len(kept)) // 2
            found = kept
        if found:
            pairs.setdefault(topic, []).extend(found)
    every = sum(map(len, pairs.values()))
    follow = f", {every:,} with what follows from them" if transitive else ""
    notes = Notes()
    notes.append(method_note(f"{counted(given, 'preference')} on {counted(len(pairs), 'topic')}{follow}"))
    if contradicted:
        notes.caution(f"{counted(contradicted, 'pair')} left out, of which an assessor prefers each to the other")
    without = [topic for topic in topics if topic not in pairs]
    if without:
        notes.caution(f"{counted(len(without), 'topic')} without preferences left out: {listed(without)}")
    if tied:
        notes.append(method_note(f"{counted(tied, 'tie')} not counted"))
    return {topic: pairs[topic] for topic in topics if topic in pairs}, tuple(notes)


def _closure(pairs: list[tuple[str, str]]) -> dict[tuple[str, str], None]:
    """The pairs and those that follow from them, each once."""
    docs = list(dict.fromkeys(doc for pair in pairs for doc in pair))
    place = {doc: number for number, doc in enumerate(docs)}
    better = np.zeros((len(docs), len(docs)), dtype=bool)
    for first, second in pairs:
        better[place[first], place[second]] = True
    for middle in range(len(docs)):
        better |= better[:, middle, None] & better[middle]
    np.fill_diagonal(better, False)
    return {(docs[i], docs[j]): None for i, j in np.argwhere(better).tolist()}


def _measure(name: str) -> tuple[str, int | None]:
    """The kind of a measure, and its depth."""
    kind, at, depth = name.partition("@")
    if kind not in MEASURES:
        raise check.nearest(kind, list(MEASURES), "measure")
    if at and not re.fullmatch(r"[1-9][0-9]{0,17}", depth):
        raise UsageError(f"measure {name!r}: the depth is {depth!r}, must be a whole number of 1 or more")
    return kind, int(depth) if at else None


def _score(kind: str, ranks: NDArray[np.int64], depth: int | None) -> float:
    """The score of a list, from the ranks of the better and the other document of each preference."""
    first = ranks.min(axis=1)
    ordered = first <= (_NOWHERE - 1 if depth is None else depth)
    correct = ordered & (ranks[:, 0] < ranks[:, 1])
    if kind == "rpref":
        return float(correct.mean())
    if kind == "appref":
        grows = np.unique(first[correct])
        return float(np.mean([_score("ppref", ranks, int(rank)) for rank in grows])) if len(grows) else 0.0
    weight: Array = np.where(ordered, 1.0 if kind == "ppref" else 1 / np.log2(first + 1.0), 0.0)
    return float(weight[correct].sum() / weight.sum()) if ordered.any() else 0.0

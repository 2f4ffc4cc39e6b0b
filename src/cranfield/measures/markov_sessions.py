"""Markov Precision of a session: the lists of its queries, with a reader who may ask the next one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from cranfield import check
from cranfield.errors import UsageError
from cranfield.measures.markov import MP
from cranfield.measures.transition_files import invariant_distribution
from cranfield.types import Array


def session_precision(
    session: Sequence[Sequence[float | None]], measure: MP | None = None, *, reformulate: float = 0.2
) -> float:
    r"""Markov Precision of a session, given as the grades of each query's list from the top (None: not judged).

    .. math:: \sum_{(q,i) \in \mathcal{R}} \pi_{qi}\,\frac{C_q(i)}{i}, \qquad P_{(q,i)(q,j)} = (1 - \rho)\,P^q_{ij},
        \quad P_{(q,i)(q+1,1)} = \rho

    Within a list the reader moves as `measure` says, whose `states` must be all documents. After each document, with
    probability `reformulate` (ρ), the reader asks the next query and begins at the top of its list; the next one after
    the last is the first query of a new session like this. π is restricted to relevant documents, as in MP, and C_q(i)
    counts relevant documents in the document's own list. With `seconds`, π is weighted by them. Queries
    without results are left out. No relevant documents: 0.
    Reference: van Dijk, Ferrante, Ferro & Kanoulas, ECIR 2019 (the idea; the formula is ours)

    >>> round(session_precision([[0, 1], [1, 0]], MP(moves="adjacent"), reformulate=0.5), 4)
    0.8333
    """
    model = MP() if measure is None else measure
    check_session_model(model, reformulate)
    lists = [list(grades)[: model.k] for grades in session if len(grades)]
    if not lists:
        return 0.0
    sizes = [len(grades) for grades in lists]
    begins = np.concatenate(([0], np.cumsum(sizes))).astype(int)
    visits = session_visits(tuple(sizes), model, reformulate)
    weights: list[float] = []
    precision: list[float] = []
    for query, grades in enumerate(lists):
        found = 0
        for rank, grade in enumerate(grades, 1):
            if grade is not None and grade >= model.rel:
                found += 1
                weights.append(float(visits[begins[query] + rank - 1]) * _seconds(model, rank, float(grade)))
                precision.append(found / rank)
    total = sum(weights)
    return float(np.dot(weights, precision) / total) if total > 0 else 0.0


def check_session_model(model: MP, reformulate: float, caller: str = "session_precision") -> None:
    """Raise an error if the chain of a session cannot be made from these parameters."""
    check.finite(caller, reformulate=reformulate)
    if not 0 < reformulate <= 1:
        raise check.wrong(caller, "reformulate", reformulate, "above 0 and at most 1")
    if model.states != "all" or model.visits or model.transitions is not None or model.recall or model.views:
        raise UsageError(
            f"{caller}: {model}, must be MP with all documents as states, and without visits, transitions, "
            "recall and views"
        )


@lru_cache(maxsize=4096)
def session_visits(sizes: tuple[int, ...], model: MP, reformulate: float) -> Array:
    """How often the reader is at each document of a session whose lists have these sizes, none of them 0."""
    begins = np.concatenate(([0], np.cumsum(sizes))).astype(int)
    moves = np.zeros((begins[-1], begins[-1]))
    for query, size in enumerate(sizes):
        inside = slice(begins[query], begins[query + 1])
        top = begins[(query + 1) % len(sizes)]
        moves[inside, inside] = (1 - reformulate) * _moves(model, size)
        moves[inside, top] += reformulate
    return invariant_distribution(moves, "session_precision")


def _moves(model: MP, size: int) -> Array:
    """The probabilities of moves within a list of this size."""
    rank = np.arange(size)
    apart = np.abs(rank[:, None] - rank)
    weights = model.move_weights(apart)
    if not model.loops and size > 1:
        np.fill_diagonal(weights, 0.0)
    if model.moves == "adjacent":
        weights[apart > 1] = 0.0
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _seconds(model: MP, rank: int, grade: float) -> float:
    seconds: Any = model.seconds
    if seconds is None:
        return 1.0
    return float(seconds[min(rank, len(seconds)) - 1] if isinstance(seconds, tuple) else seconds(np.array([grade]))[0])

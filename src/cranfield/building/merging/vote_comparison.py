"""Is a model worse than voting? Both are compared on gold labels, or on labels that are held out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cranfield.building.merging.label_problem import Problem
from cranfield.building.merging.merging_registry import MergingMethod
from cranfield.types import Array, Index64

HELD_OUT = 0.1
"""The share of labels that are held out."""
ROUNDS = 3
"""How often other labels are held out."""
FEWEST = 30
"""With fewer gold items, or labels held out, nothing is said."""
CLEAR = 2.0
"""Standard errors by which the model must be worse."""


def worse_than_votes(method: MergingMethod, problem: Problem) -> str | None:
    """A warning if the majority vote is clearly better than the method; None if it is not, or if nobody can tell.

    With gold labels of 30 items or more, both merge the labels without gold, and the share of right gold labels
    counts. Otherwise a tenth of the labels, from items with three labels or more, is held out three times, and the
    share of them that the merged labels predict counts. The method is clearly worse if the difference is more than two
    standard errors.
    """
    known = np.flatnonzero((problem.gold >= 0) & (problem.votes.sum(axis=1) > 0))
    if len(known) >= FEWEST:
        blind = _part(problem, np.arange(len(problem.item)), np.full(problem.items, -1, dtype=np.int64))
        compared, basis = [_credits(method, blind, known, problem.gold[known])], "gold labels"
    else:
        compared, basis = [], "labels that were held out"
        for held in _held_out(problem):
            kept = np.delete(np.arange(len(problem.item)), held)
            blind = _part(problem, kept, problem.gold)
            compared.append(_credits(method, blind, problem.item[held], problem.label[held]))
    by_model, by_votes = (np.concatenate(side) for side in zip(*compared, strict=True))
    if len(by_model) < FEWEST:
        return None
    apart = by_votes - by_model
    if float(apart.mean()) <= CLEAR * float(apart.std(ddof=1)) / np.sqrt(len(apart)):
        return None
    shares = f"{by_votes.mean():.3f} of {len(apart):,} {basis} against {by_model.mean():.3f}"
    return f"{method.name} is worse than the majority vote here: voting predicts {shares}; use another method"


def _credits(method: MergingMethod, problem: Problem, at: Index64, truth: Index64) -> tuple[Array, Array]:
    """Whether the method, and the votes, find the true labels of some items."""
    return _credit(method.fit(problem).posterior, at, truth), _credit(problem.shares, at, truth)


def _credit(posterior: Array, at: Index64, truth: Index64) -> Array:
    """Is the most probable label of each item the true one? If it is one of m such labels, it counts 1/m."""
    top = posterior[at] >= posterior[at].max(axis=1, keepdims=True) - 1e-9
    return np.asarray(top[np.arange(len(at)), truth] / top.sum(axis=1))


def _held_out(problem: Problem) -> Iterator[Index64]:
    """Tenths of the labels, at most one of each item, from items with three labels or more and no gold."""
    candidates = (problem.votes.sum(axis=1) >= 3) & (problem.gold < 0)
    rng = np.random.default_rng(problem.settings.seed)
    for _ in range(ROUNDS):
        shuffled = rng.permutation(len(problem.item))
        shuffled = shuffled[candidates[problem.item[shuffled]]]
        _, first = np.unique(problem.item[shuffled], return_index=True)
        yield np.sort(shuffled[np.sort(first)][: int(HELD_OUT * len(problem.item))])


def _part(problem: Problem, kept: Index64, gold: Index64) -> Problem:
    """The problem with some of its labels."""
    return Problem(
        problem.item[kept], problem.worker[kept], problem.label[kept], problem.items, problem.workers,
        problem.classes, gold, replace(problem.settings, progress=None), problem.first,
    )  # fmt: skip

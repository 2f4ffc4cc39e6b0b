"""Is a model worse than voting? Both are compared on gold labels, or on labels that are held out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.building.merging.label_problem import Problem
from cranfield.building.merging.merging_registry import MergingMethod
from cranfield.types import Array, Index64

HELD_OUT = 0.1
"""The share of labels that are held out."""
FEWEST = 30
"""With fewer gold items or labels held out nothing is said."""
CLEAR = 2.0
"""Standard errors by which the model must be worse."""


def worse_than_votes(method: MergingMethod, problem: Problem) -> str | None:
    """A warning if the majority vote is clearly better than the method; None if it is not, or if nobody can tell.

    With gold labels of 30 items or more, both merge the labels without gold, and the share of right gold labels
    counts. Otherwise a tenth of the labels of items with three labels or more is held out, and the share of them that
    the merged labels predict counts. The method is clearly worse if the difference is more than two standard errors.
    """
    known = np.flatnonzero(problem.gold >= 0)
    quiet = replace(problem.settings, progress=None)
    no_gold = np.full(problem.items, -1, dtype=np.int64)
    if len(known) >= FEWEST:
        blind = _part(problem, np.arange(len(problem.item)), quiet, no_gold)
        labelled = known[problem.votes[known].sum(axis=1) > 0]
        at, truth, basis = labelled, problem.gold[labelled], "gold labels"
    else:
        held = _held_out(problem)
        if len(held) < FEWEST:
            return None
        kept = np.delete(np.arange(len(problem.item)), held)
        blind = _part(problem, kept, quiet, problem.gold)
        at, truth, basis = problem.item[held], problem.label[held], "labels that were held out"
    if not len(at):
        return None
    by_model, by_votes = (_credit(posterior, at, truth) for posterior in (method.fit(blind).posterior, blind.shares))
    apart = by_votes - by_model
    error = float(apart.std(ddof=1)) / np.sqrt(len(apart)) if len(apart) > 1 else np.inf
    if float(apart.mean()) <= CLEAR * error or float(apart.mean()) <= 0:
        return None
    shares = f"{by_votes.mean():.3f} of {len(at):,} {basis} against {by_model.mean():.3f}"
    return f"{method.name} is worse than the majority vote here: voting predicts {shares}; use another method"


def _credit(posterior: Array, at: Index64, truth: Index64) -> Array:
    """Is the most probable label of each item the true one? If it is one of m such labels, it counts 1/m."""
    top = posterior[at] >= posterior[at].max(axis=1, keepdims=True) - 1e-9
    return np.asarray(top[np.arange(len(at)), truth] / top.sum(axis=1))


def _held_out(problem: Problem) -> Index64:
    """A tenth of the labels, at most one of each item, from items with three labels or more and no gold."""
    candidates = (problem.votes.sum(axis=1) >= 3) & (problem.gold < 0)
    rng = np.random.default_rng(problem.settings.seed)
    shuffled = rng.permutation(len(problem.item))
    shuffled = shuffled[candidates[problem.item[shuffled]]]
    _, first = np.unique(problem.item[shuffled], return_index=True)
    one_each = shuffled[np.sort(first)]
    return np.asarray(np.sort(one_each[: int(HELD_OUT * len(problem.item))]))


def _part(problem: Problem, kept: Index64, settings: object, gold: Index64) -> Problem:
    """The problem with some of its labels."""
    order = None
    if problem.order is not None:
        place = np.full(len(problem.item), -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        order = place[problem.order]
        order = order[order >= 0]
    return Problem(
        problem.item[kept], problem.worker[kept], problem.label[kept], problem.items, problem.workers,
        problem.classes, gold, settings, problem.first, order,  # type: ignore[arg-type]
    )  # fmt: skip

r"""Is a method worse than voting? Both are compared on gold labels, or on labels that are held out.

Without gold labels, what can be known is how well merged labels explain labels that the method has not seen. It would
be wrong to ask which of them agrees with more of these: if assessors share a habit, such as calling documents not
relevant, votes agree most, and a model that sees through the habit looks worse than it is. So both are asked for the
probability of each label that was held out. Either side gives the probability p_i(k) of the true labels of items, from
the labels that were kept. From these follow tables of confusion A of the assessors in the same way for both, shrunk to
the mean assessor, and the score of a label y that was held out is

.. math:: \log \sum_k p_i(k) \, A^{(w)}_{k y}

Votes have the probabilities of the model in which all assessors are equally accurate, which orders labels as the votes
do; their accuracy follows from how often two labels of an item agree. As methods differ in how sure they are, and not
only in what they choose, each side may be mixed with uniform probabilities, by the share that suits it best.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cranfield.building.merging.label_problem import MOST_CELLS, Fit, MergingMethod, Problem
from cranfield.types import Array, Index64

HELD_OUT = 0.1
"""The share of labels that are held out."""
ROUNDS = 3
"""How often other labels are held out."""
MANY = 50_000
"""With more labels than this, labels are held out once."""
MOST_STEPS = 100
"""The most steps of a method on a part of the labels."""
FEWEST = 30
"""With fewer gold items, or labels held out, nothing is said."""
CLEAR_ON_GOLD, CLEAR = 2.0, 2.5
"""Standard errors by which the method must be worse, on gold labels and on labels that were held out."""
DOUBTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6)
"""Shares of uniform probabilities that are mixed into those of a method."""
SHRINKAGE = 5.0
"""Imaginary labels of the mean assessor in each row of a table of confusion."""


def worse_than_votes(method: MergingMethod, problem: Problem, fit: Fit) -> str | None:
    """A warning if the majority vote is clearly better than the method; None if it is not, or if nobody can tell.

    With gold labels of 30 items or more, both merge the labels without gold, and the share of right gold labels counts.
    Otherwise a tenth of the labels, from items with three labels or more, is held out three times (once, if there are
    more than 50,000 labels), and what merged labels say about them counts; see the module. The method is clearly worse
    if the difference is more than two standard errors on gold labels, and two and a half on labels held out.
    """
    if not _differs(problem, fit):
        return None
    known = np.flatnonzero((problem.gold >= 0) & (problem.votes.sum(axis=1) > 0))
    if len(known) >= FEWEST:
        return _on_gold(method, problem, known)
    if problem.workers * problem.classes**2 > MOST_CELLS:
        return None
    rounds = list(_held_out(problem))
    if sum(map(len, rounds)) < FEWEST:
        return None
    parts = [_on_held_out(method, problem, held) for held in rounds]
    by_method, by_votes = (np.concatenate(side) for side in zip(*parts, strict=True))
    if not _clearly_below(by_method, by_votes, CLEAR):
        return None
    shares = (
        f"a mean log-probability of {by_method.mean():.4f} by its labels, and of {by_votes.mean():.4f} by the votes"
    )
    return (
        f"{method.name} looks worse than the majority vote here: {len(by_votes):,} labels that were held out have "
        f"{shares}; use another method, or compare them on gold labels of {FEWEST} items or more"
    )


def _differs(problem: Problem, fit: Fit) -> bool:
    """Does an item without a gold label get a label that is not among its most frequent ones?"""
    top = problem.votes >= problem.votes.max(axis=1, keepdims=True)
    chosen = np.argmax(fit.posterior, axis=1)
    return bool((~top[np.arange(problem.items), chosen] | (problem.gold >= 0)).any())


def _on_gold(method: MergingMethod, problem: Problem, known: Index64) -> str | None:
    blind = _part(problem, np.arange(len(problem.item)), np.full(problem.items, -1, dtype=np.int64))
    truth = problem.gold[known]
    by_method, by_votes = _credit(method.fit(blind).posterior, known, truth), _credit(blind.shares, known, truth)
    if not _clearly_below(by_method, by_votes, CLEAR_ON_GOLD):
        return None
    shares = f"{by_votes.mean():.3f} of {len(known):,} gold labels against {by_method.mean():.3f}"
    return f"{method.name} is worse than the majority vote here: voting finds {shares}; use another method"


def _clearly_below(first: Array, second: Array, errors: float) -> bool:
    apart = second - first
    return bool(float(apart.mean()) > errors * float(apart.std(ddof=1)) / np.sqrt(len(apart)))


def _credit(posterior: Array, at: Index64, truth: Index64) -> Array:
    """Is the most probable label of each item the true one? If it is one of m such labels, it counts 1/m."""
    top = posterior[at] >= posterior[at].max(axis=1, keepdims=True) - 1e-9
    return np.asarray(top[np.arange(len(at)), truth] / top.sum(axis=1))


def _on_held_out(method: MergingMethod, problem: Problem, held: Index64) -> tuple[Array, Array]:
    """The log-probabilities of labels that are held out, by the method and by the votes."""
    part = _part(problem, np.delete(np.arange(len(problem.item)), held), problem.gold)
    labels = problem.item[held], problem.worker[held], problem.label[held]
    return _at_best(part, method.fit(part).posterior, labels), _at_best(part, equal_assessors(part), labels)


def _at_best(part: Problem, posterior: Array, labels: tuple[Index64, Index64, Index64]) -> Array:
    """The log-probabilities with the share of doubt that suits best."""
    return max((_explained(part, posterior, doubt, *labels) for doubt in DOUBTS), key=lambda found: float(found.mean()))


def _explained(part: Problem, posterior: Array, doubt: float, item: Index64, worker: Index64, label: Index64) -> Array:
    """The log-probability of labels, by probabilities of true labels and the tables of confusion that follow."""
    mixed = (1 - doubt) * posterior + doubt / part.classes
    counts = part.confusion_counts(mixed)
    pooled = counts.sum(axis=0) + np.eye(part.classes) + 1 / part.classes
    tables = counts + SHRINKAGE * pooled / pooled.sum(axis=1, keepdims=True)
    tables /= tables.sum(axis=2, keepdims=True)
    return np.asarray(np.log((mixed[item] * tables[worker, :, label]).sum(axis=1)))


def equal_assessors(problem: Problem) -> Array:
    """The probability of each label if all assessors are right equally often, and wrong labels equally probable.

    Two labels of an item agree with probability a² + (1 − a)² / (K − 1), which gives the accuracy a.
    """
    votes, others = problem.votes, problem.classes - 1
    each = votes.sum(axis=1)
    agreed = float((votes * (votes - 1)).sum()) / max(float((each * (each - 1)).sum()), 1.0)
    inside = max(1 - (others + 1) * (1 - others * agreed), 0.0)
    accuracy = min(max((1 + np.sqrt(inside)) / (others + 1), 1 / (others + 1) + 0.02), 0.99)
    posterior, _ = problem.normalised(votes * np.log(others * accuracy / (1 - accuracy)))
    return posterior


def _held_out(problem: Problem) -> Iterator[Index64]:
    """Tenths of the labels, at most one of each item, from items with three labels or more and no gold."""
    candidates = (problem.votes.sum(axis=1) >= 3) & (problem.gold < 0)
    rng = np.random.default_rng(problem.settings["seed"])
    for _ in range(ROUNDS if len(problem.item) <= MANY else 1):
        shuffled = rng.permutation(len(problem.item))
        shuffled = shuffled[candidates[problem.item[shuffled]]]
        _, first = np.unique(problem.item[shuffled], return_index=True)
        yield np.sort(shuffled[np.sort(first)][: int(HELD_OUT * len(problem.item))])


def _part(problem: Problem, kept: Index64, gold: Index64) -> Problem:
    """The problem with some of its labels; it starts from its own votes, as an earlier result has seen all labels."""
    order, settings = problem.order, problem.settings
    if order is not None:
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        order = np.argsort(rank[kept], kind="stable")
    return Problem(
        problem.item[kept], problem.worker[kept], problem.label[kept], problem.items, problem.workers,
        problem.classes, gold, {**settings, "steps": min(settings["steps"], MOST_STEPS)}, order=order,
    )  # fmt: skip

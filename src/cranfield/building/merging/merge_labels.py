r"""Merge the labels of several assessors into one label per item, and say if that is worse than voting.

A method and voting are compared on gold labels, or on labels that are held out. Without gold labels, what can be known
is how well merged labels explain labels that the method has not seen. It would be wrong to ask which of them agrees
with more of these: if assessors share a habit, such as calling documents not relevant, votes agree most, and a model
that sees through the habit looks worse than it is. So both are asked for the probability of each label that was held
out. Either side gives the probability p_i(k) of the true labels of items, from the labels that were kept. From these
follow tables of confusion A of the assessors in the same way for both, shrunk to the mean assessor, and the score of a
label y that was held out is

.. math:: \log \sum_k p_i(k) \, A^{(w)}_{k y}

Votes have the probabilities of the model in which all assessors are equally accurate, which orders labels as the votes
do; their accuracy follows from how often two labels of an item agree. As methods differ in how sure they are, and not
only in what they choose, each side may be mixed with uniform probabilities, by the share that suits it best.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Unpack

import numpy as np
from numpy.typing import NDArray

from cranfield.building.assessor_labels import Labels, LabelsLike
from cranfield.building.merging.gold_labels import GoldLike, gold_of
from cranfield.building.merging.label_problem import (
    MERGING_METHODS,
    MOST_CELLS,
    Fit,
    MergeSettings,
    MergingMethod,
    Problem,
    check_priors,
    problem_of,
    shrunk,
)
from cranfield.building.merging.merged import Merged
from cranfield.declared.operation import about, operation, with_defaults
from cranfield.errors import NotedWarning, UsageError, warn_caller
from cranfield.notes import caution_note, method_note
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress

METHOD = about(
    "How labels are merged: {names}.", spelled="--method METHOD", names="building.merging.label_problem:MERGING_METHODS"
)
VOTING = "majority"
"""The method that all others are compared with."""
TIE = 1e-9
"""Probabilities that differ by no more than this are equal, apart from rounding."""


@operation
def merge(
    labels: LabelsLike,
    method: Annotated[str, METHOD] = "majority",
    *,
    gold: GoldLike | None = None,
    start: Merged | None = None,
    compare_votes: bool = True,
    progress: Progress | None = None,
    **settings: Unpack[MergeSettings],
) -> Merged:
    """Merge the labels of several assessors into one label per item, with the probability of each label.

    labels: anything that `Labels.of` takes.
    method: a name of `MERGING_METHODS`.
    gold: true labels of some items: {task: label}, {topic: {doc: grade}}, qrels, or a file. These labels are kept, and
        the method learns from them.
    start: an earlier result to start from (a warm start), for methods that take steps; items that it does not have
        start from their shares of votes, as all items do without it.
    compare_votes: whether the result is compared with the majority vote, on gold labels or on labels that are held out,
        so that a warning can say if the votes are better. The method merges parts of the labels once more for it, or
        three times.
    settings: see `MergeSettings`. A setting that the method does not have is an error.

    >>> labels = [("t1", "ann", 1), ("t1", "ben", 1), ("t1", "cy", 0), ("t2", "ann", 0), ("t2", "cy", 0)]
    >>> merged = merge(labels)
    >>> merged.label.tolist(), merged.posterior.round(2).tolist()
    ([1, 0], [[0.33, 0.67], [1.0, 0.0]])
    """
    labels = Labels.of(labels)
    kind = MERGING_METHODS.find(method)
    MERGING_METHODS.own_settings(kind, **{k: value for k, value in settings.items() if k not in ("ties", "seed")})
    chosen = with_defaults(MergeSettings, settings)
    check_priors(kind.name, chosen, len(labels.scale))
    _check_labels(labels, kind)
    known, gold_notes = gold_of(gold, labels)
    first = _first(start, labels, kind)
    problem, active = problem_of(labels, known, chosen, first, progress)
    blind = kind.iterative and not problem.compares_assessors
    fit = Fit(problem.shares) if blind else kind.fit(problem)
    posterior = np.full((len(labels.items), len(labels.scale)), np.nan)
    posterior[active] = fit.posterior
    label, tied = _decided(fit, problem, active, len(labels.items))
    notes = [*labels.notes, *gold_notes, *_notes(labels, kind, problem, active, fit, label, tied)]
    for message in _cautions(kind, problem, fit, blind, compare_votes):
        notes.append(message)
        warn_caller(message, NotedWarning)
    item_values = {}
    for name, values in fit.item_values.items():
        item_values[name] = np.full(len(labels.items), np.nan)
        item_values[name][active] = values
    return Merged(
        kind.name, labels, posterior, label, known, len(tied), fit.trace, fit.log_likelihood, fit.converged,
        fit.class_probabilities, fit.worker_values, item_values, tuple(notes),
    )  # fmt: skip


def _check_labels(labels: Labels, method: MergingMethod) -> None:
    if not len(labels):
        raise UsageError(f"{method.name}: there are no labels to merge")
    if len(labels.scale) < 2:
        raise UsageError(
            f"{method.name}: all {counted(len(labels), 'label')} are {labels.scale[0]!r}, so there is nothing to "
            "decide; pass the labels that were possible by scale="
        )
    if method.ordered and not labels.ordered:
        raise UsageError(
            f"{method.name} needs labels with an order, but {listed(map(repr, labels.scale))} are words without an "
            "order; pass them as a scale, lowest first"
        )


def _cautions(method: MergingMethod, problem: Problem, fit: Fit, blind: bool, compare_votes: bool) -> Iterator[str]:
    """What makes the result doubtful."""
    if blind:
        yield caution_note(
            f"no item has two labels or a gold label, so {method.name} cannot learn anything about assessors; every "
            "label is taken as it is"
        )
    elif compare_votes and method.name != VOTING and (message := worse_than_votes(method, problem, fit)):
        yield message
    if fit.converged is False:
        yield caution_note(f"{method.name} did not converge in {counted(len(fit.trace), 'step')}; allow more steps")


def _first(start: Merged | None, labels: Labels, method: MergingMethod) -> Array | None:
    """The probabilities of an earlier result, for the items and the scale of these labels; NaN for other items."""
    if start is None:
        return None
    if not method.iterative:
        raise UsageError(f"start is for methods that take steps; {method.name} does not")
    if start.labels.scale != labels.scale:
        scales = f"{listed(start.labels.scale)} and {listed(labels.scale)}"
        raise UsageError(f"start has another scale than the labels: {scales}; read both with the same scale")
    place = {name: i for i, name in enumerate(start.labels.items)}
    at = np.array([place.get(name, -1) for name in labels.items], dtype=np.int64)
    return np.asarray(np.where(at[:, None] >= 0, start.posterior[at], np.nan))


def _decided(fit: Fit, problem: Problem, active: Index64, size: int) -> tuple[Index64, Index64]:
    """The label of each item, -1 if undecided; and the items with several most probable labels."""
    settings = problem.settings
    best = fit.posterior >= fit.posterior.max(axis=1, keepdims=True) - TIE
    tied = best.sum(axis=1) > 1
    chosen = first_or_last(best, settings["ties"] == "highest")
    if settings["ties"] == "undecided":
        chosen[tied] = -1
    elif settings["ties"] == "random":
        keys = np.random.default_rng(settings["seed"]).random(best.shape)
        chosen = np.argmax(np.where(best, keys, -1.0), axis=1)
    if fit.undecided is not None:
        chosen[fit.undecided & (problem.gold < 0)] = -1
    label = np.full(size, -1, dtype=np.int64)
    label[active] = chosen
    return label, active[tied]


def first_or_last(best: NDArray[np.bool_], last: bool) -> Index64:
    """The position of the first, or the last, true value of each row."""
    if last:
        return np.asarray(best.shape[1] - 1 - np.argmax(best[:, ::-1], axis=1), dtype=np.int64)
    return np.asarray(np.argmax(best, axis=1), dtype=np.int64)


def _notes(
    labels: Labels, method: MergingMethod, problem: Problem, active: Index64, fit: Fit, label: Index64, tied: Index64
) -> list[str]:
    """What a reader of the result needs to know."""
    settings = problem.settings
    parts = [f"{method.name}: {counted(len(labels), 'label')} of {counted(problem.items, 'item')}"]
    parts.append(f"by {counted(int((problem.of_worker > 0).sum()), 'assessor')}")
    sentence = " ".join(parts)
    if fit.converged is not None:
        origin = "an earlier result" if problem.first is not None else "the shares of votes"
        state = "converged" if fit.converged else "not converged"
        sentence += f"; {counted(len(fit.trace), 'step')} from {origin}, {state}"
        if np.isfinite(fit.log_likelihood):
            sentence += f", log-likelihood {fit.log_likelihood:.2f}"
    notes = [method_note(sentence), *fit.notes]
    if len(tied):
        rule = {"undecided": "stay undecided", "random": f"are decided at random, seed {settings['seed']}"}
        how = rule.get(settings["ties"], f"get the {settings['ties']} label")
        if len(tied) == 1:
            how = how.replace("stay", "stays").replace("are", "is").replace("get", "gets")
        names = listed([labels.items[i] for i in tied.tolist()], most=3)
        subject = counted(
            len(tied), "item with several most probable labels", "items with several most probable labels"
        )
        notes.append(f"{subject} {how}: {names}")
        if not labels.ordered and settings["ties"] in ("lowest", "highest"):
            notes.append(f"the labels have no order; the {settings['ties']} is the {_end(settings['ties'])} by name")
    single = np.flatnonzero((problem.votes.sum(axis=1) == 1) & (problem.gold < 0))
    if len(single):
        notes.append(f"{counted(len(single), 'item has', 'items have')} a single label, which no other label checks")
    once = np.flatnonzero(problem.of_worker == 1)
    if len(once) and method.iterative:
        names = listed([labels.workers[w] for w in once.tolist()], most=3)
        notes.append(f"{counted(len(once), 'assessor')} with a single label, about whom little can be known: {names}")
    if int((problem.of_worker > 0).sum()) == 1:
        notes.append(caution_note("there is one assessor, whom nobody checks"))
    if method.iterative:
        voted = problem.votes[np.arange(problem.items), label[active]] >= problem.votes.max(axis=1)
        other = int((~voted & (label[active] >= 0) & (problem.gold < 0)).sum())
        if other:
            notes.append(f"{counted(other, 'item gets', 'items get')} another label than by the majority vote")
    without = len(labels.items) - problem.items
    if without:
        notes.append(f"{counted(without, 'item')} without any label, left out")
    undecided = int((label < 0).sum()) - without
    if undecided:
        notes.append(f"{counted(undecided, 'item is', 'items are')} undecided")
    return notes


def _end(ties: str) -> str:
    return "first" if ties == "lowest" else "last"


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
    return max((_explained(part, posterior, doubt, *labels) for doubt in DOUBTS), key=lambda logs: float(logs.mean()))


def _explained(part: Problem, posterior: Array, doubt: float, item: Index64, worker: Index64, label: Index64) -> Array:
    """The log-probability of labels, by probabilities of true labels and the tables of confusion that follow."""
    mixed = (1 - doubt) * posterior + doubt / part.classes
    tables, _ = shrunk(part.confusion_counts(mixed))
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

"""Merge the labels of several assessors into one label per item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Unpack

import numpy as np
from numpy.typing import NDArray

from cranfield.building.assessor_labels import Labels, LabelsLike
from cranfield.building.merging.gold_labels import GoldLike, gold_of
from cranfield.building.merging.label_problem import MERGING_METHODS, Fit, MergingMethod, Problem, problem_of
from cranfield.building.merging.merge_settings import MergeSettings, check_priors
from cranfield.building.merging.merged import Merged
from cranfield.building.merging.vote_comparison import worse_than_votes
from cranfield.declared.operation import about, operation, with_defaults
from cranfield.errors import NotedWarning, UsageError, warn_caller
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress

METHOD = about("How labels are merged: {names}.", names="building.merging.label_problem:MERGING_METHODS")
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
        yield (
            f"no item has two labels or a gold label, so {method.name} cannot learn anything about assessors; every "
            "label is taken as it is"
        )
    elif compare_votes and method.name != VOTING and (message := worse_than_votes(method, problem, fit)):
        yield message
    if fit.converged is False:
        yield f"{method.name} did not converge in {counted(len(fit.trace), 'step')}; allow more steps"


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
    notes = [sentence, *fit.notes]
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
        notes.append("there is one assessor, whom nobody checks")
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

"""What a merging method is: from labels with gold (`Problem`) and settings to probabilities of true labels (`Fit`).

A method is one function. A module in `merging/models/` defines it and registers it with `@merging_method(...)`. It is
found here by `merge`, the command line and docs/labels.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.building.assessor_labels import Labels
from cranfield.declared.operation import Seed, about, with_defaults
from cranfield.declared.registry import Registry, registers
from cranfield.errors import UsageError
from cranfield.text import counted, one_line
from cranfield.types import Array, Index64, Progress

TIES = ("lowest", "highest", "random", "undecided")
STEPS, ALLOW_MORE = "methods that take steps", "allow more steps"


class MergeSettings(TypedDict, total=False):
    """The settings of a method. `MergingMethod.settings` names those of a method, in addition to `ties` and `seed`."""

    ties: Annotated[
        str,
        about(
            "An item whose labels are equally probable: {names}.", "lowest", choices=TIES, spelled="--label-ties RULE"
        ),
    ]
    seed: Annotated[Seed, about("Seed of the random numbers.", 0, least=0)]
    steps: Annotated[int, about("The largest number of steps.", 1000, least=1, only=STEPS, solves=ALLOW_MORE)]
    tolerance: Annotated[
        float,
        about(
            "Stop if a step adds less to the log-likelihood per label, and labels settle.", 1e-7, least=0, only=STEPS
        ),
    ]
    class_prior: Annotated[
        str | Sequence[float] | None,
        about("Probabilities of labels: {names}, or numbers.", None, choices=("estimated", "uniform"), only=STEPS),
    ]
    class_counts: Annotated[
        float, about("Imaginary items of each label, if probabilities are estimated.", 0.0, least=0, only=STEPS)
    ]
    assessor_prior: Annotated[
        Sequence[float] | None,
        about(
            "Imaginary right and wrong labels of each assessor, such as 2,1.",
            None,
            only="weighted, dawid-skene, one-coin and mace",
        ),
    ]
    weight: Annotated[
        str, about("The weight of a vote: {names}.", "log-odds", choices=("log-odds", "accuracy"), only="weighted")
    ]
    inference: Annotated[
        str,
        about("{names} (variational Bayes, maximum likelihood).", "vb", choices=("vb", "em"), only="mace"),
    ]
    restarts: Annotated[int, about("Random starts in addition to the start from the votes.", 0, least=0, only="mace")]
    alpha: Annotated[
        float | None,
        about(
            "The level at which a majority must be significant; else undecided.",
            None,
            above=0,
            below=1,
            spelled="--alpha A",
            only="bmv",
        ),
    ]
    window: Annotated[int, about("Labels in a row with the same accuracy.", 10, least=1, only="gp")]
    length: Annotated[
        float, about("Windows over which the accuracy changes.", 5.0, above=0, only="gp", spelled="--length-scale N")
    ]


def check_priors(method: str, settings: MergeSettings, classes: int) -> None:
    """Raise an error for imaginary labels that are not allowed with this number of labels."""
    if settings["assessor_prior"] is not None:
        _check_assessor_prior(method, settings["assessor_prior"])
    if settings["class_prior"] is not None:
        _check_class_prior(method, settings["class_prior"], classes)


def _check_assessor_prior(method: str, prior: Any) -> None:
    allowed = "two numbers, 0 or more: imaginary right and wrong labels of each assessor"
    try:
        right, wrong = (float(number) for number in prior)
    except (TypeError, ValueError):
        raise check.wrong(method, "assessor_prior", prior, allowed) from None
    if not (0 <= right < np.inf and 0 <= wrong < np.inf):
        raise check.wrong(method, "assessor_prior", prior, allowed)


def _check_class_prior(method: str, prior: Any, classes: int) -> None:
    if isinstance(prior, str):
        if prior not in ("estimated", "uniform"):
            raise check.wrong(method, "class_prior", prior, "'estimated', 'uniform' or a probability per label")
        return
    try:
        probabilities = np.array(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise check.wrong(method, "class_prior", prior, "a probability per label") from None
    if probabilities.shape != (classes,):
        raise check.wrong(method, "class_prior", prior, f"a probability for each of the {classes} labels of the scale")
    if not (probabilities > 0).all():
        raise UsageError(
            f"{method}: class_prior == {prior!r}, must be above 0 for every label; a label with probability 0 could "
            "never be chosen, so leave it out of the scale or give it a small probability"
        )
    if abs(probabilities.sum() - 1) > 1e-6:
        raise check.wrong(method, "class_prior", prior, f"probabilities with sum 1, not {probabilities.sum():g}")


MOST_CELLS = 50_000_000
"""The largest number of cells of all tables of confusion, to bound memory: 400 MB."""


@dataclass(frozen=True, eq=False)
class Problem:
    """The labels to merge. Items are those that have a label or a gold label, numbered from 0."""

    item: Index64
    """The item of each label that was given."""
    worker: Index64
    label: Index64
    items: int
    """The number of items."""
    workers: int
    classes: int
    """The number of labels on the scale."""
    gold: Index64
    """The gold label of each item, -1 if there is none."""
    settings: MergeSettings = field(default_factory=lambda: with_defaults(MergeSettings, MergeSettings()))
    first: Array | None = None
    """Probabilities to start from (items × classes), NaN for items that have none; by default the shares of votes."""
    progress: Progress | None = field(default=None, compare=False)
    order: Index64 | None = None
    """The positions of the labels in the order in which they were given; None is the order of the data."""

    @cached_property
    def cell(self) -> Index64:
        """The cell of each label in a flat table of items × classes."""
        return self.item * self.classes + self.label

    @cached_property
    def votes(self) -> Array:
        """items × classes: how many assessors gave the label."""
        counts = np.bincount(self.cell, minlength=self.items * self.classes)
        return counts.reshape(self.items, self.classes).astype(np.float64)

    @cached_property
    def of_worker(self) -> Array:
        """The number of labels of each assessor."""
        return np.bincount(self.worker, minlength=self.workers).astype(np.float64)

    @cached_property
    def shares(self) -> Array:
        """items × classes: shares of votes, with gold labels in place of votes."""
        total = self.votes.sum(axis=1, keepdims=True)
        return self.with_gold(np.divide(self.votes, total, out=np.zeros_like(self.votes), where=total > 0))

    @cached_property
    def compares_assessors(self) -> bool:
        """Is there an item with two labels, or with a label and a gold label?"""
        counts = self.votes.sum(axis=1)
        return bool(((counts >= 2) | ((counts >= 1) & (self.gold >= 0))).any())

    def start(self) -> Array:
        """Probabilities to start from."""
        if self.first is None:
            return self.shares.copy()
        unknown = np.isnan(self.first).any(axis=1, keepdims=True)
        return self.with_gold(np.where(unknown, self.shares, self.first))

    def with_gold(self, posterior: Array) -> Array:
        """The probabilities, with those of gold items set to 1 and 0."""
        known = np.flatnonzero(self.gold >= 0)
        if len(known):
            posterior[known] = 0.0
            posterior[known, self.gold[known]] = 1.0
        return posterior

    def normalised(self, scores: Array) -> tuple[Array, float]:
        """From log p(labels of the item, true label) to p(true label | labels), and the log-likelihood of all labels.

        A gold item adds the log-probability of its labels together with its gold label.
        """
        highest = row_by_row(np.maximum, scores)
        posterior = np.exp(scores - highest[:, None])
        total = row_by_row(np.add, posterior)
        posterior /= total[:, None]
        evidence = highest + np.log(total)
        known = np.flatnonzero(self.gold >= 0)
        if len(known):
            evidence[known] = scores[known, self.gold[known]]
            posterior = self.with_gold(posterior)
        return posterior, float(evidence.sum())

    @cached_property
    def _table(self) -> Any:
        """items × (workers · classes), sparse: how often the assessor gave the item the label; and its transpose."""
        from scipy.sparse import csr_matrix

        ones = np.ones(len(self.item))
        column = self.worker * self.classes + self.label
        table = csr_matrix((ones, (self.item, column)), shape=(self.items, self.workers * self.classes))
        return table, table.T.tocsr()

    def confusion_counts(self, posterior: Array) -> Array:
        """workers × true × given: the expected number of labels."""
        cells = self.workers * self.classes**2
        if cells > MOST_CELLS:
            raise UsageError(
                f"tables of confusion of {counted(self.workers, 'assessor')} for {counted(self.classes, 'label')} have "
                f"{cells:,} cells, must be {MOST_CELLS:,} or fewer; merge labels of the scale, or use one-coin or mace"
            )
        counts = self._table[1] @ posterior
        return np.ascontiguousarray(counts.reshape(self.workers, self.classes, self.classes).transpose(0, 2, 1))

    def confusion_scores(self, log_confusion: Array) -> Array:
        """items × true: the log-probability of the labels, from log-probabilities by workers × true × given."""
        flat = np.ascontiguousarray(log_confusion.transpose(0, 2, 1)).reshape(-1, self.classes)
        return np.asarray(self._table[0] @ flat)

    def right(self, posterior: Array) -> Array:
        """The probability that each label is right."""
        return posterior.ravel()[self.cell]

    def coin_scores(self, log_right: Array, log_wrong: Array) -> Array:
        """items × true: sums over labels, of `log_right` if the label is the true one and `log_wrong` otherwise."""
        apart = summed(self.cell, log_right - log_wrong, self.items * self.classes)
        every = summed(self.item, log_wrong, self.items)
        return apart.reshape(self.items, self.classes) + every[:, None]


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of a method."""

    posterior: Array
    """items × classes: the probability of each label."""
    trace: tuple[float, ...] = ()
    """The log-likelihood (with priors: plus their log-density) after every step; it never decreases."""
    log_likelihood: float = float("nan")
    converged: bool | None = None
    """None for a method that takes no steps."""
    class_probabilities: Array | None = None
    worker_values: Mapping[str, Array] = field(default_factory=dict)
    """What the method says about each assessor, such as an ability."""
    item_values: Mapping[str, Array] = field(default_factory=dict)
    """What the method says about each item, such as a difficulty."""
    undecided: NDArray[np.bool_] | None = None
    """Items that the method leaves undecided."""
    notes: tuple[str, ...] = ()


def summed(at: Index64, values: Array, size: int) -> Array:
    """The sums of values by their position.

    >>> summed(np.array([0, 2, 0]), np.array([1.0, 2.0, 0.5]), 3).tolist()
    [1.5, 0.0, 2.0]
    """
    return np.asarray(np.bincount(at, values, size), dtype=np.float64)


SHRINKAGE = 5.0
"""Imaginary labels of the mean assessor in each row of a table of confusion."""


def shrunk(counts: Array) -> tuple[Array, Array]:
    """Tables of confusion from counts (workers × true × given), drawn towards the mean assessor, whose table is second.

    The mean assessor has a right label of each class more, in case the class is rare.
    """
    classes = counts.shape[1]
    pooled = counts.sum(axis=0) + np.eye(classes) + 1 / classes
    mean = pooled / pooled.sum(axis=1, keepdims=True)
    tables = counts + SHRINKAGE * mean
    return tables / tables.sum(axis=2, keepdims=True), mean


def row_by_row(operation: np.ufunc, table: Array) -> Array:
    """The maximum or the sum of every row; with a few columns, this is several times faster than `operation.reduce`.

    >>> row_by_row(np.add, np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [3.0, 7.0]
    """
    result = table[:, 0].copy()
    for column in table.T[1:]:
        operation(result, column, out=result)
    return result


def problem_of(
    labels: Labels,
    gold: Index64 | None = None,
    settings: MergeSettings | None = None,
    first: Array | None = None,
    progress: Progress | None = None,
) -> tuple[Problem, Index64]:
    """The problem of merging some labels, and the positions of its items among those of the labels."""
    size = len(labels.items)
    known = np.full(size, -1, dtype=np.int64) if gold is None else gold
    active = np.flatnonzero((np.bincount(labels.item, minlength=size) > 0) | (known >= 0))
    number = np.full(size, -1, dtype=np.int64)
    number[active] = np.arange(len(active))
    problem = Problem(
        number[labels.item], labels.worker, labels.label, len(active), len(labels.workers), len(labels.scale),
        known[active], with_defaults(MergeSettings, settings or MergeSettings()),
        None if first is None else first[active], progress,
        None if labels.time is None else np.argsort(labels.time, kind="stable"),
    )  # fmt: skip
    return problem, active


Fitter = Callable[[Problem], Fit]
F = TypeVar("F", bound=Fitter)


@dataclass(frozen=True)
class MergingMethod:
    """A method that `merge` knows."""

    name: str
    fit: Fitter
    source: str
    """The paper."""
    aliases: tuple[str, ...] = ()
    ordered: bool = False
    """The method needs labels that have an order."""
    settings: tuple[str, ...] = ()
    """The fields of `MergeSettings` that the method has in addition to `ties` and `seed`."""

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return one_line((self.fit.__doc__ or "").partition("\n\n")[0])

    @property
    def iterative(self) -> bool:
        """Does the method take steps until it converges?"""
        return "steps" in self.settings


ORDER = ("majority", "weighted", "dawid-skene", "one-coin", "glad", "mace", "bmv", "ordinal", "gp")
"""The order of methods in lists, the simplest first; others follow by name."""

MERGING_METHODS: Registry[MergingMethod] = Registry(
    "method",
    modules="cranfield.building.merging.models",
    order=lambda method: (ORDER.index(method.name) if method.name in ORDER else len(ORDER), method.name),
)


def merging_method(name: str, **fields: Any) -> Callable[[F], F]:
    """Register a method; `fields` are the other fields of `MergingMethod`."""
    return registers(MERGING_METHODS, MergingMethod, name, **fields)

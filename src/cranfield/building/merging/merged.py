"""The result of merging labels: a label per item, with its probability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.building.assessor_labels import Labels
from cranfield.building.merging.label_problem import problem_of
from cranfield.collection.qrels import Qrels
from cranfield.record import Record, table_of
from cranfield.table import Table
from cranfield.types import Array, Index64


@dataclass(frozen=True, eq=False, repr=False)
class Merged(Record):
    """The merged label of every item, the probability of each label, and how the method got there.

    Arrays over items, assessors and classes have the order of `labels.items`, `labels.workers` and `labels.scale`.
    """

    figure = "describe_posterior_entropy"
    facts = ("method", "steps", "converged", "log_likelihood", "ties", "decided_by_one", "scale")

    method: str
    labels: Labels
    """The labels that were merged."""
    posterior: Array
    """items × scale: the probability of each label; NaN for an item without labels."""
    position: Index64
    """The position of the merged label on the scale; -1 is undecided."""
    gold: Index64
    """The position of the gold label of each item; -1 if it has none."""
    ties: int
    """The number of items on which several labels are equally probable."""
    trace: tuple[float, ...] = ()
    """The log-likelihood (with priors: plus their log-density) after every step; it never decreases."""
    log_likelihood: float = float("nan")
    converged: bool | None = None
    """None for a method that takes no steps."""
    class_probabilities: Array | None = None
    """The probability of each class, for methods that have such a parameter."""
    worker_values: Mapping[str, Array] = field(default_factory=dict)
    """What the method says about each assessor, such as an ability."""
    item_values: Mapping[str, Array] = field(default_factory=dict)
    """What the method says about each item, such as a difficulty."""
    notes: tuple[str, ...] = ()

    @property
    def scale(self) -> tuple[str, ...]:
        """The labels, lowest first."""
        return self.labels.scale

    @cached_property
    def label(self) -> NDArray[Any]:
        """The merged label of each item, as the scale has it: a number, or a word; None if it is undecided."""
        words: list[Any] = list(self.scale)
        if self.labels.numeric:
            words = [int(value) if value == int(value) else float(value) for value in self.labels.values]
        return np.array([*words, None], dtype=object)[self.position]  # -1 is the last

    @property
    def steps(self) -> int:
        """The number of steps that the method took."""
        return len(self.trace)

    @cached_property
    def label_counts(self) -> Index64:
        """The number of labels of each item."""
        return np.bincount(self.labels.item, minlength=len(self.labels.items))

    @property
    def decided_by_one(self) -> int:
        """The number of items with a single label, and no gold label."""
        return int(((self.label_counts == 1) & (self.gold < 0)).sum())

    @cached_property
    def probability(self) -> Array:
        """The probability of the most probable label of each item."""
        return np.asarray(self.posterior.max(axis=1))

    @cached_property
    def entropy(self) -> Array:
        """The entropy of the probabilities of each item, in bits: 0 is certain."""
        return entropy_bits(self.posterior)

    @cached_property
    def expected(self) -> Array:
        """The expected grade of each item: the mean of the scale by the probabilities. Labels must have an order."""
        return np.asarray(self.posterior @ self.labels.values)

    @cached_property
    def confusion_counts(self) -> Array:
        """assessors × true × given: the expected number of labels, by the probabilities of items."""
        problem, active = problem_of(self.labels)
        return problem.confusion_counts(self.posterior[active])

    @cached_property
    def confusion(self) -> Array:
        """assessors × true × given: the share of given labels for each true one; NaN where there is nothing."""
        total = self.confusion_counts.sum(axis=2, keepdims=True)
        undefined = np.full_like(self.confusion_counts, np.nan)
        return np.asarray(np.divide(self.confusion_counts, total, out=undefined, where=total > 0))

    @cached_property
    def accuracy(self) -> Array:
        """The expected share of right labels of each assessor; NaN for an assessor without labels."""
        size = len(self.labels.workers)
        counts = np.bincount(self.labels.worker, minlength=size)
        right = np.bincount(self.labels.worker, self.posterior[self.labels.item, self.labels.label], size)
        return np.asarray(np.divide(right, counts, out=np.full(size, np.nan), where=counts > 0))

    def to_qrels(self, expected: bool = False) -> Qrels:
        """Judgments for our measures: the merged label of every item, or its expected grade (a number such as 1.37).

        Undecided items are left out of merged labels.
        """
        if expected:
            return self.labels.to_qrels(self.expected.round(12), f"{self.method}-expected")
        return self.labels.to_qrels(self.grades, self.method)

    @cached_property
    def grades(self) -> Array:
        """The merged label of each item as a number; NaN if it is undecided. Labels must have an order."""
        return np.asarray(np.where(self.position >= 0, self.labels.values[np.maximum(self.position, 0)], np.nan))

    # ---- tables

    def item_columns(self) -> dict[str, NDArray[Any]]:
        """task, or topic and doc."""
        names = {"topic": self.labels.topics, "doc": self.labels.docs} if self.labels.topics else {}
        return {name: np.array(values, dtype=object) for name, values in (names or {"task": self.labels.items}).items()}

    def columns(self) -> dict[str, NDArray[Any]]:
        """task (or topic and doc), label, expected (if labels have an order), probability, entropy, labels."""
        words = np.array([*self.scale, ""], dtype=object)[self.position]  # -1 is the last
        ordered = {"expected": self.expected} if self.labels.ordered else {}
        return {
            **self.item_columns(), "label": words, **ordered, "probability": self.probability, "entropy": self.entropy,
            **self.item_values, "labels": self.label_counts,
        }  # fmt: skip

    def posteriors(self) -> dict[str, NDArray[Any]]:
        """task (or topic and doc), and the probability of each label of the scale."""
        return {**self.item_columns(), **{f"p({word})": self.posterior[:, k] for k, word in enumerate(self.scale)}}

    def posterior_table(self) -> Table:
        """A row per item with the probability of each label."""
        return table_of(self.posteriors(), notes=self.notes)

    @property
    def caption(self) -> str:
        return f"Labels merged by {self.method}"


def entropy_bits(probabilities: Array) -> Array:
    """The entropy along the last axis, in bits.

    >>> entropy_bits(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [1.0, 0.0]
    """
    logs = np.log2(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
    return np.asarray(np.abs((probabilities * logs).sum(axis=-1)))

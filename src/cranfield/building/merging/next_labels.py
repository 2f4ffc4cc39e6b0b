"""Plan more labels: which items need them, how many, and from whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.building.assessor_labels import Labels, LabelsLike
from cranfield.building.merging.gold_labels import GoldLike
from cranfield.building.merging.label_problem import shrunk
from cranfield.building.merging.merge_labels import METHOD, merge
from cranfield.building.merging.merged import Merged, entropy_bits
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.record import Record, column
from cranfield.text import counted
from cranfield.types import Array, Index64

STOP_RULES = ("posterior", "margin")
"""When an item needs no more labels: its label is probable enough, or its votes are far enough apart."""
MOST = 99
"""More labels than this are not planned for an item."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelPlan(Record):
    """The items that need labels, the most uncertain first, with the assessors to ask."""

    caption = "Labels to ask for next"
    facts = ("method", "stop", "open_items", "closed_items", "needed")

    items: tuple[str, ...]
    labels: Annotated[Index64, column()]
    """The number of labels so far."""
    probability: Annotated[Array, column()]
    """The probability of the merged label."""
    entropy: Annotated[Array, column()]
    """The entropy of the probabilities, in bits."""
    more: Annotated[Index64, column()]
    """The expected number of further labels until the item can be closed."""
    worker: Annotated[tuple[str, ...], column("assessor")]
    """Whom to ask next; empty if nobody is left."""
    gain: Annotated[Array, column()]
    """The expected information of that label about the item, in bits."""
    method: str
    stop: str
    open_items: int
    """The number of all items that need labels, not only of those listed."""
    closed_items: int
    needed: int
    """The expected number of labels until all items can be closed."""
    item_columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """The names of the items in the columns task, or topic and doc."""
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, NDArray[Any]]:
        """task (or topic and doc), and what is known about each."""
        return {**self.item_columns, **super().columns()}


@operation
def plan_labels(
    labels: LabelsLike,
    *,
    count: Annotated[int, about("How many items are listed.", least=1)] = 20,
    gold: GoldLike | None = None,
    method: Annotated[str, METHOD] = "dawid-skene",
    stop: Annotated[
        str,
        about("When an item is finished: {names}.", choices=STOP_RULES, spelled="--stop-rule RULE", solves="stop="),
    ] = "posterior",
    probability: Annotated[
        float,
        about("With the rule posterior: the least probability.", above=0, below=1, spelled="--probability P"),
    ] = 0.95,
    margin: Annotated[
        float, about("With the rule margin: the factor of √t.", above=0, spelled="--margin-factor C")
    ] = 2.0,
    slack: Annotated[
        float, about("With the rule margin: the advantage that does not matter.", least=0, spelled="--slack E")
    ] = 0.1,
    most_per_assessor: Annotated[int | None, about("The largest number of items for one assessor.", least=1)] = None,
    merged: Merged | None = None,
    **settings: Any,
) -> LabelPlan:
    r"""The `count` items that need another label most, how many labels they need, and whom to ask.

    stop: with `posterior`, an item is closed if its label has at least the given `probability`. With `margin`, it is
        closed if the votes of the two most frequent labels differ by so much after t labels (see Abraham et al.):

        .. math:: V_1 - V_2 \ge C \sqrt{t} - \varepsilon t

        where C is `margin` and ε is `slack`, the advantage below which a majority does not matter. C = 2 and ε = 0.1
        are decisions of this package; they close an item after four equal labels. Gold items are closed.
    most_per_assessor: the largest number of items for one assessor; by default there is no limit.

    Open items are listed by the entropy of their probabilities, the most uncertain first. The assessor to ask has not
    labelled the item, and has the highest expected information about it, divided by the mean cost of a label if costs
    are known:

    .. math:: I = H\Big(\sum_k p_k A_{k\cdot}\Big) - \sum_k p_k H(A_{k\cdot})

    The table of confusion A is that of the merged labels, with five imaginary labels of the mean assessor in each row,
    so that nobody is trusted after a few labels. `more` is Wald's approximation: the distance of the log-odds of the
    most probable label from the log-odds of `probability`, divided by the mean rise that a label of the mean assessor
    brings if that label is true; at least 1 and at most 99.
    Reference: Abraham, Alonso, Kandylas, Patel, Shelford & Slivkins, How Many Workers to Ask? Adaptive Exploration for
    Collecting High Quality Labels, SIGIR 2016, arXiv:1411.0149; Wald, Sequential Analysis, 1947

    >>> rows = [(f"t{i}", w, i % 2) for i in range(20) for w in "ab"] + [("t20", "a", 0), ("t20", "c", 1)]
    >>> plan = plan_labels(rows, count=1, stop="margin", most_per_assessor=5)
    >>> plan.items, plan.worker, plan.open_items
    (('t20',), ('b',), 21)
    """
    labels = Labels.of(labels)
    if len(labels.workers) < 2 and stop == "posterior":
        raise UsageError("plan_labels: there is one assessor, whom nobody checks; ask a second one first")
    if merged is None:
        merged = merge(labels, method, gold=gold, **settings)
    sizes = np.bincount(labels.item, minlength=len(labels.items))
    alone = (sizes == 1) & (merged.gold < 0)
    if stop == "posterior" and alone.all():
        raise UsageError(
            "plan_labels: every item has a single label and no gold label, so nobody is checked and no probability "
            "can be trusted; get second labels of some items first, or use stop='margin'"
        )
    closed = _closed(labels, merged, stop, probability, margin, slack)
    tables, mean = shrunk(merged.confusion_counts)
    more = np.where(closed, 0, _more(merged, mean, probability))
    is_open = np.flatnonzero(~closed)
    entropy = np.where(np.isnan(merged.entropy), np.log2(len(labels.scale)), merged.entropy)
    order = is_open[np.lexsort((merged.label_counts[is_open], -entropy[is_open]))][:count]
    worker, gain = _routed(labels, merged, order, tables, most_per_assessor)
    rule = f"probability {probability:g}" if stop == "posterior" else f"margin {margin:g}·√t - {slack:g}·t"
    state = f"{counted(len(is_open), 'item needs', 'items need')} more labels, {int(closed.sum()):,} do not ({rule})"
    notes = [*merged.notes, f"{state}; about {more.sum():,} labels in all"]
    if single := int((closed & alone).sum()):
        notes.append(f"{counted(single, 'item')} without need of more labels have a single label, which nobody checks")
    if nobody := sum(not name for name in worker):
        notes.append(f"{counted(nobody, 'item')} without an assessor who could be asked")
    return LabelPlan(
        tuple(labels.items[i] for i in order.tolist()), merged.label_counts[order], merged.probability[order],
        merged.entropy[order], more[order], worker, gain, merged.method, stop, len(is_open), int(closed.sum()),
        int(more.sum()), {name: column[order] for name, column in merged.item_columns().items()}, tuple(notes),
    )  # fmt: skip


def _closed(
    labels: Labels, merged: Merged, stop: str, probability: float, margin: float, slack: float
) -> NDArray[np.bool_]:
    """Which items need no more labels."""
    if stop == "posterior":
        enough = np.nan_to_num(merged.probability) >= probability
    else:
        votes = np.sort(labels.counts(), axis=1)
        t = votes.sum(axis=1)
        enough = (votes[:, -1] - votes[:, -2] >= margin * np.sqrt(t) - slack * t) & (t > 0)
    return np.asarray(enough | (merged.gold >= 0))


def _more(merged: Merged, mean: Array, probability: float) -> Index64:
    """The expected number of labels until the most probable label of each item reaches the probability."""
    posterior = np.where(np.isnan(merged.posterior), 1 / len(merged.scale), merged.posterior)
    best = np.argmax(posterior, axis=1)
    top = np.clip(posterior[np.arange(len(best)), best], 1e-12, 1 - 1e-12)
    distance = np.log(probability / (1 - probability)) - np.log(top / (1 - top))
    # The rise of the log-odds against the mean of the other classes, if class k is true.
    rise = np.empty(len(mean))
    for k in range(len(mean)):
        others = np.delete(mean, k, axis=0).mean(axis=0)
        rise[k] = float((mean[k] * np.log(mean[k] / others)).sum())
    needed = np.divide(distance, rise[best], out=np.full(len(best), np.inf), where=rise[best] > 0)
    return np.asarray(np.clip(np.ceil(needed), 1, MOST), dtype=np.int64)


def _routed(
    labels: Labels, merged: Merged, order: Index64, tables: Array, most_per_assessor: int | None
) -> tuple[tuple[str, ...], Array]:
    """For each item in turn, the assessor with the highest expected information per cost, and the information."""
    size = len(labels.workers)
    cost = np.ones(size)
    if labels.cost is not None:
        known = ~np.isnan(labels.cost)
        total = np.bincount(labels.worker[known], labels.cost[known], size)
        count = np.bincount(labels.worker[known], minlength=size)
        usual = max(float(np.mean(labels.cost[known])) if known.any() else 1.0, 1e-12)
        cost = np.divide(total, count, out=np.full(size, usual), where=count > 0)
        cost = np.maximum(cost, 1e-12)
    row_entropy = entropy_bits(tables)
    load = np.zeros(size, dtype=np.int64)
    by_item = np.argsort(labels.item, kind="stable")
    starts = np.searchsorted(labels.item[by_item], np.arange(len(labels.items) + 1))
    names, gains = [], np.full(len(order), np.nan)
    for at, i in enumerate(order.tolist()):
        p = np.where(np.isnan(merged.posterior[i]), 1 / len(labels.scale), merged.posterior[i])
        bits = entropy_bits(p @ tables) - row_entropy @ p
        worth = bits / cost
        worth[labels.worker[by_item[starts[i] : starts[i + 1]]]] = -np.inf
        if most_per_assessor is not None:
            worth[load >= most_per_assessor] = -np.inf
        chosen = int(np.argmax(worth))
        if worth[chosen] == -np.inf:
            names.append("")
            continue
        names.append(labels.workers[chosen])
        gains[at] = max(float(bits[chosen]), 0.0)
        load[chosen] += 1
    return tuple(names), gains

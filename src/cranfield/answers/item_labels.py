"""Systems that label items: classification, ordinal classification and clustering, scored by gold labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import numpy as np

from cranfield.answers.answer_texts import TOPIC, AnswerTable, Name, optional
from cranfield.answers.nugget_scores import Beta, f_measure, measure_names
from cranfield.collection.source import PathLike, expand, stem
from cranfield.collection.tables.cells import number_or_none
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.notes import caution_note, method_note
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed, shown
from cranfield.types import Array, Index64

MEASURES_OF = {
    "classification": ("accuracy", "micro-P", "micro-R", "micro-F", "macro-P", "macro-R", "macro-F"),
    "ordinal": ("accuracy", "MAE", "MSE", "CEM"),
    "clustering": ("purity", "inverse-purity", "purity-F", "BCubed-P", "BCubed-R", "BCubed-F"),
}
"""The measures of each task."""
TASKS = tuple(MEASURES_OF)
MEASURES = tuple(dict.fromkeys(name for names in MEASURES_OF.values() for name in names))
LOWER = {"MAE": "lower", "MSE": "lower"}
ONLY = "all"
"""The topic of items without one."""
ITEM_LABELS = AnswerTable(
    "item label [topic] [run]",
    item=Name(("item", "item_id", "id", "task", "doc", "doc_id", "docno", "document")),
    label=Name(("label", "class", "category", "cluster", "prediction", "gold", "truth", "grade")),
    topic=optional(TOPIC), run=optional(Name(("run", "run_id", "system", "model"))),
)  # fmt: skip

Labelled = Mapping[str, Mapping[str, str]]
"""{topic: {item: label}}."""


def read_item_labels(paths: PathLike | Iterable[PathLike]) -> dict[str, dict[str, dict[str, str]]]:
    """{run: {topic: {item: label}}} from tables of item and label, and perhaps topic and run.

    A run is named after its file unless it has a column `run`. An item has one label in a run and topic.
    """
    runs: dict[str, dict[str, dict[str, str]]] = {}
    for path in expand([paths] if isinstance(paths, str) or hasattr(paths, "__fspath__") else paths):  # type: ignore[list-item]
        rows = ITEM_LABELS.read(path)
        for at, (item, label, topic, run) in enumerate(rows):
            labels = runs.setdefault(run or stem(path), {}).setdefault(topic or ONLY, {})
            if item in labels:
                raise rows.fault(at, f"item {shown(item)} appears twice; give each item one label")
            labels[item] = label
    if not runs:
        raise UsageError("no labels of items")
    return runs


def read_gold_labels(path: PathLike) -> dict[str, dict[str, str]]:
    """{topic: {item: label}} from one table of item and label, and perhaps topic."""
    runs = read_item_labels(path)
    if len(runs) > 1:
        raise UsageError(f"{path}: gold labels of {counted(len(runs), 'run')}, must be one: {listed(runs)}")
    return next(iter(runs.values()))


@operation
def label_scores(
    runs: Mapping[str, Labelled],
    gold: Labelled,
    measures: Iterable[str] | None = None,
    *,
    task: Annotated[str, about("What the labels are: {names}.", choices=TASKS)] = "classification",
    class_order: Annotated[
        str | None,
        about(
            "The classes of an ordinal task from the lowest to the highest, such as low,medium,high; default: labels "
            "are numbers.",
            spelled="--class-order CLASS,...",
        ),
    ] = None,
    per_class: Annotated[bool, about("Also show precision, recall and F of each class.")] = False,
    beta: Beta = 1.0,
) -> Scores:
    r"""Scores of systems that give each item a label: a class, a grade or the name of a cluster.

    *Classification.* `accuracy` is the share of items with the right label. With :math:`t_c` items of class c that have
    the label c, out of :math:`s_c` with this label and :math:`g_c` of this class,

    .. math:: P_c = \frac{t_c}{s_c}, \quad R_c = \frac{t_c}{g_c}, \quad
        \text{micro-}P = \frac{\sum_c t_c}{\sum_c s_c}, \quad \text{macro-}P = \frac{1}{|C|} \sum_c P_c

    C holds the classes of the gold labels. The precision of a class that a system never uses is 0. Micro and macro F
    are the F of the sums, and the mean of the F of classes.

    *Ordinal classification.* `MAE` and `MSE` are the mean absolute and squared differences of labels, as numbers or as
    places in `class_order`. `CEM` rewards labels that are close to the true one, where two classes are far apart if
    many items are between them:

    .. math:: \text{CEM} = \frac{\sum_d \text{prox}(s_d, g_d)}{\sum_d \text{prox}(g_d, g_d)}, \quad
        \text{prox}(a, b) = -\log_2 \frac{n_a / 2 + \sum_{c \in (a, b]} n_c}{N}

    :math:`n_c` items have the gold label c, and the sum is over the classes from a (not included) to b (included).

    *Clustering.* With L the classes and C the clusters, `purity` is
    :math:`\frac{1}{N} \sum_{C} \max_L |C \cap L|`, `inverse-purity` swaps classes and clusters, and `purity-F` is
    :math:`\sum_L \frac{|L|}{N} \max_C F(C, L)`. BCubed precision of an item is the share of the items of its cluster
    that are of its class, and recall the share of its class that is in its cluster; both are averaged over items, and
    BCubed-F is the F of the two means.

    An item that a system leaves out counts as wrong; it is as far off as possible in MAE and MSE, adds nothing to CEM,
    and is alone in a cluster. Items without a gold label are left out, and a note counts them.

    References: Manning, Raghavan & Schütze, Introduction to Information Retrieval, 2008, §13.6, §16.3; Amigó, Gonzalo,
    Artiles & Verdejo, Information Retrieval 12, 2009, doi:10.1007/s10791-008-9066-8; for CEM, Amigó, Gonzalo, Mizzaro &
    Carrillo-de-Albornoz, ACL 2020, doi:10.18653/v1/2020.acl-main.363

    >>> gold = {"all": {"a": "x", "b": "x", "c": "y", "d": "y"}}
    >>> label_scores({"mine": {"all": {"a": "x", "b": "y", "c": "y", "d": "y"}}}, gold, ["accuracy", "macro-R"])
    Scores: 2 measures × 1 run × 1 topic
          accuracy  macro-R
    mine    0.7500   0.7500
    classification: 4 items with gold labels of 2 classes
    """
    names = measure_names(MEASURES_OF[task] if measures is None else measures, MEASURES)
    tasks = [own for own in TASKS if set(names) & set(MEASURES_OF[own]) - {"accuracy"}]
    if not names:
        raise UsageError(f"no measures; there are {', '.join(MEASURES)}")
    if not any(gold.values()):
        raise UsageError("no gold labels")
    order = _places(gold, runs, class_order) if "ordinal" in tasks else {}
    topics = list(gold)
    every = sorted({label for labels in gold.values() for label in labels.values()})
    shown_classes = every if per_class else []
    columns = [*names, *(f"{kind}({label})" for label in shown_classes for kind in "PRF")]
    values = np.full((len(columns), len(runs), len(topics)), np.nan)
    absent = np.zeros((len(runs), len(topics)), dtype=bool)
    unknown: dict[str, int] = {}
    left_out: dict[str, int] = {}
    for r, (run, labels) in enumerate(runs.items()):
        for t, topic in enumerate(topics):
            own, true = labels.get(topic, {}), gold[topic]
            absent[r, t] = not own
            known = sum(item in true for item in own)
            if len(own) > known:
                unknown[run] = unknown.get(run, 0) + len(own) - known
            if own and known < len(true):
                left_out[run] = left_out.get(run, 0) + len(true) - known
            if true:
                values[:, r, t] = _scores(own, true, names, shown_classes, order, beta)
        if extra := [topic for topic in labels if topic not in gold]:
            unknown[run] = unknown.get(run, 0) + sum(len(labels[topic]) for topic in extra)
    size = sum(map(len, gold.values()))
    notes = [
        method_note(f"{task}: {counted(size, 'item')} with gold labels of {counted(len(every), 'class', 'classes')}")
    ]
    for run, count in left_out.items():
        notes.append(caution_note(f"{run}: {counted(count, 'item')} without a label counted as wrong"))
    for run, count in unknown.items():
        notes.append(caution_note(f"{run}: {counted(count, 'item')} without a gold label left out"))
    return Scores(columns, list(runs), topics, values, absent, "zero", notes)


def _places(gold: Labelled, runs: Mapping[str, Labelled], class_order: str | None) -> dict[str, float]:
    """The place of each class on the ordinal scale."""
    words = [word.strip() for word in (class_order or "").split(",") if word.strip()]
    if len(set(words)) < len(words):
        raise UsageError(f"class_order == {class_order!r}, must name each class once")
    place = {word: float(at) for at, word in enumerate(words, 1)}
    for name, labels in (("gold", gold), *runs.items()):
        for topic in labels:
            for item, label in labels[topic].items():
                if label in place:
                    continue
                number = None if words else number_or_none(label)
                if number is None:
                    way = (
                        f"is not one of {', '.join(words)}"
                        if words
                        else "is not a number; give the order of the classes"
                    )
                    raise UsageError(f"{name}: label {label!r} of item {item!r} {way}")
                place[label] = float(number)
    return place


def _scores(
    own: Mapping[str, str], true: Mapping[str, str], names: list[str], classes: list[str], order: dict[str, float],
    beta: float,
) -> list[float]:  # fmt: skip
    items = list(true)
    kinds = list(dict.fromkeys([*true.values(), *own.values()]))
    number = {label: at for at, label in enumerate(kinds)}
    gold = np.array([number[true[item]] for item in items])
    given = np.array([number[own[item]] if item in own else -1 for item in items])
    size = len(kinds)
    right = np.bincount(gold[gold == given], minlength=size).astype(np.float64)
    of_gold = np.bincount(gold, minlength=size).astype(np.float64)
    of_own = np.bincount(given[given >= 0], minlength=size).astype(np.float64)
    precision, recall = _over(right, of_own), _over(right, of_gold)
    f = np.array([f_measure(p, r, beta) for p, r in zip(precision.tolist(), recall.tolist(), strict=True)])
    in_gold = of_gold > 0
    micro = (float(_over(right.sum(), of_own.sum())), float(right.sum() / len(items)))
    results: dict[str, Callable[[], Any]] = {
        "accuracy": lambda: micro[1],
        "micro-P": lambda: micro[0],
        "micro-R": lambda: micro[1],
        "micro-F": lambda: f_measure(*micro, beta),
        "macro-P": lambda: precision[in_gold].mean(),
        "macro-R": lambda: recall[in_gold].mean(),
        "macro-F": lambda: f[in_gold].mean(),
    }
    if order:
        place = np.array([order[label] for label in kinds])
        distance = _distances(place, gold, given)
        results |= {"MAE": lambda: distance.mean(), "MSE": lambda: (distance**2).mean()}
        results |= {"CEM": lambda: closeness(place[gold], np.where(given >= 0, place[given], np.nan))}
    clusters = _clusters(gold, given, beta)
    found = [float(clusters[name] if name in clusters else results[name]()) for name in names]
    for label in classes:
        at = number.get(label, -1)
        inside = at >= 0 and of_gold[at] > 0
        found += [float(precision[at]), float(recall[at]), float(f[at])] if inside else [np.nan] * 3
    return found


def _over(above: Any, below: Any) -> Array:
    return np.asarray(np.divide(above, np.where(below == 0, 1.0, below)))


def _distances(place: Array, gold: Index64, given: Index64) -> Array:
    """How far labels are from the gold labels; a missing one is at the farther end of the classes in use."""
    true = place[gold]
    farthest = np.maximum(place.max() - true, true - place.min())
    return np.where(given >= 0, np.abs(place[given] - true), farthest)


def closeness(gold: Array, given: Array) -> float:
    r"""CEM of ordinal labels as numbers; NaN is a missing label. Undefined if all gold labels are the same.

    >>> round(closeness(np.array([1.0, 1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0, 3.0])), 4)
    0.8678
    """
    scale, count = np.unique(gold, return_counts=True)
    below = np.concatenate(([0], np.cumsum(count)))  # items with a lower label than each class

    def own(label: float) -> int:
        at = int(np.searchsorted(scale, label))
        return int(count[at]) if at < len(scale) and scale[at] == label else 0

    def proximity(a: float, b: float) -> float:
        if a <= b:  # the classes in (a, b]
            between = below[np.searchsorted(scale, b, "right")] - below[np.searchsorted(scale, a, "right")]
        else:  # the classes in [b, a)
            between = below[np.searchsorted(scale, a, "left")] - below[np.searchsorted(scale, b, "left")]
        return float(-np.log2((own(a) / 2 + between) / len(gold)))

    if len(scale) < 2:
        return float("nan")
    memory: dict[tuple[float, float], float] = {}
    pairs = [(a, b) for a, b in zip(given.tolist(), gold.tolist(), strict=True) if not np.isnan(a)]
    for pair in {*pairs, *((label, label) for label in scale.tolist())}:
        memory[pair] = proximity(*pair)
    return sum(memory[pair] for pair in pairs) / sum(memory[label, label] for label in gold.tolist())


def _clusters(gold: Index64, given: Index64, beta: float) -> dict[str, float]:
    alone = given < 0
    cluster = np.where(alone, given.max(initial=0) + 1 + np.cumsum(alone), given)
    (classes, c), (clusters, k) = np.unique(gold, return_inverse=True), np.unique(cluster, return_inverse=True)
    cells, both = np.unique(k * len(classes) + c, return_counts=True)  # the cells of cluster × class with items
    of_cell = cells // len(classes), cells % len(classes)
    in_cluster, in_class = np.bincount(k)[of_cell[0]], np.bincount(c)[of_cell[1]]
    n = float(len(gold))
    precision, recall = both / in_cluster, both / in_class
    f = np.array([f_measure(p, r, beta) for p, r in zip(precision.tolist(), recall.tolist(), strict=True)])
    most = [np.zeros(len(clusters)), np.zeros(len(classes)), np.zeros(len(classes))]
    for best, axis, value in zip(most, (0, 1, 1), (both, both, f), strict=True):
        np.maximum.at(best, of_cell[axis], value)
    b_precision, b_recall = float((both * precision).sum() / n), float((both * recall).sum() / n)
    return {
        "purity": most[0].sum() / n, "inverse-purity": most[1].sum() / n,
        "purity-F": float((np.bincount(c) * most[2]).sum() / n),
        "BCubed-P": b_precision, "BCubed-R": b_recall, "BCubed-F": f_measure(b_precision, b_recall, beta),
    }  # fmt: skip

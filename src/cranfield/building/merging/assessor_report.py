"""Rate assessors: accuracy, bias, information, agreement with others, and a check for spam."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.building.assessor_labels import Labels, LabelsLike
from cranfield.building.merging.gold_labels import GoldLike, gold_of
from cranfield.building.merging.label_problem import summed
from cranfield.building.merging.merge_labels import METHOD, merge
from cranfield.building.merging.merged import Merged, entropy_bits
from cranfield.declared.operation import ALPHA, about, operation
from cranfield.notes import method_note
from cranfield.record import Record, column
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

USEFUL = 0.3
"""With gold labels, a useful assessor is at least this part of the way from chance to always right."""


@dataclass(frozen=True, eq=False, repr=False)
class AssessorReport(Record):
    """What the labels say about each assessor; a number is NaN where nothing can be said."""

    caption = "Assessors"
    figure = "describe_assessor_accuracy"
    facts = ("method", "alpha", "basis", "useful")

    workers: Annotated[tuple[str, ...], column("assessor")]
    labels: Annotated[Index64, column()]
    """The number of labels."""
    accuracy: Annotated[Array, column(optional=True)]
    """The expected share of right labels, by the probabilities of the merged labels."""
    checks: Annotated[Index64, column()]
    """The number of labels that could be checked against gold, or against the majority of the other assessors."""
    right: Index64
    """The number of these that are right."""
    share: Annotated[Array, column(optional=True)]
    """The share of right checks."""
    low: Annotated[Array, column(optional=True)]
    """The interval of the share of right checks at level 1 − α (Wilson)."""
    high: Annotated[Array, column(optional=True)]
    chance: Annotated[Array, column(optional=True)]
    """The share of right checks that labels without any relation to the items would have."""
    p: Annotated[Array, column(optional=True)]
    """The probability of at least as many right checks by chance (exact binomial test); NaN without checks."""
    recall: Annotated[Array, column(optional=True)]
    """The mean over true labels of the share that the assessor found. Labels that do not depend on the item have 1/K
    for K labels of the scale, however frequent these are; NaN unless checked items have every label."""
    recall_high: Annotated[Array, column("recall at most", optional=True)]
    """An upper bound of it at level 1 − α; 1 is assumed for true labels that the assessor did not meet."""
    bias: Annotated[Array, column(optional=True)]
    """The mean difference of labels from expected grades; above 0 is lenient. NaN if labels have no order."""
    information: Annotated[Array, column(optional=True)]
    """Bits that a label tells about the true label, on average."""
    spammer_score: Annotated[Array, column(optional=True)]
    """0 for labels that do not depend on the item, 1 for an assessor who is always right (Raykar & Yu 2012)."""
    agreement: Annotated[Array, column(optional=True)]
    """The share of the labels of others on the same items that are the same."""
    seconds: Annotated[Array, column(optional=True)]
    """The median time for a label; NaN without times."""
    flag: Annotated[NDArray[Any], column()]
    """`spam?` if an assessor is worse than a useful one, `not shown` if it could be either, else empty."""
    method: str
    """The method that merged the labels."""
    basis: str
    """What labels were checked against."""
    useful: float = np.nan
    """The mean recall of a useful assessor: half of the way from 1/K to that of all assessors together."""
    alpha: float = 0.05
    notes: tuple[str, ...] = ()
    merged: Merged | None = field(default=None)
    """The merged labels behind the numbers."""

    def sorted_rows(self) -> Index64:
        """A row per assessor, the least accurate first."""
        return np.argsort(self.accuracy, kind="stable")


@operation
def rate_assessors(
    labels: LabelsLike,
    *,
    gold: GoldLike | None = None,
    method: Annotated[str, METHOD] = "dawid-skene",
    alpha: Annotated[float, about("The level of the test for spam, and 1 - the level of intervals.", **ALPHA)] = 0.05,
    merged: Merged | None = None,
    **settings: Any,
) -> AssessorReport:
    r"""Rate every assessor by the merged labels, and check the labels against gold or the majority of the others.

    gold: true labels of some items, as in `merge`. With gold, only gold items are checked.
    method: how labels are merged; `settings` are passed to `merge`. `merged` is a result that exists already.
    alpha: an assessor passes if the exact binomial test says at this level that right checks are more frequent than
        chance. Chance is the share that the assessor's own labels would have if they were dealt to items at random:
        somebody who says "not relevant" to all documents is often right, but not above chance. Of the others, `spam?`
        marks those whose mean recall (over the true labels, so that rare ones count) is below that of a useful assessor
        even at its upper bound; the rest is `not shown`: too few checks to tell.

    The spammer score of Raykar and Yu is the mean squared distance of the rows of the table of confusion A, scaled so
    that it is 0 if all rows are equal and 1 for an assessor who is always right; the information is the mutual
    information of true and given label, for classes as frequent as among the merged labels:

    .. math:: S = \frac{1}{K (K - 1)} \sum_{c < c'} \sum_k (A_{ck} - A_{c'k})^2, \qquad
              I = H\Big(\sum_c p_c A_{c\cdot}\Big) - \sum_c p_c H(A_{c\cdot})

    Reference: Raykar & Yu, Eliminating Spammers and Ranking Annotators for Crowdsourced Labeling Tasks, JMLR 13, 2012

    >>> rows = [(f"t{i}", w, (i % 2 if w != "c" else 1)) for i in range(12) for w in "abc"]
    >>> report = rate_assessors(rows, gold={f"t{i}": i % 2 for i in range(12)})
    >>> report.accuracy.tolist(), report.spammer_score.round(6).tolist(), report.flag.tolist()
    ([1.0, 1.0, 0.5], [1.0, 1.0, 0.0], ['', '', 'not shown'])
    """
    labels = Labels.of(labels)
    if merged is None:
        merged = merge(labels, method, gold=gold, **settings)
    known, _ = gold_of(gold, labels)
    if gold is None:
        truth, basis = majority_of_others(labels), "the majority of the other assessors"
    else:
        truth, basis = known[labels.item], "gold labels"
    size = len(labels.workers)
    checks, right, chance = _checked(labels, truth)
    low, high = wilson(right, checks, alpha)
    recall, recall_high, useful = _recalls(labels, truth, alpha, known=gold is not None)
    seconds = np.full(size, np.nan)
    if labels.seconds is not None:
        seconds = _medians(labels.worker, labels.seconds, size)
    p = _binomial_p(right, checks, chance)
    share = np.divide(right, checks, out=np.full(size, np.nan), where=checks > 0)
    failed = ~(p < alpha)
    flag = np.where(failed & (recall_high < useful), "spam?", np.where(failed, "not shown", "")).astype(object)
    report = AssessorReport(
        labels.workers, np.bincount(labels.worker, minlength=size), merged.accuracy, checks, right, share, low, high,
        chance, p, recall, recall_high, _bias(labels, merged), information(merged), spammer_scores(merged),
        _agreement(labels), seconds, flag, merged.method, basis, useful, alpha, merged=merged,
    )  # fmt: skip
    return _noted(report, merged)


def _noted(report: AssessorReport, merged: Merged) -> AssessorReport:
    notes = [
        *merged.notes,
        method_note(f"checks: labels against {report.basis}; interval at {100 * (1 - report.alpha):g}% (Wilson)"),
    ]
    meanings = {
        "spam?": f"with a mean recall of true labels below {report.useful:.2f}, that of a useful assessor,",
        "not shown": "for whom more checks have to tell whether they are better than chance",
    }
    for flag, meaning in meanings.items():
        names = [report.workers[w] for w in np.flatnonzero(report.flag == flag).tolist()]
        if names:
            notes.append(f"{flag}: {counted(len(names), 'assessor')} {meaning} at {report.alpha:g}: {listed(names)}")
    return replace(report, notes=tuple(notes))


def majority_of_others(labels: Labels) -> Index64:
    """For each label, the most frequent label of the item by the other assessors; -1 if there is none, or a tie.

    >>> majority_of_others(Labels.of([("t", "a", 0), ("t", "b", 1), ("t", "c", 1), ("u", "a", 1)])).tolist()
    [1, -1, -1, -1]
    """
    others = labels.counts()[labels.item].astype(np.int64)
    pair = labels.item * len(labels.workers) + labels.worker
    _, number = np.unique(pair, return_inverse=True)
    classes = len(labels.scale)
    own = np.bincount(number * classes + labels.label, minlength=(int(number.max(initial=-1)) + 1) * classes)
    others -= own.reshape(-1, classes)[number]
    top = others.max(axis=1, initial=0)
    unique = ((others == top[:, None]).sum(axis=1) == 1) & (top > 0)
    return np.asarray(np.where(unique, np.argmax(others, axis=1), -1), dtype=np.int64)


def _checked(labels: Labels, truth: Index64) -> tuple[Index64, Index64, Array]:
    """The number of checks of each assessor, how many are right, and the share that is right by chance."""
    size, classes = len(labels.workers), len(labels.scale)
    used = np.flatnonzero(truth >= 0)
    worker, label, true = labels.worker[used], labels.label[used], truth[used]
    checks = np.bincount(worker, minlength=size)
    right = np.bincount(worker[label == true], minlength=size)
    per_given = np.bincount(worker * classes + label, minlength=size * classes).reshape(size, classes)
    per_true = np.bincount(worker * classes + true, minlength=size * classes).reshape(size, classes)
    squared = checks.astype(np.float64) ** 2
    chance = np.divide((per_given * per_true).sum(axis=1), squared, out=np.full(size, np.nan), where=checks > 0)
    return checks, right, chance


def _recalls(labels: Labels, truth: Index64, alpha: float, *, known: bool) -> tuple[Array, Array, float]:
    """The mean recall of each assessor over the true labels, its upper bound, and that of a useful assessor.

    The bound combines those of Clopper and Pearson for each label (Zou & Donner, Statistics in Medicine 27(10), 2008).
    A majority of others is often wrong about rare labels, which lowers the recall of all assessors alike; so a useful
    one is half as far above 1/K as all assessors together. With gold labels it is at least `USEFUL` of the way to 1.
    """
    from scipy.special import bdtri

    size, classes = len(labels.workers), len(labels.scale)
    used = np.flatnonzero(truth >= 0)
    cell = labels.worker[used] * classes + truth[used]
    met = np.bincount(cell, minlength=size * classes).reshape(size, classes)
    right = np.bincount(cell[labels.label[used] == truth[used]], minlength=size * classes).reshape(size, classes)
    share = np.divide(right, met, out=np.full(met.shape, np.nan), where=met > 0)
    most = np.where(right < met, bdtri(right.astype(np.float64), np.maximum(met, right + 1), alpha), 1.0)
    middle = np.where(met > 0, share, 1.0)
    recall_high = middle.mean(axis=1) + np.sqrt(((most - middle) ** 2).sum(axis=1)) / classes
    together = np.divide(right.sum(axis=0), met.sum(axis=0), out=np.full(classes, np.nan), where=met.sum(axis=0) > 0)
    chance = 1 / classes
    if not met.any():
        return share.mean(axis=1), np.full(size, np.nan), np.nan
    useful = chance + max(float(np.nanmean(together)) - chance, 0.0) / 2
    if known:
        useful = max(useful, chance + USEFUL * (1 - chance))
    recall_high = np.where(met.sum(axis=1) > 0, np.minimum(recall_high, 1.0), np.nan)
    return share.mean(axis=1), recall_high, useful


def _binomial_p(right: Index64, checks: Index64, chance: Array) -> Array:
    """P(X ≥ right) for a binomial X."""
    from scipy.special import bdtrc

    p = np.full(len(right), np.nan)
    some = checks > 0
    p[some] = np.where(right[some] > 0, bdtrc(right[some] - 1.0, checks[some], chance[some]), 1.0)
    return p


def wilson(right: Index64, count: Index64, alpha: float) -> tuple[Array, Array]:
    """Wilson's interval of a share at level 1 − α; NaN without any.

    Reference: Wilson, Probable Inference, the Law of Succession, and Statistical Inference, JASA 22(158), 1927

    >>> [end.round(4).tolist() for end in wilson(np.array([8]), np.array([10]), 0.05)]
    [[0.4902], [0.9433]]
    """
    from scipy.special import ndtri

    z2 = float(ndtri(1 - alpha / 2)) ** 2
    n = np.where(count > 0, count, np.nan)
    share = right / n
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2))) / (1 + z2 / n)
    return np.asarray(np.maximum(middle - half, 0.0)), np.asarray(np.minimum(middle + half, 1.0))


def _bias(labels: Labels, merged: Merged) -> Array:
    size = len(labels.workers)
    if not labels.ordered:
        return np.full(size, np.nan)
    apart = labels.values[labels.label] - merged.expected[labels.item]
    count = np.bincount(labels.worker, minlength=size)
    return np.asarray(np.divide(summed(labels.worker, apart, size), count, out=np.full(size, np.nan), where=count > 0))


def spammer_scores(merged: Merged) -> Array:
    """The spammer score of each assessor; NaN unless the assessor's items have every label of the scale."""
    table = merged.confusion
    classes = len(merged.scale)
    # Σ_c<c' (a_c - a_c')² = K Σ (a_c - mean)², which needs no table of pairs of rows.
    apart = classes * ((table - table.mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2))
    return np.asarray(apart / (classes * (classes - 1)))


def information(merged: Merged) -> Array:
    """Bits that a label of each assessor tells about the true label; true labels that they never met are left out."""
    classes = np.nanmean(merged.posterior, axis=0)
    met = np.asarray(~np.isnan(merged.confusion).any(axis=2))
    weight = np.where(met, classes, 0.0)
    total = weight.sum(axis=1, keepdims=True)
    weight = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
    table = np.where(met[:, :, None], merged.confusion, 0.0)
    mixed = (weight[:, :, None] * table).sum(axis=1)
    bits = entropy_bits(mixed) - (weight * entropy_bits(table)).sum(axis=1)
    return np.asarray(np.where(total[:, 0] > 0, np.maximum(bits, 0.0), np.nan))


def _agreement(labels: Labels) -> Array:
    """The share of labels of others on the same items that are the same."""
    counts = labels.counts()
    size = len(labels.workers)
    same = (counts[labels.item, labels.label] - 1).astype(np.float64)
    others = (counts.sum(axis=1)[labels.item] - 1).astype(np.float64)
    total = summed(labels.worker, others, size)
    agreed = summed(labels.worker, same, size)
    return np.asarray(np.divide(agreed, total, out=np.full(size, np.nan), where=total > 0))


def _medians(at: Index64, values: Array, size: int) -> Array:
    """The median of the values of each position; NaN values do not count."""
    medians = np.full(size, np.nan)
    used = ~np.isnan(values)
    order = np.lexsort((values[used], at[used]))
    sorted_values = values[used][order]
    counts = np.bincount(at[used], minlength=size)
    some = np.flatnonzero(counts)
    first = (np.cumsum(counts) - counts)[some]
    low, high = first + (counts[some] - 1) // 2, first + counts[some] // 2
    medians[some] = (sorted_values[low] + sorted_values[high]) / 2
    return medians

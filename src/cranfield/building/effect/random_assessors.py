r"""How far an assessor is from random assessors: the distance between their scores of the same runs.

A random assessor labels the documents that the assessor labelled: each is relevant with probability p, and its grade
is then drawn from the relevant labels that all assessors gave, otherwise from the labels that are not relevant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cranfield.building.effect.labelled_runs import LabelledRuns
from cranfield.comparison.differences import noise
from cranfield.errors import UsageError
from cranfield.meta.agreement.coefficients import tau_ap_b, tau_b
from cranfield.meta.complete_scores import levels_of
from cranfield.types import Array, Progress

RATES = (0.05, 0.2, 0.5)
"""The shares of relevant documents of random assessors."""
BINS = 20
"""Bins of the histograms that `kl` compares."""


def frobenius(first: Array, second: Array) -> float:
    r"""The Frobenius norm of the difference, divided by the root of the number of scores that both have.

    .. math:: \sqrt{\frac{1}{n} \sum_{s,t} (A_{st} - B_{st})^2}
    """
    gap = first - second
    return _root_mean_square(gap[~np.isnan(gap)])


def rmse(first: Array, second: Array) -> float:
    r"""The root mean square difference of the mean scores of runs, over the topics on which both have scores.

    .. math:: \sqrt{\frac{1}{m} \sum_s (\bar A_s - \bar B_s)^2}
    """
    a, b = _means(first, second)
    return _root_mean_square(a - b) if len(a) else np.nan


def kl(first: Array, second: Array) -> float:
    r"""The Kullback–Leibler divergence of the distribution of scores from that of the random assessor, in nats.

    .. math:: \sum_i p_i \ln (p_i / q_i)

    The distributions are histograms with 20 bins of equal width between the lowest and the highest score of both, with
    1/2 added to each count.
    """
    a, b = first[~np.isnan(first)], second[~np.isnan(second)]
    if not len(a) or not len(b):
        return np.nan
    ends = (min(a.min(), b.min()), max(a.max(), b.max()))
    if ends[0] == ends[1]:
        return 0.0
    p, q = (np.histogram(values, BINS, ends)[0] + 0.5 for values in (a, b))
    p, q = p / p.sum(), q / q.sum()
    return float((p * np.log(p / q)).sum())


def tau(first: Array, second: Array) -> float:
    r"""One minus Kendall's :math:`\tau_b` of the rankings of runs by their mean scores."""
    return 1 - _correlation(first, second, tau_b)


def tau_ap(first: Array, second: Array) -> float:
    r"""One minus the symmetric AP correlation (:math:`\tau_{ap,b}`) of the rankings of runs by their mean scores."""
    return 1 - _correlation(first, second, tau_ap_b)


GAPS: dict[str, Callable[[Array, Array], float]] = {
    "frobenius": frobenius, "rmse": rmse, "kl": kl, "tau": tau, "tau-ap": tau_ap,
}  # fmt: skip
"""The distances between the scores of two assessors, runs × topics; NaN if they have nothing in common."""


def _root_mean_square(gap: Array) -> float:
    return float(np.sqrt(np.mean(gap**2))) if len(gap) else np.nan


def _means(first: Array, second: Array) -> tuple[Array, Array]:
    """The mean scores of runs over the topics on which both have a score of every run."""
    both = ~(np.isnan(first) | np.isnan(second)).any(axis=0)
    if not both.any():
        return np.empty(0), np.empty(0)
    return first[:, both].mean(axis=1), second[:, both].mean(axis=1)


def _correlation(first: Array, second: Array, coefficient: Callable[..., Array]) -> float:
    """NaN if all runs tie in one of the rankings, or there are fewer than two."""
    a, b = _means(first, second)
    if len(a) < 2:
        return np.nan
    levels = levels_of(np.stack([a, b]), np.array([noise(a), noise(b)]))
    return float(coefficient(levels)[0, 1])


def gaps_to_random(
    runs: LabelledRuns,
    values: Array,
    gap: str,
    *,
    rates: Sequence[float] = RATES,
    replicates: int = 10,
    rel: float = 1,
    by_topic: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Array:
    """rates × measures × assessors × topics (one with `by_topic=False`): the mean distance to random assessors.

    values: assessors × measures × runs × topics: the scores with the labels of each assessor.
    """
    distance, labels = GAPS[gap], runs.labels
    grades = _random_grades(runs, rates, replicates, rel, seed)
    labelled = ~np.isnan(runs.grades_by_assessor())
    alike: dict[bytes, list[int]] = {}
    for worker, mask in enumerate(labelled):
        alike.setdefault(mask.tobytes(), []).append(worker)
    measures, topics = len(runs.measures), len(runs.topics)
    slices = [np.s_[:, t : t + 1] for t in range(topics)] if by_topic else [np.s_[:, :]]
    sums = np.zeros((len(rates), measures, len(labels.workers), len(slices)))
    defined = np.zeros_like(sums)
    done = 0
    for workers in alike.values():
        mask = labelled[workers[0]]
        for rate, drawn in enumerate(grades):
            for random in drawn:
                scores = runs.values(np.where(mask, random, np.nan))
                for worker in workers:
                    for m in range(measures):
                        for place, part in enumerate(slices):
                            found = distance(values[worker, m][part], scores[m][part])
                            if not np.isnan(found):
                                sums[rate, m, worker, place] += found
                                defined[rate, m, worker, place] += 1
        done += len(workers)
        if progress is not None:
            progress(done, len(labels.workers))
    return np.divide(sums, defined, out=np.full_like(sums, np.nan), where=defined > 0)


def _random_grades(runs: LabelledRuns, rates: Sequence[float], replicates: int, rel: float, seed: int) -> Array:
    """rates × replicates × items: the labels of random assessors, on all items."""
    labels = runs.labels
    given = labels.values[labels.label]
    pools = [np.sort(given[given >= rel]), np.sort(given[given < rel])]
    words = ("at or above", "below")
    for pool, word in zip(pools, words, strict=True):
        if not len(pool):
            raise UsageError(
                f"random assessors need relevant labels and others, but no label is {word} {rel:g}; choose another "
                "lowest relevant grade, or uniform weights"
            )
    rng = np.random.default_rng(seed)
    chance, pick = rng.random((2, replicates, len(labels.items)))
    relevant, other = (pool[(pick * len(pool)).astype(np.int64)] for pool in pools)
    return np.stack([np.where(chance < rate, relevant, other) for rate in rates])

r"""AWARE: score runs with the labels of each assessor, then average the scores with a weight for each assessor.

Majority votes and models of labels decide on the label of each document before anything is scored. AWARE
(Assessor-driven Weighted Averages for Retrieval Evaluation) merges after scoring.

Assessors may be weighted by how far they are from random assessors, who label the documents that the assessor labelled:
each is relevant with probability p, and its grade is then drawn from the relevant labels that all assessors gave,
otherwise from the labels that are not relevant.

Reference: Ferrante, Ferro & Maistro, TOIS 36(2), 2017, doi:10.1145/3110217
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.join_options import JoinOptions
from cranfield.building.assessor_labels import Labels, LabelsLike
from cranfield.building.effect.labelled_runs import LabelledRuns
from cranfield.collection.source import PathLike
from cranfield.collection.tables.table_schema import Numbers, Schema, Words
from cranfield.comparison.data import noise
from cranfield.declared.operation import Seed, about, operation, with_defaults
from cranfield.errors import DataError, NotedWarning, UsageError, warn_caller
from cranfield.meta.agreement.coefficients import tau_ap_b, tau_b
from cranfield.meta.complete_scores import levels_of
from cranfield.notes import Notes
from cranfield.record import Record, crossed
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed
from cranfield.types import Array, Progress

UNIFORM = "uniform"
BY_RANKINGS = ("tau", "tau-ap")
"""Distances that see only the order of runs."""
FEW_RUNS = 20
"""With fewer runs, weights by rankings are mostly chance."""
WeightsLike = str | PathLike | Mapping[str, float]

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
                            apart = distance(values[worker, m][part], scores[m][part])
                            if not np.isnan(apart):
                                sums[rate, m, worker, place] += apart
                                defined[rate, m, worker, place] += 1
        done += len(workers)
        if progress is not None:
            progress(done, len(labels.workers))
    return np.divide(sums, defined, out=np.full_like(sums, np.nan), where=defined > 0)


def _random_grades(runs: LabelledRuns, rates: Sequence[float], replicates: int, rel: float, seed: int) -> Array:
    """rates × replicates × items: the labels of random assessors, on all items."""
    labels = runs.labels
    grades = labels.values[labels.label]
    pools = [np.sort(grades[grades >= rel]), np.sort(grades[grades < rel])]
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


WEIGHTS = (UNIFORM, *GAPS)
"""How assessors are weighted: all alike, or by a distance to random assessors."""


ASSESSOR_WEIGHTS = Schema(
    "assessor weight",
    key=("assessor",),
    mixed=True,
    comments=True,
    assessor=Words(("assessor", "worker", "worker_id", "annotator")),
    weight=Numbers(least=0),
)


class AwareSettings(TypedDict, total=False):
    """How assessors are weighted; `aware_weights` says more."""

    weights: Annotated[
        WeightsLike,
        about(
            "{names}, or a file.",
            UNIFORM,
            names="building.effect.aware:WEIGHTS",
            spelled="--weighting NAME",
            solves="weights=",
        ),
    ]
    by_topic: Annotated[bool, about("Learn a weight for each assessor and topic.", False)]
    power: Annotated[
        float, about("Raise learned weights to this power.", 1.0, above=0, spelled="--weight-power P", rare=True)
    ]
    rates: Annotated[
        Sequence[float],
        about(
            "Shares of relevant documents of random assessors.",
            RATES,
            least=0,
            most=1,
            spelled="--relevant-rates P,P,...",
            rare=True,
        ),
    ]
    replicates: Annotated[int, about("Random assessors for each share.", 10, least=1, rare=True)]
    rel: Annotated[float, about("The lowest grade that counts as relevant.", 1, spelled="--rel GRADE")]
    seed: Annotated[Seed, about("Seed of the random numbers.", 0, least=0, below=2**64)]


@dataclass(frozen=True, eq=False, repr=False)
class AwareWeights(Record):
    """The weight of each assessor in the scores of AWARE."""

    facts = ("kind", "rates", "replicates", "power", "by_topic", "seed")

    measures: tuple[str, ...]
    workers: tuple[str, ...]
    weight: Array
    """measures × assessors × topics, or × 1 if weights are the same on all topics; they sum to 1 over assessors."""
    gap: Array | None
    """rates × measures × assessors × topics (or 1): the distance to random assessors; None for given weights."""
    labels: NDArray[np.int64]
    """The number of labels of each assessor."""
    kind: str
    rates: tuple[float, ...]
    replicates: int
    power: float
    by_topic: bool
    seed: int
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, assessor, labels, the distance to random assessors by rate, weight (means over topics)."""
        gaps = {}
        if self.gap is not None:
            with_values = ~np.isnan(self.gap)
            sums = np.where(with_values, self.gap, 0.0).sum(axis=-1)
            count = with_values.sum(axis=-1)
            means = np.divide(sums, count, out=np.full_like(sums, np.nan), where=count > 0)
            gaps = {f"gap {rate:g}": means[i] for i, rate in enumerate(self.rates)}
        values = {"labels": self.labels[None, :], **gaps, "weight": self.weight.mean(axis=2)}
        return crossed({"measure": self.measures, "assessor": self.workers}, values)


def aware(labels: LabelsLike, runs: Any, measures: Any = None, **settings: Any) -> Scores:
    r"""The scores of runs, averaged over assessors.

    .. math:: s(r, t) = \sum_k w_k \, s_k(r, t) \Big/ \sum_k w_k

    where :math:`s_k(r, t)` is the score of run r on topic t with the labels of assessor k alone, and the sums are over
    the assessors who have such a score. Assessors have none on a topic of which they labelled no document, or on which
    the measure is undefined with their labels, such as AP without a relevant document.

    `settings` are those of `aware_weights`. The result is like that of `evaluate`.

    >>> labels = [("1", "d1", "anna", 1), ("1", "d2", "anna", 0), ("1", "d1", "ben", 1), ("1", "d2", "ben", 1)]
    >>> aware(labels, {"mine": {"1": {"d2": 2.0, "d1": 1.0}}}, "AP").means().item()  # the mean of 0.5 and 1
    0.75
    """
    return aware_scores(labels, runs, measures, **settings)[0]


def aware_weights(labels: LabelsLike, runs: Any, measures: Any = None, **settings: Any) -> AwareWeights:
    r"""The weight of each assessor by which `aware` averages scores.

    With weights by a distance, the weight of assessor k is the distance of their scores to those of the nearest random
    assessor, raised to a power,

    .. math:: w_k \propto \left( \min_p \bar d(S_k, R_{k,p}) \right)^{\text{power}}

    where :math:`R_{k,p}` are the scores with the labels of a random assessor who labels the same documents as
    assessor k and calls each relevant with probability p, and :math:`\bar d` is the mean distance over `replicates` of
    them. So an assessor who labels at random has little weight, without any gold labels.

    weights: `uniform`; or a distance between scores of runs (see `GAPS`): `frobenius`, `rmse`, `kl`, `tau`, `tau-ap`;
        or {assessor: weight}, or a file with lines of assessor, weight. A caution says if `tau` or `tau-ap` have fewer
        than 20 runs to rank.
    rates: the probabilities p of random assessors.
    replicates: the number of random assessors for each p.
    power: 1; 2 or 3 favour the best assessors more.
    by_topic: a weight for each assessor and topic, from the scores on the topic.
    rel: the lowest grade that counts as relevant, for random assessors.
    missing: a topic that a run does not contain scores as an empty list (`zero`), or has no score (`skip`).
    options: `JoinOptions`, how runs are read and ranked.
    """
    return aware_scores(labels, runs, measures, **settings)[1]


@operation
def aware_scores(
    labels: LabelsLike,
    runs: Any,
    measures: Any = None,
    *,
    missing: str = "zero",
    options: JoinOptions | None = None,
    progress: Progress | None = None,
    **settings: Unpack[AwareSettings],
) -> tuple[Scores, AwareWeights]:
    """The scores of `aware` and the weights of `aware_weights`, computed once."""
    joined = LabelledRuns(Labels.of(labels), runs, measures, missing=missing, options=options)
    values = joined.values_by_assessor(progress)
    weights = weights_of(joined, values, progress=progress, **settings)
    merged, unweighted = weighted_mean(values, weights.weight)
    notes = [*weights.notes, *_notes(joined, values, unweighted)]
    return joined.scores(merged, notes), weights


def weights_of(
    joined: LabelledRuns, values: Array, *, progress: Progress | None = None, **settings: Unpack[AwareSettings]
) -> AwareWeights:
    """As `aware_weights`, from the scores with the labels of each assessor."""
    labels, chosen = joined.labels, with_defaults(AwareSettings, settings)
    weights, rates, by_topic, rel = chosen["weights"], chosen["rates"], chosen["by_topic"], chosen["rel"]
    replicates, power, seed = chosen["replicates"], chosen["power"], chosen["seed"]
    if not rates:
        raise UsageError("aware: rates == (), must be one or more probabilities of random assessors")
    names = tuple(map(str, joined.measures))
    workers = len(labels.workers)
    notes = Notes([*labels.notes])
    gap = None
    if isinstance(weights, str) and weights in GAPS:
        gap = gaps_to_random(
            joined, values, weights, rates=rates, replicates=replicates, rel=rel, by_topic=by_topic, seed=seed,
            progress=progress,
        )  # fmt: skip
        raw = np.where(np.isnan(gap), np.inf, gap).min(axis=0)
        unknown = np.isinf(raw)
        raw = np.where(unknown, 0.0, np.maximum(raw, 0.0)) ** power
        kind = weights
        shares = ", ".join(f"{rate:g}" for rate in rates)
        notes.method(
            f"AWARE: {counted(workers, 'assessor')}, weights by the {kind} distance to random assessors at {shares}"
            + (" on each topic" if by_topic else "")
        )
        if few := few_runs(kind, len(joined.runs)):
            notes.append(few)
            warn_caller(few, NotedWarning)
        if int(never := unknown.all(axis=(0, 2)).sum()):
            who = listed(np.array(labels.workers, dtype=object)[unknown.all(axis=(0, 2))].tolist())
            notes.append(f"{counted(int(never), 'assessor')} without a distance to random assessors, weight 0: {who}")
    elif weights == UNIFORM:
        raw = np.ones((len(names), workers, 1))
        kind = UNIFORM
        notes.method(f"AWARE: {counted(workers, 'assessor')}, all with the same weight")
    else:
        of_assessors = _given(weights, labels)
        raw = np.broadcast_to(of_assessors[None, :, None], (len(names), workers, 1)).copy()
        kind = "given"
        notes.method(f"AWARE: {counted(workers, 'assessor')}, with weights that were given")
    if workers == 1:
        notes.append("there is one assessor, whose scores are taken as they are")
    total = raw.sum(axis=1, keepdims=True)
    if (empty := int((total == 0).sum())) and gap is not None:
        what = counted(empty, "topic" if by_topic else "measure")
        notes.caution(f"all weights are 0 for {what}, where assessors get the same weight")
    weight = np.where(total > 0, raw / np.where(total > 0, total, 1.0), 1 / workers)
    counts = np.bincount(labels.worker, minlength=workers)
    return AwareWeights(
        names, labels.workers, weight, gap, counts, kind, tuple(rates), replicates, power, by_topic, seed, tuple(notes)
    )


def few_runs(kind: str, runs: int) -> str | None:
    """A caution if weights come from rankings of too few runs.

    Labels at random rank the runs at random, so that the rankings by good and by bad labels are about equally far from
    theirs: 1 apart, give or take chance, which is large with few runs.

    >>> few_runs("frobenius", 3) is None, few_runs("tau", 20) is None
    (True, True)
    """
    if kind not in BY_RANKINGS or runs >= FEW_RUNS:
        return None
    return (
        f"weights by {kind} from {counted(runs, 'run')}, fewer than {FEW_RUNS}, are mostly chance, and may prefer a "
        "bad assessor to a good one; the weights frobenius use all scores"
    )


def weighted_mean(values: Array, weight: Array) -> tuple[Array, NDArray[np.bool_]]:
    """measures × runs × topics: the weighted mean over the assessors who have a score; and where all of them weigh 0.

    values: assessors × measures × runs × topics. weight: measures × assessors × topics (or 1). If all assessors who
    have a score have the weight 0, they get the same weight.
    """
    defined = ~np.isnan(values)
    shares = np.moveaxis(weight, 1, 0)[:, :, None, :] * defined
    total = shares.sum(axis=0)
    alone = (total == 0) & defined.any(axis=0)
    shares = np.where(alone, defined, shares)
    total = shares.sum(axis=0)
    sums = (shares * np.where(defined, values, 0.0)).sum(axis=0)
    mean = np.divide(sums, total, out=np.full_like(sums, np.nan), where=total > 0)
    return mean, alone


def _given(weights: Any, labels: Labels) -> Array:
    """The weights of assessors from a mapping or a file."""
    origin = "weights"
    if isinstance(weights, str | os.PathLike):
        if isinstance(weights, str) and not os.path.exists(weights):
            raise check.nearest(weights, WEIGHTS, "kind of weights or file")
        rows = ASSESSOR_WEIGHTS.read(weights)
        origin, weights = rows.origin, dict(rows)
    if not isinstance(weights, Mapping):
        raise check.wrong("aware", "weights", weights, f"one of {', '.join(WEIGHTS)}, {{assessor: weight}} or a file")
    lacking = [worker for worker in labels.workers if worker not in weights]
    if lacking:
        raise DataError(origin, None, f"no weight for {counted(len(lacking), 'assessor')}: {listed(lacking)}")
    numbers = np.array([float(weights[worker]) for worker in labels.workers])
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        at = int(np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))[0])
        raise DataError(origin, None, f"the weight of {labels.workers[at]} is {numbers[at]:g}, must be 0 or above")
    if not numbers.any():
        raise DataError(origin, None, "all weights are 0; give at least one assessor a weight above 0")
    return numbers


def _notes(joined: LabelledRuns, values: Array, alone: NDArray[np.bool_]) -> list[str]:
    """Which scores are means over some of the assessors only."""
    labels, topics = joined.labels, joined.topics
    judged = np.zeros((len(labels.workers), len(topics)), dtype=bool)
    place = {topic: t for t, topic in enumerate(topics)}
    of_item = np.array([place[topic] for topic in labels.topics], dtype=np.int64)
    judged[labels.worker, of_item[labels.item]] = True
    notes = Notes()
    if len(partly := np.flatnonzero(~judged.all(axis=0))):
        names = listed([topics[t] for t in partly.tolist()])
        number = counted(len(partly), "topic is", "topics are")
        notes.caution(f"{number} not labelled by every assessor, and scored by those who labelled them: {names}")
    undefined = np.isnan(values).any(axis=2) & judged[:, None, :]  # assessors × measures × topics
    for m, measure in enumerate(joined.measures):
        if cases := int(undefined[:, m].sum()):
            gone = np.isnan(values[:, m]).all(axis=(0, 1))
            rest = f"; {int(gone.sum())} have no score at all" if gone.any() else ""
            what = counted(cases, "topic of an assessor", "topics of assessors")
            notes.caution(f"{measure}: undefined on {what}, left out of the average over assessors{rest}")
    if alone.any():
        what = counted(int(alone.any(axis=(0, 1)).sum()), "topic")
        notes.caution(f"on {what} only assessors of weight 0 have a score; they get the same weight there")
    return notes

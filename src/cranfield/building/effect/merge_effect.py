"""What the choice of a merging method does to the scores, ranks and significant differences of runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np

from cranfield import check
from cranfield.assessed.join_options import JoinOptions
from cranfield.building.assessor_labels import Labels, LabelsLike, collapse
from cranfield.building.effect.aware import WEIGHTS, few_runs, weighted_mean, weights_of
from cranfield.building.effect.effect_record import Interval, MergeEffect
from cranfield.building.effect.labelled_runs import LabelledRuns
from cranfield.building.kept_pairs import KeptPairs, Significance
from cranfield.building.merging import MERGING_METHODS, merge
from cranfield.collection.qrels import Qrels
from cranfield.comparison.compare import default_correction
from cranfield.comparison.data import noise
from cranfield.comparison.pair_tests import TESTS, PairTestName, TestSettings
from cranfield.declared.operation import RESAMPLES, Alpha, Seed, about, operation
from cranfield.errors import CranfieldWarning, UsageError, warn_caller
from cranfield.evaluation.evaluator import evaluate
from cranfield.measures.property_tables import lower_is_better
from cranfield.meta.agreement.coefficients import tau_ap, tau_b
from cranfield.meta.complete_scores import levels_of
from cranfield.meta.judgments.rescoring import ranks
from cranfield.notes import Notes, caution_note, interruption_note, method_note
from cranfield.scores import summary as summaries
from cranfield.scores.scores import Scores
from cranfield.scores.t_and_normal import t_quantile
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress

METHODS = ("majority", "dawid-skene", "aware")
AWARE = "aware"
EXPECTED = ":expected"
GOLD = "the gold judgments"
FEWER = (
    "a τ is outside its interval: a resample has only about two thirds of the assessors, so its ranking is less sure "
    "than that of all"
)
ENOUGH = 10
"""With fewer assessors, percentile intervals over them are too narrow, and a note warns of it."""
ORIGINAL = "original"
"""The name of the scale of labels as they were given."""


@dataclass(frozen=True, eq=False)
class _Variant:
    """A method on a scale."""

    name: str
    method: str
    labels: Labels
    averaged: Callable[[Index64], Array] | None = None
    """For AWARE: the scores with some assessors, by their numbers."""


@operation
def merge_effect(
    labels: LabelsLike,
    runs: Any,
    measures: Any = None,
    *,
    methods: Sequence[str] = METHODS,
    scales: Sequence[str] = (),
    gold: Any = None,
    test: PairTestName = "t",
    correction: Annotated[
        str | None,
        about(
            "Correction for several pairs of runs; default: holm.",
            names="comparison.corrections:CORRECTIONS",
        ),
    ] = None,
    alpha: Alpha = 0.05,
    resamples: Annotated[
        int,
        about("How often assessors are resampled for intervals; 0: no intervals.", **RESAMPLES | {"least": 0}),
    ] = 200,
    level: Annotated[
        float,
        about("Confidence level of the intervals.", least=0.5, most=0.9999, spelled="--level L", rare=True),
    ] = 0.95,
    seed: Seed = 0,
    missing: str = "zero",
    options: JoinOptions | None = None,
    progress: Progress | None = None,
) -> MergeEffect:
    """Score runs with the labels merged by each method, and compare the rankings of runs.

    methods: names of merging methods (`MERGING_METHODS`); `NAME:expected` for the expected grades of that method;
        `aware`, or `aware:frobenius` and the like for other weights than uniform ones (see `aware_weights`).
    scales: coarser scales of the labels (see `collapse`) on which every method is also applied.
    gold: judgments that rankings are compared with, on the topics that both have; by default the first method is the
        reference, on the labels as they were given.
    test, correction, alpha: how pairs of runs are tested; see `compare`. The correction is over the pairs of a measure.
    resamples: how often assessors are drawn with replacement, as many as there are; an assessor who is drawn twice
        counts as two. Every method is applied to these labels, and its scores are compared with those of the reference
        on the same labels, or with the gold judgments. Intervals at `level` are for other assessors of the same kind
        on the same topics: Student's t for means, with the number of assessors − 1 as degrees of freedom and the
        spread over resamples, and percentiles for correlations and kept pairs. 0: no intervals. A resample has only
        about two thirds of the assessors, so its rankings are less sure than that of all assessors, and intervals of
        correlations tend to be low; with fewer than 10 assessors they cover less than they say, and a note warns of it.

    >>> labels = [("1", "d1", "anna", 1), ("1", "d2", "anna", 0), ("1", "d1", "ben", 1), ("1", "d2", "ben", 0),
    ...     ("1", "d1", "cleo", 0), ("1", "d2", "cleo", 1)]
    >>> runs = {"a": {"1": {"d1": 2.0, "d2": 1.0}}, "b": {"1": {"d2": 2.0, "d1": 1.0}}}
    >>> effect = merge_effect(labels, runs, "AP", methods=["majority", "aware"], resamples=0)
    >>> effect.means.value[:, 0].round(3).tolist(), effect.tau.value.tolist()
    ([[1.0, 0.5], [0.833, 0.667]], [[1.0], [1.0]])
    """
    chosen = TESTS.find(test)
    how = Significance(chosen, default_correction(correction, chosen), TestSettings(alpha=alpha, seed=seed))
    every = Labels.of(labels)
    notes = [*every.notes]
    joined = LabelledRuns(every, runs, measures, missing=missing, options=options)
    if len(joined.runs) < 2:
        raise UsageError("merge_effect: there is one run; a ranking needs 2 or more")
    if not methods:
        raise UsageError("merge_effect: there are no methods; name one or more")
    variants = _variants(joined, every, list(dict.fromkeys(methods)), scales, seed, progress)
    rows, fixed, topic_notes = _reference(joined, gold, runs, missing, options)
    notes += joined.notes() + topic_notes
    study = _Study(joined, variants, rows, fixed, how, seed)
    means, signs, values = study.scores(every, None)
    reference = means[0] if fixed is None else summaries.mean(fixed)
    reference_signs = signs[0] if fixed is None else study.signs(fixed)
    lower = study.lower
    agreement = [correlations(reference, own, lower) for own in means]
    pairs = np.array([[KeptPairs.of(a, b) for a, b in zip(reference_signs, own, strict=True)] for own in signs])
    _, kept, lost, turned, new = np.moveaxis(pairs, -1, 0)
    draws = _resampled(study, every, resamples, progress, means) if resamples else None
    if resamples and draws is None:
        notes.append(caution_note("there is one assessor, so assessors cannot be resampled and there are no intervals"))
    done = 0 if draws is None else len(draws["tau"])
    if 0 < done < resamples:
        notes.append(interruption_note(f"{done:,} of {resamples:,} resamples of assessors"))
        warn_caller(notes[-1], CranfieldWarning)  # some outputs do not show notes
    tau = np.stack([tau for tau, _ in agreement])
    notes += _notes(study, values, variants, draws, tau, level)
    name = GOLD if fixed is not None else variants[0].name
    undefined = np.full((len(variants), len(lower)), np.nan)

    def interval(value: Array, key: str) -> Interval:
        if draws is None:
            without = np.full(value.shape, np.nan)
            return Interval(value, without, without)
        low, high = _percentiles(draws[key], level)
        return Interval(value, low, high)

    def student(value: Array) -> Interval:
        if draws is None:
            return interval(value, "means")
        return Interval(value, *_student(value, draws["means"], len(every.workers), level, joined.measures))

    return MergeEffect(
        methods=tuple(variant.name for variant in variants), measures=study.names, runs=joined.runs,
        topics=tuple(joined.topics[t] for t in rows.tolist()), reference=name, means=student(means),
        reference_means=reference, rank=np.stack([ranks(own, lower) for own in means]),
        reference_rank=ranks(reference, lower), tau=interval(tau, "tau"),
        tau_ap=interval(np.stack([ap for _, ap in agreement]), "tau_ap"),
        significant=np.abs(signs).sum(axis=2), reference_significant=np.abs(reference_signs).sum(axis=1),
        kept=interval(kept.astype(np.float64), "kept"), lost=lost, new=new, reversed=turned,
        stability=undefined if draws is None else summaries.mean(np.moveaxis(draws["stability"], 0, -1)),
        test=chosen.name, correction=how.correction, alpha=alpha, level=level, resamples=done, seed=seed,
        notes=tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def correlations(reference: Array, other: Array, lower: Sequence[bool]) -> tuple[Array, Array]:
    """measures: τ_b, and τ_ap with the reference as the gold standard, of two rankings by mean scores.

    reference, other: measures × runs. lower: for each measure, whether lower scores are better. NaN if a run has no
    score, or if all runs tie in one of the rankings.
    """
    both = np.full((2, len(lower)), np.nan)
    for m, is_lower in enumerate(lower):
        pair = np.stack([reference[m], other[m]]) * (-1.0 if is_lower else 1.0)
        if not np.isfinite(pair).all():
            continue
        levels = levels_of(pair, np.array([noise(row) for row in pair]))
        if (levels.max(axis=1) == 0).any():
            continue
        both[:, m] = np.clip(tau_b(levels)[0, 1], -1, 1), tau_ap(levels)[0, 1]
    return both[0], both[1]


@dataclass
class _Study:
    """The scores of all variants with some assessors."""

    joined: LabelledRuns
    variants: Sequence[_Variant]
    rows: Index64
    fixed: Array | None
    how: Significance
    seed: int
    unconverged: int = 0
    tests: int = 0
    untested: list[str] = field(default_factory=list)
    """Why the pairs of a measure under a method could not be tested, for each time."""

    def __post_init__(self) -> None:
        self.names = tuple(map(str, self.joined.measures))
        self.lower = [lower_is_better(name) for name in self.names]

    def scores(self, labels: Labels, drawn: Index64 | None) -> tuple[Array, Index64, list[Array]]:
        """Means (variants × measures × runs), signs of significant pairs, and scores of each variant.

        drawn: the numbers of the assessors that were drawn; None for all of them.
        """
        values = [self._values(variant, drawn)[:, :, self.rows] for variant in self.variants]
        means = np.stack([summaries.mean(own) for own in values])
        return means, np.stack([self.signs(own) for own in values]), values

    def signs(self, values: Array) -> Index64:
        """measures × pairs."""
        joined = self.joined
        topics = [joined.topics[t] for t in self.rows.tolist()]
        every = []
        for own, name in zip(values, self.names, strict=True):
            signs, reason = self.how.signs(own, joined.runs, topics, name)
            self.tests += 1
            self.untested += [f"{name}: {reason}"] if reason else []
            every.append(signs)
        return np.stack(every)

    def _values(self, variant: _Variant, drawn: Index64 | None) -> Array:
        everyone = np.arange(len(variant.labels.workers))
        if variant.averaged is not None:
            return variant.averaged(everyone if drawn is None else drawn)
        labels = variant.labels if drawn is None else with_assessors(variant.labels, drawn)
        name, _, kind = variant.method.partition(":")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # counted here, and said once
            merged = merge(labels, name, seed=self.seed, compare_votes=False)
        self.unconverged += merged.converged is False
        return self.joined.values(merged.expected if kind else merged.grades)


def with_assessors(labels: Labels, drawn: Index64) -> Labels:
    """The labels of some assessors by their numbers; one who is drawn twice counts as two.

    >>> labels = Labels.of([("t1", "anna", 1), ("t1", "ben", 0)])
    >>> with_assessors(labels, np.array([0, 0])).counts().tolist()
    [[0, 2]]
    """
    order = np.argsort(labels.worker, kind="stable")
    size = np.bincount(labels.worker, minlength=len(labels.workers))
    start = np.cumsum(size) - size
    rows = np.concatenate([order[start[worker] : start[worker] + size[worker]] for worker in drawn.tolist()])
    return replace(
        labels.select(rows), worker=np.repeat(np.arange(len(drawn)), size[drawn]),
        workers=tuple(f"{labels.workers[worker]} ({at})" for at, worker in enumerate(drawn.tolist(), 1)),
        group=tuple(labels.group[worker] for worker in drawn.tolist()) if labels.group else (),
    )  # fmt: skip


def _variants(
    joined: LabelledRuns, labels: Labels, methods: Sequence[str], scales: Sequence[str], seed: int,
    progress: Progress | None,
) -> list[_Variant]:  # fmt: skip
    """Every method on every scale, the labels as they were given first."""
    on_scale = {ORIGINAL: labels} | {scale: collapse(labels, scale) for scale in dict.fromkeys(scales)}
    variants = []
    for scale, own in on_scale.items():
        for method in methods:
            name = method if scale == ORIGINAL else f"{method} on {scale}"
            if method == AWARE or method.startswith(f"{AWARE}:"):
                kind = method.partition(":")[2] or WEIGHTS[0]
                if kind not in WEIGHTS:
                    raise check.nearest(method, [f"{AWARE}:{weights}" for weights in WEIGHTS], "method")
                variants.append(_Variant(name, method, own, _averaging(joined.on(own), kind, seed, progress)))
                continue
            plain = method.removesuffix(EXPECTED)
            full_name = MERGING_METHODS.find(plain).name + method[len(plain) :]
            variants.append(_Variant(name, full_name, own))
    return variants


def _averaging(joined: LabelledRuns, kind: str, seed: int, progress: Progress | None) -> Callable[[Index64], Array]:
    """AWARE with some assessors: their scores and weights do not depend on others, so they are computed once."""
    values = joined.values_by_assessor(progress)
    weight = weights_of(joined, values, weights=kind, seed=seed, progress=progress).weight

    def averaged(drawn: Index64) -> Array:
        return weighted_mean(values[drawn], weight[:, drawn])[0]

    return averaged


def _reference(
    joined: LabelledRuns, gold: Any, runs: Any, missing: str, options: JoinOptions | None
) -> tuple[Index64, Array | None, list[str]]:
    """The topics that are used; and with gold judgments, the scores with them on these topics."""
    everything = np.arange(len(joined.topics))
    if gold is None:
        return everything, None, []
    judgments = Qrels.of(gold)
    common = set(judgments.topics) & set(joined.topics)
    if not common:
        first, second = (listed(map(repr, names)) for names in (joined.topics, judgments.topics))
        raise UsageError(f"merge_effect: labels and gold judgments have no topic in common: {first}, and {second}")
    kept = judgments.of_topics(common)
    how = options or JoinOptions()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*without judgments ignored")  # a note says so
        scores: Scores = evaluate(
            kept, runs, joined.measures, missing=missing, order=how.order, ties=how.ties, precision=how.precision,
            format=how.format, on_duplicate=how.on_duplicate, split_tags=how.split_tags,
        )  # fmt: skip
    rows = np.array([t for t, topic in enumerate(joined.topics) if topic in common], dtype=np.int64)
    place = {topic: t for t, topic in enumerate(scores.topics)}
    values = scores.values[:, :, [place[joined.topics[t]] for t in rows.tolist()]]
    notes = []
    for names, what in ((joined.topics, "the gold judgments"), (judgments.topics, "the labels")):
        if outside := [topic for topic in names if topic not in common]:
            notes.append(f"{counted(len(outside), 'topic')} not in {what}, left out: {listed(outside)}")
    return rows, values, notes


def _resampled(
    study: _Study, labels: Labels, resamples: int, progress: Progress | None, full: Array
) -> dict[str, Array] | None:
    """Means, correlations and kept pairs with resampled assessors; fewer resamples after Ctrl-C."""
    workers = len(labels.workers)
    if workers < 2:
        return None
    rng = np.random.default_rng(study.seed)
    parts: dict[str, list[Array]] = {"means": [], "tau": [], "tau_ap": [], "kept": [], "stability": []}
    gold = None if study.fixed is None else (summaries.mean(study.fixed), study.signs(study.fixed))
    try:
        for number in range(resamples):
            means, signs, _ = study.scores(labels, rng.integers(workers, size=workers))
            reference, reference_signs = gold if gold is not None else (means[0], signs[0])
            agreement = [correlations(reference, own, study.lower) for own in means]
            kept = [[KeptPairs.of(a, b).kept for a, b in zip(reference_signs, own, strict=True)] for own in signs]
            stable = [correlations(whole, own, study.lower)[0] for whole, own in zip(full, means, strict=True)]
            parts["means"].append(means)
            parts["tau"].append(np.stack([tau for tau, _ in agreement]))
            parts["tau_ap"].append(np.stack([ap for _, ap in agreement]))
            parts["kept"].append(np.array(kept, dtype=np.float64))
            parts["stability"].append(np.stack(stable))
            if progress is not None:
                progress(number + 1, resamples)
    except KeyboardInterrupt:
        if len(parts["stability"]) < 2:
            raise
    size = len(parts["stability"])
    return {name: np.stack(values[:size]) for name, values in parts.items()}


def _student(value: Array, draws: Array, assessors: int, level: float, measures: Sequence[Any]) -> tuple[Array, Array]:
    """Value ± t × error, within the range of the measure; NaN where the assessors make no difference.

    A resample draws from the assessors at hand, whose variance is (k − 1) / k of that of all assessors.
    """
    spread = np.nanstd(draws, axis=0) * np.sqrt(assessors / (assessors - 1))
    margin = t_quantile((1 - level) / 2, assessors - 1.0) * np.where(spread > 0, spread, np.nan)
    limits = np.array([(measure.properties.low, measure.properties.high) for measure in measures])[None, :, :, None]
    return np.maximum(value - margin, limits[:, :, 0]), np.minimum(value + margin, limits[:, :, 1])


def _percentiles(draws: Array, level: float) -> tuple[Array, Array]:
    """The ends of the interval over the first axis; NaN where no draw has a value."""
    none = np.isnan(draws).all(axis=0)
    filled = np.where(none, 0.0, draws)
    low, high = np.nanquantile(filled, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return np.where(none, np.nan, low), np.where(none, np.nan, high)


def _notes(
    study: _Study, values: Sequence[Array], variants: Sequence[_Variant], draws: dict[str, Array] | None, tau: Array,
    level: float,
) -> list[str]:  # fmt: skip
    """What a reader of the numbers must know."""
    how = study.how
    correction = "" if how.correction == "none" else f", {how.correction}"
    notes = Notes([method_note(f"significant pairs: {how.test.name} test{correction}, α = {how.settings.alpha:g}")])
    kinds = (variant.method.removeprefix(f"{AWARE}:") for variant in variants)
    notes += filter(None, dict.fromkeys(few_runs(kind, len(study.joined.runs)) for kind in kinds))
    if study.untested:
        times = f"{len(study.untested):,} of {counted(study.tests, 'time')}"
        notes.caution(
            f"the {how.test.name} test failed {times} (methods, measures and resamples); these pairs count as not "
            f"significant: {listed(dict.fromkeys(study.untested))}"
        )
    for variant, own in zip(variants, values, strict=True):
        for m, name in enumerate(study.names):
            if count := int(np.isnan(own[m]).any(axis=0).sum()):
                notes.caution(
                    f"{variant.name}: {name} is undefined on {counted(count, 'topic')}, left out of its means"
                )
    if study.unconverged:
        notes.caution(f"methods did not converge {counted(study.unconverged, 'time')}, resamples included")
    if draws is not None:
        number = counted(len(draws["tau"]), "resample")
        notes.method(
            f"[low, high]: {level:.0%} intervals from {number} of assessors, seed {study.seed}: Student's t for "
            "means, percentiles for correlations and kept pairs; the topics are fixed"
        )
        if len(study.joined.labels.workers) < ENOUGH:
            notes.caution(
                f"{counted(len(study.joined.labels.workers), 'assessor')}: intervals of correlations and kept "
                f"pairs are too narrow with fewer than {ENOUGH}; read them as a description"
            )
        if (np.ptp(draws["means"], axis=0) == 0).any():
            notes.method("means that are the same with all resampled assessors have no interval")
        low, high = _percentiles(draws["tau"], level)
        if ((tau < low) | (tau > high)).any():
            notes.append(FEWER)
        if lost := int(np.isnan(draws["tau"]).sum()):
            notes.caution(f"{lost} of {draws['tau'].size} τ with resampled assessors are undefined, and left out")
        notes.method("stability: mean τ of the rankings with resampled assessors and the ranking with all of them")
    return notes

"""Compare all systems at once: every pair, or every system against a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from cranfield.check import nearest
from cranfield.comparison.assumptions import check_matrices
from cranfield.comparison.corrections import CORRECTIONS, CorrectionName, adjust, interval_alpha
from cranfield.comparison.data import Baseline, Matrix, NanRule, ScoresLike, all_pairs, difference_blocks, zeros_for_nan
from cranfield.comparison.effects import PAIRED_EFFECTS
from cranfield.comparison.methods.wilcoxon_and_sign import METHODS, ZEROS, widened
from cranfield.comparison.pair_tests import TESTS, Family, PairTest, PairTestName, TestSettings
from cranfield.comparison.resampling import Asl, TestResamples, Threads, check_asl
from cranfield.comparison.result import Comparison
from cranfield.comparison.test_result import Alternative, Assumption
from cranfield.declared.operation import ALPHA, Seed, about, operation
from cranfield.errors import CranfieldWarning, UsageError, warn_caller
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.scores.scores import Scores
from cranfield.text import INTERRUPTED_AFTER
from cranfield.types import Index64, Progress

if TYPE_CHECKING:
    from cranfield.scores.labels import MeasureLike

MOST_PAIRS = 5_000_000
"""A pair takes about 200 bytes."""
DIRECTIONS = ("better", "given")


@takes_runs
@operation
def compare(
    data: ScoresLike | Mapping[str, Scores],
    measure: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    test: PairTestName = "t",
    baseline: Baseline = None,
    correction: CorrectionName = None,
    alpha: Annotated[float, about("Significance level; intervals have level 1 - A.", **ALPHA)] = 0.05,
    alternative: Alternative = "two-sided",
    effect: Annotated[
        str, about("The effect size: {names}.", choices=PAIRED_EFFECTS, spelled="--effect-size NAME", rare=True)
    ] = "d_z",
    systems: Annotated[
        Mapping[str, str] | None,
        about("The system of each run; the scores of its runs, such as seeds of a model, are averaged per topic."),
    ] = None,
    nan: NanRule = "listwise",
    direction: Annotated[str, about("Which run of a pair comes first.", choices=DIRECTIONS)] = "better",
    resamples: TestResamples = 10_000,
    seed: Seed = 0,
    threads: Threads = None,
    progress: Progress | None = None,
    margin: Annotated[float | None, about("Differences up to D are ties.", only="sign", spelled="--margin D")] = None,
    zeros: Annotated[
        str | None,
        about(
            "Rule for differences of 0, {names}: left out; ranked, then left out; or ranked, half of each sign; "
            "default: wilcox.",
            choices=ZEROS,
            only="wilcoxon",
            spelled="--zeros RULE",
        ),
    ] = None,
    method: Annotated[
        str | None,
        about(
            "P-values are {names}; default: auto, exact up to 100 differences, else by the normal approximation.",
            choices=METHODS,
            only="wilcoxon",
            spelled="--p-values HOW",
        ),
    ] = None,
    continuity: Annotated[
        float | None,
        about(
            "The continuity correction of the normal approximation, in units of W; default: 1, half a step; 0: none.",
            only="wilcoxon",
            spelled="--continuity C",
        ),
    ] = None,
    asl: Asl = "plus-one",
    rule_of_thumb: Annotated[
        bool,
        about(
            "Name the size of differences of scores between 0 and 1 by Spärck Jones's rule: noticeable from 0.05, "
            "material above 0.1.",
            rare=True,
        ),
    ] = False,
) -> Comparison:
    r"""Which systems differ, by how much, and is the difference significant?

    `data` is `Scores`, a file of scores, a frame, {system: {topic: score}} or an array (topics × systems); or
    {collection: Scores} for several collections. `measure` names one or several measures; the default is all measures.
    One correction covers all comparisons of a call: over pairs, measures and collections.

    `test` is a name from `cranfield.comparison.TESTS`. Tests of all pairs at once, such as max-t and tukey,
    need no correction; for others the default is Holm's, or Benjamini and Hochberg's for pooled-t and
    bootstrap-anova, which keeps the share of false discoveries below α; `correction` names another or "none".
    With a `baseline`, every other system is compared with it (system − baseline), and `alternative` may be "greater" or
    "less". Otherwise all differences are better − worse; with `direction="given"`, or another alternative than
    "two-sided", they are first − second in the order of the data. `systems` maps runs to systems: the runs of one
    system, such as seeds of a model, are averaged per topic.
    `nan`: topics on which some system has no score are left out of everything ("listwise"), or only of the pairs with
    that system ("pairwise"). Some tests have settings of their own: `margin` of the sign test; `zeros`, `method` and
    `continuity` of Wilcoxon's. They mean what they mean in `sign_test` and `wilcoxon`. Tests that resample give
    p = (1 + hits) / (1 + B), significant if at most α; with `asl="share"`, the achieved significance level hits / B,
    significant if below α, as in Sakai's papers. `rule_of_thumb` adds how large differences are by the rule from the
    time before tests; a note says where the rule and the test disagree.

    >>> scores = {"a": [0.2, 0.5, 0.4, 0.6], "b": [0.3, 0.6, 0.5, 0.8], "c": [0.2, 0.4, 0.4, 0.5]}
    >>> result = compare(scores, "AP", baseline="a")
    >>> [f"{row['system']} {row['difference']:+.3f} p={row['p adjusted']:.3f}" for row in result.rows()]
    ['b +0.125 p=0.031', 'c -0.050 p=0.182']
    """
    chosen = TESTS.find(test)
    check_asl("compare", asl, chosen.name, chosen.resampling)
    own = TESTS.own_settings(chosen, margin=margin, zeros=zeros, method=method, continuity=continuity)
    correction = default_correction(correction, chosen)
    if nan == "pairwise" and chosen.complete:
        raise UsageError(f"{chosen.name} needs a score of every system on every topic; use nan='listwise'")
    matrices = []
    for collection, matrix in _matrices(data, measure):
        matrix = _averaged(matrix, systems)
        matrices.append((collection, matrix.complete() if nan == "listwise" else matrix))
    comparisons = sum(_count_pairs(matrix, baseline) for _, matrix in matrices)
    each = interval_alpha(correction, alpha, comparisons) if chosen.any_level else None
    settings = TestSettings(alternative, alpha, int(resamples), int(seed), threads, progress, each, asl=asl, **own)
    families = []
    for collection, matrix in matrices:
        if baseline is not None and baseline not in matrix.systems and systems and baseline in systems:
            raise UsageError(f"baseline == {baseline!r} is a run of system {systems[baseline]!r}; name the system")
        better_first = baseline is None and direction == "better" and alternative == "two-sided"
        families.append(_family(collection, matrix, chosen, baseline, settings, effect, better_first))
        done = families[-1].tests.resamples
        if done is not None and done < settings.resamples:  # after Ctrl-C, the other families do not take longer
            message = f"{INTERRUPTED_AFTER} {done:,} of {settings.resamples:,} resamples"
            warn_caller(message, CranfieldWarning)  # some outputs do not show notes
            settings = replace(settings, resamples=done)
    if not families:
        raise UsageError("compare: there is no measure to compare by; name one, or leave out `measure` to use all")
    p = np.concatenate([family.tests.p for family in families])
    adjusted = np.split(adjust(p, correction), np.cumsum([len(family.tests.p) for family in families])[:-1])
    families = [replace(family, adjusted=part) for family, part in zip(families, adjusted, strict=True)]
    return Comparison(
        families=tuple(families),
        test=chosen.name,
        statistic=chosen.statistic,
        correction=correction,
        simultaneous=chosen.simultaneous,
        alpha=alpha,
        alternative=alternative,
        baseline=baseline,
        effect=effect,
        resamples=settings.resamples if any(family.tests.resamples for family in families) else None,
        seed=int(seed) if chosen.resampling else None,
        assumptions=_assumptions(families, chosen),
        interval_level=1 - settings.outside,
        asl=asl,
        rule_of_thumb=rule_of_thumb,
    )


def default_correction(correction: str | None, test: PairTest) -> str:
    """The name of the correction: that of the test unless another is given; none for a test of all pairs together."""
    if test.simultaneous:
        if correction is not None and CORRECTIONS.find(correction).name != "none":
            raise UsageError(f"{test.name} tests all pairs together; leave out correction={correction!r}")
        return "none"
    return CORRECTIONS.find(test.correction if correction is None else correction).name


def _matrices(data: Any, measure: Any) -> Iterable[tuple[str, Matrix]]:
    """A matrix per measure and collection, with the name of the collection."""
    if isinstance(data, Mapping) and data and all(isinstance(scores, Scores) for scores in data.values()):
        for collection, scores in data.items():
            for _, matrix in _matrices(scores, measure):
                yield str(collection), matrix
        return
    if isinstance(data, Scores):
        for name in data.select(measures=measure).measures:
            yield "", Matrix.of(data, name)
        return
    if isinstance(measure, Sequence) and not isinstance(measure, str):
        if len(measure) != 1:
            raise UsageError(f"measure names {len(measure)} measures; to compare by several, data must be Scores")
        measure = measure[0]
    yield "", Matrix.of(data, measure)


def _averaged(matrix: Matrix, systems: Mapping[str, str] | None) -> Matrix:
    """The mean over the runs of each system, per topic; NaN if any of them has no score."""
    if not systems:
        return matrix
    for run in systems:
        if run not in matrix.systems:
            raise nearest(run, matrix.systems, "run")
    of_run = [systems.get(run, run) for run in matrix.systems]
    names = list(dict.fromkeys(of_run))
    which = np.array([names.index(name) for name in of_run])
    values = np.stack([matrix.values[:, which == i].mean(axis=1) for i in range(len(names))], axis=1)
    counts = [f"{name} ({n})" for name, n in zip(names, np.bincount(which).tolist(), strict=True) if n > 1]
    note = f"means over the runs of a system, per topic: {', '.join(counts)}"
    return replace(matrix, values=values, systems=tuple(names), notes=(*matrix.notes, *([note] if counts else [])))


def _family(
    collection: str, matrix: Matrix, test: PairTest, baseline: str | None, settings: TestSettings, effect: str,
    better_first: bool,
) -> Family:  # fmt: skip
    if len(matrix.systems) < 2:
        only = f" ({matrix.systems[0]})" if matrix.systems else ""
        raise UsageError(f"{matrix.measure}: {len(matrix.systems)} system{only}, a comparison needs 2 or more")
    first, second = _pairs(matrix, baseline)
    if baseline is None and len(matrix.systems) > 2 and settings.alternative != "two-sided":
        raise UsageError(f"alternative == {settings.alternative!r} needs a baseline or exactly two systems")
    by_topic = _by_topic(matrix, first, second, widened(settings.margin))
    if better_first:
        from cranfield.measures.property_tables import lower_is_better

        swap = by_topic["difference"] < 0 if not lower_is_better(matrix.measure) else by_topic["difference"] > 0
        first, second = np.where(swap, second, first), np.where(swap, first, second)
        by_topic["difference"] = np.where(swap, -by_topic["difference"], by_topic["difference"])
        win, loss = by_topic["win"], by_topic["loss"]
        by_topic |= {"win": np.where(swap, loss, win), "loss": np.where(swap, win, loss)}
    tests = test.run(matrix, first, second, settings)
    return Family(
        collection=collection,
        matrix=matrix,
        first=first,
        second=second,
        tests=tests,
        adjusted=tests.p,
        effect_kind=effect,
        effect_level=settings.level,
        below=settings.asl == "share" and not tests.exact,
        **by_topic,
    )


def _count_pairs(matrix: Matrix, baseline: str | None) -> int:
    m = len(matrix.systems)
    return m * (m - 1) // 2 if baseline is None else m - 1


def _pairs(matrix: Matrix, baseline: str | None) -> tuple[Index64, Index64]:
    m = len(matrix.systems)
    if baseline is None:
        if (pairs := _count_pairs(matrix, None)) > MOST_PAIRS:
            raise UsageError(f"{m:,} systems have {pairs:,} pairs, more than {MOST_PAIRS:,}; name a baseline")
        return all_pairs(m)
    at = matrix.column(baseline)
    others = np.array([i for i in range(m) if i != at], dtype=np.int64)
    return others, np.full(len(others), at, dtype=np.int64)


def _by_topic(matrix: Matrix, first: Index64, second: Index64, within: float) -> dict[str, Any]:
    """The mean difference of every pair over their common topics, and the number of wins, ties and losses.

    Differences up to `within` are ties.
    """
    difference = np.empty(len(first))
    counts = np.empty((3, len(first)), dtype=np.int64)
    for block, d in difference_blocks(matrix, first, second):
        values, n = zeros_for_nan(d)
        if not n.all():
            pair = block.start + int(np.flatnonzero(n == 0)[0])
            names = f"{matrix.systems[first[pair]]} and {matrix.systems[second[pair]]}"
            raise UsageError(f"{matrix.measure}: {names} have no topic in common")
        difference[block] = values.sum(axis=1) / n
        counts[:, block] = (d > within).sum(axis=1), (np.abs(d) <= within).sum(axis=1), (d < -within).sum(axis=1)
    return {"difference": difference, "win": counts[0], "tie": counts[1], "loss": counts[2]}


def _assumptions(families: Sequence[Family], test: PairTest) -> tuple[Assumption, ...]:
    """The assumptions of the test, each stated once for all families."""
    parts = [(family.matrix, family.first, family.second) for family in families]
    corrected = test.normal and not test.simultaneous and not test.pooled
    own = not test.simultaneous and any(np.isfinite(family.tests.low).any() for family in families)
    return check_matrices(
        parts, normal=test.normal, needs=test.needs, pooled=test.pooled, corrected=corrected, skewed=test.skewed,
        intervals=own,
    )  # fmt: skip

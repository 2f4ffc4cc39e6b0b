"""All systems at once: every pair, or every system against a baseline."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.check import nearest
from cranfield.comparison.corrections import adjust, find_correction
from cranfield.comparison.data import Matrix, check_nan
from cranfield.comparison.differences import counted, difference_blocks
from cranfield.comparison.effects import paired_effects
from cranfield.comparison.methods.resamples import check_resampling
from cranfield.comparison.registry import PairTest, TestSettings, find_test
from cranfield.comparison.result import Comparison, Family
from cranfield.comparison.test_result import Assumption, check_alpha, check_alternative
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.scores.scores import Scores
from cranfield.types import Index64, Progress

MOST_PAIRS = 5_000_000
"""What is known of a pair takes some 200 bytes."""


def compare(
    data: Any,
    measure: Any = None,
    *,
    test: str = "t",
    baseline: str | None = None,
    correction: str | None = None,
    alpha: float = 0.05,
    alternative: str = "two-sided",
    effect: str = "d_z",
    systems: Mapping[str, str] | None = None,
    nan: str = "listwise",
    resamples: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    r"""Which systems differ, by how much, and how sure can one be?

    `data` is `Scores`, a file of scores, a frame, {system: {topic: score}} or an array (topics × systems); or
    {collection: Scores} for several collections. `measure` names one measure or several; without it all that are there.
    All comparisons asked for in one call are corrected together: over pairs, measures and collections.

    `test` is a name from `cranfield.comparison.known_tests()`. Tests of all pairs at once (tukey, randomised-tukey)
    need no correction and get none; others get Holm's unless `correction` names another or "none". With a `baseline`
    every other system is compared with it (system − baseline), and `alternative` may be "greater" or "less".
    `systems` maps runs to systems: runs of one system, such as seeds of a model, are averaged topic by topic.
    `nan`: topics on which some system has no value are left out of everything (listwise), or only of the pairs that
    lack it (pairwise).

    >>> scores = {"a": [0.2, 0.5, 0.4, 0.6], "b": [0.3, 0.6, 0.5, 0.8], "c": [0.2, 0.4, 0.4, 0.5]}
    >>> result = compare(scores, "AP", baseline="a")
    >>> [f"{row['system']} {row['difference']:+.3f} p={row['p adjusted']:.3f}" for row in result.rows()]
    ['b +0.125 p=0.031', 'c -0.050 p=0.182']
    """
    check_alpha("compare", alpha)
    check_alternative("compare", alternative)
    check_nan("compare", nan)
    check_resampling("compare", resamples, seed, threads)  # whatever the test, so that no wrong word passes
    chosen = find_test(test)
    how = _correction(correction, chosen)
    if nan == "pairwise" and chosen.complete:
        raise UsageError(f"{chosen.name} needs every system on every topic; say nan='listwise', or take another test")
    asked = TestSettings(alternative, 1 - alpha, int(resamples), int(seed), threads, progress)
    families = []
    for collection, matrix in _matrices(data, measure):
        one = _averaged(matrix, systems)
        one = one.complete() if nan == "listwise" else one
        if baseline is not None and baseline not in one.systems and systems and baseline in systems:
            raise UsageError(f"baseline == {baseline!r}, a run of system {systems[baseline]!r}; name the system")
        families.append(_family(collection, one, chosen, baseline, asked, effect))
        done = families[-1].tests.resamples
        if done is not None and done < asked.resamples:  # by Ctrl-C: whoever pressed it will not wait for the others
            told = f"interrupted after {done:,} of {asked.resamples:,} resamples"
            warnings.warn(told, CranfieldWarning, stacklevel=2)  # not every output has room for notes
            asked = replace(asked, resamples=done)
    if not families:
        raise UsageError("compare: no measure to compare by; name one, or leave it out for all there are")
    p = np.concatenate([family.tests.p for family in families])
    adjusted = np.split(adjust(p, how), np.cumsum([len(family.tests.p) for family in families])[:-1])
    families = [replace(family, adjusted=part) for family, part in zip(families, adjusted, strict=True)]
    return Comparison(
        families=tuple(families),
        test=chosen.name,
        statistic=chosen.statistic,
        correction=how,
        simultaneous=chosen.simultaneous,
        alpha=alpha,
        alternative=alternative,
        baseline=baseline,
        effect=effect,
        resamples=asked.resamples if any(family.tests.resamples for family in families) else None,
        seed=int(seed) if chosen.resampling else None,
        assumptions=tuple(_assumptions(families, chosen)),
    )


def _correction(correction: str | None, test: PairTest) -> str:
    if test.simultaneous:
        if correction is not None and find_correction(correction).name != "none":
            raise UsageError(f"{test.name} holds for all pairs together; leave out correction={correction!r}")
        return "none"
    return find_correction("holm" if correction is None else correction).name


def _matrices(data: Any, measure: Any) -> Iterable[tuple[str, Matrix]]:
    """Every matrix that is asked for, with the name of its collection."""
    if isinstance(data, Mapping) and data and all(isinstance(of, Scores) for of in data.values()):
        for collection, scores in data.items():
            for _, matrix in _matrices(scores, measure):
                yield str(collection), matrix
        return
    if isinstance(data, Scores):
        wanted = data.measures if measure is None else measure
        several = isinstance(wanted, Iterable) and not isinstance(wanted, (str, type))
        for one in wanted if several else [wanted]:
            yield "", Matrix.of(data, one)
        return
    if isinstance(measure, Sequence) and not isinstance(measure, str):
        if len(measure) != 1:
            raise UsageError(f"measure names {len(measure)} measures; several need Scores, which say which is which")
        measure = measure[0]
    yield "", Matrix.of(data, measure)


def _averaged(matrix: Matrix, systems: Mapping[str, str] | None) -> Matrix:
    """Runs of one system averaged topic by topic; a topic that one of them lacks has no value."""
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
    note = f"means over the runs of a system, topic by topic: {', '.join(counts)}"
    return replace(matrix, values=values, systems=tuple(names), notes=(*matrix.notes, *([note] if counts else [])))


def _family(
    collection: str, matrix: Matrix, test: PairTest, baseline: str | None, asked: TestSettings, effect: str
) -> Family:
    if len(matrix.systems) < 2:
        only = f" ({matrix.systems[0]})" if matrix.systems else ""
        raise UsageError(f"{matrix.measure}: {len(matrix.systems)} system{only}, to compare takes 2 or more")
    first, second = _pairs(matrix, baseline)
    if baseline is None and len(matrix.systems) > 2 and asked.alternative != "two-sided":
        raise UsageError(f"alternative == {asked.alternative!r} needs a baseline, or two systems only")
    if test.simultaneous and asked.alternative != "two-sided":
        raise UsageError(f"{test.name} is two-sided; alternative == {asked.alternative!r} needs another test")
    by_topic = _by_topic(matrix, first, second)
    tests = test.run(matrix, first, second, asked)
    value, low, high = paired_effects(matrix, first, second, effect, asked.level)
    return Family(
        collection=collection,
        matrix=matrix,
        first=first,
        second=second,
        tests=tests,
        adjusted=tests.p,
        effect=value,
        effect_low=low,
        effect_high=high,
        **by_topic,
    )


def _pairs(matrix: Matrix, baseline: str | None) -> tuple[Index64, Index64]:
    m = len(matrix.systems)
    if baseline is None:
        if m * (m - 1) // 2 > MOST_PAIRS:
            told = f"{m:,} systems have {m * (m - 1) // 2:,} pairs, at most {MOST_PAIRS:,} are compared at once"
            raise UsageError(f"{told}; name a baseline, or compare fewer")
        first, second = np.triu_indices(m, 1)
        return first.astype(np.int64), second.astype(np.int64)
    at = matrix.column(baseline)
    others = np.array([i for i in range(m) if i != at], dtype=np.int64)
    return others, np.full(len(others), at, dtype=np.int64)


def _by_topic(matrix: Matrix, first: Index64, second: Index64) -> dict[str, Any]:
    """The mean difference of every pair over the topics both have, and on how many the first wins, ties, loses."""
    difference = np.empty(len(first))
    counts = np.empty((3, len(first)), dtype=np.int64)
    for block, away in difference_blocks(matrix, first, second):
        values, n = counted(away)
        if not n.all():
            pair = block.start + int(np.flatnonzero(n == 0)[0])
            names = f"{matrix.systems[first[pair]]} and {matrix.systems[second[pair]]}"
            raise UsageError(f"{matrix.measure}: {names} have no topic in common")
        difference[block] = values.sum(axis=1) / n
        counts[:, block] = (away > 0).sum(axis=1), (away == 0).sum(axis=1), (away < 0).sum(axis=1)
    return {"difference": difference, "win": counts[0], "tie": counts[1], "loss": counts[2]}


def _assumptions(families: Sequence[Family], test: PairTest) -> Iterable[Assumption]:
    """What the data say about what the test takes for granted, each said once."""
    from cranfield.comparison.assumptions import check_matrix

    said = set()
    for family in families:
        told = check_matrix(
            family.matrix, family.first, family.second, interval_scale=test.interval_scale, test=test.name
        )
        for one in told:
            if one.says not in said:
                said.add(one.says)
                yield one

"""Resampling tests of two samples that are not matched, such as one system on two collections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, combinations, islice
from typing import Any

import numpy as np

from cranfield import _core, check
from cranfield.comparison.assumptions import check_unpaired
from cranfield.comparison.data import Pair, check_topics, unpaired
from cranfield.comparison.differences import gap
from cranfield.comparison.effects import effect_of_samples
from cranfield.comparison.methods.resamples import TIE, Resampling, check_resampling, p_of, resample, threads_of
from cranfield.comparison.test_result import Interval, TestResult, check_alpha, check_alternative
from cranfield.scores.summary import GMEAN_FLOOR
from cranfield.types import Array, Progress

SUMMARIES = ("mean", "gmean", "median")
MOST_EXACT = 2**20
"""So many ways to deal out two samples, or fewer, are all counted."""
_BLOCK = 2_000_000
"""How many dealt entries are held at a time."""


def unpaired_bootstrap(
    x: Any,
    y: Any = None,
    *,
    summary: str = "mean",
    systems: Sequence[str] | None = None,
    measure: Any = None,
    alternative: str = "two-sided",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    asl: str = "plus-one",
    threads: int | None = None,
    progress: Progress | None = None,
) -> TestResult:
    r"""Do two samples that are not matched have the same mean, geometric mean or median?

    .. math:: \hat d = M(x) - M(y) \qquad p = \frac{1 + |\{b : |M(x^{*b}) - M(y^{*b})| \ge |\hat d|\}|}{1 + B}

    Under the null hypothesis both come from one distribution, so x* and y* are drawn with replacement from all entries
    together. The interval of the difference is the percentile bootstrap, x* drawn from x and y* from y. The geometric
    mean reads entries below 0.00001 as that, as trec_eval does.

    References: Efron & Tibshirani, An Introduction to the Bootstrap, 1993; Sakai, SIGIR 2006 (Sakai 2014 Fig. 13-14)

    >>> result = unpaired_bootstrap([0.1, 0.3, 0.4], [0.2, 0.0, 0.0, 0.1], resamples=2000)
    >>> round(result.estimate, 4), round(result.p, 2)
    (0.1917, 0.08)
    """
    check_resampling("unpaired_bootstrap", resamples, seed, threads, asl)
    pair = _samples("unpaired_bootstrap", x, y, systems, measure, summary, alternative, level)
    entries = _entries(pair, summary)

    def drawn(source: str) -> Any:
        def more(found: list[Array], begin: int, end: int) -> list[Array]:
            new = _core.two_sample_differences(
                entries, len(pair.x), source, summary, seed, begin, end, threads_of(threads)
            )
            return [*found, new]

        return more

    size = _size(pair)
    observed = _difference(pair, summary)
    state = resample(resamples, size, [], drawn("pool"), progress, work=2 * resamples)
    p = float(p_of(_hits(np.concatenate(state.found), observed, _slack(pair), alternative), state.done, asl))
    interval, notes = None, state.notes()
    if not state.interrupted:

        def second_half(done: int, _: int) -> None:
            if progress is not None:
                progress(resamples + done, 2 * resamples)

        again = resample(resamples, size, [], drawn("own"), second_half)
        interval = _percentiles(np.concatenate(again.found), alternative, level)
        notes = tuple(f"interval: {note}" for note in again.notes())
    return _record("unpaired bootstrap", pair, summary, observed, p, alternative, level, state, seed, interval, notes)


def permutation(
    x: Any,
    y: Any = None,
    *,
    summary: str = "mean",
    systems: Sequence[str] | None = None,
    measure: Any = None,
    alternative: str = "two-sided",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    asl: str = "plus-one",
    threads: int | None = None,
    progress: Progress | None = None,
) -> TestResult:
    r"""Could the entries of two samples that are not matched be dealt out anew and nothing be noticed?

    .. math:: p = \frac{1 + |\{b : |M(x^b) - M(y^b)| \ge |M(x) - M(y)|\}|}{1 + B}

    x^b and y^b share out all entries at random. Where there are at most 2^20 ways to do so, all are counted and p is
    exact. The interval, for means only, is Welch's t. For matched topics use `randomisation`.

    Reference: Pitman, Supplement to the Journal of the Royal Statistical Society 4(1), 1937

    >>> permutation([0.1, 0.3, 0.4], [0.2, 0.0, 0.05]).p
    0.2
    """
    check_resampling("permutation", resamples, seed, threads, asl)
    pair = _samples("permutation", x, y, systems, measure, summary, alternative, level)
    entries, observed, slack = _entries(pair, summary), _difference(pair, summary), _slack(pair)
    interval = _welch(pair, alternative, level) if summary == "mean" and min(len(pair.x), len(pair.y)) > 1 else None
    ways = math.comb(len(entries), len(pair.x))
    if ways <= MOST_EXACT:
        hits = sum(_hits(found, observed, slack, alternative) for found in _all_deals(entries, len(pair.x), summary))
        return _record(
            "permutation", pair, summary, observed, hits / ways, alternative, level, None, None, interval, ()
        )

    def more(hits: int, begin: int, end: int) -> int:
        found = _core.two_sample_differences(
            entries, len(pair.x), "deal", summary, seed, begin, end, threads_of(threads)
        )
        return hits + _hits(found, observed, slack, alternative)

    state = resample(resamples, _size(pair), 0, more, progress)
    p = float(p_of(state.found, state.done, asl))
    return _record("permutation", pair, summary, observed, p, alternative, level, state, seed, interval, state.notes())


def _samples(
    who: str,
    x: Any,
    y: Any,
    systems: Sequence[str] | None,
    measure: Any,
    summary: str,
    alternative: str,
    level: float,
) -> Pair:
    check.one_of(who, SUMMARIES, summary=summary)
    check_alternative(who, alternative)
    check_alpha(who, level, "level")
    pair = unpaired(x, y, systems=systems, measure=measure)
    check_topics(len(pair.x) + len(pair.y), 3, f"{who} of both samples together")
    return pair


def _size(pair: Pair) -> int:
    return min(8192, max(64, 20_000_000 // (len(pair.x) + len(pair.y))))


def _entries(pair: Pair, summary: str) -> Array:
    both = np.concatenate([pair.x, pair.y])
    return np.log(np.maximum(both, GMEAN_FLOOR)) if summary == "gmean" else both


def _summary(entries: Array, summary: str) -> Array:
    """Along the last axis; of logarithms where it is the geometric mean."""
    if summary == "median":
        return np.asarray(np.median(entries, axis=-1))
    mean = entries.mean(axis=-1)
    return np.asarray(np.exp(mean) if summary == "gmean" else mean)


def _difference(pair: Pair, summary: str) -> float:
    entries = _entries(pair, summary)
    return float(gap(_summary(entries[: len(pair.x)], summary), _summary(entries[len(pair.x) :], summary)))


def _slack(pair: Pair) -> float:
    """How much lower than the observed difference a resampled one may be to count as equal."""
    both = np.concatenate([pair.x, pair.y])
    return TIE * float(np.ptp(both)) + 1e-14 * float(np.abs(both).max())


def _hits(found: Array, observed: float, slack: float, alternative: str) -> int:
    if alternative == "two-sided":
        return int((np.abs(found) >= abs(observed) - slack).sum())
    return int((found >= observed - slack).sum() if alternative == "greater" else (found <= observed + slack).sum())


def _all_deals(entries: Array, in_x: int, summary: str) -> Any:
    """Every way to share the entries out, some at a time."""
    n = len(entries)
    chosen = combinations(range(n), in_x)
    step = max(1, _BLOCK // n)
    while (block := np.fromiter(chain.from_iterable(islice(chosen, step)), np.int64)).size:
        block = block.reshape(-1, in_x)
        rest = np.ones((len(block), n), dtype=bool)
        np.put_along_axis(rest, block, False, axis=1)
        others = np.broadcast_to(entries, rest.shape)[rest].reshape(len(block), n - in_x)
        yield _summary(entries[block], summary) - _summary(others, summary)


def _percentiles(found: Array, alternative: str, level: float) -> Interval:
    tail = (1 - level) / (2 if alternative == "two-sided" else 1)
    low = -math.inf if alternative == "less" else float(np.quantile(found, tail))
    high = math.inf if alternative == "greater" else float(np.quantile(found, 1 - tail))
    return Interval(low, high, level, "bootstrap percentile")


def _welch(pair: Pair, alternative: str, level: float) -> Interval | None:
    from cranfield.comparison.methods.t import unpaired_t

    found = unpaired_t(pair.x, pair.y, alternative=alternative, level=level).interval
    return None if found is None else Interval(found.low, found.high, level, "Welch's t")


def _record(
    test: str,
    pair: Pair,
    summary: str,
    observed: float,
    p: float,
    alternative: str,
    level: float,
    state: Resampling | None,
    seed: int | None,
    interval: Interval | None,
    notes: tuple[str, ...],
) -> TestResult:
    if np.ptp(np.concatenate([pair.x, pair.y])) == 0:
        notes = (*notes, "all scores are the same: no difference, p is 1, effect 0")
    name = f"difference of {summary}s"
    return TestResult(
        test,
        name,
        observed,
        p,
        alternative,
        n=(len(pair.x), len(pair.y)),
        estimate_name=name,
        estimate=observed,
        interval=interval,
        effect=effect_of_samples(pair.x, pair.y, "cliff", level) if min(len(pair.x), len(pair.y)) > 1 else None,
        resamples=None if state is None else state.done,
        seed=seed,
        exact=state is None,
        assumptions=check_unpaired(
            pair.x, pair.y, pair.measure, normal=False, needs=None if summary == "median" else "t"
        ),
        notes=(*pair.notes, *notes),
        measure=pair.measure,
        systems=pair.names,
    )

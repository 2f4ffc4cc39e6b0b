"""Scores without gaps, turned so that higher is better, and the rankings of systems that they give."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.data import noise
from cranfield.declared.operation import RESAMPLES, about
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike
from cranfield.measures.property_tables import lower_is_better
from cranfield.notes import caution_note
from cranfield.scores.labels import label
from cranfield.scores.scores import Scores
from cranfield.scores.t_and_normal import t_quantile
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

Levels = NDArray[np.int32]
"""… × systems: 0 for the worst system, 1 for the next better value, and so on; tied systems share a level."""

LEAST_SYSTEMS = 3
"""Two systems have only two rankings and one difference: nothing to correlate, and no variance."""
Rel = Annotated[float, about("The lowest grade that counts as relevant.", spelled="--rel GRADE")]
TopicResamples = Annotated[
    int, about("Resamples of topics for the intervals; 0: no intervals.", **{**RESAMPLES, "least": 0})
]


@dataclass(frozen=True, eq=False)
class CompleteScores:
    """measures × systems × topics: every measure has a value for every system and topic, and higher is better."""

    values: Array
    sign: Array
    """For each measure: −1 if lower scores are better, so that its values are negated, and 1 otherwise."""
    measures: tuple[str, ...]
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    notes: tuple[str, ...]

    @staticmethod
    def of(
        scores: Scores,
        caller: str,
        measures: MeasuresLike | None = None,
        *,
        least_systems: int = LEAST_SYSTEMS,
        least_measures: int = 2,
    ) -> CompleteScores:
        """Select measures and leave out topics on which any value is undefined; a note counts these topics.

        >>> CompleteScores.of(Scores.from_matrix([[0.1, 0.2]]), "correlate", least_measures=1)
        Traceback (most recent call last):
        cranfield.errors.UsageError: correlate: 2 systems, must be 3 or more
        """
        if measures is not None:
            scores = scores.select(measures=measures)
        check_count(caller, len(scores.runs), "system", least_systems)
        check_count(caller, len(scores.measures), "measure", least_measures)
        _check_values(scores, caller)
        defined = np.asarray(~np.isnan(scores.values).any(axis=(0, 1)))
        if not defined.any():
            raise UsageError(f"{caller}: no topic has a value for every run and measure; select fewer runs or measures")
        notes = list(scores.notes)
        if scores.missing.any():
            effect = caution_note("count as empty lists") if scores.missing_rule == "zero" else "have no value"
            notes.append(caution_note(f"missing topics {effect}: {listed(scores.lacking())}"))
        if not defined.all():
            undefined = listed(compress(scores.topics, ~defined))
            count = int((~defined).sum())
            notes.append(
                caution_note(f"{count} of {len(defined)} topics left out because a score is undefined ({undefined})")
            )
        lower = tuple(name for name in scores.measures if lower_is_better(name))
        if lower:
            notes.append(f"lower is better: {', '.join(lower)}")
        sign = np.array([-1.0 if name in lower else 1.0 for name in scores.measures])
        values = scores.values[:, :, defined] * sign[:, None, None]
        topics = tuple(compress(scores.topics, defined))
        return CompleteScores(values, sign, scores.measures, scores.runs, topics, tuple(notes))

    @property
    def close(self) -> Array:
        """For each measure, the difference up to which two values count as equal, because of rounding."""
        return np.array([noise(values) for values in self.values])

    def levels(self) -> Levels:
        """measures × systems: the ranking of the systems by their means over topics."""
        return levels_of(self.values.mean(axis=2), self.close)

    def resampled_levels(self, resamples: int, seed: int, size: int) -> Iterator[Levels]:
        """resamples × measures × systems, `size` resamples at a time, with topics drawn with replacement.

        All measures share the same draws. The result does not depend on `size`.
        """
        n = len(self.topics)
        close = self.close
        by_topic = np.ascontiguousarray(self.values.reshape(-1, n).T)
        for times in resampled_topics(n, resamples, seed, size):
            means = (times @ by_topic / n).reshape(len(times), *self.values.shape[:2])
            yield levels_of(means, close)


def resampled_topics(n: int, resamples: int, seed: int, size: int) -> Iterator[NDArray[np.int64]]:
    """resamples × topics, `size` resamples at a time: how often each of n topics is drawn, with replacement."""
    rng = np.random.default_rng(seed)
    for begin in range(0, resamples, size):
        yield rng.multinomial(n, np.full(n, 1 / n), size=min(size, resamples - begin))


def central_interval(resampled: NDArray[Any], level: float, *, centred: bool = False) -> tuple[Array, Array]:
    """The ends of the middle `level` of the resamples (first axis); NaN where all of them are undefined.

    `centred`: relative to the mean of the resamples.
    """
    undefined = np.isnan(resampled).all(axis=0)
    values = np.where(undefined, 0, resampled)
    ends = np.nanquantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0).astype(np.float64)
    if centred:
        ends -= np.nanmean(values, axis=0, dtype=np.float64)
    return np.where(undefined, np.nan, ends[0]), np.where(undefined, np.nan, ends[1])


def studentised_interval(values: Array, resampled: NDArray[Any], n: int, level: float) -> tuple[Array, Array]:
    r"""The values ± t times the standard deviation of the resamples (first axis) of n topics.

    .. math:: \hat\theta \pm t_{n-1} \sqrt{\frac{n}{n-1} \operatorname{var}^* \theta^*}

    Resamples have fewer different topics than the data, so a coefficient of rankings is lower in them: their spread
    tells how far it may be off, their middle does not. NaN where all resamples are the same or undefined, because then
    they do not tell it either.
    """
    undefined = np.isnan(resampled).all(axis=0)
    drawn = np.where(undefined, 0, resampled)
    spread = np.nanstd(drawn, axis=0, dtype=np.float64) * math.sqrt(n / (n - 1))
    same = np.nanmax(drawn, axis=0) == np.nanmin(drawn, axis=0)
    margin = np.where(undefined | same, np.nan, spread * float(t_quantile((1 - level) / 2, n - 1)))
    return values - margin, values + margin


def levels_of(values: Array, close: Array | float = 0.0) -> Levels:
    """… × systems: values as levels; neighbouring values that differ by at most `close` share a level.

    >>> levels_of(np.array([0.3, 0.1 + 0.2, 0.1]), 1e-12).tolist()
    [1, 1, 0]
    """
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    steps = np.zeros(values.shape, dtype=np.int32)
    steps[..., 1:] = np.diff(ordered, axis=-1) > np.asarray(close)[..., None]
    levels = np.empty_like(steps)
    np.put_along_axis(levels, order, np.cumsum(steps, axis=-1, dtype=np.int32), axis=-1)
    return levels


def mean_ranks(levels: Levels) -> Array:
    """Ranks from 1 for the lowest; ties share their mean rank.

    >>> mean_ranks(levels_of(np.array([0.3, 0.1, 0.3, 0.9]))).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    counts = np.bincount(levels)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[levels])


def divided(a: NDArray[Any], b: NDArray[Any], otherwise: Any = np.nan) -> Array:
    """a / b where b is above 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(b > 0, a / b, otherwise))


def check_count(caller: str, count: int, noun: str, least: int = LEAST_SYSTEMS) -> None:
    """Refuse too few systems, measures or topics."""
    if count < least:
        raise UsageError(f"{caller}: {counted(count, noun)}, must be {least} or more")


def _check_values(scores: Scores, caller: str) -> None:
    """Refuse a run without any value by some measure, and infinite values."""
    empty = np.argwhere(np.isnan(scores.values).all(axis=2))
    if len(empty):
        measure, run = empty[0]
        more = f", and in {counted(len(empty) - 1, 'more case')}" if len(empty) > 1 else ""
        case = f"{scores.measures[measure]} has no value for run {scores.runs[run]!r}{more}"
        raise UsageError(f"{caller}: {case}; leave out one of them")
    infinite = np.argwhere(np.isinf(scores.values))
    if len(infinite):
        measure, run, topic = infinite[0]
        score = f"{scores.measures[measure]} of {scores.runs[run]} on topic {scores.topics[topic]}"
        raise UsageError(f"{caller}: {score} is infinite")


def names_of(measures: MeasuresLike) -> list[str]:
    """The labels of measures, without repetitions."""
    single = isinstance(measures, str | type) or not isinstance(measures, Iterable)
    return list(dict.fromkeys(map(label, [measures] if single else measures)))  # type: ignore[arg-type]


def tau_b_of_two(first: Levels, second: Levels) -> Array:
    r"""Kendall's :math:`\tau_b` of each row of levels with the same row of others: rows × systems give rows.

    The pairs on which both disagree are the inversions of one ranking in the order of the other (Knight, JASA 1966);
    the number of steps grows with n log n, where `coefficients.tau_b` compares all pairs. NaN where all systems tie.

    >>> tau_b_of_two(np.array([[0, 1, 2, 3]]), np.array([[0, 2, 1, 1]])).round(4).tolist()
    [0.1826]
    """
    rows, systems = first.shape
    pairs = systems * (systems - 1) // 2
    tied, tied_other = _tied_pairs(first), _tied_pairs(second)
    both = first.astype(np.int64) * systems + second
    order = np.argsort(both, axis=-1, kind="stable")
    tied_in_both = _tied_pairs(both)
    against = _inversions(np.take_along_axis(second.astype(np.int64), order, axis=-1))
    agreement = pairs - tied - tied_other + tied_in_both - 2 * against
    untied = ((pairs - tied) * (pairs - tied_other)).astype(np.float64)
    return np.asarray(divided(agreement.astype(np.float64), np.sqrt(untied))).reshape(rows)


def _tied_pairs(levels: np.ndarray) -> Index64:
    """For each row, the number of pairs of equal values."""
    ordered = np.sort(levels, axis=-1)
    rows, systems = ordered.shape
    starts = np.ones((rows, systems), dtype=bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    at = np.flatnonzero(starts)
    size = np.diff(at, append=rows * systems)
    return np.asarray(np.bincount(at // systems, weights=size * (size - 1) // 2, minlength=rows), dtype=np.int64)


def _inversions(values: Index64) -> Index64:
    """For each row, the number of pairs whose first value is greater than the second.

    Bit by bit from the highest: of two values that are alike above a bit, the first is greater if it alone has the bit.
    Values stay in the order of the bits that were looked at, and alike ones in their own order.
    """
    rows, systems = values.shape
    total = np.zeros(rows, dtype=np.int64)
    for bit in reversed(range(int(values.max(initial=0)).bit_length())):
        above = values >> (bit + 1)
        ones = (values >> bit & 1).astype(np.int64)
        before = np.cumsum(ones, axis=-1) - ones
        starts = np.ones((rows, systems), dtype=bool)
        starts[:, 1:] = above[:, 1:] != above[:, :-1]
        start = np.maximum.accumulate(np.where(starts, np.arange(systems), 0), axis=-1)
        in_group = before - np.take_along_axis(before, start, axis=-1)
        total += np.where(ones == 0, in_group, 0).sum(axis=-1)
        values = np.take_along_axis(values, np.argsort(values >> bit, axis=-1, kind="stable"), axis=-1)
    return total

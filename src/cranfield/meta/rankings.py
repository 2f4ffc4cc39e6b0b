"""How measures rank systems: scores without gaps, higher always better, and ranks that rounding does not disturb."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.data import some
from cranfield.comparison.differences import noise
from cranfield.errors import UsageError
from cranfield.measures.property_tables import lower_is_better
from cranfield.scores.scores import Scores
from cranfield.text import counted
from cranfield.types import Array

Levels = NDArray[np.int32]
"""... × systems: 0 for the worst, one more for each better value; systems that tie have the same."""

LEAST_SYSTEMS = 3
"""Of two systems there are only two rankings: nothing to correlate."""


@dataclass(frozen=True, eq=False)
class Panel:
    """measures × systems × topics: every system has a value by every measure on every topic, and higher is better."""

    values: Array
    measures: tuple[str, ...]
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    notes: tuple[str, ...]

    @staticmethod
    def of(scores: Scores, who: str, measures: Any = None, *, least: int = LEAST_SYSTEMS, several: int = 2) -> Panel:
        """The scores a method works on; topics on which anything is undefined are left out, and a note counts them.

        >>> Panel.of(Scores.from_matrix([[0.1, 0.2]]), "correlate", several=1)
        Traceback (most recent call last):
        cranfield.errors.UsageError: correlate: 2 systems, must be 3 or more
        """
        if measures is not None:
            scores = scores.select(measures=measures)
        if len(scores.runs) < least:
            raise UsageError(f"{who}: {counted(len(scores.runs), 'system')}, must be {least} or more")
        if len(scores.measures) < several:
            raise UsageError(f"{who}: {counted(len(scores.measures), 'measure')}, must be {several} or more")
        _check_values(scores, who)
        whole = np.asarray(~np.isnan(scores.values).any(axis=(0, 1)))
        if not whole.any():
            raise UsageError(f"{who}: no topic has a value for every run by every measure; take fewer of either")
        notes = list(scores.notes)
        if scores.missing.any():
            fate = "count as empty lists" if scores.missing_rule == "zero" else "have no value"
            notes.append(f"missing topics {fate}: {some(scores.runs, np.asarray(scores.missing.any(axis=1)))}")
        if not whole.all():
            lost = int((~whole).sum())
            notes.append(f"{lost} of {len(whole)} topics left out: undefined somewhere ({some(scores.topics, ~whole)})")
        turned = tuple(name for name in scores.measures if lower_is_better(name))
        if turned:
            notes.append(f"lower is better: {', '.join(turned)}")
        sign = np.array([-1.0 if name in turned else 1.0 for name in scores.measures])
        topics = tuple(name for name, keep in zip(scores.topics, whole.tolist(), strict=True) if keep)
        values = scores.values[:, :, whole] * sign[:, None, None]
        return Panel(values, scores.measures, scores.runs, topics, tuple(notes))

    @property
    def close(self) -> Array:
        """How far apart two values of each measure may be that differ by rounding only."""
        return np.array([noise(one) for one in self.values])

    def levels(self) -> Levels:
        """measures × systems: how the means over topics rank the systems."""
        return levels_of(self.values.mean(axis=2), self.close)

    def resampled(self, resamples: int, seed: int, size: int) -> Iterator[Levels]:
        """resamples × measures × systems, `size` resamples at a time: topics are drawn with replacement.

        One draw of topics serves all measures. The answer does not depend on `size`.
        """
        n = len(self.topics)
        rng = np.random.default_rng(seed)
        close = self.close
        by_topic = np.ascontiguousarray(self.values.reshape(-1, n).T)
        for begin in range(0, resamples, size):
            times = rng.multinomial(n, np.full(n, 1 / n), size=min(size, resamples - begin))
            means = (times @ by_topic / n).reshape(len(times), *self.values.shape[:2])
            yield levels_of(means, close)


def levels_of(values: Array, close: Array | float = 0.0) -> Levels:
    """… × systems: values as levels; those no further apart than `close` (one for each …) are on the same.

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


def _check_values(scores: Scores, who: str) -> None:
    """No measure may be undefined for a run everywhere, and none infinite."""
    empty = np.asarray(np.isnan(scores.values).all(axis=2))
    if empty.any():
        measure, run = (int(where[0]) for where in np.nonzero(empty))
        more = int(empty.sum()) - 1
        also = f", and {more} more such" if more else ""
        raise UsageError(
            f"{who}: {scores.measures[measure]} has no value for run {scores.runs[run]!r}{also}; leave out either"
        )
    if np.isinf(scores.values).any():
        measure, run, topic = (int(where[0]) for where in np.nonzero(np.isinf(scores.values)))
        raise UsageError(
            f"{who}: {scores.measures[measure]} of {scores.runs[run]} on topic {scores.topics[topic]} is infinite"
        )


def names_of(measures: Iterable[Any]) -> list[str]:
    """Labels of measures given as measures or names, each once."""
    from cranfield.scores.labels import label

    return list(dict.fromkeys(label(one) for one in measures))

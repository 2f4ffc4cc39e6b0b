"""How many topics need human judgments for an interval of a given width, if a machine judges all topics?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.building.machine.powered_intervals import ScoresByRow
from cranfield.building.machine.powered_means import powered_means, quantile
from cranfield.comparison.data import row_moments
from cranfield.errors import UsageError
from cranfield.record import Record, column, table_of, without_empty
from cranfield.scores.scores import Scores
from cranfield.table import Table
from cranfield.text import counted
from cranfield.types import Array

MOST_TOPICS = 10_000_000


@dataclass(frozen=True, eq=False, repr=False)
class TopicsNeeded(Record):
    """The number of human topics for a half-width, with and without the machine, for each run or pair."""

    facts = ("half_width", "level", "machine_topics", "judgments_per_topic")

    measure: Annotated[NDArray[Any], column()]
    run: Annotated[NDArray[Any], column()]
    other: Annotated[NDArray[Any], column()] | None
    now: Annotated[Array, column("half-width now")]
    """The half-width with the human topics at hand."""
    correlation: Annotated[Array, column()]
    """Between the human and the machine scores."""
    needed: Annotated[Array, column("topics needed")]
    """Topics with human judgments that are needed; NaN if `machine_topics` are too few."""
    labels: Annotated[Array, column("labels needed")]
    """Human judgments of these topics."""
    classical: Annotated[Array, column("topics needed without machine")]
    """Topics that are needed without the machine."""
    half_width: float
    level: float
    machine_topics: int
    judgments_per_topic: float
    """The mean number of human judgments of a topic; NaN if unknown."""
    notes: tuple[str, ...]

    def table(self) -> Table:
        """A row per run or pair; labels only if their number for a topic is known."""
        columns = without_empty(self.columns(), "labels needed" if np.isnan(self.judgments_per_topic) else "")
        counts = dict.fromkeys(("topics needed", "labels needed", "topics needed without machine"), "count")
        caption = f"Topics with human judgments for {100 * self.level:g}% intervals of ± {self.half_width:g}"
        return table_of(columns, kinds=counts, caption=caption, notes=self.notes)


def topics_needed(
    human: Scores,
    machine: Scores,
    half_width: float,
    *,
    baseline: str | None = None,
    pairs: bool = False,
    level: float = 0.95,
    machine_topics: int | None = None,
    judgments_per_topic: float = np.nan,
) -> TopicsNeeded:
    r"""The smallest number n of human topics with which the prediction-powered interval is at most ± `half_width`.

    .. math:: t_{n-1} \sqrt{\frac{s_y^2 - 2 \lambda s_{yf} + \lambda^2 s_f^2}{n} + \frac{\lambda^2 s_f^2}{T - n}}
        \le \text{half\_width}, \qquad \lambda = \frac{T - n}{T} \frac{s_{yf}}{s_f^2} \text{ within } [0, 1]

    The variances and the covariance are those of the topics with both judgments, the pilot. T is the number of topics
    that the machine judges, `machine_topics` or by default those it has judged; the human topics are among them.
    Without the machine (λ = 0) the number is not limited by T.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(0.5, 0.2, (400, 1))
    >>> machine = Scores.from_matrix(truth + rng.normal(0, 0.05, (400, 1)), ["a"], map(str, range(400)), measure="AP")
    >>> human = Scores.from_matrix(truth[:40], ["a"], map(str, range(40)), measure="AP")
    >>> answer = topics_needed(human, machine, 0.03)
    >>> answer.needed < answer.classical
    array([ True])
    """
    check.positive("topics_needed", half_width=half_width)
    check.whole("topics_needed", machine_topics=machine_topics)
    rows = ScoresByRow.of(human, machine, baseline, pairs)
    total = len(rows.topics) + len(rows.other_topics) if machine_topics is None else int(machine_topics)
    if total < 3:
        raise UsageError(f"machine_topics == {total}, must be 3 or more")
    means = powered_means(rows.human, rows.machine, rows.others, level=level, limits=rows.limits)
    pilot = _moments(rows)
    needed = np.array([_smallest(v, total, half_width, level) for v in pilot.T])
    alone = np.array([_smallest((v[0], 0.0, 0.0), MOST_TOPICS, half_width, level) for v in pilot.T])
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = pilot[2] / np.sqrt(pilot[0] * pilot[1])
    notes = [
        f"the variances are those of a pilot of {len(rows.topics)} topics with both judgments; T = {total:,} topics "
        "have machine judgments, and the human topics are a random sample of them",
    ]
    if means.bounded.any():
        notes.append(
            f"{counted(int(means.bounded.sum()), 'row')} in which few topics of the pilot carry the spread: the "
            "numbers of topics are guesses that are too low; judge a larger pilot"
        )
    if short := int(np.isnan(needed).sum()):
        notes.append(
            f"{short} of {len(needed)} rows: all {total:,} topics are too few, even with human judgments of all"
        )
    return TopicsNeeded(
        rows.measure, rows.run, rows.other, (means.high - means.low) / 2, correlation, needed,
        np.ceil(needed * judgments_per_topic), alone, half_width, level, total, judgments_per_topic, tuple(notes),
    )  # fmt: skip


def _moments(rows: ScoresByRow) -> Array:
    """The variance of the human and of the machine scores, and their covariance, on topics with both; 3 × rows."""
    human = np.where(np.isnan(rows.machine), np.nan, rows.human)
    machine = np.where(np.isnan(rows.human), np.nan, rows.machine)
    spreads = [row_moments(part)[2] for part in (human, machine, human + machine)]
    variances = [spread**2 for spread in spreads]
    return np.stack([variances[0], variances[1], (variances[2] - variances[0] - variances[1]) / 2])


def half_width_with(topics: int, moments: Any, total: int, level: float) -> float:
    """The half-width with this number of human topics; moments: variance of y, variance of f, covariance."""
    human, predicted, covariance = (float(value) for value in moments)
    others = total - topics
    weight = 0.0
    if predicted > 0 and others > 0:
        weight = min(max(others / total * covariance / predicted, 0.0), 1.0)
    variance = max(human - 2 * weight * covariance + weight**2 * predicted, 0.0) / topics
    if weight:
        variance += weight**2 * predicted / others
    return float(quantile(level, np.array(topics - 1.0)) * np.sqrt(variance))


def _smallest(moments: Any, total: int, half_width: float, level: float) -> float:
    """The smallest number of topics, from 2 on, that is enough; NaN if `total` is not."""
    low, high = 1, 2
    while half_width_with(high, moments, total, level) > half_width:
        if high >= total:
            return np.nan
        low, high = high, min(2 * high, total)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if half_width_with(middle, moments, total, level) <= half_width else (middle, high)
    return float(high)

"""Mean scores from few topics with human and many with machine judgments: intervals, and how many topics they need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.building.machine.powered_means import INTERVALS, PoweredMeans, powered_means, quantile
from cranfield.comparison.corrections import CORRECTIONS, adjust
from cranfield.comparison.data import all_pairs, noise, row_moments, without_noise
from cranfield.declared.operation import Level, about, operation
from cranfield.errors import UsageError
from cranfield.measures.naming.parse import parse
from cranfield.notes import Notes
from cranfield.record import Record, column, estimates, table_of, without_empty
from cranfield.scores import summary
from cranfield.scores.bounded_mean import few_carry
from cranfield.scores.labels import positions
from cranfield.scores.scores import Scores
from cranfield.table import Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64


@dataclass(frozen=True, eq=False)
class ScoresByRow:
    """The scores of runs, or their differences, on topics with both judgments and on those with machine judgments."""

    measure: NDArray[Any]
    run: NDArray[Any]
    other: NDArray[Any] | None
    """The second run of each pair; None for single runs."""
    human: Array
    """rows × topics with both judgments."""
    machine: Array
    """The same with machine judgments."""
    others: Array
    """rows × topics with machine judgments only."""
    limits: tuple[Array, Array]
    """The smallest and the largest possible value of each row; NaN for a measure whose range is unknown."""
    topics: tuple[str, ...]
    other_topics: tuple[str, ...]
    notes: tuple[str, ...]

    @staticmethod
    def of(human: Scores, machine: Scores, baseline: str | None = None, pairs: bool = False) -> ScoresByRow:
        """A row per measure and run; per run other than the baseline; or per pair of runs."""
        if pairs and baseline is not None:
            raise UsageError(f"baseline == {baseline!r} and pairs=True exclude each other; leave out one of them")
        shared, others, notes = split_topics(human, machine)
        machine = machine.select(human.measures, human.runs)
        first, second = _runs_of_rows(human, baseline, pairs)
        names = np.array(human.runs, dtype=object)
        both = human.select(topics=shared), machine.select(topics=shared)
        return ScoresByRow(
            np.repeat(np.array(human.measures, dtype=object), len(first)),
            np.tile(names[first], len(human.measures)),
            None if second is None else np.tile(names[second], len(human.measures)),
            _rows_of(both[0], first, second),
            _rows_of(both[1], first, second),
            _rows_of(machine.select(topics=others), first, second),
            _limits_of(human.measures, len(first), second is not None),
            shared,
            others,
            tuple(dict.fromkeys([*notes, *human.notes])),
        )


def _limits_of(measures: tuple[str, ...], rows: int, differences: bool) -> tuple[Array, Array]:
    """The range of each measure, or of its differences; each stands `rows` times."""
    ranges = np.array([_range_of(name) for name in measures]).reshape(-1, 2)
    if differences:
        width = ranges[:, 1] - ranges[:, 0]
        ranges = np.stack([-width, width], axis=1)
    low, high = np.repeat(ranges, rows, axis=0).T
    return low, high


def _range_of(name: str) -> tuple[float, float]:
    try:
        properties = parse(name).properties
    except UsageError:
        return np.nan, np.nan
    finite = np.isfinite(properties.low) and np.isfinite(properties.high)
    return (properties.low, properties.high) if finite else (np.nan, np.nan)


def split_topics(human: Scores, machine: Scores) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """The topics with both judgments, those with machine judgments only, and notes about them."""
    known = set(machine.topics)
    shared = tuple(topic for topic in human.topics if topic in known)
    if len(shared) < 2:
        raise UsageError(
            f"{counted(len(shared), 'topic')} with both judgments, an interval needs 2 or more; the human judgments "
            f"have {listed(human.topics)}, the machine judgments {listed(machine.topics)}"
        )
    labelled = set(human.topics)
    others = tuple(topic for topic in machine.topics if topic not in labelled)
    notes = Notes()
    notes.method(
        f"{counted(len(shared), 'topic')} with human and machine judgments, {len(others):,} with machine judgments only"
    )
    if lost := [topic for topic in human.topics if topic not in known]:
        notes.append(f"{counted(len(lost), 'topic')} without machine judgments, left out: {listed(lost)}")
    if len(others) < 2:
        notes.caution(
            "the machine judged hardly any topics without human judgments: the intervals are the classical ones"
        )
    return shared, others, notes


def _runs_of_rows(scores: Scores, baseline: str | None, pairs: bool) -> tuple[Index64, Index64 | None]:
    """The runs of each row: one, or two whose difference is taken."""
    m = len(scores.runs)
    if baseline is not None:
        at = positions(baseline, scores.runs, "run")[0]
        others = np.array([i for i in range(m) if i != at], dtype=np.int64)
        if not len(others):
            raise UsageError(f"baseline == {baseline!r} is the only run; add the runs to compare with it")
        return others, np.full(len(others), at, dtype=np.int64)
    if pairs:
        if m < 2:
            raise UsageError(f"{counted(m, 'run')}, a difference needs 2 or more")
        return all_pairs(m)
    return np.arange(m, dtype=np.int64), None


def _rows_of(scores: Scores, first: Index64, second: Index64 | None) -> Array:
    """measures · rows × topics."""
    rows = []
    for values in scores.values:
        if second is None:
            rows.append(values[first])
        else:
            close = noise(np.nan_to_num(values))
            rows.append(without_noise(values[first] - values[second], np.full(len(first), close)))
    return np.concatenate(rows)


ASSUMPTION = (
    "assumption: the topics with human judgments are a random sample of all topics, and the machine judged all topics "
    "in the same way"
)
FEW = 20
"""With fewer topics than this, the variances are rough, and a note warns of it."""


@dataclass(frozen=True, eq=False, repr=False)
class PoweredIntervals(Record):
    """The mean of each run, or the mean difference of each pair, with a prediction-powered and a classical interval."""

    figure = "describe_powered"
    facts = ("topics", "others", "level", "interval", "correction", "baseline")

    measure: NDArray[Any]
    run: NDArray[Any]
    other: NDArray[Any] | None
    """The second run of each pair; None for the means of runs."""
    means: PoweredMeans
    machine_only: Array
    """The mean with machine judgments alone, over all topics; it may be biased."""
    adjusted: Array | None
    """Adjusted p-values of differences."""
    topics: tuple[str, ...]
    """The topics with both judgments."""
    others: tuple[str, ...]
    """The topics with machine judgments only."""
    level: float
    interval: str
    correction: str
    baseline: str | None
    notes: tuple[str, ...]

    @property
    def differs(self) -> NDArray[np.bool_]:
        """Is the adjusted p-value of a difference at most 1 − level?"""
        if self.adjusted is None:
            raise UsageError("only differences of two runs can be significant; name a baseline, or take all pairs")
        return np.asarray(self.adjusted <= 1 - self.level)

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, run (and other), estimate, its interval, the classical mean and interval, λ, topics, effective."""
        means = self.means
        names = {"run": self.run} if self.other is None else {"run": self.run, "other": self.other}
        tests = {}
        if self.adjusted is not None:
            tests = {"p": means.p, "p adjusted": self.adjusted, "differs": self.differs}
        return {
            "measure": self.measure,
            **names,
            "estimate": means.estimate,
            "low": means.low,
            "high": means.high,
            "classical": means.classical,
            "classical low": means.classical_low,
            "classical high": means.classical_high,
            "machine only": self.machine_only,
            "lambda": means.tuning,
            "human topics": means.topics.astype(np.int64),
            "other topics": means.others.astype(np.int64),
            "effective topics": means.effective,
            **tests,
        }

    def table(self) -> Table:
        """A row per run or pair: both intervals, the mean by the machine alone, λ and the effective topics."""
        columns = self.columns()
        names = ["measure"] if len(set(self.measure.tolist())) > 1 else []
        shown = {name: columns[name] for name in (*names, "run", "other") if name in columns}
        for name, ends in (("estimate", ("low", "high")), ("classical", ("classical low", "classical high"))):
            shown[name] = estimates(columns[name], *(columns[end] for end in ends))
        shown |= {"machine only": columns["machine only"], "λ": columns["lambda"]}
        shown |= {name: columns[name] for name in ("effective topics", "p adjusted", "differs") if name in columns}
        what = "Mean" if self.other is None else "Mean difference in"
        caption = f"{what} {listed(dict.fromkeys(self.measure.tolist()))} with {100 * self.level:g}% intervals"
        return table_of(shown, kinds={"effective topics": "count"}, caption=caption, notes=self.notes)


@operation
def powered_intervals(
    human: Scores,
    machine: Scores,
    *,
    baseline: Annotated[
        str | None, about("Compare every other run with this one.", spelled="--baseline, -b RUN")
    ] = None,
    pairs: Annotated[bool, about("Compare all pairs of runs.")] = False,
    tuning: Annotated[
        float | None,
        about(
            "The weight of the machine, from 0 (not used) to 1; default: tuned for each row.",
            least=0,
            most=1,
            spelled="--lambda L",
            rare=True,
        ),
    ] = None,
    level: Level = 0.95,
    interval: Annotated[
        str,
        about(
            "Intervals by {names}: Student's t, or the normal distribution as in the papers, too narrow for few "
            "topics.",
            choices=INTERVALS,
            spelled="--intervals KIND",
            rare=True,
        ),
    ] = "t",
    correction: Annotated[
        str,
        about(
            "Correction of the p-values of differences: {names}.",
            names="comparison.corrections:CORRECTIONS",
            rare=True,
        ),
    ] = "holm",
) -> PoweredIntervals:
    """Means of runs over all topics, from human judgments on few of them and machine judgments on all.

    human: scores with human judgments; machine: scores of the same runs with machine judgments, also on further topics.
    baseline: compare every other run with this one (run − baseline); pairs: compare all pairs of runs.
    tuning, interval: see `powered_means`, which has the formulas and the papers.
    correction: of the p-values of differences, over all rows.

    The topic is the unit: its scores with both judgments correct the machine scores of the other topics. The intervals
    hold for good and bad machine judgments if the topics with human judgments are a random sample of all topics; the
    better the machine, the narrower the interval. Where few of the human topics carry the spread, such as for runs
    that differ on few topics, the interval comes from the human scores and the range of the measure. A topic on which a
    measure is undefined is left out of that row.

    >>> human = Scores.from_matrix([[0.2], [0.4], [0.9]], ["a"], ["1", "2", "3"], measure="AP")
    >>> machine = Scores.from_matrix([[0.3], [0.4], [0.8], [0.5], [0.3], [0.6], [0.8]], ["a"], "1234567", measure="AP")
    >>> result = powered_intervals(human, machine, tuning=1.0)
    >>> result.means.estimate.round(4).tolist(), result.means.classical.tolist()
    ([0.55], [0.5])
    """
    CORRECTIONS.find(correction)
    rows = ScoresByRow.of(human, machine, baseline, pairs)
    means = powered_means(
        rows.human, rows.machine, rows.others, tuning=tuning, level=level, interval=interval, limits=rows.limits
    )
    machine_only = summary.mean(np.concatenate([rows.machine, rows.others], axis=1))
    adjusted = None if rows.other is None else adjust(means.p, correction)
    notes = _notes(means, rows, level, interval, tuning, None if rows.other is None else correction)
    return PoweredIntervals(
        rows.measure, rows.run, rows.other, means, machine_only, adjusted, rows.topics, rows.other_topics, level,
        interval, correction, baseline, tuple(dict.fromkeys([*rows.notes, *notes])),
    )  # fmt: skip


def _notes(
    means: PoweredMeans, rows: ScoresByRow, level: float, interval: str, tuning: float | None, correction: str | None
) -> list[str]:
    notes = Notes([ASSUMPTION])
    weight = "tuned for each row" if tuning is None else f"{tuning:g} as requested"
    how = "Student's t, corrected for skewness" if interval == "t" else "the normal distribution"
    notes.method(f"λ, the weight of the machine, is {weight}; intervals by {how}, each alone at level {level:g}")
    if correction is not None:
        count = counted(len(means.estimate), "difference")
        notes.method(f"p adjusted: {correction}, over {count}; differs: p adjusted is at most {1 - level:g}")
    if interval == "normal" and (means.topics.min() < FEW or few_carry(rows.human).any()):
        notes.caution("few topics with both judgments, or few that carry the spread: normal intervals are too narrow")
    if means.bounded.any():
        notes.caution(
            f"{counted(int(means.bounded.sum()), 'row')} in which few topics carry the spread: the interval is that of "
            "the human scores within the range of the measure, wide but right; more human topics make it narrower"
        )
    if (missing := means.bounded & means.unlimited).any():
        notes.caution(
            f"{counted(int(missing.sum()), 'of these rows has', 'of these rows have')} a measure without known "
            "range: the smallest and largest score take its place, so the interval may be too narrow"
        )
    undefined = np.isnan(rows.human) | np.isnan(rows.machine)
    left_out = int(undefined.any(axis=0).sum()), int(np.isnan(rows.others).any(axis=0).sum())
    if any(left_out):
        notes.caution(
            f"a score is undefined on {counted(left_out[0], 'topic')} with both judgments and on {left_out[1]} "
            "with machine judgments only: these are left out of the rows concerned"
        )
    return notes


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
    notes = Notes()
    notes.method(
        f"the variances are those of a pilot of {len(rows.topics)} topics with both judgments; T = {total:,} "
        "topics have machine judgments, and the human topics are a random sample of them"
    )
    if means.bounded.any():
        notes.caution(
            f"{counted(int(means.bounded.sum()), 'row')} in which few topics of the pilot carry the spread: the "
            "numbers of topics are guesses that are too low; judge a larger pilot"
        )
    if short := int(np.isnan(needed).sum()):
        notes.caution(
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

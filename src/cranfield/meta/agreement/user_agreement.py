"""Which measure agrees with users? Ratings, times and preferences of a user study against the scores of runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.source import PathLike
from cranfield.comparison.data import noise
from cranfield.declared.operation import RESAMPLES, Level, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.measures.property_tables import lower_is_better
from cranfield.meta.agreement.concordance import Preferences, signs_of
from cranfield.meta.agreement.user_ratings import UserRatings, read_user_ratings
from cranfield.meta.complete_scores import central_interval, divided, levels_of, resampled_topics
from cranfield.notes import caution_note, method_note, rewritten
from cranfield.record import Columns, Record, crossed, estimates, table_of
from cranfield.scores.scores import Scores
from cranfield.table import Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress, report

COEFFICIENTS = {
    "pearson": "Pearson's correlation of the mean rating and the score of each topic and system",
    "spearman": "Pearson's correlation of their ranks, ties at the mean rank",
    "tau-b": "Kendall's τ_b, corrected for ties",
    "within": "Pearson's correlation after the mean of each topic is subtracted from both",
    "pairs": "the share of preferences between two systems on a topic that the measure predicts; its ties count half",
}
"""{name: description}; the order of the first axis of `UserAgreement.values`."""
LEAST_CELLS = 3
"""Two cells have only two rankings: nothing to correlate."""
_BLOCK = 4_000_000
"""Numbers in memory at a time, per array; it does not change the result."""


@dataclass(frozen=True, eq=False, repr=False)
class UserAgreement(Record):
    """How well measures agree with users; arrays are coefficients × outcomes × measures."""

    facts = ("level", "resamples", "seed")

    outcomes: tuple[str, ...]
    """rating, time, preference: those that users gave."""
    measures: tuple[str, ...]
    values: Array
    low: Array
    high: Array
    best: Array
    """outcomes × measures: the share of resamples in which the measure agrees best, by `within`, or by `pairs` for
    preferences; NaN without resamples."""
    level: float
    resamples: int
    seed: int
    notes: tuple[str, ...]

    def columns(self) -> Columns:
        """coefficient, outcome, measure, value, low, high."""
        axes = {"coefficient": COEFFICIENTS, "outcome": self.outcomes, "measure": self.measures}
        return crossed(axes, {"value": self.values, "low": self.low, "high": self.high})

    def table(self) -> Table:
        """A row per outcome and measure, and a column per coefficient."""
        numbers = dict(zip(COEFFICIENTS, map(estimates, self.values, self.low, self.high), strict=True))
        if self.resamples and len(self.measures) > 1:
            numbers["best"] = self.best.ravel()
        columns = crossed({"outcome": self.outcomes, "measure": self.measures}, {}) | numbers
        # with several outcomes, the best of a column would be of another outcome
        better = dict.fromkeys(numbers, "higher") if len(self.outcomes) == 1 else None
        return table_of(columns, better=better, caption="Agreement with users", notes=self.notes)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Topic × system, with the sums and numbers of what users said."""

    topic: Index64
    """The topic of each cell, from 0, in order."""
    sums: Array
    """users × cells."""
    counts: Array
    scores: Array
    """measures × cells; higher is better."""

    @property
    def pairs(self) -> tuple[Index64, Index64]:
        """The pairs of cells with the same topic."""
        first, second = np.nonzero(np.triu(self.topic[:, None] == self.topic, 1))
        return first, second


@takes_runs
@operation
def user_agreement(
    scores: Scores,
    ratings: UserRatings | PathLike,
    measures: MeasuresLike | None = None,
    *,
    centre_users: Annotated[bool, about("First subtract the mean of each user: some rate higher than others.")] = False,
    level: Level = 0.95,
    resamples: Annotated[
        int, about("Resamples of users and topics for the intervals; 0: no intervals.", **{**RESAMPLES, "least": 0})
    ] = 1_000,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> UserAgreement:
    r"""How well each measure agrees with what users said of the systems.

    ratings: what `read_user_ratings` returns, or a file. Systems have the names of the runs. For each topic and system
    that users rated, their mean rating is held against the score: correlations over all topics and systems; `within`
    topics,

    .. math:: r = \operatorname{cor}(\bar y_{ts} - \bar y_{t\cdot},\; x_{ts} - \bar x_{t\cdot}),

    so that a measure gets no credit for telling easy topics from hard ones; and over `pairs` of systems on a topic, how
    often the measure prefers the one with the higher mean rating (pairs with equal ratings are left out). Preferences
    that users stated count one by one. Of times, the mean negative logarithm counts, so that fast is good. Measures for
    which lower is better are negated.

    centre_users: first subtract the mean of each user, because some rate higher than others; fair if all users rated
        the same topics, as in a plan by `user_study`.

    Users and topics are resampled with replacement, independently, for intervals that hold for other users and topics;
    one user or one topic alone is not resampled. A resample has fewer different users, so its means are noisier and its
    coefficients lower; intervals are therefore moved to have the value in their middle (correlations by Fisher's z). A
    coefficient is undefined (NaN) if all ratings or all scores tie.
    References: Sakai 2014 §5.3; Sanderson, Paramita, Clough & Kanoulas, SIGIR 2010, doi:10.1145/1835449.1835542; Owen,
    The Pigeonhole Bootstrap, Annals of Applied Statistics 1(2), 2007, doi:10.1214/07-AOAS122

    >>> scores = Scores(["P@1"], ["a", "b"], ["1", "2"], [[[1, 0], [0.5, 0.2]]])
    >>> ratings = UserRatings.of("uuvv", "1212", "abba", rating=[5, 4, 3, 2])
    >>> user_agreement(scores, ratings, resamples=0).values[:, 0, 0].round(4).tolist()
    [0.8014, 0.8, 0.6667, 0.9191, 1.0]
    """
    if not isinstance(ratings, UserRatings):
        ratings = read_user_ratings(ratings)
    if measures is not None:
        scores = scores.select(measures=measures)
    outcomes = [*ratings.outcomes, *(["preference"] if ratings.preferences is not None else [])]
    if not outcomes:
        raise UsageError(f"{ratings.origin}: there are no ratings")
    shape = (len(COEFFICIENTS), len(outcomes), len(scores.measures))
    values, low, high = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, np.nan)
    best = np.full(shape[1:], np.nan)
    notes: list[str] = [*ratings.notes]
    for o, name in enumerate(outcomes):
        if name == "preference":
            assert ratings.preferences is not None
            values[:, o], resampled, more = _preferred(scores, ratings.preferences, resamples, seed)
        else:
            values[:, o], resampled, more = _rated(scores, ratings, name, centre_users, resamples, seed, progress)
        notes += [rewritten(note, f"{name}: {note}") for note in more]
        if resamples:
            low[:, o], high[:, o] = _intervals(values[:, o], resampled, level)
            best[o] = _best(resampled[:, 4 if name == "preference" else 3])
    notes += [method_note(f"{name}: {description}") for name, description in COEFFICIENTS.items()]
    if resamples:
        drawn = f"{resamples:,} resamples of users and topics, seed {seed}"
        notes.append(method_note(f"{level:.0%} intervals: percentiles over {drawn}, moved to the value"))
        if len(scores.measures) > 1:
            notes.append("best: the share of resamples in which the measure agrees best, by within (or by pairs)")
    return UserAgreement(
        tuple(outcomes), scores.measures, values, low, high, best, level, resamples, seed, tuple(notes)
    )


def _intervals(values: Array, resampled: Array, level: float) -> tuple[Array, Array]:
    """Intervals around the values; those of correlations are shifted on the scale of Fisher's z.

    A resample has fewer different users, so its mean ratings are noisier and its coefficients lower. The middle of the
    resamples is therefore moved to the value.
    """
    ends = np.empty((2, *values.shape))
    for c, name in enumerate(COEFFICIENTS):
        if name == "pairs":
            low, high = central_interval(resampled[:, c], level, centred=True)
            ends[:, c] = np.clip([values[c] + low, values[c] + high], 0, 1)
        else:
            limit = 1 - 1e-12
            z = np.arctanh(np.clip(resampled[:, c], -limit, limit))
            low, high = central_interval(z, level, centred=True)
            ends[:, c] = np.tanh(np.stack([low, high]) + np.arctanh(np.clip(values[c], -limit, limit)))
    return ends[0], ends[1]


def _best(resampled: Array) -> Array:
    """The share of resamples (first axis) in which each measure is highest; ties share."""
    known = np.nan_to_num(resampled, nan=-2.0)
    top = (known == known.max(axis=1, keepdims=True)) & ~np.isnan(resampled)
    share = divided(top, top.sum(axis=1, keepdims=True))
    decided = share[~np.isnan(share).all(axis=1)]
    return np.asarray(decided.mean(axis=0)) if len(decided) else np.full(resampled.shape[1], np.nan)


def _preferred(scores: Scores, preferences: Preferences, resamples: int, seed: int) -> tuple[Array, Array, list[str]]:
    """The share of stated preferences that each measure predicts."""
    signs, topic, user, notes = signs_of(scores, preferences)
    credit = np.where(np.isnan(signs), 0.0, (signs > 0) + 0.5 * (signs == 0))
    counts = (~np.isnan(signs)).astype(np.float64)
    value = np.full((len(COEFFICIENTS), len(signs)), np.nan)
    value[4] = divided(credit.sum(axis=1), counts.sum(axis=1))
    resampled = np.full((resamples, *value.shape), np.nan)
    begin = 0
    for users, topics in _drawn(int(user.max()) + 1, int(topic.max()) + 1, resamples, seed, signs.shape[1]):
        times = users[:, user] * topics[:, topic]
        resampled[begin : begin + len(times), 4] = divided(times @ credit.T, times @ counts.T)
        begin += len(times)
    return value, resampled, notes


def _rated(
    scores: Scores, ratings: UserRatings, name: str, centre: bool, resamples: int, seed: int, progress: Progress | None
) -> tuple[Array, Array, list[str]]:
    cells, notes = _cells(scores, ratings, name, centre)
    users, topics = len(cells.sums), int(cells.topic.max()) + 1
    signs = _signs(np.stack([levels_of(x, noise(x)).astype(np.float32) for x in cells.scores]))
    value = _coefficients(cells, signs, np.ones((1, users)), np.ones((1, topics)))[0]
    resampled = np.full((resamples, *value.shape), np.nan)
    begin = 0
    for of_users, of_topics in _drawn(users, topics, resamples, seed, len(cells.topic) ** 2):
        resampled[begin : begin + len(of_users)] = _coefficients(cells, signs, of_users, of_topics)
        begin += len(of_users)
        report(progress, begin, resamples)
    return value, resampled, notes


def _cells(scores: Scores, ratings: UserRatings, name: str, centre: bool) -> tuple[_Cells, list[str]]:
    columns, values = ratings.outcome(name)
    if name == "time":
        values = -np.log(values)
    if centre:
        _, user = np.unique(columns["user"], return_inverse=True)
        values = values - (np.bincount(user, values) / np.bincount(user))[user]
    runs = {run: i for i, run in enumerate(scores.runs)}
    topics = {topic: i for i, topic in enumerate(scores.topics)}
    absent = list(dict.fromkeys(run for run in columns["system"] if run not in runs))
    if len(absent) == len(set(columns["system"])):
        raise UsageError(
            f"{ratings.origin}: no rated system has scores; users rated {listed(map(repr, absent))}, and there are "
            f"scores of {listed(map(repr, scores.runs))}"
        )
    pairs = zip(columns["system"], columns["topic"], strict=True)
    known = np.array([run in runs and topic in topics for run, topic in pairs])
    kind = {"rating": "rating"}.get(name, "time")
    notes = [method_note(f"{counted(int(known.sum()), kind)} by {counted(len(set(columns['user'])), 'user')}")]
    if centre:
        notes.append(method_note("the mean of each user is subtracted"))
    if absent:
        notes.append(caution_note(f"systems without scores left out: {listed(absent)}"))
    unscored = list(dict.fromkeys(topic for topic in columns["topic"] if topic not in topics))
    if unscored:
        notes.append(caution_note(f"topics without scores left out: {listed(unscored)}"))
    if not known.any():
        raise UsageError(f"{ratings.origin}: no rated topic has scores; users rated {listed(map(repr, unscored))}")
    kept = np.flatnonzero(known).tolist()
    run = np.array([runs[columns["system"][i]] for i in kept])
    topic = np.array([topics[columns["topic"][i]] for i in kept])
    _, user = np.unique([columns["user"][i] for i in kept], return_inverse=True)
    keys, cell = np.unique(topic * len(runs) + run, return_inverse=True)
    better = np.array([-1.0 if lower_is_better(measure) else 1.0 for measure in scores.measures])
    of_cell = scores.values[:, keys % len(runs), keys // len(runs)] * better[:, None]
    defined = ~np.isnan(of_cell).any(axis=0)
    if not defined.all():
        undefined = counted(int((~defined).sum()), "topic and system", "topics and systems")
        notes.append(caution_note(f"{undefined} left out, because a measure is undefined there"))
    if defined.sum() < LEAST_CELLS:
        both = counted(int(defined.sum()), "combination")
        raise UsageError(
            f"{ratings.origin}: {both} of topic and system with a {name} and a score, must be {LEAST_CELLS} or more"
        )
    shape = (int(user.max()) + 1, len(keys))
    place = user.reshape(-1) * len(keys) + cell.reshape(-1)
    size = shape[0] * shape[1]
    sums = np.bincount(place, values[kept], minlength=size).reshape(shape)[:, defined].astype(np.float64)
    counts = np.bincount(place, minlength=size).reshape(shape)[:, defined].astype(np.float64)
    _, of_topic = np.unique(keys[defined] // len(runs), return_inverse=True)
    return _Cells(of_topic.reshape(-1), sums, counts, of_cell[:, defined]), notes


def _drawn(users: int, topics: int, resamples: int, seed: int, size: int) -> Iterator[tuple[Array, Array]]:
    """How often each user and each topic is drawn, for some resamples at a time."""
    block = max(1, _BLOCK // max(size, users, topics))
    seeds = np.random.SeedSequence(seed).generate_state(2).tolist()
    draws = [
        resampled_topics(n, resamples, s, block) if n > 1 else _ones(resamples, block)
        for n, s in zip((users, topics), seeds, strict=True)
    ]
    for of_users, of_topics in zip(*draws, strict=True):
        yield of_users.astype(np.float64), of_topics.astype(np.float64)


def _ones(resamples: int, block: int) -> Iterator[NDArray[np.int64]]:
    for begin in range(0, resamples, block):
        yield np.ones((min(block, resamples - begin), 1), dtype=np.int64)


def _signs(values: Array) -> Array:
    """… × cells × cells: 1 where the first is higher, −1 where it is lower."""
    return np.asarray(np.sign(values[..., :, None] - values[..., None, :]), dtype=np.float32)


def _coefficients(cells: _Cells, signs: Array, users: Array, topics: Array) -> Array:
    """resamples × coefficients × measures, where `users` and `topics` say how often each was drawn."""
    number = users @ cells.counts
    y = divided(users @ cells.sums, number, 0.0)
    scale = float(np.abs(cells.sums).max()) or 1.0
    y = np.round(y / scale, 12)  # anything smaller is rounding
    weight = topics[:, cells.topic] * (number > 0)
    n = len(cells.topic)
    signs_y = _signs(y)
    ranks_y = np.einsum("bij,bj->bi", signs_y, weight)
    both = (signs_y * weight[:, :, None] * weight[:, None, :]).reshape(len(y), n * n)
    untied_y = np.abs(both).sum(axis=1, dtype=np.float64)
    pairs_of_weights = (weight[:, :, None] * weight[:, None, :]).reshape(len(y), n * n)
    first, second = cells.pairs
    pair_weight = weight[:, first] * (number[:, second] > 0) * (y[:, first] != y[:, second])
    direction = np.sign(y[:, first] - y[:, second])
    centred_y = _centred(y, weight, cells.topic)
    out = np.full((len(y), len(COEFFICIENTS), len(cells.scores)), np.nan)
    for m, x in enumerate(cells.scores):
        flat = signs[m].reshape(-1)
        agree = both @ flat
        untied_x = pairs_of_weights @ np.abs(flat)
        defined = (untied_x > 0) & (untied_y > 0)
        ranks_x = weight @ signs[m].T
        out[:, 0, m] = np.where(defined, _correlation(np.broadcast_to(x, y.shape), y, weight), np.nan)
        out[:, 1, m] = np.where(defined, _correlation(ranks_x, ranks_y, weight), np.nan)
        out[:, 2, m] = divided(agree, np.sqrt(untied_x * untied_y))
        out[:, 3, m] = _correlation(_centred(np.broadcast_to(x, y.shape), weight, cells.topic), centred_y, weight)
        credit = (1 + direction * signs[m][first, second]) / 2
        out[:, 4, m] = divided((pair_weight * credit).sum(axis=1), pair_weight.sum(axis=1))
    return out


def _centred(values: Array, weight: Array, topic: Index64) -> Array:
    """The values without the mean of their topic, over the cells that count; rounding becomes 0."""
    starts = np.flatnonzero(np.r_[True, np.diff(topic) > 0])
    present = (weight > 0).astype(np.float64)
    sums = np.add.reduceat(values * present, starts, axis=1)
    means = divided(sums, np.add.reduceat(present, starts, axis=1), 0.0)
    centred = values - means[:, topic]
    return np.where(np.abs(centred) <= 1e-12 * np.abs(values).max(initial=0.0), 0.0, centred)


def _correlation(x: Array, y: Array, weight: Array) -> Array:
    """Pearson's weighted correlation in every resample."""
    total = weight.sum(axis=1, keepdims=True)
    x = x - divided(np.sum(weight * x, axis=1, keepdims=True), total, 0.0)
    y = y - divided(np.sum(weight * y, axis=1, keepdims=True), total, 0.0)
    together, of_x, of_y = (np.sum(weight * product, axis=1) for product in (x * y, x * x, y * y))
    return np.clip(divided(together, np.sqrt(of_x * of_y)), -1, 1)

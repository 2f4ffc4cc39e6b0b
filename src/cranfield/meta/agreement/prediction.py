"""How well do predictors of query performance foretell the scores of topics?

A predictor gives a number to each topic without looking at judgments; higher means that a higher score is expected.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.check import index_of
from cranfield.collection.source import PathLike, stem
from cranfield.collection.tables.table_schema import MISSING, TOPIC, Numbers, Schema
from cranfield.comparison.data import noise
from cranfield.declared.operation import Level, Seed, operation
from cranfield.errors import DataError, UsageError
from cranfield.evaluation.evaluator import MeasuresLike
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.meta.complete_scores import (
    CompleteScores,
    Levels,
    TopicResamples,
    check_count,
    divided,
    levels_of,
    mean_ranks,
    resampled_topics,
    studentised_interval,
)
from cranfield.notes import Notes, method_note
from cranfield.record import Columns, Record, crossed, estimates, table_of
from cranfield.scores.scores import Scores
from cranfield.scores.t_and_normal import t_quantile
from cranfield.table import Table, headings
from cranfield.text import counted, listed
from cranfield.types import Array, Progress, report

if TYPE_CHECKING:
    from cranfield.comparison.anova.anova import Anova

COEFFICIENTS = {
    "pearson": "Pearson's correlation of predictions and scores",
    "spearman": "Pearson's correlation of their ranks, ties at the mean rank",
    "tau-b": "Kendall's τ_b, corrected for ties",
    "sMARE": "scaled mean absolute rank error, 0 is best",
}
"""{name: description}; the order of the first axis of `PredictionQuality.values`."""

LEAST_TOPICS = 3
"""Two topics have only two rankings: nothing to correlate."""
_BLOCK = 4_000_000
"""Numbers in memory at a time, per array; it does not change the result."""

Predictors = Mapping[str, Mapping[str, float]] | Scores | PathLike | Sequence[PathLike]
"""{predictor: {topic: prediction}}, scores with predictors as runs, or files."""


@dataclass(frozen=True, eq=False, repr=False)
class PredictionQuality(Record):
    """How well each predictor foretells the scores of each run by each measure, with intervals over topics.

    Arrays are coefficients × measures × runs × predictors.
    """

    facts = ("level", "resamples", "seed")

    measures: tuple[str, ...]
    runs: tuple[str, ...]
    predictors: tuple[str, ...]
    topics: tuple[str, ...]
    values: Array
    low: Array
    """Lower end of the interval; NaN without intervals."""
    high: Array
    errors: Array
    """measures × runs × predictors × topics: the scaled absolute rank error (sARE) of each topic."""
    level: float
    resamples: int
    seed: int
    notes: tuple[str, ...]

    def columns(self) -> Columns:
        """coefficient, measure, run, predictor, value, low, high."""
        axes: dict[str, Iterable[str]] = {
            "coefficient": COEFFICIENTS,
            "measure": self.measures,
            "run": self.runs,
            "predictor": self.predictors,
        }
        return crossed(axes, {"value": self.values, "low": self.low, "high": self.high})

    def table(self) -> Table:
        """A row per measure, run and predictor, and a column per coefficient."""
        axes = {"measure": self.measures, "run": self.runs, "predictor": self.predictors}
        columns = crossed(axes, {}) | dict(
            zip(COEFFICIENTS, map(estimates, self.values, self.low, self.high), strict=True)
        )
        same = [columns.pop(name)[0] for name in ("measure", "run") if len(axes[name]) == 1]
        better = {name: "lower" if name == "sMARE" else "higher" for name in COEFFICIENTS}
        caption = "Prediction of " + (" of ".join(same) or "scores")
        return table_of(columns, better=better, caption=caption, notes=self.notes)

    def rank_errors(self, measure: Any = None, run: str | None = None) -> Scores:
        """sARE as scores, with predictors as runs, for `compare` and `anova`; lower is better."""
        m = self._one(measure, self.measures, "measure")
        r = self._one(run, self.runs, "run")
        return Scores(["sARE"], self.predictors, self.topics, self.errors[None, m, r])

    def by_topic(self, measure: Any = None, run: str | None = None) -> Table:
        """A row per topic and a column per predictor: sARE."""
        errors = self.rank_errors(measure, run)
        rows = zip(self.topics, *errors.values[0].tolist(), strict=True)
        heads = (*headings("text", "topic"), *headings("number", *self.predictors, better="lower"))
        return Table(
            heads,
            tuple(rows),
            "sARE of each topic",
            ("sARE: distance of the ranks by prediction and by score / number of topics",),
        )

    def anova(self, measure: Any = None, run: str | None = None) -> Anova:
        """Do predictors differ? Analysis of variance of sARE: topic + predictor (Faggioli et al. 2021).

        Without a measure or a run it is over all of them. With several, system and measure are further factors, with
        their interactions with predictors: is the best predictor the same for every system and measure?
        """
        from cranfield.comparison.anova.anova import anova

        check_count("anova", len(self.predictors), "predictor", 2)
        measures = self.measures if measure is None else (str(measure),)
        runs = self.runs if run is None else (run,)
        parts = [(name, system, self.rank_errors(name, system).columns()) for name in measures for system in runs]
        table: dict[str, Any] = {
            "sARE": np.concatenate([errors["value"] for *_, errors in parts]),
            "topic": np.concatenate([errors["topic"] for *_, errors in parts]),
            "predictor": np.concatenate([errors["run"] for *_, errors in parts]),
        }
        sizes = [len(errors["value"]) for *_, errors in parts]
        if len(measures) > 1:
            table["measure"] = np.repeat([name for name, *_ in parts], sizes)
        if len(runs) > 1:
            table["system"] = np.repeat([system for _, system, _ in parts], sizes)
        more = [f"predictor:{factor}" for factor in ("system", "measure") if factor in table]
        return anova(table, value="sARE", interactions=more)

    @staticmethod
    def _one(name: Any, names: tuple[str, ...], noun: str) -> int:
        if name is not None:
            return index_of(str(name), names, noun)
        if len(names) > 1:
            raise UsageError(f"rank errors of one {noun} at a time, but there are {len(names)}: {listed(names)}")
        return 0


@takes_runs
@operation
def prediction_quality(
    scores: Scores,
    predictors: Predictors,
    measures: MeasuresLike | None = None,
    *,
    level: Level = 0.95,
    resamples: TopicResamples = 1_000,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> PredictionQuality:
    r"""How well predictors of query performance foretell the scores of topics.

    predictors: {predictor: {topic: prediction}}, `Scores` with predictors as runs, or files (`read_predictors`).
    Every predictor is held against the scores of every run by every measure: Pearson's and Spearman's correlation,
    Kendall's τ_b, and the scaled mean absolute rank error over the n topics,

    .. math:: \text{sMARE} = \frac{1}{n} \sum_i \text{sARE}_i, \quad
        \text{sARE}_i = \frac{|r_i^{p} - r_i^{e}|}{n},

    where the ranks are those of topic i by prediction and by score; tied topics share their mean rank. A coefficient
    is undefined (NaN) if all predictions or all scores tie; sMARE never is. Topics without a prediction, or with an
    undefined score, are left out, and a note counts them. Measures for which lower is better are negated.

    The intervals of correlations are symmetric on Fisher's scale, with the larger of two standard errors, that of the
    jackknife over topics and that of normal data (Fieller, Hartley & Pearson 1957; Bonett & Wright 2000), and Student's
    t with n − 2 degrees of freedom. That of sMARE is its value ± t times its standard deviation over resampled topics.
    `resamples=0` gives none. Pearson's may be too narrow if predictions or scores have outliers; a note says so.
    References: Faggioli, Zendel, Culpepper, Ferro & Scholer, An Enhanced Evaluation Framework for Query Performance
    Prediction, ECIR 2021, doi:10.1007/978-3-030-72113-8_8; Carmel & Yom-Tov 2010

    >>> scores = Scores.from_matrix([[0.1], [0.4], [0.3], [0.9]], runs=["bm25"], topics="abcd", measure="AP")
    >>> result = prediction_quality(scores, {"clarity": dict(zip("abcd", [1, 2, 3, 4]))}, resamples=0)
    >>> result.values.ravel().round(4).tolist()
    [0.8724, 0.8, 0.6667, 0.125]
    """
    predicted = _predictions(predictors)
    complete = CompleteScores.of(scores, "prediction_quality", measures, least_systems=1, least_measures=1)
    place = {topic: i for i, topic in enumerate(predicted.topics)}
    common = [(i, place[topic]) for i, topic in enumerate(complete.topics) if topic in place]
    if not common:
        raise UsageError(
            f"prediction_quality: no topic has both a score and a prediction; topics with a score are "
            f"{listed(map(repr, complete.topics))}, with a prediction {listed(map(repr, predicted.topics))}"
        )
    scored, guessed = np.array(common).T
    x, y = predicted.values[0][:, guessed], complete.values[:, :, scored]
    known = ~np.isnan(x).any(axis=0)
    if known.sum() < LEAST_TOPICS:
        both = counted(int(known.sum()), "topic")
        raise UsageError(f"prediction_quality: {both} with a score and predictions, must be {LEAST_TOPICS} or more")
    x, y = x[:, known], y[:, :, known]
    topics = tuple(complete.topics[i] for i in scored[known])
    n, drawn = len(topics), resamples
    notes = Notes(
        [
            counted(n, "topic"),
            *(method_note(f"{name}: {description}") for name, description in COEFFICIENTS.items()),
        ]
    )
    if n < len(complete.topics):
        without = sorted(set(complete.topics) - set(topics), key=complete.topics.index)
        notes.caution(f"{counted(len(without), 'topic')} without predictions left out: {listed(without)}")
    if drawn:
        notes.method(
            f"{level:.0%} intervals: on Fisher's scale by the jackknife; sMARE: t times the standard "
            "deviation over "
            f"{drawn:,} resamples of topics, seed {seed}"
        )
    shape = (len(COEFFICIENTS), *y.shape[:2], len(x))
    values, low, high = np.empty(shape), np.full(shape, np.nan), np.full(shape, np.nan)
    errors = np.empty((*y.shape[:2], len(x), n))
    ranks_x = [_Ranked(row) for row in x]
    done, total = 0, int(np.prod(shape[1:]))
    for m, r in np.ndindex(*y.shape[:2]):
        ranked_y = _Ranked(y[m, r])
        for p, ranked_x in enumerate(ranks_x):
            values[:, m, r, p] = _coefficients(ranked_x, ranked_y)
            errors[m, r, p] = np.abs(ranked_x.ranks - ranked_y.ranks) / n
            if drawn:
                size = max(1, _BLOCK // n)
                blocks = resampled_topics(n, drawn, seed, size)
                parts = [_rank_error(ranked_x, ranked_y, times.astype(np.float64)) for times in blocks]
                resampled = np.concatenate(parts)[:, None]
                omitting = _without_each(ranked_x, ranked_y)
                value = values[:, m, r, p]
                ends = (
                    _fisher_interval(value[:3], omitting, level),
                    studentised_interval(value[3:], resampled, n, level),
                )
                low[:, m, r, p], high[:, m, r, p] = np.concatenate(ends, axis=1)
                low[3, m, r, p] = max(0.0, low[3, m, r, p])
            done += 1
            report(progress, done, total)
    tied = [name for name, ranked in zip(predicted.runs, ranks_x, strict=True) if ranked.levels.max() == 0]
    if tied:
        notes.caution(f"all topics tie by {', '.join(tied)}: no correlation")
    outliers = [name for name, row in zip(predicted.runs, x, strict=True) if drawn and _heavy(row)]
    outliers += [
        f"{complete.measures[m]} of {complete.runs[r]}"
        for m, r in np.ndindex(*y.shape[:2])
        if drawn and _heavy(y[m, r])
    ]
    if outliers:
        notes.caution(
            f"caution: pearson's interval may be too narrow, because of outliers in {listed(outliers)}; "
            "spearman and "
            "tau-b do not depend on them"
        )
    notes += complete.notes
    return PredictionQuality(
        complete.measures, complete.runs, predicted.runs, topics, values, low, high, errors,
        level, drawn, seed, tuple(notes),
    )  # fmt: skip


class _Ranked:
    """Numbers by topic, with the levels and the mean ranks of ties."""

    def __init__(self, values: Array) -> None:
        self.levels: Levels = levels_of(values, noise(values))
        self.values = values - values.mean() if self.levels.max() else np.zeros(len(values))
        self.ranks = mean_ranks(self.levels)

        self.order = np.argsort(self.levels, kind="stable")
        ordered = self.levels[self.order]
        self.ends = tuple(np.searchsorted(ordered, self.levels, side) for side in ("left", "right"))
        """The number of topics below each topic, and the number of those that are not above it."""

    def signs(self, rows: slice) -> Array:
        """Some topics × topics: 1 where the first is higher, −1 where it is lower."""
        return np.asarray(np.sign(self.levels[rows, None] - self.levels), dtype=np.float64)

    def higher(self, weights: Array) -> Array:
        """For each row of weights and each topic, the weight of the topics below it minus that of those above it."""
        sums = np.zeros((len(weights), weights.shape[1] + 1))
        np.cumsum(weights[:, self.order], axis=1, out=sums[:, 1:])
        below, upto = self.ends
        return np.asarray(sums[:, below] - (sums[:, -1:] - sums[:, upto]))

    @property
    def untied(self) -> Array:
        """The number of topics that do not tie with each topic."""
        return np.asarray(len(self.levels) - (self.ends[1] - self.ends[0]), dtype=np.float64)


def _coefficients(x: _Ranked, y: _Ranked) -> Array:
    """Pearson's, Spearman's and Kendall's correlation, and sMARE, of all topics."""
    every = np.ones((1, len(x.levels)))
    untied = x.untied.sum() * y.untied.sum()
    pearson, spearman = (
        _correlation(a, b, every)[0] if untied > 0 else np.nan for a, b in ((x.values, y.values), (x.ranks, y.ranks))
    )
    tau = divided(_agreeing(x, y).sum(), np.sqrt(untied))
    return np.array([pearson, spearman, float(tau), _rank_error(x, y, every)[0]])


def _agreeing(x: _Ranked, y: _Ranked) -> Array:
    """For each topic, the topics that both rank on the same side of it minus those that they rank on other sides."""
    parts = [np.sum(x.signs(rows) * y.signs(rows), axis=1) for rows in _blocks(len(x.levels))]
    return np.concatenate(parts)


def _rank_error(x: _Ranked, y: _Ranked, times: Array) -> Array:
    r"""sMARE of each resample, where `times` (resamples × topics) is how often each topic was drawn.

    With :math:`S_{ij} = \operatorname{sgn}(x_i - x_j)`, the mean rank of topic i in a resample of counts w is
    :math:`(n + 1 + \sum_j w_j S_{ij}) / 2`.
    """
    return np.asarray(np.sum(times * np.abs(x.higher(times) / 2 - y.higher(times) / 2), axis=1) / times.shape[1] ** 2)


def _without_each(x: _Ranked, y: _Ranked) -> Array:
    r"""Pearson's, Spearman's and Kendall's correlation × topics: without each topic in turn.

    With the centred ranks :math:`r_j = \sum_k S_{jk} / 2`, those without topic i are :math:`r_j - S_{ji} / 2`, so that
    their products sum to :math:`\sum_j r^x_j r^y_j - r^x_i r^y_i - \frac12 \sum_j (r^x_j S^y_{ji} + r^y_j S^x_{ji}) +
    \frac14 \sum_j S^x_{ji} S^y_{ji}`. These sums, as those of the pairs that agree, are exact.
    """
    n = len(x.levels)
    agreeing, untied_x, untied_y = _agreeing(x, y), x.untied, y.untied
    left_x, left_y = (untied.sum() - 2 * untied for untied in (untied_x, untied_y))
    defined = left_x * left_y > 0
    omitted = (np.arange(n) != np.arange(n)[rows, None] for rows in _blocks(n))
    pearson = np.concatenate([_correlation(x.values, y.values, times.astype(np.float64)) for times in omitted])
    ranks_x, ranks_y = (ranked.higher(np.ones((1, n)))[0] / 2 for ranked in (x, y))

    def products(first: _Ranked, ranks: Array, other: _Ranked, others: Array, both: Array) -> Array:
        sides = other.higher(ranks[None])[0] + first.higher(others[None])[0]  # S_ij is -S_ji
        return np.asarray((ranks * others).sum() - ranks * others + sides / 2 + both / 4)

    together = products(x, ranks_x, y, ranks_y, agreeing)
    of_x, of_y = products(x, ranks_x, x, ranks_x, untied_x), products(y, ranks_y, y, ranks_y, untied_y)
    spearman = np.clip(divided(together, np.sqrt(of_x * of_y)), -1, 1)
    tau = divided(agreeing.sum() - 2 * agreeing, np.sqrt(left_x * left_y))
    return np.stack([np.where(defined, pearson, np.nan), np.where(defined, spearman, np.nan), tau])


def _fisher_interval(values: Array, without: Array, level: float) -> tuple[Array, Array]:
    """Intervals of Pearson's, Spearman's and Kendall's correlation, from their values without each topic in turn."""
    n = without.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        of_normal = np.array([1.0, 1 + values[1] ** 2 / 2, 0.437]) / np.maximum([n - 3, n - 3, n - 4], 0)
        # As if the best two topics of a perfect ranking had changed places: Fisher's scale has no end.
        most = np.array([1 - 1e-9, *[1 - 4 / (n * (n - 1))] * 2])
        z, left = (np.arctanh(np.clip(r, -most[:, None], most[:, None])) for r in (values[:, None], without))
        error = np.sqrt(np.maximum(of_normal, (n - 1) * np.nan_to_num(left).var(axis=1)))
        margin = error * float(t_quantile((1 - level) / 2, n - 2))
        low, high = np.tanh(z[:, 0] - margin), np.tanh(z[:, 0] + margin)
    unknown = np.isnan(values)
    low, high = np.minimum(low, values), np.maximum(high, values)
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def _heavy(values: Array) -> bool:
    """Whether values have outliers: an excess kurtosis above 3, which is a half of the exponential distribution's."""
    deviations = values - values.mean()
    spread = float((deviations**2).mean())
    return spread > 0 and float((deviations**4).mean()) / spread**2 > 6


def _blocks(n: int) -> Iterator[slice]:
    size = max(1, _BLOCK // n)
    return (slice(begin, min(begin + size, n)) for begin in range(0, n, size))


def _correlation(x: Array, y: Array, times: Array) -> Array:
    """Pearson's correlation in every resample."""
    n = times.sum(axis=1, keepdims=True)
    x = x - np.sum(times * x, axis=1, keepdims=True) / n
    y = y - np.sum(times * y, axis=1, keepdims=True) / n
    together, of_x, of_y = (np.sum(times * product, axis=1) for product in (x * y, x * x, y * y))
    return np.clip(divided(together, np.sqrt(of_x * of_y)), -1, 1)


def _predictions(predictors: Predictors) -> Scores:
    """Predictions as scores with predictors as runs."""
    if isinstance(predictors, Scores):
        if len(predictors.measures) > 1:
            raise UsageError(f"predictors: {len(predictors.measures)} measures, must be one; select it")
        return predictors
    if not isinstance(predictors, Mapping):
        paths = [predictors] if isinstance(predictors, str | os.PathLike) else list(predictors)
        return read_predictors(paths)
    if not predictors:
        raise UsageError("predictors: the mapping is empty, must be {predictor: {topic: prediction}}")
    columns: dict[str, dict[str, float]] = {}
    for name, predictions in predictors.items():
        if not isinstance(predictions, Mapping):
            raise UsageError(f"predictors: {name!r} is not a mapping, must be {{topic: prediction}}")
        columns[str(name)] = {str(topic): float(value) for topic, value in predictions.items()}
    return _of_columns(columns)


def _of_columns(columns: Mapping[str, Mapping[str, float]]) -> Scores:
    topics = list(dict.fromkeys(topic for predictions in columns.values() for topic in predictions))
    values = [[predictions.get(topic, np.nan) for topic in topics] for predictions in columns.values()]
    infinite = np.argwhere(np.isinf(values))
    if len(infinite):
        p, t = infinite[0]
        raise UsageError(f"predictors: {list(columns)[p]!r} is infinite on topic {topics[t]!r}")
    return Scores(["prediction"], columns, topics, np.array(values)[None])


PREDICTIONS = Schema(
    "topic and a number per predictor", key=("topic",), placed=True, comments=True, topic=TOPIC,
    others=Numbers(called=MISSING, blank=np.nan),
)  # fmt: skip


def read_predictors(paths: PathLike | Iterable[PathLike]) -> Scores:
    """Read predictions from files: a line per topic with its name and a number per predictor.

    A first line without numbers names the predictors. Without it, and where two files have the same name for one, a
    predictor has the name of its file. Columns are separated by tabs, commas, semicolons or blanks.
    """
    columns: dict[str, dict[str, float]] = {}
    for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
        rows = PREDICTIONS.read(path)
        names = list(rows.others)
        if not rows.named or columns.keys() & set(names):
            file = stem(os.fspath(path))
            names = [file] if len(names) == 1 else [f"{file} {at}" for at in range(1, len(names) + 1)]
        for name, values in zip(names, rows.others.values(), strict=True):
            if name in columns:
                raise DataError(rows.origin, None, f"predictor {name!r} appears twice")
            columns[name] = dict(zip(rows["topic"], values.tolist(), strict=True))
    if not columns:
        raise UsageError("predictors: give a file of predictions")
    return _of_columns(columns)

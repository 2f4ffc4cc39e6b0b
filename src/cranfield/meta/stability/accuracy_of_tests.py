"""Test a test: how often is a significance test right, if the truth is known because it is simulated?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.data import Matrix, difference_blocks, noise, row_moments
from cranfield.comparison.pair_tests import TESTS, PairTest, TestSettings
from cranfield.comparison.resampling import Threads
from cranfield.declared.operation import RESAMPLES, Alpha, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.frames import need
from cranfield.meta.complete_scores import CompleteScores, check_count, divided, levels_of, mean_ranks
from cranfield.notes import method_note
from cranfield.record import Columns, Record, column, labels
from cranfield.scores.scores import Scores
from cranfield.types import Array, Index64, Progress, report

TRUTHS = ("swap", "shift", "model")
"""How two systems are made equal: swap their scores at random, by topic; shift one to the mean of the other; or draw
both from a model with the scores of one of them and the correlation of both."""
USUAL_TESTS = ("t", "wilcoxon", "sign", "randomisation", "bootstrap", "bootstrap-shift")
"""The tests of two systems, which are tested by default."""
OUTCOMES = ("success", "lack of power", "minor conflict", "major conflict")
"""What the second half of the topics says of a difference that is significant on the first (Urbano et al. 2013)."""
LEAST_TOPICS = 4
"""So that each half has two topics."""
_BATCH = 200
"""Number of experiments at a time; every batch has its own random numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class TestAccuracy(Record):
    """Rates of right and wrong decisions, by measure and test; all arrays are measures × tests."""

    figure = "accuracy_figure"

    __test__ = False  # pytest must not collect this class

    facts = ("alpha", "truth", "difference", "topics", "simulations", "resamples", "seed", "systems")

    measures: Annotated[tuple[str, ...], column("measure", axis=True)]
    tests: Annotated[tuple[str, ...], column("test", axis=True)]
    type_1: Annotated[Array, column("type I error", over="measures tests")]
    """The share of experiments without a difference in which the test found one; it should be `alpha`, at most."""
    power: Annotated[Array, column(over="measures tests")]
    """The share of experiments with the true difference `difference` in which the test found it."""
    significant: Annotated[Array, column("significant in a half", over="measures tests")]
    """The share of random pairs that differ significantly on the first half of the topics."""
    outcomes: Annotated[Array, column(*OUTCOMES, over="measures tests")]
    """outcomes × measures × tests: what the second half says of these, as shares; NaN if there are none."""
    agreement: Array
    """measures × tests × tests: the share of random pairs on which two tests agree, on the first half of the topics."""
    alpha: float
    truth: str
    difference: float
    topics: int
    """The number of topics of an experiment."""
    half: int
    """The number of topics in each half."""
    simulations: int
    resamples: int
    seed: int
    systems: int
    selection_notes: tuple[str, ...]
    """Notes on the scores that were used."""

    @property
    def highest_type_1(self) -> float:
        """The highest type I error that `alpha` explains: two standard errors above it."""
        return float(self.alpha + 2 * np.sqrt(self.alpha * (1 - self.alpha) / self.simulations))

    def best(self) -> Columns:
        """measure, topics, test, type I error, power: the most powerful test that keeps its type I error."""
        kept = np.where(self.type_1 <= self.highest_type_1, self.power, -np.inf)
        best, rows = kept.argmax(axis=1), np.arange(len(self.measures))
        some = np.isfinite(kept.max(axis=1))
        return {
            "measure": labels(self.measures),
            "topics": np.full(len(rows), self.topics),
            "best test": np.where(some, labels(self.tests)[best], "none"),
            "type I error": np.where(some, self.type_1[rows, best], np.nan),
            "power": np.where(some, self.power[rows, best], np.nan),
        }

    def agreements(self) -> Columns:
        """measure, test, other, agreement: a row per measure and pair of tests."""
        first, second = np.triu_indices(len(self.tests), 1)
        names, count = labels(self.tests), len(self.measures)
        return {
            "measure": np.repeat(labels(self.measures), len(first)),
            "test": np.tile(names[first], count),
            "other": np.tile(names[second], count),
            "agreement": self.agreement[:, first, second].ravel(),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """How the rates were computed, and what they mean."""
        error = np.sqrt(self.alpha * (1 - self.alpha) / self.simulations)
        made = {
            "swap": "the scores of a pair are swapped at random, topic by topic",
            "shift": "one system of a pair is shifted to the mean of the other, which only tests of means call equal",
            "model": "both systems of a pair are drawn from the smoothed scores of one of them, with their correlation",
        }[self.truth]
        return (
            method_note(
                f"{self.simulations:,} experiments each, with random pairs of {self.systems} systems; α = "
                f"{self.alpha:g}; "
                f"B = {self.resamples:,} in tests that resample; seed {self.seed}"
            ),
            f"type I error: differences found where there are none ({self.topics} topics drawn with replacement; "
            f"{made}); a rate of {self.alpha:g} has a standard error of {error:.4f}",
            f"power: differences found where the true difference is {self.difference:g} (added to one system)",
            f"significant in a half: on {self.half} random topics; the columns after it say how {self.half} other "
            "topics judge these differences: significant in the same direction (success), the same direction only, the "
            "opposite direction (minor conflict), or significant in the opposite direction (major conflict)",
            *self.selection_notes,
        )


@takes_runs
@operation
def accuracy_of_tests(
    scores: Scores,
    measures: MeasuresLike | None = None,
    *,
    tests: Annotated[
        str | Iterable[str],
        about(
            "The significance tests, or all: {names}.",
            names="comparison.pair_tests:TESTS",
            spelled="--test, -t TEST,TEST,...",
        ),
    ] = USUAL_TESTS,
    truth: Annotated[
        str,
        about(
            "How two runs are made equal: {names} (swap their scores at random, topic by topic; shift one to the mean "
            "of the other; or draw new topics from a model of both).",
            choices=TRUTHS,
            spelled="--truth RULE",
        ),
    ] = "swap",
    difference: Annotated[
        float, about("The true difference, for the power.", spelled="--difference, -d D", rare=True)
    ] = 0.05,
    size: Annotated[
        int | None,
        about("The number of topics of an experiment; default: all.", least=2, spelled="--size, -n N,N,..."),
    ] = None,
    alpha: Alpha = 0.05,
    simulations: Annotated[int, about("The number of experiments.", least=1, rare=True)] = 1_000,
    resamples: Annotated[int, about("Number of resamples, for tests that resample.", **RESAMPLES)] = 1_000,
    seed: Seed = 0,
    threads: Threads = None,
    progress: Progress | None = None,
) -> TestAccuracy:
    """How often significance tests are right on scores like these: type I error, power, and agreement in halves.

    Every experiment takes a random pair of systems. For type I error and power it draws `size` topics with
    replacement (default: as many as there are) and makes the systems equal. `truth="swap"` swaps their scores at
    random, topic by topic, so that the null hypothesis of every test holds. `truth="shift"` shifts one to the mean of
    the other over all topics; both keep the shape of their scores, and only the means are equal. `truth="model"` draws
    new topics instead: the scores of both systems follow the distribution of one of them (its quantiles, interpolated)
    and are as correlated as theirs are, by a Gaussian copula. For the power, `difference` is then added to one system.
    For the agreement, all topics are split at random into two halves: does the second half confirm what is significant
    on the first? All tests see the same experiments.

    `tests` are names of `cranfield.comparison.TESTS`, or "all". Tests of many systems at once, such as tukey,
    see the two systems of the experiment alone.

    References: Urbano, Marrero & Martín, SIGIR 2013, 925-928 (halves); Urbano, Lima & Hanjalic,
    SIGIR 2019, doi:10.1145/3331184.3331259 (simulated truth)

    >>> rng = np.random.default_rng(0)
    >>> scores = Scores.from_matrix(rng.beta(2, 3, (50, 1)) + rng.normal(0, 0.1, (50, 4)), measure="AP")
    >>> accuracy = accuracy_of_tests(scores, tests=["t", "sign"], simulations=500)
    >>> accuracy.type_1.round(2).tolist(), accuracy.power.round(2).tolist()
    ([[0.04, 0.04]], [[0.64, 0.36]])
    """
    chosen = _tests(tests)
    complete = CompleteScores.of(scores, "accuracy_of_tests", measures, least_systems=2, least_measures=1)
    count = len(complete.topics)
    check_count("accuracy_of_tests", count, "topic", LEAST_TOPICS)
    drawn = count if size is None else int(size)
    differ_by = np.zeros((3, len(complete.measures), len(chosen)))
    confirmed = np.zeros((len(OUTCOMES), len(complete.measures), len(chosen)))
    agreed = np.zeros((len(complete.measures), len(chosen), len(chosen)))
    batches = [min(_BATCH, simulations - begin) for begin in range(0, simulations, _BATCH)]
    done, total = 0, len(complete.measures) * len(chosen) * len(batches)
    for m, values in enumerate(complete.values):
        for b, experiments in enumerate(batches):
            rng = np.random.default_rng([seed, m, b])
            equal = equal_systems(values, rng, experiments, drawn, truth)
            differ = equal + np.array([difference, 0.0])
            halves = two_halves(values, rng, experiments)
            settings = TestSettings("two-sided", alpha, int(resamples), int(rng.integers(2**63)), threads)
            decisions = np.zeros((len(chosen), experiments))
            for t, test in enumerate(chosen):
                p = [p_values(test, data, settings) for data in (equal, differ, *halves)]
                differ_by[:, m, t] += [int((values <= alpha).sum()) for values in p[:3]]
                confirmed[:, m, t] += _outcomes(p[2], p[3], *halves, alpha)
                decisions[t] = p[2] <= alpha
                done += 1
                report(progress, done, total)
            agreed[m] += decisions @ decisions.T + (1 - decisions) @ (1 - decisions).T
    type_1, power, significant = differ_by / simulations
    return TestAccuracy(
        complete.measures, tuple(test.name for test in chosen), type_1, power, significant,
        divided(confirmed, differ_by[2]), agreed / simulations, alpha, truth, float(difference), drawn, count // 2,
        int(simulations), int(resamples), int(seed), len(complete.runs), complete.notes,
    )  # fmt: skip


def equal_systems(values: Array, rng: np.random.Generator, experiments: int, size: int, truth: str) -> Array:
    """experiments × topics × 2: the scores of random pairs (of systems × topics) that are equal in truth."""
    pairs = _random_pairs(values, rng, experiments)
    if truth == "model":
        return _modelled(values, pairs, rng, size)
    drawn = rng.integers(values.shape[1], size=(experiments, size))
    both = np.stack([values[pairs[:, side, None], drawn] for side in (0, 1)], axis=2)
    if truth == "shift":
        means = values.mean(axis=1)[pairs]
        both[:, :, 0] += (means[:, 1] - means[:, 0])[:, None]
        return both
    swapped = rng.integers(2, size=(experiments, size, 1), dtype=np.int8) == 1
    return np.where(swapped, both[:, :, ::-1], both)


def _modelled(values: Array, pairs: Index64, rng: np.random.Generator, size: int) -> Array:
    """experiments × topics × 2: new topics, on which both systems of a pair have the distribution of the first.

    A score is a quantile of the first system's scores. Which quantile, two normal numbers say, whose correlation is
    that of the normal scores of the pair (a Gaussian copula).
    """
    special = need("scipy.special", "accuracy_of_tests")
    n = values.shape[1]
    ranks = np.stack([mean_ranks(levels_of(row, noise(row))) for row in values])
    normal = special.ndtri((ranks - 0.5) / n)
    spread = normal - normal.mean(axis=1, keepdims=True)
    length = np.sqrt((spread**2).sum(axis=1))
    product = (spread[pairs[:, 0]] * spread[pairs[:, 1]]).sum(axis=1)
    both = length[pairs[:, 0]] * length[pairs[:, 1]]
    r = np.clip(np.divide(product, both, out=np.zeros(len(pairs)), where=both > 0), -1, 1)[:, None]
    first, second = rng.standard_normal((2, len(pairs), size))
    quantiles = special.ndtr(np.stack([first, r * first + np.sqrt(1 - r**2) * second], axis=2))
    place = np.clip(quantiles * n - 0.5, 0, n - 1)
    below = np.minimum(place.astype(np.int64), n - 2)
    ordered = np.sort(values, axis=1)[pairs[:, 0]]
    low, high = (np.take_along_axis(ordered[:, :, None], below + up, axis=1) for up in (0, 1))
    return np.asarray(low + (place - below) * (high - low))


def two_halves(values: Array, rng: np.random.Generator, experiments: int) -> tuple[Array, Array]:
    """Twice experiments × topics × 2: the scores of random pairs on two disjoint halves of the topics."""
    pairs = _random_pairs(values, rng, experiments)
    n = values.shape[1]
    order = rng.permuted(np.broadcast_to(np.arange(n), (experiments, n)), axis=1)
    both = np.stack([values[pairs[:, side, None], order] for side in (0, 1)], axis=2)
    return both[:, : n // 2], both[:, n // 2 : 2 * (n // 2)]


def _random_pairs(values: Array, rng: np.random.Generator, experiments: int) -> Index64:
    """experiments × 2: two different systems."""
    first = rng.integers(len(values), size=experiments)
    second = (first + rng.integers(1, len(values), size=experiments)) % len(values)
    return np.stack([first, second], axis=1)


def p_values(test: PairTest, data: Array, settings: TestSettings) -> Array:
    """The p-value of each experiment (experiments × topics × 2).

    Tests that look only at the two systems of a pair take all experiments at once, as pairs of one matrix.
    """
    experiments, size, _ = data.shape
    if not (test.simultaneous or test.complete):
        first = np.arange(0, 2 * experiments, 2)
        return test.run(_matrix(data.transpose(1, 0, 2).reshape(size, -1)), first, first + 1, settings).p
    zero, one = np.array([0]), np.array([1])
    return np.array([float(test.run(_matrix(pair), zero, one, settings).p[0]) for pair in data])


def _matrix(values: Array) -> Matrix:
    rows, columns = values.shape
    return Matrix(np.ascontiguousarray(values), tuple(map(str, range(rows))), tuple(map(str, range(columns))))


def _outcomes(p: Array, other_p: Array, data: Array, other: Array, alpha: float) -> NDArray[np.int64]:
    """The number of experiments with each of the `OUTCOMES`, among those that are significant on the first half."""
    same = np.sign(_mean_differences(data)) * np.sign(_mean_differences(other)) > 0
    significant, again = p <= alpha, other_p <= alpha
    cases = (same & again, same & ~again, ~same & ~again, ~same & again)
    return np.array([int((significant & case).sum()) for case in cases])


def _mean_differences(data: Array) -> Array:
    """The mean difference of each experiment, exactly 0 where only rounding keeps it from 0."""
    matrix = _matrix(data.transpose(1, 0, 2).reshape(data.shape[1], -1))
    first = np.arange(0, 2 * len(data), 2)
    return np.concatenate([row_moments(block)[1] for _, block in difference_blocks(matrix, first, first + 1)])


def _tests(tests: str | Iterable[str]) -> list[PairTest]:
    names: Sequence[str] = [tests] if isinstance(tests, str) else list(tests)
    if list(names) == ["all"]:
        return list(TESTS.values())
    if not names:
        raise UsageError("accuracy_of_tests: tests is empty; name one or more")
    return list(dict.fromkeys(TESTS.find(name) for name in names))

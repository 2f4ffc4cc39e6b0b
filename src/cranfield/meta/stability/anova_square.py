"""Four analyses of variance of pairs: by formula or bootstrap, against any false alarm or a share of false ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.corrections import adjust
from cranfield.comparison.data import Matrix, all_pairs
from cranfield.comparison.methods.anova_bootstrap import each_and_together
from cranfield.comparison.pair_tests import TESTS, TestSettings
from cranfield.declared.operation import RESAMPLES, Alpha, Seed, about, operation
from cranfield.evaluation.evaluator import MeasuresLike
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.meta.complete_scores import CompleteScores, check_count, divided
from cranfield.notes import method_note
from cranfield.record import Record, column
from cranfield.scores.scores import Scores
from cranfield.types import Array, Progress, report

MODELS = ("classical", "bootstrap")
CONTROLS = ("family-wise", "false discovery")
FALSE_DISCOVERY = "benjamini-hochberg"


@dataclass(frozen=True, eq=False, repr=False)
class AnovaSquare(Record):
    """How many pairs each of four analyses finds, and how often two halves of the topics agree; measures × 2 × 2."""

    facts = ("pairs", "splits", "alpha", "resamples", "seed")

    measures: Annotated[tuple[str, ...], column("measure", axis=True)]
    models: Annotated[tuple[str, ...], column("model", axis=True)]
    controls: Annotated[tuple[str, ...], column("control", axis=True)]
    found: Annotated[Array, column("pairs found", kind="count", over="measures models controls")]
    """Pairs that differ significantly on all topics."""
    share: Annotated[Array, column("share", over="measures models controls")]
    half: Annotated[Array, column("share in a half", over="measures models controls")]
    """The mean share of pairs that differ significantly on half of the topics."""
    both: Annotated[Array, column("found in both", over="measures models controls", better="higher")]
    """Of the pairs found in a half or the other: the share found in both, with the same system better."""
    one: Annotated[Array, column("in one only", over="measures models controls")]
    opposite: Annotated[Array, column("opposite", over="measures models controls", better="lower")]
    """Of these, the share found in both with different systems better."""
    pairs: int
    splits: int
    alpha: float
    resamples: int
    seed: int
    selection_notes: tuple[str, ...]

    caption = "Classical and bootstrap analysis of variance, by what they control"

    @property
    def notes(self) -> tuple[str, ...]:
        """How pairs were tested, and what the shares are of."""
        return (
            f"of {self.pairs:,} pairs; found in both, in one only, opposite: shares of the pairs found in one of two "
            f"halves of the topics or in both, over {self.splits:,} random halvings",
            method_note(
                "family-wise: Tukey's HSD, or the range of the resampled errors of all systems; false discovery: t "
                "with the pooled error, or the resampled error of each pair, with Benjamini & Hochberg's correction"
            ),
            method_note(f"α = {self.alpha:g}; B = {self.resamples:,}; seed {self.seed}"),
            *self.selection_notes,
        )


@takes_runs
@operation
def anova_square(
    scores: Scores,
    measures: MeasuresLike | None = None,
    *,
    splits: Annotated[
        int,
        about(
            "With --show square: the number of random halvings of the topics.", least=1, spelled="--splits N", rare=True
        ),
    ] = 50,
    alpha: Alpha = 0.05,
    resamples: Annotated[int, about("Number of resamples.", **RESAMPLES)] = 1_000,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> AnovaSquare:
    r"""Which pairs differ by the two-way analysis of variance, in four ways, and how stable is that?

    The analysis is by formula or by a bootstrap of its residuals, and controls the probability of any false alarm
    (family-wise) or the share of false ones among those found (false discovery). Family-wise, a difference has to
    exceed the range of the errors of all systems: studentised (Tukey), or resampled: p = (1 + resamples with a range as
    large) / (1 + B). For the stability, topics are cut at random into two halves, and every analysis is made on each.

    Reference: Faggioli & Ferro, System Effect Estimation by Sharding, ECIR 2021; Ferro & Maistro 2024 §4.2.4. Their
    papers have shards of documents, and further coefficients of stability; these are shares.

    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal(0.4, 0.1, (20, 1)) + rng.normal([0, 0.02, 0.1], 0.05, (20, 3))
    >>> square = anova_square(Scores.from_matrix(values, measure="AP"), splits=5)
    >>> square.found.tolist()
    [[[2.0, 2.0], [2.0, 2.0]]]
    """
    complete = CompleteScores.of(scores, "anova_square", measures, least_systems=2, least_measures=1)
    topics = len(complete.topics)
    check_count("anova_square", topics, "topic", 4)
    first, _ = all_pairs(len(complete.runs))
    shape = (len(complete.measures), len(MODELS), len(CONTROLS))
    found, half, same, opposite, either = (np.zeros(shape) for _ in range(5))
    for m, values in enumerate(complete.values):
        rng = np.random.default_rng([seed, m])
        settings = TestSettings("two-sided", alpha, int(resamples), int(rng.integers(2**63)))
        found[m] = (verdicts(values.T, settings) != 0).sum(axis=2)
        for split in range(splits):
            order = rng.permutation(topics)
            parts = (order[: topics // 2], order[topics // 2 : 2 * (topics // 2)])
            one, two = (verdicts(values.T[np.sort(part)], settings) for part in parts)
            half[m] += ((one != 0).sum(axis=2) + (two != 0).sum(axis=2)) / 2
            same[m] += ((one == two) & (one != 0)).sum(axis=2)
            opposite[m] += (one * two < 0).sum(axis=2)
            either[m] += ((one != 0) | (two != 0)).sum(axis=2)
            report(progress, m * splits + split + 1, len(complete.measures) * splits)
    pairs = len(first)
    return AnovaSquare(
        complete.measures, MODELS, CONTROLS, found, found / pairs, half / splits / pairs, divided(same, either),
        divided(either - same - opposite, either), divided(opposite, either), pairs, int(splits), alpha,
        int(resamples), int(seed), complete.notes,
    )  # fmt: skip


def verdicts(values: Array, settings: TestSettings) -> NDArray[np.int64]:
    """models × controls × pairs: the sign of a significant difference of two systems (topics × systems), or 0."""
    topics, systems = values.shape
    matrix = Matrix(np.ascontiguousarray(values), tuple(map(str, range(topics))), tuple(map(str, range(systems))))
    first, second = all_pairs(systems)
    tukey, t = (TESTS.find(name).run(matrix, first, second, settings).p for name in ("tukey", "pooled-t"))
    each, together = each_and_together(matrix, first, second, settings)
    p = np.array([[tukey, adjust(t, FALSE_DISCOVERY)], [together, adjust(each, FALSE_DISCOVERY)]])
    mean = values.mean(axis=0)
    return np.where(p <= settings.alpha, np.sign(mean[first] - mean[second]), 0).astype(np.int64)

"""Discriminative power: how many pairs of systems does a measure separate at a given error rate?

Systems may differ in a summary of topics that is not a mean, such as the geometric mean or the median. The paired
bootstrap needs a mean difference; other summaries are compared by the bootstrap of two samples, which draws the scores
of both systems from all scores of the pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.check import index_of
from cranfield.comparison.assumptions import geometric_cautions
from cranfield.comparison.data import Matrix, check_topics
from cranfield.comparison.methods.paired_resampling import bootstrap_borderline
from cranfield.comparison.pair_tests import TESTS, PairTest, PairTests, TestSettings
from cranfield.comparison.resampling import TIE, Asl, Threads, check_asl
from cranfield.declared.operation import RESAMPLES, Alpha, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.meta.complete_scores import CompleteScores
from cranfield.notes import caution_note, method_note
from cranfield.record import Columns, Record, crossed, entries_of, labels, table_of, upper_triangle
from cranfield.scores.scores import Scores
from cranfield.scores.summary import GMEAN_FLOOR, statistic
from cranfield.scores.summary import statistic as summarised
from cranfield.table import Cell, Table, headings
from cranfield.types import Array, Index64, Progress, part_of, report

SUMMARIES = ("mean", "gmean", "median", "area")
PLURALS = {"mean": "means", "gmean": "geometric means", "median": "medians", "area": "areas"}
SUMMARY_NAMES = {
    "gmean": "systems are compared by the geometric mean of their scores",
    "median": "systems are compared by the median of their scores",
    "area": "systems are compared by the area under the mean of the x worst topics",
}
UNPAIRED = "unpaired-bootstrap"
_BLOCK = 2_000_000
"""The number of scores in memory at once; it does not change results."""


def summary_test(summary: str, worst: int | None = None) -> PairTest:
    """The test of a summary. It is not a test of `compare`: it does not use that both systems have the same topics."""

    def engine(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
        draws: dict[str, Any] = {"resamples": settings.resamples, "seed": settings.seed, "progress": settings.progress}
        difference, hits = summary_hits(matrix.values, first, second, summary, worst=worst, **draws)
        none = np.full(len(first), np.nan)
        p = (1 + hits) / (1 + settings.resamples)
        return PairTests(difference, p, none, none, np.full(len(first), matrix.n), resamples=settings.resamples)

    return PairTest(UNPAIRED, engine, "difference", "Sakai, SIGIR 2006", resampling=True)


def summary_hits(
    values: Array,
    first: Index64,
    second: Index64,
    summary: str,
    *,
    worst: int | None,
    resamples: int,
    seed: int,
    progress: Progress | None = None,
) -> tuple[Array, Index64]:
    r"""For each pair of systems, the difference of summaries, and in how many resamples it is at least as large.

    .. math:: \hat d = M(x) - M(y), \qquad \text{hits} = |\{b : |M(x^{*b}) - M(y^{*b})| \ge |\hat d|\}|

    x* and y* are drawn with replacement from the 2n scores of both systems. `values` is topics × systems. All pairs
    share the same draws.

    Reference: Sakai, SIGIR 2006 (Sakai 2014 Fig. 13-14)

    >>> values = np.array([[0.1, 0.5], [0.2, 0.7], [0.3, 0.9]])
    >>> difference, hits = summary_hits(values, [0], [1], "median", worst=None, resamples=1000, seed=0)
    >>> difference.round(2).tolist(), bool(0 < hits[0] < 1000)
    ([-0.5], True)
    """
    n = len(values)
    of_system = statistic(values.T, summary, worst=worst)
    difference = of_system[first] - of_system[second]
    least = np.abs(difference) - TIE * np.maximum(1.0, np.abs(difference))
    rng = np.random.default_rng(seed)
    drawn = rng.integers(2 * n, size=(2, resamples, n))
    hits = np.zeros(len(first), dtype=np.int64)
    step = max(1, _BLOCK // (2 * resamples * n)) if summary in ("median", "area") else max(1, _BLOCK // resamples)
    for begin in range(0, len(first), step):
        block = slice(begin, min(begin + step, len(first)))
        if summary in ("mean", "gmean"):
            differences = _differences_of_means(values, first[block], second[block], drawn, summary)
        else:
            pooled = np.concatenate([values[:, first[block]], values[:, second[block]]])  # 2n × pairs
            x, y = (statistic(np.moveaxis(pooled[side], 1, 2), summary, worst=worst) for side in drawn)
            differences = x - y
        hits[block] = (np.abs(differences) >= least[block]).sum(axis=0)
        report(progress, block.stop, len(first))
    return np.asarray(difference), hits


def check_area(statistic: str, worst: int | None, topics: int) -> None:
    """Refuse an area of fewer than two topics, or of more than there are."""
    if statistic != "area":
        return
    if worst is None and topics < 8:
        raise UsageError(f"discriminative_power: a quarter of {topics} topics is less than 2; give worst=2 or more")
    if worst is not None and not 2 <= worst <= topics:
        raise UsageError(f"discriminative_power: worst == {worst}, must be from 2 to {topics}, the number of topics")


def _differences_of_means(values: Array, first: Index64, second: Index64, drawn: Index64, summary: str) -> Array:
    """resamples × pairs. A mean is a matrix product: how often each topic was drawn, times the scores."""
    n = len(values)
    scores = np.log(np.maximum(values, GMEAN_FLOOR)) if summary == "gmean" else values
    samples = []
    for side in drawn:
        row = np.arange(len(side))[:, None] * (2 * n)
        times = np.bincount((side + row).ravel(), minlength=len(side) * 2 * n).reshape(len(side), 2 * n) / n
        mean = (times[:, :n] @ scores)[:, first] + (times[:, n:] @ scores)[:, second]
        samples.append(np.exp(mean) if summary == "gmean" else mean)
    return np.asarray(samples[0] - samples[1])


BORDERLINE = "Δ: the difference at which a pair becomes significant, the largest over pairs (Sakai 2007 Fig. 7)"
TUKEY_SOURCE = " (Sakai 2013 Fig. 5)"
"""Where the smallest significant difference comes from; the paper uses it with this test only."""
"""How the difference that a significant result needs is estimated."""


@dataclass(frozen=True, eq=False, repr=False)
class DiscriminativePower(Record):
    """Which pairs of systems differ significantly by each measure. Arrays are measures × pairs."""

    figure = "power_figure"
    facts = ("test", "alpha", "topics", "resamples", "seed", "asl_rule")

    measures: tuple[str, ...]
    systems: tuple[str, ...]
    first: Index64
    second: Index64
    """The systems of each pair."""
    difference: Array
    """Mean of the first system minus mean of the second."""
    p: Array
    differ: NDArray[np.bool_]
    """The pair differs significantly."""
    delta: Array
    """For each measure, the difference that a significant result needs; NaN if unknown."""
    test: str
    simultaneous: bool
    alpha: float
    topics: int
    resamples: int | None
    seed: int | None
    asl_rule: str
    """`plus-one`: significant if p ≤ α; `seed`: if p = hits / B < α."""
    notes: tuple[str, ...]

    @property
    def significant(self) -> Index64:
        """For each measure, the number of pairs that differ."""
        return np.asarray(self.differ.sum(axis=1), dtype=np.int64)

    @property
    def share(self) -> Array:
        """For each measure, its discriminative power: the share of pairs that differ."""
        return np.asarray(self.differ.mean(axis=1))

    def p_of(self, measure: str) -> Array:
        """The p-values of all pairs by one measure."""
        return np.asarray(self.p[index_of(measure, self.measures, "measure")])

    def columns(self) -> Columns:
        """measure, pairs, significant, share, delta; the most discriminative measure first."""
        order = self._order()
        return {
            "measure": labels(self.measures)[order],
            "pairs": np.full(len(order), len(self.first)),
            "significant": self.significant[order],
            "share": self.share[order],
            "delta": self.delta[order],
        }

    def pairs(self) -> Columns:
        """measure, system, other, difference, p, significant: every pair by every measure."""
        arrays = {"difference": self.difference, "p": self.p, "significant": self.differ}
        columns = crossed({"measure": self.measures, "pair": range(len(self.first))}, arrays)
        pair, names = columns.pop("pair"), labels(self.systems)
        systems = {"system": names[self.first[pair]], "other": names[self.second[pair]]}
        return {"measure": columns.pop("measure"), **systems, **columns}

    def asl(self) -> Columns:
        """measure, pair, p: each measure's p-values in ascending order (Sakai 2014 Fig. 16)."""
        order = self._order()
        pairs = np.arange(1, len(self.first) + 1)
        return crossed({"measure": labels(self.measures)[order], "pair": pairs}, {"p": np.sort(self.p[order], axis=1)})

    def common(self) -> Index64:
        """measures × measures: the number of pairs that differ by both; on the diagonal, by the measure itself."""
        differ = self.differ.astype(np.float64)  # exact for counts, and matrix products are fast
        return np.asarray(differ @ differ.T, dtype=np.int64)

    def _order(self) -> NDArray[np.intp]:
        return np.argsort(-self.significant, kind="stable")

    def _metadata(self) -> dict[str, Any]:
        return {**super()._metadata(), "systems": len(self.systems)}

    def table(self, digits: int | None = None) -> Table:
        """Significant pairs, discriminative power and Δ needed, best first.

        As Sakai 2007 Table 4 and Sakai 2013 Tables 2 and 3: Δ to two significant figures and the share to one decimal,
        or both to `digits` decimals.
        """
        rows: list[tuple[Cell, ...]] = []
        for name, pairs, significant, share, delta in entries_of(self.columns()):
            needed = two_figures(delta) if digits is None or math.isnan(delta) else f"{delta:.{digits}f}"
            power = f"{100 * share:.{1 if digits is None else digits}f}%"
            rows.append((name, f"{significant}/{pairs}", power, needed))
        heads = headings("text", "measure", "significant pairs", "discriminative power", "Δ needed")
        return Table(heads, tuple(rows), "Discriminative power", self.notes)

    def data(self) -> Table:
        """The same as plain numbers, for data formats."""
        return super().table()

    def overlap(self) -> Table:
        """`13/38/5`: pairs different by the row's measure only, by both, by the column's only (Sakai 2013 Table 4)."""
        both = self.common()

        def cell(i: int, j: int) -> str:
            return f"{both[i, i] - both[i, j]}/{both[i, j]}/{both[j, j] - both[i, j]}"

        note = "a/b/c: a pairs differ only by the measure of the row, b by both, c only by that of the column"
        return upper_triangle(self.measures, cell, "Significantly different pairs", (note, *self.notes))

    def overlap_data(self) -> Table:
        """The same with a row per pair of measures, for data formats."""
        both = self.common()
        i, j = np.triu_indices(len(self.measures), 1)
        names = labels(self.measures)
        columns: Columns = {"measure": names[i], "other": names[j]}
        columns |= {"only measure": both[i, i] - both[i, j], "both": both[i, j], "only other": both[j, j] - both[i, j]}
        return table_of(columns, notes=self.notes)

    def pair_table(self) -> Table:
        return table_of(self.pairs(), notes=self.notes)

    def asl_table(self) -> Table:
        return table_of(self.asl(), notes=self.notes)


def default_resamples(test: str) -> int:
    """B of Sakai 2013 §5.1: 5,000 for the randomised Tukey test, 1,000 for the bootstrap and here for other tests.

    >>> default_resamples("randomised-tukey"), default_resamples("bootstrap")
    (5000, 1000)
    """
    return 5_000 if test == "randomised-tukey" else 1_000


@takes_runs
@operation
def discriminative_power(
    scores: Scores,
    measures: MeasuresLike | None = None,
    *,
    test: Annotated[
        str | None,
        about(
            "The significance test: {names}; default: bootstrap, or unpaired-bootstrap with --statistic.",
            names="comparison.pair_tests:TESTS",
            spelled="--test, -t TEST",
        ),
    ] = None,
    statistic: Annotated[
        str,
        about(
            "Compare runs by this summary of their topics: {names} (the area under the mean of the x worst topics).",
            choices=SUMMARIES,
            rare=True,
        ),
    ] = "mean",
    worst: Annotated[
        int | None,
        about("For area: the number of worst topics; default: a quarter of the topics.", solves="worst=", rare=True),
    ] = None,
    alpha: Alpha = 0.05,
    resamples: Annotated[
        int | None,
        about(
            "Number of resamples, for tests that resample; default: 1000, and 5000 for randomised-tukey.", **RESAMPLES
        ),
    ] = None,
    seed: Seed = 0,
    asl: Asl = "plus-one",
    threads: Threads = None,
    progress: Progress | None = None,
) -> DiscriminativePower:
    r"""How many pairs of systems differ significantly by each measure, and which difference that needs.

    .. math:: \text{discriminative power} = |\{(X, Y) \in C : p_{XY} \le \alpha\}| / |C|

    `test` is any test of `compare`: bootstrap (the default), randomised-tukey, t, randomisation, wilcoxon, tukey, ...
    `statistic` is the summary of topics that systems are compared by; the geometric mean (`gmean`), the `median` and
    the `area` of the `worst` topics need the test `unpaired-bootstrap`, which is then the default. Tests of single
    pairs are not corrected for multiple comparisons: measures are compared at the same error rate per pair. With the
    bootstrap, the difference needed is |w̄*| of the resample with the Bα-th largest |t(w*)|, the maximum over pairs
    (Sakai 2007 Fig. 7, Sakai 2013 Fig. 3); with other tests, the smallest significant one (Sakai 2013 Fig. 5). All
    measures share the same resamples: by default 5,000 for randomised-tukey, else 1,000 (Sakai 2013 §5.1).
    Topics with an undefined score are left out for all measures.
    A pair differs if p = (1 + hits) / (1 + B) ≤ α; with `asl="share"`, if ASL = hits / B < α, as in Sakai's papers.

    Discriminative power is about consistency over topics; it does not show that a measure measures the right thing.
    References: Sakai, SIGIR 2006, doi:10.1145/1148170.1148261; Sakai 2014 §5.1, Sakai 2007 §4.3, Sakai 2013 §4.1

    >>> rng = np.random.default_rng(0)
    >>> steady = np.array([0.2, 0.4, 0.6])[:, None] + rng.normal(0, 0.05, (3, 20))
    >>> noisy = np.array([0.2, 0.4, 0.6])[:, None] + rng.normal(0, 0.5, (3, 20))
    >>> scores = Scores(["noisy", "steady"], ["a", "b", "c"], map(str, range(20)), [noisy, steady])
    >>> discriminative_power(scores).significant.tolist()
    [0, 3]
    """
    if worst is not None and statistic != "area":
        raise check.wrong("discriminative_power", "worst", worst, "left out unless statistic is 'area'")
    if statistic == "mean":
        pair_test = TESTS.find(test or "bootstrap")
    elif test in (None, UNPAIRED):
        pair_test = summary_test(statistic, worst)
    else:
        raise UsageError(
            f"discriminative_power: test == {test!r} compares means; for statistic == {statistic!r} leave it out, or "
            f"give {UNPAIRED!r}"
        )
    resamples = default_resamples(pair_test.name) if resamples is None else resamples
    check_asl("discriminative_power", asl, pair_test.name, pair_test.resampling)
    complete = CompleteScores.of(scores, "discriminative_power", measures, least_measures=1)
    check_topics(len(complete.topics), 2, "discriminative power")
    check_area(statistic, worst, len(complete.topics))
    first, second = (side.astype(np.int64) for side in np.triu_indices(len(complete.runs), 1))
    count = len(complete.measures)
    results = []
    for i, name in enumerate(complete.measures):
        matrix = Matrix(
            np.ascontiguousarray(complete.sign[i] * complete.values[i].T), complete.topics, complete.runs, name
        )
        part = None if progress is None else part_of(progress, i, count)
        settings = TestSettings(alpha=alpha, resamples=resamples, seed=seed, threads=threads, progress=part)
        of_system = summarised(matrix.values.T, statistic, worst=worst)
        results.append(_test_measure(matrix, of_system, first, second, pair_test, settings, alpha, asl))
        report(progress, (i + 1) * resamples, count * resamples)
    difference, p, differ, delta, exact, test_notes = zip(*results, strict=True)
    drawn = pair_test.resampling and not all(exact)
    asl_rule = asl if drawn else "plus-one"
    rule = "p ≤ α" if asl_rule == "plus-one" else "ASL = hits / B < α"
    draws = f", B = {resamples:,}, seed {seed}" if drawn else ""
    notes = [
        method_note(
            f"{pair_test.name} test at α = {alpha:g} ({rule}{draws}); {len(complete.runs)} systems, "
            f"{len(first):,} pairs, "
            f"{len(complete.topics)} topics"
        )
    ]
    error = f"family-wise error {1 - (1 - alpha) ** len(first):.4g} (1 − (1 − α)^k)"
    if statistic != "mean":
        how_many = f", for x up to {worst or len(complete.topics) // 4}" if statistic == "area" else ""
        notes.append(SUMMARY_NAMES[statistic] + how_many)
        notes += geometric_cautions(complete.measures) if statistic == "gmean" else []
    together = pair_test.simultaneous
    notes.append(
        method_note("p is for all pairs together")
        if together
        else caution_note(f"p pair by pair, not corrected: {error}")
    )
    source = TUKEY_SOURCE if pair_test.name == "randomised-tukey" else ""
    observed = f"Δ: smallest significant difference of {PLURALS[statistic]}{source}"
    notes += [BORDERLINE if pair_test.name == "bootstrap" else observed, *complete.notes]
    same = [name for i, name in enumerate(complete.measures) if not np.ptp(complete.values[i], axis=0).any()]
    if same:
        notes.append(caution_note(f"all systems score the same on every topic by {', '.join(same)}: no pair differs"))
    notes += dict.fromkeys(note for notes_of_test in test_notes for note in notes_of_test)
    arrays = (np.stack(difference), np.stack(p), np.stack(differ), np.array(delta))
    return DiscriminativePower(
        complete.measures, complete.runs, first, second, *arrays, pair_test.name, pair_test.simultaneous, alpha,
        len(complete.topics), resamples if drawn else None, seed if drawn else None, asl_rule, tuple(notes),
    )  # fmt: skip


def _test_measure(
    matrix: Matrix, of_system: Array, first: Index64, second: Index64, test: PairTest, settings: TestSettings,
    alpha: float, asl: str,
) -> tuple[Array, Array, NDArray[np.bool_], float, bool, tuple[str, ...]]:  # fmt: skip
    """The difference, p and significance of each pair by one measure; Δ; whether p is exact; and notes."""
    difference = of_system[first] - of_system[second]
    exact, border = False, None
    if test.name == "bootstrap":
        borderline = bootstrap_borderline(matrix, first, second, settings)
        p, border, notes = borderline.p, borderline.difference, borderline.notes
    else:
        tests = test.run(matrix, first, second, settings)
        if tests.resamples is not None and tests.resamples < settings.resamples:
            # Stopped by Ctrl-C: measures that were tested with different numbers of resamples cannot be compared.
            raise KeyboardInterrupt
        p, exact, notes = tests.p, tests.exact, tests.notes
    if asl == "share" and not exact:
        p = np.round(p * (1 + settings.resamples) - 1) / settings.resamples
        differ = p < alpha - 1e-12
    else:
        differ = p <= alpha + 1e-12
    needed = np.abs(difference[differ]).min(initial=math.inf) if border is None else border.max()
    # 0 if all systems score the same: then no difference varies, and Δ is unknown.
    delta = float(needed) if 0 < needed < math.inf else math.nan
    return np.asarray(difference), p, np.asarray(differ), delta, exact, notes


def two_figures(value: float) -> str:
    """Rounded to two significant figures; a dash for NaN.

    >>> two_figures(0.1849), two_figures(0.0996), two_figures(0.2), two_figures(12.3), two_figures(math.nan)
    ('0.18', '0.10', '0.20', '12', '-')
    """
    if math.isnan(value) or value == 0:
        return "-" if math.isnan(value) else "0"
    rounded = float(f"{value:.1e}")
    return f"{rounded:.{max(0, 1 - math.floor(math.log10(abs(rounded))))}f}"

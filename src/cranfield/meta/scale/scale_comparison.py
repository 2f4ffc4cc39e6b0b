"""Compare systems on several scales, by tests that need more of a scale or less: which verdicts depend on that?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.lists import Assessed
from cranfield.comparison.compare import compare
from cranfield.comparison.corrections import CorrectionName
from cranfield.comparison.data import Baseline, noise
from cranfield.comparison.pair_tests import TESTS, Family
from cranfield.comparison.resampling import TestResamples, Threads
from cranfield.declared.operation import Alpha, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike, as_measures, score
from cranfield.measures.naming.parse import parse
from cranfield.measures.property_tables import STEPS, better_of, properties_of, scale_of
from cranfield.meta.scale.conclusions import INTERVAL, ORIGINAL, RANKS, interval_scores, rank_scores
from cranfield.notes import caution_note, method_note
from cranfield.record import Columns, Record
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Table, headings
from cranfield.text import counted, listed
from cranfield.types import Array, Progress

WITHIN_TOPICS = ("sign", "friedman")
"""The tests that use only the order of systems on each topic."""
SCALE_TESTS = ("t", "wilcoxon", "sign")
"""A test of means, one of the ranks of differences, and one that needs only the order on each topic."""
VERDICTS = {1: ">", -1: "<", 0: "="}
MOST_NAMED = 12
"""The most pairs that a note names."""


@dataclass(frozen=True, eq=False, repr=False)
class ScaleComparison(Record):
    """The verdict about each pair on each scale by each test; a row per pair and measure."""

    facts = ("scales", "tests", "alpha", "defaults")

    measure: NDArray[Any]
    system: NDArray[Any]
    """The system with the better mean score."""
    other: NDArray[Any]
    scales: tuple[str, ...]
    """`scores`, then those that the scores were turned into: `interval`, `ranks`."""
    tests: tuple[str, ...]
    difference: Array
    """scales × rows: mean of `system` minus mean of `other`, above 0 if `system` is better."""
    p: Array
    """scales × tests × rows, after the correction for all pairs of a measure."""
    verdict: NDArray[np.int64]
    """scales × tests × rows: 1 if `system` is significantly better, −1 if `other` is, else 0."""
    default: NDArray[np.int64]
    """2 × rows: the scale and the test whose verdict holds with the fewest assumptions that are not met."""
    alpha: float
    notes: tuple[str, ...]

    @property
    def defaults(self) -> dict[str, str]:
        """{measure: the test and the scale of its default verdict}."""
        places = zip(self.measure.tolist(), *self.default.tolist(), strict=True)
        return {name: f"{self.tests[test]} of {self.scales[scale]}" for name, scale, test in places}

    @property
    def depends(self) -> NDArray[np.bool_]:
        """Whether the verdict about a pair depends on the scale or the test."""
        return np.asarray((self.verdict != self.verdict[0, 0]).any(axis=(0, 1)))

    @property
    def default_verdict(self) -> NDArray[np.int64]:
        """1 if `system` is significantly better by the default, −1 if `other` is, else 0."""
        return np.asarray(self.verdict[self.default[0], self.default[1], np.arange(len(self.measure))])

    def columns(self) -> Columns:
        """measure, system, other, default verdict, and difference, p and verdict on each scale; depends."""
        columns: Columns = {"measure": self.measure, "system": self.system, "other": self.other}
        columns["default"] = words_of(self.default_verdict)
        for s, scale in enumerate(self.scales):
            columns[f"difference ({scale})"] = self.difference[s]
            for t, test in enumerate(self.tests):
                columns[f"p ({test}, {scale})"] = self.p[s, t]
                columns[f"verdict ({test}, {scale})"] = words_of(self.verdict[s, t])
        return {**columns, "depends": self.depends}

    def shown_choices(self) -> list[tuple[str, int, int]]:
        """The choices of test and scale with their headings; a test of the order on each topic is the same on all."""
        choices = [
            (f"{test}, {scale}", s, t)
            for t, test in enumerate(self.tests)
            for s, scale in enumerate(self.scales)
            if test not in WITHIN_TOPICS
        ]
        return [*choices, *((f"{test}, any scale", 0, t) for t, test in enumerate(self.tests) if test in WITHIN_TOPICS)]

    def summary(self) -> Table:
        """A row per measure and choice: pairs that differ, and pairs whose verdict is not that of the default."""
        rows: list[tuple[Cell, ...]] = []
        for name in dict.fromkeys(self.measure.tolist()):
            mine = self.measure == name
            place = tuple(self.default[:, mine][:, 0].tolist())
            for heading, s, t in self.shown_choices():
                verdict, usual = self.verdict[s, t, mine], self.default_verdict[mine]
                counts = (
                    verdict != 0,
                    (usual != 0) & (verdict == 0),
                    (usual == 0) & (verdict != 0),
                    verdict * usual < 0,
                )
                is_default = (s, t) == place or (self.tests[t] in WITHIN_TOPICS and t == place[1])
                rows.append(
                    (name, heading, "yes" if is_default else "", int(mine.sum()), *(int(x.sum()) for x in counts))
                )
        heads = (
            *headings("text", "measure", "choice", "default"),
            *headings("count", "pairs", "differ", "lost", "gained", "reversed"),
        )
        return Table(heads, tuple(rows), "Verdicts by scale and test", self.notes)

    def table(self) -> Table:
        """The pairs whose verdict depends on the choice: > if the first is significantly better, < the second, = no."""
        choices = self.shown_choices()
        rows: list[tuple[Cell, ...]] = []
        for i in np.flatnonzero(self.depends).tolist():
            cells = [VERDICTS[int(self.verdict[s, t, i])] for _, s, t in choices]
            default = VERDICTS[int(self.default_verdict[i])]
            rows.append((self.measure[i], self.system[i], self.other[i], default, *cells))
        heads = headings("text", "measure", "system", "other", "default", *(heading for heading, _, _ in choices))
        caption = f"Pairs whose verdict depends on the choice: {len(rows):,} of {len(self.measure):,}"
        return Table(heads, tuple(rows), caption, self.notes)


def words_of(verdict: NDArray[np.int64]) -> NDArray[Any]:
    """The verdicts as signs: >, < or =."""
    return np.array([VERDICTS[int(each)] for each in verdict], dtype=object)


@operation
def compare_scales(
    lists: Assessed | Scores,
    measures: MeasuresLike | None = None,
    *,
    tests: Annotated[
        Sequence[str], about("The significance tests: {names}.", names="comparison.pair_tests:TESTS")
    ] = SCALE_TESTS,
    baseline: Baseline = None,
    correction: CorrectionName = None,
    alpha: Alpha = 0.05,
    missing: str = "zero",
    resamples: TestResamples = 10_000,
    seed: Seed = 0,
    threads: Threads = None,
    progress: Progress | None = None,
) -> ScaleComparison:
    r"""Compare every pair on the scores, on their interval scale and on their ranks, by several tests.

    A mean needs equal steps, a rank test of differences nearly as much, and the sign test only says which system is
    better on each topic (Ferro & Maistro 2024 §7.5). `interval_scores` makes steps equal and `rank_scores` replaces all
    scores by their ranks. `lists` are joined runs and judgments; from `Scores` alone there is no interval scale.

    A verdict is that a system is significantly better, or that there is no evidence. The default of each measure is

    1. the first test on the scores, if the measure is on an interval scale that all topics share;
    2. the first test on the interval scale, if all topics share that one;
    3. otherwise the sign test (or Friedman's, if it is among `tests`): the scales of topics cannot be compared, because
       a step depends on the number of relevant documents or on the length of the list, and this test is the same
       under every increasing transformation of the scores of a topic.

    References: Ferro & Maistro 2024 §7.5–7.8; Ferrante, Ferro & Fuhr, IEEE Access 9, 2021; Moffat, IEEE Access 10, 2022
    (against it)

    >>> values = [[0.1, 0.3], [0.2, 0.5], [0.3, 0.35], [0.1, 0.9], [0.2, 0.25], [0.4, 0.6]]
    >>> result = compare_scales(Scores.from_matrix(values, ["a", "b"], measure="AP"))
    >>> result.verdict[0].ravel().tolist(), result.defaults  # b is better on all topics
    ([0, 1, 1], {'AP': 'sign of scores'})
    """
    chosen = [TESTS.find(name).name for name in ([tests] if isinstance(tests, str) else tests)]
    within = next((name for name in WITHIN_TOPICS if name in chosen), None)
    if within is None:
        raise UsageError(
            f"tests == {list(tests)!r}, must have one of {listed(WITHIN_TOPICS)}, which need only an order"
        )
    scores, interval, notes = _on_scales(lists, measures, missing, progress)
    shared = {name: scale_differs(lists, name) for name in scores.measures}
    parts = {ORIGINAL: scores, **({} if interval is None else {INTERVAL: interval}), RANKS: rank_scores(scores)}
    settings: dict[str, Any] = {"correction": None, "alpha": alpha, "baseline": baseline, "direction": "given"}
    settings |= {"resamples": resamples, "seed": seed, "threads": threads}
    families: list[list[list[Family]]] = [
        [
            [
                compare(data, name, test=test, **settings | _correction(correction, test)).families[0]
                for name in data.measures
            ]
            for test in chosen
        ]
        for data in parts.values()
    ]
    # The sign that makes a difference positive if the first system of a pair is better.
    turned = [[-1.0 if better_of(name) == "lower" else 1.0 for name in scores.measures]]
    turned += [[1.0] * len(scores.measures)] * (len(parts) - 1)
    first = families[0][0]
    difference = np.stack([
        np.concatenate([sign * settled(family) for sign, family in zip(signs, of_scale[0], strict=True)])
        for signs, of_scale in zip(turned, families, strict=True)
    ])  # fmt: skip
    p = np.array([[np.concatenate([family.adjusted for family in row]) for row in of_scale] for of_scale in families])
    verdict = np.array([
        [
            np.concatenate([
                np.where(family.differ(alpha), sign * family.direction, 0)
                for sign, family in zip(signs, row, strict=True)
            ])
            for row in of_scale
        ]
        for signs, of_scale in zip(turned, families, strict=True)
    ]).astype(np.int64)  # fmt: skip
    flip = (difference[0] < 0) & (baseline is None)
    names = np.array(scores.runs, dtype=object)
    one = np.concatenate([np.array(f.matrix.systems, dtype=object)[f.first] for f in first]) if first else names[:0]
    two = np.concatenate([np.array(f.matrix.systems, dtype=object)[f.second] for f in first]) if first else names[:0]
    measure = np.concatenate([np.full(len(f.first), f.matrix.measure, dtype=object) for f in first])
    places = {name: _default(name, shared[name], tuple(parts), chosen, within) for name in scores.measures}
    default = np.array([places[name] for name in measure.tolist()], dtype=np.int64).reshape(-1, 2).T
    result = ScaleComparison(
        measure,
        np.where(flip, two, one),
        np.where(flip, one, two),
        tuple(parts),
        tuple(chosen),
        np.where(flip, -difference, difference),
        p,
        np.where(flip, -verdict, verdict),
        default,
        alpha,
        (),
    )
    notes = [
        *_sharing(shared),
        *_naming(result),
        *notes,
        *dict.fromkeys(note for family in first for note in family.matrix.notes),
        method_note(f"tests: {listed(chosen)}, each corrected over the pairs of a measure; α = {alpha:g}"),
        method_note(
            "> the first is significantly better, < the second is, = neither; lost, gained: beside the default"
        ),
    ]
    return ScaleComparison(**{**vars(result), "notes": tuple(dict.fromkeys(notes))})


def settled(family: Family) -> Array:
    """The differences of means, 0 where only rounding keeps them from it."""
    return np.where(np.abs(family.difference) <= noise(family.matrix.values), 0.0, family.difference)


def _correction(correction: str | None, test: str) -> dict[str, Any]:
    """The correction, except for a test of all pairs together, which needs none."""
    return {"correction": None if TESTS.find(test).simultaneous else correction}


def _on_scales(
    lists: Assessed | Scores, measures: MeasuresLike | None, missing: str, progress: Progress | None
) -> tuple[Scores, Scores | None, list[str]]:
    """The scores, the same on an interval scale, and why there is none."""
    if isinstance(lists, Scores):
        scores = lists if measures is None else lists.select(measures=[str(each) for each in as_measures(measures)])
        return scores, None, ["no interval scale: it needs judgments and runs"]
    chosen = as_measures(measures)
    scores = score(lists, chosen, missing=missing)
    try:
        return scores, interval_scores(lists, chosen, missing=missing, progress=progress), []
    except UsageError as error:
        return scores, None, [f"no interval scale: {error}"]


def scale_differs(lists: Assessed | Scores, name: str) -> str:
    """Why the scales of topics differ, so that a step is not the same on all of them; empty if they do not.

    >>> one = Assessed.one([1, 0, 1])
    >>> scale_differs(one, "AP"), scale_differs(one, "P@2")
    ('', '')
    >>> scale_differs(Scores.from_matrix([[0.2, 0.4]], measure="AP"), "AP")
    'the numbers of relevant documents may differ, as judgments would show'
    """
    try:
        measure = parse(name)
    except UsageError:
        return "it is not known what the scores measure"
    reasons = []
    if not measure.properties.recall_free:
        if isinstance(lists, Scores):
            reasons.append("the numbers of relevant documents may differ, as judgments would show")
        else:
            grade = lists.judged.grade
            counts = [lists.judged.count(grade == each) for each in np.unique(grade[grade > 0])]
            if any((count != count[:1]).any() for count in counts):
                relevant = np.sum(counts, axis=0)
                reasons.append(f"topics have {_span(relevant[relevant > 0])} relevant documents")
    if "length" in properties_of(measure).step and measure.cutoff is None:
        if isinstance(lists, Scores):
            reasons.append("the lengths of lists may differ, as runs would show")
        elif len(lists.retrieved) and (lists.retrieved != lists.retrieved[0]).any():
            reasons.append(f"lists have {_span(lists.retrieved)} documents")
    return " and ".join(reasons)


def _span(counts: Any) -> str:
    low, high = int(np.min(counts)), int(np.max(counts))
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _default(name: str, differs: str, scales: tuple[str, ...], tests: Sequence[str], within: str) -> tuple[int, int]:
    """The scale and the test whose verdict needs the fewest assumptions that are not met, see `compare_scales`."""
    scale = scale_of(name)
    if not differs and scale.kind in ("interval", "ratio") and set(scale.conditions) <= set(STEPS.values()):
        return 0, 0
    if not differs and INTERVAL in scales:
        return scales.index(INTERVAL), 0
    return 0, tests.index(within)


def _sharing(shared: dict[str, str]) -> list[str]:
    """One caution about all measures whose scales differ between topics."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in shared.items():
        if reason:
            by_reason.setdefault(reason, []).append(name)
    if not by_reason:
        return []
    said = "; ".join(f"{listed(names)}: {reason}" for reason, names in by_reason.items())
    return [
        caution_note(
            f"the scales of topics cannot be compared ({said}), so a step is not worth the same on all topics; the "
            "default uses only which system is better on each topic"
        )
    ]


def _naming(result: ScaleComparison) -> list[str]:
    """How many verdicts depend on the choice, and of which pairs."""
    several = len(dict.fromkeys(result.measure.tolist())) > 1
    where = np.flatnonzero(result.depends)
    pairs = [
        f"{result.system[i]} and {result.other[i]}" + (f" ({result.measure[i]})" if several else "")
        for i in where.tolist()
    ]
    verb = "depends" if len(pairs) == 1 else "depend"
    said = f"{len(pairs):,} of {counted(len(result.measure), 'verdict')} {verb} on the choice"
    if not pairs:
        return [f"no verdict depends on the scale or the test ({counted(len(result.measure), 'pair')})"]
    return [f"{said}: {listed(pairs, most=MOST_NAMED, noun='pairs')}"]

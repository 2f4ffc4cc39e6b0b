"""Compare two experiments: a baseline, optionally an advanced run, and the repetition of both.

A *replication* uses the same collection and can be compared topic by topic; a *reproduction* uses another one, so that
only effects and distributions can be compared. (These are the terms of Breuer et al. 2020; the ACM's current terms,
which the repro_eval tool follows, are the other way round.)

References: Breuer et al., SIGIR 2020, 349-358, doi:10.1145/3397271.3401036; overview: Ferro & Maistro 2024 §8
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from cranfield import check
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.comparison.data import noise, paired, sample
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike, evaluate
from cranfield.frames import need
from cranfield.meta.agreement.overlap import rbo
from cranfield.notes import caution_note, method_note
from cranfield.record import Columns, Record, columns_of, table_of
from cranfield.scores.basis import CHANGES, warn_of_unlike
from cranfield.scores.scores import Scores
from cranfield.table import Table, headings
from cranfield.types import Array

UNIONS = ("rank", "id")
"""How to number the documents of two lists: those of the first list, then those only in the second; or by id."""
Persistence = Annotated[
    float, about("Persistence of rank-biased overlap.", above=0, below=1, spelled="--persistence, -p P", rare=True)
]
Union = Annotated[
    str,
    about(
        "Number documents for Kendall's tau by {names} (as repro_eval).",
        choices=UNIONS, spelled="--union RULE", rare=True,
    ),
]  # fmt: skip
Depth = Annotated[int | None, about("Compare only the first N documents of each list.", least=1)]


def tau_union(original: Sequence[Any], again: Sequence[Any], *, union: str = "rank") -> float:
    r"""Kendall's τ of two ranked lists that may hold different documents.

    Number the documents of both lists: those of the first list in its order, then those that only the second has, in
    its order. Each list then is a list of numbers, and τ is computed from the two lists of numbers. Lists of different
    lengths are compared down to the end of the shorter one. `union="id"` numbers documents in the order of their ids,
    as the repro_eval tool does; the result then depends on the ids. NaN below two ranks.

    (1, 2, 3) against (1, 2, 4), and against (1, 4, 2), where one of three pairs is reversed:

    >>> tau_union(["d1", "d2", "d3"], ["d1", "d2", "d4"]), round(tau_union(["d1", "d2", "d3"], ["d1", "d4", "d2"]), 4)
    (1.0, 0.3333)
    """
    check.one_of("tau_union", UNIONS, union=union)
    n = min(len(original), len(again))
    if n < 2:
        return float("nan")
    first, second = list(original[:n]), list(again[:n])
    documents = dict.fromkeys([*first, *second])
    number = {doc: i for i, doc in enumerate(sorted(documents) if union == "id" else documents)}
    x, y = ([number[doc] for doc in docs] for docs in (first, second))
    return float(need("scipy.stats", "tau_union").kendalltau(x, y).statistic)


def rmse(original: Any, again: Any) -> float:
    r"""The root mean square difference of two runs' scores, :math:`\sqrt{\frac1n \sum_t (x_t - x'_t)^2}`.

    Both are arrays of one length or {topic: score}; topics without a value are left out.

    >>> round(rmse([0.2, 0.4], [0.3, 0.4]), 4)
    0.0707
    """
    return float(np.sqrt(np.mean(paired(original, again).difference ** 2)))


def nrmse(original: Any, again: Any) -> float:
    r"""`rmse` as a share of the largest possible value, for measures between 0 and 1.

    .. math:: \sqrt{\sum_t (x_t - x'_t)^2 / \sum_t \max(x_t, 1 - x_t)^2}

    NaN if a score is not between 0 and 1. Reference: Maistro, Breuer, Schaer & Ferro, IPM 60(3), 2023

    >>> round(nrmse([0.0, 1.0], [1.0, 1.0]), 4), nrmse([3.0], [2.0])
    (0.7071, nan)
    """
    pair = paired(original, again)
    if min(pair.x.min(), pair.y.min()) < 0 or max(pair.x.max(), pair.y.max()) > 1:
        return float("nan")
    most = np.maximum(pair.x, 1 - pair.x)
    return float(np.sqrt((pair.difference**2).sum() / (most**2).sum()))


def effect_ratio(baseline: Any, advanced: Any, baseline_again: Any, advanced_again: Any) -> float:
    r"""The improvement over the baseline in the second experiment, divided by that in the first.

    .. math:: ER = \frac{\frac1{n'} \sum_t (a'_t - b'_t)}{\frac1n \sum_t (a_t - b_t)}

    1: the effect is equally large; between 0 and 1 smaller, above 1 larger; 0 or below: no effect. NaN if the first
    experiment has no effect. The two experiments may have different topics.

    >>> round(effect_ratio([0.2, 0.3], [0.4, 0.5], [0.2, 0.3, 0.4], [0.3, 0.4, 0.5]), 4)
    0.5
    """
    first = paired(advanced, baseline)
    before = float(first.difference.mean())
    after = float(paired(advanced_again, baseline_again).difference.mean())
    return after / before if abs(before) > noise(first.x, first.y) else float("nan")


def delta_ri(baseline: Any, advanced: Any, baseline_again: Any, advanced_again: Any) -> float:
    r"""The relative improvement in the first experiment minus that in the second.

    .. math:: \Delta RI = RI - RI', \qquad RI = \frac{\bar a - \bar b}{\bar b}

    0: both improve equally over their baselines; above 0: the second improves less. NaN if a baseline scores 0.

    >>> round(delta_ri([0.2, 0.2], [0.3, 0.3], [0.4, 0.4], [0.5, 0.5]), 4)
    0.25
    """
    return _relative_improvement(baseline, advanced) - _relative_improvement(baseline_again, advanced_again)


def _relative_improvement(baseline: Any, advanced: Any) -> float:
    pair = paired(advanced, baseline)
    base = float(pair.y.mean())
    return (float(pair.x.mean()) - base) / base if base else float("nan")


def p_value(original: Any, again: Any, *, same_topics: bool) -> float:
    """Do the scores of two runs differ? Student's t: paired on the same topics, else unpaired with pooled variance.

    A small p shows that they do, so that the second is not a replication; a large p shows little (Breuer et al. 2020).

    >>> round(p_value([0.2, 0.4, 0.3], [0.3, 0.6, 0.3], same_topics=True), 4)
    0.2254
    """
    from cranfield.comparison.methods.t import paired_t, unpaired_t

    result = paired_t(original, again) if same_topics else unpaired_t(original, again, equal_variance=True)
    return result.p


def mean_of(values: Any) -> float:
    """The mean of the defined values; NaN if there are none."""
    numbers = sample(values)
    defined = numbers[~np.isnan(numbers)]
    return float(defined.mean()) if len(defined) else float("nan")


FEW_COMMON = 0.5
"""If lists share a smaller part of their documents on average, a caution says so: τ union may still be near 1."""
BASELINE, ADVANCED = "baseline", "advanced"
UNDEFINED = (math.nan, math.nan)
PERFECT = {
    "replication": "identical: τ union 1, RBO 1, RMSE 0, ER 1, ΔRI 0; a small p shows that the scores differ",
    "reproduction": "the same effect: ER 1, ΔRI 0; a small p shows that the scores differ",
}
HEADINGS = {"role": "run", "tau": "τ union", "overlap": "RBO", "rmse": "RMSE", "nrmse": "nRMSE"}
HEADINGS |= {"effect_ratio": "ER", "delta_ri": "ΔRI"}
"""Names of columns in tables, where they differ."""


@dataclass(frozen=True, eq=False)
class Orders:
    """How alike the lists of a run and its replication are on each topic."""

    role: str
    topics: tuple[str, ...]
    tau: Array
    """Kendall's τ union; NaN for a list with fewer than two documents."""
    overlap: Array


@dataclass(frozen=True)
class Agreement:
    """The agreement of a run and its replication, or reproduction, by one measure; scores are means over topics."""

    measure: str
    role: str
    """`baseline` or `advanced`."""
    original: float
    again: float
    tau: float
    """The mean over topics; NaN for a reproduction, as for `overlap`."""
    overlap: float
    rmse: float
    nrmse: float
    p: float
    effect_ratio: float
    """The effect of the advanced run over the baseline; NaN for the baseline, as for `delta_ri`."""
    delta_ri: float
    topics: int
    """The number of topics on which the original run has a score."""


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction(Record):
    """How close a second experiment comes to the first, by every measure."""

    figure = "reproduction_figure"
    facts = ("kind", "runs")

    kind: str
    """`replication` (the same collection) or `reproduction` (another)."""
    runs: dict[str, tuple[str, str]]
    """For each role, the names of the original run and of its repetition."""
    agreements: tuple[Agreement, ...]
    orders: tuple[Orders, ...]
    """One per role; empty for a reproduction, and if only scores are known."""
    notes: tuple[str, ...]

    def __getitem__(self, measure_and_role: tuple[str, str]) -> Agreement:
        for agreement in self.agreements:
            if (agreement.measure, agreement.role) == measure_and_role:
                return agreement
        raise UsageError(f"no agreement of {measure_and_role[0]!r} for the {measure_and_role[1]!r} run")

    def columns(self) -> Columns:
        """measure, role, original, again, tau, overlap, rmse, nrmse, p, effect_ratio, delta_ri, topics."""
        return columns_of(self.agreements, Agreement)

    def table(self) -> Table:
        """A row per measure and run; columns without any value are left out."""
        shown = {
            HEADINGS.get(name, name): column
            for name, column in self.columns().items()
            if column.dtype.kind != "f" or not np.isnan(column).all() or name in ("original", "again")
        }
        runs = "; ".join(f"{role} {names[0]} and {names[1]}" for role, names in self.runs.items())
        return table_of(shown, caption=f"{self.kind}: {runs}", notes=self.notes)

    def topics(self) -> Table:
        """A row per run and topic: how alike the lists of documents are."""
        if not self.orders:
            raise UsageError("comparing lists topic by topic needs runs of the same collection, not only scores")
        rows = tuple(
            (order.role, topic, tau, overlap)
            for order in self.orders
            for topic, tau, overlap in zip(order.topics, order.tau.tolist(), order.overlap.tolist(), strict=True)
        )
        heads = (*headings("text", "run", "topic"), *headings("number", "τ union", "RBO"))
        return Table(heads, rows, notes=self.notes)


@operation
def reproduce(
    qrels: Any,
    baseline: tuple[Any, Any],
    advanced: tuple[Any, Any] | None = None,
    measures: MeasuresLike | None = None,
    *,
    other_qrels: Any = None,
    p: Persistence = 0.95,
    union: Union = "rank",
    depth: Depth = None,
    missing: str = "zero",
    order: str | None = None,
    ties: str = "z-a",
) -> Reproduction:
    """How close are runs to the runs that they replicate, or reproduce on another collection?

    `baseline` and `advanced` are pairs of the original run and its repetition. With `other_qrels`, the repetitions come
    from another collection and are evaluated with these judgments; then effects and distributions are compared, but not
    lists. Without `advanced` there is no effect to compare. Lists are compared down to `depth` (default: whole lists),
    by Kendall's τ union and by rank-biased overlap with persistence `p` (0.95 as in repro_eval).

    References: Breuer et al., SIGIR 2020, doi:10.1145/3397271.3401036; Ferro & Maistro 2024 §8

    >>> qrels = {"1": {"a": 1}, "2": {"b": 1}}
    >>> mine = {"1": {"a": 3, "b": 2, "c": 1}, "2": {"a": 3, "b": 2, "c": 1}}
    >>> yours = {"1": {"a": 3, "c": 2, "b": 1}, "2": {"a": 3, "b": 2, "d": 1}}
    >>> agreement = reproduce(qrels, (mine, yours), measures=["RR"])["RR", "baseline"]
    >>> round(agreement.tau, 4), agreement.rmse  # τ is 1/3 and 1
    (0.6667, 0.0)
    """
    pairs = {BASELINE: baseline, **({} if advanced is None else {ADVANCED: advanced})}
    for role, pair in pairs.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise UsageError(f"reproduce: {role} must be two runs, the original and its repetition")
    runs = {role: (Run.of(pair[0]), Run.of(pair[1])) for role, pair in pairs.items()}
    judged = Qrels.of(qrels)
    same = other_qrels is None
    before, after = (
        evaluate(
            judgments, {role: pair[i] for role, pair in runs.items()}, measures, missing=missing, order=order, ties=ties
        )
        for i, judgments in enumerate((judged, judged if same else Qrels.of(other_qrels)))
    )
    orders: list[Orders] = []
    notes: list[str] = []
    if same:
        ranked = {"order": order or "score", "ties": ties}
        orders += [_orders(role, *pair, p, union, depth, ranked, notes) for role, pair in runs.items()]
        rule = ", documents numbered by id" if union == "id" else ""
        cut = f"the first {depth} documents of each list" if depth else "whole lists"
        notes.append(method_note(f"τ union and RBO (p = {p:g}) of {cut}{rule}"))
    names = {role: (original.name, again.name) for role, (original, again) in runs.items()}
    return _reproduction(before, after, {role: (role, role) for role in runs}, names, same, tuple(orders), notes)


def reproduce_scores(
    original: Scores,
    again: Scores,
    baseline: tuple[str, str],
    advanced: tuple[str, str] | None = None,
    *,
    same_collection: bool = True,
) -> Reproduction:
    """As `reproduce`, from scores alone, so without comparing lists of documents.

    `baseline` and `advanced` name the run in `original` and the run in `again`, which may be the same scores.

    >>> values = [[0.2, 0.4, 0.2, 0.3], [0.4, 0.6, 0.3, 0.4]]
    >>> scores = Scores.from_matrix(values, ["b", "a", "b2", "a2"], measure="AP")
    >>> agreement = reproduce_scores(scores, scores, ("b", "b2"), ("a", "a2"))["AP", "advanced"]
    >>> round(agreement.effect_ratio, 4), round(agreement.delta_ri, 4)  # 0.1 of 0.2; 0.2/0.3 - 0.1/0.25
    (0.5, 0.2667)
    """
    names = {BASELINE: baseline, **({} if advanced is None else {ADVANCED: advanced})}
    before = original.select(runs=list(dict.fromkeys(pair[0] for pair in names.values())))
    after = again.select(measures=original.measures, runs=list(dict.fromkeys(pair[1] for pair in names.values())))
    kinds = CHANGES if same_collection else ("measures", "rules")
    unlike = warn_of_unlike(["the original", "the repetition"], [before.basis, after.basis], kinds)
    return _reproduction(before, after, names, names, same_collection, (), unlike)


def _orders(
    role: str,
    original: Run,
    again: Run,
    p: float,
    union: str,
    depth: int | None,
    ranked: dict[str, Any],
    notes: list[str],
) -> Orders:
    """Compare the lists of the topics that both runs have."""
    shared = [topic for topic in original.topics if topic in again]
    if not shared:
        raise UsageError(f"{original.name} and {again.name} have no topic in common")
    alone = len(original.topics) + len(again.topics) - 2 * len(shared)
    if alone:
        notes.append(
            caution_note(f"{role}: lists compared on {len(shared)} topics; {alone} left out that only one run has")
        )
    tau, overlap, common = np.empty((3, len(shared)))
    for i, topic in enumerate(shared):
        first, second = ([place.doc for place in run.ranking(topic, **ranked)[:depth]] for run in (original, again))
        tau[i] = tau_union(first, second, union=union)
        overlap[i] = rbo(first, second, p).extrapolated if first and second else 0.0
        common[i] = len(set(first) & set(second)) / max(len(first), len(second), 1)
    if common.mean() < FEW_COMMON:
        disjoint = int((common == 0).sum())
        none = f"; on {disjoint} of {len(shared)} they share none, which gives τ union = 1" if disjoint else ""
        notes.append(
            caution_note(
                f"caution: {role}: the lists share {100 * common.mean():.0f}% of their documents on "
                f"average{none}; τ union "
                "compares the order of documents, whichever they are, and RBO which documents are at the top"
            )
        )
    return Orders(role, tuple(shared), tau, overlap)


def _reproduction(
    before: Scores,
    after: Scores,
    columns: dict[str, tuple[str, str]],
    names: dict[str, tuple[str, str]],
    same: bool,
    orders: tuple[Orders, ...],
    notes: list[str],
) -> Reproduction:
    if same and set(before.topics) != set(after.topics):
        shared = len(set(before.topics) & set(after.topics))
        if not shared:
            way_out = "if they are on different collections, give other_qrels or same_collection=False"
            raise UsageError(f"the two experiments have no topic in common; {way_out}")
        notes.append(caution_note(f"scores compared on the {shared} topics that both experiments have"))
    agreements: list[Agreement] = []
    by_role = {order.role: order for order in orders}
    for measure in before.measures:
        values = {
            role: (_by_topic(before, measure, first), _by_topic(after, measure, second))
            for role, (first, second) in columns.items()
        }
        for role, (x, y) in values.items():
            original, again = mean_of(x), mean_of(y)
            order = by_role.get(role)
            alike = (mean_of(order.tau), mean_of(order.overlap)) if order else UNDEFINED
            errors = (rmse(x, y), nrmse(x, y)) if same else UNDEFINED
            topics = [sum(not math.isnan(value) for value in scores.values()) for scores in (x, y)]
            p = p_value(x, y, same_topics=same) if min(topics) > 1 else math.nan
            effects = UNDEFINED
            if role == ADVANCED:
                four = (values[BASELINE][0], x, values[BASELINE][1], y)
                effects = effect_ratio(*four), delta_ri(*four)
            agreements.append(Agreement(measure, role, original, again, *alike, *errors, p, *effects, topics[0]))
    notes.append(
        method_note(f"p: {'paired t test' if same else 'unpaired t test, pooled variance'} of original and repetition")
    )
    if same and any(math.isnan(agreement.nrmse) for agreement in agreements):
        notes.append("nRMSE is for measures between 0 and 1")
    if any(math.isnan(agreement.effect_ratio) for agreement in agreements if agreement.role == ADVANCED):
        notes.append("ER is undefined if the original runs score the same")
    kind = "replication" if same else "reproduction"
    all_notes = tuple(dict.fromkeys((*before.notes, *after.notes, *notes, PERFECT[kind])))
    return Reproduction(kind, names, tuple(agreements), orders, all_notes)


def _by_topic(scores: Scores, measure: str, run: str) -> dict[str, float]:
    """The scores of one run by one measure; a topic skipped as missing is NaN."""
    row = scores.values[scores.measures.index(measure), scores.runs.index(run)]
    return dict(zip(scores.topics, row.tolist(), strict=True))

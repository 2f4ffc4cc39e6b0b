"""One experiment against another: a baseline, perhaps an advanced run, and both again."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasureLike, evaluate
from cranfield.frames import Tidy
from cranfield.meta.agreement.overlap import rbo
from cranfield.meta.reproduction.reproducibility import delta_ri, effect_ratio, mean_of, nrmse, p_value, rmse, tau_union
from cranfield.scores.scores import Scores
from cranfield.table import Column, Table
from cranfield.types import Array

BASELINE, ADVANCED = "baseline", "advanced"
PERFECT = {
    "replication": "identical: τ union 1, RBO 1, RMSE 0, ER 1, ΔRI 0; a small p says that the scores differ",
    "reproduction": "the same effect: ER 1, ΔRI 0; a small p says that the scores differ",
}


@dataclass(frozen=True, eq=False)
class Orders:
    """How alike the lists of a run and its replication are, topic by topic."""

    role: str
    topics: tuple[str, ...]
    tau: Array
    """Kendall's τ union; NaN where a list has fewer than two documents."""
    overlap: Array
    """Rank-biased overlap."""


@dataclass(frozen=True)
class Agreement:
    """What one measure says of a run and its replication, or reproduction."""

    measure: str
    role: str
    """`baseline` or `advanced`."""
    original: float
    """The mean over topics, as `again`."""
    again: float
    tau: float
    """The mean over topics, as `overlap`; NaN for a reproduction."""
    overlap: float
    rmse: float
    nrmse: float
    p: float
    effect_ratio: float
    """Of the advanced run over the baseline, as `delta_ri`; NaN in the baseline's row."""
    delta_ri: float
    topics: int
    """On how many topics the original run has a score."""


@dataclass(frozen=True, eq=False)
class Reproduction(Tidy):
    """How close a second experiment comes to the first, by every measure."""

    kind: str
    """`replication` (the same collection) or `reproduction` (another)."""
    runs: dict[str, tuple[str, str]]
    """For each role the names of the original run and of its repetition."""
    agreements: tuple[Agreement, ...]
    orders: tuple[Orders, ...]
    """One per role; none for a reproduction, nor where only scores are known."""
    notes: tuple[str, ...]

    def __getitem__(self, measure_and_role: tuple[str, str]) -> Agreement:
        for one in self.agreements:
            if (one.measure, one.role) == measure_and_role:
                return one
        raise UsageError(f"nothing about {measure_and_role[0]!r} for the {measure_and_role[1]!r} run")

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, role, original, again, tau, overlap, rmse, nrmse, p, effect_ratio, delta_ri, topics."""
        kinds = {"measure": object, "role": object, "topics": np.int64}
        return {
            name: np.array([getattr(one, name) for one in self.agreements], dtype=kinds.get(name, np.float64))
            for name in Agreement.__dataclass_fields__
        }

    def _metadata(self) -> dict[str, Any]:
        return {"kind": self.kind, "runs": {role: list(names) for role, names in self.runs.items()}}

    def table(self) -> Table:
        """A row per measure and run; what cannot be told of such runs is left out."""
        headers = {
            "tau": Column("τ union", "number"),
            "overlap": Column("RBO", "number"),
            "rmse": Column("RMSE", "number"),
            "nrmse": Column("nRMSE", "number"),
            "p": Column("p", "probability"),
            "effect_ratio": Column("ER", "number"),
            "delta_ri": Column("ΔRI", "number"),
        }
        columns = self.columns()
        shown = [name for name in headers if not np.isnan(columns[name]).all()]
        rows = tuple(
            (one.measure, one.role, one.original, one.again, *(getattr(one, name) for name in shown), one.topics)
            for one in self.agreements
        )
        first = (Column("measure"), Column("run"), Column("original", "number"), Column("again", "number"))
        heads = (*first, *(headers[name] for name in shown), Column("topics", "count"))
        told = "; ".join(f"{role} {names[0]} and {names[1]}" for role, names in self.runs.items())
        return Table(heads, rows, caption=f"{self.kind}: {told}", notes=self.notes)

    def topics(self) -> Table:
        """Every topic: how alike the lists of documents are."""
        if not self.orders:
            raise UsageError("lists can be compared topic by topic where runs of the same collection are given")
        rows = tuple(
            (one.role, topic, tau, overlap)
            for one in self.orders
            for topic, tau, overlap in zip(one.topics, one.tau.tolist(), one.overlap.tolist(), strict=True)
        )
        heads = (Column("run"), Column("topic"), Column("τ union", "number"), Column("RBO", "number"))
        return Table(heads, rows, notes=self.notes)

    def __str__(self) -> str:
        return self.table().text()

    __repr__ = __str__


def reproduce(
    qrels: Any,
    baseline: tuple[Any, Any],
    advanced: tuple[Any, Any] | None = None,
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    other_qrels: Any = None,
    p: float = 0.95,
    union: str = "rank",
    depth: int | None = None,
    missing: str = "zero",
    order: str | None = None,
) -> Reproduction:
    """How close do runs come to the ones that they are to replicate, or to reproduce on another collection?

    `baseline` and `advanced` are pairs: the original run and the same run again. With `other_qrels` the second of each
    was made on another collection, and is judged by these; effects and distributions are then compared, not lists.
    Without `advanced` there is no effect to compare. Lists are compared down to `depth` (all of them if left out), by
    Kendall's τ union and by rank-biased overlap with persistence `p` (0.95 as in repro_eval).

    References: Breuer et al., SIGIR 2020, doi:10.1145/3397271.3401036; Ferro & Maistro 2024 §8

    >>> qrels = {"1": {"a": 1}, "2": {"b": 1}}
    >>> mine = {"1": {"a": 3, "b": 2, "c": 1}, "2": {"a": 3, "b": 2, "c": 1}}
    >>> yours = {"1": {"a": 3, "c": 2, "b": 1}, "2": {"a": 3, "b": 2, "d": 1}}
    >>> found = reproduce(qrels, (mine, yours), measures=["RR"])
    >>> round(found["RR", "baseline"].tau, 4), found["RR", "baseline"].rmse  # τ is 1/3 and 1
    (0.6667, 0.0)
    """
    pairs = {BASELINE: baseline, **({} if advanced is None else {ADVANCED: advanced})}
    for role, pair in pairs.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise UsageError(f"reproduce: {role} must be two runs, the original and the same again")
    if depth is not None and depth < 1:
        raise UsageError(f"reproduce: depth == {depth!r}, must be 1 or more")
    runs = {role: (Run.of(pair[0]), Run.of(pair[1])) for role, pair in pairs.items()}
    judged = Qrels.of(qrels)
    same = other_qrels is None
    asked: dict[str, Any] = {"missing": missing, "order": order}
    before = evaluate(judged, {role: two[0] for role, two in runs.items()}, measures, **asked)
    second = judged if same else Qrels.of(other_qrels)
    after = evaluate(second, {role: two[1] for role, two in runs.items()}, measures, **asked)
    orders: list[Orders] = []
    notes: list[str] = []
    for role, two in runs.items() if same else ():
        orders.append(_orders(role, *two, p, union, depth, order, notes))
    if same:
        rule = "documents numbered by id" if union == "id" else ""
        cut = f"the first {depth} documents of each list" if depth else "whole lists"
        notes.append(", ".join(filter(None, (f"τ union and RBO (p = {p:g}) of {cut}", rule))))
    names = {role: (two[0].name, two[1].name) for role, two in runs.items()}
    return _reproduction(before, after, {role: (role, role) for role in runs}, names, same, tuple(orders), notes)


def reproduce_scores(
    original: Scores,
    again: Scores,
    baseline: tuple[str, str],
    advanced: tuple[str, str] | None = None,
    *,
    same_collection: bool = True,
) -> Reproduction:
    """As `reproduce`, from scores: what can be told without the lists of documents.

    `baseline` and `advanced` name the run in `original` and the one in `again`, which may be the same scores.

    >>> values = [[0.2, 0.4, 0.2, 0.3], [0.4, 0.6, 0.3, 0.4]]
    >>> scores = Scores.from_matrix(values, ["b", "a", "b2", "a2"], measure="AP")
    >>> found = reproduce_scores(scores, scores, ("b", "b2"), ("a", "a2"))["AP", "advanced"]
    >>> round(found.effect_ratio, 4), round(found.delta_ri, 4)  # 0.1 of 0.2; 0.2/0.3 - 0.1/0.25
    (0.5, 0.2667)
    """
    names = {BASELINE: baseline, **({} if advanced is None else {ADVANCED: advanced})}
    before = original.select(runs=list(dict.fromkeys(pair[0] for pair in names.values())))
    after = again.select(measures=original.measures, runs=list(dict.fromkeys(pair[1] for pair in names.values())))
    return _reproduction(before, after, names, names, same_collection, (), [])


def _orders(
    role: str, original: Run, again: Run, p: float, union: str, depth: int | None, order: str | None, notes: list[str]
) -> Orders:
    """The lists of the topics that both runs have."""
    shared = [topic for topic in original.topics if topic in again]
    if not shared:
        raise UsageError(f"{original.name} and {again.name} have no topic in common")
    alone = len(original.topics) + len(again.topics) - 2 * len(shared)
    if alone:
        notes.append(f"{role}: lists compared on {len(shared)} topics; {alone} that only one run has left out")
    tau, overlap = np.empty((2, len(shared)))
    for i, topic in enumerate(shared):
        first, second = (_documents(run, topic, order, depth) for run in (original, again))
        tau[i] = tau_union(first, second, union=union)
        overlap[i] = rbo(first, second, p).extrapolated if first and second else 0.0
    return Orders(role, tuple(shared), tau, overlap)


def _documents(run: Run, topic: str, order: str | None, depth: int | None) -> list[str]:
    return [place.doc for place in run.ranking(topic, order or "score")[:depth]]


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
            raise UsageError("the two experiments have no topic in common; say so if they are on different collections")
        notes.append(f"scores compared on the {shared} topics that both experiments have")
    found: list[Agreement] = []
    for measure in before.measures:
        values = {
            role: (_by_topic(before, measure, first), _by_topic(after, measure, second))
            for role, (first, second) in columns.items()
        }
        for role, (x, y) in values.items():
            lists = next((one for one in orders if one.role == role), None)
            effects = (math.nan, math.nan)
            if role == ADVANCED:
                four = (values[BASELINE][0], x, values[BASELINE][1], y)
                effects = effect_ratio(*four), delta_ri(*four)
            found.append(
                Agreement(
                    measure,
                    role,
                    mean_of(x),
                    mean_of(y),
                    mean_of(lists.tau) if lists else math.nan,
                    mean_of(lists.overlap) if lists else math.nan,
                    rmse(x, y) if same else math.nan,
                    nrmse(x, y) if same else math.nan,
                    _p(x, y, same),
                    *effects,
                    sum(not math.isnan(value) for value in x.values()),
                )
            )
    notes.append(f"p: {'paired t test' if same else 'unpaired t test, pooled variance'} of original and repetition")
    if any(math.isnan(one.nrmse) for one in found) and same:
        notes.append("nRMSE is for measures between 0 and 1")
    if any(math.isnan(one.effect_ratio) for one in found if one.role == ADVANCED):
        notes.append("ER is undefined where the original runs score the same")
    kind = "replication" if same else "reproduction"
    all_notes = tuple(dict.fromkeys((*before.notes, *after.notes, *notes, PERFECT[kind])))
    return Reproduction(kind, names, tuple(found), orders, all_notes)


def _by_topic(scores: Scores, measure: str, run: str) -> dict[str, float]:
    """The scores of one run by one measure; a topic skipped as missing is NaN."""
    row = scores.values[scores.measures.index(measure), scores.runs.index(run)]
    return dict(zip(scores.topics, row.tolist(), strict=True))


def _p(x: dict[str, float], y: dict[str, float], same: bool) -> float:
    """NaN where there are too few topics to test."""
    there = [sum(not math.isnan(value) for value in one.values()) for one in (x, y)]
    return p_value(x, y, same_topics=same) if min(there) > 1 else math.nan

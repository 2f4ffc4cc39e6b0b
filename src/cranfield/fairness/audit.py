"""Compute all fairness measures of runs at once, in one record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.given_runs import distinct_names
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.errors import CranfieldWarning, DataError, UsageError, warn_caller
from cranfield.fairness.attention import GEOMETRIC, TREC, Attention, Groups, Rankings, merged, rankings_of
from cranfield.fairness.expected import equity_of_attention, expected_exposure, exposure
from cranfield.fairness.ranked_group import ranked_group_fairness
from cranfield.fairness.representation import COLUMNS, awrf, dissatisfaction, pairwise_parity, prefix_fairness
from cranfield.notes import method_note
from cranfield.record import Shown
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Column, Table
from cranfield.text import counted, listed
from cranfield.types import Array

OF_RUNS = {"AWRF": "higher", "EE-D": "lower", "EE-R": "higher", "EE-L": "lower", "equity": "lower"}
"""Measures of a run, and whether higher or lower values are fairer."""
EXPOSURE = ("exposure", "share", "members", "mean", "merit", "per_merit")
OF_GROUPS = {
    "exposure": EXPOSURE,
    "parity": ("parity",),
    "dissatisfaction": COLUMNS,
    "rND": ("rND",),
    "rKL": ("rKL",),
    "rRD": ("rRD",),
    "FA*IR": ("fair", "fair_p"),
}
"""Measures of a group, and their columns."""
MEASURES = (*OF_RUNS, *OF_GROUPS)
BY_PREFIX = {"rND", "rKL", "rRD"}
WITHOUT_GROUPS = ("EE-D", "EE-R", "EE-L", "equity")
NEED_PROPORTION = {"FA*IR"}
ON_REQUEST = NEED_PROPORTION | {"dissatisfaction"}
"""Measures that are not computed by default, because they need a further number or have many columns."""


@dataclass(frozen=True, eq=False)
class Audit(Shown):
    """Fairness of runs, topic by topic. NaN is undefined, and is left out of means."""

    runs: tuple[str, ...]
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    of_runs: Mapping[str, Array]
    """{measure: runs × topics}. `equity` is summed up to each topic; all others are of the topic alone."""
    of_groups: Mapping[str, Array]
    """{measure: runs × topics × groups}."""
    notes: tuple[str, ...] = ()

    def overall(self, measure: str) -> Array:
        """Return the mean over topics of every run, or of every run and group; of `equity` its last value."""
        check.one_of("audit", (*self.of_runs, *self.of_groups), measure=measure)
        if measure == "equity":
            return np.array([([np.nan, *row[~np.isnan(row)]])[-1] for row in self.of_runs[measure]])
        values = self._values(measure)
        defined = ~np.isnan(values)
        count = defined.sum(axis=1)
        return np.where(count > 0, np.where(defined, values, 0.0).sum(axis=1) / np.maximum(count, 1), np.nan)

    def _values(self, measure: str) -> Array:
        return self.of_runs[measure] if measure in self.of_runs else self.of_groups[measure]

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return run, topic, group, measure and value; the group is empty for measures of a run."""
        entries = self._entries(per_topic=True)
        names = ("run", "topic", "group", "measure")
        texts = {name: np.array([row[i] for row in entries], dtype=object) for i, name in enumerate(names)}
        return {**texts, "value": np.array([row[-1] for row in entries], dtype=np.float64)}

    def _entries(self, per_topic: bool) -> list[tuple[Any, ...]]:
        entries: list[tuple[Any, ...]] = []
        for measure in (*self.of_runs, *self.of_groups):
            values = self._values(measure) if per_topic else self.overall(measure)
            for at in np.ndindex(values.shape):
                labels = [self.runs[at[0]], *([self.topics[at[1]]] if per_topic else [])]
                group = self.groups[at[-1]] if measure in self.of_groups else ""
                entries.append((*labels, group, measure, float(values[at])))
        return entries

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return {run: {measure: value, "groups": {group: {measure: value}}}}, over all topics."""
        result: dict[str, dict[str, Any]] = {}
        for r, run in enumerate(self.runs):
            result[run] = {measure: float(self.overall(measure)[r]) for measure in self.of_runs}
            if self.of_groups:
                result[run]["groups"] = {
                    group: {measure: float(self.overall(measure)[r, g]) for measure in self.of_groups}
                    for g, group in enumerate(self.groups)
                }
        return result

    def records(self, *, per_topic: bool = False, digits: int | None = None) -> Table:
        """Return a table with a row per number, for programs."""
        names = ("run", *(["topic"] if per_topic else []), "group", "measure")
        columns = (*map(Column, names), Column("value", "number"))
        return Table(columns, tuple(self._entries(per_topic)), notes=self.notes, digits=digits)

    def tables(self, *, per_topic: bool = False, digits: int | None = None, notes: bool = True) -> list[Table]:
        """Return the tables for people: one of the runs and one of their groups; `per_topic` gives a row per topic."""
        tables = []
        runs = (self.runs, self.topics) if per_topic else (self.runs,)
        heads = [Column("run"), *([Column("topic")] if per_topic else [])]
        for measures, labels, better in (
            (self.of_runs, runs, {} if per_topic else OF_RUNS),
            (self.of_groups, (*runs, self.groups), {}),
        ):
            if measures:
                shown = [values if per_topic else self.overall(name) for name, values in measures.items()]
                columns = [*heads, *([Column("group")] if measures is self.of_groups else [])]
                columns += [Column(name.replace("_", " "), "number", better.get(name, "neither")) for name in measures]
                rows: list[tuple[Cell, ...]] = [
                    (*(names[i] for names, i in zip(labels, at, strict=True)), *(float(values[at]) for values in shown))
                    for at in np.ndindex(*map(len, labels))
                ]
                tables.append(Table(tuple(columns), tuple(rows), digits=digits))
        tables[-1] = replace(tables[-1], notes=self.notes if notes else ())
        return tables

    def __str__(self) -> str:
        return "\n\n".join(table.text() for table in self.tables())


def audit(
    qrels: Any,
    runs: Any,
    groups: Any = None,
    measures: str | Iterable[str] | None = None,
    *,
    draws: bool = False,
    individual: bool = False,
    protected: str | Sequence[str] | None = None,
    target: Any = None,
    attention: Attention | None = None,
    step: int = 10,
    rel: float = 1,
    missing: str = "zero",
    missing_group: str | None = None,
    proportion: float | None = None,
    alpha: float = 0.1,
) -> Audit:
    """Measure how fair runs are to groups of documents or, without groups, to single documents.

    runs: {name: rankings}, or a list of runs. With `draws` they are all rankings of one system.
    groups: {document: group}, a frame or a file (see `Groups.of`). Documents without a group are put in
    `missing_group`; without it, they are an error.
    measures: AWRF, EE-D, EE-R, EE-L, equity (of runs); exposure, parity, dissatisfaction, rND, rKL, rRD, FA*IR (of
    groups). Default: all except FA*IR and dissatisfaction.
    individual: compute EE and equity on documents even if groups are given.
    protected: the groups that rND, rKL, rRD and FA*IR are computed for. Default: all.
    proportion: the least share of a group in a fair ranking, for FA*IR, which tests it at level `alpha`.
    target: {group: share} that AWRF compares with. Default: the groups of the topic's relevant documents.
    attention: used by all measures. Default: geometric with p = 0.5; for AWRF, that of the TREC tracks.
    step: rND, rKL and rRD look at the first `step`, 2 `step`, ... documents.
    missing: EE of a judged topic that a run does not have is computed with exposure 0 (`zero`) or left out (`skip`).

    >>> qrels, groups = {"q": {"d1": 1, "d2": 1}}, {"d1": "a", "d2": "b"}
    >>> audit(qrels, {"mine": {"q": ["d1", "d2"]}}, groups, ["AWRF", "EE-L"]).to_dict()
    {'mine': {'AWRF': 1.0, 'EE-L': 0.125}}
    """
    chosen = _chosen(measures, groups is not None)
    check.one_of("audit", ("zero", "skip"), missing=missing)
    tests_share = "FA*IR" in chosen
    if tests_share and proportion is None:
        raise UsageError("FA*IR needs the least share of a group in a fair ranking; give proportion=, such as 0.5")
    for option, value, users in (
        ("protected", protected, BY_PREFIX | NEED_PROPORTION),
        ("target", target, {"AWRF"}),
        ("proportion", proportion, NEED_PROPORTION),
    ):
        if value is not None and not users & chosen:
            needed = ", ".join(sorted(users))
            raise UsageError(f"{option} == {value!r} applies only to {needed}; leave it out or add such a measure")
    judgments = Qrels.of(qrels)
    shown = _judged_only(_by_run(runs, draws), judgments)
    table = None if groups is None else _covering(Groups.of(groups), shown, judgments, missing_group)
    subjects = None if individual else table
    names = () if table is None else table.names
    watched = [protected] if isinstance(protected, str) else list(names if protected is None else protected)
    by_rank = attention or GEOMETRIC
    for_awrf = TREC if attention is None else replace(attention, stop=0.0)

    shape = (len(shown), len(judgments.topics))
    of_runs = {name: np.full(shape, np.nan) for name in OF_RUNS if name in chosen}
    columns = [column for name, several in OF_GROUPS.items() if name in chosen for column in several]
    of_groups = {column: np.full((*shape, len(names)), np.nan) for column in columns}
    place = {topic: t for t, topic in enumerate(judgments.topics)}

    def put(values: Array, scores: Scores, name: str) -> None:
        values[[place[topic] for topic in scores.topics]] = scores[name].values[0, 0]

    for r, rankings in enumerate(shown.values()):
        if {"EE-D", "EE-R", "EE-L"} & chosen:
            scores = expected_exposure(judgments, rankings, subjects, attention=by_rank, rel=rel)
            counts = np.array([missing == "zero" or topic in rankings for topic in judgments.topics])
            for name in of_runs.keys() & set(scores.measures):
                of_runs[name][r] = np.where(counts, scores[name].values[0, 0], np.nan)
        if "equity" in chosen:
            for topic, value in equity_of_attention(judgments, rankings, subjects, attention=by_rank).steps:
                of_runs["equity"][r, place[topic]] = value
        if "AWRF" in chosen:
            wanted = judgments if target is None else target
            put(of_runs["AWRF"][r], awrf(rankings, table, wanted, attention=for_awrf, rel=rel), "AWRF")
        if "exposure" in chosen:
            for topic, exposed in exposure(rankings, table, judgments, attention=by_rank, rel=rel).groups.items():
                for g, group in enumerate(exposed.values()):
                    for column in EXPOSURE:
                        of_groups[column][r, place[topic], g] = getattr(group, column)
        if "parity" in chosen:
            scores = pairwise_parity(rankings, table)
            for g, name in enumerate(names):
                put(of_groups["parity"][r, :, g], scores, f"parity({name})")
        if "dissatisfaction" in chosen:
            scores = dissatisfaction(judgments, rankings, table, attention=by_rank, rel=rel)
            for column in COLUMNS:
                for g, name in enumerate(names):
                    put(of_groups[column][r, :, g], scores, f"{column}({name})")
        for name in watched if BY_PREFIX & chosen else ():
            scores = prefix_fairness(rankings, table, name, step=step)
            for measure in of_groups.keys() & set(scores.measures):
                put(of_groups[measure][r, :, names.index(name)], scores, measure)
        for name in watched if tests_share else ():
            scores = ranked_group_fairness(rankings, table, name, proportion=proportion or 0.0, alpha=alpha)
            for column in OF_GROUPS["FA*IR"]:
                put(of_groups[column][r, :, names.index(name)], scores, column)
    notes = _notes(chosen, subjects, by_rank, for_awrf, target, step)
    if tests_share:
        notes.append(
            method_note(
                f"FA*IR: fair: a share of {proportion:g} at level {alpha:g}; fair p: the p-value of each ranking"
            )
        )
    notes += _undefined({**of_runs, **of_groups}, len(judgments.topics))
    return Audit(tuple(shown), judgments.topics, names, of_runs, of_groups, tuple(notes))


def _chosen(measures: str | Iterable[str] | None, grouped: bool) -> set[str]:
    if measures is None:
        return set(MEASURES) - ON_REQUEST if grouped else set(WITHOUT_GROUPS)
    wanted = [measures] if isinstance(measures, str) else list(measures)
    for name in wanted:
        check.one_of("fairness", MEASURES, measure=name)
        if not grouped and name not in WITHOUT_GROUPS:
            raise UsageError(f"{name} needs the groups of documents: a file of lines 'doc group', or {{doc: group}}")
    return set(wanted)


def _by_run(runs: Any, draws: bool) -> dict[str, Rankings]:
    if isinstance(runs, Mapping):
        rankings = {str(name): rankings_of(source) for name, source in runs.items()}
    else:
        several = [Run.of(run) for run in (runs if isinstance(runs, list | tuple) else [runs])]
        names = distinct_names([run.name for run in several], [run.path or "" for run in several])
        rankings = {name: rankings_of(run) for name, run in zip(names, several, strict=True)}
    if not rankings:
        raise UsageError("no runs given")
    return {f"policy of {len(rankings)} draws": merged(rankings.values())} if draws else rankings


def _judged_only(shown: Mapping[str, Rankings], judgments: Qrels) -> dict[str, Rankings]:
    """Return the rankings of judged topics; warn about topics that are not judged, and about missing ones."""
    judged = set(judgments.topics)
    kept: dict[str, Rankings] = {}
    for name, rankings in shown.items():
        kept[name] = {topic: rankings[topic] for topic in judgments.topics if topic in rankings}
        if not kept[name]:
            raise DataError(f"run {name!r}", None, f"none of its topics is judged: it has {listed(rankings)}")
        unjudged = [topic for topic in rankings if topic not in judged]
        if unjudged:
            _warn(f"{counted(len(unjudged), 'topic')} without judgments ignored: {name} has {listed(unjudged)}")
        lacking = [topic for topic in judgments.topics if topic not in rankings]
        if lacking:
            _warn(f"{counted(len(lacking), 'judged topic')} missing from {name}: {listed(lacking)}")
    return kept


def _covering(table: Groups, shown: Mapping[str, Rankings], judgments: Qrels, group: str | None) -> Groups:
    """Return the groups of all documents that are ranked or judged; those without one are put in `group`."""
    ranked = (doc for run in shown.values() for lists in run.values() for ranking in lists for doc in ranking)
    known = set(table.documents)
    documents = dict.fromkeys([*ranked, *judgments.table.docs(0, len(judgments))])
    lacking = [doc for doc in documents if doc not in known]
    if not lacking:
        return table
    message = f"no group for {counted(len(lacking), 'document')} of the runs and the judgments"
    if group is None:
        way_out = 'add them, or choose a group for them: missing_group="unknown"'
        raise DataError(table.origin, None, f"{message}: {listed(lacking)}; {way_out}")
    _warn(f"{message}, put in {group!r}: {listed(lacking)}")
    return table.covering(lacking, group)


def _notes(
    chosen: set[str], subjects: Groups | None, by_rank: Attention, for_awrf: Attention, target: Any, step: int
) -> list[str]:
    wanted = "the topic's relevant documents" if target is None else "the given shares"
    notes: list[tuple[set[str], str]] = [
        ({*WITHOUT_GROUPS}, f"EE and equity are computed on {'documents' if subjects is None else 'groups'}"),
        ({*WITHOUT_GROUPS, "exposure", "dissatisfaction"}, method_note(f"attention: {by_rank}")),
        (
            {"dissatisfaction"},
            "dissatisfied: the share of pairs with a document of lower merit above a member; inter: "
            "of another group, intra: of the same; lost: the attention lost by it",
        ),
        ({"AWRF"}, method_note(f"AWRF: target: {wanted}; attention: {for_awrf}")),
        ({"equity"}, "equity is summed over the topics in order; it is not a mean"),
        (BY_PREFIX, method_note(f"rND, rKL, rRD: the first {step}, {2 * step}, ... documents")),
    ]
    return [note for users, note in notes if users & chosen]


def _undefined(measures: Mapping[str, Array], topics: int) -> list[str]:
    """Count, for each measure, the topics on which some run has no value (of any group)."""
    counts = []
    for name, values in measures.items():
        undefined = np.isnan(values) if values.ndim == 2 else np.isnan(values).all(axis=2)
        count = int(undefined.any(axis=0).sum())
        if count:
            counts.append(f"{name} on {count}")
    return [f"undefined in some run, of {counted(topics, 'topic')}: {', '.join(counts)}"] if counts else []


def _warn(message: str) -> None:
    warn_caller(message, CranfieldWarning)

"""Everything there is to say about how fair runs are, in one record."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.joined_runs import distinct_names
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.errors import CranfieldWarning, DataError, UsageError
from cranfield.fairness.attention import GEOMETRIC, TREC, Attention, Rankings, rankings_of
from cranfield.fairness.equity import equity_of_attention
from cranfield.fairness.expected import expected_exposure, exposure
from cranfield.fairness.groups import Groups
from cranfield.fairness.representation import awrf, pairwise_parity, prefix_fairness
from cranfield.frames import Tidy
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Column, Table
from cranfield.types import Array

OF_RUNS = {"AWRF": "higher", "EE-D": "lower", "EE-R": "higher", "EE-L": "lower", "equity": "lower"}
"""What is told of a run, and which end of it is fair."""
EXPOSURE = ("exposure", "share", "members", "mean", "merit", "per_merit")
OF_GROUPS = {"exposure": EXPOSURE, "parity": ("parity",), "rND": ("rND",), "rKL": ("rKL",), "rRD": ("rRD",)}
"""What is told of every group, and the columns of it."""
MEASURES = (*OF_RUNS, *OF_GROUPS)
BY_PREFIX = {"rND", "rKL", "rRD"}
WITHOUT_GROUPS = ("EE-D", "EE-R", "EE-L", "equity")


@dataclass(frozen=True, eq=False)
class Audit(Tidy):
    """How fair runs are, topic by topic. Undefined is NaN, and left out of means."""

    runs: tuple[str, ...]
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    of_runs: Mapping[str, Array]
    """{measure: runs × topics}. `equity` is what has gathered up to a topic, all others are the topic's own."""
    of_groups: Mapping[str, Array]
    """{measure: runs × topics × groups}."""
    notes: tuple[str, ...] = ()

    def overall(self, measure: str) -> Array:
        """Of every run, or of every run and group: the mean over topics; of `equity` what there is in the end."""
        values = self.of_runs.get(measure)
        if measure == "equity" and values is not None:
            return np.array([([np.nan, *row[~np.isnan(row)]])[-1] for row in values])
        if values is None:
            check.one_of("audit", (*self.of_runs, *self.of_groups), measure=measure)
            values = self.of_groups[measure]
        some = ~np.isnan(values)
        count = some.sum(axis=1)
        return np.where(count > 0, np.where(some, values, 0.0).sum(axis=1) / np.maximum(count, 1), np.nan)

    def columns(self) -> dict[str, NDArray[Any]]:
        """run, topic, group, measure and value, an entry each; the group is empty where the run is meant."""
        entries = self._entries(per_topic=True)
        names = ("run", "topic", "group", "measure")
        texts = {name: np.array([row[i] for row in entries], dtype=object) for i, name in enumerate(names)}
        return {**texts, "value": np.array([row[-1] for row in entries], dtype=np.float64)}

    def _entries(self, per_topic: bool) -> list[tuple[Any, ...]]:
        out: list[tuple[Any, ...]] = []
        for measure in (*self.of_runs, *self.of_groups):
            by_group = measure in self.of_groups
            values = (self.of_groups if by_group else self.of_runs)[measure] if per_topic else self.overall(measure)
            for at in np.ndindex(values.shape):
                labels = [self.runs[at[0]], *([self.topics[at[1]]] if per_topic else [])]
                out.append((*labels, self.groups[at[-1]] if by_group else "", measure, float(values[at])))
        return out

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """{run: {measure: value, "groups": {group: {measure: value}}}}, over all topics."""
        told: dict[str, dict[str, Any]] = {
            run: {measure: float(self.overall(measure)[r]) for measure in self.of_runs}
            for r, run in enumerate(self.runs)
        }
        for r, run in enumerate(self.runs if self.of_groups else ()):
            told[run]["groups"] = {
                group: {measure: float(self.overall(measure)[r, g]) for measure in self.of_groups}
                for g, group in enumerate(self.groups)
            }
        return told

    def records(self, *, per_topic: bool = False, digits: int | None = None) -> Table:
        """A row per number, for programs."""
        names = ("run", *(["topic"] if per_topic else []), "group", "measure")
        columns = (*map(Column, names), Column("value", "number"))
        return Table(columns, tuple(self._entries(per_topic)), notes=self.notes, digits=digits)

    def tables(self, *, per_topic: bool = False, digits: int | None = None, notes: bool = True) -> list[Table]:
        """For people: what there is of runs, and of their groups; with `per_topic` a row for every topic."""
        made = []
        runs = (self.runs, self.topics) if per_topic else (self.runs,)
        heads = [Column("run"), *([Column("topic")] if per_topic else [])]
        for found, labels, better in (
            (self.of_runs, runs, {} if per_topic else OF_RUNS),
            (self.of_groups, (*runs, self.groups), {}),
        ):
            if found:
                shown = [found[name] if per_topic else self.overall(name) for name in found]
                columns = [*heads, *([Column("group")] if found is self.of_groups else [])]
                columns += [Column(name.replace("_", " "), "number", better.get(name, "neither")) for name in found]
                rows: list[tuple[Cell, ...]] = [
                    (*(names[i] for names, i in zip(labels, at, strict=True)), *(float(values[at]) for values in shown))
                    for at in np.ndindex(*map(len, labels))
                ]
                made.append(Table(tuple(columns), tuple(rows), digits=digits))
        made[-1] = replace(made[-1], notes=self.notes if notes else ())
        return made

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
) -> Audit:
    """How fair runs are to groups of documents, or to documents where no groups are given.

    runs: {name: rankings}, or a list of runs; with `draws` they are draws of one policy.
    groups: {document: group}, a frame or a file (see `Groups.of`). `missing_group` is the group of documents that it
    lacks; without, they are an error.
    measures: some of AWRF, EE-D, EE-R, EE-L, equity (of runs); exposure, parity, rND, rKL, rRD (of every group, the
    last three of `protected` ones only, if that is given). All when left out.
    individual: EE and equity of documents, though there are groups.
    target: what AWRF compares with: {group: share}; default: the groups of the topic's relevant documents.
    attention: that of all measures; default: geometric with p = 0.5, and for AWRF that of the TREC tracks.
    step: rND, rKL and rRD look at the first `step`, 2 `step`, ... documents.
    missing: a judged topic that a run lacks shows nothing (`zero`) or has no EE (`skip`).

    >>> qrels, groups = {"q": {"d1": 1, "d2": 1}}, {"d1": "a", "d2": "b"}
    >>> audit(qrels, {"mine": {"q": ["d1", "d2"]}}, groups, ["AWRF", "EE-L"]).to_dict()
    {'mine': {'AWRF': 1.0, 'EE-L': 0.125}}
    """
    chosen = _chosen(measures, groups is not None)
    check.one_of("audit", ("zero", "skip"), missing=missing)
    for option, value, users in (("protected", protected, BY_PREFIX), ("target", target, {"AWRF"})):
        if value is not None and not users & chosen:
            raise UsageError(f"{option} == {value!r}, but {' or '.join(sorted(users))} is not asked for; leave it out")
    judgments = Qrels.of(qrels)
    given = _judged_only(_named(runs, draws), judgments)
    table = None if groups is None else _covering(Groups.of(groups), given, judgments, missing_group)
    counted = None if individual else table
    names = () if table is None else table.names
    if table is not None and protected is not None:
        names_of_protected = [protected] if isinstance(protected, str) else list(protected)
    else:
        names_of_protected = list(names)
    by_rank = attention or GEOMETRIC
    for_awrf = TREC if attention is None else replace(attention, stop=0.0)

    shape = (len(given), len(judgments.topics))
    of_runs = {name: np.full(shape, np.nan) for name in OF_RUNS if name in chosen}
    columns = [column for name, several in OF_GROUPS.items() if name in chosen for column in several]
    of_groups = {column: np.full((*shape, len(names)), np.nan) for column in columns}
    place = {topic: t for t, topic in enumerate(judgments.topics)}
    for r, rankings in enumerate(given.values()):
        if {"EE-D", "EE-R", "EE-L"} & chosen:
            found = expected_exposure(judgments, rankings, counted, attention=by_rank, rel=rel)
            shown = np.array([missing == "zero" or topic in rankings for topic in judgments.topics])
            for name in of_runs.keys() & set(found.measures):
                of_runs[name][r] = np.where(shown, found[name].values[0, 0], np.nan)
        if "equity" in chosen:
            for topic, value in equity_of_attention(judgments, rankings, counted, attention=by_rank).steps:
                of_runs["equity"][r, place[topic]] = value
        if "AWRF" in chosen:
            wanted = judgments if target is None else target
            _put(of_runs["AWRF"][r], awrf(rankings, table, wanted, attention=for_awrf, rel=rel), "AWRF", place)
        if "exposure" in chosen:
            for topic, groups_here in exposure(rankings, table, judgments, attention=by_rank, rel=rel).groups.items():
                for g, one in enumerate(groups_here.values()):
                    for column in EXPOSURE:
                        of_groups[column][r, place[topic], g] = getattr(one, column)
        if "parity" in chosen:
            found = pairwise_parity(rankings, table)
            for g, group in enumerate(names):
                _put(of_groups["parity"][r, :, g], found, f"parity({group})", place)
        for group in names_of_protected if BY_PREFIX & chosen else ():
            found = prefix_fairness(rankings, table, group, step=step)
            for name in of_groups.keys() & set(found.measures):
                _put(of_groups[name][r, :, names.index(group)], found, name, place)
    notes = _notes(chosen, counted, by_rank, for_awrf, target, step)
    made = Audit(tuple(given), judgments.topics, names, of_runs, of_groups)
    return replace(made, notes=(*notes, *_undefined(made)))


def _chosen(measures: str | Iterable[str] | None, grouped: bool) -> set[str]:
    if measures is None:
        return set(MEASURES if grouped else WITHOUT_GROUPS)
    wanted = [measures] if isinstance(measures, str) else list(measures)
    for name in wanted:
        check.one_of("fairness", MEASURES, measure=name)
        if not grouped and name not in WITHOUT_GROUPS:
            raise UsageError(
                f"{name} needs to know the groups of documents: give a file of lines 'doc group', or {{doc: group}}, "
                "as groups= (--groups FILE)"
            )
    return set(wanted)


def _named(runs: Any, draws: bool) -> dict[str, Rankings]:
    """Rankings by the name of their run."""
    if isinstance(runs, Mapping):
        given = {str(name): rankings_of(rankings) for name, rankings in runs.items()}
    else:
        several = [Run.of(run) for run in (runs if isinstance(runs, list | tuple) else [runs])]
        names = distinct_names([run.name for run in several], [run.path or "" for run in several])
        given = {name: rankings_of(run) for name, run in zip(names, several, strict=True)}
    if not given:
        raise UsageError("no runs given")
    if not draws:
        return given
    policy: Rankings = {}
    for rankings in given.values():
        for topic, lists in rankings.items():
            policy.setdefault(topic, []).extend(lists)
    return {f"policy of {len(given)} draws": policy}


def _judged_only(given: Mapping[str, Rankings], judgments: Qrels) -> dict[str, Rankings]:
    """The rankings of judged topics; what is passed over, and what is not there, is told."""
    judged = set(judgments.topics)
    kept: dict[str, Rankings] = {}
    for name, rankings in given.items():
        kept[name] = {topic: rankings[topic] for topic in judgments.topics if topic in rankings}
        if not kept[name]:
            raise DataError(f"run {name!r}", None, f"none of its topics is judged: it has {_some(list(rankings))}")
        over = [topic for topic in rankings if topic not in judged]
        if over:
            _warn(f"{_count(len(over), 'topic')} without judgments passed over: {name} has {_some(over)}")
        lacking = [topic for topic in judgments.topics if topic not in rankings]
        if lacking:
            _warn(f"{_count(len(lacking), 'judged topic')} missing from {name}: {_some(lacking)}")
    return kept


def _covering(table: Groups, given: Mapping[str, Rankings], judgments: Qrels, assumed: str | None) -> Groups:
    """Groups of all documents that are ranked or judged."""
    ranked = (doc for rankings in given.values() for lists in rankings.values() for one in lists for doc in one)
    known = set(table.documents)
    documents = dict.fromkeys([*ranked, *judgments.table.docs(0, len(judgments))])
    lacking = [doc for doc in documents if doc not in known]
    if not lacking:
        return table
    many = f"{_count(len(lacking), 'document')} of the runs and the judgments"
    if assumed is None:
        way_out = 'add them, or put them in one: missing_group="unknown" (--missing-group unknown)'
        raise DataError(table.origin, None, f"no group for {many}: {_some(lacking)}; {way_out}")
    _warn(f"no group for {many}, taken for {assumed!r}: {_some(lacking)}")
    return table.covering(lacking, assumed)


def _put(to: Array, found: Scores, name: str, place: Mapping[str, int]) -> None:
    to[[place[topic] for topic in found.topics]] = found[name].values[0, 0]


def _notes(
    chosen: set[str], counted: Groups | None, by_rank: Attention, for_awrf: Attention, target: Any, step: int
) -> list[str]:
    notes = []
    if set(WITHOUT_GROUPS) & chosen:
        notes.append(f"EE and equity are of {'documents' if counted is None else 'groups'}")
    if {*WITHOUT_GROUPS, "exposure"} & chosen:
        notes.append(f"attention: {by_rank.told()}")
    if "AWRF" in chosen:
        wanted = "the topic's relevant documents" if target is None else "the shares given"
        notes.append(f"AWRF: target {wanted}; attention: {for_awrf.told()}")
    if "equity" in chosen:
        notes.append("equity adds up over the topics in order, and is no mean")
    if BY_PREFIX & chosen:
        notes.append(f"rND, rKL, rRD: the first {step}, {2 * step}, ... documents")
    return notes


def _undefined(made: Audit) -> list[str]:
    """On how many topics a measure has no value for any group, in some run."""
    told = []
    for name, values in {**made.of_runs, **made.of_groups}.items():
        nothing = np.isnan(values) if values.ndim == 2 else np.isnan(values).all(axis=2)
        count = int(nothing.any(axis=0).sum())
        if count:
            told.append(f"{name} on {count}")
    return [f"undefined in some run, of {_count(len(made.topics), 'topic')}: {', '.join(told)}"] if told else []


def _warn(message: str) -> None:
    warnings.warn(message, CranfieldWarning, stacklevel=4)


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _some(items: Sequence[str]) -> str:
    return ", ".join(items[:5]) + (f" and {len(items) - 5:,} more" if len(items) > 5 else "")

"""Audit machine judges against human judgments: agreement, bias, rankings of runs, and conclusions that change."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.changed_lists.judged_documents import JudgedDocuments
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lengths import LengthTable
from cranfield.building.assessor_labels import Labels
from cranfield.building.label_files import LABEL_COLUMNS
from cranfield.building.machine.judge_agreement import (
    JudgeAgreement,
    JudgeConfusion,
    JudgesTogether,
    TopicAgreement,
    agreement_among,
    judge_agreement,
)
from cranfield.building.machine.judge_rankings import ChangedConclusions, JudgeRankings, RunRanks, compare_rankings
from cranfield.building.machine.judged_pairs import BOTH, JudgedPairs, ScoredTwice, clustered_mean, score_twice
from cranfield.collection.column_names import DELIMITERS, column_key
from cranfield.collection.doors import reads
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Belongs, Run, belongs
from cranfield.collection.source import first_line, load
from cranfield.comparison.pair_tests import PairTestName
from cranfield.declared.operation import RESAMPLES, Alpha, Level, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasureLike
from cranfield.meta.complete_scores import Rel, levels_of, mean_ranks
from cranfield.notes import Notes, caution_note, method_note
from cranfield.record import Columns, Record, column
from cranfield.scores.summary import t_interval
from cranfield.table import Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress

BINS = 5
"""The number of groups of documents of similar length."""
OTHER = "(no family)"


@dataclass(frozen=True, eq=False, repr=False)
class LengthBias(Record):
    """Leniency by the length of documents: a row per judge and group of documents of similar length."""

    caption = "Leniency by the length of documents"
    facts = ("correlation",)

    judge: Annotated[NDArray[Any], column()]
    shortest: Annotated[Array, column(kind="count")]
    longest: Annotated[Array, column(kind="count")]
    documents: Annotated[Index64, column()]
    human: Annotated[Array, column("human mean")]
    """Mean human grade."""
    machine: Annotated[Array, column("machine mean")]
    leniency: Annotated[Array, column("leniency", "leniency low", "leniency high")]
    """value, low, high × rows."""
    correlation: Mapping[str, float]
    """For each judge, Spearman's ρ of length and machine minus human grade."""
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class FamilyBias(Record):
    """Whether a judge favours a family of systems: a row per judge, family and measure."""

    caption = "Does the machine favour a family of systems?"

    judge: Annotated[NDArray[Any], column()]
    family: Annotated[NDArray[Any], column()]
    measure: Annotated[NDArray[Any], column()]
    runs: Annotated[Index64, column()]
    documents: Annotated[Index64, column()]
    """Documents that both judged and that a run of the family retrieved."""
    leniency: Annotated[Array, column("leniency", "leniency low", "leniency high")]
    """value, low, high × rows, on these documents."""
    change: Annotated[Array, column("score change")]
    """The mean machine score minus the mean human score of the runs of the family."""
    favour: Annotated[Array, column("favour", "favour low", "favour high")]
    """value, low, high × rows: this change minus that of all runs."""
    notes: tuple[str, ...]


def length_bias(judges: Sequence[JudgedPairs], lengths: Any, *, bins: int = BINS, level: float = 0.95) -> LengthBias:
    """Leniency in groups of documents of similar length, and its rank correlation with length.

    lengths: {doc: length}, or a file, see `LengthTable`. The groups have about the same number of documents; documents
    of the same length are in the same group. Documents without a length are left out, and a note counts them.
    """
    check.whole("length_bias", bins=bins)
    table = LengthTable.of(lengths)
    unit = next(name for name in ("words", "length", "characters", "cost") if name in table.columns)
    length_of = dict(zip(table.documents, table.columns[unit].tolist(), strict=True))
    rows: list[tuple[Any, ...]] = []
    correlation: dict[str, float] = {}
    notes = [method_note(f"length: {unit}; groups of about as many documents each; {100 * level:g}% intervals")]
    for pairs in judges:
        length = np.array([length_of.get(doc, np.nan) for doc in pairs.docs])
        known = ~np.isnan(length)
        if not known.any():
            raise UsageError(
                f"no document that both judged has a length; the documents are {listed(pairs.docs, 3)}, those with a "
                f"length {listed(table.documents, 3)}"
            )
        if not known.all():
            lost = [doc for doc, there in zip(pairs.docs, known.tolist(), strict=True) if not there]
            notes.append(f"{pairs.name}: {counted(len(lost), 'document')} without a length, left out: {listed(lost)}")
        difference = pairs.difference[known]
        correlation[pairs.name] = spearman(length[known], difference)
        cuts = np.unique(np.quantile(length[known], np.linspace(0, 1, bins + 1)[1:-1]))
        group = np.searchsorted(cuts, length, side="left")
        for number in range(len(cuts) + 1):
            mine = known & (group == number)
            if mine.any():
                mean = clustered_mean(pairs.difference[mine], pairs.topic[mine], len(pairs.topics), level)
                means = pairs.human[mine].mean(), pairs.machine[mine].mean()
                span = length[mine].min(), length[mine].max()
                rows.append((pairs.name, *span, int(mine.sum()), *means, mean))
    notes += [
        caution_note(f"{name}: Spearman's ρ of length and leniency is {value:.3f}")
        for name, value in correlation.items()
    ]
    return LengthBias.of_rows(rows, correlation=correlation, notes=tuple(notes))


def spearman(x: Array, y: Array) -> float:
    """Spearman's rank correlation, with mean ranks of ties; NaN if either is constant.

    >>> round(spearman(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])), 2)
    0.8
    """
    ranks = [mean_ranks(levels_of(values)) for values in (x, y)]
    centred = [rank - rank.mean() for rank in ranks]
    scale = np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum())
    return float((centred[0] * centred[1]).sum() / scale) if scale > 0 else np.nan


def family_bias(
    human: Qrels,
    judges: Sequence[JudgedPairs],
    scored: Sequence[ScoredTwice],
    runs: Mapping[str, Run],
    families: Belongs,
    *,
    depth: int | None = None,
    level: float = 0.95,
    options: JoinOptions | None = None,
) -> FamilyBias:
    """Does a judge favour the documents, and the scores, of a family of systems?

    families: {run: family}, or a file with lines of run and family. Runs without a family form one of their own.
    depth: a document counts for a family if one of its runs has it among its first `depth`; default: anywhere.
    options: how documents are ranked.

    leniency is the mean machine minus human grade of the family's documents. favour is the change of the family's mean
    score from human to machine judgments, minus the change of all runs, per topic; its interval is Student's t over
    topics. Both are on the documents that both judged.
    """
    check.whole("family_bias", depth=depth)
    family_of = belongs(families, "family")
    if unknown := [run for run in family_of if run not in runs]:
        raise UsageError(f"families: no run {listed(map(repr, unknown))}; the runs are {listed(runs)}")
    of_run = [family_of.get(run, OTHER) for run in runs]
    names = tuple(dict.fromkeys(of_run))
    if len(names) < 2:
        raise UsageError(f"families: all runs are of the family {names[0]!r}, must be 2 families or more")
    place = {name: at for at, name in enumerate(names)}
    group = np.array([place[name] for name in of_run])
    rows: list[tuple[Any, ...]] = []
    for pairs, both in zip(judges, scored, strict=True):
        documents = JudgedDocuments.of(human.of_rows(pairs.human_rows), dict(runs), options)
        retrieved = documents.pool(group, names, depth).contributed[:, documents.document]
        changes = both.machine.values - both.human.values
        for f, name in enumerate(names):
            mine = retrieved[f]
            lenient = clustered_mean(pairs.difference[mine], pairs.topic[mine], len(pairs.topics), level)
            change = changes[:, group == f].mean(axis=1)
            favour = change - changes.mean(axis=1)
            low, high = t_interval(favour, "mean", level)
            for m, measure in enumerate(both.human.measures):
                ends = float(favour[m].mean()), float(low[m]), float(high[m])
                sizes = int((group == f).sum()), int(mine.sum())
                rows.append((pairs.name, name, measure, *sizes, lenient, float(change[m].mean()), ends))
    where = "anywhere" if depth is None else f"among the first {depth}"
    notes = (
        method_note(
            f"documents: judged by both and retrieved {where} by a run of the family; leniency: on these documents"
        ),
        method_note(
            "favour: change of the family's mean score from human to machine judgments minus that of all runs, on "
            f"documents that both judged; {100 * level:g}% interval over topics"
        ),
    )
    return FamilyBias.of_rows(rows, notes=notes)


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Record):
    """The parts of an audit, each a record of its own. Parts that need runs or further files are None without these."""

    figure = "audit_figure"

    agreement: JudgeAgreement
    confusion: JudgeConfusion
    topics: TopicAgreement
    lengths: LengthBias | None = None
    judges: JudgesTogether | None = None
    """Agreement among several machine judges."""
    rankings: JudgeRankings | None = None
    changes: ChangedConclusions | None = None
    ranks: RunRanks | None = None
    families: FamilyBias | None = None
    notes: tuple[str, ...] = ()

    def parts(self) -> Iterator[tuple[str, Record]]:
        """The parts that there are, by name."""
        for name in PARTS:
            part = getattr(self, name)
            if part is not None:
                yield name, part

    def columns(self) -> Columns:
        """Those of `agreement`: a row per machine judge."""
        return self.agreement.columns()

    def table(self) -> Table:
        return self.agreement.table()

    def to_dict(self) -> dict[str, Any]:
        """Every part by its name."""
        return {"notes": list(self.notes), **{name: part.to_dict() for name, part in self.parts()}}

    def __str__(self) -> str:
        return "\n\n".join(part.table().text() for _, part in self.parts())


RANKING = ("order", "ties", "precision", "on_duplicate", "depth")
"""The options that say how documents are ranked."""
PARTS = ("agreement", "confusion", "topics", "lengths", "judges", "rankings", "changes", "ranks", "families")
"""The names of the parts of an audit."""


@operation
def audit(
    human: Any,
    machines: Any,
    runs: Mapping[str, Run] | None = None,
    measures: MeasureLike | Sequence[MeasureLike] | None = None,
    *,
    rel: Rel = 1,
    lengths: Any = None,
    families: Belongs | None = None,
    depth: Annotated[
        int | None,
        about(
            "A document counts for a family if a run has it among its first N; default: anywhere.",
            least=1,
            spelled="--family-depth N",
            rare=True,
        ),
    ] = None,
    test: PairTestName = "t",
    correction: Annotated[
        str | None,
        about(
            "Correction for the number of comparisons: {names}; default: holm.",
            names="comparison.corrections:CORRECTIONS",
            rare=True,
        ),
    ] = None,
    alpha: Alpha = 0.05,
    level: Level = 0.95,
    resamples: Annotated[
        int, about("Resamples of topics for the intervals of κ; 0: no intervals.", **RESAMPLES | {"least": 0})
    ] = 1_000,
    seed: Seed = 0,
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Compare the judgments of machines with those of people, and what follows from them for runs.

    human: judgments, anything that `Qrels.of` takes.
    machines: {name: judgments} of one or several machine judges, such as models or paraphrases of a prompt.
    runs: {name: run}, for rankings of runs and conclusions; measures: those to rank by.
    lengths, families, depth: see `length_bias` and `family_bias`.
    test, correction, alpha: how pairs of runs are compared, see `compare`.
    level, resamples, seed: of the intervals of κ. options: further options of `evaluate`.

    >>> human = {"1": {"a": 1, "b": 0, "c": 0}, "2": {"d": 1, "e": 0}}
    >>> machine = {"1": {"a": 1, "b": 1, "c": 0}, "2": {"d": 1, "e": 0}}
    >>> result = audit(human, {"model": machine})
    >>> result.agreement.agreement.tolist(), result.agreement.leniency[0].tolist()
    ([0.8], [0.2])
    """
    judgments = Qrels.of(human)
    if not machines:
        raise UsageError("no machine judgments; give {name: judgments}")
    qrels = {str(name): Qrels.of(thing) for name, thing in machines.items()}
    judges = [JudgedPairs.of(judgments, machine, name) for name, machine in qrels.items()]
    agreed, confusion, topics = judge_agreement(judges, rel=rel, level=level, resamples=resamples, seed=seed)
    by_length = None if lengths is None else length_bias(judges, lengths, level=level)
    together = agreement_among(judges, list(qrels.values()))
    notes = Notes()
    if families is not None and not runs:
        raise UsageError("families of runs are given, but no runs; add the runs")
    if not runs:
        notes.append("no runs: rankings of runs and conclusions were not compared")
        return Audit(agreed, confusion, topics, by_length, together, notes=tuple(notes))
    scored: list[ScoredTwice] = []
    for at, (pairs, machine) in enumerate(zip(judges, qrels.values(), strict=True)):
        scored += score_twice(judgments, machine, pairs, runs, measures, **(options or {}))
        if progress is not None:
            progress(at + 1, len(judges))
    by_family = None
    if families is not None:
        shared = [part for part in scored if part.documents == BOTH]
        ranking = JoinOptions(**{name: value for name, value in (options or {}).items() if name in RANKING})
        by_family = family_bias(judgments, judges, shared, runs, families, depth=depth, level=level, options=ranking)
    few = [part.judge for part in scored if len(part.human.topics) < 2]
    if len(runs) < 2:
        notes.append(f"{counted(len(runs), 'run')}: rankings and conclusions need 2 or more")
    if few:
        notes.caution(f"rankings and conclusions need scores on 2 topics or more, which {listed(few)} does not have")
    if len(runs) < 2 or few:
        return Audit(agreed, confusion, topics, by_length, together, families=by_family, notes=tuple(notes))
    rankings = compare_rankings(scored, test=test, correction=correction, alpha=alpha, seed=seed)
    return Audit(agreed, confusion, topics, by_length, together, *rankings, by_family, tuple(notes))


def read_judges(paths: Mapping[str, str], **options: Any) -> dict[str, Qrels]:
    """Machine judgments from files: a file of qrels is a judge; a log of labels, or a table of them, has several.

    paths: {name: path}. The judges of a table are called after its assessors; with several tables, also after its name.
    """
    judges: dict[str, Qrels] = {}
    for name, path in paths.items():
        if is_label_table(path):
            labels = Labels.read(path)
            of_file = {worker: labels.qrels_of(worker) for worker in labels.workers}
        else:
            of_file = {name: Qrels.read(path, **options)}
        for judge, qrels in of_file.items():
            judges[judge if judge not in judges else f"{name}: {judge}"] = qrels
    return judges


@reads
def is_label_table(path: str | os.PathLike[str]) -> bool:
    """Does a file name the assessors who gave labels, as the log of a machine judge does?"""
    if path == "-":  # standard input can be read only once
        return False
    first = first_line(load(path)).decode("utf-8", "replace").strip()
    if first.startswith("{"):
        try:
            names = list(json.loads(first))
        except ValueError:
            return False
    else:
        names = next((first.split(mark) for mark in DELIMITERS if mark in first), [])
    keys = {column_key(str(name).strip('"')) for name in names}
    return bool(keys & set(LABEL_COLUMNS["assessor"]) and keys & set(LABEL_COLUMNS["label"]))

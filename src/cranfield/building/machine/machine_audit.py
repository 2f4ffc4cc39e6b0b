"""Audit machine judges against human judgments: agreement, bias, rankings of runs, and conclusions that change."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cranfield.assessed.join_options import JoinOptions
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
from cranfield.building.machine.judge_bias import FamilyBias, LengthBias, family_bias, length_bias
from cranfield.building.machine.judge_rankings import ChangedConclusions, JudgeRankings, RunRanks, compare_rankings
from cranfield.building.machine.judged_pairs import JudgedPairs
from cranfield.building.machine.scored_twice import BOTH, ScoredTwice, score_twice
from cranfield.collection.column_names import DELIMITERS, column_key
from cranfield.collection.doors import reads
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.collection.run_table import Belongs
from cranfield.collection.source import first_line, load
from cranfield.comparison.test_result import check_alpha
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasureLike
from cranfield.record import Record
from cranfield.text import counted, listed
from cranfield.types import Progress


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

    def columns(self) -> dict[str, Any]:
        """Those of `agreement`: a row per machine judge."""
        return self.agreement.columns()

    def table(self) -> Any:
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


def audit(
    human: Any,
    machines: Any,
    runs: Mapping[str, Run] | None = None,
    measures: MeasureLike | Sequence[MeasureLike] | None = None,
    *,
    rel: float = 1,
    lengths: Any = None,
    families: Belongs | None = None,
    depth: int | None = None,
    test: str = "t",
    correction: str | None = None,
    alpha: float = 0.05,
    level: float = 0.95,
    resamples: int = 1_000,
    seed: int = 0,
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
    check_alpha("audit", alpha)
    judgments = Qrels.of(human)
    if not machines:
        raise UsageError("no machine judgments; give {name: judgments}")
    qrels = {str(name): Qrels.of(thing) for name, thing in machines.items()}
    judges = [JudgedPairs.of(judgments, machine, name) for name, machine in qrels.items()]
    agreed, confusion, topics = judge_agreement(judges, rel=rel, level=level, resamples=resamples, seed=seed)
    by_length = None if lengths is None else length_bias(judges, lengths, level=level)
    together = agreement_among(judges, list(qrels.values()))
    notes = []
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
        notes.append(f"rankings and conclusions need scores on 2 topics or more, which {listed(few)} does not have")
    if len(runs) < 2 or few:
        return Audit(agreed, confusion, topics, by_length, together, families=by_family, notes=tuple(notes))
    rankings = compare_rankings(scored, test=test, correction=correction, alpha=alpha, seed=seed)
    return Audit(agreed, confusion, topics, by_length, together, *rankings, by_family, tuple(notes))


def read_judges(paths: Mapping[str, str], **options: Any) -> dict[str, Qrels]:
    """Machine judgments from files: a file of qrels is a judge; a log of labels, or a table of them, has several.

    paths: {name: path}. The judges of a table are called after their workers; with several tables, also after its name.
    """
    judges: dict[str, Qrels] = {}
    for name, path in paths.items():
        if is_label_table(path):
            labels = Labels.read(path)
            found = {worker: labels.qrels_of(worker) for worker in labels.workers}
        else:
            found = {name: Qrels.read(path, **options)}
        for judge, qrels in found.items():
            judges[judge if judge not in judges else f"{name}: {judge}"] = qrels
    return judges


@reads
def is_label_table(path: str | os.PathLike[str]) -> bool:
    """Does a file name the workers who gave labels, as the log of a machine judge does?"""
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
    return bool(keys & set(LABEL_COLUMNS["worker"]) and keys & set(LABEL_COLUMNS["label"]))

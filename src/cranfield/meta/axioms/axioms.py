"""What does a measure reward? Axioms tested on all small lists, with a counter-example if one fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np

from cranfield.check import nearest
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike, as_measures
from cranfield.measures import Measure
from cranfield.measures.property_tables import MEANINGS, RANKED
from cranfield.meta.axioms.axiom_experiments import INTENT_EXPERIMENTS, RANKED_EXPERIMENTS, Finding, Scored
from cranfield.meta.synthetic_lists import FAR, Grades, SyntheticLists, check_plain_lists, higher_better, list_text
from cranfield.notes import Notes
from cranfield.record import Columns, Record, columns_of, labels
from cranfield.table import Cell, Table, headings
from cranfield.types import Array

LENGTH, GRADES = 5, 4
"""The length and the number of grades of the lists on which steps are tried."""
BASES: tuple[tuple[int, ...] | None, ...] = ((1, 1, 1), (2, 1, 0), (1, 0, 1), None)
"""The topic's number of documents of grade 1, 2 and 3; None: enough for every list."""
DEPTH = 8
"""The ranks at which a lone relevant document is tried."""

SHOWN = {"top_heavy": "top-heavy", "intent_probabilities": "intent probabilities", **RANKED}
"""Names in tables, where they differ."""
MEANS = {
    "swap": "of two neighbours, the better one moves up: the score does not get worse",
    "replacement": "a better document takes a document's place: the score does not get worse",
    "top_heavy": "a relevant document, alone or above another one, gains with every rank it moves up, and more the "
    "nearer it is to the top",
    "additive": "a document is worth the same whatever else is in the list",
    **{name: MEANINGS[SHOWN[name]] for name in (*RANKED_EXPERIMENTS, *INTENT_EXPERIMENTS) if name in SHOWN},
}
"""{axiom: its meaning}."""
YES = {True: "yes", False: "no"}
RATING_AXIOMS = {"swap", "replacement", "top_heavy", "normalised", "diminishing"}
"""Axioms that apply only to measures that rate a list, which means that one order of documents can be better."""


@dataclass(frozen=True, eq=False, repr=False)
class Axioms(Record):
    """The findings for some measures, one measure after the other."""

    figure = "describe_axioms"

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __getitem__(self, measure_and_axiom: tuple[Any, str]) -> Finding:
        """One finding, by measure and axiom: `result["AP", "swap"]`."""
        measure, axiom = str(as_measures(measure_and_axiom[0])[0]), measure_and_axiom[1]
        for finding in self.findings:
            if (finding.measure, finding.axiom) == (measure, axiom):
                return finding
        raise UsageError(f"{axiom!r} was not tried with {measure}")

    @property
    def measures(self) -> list[str]:
        return list(dict.fromkeys(finding.measure for finding in self.findings))

    def columns(self) -> Columns:
        """measure, axiom, holds, says, example; a row per finding."""
        columns = columns_of(self.findings, Finding, "measure", "axiom", "holds", "says")
        return {**columns, "example": labels(finding.shown() for finding in self.findings)}

    def table(self) -> Table:
        """A row per axiom, a column per measure, as in Sakai 2014 Fig. 6 and Fig. 7."""
        cells = {(finding.axiom, finding.measure): YES[finding.holds] for finding in self.findings}
        axioms = list(dict.fromkeys(finding.axiom for finding in self.findings))
        rows: list[tuple[Cell, ...]] = [
            (SHOWN.get(axiom, axiom), *(cells.get((axiom, measure)) for measure in self.measures)) for axiom in axioms
        ]
        notes = tuple(f"{SHOWN.get(axiom, axiom)}: {MEANS[axiom]}" for axiom in axioms)
        return Table(headings("text", "axiom", *self.measures), tuple(rows), notes=(*notes, *self.notes))

    def examples(self) -> Table:
        """A row per finding, with its lists."""
        rows = tuple((x.measure, SHOWN.get(x.axiom, x.axiom), YES[x.holds], x.says, x.shown()) for x in self.findings)
        return Table(headings("text", "measure", "axiom", "holds", "found", "lists"), rows)


@operation
def axioms(
    measures: MeasuresLike,
    only: Annotated[
        Sequence[str] | str | None,
        about("Some of {names}; separated by commas.", names="meta.axioms.axioms:MEANS", spelled="--only NAME,..."),
    ] = None,
) -> Axioms:
    """Test axioms on all small lists; if one fails, the finding has the lists that show it, with their scores.

    Swap and replacement are the steps from which Ferrante et al. derive the order of lists (IEEE TKDE 31(3), 2019;
    Ferro & Maistro 2024 §7.7); the others are the rows of Sakai 2014 Fig. 6 or, for measures of diversity, Fig. 7. An
    axiom that holds on all small lists may still fail on a longer one; a failure is final. `only` names some axioms.

    >>> finding = axioms("P+", only="swap")["P+", "swap"]
    >>> print(finding.holds, finding.shown())
    False (0 1 2 3 0) 0.5804, (0 1 3 2 0) 0.4762
    """
    chosen = as_measures(measures)
    names = None if only is None else [name.replace("-", "_") for name in ([only] if isinstance(only, str) else only)]
    for name in names or ():
        if name not in MEANS:
            raise nearest(name, list(MEANS), "axiom")
    findings: list[Finding] = []
    notes = Notes()
    for measure in chosen:
        experiments = _experiments(measure)
        if measure.properties.better == "neither":
            experiments = {name: test for name, test in experiments.items() if name not in RATING_AXIOMS}
            notes.caution(f"{measure} describes a list and does not rate it: axioms of better and worse do not apply")
        experiments = {name: test for name, test in experiments.items() if names is None or name in names}
        if not experiments:
            raise UsageError(f"none of {', '.join(names or ())} can be tried with {measure}")
        findings += [replace(experiment(measure), measure=str(measure)) for experiment in experiments.values()]
    return Axioms(tuple(findings), tuple(notes))


def _experiments(measure: Measure) -> dict[str, Callable[[Measure], Finding]]:
    if measure.uses_intents():
        return INTENT_EXPERIMENTS
    check_plain_lists(measure)
    steps = {kind: partial(improving_step, kind) for kind in ("swap", "replacement")}
    return {**steps, "top_heavy": top_heavy, **RANKED_EXPERIMENTS}


def improving_step(kind: str, measure: Measure) -> Finding:
    """Does the score never fall by a `swap` or a `replacement` that improves the list?"""
    tried = unchanged = 0
    for base in BASES:
        synthetic = SyntheticLists.of(LENGTH, GRADES, base)
        worst = FAR
        example: tuple[Scored, ...] = ()
        for steps in synthetic.steps(measure, synthetic.score(measure), kind):
            gained = steps.score_after - steps.score_before
            tried += int(np.isfinite(gained).sum())
            unchanged += int((np.abs(gained) <= FAR).sum())
            if len(gained) and -float(np.nanmin(gained, initial=0.0)) > worst:
                at = int(np.nanargmin(gained))
                worst = -float(gained[at])
                scores = higher_better(measure, np.array([steps.score_before[at], steps.score_after[at]]))
                lists = (steps.before[at].tolist(), steps.after[at].tolist())
                example = tuple(
                    Scored(list_text(grades, synthetic.missed(grades)), score)
                    for grades, score in zip(lists, scores.tolist(), strict=True)
                )
        if example:
            return Finding(kind, False, f"a {kind} makes the score worse", example)
    strict = f"; it stays the same in {unchanged:,}" if unchanged else ", and it always rises"
    return Finding(kind, True, f"the score never gets worse in {tried:,} steps{strict}")


def top_heavy(measure: Measure) -> Finding:
    """Does a relevant document gain with every rank it moves up, and more the nearer it is to the top?

    First it is the only one; then another relevant document stays at the last rank that is tried.
    """
    depth = DEPTH if measure.k is None or measure.cutoff_kind != "rank" else min(DEPTH, measure.k)
    alone = np.eye(DEPTH, dtype=np.int8)[:depth]
    above = alone[:-1].copy()
    above[:, depth - 1] = 1
    finding = _top_heavy(measure, alone)
    if not finding.holds or len(above) < 3:
        return finding
    other = _top_heavy(measure, above)
    return finding if other.holds else other


def _top_heavy(measure: Measure, lists: Grades) -> Finding:
    """The same for lists in which the first relevant document is at rank 1, 2, and so on."""
    synthetic, depth = SyntheticLists.of(DEPTH, 2), len(lists)
    if "rel" in measure.parameters() and (rel := int(measure.__dict__["rel"] or 1)) > 1:
        synthetic = SyntheticLists.of(DEPTH, rel + 1, sample=1)
        lists = lists * np.int8(rel)
    turned = synthetic.score(measure, lists)
    scores, gains = higher_better(measure, turned), -np.diff(turned)
    for rank in range(1, depth):
        if not gains[rank - 1] > FAR:
            says = f"it gains nothing from rank {rank + 1} to {rank}"
            return Finding("top_heavy", False, says, _scored(lists, scores, (rank, rank - 1)))
        if rank > 1 and not gains[rank - 2] > gains[rank - 1] + FAR:
            says = f"it gains no more from rank {rank} to {rank - 1} than from {rank + 1} to {rank}"
            return Finding("top_heavy", False, says, _scored(lists, scores, (rank, rank - 1, rank - 2)))
    if depth < 3:
        says = f"only the top {depth} could be tried"
        return Finding("top_heavy", True, says, _scored(lists, scores, range(depth)))
    return Finding("top_heavy", True, "it gains more the nearer it is to the top", _scored(lists, scores, (2, 1, 0)))


def _scored(lists: Grades, scores: Array, rows: Iterable[int]) -> tuple[Scored, ...]:
    return tuple(Scored(list_text(lists[row].tolist()), float(scores[row])) for row in rows)

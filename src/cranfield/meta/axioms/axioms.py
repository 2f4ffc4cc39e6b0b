"""What does a measure reward? Axioms tried on all small lists, with a counter-example where one fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import as_measures
from cranfield.frames import Tidy
from cranfield.measures import Measure
from cranfield.measures.property_tables import MEANINGS, RANKED, is_diverse
from cranfield.meta.axioms.findings import FAR, Finding, Scored, listed
from cranfield.meta.axioms.intent_experiments import INTENT_EXPERIMENTS
from cranfield.meta.axioms.ranked_experiments import RANKED_EXPERIMENTS
from cranfield.meta.constructed_lists import CANNOT, Lists, as_told, check_can, shown
from cranfield.table import Cell, Column, Table

LENGTH, GRADES = 5, 4
"""Steps are tried on all lists of so many documents and grades ..."""
BASES: tuple[tuple[int, ...] | None, ...] = ((1, 1, 1), (2, 1, 0), (1, 0, 1), None)
"""... of topics with so many documents of grade 1, 2 and 3; None: enough for every list."""
DEPTH = 8
"""A lone relevant document is tried at so many ranks."""

MEANS = {
    "swap": "of two neighbours, the better one moves up: the score does not get worse",
    "replacement": "a better document takes a document's place: the score does not get worse",
    "top_heavy": "a lone relevant document gains with every rank it moves up, and more the nearer it is to the top",
    "additive": "a document is worth the same whatever else is in the list",
    "graded": MEANINGS["graded"],
    "normalised": MEANINGS["normalised"],
    "recall_free": MEANINGS["recall-free"],
    "diminishing": MEANINGS["diminishing"],
    "lengths": MEANINGS["lengths"],
    "intent_probabilities": MEANINGS["intent probabilities"],
}
"""What each of them says."""
SHOWN = {"top_heavy": "top-heavy", "intent_probabilities": "intent probabilities", **RANKED}
"""What they are called in tables, where that is not their name."""
RATES = {"swap", "replacement", "top_heavy", "normalised", "diminishing"}
"""What is asked only of measures that rate a list: no order of documents is better by the others."""


@dataclass(frozen=True, eq=False)
class Axioms(Tidy):
    """What was found out of some measures, measure after measure."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __getitem__(self, measure_and_axiom: tuple[Any, str]) -> Finding:
        """One finding, by measure and axiom: `found["AP", "swap"]`."""
        measure, axiom = str(as_measures(measure_and_axiom[0])[0]), measure_and_axiom[1]
        for one in self.findings:
            if (one.measure, one.axiom) == (measure, axiom):
                return one
        raise UsageError(f"{axiom!r} was not tried with {measure}")

    @property
    def measures(self) -> list[str]:
        """The measures, in order."""
        return list(dict.fromkeys(one.measure for one in self.findings))

    def __str__(self) -> str:
        return self.table().text()

    __repr__ = __str__

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, axiom, holds, says, example; a row per finding."""
        return {
            "measure": np.array([one.measure for one in self.findings], dtype=object),
            "axiom": np.array([one.axiom for one in self.findings], dtype=object),
            "holds": np.array([one.holds for one in self.findings], dtype=bool),
            "says": np.array([one.says for one in self.findings], dtype=object),
            "example": np.array([one.shown() for one in self.findings], dtype=object),
        }

    def table(self) -> Table:
        """A row per axiom, a column per measure, as Sakai 2014 Fig. 6 and Fig. 7 have it."""
        found = {(one.axiom, one.measure): "yes" if one.holds else "no" for one in self.findings}
        axioms = list(dict.fromkeys(one.axiom for one in self.findings))
        rows: list[tuple[Cell, ...]] = [
            (SHOWN.get(axiom, axiom), *(found.get((axiom, measure)) for measure in self.measures)) for axiom in axioms
        ]
        notes = tuple(f"{SHOWN.get(axiom, axiom)}: {MEANS[axiom]}" for axiom in axioms)
        heads = (Column("axiom"), *(Column(measure) for measure in self.measures))
        return Table(heads, tuple(rows), notes=(*notes, *self.notes))

    def examples(self) -> Table:
        """A row per finding with the lists that show it."""
        rows = tuple(
            (one.measure, SHOWN.get(one.axiom, one.axiom), "yes" if one.holds else "no", one.says, one.shown())
            for one in self.findings
        )
        return Table((Column("measure"), Column("axiom"), Column("holds"), Column("found"), Column("lists")), rows)


def axioms(measures: Any, only: Any = None) -> Axioms:
    """Try axioms on all small lists; where one fails, the lists that show it are told with their scores.

    Swap and replacement are the steps from which Ferrante et al. derive the order of lists (IEEE TKDE 31(3), 2019;
    Ferro & Maistro 2024 §7.7); the others are the rows of Sakai 2014 Fig. 6 or, for measures of diversity, Fig. 7.
    What holds of all small lists may still fail on a longer one; what fails, fails. `only` names some of the axioms.

    >>> found = axioms("P+", only="swap")
    >>> found["P+", "swap"].holds
    False
    >>> print(found["P+", "swap"].shown())
    (0 1 2 3 0) 0.5804, (0 1 3 2 0) 0.4762
    """
    wanted = as_measures(measures)
    names = [only] if isinstance(only, str) else list(only) if only is not None else None
    for name in names or ():
        if name not in MEANS:
            raise nearest(name, list(MEANS), "axiom")
    findings: list[Finding] = []
    notes: list[str] = []
    for measure in wanted:
        kinds = _experiments(measure)
        if measure.properties.better == "neither":
            kinds = {name: kind for name, kind in kinds.items() if name not in RATES}
            notes.append(f"{measure} describes a list and does not rate it: axioms of better and worse do not apply")
        kinds = {name: kind for name, kind in kinds.items() if names is None or name in names}
        if not kinds:
            raise UsageError(f"none of {', '.join(names or ())} can be tried with {measure}")
        findings += [experiment(measure).of(measure) for experiment in kinds.values()]
    return Axioms(tuple(findings), tuple(notes))


def _experiments(measure: Measure) -> dict[str, Callable[[Measure], Finding]]:
    if measure.needs in ("inclusion", "dimensions"):
        raise UsageError(f"{measure} needs {CANNOT[measure.needs]}, which made-up lists do not have")
    if is_diverse(measure):
        return INTENT_EXPERIMENTS
    return {"swap": swap, "replacement": replacement, "top_heavy": top_heavy, **RANKED_EXPERIMENTS}


def swap(measure: Measure) -> Finding:
    """Of two neighbours, the better one moves up: does the score never fall?"""
    return _steps(measure, "swap")


def replacement(measure: Measure) -> Finding:
    """A document gives way to a better one: does the score never fall?"""
    return _steps(measure, "replacement")


def _steps(measure: Measure, kind: str) -> Finding:
    check_can(measure)
    tried = same = 0
    for base in BASES:
        made = Lists.of(LENGTH, GRADES, base)
        worst = FAR
        example: tuple[Scored, ...] = ()
        for steps in made.steps(measure, made.score(measure), kind):
            gained = steps.score_after - steps.score_before
            tried += int(np.isfinite(gained).sum())
            same += int((np.abs(gained) <= FAR).sum())
            if len(gained) and -float(np.nanmin(gained, initial=0.0)) > worst:
                at = int(np.nanargmin(gained))
                worst = -float(gained[at])
                two = as_told(measure, np.array([steps.score_before[at], steps.score_after[at]]))
                lists = (steps.before[at].tolist(), steps.after[at].tolist())
                example = tuple(
                    Scored(listed(one, made.missed(one)), found) for one, found in zip(lists, two.tolist(), strict=True)
                )
        if example:
            return Finding(kind, False, f"a {kind} makes the score worse", example)
    strict = f"; it stays the same in {same:,}" if same else ", and it always rises"
    return Finding(kind, True, f"the score never gets worse in {tried:,} steps{strict}")


def top_heavy(measure: Measure) -> Finding:
    """A lone relevant document moves up: does it gain with every rank, and more the nearer it is to the top?"""
    check_can(measure)
    depth = DEPTH if measure.k is None or measure.cutoff_kind != "rank" else min(DEPTH, measure.k)
    made = Lists.of(DEPTH, 2)
    lists = np.eye(DEPTH, dtype=np.int8)
    if "rel" in measure.parameters() and (rel := int(measure.__dict__["rel"] or 1)) > 1:
        made = Lists.of(DEPTH, rel + 1, sample=1)
        lists = lists * np.int8(rel)
    turned = made.score(measure, lists)[:depth]
    scores, gains = as_told(measure, turned), -np.diff(turned)
    for rank in range(1, depth):
        if not gains[rank - 1] > FAR:
            says = f"it gains nothing from rank {rank + 1} to {rank}"
            return Finding("top_heavy", False, says, _alone(lists, scores, (rank, rank - 1)))
        if rank > 1 and not gains[rank - 2] > gains[rank - 1] + FAR:
            says = f"it gains no more from rank {rank} to {rank - 1} than from {rank + 1} to {rank}"
            return Finding("top_heavy", False, says, _alone(lists, scores, (rank, rank - 1, rank - 2)))
    if depth < 3:
        return Finding("top_heavy", True, f"told from the top {depth} only", _alone(lists, scores, range(depth)))
    return Finding("top_heavy", True, "it gains more the nearer it is to the top", _alone(lists, scores, (2, 1, 0)))


def _alone(lists: NDArray[np.int8], scores: NDArray[np.float64], rows: Any) -> tuple[Scored, ...]:
    return tuple(Scored(shown(lists[row].tolist()), float(scores[row])) for row in rows)

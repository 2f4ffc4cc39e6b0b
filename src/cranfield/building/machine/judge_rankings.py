"""How runs are ranked, and which pairs differ, with human and with machine judgments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.building.machine.judged_pairs import BOTH, DOCUMENTS, ScoredTwice
from cranfield.comparison.compare import compare
from cranfield.comparison.data import noise
from cranfield.comparison.pair_tests import Family
from cranfield.comparison.result import Comparison
from cranfield.measures.property_tables import lower_is_better
from cranfield.meta.agreement.coefficients import overlap, tau_ap, tau_b
from cranfield.meta.complete_scores import levels_of
from cranfield.meta.judgments.rescoring import ranks
from cranfield.notes import method_note
from cranfield.record import Record, column
from cranfield.table import Cell, Column, Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

RBO_P = 0.9
LOST, GAINED, REVERSED = "lost", "gained", "reversed"
CHANGES = {
    LOST: "significant with human judgments only",
    GAINED: "significant with machine judgments only",
    REVERSED: "significant with both, in opposite directions",
}


@dataclass(frozen=True, eq=False, repr=False)
class JudgeRankings(Record):
    """Agreement of the rankings of runs, and of the conclusions about pairs; a row per judge, documents and measure."""

    caption = "Rankings of runs, and conclusions about pairs of runs"
    facts = ("test", "correction", "alpha")

    judge: Annotated[NDArray[Any], column()]
    documents: Annotated[NDArray[Any], column()]
    measure: Annotated[NDArray[Any], column()]
    topics: Annotated[Index64, column()]
    tau: Annotated[Array, column()]
    tau_ap: Annotated[Array, column("tau_ap")]
    rbo: Annotated[Array, column("RBO")]
    pairs: Annotated[Index64, column()]
    """The number of all pairs of runs."""
    swapped: Annotated[Index64, column()]
    """Pairs of runs whose means are in the opposite order."""
    significant: Annotated[Index64, column("significant (human)", "significant (machine)")]
    """2 × rows: pairs that differ with human, and with machine judgments."""
    changes: Annotated[Index64, column(*CHANGES)]
    """kinds of `CHANGES` × rows."""
    runs: int
    test: str
    correction: str
    alpha: float
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class ChangedConclusions(Record):
    """The pairs of runs about which the two judgments lead to other conclusions."""

    caption = "Conclusions that change"

    judge: Annotated[NDArray[Any], column()]
    documents: Annotated[NDArray[Any], column()]
    measure: Annotated[NDArray[Any], column()]
    run: Annotated[NDArray[Any], column()]
    other: Annotated[NDArray[Any], column()]
    human: Annotated[Array, column("difference (human)", "p (human)")]
    """The difference run − other with human judgments, and its adjusted p-value; × rows."""
    machine: Annotated[Array, column("difference (machine)", "p (machine)")]
    change: Annotated[NDArray[Any], column()]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class RunRanks(Record):
    """The mean and the rank of every run with human judgments, and with those of each machine judge."""

    figure = "describe_judge_ranks"

    judge: Annotated[NDArray[Any], column()]
    documents: Annotated[NDArray[Any], column()]
    measure: Annotated[NDArray[Any], column()]
    run: Annotated[NDArray[Any], column()]
    means: Annotated[Array, column("human mean", "machine mean")]
    """2 × rows: with human and with machine judgments."""
    rank: Annotated[Index64, column("human rank", "machine rank", "change")]
    """3 × rows: 1 is the best; ties share the best rank. The last is the change from the human to the machine rank."""
    spread: Annotated[Index64, column()]
    """The highest minus the lowest rank of the run under all machine judges, on the same documents and measure."""
    notes: tuple[str, ...]

    def table(self) -> Table:
        """A row per documents, measure and run, best run of the first judge first; a column per judge."""
        judges = list(dict.fromkeys(self.judge.tolist()))
        rows: dict[tuple[Any, ...], dict[str, Cell]] = {}
        ranks = zip(*self.rank[:2].tolist(), self.spread.tolist(), strict=True)
        entries = zip(self.documents, self.measure, self.run, self.judge, ranks, strict=True)
        for documents, measure, run, judge, (human, machine, spread) in entries:
            row = rows.setdefault((documents, measure, run), {"human": human, "spread": spread})
            row[judge] = machine
        order = sorted(rows, key=lambda key: (list(DOCUMENTS).index(key[0]), key[1], rows[key]["human"]))
        names = ["human", *judges, *(["spread"] if len(judges) > 1 else [])]
        heads = (*map(Column, ("documents", "measure", "run")), *(Column(name, "count") for name in names))
        cells = tuple((*key, *(rows[key].get(name) for name in names)) for key in order)
        return Table(heads, cells, "Ranks of runs under human and machine judgments", self.notes)


def compare_rankings(
    scored: list[ScoredTwice], *, test: str = "t", correction: str | None = None, alpha: float = 0.05, **settings: Any
) -> tuple[JudgeRankings, ChangedConclusions, RunRanks]:
    """Rank correlations, conclusions that change and ranks, for all judges, documents and measures.

    τ is Kendall's τ_b, τ_ap has the human ranking as the gold standard, RBO has p = 0.9. Pairs are tested by `compare`
    with each of the two judgments; the options are those of `compare`. The correction is for the pairs of a measure, so
    that a row does not depend on the other measures.
    """
    parts = [_compared(part, test=test, correction=correction, alpha=alpha, **settings) for part in scored]
    first = parts[0].settings
    correction_used = (
        ""
        if first.correction == "none"
        else f", {first.correction} over the pairs of each measure ({first.comparisons:,})"
    )
    notes = [
        method_note(f"test: {first.test}{correction_used}, α = {alpha:g}"),
        method_note(f"tau is τ_b, tau_ap takes the human ranking as the gold standard, RBO has p = {RBO_P:g}"),
        *(method_note(f"documents {name}: {what}, on topics that both judged") for name, what in DOCUMENTS.items()),
        *_same_documents(scored),
        *(method_note(f"{name}: {what}") for name, what in CHANGES.items()),
        *_left_out(scored),
        *(note for part in scored for note in part.notes),
    ]
    runs = len(scored[0].human.runs)
    rows = [
        (part.judge, part.documents, measure, len(part.human.topics), *compared.correlations[m],
         runs * (runs - 1) // 2, *compared.counts(m))
        for part, compared in zip(scored, parts, strict=True)
        for m, measure in enumerate(part.human.measures)
    ]  # fmt: skip
    rankings = JudgeRankings.of_rows(
        rows, runs=runs, test=first.test, correction=first.correction, alpha=alpha, notes=tuple(dict.fromkeys(notes))
    )
    return rankings, _changed(scored, parts), _ranks(scored)


def _same_documents(scored: list[ScoredTwice]) -> Iterator[str]:
    """A note about judges who judged the same documents as people, so that there is nothing else to compare."""
    further = {part.judge for part in scored if part.documents != BOTH}
    same = [part.judge for part in scored if part.documents == BOTH and part.judge not in further]
    if same:
        yield f"judged the same documents as people, so that both and all are the same: {listed(same)}"


def _left_out(scored: list[ScoredTwice]) -> Iterator[str]:
    """Notes about topics that were left out, each once for all judges and documents that have it."""
    cases: dict[tuple[str, ...], list[str]] = {}
    for part in scored:
        if part.left_out:
            cases.setdefault(part.left_out, []).append(f"{part.judge}, {part.documents}")
    for topics, where in cases.items():
        place = "" if len(where) == len(scored) else f" ({listed(where)})"
        why = "a score is undefined with human or machine judgments"
        yield f"{counted(len(topics), 'topic')} left out{place}, because {why}: {listed(topics)}"


@dataclass(frozen=True, eq=False)
class _Compared:
    settings: Comparison
    """The comparison of the first measure, for the names of the test and the correction."""
    human: list[Family]
    """For each measure, the pairs with human judgments."""
    machine: list[Family]
    correlations: Array
    """measures × (τ, τ_ap, RBO)."""
    sign: list[Index64]
    """For each measure, 2 × pairs: which run is better: 1, −1, or 0 within rounding."""
    direction: list[Index64]
    """For each measure, 2 × pairs: which run is better as the test finds, whose direction need not be the means'."""
    significant: list[NDArray[np.bool_]]
    """For each measure, 2 × pairs."""

    def change(self, measure: int) -> NDArray[Any]:
        """The kind of change of each pair; empty if there is none."""
        human, machine = self.significant[measure]
        opposite = self.direction[measure][0] != self.direction[measure][1]
        kinds = [human & ~machine, machine & ~human, human & machine & opposite]
        return np.select(kinds, list(CHANGES), "").astype(object)

    def counts(self, measure: int) -> tuple[int, list[int], list[int]]:
        """How many pairs are swapped; significant with human, and with machine judgments; changed, by kind."""
        sign, change = self.sign[measure], self.change(measure)
        swapped = int((sign[0] * sign[1] < 0).sum())
        return (
            swapped,
            self.significant[measure].sum(axis=1).tolist(),
            [int((change == kind).sum()) for kind in CHANGES],
        )


def _compared(part: ScoredTwice, **settings: Any) -> _Compared:
    human, machine = (
        [compare(scores, name, **settings, direction="given") for name in scores.measures]
        for scores in (part.human, part.machine)
    )
    families = [[family for comparison in side for family in comparison.families] for side in (human, machine)]
    signs, directions, significant = [], [], []
    for pairs in zip(*families, strict=True):
        signs.append(np.stack([_signs(family.difference, noise(family.matrix.values)) for family in pairs]))
        directions.append(np.stack([family.direction for family in pairs]))
        significant.append(np.stack([family.adjusted <= human[0].alpha for family in pairs]))
    return _Compared(human[0], families[0], families[1], _correlations(part), signs, directions, significant)


def _signs(difference: Array, close: float) -> Index64:
    """1, −1, or 0 for a difference within rounding."""
    return np.where(np.abs(difference) <= close, 0, np.sign(difference)).astype(np.int64)


def _correlations(part: ScoredTwice) -> Array:
    values = []
    for m, name in enumerate(part.human.measures):
        sign = -1.0 if lower_is_better(name) else 1.0
        scores = [part.human.values[m], part.machine.values[m]]
        means = np.stack([sign * score.mean(axis=1) for score in scores])
        levels = levels_of(means, np.array([noise(score) for score in scores]))
        values.append([float(f(levels)[0, 1]) for f in (tau_b, tau_ap, lambda x: overlap(x, p=RBO_P))])
    return np.array(values)


def _changed(scored: list[ScoredTwice], parts: list[_Compared]) -> ChangedConclusions:
    rows: list[tuple[Any, ...]] = []
    for part, compared in zip(scored, parts, strict=True):
        for m, (human, machine) in enumerate(zip(compared.human, compared.machine, strict=True)):
            kinds, runs = compared.change(m), human.matrix.systems
            for i in np.flatnonzero(kinds != "").tolist():
                names = runs[human.first[i]], runs[human.second[i]]
                numbers = [(family.difference[i], family.adjusted[i]) for family in (human, machine)]
                rows.append((part.judge, part.documents, human.matrix.measure, *names, *numbers, kinds[i]))
    notes = tuple(method_note(f"{name}: {what}") for name, what in CHANGES.items())
    return ChangedConclusions.of_rows(rows, notes=notes)


def _ranks(scored: list[ScoredTwice]) -> RunRanks:
    rows: list[tuple[Any, ...]] = []
    places: dict[Any, list[int]] = defaultdict(list)
    for part in scored:
        lower = [lower_is_better(name) for name in part.human.measures]
        means = [scores.values.mean(axis=2) for scores in (part.human, part.machine)]
        of_judge = [ranks(values, lower) for values in means]
        for (m, measure), (r, run) in product(enumerate(part.human.measures), enumerate(part.human.runs)):
            human, machine = (int(own[m, r]) for own in of_judge)
            places[part.documents, measure, run].append(machine)
            both = [own[m, r] for own in means]
            rows.append((part.judge, part.documents, measure, run, both, (human, machine, machine - human)))
    rows = [(*row, max(own := places[row[1:4]]) - min(own)) for row in rows]
    return RunRanks.of_rows(rows, notes=("spread: the highest minus the lowest rank of a run over the machine judges",))

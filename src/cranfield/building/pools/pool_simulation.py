"""Simulate pooling methods on judgments that exist: what would each have found, and which conclusions would hold?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.changed_lists.judged_documents import JudgedDocuments
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import segment_starts
from cranfield.building.kept_pairs import KeptPairs, Significance
from cranfield.building.pools.pool_policies import Policy
from cranfield.building.pools.pool_samples import Stratum, shared
from cranfield.building.pools.pooled_lists import NEVER, DocumentNames, Mask, PooledLists, best_ranks
from cranfield.building.pools.pooling import Method
from cranfield.collection.run import Belongs, belongs
from cranfield.comparison.corrections import CORRECTIONS
from cranfield.comparison.data import noise
from cranfield.comparison.pair_tests import TESTS, PairTestName, TestSettings
from cranfield.declared.operation import Alpha, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasureLike, as_measures, values_of
from cranfield.meta.complete_scores import Rel
from cranfield.meta.judgments import rescoring
from cranfield.meta.judgments.leave_out import run_groups
from cranfield.notes import caution_note, method_note
from cranfield.record import Record, labels, table_of
from cranfield.scores import summary as summaries
from cranfield.table import Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index, Index64, Progress

NAME = "simulate"
HEADINGS = {
    "tau": "τ", "significant": "pairs", "left_out_change": "left out: change", "left_out_ranks": "ranks lost (most)",
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What one method found within one budget, and how well one measure still compares the runs."""

    method: str
    budget: int
    measure: str
    judgments: int
    relevant: int
    share: float
    """Of all relevant documents."""
    tau: float
    """Kendall's τ_b of the ranking of runs with that of all judgments."""
    pairs: KeptPairs
    left_out_change: float = np.nan
    """The mean change of the score of a run if its team had not been pooled."""
    left_out_ranks: float = np.nan
    """The most ranks that a run loses if its team had not been pooled."""


@dataclass(frozen=True, eq=False, repr=False)
class PoolSimulation(Record):
    """A row per method, budget and measure."""

    figure = "pool_simulation_figure"
    facts = ("per_topic", "test", "correction", "alpha", "seed")

    outcomes: tuple[Outcome, ...]
    curves: dict[str, Array]
    """For each method, the share of all relevant documents that is found after 1, 2, ... judgments."""
    per_topic: bool
    """Whether budgets are judgments of each topic, or of all topics together."""
    test: str
    correction: str
    alpha: float
    seed: int
    by: str = ""
    """`run` or `team` if these were left out, else empty."""
    pooled: str = ""
    """What was pooled, in words: the numbers of runs and topics, and the depth."""
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, NDArray[Any]]:
        """method, budget, measure, judgments, relevant, share, tau, significant, kept, lost, reversed, new, ..."""
        names = ["method", "budget", "measure", "judgments", "relevant", "share", "tau"]
        columns = {name: labels(getattr(outcome, name) for outcome in self.outcomes) for name in names}
        for name in KeptPairs._fields:
            columns[name] = labels(getattr(outcome.pairs, name) for outcome in self.outcomes)
        if self.by:
            columns["left_out_change"] = labels(outcome.left_out_change for outcome in self.outcomes)
            ranks = labels(outcome.left_out_ranks for outcome in self.outcomes)
            columns["left_out_ranks"] = ranks if np.isnan(ranks).any() else ranks.astype(np.int64)
        return columns

    def table(self) -> Table:
        """A row per method, budget and measure; the column of the measure only if there are several."""
        columns = {HEADINGS.get(name, name): column for name, column in self.columns().items()}
        if len(set(columns["measure"].tolist())) == 1:
            del columns["measure"]
        columns["budget"] = labels(int(number) for number in columns["budget"])
        return table_of(columns, notes=self.notes)

    def curve(self) -> dict[str, NDArray[Any]]:
        """method, judgments, share: the discovery curves."""
        sizes = {name: np.arange(len(curve) + 1) for name, curve in self.curves.items()}
        return {
            "method": labels(name for name, curve in self.curves.items() for _ in range(len(curve) + 1)),
            "judgments": np.concatenate(list(sizes.values())),
            "share": np.concatenate([np.concatenate(([0.0], curve)) for curve in self.curves.values()]),
        }


@operation
def simulate_pools(
    qrels: Any,
    runs: Any,
    methods: Sequence[str | Method] = ("depth", "max-mean"),
    budgets: Sequence[int] = (100, 500),
    measures: MeasureLike | Sequence[MeasureLike] | None = "AP",
    *,
    total: Annotated[bool, about("The budgets are judgments of all topics together, divided evenly.")] = False,
    depth: int | None = 100,
    teams: Belongs | None = None,
    leave_out: Annotated[bool, about("Also pool without one run at a time.", spelled="--leave-out-runs")] = False,
    rel: Rel = 1,
    test: PairTestName = "t",
    correction: Annotated[
        str,
        about("The correction for many pairs: {names}.", names="comparison.corrections:CORRECTIONS", rare=True),
    ] = "holm",
    alpha: Alpha = 0.05,
    seed: Seed = 0,
    strata: Sequence[Stratum] = (),
    missing: str = "zero",
    options: JoinOptions | None = None,
    progress: Progress | None = None,
) -> PoolSimulation:
    """Judge again, document by document, in the order that each method chooses, with the grades of `qrels`.

    Only judged documents among the first `depth` of the runs can be chosen. For each method and budget: the relevant
    documents found, Kendall's τ of the ranking of runs with the ranking by all judgments, and the pairs of runs that
    differ significantly with all judgments: kept, lost, reversed; and new ones.

    budgets: numbers of judgments, of each topic or (`total=True`) of all topics together, divided evenly.
    teams: {run: team}, or a file: also pool without the runs of one team at a time, with the same budget, and compare
        the scores of its runs with those of the pool that has them; `leave_out` does this by run.
    test, correction, alpha: which pairs differ; see `compare`.

    Reference: Losada, Parapar & Barreiro, IP&M 2017 (relevant documents found); Otero, Parapar & Ferro, CIKM 2023
    (significant pairs); Zobel, SIGIR 1998 (runs that are not pooled)

    >>> runs = {"x": {"q": {"a": 3, "b": 2}}, "y": {"q": {"c": 3, "a": 2}}, "z": {"q": {"b": 1}}}
    >>> result = simulate_pools({"q": {"a": 1, "b": 1, "c": 0}}, runs, ["depth", "rrf"], [1, 2])
    >>> [(outcome.method, outcome.budget, outcome.relevant) for outcome in result.outcomes]
    [('depth', 1, 1), ('depth', 2, 1), ('rrf', 1, 1), ('rrf', 2, 2)]
    """
    check.whole("", depth=depth)
    chosen = [Method.of(method) for method in methods]
    repeated = [str(method) for number, method in enumerate(chosen) if method in chosen[:number]]
    if repeated:
        raise UsageError(f"method {repeated[0]} is given twice")
    for budget in budgets:
        check.whole("", budget=budget)
    if not chosen or not budgets:
        raise UsageError("no methods or no budgets given")
    scorer = rescoring.Rescorer(NAME, qrels, runs, as_measures(measures), options, missing)
    groups = None
    if teams is not None or leave_out:
        groups = run_groups(scorer.full.runs, None if teams is None else belongs(teams, "team"), runs)
        if len(groups[0]) < 2:
            raise UsageError(f"all runs belong to team {groups[0][0]!r}, there must be 2 or more teams")
    tested = TESTS.find(test)
    name = "none" if tested.simultaneous else CORRECTIONS.find(correction).name
    how = Significance(tested, name, TestSettings(alpha=alpha, seed=seed))
    simulation = Simulation(scorer, depth, rel, seed, tuple(strata), sorted(set(budgets)), not total, groups, how)
    outcomes, curves = [], {}
    steps = 1 if groups is None else 1 + len(groups[0])

    def tell(method: int, done: int, _: int) -> None:
        if progress is not None:
            progress(method * steps + done, len(chosen) * steps)

    for number, method in enumerate(chosen):
        of_method, curve = simulation.of(method, partial(tell, number))
        outcomes += of_method
        curves[str(method)] = curve
        tell(number, steps, steps)
    notes = (*scorer.full.notes, *simulation.notes(chosen))
    by = "" if groups is None else "run" if teams is None else "team"
    size = f"{counted(len(scorer.full.runs), 'run')}, {counted(len(scorer.full.topics), 'topic')}"
    pooled = f"{size}, {'whole lists' if depth is None else f'depth {depth}'}; topics are judged in turn"
    return PoolSimulation(tuple(outcomes), curves, not total, test, how.correction, alpha, seed, by, pooled, notes)


@dataclass
class Simulation:
    """Runs that are read once and pooled by many methods."""

    scorer: rescoring.Rescorer
    depth: int | None
    rel: float
    seed: int
    strata: tuple[Stratum, ...]
    budgets: list[int]
    per_topic: bool
    groups: tuple[tuple[str, ...], Any] | None
    how: Significance

    def __post_init__(self) -> None:
        self.documents: JudgedDocuments = self.scorer.documents
        self.lists, self.judged = lists_of_judged(self.documents, self.depth)
        self.relevant = self.documents.grade >= self.rel
        self.signs = [self.significant(m, values) for m, values in enumerate(self.scorer.full.values)]
        self.lower = [measure.properties.better == "lower" for measure in self.scorer.measures]

    def of(self, method: Method, progress: Progress | None = None) -> tuple[list[Outcome], Array]:
        """The outcome of each budget and measure, and the discovery curve."""
        masks, place = self.masks(method, self.lists, self.judged)
        outcomes: list[Outcome] = []
        values = [self.scorer.values(self.documents.judged(keep=mask)) for mask in masks]
        left_out = None if self.groups is None else TeamsLeftOut(self, *self.groups).of(method, values, progress)
        for b, budget in enumerate(self.budgets):
            before, after = rescoring.paired_means(self.scorer.full.values, values[b])
            tau = rescoring.tau(before, after)
            relevant = int((masks[b] & self.relevant).sum())
            for m, measure in enumerate(self.scorer.full.measures):
                more = {} if left_out is None else left_out.row(b, m)
                outcomes.append(
                    Outcome(
                        str(method),
                        budget,
                        measure,
                        int(masks[b].sum()),
                        relevant,
                        relevant / max(int(self.relevant.sum()), 1),
                        float(tau[m]),
                        KeptPairs.of(self.signs[m], self.significant(m, values[b][m])),
                        **more,
                    )
                )
        judged = np.flatnonzero(place)
        order = judged[np.lexsort((self.lists.topic[judged], place[judged]))]
        curve = np.cumsum(self.relevant[self.judged[order]]) / max(int(self.relevant.sum()), 1)
        return outcomes, np.asarray(curve)

    def significant(self, measure: int, values: Array) -> Index64:
        """The signs of the pairs of runs that differ by these scores (runs × topics)."""
        full = self.scorer.full
        return self.how.signs(values, full.runs, full.topics, full.measures[measure])[0]

    def masks(self, method: Method, lists: PooledLists, judged: Index64) -> tuple[list[Mask], Index64]:
        """For each budget, which of the judged documents are judged; and when each pooled document is."""
        allowed = [self.allowed(budget, lists) for budget in self.budgets]
        orders = self.orders(method, lists, judged, allowed)
        masks = []
        for order, sizes in zip(orders, allowed, strict=True):
            mask = np.zeros(len(self.documents), dtype=bool)
            mask[judged[(order > 0) & (order <= sizes[lists.topic])]] = True
            masks.append(mask)
        return masks, orders[-1]

    def orders(
        self, method: Method, lists: PooledLists, judged: Index64, allowed: list[Index64], most: int | None = None
    ) -> list[Index64]:
        """For each budget, when each pooled document is judged; only a sample depends on the budget."""
        relevant = self.relevant[judged]
        if not method.policy.samples:
            return [judging_order(method.make(lists, seed=self.seed), relevant, most)] * len(allowed)
        make = partial(method.make, lists, seed=self.seed, strata=self.strata)
        return [judging_order(make(sizes=np.maximum(sizes, 1)), relevant) for sizes in allowed]

    def allowed(self, budget: int, lists: PooledLists) -> Index64:
        """The number of judgments of each topic."""
        sizes = np.diff(lists.start)
        return np.minimum(sizes, budget) if self.per_topic else shared(budget, sizes)

    def notes(self, methods: Sequence[Method]) -> Iterator[str]:
        """What a reader of the numbers must know."""
        yield rescoring.BY_TAU
        unit = "judgments of each topic" if self.per_topic else "judgments of all topics together"
        yield method_note(f"budgets are {unit}; {counted(int(self.relevant.sum()), 'relevant document')} in all")
        outside = int(self.relevant.sum()) - int(self.relevant[self.judged].sum())
        if outside:
            are = counted(outside, "relevant document is", "relevant documents are")
            yield f"{are} in no list to depth {self.depth}"
        sizes = np.diff(self.lists.start)
        total = int(sizes.max(initial=0)) if self.per_topic else self.lists.size
        large = [budget for budget in self.budgets if budget > total]
        if large:
            pool = "largest pool of a topic" if self.per_topic else "pool"
            yield caution_note(
                f"the {pool} has {counted(total, 'judged document')}, fewer than budgets of {listed(large)}"
            )
        if any(method.policy.samples for method in methods):
            yield method_note(
                "samples are scored like other pools here: documents that were not drawn count as unjudged"
            )
        if self.groups is not None:
            whom = "itself" if len(self.groups[0]) == len(self.scorer.full.runs) else "its team"
            yield method_note(
                f"left out: the score of a run without {whom} in the pool minus that with it, mean over runs"
            )
        corrected = "for all pairs together" if self.how.test.simultaneous else f"corrected by {self.how.correction}"
        yield method_note(
            f"pairs: those of {len(self.signs[0]):,} that differ with all judgments ({self.how.test.name}, "
            f"α = {self.how.settings.alpha:g}, {corrected})"
        )


def judging_order(policy: Policy, relevant: Mask, most: int | None = None, progress: Progress | None = None) -> Index64:
    """For each document, when a policy has it judged: 1 for the first of its topic, 0 if never.

    `relevant` says which documents are; `most` is the largest number of judgments of a topic.

    >>> from cranfield.building.pools.pooling import Method
    >>> from cranfield.building.pools.pooled_lists import PooledLists
    >>> lists = PooledLists.of({"x": {"q": {"a": 3, "b": 2}}, "y": {"q": {"c": 3, "a": 2}}})
    >>> judging_order(Method.of("rrf").make(lists), np.array([True, False, False])).tolist()  # a, c, b
    [1, 2, 3]
    """
    place = np.zeros(policy.lists.size, dtype=np.int64)
    topics = np.flatnonzero(policy.left > 0)
    steps = int(policy.left.max(initial=0)) if most is None else min(most, int(policy.left.max(initial=0)))
    for step in range(1, steps + 1):
        documents = policy.propose(topics).document
        policy.learn(topics, documents, relevant[documents])
        place[documents] = step
        topics = topics[policy.left[topics] > 0]
        if progress is not None:
            progress(step, steps)
    return place


def lists_of_judged(documents: JudgedDocuments, depth: int | None) -> tuple[PooledLists, Index64]:
    """The judged documents among the first `depth` of every list, at their ranks; and their numbers in `documents`.

    >>> judged = JudgedDocuments.of({"q": {"b": 0, "c": 1}}, {"mine": {"q": {"a": 3, "b": 2, "c": 1}}})
    >>> lists, _ = lists_of_judged(judged, depth=2)
    >>> lists.docs(0), lists.rank.tolist()
    (['b'], [2])
    """
    lists = documents.lists
    assert lists.document is not None
    hits = np.flatnonzero(lists.rank <= depth) if depth else np.arange(len(lists.rank))
    run, topic = lists.run[lists.row[hits]].astype(np.int64), lists.topic[lists.row[hits]].astype(np.int64)
    rank, judged = lists.rank[hits].astype(np.int64), lists.document[hits].astype(np.int64)
    best = best_ranks(judged, rank, run, len(documents), len(lists.runs))
    kept = np.flatnonzero(best < NEVER)
    kept = kept[np.lexsort((best[kept], documents.topic[kept]))]
    number = np.full(len(documents), -1)
    number[kept] = np.arange(len(kept))
    row = topic * len(lists.runs) + run
    order = np.lexsort((rank, row))
    line = np.zeros(len(documents), dtype=np.int64)
    line[documents.document] = np.arange(len(documents.document))
    pooled = PooledLists(
        tuple(lists.topics),
        tuple(lists.runs),
        segment_starts(documents.topic[kept], len(lists.topics)),
        segment_starts(row[order], len(lists.topics) * len(lists.runs)),
        number[judged[order]],
        rank[order],
        DocumentNames(documents.qrels.table, line[kept]),
    )
    return pooled, kept


MOST_ENTRIES = 4_000_000
"""Entries of lists that are simulated at a time, to bound memory."""


@dataclass(frozen=True, eq=False)
class LeftOutRuns:
    """Arrays are budgets × measures × runs: each run, if its team had not been pooled."""

    change: Array
    """Of the mean score."""
    ranks: Array
    """The number of runs of other teams that it falls behind."""

    def row(self, budget: int, measure: int) -> dict[str, float]:
        """The mean change and the largest number of ranks."""
        change, ranks = self.change[budget, measure], self.ranks[budget, measure]
        known = bool(np.isfinite(change).any())
        return {
            "left_out_change": float(np.nanmean(change)) if known else np.nan,
            "left_out_ranks": float(np.nanmax(ranks)) if known else np.nan,
        }


@dataclass(frozen=True, eq=False)
class TeamsLeftOut:
    """A simulation, with the team of each run."""

    simulation: Simulation
    names: tuple[str, ...]
    group: Index

    def of(self, method: Method, values: Sequence[Array], progress: Progress | None = None) -> LeftOutRuns:
        """Leave out every team; `values` are the scores with all teams in the pool, for each budget."""
        shape = (len(values), *values[0].shape[:2])
        result = LeftOutRuns(np.full(shape, np.nan), np.full(shape, np.nan))
        for teams in self._blocks():
            for team, masks in zip(teams, self._masks(method, teams), strict=True):
                members = np.flatnonzero(self.group == team)
                for b, mask in enumerate(masks):
                    alone = self._scores(self.simulation.documents.judged(keep=mask, runs=members), len(members))
                    before, after = rescoring.paired_means(values[b][:, members], alone)
                    result.change[b][:, members] = after - before
                    result.ranks[b][:, members] = self._ranks_lost(values[b], members, after - before)
                if progress is not None:
                    progress(team + 1, len(self.names))
        return result

    def _blocks(self) -> Iterator[range]:
        size = max(1, MOST_ENTRIES // max(len(self.simulation.lists.document), 1))
        for begin in range(0, len(self.names), size):
            yield range(begin, min(begin + size, len(self.names)))

    def _masks(self, method: Method, teams: Sequence[int]) -> Iterator[list[Mask]]:
        """For each team and budget, which documents are judged if its runs are not pooled."""
        simulation, lists = self.simulation, self.simulation.lists
        parts, numbers = [], []
        for team in teams:
            part, kept = lists.of_runs(self.group != team)
            parts.append(part)
            numbers.append(simulation.judged[kept])
        stacked, judged = PooledLists.stacked(parts), np.concatenate(numbers)
        allowed = [
            np.concatenate([simulation.allowed(budget, part) for part in parts]) for budget in simulation.budgets
        ]
        orders = simulation.orders(method, stacked, judged, allowed, int(allowed[-1].max()))
        starts = np.cumsum([0] + [part.size for part in parts])
        for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            own = slice(begin, end)
            masks = []
            for order, sizes in zip(orders, allowed, strict=True):
                mask = np.zeros(len(simulation.documents), dtype=bool)
                mask[judged[own][(order[own] > 0) & (order[own] <= sizes[stacked.topic[own]])]] = True
                masks.append(mask)
            yield masks

    def _scores(self, lists: Assessed, runs: int) -> Array:
        """measures × runs × topics."""
        scorer = self.simulation.scorer
        shape = (runs, len(scorer.full.topics))
        return np.stack([values_of(measure, lists).reshape(shape) for measure in scorer.measures])

    def _ranks_lost(self, values: Array, members: Index64, change: Array) -> Array:
        """How many runs of other teams a run falls behind, if only its own score changes."""
        sign = np.where(self.simulation.lower, -1.0, 1.0)[:, None]
        means = summaries.mean(values) * sign
        others = means[:, np.setdiff1d(np.arange(means.shape[1]), members)]
        close = np.array([noise(row) for row in means])[:, None, None]
        ahead = [
            (others[:, None, :] > scores[:, :, None] + close).sum(axis=-1)
            for scores in (means[:, members], means[:, members] + change * sign)
        ]
        return np.asarray(ahead[1] - ahead[0], dtype=np.float64)

"""Which systems do the preferences of users favour? The agreement of runs with them, tested over queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from cranfield.collection.run import Run
from cranfield.comparison.compare import compare
from cranfield.comparison.result import Comparison
from cranfield.errors import UsageError
from cranfield.online.log_measures.preferences.click_preferences import Cycle, Preferences, majority, shortest_cycle
from cranfield.record import Record, column
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

AGREEMENT = "agreement"


@dataclass(frozen=True, eq=False, repr=False)
class RunAgreement(Record):
    """The share of preferences that each run agrees with, averaged over queries."""

    caption = "Agreement of runs with preferences from clicks"

    runs: Annotated[tuple[str, ...], column("run")]
    agreement: Annotated[Array, column(better="higher")]
    queries: Annotated[Index64, column()]
    """Queries with a preference that the run decides."""
    agree: Annotated[Index64, column()]
    """How many preferences the run agrees with."""
    disagree: Annotated[Index64, column()]
    neither: Annotated[Index64, column()]
    """Preferences between two documents that the run does not have, or gives the same score."""
    scores: Scores
    """The agreement of each run on each query."""
    comparison: Comparison | None
    """The test of all pairs of runs over queries; None for a single run."""
    cycle: Cycle | None
    """Runs of which each agrees better than the next on most queries, and the last better than the first."""
    notes: tuple[str, ...]

    def sorted_rows(self) -> Index64:
        """The best run first."""
        return np.argsort(-np.nan_to_num(self.agreement, nan=-1.0), kind="stable")


def run_agreement(
    preferences: Preferences,
    runs: Mapping[str, Run],
    *,
    topics: Mapping[str, str] | None = None,
    test: str = "t",
    alpha: float = 0.05,
    seed: int = 0,
) -> RunAgreement:
    r"""The share of preferences that each run agrees with: it ranks the preferred document higher.

    .. math:: A = \frac{1}{|Q|} \sum_q \frac{\text{preferences of } q \text{ that the run agrees with}}
        {\text{preferences of } q \text{ that the run decides}}

    A document that the run lacks is below all that it has. Two documents that it lacks both are not decided.
    topics: {topic of the runs: text of the query}; default: topics are named by the text of their query.
    test: a test of `compare`, paired by query.

    Reference: Radlinski & Joachims, Query Chains, KDD 2005, doi:10.1145/1081870.1081899; Ferro & Maistro 2024, §6.5
    """
    if not runs:
        raise UsageError("run_agreement: no runs")
    counts = preferences.counts()
    texts = {topic: " ".join(text.lower().split()) for topic, text in (topics or {}).items()}
    names = tuple(runs)
    decided = {name: _decided(run, counts, texts if topics else None) for name, run in runs.items()}
    queries = sorted(query for query in counts if any(query in found for found in decided.values()))
    if not queries:
        known = listed(map(repr, sorted(counts)), most=3) or "none"
        raise UsageError(
            f"run_agreement: no topic of the runs is a query with preferences; these queries are {known};"
            " to name the topics of queries: topics="
        )
    tallies = np.array([[decided[name].get(query, (0, 0, 0)) for query in queries] for name in names], dtype=np.int64)
    sums = tallies[:, :, 0] + tallies[:, :, 1]
    with np.errstate(invalid="ignore"):
        values = np.where(sums > 0, tallies[:, :, 0] / np.where(sums > 0, sums, 1), np.nan)
    scores = Scores([AGREEMENT], names, queries, values[None])
    comparison = None
    if len(names) > 1 and (~np.isnan(values)).all(axis=0).sum() > 1:
        comparison = compare(scores, test=test, alpha=alpha, seed=seed)
    cycle = shortest_cycle(majority(_wins(names, values)))
    return RunAgreement(
        names,
        np.array([np.nanmean(row) if (~np.isnan(row)).any() else np.nan for row in values]),
        (sums > 0).sum(axis=1),
        tallies[:, :, 0].sum(axis=1),
        tallies[:, :, 1].sum(axis=1),
        tallies[:, :, 2].sum(axis=1),
        scores,
        comparison,
        cycle,
        _notes(counts, queries, names, cycle),
    )


def _decided(run: Run, counts: Any, texts: Mapping[str, str] | None) -> dict[str, tuple[int, int, int]]:
    """{query: preferences that the run agrees with, disagrees with, does not decide}."""
    result: dict[str, tuple[int, int, int]] = {}
    for topic, scores in run.to_dict().items():
        query = " ".join(topic.lower().split()) if texts is None else texts.get(topic, "")
        if query not in counts:
            continue
        tally = list(result.get(query, (0, 0, 0)))
        for (better, worse), times in counts[query].items():
            first, second = scores.get(better, -np.inf), scores.get(worse, -np.inf)
            tally[0 if first > second else 1 if first < second else 2] += times
        result[query] = (tally[0], tally[1], tally[2])
    return result


def _wins(names: Sequence[str], values: Array) -> dict[tuple[str, str], float]:
    """{(run, other run): queries on which the first agrees better}."""
    return {
        (first, second): float((values[i] > values[j]).sum())
        for i, first in enumerate(names)
        for j, second in enumerate(names)
        if i != j
    }


def _notes(counts: Any, queries: Sequence[str], names: Sequence[str], cycle: Cycle | None) -> tuple[str, ...]:
    notes = [f"{len(queries):,} of {counted(len(counts), 'query', 'queries')} with preferences are topics of the runs"]
    if cycle is not None:
        notes.append(f"intransitive: by the number of queries on which one agrees better, {cycle}")
    elif len(names) > 2:
        notes.append("no cycle among the runs, by the number of queries on which one agrees better")
    return tuple(notes)

"""Preferences between documents, from those that users click and those that they skip; and cycles of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.collection.run import Run
from cranfield.comparison.compare import compare
from cranfield.comparison.result import Comparison
from cranfield.declared.operation import Alpha, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.notes import caution_note, method_note
from cranfield.online.expressions import col, nw
from cranfield.online.log_measures.log_signals import QUERY
from cranfield.online.log_measures.query_level import normal_text
from cranfield.online.logs.log import Log
from cranfield.record import Record, column, table_of
from cranfield.scores.scores import Scores
from cranfield.table import Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

Pair = tuple[str, str]
"""The better and the worse of two things."""
PairCounts = Mapping[str, Mapping[Pair, int]]
"""{query: {pair: how often it was preferred}}."""


@dataclass(frozen=True)
class Cycle:
    """Things of which each is preferred to the next, and the last to the first."""

    query: str
    """The query that the documents are of; empty for systems."""
    members: tuple[str, ...]

    def __str__(self) -> str:
        path = " > ".join([*self.members, self.members[0]])
        return f"{path} (query {self.query!r})" if self.query else path


def majority(counts: Mapping[Pair, float]) -> set[Pair]:
    """The pairs in which the first is preferred more often than the second.

    >>> majority({("a", "b"): 3, ("b", "a"): 1, ("b", "c"): 2, ("c", "b"): 2})
    {('a', 'b')}
    """
    return {(first, second) for (first, second), n in counts.items() if n > counts.get((second, first), 0)}


def in_cycles(pairs: Iterable[Pair]) -> set[Pair]:
    """The pairs that are part of some cycle: both are in one strongly connected component.

    >>> sorted(in_cycles([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]))
    [('a', 'b'), ('b', 'c'), ('c', 'a')]
    """
    chosen = list(pairs)
    component = _components(chosen)
    return {(first, second) for first, second in chosen if component[first] == component[second]}


def shortest_cycle(pairs: Iterable[Pair], query: str = "") -> Cycle | None:
    """A cycle with the fewest members; None if there is none. Of several, the first in the order of names.

    >>> print(shortest_cycle([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("c", "a")]))
    a > b > c > a
    """
    looped = in_cycles(pairs)
    below: dict[str, list[str]] = {}
    for first, second in sorted(looped):
        below.setdefault(first, []).append(second)
    best: tuple[str, ...] | None = None
    for start in sorted(below):
        path = _way_back(start, below, len(best) if best else None)
        if path is not None and (best is None or len(path) < len(best)):
            best = path
            if len(best) == 2:
                break
    return None if best is None else Cycle(query, best)


def _way_back(start: str, below: Mapping[str, list[str]], limit: int | None) -> tuple[str, ...] | None:
    """The shortest way from a member back to itself, shorter than the limit: breadth first."""
    before: dict[str, str | None] = {start: None}
    depth = {start: 1}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        if limit is not None and depth[here] >= limit:
            return None
        for there in below.get(here, ()):
            if there == start:
                path = [here]
                while (earlier := before[path[-1]]) is not None:
                    path.append(earlier)
                return tuple(reversed(path))
            if there not in before:
                before[there], depth[there] = here, depth[here] + 1
                queue.append(there)
    return None


def _components(pairs: list[Pair]) -> dict[str, int]:
    """The number of the strongly connected component of each member."""
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    names = sorted({name for pair in pairs for name in pair})
    if not names:
        return {}
    number = {name: i for i, name in enumerate(names)}
    first, second = ([number[pair[side]] for pair in pairs] for side in (0, 1))
    graph = csr_array((np.ones(len(pairs)), (first, second)), shape=(len(names), len(names)))
    labels = connected_components(graph, directed=True, connection="strong")[1]
    return dict(zip(names, labels.tolist(), strict=True))


MOST_PAIRS = 1_000_000
"""The most pairs of documents that are fetched; more are an error, with the way out."""
LEAST = 5
"""Pairs with preferences of fewer users are left out."""


@dataclass(frozen=True)
class Rule:
    """When a click is a preference."""

    name: str
    means: str
    pairs: Callable[[], Any]
    """The condition on a clicked document and another one of the same list, whose columns begin with `other`."""


def _skipped() -> Any:
    return col("other click").is_null()


RULES = {
    rule.name: rule
    for rule in (
        Rule(
            "skip-above",
            "a clicked document is preferred to those above it that were not clicked",
            lambda: _skipped() & (col("other position") < col("position")),
        ),
        Rule(
            "last-click-skip-above",
            "the document that was clicked last is preferred to those above it that were not clicked",
            lambda: _skipped() & (col("other position") < col("position")) & (col("click") == col("last")),
        ),
        Rule(
            "earlier-click",
            "a clicked document is preferred to those that were clicked before it",
            lambda: col("other click") < col("click"),
        ),
        Rule(
            "skip-previous",
            "a clicked document is preferred to the one just above it, if that was not clicked",
            lambda: _skipped() & (col("other position") == col("position") - 1),
        ),
        Rule(
            "no-click-next",
            "a clicked document is preferred to the one just below it, if that was not clicked",
            lambda: _skipped() & (col("other position") == col("position") + 1),
        ),
    )
}
"""The rules by name, in the order of the paper.

Reference: Joachims, Granka, Pan, Hembrooke & Gay, Accurately Interpreting Clickthrough Data as Implicit Feedback, SIGIR
2005, 154-161, doi:10.1145/1076034.1076063; Ferro & Maistro 2024, §6.5
"""


@dataclass(frozen=True, eq=False, repr=False)
class Preferences(Record):
    """How often users preferred one document to another, for each query."""

    facts = ("rules", "least", "cycles")

    rules: tuple[str, ...]
    query: Annotated[NDArray[Any], column()]
    better: Annotated[NDArray[Any], column()]
    worse: Annotated[NDArray[Any], column()]
    times: Annotated[Index64, column()]
    """How often the first document was preferred."""
    reverse: Annotated[Index64, column()]
    """How often the second document was preferred to the first."""
    users: Annotated[Index64, column()]
    """By how many users."""
    cycles: tuple[Cycle, ...]
    """The shortest cycle of each query that has one, shortest first."""
    least: int
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """query, better, worse, times, reverse, users, and share: of all preferences between the two."""
        return {**super().columns(), "share": self.times / (self.times + self.reverse)}

    def table(self, most: int | None = 20) -> Table:
        """The pairs with the most preferences."""
        order = np.lexsort((self.worse, self.better, self.query, -self.times))[:most]
        more = len(self.times) - len(order)
        notes = (f"{counted(more, 'further pair')} not shown", *self.notes) if more else self.notes
        return table_of(self.columns(), order, caption="Preferences from clicks", notes=notes)

    def counts(self) -> dict[str, dict[tuple[str, str], int]]:
        """{query: {(better, worse): times}}, in both directions."""
        result: dict[str, dict[tuple[str, str], int]] = {}
        columns = (self.query, self.better, self.worse, self.times, self.reverse)
        for query, better, worse, times, reverse in zip(*(values.tolist() for values in columns), strict=True):
            pairs = result.setdefault(query, {})
            pairs[better, worse] = times
            if reverse:
                pairs[worse, better] = reverse
        return result


@operation
def click_preferences(
    log: Log,
    rules: Annotated[
        Sequence[str],
        about(
            "When a click is a preference: {names}.",
            names="online.log_measures.click_preferences:RULES",
            spelled="--preference-rule NAME,...",
        ),
    ] = ("skip-above",),
    *,
    least: Annotated[
        int, about("Leave out pairs with preferences of fewer than N users.", least=1, solves="least=")
    ] = LEAST,
) -> Preferences:
    """How often users prefer one document to another, for queries with the same text.

    A list gives a pair of documents one preference per rule, however often the document was clicked; the first click
    on a document counts as its time. With several rules, preferences add up.

    Clicks are compared with other documents of the same list, so trust in the ranking of the system plays a part. The
    rule is fair only if lists show documents in random order (Ferro & Maistro 2024, §6.5).

    Reference: Joachims, Granka, Pan, Hembrooke & Gay, SIGIR 2005, 154-161, doi:10.1145/1076034.1076063

    >>> from cranfield.online.logs import simulate_log
    >>> found = click_preferences(simulate_log(users=200, days=5, seed=1, topics=5), ["skip-above"])
    >>> bool((found.users >= 5).all()), found.rules
    (True, ('skip-above',))
    """
    chosen = tuple(dict.fromkeys(rules))
    if not chosen:
        raise UsageError(f"no rule for preferences; there are {', '.join(RULES)}")
    for rule in chosen:
        if rule not in RULES:
            raise check.nearest(rule, tuple(RULES), "rule for preferences")
    pairs = log.engine.keep(_pairs(log, chosen))
    swapped = pairs.select(
        QUERY, col("worse").alias("better"), col("better").alias("worse"), col("times").alias("reverse")
    )
    pairs = pairs.filter(col("users") >= least).join(swapped, on=[QUERY, "better", "worse"], how="left")
    pairs = log.engine.keep(pairs.with_columns(col("reverse").fill_null(0)))
    size = log.engine.count(pairs)
    if size > MOST_PAIRS:
        limit = counted(MOST_PAIRS, "pair of documents", "pairs of documents")
        raise UsageError(f"{size:,} pairs of documents, more than {limit}; to take only frequent ones: raise least=")
    table = log.engine.fetch(pairs.sort(QUERY, "better", "worse"))
    texts = {name: np.array(table.column(name).to_pylist(), dtype=object) for name in (QUERY, "better", "worse")}
    numbers = {name: np.array(table.column(name).to_pylist(), np.int64) for name in ("times", "users", "reverse")}
    preferences = Preferences(chosen, **texts, **numbers, cycles=(), least=least, notes=())
    cycles, looped, preferred = _cycles(preferences)
    notes = [method_note(f"{rule}: {RULES[rule].means}") for rule in chosen]
    notes.append(method_note(f"pairs with preferences of fewer than {least} users are left out"))
    notes += [_cycle_note(cycles, looped, preferred), *log.notes]
    return replace(preferences, cycles=cycles, notes=tuple(notes))


def _pairs(log: Log, rules: Sequence[str]) -> Any:
    """A row per query text, better and worse document: times and users."""
    clicks = log.events.filter((col("action") == "click") & ~col("doc").is_null())
    clicks = clicks.group_by("query_id", "doc").agg(col("time").min().alias("click"))
    clicks = log.engine.keep(clicks)
    last = clicks.group_by("query_id").agg(col("click").max().alias("last"))
    # A document that is shown twice counts at its first position, and only lists with a click matter.
    shown = log.shown.group_by("query_id", "doc").agg(col("position").min()).join(last, on="query_id", how="inner")
    shown = log.engine.keep(shown.join(clicks, on=["query_id", "doc"], how="left"))
    others = shown.select(
        "query_id",
        col("doc").alias("worse"),
        col("position").alias("other position"),
        col("click").alias("other click"),
    )
    both = shown.filter(~col("click").is_null()).rename({"doc": "better"}).join(others, on="query_id", how="inner")
    both = both.filter(col("better") != col("worse"))
    preferred = [both.filter(RULES[rule].pairs()).select("query_id", "better", "worse") for rule in rules]
    preferences = nw.concat(preferred, how="vertical") if len(preferred) > 1 else preferred[0]
    texts = log.queries.select("query_id", "user", normal_text("text").alias(QUERY))
    rows = preferences.join(texts.filter(~col(QUERY).is_null()), on="query_id", how="inner")
    return rows.group_by(QUERY, "better", "worse").agg(nw.len().alias("times"), col("user").n_unique().alias("users"))


def _cycles(preferences: Preferences) -> tuple[tuple[Cycle, ...], int, int]:
    """The shortest cycle of each query, how many pairs are in cycles, and how many pairs have a majority."""
    cycles, looped, preferred = [], 0, 0
    for query, counts in preferences.counts().items():
        pairs = majority(counts)
        preferred += len(pairs)
        round_about = in_cycles(pairs)
        looped += len(round_about)
        if round_about and (cycle := shortest_cycle(round_about, query)):
            cycles.append(cycle)
    return tuple(sorted(cycles, key=lambda cycle: (len(cycle.members), cycle.query))), looped, preferred


def _cycle_note(cycles: Sequence[Cycle], looped: int, preferred: int) -> str:
    if not cycles:
        return f"no cycles: the preferences of the majority order the documents of every query ({preferred:,} pairs)"
    of = counted(preferred, "pair")
    queries = counted(len(cycles), "query", "queries")
    return caution_note(f"intransitive: {looped:,} of {of} are in cycles, in {queries}; for example {cycles[0]}")


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


@operation
def run_agreement(
    preferences: Preferences,
    runs: Mapping[str, Run],
    *,
    topics: Mapping[str, str] | None = None,
    test: Annotated[str, about("The test of pairs of runs.", spelled="--test, -t TEST")] = "t",
    alpha: Alpha = 0.05,
    seed: Seed = 0,
) -> RunAgreement:
    r"""The share of preferences that each run agrees with: it ranks the preferred document higher.

    .. math:: A = \frac{1}{|Q|} \sum_q \frac{\text{preferences of } q \text{ that the run agrees with}}
        {\text{preferences of } q \text{ that the run decides}}

    A document that the run lacks is below all that it has. Two documents that it lacks both are not decided.
    topics: {topic of the runs: text of the query}; default: topics are named by the text of their query.

    Reference: Radlinski & Joachims, Query Chains, KDD 2005, doi:10.1145/1081870.1081899; Ferro & Maistro 2024, §6.5
    """
    if not runs:
        raise UsageError("run_agreement: no runs")
    counts = preferences.counts()
    texts = {topic: " ".join(text.lower().split()) for topic, text in (topics or {}).items()}
    names = tuple(runs)
    decided = {name: _decided(run, counts, texts if topics else None) for name, run in runs.items()}
    queries = sorted(query for query in counts if any(query in own for own in decided.values()))
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
        names, np.array([np.nanmean(row) if (~np.isnan(row)).any() else np.nan for row in values]),
        (sums > 0).sum(axis=1), tallies[:, :, 0].sum(axis=1), tallies[:, :, 1].sum(axis=1),
        tallies[:, :, 2].sum(axis=1), scores, comparison, cycle, _notes(counts, queries, names, cycle),
    )  # fmt: skip


def _decided(run: Run, counts: PairCounts, texts: Mapping[str, str] | None) -> dict[str, tuple[int, int, int]]:
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


def _notes(counts: PairCounts, queries: Sequence[str], names: Sequence[str], cycle: Cycle | None) -> tuple[str, ...]:
    notes = [f"{len(queries):,} of {counted(len(counts), 'query', 'queries')} with preferences are topics of the runs"]
    if cycle is not None:
        notes.append(caution_note(f"intransitive: by the number of queries on which one agrees better, {cycle}"))
    elif len(names) > 2:
        notes.append("no cycle among the runs, by the number of queries on which one agrees better")
    return tuple(notes)

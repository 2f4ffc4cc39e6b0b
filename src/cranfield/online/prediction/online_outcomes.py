"""Outcomes of online comparisons of pairs of systems: the file that holds them, and simulated A/B tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.collection.source import PathLike
from cranfield.collection.tables.table_schema import Numbers, Schema, Words
from cranfield.errors import UsageError
from cranfield.online.interleaving.interleaving_simulation import simulate_interleaving
from cranfield.online.interleaving.simulated_impressions import (
    ClickingUser,
    FittedUser,
    SimulatedImpressions,
    knows_documents,
    user_of,
)
from cranfield.record import Record, column
from cranfield.types import Array, Index64, Progress

WON = (("first", 1.0), ("win", 1.0), ("second", -1.0), ("loss", -1.0), ("tie", 0.0))
"""Outcomes in words."""
OUTCOMES = Schema(
    "first second outcome [p] [kind]",
    separators="\t,;",
    comments=True,
    first=Words(),
    second=Words(),
    outcome=Numbers(called=WON),
    p=Numbers(least=0, most=1, blank=math.nan, default=None),
    kind=Words(blank="online", default="online"),
)


@dataclass(frozen=True, eq=False, repr=False)
class OnlineOutcomes(Record):
    """A row per online comparison of two systems."""

    first: Annotated[tuple[str, ...], column()]
    second: Annotated[tuple[str, ...], column()]
    effect: Annotated[Array, column("outcome")]
    """Above 0 if the first system won, below 0 if the second did, 0 for a tie."""
    p: Annotated[Array, column()]
    """The p-value of the comparison; NaN if it is not known."""
    kind: Annotated[tuple[str, ...], column()]
    """How they were compared, such as `ab` or `interleaving`."""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.first)

    def text(self) -> str:
        """The content of a file that `read_outcomes` reads."""
        rows = zip(self.first, self.second, self.effect.tolist(), self.p.tolist(), self.kind, strict=True)
        lines = [f"{a}\t{b}\t{effect!r}\t{'' if math.isnan(p) else repr(p)}\t{kind}" for a, b, effect, p, kind in rows]
        return "\n".join(["\t".join(OUTCOMES.columns), *lines]) + "\n"


def read_outcomes(path: PathLike) -> OnlineOutcomes:
    """Read lines of `first second outcome`, and if known `p` and `kind`, between tabs or commas.

    `outcome` is a number (above 0 if the first system won, such as a difference of means or Δ of interleaving), or
    `first`, `second`, `tie`, `win` or `loss` (of the first). `kind` says how they were compared, such as `ab` or
    `interleaving`; default: `online`.
    """
    rows = OUTCOMES.read(path)
    for row, (first, second) in enumerate(zip(rows["first"], rows["second"], strict=True)):
        if first == second:
            raise rows.fault(row, f"{first!r} is compared with itself, expected two systems")
    return OnlineOutcomes(tuple(rows["first"]), tuple(rows["second"]), rows["outcome"], rows["p"], tuple(rows["kind"]))


METRICS = {
    "reciprocal-rank": "1 / rank of the first click, 0 without a click",
    "clicks": "clicks per query",
    "success": "share of queries with a click",
}
"""What an A/B test compares."""


def simulate_outcomes(
    qrels: Any,
    runs: Any,
    user: str | ClickingUser | FittedUser = "navigational",
    *,
    queries: int = 2_000,
    length: int = 10,
    metric: str = "reciprocal-rank",
    method: str = "team-draft",
    seed: int = 0,
    progress: Progress | None = None,
) -> OnlineOutcomes:
    """Compare every pair of runs online, by simulation: an A/B test, and interleaving.

    user: a kind of user of `online.interleaving.simulated_impressions`, an object with `simulate(grades, rng)`, or a
        fitted click model, whose queries are then the topics.
    queries: the queries of each run in the A/B test, and the impressions of each pair in the interleaving. Topics are
        drawn at random.
    metric: what the A/B test compares, one of `METRICS`; p-values by the normal approximation of Welch's test.
    method: the interleaving method; p-values by the sign test.
    """
    check.whole("simulate_outcomes", queries=queries, length=length)
    check.one_of("simulate_outcomes", tuple(METRICS), metric=metric)
    from scipy.special import ndtr
    from scipy.stats import binomtest

    setting = SimulatedImpressions.of(qrels, runs, queries, length, seed, None)
    systems = setting.lists.systems
    if len(systems) < 2:
        raise UsageError("simulate_outcomes: one run, must be two or more")
    name, clicking = user_of(user, setting.highest)
    grades, lengths = _grades(setting, length)
    mean, error = np.empty(len(systems)), np.empty(len(systems))
    for s in range(len(systems)):
        rng = np.random.default_rng([seed, 11, s])
        topic = rng.integers(0, grades.shape[1], size=queries)
        clicks = _clicks(setting, clicking, grades[s], s, topic, rng) & (np.arange(length) < lengths[s, topic, None])
        values = _metric(clicks, metric)
        mean[s], error[s] = values.mean(), values.std(ddof=1) / np.sqrt(queries)
    pairs = list(combinations(range(len(systems)), 2))
    rows: list[tuple[str, str, float, float, str]] = []
    for i, j in pairs:
        difference, spread = mean[i] - mean[j], float(np.hypot(error[i], error[j]))
        p = float(2 * ndtr(-abs(difference) / spread)) if spread > 0 else 1.0
        rows.append((systems[i], systems[j], float(difference), p, "ab"))
    named = dict(zip(systems, _runs(runs, systems), strict=True))
    for number, (i, j) in enumerate(pairs, 1):
        two = [named[systems[i]], named[systems[j]]]
        result = simulate_interleaving(
            qrels, two, [method], [clicking], impressions=queries, length=length, seed=seed + number
        ).pairs[0]
        decided = result.wins + result.losses
        p = float(binomtest(result.wins, decided).pvalue) if decided else 1.0
        sign = 1.0 if result.first == systems[i] else -1.0
        rows.append((systems[i], systems[j], sign * (result.wins - result.losses) / queries, p, "interleaving"))
        if progress is not None:
            progress(number, len(pairs))
    first, second, effect, chance, kind = zip(*rows, strict=True)
    described = getattr(clicking, "described", lambda: name)()
    notes = (
        f"simulated: {queries:,} queries of each run (ab, {metric}: {METRICS[metric]}) and of each pair ({method}), "
        f"lists of {length}, seed {seed}",
        f"users are {described}",
    )
    return OnlineOutcomes(first, second, np.array(effect), np.array(chance), kind, notes)


def _clicks(
    setting: SimulatedImpressions, user: Any, grades: Array, system: int, topic: Index64, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """queries × ranks: clicks on the lists of a system."""
    if not knows_documents(user):
        return np.asarray(user.simulate(grades[topic], rng), dtype=bool)
    lists = setting.lists
    names = np.full(grades.shape, "", dtype=object)
    for query in range(len(lists.queries)):
        ranking = lists.rankings(query)[system][: grades.shape[1]]
        names[query, : len(ranking)] = ranking
    queries = [lists.queries[query] for query in topic.tolist()]
    return np.asarray(user.simulate(queries, names[topic], rng), dtype=bool)


def _grades(setting: SimulatedImpressions, length: int) -> tuple[Array, Index64]:
    """systems × topics × ranks: grades, NaN if not judged or below the end of a list; and the lengths of the lists."""
    lists = setting.lists
    table = np.full((len(lists.systems), len(lists.queries), length), np.nan)
    lengths = np.zeros(table.shape[:2], dtype=np.int64)
    for query in range(len(lists.queries)):
        for system, documents in enumerate(lists.numbers(query)):
            lengths[system, query] = len(documents[:length])
            table[system, query, : lengths[system, query]] = setting.grades[query, documents[:length]]
    return table, lengths


def _metric(clicks: np.ndarray[Any, np.dtype[np.bool_]], metric: str) -> Array:
    if metric == "clicks":
        return np.asarray(clicks.sum(axis=1), dtype=np.float64)
    any_click = clicks.any(axis=1)
    if metric == "success":
        return np.asarray(any_click, dtype=np.float64)
    values = np.zeros(len(clicks))
    values[any_click] = 1.0 / (clicks[any_click].argmax(axis=1) + 1.0)
    return values


def _runs(runs: Any, systems: tuple[str, ...]) -> list[Any]:
    """The runs by name, in the order of the systems."""
    from cranfield.collection.run import Run

    if isinstance(runs, dict):
        return [Run.of(runs[name], name) for name in systems]
    made = {run.name: run for run in (Run.of(one) for one in runs)}
    return [made[name] for name in systems]

"""Outcomes of online comparisons of pairs of systems: the file that holds them, and simulated A/B tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.collection.run import Run
from cranfield.collection.source import PathLike
from cranfield.collection.tables.table_schema import Numbers, Schema, Words
from cranfield.comparison.data import noise
from cranfield.declared.operation import RESAMPLES, Alpha, Level, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.meta.complete_scores import CompleteScores, central_interval
from cranfield.notes import caution_note, method_note
from cranfield.online.interleaving.interleaving_simulation import simulate_interleaving
from cranfield.online.interleaving.simulated_impressions import (
    ClickingUser,
    FittedUser,
    SimulatedImpressions,
    knows_documents,
    user_of,
)
from cranfield.record import Record, column, crossed, table_of
from cranfield.scores.scores import Scores
from cranfield.table import Table
from cranfield.text import counted, listed
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
        method_note(
            f"simulated: {queries:,} queries of each run (ab, {metric}: {METRICS[metric]}) and of each pair "
            f"({method}), "
            f"lists of {length}, seed {seed}"
        ),
        method_note(f"users are {described}"),
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
    if isinstance(runs, dict):
        return [Run.of(runs[name], name) for name in systems]
    made = {run.name: run for run in map(Run.of, runs)}
    return [made[name] for name in systems]


CLOSE = 0.02
"""A number of topics suffices if the agreement is this close to that with all topics."""
OVER = "kinds measures"
"""The axes of most arrays."""
SIZES = (5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000)


@dataclass(frozen=True, eq=False, repr=False)
class OnlineAgreement(Record):
    """How often each offline measure names the winner of online comparisons.

    Arrays are kinds of comparison × measures.
    """

    figure = "online_agreement_figure"
    facts = ("level", "alpha", "resamples", "draws", "seed", "topics", "systems")

    kinds: Annotated[tuple[str, ...], column("comparison", axis=True)]
    measures: Annotated[tuple[str, ...], column("measure", axis=True)]
    pairs: Annotated[Index64, column(over="kinds")]
    """The number of pairs with a winner."""
    agreement: Annotated[Array, column(over=OVER)]
    """The share of pairs whose online winner is also better offline; an offline tie counts 1/2."""
    low: Annotated[Array, column(over=OVER)]
    high: Annotated[Array, column(over=OVER)]
    decided_pairs: Annotated[Index64, column(over="kinds")]
    """The number of pairs with p < alpha."""
    decided: Annotated[Array, column("decided agreement", over=OVER)]
    """The agreement on pairs with p < alpha online; NaN if there are none."""
    correlation: Annotated[Array, column(over=OVER)]
    """Pearson's correlation of offline differences and online effects; NaN if outcomes are only signs."""
    enough: Annotated[Index64, column("topics", over=OVER)]
    """The smallest of the sizes whose agreement is within `CLOSE` of that with all topics."""
    sizes: tuple[int, ...]
    curve: Array
    """kinds × measures × sizes: the mean agreement with each number of topics."""
    topics: int
    systems: int
    level: float
    alpha: float
    resamples: int
    draws: int
    seed: int
    verdict: str
    notes: tuple[str, ...]

    def curve_columns(self) -> dict[str, NDArray[Any]]:
        """comparison, measure, topics, agreement: how agreement grows with topics."""
        axes = {"comparison": self.kinds, "measure": self.measures, "topics": self.sizes}
        return crossed(axes, {"agreement": self.curve})

    def table(self) -> Table:
        """A row per kind of comparison and measure, the best measure first."""
        decided = f"p < {self.alpha:g}"
        columns = {decided if name == "decided agreement" else name: own for name, own in self.columns().items()}
        del columns["decided pairs"]
        kind = np.indices(self.agreement.shape)[0].ravel()
        better = {"agreement": "higher", decided: "higher", "correlation": "higher", "topics": "lower"}
        return table_of(
            columns, np.lexsort((-columns["agreement"], kind)), better=better,
            caption="Offline measures and online winners", notes=(self.verdict, *self.notes),
        )  # fmt: skip


@takes_runs
@operation
def online_agreement(
    scores: Scores,
    outcomes: OnlineOutcomes,
    *,
    resamples: Annotated[int, about("Resamples of systems for the intervals.", **RESAMPLES)] = 1_000,
    sizes: Sequence[int] | None = None,
    draws: Annotated[
        int, about("Random subsets of topics for each number of topics.", least=1, spelled="--subsets N", rare=True)
    ] = 200,
    alpha: Alpha = 0.05,
    level: Level = 0.95,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> OnlineAgreement:
    r"""How often the system that is better by an offline measure also wins online.

    .. math:: A = \frac{1}{|\mathcal{P}|} \sum_{(i,j) \in \mathcal{P}} \begin{cases} 1 &
        \operatorname{sgn}(\bar m_i - \bar m_j) = \operatorname{sgn}(o_{ij}) \\ \tfrac12 & \bar m_i = \bar m_j \\
        0 & \text{otherwise} \end{cases}

    Pairs that tie online are left out. The interval resamples systems: a pair counts as often as both of its systems
    are drawn, because pairs that share a system are not independent. If a measure is right, or wrong, on all pairs,
    that has no spread: the interval is then that of Clopper and Pearson for as many pairs as there are without a common
    system, half as many as systems. `sizes` are numbers of topics: the agreement with each
    number is the mean over `draws` random subsets of that size. Measures for which lower is better are negated.
    Reference: Sanderson, Paramita, Clough & Kanoulas, SIGIR 2010, doi:10.1145/1835449.1835542; Chapelle, Joachims,
    Radlinski & Yue, TOIS 30(1), 2012, doi:10.1145/2094072.2094078

    >>> scores = Scores.from_matrix([[0.2, 0.5, 0.4], [0.4, 0.5, 0.3]], ["a", "b", "c"], measure="AP")
    >>> none = np.full(3, np.nan)
    >>> won = OnlineOutcomes(("a", "b", "a"), ("b", "c", "c"), np.array([-1.0, 1.0, 1.0]), none, ("ab",) * 3)
    >>> round(float(online_agreement(scores, won, resamples=10).agreement[0, 0]), 4)
    0.6667
    """
    complete = CompleteScores.of(scores, "online_agreement", least_systems=2, least_measures=1)
    number = {run: i for i, run in enumerate(complete.runs)}
    known = np.array([a in number and b in number for a, b in zip(outcomes.first, outcomes.second, strict=True)])
    if not known.any():
        named = listed(dict.fromkeys((*outcomes.first, *outcomes.second)))
        raise UsageError(
            f"online_agreement: no pair of the outcomes has scores; the outcomes are of {named}, the scores of "
            f"{listed(complete.runs)}"
        )
    effect = outcomes.effect
    use = known & (effect != 0)
    if not use.any():
        raise UsageError("online_agreement: every pair ties online, so that there is no winner to predict")
    at = np.flatnonzero(use)
    first = np.array([number[outcomes.first[i]] for i in at])
    second = np.array([number[outcomes.second[i]] for i in at])
    kind = np.array([outcomes.kind[i] for i in at], dtype=object)
    kinds = tuple(dict.fromkeys(kind.tolist()))
    effect, p = effect[at], outcomes.p[at]
    values = complete.values
    n_topics = values.shape[2]
    tried = _sizes(sizes, n_topics)
    rng = np.random.default_rng(seed)
    times = rng.multinomial(len(complete.runs), np.full(len(complete.runs), 1 / len(complete.runs)), size=resamples)
    hits = _hits(values.mean(axis=2), first, second, effect, noise(values))
    curve_hits = np.zeros((len(tried), *hits.shape))
    for s, size in enumerate(tried):
        for _ in range(draws if size < n_topics else 1):
            subset = rng.choice(n_topics, size=size, replace=False) if size < n_topics else np.arange(n_topics)
            curve_hits[s] += _hits(values[:, :, subset].mean(axis=2), first, second, effect, noise(values))
        curve_hits[s] /= draws if size < n_topics else 1
        if progress is not None:
            progress(s + 1, len(tried))
    shape = (len(kinds), len(complete.measures))
    agreement, low, high, decided, correlation = (np.full(shape, np.nan) for _ in range(5))
    curve, enough = np.empty((*shape, len(tried))), np.zeros(shape, dtype=np.int64)
    pairs, decided_pairs = np.zeros(len(kinds), dtype=np.int64), np.zeros(len(kinds), dtype=np.int64)
    difference = (values[:, first] - values[:, second]).mean(axis=2)
    for k, name in enumerate(kinds):
        mine = kind == name
        sure = mine & (p < alpha)
        pairs[k], decided_pairs[k] = mine.sum(), sure.sum()
        weight = (times[:, first[mine]] * times[:, second[mine]]).astype(np.float64)
        drawn = weight.sum(axis=1)
        signs_only = len(np.unique(np.abs(effect[mine]))) == 1
        for m in range(shape[1]):
            agreement[k, m] = hits[m, mine].mean()
            if (drawn > 0).any():
                resampled = (weight[drawn > 0] @ hits[m, mine]) / drawn[drawn > 0]
                low[k, m], high[k, m] = (float(end) for end in central_interval(resampled, level))
            if agreement[k, m] in (0.0, 1.0):
                involved = len(np.unique(np.concatenate([first[mine], second[mine]])))
                rare = 1.0 - ((1.0 - level) / 2) ** (1.0 / max(involved // 2, 1))
                low[k, m], high[k, m] = (0.0, rare) if agreement[k, m] == 0.0 else (1.0 - rare, 1.0)
            if sure.any():
                decided[k, m] = hits[m, sure].mean()
            if mine.sum() > 2 and not signs_only and np.std(difference[m, mine]) > 0:
                # a pair has no natural order: both orders count, so that the means are 0
                x, y = difference[m, mine], effect[mine]
                correlation[k, m] = float(x @ y / np.sqrt((x @ x) * (y @ y)))
            curve[k, m] = curve_hits[:, m, mine].mean(axis=1)
            close = np.flatnonzero(curve[k, m] >= agreement[k, m] - CLOSE)
            enough[k, m] = tried[int(close[0])] if len(close) else n_topics
    notes = [*complete.notes, *outcomes.notes]
    if (lost := int((~known).sum())) > 0:
        notes.append(caution_note(f"{counted(lost, 'pair')} of systems without scores left out"))
    if (ties := int((known & (outcomes.effect == 0)).sum())) > 0:
        notes.append(caution_note(f"{counted(ties, 'pair')} with an online tie left out"))
    notes += [
        method_note(f"{level:.0%} intervals: percentiles over {resamples:,} resamples of {len(complete.runs)} "
            f"systems, seed {seed}"),
        f"p < {alpha:g}: agreement on the pairs that were decided online ("
        + ", ".join(f"{name}: {count}" for name, count in zip(kinds, decided_pairs.tolist(), strict=True)) + ")",
        method_note(f"topics: the fewest tried whose agreement is within {CLOSE:g} of that with all {n_topics}, "
        f"over {draws} subsets each"),
    ]  # fmt: skip
    if len(complete.runs) < 5:
        notes.append(caution_note(f"{len(complete.runs)} systems are few: intervals over systems are then rough"))
    return OnlineAgreement(
        kinds, complete.measures, pairs, agreement, low, high, decided_pairs, decided, correlation, enough, tried,
        curve, n_topics, len(complete.runs), level, alpha, resamples, draws, seed,
        _verdict(kinds, complete.measures, agreement, low, high, pairs, level), tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def _hits(
    means: Array, first: NDArray[np.int64], second: NDArray[np.int64], effect: Array, close: Array | float
) -> Array:
    """measures × pairs: 1 if the online winner is better offline, 1/2 for an offline tie, else 0."""
    difference = means[:, first] - means[:, second]
    limit = np.broadcast_to(np.asarray(np.max(close)), difference.shape)
    side = np.where(np.abs(difference) <= limit, 0.0, np.sign(difference))
    return np.asarray((side * np.sign(effect) + 1) / 2)


def _sizes(sizes: Sequence[int] | None, topics: int) -> tuple[int, ...]:
    if sizes is None:
        return (*(size for size in SIZES if size < topics), topics)
    for size in sizes:
        check.whole("online_agreement", sizes=size)
        if size > topics:
            raise UsageError(f"online_agreement: sizes == {size}, but there are {topics} topics")
    return tuple(sorted(set(sizes)))


def _verdict(
    kinds: tuple[str, ...], measures: tuple[str, ...], agreement: Array, low: Array, high: Array,
    pairs: NDArray[np.int64], level: float,
) -> str:  # fmt: skip
    parts = []
    for k, kind in enumerate(kinds):
        best = int(np.argmax(agreement[k]))
        interval = (
            f" ({level:.0%} interval {low[k, best]:.0%} to {high[k, best]:.0%})" if low[k, best] == low[k, best] else ""
        )
        others = [measures[m] for m in range(len(measures)) if m != best and high[k, m] >= low[k, best]]
        like = f"; {listed(others)} may be as good" if others else ""
        parts.append(
            f"{kind}: {measures[best]} names the winner of {agreement[k, best]:.0%} of {counted(int(pairs[k]), 'pair')}"
            f"{interval}{like}"
        )
    return ". ".join(parts)

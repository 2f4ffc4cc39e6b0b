"""How often does the winner by an offline measure win online, and with how many topics?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.data import noise
from cranfield.declared.operation import RESAMPLES, Alpha, Level, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.meta.complete_scores import CompleteScores, central_interval
from cranfield.online.prediction.online_outcomes import OnlineOutcomes
from cranfield.record import Record, table_of
from cranfield.scores.scores import Scores
from cranfield.table import Table
from cranfield.text import counted, listed
from cranfield.types import Array, Progress

CLOSE = 0.02
"""A number of topics suffices if the agreement is this close to that with all topics."""
SIZES = (5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000)


@dataclass(frozen=True, eq=False, repr=False)
class OnlineAgreement(Record):
    """How often each offline measure names the winner of online comparisons.

    Arrays are kinds of comparison × measures.
    """

    figure = "online_agreement_figure"
    facts = ("level", "alpha", "resamples", "draws", "seed", "topics", "systems")

    kinds: tuple[str, ...]
    measures: tuple[str, ...]
    agreement: Array
    """The share of pairs whose online winner is also better offline; an offline tie counts 1/2."""
    low: Array
    high: Array
    decided: Array
    """The same for pairs with p < alpha online; NaN if there are none."""
    decided_pairs: NDArray[np.int64]
    """kinds: the number of pairs with p < alpha."""
    pairs: NDArray[np.int64]
    """kinds: the number of pairs with a winner."""
    correlation: Array
    """Pearson's correlation of offline differences and online effects; NaN if outcomes are only signs."""
    sizes: tuple[int, ...]
    curve: Array
    """kinds × measures × sizes: the mean agreement with each number of topics."""
    enough: NDArray[np.int64]
    """The smallest of the sizes whose agreement is within `CLOSE` of that with all topics."""
    topics: int
    systems: int
    level: float
    alpha: float
    resamples: int
    draws: int
    seed: int
    verdict: str
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """comparison, measure, pairs, agreement, low, high, decided pairs, decided agreement, correlation, topics."""
        k, m = (axis.ravel() for axis in np.indices(self.agreement.shape))
        return {
            "comparison": np.array(self.kinds, dtype=object)[k],
            "measure": np.array(self.measures, dtype=object)[m],
            "pairs": self.pairs[k],
            "agreement": self.agreement.ravel(),
            "low": self.low.ravel(),
            "high": self.high.ravel(),
            "decided pairs": self.decided_pairs[k],
            "decided agreement": self.decided.ravel(),
            "correlation": self.correlation.ravel(),
            "topics": self.enough.ravel(),
        }

    def curve_columns(self) -> dict[str, NDArray[Any]]:
        """comparison, measure, topics, agreement: how agreement grows with topics."""
        k, m, s = (axis.ravel() for axis in np.indices(self.curve.shape))
        return {
            "comparison": np.array(self.kinds, dtype=object)[k],
            "measure": np.array(self.measures, dtype=object)[m],
            "topics": np.array(self.sizes, dtype=np.int64)[s],
            "agreement": self.curve.ravel(),
        }

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


@operation
def online_agreement(
    scores: Scores,
    outcomes: OnlineOutcomes,
    *,
    resamples: Annotated[int, about("Resamples of systems for the intervals.", **RESAMPLES)] = 1_000,
    sizes: Sequence[int] | None = None,
    draws: Annotated[
        int, about("Random subsets of topics for each number of topics.", least=1, spelled="--draws N", rare=True)
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
        notes.append(f"{counted(lost, 'pair')} of systems without scores left out")
    if (ties := int((known & (outcomes.effect == 0)).sum())) > 0:
        notes.append(f"{counted(ties, 'pair')} with an online tie left out")
    notes += [
        f"{level:.0%} intervals: percentiles over {resamples:,} resamples of {len(complete.runs)} systems, seed {seed}",
        f"p < {alpha:g}: agreement on the pairs that were decided online ("
        + ", ".join(f"{name}: {count}" for name, count in zip(kinds, decided_pairs.tolist(), strict=True)) + ")",
        f"topics: the fewest tried whose agreement is within {CLOSE:g} of that with all {n_topics}, "
        f"over {draws} subsets each",
    ]  # fmt: skip
    if len(complete.runs) < 5:
        notes.append(f"{len(complete.runs)} systems are few: intervals over systems are then rough")
    return OnlineAgreement(
        kinds, complete.measures, agreement, low, high, decided, decided_pairs, pairs, correlation, tried, curve,
        enough, n_topics, len(complete.runs), level, alpha, resamples, draws, seed,
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

"""Which system do users prefer? Wins and losses of interleaved lists, with tests, intervals and cycles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.corrections import adjust
from cranfield.declared.operation import Alpha, Level, about, operation
from cranfield.notes import caution_note, method_note
from cranfield.online.interleaving.preference_counts import PreferenceCounts
from cranfield.online.interleaving.sign_statistics import (
    POWER,
    POWER_COUNTED,
    always_valid,
    impressions_needed,
    preference,
    sign_test,
)
from cranfield.record import Record, columns_of, labels, table_of
from cranfield.table import Column, Table
from cranfield.text import counted, listed
from cranfield.types import Array


@dataclass(frozen=True)
class PairPreference:
    """Which of two systems users prefer."""

    first: str
    second: str
    wins: int
    """Impressions in which the first system has more credit."""
    ties: int
    losses: int
    delta: float
    """Chapelle et al.'s Δ: above 0 if the first system wins more often."""
    user_low: float
    """The interval of Δ over users; NaN without users."""
    user_high: float
    query_low: float
    """The interval of Δ over queries; NaN without queries."""
    query_high: float
    credit: float
    """The mean credit of the first system minus that of the second, for an impression."""
    credit_low: float
    """Its interval, by users if they are known."""
    credit_high: float
    p: float
    """Exact test of no preference: users' wins minus losses with flipped signs; without users, the sign test."""
    p_adjusted: float
    """The larger of p and the p-value of the mean difference in credit, corrected for all pairs."""
    p_users: float
    """Exact sign test with one vote for each user; NaN without users."""
    p_any_time: float
    """A p-value of wins that holds however often one looks, corrected for all pairs."""
    design_effect: float
    """The variance of Δ by users, relative to independent impressions; NaN without users."""
    needed: float
    """The impressions at which a difference of this size is found with the power asked for."""
    better: str
    """The system that is preferred; empty if no difference is shown."""

    @property
    def impressions(self) -> int:
        """All impressions."""
        return self.wins + self.ties + self.losses


@dataclass(frozen=True, eq=False, repr=False)
class InterleavingAnalysis(Record):
    """A row per pair of systems, the matrix of preferences, cycles, and a verdict."""

    figure = "describe_preferences"
    facts = ("verdict", "alpha", "level", "power", "correction", "cycles")

    systems: tuple[str, ...]
    pairs: tuple[PairPreference, ...]
    users: int
    """The number of users; 0 if they are not known."""
    queries: int
    alpha: float
    level: float
    power: float
    correction: str
    repeated: bool
    """Does any user have several impressions?"""
    notes: tuple[str, ...]

    @property
    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """Three systems each of which is shown to be better than the next, and the last than the first."""
        beats = {
            (pair.better, pair.second if pair.better == pair.first else pair.first)
            for pair in self.pairs
            if pair.better
        }
        return cycles_of(beats, self.systems)

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        return _verdict(self)

    def matrix(self) -> Array:
        """systems × systems: Δ of the row's system over the column's; 0 on the diagonal."""
        number = {name: n for n, name in enumerate(self.systems)}
        values = np.zeros((len(self.systems), len(self.systems)))
        for pair in self.pairs:
            i, j = number[pair.first], number[pair.second]
            values[i, j], values[j, i] = pair.delta, -pair.delta
        return values

    def columns(self) -> dict[str, NDArray[Any]]:
        """first, second, impressions, wins, ties, losses, delta, intervals by user and by query, p, needed, better."""
        columns = columns_of(self.pairs, PairPreference)
        names = {name: columns.pop(name) for name in ("first", "second")}
        return {**names, "impressions": np.array([pair.impressions for pair in self.pairs], dtype=np.int64), **columns}

    def table(self) -> Table:
        """A row per pair; columns that hold nothing are left out."""
        shown = columns_of(self.pairs, PairPreference, "first", "second", "wins", "ties", "losses")
        shown |= {"Δ": np.array([pair.delta for pair in self.pairs])}
        ends = {"user": [(pair.user_low, pair.user_high) for pair in self.pairs]} if self.users else {}
        ends |= {"query": [(pair.query_low, pair.query_high) for pair in self.pairs]} if self.queries else {}
        shown |= {f"{100 * self.level:g}% by {name}": labels(map(_interval, spans)) for name, spans in ends.items()}
        adjusted = ["p adjusted"] if len(self.pairs) > 1 else []
        shown |= columns_of(self.pairs, PairPreference, "credit", "p", *adjusted, "p any time")
        shown["better"] = labels(pair.better or "-" for pair in self.pairs)
        return table_of(shown, kinds={"p any time": "probability"}, caption=self.verdict, notes=self.notes)

    def matrix_table(self) -> Table:
        """A row and a column per system: Δ of the row's system over the column's."""
        columns = (Column("Δ of row over column"), *(Column(name, "number") for name in self.systems))
        rows = [
            (name, *(None if i == j else float(value) for j, value in enumerate(row)))
            for i, (name, row) in enumerate(zip(self.systems, self.matrix(), strict=True))
        ]
        return Table(columns, tuple(rows), "Preferences")


@operation
def analyse_interleaving(
    counts: PreferenceCounts,
    *,
    alpha: Alpha = 0.05,
    level: Level = 0.95,
    power: Annotated[float, about(POWER_COUNTED, rare=True, **POWER)] = 0.8,
    correction: Annotated[
        str, about("The correction for many pairs: {names}.", names="comparison.corrections:CORRECTIONS", rare=True)
    ] = "holm",
) -> InterleavingAnalysis:
    """Compare systems by the impressions that each won: Δ, exact tests, intervals by user and by query, cycles.

    A system is better if p_adjusted < α. Impressions of one user may be alike, so users are the unit of the tests, if
    they are known: p is the exact sign-flip test of their wins minus losses, which is the sign test of wins and losses
    if each user has one impression. The mean difference in credit must be shown too, by a t test over users: with
    probabilistic, optimised and pairwise interleaving, clicks at random give all systems the same mean credit, but one
    of them may win a little more often, by less. p_adjusted is the larger of both p-values, corrected for the number of
    pairs. Ties do not count in the tests, and as half a win in Δ.

    p_any_time holds however often one looks, and may be used to stop early; it is by users, and corrected, as well.
    Without users, impressions are taken as independent.

    Reference: Chapelle, Joachims, Radlinski & Yue, TOIS 30(1), 2012, doi:10.1145/2094072.2094078

    >>> from cranfield.online.interleaving.preference_counts import count_preferences
    >>> credit = np.array([[1, 0]] * 30 + [[0, 1]] * 10 + [[0, 0]] * 20)
    >>> analyse_interleaving(count_preferences(["dense", "bm25"], credit)).verdict
    'dense is better than bm25: it won 30 of 40 decided impressions (Δ = 0.1667, sign test p = 0.0022).'
    """
    if counts.by_user:
        p = [clusters.flip_p() for clusters in counts.by_user]
        any_time = [clusters.any_time_p() for clusters in counts.by_user]
    else:
        decided = [(int(wins), int(losses)) for wins, _, losses in counts.totals]
        p, any_time = [sign_test(*each) for each in decided], [always_valid(*each) for each in decided]
    both = [max(of_wins, moments.p) for of_wins, moments in zip(p, counts.credit, strict=True)] if counts.credit else p
    adjusted, looked = adjust(both, correction), adjust(any_time, correction)
    rows = []
    for number, (i, j) in enumerate(counts.pairs):
        wins, ties, losses = counts.totals[number].tolist()
        total = wins + ties + losses
        delta = float(preference(wins, losses, ties))
        ends, effect, by_vote = {}, np.nan, np.nan
        for name, clusters in (("user", counts.by_user), ("query", counts.by_query)):
            ends[name] = clusters[number].interval(level) if clusters else (np.nan, np.nan)
        if counts.by_user:
            effect = counts.by_user[number].design_effect()
            by_vote = sign_test(*counts.by_user[number].votes())
        moments = counts.credit[number] if counts.credit else None
        credit = (np.nan, np.nan, np.nan) if moments is None else (moments.mean, *moments.interval(level))
        shown = bool(adjusted[number] < alpha) and (moments is None or moments.mean * delta > 0)
        winner = counts.systems[i if delta > 0 else j] if shown else ""
        needed = impressions_needed(wins / total, losses / total, alpha, power) if total else math.inf
        rows.append(
            PairPreference(
                counts.systems[i], counts.systems[j], wins, ties, losses, delta, *ends["user"], *ends["query"], *credit,
                p[number], float(adjusted[number]), by_vote, float(looked[number]), effect,
                needed * (effect if effect > 1 else 1), winner,
            )
        )  # fmt: skip
    users = counts.by_user[0].clusters if counts.by_user else 0
    queries = counts.by_query[0].clusters if counts.by_query else 0
    repeated = bool(counts.by_user) and counts.by_user[0].repeated
    made = InterleavingAnalysis(
        counts.systems, tuple(rows), users, queries, alpha, level, power, correction, repeated, counts.notes
    )
    return replace(made, notes=(*counts.notes, *_notes(made)))


def cycles_of(beats: set[tuple[str, str]], systems: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Triples in which each system beats the next, and the last the first.

    If preferences of all pairs are shown, every longer cycle contains such a triple.

    >>> cycles_of({("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")}, ("a", "b", "c", "d"))
    (('a', 'b', 'c'),)
    """
    place = {name: n for n, name in enumerate(systems)}
    return tuple(
        (a, b, c)
        for a, b in sorted(beats, key=lambda pair: (place[pair[0]], place[pair[1]]))
        for c in systems
        if (b, c) in beats and (c, a) in beats and place[a] < min(place[b], place[c])
    )


def _notes(analysis: InterleavingAnalysis) -> Iterator[str]:
    impressions = analysis.pairs[0].impressions
    known = [counted(impressions, "impression")]
    known += [counted(analysis.users, "user")] if analysis.users else []
    known += [counted(analysis.queries, "query", "queries")] if analysis.queries else []
    yield ", ".join(known)
    yield (
        method_note(
            f"Δ = (wins + ties / 2) / impressions − 1/2 (Chapelle et al. 2012); p: exact {_test(analysis)}; p "
            "any time: "
            "however often one looks; credit: mean of the first minus the second"
        )
    )
    if len(analysis.pairs) > 1:
        yield (
            method_note(
                f"p adjusted: of the larger of p and that of credit, {analysis.correction}, for {len(analysis.pairs)} "
                "pairs, as p any time"
            )
        )
    if analysis.repeated:
        worst = max((pair.design_effect for pair in analysis.pairs if pair.design_effect > 0), default=1.0)
        yield (
            method_note(
                "users have several impressions, so p, p any time and credit are by user: the variance of Δ by "
                "users is "
                f"up to {worst:.2f} times that of independent impressions"
            )
        )
    if not analysis.users:
        yield caution_note(
            "users are not known, so impressions are taken as independent; if users have several, p is too small"
        )
    elif 2 * 0.5**analysis.users * len(analysis.pairs) >= analysis.alpha:
        few = counted(analysis.users, "user")
        yield caution_note(f"caution: {few} cannot show a preference at α = {analysis.alpha:g}; more are needed")
    only_here = [pair for pair in analysis.pairs if pair.better and pair.query_low <= 0 <= pair.query_high]
    if only_here:
        pairs = listed(f"{pair.first} and {pair.second}" for pair in only_here)
        yield caution_note(
            f"caution: for other queries it may be different, as the interval by query contains 0: {pairs}"
        )


def _test(analysis: InterleavingAnalysis) -> str:
    """The test of p."""
    return "sign-flip test of users" if analysis.repeated else "sign test"


def _verdict(analysis: InterleavingAnalysis) -> str:
    """The result in one sentence, for two systems or for several."""
    if len(analysis.pairs) == 1:
        return _verdict_of_two(analysis, analysis.pairs[0])
    shown = [pair for pair in analysis.pairs if pair.better]
    if analysis.cycles:
        circle = "; ".join(" > ".join((*cycle, cycle[0])) for cycle in analysis.cycles[:3])
        return f"The preferences are not transitive, so there is no best system: {circle}."
    undecided = len(analysis.pairs) - len(shown)
    beaten = dict.fromkeys(analysis.systems, 0)
    for pair in shown:
        beaten[pair.better] += 1
    best = [name for name, number in beaten.items() if number == len(analysis.systems) - 1]
    rest = f"; {counted(undecided, 'pair')} of {len(analysis.pairs)} not decided" if undecided else ""
    if best:
        return f"{best[0]} is better than all {len(analysis.systems) - 1} others{rest}."
    if shown:
        some = listed(f"{pair.better} > {pair.second if pair.better == pair.first else pair.first}" for pair in shown)
        return f"No system is shown to be better than all others{rest}: {some}."
    return f"No difference between the {len(analysis.systems)} systems is shown."


def _verdict_of_two(analysis: InterleavingAnalysis, pair: PairPreference) -> str:
    decided = pair.wins + pair.losses
    p = f"p = {pair.p:.4f}" if pair.p >= 0.0001 else "p < 0.0001"
    if pair.better:
        other = pair.second if pair.better == pair.first else pair.first
        won = pair.wins if pair.better == pair.first else pair.losses
        return (
            f"{pair.better} is better than {other}: it won {won:,} of {decided:,} decided impressions "
            f"(Δ = {abs(pair.delta):.4f}, {_test(analysis)} {p})."
        )
    if not decided:
        return f"No impression was decided between {pair.first} and {pair.second}: all {pair.ties:,} are ties."
    more = (
        ""
        if math.isinf(pair.needed)
        else f" A difference of this size needs about {math.ceil(pair.needed):,} impressions."
    )
    because = f"{_test(analysis)} {p}"
    because += ", but the mean difference in credit may be 0" if pair.p < analysis.alpha else ""
    return (
        f"No difference between {pair.first} and {pair.second} is shown: {pair.wins:,} to {pair.losses:,} of "
        f"{pair.impressions:,} impressions (Δ = {pair.delta:.4f}, {because}).{more}"
    )


def _interval(ends: tuple[float, float]) -> str:
    return "-" if math.isnan(ends[0]) else f"{ends[0]:.4f} to {ends[1]:.4f}"

"""Try interleaving on judgments: simulated users click, and methods are compared by bias, fidelity and sensitivity."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.join_options import JoinOptions
from cranfield.declared.operation import Alpha, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasureLike
from cranfield.online.interleaving.interleaved import Interleaver
from cranfield.online.interleaving.interleaved_batch import InterleavedBatch, ListLength, MixedDepth, biased_policies
from cranfield.online.interleaving.mixing_methods import MixingMethod
from cranfield.online.interleaving.preference_counts import CreditMoments, outcomes_of
from cranfield.online.interleaving.sign_statistics import (
    POWER,
    POWER_COUNTED,
    impressions_needed,
    power_at,
    preference,
    sign_test,
)
from cranfield.online.interleaving.simulated_impressions import (
    CascadeUser,
    ClickingUser,
    FittedUser,
    SimulatedImpressions,
    user_of,
)
from cranfield.record import Record, columns_of, labels, table_of
from cranfield.table import Table
from cranfield.text import counted
from cranfield.types import Array, Progress

NAME = "simulate_interleaving"


@dataclass(frozen=True)
class SimulatedPair:
    """What one method and kind of user say about two systems, and what the judgments say."""

    method: str
    user: str
    first: str
    second: str
    wins: int
    ties: int
    losses: int
    delta: float
    p: float
    """The sign test of wins and losses."""
    credit: float
    """The mean credit of the first system minus that of the second."""
    p_credit: float
    """A z test of that; clicks at random give all systems the same mean credit."""
    truth: float
    """The mean score of the first system minus that of the second; positive if the first is better."""
    agrees: bool
    """Do mean credit and scores prefer the same system? False if one of them is 0."""
    needed: float
    """The impressions after which a sign test finds this difference."""
    needed_by_credit: float
    """The impressions after which a z test of mean credit finds it."""


@dataclass(frozen=True, eq=False, repr=False)
class InterleavingSimulation(Record):
    """A row per method, kind of user and pair of systems."""

    figure = "interleaving_simulation_figure"
    facts = ("measure", "impressions", "length", "alpha", "power", "seed")

    pairs: tuple[SimulatedPair, ...]
    measure: str
    impressions: int
    length: int
    alpha: float
    power: float
    seed: int
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """method, user, first, second, wins, ties, losses, delta, p, credit, p_credit, truth, agrees, needed, ..."""
        return columns_of(self.pairs, SimulatedPair)

    def table(self) -> Table:
        """A row per method, kind of user and pair; with several pairs, a row per method and kind of user instead."""
        columns = self.columns()
        if len({(pair.first, pair.second) for pair in self.pairs}) > 1:
            return table_of(self.fidelity(), notes=self.notes)
        first, second = self.pairs[0].first, self.pairs[0].second
        needed, by_credit = (
            np.array([_whole(value) for value in columns[name].tolist()], dtype=object)
            for name in ("needed", "needed_by_credit")
        )
        shown = {
            "method": columns["method"], "user": columns["user"], f"{first} wins": columns["wins"],
            "ties": columns["ties"], f"{second} wins": columns["losses"], "Δ": columns["delta"], "p": columns["p"],
            "credit": columns["credit"], "p credit": columns["p_credit"], "agrees": columns["agrees"],
            "needed": needed, "by credit": by_credit,
        }  # fmt: skip
        return table_of(shown, kinds={"p credit": "probability"}, notes=self.notes)

    def fidelity(self) -> dict[str, NDArray[Any]]:
        """method, user, pairs, agree (credit and scores prefer the same run), significant, wrong."""
        groups: dict[tuple[str, str], list[SimulatedPair]] = {}
        for pair in self.pairs:
            groups.setdefault((pair.method, pair.user), []).append(pair)
        rows = []
        for group, pairs in groups.items():
            significant = [pair.agrees for pair in pairs if pair.p < self.alpha]
            counts = (len(pairs), sum(pair.agrees for pair in pairs), len(significant), significant.count(False))
            rows.append((*group, *counts, _whole(float(np.median([pair.needed for pair in pairs])))))
        names = ("method", "user", "pairs", "agree", "significant", "wrong", "median impressions")
        return dict(zip(names, map(labels, zip(*rows, strict=True)), strict=True))

    def curve(self, points: int = 40) -> dict[str, NDArray[Any]]:
        """series (method and user), impressions, power: the probability that the sign test finds each difference.

        With several pairs of systems, the mean over pairs. Users who click at random are left out.
        """
        shown = [pair for pair in self.pairs if pair.user != "random"] or list(self.pairs)
        finite = [pair.needed for pair in shown if math.isfinite(pair.needed)]
        sizes = np.unique(np.geomspace(10, max([100.0, *finite]) * 1.5, points).round())
        users = {pair.user for pair in shown}
        series: dict[str, list[Array]] = {}
        for pair in shown:
            total = pair.wins + pair.ties + pair.losses
            name = pair.method if len(users) == 1 else f"{pair.method}, {pair.user}"
            series.setdefault(name, []).append(power_at(pair.wins / total, pair.losses / total, sizes, self.alpha))
        return {
            "series": np.repeat(np.array(list(series), dtype=object), len(sizes)),
            "impressions": np.tile(sizes, len(series)),
            "power": np.concatenate([np.mean(curves, axis=0) for curves in series.values()]),
        }


@operation
def simulate_interleaving(
    qrels: Any,
    runs: Any,
    methods: Sequence[str | MixingMethod] = ("balanced", "team-draft", "probabilistic"),
    users: Sequence[str | ClickingUser | FittedUser] = ("navigational",),
    *,
    measure: MeasureLike = "nDCG@10",
    impressions: Annotated[int, about("Lists that are shown.", least=1)] = 10_000,
    length: ListLength = 10,
    depth: MixedDepth = None,
    alpha: Alpha = 0.05,
    power: Annotated[float, about(POWER_COUNTED, **POWER)] = 0.8,
    seed: Seed = 0,
    options: JoinOptions | None = None,
    progress: Progress | None = None,
) -> InterleavingSimulation:
    """Show interleaved lists of runs to simulated users, and compare what clicks say with what judgments say.

    Every impression is of a topic that is drawn at random. Three questions are answered:
    bias: with users who click at `random`, no system may win more often;
    fidelity: do clicks prefer the run that the measure prefers?
    sensitivity: after how many impressions does a sign test at `alpha` find the difference, with this `power`?

    methods, users: names, as in `MIXING_METHODS` and `USERS`; a user may also be any object with
        `simulate(grades, rng)`, or a fitted click model, with `simulate(queries, docs, rng)`.

    References: Hofmann, Whiteson & de Rijke, TOIS 31(4), 2013 (fidelity, users); Chapelle et al., TOIS 30(1), 2012

    >>> qrels = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}}
    >>> runs = {"good": {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}}, "bad": {"q1": {"b": 2, "a": 1}, "q2": {"d": 1}}}
    >>> result = simulate_interleaving(qrels, runs, ["team-draft"], ["perfect"], impressions=1000)
    >>> pair = result.pairs[0]
    >>> pair.wins > pair.losses, pair.agrees
    (True, True)
    """
    if not methods or not users:
        raise UsageError(f"{NAME}: no method or no user given")
    setting = SimulatedImpressions.of(qrels, runs, impressions, depth or length, seed, options)
    truth = setting.truth(measure, options)
    pairs: list[SimulatedPair] = []
    notes: list[str] = []
    made = [user_of(user, setting.highest) for user in users]
    for m, method in enumerate(methods):
        batch = setting.interleaved(Interleaver(MixingMethod.of(method), length=length))
        notes += biased_policies(batch)
        for u, (name, user) in enumerate(made):
            clicks = setting.clicks(batch, user, (m, u))
            credit = batch.credit(clicks)
            outcomes = outcomes_of(credit)
            for number, (i, j) in enumerate(combinations(range(len(setting.lists.systems)), 2)):
                column = outcomes[:, number]
                counts = [int((column == sign).sum()) for sign in (1, 0, -1)]
                moments = CreditMoments.of(credit[:, i] - credit[:, j])
                pairs.append(_pair(batch, name, (i, j), counts, moments, truth[i] - truth[j], alpha, power))
            if progress is not None:
                progress(m * len(made) + u + 1, len(methods) * len(made))
    notes += _about(setting, made, str(measure), impressions, length, alpha, power, seed)
    return InterleavingSimulation(
        tuple(pairs), str(measure), impressions, length, alpha, power, seed, tuple(dict.fromkeys(notes))
    )


def _pair(
    batch: InterleavedBatch, user: str, pair: tuple[int, int], counts: list[int], moments: CreditMoments, truth: float,
    alpha: float, power: float,
) -> SimulatedPair:  # fmt: skip
    wins, ties, losses = counts
    total = wins + ties + losses
    delta = float(preference(wins, losses, ties))
    systems = batch.lists.systems
    return SimulatedPair(
        str(batch.maker.method), user, systems[pair[0]], systems[pair[1]], wins, ties, losses, delta,
        sign_test(wins, losses), moments.mean, moments.p, truth, bool(moments.mean * truth > 0),
        impressions_needed(wins / total, losses / total, alpha, power), moments.needed(alpha, power),
    )  # fmt: skip


def _about(
    setting: SimulatedImpressions, users: Sequence[tuple[str, Any]], measure: str, impressions: int, length: int,
    alpha: float, power: float, seed: int,
) -> Iterator[str]:  # fmt: skip
    topics = counted(len(setting.lists.queries), "topic")
    yield (
        f"{counted(impressions, 'impression')} of {topics}, lists of {length}, seed {seed}; agrees: credit and mean "
        f"{measure} prefer the same run"
    )
    yield (
        f"needed: impressions for p < {alpha:g} in a two-sided sign test with power {power:g} (Connor 1987); by "
        "credit: in a z test of mean credit"
    )
    for name, user in users:
        if isinstance(user, CascadeUser):
            yield user.described()
        if name == "random":
            yield "random clicks should favour nobody: a small p of credit is a sign of bias"
    yield from setting.pooled.notes


def _whole(value: float) -> str:
    return "-" if not math.isfinite(value) else f"{math.ceil(value):,}"

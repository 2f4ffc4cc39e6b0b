"""Pool without the runs of one team at a time: how would its runs have scored?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.building.pools.pool_methods import Method
from cranfield.building.pools.pooled_lists import Mask, PooledLists
from cranfield.comparison.differences import noise
from cranfield.evaluation.evaluator import values_of
from cranfield.meta.judgments import rescoring
from cranfield.scores import summary as summaries
from cranfield.types import Array, Index, Index64

if TYPE_CHECKING:
    from cranfield.building.pools.pool_simulation import Simulation

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

    def of(self, method: Method, values: Sequence[Array]) -> LeftOutRuns:
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

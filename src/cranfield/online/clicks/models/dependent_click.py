"""The dependent click model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from cranfield.online.clicks.bernoulli_em import Expected, weighted_log
from cranfield.online.clicks.chain_counts import ChainCounts, chain_counts
from cranfield.online.clicks.chain_em import ChainProblem, chain_layout
from cranfield.online.clicks.click_estimates import beta_estimates
from cranfield.online.clicks.click_kinds import (
    ATTRACTIVENESS,
    CONTINUATION,
    PAIR,
    RANK,
    ClickKind,
    Fit,
    Placed,
    click_kind,
    fit_by_steps,
)
from cranfield.online.clicks.click_pages import Cells, Pages, sums
from cranfield.online.clicks.click_settings import ClickSettings
from cranfield.online.clicks.click_walks import ChainWalk, Walk
from cranfield.types import Array


@click_kind
class DependentClick(ClickKind):
    r"""Users read from the top. After a click at rank r they go on with probability λ_r, after a skip always.

    .. math:: P(E_{r+1} = 1 \mid E_r = 1, C_r) = \begin{cases} \lambda_r & C_r = 1 \\ 1 & C_r = 0 \end{cases}

    By counting, as in the paper, users are assumed to stop after their last click: attractiveness is clicks over
    impressions down to the last click (all, without clicks), and λ_r is the share of clicks at r that are not the last.
    This maximises a lower bound of the likelihood, and has no intervals.
    """

    name, title = "DCM", "dependent click model"
    reference = "Guo, Liu & Wang, WSDM 2009, 124-131, doi:10.1145/1498759.1498818"
    parameters: ClassVar[Mapping[str, str]] = {ATTRACTIVENESS: PAIR, CONTINUATION: RANK}
    can_be_counted = True

    def fit(self, data: Cells | Pages, settings: ClickSettings) -> Fit:
        assert isinstance(data, Pages)
        counts = chain_counts(data)
        problem = DependentProblem(counts, settings)
        size = len(counts.names)
        if settings.exact:
            parts = {ATTRACTIVENESS: slice(0, size), CONTINUATION: slice(size, None)}
            return fit_by_steps(problem, parts, settings)
        skipped = counts.skipped + counts.unclicked
        attractive = beta_estimates(counts.clicked, skipped, settings.prior, None)
        onward = beta_estimates(counts.continued_at, counts.last_at, settings.rank_prior, None)
        likelihood = problem.expected(np.concatenate([attractive.value, onward.value])).log_likelihood
        return Fit({ATTRACTIVENESS: attractive, CONTINUATION: onward}, likelihood)

    def walk(self, values: Placed) -> Walk:
        attractive = values.pair(ATTRACTIVENESS)
        onward = np.broadcast_to(values.rank(CONTINUATION), attractive.shape)
        return ChainWalk(attractive, np.asarray(onward), np.ones(attractive.shape))


class DependentProblem(ChainProblem):
    """The likelihood of DCM: attractiveness of pairs, then λ of ranks."""

    def __init__(self, counts: ChainCounts, settings: ClickSettings) -> None:
        super().__init__(counts)
        self.layout = chain_layout(counts, settings, 1, [counts.ranks])

    def start(self) -> Array:
        counts = self.counts
        onward = (counts.continued_at + 1) / (counts.continued_at + counts.last_at + 2)
        return np.concatenate([self.first_attractive(), onward])

    def expected(self, theta: Array) -> Expected:
        counts, attractive, onward = self.counts, theta[: self.pairs], theta[self.pairs :]
        reading = self.read(attractive, onward[np.maximum(counts.start_rank, 0)] if len(onward) else onward, 1.0)
        entered, stopped = self.entered_and_stopped(reading)
        clicked, skipped = self.attractive_counts(reading)
        on = counts.continued_at + sums(self.open_rank, entered, counts.ranks)
        off = sums(self.open_rank, stopped, counts.ranks)
        likelihood = self.known_likelihood(attractive) + weighted_log(counts.continued_at, onward)
        return Expected(
            np.concatenate([clicked, on]), np.concatenate([skipped, off]), likelihood + reading.log_likelihood
        )

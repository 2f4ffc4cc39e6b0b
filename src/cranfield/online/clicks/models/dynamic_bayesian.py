"""The dynamic Bayesian network model, and its simplified form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from cranfield.online.clicks.bernoulli_em import Expected, weighted_log
from cranfield.online.clicks.chain_counts import ChainCounts, chain_counts
from cranfield.online.clicks.chain_em import ChainProblem, chain_layout
from cranfield.online.clicks.click_estimates import Estimates, beta_estimates, without_intervals
from cranfield.online.clicks.click_kinds import (
    ATTRACTIVENESS,
    CONTINUATION,
    PAIR,
    RELEVANCE,
    SATISFACTION,
    SINGLE,
    ClickKind,
    Fit,
    Placed,
    click_kind,
    fit_by_steps,
)
from cranfield.online.clicks.click_pages import Cells, Pages
from cranfield.online.clicks.click_settings import ClickSettings
from cranfield.online.clicks.click_walks import ChainWalk, Walk
from cranfield.types import Array


@click_kind
class DynamicBayesian(ClickKind):
    r"""Users read from the top until a clicked document satisfies them, or until they give up.

    .. math:: P(E_{r+1} = 1 \mid E_r = 1, C_r) = \begin{cases} \gamma\,(1 - s_{qd}) & C_r = 1 \\ \gamma & C_r = 0
        \end{cases}

    The relevance of a document is a · s, the probability that it attracts and satisfies.
    """

    name, title = "DBN", "dynamic Bayesian network model"
    reference = "Chapelle & Zhang, WWW 2009, 1-10, doi:10.1145/1526709.1526711"
    parameters: ClassVar[Mapping[str, str]] = {
        ATTRACTIVENESS: PAIR,
        SATISFACTION: PAIR,
        RELEVANCE: PAIR,
        CONTINUATION: SINGLE,
    }
    takes_steps = True

    def fit(self, data: Cells | Pages, settings: ClickSettings) -> Fit:
        assert isinstance(data, Pages)
        counts = chain_counts(data)
        size = len(counts.names)
        parts = {
            ATTRACTIVENESS: slice(0, size), SATISFACTION: slice(size, 2 * size), CONTINUATION: slice(2 * size, None),
        }  # fmt: skip
        return fit_by_steps(BayesianProblem(counts, settings), parts, settings, (ATTRACTIVENESS, SATISFACTION))

    def walk(self, values: Placed) -> Walk:
        return bayesian_walk(values, values.single(CONTINUATION))


@click_kind
class SimplifiedBayesian(ClickKind):
    r"""DBN in which users never give up: γ = 1.

    .. math:: P(E_{r+1} = 1 \mid E_r = 1, C_r) = \begin{cases} 1 - s_{qd} & C_r = 1 \\ 1 & C_r = 0 \end{cases}

    Users may also have read on to the end of the page without a click. By counting, as in the paper, the last click is
    assumed to satisfy: attractiveness is clicks over impressions down to the last click (all, without clicks), and
    satisfaction is the share of clicks that are the last; there are no intervals.
    """

    name, title = "SDBN", "simplified DBN"
    reference = "Chapelle & Zhang, WWW 2009, 1-10, doi:10.1145/1526709.1526711"
    parameters: ClassVar[Mapping[str, str]] = {ATTRACTIVENESS: PAIR, SATISFACTION: PAIR, RELEVANCE: PAIR}
    can_be_counted = True

    def fit(self, data: Cells | Pages, settings: ClickSettings) -> Fit:
        assert isinstance(data, Pages)
        counts = chain_counts(data)
        size = len(counts.names)
        problem = BayesianProblem(counts, settings, gives_up=False)
        if settings.exact:
            parts = {ATTRACTIVENESS: slice(0, size), SATISFACTION: slice(size, 2 * size)}
            return fit_by_steps(problem, parts, settings, (ATTRACTIVENESS, SATISFACTION))
        skipped = counts.skipped + counts.unclicked
        attractive = beta_estimates(counts.clicked, skipped, settings.prior, None)
        satisfied = beta_estimates(counts.last, counts.continued, settings.prior, None)
        likelihood = problem.expected(np.concatenate([attractive.value, satisfied.value, [1.0]])).log_likelihood
        relevant = without_intervals(attractive.value * satisfied.value)
        values: dict[str, Estimates] = {ATTRACTIVENESS: attractive, SATISFACTION: satisfied, RELEVANCE: relevant}
        return Fit(values, likelihood)

    def walk(self, values: Placed) -> Walk:
        return bayesian_walk(values, 1.0)


def bayesian_walk(values: Placed, proceed: float) -> Walk:
    """Users of DBN; a rank without a document stops nobody."""
    attractive, satisfied = values.pair(ATTRACTIVENESS), values.pair(SATISFACTION)
    return ChainWalk(attractive, proceed * (1 - satisfied), np.where(values.present, proceed, 1.0))


class BayesianProblem(ChainProblem):
    """The likelihood of DBN: attractiveness and satisfaction of pairs, then γ, which is 1 for SDBN."""

    def __init__(self, counts: ChainCounts, settings: ClickSettings, *, gives_up: bool = True) -> None:
        super().__init__(counts)
        self.gives_up = gives_up
        self.layout = chain_layout(counts, settings, 2, [1], known=0 if gives_up else 1)

    def start(self) -> Array:
        counts = self.counts
        satisfied = (counts.last + 1) / (counts.last + counts.continued + 2)
        return np.concatenate([self.first_attractive(), satisfied, [0.9 if self.gives_up else 1.0]])

    def expected(self, theta: Array) -> Expected:
        counts, size = self.counts, self.pairs
        attractive, satisfied, proceed = theta[:size], theta[size : 2 * size], float(theta[-1])
        enter = proceed * (1 - satisfied)
        reading = self.read(attractive, enter[counts.start_pair] if size else np.zeros(0), proceed)
        entered, stopped = self.entered_and_stopped(reading)
        clicked, skipped = self.attractive_counts(reading)
        # A user who stopped after a click was satisfied, or was not and gave up.
        of_start = satisfied[self.open_pair]
        leave = 1 - proceed * (1 - of_start)
        content = stopped * np.divide(of_start, leave, out=np.zeros(len(leave)), where=leave > 0)
        good = counts.sum_of_pairs(self.open_pair, content)
        bad = counts.continued + counts.sum_of_pairs(self.open_pair, entered + stopped - content)
        on = counts.known_continues + float(counts.continued.sum() + entered.sum()) + reading.went_on
        off = float((stopped - content).sum()) + reading.stopped
        likelihood = (
            self.known_likelihood(attractive)
            + weighted_log(np.array([counts.known_continues]), np.array([proceed]))
            + weighted_log(counts.continued, enter)
            + reading.log_likelihood
        )
        return Expected(np.concatenate([clicked, good, [on]]), np.concatenate([skipped, bad, [off]]), likelihood)

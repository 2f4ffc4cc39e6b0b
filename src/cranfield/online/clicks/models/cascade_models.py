"""Models of users who read from the top: the cascade model, DCM, CCM, DBN and SDBN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from cranfield.notes import caution_note
from cranfield.online.clicks.chain_em import ChainCounts, ChainProblem, chain_counts, chain_layout
from cranfield.online.clicks.click_estimates import (
    ClickSettings,
    Estimates,
    Expected,
    beta_estimates,
    weighted_log,
    without_intervals,
)
from cranfield.online.clicks.click_kinds import (
    ATTRACTIVENESS,
    CONTINUATION,
    PAIR,
    RANK,
    RELEVANCE,
    SATISFACTION,
    SINGLE,
    ChainWalk,
    ClickKind,
    Fit,
    Placed,
    Walk,
    click_kind,
    fit_by_steps,
)
from cranfield.online.clicks.click_pages import Cells, Pages, sums
from cranfield.text import counted
from cranfield.types import Array


@click_kind
class Cascade(ClickKind):
    r"""Users read from the top, click the first attractive document, and stop there.

    .. math:: P(C_r = 1 \mid C_{<r} = 0) = a_{qd}, \qquad P(C_r = 1 \mid \text{a click above}) = 0

    Fitted by counting: clicks over impressions down to the first click. Several clicks in a session are impossible;
    only the first is counted.
    """

    name, title = "CM", "cascade model"
    reference = "Craswell, Zoeter, Taylor & Ramsey, WSDM 2008, 87-94, doi:10.1145/1341531.1341545"
    parameters: ClassVar[Mapping[str, str]] = {ATTRACTIVENESS: PAIR}
    one_click = True

    def fit(self, data: Cells | Pages, settings: ClickSettings) -> Fit:
        assert isinstance(data, Pages)
        counts = chain_counts(data.first_clicks())
        skipped = counts.skipped + counts.unclicked
        estimates = beta_estimates(counts.clicked, skipped, settings.prior, settings.level)
        several = data.several_clicks
        notes: tuple[str, ...] = ()
        if several:
            notes = (
                caution_note(
                    f"{counted(several, 'session')} with clicks on several documents, which are impossible in "
                    "CM: only the "
                    "first click is counted, and the log-likelihood is that of first clicks"
                ),
            )
        likelihood = weighted_log(counts.clicked, estimates.value) + weighted_log(skipped, 1 - estimates.value)
        return Fit({ATTRACTIVENESS: estimates}, likelihood, notes=notes)

    def walk(self, values: Placed) -> Walk:
        attractive = values.pair(ATTRACTIVENESS)
        return ChainWalk(attractive, np.zeros(attractive.shape), np.ones(attractive.shape))


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


AFTER_SKIP = "continuation after a skip"
AFTER_MISS = "continuation after a click, not relevant"
AFTER_HIT = "continuation after a click, relevant"


@click_kind
class ClickChain(ClickKind):
    r"""Users read from the top. Whether they go on depends on whether they clicked, and found it relevant.

    .. math:: P(E_{r+1} = 1 \mid E_r = 1, C_r) = \begin{cases} \tau_2 (1 - a_{qd}) + \tau_3\, a_{qd} & C_r = 1 \\
        \tau_1 & C_r = 0 \end{cases}

    The attractiveness of a document is also the probability that a click finds it relevant.
    """

    name, title = "CCM", "click chain model"
    reference = "Guo, Liu, Kannan, Minka, Taylor, Wang & Faloutsos, WWW 2009, 11-20, doi:10.1145/1526709.1526712"
    parameters: ClassVar[Mapping[str, str]] = {
        ATTRACTIVENESS: PAIR,
        AFTER_SKIP: SINGLE,
        AFTER_MISS: SINGLE,
        AFTER_HIT: SINGLE,
    }
    takes_steps = True

    def fit(self, data: Cells | Pages, settings: ClickSettings) -> Fit:
        assert isinstance(data, Pages)
        counts = chain_counts(data)
        size = len(counts.names)
        parts = {ATTRACTIVENESS: slice(0, size)}
        parts |= {name: slice(size + k, size + k + 1) for k, name in enumerate((AFTER_SKIP, AFTER_MISS, AFTER_HIT))}
        return fit_by_steps(ChainModelProblem(counts, settings), parts, settings)

    def walk(self, values: Placed) -> Walk:
        attractive = values.pair(ATTRACTIVENESS)
        after_click = values.single(AFTER_MISS) * (1 - attractive) + values.single(AFTER_HIT) * attractive
        return ChainWalk(attractive, after_click, np.where(values.present, values.single(AFTER_SKIP), 1.0))


class ChainModelProblem(ChainProblem):
    """The likelihood of CCM: attractiveness of pairs, then the three probabilities of going on."""

    def __init__(self, counts: ChainCounts, settings: ClickSettings) -> None:
        super().__init__(counts)
        self.layout = chain_layout(counts, settings, 1, [1, 1, 1])

    def start(self) -> Array:
        return np.concatenate([self.first_attractive(), [0.9, 0.6, 0.4]])

    def expected(self, theta: Array) -> Expected:
        counts, attractive = self.counts, theta[: self.pairs]
        after_skip, after_miss, after_hit = (float(value) for value in theta[self.pairs :])
        enter = after_miss * (1 - attractive) + after_hit * attractive
        reading = self.read(attractive, enter[counts.start_pair] if self.pairs else np.zeros(0), after_skip)
        entered, stopped = self.entered_and_stopped(reading)
        clicked, skipped = self.attractive_counts(reading)
        on = counts.continued + counts.sum_of_pairs(self.open_pair, entered)
        off = counts.sum_of_pairs(self.open_pair, stopped)
        # The share of relevant documents among clicks after which users went on, and after which they stopped.
        hit_on = on * np.divide(attractive * after_hit, enter, out=np.zeros(self.pairs), where=enter > 0)
        leave = 1 - enter
        hit_off = off * np.divide(attractive * (1 - after_hit), leave, out=np.zeros(self.pairs), where=leave > 0)
        success = [counts.known_continues + reading.went_on, float((on - hit_on).sum()), float(hit_on.sum())]
        failure = [reading.stopped, float((off - hit_off).sum()), float(hit_off.sum())]
        likelihood = (
            self.known_likelihood(attractive)
            + weighted_log(np.array([counts.known_continues]), np.array([after_skip]))
            + weighted_log(counts.continued, enter)
            + reading.log_likelihood
        )
        hits, misses = hit_on + hit_off, on + off - hit_on - hit_off
        return Expected(
            np.concatenate([clicked + hits, success]), np.concatenate([skipped + misses, failure]), likelihood
        )


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

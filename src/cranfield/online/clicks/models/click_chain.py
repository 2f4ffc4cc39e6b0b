"""The click chain model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from cranfield.online.clicks.bernoulli_em import Expected, weighted_log
from cranfield.online.clicks.chain_counts import ChainCounts, chain_counts
from cranfield.online.clicks.chain_em import ChainProblem, chain_layout
from cranfield.online.clicks.click_kinds import (
    ATTRACTIVENESS,
    PAIR,
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

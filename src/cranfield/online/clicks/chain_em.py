"""Models of users who read from the top, as likelihoods with hidden stops: what DCM, DBN, SDBN and CCM share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.online.clicks.bernoulli_em import Layout, weighted_log
from cranfield.online.clicks.chain_counts import END, ChainCounts, Reading, read_tails
from cranfield.online.clicks.click_settings import ClickSettings
from cranfield.types import Array


class ChainProblem:
    """The parts of the likelihood that all of these models have; `pairs` parameters of attractiveness come first."""

    layout: Layout

    def __init__(self, counts: ChainCounts) -> None:
        self.counts, self.pairs = counts, len(counts.names)
        self.impressions = counts.impressions
        self.top = counts.start_pair < 0
        # After a click on the last document of a page, nobody sees whether the user would have gone on.
        self.open = ~self.top & (counts.start_node != END)
        self.open_pair = counts.start_pair[self.open]
        self.open_rank = counts.start_rank[self.open]

    def read(self, attractive: Array, enter: Array, proceed: float) -> Reading:
        """The E-step of tails; `enter` is the probability of reading on after the click of each start."""
        return read_tails(self.counts, attractive, np.where(self.top, 1.0, enter), proceed)

    def entered_and_stopped(self, reading: Reading) -> tuple[Array, Array]:
        """After the lowest click of pages: the expected number of sessions that read on, and that stopped."""
        entered = reading.entered[self.open]
        return entered, self.counts.start_sessions[self.open] - entered

    def attractive_counts(self, reading: Reading) -> tuple[Array, Array]:
        """Clicks of each pair, and expected examinations without a click."""
        unseen = self.counts.sum_of_pairs(self.counts.node_pair, reading.examined)
        return self.counts.clicked, self.counts.skipped + unseen

    def known_likelihood(self, attractive: Array) -> float:
        """The log-likelihood of clicks and of what was surely examined, without going on."""
        return weighted_log(self.counts.clicked, attractive) + weighted_log(self.counts.skipped, 1 - attractive)

    def first_attractive(self) -> Array:
        """Attractiveness to begin with: clicks over impressions down to the lowest click."""
        counts = self.counts
        return np.asarray((counts.clicked + 1) / (counts.clicked + counts.skipped + counts.unclicked + 2))


def chain_layout(
    counts: ChainCounts, settings: ClickSettings, of_pairs: int, others: Sequence[int], *, known: int = 0
) -> Layout:
    """Parameters of pairs, `of_pairs` times, then parts of others. Pairs of the same query are in one block.

    known: the last ones, which are not estimated.
    """
    size = len(counts.names)
    block = np.concatenate([np.tile(counts.names.query, of_pairs), np.full(sum(others), -1)])
    parts = [*[(size, settings.prior)] * of_pairs, *((other, settings.rank_prior) for other in others)]
    return Layout.of(parts, np.arange(len(block)) >= len(block) - known, block)

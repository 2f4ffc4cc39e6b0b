"""Users who read from the top (DCM, DBN, SDBN, CCM): what pages say about them, and likelihoods with hidden stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cranfield.online.clicks.click_estimates import ClickSettings, Layout, weighted_log
from cranfield.online.clicks.click_pages import Pages, PairNames, numbered, sums
from cranfield.types import Array, Index64

END = -1


@dataclass(frozen=True, eq=False)
class ChainCounts:
    """The counts that models of reading from the top need. Arrays are over pairs, over ranks, or over starts of tails.

    A start is a click (or the top of the page) with the tail below it.
    """

    names: PairNames
    ranks: int
    impressions: int
    skipped: Array
    """pairs: examined for sure, as there is a click below, and not clicked."""
    clicked: Array
    """pairs: clicked."""
    continued: Array
    """pairs: clicked, with another click below."""
    continued_at: Array
    """ranks: the same by rank."""
    last: Array
    """pairs: clicked, and the lowest click of the page."""
    last_at: Array
    """ranks: the same by rank."""
    unclicked: Array
    """pairs: on pages without clicks."""
    start_pair: Index64
    """starts: the pair that was clicked; -1 at the top of a page."""
    start_rank: Index64
    """starts: its column (rank - 1); -1 at the top of a page."""
    start_node: Index64
    """starts: the node of the first document of the tail; `END` if there is none."""
    start_sessions: Array
    node_pair: Index64
    """nodes: the document that is not clicked."""
    node_next: Index64
    """nodes: the node below; `END` at the end of the page."""
    levels: tuple[tuple[int, int], ...]
    """Ranges of nodes; a node is followed by one of an earlier range."""

    @cached_property
    def known_continues(self) -> float:
        """How often a user surely went on after a document that was not clicked."""
        return float(self.skipped.sum())

    def sum_of_pairs(self, pair: Index64, weight: Array) -> Array:
        return sums(pair, weight, len(self.names))


def chain_counts(pages: Pages) -> ChainCounts:
    """Count the pages. Ranks without a document are passed by."""
    size, weight = len(pages.names), pages.sessions.astype(np.float64)
    columns = np.arange(pages.ranks)
    last, present, clicked = pages.last[:, None], pages.present, pages.clicked
    wide = np.broadcast_to(weight[:, None], pages.pair.shape)

    def of_pairs(where: NDArray[np.bool_]) -> Array:
        return sums(pages.pair[where], wide[where], size)

    lowest = clicked & (columns == last)
    above = clicked & (columns < last)
    nodes, node_next, levels, start = _tails(pages)
    has_click = pages.last >= 0
    start_pair = np.where(has_click, pages.pair[np.arange(len(start)), np.maximum(pages.last, 0)], -1)
    click = (start_pair + 1) * (pages.ranks + 1) + pages.last + 1
    clicks, code = numbered(click)
    distinct, place = numbered(code * (len(nodes) + 1) + start + 1)
    of_click = clicks[distinct // (len(nodes) + 1)]
    return ChainCounts(
        pages.names, pages.ranks, pages.impressions,
        skipped=of_pairs(present & ~clicked & (columns < last)),
        clicked=of_pairs(clicked),
        continued=of_pairs(above),
        continued_at=(wide * above).sum(axis=0),
        last=of_pairs(lowest),
        last_at=(wide * lowest).sum(axis=0),
        unclicked=of_pairs(present & (last < 0)),
        start_pair=of_click // (pages.ranks + 1) - 1,
        start_rank=of_click % (pages.ranks + 1) - 1,
        start_node=distinct % (len(nodes) + 1) - 1,
        start_sessions=sums(place, weight, len(distinct)),
        node_pair=nodes, node_next=node_next, levels=levels,
    )  # fmt: skip


def _tails(pages: Pages) -> tuple[Index64, Index64, tuple[tuple[int, int], ...], Index64]:
    """The tree of tails: documents and next nodes, the ranges of levels, and the first node of each page's tail."""
    node = np.full(len(pages.pair), END, dtype=np.int64)
    pairs, nexts, levels, made = [], [], [], 0
    base = np.int64(len(pages.names) + 1)
    for column in reversed(range(pages.ranks)):
        rows = np.flatnonzero((column > pages.last) & (pages.pair[:, column] >= 0))
        if not len(rows):
            continue
        key = (node[rows] + 1) * base + pages.pair[rows, column]
        distinct, place = np.unique(key, return_inverse=True)
        pairs.append(distinct % base)
        nexts.append(distinct // base - 1)
        node[rows] = made + place
        levels.append((made, made + len(distinct)))
        made += len(distinct)
    empty = np.zeros(0, dtype=np.int64)
    return np.concatenate([empty, *pairs]), np.concatenate([empty, *nexts]), tuple(levels), node


@dataclass(frozen=True, eq=False)
class Reading:
    """How far users read, given that nothing in a tail was clicked."""

    entered: Array
    """starts: the expected number of sessions that read the first document of the tail."""
    examined: Array
    """nodes: the expected number of sessions that examined the document."""
    went_on: float
    """The expected number of times that a user went on after a document in a tail."""
    stopped: float
    """The same for stopping, before the end of the page."""
    log_likelihood: float
    """Of the tails alone."""


def read_tails(counts: ChainCounts, attractive: Array, enter: Array, proceed: float) -> Reading:
    """The E-step of tails.

    attractive: pairs. enter: starts, the probability of reading on after the click (1 at the top of a page). proceed:
    the probability of going on after a document that is not clicked.
    """
    size = len(counts.node_pair)
    silent = np.ones(size + 1)  # the probability of no click from this node on, if it is examined; 1 at the END
    skip = 1 - attractive[counts.node_pair]
    for low, high in counts.levels:
        below = silent[counts.node_next[low:high]]
        silent[low:high] = skip[low:high] * (1 - proceed + proceed * below)
    below = silent[counts.node_next]
    with np.errstate(divide="ignore", invalid="ignore"):
        onward = np.nan_to_num(proceed * below / (1 - proceed + proceed * below))
        outcome = 1 - enter + enter * silent[counts.start_node]
        reached = np.nan_to_num(enter * silent[counts.start_node] / outcome)
        log_likelihood = float((counts.start_sessions * np.log(outcome)).sum())
    onward[counts.node_next == END] = 0
    entered = np.where(counts.start_node == END, 0.0, counts.start_sessions * reached)
    examined = np.zeros(size + 1)
    examined[:size] = sums(counts.start_node[counts.start_node >= 0], entered[counts.start_node >= 0], size)
    for low, high in reversed(counts.levels):
        moved = examined[low:high] * onward[low:high]
        following = counts.node_next[low:high]
        inside = following >= 0
        if low:
            examined[:low] += sums(following[inside], moved[inside], low)
    examined = examined[:size]
    went_on = float((examined * onward).sum())
    inner = counts.node_next != END
    stopped = float(examined[inner].sum()) - went_on
    return Reading(entered, examined, went_on, stopped, log_likelihood)


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

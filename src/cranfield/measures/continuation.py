"""When a reader goes on: the chance to look at the next document, given what has been seen so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cranfield.types import Array


@dataclass(frozen=True, eq=False)
class Seen:
    """What readers have seen at every rank: one row per list, one column per rank, documents that are not there gain 0.

    `gain` lies between 0 and 1. An array of one row stands for all lists.
    """

    gain: Array
    cost: Array
    total: Array
    """One number per list (as a column): what all judged documents of its topic gain, retrieved or not."""

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """1, 2, 3, ... down to the depth, as one row."""
        return np.arange(1, self.gain.shape[1] + 1)[None, :]

    @cached_property
    def gained(self) -> Array:
        """The gain down to and including each rank."""
        return np.cumsum(self.gain, axis=1)

    @cached_property
    def spent(self) -> Array:
        """The cost down to and including each rank."""
        return np.cumsum(self.cost, axis=1)


def constant(seen: Seen, p: float) -> Array:
    """RBP: always with the same chance."""
    return np.full(seen.rank.shape, float(p))


def listed(seen: Seen, chances: tuple[float, ...]) -> Array:
    """One chance for each rank from the top; the last one holds from there on."""
    return np.asarray(np.array(chances)[np.minimum(seen.rank, len(chances)) - 1])


def until_the_first(seen: Seen) -> Array:
    """RR: until there is a gain."""
    return (seen.gained <= 0).astype(np.float64)


def _worth_ahead(seen: Seen) -> Array:
    """Gain over rank, summed from each rank down to the last."""
    return np.cumsum((seen.gain / seen.rank)[:, ::-1], axis=1)[:, ::-1]


def toward_the_rest(seen: Seen) -> Array:
    """AP: in proportion to what is still to come."""
    ahead = _worth_ahead(seen)
    chance = np.zeros_like(ahead)
    np.divide(ahead[:, 1:], ahead[:, :-1], out=chance[:, :-1], where=ahead[:, 1:] > 0)
    return chance


def documents_examined_by_AP(seen: Seen) -> Array:
    """Relevant documents that were missed stand infinitely deep: they add no gain, but each of them a share of W."""
    ahead = _worth_ahead(seen)[:, :1]
    return np.divide(seen.total, ahead, out=np.ones_like(ahead), where=ahead > 0)


def logarithmic(seen: Seen) -> Array:
    """DCG: as the discount 1/log2(r + 1) falls."""
    return np.log2(seen.rank + 1) / np.log2(seen.rank + 2)


def insq(seen: Seen, T: float) -> Array:
    """INSQ: the further down and the more is wanted, the more surely."""
    below = seen.rank + 2.0 * T
    return _square((below - 1.0) / below)


def inst(seen: Seen, T: float) -> Array:
    """INST: as INSQ, with what is still wanted in place of what was wanted."""
    below = seen.rank + 2.0 * T - seen.gained
    return _square((below - 1.0) / below)


def _square(values: Array) -> Array:
    return np.asarray(values * values)


def bejeweled(seen: Seen, T: float, K: float, hb: float, hc: float, median: float) -> Array:
    """BPM: until the gain reaches T or the cost reaches K; both move with what has been seen before."""

    def moved(limit: float, step: float) -> Array:
        moves = step * (seen.gain - median)
        moves[:, 1:], moves[:, 0] = moves[:, :-1].copy(), limit  # what stands at a rank moves the limit of the next
        return np.cumsum(moves, axis=1)

    # a third and a third and a third and one are a little less than two in floating point
    goes_on = (seen.gained < moved(T, hb) - 1e-9) & (seen.spent < moved(K, hc) - 1e-9)
    return np.logical_and.accumulate(goes_on, axis=1).astype(np.float64)


def toward_a_goal(seen: Seen, T: float, b1: float, R1: float) -> Array:
    """IFT's C1: until about T has been gained."""
    with np.errstate(over="ignore"):  # far below the goal the chance is 1
        return np.asarray(1.0 - 1.0 / (1.0 + b1 * np.exp((T - seen.gained) * R1)))


def while_it_pays(seen: Seen, A: float, b2: float, R2: float) -> Array:
    """IFT's C2: as long as gain per cost stays about A or above."""
    with np.errstate(over="ignore"):  # far below the rate the chance is 0
        return np.asarray(1.0 / (1.0 + b2 * np.exp((A - seen.gained / seen.spent) * R2)))

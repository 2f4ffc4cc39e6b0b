"""Continuation probabilities: how likely a reader is to go on to the next document, given what was seen so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cranfield.types import Array


@dataclass(frozen=True, eq=False)
class Seen:
    """Gains (0 to 1) and costs by list (row) and rank (column); a single row holds for all lists.

    Documents that are not judged, and ranks below the end of a list, gain 0.
    """

    gain: Array
    cost: Array
    total: Array
    """The gain of all judged documents of each list's topic, retrieved or not, as a column."""

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


def _gain_ahead(seen: Seen) -> Array:
    """The sum of gain over rank, from each rank to the last."""
    return np.cumsum((seen.gain / seen.rank)[:, ::-1], axis=1)[:, ::-1]


def average_precision(seen: Seen) -> Array:
    """AP: in proportion to the gain still ahead."""
    ahead = _gain_ahead(seen)
    chance = np.zeros_like(ahead)
    np.divide(ahead[:, 1:], ahead[:, :-1], out=chance[:, :-1], where=ahead[:, 1:] > 0)
    return chance


def documents_examined_by_AP(seen: Seen) -> Array:
    """AP treats missed relevant documents as infinitely deep: they add no gain, but each takes a share of W."""
    ahead = _gain_ahead(seen)[:, :1]
    return np.divide(seen.total, ahead, out=np.ones_like(ahead), where=ahead > 0)


def logarithmic(seen: Seen) -> Array:
    """DCG: the ratio of successive discounts 1/log2(r + 1)."""
    return np.log2(seen.rank + 1) / np.log2(seen.rank + 2)


def insq(seen: Seen, T: float) -> Array:
    """INSQ: the chance grows with the rank and with the wanted gain T."""
    below = seen.rank + 2.0 * T
    return np.square((below - 1.0) / below)


def inst(seen: Seen, T: float) -> Array:
    """INST: like INSQ, but with the gain that is still wanted."""
    below = seen.rank + 2.0 * T - seen.gained
    return np.square((below - 1.0) / below)


def bejeweled_player(seen: Seen, T: float, K: float, hb: float, hc: float, median: float) -> Array:
    """BPM: until the gain reaches T or the cost reaches K; both limits can move with the gains seen before."""

    def moved(limit: float, step: float) -> Array:
        moves = step * (seen.gain - median)
        moves[:, 1:], moves[:, 0] = moves[:, :-1].copy(), limit  # the document at a rank moves the next rank's limit
        return np.cumsum(moves, axis=1)

    # in floating point, 1/3 + 1/3 + 1/3 + 1 is a little less than 2
    goes_on = (seen.gained < moved(T, hb) - 1e-9) & (seen.spent < moved(K, hc) - 1e-9)
    return np.logical_and.accumulate(goes_on, axis=1).astype(np.float64)


def information_goal(seen: Seen, T: float, b1: float, R1: float) -> Array:
    """IFT's C1: until a gain of about T is reached."""
    with np.errstate(over="ignore"):  # far below the goal, the chance is 1
        return np.asarray(1.0 - 1.0 / (1.0 + b1 * np.exp((T - seen.gained) * R1)))


def information_rate(seen: Seen, A: float, b2: float, R2: float) -> Array:
    """IFT's C2: as long as the gain per cost stays at about A or above."""
    with np.errstate(over="ignore"):  # far below the rate, the chance is 0
        rate = np.divide(seen.gained, seen.spent, out=np.zeros_like(seen.gained), where=seen.spent > 0)
        return np.asarray(1.0 / (1.0 + b2 * np.exp((A - rate) * R2)))

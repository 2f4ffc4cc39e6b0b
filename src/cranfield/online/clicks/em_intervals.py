"""Variances of estimated probabilities: the observed information of all parameters together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cranfield.online.clicks.bernoulli_em import Maximum, Problem, logit_score
from cranfield.online.clicks.click_estimates import EDGE, UNSEEN
from cranfield.types import Array, Index64

STEP = 1e-4
"""Half the distance of the two scores that a second derivative is taken from, in log-odds."""
UNKNOWN = 1e6
"""The variance of log-odds of which nothing is known."""
MOST_IN_BLOCK = 120
"""Blocks of more parameters are cut; the correlation of the parameters that are cut off is ignored."""


def logit_covariances(problem: Problem, maximum: Maximum, partner: Index64) -> tuple[Array, Array, int]:
    """Variances on the scale of log-odds, covariances with the `partner` (-1: none), and how many were cut off.

    The information is the negative matrix of second derivatives of the log-likelihood with the prior. Its columns are
    differences of scores. Blocks do not interact, so one column of every block is found at a time; the parameters that
    are in no block border all blocks, and are eliminated (Schur complement). A parameter of which the log says nothing
    (no trials, or an estimate of 0 or 1) has the variance `UNKNOWN`.

    A parameter that is cut off from its block has the variance of its expected counts, which is too small if the
    events behind it are rarely seen. Fixed parameters have the variance 0.
    """
    layout = problem.layout
    size = len(maximum.theta)
    weight = _weight(problem, maximum)
    unknown = ~layout.fixed & (weight < UNSEEN)
    free = ~layout.fixed & ~unknown
    slot, cut = _slots(layout.block, free, weight)
    border = np.flatnonzero(free & (layout.block < 0))
    columns = _Columns(problem, maximum.theta)
    widest = int(slot.max(initial=-1)) + 1
    inner = np.stack([columns.of(np.flatnonzero(slot == k)) for k in range(widest)], axis=1) if widest else None
    outer = np.stack([columns.of(np.array([k])) for k in border], axis=1) if len(border) else np.zeros((size, 0))
    variance, covariance = np.zeros(size), np.zeros(size)
    schur = outer[border].copy()
    parts = []
    if inner is not None:
        for members in _blocks(layout.block, slot):
            inverse = _inverse(_square(inner, members, slot))
            carried = inverse @ outer[members]
            schur -= np.einsum("bik,bil->kl", outer[members], carried)
            parts.append((members, inverse, carried))
    bordered = _inverse(schur) if len(border) else np.zeros((0, 0))
    variance[border] = np.diag(bordered)
    for members, inverse, carried in parts:
        whole = inverse + carried @ bordered @ carried.transpose(0, 2, 1)
        variance[members] = np.einsum("bii->bi", whole)
        place = np.full(size + 1, -1)
        place[members] = np.arange(members.shape[1])
        other = place[partner[members]]
        row, column = np.indices(members.shape)
        with_other = np.where(other >= 0, whole[row, column, np.maximum(other, 0)], 0.0)
        covariance[members] = with_other
    variance[cut] = 1 / np.maximum(weight[cut], EDGE)
    variance[unknown] = UNKNOWN
    return np.clip(np.nan_to_num(variance, nan=UNKNOWN), 0.0, UNKNOWN), covariance, int(cut.sum())


class _Columns:
    """Columns of the information matrix."""

    def __init__(self, problem: Problem, theta: Array) -> None:
        from scipy.special import expit, logit

        self.problem, self._expit = problem, expit
        self.logits = logit(np.clip(theta, EDGE, 1 - EDGE))

    def of(self, entries: Index64) -> Array:
        """How the score of every parameter falls if these entries rise; they must be in different blocks."""
        moved = np.zeros(len(self.logits))
        moved[entries] = STEP
        up, down = (logit_score(self.problem, self._expit(self.logits + sign * moved)) for sign in (1, -1))
        return np.asarray((down - up) / (2 * STEP))


def _inverse(matrix: Array) -> Array:
    """The inverse; without a prior, the data may not tell some parameters apart, and then the pseudo-inverse."""
    try:
        return np.asarray(np.linalg.inv(matrix))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(matrix, hermitian=True))


def _weight(problem: Problem, maximum: Maximum) -> Array:
    """The information of the expected counts, as if the hidden events were seen."""
    layout, expected = problem.layout, maximum.expected
    total = expected.success + expected.failure + layout.success_prior + layout.failure_prior
    return np.asarray(total * maximum.theta * (1 - maximum.theta))


def _slots(block: Index64, free: NDArray[np.bool_], weight: Array) -> tuple[Index64, NDArray[np.bool_]]:
    """The place of each parameter in its block, heaviest first (-1: in no block); and those that are cut off."""
    slot = np.full(len(block), -1, dtype=np.int64)
    inside = np.flatnonzero(free & (block >= 0))
    order = inside[np.lexsort((-weight[inside], block[inside]))]
    first = np.searchsorted(block[order], block[order], side="left")
    slot[order] = np.arange(len(order)) - first
    cut = slot >= MOST_IN_BLOCK
    slot[cut] = -1
    return slot, cut


def _blocks(block: Index64, slot: Index64) -> list[Index64]:
    """The members of blocks (blocks × slots), for the blocks of each size."""
    inside = np.flatnonzero(slot >= 0)
    order = inside[np.lexsort((slot[inside], block[inside]))]
    _, start, sizes = np.unique(block[order], return_index=True, return_counts=True)
    return [order[start[sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes).tolist()]


def _square(columns: Array, members: Index64, slot: Index64) -> Array:
    """blocks × slots × slots: the information within each block, made symmetric."""
    square = columns[members][:, :, : members.shape[1]]
    return np.asarray((square + square.transpose(0, 2, 1)) / 2)

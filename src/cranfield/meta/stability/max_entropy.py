"""The most random list that has a given score: for every rank, how likely is its document to be relevant?

Documents are relevant or not independently of one another, with probability p_i at rank i. Of all such lists that score
as given, and find as many relevant documents, the one of maximum entropy takes nothing else for granted.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import as_measures
from cranfield.frames import need
from cranfield.measures import AP, Measure
from cranfield.types import Array

ROUNDS, STEPS = 40, 60
"""Rounds of linearisation, and Newton steps in each, at most."""
REACH = 1 - 1e-5
"""Probabilities of 0 and 1 are out of reach of the search: scores near the extremes are brought in to this share of the
way."""
EXACT = 1e-9
"""A score no further than this from the extremes is there, and is met without any search."""
CLOSE = 1e-5
"""When probabilities change by less, and constraints are met to within this, a list is done."""
LONGEST = 4.0
"""The longest step of Newton's method, in standard deviations of the weights."""
RIDGE = 1e-9


def max_entropy(measure: object, value: float, *, length: int, relevant: int, found: float | None = None) -> Array:
    r"""How likely each document is to be relevant in the most random list of `length` documents with this score.

    .. math:: \max_p \sum_{i=1}^{N} H(p_i) \quad\text{subject to}\quad E[M] = v, \quad \sum_i p_i = R_{ret}

    with :math:`E[AP] = \frac{1}{R} \sum_i \frac{p_i}{i} \left(1 + \sum_{j<i} p_j\right)` for AP, and a weighted sum of
    :math:`p_i` for measures that add up (P@k, Rprec, R@k, DCG, nDCG, RBP, ...). `relevant` is R, `found` the number of
    relevant documents in the list (default: all of them).

    Reference: Aslam, Yilmaz & Pavlu, The maximum entropy method for analyzing retrieval measures, SIGIR 2005, 27-34

    >>> max_entropy("P@2", 0.5, length=6, relevant=2).round(3).tolist()
    [0.5, 0.5, 0.25, 0.25, 0.25, 0.25]
    """
    check.whole("max_entropy", length=length, relevant=relevant)
    check.finite("max_entropy", value=value)
    there = float(min(relevant, length) if found is None else found)
    check.between("max_entropy", low=0, high=min(relevant, length), found=there)
    one = as_measures(measure)[0]  # type: ignore[arg-type]
    mask = np.ones((1, length))
    p, off = solved(one, np.array([value]), np.array([float(relevant)]), np.array([there]), mask)
    if off[0] > 1e-3:
        raise UsageError(
            f"no list of {length} documents with {there:g} of {relevant} relevant ones has {one} = {value:g} on average"
        )
    return np.asarray(p[0])


def solved(
    measure: Measure, value: Array, relevant: Array, found: Array, mask: NDArray[np.float64]
) -> tuple[Array, Array]:
    """Probabilities, lists × ranks, and by how much the constraint is missed; `mask` is 1 where a list has a rank."""
    weights, constant = _weights_of(measure, relevant, mask.shape[1])
    if weights is None:
        target = value * relevant
        p, off = _by_average_precision(target, found, mask)
        by_rank = -np.broadcast_to(np.arange(1.0, mask.shape[1] + 1), mask.shape)
    else:
        target, by_rank = value - constant, weights
        p = _Dual(weights * mask, target, found, mask).solve(STEPS)
        off = np.abs((weights * p).sum(axis=1) - target)
    for sign in (1, -1):  # the highest score there is, and the lowest
        packed = _packed(sign * by_rank, found, mask)
        end = _expected(packed, mask)[0] if weights is None else (weights * packed).sum(axis=1)
        there = sign * (target - end) >= -EXACT * np.maximum(1.0, np.abs(end))
        p[there], off[there] = packed[there], np.abs(end - target)[there]
    return p, off


def _packed(weights: Array, found: Array, mask: Array) -> Array:
    """All that is found on the ranks of the largest weights; ranks of the same weight share what is left for them.

    >>> _packed(np.array([[3.0, 2.0, 2.0, 1.0]]), np.array([2.0]), np.ones((1, 4))).tolist()
    [[1.0, 0.5, 0.5, 0.0]]
    """
    there = np.where(mask > 0, weights, -np.inf)
    last = np.maximum(np.ceil(found).astype(np.int64), 1) - 1
    border = np.take_along_axis(-np.sort(-there, axis=1), last[:, None], axis=1)
    close = EXACT * np.maximum(1.0, np.abs(border))
    above = (there > border + close).astype(np.float64)
    tied = (np.abs(there - border) <= close).astype(np.float64)
    return np.asarray(above + tied * ((found - above.sum(axis=1)) / tied.sum(axis=1))[:, None])


def check_informative(measure: Measure) -> None:
    """Complain about a measure whose expected value is neither AP's nor a weighted sum."""
    if not _is_ap(measure) and (not measure.properties.additive or measure.views or measure.needs):
        raise UsageError(
            f"{measure}: its expected value is no sum over ranks; give AP, or a measure that adds up, such as P@10, "
            "Rprec, R@100, nDCG@10 or RBP"
        )


def _is_ap(measure: Measure) -> bool:
    return measure == AP(rel=measure.__dict__.get("rel", 1)) if isinstance(measure, AP) else False


def _weights_of(measure: Measure, relevant: Array, depth: int) -> tuple[Array | None, Array]:
    """What a relevant document at each rank adds, for each list, and what a list without any scores; None for AP."""
    check_informative(measure)
    if _is_ap(measure):
        return None, np.zeros(len(relevant))
    numbers, which = np.unique(relevant.astype(np.int64), return_inverse=True)
    rows = np.stack([_weights(measure, int(number), depth) for number in numbers])[which.reshape(-1)]
    return rows[:, :-1] - rows[:, -1:], rows[:, -1]


@cache
def _weights(measure: Measure, relevant: int, depth: int) -> Array:
    """The scores of lists with a single relevant document, at rank 1, 2, ..., and of one with none."""
    rows = depth + 1
    row = np.arange(depth)
    lists = Assessed(
        runs=("list",),
        topics=("topic",),
        run=np.zeros(rows, dtype=np.int64),
        topic=np.zeros(rows, dtype=np.int64),
        retrieved=np.full(rows, depth),
        missing=np.zeros(rows, dtype=bool),
        row=row,
        rank=row + 1,
        grade=np.ones(depth),
        judged=Judged.of(np.zeros(relevant, dtype=np.int64), np.ones(relevant), 1),
        set_of_row=np.zeros(rows, dtype=np.int64),
    )
    return np.asarray(measure.evaluate(lists))


class _Dual:
    """Linear constraints: p_i = logistic(a w_i + b), and a and b minimise a convex function of two numbers a list."""

    def __init__(self, weights: Array, target: Array, found: Array, mask: Array) -> None:
        self.mask, self.found = mask, found
        n = mask.sum(axis=1)
        mean = (weights * mask).sum(axis=1) / n
        spread = np.sqrt((((weights - mean[:, None]) ** 2) * mask).sum(axis=1) / n)
        self.mean, self.spread = mean, np.where(spread > 1e-12 * np.maximum(np.abs(mean), 1e-300), spread, np.inf)
        self.z = (weights - mean[:, None]) / self.spread[:, None] * mask
        wanted = np.where(np.isinf(self.spread), 0.0, (target - mean * found) / self.spread)
        self.target = np.clip(wanted, *(REACH * end for end in self._ends(n)))
        self.a = np.zeros(len(n))
        self.b = np.log(np.maximum(found, 1e-6) / np.maximum(n - found, 1e-6))

    def _ends(self, n: Array) -> tuple[Array, Array]:
        """The least and the most that the weights of `found` documents can add up to."""
        ascending = np.sort(np.where(self.mask > 0, self.z, np.inf), axis=1)
        column = np.arange(ascending.shape[1])
        ascending = np.where(np.isinf(ascending), 0.0, ascending)
        lowest = np.clip(self.found[:, None] - column, 0.0, 1.0)
        highest = np.clip(self.found[:, None] - (n[:, None] - 1 - column), 0.0, 1.0) * (column < n[:, None])
        return (ascending * lowest).sum(axis=1), (ascending * highest).sum(axis=1)

    def p(self) -> Array:
        """The probabilities."""
        return np.asarray(need("scipy.special", "max_entropy").expit(self._x(self.a, self.b)) * self.mask)

    def _x(self, a: Array, b: Array) -> Array:
        return np.asarray(np.clip(a[:, None] * self.z + b[:, None], -40.0, 40.0))

    def _value(self, a: Array, b: Array) -> Array:
        return np.asarray((np.logaddexp(0.0, self._x(a, b)) * self.mask).sum(axis=1) - a * self.target - b * self.found)

    def solve(self, steps: int) -> Array:
        """Newton's method with steps halved until they help."""
        value = self._value(self.a, self.b)
        for _ in range(steps):
            p = self.p()
            to_a = (self.z * p).sum(axis=1) - self.target
            to_b = p.sum(axis=1) - self.found
            if max(np.abs(to_a).max(), np.abs(to_b).max()) < 0.01 * CLOSE:
                break
            steep = p * (1 - p)
            aa, ab, bb = ((self.z**2 * steep).sum(axis=1), (self.z * steep).sum(axis=1), steep.sum(axis=1))
            aa, bb = aa + RIDGE, bb + RIDGE
            det = np.maximum(aa * bb - ab**2, 1e-30)
            step_a, step_b = -(bb * to_a - ab * to_b) / det, -(aa * to_b - ab * to_a) / det
            long = np.maximum(np.abs(step_a), np.abs(step_b)) / LONGEST
            size = 1.0 / np.maximum(long, 1.0)
            for _ in range(12):
                tried = self._value(self.a + size * step_a, self.b + size * step_b)
                worse = tried > value + 1e-9 * np.maximum(1.0, np.abs(value))
                if not worse.any():
                    break
                size = np.where(worse, size / 2, size)
            size = np.where(worse, 0.0, size)
            self.a, self.b = self.a + size * step_a, self.b + size * step_b
            value = np.where(worse, value, tried)
        return self.p()


def _by_average_precision(target: Array, found: Array, mask: Array) -> tuple[Array, Array]:
    """AP's constraint is no weighted sum, but it is one nearly: solve, and take the next one around the solution."""
    n = mask.sum(axis=1)
    p = mask * (found / n)[:, None]
    left = np.arange(len(n))
    for _ in range(ROUNDS):
        here = p[left]
        expected, among, gradient = _expected(here, mask[left])
        new = _Dual(gradient, target[left] + among, found[left], mask[left]).solve(STEPS)
        p[left] = new
        moved = np.abs(new - here).max(axis=1)
        left = left[(moved > CLOSE) | (np.abs(expected - target[left]) > CLOSE)]
        if not len(left):
            break
    return p, np.abs(_expected(p, mask)[0] - target)


def _expected(p: Array, mask: Array) -> tuple[Array, Array, Array]:
    """R · E[AP], the part of it that is of second order, and its gradient."""
    rank = np.arange(1, p.shape[1] + 1)
    before = np.cumsum(p, axis=1) - p
    by_rank = p / rank
    after = by_rank.sum(axis=1, keepdims=True) - np.cumsum(by_rank, axis=1)
    among = (by_rank * before).sum(axis=1)
    return by_rank.sum(axis=1) + among, among, ((1 + before) / rank + after) * mask

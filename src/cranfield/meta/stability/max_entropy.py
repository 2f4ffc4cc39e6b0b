"""The most random list with a given score: how likely is the document at each rank to be relevant?

Documents are relevant independently of each other, with probability p_i at rank i. Among all such lists with a given
expected score and number of relevant documents, the list of maximum entropy assumes nothing else.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from cranfield import check
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import as_measures
from cranfield.frames import need
from cranfield.measures import AP, Measure
from cranfield.meta.synthetic_lists import assess_lists
from cranfield.types import Array

ROUNDS, STEPS = 40, 60
"""The largest number of linearisations, and of Newton steps in each."""
REACH = 1 - 1e-5
"""The search cannot reach probabilities of 0 and 1, so scores near the extremes are moved to this share of the way."""
EXACT = 1e-9
"""A score closer than this to an extreme is at the extreme, which needs no search."""
CLOSE = 1e-5
"""A list is solved when its probabilities change by less than this, and the constraints hold to within this."""
LONGEST = 4.0
"""The longest step of Newton's method, in standard deviations of the weights."""
RIDGE = 1e-9


def max_entropy(measure: object, value: float, *, length: int, relevant: int, found: float | None = None) -> Array:
    r"""The probability of relevance at each rank of the most random list of `length` documents with this score.

    .. math:: \max_p \sum_{i=1}^{N} H(p_i) \quad\text{subject to}\quad E[M] = v, \quad \sum_i p_i = R_{ret}

    with :math:`E[AP] = \frac{1}{R} \sum_i \frac{p_i}{i} \left(1 + \sum_{j<i} p_j\right)` for AP, and a weighted sum of
    :math:`p_i` for additive measures (P@k, Rprec, R@k, DCG, nDCG, RBP, ...). `relevant` is R, `found` the number of
    relevant documents in the list (default: all of them).

    Reference: Aslam, Yilmaz & Pavlu, The maximum entropy method for analyzing retrieval measures, SIGIR 2005, 27-34

    >>> max_entropy("P@2", 0.5, length=6, relevant=2).round(3).tolist()
    [0.5, 0.5, 0.25, 0.25, 0.25, 0.25]
    """
    check.whole("max_entropy", length=length, relevant=relevant)
    check.finite("max_entropy", value=value)
    retrieved = float(min(relevant, length) if found is None else found)
    check.between("max_entropy", low=0, high=min(relevant, length), found=retrieved)
    parsed = as_measures(measure)[0]  # type: ignore[arg-type]
    mask = np.ones((1, length))
    p, error = solve(parsed, np.array([value]), np.array([float(relevant)]), np.array([retrieved]), mask)
    if error[0] > 1e-3:
        lists = f"no list of {length} documents with {retrieved:g} of {relevant} relevant ones"
        raise UsageError(f"{lists} has an expected {parsed} of {value:g}")
    return np.asarray(p[0])


def solve(measure: Measure, value: Array, relevant: Array, found: Array, mask: Array) -> tuple[Array, Array]:
    """Probabilities, lists × ranks, and the error of the score constraint; `mask` is 1 where a list has a rank."""
    weights, constant = _weights_of(measure, relevant, mask.shape[1])
    if weights is None:
        target = value * relevant
        p, error = _solve_ap(target, found, mask)
        by_rank = -np.broadcast_to(np.arange(1.0, mask.shape[1] + 1), mask.shape)
    else:
        target, by_rank = value - constant, weights
        p = _Dual(weights * mask, target, found, mask).solve(STEPS)
        error = np.abs((weights * p).sum(axis=1) - target)
    for sign in (1, -1):  # the highest possible score, and the lowest
        packed = _packed(sign * by_rank, found, mask)
        extreme = _expected_ap(packed, mask)[0] if weights is None else (weights * packed).sum(axis=1)
        reached = sign * (target - extreme) >= -EXACT * np.maximum(1.0, np.abs(extreme))
        p[reached], error[reached] = packed[reached], np.abs(extreme - target)[reached]
    return p, error


def _packed(weights: Array, found: Array, mask: Array) -> Array:
    """All relevant documents at the ranks with the largest weights; ranks of equal weight share the remainder.

    >>> _packed(np.array([[3.0, 2.0, 2.0, 1.0]]), np.array([2.0]), np.ones((1, 4))).tolist()
    [[1.0, 0.5, 0.5, 0.0]]
    """
    masked = np.where(mask > 0, weights, -np.inf)
    last = np.maximum(np.ceil(found).astype(np.int64), 1) - 1
    border = np.take_along_axis(-np.sort(-masked, axis=1), last[:, None], axis=1)
    close = EXACT * np.maximum(1.0, np.abs(border))
    above = (masked > border + close).astype(np.float64)
    tied = (np.abs(masked - border) <= close).astype(np.float64)
    return np.asarray(above + tied * ((found - above.sum(axis=1)) / tied.sum(axis=1))[:, None])


def check_informative(measure: Measure) -> None:
    """Refuse a measure whose expected value is neither AP's nor a weighted sum."""
    if not _is_ap(measure) and (not measure.properties.additive or measure.views or measure.needs):
        way_out = "give AP, or an additive measure such as P@10, Rprec, R@100, nDCG@10 or RBP"
        raise UsageError(f"{measure}: its expected value is not a sum over ranks; {way_out}")


def _is_ap(measure: Measure) -> bool:
    return measure == AP(rel=measure.__dict__.get("rel", 1)) if isinstance(measure, AP) else False


def _weights_of(measure: Measure, relevant: Array, depth: int) -> tuple[Array | None, Array]:
    """The gain of a relevant document at each rank of each list (None for AP), and the score without any."""
    check_informative(measure)
    if _is_ap(measure):
        return None, np.zeros(len(relevant))
    counts, index = np.unique(relevant.astype(np.int64), return_inverse=True)
    rows = np.stack([_single_scores(measure, int(count), depth) for count in counts])[index.reshape(-1)]
    return rows[:, :-1] - rows[:, -1:], rows[:, -1]


@cache
def _single_scores(measure: Measure, relevant: int, depth: int) -> Array:
    """The scores of lists with a single relevant document, at rank 1, 2, ..., and of a list with none."""
    empty = assess_lists(np.full((1, depth), np.nan), [1.0] * relevant, 1.0)
    rank = np.arange(1, depth + 1)
    copies = empty.without_hits(np.zeros(depth + 1, dtype=np.int64))
    return np.asarray(measure.evaluate(copies.replace(row=rank - 1, rank=rank, grade=np.ones(depth))))


class _Dual:
    """Linear constraints: p_i = logistic(a w_i + b), where a and b of each list minimise a convex function."""

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
        """The smallest and the largest possible sum of the weights of `found` documents."""
        ascending = np.sort(np.where(self.mask > 0, self.z, np.inf), axis=1)
        column = np.arange(ascending.shape[1])
        ascending = np.where(np.isinf(ascending), 0.0, ascending)
        lowest = np.clip(self.found[:, None] - column, 0.0, 1.0)
        highest = np.clip(self.found[:, None] - (n[:, None] - 1 - column), 0.0, 1.0) * (column < n[:, None])
        return (ascending * lowest).sum(axis=1), (ascending * highest).sum(axis=1)

    def p(self) -> Array:
        return np.asarray(need("scipy.special", "max_entropy").expit(self._x(self.a, self.b)) * self.mask)

    def _x(self, a: Array, b: Array) -> Array:
        return np.asarray(np.clip(a[:, None] * self.z + b[:, None], -40.0, 40.0))

    def _value(self, a: Array, b: Array) -> Array:
        return np.asarray((np.logaddexp(0.0, self._x(a, b)) * self.mask).sum(axis=1) - a * self.target - b * self.found)

    def solve(self, steps: int) -> Array:
        """Minimise by Newton's method; a step is halved until it lowers the value."""
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
                new_value = self._value(self.a + size * step_a, self.b + size * step_b)
                worse = new_value > value + 1e-9 * np.maximum(1.0, np.abs(value))
                if not worse.any():
                    break
                size = np.where(worse, size / 2, size)
            size = np.where(worse, 0.0, size)
            self.a, self.b = self.a + size * step_a, self.b + size * step_b
            value = np.where(worse, value, new_value)
        return self.p()


def _solve_ap(target: Array, found: Array, mask: Array) -> tuple[Array, Array]:
    """Solve with AP's constraint, which is not linear, by repeated linearisation around the last solution."""
    n = mask.sum(axis=1)
    p = mask * (found / n)[:, None]
    left = np.arange(len(n))
    for _ in range(ROUNDS):
        here = p[left]
        expected, second_order, gradient = _expected_ap(here, mask[left])
        new = _Dual(gradient, target[left] + second_order, found[left], mask[left]).solve(STEPS)
        p[left] = new
        moved = np.abs(new - here).max(axis=1)
        left = left[(moved > CLOSE) | (np.abs(expected - target[left]) > CLOSE)]
        if not len(left):
            break
    return p, np.abs(_expected_ap(p, mask)[0] - target)


def _expected_ap(p: Array, mask: Array) -> tuple[Array, Array, Array]:
    """R · E[AP], its second-order part, and its gradient."""
    rank = np.arange(1, p.shape[1] + 1)
    before = np.cumsum(p, axis=1) - p
    by_rank = p / rank
    after = by_rank.sum(axis=1, keepdims=True) - np.cumsum(by_rank, axis=1)
    second_order = (by_rank * before).sum(axis=1)
    return by_rank.sum(axis=1) + second_order, second_order, ((1 + before) / rank + after) * mask

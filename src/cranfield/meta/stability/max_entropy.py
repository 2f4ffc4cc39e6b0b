"""The most random list with a given score: how likely is the document at each rank to be relevant?

Documents are relevant independently of each other, with probability p_i at rank i. Among all such lists with a given
expected score and number of relevant documents, the list of maximum entropy assumes nothing else.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import as_measures
from cranfield.measures import AP, Measure
from cranfield.meta.synthetic_lists import assess_lists
from cranfield.types import Array

ROUNDS, STEPS, WARM_STEPS = 40, 60, 3
"""The largest number of linearisations, and of Newton steps in each: from the start, and from the last solution."""
REACH = 1 - 1e-5
"""The search cannot reach probabilities of 0 and 1, so scores near the extremes are moved to this share of the way."""
EXACT = 1e-9
"""A score closer than this to an extreme is at the extreme, which needs no search."""
CLOSE = 1e-5
"""A list is solved when its probabilities change by less than this, and the constraints hold to within this."""
FAR = 0.1
"""After a few Newton steps, a list is on its way if its constraints hold to within this."""
LONGEST = 4.0
"""The longest step of Newton's method, in standard deviations of the weights."""
HALVINGS = 11
"""How often a step that raises the value is halved."""
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
        p = _solve_sum(weights * mask, target, found, mask)
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


NOT_A_SUM = "its expected value is not a sum over ranks"


def is_informative(measure: Measure) -> bool:
    """Whether the expected value of a measure is AP's or a weighted sum.

    >>> [is_informative(measure) for measure in as_measures(["AP", "nDCG@10", "RR"])]
    [True, True, False]
    """
    return _is_ap(measure) or bool(measure.properties.additive and not measure.views and not measure.needs)


def check_informative(measure: Measure) -> None:
    """Refuse a measure whose expected value is neither AP's nor a weighted sum."""
    if not is_informative(measure):
        way_out = "give AP, or an additive measure such as P@10, Rprec, R@100, nDCG@10 or RBP"
        raise UsageError(f"{measure}: {NOT_A_SUM}; {way_out}")


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
    """Linear constraints: p_i = logistic(a w_i + b), where a and b of each list minimise a convex function.

    A column may stand for several ranks of equal weight: `count` is their number, 0 where a list has none.
    """

    def __init__(self, weights: Array, target: Array, found: Array, count: Array) -> None:
        self.count, self.found = count, found
        n = count.sum(axis=1)
        mean = (weights * count).sum(axis=1) / n
        spread = np.sqrt((((weights - mean[:, None]) ** 2) * count).sum(axis=1) / n)
        self.mean, self.spread = mean, np.where(spread > 1e-12 * np.maximum(np.abs(mean), 1e-300), spread, np.inf)
        self.z = (weights - mean[:, None]) / self.spread[:, None] * (count > 0)
        wanted = np.where(np.isinf(self.spread), 0.0, (target - mean * found) / self.spread)
        self.target = np.clip(wanted, *(REACH * end for end in self._ends(n)))
        self.begin()

    def begin(self, which: NDArray[np.bool_] | slice = slice(None)) -> None:
        """Begin the search, of all lists or of some, where all ranks are alike."""
        if isinstance(which, slice):
            self.a, self.b = np.empty_like(self.found), np.empty_like(self.found)
        n, found = self.count[which].sum(axis=1), self.found[which]
        self.a[which] = 0.0
        self.b[which] = np.log(np.maximum(found, 1e-6) / np.maximum(n - found, 1e-6))

    def _ends(self, n: Array) -> tuple[Array, Array]:
        """The smallest and the largest possible sum of the weights of `found` documents."""
        masked = np.where(self.count > 0, self.z, np.inf)
        if self.count.max() > 1:
            order = np.argsort(masked, axis=1)
            ascending, count = (np.take_along_axis(column, order, axis=1) for column in (self.z, self.count))
        else:  # to sort is faster than to find the order
            count = (np.arange(self.z.shape[1]) < n[:, None]).astype(np.float64)
            ascending = np.where(count > 0, np.sort(masked, axis=1), 0.0)
        before = np.cumsum(count, axis=1) - count
        found = self.found[:, None]
        lowest = np.minimum(np.maximum(found - before, 0.0), count)
        highest = np.minimum(np.maximum(found - (n[:, None] - before - count), 0.0), count)
        return (ascending * lowest).sum(axis=1), (ascending * highest).sum(axis=1)

    def line(self) -> tuple[Array, Array]:
        """a and b in units of the weights, for `start_at`."""
        slope = self.a / self.spread
        return slope, self.b - slope * self.mean

    def start_at(self, slope: Array, height: Array) -> None:
        """Begin the search at the solution of a similar problem."""
        varies = np.isfinite(self.spread)
        a = np.where(varies, slope * np.where(varies, self.spread, 0.0), 0.0)
        b = height + slope * self.mean
        self.a, self.b = a, np.where(varies, b, self.b)

    def unsolved(self, q: Array) -> NDArray[np.bool_]:
        """The lists whose probabilities are far from satisfying the constraints."""
        p = q * self.count
        to_a, to_b = (self.z * p).sum(axis=1) - self.target, p.sum(axis=1) - self.found
        return np.asarray(np.maximum(np.abs(to_a), np.abs(to_b)) >= FAR)

    def solve(self, steps: int) -> Array:
        """Minimise by Newton's method; a step is halved until it lowers the value. Solved lists are left out."""
        left, z, count = np.arange(len(self.found)), self.z, self.count
        value, q = _value_and_p(z, count, self.a, self.b, self.target, self.found)
        out = q.copy()
        for _ in range(steps):
            found, target, a, b = (column[left] for column in (self.found, self.target, self.a, self.b))
            p = q * count
            to_a, to_b = (z * p).sum(axis=1) - target, p.sum(axis=1) - found
            open_ = np.maximum(np.abs(to_a), np.abs(to_b)) >= 0.01 * CLOSE
            if not open_.all():
                if not open_.any():
                    break
                left, z, count, value, q, p = (x[open_] for x in (left, z, count, value, q, p))
                found, target, a, b, to_a, to_b = (x[open_] for x in (found, target, a, b, to_a, to_b))
            steep = p * (1 - q)
            slanted = z * steep
            aa, ab, bb = (z * slanted).sum(axis=1) + RIDGE, slanted.sum(axis=1), steep.sum(axis=1) + RIDGE
            det = np.maximum(aa * bb - ab**2, 1e-30)
            step_a, step_b = -(bb * to_a - ab * to_b) / det, -(aa * to_b - ab * to_a) / det
            size = 1.0 / np.maximum(np.maximum(np.abs(step_a), np.abs(step_b)) / LONGEST, 1.0)
            highest = value + 1e-9 * np.maximum(1.0, np.abs(value))
            new_value, new_q = _value_and_p(z, count, a + size * step_a, b + size * step_b, target, found)
            worse = np.flatnonzero(new_value > highest)
            for _ in range(HALVINGS):
                if not len(worse):
                    break
                size[worse] /= 2
                shorter = (a[worse] + (size * step_a)[worse], b[worse] + (size * step_b)[worse])
                new_value[worse], new_q[worse] = _value_and_p(
                    z[worse], count[worse], *shorter, target[worse], found[worse]
                )
                worse = worse[new_value[worse] > highest[worse]]
            size[worse], new_value[worse], new_q[worse] = 0.0, value[worse], q[worse]
            self.a[left], self.b[left] = a + size * step_a, b + size * step_b
            value, q = new_value, new_q
            out[left] = q
        return np.asarray(out * (self.count > 0))


def _value_and_p(z: Array, count: Array, a: Array, b: Array, target: Array, found: Array) -> tuple[Array, Array]:
    """The convex function of each list, and the probability of each column; one exponential serves both."""
    x = a[:, None] * z
    x += b[:, None]
    np.clip(x, -40.0, 40.0, out=x)
    small = np.exp(-np.abs(x))
    value = ((np.maximum(x, 0.0) + np.log1p(small)) * count).sum(axis=1) - a * target - b * found
    return value, np.where(x >= 0, 1.0, small) / (1.0 + small)


def _solve_sum(weights: Array, target: Array, found: Array, mask: Array) -> Array:
    """Solve with a weighted sum. All ranks below a cutoff have the weight 0 and count as one column."""
    used = int(np.flatnonzero((weights != 0).any(axis=0)).max(initial=-1)) + 1
    rest = mask[:, used:].sum(axis=1, keepdims=True)
    if mask.shape[1] - used < 2:
        return _Dual(weights, target, found, mask).solve(STEPS)
    count = np.concatenate([mask[:, :used], rest], axis=1)
    p = _Dual(np.concatenate([weights[:, :used], np.zeros_like(rest)], axis=1), target, found, count).solve(STEPS)
    return np.asarray(np.concatenate([p[:, :used], p[:, used:] * mask[:, used:]], axis=1))


def _solve_ap(target: Array, found: Array, mask: Array) -> tuple[Array, Array]:
    """Solve with AP's constraint, which is not linear, by repeated linearisation around the last solution."""
    n = mask.sum(axis=1)
    p = mask * (found / n)[:, None]
    left = np.arange(len(n))
    slope, height = np.zeros(len(n)), np.zeros(len(n))
    for number in range(ROUNDS):
        here = p[left]
        expected, second_order, gradient = _expected_ap(here, mask[left])
        problem = _Dual(gradient, target[left] + second_order, found[left], mask[left])
        if number:  # begin near the last solution; where that is too far away, begin anew
            problem.start_at(slope[left], height[left])
            new = problem.solve(WARM_STEPS)
            far = problem.unsolved(new)
            if far.any():
                problem.begin(far)
                new = problem.solve(STEPS)
        else:
            new = problem.solve(STEPS)
        p[left], slope[left], height[left] = new, *problem.line()
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

"""Estimated probabilities with intervals, and the settings of the fit that gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.errors import UsageError
from cranfield.types import Array, Index64, Progress

Prior = tuple[float, float] | None
"""Imaginary successes and failures; None: half an observation, whose mean comes from the log."""
CLICKS = ("all", "first")


@dataclass(frozen=True)
class ClickSettings:
    """How a click model is fitted.

    prior: imaginary successes and failures of each parameter of a document (attractiveness, satisfaction): an estimate
        is (successes + a) / (trials + a + b), the mode under a Beta(a + 1, b + 1) prior. (0, 0) is maximum likelihood.
        None: a + b = 0.5, and a / (a + b) is the mean of the estimates of all documents (empirical Bayes).
    rank_prior: the same for parameters of ranks and of the whole model, such as examination.
    steps, tolerance: EM stops after this number of steps, or if a step raises the log-likelihood per impression by
        less than the tolerance.
    level: the level of intervals; None computes no intervals, which saves time with EM models.
    exact: for DCM and SDBN: False estimates them by counting, under the assumption that users stop after their last
        click. Where they do not, estimates are off by more than any interval would say, so there are no intervals.
    clicks: `all` clicks of a session, or only the `first` (the highest in the list).
    """

    prior: Prior = None
    rank_prior: Prior = None
    steps: int = 2000
    tolerance: float = 1e-8
    level: float | None = 0.95
    exact: bool = True
    clicks: str = "all"
    progress: Progress | None = None


def two_counts(name: str, value: Sequence[float] | None) -> Prior:
    """Check a prior: imaginary successes and failures, or None."""
    if value is None:
        return None
    try:
        successes, failures = (float(count) for count in value)
    except (TypeError, ValueError):
        raise UsageError(f"{name} == {value!r}, must be two numbers: imaginary successes and failures") from None
    return successes, failures


PRIOR_WEIGHT = 0.5
"""The imaginary observations of a prior whose mean comes from the log. More would predict the clicks of rare documents
better, but pull examination and intervals away from the truth where documents differ much."""
UNSEEN = 1e-4
"""With fewer expected successes or failures, an estimate is at 0 or 1."""
EDGE = 1e-9
"""Probabilities are kept this far from 0 and 1 where their logit is taken."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Probabilities, and the ends of their intervals; NaN where there is no interval."""

    value: Array
    low: Array
    high: Array

    def __len__(self) -> int:
        return len(self.value)


def without_intervals(value: Array) -> Estimates:
    """Estimates without intervals."""
    undefined = np.full(len(value), np.nan)
    return Estimates(value, undefined, undefined)


def fixed(value: Array) -> Estimates:
    """Values that are given by the model, not estimated."""
    return Estimates(value, value, value)


def common_means(success: Array, failure: Array, group: Index64) -> Array:
    r"""The mean of the priors of each group, so that it is the mean of the estimates (empirical Bayes).

    .. math:: m = \frac{\sum_i s_i / (n_i + w)}{\sum_i n_i / (n_i + w)} = \frac1k \sum_i \frac{s_i + w m}{n_i + w},
        \quad w = 0.5

    A mean of 0 or 1 is moved by half a success or failure. Without any counts it is 1/2.

    >>> common_means(np.array([0.0, 3.0]), np.array([2.0, 1.0]), np.array([0, 0])).round(4).tolist()
    [0.3947]
    """
    trials, size = success + failure, int(group.max(initial=-1)) + 1
    share = 1 / (trials + PRIOR_WEIGHT)
    above, below, whole = (np.bincount(group, each, size) for each in (share * success, share * trials, trials))
    mean = np.divide(above, below, out=np.full(size, 0.5), where=below > 0)
    least = 0.5 / (whole + 1)
    return np.asarray(np.clip(mean, least, 1 - least))


def beta_estimates(success: Array, failure: Array, prior: Prior, level: float | None) -> Estimates:
    r"""Estimates from counts of successes and failures, with intervals of their Beta posterior.

    .. math:: \hat\theta = \frac{s + a}{s + f + a + b}

    The interval has equal tails of Beta(s + a, f + b); an end without counts is 0 or 1. Without any counts the estimate
    is 1/2, between 0 and 1. A prior of None is that of `common_means`.

    >>> estimates = beta_estimates(np.array([3.0]), np.array([1.0]), (1.0, 1.0), 0.95)
    >>> [round(float(end[0]), 4) for end in (estimates.value, estimates.low, estimates.high)]
    [0.6667, 0.2836, 0.9473]
    """
    if prior is None and len(success):
        (mean,) = common_means(success, failure, np.zeros(len(success), dtype=np.int64)).tolist()
        prior = PRIOR_WEIGHT * mean, PRIOR_WEIGHT * (1 - mean)
    good, bad = (success, failure) if prior is None else (success + prior[0], failure + prior[1])
    total = good + bad
    value = np.divide(good, total, out=np.full(len(good), 0.5), where=total > 0)
    if level is None:
        return without_intervals(value)
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low, high = np.zeros(len(good)), np.ones(len(good))
    both = (good > 0) & (bad > 0)
    low[both] = betaincinv(good[both], bad[both], tail)
    high[both] = betaincinv(good[both], bad[both], 1 - tail)
    low[(bad == 0) & (good > 0)] = tail ** (1 / good[(bad == 0) & (good > 0)])  # Beta(n, 0) read as Beta(n, 1)
    high[(good == 0) & (bad > 0)] = 1 - tail ** (1 / bad[(good == 0) & (bad > 0)])
    return Estimates(value, low, high)


def logit_estimates(value: Array, variance: Array, level: float) -> Estimates:
    """Estimates with intervals that are symmetric on the scale of log-odds; `variance` is on that scale."""
    from scipy.special import expit, logit, ndtri

    middle = logit(np.clip(value, EDGE, 1 - EDGE))
    reach = float(ndtri(0.5 + level / 2)) * np.sqrt(variance)
    return Estimates(value, expit(middle - reach), expit(middle + reach))


def at_the_ends(estimates: Estimates, trials: Array, level: float) -> Estimates:
    """Intervals of estimates at 0 or 1, where the log-odds are infinite: from there to the exact binomial bound."""
    tail = (1 - level) / 2
    rare = 1 - tail ** (1 / np.maximum(trials, EDGE))
    none, every = trials * estimates.value < UNSEEN, trials * (1 - estimates.value) < UNSEEN
    low = np.where(none, 0.0, np.where(every, 1 - rare, estimates.low))
    high = np.where(every, 1.0, np.where(none, rare, estimates.high))
    return Estimates(estimates.value, low, high)


@dataclass(frozen=True, eq=False)
class Expected:
    """The expected number of successes and failures of each parameter, and the log-likelihood of the data."""

    success: Array
    failure: Array
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class Layout:
    """The parameters of a problem, one entry each."""

    success_prior: Array
    failure_prior: Array
    fixed: NDArray[np.bool_]
    """Parameters that are not estimated."""
    block: Index64
    """Parameters in different blocks do not interact, given those that are in no block (-1)."""
    group: Index64
    """Parameters whose prior has the same mean, which comes from the log; -1: the prior is given."""

    @staticmethod
    def of(parts: Sequence[tuple[int, Prior]], fixed: NDArray[np.bool_], block: Index64) -> Layout:
        """From the number of parameters in each part, and its prior; those of a part share their mean.

        A parameter that is alone in its part has a prior with the mean 1/2, which hardly matters among all sessions.
        """
        sizes = np.array([size for size, _ in parts])
        counts = [prior or (PRIOR_WEIGHT / 2, PRIOR_WEIGHT / 2) for _, prior in parts]
        group = np.where([prior is None and size > 1 for size, prior in parts], np.arange(len(parts)), -1)
        good, bad = (np.repeat([count[end] for count in counts], sizes) for end in (0, 1))
        good[fixed] = bad[fixed] = 0.0
        return Layout(good, bad, fixed, block, np.where(fixed, -1, np.repeat(group, sizes)))


class Problem(Protocol):
    """A likelihood whose parameters are probabilities."""

    layout: Layout
    impressions: int

    def start(self) -> Array:
        """The parameters to begin with."""

    def expected(self, theta: Array) -> Expected:
        """The E-step: what the parameters make of the data."""


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the steps ended."""

    theta: Array
    trace: tuple[float, ...]
    """The log-likelihood plus the log-density of the prior before every step with this prior; it never decreases."""
    log_likelihood: float
    converged: bool
    expected: Expected
    steps: int
    """All steps, with those that found the means of priors."""


def maximise(problem: Problem, settings: ClickSettings) -> Maximum:
    """Take EM steps until the log-likelihood (plus that of the prior) rises by less than the tolerance per impression.

    Reference: Dempster, Laird & Rubin, Maximum Likelihood from Incomplete Data via the EM Algorithm, J. Royal
    Statistical Society B 39(1), 1977
    """
    layout = problem.layout
    least = settings.tolerance * max(problem.impressions, 1)
    theta, taken = _with_prior_of_log(problem, settings, least)
    trace: list[float] = []
    converged = False
    for step in range(settings.steps - taken):
        expected = problem.expected(theta)
        trace.append(expected.log_likelihood + log_prior(layout, theta))
        if step and trace[-1] - trace[-2] < least:
            converged = True
            break
        theta = _updated(layout, expected, theta)
        if settings.progress is not None:
            settings.progress(taken + step + 1, settings.steps)
    expected = problem.expected(theta)
    return Maximum(theta, tuple(trace), expected.log_likelihood, converged, expected, taken + len(trace))


def _with_prior_of_log(problem: Problem, settings: ClickSettings, least: float) -> tuple[Array, int]:
    """Take steps in which the means of priors follow the estimates, until both rest; then the priors stay as they are.

    Returns the parameters and the number of steps.
    """
    layout, theta = problem.layout, problem.start()
    grouped = np.flatnonzero(layout.group >= 0)
    before = -np.inf
    for step in range(settings.steps - 1 if len(grouped) else 0):
        expected = problem.expected(theta)
        if step and abs(expected.log_likelihood - before) < least:
            return theta, step
        before = expected.log_likelihood
        group = layout.group[grouped]
        mean = common_means(expected.success[grouped], expected.failure[grouped], group)[group]
        layout.success_prior[grouped], layout.failure_prior[grouped] = PRIOR_WEIGHT * mean, PRIOR_WEIGHT * (1 - mean)
        theta = _updated(layout, expected, theta)
        if settings.progress is not None:
            settings.progress(step + 1, settings.steps)
    return theta, settings.steps - 1 if len(grouped) else 0


def _updated(layout: Layout, expected: Expected, theta: Array) -> Array:
    """The M-step: the share of successes, with the imaginary ones; a parameter without any trial stays as it is."""
    success = expected.success + layout.success_prior
    total = success + expected.failure + layout.failure_prior
    estimated = (total > 0) & ~layout.fixed
    return np.divide(success, total, out=theta.copy(), where=estimated)


def log_prior(layout: Layout, theta: Array) -> float:
    """The log-density of the parameters under their prior, up to a constant."""
    return weighted_log(layout.success_prior, theta) + weighted_log(layout.failure_prior, 1 - theta)


def logit_score(problem: Problem, theta: Array) -> Array:
    """The gradient of the log-likelihood (with the prior) on the scale of log-odds; 0 for fixed parameters."""
    layout, expected = problem.layout, problem.expected(theta)
    success = expected.success + layout.success_prior
    total = success + expected.failure + layout.failure_prior
    return np.where(layout.fixed, 0.0, success - total * theta)


def weighted_log(weight: Array, values: Array) -> float:
    """The sum of weight · log(value), where a weight of 0 counts as 0 even if the value is 0."""
    return _core.weighted_log(weight, values)


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

"""Models of the log-odds of a right label: GLAD, by assessor and item, and accuracies that drift with time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cranfield.building.merging.em import ClassShares, expectation_maximisation, uphill
from cranfield.building.merging.label_problem import Fit, Problem, merging_method, summed
from cranfield.building.merging.models.dawid_skene import CLASSES, STEPS
from cranfield.notes import method_note
from cranfield.text import counted
from cranfield.types import Array, Index64

USUAL = 0.7
"""The accuracy that is expected of an assessor."""
MOST = 40
"""The largest number of windows of an assessor; with more labels, windows become longer."""
INNER = 5
"""Newton steps of drifting accuracies within a step."""
LEVEL, DRIFT = 1.5, 1.0
"""Standard deviations of the log-odds of right labels: between assessors, and of one assessor over time."""
PASSES = 5
"""The largest number of Newton steps for abilities, and for difficulties, within a step."""
SETTLED = 1e-4
"""Newton steps end if no parameter moves further than this."""


class Ability:
    """The probability of a right label is σ(α β), for an ability α and an easiness β = exp(b)."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.classes = ClassShares(problem, "uniform")
        self.ability = np.ones(problem.workers)
        self.log_ease = np.ones(problem.items)
        self.spread = np.log(problem.classes - 1)
        """The logarithm of the number of wrong labels."""

    def scores(self) -> Array:
        strength = self.ability[self.problem.worker] * np.exp(self.log_ease)[self.problem.item]
        right, wrong = -softplus(-strength), -softplus(strength) - self.spread
        return self.classes.log() + self.problem.coin_scores(right, wrong)

    def penalty(self) -> float:
        return self.classes.penalty() - 0.5 * float(((self.ability - 1) ** 2).sum() + ((self.log_ease - 1) ** 2).sum())

    def update(self, posterior: Array) -> None:
        """Newton steps for all abilities, then for all difficulties, in turns; the expected likelihood never falls."""
        problem = self.problem
        self.classes.update(posterior)
        right = problem.right(posterior)

        def parts(ability: Array, log_ease: Array) -> tuple[Array, Array, Array]:
            """For each label: the strength α β, the expected log-likelihood, and its derivative by the strength."""
            strength = ability[problem.worker] * np.exp(log_ease)[problem.item]
            rest = softplus(-strength)  # -log σ(strength)
            return strength, (right - 1) * strength - rest, right - np.exp(-rest)

        def of_workers(ability: Array) -> Array:
            """The expected log-likelihood of each assessor, with the prior."""
            terms = parts(ability, self.log_ease)[1]
            return summed(problem.worker, terms, problem.workers) - 0.5 * (ability - 1) ** 2

        def of_items(log_ease: Array) -> Array:
            terms = parts(self.ability, log_ease)[1]
            return summed(problem.item, terms, problem.items) - 0.5 * (log_ease - 1) ** 2

        for _ in range(PASSES):
            before = self.ability, self.log_ease
            _, terms, slope = parts(*before)
            chance = right - slope
            ease = np.exp(self.log_ease)[problem.item]
            rise = summed(problem.worker, slope * ease, problem.workers) - (self.ability - 1)
            bend = summed(problem.worker, chance * (1 - chance) * ease**2, problem.workers) + 1
            now = summed(problem.worker, terms, problem.workers) - 0.5 * (self.ability - 1) ** 2
            self.ability, _ = uphill(of_workers, self.ability, rise / bend, now)
            strength, terms, slope = parts(self.ability, self.log_ease)
            chance = right - slope
            rise = summed(problem.item, slope * strength, problem.items) - (self.log_ease - 1)
            bend = summed(problem.item, chance * (1 - chance) * strength**2, problem.items) + 1
            now = summed(problem.item, terms, problem.items) - 0.5 * (self.log_ease - 1) ** 2
            self.log_ease, _ = uphill(of_items, self.log_ease, rise / bend, now)
            moved = max(np.abs(self.ability - before[0]).max(), np.abs(self.log_ease - before[1]).max())
            if moved < SETTLED:
                break


@merging_method("glad", source="Whitehill, Ruvolo, Wu, Bergsma & Movellan, NIPS 2009", settings=(*STEPS, *CLASSES))
def glad(problem: Problem) -> Fit:
    r"""Assessors have abilities and items have difficulties, which are estimated together with the true labels.

    .. math:: P(y_{iw} = \text{true label of } i) = \sigma(\alpha_w \beta_i), \qquad
              \alpha_w \sim N(1, 1), \quad \log \beta_i \sim N(1, 1)

    A negative ability is that of an assessor who gives wrong labels on purpose; 1/β is the difficulty of the item.
    Wrong labels are equally probable, and classes are equally probable by default. The first probabilities are those
    of equal abilities and difficulties, which order labels as the votes do. The parameters of a step are found
    by Newton's method, abilities and difficulties in turns.
    Reference: Whitehill, Ruvolo, Wu, Bergsma & Movellan, Whose Vote Should Count More: Optimal Integration of Labels
    from Labelers of Unknown Expertise, NIPS 2009

    >>> from cranfield.building.merging import merge
    >>> rows = [(t, w, y) for t, ys in {"t1": "110", "t2": "001", "t3": "111", "t4": "000"}.items()
    ...         for w, y in zip("abc", ys)]
    >>> ability = merge(rows, "glad").worker_values["ability"]
    >>> bool(ability[0] > ability[2])
    True
    """
    model = Ability(problem)
    first = None if problem.first is not None else problem.normalised(model.scores())[0]
    fit = expectation_maximisation(problem, model, first)
    return replace(fit, worker_values={"ability": model.ability}, item_values={"difficulty": np.exp(-model.log_ease)})


def softplus(values: Array) -> Array:
    """log(1 + exp(x)), without overflow.

    >>> softplus(np.array([-1000.0, 0.0, 1000.0])).round(4).tolist()
    [0.0, 0.6931, 1000.0]
    """
    return np.asarray(np.maximum(values, 0.0) + np.log1p(np.exp(-np.abs(values))))


@dataclass(frozen=True, eq=False)
class SameLength:
    """Assessors with the same number of windows: their windows, and the prior covariance of log-odds."""

    windows: Index64
    """assessors × windows: numbers of windows."""
    precision: Array
    """The inverse of the covariance of log-odds."""


class Drift:
    """Log-odds of right labels for each window of an assessor, under a Gaussian process."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.classes = ClassShares(problem, "estimated")
        self.window, sizes, self.longest = windows_of(problem)
        self.first = np.cumsum(sizes) - sizes
        self.last = self.first + np.maximum(sizes, 1) - 1
        self.count = np.bincount(self.window, minlength=int(sizes.sum())).astype(np.float64)
        self.middle = float(np.log(USUAL / (1 - USUAL)))
        self.odds = np.full(len(self.count), self.middle)
        self.groups = [
            SameLength(self.first[of][:, None] + np.arange(size), _precision(size, problem.settings["length"]))
            for size in np.unique(sizes[sizes > 0]).tolist()
            for of in [np.flatnonzero(sizes == size)]
        ]
        self.spread = np.log(problem.classes - 1)

    def scores(self) -> Array:
        odds = self.odds[self.window]
        return self.classes.log() + self.problem.coin_scores(-softplus(-odds), -softplus(odds) - self.spread)

    def penalty(self) -> float:
        total = self.classes.penalty()
        for group in self.groups:
            apart = self.odds[group.windows] - self.middle
            total -= 0.5 * float(np.einsum("ai,ij,aj->", apart, group.precision, apart, optimize=True))
        return total

    def update(self, posterior: Array) -> None:
        self.classes.update(posterior)
        right = summed(self.window, self.problem.right(posterior), len(self.count))
        for group in self.groups:
            at = group.windows
            self.odds[at] = _most_probable(self.odds[at], right[at], self.count[at], group.precision, self.middle)

    def accuracy_at(self, windows: Index64) -> Array:
        return np.asarray(1 / (1 + np.exp(-self.odds[np.minimum(windows, len(self.odds) - 1)])))


def _most_probable(odds: Array, right: Array, count: Array, precision: Array, middle: float) -> Array:
    """The log-odds (assessors × windows) with the highest density, by Newton's method with halved steps."""

    def value(odds: Array) -> Array:
        apart = odds - middle
        quadratic = np.einsum("ai,ij,aj->a", apart, precision, apart, optimize=True)
        return np.asarray((right * odds - count * softplus(odds)).sum(axis=1) - 0.5 * quadratic)

    now = value(odds)
    for _ in range(INNER):
        chance = 1 / (1 + np.exp(-odds))
        slope = right - count * chance - (odds - middle) @ precision
        curve = precision + (count * chance * (1 - chance))[:, :, None] * np.eye(odds.shape[1])
        step = np.asarray(np.linalg.solve(curve, slope[:, :, None])[:, :, 0], dtype=np.float64)
        odds, now = uphill(value, odds, step, now)
        if float(np.abs(step).max(initial=0.0)) < 1e-8:
            break
    return odds


def _precision(size: int, length: float) -> Array:
    """The inverse covariance of the log-odds of windows: a level, and a drift with a squared-exponential kernel."""
    at = np.arange(size)
    kernel = LEVEL**2 + DRIFT**2 * np.exp(-0.5 * ((at[:, None] - at) / length) ** 2)
    return np.asarray(np.linalg.inv(kernel + 1e-4 * np.eye(size)))


def windows_of(problem: Problem) -> tuple[Index64, Index64, int]:
    """The window of each label, the number of windows of each assessor, and the most labels in a window."""
    order = np.arange(len(problem.item)) if problem.order is None else problem.order
    by_worker = order[np.argsort(problem.worker[order], kind="stable")]
    counts = problem.of_worker.astype(np.int64)
    rank = np.empty(len(order), dtype=np.int64)
    rank[by_worker] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    long = np.maximum(problem.settings["window"], -(-counts // MOST))
    sizes = -(-counts // long)
    window = (np.cumsum(sizes) - sizes)[problem.worker] + rank // long[problem.worker]
    return window, sizes, int(long[counts > 0].max(initial=0))


@merging_method(
    "gp", source="after Li & de Rijke, SIGIR 2023", aliases=("gaussian-process", "drift"),
    settings=(*STEPS, *CLASSES, "window", "length"),
)  # fmt: skip
def drifting_accuracy(problem: Problem) -> Fit:
    r"""The accuracy of an assessor drifts with time; a Gaussian process smooths it over the order of the labels.

    .. math:: P(y_{iw} = \text{true label of } i) = \sigma(f_w(t)), \qquad
              f_w \sim GP\!\left(\text{logit}(0.7),\; 1.5^2 + e^{-(t - t')^2 / 2 \ell^2}\right)

    The labels of an assessor, in order of their time (or of the data, if there are no times), are cut into windows of
    `window` labels, at most 40 of them, over which the accuracy is constant; t is the number of the window and ℓ is
    `length`. Wrong labels are equally probable. The log-odds f are the most probable ones, found by Newton's method. An
    assessor who tires, or learns, is so weighted by the accuracy at that time; one who does not is a one-coin assessor
    with a prior. This is a model of this package, not that of Li and de Rijke: methods of the literature put the
    Gaussian process on features of items, and this one needs only times.
    Reference: after Li & de Rijke, Extending Label Aggregation Models with a Gaussian Process to Denoise Crowdsourcing
    Labels, SIGIR 2023, and Rasmussen & Williams, Gaussian Processes for Machine Learning, 2006, ch. 3

    >>> from cranfield.building.merging import merge
    >>> rows = [(f"t{i:02}", w, (i // 20 if w == "c" else 0)) for i in range(40) for w in "abc"]
    >>> merged = merge(rows, "gp", window=5, length=2)  # c says 0 twenty times, then 1
    >>> [round(float(merged.worker_values[name][2]), 1) for name in ("first accuracy", "last accuracy")]
    [0.9, 0.1]
    """
    model = Drift(problem)
    fit = expectation_maximisation(problem, model)
    by_time = "their times" if problem.order is not None else "the data"
    note = method_note(
        f"accuracy drifts over windows of {counted(problem.settings['window'], 'label')}, in the order of {by_time}"
    )
    if model.longest > problem.settings["window"]:
        note += method_note(f"; assessors with many labels have windows of up to {model.longest:,}, {MOST} of them")
    ends = {"first accuracy": model.accuracy_at(model.first), "last accuracy": model.accuracy_at(model.last)}
    return replace(fit, worker_values=ends, notes=(note,))

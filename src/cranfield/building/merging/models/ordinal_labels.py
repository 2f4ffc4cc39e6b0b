"""An ordinal model: an assessor sees the true grade with a bias and some noise."""

from __future__ import annotations

import numpy as np

from cranfield.building.merging.em import ClassShares, expectation_maximisation
from cranfield.building.merging.label_problem import Fit, Problem
from cranfield.building.merging.merging_registry import merging_method
from cranfield.building.merging.models.dawid_skene import CLASSES, STEPS
from cranfield.types import Array

SLIP = 0.01
"""The probability of a label that has nothing to do with the item; it keeps every label possible."""
INNER = 5
"""Steps of Fisher scoring within a step."""
HALVINGS = 8


class BiasAndNoise:
    """The label is the grade to which true grade + bias + noise · N(0, 1) is closest."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.classes = ClassShares(problem, "estimated")
        self.bias = np.zeros(problem.workers)
        self.log_noise = np.zeros(problem.workers)
        grades = np.arange(problem.classes, dtype=np.float64)
        self.upper = np.append(grades[:-1] + 0.5, np.inf)[None, :] - grades[:, None]
        """true × given: the upper end of the interval of the given label, seen from the true one."""
        self.lower = np.insert(grades[1:] - 0.5, 0, -np.inf)[None, :] - grades[:, None]

    def table(self, bias: Array, log_noise: Array) -> tuple[Array, Array, Array]:
        """workers × true × given: probabilities of labels, and their derivatives by bias and by log-noise."""
        from scipy.special import ndtr

        noise = np.exp(log_noise)[:, None, None]
        high, low = ((ends - bias[:, None, None]) / noise for ends in (self.upper, self.lower))
        # The difference of two values close to 1 loses digits; that of the mirrored ones does not.
        mirrored = low > 0
        span = np.where(mirrored, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
        dense_high, dense_low = _normal_density(high), _normal_density(low)
        by_bias = -(dense_high - dense_low) / noise
        by_noise = -(_times(dense_high, high) - _times(dense_low, low))
        kept = 1 - SLIP
        return kept * span + SLIP / self.problem.classes, kept * by_bias, kept * by_noise

    def _value(self, counts: Array, bias: Array, log_noise: Array) -> Array:
        """The expected log-likelihood of each assessor, with the priors."""
        chances = self.table(bias, log_noise)[0]
        return np.asarray((counts * np.log(chances)).sum(axis=(1, 2)) - 0.5 * (bias**2 + log_noise**2))

    def update(self, posterior: Array) -> None:
        self.classes.update(posterior)
        counts = self.problem.confusion_counts(posterior)
        totals = counts.sum(axis=2, keepdims=True)
        value = self._value(counts, self.bias, self.log_noise)
        for _ in range(INNER):
            chances, by_bias, by_noise = self.table(self.bias, self.log_noise)
            ratio = counts / chances
            slope_bias = (ratio * by_bias).sum(axis=(1, 2)) - self.bias
            slope_noise = (ratio * by_noise).sum(axis=(1, 2)) - self.log_noise
            weight = totals / chances
            # Fisher information, which is positive; the priors add 1 to its diagonal.
            bb = (weight * by_bias**2).sum(axis=(1, 2)) + 1
            nn = (weight * by_noise**2).sum(axis=(1, 2)) + 1
            bn = (weight * by_bias * by_noise).sum(axis=(1, 2))
            determinant = bb * nn - bn**2
            step_bias = (nn * slope_bias - bn * slope_noise) / determinant
            step_noise = (bb * slope_noise - bn * slope_bias) / determinant
            size = np.ones(len(value))
            for _ in range(HALVINGS):
                bias, log_noise = self.bias + size * step_bias, self.log_noise + size * step_noise
                tried = self._value(counts, bias, log_noise)
                worse = tried < value
                if not worse.any():
                    break
                size[worse] /= 2
            better = tried >= value
            self.bias, self.log_noise = np.where(better, bias, self.bias), np.where(better, log_noise, self.log_noise)
            value = np.where(better, tried, value)

    def scores(self) -> Array:
        chances = self.table(self.bias, self.log_noise)[0]
        return self.classes.log() + self.problem.confusion_scores(np.log(chances))

    def penalty(self) -> float:
        return self.classes.penalty() - 0.5 * float((self.bias**2).sum() + (self.log_noise**2).sum())


@merging_method(
    "ordinal", source="after Lakshminarayanan & Teh, 2013", ordered=True, settings=(*STEPS, *CLASSES),
)  # fmt: skip
def ordinal(problem: Problem) -> Fit:
    r"""An assessor sees the true grade with a bias and some noise, and names the nearest grade.

    .. math:: P(y_{iw} = l \mid k) = (1 - s) \left[ \Phi\!\left(\frac{l + ½ - k - b_w}{\sigma_w}\right) -
              \Phi\!\left(\frac{l - ½ - k - b_w}{\sigma_w}\right) \right] + \frac{s}{K}

    Grades are positions on the scale, and the intervals of the lowest and the highest label are open. An assessor has
    two parameters, a bias b (above 0: lenient) and a noise σ, with the priors N(0, 1) on b and on log σ; s = 0.01 is
    the probability of a slip. A label next to the true one is therefore a smaller mistake than a distant one, which a
    table of confusion has to learn from many labels. Lakshminarayanan and Teh also let thresholds and the precision of
    items vary, and let the truth be continuous; here it is one of the grades, so that probabilities can be compared
    with those of other methods.
    Reference: Lakshminarayanan & Teh, Inferring Ground Truth from Multi-annotator Ordinal Data: A Probabilistic
    Approach, arXiv:1305.0015, 2013

    >>> from cranfield.building.merging import merge
    >>> rows = [(t, w, y) for t, ys in {"t1": "001", "t2": "112", "t3": "223", "t4": "334"}.items()
    ...         for w, y in zip("abc", ys)]
    >>> merge(rows, "ordinal").worker_values["bias"].round(1).tolist()  # c is more lenient than a and b
    [-0.0, -0.0, 1.0]
    """
    model = BiasAndNoise(problem)
    steps = expectation_maximisation(problem, model)
    return Fit(
        steps.posterior, steps.trace, steps.log_likelihood, steps.converged, model.classes.shares,
        {"bias": model.bias, "noise": np.exp(model.log_noise)},
    )  # fmt: skip


def _normal_density(values: Array) -> Array:
    return np.asarray(np.exp(-0.5 * values**2) / np.sqrt(2 * np.pi))


def _times(density: Array, values: Array) -> Array:
    """density · value, which is 0 at infinity."""
    return density * np.where(np.isinf(values), 0.0, values)

"""An ordinal model: an assessor sees the true grade with a bias and some noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.building.merging.em import ClassShares, expectation_maximisation, uphill
from cranfield.building.merging.label_problem import Fit, Problem, merging_method
from cranfield.building.merging.models.dawid_skene import CLASSES, STEPS
from cranfield.types import Array

SLIP = 0.01
"""The probability of a label that has nothing to do with the item; it keeps every label possible."""
INNER = 5
"""Steps of Fisher scoring within a step."""


class BiasAndNoise:
    """The label is the grade to which true grade + bias + noise · N(0, 1) is closest."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.classes = ClassShares(problem, "estimated")
        self.values = np.zeros((problem.workers, 2))
        """The bias and the logarithm of the noise of each assessor."""
        grades = np.arange(problem.classes, dtype=np.float64)
        self.upper = np.append(grades[:-1] + 0.5, np.inf)[None, :] - grades[:, None]
        """true × given: the upper end of the interval of the given label, seen from the true one."""
        self.lower = np.insert(grades[1:] - 0.5, 0, -np.inf)[None, :] - grades[:, None]

    def table(self, values: Array) -> tuple[Array, Array, Array]:
        """workers × true × given: probabilities of labels, and their derivatives by bias and by log-noise."""
        from scipy.special import ndtr

        bias, noise = values[:, 0, None, None], np.exp(values[:, 1, None, None])
        high, low = ((ends - bias) / noise for ends in (self.upper, self.lower))
        # The difference of two values close to 1 loses digits; that of the mirrored ones does not.
        span = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
        dense_high, dense_low = _normal_density(high), _normal_density(low)
        by_bias = -(dense_high - dense_low) / noise
        by_noise = -(_times(dense_high, high) - _times(dense_low, low))
        kept = 1 - SLIP
        return kept * span + SLIP / self.problem.classes, kept * by_bias, kept * by_noise

    def update(self, posterior: Array) -> None:
        """Fisher scoring for all assessors at once."""
        self.classes.update(posterior)
        counts = self.problem.confusion_counts(posterior)
        totals = counts.sum(axis=2, keepdims=True)

        def expected(values: Array) -> Array:
            """The expected log-likelihood of each assessor, with the priors."""
            chances = self.table(values)[0]
            return np.asarray((counts * np.log(chances)).sum(axis=(1, 2)) - 0.5 * (values**2).sum(axis=1))

        now = expected(self.values)
        for _ in range(INNER):
            chances, *slopes = self.table(self.values)
            rise = np.stack([(counts / chances * slope).sum(axis=(1, 2)) for slope in slopes], axis=1) - self.values
            weight = totals / chances
            # Fisher information, which is positive; the priors add 1 to its diagonal.
            bend = np.stack([(weight * a * b).sum(axis=(1, 2)) for a in slopes for b in slopes], axis=1)
            solved = np.linalg.solve(bend.reshape(-1, 2, 2) + np.eye(2), rise[:, :, None])
            step = np.asarray(solved[:, :, 0], dtype=np.float64)
            self.values, now = uphill(expected, self.values, step, now)

    def scores(self) -> Array:
        return self.classes.log() + self.problem.confusion_scores(np.log(self.table(self.values)[0]))

    def penalty(self) -> float:
        return self.classes.penalty() - 0.5 * float((self.values**2).sum())


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
    with those of other methods. It is a simpler model of this package, not theirs.
    Reference: Lakshminarayanan & Teh, Inferring Ground Truth from Multi-annotator Ordinal Data: A Probabilistic
    Approach, arXiv:1305.0015, 2013

    >>> from cranfield.building.merging import merge
    >>> rows = [(t, w, y) for t, ys in {"t1": "001", "t2": "112", "t3": "223", "t4": "334"}.items()
    ...         for w, y in zip("abc", ys)]
    >>> merge(rows, "ordinal").worker_values["bias"].round(1).tolist()  # c is more lenient than a and b
    [-0.0, -0.0, 1.0]
    """
    model = BiasAndNoise(problem)
    fit = expectation_maximisation(problem, model)
    return replace(fit, worker_values={"bias": model.values[:, 0], "noise": np.exp(model.values[:, 1])})


def _normal_density(values: Array) -> Array:
    return np.asarray(np.exp(-0.5 * values**2) / np.sqrt(2 * np.pi))


def _times(density: Array, values: Array) -> Array:
    """density · value, which is 0 at infinity."""
    return density * np.where(np.isinf(values), 0.0, values)

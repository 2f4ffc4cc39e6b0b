"""Intervals of Eρ² and Φ, as bounds of the ratios of variances on which both depend."""

from __future__ import annotations

from dataclasses import dataclass

from cranfield.frames import need


@dataclass(frozen=True)
class FRatios:
    """Two ratios of mean squares of a design with systems and topics, and its size.

    The example has the mean squares of Brennan 2001, Table 6.2. A bound r gives 12r / (1 + 12r) for Eρ², his Table 6.5.

    >>> ratios = FRatios(10.2963 / 2.7872, 11.6273 / 2.7872, 10, 12)
    >>> [round(12 * r / (1 + 12 * r), 3) for r in ratios.relative(0.8)]
    [0.541, 0.876]
    """

    system: float
    r""":math:`MS_s / MS_{st}`"""
    topic: float
    r""":math:`MS_t / MS_{st}`"""
    systems: int
    topics: int

    def relative(self, level: float) -> tuple[float, float]:
        r"""Bounds of :math:`\sigma^2_s / \sigma^2_{st}`, exact (Feldt, Psychometrika 30(3), 1965).

        :math:`MS_s / MS_{st}`, divided by :math:`1 + n_t \sigma^2_s / \sigma^2_{st}`, has Fisher's distribution.
        """
        return self._relative((1 + level) / 2), self._relative((1 - level) / 2)

    def absolute(self, level: float) -> tuple[float, float]:
        r"""Bounds of :math:`\sigma^2_s / (\sigma^2_t + \sigma^2_{st})`, approximate.

        With f and g for the two ratios of mean squares, and :math:`F_\nu` for the quantile of Fisher's distribution
        with :math:`n_s - 1` and :math:`\nu` degrees of freedom, :math:`e = (n_s - 1)(n_t - 1)`,

        .. math:: \frac{n_s}{n_t} \cdot \frac{(f - F_e)(f + F_e - F_\infty)}
                  {f\,\big((n_s - 1) F_\infty + g F_{n_t - 1}\big)}

        which is 0 whenever the exact bound of the relative ratio is 0.
        Reference: Arteaga, Jeyaratnam & Franklin, Journal of Educational Statistics 7(3), 1982
        """
        return self._absolute((1 + level) / 2), self._absolute((1 - level) / 2)

    def _relative(self, tail: float) -> float:
        return max(0.0, self.system / self._quantile(tail, (self.systems - 1) * (self.topics - 1)) - 1) / self.topics

    def _absolute(self, tail: float) -> float:
        of_error = self._quantile(tail, (self.systems - 1) * (self.topics - 1))
        of_topics = self._quantile(tail, self.topics - 1)
        of_truth = self._quantile(tail, None)
        # Both factors grow with f. A negative one means no variance of systems; two must not cancel each other.
        gained = max(0.0, self.system - of_error) * max(0.0, self.system + of_error - of_truth)
        against = self.system * ((self.systems - 1) * of_truth + self.topic * of_topics)
        return self.systems / self.topics * gained / against

    def _quantile(self, tail: float, below: int | None) -> float:
        """The quantile of Fisher's distribution; `below` is None for infinitely many degrees of freedom."""
        special = need("scipy.special", "an interval")
        above = self.systems - 1
        if below is None:  # the quantile of χ² over its degrees of freedom
            return float(special.gammaincinv(above / 2, tail)) * 2 / above
        return float(special.fdtri(above, below, tail))

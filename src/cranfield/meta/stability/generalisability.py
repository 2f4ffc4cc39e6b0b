"""How far do scores generalise to other topics? Variance components, Eρ², Φ, and how many topics a target needs.

Systems are the objects of measurement; topics (and a further facet, such as shards or assessors) are the conditions
under which they are measured, random samples of many more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.test_result import check_alpha
from cranfield.errors import UsageError
from cranfield.frames import Tidy
from cranfield.meta.stability.coefficient_intervals import FRatios
from cranfield.meta.stability.variance_components import SYSTEM, TOPIC, Component, score_cube, variance_components
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Column, Estimate, Table

FEWEST = 3
"""Two systems have one difference: no variance to speak of."""
TARGET = 0.95


@dataclass(frozen=True)
class Stability:
    """How stable the evaluation is with so many topics."""

    topics: int
    rho2: float
    """Eρ²: how well the order of systems and their differences generalise."""
    rho2_low: float
    rho2_high: float
    phi: float
    """Φ: how well the scores themselves do."""
    phi_low: float
    phi_high: float


@dataclass(frozen=True)
class Needed:
    """How many topics it takes to reach a target; infinity where no number does."""

    target: float
    rho2: float
    rho2_low: float
    """With what the data allow at best ..."""
    rho2_high: float
    """... and at worst."""
    phi: float
    phi_low: float
    phi_high: float


@dataclass(frozen=True, eq=False)
class GStudy(Tidy):
    """The variance components of one measure's scores, and what follows from these."""

    measure: str
    components: tuple[Component, ...]
    sizes: dict[str, int]
    """How many systems, topics and levels of a further facet there are."""
    level: float
    facet: str = ""
    notes: tuple[str, ...] = ()

    def __getitem__(self, source: str) -> Component:
        """A component by its source: `study["system"]`."""
        for one in self.components:
            if one.source == source:
                return one
        raise UsageError(f"no source {source!r}; there are {', '.join(one.source for one in self.components)}")

    def stability(self, topics: int | None = None, levels: int | None = None) -> Stability:
        r"""Eρ² and Φ with `topics` topics (default: those there are), and `levels` of the further facet.

        .. math:: E\rho^2 = \frac{\sigma^2_s}{\sigma^2_s + \sigma^2_{st} / n'} \qquad
                  \Phi = \frac{\sigma^2_s}{\sigma^2_s + (\sigma^2_t + \sigma^2_{st}) / n'}
        """
        n = self.sizes[TOPIC] if topics is None else topics
        check.whole("stability", topics=n, levels=levels)
        relative, absolute = self._errors(n, self._levels(levels))
        own = self[SYSTEM].variance
        rho2_low, rho2_high, phi_low, phi_high = (_grown(one, n) for one in self._single())
        return Stability(
            n, _share(own, relative), rho2_low, rho2_high, _share(own, absolute), phi_low, phi_high
        )  # fmt: skip

    def needed(self, target: float = TARGET, levels: int | None = None) -> Needed:
        r"""How many topics until Eρ² (and Φ) reach the target π.

        .. math:: n' = \left\lceil \frac{\pi}{1 - \pi} \cdot \frac{\sigma^2_{st}}{\sigma^2_s} \right\rceil, \qquad
                  n' = \left\lceil \frac{\pi}{1 - \pi} \cdot \frac{\sigma^2_t + \sigma^2_{st}}{\sigma^2_s} \right\rceil
        """
        check_alpha("needed", target, "target")
        levels = self._levels(levels)
        own = self[SYSTEM].variance * (1 - target) / target
        wide = [_division(one, own - beside) for one, beside in zip(*self._per_topic(levels), strict=True)]
        rho2_low, rho2_high, phi_low, phi_high = (_until(one, target) for one in self._single())
        return Needed(
            target, _ceiling(wide[0]), rho2_high, rho2_low, _ceiling(wide[1]), phi_high, phi_low
        )  # a higher coefficient needs fewer topics

    def _levels(self, levels: int | None) -> int:
        if levels is not None and not self.facet:
            raise UsageError("levels are of a further facet, and there is none; leave them out")
        return levels if levels is not None else self.sizes.get(self.facet, 1)

    def _variance(self, *sources: str) -> float:
        wanted = set(sources)
        return next((one.variance for one in self.components if set(one.source.split(" × ")) == wanted), 0.0)

    def _per_topic(self, levels: int) -> tuple[tuple[float, float], tuple[float, float]]:
        """The error variance that more topics divide, relative and absolute; and that which they do not."""
        if not self.facet:
            relative = self._variance(SYSTEM, TOPIC)
            return (relative, relative + self._variance(TOPIC)), (0.0, 0.0)
        relative = self._variance(SYSTEM, TOPIC) + self._variance(SYSTEM, TOPIC, self.facet) / levels
        absolute = relative + self._variance(TOPIC) + self._variance(TOPIC, self.facet) / levels
        stays = self._variance(SYSTEM, self.facet) / levels
        return (relative, absolute), (stays, stays + self._variance(self.facet) / levels)

    def _errors(self, topics: int, levels: int) -> tuple[float, float]:
        divided, stays = self._per_topic(levels)
        return divided[0] / topics + stays[0], divided[1] / topics + stays[1]

    def _single(self) -> tuple[float, float, float, float]:
        """Intervals of both coefficients with one topic: Eρ² by Feldt (1965), Φ by Arteaga et al. (1982).

        None with a further facet.
        """
        own, topic, error = (one.mean_square for one in self.components[:3])
        if self.facet or error <= 0 or own <= 0:
            return (math.nan,) * 4
        ratios = FRatios(own / error, topic / error, self.sizes[SYSTEM], self.sizes[TOPIC])
        low, high = ratios.relative(self.level)
        wide_low, wide_high = ratios.absolute(self.level)
        return _share(low, 1), _share(high, 1), _share(wide_low, 1), _share(wide_high, 1)

    def __str__(self) -> str:
        now, needed = self.stability(), self.needed()
        span = "" if math.isnan(now.rho2_low) else f" [{now.rho2_low:.3f}, {now.rho2_high:.3f}]"
        wide = "" if math.isnan(now.phi_low) else f" [{now.phi_low:.3f}, {now.phi_high:.3f}]"
        parts = ", ".join(f"{one.source} {one.share:.1%}" for one in self.components)
        size = ", ".join(f"{n} {name}s" for name, n in self.sizes.items())
        return "\n".join(
            [
                f"{self.measure} ({size}): Eρ² = {now.rho2:.3f}{span}, Φ = {now.phi:.3f}{wide}",
                f"variance: {parts}",
                f"{_topics(needed.rho2)} for Eρ² = {needed.target:g}, {_topics(needed.phi)} for Φ = {needed.target:g}",
                *self.notes,
            ]
        )

    __repr__ = __str__

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, source, df, mean_square, variance, share; a row per source."""
        return {
            "measure": np.full(len(self.components), self.measure, dtype=object),
            "source": np.array([one.source for one in self.components], dtype=object),
            "df": np.array([one.df for one in self.components], dtype=np.int64),
            "mean_square": np.array([one.mean_square for one in self.components]),
            "variance": np.array([one.variance for one in self.components]),
            "share": np.array([one.share for one in self.components]),
        }

    def table(self) -> Table:
        """The variance components."""
        heads = (
            Column("source"),
            Column("df", "count"),
            Column("mean square", "number"),
            Column("variance", "number"),
            Column("share", "number"),
        )
        rows = tuple((one.source, one.df, one.mean_square, one.variance, one.share) for one in self.components)
        return Table(heads, rows, caption=str(self).partition("\n")[0], notes=self.notes)

    def d_study(self, topics: Sequence[int], levels: int | None = None) -> Table:
        """Eρ² and Φ for several numbers of topics."""
        rows = []
        for n in topics:
            one = self.stability(n, levels)
            rho2 = Estimate(self.measure, "", one.rho2, one.rho2_low, one.rho2_high, n, 0, 0)
            phi = Estimate(self.measure, "", one.phi, one.phi_low, one.phi_high, n, 0, 0)
            rows.append((n, rho2, phi))
        heads = (Column("topics", "count"), Column("Eρ²", "number"), Column("Φ", "number"))
        note = "" if self.facet else f"intervals at level {self.level:g}: Feldt's for Eρ², Arteaga et al.'s for Φ"
        return Table(heads, tuple(rows), caption=self.measure, notes=(note,) if note else ())


@dataclass(frozen=True, eq=False)
class GStudies(Tidy):
    """Several measures on the same systems and topics."""

    studies: tuple[GStudy, ...]
    target: float = TARGET

    def __iter__(self) -> Iterator[GStudy]:
        return iter(self.studies)

    def __len__(self) -> int:
        return len(self.studies)

    def __str__(self) -> str:
        return self.table().text()

    __repr__ = __str__

    def columns(self) -> dict[str, NDArray[Any]]:
        """As `GStudy.columns`, measure after measure."""
        parts = [one.columns() for one in self.studies]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def table(self) -> Table:
        """A row per measure: shares of variance, both coefficients, and the topics needed for the target."""
        sources = [one.source for one in self.studies[0].components]
        rows: list[tuple[Cell, ...]] = []
        for study in self.studies:
            now, needed = study.stability(), study.needed(self.target)
            rho2 = Estimate(study.measure, "", now.rho2, now.rho2_low, now.rho2_high, now.topics, 0, 0)
            phi = Estimate(study.measure, "", now.phi, now.phi_low, now.phi_high, now.topics, 0, 0)
            shares = [one.share for one in study.components]
            rows.append((study.measure, *shares, rho2, phi, *map(_whole, (needed.rho2, needed.phi))))
        heads = (
            Column("measure"),
            *(Column(source, "number") for source in sources),
            Column("Eρ²", "number", "higher"),
            Column("Φ", "number", "higher"),
            Column("topics for Eρ²", "count", "lower"),
            Column("topics for Φ", "count", "lower"),
        )
        first = self.studies[0]
        size = ", ".join(f"{n} {name}s" for name, n in first.sizes.items())
        told = f"{size}; shares of variance; topics needed for a coefficient of {self.target:g}"
        if not first.facet:
            told += f"; intervals at level {first.level:g} (Feldt's for Eρ², Arteaga et al.'s for Φ)"
        notes = dict.fromkeys(note for study in self.studies for note in study.notes)
        return Table(heads, tuple(rows), notes=(told, *notes))


def g_study(data: Any, measure: Any = None, *, facet: str = "facet", drop: float = 0.0, level: float = 0.95) -> GStudy:
    r"""How much of the variance of scores is due to systems, to topics, and to both together.

    .. math:: \sigma^2_{st} = MS_{st}, \qquad \sigma^2_s = \frac{MS_s - MS_{st}}{n_t}, \qquad
              \sigma^2_t = \frac{MS_t - MS_{st}}{n_s}

    `data` is anything that holds scores (as for `compare`). For a further facet, crossed with systems and topics, give
    a mapping from its levels to such data, e.g. {"shard 1": scores, "shard 2": scores}; `facet` is what it is called.
    Estimates below 0 are set to 0, and a note says so. `drop` leaves out this share of systems, the worst by their
    means: runs that nobody would compare make any collection look reliable. Topics without a value for some system
    are left out.

    Reference: Brennan, Generalizability Theory, Springer 2001; Bodoff & Li, SIGIR 2007, 639-646; Urbano, Marrero &
    Martín, SIGIR 2013, 393-402

    >>> print(g_study([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.3, 0.4], [0.5, 0.6, 0.6]], measure="AP"))
    AP (3 systems, 4 topics): Eρ² = 0.938 [0.548, 0.998], Φ = 0.698 [0.100, 0.990]
    variance: system 36.6%, topic 53.7%, system × topic 9.7%
    6 topics for Eρ² = 0.95, 33 topics for Φ = 0.95
    """
    check_alpha("g_study", level, "level")
    check.between("g_study", low=0, high=0.99, drop=drop)
    matrices, name, notes = score_cube(data, measure)
    values = np.stack([one.values.T for one in matrices], axis=-1)  # systems × topics × levels
    if drop:
        means = values.mean(axis=(1, 2))
        keep = means >= np.quantile(means, drop)
        notes = (*notes, f"{int((~keep).sum())} of {len(keep)} systems left out, the worst {drop:.0%} by their means")
        values = values[keep]
    axes = [SYSTEM, TOPIC] if len(matrices) == 1 else [SYSTEM, TOPIC, facet]
    values = values[..., 0] if len(matrices) == 1 else values
    if len(values) < FEWEST:
        raise UsageError(f"g_study: {len(values)} systems, give {FEWEST} or more")
    if values.shape[1] < 2:
        raise UsageError(f"g_study: {values.shape[1]} topic, give 2 or more")
    if facet in (SYSTEM, TOPIC):
        raise UsageError(f"g_study: facet == {facet!r}, must be another name")
    components = variance_components(values, axes)
    below = [one.source for one in components if one.estimate < 0]
    if below:
        notes = (*notes, f"{name}: the variance of {', '.join(below)} came out below 0 and was set to 0")
    if sum(one.variance for one in components) == 0:
        raise UsageError(f"g_study: all scores are {values.flat[0]:g}; nothing varies")
    sizes = dict(zip(axes, map(int, values.shape), strict=True))
    return GStudy(name, components, sizes, level, facet if len(axes) == 3 else "", notes)


def g_studies(scores: Scores, *, drop: float = 0.0, level: float = 0.95, target: float = TARGET) -> GStudies:
    """As `g_study`, for every measure there is."""
    check_alpha("g_studies", target, "target")
    return GStudies(tuple(g_study(scores, name, drop=drop, level=level) for name in scores.measures), target)


def _share(own: float, error: float) -> float:
    return own / (own + error) if own + error > 0 else math.nan


def _grown(single: float, topics: int) -> float:
    """From a coefficient with one topic to that with many (Spearman & Brown)."""
    return topics * single / (1 + (topics - 1) * single)


def _until(single: float, target: float) -> float:
    return _ceiling(_division(target * (1 - single), single * (1 - target)))


def _division(above: float, below: float) -> float:
    return math.nan if math.isnan(above + below) else math.inf if below <= 0 else above / below


def _ceiling(topics: float) -> float:
    return float(math.ceil(topics - 1e-9)) if math.isfinite(topics) else topics


def _whole(topics: float) -> int | float:
    return int(topics) if math.isfinite(topics) else topics


def _topics(topics: float) -> str:
    if not math.isfinite(topics):
        return "no number of topics"
    return f"{topics:,.0f} topic{'' if topics == 1 else 's'}"

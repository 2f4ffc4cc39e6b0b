"""How well do scores generalise to other topics? Variance components, Eρ², Φ, and the topics needed for a target.

Systems are measured. Topics, and optionally another facet such as shards or assessors, are random samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from cranfield import check
from cranfield.check import index_of
from cranfield.comparison.test_result import check_alpha
from cranfield.declared.operation import Level, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.meta.complete_scores import check_count
from cranfield.meta.stability.variance_components import (
    SYSTEM,
    TOPIC,
    Component,
    FRatios,
    components_of,
    score_cube,
    widening,
)
from cranfield.notes import caution_note, method_note, shown_notes
from cranfield.record import Columns, Record, columns_of, stacked, table_of
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Column, Estimate, Table, headings
from cranfield.text import counted

TARGET = 0.95
Drop = Annotated[float, about("Leave out this share of the worst runs.", least=0, most=0.99, spelled="--drop SHARE")]
Target = Annotated[
    float,
    about("Count the topics that are needed for this coefficient.", above=0, below=1, spelled="--wanted-coefficient C"),
]
Normal = Annotated[
    bool,
    about("Effects are normal: do not make intervals wider for outliers such as very bad runs.", rare=True),
]
INTERVALS = "Feldt's for Eρ², Arteaga et al.'s for Φ"


@dataclass(frozen=True)
class Stability:
    """Eρ² and Φ with a number of topics: how well differences between systems, and scores themselves, generalise."""

    topics: int
    rho2: float
    rho2_low: float
    rho2_high: float
    phi: float
    phi_low: float
    phi_high: float


@dataclass(frozen=True)
class Needed:
    """The number of topics to reach a target, with an interval; infinity if no number is enough."""

    target: float
    rho2: float
    rho2_low: float
    rho2_high: float
    phi: float
    phi_low: float
    phi_high: float


@dataclass(frozen=True, eq=False, repr=False)
class GStudy(Record):
    """The variance components of one measure's scores, and the coefficients that follow from them."""

    figure = "study_figure"
    facts = ("measure", "sizes", "level", "facet")

    measure: str
    components: tuple[Component, ...]
    sizes: dict[str, int]
    """The number of systems, topics, and levels of the other facet."""
    level: float
    facet: str = ""
    notes: tuple[str, ...] = ()
    widening: tuple[float, float] = (1.0, 1.0)
    """How many times as wide as with normal effects the intervals of Eρ² and Φ are, on a logarithmic scale."""

    def __getitem__(self, source: str) -> Component:
        """A component by its source: `study["system"]`."""
        return self.components[index_of(source, [component.source for component in self.components], "source")]

    def stability(self, topics: int | None = None, levels: int | None = None) -> Stability:
        r"""Eρ² and Φ with `topics` topics and `levels` levels of the other facet; default: as in the data.

        .. math:: E\rho^2 = \frac{\sigma^2_s}{\sigma^2_s + \sigma^2_{st} / n'} \qquad
                  \Phi = \frac{\sigma^2_s}{\sigma^2_s + (\sigma^2_t + \sigma^2_{st}) / n'}
        """
        n = self.sizes[TOPIC] if topics is None else topics
        check.whole("stability", topics=n, levels=levels)
        errors = zip(*self._per_topic(self._levels(levels)), strict=True)
        rho2, phi = (_share(self[SYSTEM].variance, divided / n + fixed) for divided, fixed in errors)
        # Spearman & Brown: the coefficients with n topics, from those with one.
        low, high, phi_low, phi_high = (n * single / (1 + (n - 1) * single) for single in self._single_topic())
        return Stability(n, rho2, low, high, phi, phi_low, phi_high)

    def needed(self, target: float = TARGET, levels: int | None = None) -> Needed:
        r"""The number of topics for which Eρ² (and Φ) reach the target π.

        .. math:: n' = \left\lceil \frac{\pi}{1 - \pi} \cdot \frac{\sigma^2_{st}}{\sigma^2_s} \right\rceil, \qquad
                  n' = \left\lceil \frac{\pi}{1 - \pi} \cdot \frac{\sigma^2_t + \sigma^2_{st}}{\sigma^2_s} \right\rceil
        """
        check_alpha("needed", target, "target")
        own = self[SYSTEM].variance * (1 - target) / target
        errors = zip(*self._per_topic(self._levels(levels)), strict=True)
        rho2, phi = (_topics_for(divided, own - fixed) for divided, fixed in errors)
        # A higher coefficient needs fewer topics.
        high, low, phi_high, phi_low = (
            _topics_for(target * (1 - single), single * (1 - target)) for single in self._single_topic()
        )
        return Needed(target, rho2, low, high, phi, phi_low, phi_high)

    def _levels(self, levels: int | None) -> int:
        if levels is not None and not self.facet:
            raise UsageError("levels need another facet beside systems and topics, and there is none; leave them out")
        return levels if levels is not None else self.sizes.get(self.facet, 1)

    def _variance(self, *sources: str) -> float:
        by_source = {frozenset(component.source.split(" × ")): component.variance for component in self.components}
        return by_source.get(frozenset(sources), 0.0)

    def _per_topic(self, levels: int) -> tuple[tuple[float, float], tuple[float, float]]:
        """The relative and absolute error variance that is divided by the number of topics, and that which is not."""
        relative = self._variance(SYSTEM, TOPIC) + self._variance(SYSTEM, TOPIC, self.facet) / levels
        absolute = relative + self._variance(TOPIC) + self._variance(TOPIC, self.facet) / levels
        fixed = self._variance(SYSTEM, self.facet) / levels
        return (relative, absolute), (fixed, fixed + self._variance(self.facet) / levels)

    def _single_topic(self) -> tuple[float, ...]:
        """Intervals of both coefficients with one topic: Eρ² by Feldt (1965), Φ by Arteaga et al. (1982).

        Both assume normal effects, and are made wider where the effects have outliers. NaN with another facet.
        """
        own, topic, error = (component.mean_square for component in self.components[:3])
        if self.facet or error <= 0 or own <= 0:
            return (math.nan,) * 4
        ratios = FRatios(own / error, topic / error, self.sizes[SYSTEM], self.sizes[TOPIC], self.widening)
        return tuple(_share(bound, 1) for bound in (*ratios.relative(self.level), *ratios.absolute(self.level)))

    def __str__(self) -> str:
        rho2, phi = (
            f"{x.value:.3f}" + ("" if math.isnan(x.low) else f" [{x.low:.3f}, {x.high:.3f}]")
            for x in self.coefficients()
        )
        needed = self.needed()
        lines = (
            f"{self.measure} ({self._size()}): Eρ² = {rho2}, Φ = {phi}",
            f"variance: {', '.join(f'{part.source} {part.share:.1%}' for part in self.components)}",
            f"{_topics(needed.rho2)} for Eρ² = {needed.target:g}, {_topics(needed.phi)} for Φ = {needed.target:g}",
        )
        return "\n".join((*lines, *shown_notes(self.notes)))

    def _how(self) -> str:
        return INTERVALS if self.widening == (1.0, 1.0) else f"{INTERVALS}, wider because effects may not be normal"

    def _size(self) -> str:
        return ", ".join(f"{n} {name}s" for name, n in self.sizes.items())

    def columns(self) -> Columns:
        """measure, source, df, mean_square, variance, share; a row per source."""
        columns = columns_of(self.components, Component, "source", "df", "mean_square", "variance", "share")
        return {"measure": np.full(len(self.components), self.measure, dtype=object), **columns}

    def table(self) -> Table:
        columns = {name.replace("_", " "): column for name, column in self.columns().items() if name != "measure"}
        return table_of(columns, caption=str(self).partition("\n")[0], notes=self.notes)

    def coefficients(self, topics: int | None = None, levels: int | None = None) -> tuple[Estimate, Estimate]:
        """Eρ² and Φ with their intervals, as table cells."""
        now = self.stability(topics, levels)
        return (
            Estimate(self.measure, "", now.rho2, now.rho2_low, now.rho2_high, now.topics),
            Estimate(self.measure, "", now.phi, now.phi_low, now.phi_high, now.topics),
        )

    def d_study(self, topics: Sequence[int], levels: int | None = None) -> Table:
        """Eρ² and Φ for several numbers of topics."""
        rows = tuple((n, *self.coefficients(n, levels)) for n in topics)
        heads = (Column("topics", "count"), *headings("number", "Eρ²", "Φ"))
        note = "" if self.facet else method_note(f"intervals at level {self.level:g}: {self._how()}")
        return Table(heads, rows, caption=self.measure, notes=(note,) if note else ())


@dataclass(frozen=True, eq=False, repr=False)
class GStudies(Record):
    """Several measures on the same systems and topics."""

    figure = "components_figure"
    facts = ("target",)

    studies: tuple[GStudy, ...]
    target: float = TARGET

    def __iter__(self) -> Iterator[GStudy]:
        return iter(self.studies)

    def __len__(self) -> int:
        return len(self.studies)

    @property
    def notes(self) -> tuple[str, ...]:
        first = self.studies[0]
        meaning = f"{first._size()}; shares of variance; topics needed for a coefficient of {self.target:g}"
        if not first.facet:
            meaning += f"; intervals at level {first.level:g} ({first._how()})"
        return (meaning, *dict.fromkeys(note for study in self.studies for note in study.notes))

    def columns(self) -> Columns:
        """The columns of each `GStudy`, one measure after the other."""
        return stacked(self.studies)

    def table(self) -> Table:
        """A row per measure: shares of variance, both coefficients, and the topics needed for the target."""
        rows: list[tuple[Cell, ...]] = []
        for study in self.studies:
            needed = study.needed(self.target)
            topics = (int(n) if math.isfinite(n) else n for n in (needed.rho2, needed.phi))
            shares = (component.share for component in study.components)
            rows.append((study.measure, *shares, *study.coefficients(), *topics))
        heads = (
            Column("measure"),
            *headings("number", *(component.source for component in self.studies[0].components)),
            *headings("number", "Eρ²", "Φ", better="higher"),
            *headings("count", "topics for Eρ²", "topics for Φ", better="lower"),
        )
        return Table(heads, tuple(rows), notes=self.notes)


@operation
def g_study(
    data: Any,
    measure: Any = None,
    *,
    facet: str = "facet",
    drop: Drop = 0.0,
    level: Level = 0.95,
    normal: Normal = False,
) -> GStudy:
    r"""How much of the variance of scores is due to systems, to topics, and to their interaction.

    .. math:: \sigma^2_{st} = MS_{st}, \qquad \sigma^2_s = \frac{MS_s - MS_{st}}{n_t}, \qquad
              \sigma^2_t = \frac{MS_t - MS_{st}}{n_s}

    `data` is anything that holds scores (as for `compare`). For another facet, crossed with systems and topics, give a
    mapping from its levels to such data, e.g. {"shard 1": scores, "shard 2": scores}; `facet` is its name. Negative
    estimates are set to 0, with a note. `drop` leaves out this share of the systems, the worst by their means, because
    very bad runs make any collection look reliable. Topics without a value for some system are left out.

    Intervals are Feldt's for Eρ² and Arteaga et al.'s for Φ, which hold if the effects of systems, topics and both are
    normal; where effects have outliers, they are made wider (`widening`), unless `normal`.

    Reference: Brennan, Generalizability Theory, Springer 2001; Bodoff & Li, SIGIR 2007, 639-646; Urbano, Marrero &
    Martín, SIGIR 2013, 393-402

    >>> print(g_study([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.3, 0.4], [0.5, 0.6, 0.6]], measure="AP"))
    AP (3 systems, 4 topics): Eρ² = 0.938 [0.105, 1.000], Φ = 0.698 [0.100, 0.990]
    variance: system 36.6%, topic 53.7%, system × topic 9.7%
    6 topics for Eρ² = 0.95, 33 topics for Φ = 0.95
    """
    matrices, name, notes = score_cube(data, measure)
    values = np.stack([matrix.values.T for matrix in matrices], axis=-1)  # systems × topics × levels
    if drop:
        means = values.mean(axis=(1, 2))
        keep = means >= np.quantile(means, drop)
        notes = (
            *notes,
            caution_note(f"{int((~keep).sum())} of {len(keep)} systems left out, the worst {drop:.0%} by their means"),
        )
        values = values[keep]
    axes = [SYSTEM, TOPIC] if len(matrices) == 1 else [SYSTEM, TOPIC, facet]
    values = values[..., 0] if len(matrices) == 1 else values
    check_count("g_study", len(values), "system")
    check_count("g_study", values.shape[1], "topic", 2)
    if facet in (SYSTEM, TOPIC):
        raise UsageError(f"g_study: facet == {facet!r}, must be another name")
    components = components_of(values, axes)
    negative = [component.source for component in components if component.estimate < 0]
    if negative:
        notes = (
            *notes,
            caution_note(f"{name}: the estimated variance of {', '.join(negative)} is below 0 and was set to 0"),
        )
    if sum(component.variance for component in components) == 0:
        raise UsageError(f"g_study: all scores are {values.flat[0]:g}, so there is no variance")
    sizes = dict(zip(axes, map(int, values.shape), strict=True))
    estimable = len(axes) == 2 and min(components[0].mean_square, components[-1].mean_square) > 0
    wider = widening(values) if estimable and not normal else (1.0, 1.0)
    return GStudy(name, components, sizes, level, facet if len(axes) == 3 else "", notes, wider)


@takes_runs
@operation
def g_studies(
    scores: Scores, *, target: Target = TARGET, drop: Drop = 0.0, level: Level = 0.95, normal: Normal = False
) -> GStudies:
    """As `g_study`, for every measure of `scores`."""
    return GStudies(
        tuple(g_study(scores, name, drop=drop, level=level, normal=normal) for name in scores.measures), target
    )


def _share(own: float, error: float) -> float:
    return own / (own + error) if own + error > 0 else math.nan


def _topics_for(error: float, allowed: float) -> float:
    """The number of topics that reduces the error variance of one topic to the allowed one."""
    if math.isnan(error + allowed):
        return math.nan
    return float(math.ceil(error / allowed - 1e-9)) if allowed > 0 and error < math.inf else math.inf


def _topics(topics: float) -> str:
    return counted(int(topics), "topic") if math.isfinite(topics) else "no number of topics"

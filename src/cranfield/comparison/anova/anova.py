"""Analysis of variance: how much scores vary with topics, systems and components of systems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from cranfield.check import nearest
from cranfield.comparison.anova.factors import CLASS, SYSTEM, TOPIC, Layout, LayoutSettings, from_columns, layout_of
from cranfield.comparison.anova.model import SUMS, Means, Model, Sums, terms_of
from cranfield.comparison.assumptions import scale_cautions
from cranfield.comparison.data import Matrix, sample
from cranfield.comparison.effects import omega_squared
from cranfield.comparison.test_result import Effect, check_alpha, shown_p
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.frames import need
from cranfield.notes import caution_note, method_note
from cranfield.record import Record, table_of
from cranfield.table import Table
from cranfield.types import Array

ERROR, TOTAL = "error", "total"
UNADJUSTED = "means of the available scores, not adjusted for missing ones"


@dataclass(frozen=True)
class Source:
    """A row of the table: a source of variation."""

    source: str
    ss: float
    df: int
    ms: float = math.nan
    f: float = math.nan
    p: float = math.nan
    effect: Effect | None = None
    """The partial ω² of Ferro & Maistro 2024 (8), as if there were no other factor."""
    against: str = ERROR
    """The row whose mean square is the denominator of F."""

    def __str__(self) -> str:
        if math.isnan(self.f):
            return f"{self.source}: SS = {self.ss:.4f}, df = {self.df}"
        size = f", {self.effect}" if self.effect else ""
        return f"{self.source}: F({self.df}) = {self.f:.4f}, {shown_p(self.p)}{size}"


@dataclass(frozen=True, eq=False, repr=False)
class LevelMeans(Record):
    """The means of the levels of a factor, or of combinations of levels, for a plot of main or joint effects."""

    figure = "level_means_figure"
    facts = ("factors", "level")

    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    mean: Array
    low: Array
    high: Array
    n: NDArray[np.int64]
    """The number of scores behind each mean."""
    level: float
    notes: tuple[str, ...] = ()
    how: str = "by t with the error of the model"
    """How the intervals were computed."""
    interval: str = "t"
    """The kind of the intervals in one word or two: `t`, or the test of pairs of levels that they show."""

    def columns(self) -> dict[str, NDArray[Any]]:
        """One column per factor, then mean, low, high, interval (what kind it is), n."""
        out: dict[str, NDArray[Any]] = {
            name: np.array([level[i] for level in self.levels], dtype=object) for i, name in enumerate(self.factors)
        }
        kind = np.full(len(self.mean), self.interval, dtype=object)
        return {**out, "mean": self.mean, "low": self.low, "high": self.high, "interval": kind, "n": self.n}

    def with_half_width(self, half_width: float, test: str) -> LevelMeans:
        """The same means with intervals that overlap exactly if a test finds no difference between two levels."""
        low, high = self.mean - half_width, self.mean + half_width
        how = f"of half-width {half_width:.4f}: two levels differ exactly if theirs do not overlap ({test})"
        return replace(self, low=low, high=high, how=how, interval=test)

    def table(self) -> Table:
        """A row per level."""
        note = method_note(f"{100 * self.level:g}% intervals {self.how}")
        columns = self.columns()
        del columns["interval"]  # the note says it
        return table_of(columns, notes=(note, *self.notes))


@dataclass(frozen=True, eq=False, repr=False)
class Anova(Record):
    """The table of an analysis of variance, and its model.

    >>> print(two_way([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8]], "P@10"))
    P@10: topic + system, 6 scores
    source      SS  df      MS        F       p      ω²  size
    topic   0.1067   1  0.1067  64.0000  0.0153  0.9130  large
    system  0.1233   2  0.0617  37.0000  0.0263  0.9231  large
    error   0.0033   2  0.0017        -       -       -
    total   0.2333   5       -        -       -       -
    """

    sources: tuple[Source, ...]
    """The terms, then error and total."""
    measure: str
    type: str
    """The type of the sums of squares: I, II or III; `balanced` if they are all the same."""
    model: Model
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """The number of scores."""
        return self.model.layout.n

    @property
    def factors(self) -> tuple[str, ...]:
        return tuple(self.model.layout.factors)

    @property
    def formula(self) -> str:
        """The terms of the model."""
        return " + ".join(term.name for term in self.model.terms)

    def __getitem__(self, source: str) -> Source:
        for row in self.sources:
            if row.source == source:
                return row
        raise nearest(source, [row.source for row in self.sources], "source")

    def error_of(self, factors: Sequence[str]) -> Source:
        """The row whose mean square is the error of differences between levels of these factors."""
        term = self.model.term(factors)
        return self[self[term.name].against] if term is not None else self[ERROR]

    def estimated(self, factors: Sequence[str]) -> tuple[Means, float, int]:
        """The means of levels, and the variance and degrees of freedom of the error of their differences."""
        error = self.error_of(factors)
        return self.model.means(factors), error.ms, error.df

    def means(self, *factors: str, level: float = 0.95) -> LevelMeans:
        """The mean of every level of a factor, or of every combination of levels of several, with intervals.

        The means are least-squares means if the scores are not balanced. The intervals are
        :math:`t \\sqrt{MS_{Error} v}`, with v = 1/n in a balanced layout. They reflect what the model leaves
        unexplained, so they do not generalise to other topics.

        >>> print(two_way([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8]]).means("system"))
        system    mean     low    high  n
        run1    0.3000  0.1758  0.4242  2
        run2    0.4500  0.3258  0.5742  2
        run3    0.6500  0.5258  0.7742  2
        95% intervals by t with the error of the model
        """
        check_alpha("means", level, "level")
        if not factors:
            raise UsageError(f"means: name a factor: {', '.join(self.factors)}")
        means = self.model.means([self.model.layout.factor(name).name for name in factors])
        error = self.error_of(factors)
        quantile = need("scipy.special", "an interval").stdtrit(error.df, (1 + level) / 2)
        half = quantile * np.sqrt(error.ms * np.diag(means.covariance))
        notes = (UNADJUSTED,) if means.raw else ()
        low, high = means.mean - half, means.mean + half
        return LevelMeans(means.names, means.levels, means.mean, low, high, means.n, level, notes)

    def sentence(self) -> str:
        """The effects in words, largest first."""
        effects = [(row, row.effect) for row in self.sources if row.effect]
        return "; ".join(
            f"{row.source}: {effect.words} effect (ω² = {effect.value:.4f}, {shown_p(row.p)})"
            for row, effect in sorted(effects, key=lambda pair: -pair[1].value)
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """source, ss, df, ms, f, p, omega2, size, against; a row per source."""
        rows = self.sources
        columns = {
            "source": [row.source for row in rows],
            **{name: [getattr(row, name) for row in rows] for name in ("ss", "df", "ms", "f", "p")},
            "omega2": [row.effect.value if row.effect else math.nan for row in rows],
            "size": [row.effect.words if row.effect else "" for row in rows],
            "against": [row.against if row.effect else "" for row in rows],
        }
        texts = ("source", "size", "against")
        return {name: np.array(column, dtype=object if name in texts else None) for name, column in columns.items()}

    def _metadata(self) -> dict[str, Any]:
        return {**self._facts("measure"), "model": self.formula, **self._facts("type", "n", "notes")}

    def table(self, digits: int | None = None) -> Table:
        """A row per source."""
        columns = self.columns()
        if all(row.against == ERROR for row in self.sources):
            del columns["against"]
        heads = {"ss": "SS", "ms": "MS", "f": "F", "omega2": "ω²"}
        shown = {heads.get(name, name): column for name, column in columns.items()}
        how = "" if self.type == "balanced" else f", sums of squares of type {self.type}"
        caption = f"{self.measure}: {self.formula}, {self.n:,} scores{how}"
        return table_of(shown, caption=caption, notes=self.notes, digits=digits)


def one_way(data: Any, measure: Any = None) -> Anova:
    r"""Do systems differ, if each has a sample of topics of its own?

    .. math:: F = \frac{\sum_j n_j (\bar x_j - \bar x)^2 / (k - 1)}{\sum_{ij} (x_{ij} - \bar x_j)^2 / (N - k)}

    `data` holds systems in any form, or {group: [score, ...]} of different lengths. The analysis assumes independent,
    normal errors with equal variance. Systems on the same topics are not independent; use `two_way` for them.

    >>> print(one_way({"ctrl": [4.17, 5.58, 5.18], "trt": [4.81, 4.17, 4.41, 3.59]})["system"])
    system: F(1) = 2.4976, p = 0.1749, ω² = 0.176, large
    """
    if isinstance(data, Mapping) and data and not any(isinstance(scores, Mapping) for scores in data.values()):
        groups = {str(name): sample(values, repr(name)) for name, values in data.items()}
        names = np.repeat(np.array(list(groups), dtype=object), [len(values) for values in groups.values()])
        columns = {"score": np.concatenate(list(groups.values())), SYSTEM: names}
    else:
        matrix = Matrix.of(data, measure)
        names = np.tile(np.array(matrix.systems, dtype=object), matrix.n)
        columns = {matrix.measure: matrix.values.ravel(), SYSTEM: names}
    return analyse(from_columns(columns, next(iter(columns)), [SYSTEM], None))


def two_way(data: Any, measure: Any = None) -> Anova:
    r"""Topics × systems, Ferro & Maistro 2024 (7): :math:`Y_{ij} = \mu + \tau_i + \alpha_j + \varepsilon_{ij}`.

    Topics on which some system has no score are left out (`anova` keeps them, by least squares). The analysis assumes
    independent, normal errors with equal variance, and no interaction between topics and systems.

    >>> print(two_way([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8]])["system"])
    system: F(2) = 37.0000, p = 0.0263, ω² = 0.923, large
    """
    return analyse(layout_of(Matrix.of(data, measure).complete()))


@takes_runs
@operation
def anova(
    data: Any,
    measure: Any = None,
    *,
    interactions: str | int | Iterable[str] = (),
    type: Annotated[
        str,
        about(
            "Sums of squares of unbalanced data: {names} (each term after those before it, after those that do not "
            "contain it, or after all others).",
            choices=SUMS,
            spelled="--type TYPE",
            rare=True,
        ),
    ] = "II",
    one_way: Annotated[
        bool,
        about("Leave the topics out of the model, as if every system had a sample of topics of its own.", rare=True),
    ] = False,
    **settings: Unpack[LayoutSettings],
) -> Anova:
    r"""Topics × systems × any further factors, by least squares where scores are not balanced.

    | design | parameters |
    |---|---|
    | components of systems | `factors=` {factor: {run: level}}, a table (run, stemmer, model, ...) or its file |
    | interactions | `interactions=["stemmer:model", "topic:stemmer"]`, `"all"` (every two), or a number |
    | document shards | `{shard: scores}` with `across="shard"`, `interactions=["topic:system"]` |
    | several collections | `{collection: scores}` with `across="collection"`; topics are nested in it |
    | classes of topics | `classes=` {topic: class} or a file: topics are nested in `class`; it interacts with systems |
    | seeds of a model | `factors={"system": {run: system}}`: runs of a system are nested in it |
    | crossed replicates | two factors, `system` and `seed`, which together name the run |
    | anything else | a table of columns and `value=` the column of scores; `nested={child: parent}` |

    The levels of a nested factor are a sample, so the factor around it is tested against it: systems against seeds, a
    collection against its topics (exact for balanced scores). Everything else is tested against the residual, and so is
    a factor whose nested factor varies less than the residual. Factors that are not nested are fixed: conclusions hold
    for these topics.

    `type` is the type of the sums of squares if scores are not balanced: I (in the order of the table), II (after all
    terms that do not contain the term) or III (after all other terms, with effects that sum to 0). `nan`: undefined
    scores are left out ("pairwise"), or the whole topic is ("listwise"). `one_way` leaves the topics out of the model:
    what they explain becomes error.

    >>> scores = {"a": [0.2, 0.3, 0.6], "b": [0.3, 0.5, 0.6], "c": [0.3, 0.3, 0.5], "d": [0.6, 0.5, 0.8]}
    >>> grid = {"run": ["a", "b", "c", "d"], "stemmer": ["no", "yes"] * 2, "model": ["tf", "tf", "bm25", "bm25"]}
    >>> print(anova(scores, "AP", factors=grid, interactions=["stemmer:model"]).sentence().partition(";")[0])
    topic: large effect (ω² = 0.6957, p = 0.0049)
    """
    layout = layout_for(data, measure, **settings)
    if settings.get("classes") is not None:
        interactions = by_class(layout, interactions)
    return analyse(without_topics(layout) if one_way else layout, interactions, type)


ONE_WAY = (
    "the topics are not in the model, so all that they explain is error; for systems on the same topics the analysis "
    "with topics finds more"
)


def without_topics(layout: Layout) -> Layout:
    """The layout without the factor of topics: scores of a system are repetitions."""
    inside = [factor.name for factor in layout.factors.values() if TOPIC in factor.parents]
    if inside:
        raise UsageError(f"one-way analysis: {inside[0]} is nested in topics, so they cannot be left out")
    factors = {name: factor for name, factor in layout.factors.items() if name != TOPIC}
    if not factors:
        raise UsageError("one-way analysis: topics are the only factor; leave the setting out")
    return Layout(layout.values, factors, layout.measure, (*layout.notes, caution_note(ONE_WAY)))


def analyse(layout: Layout, interactions: str | int | Iterable[str] = (), type: str = "II") -> Anova:
    """Fit the model and fill the table."""
    model, sums, notes = fitted(layout, interactions, type)
    if type == "III" and not layout.balanced and any(len(t.factors) > 1 and model.holes(t) for t in model.terms):
        notes.append("some combinations of levels have no score, and type III depends on which; type II does not")
    return _table(model, sums, "balanced" if layout.balanced else type, notes)


def fitted(
    layout: Layout, interactions: str | int | Iterable[str] = (), type: str = "II"
) -> tuple[Model, Sums, list[str]]:
    """The model of the terms that can be estimated, its sums of squares, and notes."""
    model = Model(layout, terms_of(layout, interactions))
    sums = model.sums(type)
    if sums.error_df < 1:
        raise UsageError(
            f"{layout.measure}: no degrees of freedom are left for the error ({layout.n} scores, terms "
            f"{', '.join(term.name for term in model.terms)}); leave out an interaction, or add topics"
        )
    notes = [*layout.notes, *scale_cautions(layout.measure)]
    confounded: list[str] = []
    while not all(df > 0 for df in sums.df):  # one at a time, the last first: without it, another may be estimable
        last = [term for term, df in zip(model.terms, sums.df, strict=True) if df < 1][-1]
        confounded.insert(0, last.name)
        model = Model(layout, tuple(term for term in model.terms if term is not last))
        sums = model.sums(type)
    if confounded:
        notes.append(f"left out, because other terms explain the same: {', '.join(confounded)}")
    return model, sums, notes


def by_class(layout: Layout, interactions: str | int | Iterable[str]) -> str | int | Iterable[str]:
    """The interactions, and that of the class of topics with every factor of the systems."""
    if isinstance(interactions, int) or interactions == "all":
        return interactions
    named = [interactions] if isinstance(interactions, str) else list(interactions)
    own = [name for name, factor in layout.factors.items() if name not in (CLASS, TOPIC) and not factor.parents]
    return [*named, *(f"{CLASS}:{name}" for name in own)]


def layout_for(data: Any, measure: Any, **settings: Unpack[LayoutSettings]) -> Layout:
    """The layout of the data, by the parameters of `anova`."""
    factors, across, nested = settings.get("factors"), settings.get("across"), settings.get("nested")
    classes, value = settings.get("classes"), settings.get("value")
    if value is not None and classes is not None:
        raise UsageError("classes= is for scores; a table of columns has a column for the class")
    if value is not None:
        return from_columns(data, value, factors, nested)
    if settings.get("nan") == "listwise":
        data = _listwise(data, measure, across)
    return layout_of(data, measure, factors=factors, across=across, nested=nested, classes=classes)


def _table(model: Model, sums: Sums, type: str, notes: list[str]) -> Anova:
    layout = model.layout
    # If all scores are equal, or the model explains them exactly, anything smaller is rounding.
    least = 1e-13 * sums.total_ss + 1e-28 * float(layout.values @ layout.values)
    ss = dict(zip((term.name for term in model.terms), (x if x > least else 0.0 for x in sums.ss), strict=True))
    df = dict(zip(ss, sums.df, strict=True))
    ss[ERROR], df[ERROR] = (sums.error_ss if sums.error_ss > least else 0.0), sums.error_df
    rows = []
    for term in model.terms:
        below = model.error_of(term)
        against = ERROR if below is None else below.name
        if ss[against] / df[against] < ss[ERROR] / df[ERROR]:
            # The estimated variance of the nested factor is below 0, so it counts as 0.
            notes.append(f"{against} varies no more than the error, so {term.name} is tested against the error")
            against = ERROR
        ms, error = ss[term.name] / df[term.name], ss[against] / df[against]
        f = ms / error if error > 0 else math.inf if ms > 0 else 0.0
        p = float(need("scipy.special", "an analysis of variance").fdtrc(df[term.name], df[against], f))
        finite = math.isfinite(f)
        effect = omega_squared(f, df[term.name], layout.n) if finite else Effect("ω²", 1.0, words="large")
        rows.append(Source(term.name, ss[term.name], df[term.name], ms, f, p if finite else 0.0, effect, against))
    if ss[ERROR] == 0.0:
        explained = "there is no error variance: the terms explain every score, and F is infinite for terms that vary"
        same = "all scores are the same: F = 0 and p = 1"
        notes.append(explained if any(ss[term.name] for term in model.terms) else same)
    for term in model.terms:
        if ss[ERROR] and not ss[term.name]:
            notes.append(f"{term.name}: all levels have the same mean")
    rows.append(Source(ERROR, ss[ERROR], df[ERROR], ss[ERROR] / df[ERROR]))
    rows.append(Source(TOTAL, sums.total_ss if sums.total_ss > least else 0.0, layout.n - 1))
    return Anova(tuple(rows), layout.measure, type, model, tuple(notes))


def _listwise(data: Any, measure: Any, across: str | None) -> Any:
    if across is None:
        return Matrix.of(data, measure).complete()
    if not isinstance(data, Mapping):
        return data  # `layout_of` raises the error
    return {level: Matrix.of(part, measure).complete() for level, part in data.items()}


SPHERICITY = (
    "every effect is tested against its interaction with topics; this assumes sphericity: all differences between "
    "levels vary alike"
)


def repeated_measures(data: Any, measure: Any = None, *, factors: Any = None, across: str | None = None) -> Anova:
    r"""Topics × factors of systems, where every topic has a score for every combination of levels.

    .. math:: F_A = \frac{MS_A}{MS_{topic:A}}, \qquad F_{AB} = \frac{MS_{AB}}{MS_{topic:AB}}

    The topics are the subjects, a sample: an effect is large if it is large beside the way in which it differs between
    topics. The parameters are those of `anova`; all factors and all their interactions are in the model. Topics without
    a score for some combination are left out. With systems alone it is `two_way`. There is no correction for a lack of
    sphericity; `mixed` estimates the variances instead.

    Reference: Winer, Statistical Principles in Experimental Design, 1971, ch. 4 and 7

    >>> scores = {"a": [0.2, 0.3, 0.6], "b": [0.3, 0.5, 0.6], "c": [0.3, 0.3, 0.5], "d": [0.6, 0.5, 0.8]}
    >>> grid = {"run": ["a", "b", "c", "d"], "stemmer": ["no", "yes"] * 2, "model": ["tf", "tf", "bm25", "bm25"]}
    >>> print(repeated_measures(scores, "AP", factors=grid)["stemmer"])
    stemmer: F(1) = 121.0000, p = 0.0082, ω² = 0.909, large
    """
    layout = layout_for(data, measure, factors=factors, across=across, nan="listwise")
    nested = [name for name, factor in layout.factors.items() if factor.parents]
    if nested:
        raise UsageError(
            f"repeated measures: {nested[0]} is nested in other factors; give one score per topic and combination"
        )
    if not layout.balanced:
        raise UsageError(
            f"{layout.measure}: some topic has no score for some combination of levels; use anova or mixed, which need "
            "not have all"
        )
    model = Model(layout, terms_of(layout, len(layout.factors)))
    sums = model.sums()
    rows = {
        term.name: Source(term.name, ss if ss > 1e-13 * sums.total_ss else 0.0, df, ss / df)
        for term, ss, df in zip(model.terms, sums.ss, sums.df, strict=True)
    }
    fdtrc = need("scipy.special", "an analysis of variance").fdtrc
    table: list[Source] = []
    for term in model.terms:
        row = rows[term.name]
        error = model.term([*term.factors, TOPIC])
        if TOPIC in term.factors or error is None:
            if term.factors == {TOPIC}:
                table.append(row)
            continue
        below = rows[error.name]
        f = row.ms / below.ms if below.ss > 0 else math.inf if row.ss > 0 else 0.0
        effect = omega_squared(f, row.df, layout.n) if math.isfinite(f) else Effect("ω²", 1.0, words="large")
        p = float(fdtrc(row.df, below.df, f)) if math.isfinite(f) else 0.0
        table += [Source(row.source, row.ss, row.df, row.ms, f, p, effect, below.source), below]
    table.append(Source(TOTAL, sums.total_ss, layout.n - 1))
    return Anova(tuple(table), layout.measure, "balanced", model, (*layout.notes, SPHERICITY))

"""Analysis of variance: how much scores vary with topics, with systems, with what systems are made of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.check import nearest
from cranfield.comparison.anova.layout import SYSTEM, TOPIC, Layout, from_columns, laid_out
from cranfield.comparison.anova.model import SUMS, Model, Sums, terms_of
from cranfield.comparison.data import Matrix, check_nan, sample
from cranfield.comparison.effects import omega_squared
from cranfield.comparison.test_result import Effect, check_alpha, shown_p
from cranfield.errors import UsageError
from cranfield.frames import need
from cranfield.record import Record
from cranfield.table import Column, Table, number_kind
from cranfield.types import Array

ERROR, TOTAL = "error", "total"


@dataclass(frozen=True)
class Source:
    """A row of the table: where variation comes from, and how much of it."""

    source: str
    ss: float
    df: int
    ms: float = math.nan
    f: float = math.nan
    p: float = math.nan
    effect: Effect | None = None
    """ω² of Ferro & Maistro 2024 (8), partial: as if there were no other factor."""
    against: str = ERROR
    """The row whose mean square F divides by."""

    def __str__(self) -> str:
        if math.isnan(self.f):
            return f"{self.source}: SS = {self.ss:.4f}, df = {self.df}"
        size = f", {self.effect}" if self.effect else ""
        return f"{self.source}: F({self.df}) = {self.f:.4f}, {shown_p(self.p)}{size}"


@dataclass(frozen=True, eq=False)
class LevelMeans(Record):
    """The means of a factor's levels, or of combinations of levels: what a plot of (main or joint) effects draws."""

    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    mean: Array
    low: Array
    high: Array
    n: NDArray[np.int64]
    """How many scores each mean rests on."""
    level: float
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, NDArray[Any]]:
        """One column per factor, then mean, low, high, n."""
        out: dict[str, NDArray[Any]] = {
            name: np.array([one[i] for one in self.levels], dtype=object) for i, name in enumerate(self.factors)
        }
        return {**out, "mean": self.mean, "low": self.low, "high": self.high, "n": self.n}

    def _metadata(self) -> dict[str, Any]:
        return {"factors": list(self.factors), "level": self.level}

    def table(self) -> Table:
        """For every output format."""
        heads = [Column(name) for name in self.factors]
        heads += [Column(name, "number") for name in ("mean", "low", "high")]
        rows = zip(*(column.tolist() for column in self.columns().values()), strict=True)
        told = f"{100 * self.level:g}% intervals by t with the error of the model"
        return Table((*heads, Column("n", "count")), tuple(rows), notes=(told, *self.notes))

    def __str__(self) -> str:
        return self.table().text()

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Anova(Record):
    """The table of an analysis of variance, and the model behind it.

    >>> print(two_way([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8]], "AP"))
    AP: topic + system, 6 scores
    source      SS  df      MS        F       p      ω²  size
    topic   0.1067   1  0.1067  64.0000  0.0153  0.9130  large
    system  0.1233   2  0.0617  37.0000  0.0263  0.9231  large
    error   0.0033   2  0.0017        -       -       -
    total   0.2333   5       -        -       -       -
    """

    sources: tuple[Source, ...]
    """The terms, and then error and total."""
    measure: str
    type: str
    """Of sums of squares: I, II or III; `balanced` where these are the same."""
    model: Model = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """How many scores."""
        return self.model.layout.n

    @property
    def factors(self) -> tuple[str, ...]:
        return tuple(self.model.layout.factors)

    @property
    def formula(self) -> str:
        """The terms of the model."""
        return " + ".join(term.name for term in self.model.terms)

    def __getitem__(self, source: str) -> Source:
        """A row by its name."""
        for one in self.sources:
            if one.source == source:
                return one
        raise nearest(source, [one.source for one in self.sources], "source")

    def error_of(self, factors: Sequence[str]) -> Source:
        """The row against which differences between levels of these factors are judged."""
        term = self.model.term(factors)
        return self[self[term.name].against] if term is not None else self[ERROR]

    def means(self, *factors: str, level: float = 0.95) -> LevelMeans:
        """The mean of every level of a factor, or of every combination of levels of several, with intervals.

        Least-squares means where the scores are not balanced. The intervals are :math:`t \\sqrt{MS_{Error} v}` with v
        = 1/n in a balanced layout: what the model leaves unexplained, so they say nothing of other topics.

        >>> print(two_way([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8]]).means("system"))
        system    mean     low    high  n
        run1    0.3000  0.1758  0.4242  2
        run2    0.4500  0.3258  0.5742  2
        run3    0.6500  0.5258  0.7742  2
        95% intervals by t with the error of the model
        """
        check_alpha("means", level, "level")
        if not factors:
            raise UsageError(f"means: no factor named; there are {', '.join(self.factors)}")
        found = self.model.means([self.model.layout.factor(name).name for name in factors])
        error = self.error_of(factors)
        quantile = need("scipy.special", "an interval").stdtrit(error.df, (1 + level) / 2)
        half = quantile * np.sqrt(error.ms * np.diag(found.covariance))
        notes = ("means of the scores there are, not adjusted for what is missing",) if found.raw else ()
        return LevelMeans(
            found.names, found.levels, found.mean, found.mean - half, found.mean + half, found.n, level, notes
        )

    def sentence(self) -> str:
        """Which effects there are, and how large, in words."""
        tested = [one for one in self.sources if one.effect is not None]
        told = [
            f"{one.source}: {one.effect.words} effect (ω² = {one.effect.value:.4f}, {shown_p(one.p)})"
            for one in sorted(tested, key=lambda one: -one.effect.value if one.effect else 0.0)
            if one.effect
        ]
        return "; ".join(told)

    def columns(self) -> dict[str, NDArray[Any]]:
        """source, ss, df, ms, f, p, omega2, size, against."""
        return {
            "source": np.array([one.source for one in self.sources], dtype=object),
            "ss": np.array([one.ss for one in self.sources]),
            "df": np.array([one.df for one in self.sources], dtype=np.int64),
            "ms": np.array([one.ms for one in self.sources]),
            "f": np.array([one.f for one in self.sources]),
            "p": np.array([one.p for one in self.sources]),
            "omega2": np.array([one.effect.value if one.effect else math.nan for one in self.sources]),
            "size": np.array([one.effect.words if one.effect else "" for one in self.sources], dtype=object),
            "against": np.array([one.against if one.effect else "" for one in self.sources], dtype=object),
        }

    def _metadata(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "model": self.formula,
            "type": self.type,
            "n": self.n,
            "notes": list(self.notes),
        }

    def table(self, digits: int | None = None) -> Table:
        """For every output format."""
        others = any(one.against != ERROR for one in self.sources)
        heads = [Column("source"), Column("SS", "number"), Column("df", "count")]
        heads += [Column(name, number_kind(name)) for name in ("MS", "F", "p", "ω²")]
        heads += [Column("size"), *([Column("against")] if others else [])]
        rows = [row if others else row[:-1] for row in zip(*(c.tolist() for c in self.columns().values()), strict=True)]
        how = "" if self.type == "balanced" else f", sums of squares of type {self.type}"
        caption = f"{self.measure}: {self.formula}, {self.n:,} scores{how}"
        return Table(tuple(heads), tuple(rows), caption=caption, notes=self.notes, digits=digits)

    def __str__(self) -> str:
        return self.table().text()

    __repr__ = __str__


def one_way(data: Any, measure: Any = None) -> Anova:
    r"""Do systems differ, topics being a sample of their own for each?

    .. math:: F = \frac{\sum_j n_j (\bar x_j - \bar x)^2 / (k - 1)}{\sum_{ij} (x_{ij} - \bar x_j)^2 / (N - k)}

    `data` holds systems in any form, or {group: [score, ...]} of different lengths. Assumes independent, normal errors
    of one variance. Systems on the same topics are not independent: `two_way` takes out the topics.

    >>> print(one_way({"ctrl": [4.17, 5.58, 5.18], "trt": [4.81, 4.17, 4.41, 3.59]})["system"])
    system: F(1) = 2.4976, p = 0.1749, ω² = 0.176, large
    """
    if isinstance(data, Mapping) and data and not any(isinstance(of, Mapping) for of in data.values()):
        groups = {str(name): sample(values, repr(name)) for name, values in data.items()}
        names = [name for name, values in groups.items() for _ in range(len(values))]
        columns = {"score": np.concatenate(list(groups.values())), SYSTEM: np.array(names, dtype=object)}
    else:
        matrix = Matrix.of(data, measure)
        names = list(np.tile(np.array(matrix.systems, dtype=object), matrix.n))
        columns = {matrix.measure: matrix.values.ravel(), SYSTEM: np.array(names, dtype=object)}
    return analysed(from_columns(columns, next(iter(columns)), [SYSTEM], None))


def two_way(data: Any, measure: Any = None) -> Anova:
    r"""Topics × systems, Ferro & Maistro 2024 (7): :math:`Y_{ij} = \mu + \tau_i + \alpha_j + \varepsilon_{ij}`.

    Topics without a value for every system are left out (`anova` keeps them, by least squares). Assumes independent,
    normal errors of one variance, and that systems do not react differently to topics.

    >>> print(two_way([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8]])["system"])
    system: F(2) = 37.0000, p = 0.0263, ω² = 0.923, large
    """
    return analysed(laid_out(Matrix.of(data, measure).complete()))


def anova(
    data: Any,
    measure: Any = None,
    *,
    factors: Any = None,
    interactions: str | int | Iterable[str] = (),
    across: str | None = None,
    nested: Mapping[str, str | Sequence[str]] | None = None,
    value: str | None = None,
    type: str = "II",
    nan: str = "pairwise",
) -> Anova:
    r"""Topics × systems × any further factors, by least squares where scores are not balanced.

    | design | how to say it |
    |---|---|
    | components of systems | `factors=` {factor: {run: level}}, a table (run, stemmer, model, ...) or its file |
    | interactions | `interactions=["stemmer:model", "topic:stemmer"]`, `"all"` (every two), or a number |
    | document shards | `{shard: scores}` with `across="shard"`, `interactions=["topic:system"]` |
    | several collections | `{collection: scores}` with `across="collection"`; topics are nested in it |
    | seeds of a model | `factors={"system": {run: system}}`: runs of a system are nested in it |
    | crossed replicates | two factors, `system` and `seed`, which together name the run |
    | anything else | a table of columns and `value=` the column of scores; `nested={child: parent}` |

    The levels of a nested factor are a sample, so what it is nested in is tested against it: systems against seeds, and
    a collection against its topics (exact for balanced scores); unless it varies less than the residual, against which
    all else is tested. Factors that are not nested are taken as they are, so topics here are these topics.

    `type` of sums of squares, where scores are not balanced: I (in the order of the table), II (after all terms that do
    not contain it) or III (after all others, with effects that sum to 0). `nan`: scores without a value are left out
    (pairwise), or the whole topic is (listwise).

    >>> scores = {"a": [0.2, 0.3, 0.6], "b": [0.3, 0.5, 0.6], "c": [0.3, 0.3, 0.5], "d": [0.6, 0.5, 0.8]}
    >>> grid = {"run": ["a", "b", "c", "d"], "stemmer": ["no", "yes"] * 2, "model": ["tf", "tf", "bm25", "bm25"]}
    >>> print(anova(scores, "AP", factors=grid, interactions=["stemmer:model"]).sentence().partition(";")[0])
    topic: large effect (ω² = 0.6957, p = 0.0049)
    """
    check.one_of("anova", SUMS, type=type)
    check_nan("anova", nan)
    if value is not None:
        layout = from_columns(data, value, factors, nested)
    else:
        if nan == "listwise":
            data = _listwise(data, measure, across)
        layout = laid_out(data, measure, factors=factors, across=across, nested=nested)
    return analysed(layout, interactions, type)


def analysed(layout: Layout, interactions: str | int | Iterable[str] = (), type: str = "II") -> Anova:
    """The analysis of scores that are laid out."""
    model = Model(layout, terms_of(layout, interactions))
    sums = model.sums(type)
    if sums.error_df < 1:
        raise UsageError(
            f"{layout.measure}: {model.term_names()} leave no degrees of freedom for the error ({layout.n} scores); "
            "leave out an interaction, or add topics"
        )
    told = list(layout.notes)
    confounded = [term.name for term, df in zip(model.terms, sums.df, strict=True) if df < 1]
    if confounded:
        told.append(f"left out, as other terms say the same: {', '.join(confounded)}")
        model = Model(layout, tuple(term for term, df in zip(model.terms, sums.df, strict=True) if df > 0))
        sums = model.sums(type)
    if type == "III" and not layout.balanced and any(len(t.factors) > 1 and model.holes(t) for t in model.terms):
        told.append("some combinations of levels have no score: what type III tests depends on which; type II does not")
    return _filled(model, sums, "balanced" if layout.balanced else type, told)


def _filled(model: Model, sums: Sums, type: str, notes: list[str]) -> Anova:
    layout = model.layout
    # What is left of numbers that are all equal, or that add up exactly, is rounding.
    least = 1e-13 * sums.total_ss + 1e-28 * float(layout.values @ layout.values)
    ss = dict(zip((term.name for term in model.terms), (x if x > least else 0.0 for x in sums.ss), strict=True))
    df = dict(zip(ss, sums.df, strict=True))
    ss[ERROR], df[ERROR] = (sums.error_ss if sums.error_ss > least else 0.0), sums.error_df
    rows = []
    for term in model.terms:
        below = model.error_of(term)
        against = ERROR if below is None else below.name
        if ss[against] / df[against] < ss[ERROR] / df[ERROR]:
            # Its own variance is estimated below 0: that is none, and the error is all there is.
            pooled = f"{against} varies no more than the error, against which {term.name} is tested"
            against = ERROR
            notes.append(pooled)
        ms, error = ss[term.name] / df[term.name], ss[against] / df[against]
        f = ms / error if error > 0 else math.inf if ms > 0 else 0.0
        p = float(need("scipy.special", "an analysis of variance").fdtrc(df[term.name], df[against], f))
        finite = math.isfinite(f)
        effect = omega_squared(f, df[term.name], layout.n) if finite else Effect("ω²", 1.0, words="large")
        rows.append(Source(term.name, ss[term.name], df[term.name], ms, f, p if finite else 0.0, effect, against))
    if ss[ERROR] == 0.0:
        if any(ss[term.name] for term in model.terms):
            notes.append(
                "nothing is left for the error: the terms explain every score; F is infinite where they differ"
            )
        else:
            notes.append("all scores are the same: F = 0 and p = 1")
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
        return data  # `laid_out` says what is wrong
    return {level: Matrix.of(part, measure).complete() for level, part in data.items()}


__all__ = ["ERROR", "TOPIC", "Anova", "LevelMeans", "Source", "analysed", "anova", "one_way", "two_way"]

"""Mixed models: systems are fixed, topics are a sample of all topics; fitted by restricted maximum likelihood (REML).

With :math:`V = I + \\sum_r \\lambda_r Z_r Z_r'` and :math:`\\lambda_r = \\sigma_r^2 / \\sigma^2`, minus twice the
restricted log-likelihood is :math:`\\log|V| + \\log|X' V^{-1} X| + (n - p) \\log(y' P y)` plus a constant. All of it
follows from one matrix of inner products (Henderson's equations, bordered by the scores), from which the largest random
term, a diagonal block, is eliminated first. So topics × systems need as many equations as there are systems.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from cranfield.check import nearest
from cranfield.comparison.anova.anova import ERROR, LevelMeans, by_class, fitted, layout_for
from cranfield.comparison.anova.factors import TOPIC, Codes, Layout, LayoutSettings
from cranfield.comparison.anova.model import Means, Model, Term, joint_counts
from cranfield.comparison.test_result import check_alpha, shown_p
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.frames import need
from cranfield.notes import caution_note, method_note
from cranfield.record import Record, labels, table_of
from cranfield.table import Table
from cranfield.text import listed
from cranfield.types import Array

Space = frozenset[str]
TYPES = ("I", "II")
"""Tests of fixed terms: in sequence, or after all fixed terms that do not contain the term."""
_MOST_PRODUCTS = 50_000_000
"""The largest number of inner products to keep in memory."""
_ZERO = 1e-6
"""A standard deviation below this share of the error's counts as 0."""


@dataclass(frozen=True)
class FixedTest:
    """The test of a fixed term."""

    source: str
    f: float
    df: int
    df_error: int
    p: float
    against: str = ERROR
    """The random term, or the error, that is the error of this test; it has `df_error` degrees of freedom."""

    def __str__(self) -> str:
        return f"{self.source}: F({self.df}, {self.df_error}) = {self.f:.4f}, {shown_p(self.p)}"


@dataclass(frozen=True)
class Component:
    """The variance that a random term adds to a score."""

    source: str
    df: int
    variance: float
    share: float
    """The share of this component in the sum of all components."""

    def __str__(self) -> str:
        return f"{self.source}: σ² = {self.variance:.4f}, {100 * self.share:.0f}% of the variance"


@dataclass(frozen=True, eq=False, repr=False)
class MixedAnova(Record):
    """The tests of fixed terms, the components of variance, and the model.

    >>> print(mixed([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.4, 0.4]], "P@10"))
    P@10: system + random topic, REML, 9 scores
    source  df        F       p  variance   share
    system   2  19.0000  0.0091         -       -
    topic    2        -       -    0.0256  0.8519
    error    4        -       -    0.0044  0.1481
    """

    tests: tuple[FixedTest, ...]
    components: tuple[Component, ...]
    """The random terms, then the error."""
    measure: str
    random: tuple[str, ...]
    """The random factors."""
    model: Model
    notes: tuple[str, ...] = ()
    _reml: _Reml = field(repr=False, kw_only=True)
    _df: Mapping[str, int] = field(repr=False, kw_only=True)
    """The degrees of freedom of the random terms and of the error."""

    @property
    def n(self) -> int:
        """The number of scores."""
        return self.model.layout.n

    @property
    def factors(self) -> tuple[str, ...]:
        """The fixed factors."""
        return tuple(sorted(set().union(*self._reml.fixed), key=list(self.model.layout.factors).index))

    @property
    def formula(self) -> str:
        """The terms of the model."""
        fixed = [test.source for test in self.tests] or ["mean"]
        return " + ".join([*fixed, *(f"random {part.source}" for part in self.components[:-1])])

    def __getitem__(self, source: str) -> FixedTest | Component:
        rows: dict[str, FixedTest | Component] = {row.source: row for row in self.tests}
        rows.update({row.source: row for row in self.components})
        if source not in rows:
            raise nearest(source, list(rows), "source")
        return rows[source]

    def estimated(self, factors: Sequence[str]) -> tuple[Means, float, int]:
        """The means of levels, 1.0 (their covariance is absolute), and the degrees of freedom of differences."""
        inside = self._fixed(factors)
        return self._reml.means(self.model, factors), 1.0, self._df[_error_of(inside, self._reml.random)]

    def means(self, *factors: str, level: float = 0.95) -> LevelMeans:
        """The estimated mean of every level of a factor, or of every combination of levels, with intervals.

        The intervals hold for other samples of the random factors, so they are wider than those of `anova`. Their
        degrees of freedom are those of the random term that has fewest.

        >>> print(mixed([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.4, 0.4]]).means("system"))
        system    mean      low    high  n
        run1    0.2333  -0.1969  0.6636  3
        run2    0.4333   0.0031  0.8636  3
        run3    0.5667   0.1364  0.9969  3
        95% intervals by t with 2 df, for other samples of topic
        """
        check_alpha("means", level, "level")
        if not factors:
            raise UsageError(f"means: name a factor: {', '.join(self.factors)}")
        self._fixed(factors)
        means = self._reml.means(self.model, factors)
        varying = [part.source for part in self.components if part.variance > 0]
        df = min(self._df[name] for name in varying)
        half = need("scipy.special", "an interval").stdtrit(df, (1 + level) / 2) * np.sqrt(np.diag(means.covariance))
        note = method_note(f"by t with {df} df, for other samples of {listed(self.random)}")
        low, high = means.mean - half, means.mean + half
        return LevelMeans(means.names, means.levels, means.mean, low, high, means.n, level, how=note)

    def _fixed(self, factors: Sequence[str]) -> Space:
        inside = self.model.layout.closure(factors)
        if not any(inside <= space for space in self._reml.fixed):
            known = ", ".join(self.factors) or "none"
            raise UsageError(
                f"{':'.join(factors)}: only fixed factors have levels to compare ({known}); the levels of a random "
                "factor are a sample, and a combination must be a term of the model"
            )
        return inside

    def sentence(self) -> str:
        """The tests and the components in words."""
        tests = [f"{test.source}: {shown_p(test.p)}" for test in self.tests]
        shares = [f"{part.source} has {100 * part.share:.0f}% of the variance" for part in self.components]
        return "; ".join([*tests, *shares])

    def columns(self) -> dict[str, NDArray[Any]]:
        """source, df, f, p, variance, share, against; a row per fixed term, random term and error."""
        absent = {"source": "", **dict.fromkeys(("df", "f", "p", "variance", "share"), math.nan), "against": ""}
        rows = (*self.tests, *self.components)
        return {name: labels(getattr(row, name, value) for row in rows) for name, value in absent.items()}

    def _metadata(self) -> dict[str, Any]:
        return {"model": self.formula, **self._facts("measure", "random", "n")}

    def table(self, digits: int | None = None) -> Table:
        """A row per fixed term, random term and error."""
        columns = self.columns()
        if all(test.against == ERROR for test in self.tests):
            del columns["against"]
        columns = {"F" if name == "f" else name: column for name, column in columns.items()}
        caption = f"{self.measure}: {self.formula}, REML, {self.n:,} scores"
        return table_of(columns, caption=caption, notes=self.notes, digits=digits)


@operation
def mixed(
    data: Any,
    measure: Any = None,
    *,
    random: str | Iterable[str] = TOPIC,
    interactions: str | int | Iterable[str] = (),
    type: Annotated[str, about("How fixed terms are tested, {names}.", choices=TYPES)] = "II",
    **settings: Unpack[LayoutSettings],
) -> MixedAnova:
    r"""Systems as fixed and topics as random effects, by restricted maximum likelihood (REML).

    .. math:: Y_{ij} = \mu + \alpha_j + \tau_i + \varepsilon_{ij}, \quad \tau_i \sim N(0, \sigma_\tau^2), \quad
       \varepsilon_{ij} \sim N(0, \sigma^2)

    Conclusions hold for other topics of the same kind, not only for these. `random` names the random factors. Every
    term with a random or a nested factor is random, such as `topic:system` if scores are repeated over shards. Other
    parameters are those of `anova`; `type` is I or II.

    A fixed term is tested by Wald's F with the estimated variances. The degrees of freedom of its error are those of
    the random term that contains it, else those of the residual (containment). For balanced scores, estimates and tests
    are exactly those of `anova`, unless a component is estimated as 0. With missing scores, a system with harder topics
    is not blamed for them, and topics with few scores count less than by least squares.

    `tukey` and `scheffe` take the result and compare all pairs of levels of a fixed factor.

    Reference: Patterson & Thompson, Recovery of Inter-Block Information when Block Sizes are Unequal, Biometrika 58(3),
    1971, doi:10.1093/biomet/58.3.545; Robertson & Kanoulas, On Per-topic Variance in IR Evaluation, SIGIR 2012

    >>> result = mixed([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.4, float("nan")]])
    >>> print(result["system"])
    system: F(2, 3) = 22.8222, p = 0.0153
    >>> print(result["topic"])
    topic: σ² = 0.0218, 86% of the variance
    """
    layout = layout_for(data, measure, **settings)
    if settings.get("classes") is not None:
        interactions = by_class(layout, interactions)
    names = tuple(dict.fromkeys(layout.factor(name).name for name in ([random] if isinstance(random, str) else random)))
    if not names:
        raise UsageError("random == (), must name a factor, such as 'topic'")
    own = _nested_by_design(layout, names)
    if own:
        settings["nested"] = {**(settings.get("nested") or {}), **own}
        layout = layout_for(data, measure, **settings)
    model, sums, notes = fitted(layout, interactions)
    notes += [f"each {inner} has one {outer}, so {inner} is nested in {outer}" for inner, outer in own.items()]
    if sums.error_ss <= 1e-13 * sums.total_ss + 1e-28 * float(layout.values @ layout.values):
        raise UsageError(f"{layout.measure}: the terms explain every score, so there is no error variance to estimate")
    chosen = [term for term in model.terms if term.sampled or term.factors & set(names)]
    kept = [term for term in model.terms if term not in chosen]
    if not chosen:
        raise UsageError(
            f"{layout.measure}: no random term is left, because other terms explain the same as {listed(names)}; leave "
            "out another factor"
        )
    reml = _Reml.of(layout, [term.factors for term in kept], {term.name: term.factors for term in chosen})
    df = dict(zip((term.name for term in model.terms), sums.df, strict=True)) | {ERROR: sums.error_df}
    if not _converged(reml.equations, layout.n, reml.deviations):
        notes.append(
            caution_note(
                "the variances did not converge, so tests and intervals are not reliable; leave out a random "
                "factor or an "
                "interaction, add scores, or standardise scores whose topics differ far more than their systems"
            )
        )
    zero = [name for name, ratio in reml.ratios.items() if ratio == 0.0]
    if zero:
        notes.append(f"estimated as 0, so it adds nothing to the error: the variance of {listed(zero)}")
    if any(len(term.factors) > 1 and not term.sampled and model.holes(term) for term in kept):
        notes.append(caution_note("some combinations of levels have no score; means are over those that have"))
    variances = {term.name: reml.ratios[term.name] * reml.variance for term in chosen} | {ERROR: reml.variance}
    whole = math.fsum(variances.values())
    components = tuple(Component(name, df[name], value, value / whole) for name, value in variances.items())
    tests = tuple(_test(term, kept, reml, df, type) for term in kept)
    return MixedAnova(tests, components, layout.measure, names, model, tuple(notes), _reml=reml, _df=df)


def _nested_by_design(layout: Layout, random: Sequence[str]) -> dict[str, str]:
    """The random factors each of whose levels has one level of another factor, such as users who saw one system."""
    nested: dict[str, str] = {}
    for inner in random:
        if layout.factor(inner).parents or any(inner in factor.parents for factor in layout.factors.values()):
            continue
        size = layout.cells(frozenset({inner}))[1]
        for outer, factor in layout.factors.items():
            if outer == inner or factor.parents or layout.cells(frozenset({inner, outer}))[1] > size:
                continue
            if layout.cells(frozenset({outer}))[1] == size:
                raise UsageError(
                    f"{layout.measure}: each {inner} has one {outer}, and each {outer} one {inner}, so their effects "
                    "cannot be told apart; leave out one of them"
                )
            nested[inner] = outer
            break
    return nested


def _test(term: Term, kept: Sequence[Term], reml: _Reml, df: Mapping[str, int], type: str) -> FixedTest:
    before = kept[: list(kept).index(term)] if type == "I" else [t for t in kept if not term.factors <= t.factors]
    others = [other.factors for other in before]
    (without, lower), (with_it, rank) = reml.rss(others), reml.rss([*others, term.factors])
    f = max(0.0, without - with_it) / (rank - lower) / reml.variance
    against = _error_of(term.factors, reml.random)
    p = float(need("scipy.special", "a test of a fixed effect").fdtrc(rank - lower, df[against], f))
    return FixedTest(term.name, f, rank - lower, df[against], p, against)


def _error_of(inside: Space, random: Mapping[str, Space]) -> str:
    """The random term that contains a fixed one, the smallest if there are several; else the error."""
    above = {name: len(space) for name, space in random.items() if inside < space}
    return min(above, key=above.__getitem__) if above else ERROR


@dataclass(frozen=True, eq=False)
class _Equations:
    """Inner products of the fixed columns, the random terms and the scores."""

    inner: Array
    """Of orthonormal fixed columns, then the random terms that are not eliminated, then the scores."""
    cross: Array
    """Of all these with the eliminated term."""
    level: Codes
    """The index in `counts` of each cell of the eliminated term."""
    counts: Array
    """The different numbers of scores in cells of the eliminated term."""
    cells: Array
    """How many cells have each of these numbers."""
    products: Array | None
    """The inner products of `cross` over the cells with each number; None if they would take too much memory."""
    places: list[slice]
    """The columns of each random term that is not eliminated."""
    basis: Array
    """From cells of the fixed spaces to orthonormal columns."""

    @classmethod
    def of(cls, layout: Layout, y: Array, fixed: Sequence[Space], random: Sequence[Space]) -> _Equations:
        """The equations; the last space of `random` is eliminated."""
        maximal = [space for space in fixed if not any(space < other for other in fixed)] or [frozenset()]
        cells = [layout.cells(space) for space in maximal]
        gram = np.block([[joint_counts(a, b) for b in cells] for a in cells])
        values, vectors = np.linalg.eigh(gram)
        independent = values > 1e-9 * values[-1]
        basis = vectors[:, independent] / np.sqrt(values[independent])
        *others, last = [layout.cells(space) for space in random]

        def sums(cell: tuple[Codes, int]) -> Array:
            return np.bincount(cell[0], y, minlength=cell[1]).astype(np.float64)

        size = basis.shape[1]
        places = [slice(0, size)]
        for _, count in others:
            places.append(slice(places[-1].stop, places[-1].stop + count))
        total = places[-1].stop + 1
        inner, cross = np.zeros((total, total)), np.zeros((total, last[1]))
        for i, a in enumerate(others, 1):
            inner[places[0], places[i]] = basis.T @ np.vstack([joint_counts(cell, a) for cell in cells])
            for j, b in enumerate(others[i - 1 :], i):
                inner[places[i], places[j]] = joint_counts(a, b)
            inner[places[i], -1] = sums(a)
            cross[places[i]] = joint_counts(a, last)
        inner[places[0], places[0]] = np.eye(size)
        inner[places[0], -1] = basis.T @ np.concatenate([sums(cell) for cell in cells])
        inner[-1, -1] = y @ y
        inner = np.triu(inner) + np.triu(inner, 1).T
        cross[places[0]] = basis.T @ np.vstack([joint_counts(cell, last) for cell in cells])
        cross[-1] = sums(last)
        counts, level = np.unique(np.bincount(last[0], minlength=last[1]), return_inverse=True)
        level = level.reshape(-1)
        products = None
        if len(counts) * total**2 <= _MOST_PRODUCTS:
            parts = (cross[:, level == i] for i in range(len(counts)))
            products = np.stack([part @ part.T for part in parts])
        numbers = np.bincount(level).astype(np.float64)
        return cls(inner, cross, level, counts.astype(np.float64), numbers, products, places[1:], basis)

    @property
    def rank(self) -> int:
        """The number of fixed columns."""
        return int(self.basis.shape[1])

    def _weighted(self, weight: Array) -> Array:
        """The inner products of `cross`, with a weight for each number of scores in a cell."""
        if self.products is None:
            return np.asarray((self.cross * weight[self.level]) @ self.cross.T)
        return np.asarray(np.tensordot(weight, self.products, 1))

    def _scale(self, deviations: Array) -> Array:
        scale = np.ones(len(self.inner))
        for place, deviation in zip(self.places, deviations, strict=False):
            scale[place] = deviation
        return scale

    def swept(self, deviations: Array) -> Array:
        """The matrix for these standard deviations (in units of that of the error) after the elimination."""
        scale = self._scale(deviations)
        weight = deviations[-1] ** 2 / (1 + deviations[-1] ** 2 * self.counts)
        left = (self.inner - self._weighted(weight)) * scale * scale[:, None]
        random = np.zeros(len(left))
        random[self.rank : -1] = 1.0
        return np.asarray(left + np.diag(random))

    def criterion(self, deviations: Array, n: int) -> tuple[float, Array]:
        """Minus twice the restricted log-likelihood, up to a constant, and its gradient."""
        last = float(deviations[-1])
        matrix, scale = self.swept(deviations), self._scale(deviations)
        inverse = np.linalg.inv(matrix)
        column = inverse[:, -1]
        power = n - self.rank - 1
        shrunk = 1 + last**2 * self.counts
        value = self.cells @ np.log(shrunk) + np.linalg.slogdet(matrix)[1] - power * math.log(column[-1])
        kernel = self.inner - self._weighted(last**2 / shrunk)
        trace = np.einsum("jk,kj->j", inverse * scale, kernel)
        product = column * (kernel @ (scale * column))
        gradient = [2 * (trace[p].sum() + power * product[p].sum() / column[-1]) for p in self.places]
        change = -self._weighted(2 * last / shrunk**2) * scale * scale[:, None]
        slope = self.cells @ (2 * last * self.counts / shrunk) + (inverse * change).sum()
        gradient.append(slope + power * (column @ change @ column) / column[-1])
        return float(value), np.array(gradient)


@dataclass(frozen=True, eq=False)
class _Reml:
    """The fitted variances."""

    layout: Layout
    y: Array
    """The scores without their mean."""
    fixed: list[Space]
    random: dict[str, Space]
    deviations: Array
    """The standard deviation of each random term in units of that of the error; the eliminated term is last."""
    variance: float
    """Of the error."""
    equations: _Equations

    @classmethod
    def of(cls, layout: Layout, fixed: list[Space], random: dict[str, Space]) -> _Reml:
        y = layout.values - layout.values.mean()
        y = y - y.mean()
        order = sorted(random, key=lambda name: layout.cells(random[name])[1])
        equations = _Equations.of(layout, y, fixed, [random[name] for name in order])
        deviations = _minimised(equations, layout.n)
        rss = float(1 / np.linalg.inv(equations.swept(deviations))[-1, -1])
        variance = rss / (layout.n - equations.rank)
        return cls(layout, y, fixed, {name: random[name] for name in order}, deviations, variance, equations)

    @property
    def ratios(self) -> dict[str, float]:
        """The variance of each random term in units of that of the error."""
        return {name: float(x) ** 2 for name, x in zip(self.random, self.deviations, strict=True)}

    def rss(self, fixed: Sequence[Space]) -> tuple[float, int]:
        """The weighted residual sum of squares with other fixed spaces and the same variances, and their rank."""
        equations = _Equations.of(self.layout, self.y, fixed, list(self.random.values()))
        return float(1 / np.linalg.inv(equations.swept(self.deviations))[-1, -1]), equations.rank

    def means(self, model: Model, names: Sequence[str]) -> Means:
        """The estimated means of levels, with their covariance."""
        inside = self.layout.closure(names)
        codes, count = self.layout.cells(inside)
        first = np.unique(codes, return_index=True)[1]
        maximal = [space for space in self.fixed if not any(space < other for other in self.fixed)]
        line = model.averages(maximal, inside, first) @ self.equations.basis
        matrix = self.equations.swept(self.deviations)
        inverse = np.linalg.inv(matrix[:-1, :-1])
        size = self.equations.rank
        beta = (inverse @ matrix[:-1, -1])[:size]
        mean = line @ beta + float(self.layout.values.mean())
        covariance = self.variance * line @ inverse[:size, :size] @ line.T
        n = np.bincount(codes, minlength=count)
        return Means(tuple(names), model.levels(names, first), mean, n, covariance, False)


def _minimised(equations: _Equations, n: int) -> Array:
    """The standard deviations with the highest restricted likelihood."""
    optimize = need("scipy.optimize", "a model with random effects")
    size = len(equations.places) + 1
    best = None
    for start in (1.0, 0.1):
        minimum = optimize.minimize(
            equations.criterion,
            np.full(size, start),
            args=(n,),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None)] * size,
            options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 500},
        )
        if best is None or minimum.fun < best.fun:
            best = minimum
    assert best is not None
    deviations = np.where(best.x < _ZERO, 0.0, best.x)
    free = deviations > 0
    if free.any():
        # The minimum of a function is known to half the digits, the root of its gradient to all.
        def gradient(inner: Array) -> Array:
            return equations.criterion(_filled(free, inner), n)[1][free]

        root = optimize.root(gradient, deviations[free], tol=1e-14)
        polished = _filled(free, np.abs(root.x))
        if equations.criterion(polished, n)[0] <= equations.criterion(deviations, n)[0] + 1e-9:
            return polished
    return deviations


def _converged(equations: _Equations, n: int, deviations: Array) -> bool:
    """Whether the restricted likelihood is flat here, or falls from a variance of 0 on."""
    value, gradient = equations.criterion(deviations, n)
    slope = np.where(deviations > 0, np.abs(gradient) * deviations, np.maximum(-gradient, 0.0) * _ZERO)
    return bool(slope.max() <= 1e-5 * (1 + abs(value)))


def _filled(free: NDArray[np.bool_], values: Array) -> Array:
    deviations = np.zeros(len(free))
    deviations[free] = values
    return deviations

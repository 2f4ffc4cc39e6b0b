"""Linear models of scores by factors: sums of squares, degrees of freedom, means of levels.

The space of a term (`topic`, `stemmer:model`, `run(system)`) is spanned by the cells of its factors, so a term contains
every term whose factors are among its own. In a balanced layout the terms are orthogonal and are subtracted from the
scores one after another. Otherwise the model is fitted by least squares. The term with most cells is eliminated first
(Frisch & Waugh), so that 1,000 topics × 1,000 systems with missing scores need only a system of 1,000 equations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from cranfield.comparison.anova.factors import Codes, Layout
from cranfield.errors import UsageError
from cranfield.types import Array

SUMS = ("I", "II", "III")
"""Types of sums of squares: in sequence; after all terms that do not contain the term; after all other terms."""
_RANK = 1e-9
"""Eigenvalues below this share of the largest count as 0."""
_LARGE = 3000
"""The largest number of columns of a dense matrix."""


@dataclass(frozen=True)
class Term:
    """A source of variation."""

    name: str
    factors: frozenset[str]
    """Includes the factors in which they are nested."""
    sampled: bool
    """It has a nested factor, whose levels are a sample."""


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums of squares of the terms and of the error."""

    ss: tuple[float, ...]
    df: tuple[int, ...]
    error_ss: float
    error_df: int
    total_ss: float
    residuals: Array
    """In the order of the scores of the layout; in a balanced layout, in the order of its grid."""


def terms_of(layout: Layout, interactions: str | int | Iterable[str] = ()) -> tuple[Term, ...]:
    """All main effects, and the chosen interactions with all lower ones that they contain.

    `interactions` are names such as `"stemmer:model"` (also with `×` or `*`), `"all"` for every two factors, or a
    number: the largest number of factors that interact.
    """
    names = list(layout.factors)
    wanted: list[tuple[str, ...]] = [(name,) for name in names]
    if interactions == "all":
        interactions = 2
    if isinstance(interactions, int):
        if isinstance(interactions, bool) or interactions < 1:
            raise UsageError(f"interactions == {interactions!r}, must be names, 'all', or a number such as 2")
        wanted += [pair for size in range(2, interactions + 1) for pair in combinations(names, size)]
    else:
        texts = [interactions] if isinstance(interactions, str) else list(interactions)
        for text in (part for parts in texts for part in parts.split(",") if part.strip()):
            joined = tuple(dict.fromkeys(layout.factor(part.strip()).name for part in re.split(r"[:×*]", text)))
            if len(joined) < 2:
                example = repr(":".join(names[:2])) if len(names) > 1 else "'a:b'"
                raise UsageError(f"interaction {text.strip()!r} must join two factors or more, such as {example}")
            wanted += [subset for size in range(2, len(joined) + 1) for subset in combinations(joined, size)]
    terms: dict[frozenset[str], Term] = {}
    for chosen in wanted:
        inside = layout.closure(chosen)
        # A child with its own parent is not an interaction: the child already includes the parent.
        bare = [name for name in names if name in chosen and not any(name in layout.factors[c].parents for c in chosen)]
        if inside not in terms:
            parts = [
                f"{name}({', '.join(layout.factors[name].parents)})" if layout.factors[name].parents else name
                for name in bare
            ]
            terms[inside] = Term(":".join(parts), inside, any(layout.factors[name].parents for name in bare))
    return tuple(sorted(terms.values(), key=lambda term: (len(term.factors), sorted(map(names.index, term.factors)))))


@dataclass(frozen=True, eq=False)
class Model:
    """The terms of a layout."""

    layout: Layout
    terms: tuple[Term, ...]
    _fits: dict[frozenset[frozenset[str]], _Fit] = field(default_factory=dict, repr=False)

    def term(self, factors: Iterable[str]) -> Term | None:
        """The term of these factors; None if the model has no such term."""
        inside = self.layout.closure(factors)
        return next((term for term in self.terms if term.factors == inside), None)

    def error_of(self, term: Term) -> Term | None:
        """The term to test against: the smallest sampled term that contains this one; None is the residual."""
        above = [other for other in self.terms if other.sampled and term.factors < other.factors]
        return min(above, key=lambda other: len(other.factors), default=None)

    def sums(self, kind: str = "II") -> Sums:
        """Sums of squares of this type; in a balanced layout all types are the same."""
        return self._balanced() if self.layout.balanced else self._least_squares(kind)

    def residuals(self) -> Array:
        """What the model leaves of each score, in the order of the scores of the layout."""
        residuals = self.sums().residuals
        if not self.layout.balanced:
            return residuals
        out = np.empty_like(residuals)
        out[self.layout.grid_order()] = residuals
        return out

    # -- balanced

    def _balanced(self) -> Sums:
        names = list(self.layout.factors)
        left = self.layout.grid()
        left = left - left.mean()
        total = float((left**2).sum())
        ss, df = [], []
        known: dict[frozenset[str], int] = {}
        for term in self.terms:
            others = (*(axis for axis, name in enumerate(names) if name not in term.factors), left.ndim - 1)
            effect = left.mean(axis=others, keepdims=True)
            ss.append(float((effect**2).sum()) * left.size / effect.size)
            known[term.factors] = effect.size - 1 - sum(d for inside, d in known.items() if inside < term.factors)
            df.append(known[term.factors])
            left = left - effect
        return Sums(tuple(ss), tuple(df), float((left**2).sum()), left.size - 1 - sum(df), total, left.ravel())

    # -- least squares

    def _least_squares(self, kind: str) -> Sums:
        y = self.layout.values - self.layout.values.mean()
        spaces = [term.factors for term in self.terms]
        full = self._fit(frozenset(spaces))
        parts: list[tuple[float, int]] = []
        for i, space in enumerate(spaces):
            if kind == "III" and any(space < other for other in spaces):
                parts.append(self._marginal(i))
                continue
            others = spaces[:i] if kind == "I" else [other for other in spaces if not space <= other]
            without, with_it = self._fit(frozenset(others)), self._fit(frozenset([*others, space]))
            parts.append((max(0.0, without.rss - with_it.rss), with_it.rank - without.rank))
        ss, df = tuple(part[0] for part in parts), tuple(part[1] for part in parts)
        return Sums(ss, df, full.rss, self.layout.n - full.rank, float(y @ y), full.residuals)

    def _fit(self, spaces: frozenset[frozenset[str]]) -> _Fit:
        """The model with these spaces; a space within another adds nothing."""
        largest = frozenset(space for space in spaces if not any(space < other for other in spaces))
        if largest not in self._fits:
            cells = [self.layout.cells(space) for space in largest]
            y = self.layout.values - self.layout.values.mean()
            self._fits[largest] = _fitted(y, sorted(cells, key=lambda cell: -cell[1]))
        return self._fits[largest]

    def _marginal(self, which: int) -> tuple[float, int]:
        """The sum of squares of a term after all others, also those that contain it, by effect coding (type III)."""
        layout = self.layout
        every = layout.closure(layout.factors)
        codes, count = layout.cells(every)
        first = np.unique(codes, return_index=True)[1]
        weight = np.bincount(codes, minlength=count).astype(np.float64)
        means = np.bincount(codes, layout.values, minlength=count) / weight
        blocks = [_effects(layout, term, first) for term in self.terms]
        if sum(block.shape[1] for block in blocks) > _LARGE:
            wide = sum(block.shape[1] for block in blocks)
            raise UsageError(f"type == 'III' with {wide:,} columns is too large (at most {_LARGE:,}); use type='II'")
        root = np.sqrt(weight)[:, None]
        y = root[:, 0] * (means - means @ weight / weight.sum())

        def rss(parts: list[Array]) -> tuple[float, int]:
            x = np.hstack([np.ones((count, 1)), *parts]) * root
            beta, _, rank, _ = np.linalg.lstsq(x, y, rcond=_RANK)
            return float(((y - x @ beta) ** 2).sum()), int(rank)

        whole, rank = rss(blocks)
        without, lower = rss(blocks[:which] + blocks[which + 1 :])
        return max(0.0, without - whole), rank - lower

    # -- means of levels

    def means(self, names: Sequence[str]) -> Means:
        """The mean of every level of a factor, or of every combination of several.

        If the layout is not balanced, these are least-squares means: each level as if it had scores in all cells.
        """
        inside = self.layout.closure(names)
        codes, count = self.layout.cells(inside)
        n = np.bincount(codes, minlength=count)
        first = np.unique(codes, return_index=True)[1]
        levels = self.levels(names, first)
        plain = np.bincount(codes, self.layout.values, minlength=count) / n
        if self.layout.balanced or any(len(term.factors) > 1 and self.holes(term) for term in self.terms):
            return Means(tuple(names), levels, plain, n, np.diag(1.0 / n), not self.layout.balanced)
        spaces = [term.factors for term in self.terms]
        largest = [space for space in spaces if not any(space < other for other in spaces)]
        cells = [self.layout.cells(space) for space in largest]
        if sum(size for _, size in cells) > _LARGE:
            return Means(tuple(names), levels, plain, n, np.diag(1.0 / n), True)
        gram = np.block([[joint_counts(a, b) for b in cells] for a in cells])
        inverse = _pseudo_inverse(gram)[0]
        beta = inverse @ np.concatenate([np.bincount(c, self.layout.values, minlength=k) for c, k in cells])
        line = self.averages(largest, inside, first)
        return Means(tuple(names), levels, line @ beta, n, line @ inverse @ line.T, False)

    def levels(self, names: Sequence[str], scores: Codes) -> tuple[tuple[str, ...], ...]:
        """The levels of these factors in some of the scores."""
        factors = [self.layout.factors[name] for name in names]
        return tuple(tuple(factor.levels[int(factor.codes[i])] for factor in factors) for i in scores)

    def averages(self, spaces: Sequence[frozenset[str]], inside: frozenset[str], first: Codes) -> Array:
        """The weight of every cell of the spaces in the mean of a level.

        `first` has a score of every level of the factors `inside`. A mean is over the cells that occur with each level
        of the shared factors.
        """
        weights = []
        for space in spaces:
            cell = self.layout.cells(space)
            shared = space & inside
            if not shared:
                weights.append(np.full((len(first), cell[1]), 1.0 / cell[1]))
                continue
            joint = self.layout.cells(shared)
            occurs = (joint_counts(joint, cell) > 0).astype(np.float64)
            weights.append((occurs / occurs.sum(axis=1, keepdims=True))[joint[0][first]])
        return np.hstack(weights)

    def holes(self, term: Term) -> bool:
        """Whether some combination of levels of an interaction has no score."""
        flat = [self.layout.factors[name] for name in term.factors if not self.layout.factors[name].parents]
        whole = frozenset(factor.name for factor in flat)
        return self.layout.cells(whole)[1] < math.prod(len(factor.levels) for factor in flat)


@dataclass(frozen=True, eq=False)
class Means:
    """The means of levels, the number of scores behind each, and their covariance in units of the error variance."""

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    mean: Array
    n: Codes
    covariance: Array
    raw: bool
    """The layout is not balanced, and the means are not adjusted."""

    def difference_variance(self, first: Codes, second: Codes) -> Array:
        """The variance of differences of two means, in units of the error variance."""
        own = np.diag(self.covariance)
        return np.asarray(own[first] + own[second] - 2 * self.covariance[first, second])


@dataclass(frozen=True, eq=False)
class _Fit:
    rss: float
    rank: int
    residuals: Array


def _fitted(y: Array, cells: Sequence[tuple[Codes, int]]) -> _Fit:
    """Least squares of centred y on cells, after elimination of the first."""
    if not cells:
        return _Fit(float(y @ y), 1, y)
    base, size = cells[0]
    counts = np.bincount(base, minlength=size).astype(np.float64)

    def swept(x: Array) -> Array:
        return np.asarray(x - (np.bincount(base, x, minlength=size) / counts)[base])

    left = swept(y)
    others = cells[1:]
    if not others:
        return _Fit(float(left @ left), size, left)
    crossed = np.vstack([joint_counts(cell, cells[0]) for cell in others])
    gram = np.block([[joint_counts(a, b) for b in others] for a in others]) - (crossed / counts) @ crossed.T
    inverse, rank = _pseudo_inverse(gram)
    beta = inverse @ np.concatenate([np.bincount(codes, left, minlength=k) for codes, k in others])
    starts = np.cumsum([0, *(k for _, k in others)])
    fit = np.zeros(len(y))
    for (codes, _), start in zip(others, starts, strict=False):
        fit += beta[start + codes]
    left = left - swept(fit)
    return _Fit(float(left @ left), size + rank, left)


def joint_counts(a: tuple[Codes, int], b: tuple[Codes, int]) -> Array:
    """The number of scores in each combination of two cells."""
    together = np.bincount(a[0] * b[1] + b[0], minlength=a[1] * b[1])
    return together.reshape(a[1], b[1]).astype(np.float64)


def _pseudo_inverse(gram: Array) -> tuple[Array, int]:
    values, vectors = np.linalg.eigh(gram)
    # Not relative to the diagonal before elimination: all that is left may be rounding.
    kept = values > _RANK * max(float(values[-1]), 1.0)
    part = vectors[:, kept]
    return (part / values[kept]) @ part.T, int(kept.sum())


def _effects(layout: Layout, term: Term, rows: Codes) -> Array:
    """The columns of a term under sum-to-zero coding, for some of the scores."""
    block = np.ones((len(rows), 1))
    hidden = {p for name in term.factors for p in layout.factors[name].parents}
    for name in (name for name in layout.factors if name in term.factors):
        factor = layout.factors[name]
        if name in hidden:
            continue
        if factor.parents:
            owner, owners = layout.cells(frozenset(factor.parents))
            part = np.hstack([_sum_coded(factor.codes[rows], owner[rows] == number) for number in range(owners)])
        else:
            part = _sum_coded(factor.codes[rows], np.ones(len(rows), dtype=bool))
        block = (block[:, :, None] * part[:, None, :]).reshape(len(rows), -1)
    return block


def _sum_coded(codes: Codes, selected: Array) -> Array:
    """1 for a level, −1 for the last level, 0 for others; 0 for scores outside the selection."""
    size = int(codes[np.asarray(selected, dtype=bool)].max(initial=0)) + 1
    coded = np.vstack([np.eye(size - 1), -np.ones(size - 1)])
    return np.where(np.asarray(selected, dtype=bool)[:, None], coded[np.minimum(codes, size - 1)], 0.0)

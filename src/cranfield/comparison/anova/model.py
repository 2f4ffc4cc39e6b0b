"""Linear models of scores with factors only: sums of squares, degrees of freedom, means of levels.

The space of a term (`topic`, `stemmer:model`, `run(system)`) is spanned by the cells of its factors, so a term takes
in every term whose factors are among its own. In a balanced layout the terms are orthogonal and are swept out of the
scores one after another; otherwise it is least squares, with the term that has most cells eliminated first (Frisch &
Waugh), so that 1,000 topics × 1,000 systems with holes need one system of 1,000 equations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from cranfield.comparison.anova.layout import Codes, Layout
from cranfield.errors import UsageError
from cranfield.types import Array

SUMS = ("I", "II", "III")
"""Types of sums of squares: in sequence; each after all terms that do not contain it; each after all others."""
_RANK = 1e-9
"""Eigenvalues below this share of the largest are 0: a direction that the data do not tell."""
_LARGE = 3000
"""More columns than this are not put into one dense matrix."""


@dataclass(frozen=True)
class Term:
    """A source of variation."""

    name: str
    factors: frozenset[str]
    """With those it is nested in."""
    sampled: bool
    """It has a nested factor, whose levels are a sample of what its parents might have had."""


@dataclass(frozen=True, eq=False)
class Sums:
    """What each term explains, and what none does."""

    ss: tuple[float, ...]
    df: tuple[int, ...]
    error_ss: float
    error_df: int
    total_ss: float
    residuals: Array
    """In the order of the layout's scores; in a balanced layout, that of its grid."""


def terms_of(layout: Layout, interactions: str | int | Iterable[str] = ()) -> tuple[Term, ...]:
    """All main effects and the interactions asked for, with the lower ones that these take for granted.

    `interactions`: names such as `"stemmer:model"` (also `×` or `*`), `"all"` for every two factors, or up to how many
    factors interact, as a number.
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
        listed = [interactions] if isinstance(interactions, str) else list(interactions)
        for text in (one for whole in listed for one in whole.split(",") if one.strip()):
            several = tuple(dict.fromkeys(layout.factor(part.strip()).name for part in re.split(r"[:×*]", text)))
            if len(several) < 2:
                raise UsageError(
                    f"interaction {text.strip()!r} must join two factors or more, such as {_example(names)}"
                )
            wanted += [some for size in range(2, len(several) + 1) for some in combinations(several, size)]
    found: dict[frozenset[str], Term] = {}
    for chosen in wanted:
        inside = layout.closure(chosen)
        # A child with its own parent is no interaction: the child is nothing without it.
        bare = [name for name in names if name in chosen and not any(name in layout.factors[c].parents for c in chosen)]
        if inside not in found:
            told = [
                f"{name}({', '.join(layout.factors[name].parents)})" if layout.factors[name].parents else name
                for name in bare
            ]
            found[inside] = Term(":".join(told), inside, any(layout.factors[name].parents for name in bare))
    return tuple(sorted(found.values(), key=lambda term: _order(term, names)))


def _order(term: Term, names: Sequence[str]) -> tuple[int, list[int]]:
    return len(term.factors), sorted(names.index(name) for name in term.factors)


def _example(names: Sequence[str]) -> str:
    return repr(":".join(names[:2])) if len(names) > 1 else "'a:b'"


@dataclass(frozen=True, eq=False)
class Model:
    """Terms on a layout."""

    layout: Layout
    terms: tuple[Term, ...]

    def term(self, factors: Iterable[str]) -> Term | None:
        """The term of these factors, if the model has it."""
        inside = self.layout.closure(factors)
        return next((term for term in self.terms if term.factors == inside), None)

    def term_names(self) -> str:
        return ", ".join(term.name for term in self.terms)

    def error_of(self, term: Term) -> Term | None:
        """What a term is tested against: the smallest sampled term that contains it; None is the residual."""
        above = [other for other in self.terms if other.sampled and term.factors < other.factors]
        return min(above, key=lambda other: len(other.factors), default=None)

    def sums(self, kind: str = "II") -> Sums:
        """Sums of squares of the type asked for; in a balanced layout all types are the same."""
        return self._balanced() if self.layout.balanced else self._least_squares(kind)

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
        ss, df = [], []
        for i, space in enumerate(spaces):
            if kind == "III" and any(space < other for other in spaces):
                one, rank = self._marginal(i)
                ss.append(one)
                df.append(rank)
                continue
            others = spaces[:i] if kind == "I" else [other for other in spaces if not space <= other]
            without, with_it = self._fit(frozenset(others)), self._fit(frozenset([*others, space]))
            ss.append(max(0.0, without.rss - with_it.rss))
            df.append(with_it.rank - without.rank)
        return Sums(tuple(ss), tuple(df), full.rss, self.layout.n - full.rank, float(y @ y), full.residuals)

    @cached_property
    def _fits(self) -> dict[frozenset[frozenset[str]], _Fit]:
        return {}

    def _fit(self, spaces: frozenset[frozenset[str]]) -> _Fit:
        """The model with these spaces; those within others add nothing."""
        largest = frozenset(one for one in spaces if not any(one < other for other in spaces))
        if largest not in self._fits:
            cells = [self.layout.cells(one) for one in largest]
            y = self.layout.values - self.layout.values.mean()
            self._fits[largest] = _fitted(y, sorted(cells, key=lambda cell: -cell[1]))
        return self._fits[largest]

    def _marginal(self, which: int) -> tuple[float, int]:
        """A term after all others, those that contain it too, by effect coding (type III)."""
        layout = self.layout
        every = layout.closure(layout.factors)
        codes, count = layout.cells(every)
        first = np.unique(codes, return_index=True)[1]
        weight = np.bincount(codes, minlength=count).astype(np.float64)
        means = np.bincount(codes, layout.values, minlength=count) / weight
        blocks = [_effects(layout, term, first) for term in self.terms]
        if sum(block.shape[1] for block in blocks) > _LARGE:
            wide = sum(block.shape[1] for block in blocks)
            raise UsageError(
                f"type == 'III' with {wide:,} columns is too large here (at most {_LARGE:,}); take type='II'"
            )
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

        In a layout that is not balanced, the least-squares means: every level as if it had been tried in all cells.
        """
        inside = self.layout.closure(names)
        codes, count = self.layout.cells(inside)
        n = np.bincount(codes, minlength=count)
        first = np.unique(codes, return_index=True)[1]
        levels = tuple(
            tuple(self.layout.factors[name].levels[int(self.layout.factors[name].codes[i])] for name in names)
            for i in first
        )
        plain = np.bincount(codes, self.layout.values, minlength=count) / n
        if self.layout.balanced or any(len(term.factors) > 1 and self.holes(term) for term in self.terms):
            return Means(tuple(names), levels, plain, n, np.diag(1.0 / n), not self.layout.balanced)
        return self._adjusted(tuple(names), inside, levels, plain, n)

    def holes(self, term: Term) -> bool:
        """Some combination of levels of an interaction was never tried."""
        flat = [self.layout.factors[name] for name in term.factors if not self.layout.factors[name].parents]
        whole = frozenset(factor.name for factor in flat)
        count = 1
        for factor in flat:
            count *= len(factor.levels)
        return self.layout.cells(whole)[1] < count

    def _adjusted(
        self,
        names: tuple[str, ...],
        inside: frozenset[str],
        levels: tuple[tuple[str, ...], ...],
        plain: Array,
        n: Codes,
    ) -> Means:
        spaces = [term.factors for term in self.terms]
        largest = [one for one in spaces if not any(one < other for other in spaces)]
        cells = [self.layout.cells(one) for one in largest]
        if sum(count for _, count in cells) > _LARGE:
            return Means(names, levels, plain, n, np.diag(1.0 / n), True)
        gram = np.block([[_counts(a, b) for b in cells] for a in cells])
        inverse = _pseudo_inverse(gram)[0]
        beta = inverse @ np.concatenate([np.bincount(c, self.layout.values, minlength=k) for c, k in cells])
        codes, count = self.layout.cells(inside)
        weights = []
        for space, cell in zip(largest, cells, strict=True):
            # Each cell once for each level it occurs with in the factors it shares with those asked for.
            shared = space & inside
            if not shared:
                weights.append(np.full((count, cell[1]), 1.0 / cell[1]))
                continue
            joint = self.layout.cells(shared)
            there = (_counts(joint, cell) > 0).astype(np.float64)
            of_level = np.empty(count, dtype=np.int64)
            of_level[codes] = joint[0]
            weights.append((there / there.sum(axis=1, keepdims=True))[of_level])
        line = np.hstack(weights)
        return Means(names, levels, line @ beta, n, line @ inverse @ line.T, False)


@dataclass(frozen=True, eq=False)
class Means:
    """The means of levels, how many scores each rests on, and their covariance in units of the error variance."""

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    mean: Array
    n: Codes
    covariance: Array
    raw: bool
    """Not balanced, and not adjusted for it either."""

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
    """Least squares of centred y on cells, the first of them eliminated."""
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
    crossed = np.vstack([_counts(one, cells[0]) for one in others])
    gram = np.block([[_counts(a, b) for b in others] for a in others]) - (crossed / counts) @ crossed.T
    inverse, rank = _pseudo_inverse(gram)
    beta = inverse @ np.concatenate([np.bincount(codes, left, minlength=k) for codes, k in others])
    starts = np.cumsum([0, *(k for _, k in others)])
    told = np.zeros(len(y))
    for (codes, _), start in zip(others, starts, strict=False):
        told += beta[start + codes]
    left = left - swept(told)
    return _Fit(float(left @ left), size + rank, left)


def _counts(a: tuple[Codes, int], b: tuple[Codes, int]) -> Array:
    """How often each two cells occur together."""
    together = np.bincount(a[0] * b[1] + b[0], minlength=a[1] * b[1])
    return together.reshape(a[1], b[1]).astype(np.float64)


def _pseudo_inverse(gram: Array) -> tuple[Array, int]:
    """The inverse where there is one, and the rank."""
    values, vectors = np.linalg.eigh(gram)
    # Compared with the diagonal before elimination would be too strict: what is left may all be rounding.
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
            part = np.hstack([_sum_coded(factor.codes[rows], owner[rows] == one) for one in range(owners)])
        else:
            part = _sum_coded(factor.codes[rows], np.ones(len(rows), dtype=bool))
        block = (block[:, :, None] * part[:, None, :]).reshape(len(rows), -1)
    return block


def _sum_coded(codes: Codes, mine: Array) -> Array:
    """1 for a level, −1 for the last, 0 for others and for scores that are not meant."""
    size = int(codes[np.asarray(mine, dtype=bool)].max(initial=0)) + 1
    coded = np.vstack([np.eye(size - 1), -np.ones(size - 1)])
    return np.where(np.asarray(mine, dtype=bool)[:, None], coded[np.minimum(codes, size - 1)], 0.0)

"""Is a statement about scores meaningful? Does it stay true under every transformation that the scale permits?

An ordinal scale permits every increasing transformation, an interval scale only a change of unit and zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.data import noise
from cranfield.declared.operation import ALPHA, about, operation
from cranfield.evaluation.evaluator import MeasuresLike
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.frames import need
from cranfield.measures.property_tables import scale_of
from cranfield.meta.agreement.coefficients import tau_b
from cranfield.meta.complete_scores import CompleteScores, Levels, levels_of, mean_ranks
from cranfield.notes import method_note
from cranfield.record import Columns, Record, labels
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Table, headings
from cranfield.text import counted
from cranfield.types import Array, Index64

MOST_THRESHOLDS = 99
SMALL = 1e-9
"""What keeps a threshold strictly increasing: f(x) is 0 or 1, plus x times this."""
POWERS = (0.25, 0.5, 2.0, 4.0)
ORIGINAL = "the scores"
_BLOCK = 2_000_000
"""The number of scores in memory at once; it does not change results."""


@dataclass(frozen=True, eq=False)
class Transformed:
    """Scores of one measure under increasing transformations."""

    names: tuple[str, ...]
    values: Array
    """transformations × systems × topics; the first are the scores themselves."""


def transformations(values: Array, ordinal: bool = True) -> Transformed:
    """The scores (systems × topics) under increasing transformations: powers, a logarithm, ranks and thresholds.

    A threshold counts the topics above a score. Its mean is the share of these topics, so a threshold shows any change
    of the order of two means that is possible. An interval scale permits none of them.

    >>> made = transformations(np.array([[0.1, 0.9], [0.4, 0.5]]))
    >>> made.names[:2], made.names[-1]
    (('the scores', 'x^0.25'), 'scores above 0.5')
    """
    names, parts = [ORIGINAL], [values]
    low, high = float(values.min()), float(values.max())
    if ordinal and high > low:
        unit = (values - low) / (high - low)
        for power in POWERS:
            names.append(f"x^{power:g}")
            parts.append(unit**power)
        names.append("log(x + 0.01)")
        parts.append(np.log(unit + 0.01))
        levels = levels_of(values.ravel(), noise(values))
        names.append("ranks")
        parts.append(mean_ranks(levels).reshape(values.shape))
        limits = _tops(values, levels)[:-1]
        if len(limits) > MOST_THRESHOLDS:
            limits = limits[np.linspace(0, len(limits) - 1, MOST_THRESHOLDS).astype(np.int64)]
        for limit in limits.tolist():
            names.append(f"scores above {limit:.4g}")
            parts.append((values > limit) + SMALL * unit)
    return Transformed(tuple(names), np.stack(parts))


@dataclass(frozen=True, eq=False, repr=False)
class Meaningfulness(Record):
    """Which statements survive every permissible transformation, with a counter-example for those that do not."""

    figure = "meaningful_figure"
    facts = ("alpha", "topics")

    measures: tuple[str, ...]
    scales: tuple[str, ...]
    """For each measure: `interval`; else its conditions, `not interval` or `unknown`, treated as not interval."""
    measure: NDArray[Any]
    better: NDArray[Any]
    worse: NDArray[Any]
    """A row per measure and pair of systems whose means differ."""
    difference: Array
    holds: NDArray[np.bool_]
    """The better system stays better under every permissible transformation."""
    limit: Array
    """Where it does not: the score above which the worse system has more topics."""
    share_better: Array
    share_worse: Array
    anova: Array
    """measures × 3: p of the systems in the two-way analysis of variance, on the scores, lowest and highest."""
    anova_at: NDArray[Any]
    """measures × 2: the transformations with the lowest and the highest p."""
    tau: Array
    """pairs of measures × 3: Kendall's τ_b of the rankings of systems, on the scores, lowest and highest."""
    tau_at: NDArray[Any]
    """pairs of measures × 4: the transformations of both measures with the lowest and with the highest τ."""
    alpha: float
    topics: int
    notes: tuple[str, ...]

    def columns(self) -> Columns:
        """measure, better, worse, difference, holds, counter-example and the shares of topics: a row per pair."""
        words = [
            f"scores above {limit:.4g}" if not held else "" for held, limit in zip(self.holds, self.limit, strict=True)
        ]
        return {
            "measure": self.measure,
            "better": self.better,
            "worse": self.worse,
            "difference": self.difference,
            "holds": self.holds,
            "counter-example": labels(words) if words else np.empty(0, dtype=object),
            "share of better": self.share_better,
            "share of worse": self.share_worse,
        }

    def table(self) -> Table:
        """A row per measure: pairs whose order holds, and the p-values of the analysis of variance."""
        rows: list[tuple[Cell, ...]] = []
        for number, name in enumerate(self.measures):
            mine = self.measure == name
            held, pairs = int(self.holds[mine].sum()), int(mine.sum())
            p, low, high = self.anova[number].tolist()
            changes = (low <= self.alpha) != (high <= self.alpha)
            away = self.anova_at[number, 1 if p <= self.alpha else 0] if changes else ""
            rows.append((name, self.scales[number], pairs, held, p, low, high, away))
        heads = (
            *headings("text", "measure", "scale"),
            *headings("count", "A beats B", "holds on any"),
            *headings("probability", "ANOVA p", "lowest p", "highest p"),
            *headings("text", "verdict changes by"),
        )
        return Table(heads, tuple(rows), "Statements that survive every permissible transformation", self.notes)

    def correlations(self) -> Table:
        """A row per pair of measures: τ on the scores, and the lowest and highest under transformations."""
        first, second = np.triu_indices(len(self.measures), 1)
        rows: list[tuple[Cell, ...]] = []
        for number, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            low = " and ".join(self.tau_at[number, :2].tolist())
            high = " and ".join(self.tau_at[number, 2:].tolist())
            tau = self.tau[number].tolist()
            rows.append((self.measures[i], self.measures[j], tau[0], tau[1], low, tau[2], high))
        heads = (
            *headings("text", "measure", "other"), *headings("number", "tau-b", "lowest"), *headings("text", "by"),
            *headings("number", "highest"), *headings("text", "by "),
        )  # fmt: skip
        return Table(heads, tuple(rows), "Correlation of two rankings of systems under transformations")


@takes_runs
@operation
def meaningfulness(
    scores: Scores,
    measures: MeasuresLike | None = None,
    *,
    alpha: Annotated[float, about("Significance level of the analysis of variance.", **ALPHA)] = 0.05,
) -> Meaningfulness:
    r"""Which statements about systems survive every transformation of the scores that their scale permits?

    For a measure that is not on an interval scale, every increasing transformation is permitted. Three statements are
    examined. *A beats B*: the mean of A is higher. This holds under every increasing transformation if, and only if, at
    least as many topics of A as of B are above every score (A dominates B). Otherwise the counter-example is a score
    above which B has more topics: f(x) = [x > t] + 10⁻⁹ x increases, and reverses the means. *Systems differ*: the
    verdict of the two-way analysis of variance at `alpha`. *Two measures rank systems alike*: Kendall's τ_b of their
    rankings. For the last two, powers, a logarithm, ranks and up to 99 thresholds are tried, so a change is proved by
    its transformation, while its absence is not.

    A measure on an interval scale permits only a change of unit and zero, under which all three statements hold.

    References: Ferrante, Ferro & Fuhr, IEEE Access 9, 2021, doi:10.1109/ACCESS.2021.3116857; Ferro & Maistro 2024 §7;
    Stevens, Science 103, 1946

    >>> values = [[0.1, 0.2, 0.9], [0.3, 0.5, 0.2], [0.2, 0.4, 0.0], [0.4, 0.6, 0.3]]
    >>> result = meaningfulness(Scores.from_matrix(values, ["a", "b", "c"], measure="AP"))
    >>> list(zip(result.better, result.worse, result.holds.tolist(), result.limit.tolist()))
    [('b', 'a', True, nan), ('c', 'a', False, 0.0), ('b', 'c', False, 0.6)]
    """
    complete = CompleteScores.of(scores, "meaningfulness", measures, least_systems=2, least_measures=1)
    scales = tuple("interval" if (scale := scale_of(name)).holds else scale.words for name in complete.measures)
    made = [transformations(values, s != "interval") for values, s in zip(complete.values, scales, strict=True)]
    pairs = [_pairs(values, s != "interval") for values, s in zip(complete.values, scales, strict=True)]
    names, count = labels(complete.runs), [len(part[0]) for part in pairs]
    better, worse, difference, holds, limit, of_better, of_worse = (
        np.concatenate(part) for part in zip(*pairs, strict=True)
    )
    anova = [_anova(part.values) for part in made]
    tried = max(len(part.names) for part in made)
    notes = [
        "holds on any: A stays better than B under every permissible transformation, because it dominates B, or the "
        "scale is an interval scale",
        method_note(
            f"ANOVA: systems in the two-way analysis of variance, α = {alpha:g}; lowest and highest p of "
            f"{counted(tried, 'transformation')}"
        ),
        *complete.notes,
    ]
    if "interval" in scales:
        notes.insert(0, "an interval scale permits only a change of unit and zero, which changes none of these")
    tau, tau_at = _correlations(made)
    return Meaningfulness(
        complete.measures, scales, np.repeat(labels(complete.measures), count), names[better], names[worse], difference,
        holds.astype(bool), limit, of_better, of_worse,
        np.array([[p[0], p.min(), p.max()] for p in anova]),
        np.array([[x.names[p.argmin()], x.names[p.argmax()]] for x, p in zip(made, anova, strict=True)], object),
        tau, tau_at, alpha, len(complete.topics), tuple(notes),
    )  # fmt: skip


def _pairs(values: Array, ordinal: bool) -> tuple[Index64, Index64, Array, Array, Array, Array, Array]:
    """Every pair of systems (systems × topics) whose means differ: better, worse, and whether that always holds."""
    means, close = values.mean(axis=1), noise(values)
    first, second = np.triu_indices(len(values), 1)
    apart = np.abs(means[first] - means[second]) > close
    first, second = first[apart], second[apart]
    turn = means[first] < means[second]
    better, worse = np.where(turn, second, first), np.where(turn, first, second)
    limit = np.full(len(better), np.nan)
    shares = np.full((2, len(better)), np.nan)
    n = values.shape[1]
    levels = levels_of(values.ravel(), close).reshape(values.shape)
    top, ordered = _tops(values, levels), np.sort(levels, axis=1)
    step = max(1, _BLOCK // n)
    for begin in range(0, len(better) if ordinal else 0, step):
        block = slice(begin, begin + step)
        of_better, of_worse = ordered[better[block]], ordered[worse[block]]
        place = (of_worse - of_better).argmax(axis=1)[
            :, None
        ]  # where the sorted scores of the worse system are furthest ahead
        at, ahead = (np.take_along_axis(side, place, axis=1) for side in (of_better, of_worse))
        reversible = (ahead > at)[:, 0]
        limit[block] = np.where(reversible, top[at[:, 0]], np.nan)
        above = np.stack([(side > at).mean(axis=1) for side in (of_better, of_worse)])
        shares[:, block] = np.where(reversible, above, np.nan)
    return better, worse, means[better] - means[worse], np.isnan(limit), limit, *shares


def _tops(values: Array, levels: Levels) -> Array:
    """The highest value of each level."""
    order = np.argsort(values, axis=None, kind="stable")
    top = np.empty(int(levels.max(initial=0)) + 1)
    top[levels.ravel()[order]] = values.ravel()[order]  # of several, the last one stays
    return top


def _anova(values: Array) -> Array:
    """For each transformation (× systems × topics), p of the systems in the two-way analysis of variance."""
    _, systems, topics = values.shape
    centred = values - values.mean(axis=(1, 2), keepdims=True)
    of_system, of_topic = centred.mean(axis=2), centred.mean(axis=1)
    between = topics * (of_system**2).sum(axis=1)
    rest = ((centred - of_system[:, :, None] - of_topic[:, None, :]) ** 2).sum(axis=(1, 2))
    df, df_error = systems - 1, (systems - 1) * (topics - 1)
    scale = (centred**2).sum(axis=(1, 2))
    same = between <= 1e-12 * scale
    with np.errstate(divide="ignore", invalid="ignore"):
        f = (between / df) / (rest / df_error)
    special = need("scipy.special", "meaningfulness")
    return np.asarray(np.where(same, 1.0, np.where(rest <= 1e-12 * scale, 0.0, special.fdtrc(df, df_error, f))))


def _correlations(made: Sequence[Transformed]) -> tuple[Array, NDArray[Any]]:
    """For every pair of measures, τ_b on the scores, the lowest and the highest, and by which transformations."""
    levels = [np.stack([levels_of(values.mean(axis=1), noise(values)) for values in part.values]) for part in made]
    pairs = [(i, j) for i in range(len(made)) for j in range(i + 1, len(made))]
    tau = np.full((len(pairs), 3), np.nan)
    at = np.full((len(pairs), 4), "", dtype=object)
    for number, (i, j) in enumerate(pairs):
        matrix = tau_b(np.concatenate([levels[i], levels[j]]))[: len(levels[i]), len(levels[i]) :]
        if np.isnan(matrix).all():
            continue
        tau[number] = matrix[0, 0], np.nanmin(matrix), np.nanmax(matrix)
        for side, place in enumerate((np.nanargmin(matrix), np.nanargmax(matrix))):
            row, column = np.unravel_index(place, matrix.shape)
            at[number, 2 * side : 2 * side + 2] = made[i].names[row], made[j].names[column]
    return tau, at

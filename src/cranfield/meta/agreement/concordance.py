"""Which of two measures agrees with what we want: with a simple measure of it, or with people who saw both lists?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cranfield.check import index_of
from cranfield.collection.source import PathLike
from cranfield.collection.tables.rows import Rows
from cranfield.collection.tables.table_schema import TOPIC, Schema, Words
from cranfield.comparison.data import gap
from cranfield.comparison.distributions import sign_p
from cranfield.declared.operation import RESAMPLES, Level, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasureLike, MeasuresLike
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.measures.property_tables import lower_is_better
from cranfield.meta.agreement.coefficients import products
from cranfield.meta.complete_scores import CompleteScores, central_interval, divided, names_of, resampled_topics
from cranfield.notes import Notes, method_note
from cranfield.record import Columns, Record, column, labels, table_of, upper_triangle
from cranfield.scores.scores import Scores
from cranfield.table import Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress, report

Counts = NDArray[np.int64]

MARKS = ((0.01, "‡"), (0.05, "†"))
"""As in Sakai 2013 Table 6."""
AND = " AND "
_BLOCK = 1_000_000
"""Number of signs held at a time, over all measures, to bound memory; it does not change the result."""


@dataclass(frozen=True, eq=False, repr=False)
class Concordance(Record):
    """Counts over pairs of runs and topics, measures × measures: the row's measure against the column's.

    The first axis of arrays that depend on the gold standard is the gold standard.
    """

    figure = "describe_concordance"
    facts = ("compared", "runs", "topics")

    measures: tuple[str, ...]
    golds: tuple[str, ...]
    """The gold standards: each alone, and if there are several, all together: `I-rec@10 AND P@10`."""
    disagreements: Counts
    """Pairs of lists that the two measures order in opposite ways."""
    concordant: Counts
    """Disagreements in which the row's measure agrees with the gold standard, or the gold standard ties."""
    wins: Counts
    """Disagreements in which the row's measure is concordant and the column's is not."""
    compared: int
    """The number of pairs of lists."""
    runs: int
    topics: int
    notes: tuple[str, ...]

    @property
    def shares(self) -> Array:
        """gold × measures × measures: Conc(row | column, gold); NaN where the two never disagree."""
        return divided(self.concordant, self.disagreements)

    @property
    def p(self) -> Array:
        """gold × measures × measures: two-sided sign test of wins against losses."""
        wins = self.wins.astype(np.float64)
        return np.asarray(sign_p(wins, np.swapaxes(wins, 1, 2), "two-sided"))

    def columns(self) -> Columns:
        """gold, measure, other, disagreements, concordance, other concordance, wins, losses, both, neither, p."""
        i, j = np.triu_indices(len(self.measures), 1)
        g, pair = np.indices((len(self.golds), len(i))).reshape(2, -1)
        i, j = i[pair], j[pair]
        names = labels(self.measures)
        wins, losses = self.wins[g, i, j], self.wins[g, j, i]
        both = self.concordant[g, i, j] - wins
        return {
            "gold": labels(self.golds)[g],
            "measure": names[i],
            "other": names[j],
            "disagreements": self.disagreements[i, j],
            "concordance": self.shares[g, i, j],
            "other concordance": self.shares[g, j, i],
            "wins": wins,
            "losses": losses,
            "both": both,
            "neither": self.disagreements[i, j] - wins - losses - both,
            "p": self.p[g, i, j],
        }

    def table(self, gold: str | None = None) -> Table:
        """As Sakai 2014 Table 2: concordance of row and column, the sign test's mark, and the disagreements.

        `gold` is one of `golds`; the default is the last one, which is all gold standards together.
        """
        g = index_of(self.golds[-1] if gold is None else gold, self.golds, "gold standard")
        shares, p = self.shares[g], self.p[g]

        def cell(i: int, j: int) -> str:
            if not self.disagreements[i, j]:
                return "(0)"
            mark = next((mark for alpha, mark in MARKS if p[i, j] < alpha), "")
            return f"{shares[i, j]:.1%}/{shares[j, i]:.1%}{mark} ({self.disagreements[i, j]})"

        return upper_triangle(self.measures, cell, f"Concordance with {self.golds[g]}", self.notes)

    def pairs(self) -> Table:
        """A row per gold standard and pair of measures."""
        return table_of(self.columns(), notes=self.notes, caption="Concordance")


@takes_runs
@operation
def concord(
    scores: Scores,
    gold: Annotated[
        MeasureLike | Iterable[MeasureLike],
        about(
            "The gold standard: a simple measure of what is wanted. With several: each alone, and all at once.",
            spelled="--gold-measure, -g MEASURE,...",
            holds="measures",
        ),
    ],
    measures: MeasuresLike | None = None,
    *,
    progress: Progress | None = None,
) -> Concordance:
    r"""The concordance test of all pairs of measures (Sakai 2014 Fig. 17, Sakai 2013 Fig. 6).

    Over all pairs of runs X, Y and topics on which M1 and M2 disagree (ΔM1 ΔM2 < 0): how often does each of them agree
    with the gold standard M*?

    .. math:: Conc(M_1 | M_2, M^*) = \frac{|\Delta M_1 \Delta M_2 < 0 \wedge \Delta M_1 \Delta M^* \ge 0|}
        {|\Delta M_1 \Delta M_2 < 0|}

    gold: one or several measures of `scores`; several are used one by one and all together (M1 must agree with each).
    measures: the measures to compare; default: all but the gold standards. A win is a disagreement in which one measure
    agrees with the gold standard and the other does not; the sign test compares wins. It treats pairs of lists as
    independent, although pairs that share a run or topic are not. Differences within rounding error are ties. Topics
    with an undefined score are left out.
    Reference: Sakai, Evaluation with Informational and Navigational Intents, WWW 2012, 499-508

    >>> values = [[[0.5, 0.2], [0.4, 0.3]], [[0.1, 0.9], [0.2, 0.8]], [[1, 0], [0, 0]]]
    >>> result = concord(Scores(["Q", "RR", "P@1"], ["a", "b"], ["1", "2"], values), "P@1")
    >>> result.disagreements[0, 1].item(), result.shares[0].round(2).tolist()[0][1]  # Q agrees once, P@1 ties once
    (2, 1.0)
    """
    golds = names_of(gold)
    if not golds:
        raise UsageError("concord: no gold standard; give a measure such as 'P@10'")
    names = names_of(measures) if measures is not None else [name for name in scores.measures if name not in golds]
    if len(names) < 2:
        count = f"{counted(len(names), 'measure')} to compare ({', '.join(names) or 'none'})"
        raise UsageError(f"concord: {count}, must be 2 or more in addition to the gold standard")
    complete = CompleteScores.of(scores, "concord", list(dict.fromkeys([*names, *golds])), least_systems=2)
    gold_sets = [[name] for name in golds] + ([golds] if len(golds) > 1 else [])
    counts = _counts(complete, [complete.measures.index(name) for name in names], gold_sets, progress)
    runs, topics = len(complete.runs), len(complete.topics)
    compared = runs * (runs - 1) // 2 * topics
    marks = ", ".join(f"{mark} p < {alpha:g}" for alpha, mark in reversed(MARKS))
    notes = (
        method_note(f"{compared:,} pairs of lists: {runs} runs, {topics} topics; in brackets: disagreements"),
        f"row/column; a tie by the gold standard is concordant; two-sided sign test of wins: {marks}",
        *complete.notes,
    )
    return Concordance(tuple(names), tuple(map(AND.join, gold_sets)), *counts, compared, runs, topics, notes)


def _counts(
    complete: CompleteScores, measures: list[int], gold_sets: list[list[str]], progress: Progress | None
) -> tuple[Counts, Counts, Counts]:
    """Disagreements, concordant and wins: each is a product of 0/1 matrices, measures × pairs of lists."""
    disagree = np.zeros((len(measures), len(measures)))
    concordant = np.zeros((len(gold_sets), *disagree.shape))
    both = np.zeros_like(concordant)
    first, second = np.triu_indices(len(complete.runs), 1)
    close = complete.close[:, None, None]
    size = max(1, _BLOCK // (len(complete.topics) * len(complete.measures)))
    for begin in range(0, len(first), size):
        block = np.s_[begin : begin + size]
        difference = complete.values[:, first[block]] - complete.values[:, second[block]]
        sign = (difference > close).view(np.int8) - (difference < -close).view(np.int8)
        sign = sign.reshape(len(complete.measures), -1)
        up, down = ((sign[measures] == direction).astype(np.float32) for direction in (1, -1))
        disagree += _opposite(up, down)
        for g, golds in enumerate(gold_sets):
            agrees = np.ones(up.shape, dtype=bool)
            for name in golds:
                agrees &= sign[measures] * sign[complete.measures.index(name)] >= 0
            up_agrees, down_agrees = up * agrees, down * agrees
            concordant[g] += products(up_agrees, down) + products(down_agrees, up)
            both[g] += _opposite(up_agrees, down_agrees)
        report(progress, min(begin + size, len(first)), len(first))
    counts = [np.rint(count).astype(np.int64) for count in (disagree, concordant, concordant - both)]
    return counts[0], counts[1], counts[2]


def _opposite(up: NDArray[np.float32], down: NDArray[np.float32]) -> Array:
    one_way = products(up, down)
    return one_way + one_way.T


TIES = ("half", "leave-out", "wrong")
"""How to count a pair that a measure ties but a person does not: half right, not at all, or wrong."""


@dataclass(frozen=True)
class Preferences:
    """Which of two runs people preferred on a topic, one entry per judgment."""

    topic: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    preferred: tuple[int, ...]
    """1: the first, −1: the second, 0: neither."""
    assessor: tuple[str, ...]
    """Empty texts if unknown."""
    origin: str = "preferences"

    def __len__(self) -> int:
        return len(self.topic)


PREFERENCES = Schema(
    "topic runA runB preferred [assessor]", separators="\t, ;", mixed=True, comments=True, placed=True, topic=TOPIC,
    first=Words(("first", "runa", "run_a", "system_a")), second=Words(("second", "runb", "run_b", "system_b")),
    preferred=Words(("preferred", "preference", "winner", "choice")),
    assessor=Words(("assessor", "user", "worker"), default="", may_be_empty=True),
)  # fmt: skip


def read_preferences(path: PathLike) -> Preferences:
    """Read lines of topic, run A, run B, preferred (A, B, tie, or the run's name), and optionally assessor.

    Columns are separated by tabs, commas, blanks or semicolons. A first line that begins with `topic` is a header.
    Empty lines and lines that begin with # are skipped.
    """
    rows = PREFERENCES.read(path)
    return preferences_of(rows, range(len(rows)), rows["assessor"])


def preferences_of(rows: Rows, chosen: Sequence[int], assessor: Sequence[str]) -> Preferences:
    """The preferences in some rows of a table with topic, first, second and preferred; and its assessors."""
    signs = tuple(_sign(rows, row) for row in chosen)
    topic, first, second, people = (
        tuple(column[row] for row in chosen) for column in (rows["topic"], rows["first"], rows["second"], assessor)
    )
    return Preferences(topic, first, second, signs, people, rows.origin)


def _sign(rows: Rows, row: int) -> int:
    """1 if the first of two runs was preferred, −1 if the second, 0 if neither."""
    first, second, preferred = (rows[name][row] for name in ("first", "second", "preferred"))
    if not first or not second:
        raise rows.fault(row, f"a preference between {first!r} and {second!r}, must be two systems")
    if first == second:
        raise rows.fault(row, f"run {first!r} is compared with itself")
    signs = {"a": 1, "b": -1, "tie": 0, "both": 0, "=": 0, "neither": 0, first: 1, second: -1}
    sign = signs.get(preferred, signs.get(preferred.casefold()))
    if sign is None:
        raise rows.fault(row, f"preferred {preferred!r}, must be A, B, tie, {first!r} or {second!r}")
    return sign


@dataclass(frozen=True, eq=False, repr=False)
class PredictivePower(Record):
    """How often measures agree with preferences; arrays have an entry per measure."""

    figure = "predictive_power_figure"
    facts = ("ties", "level", "resamples", "seed")

    caption = "Agreement with preferences"

    measures: Annotated[tuple[str, ...], column("measure")]
    agreement: Annotated[Array, column(better="higher", ends=("low", "high"))]
    """The share of judgments with which the measure agrees; `ties` says how its ties count."""
    low: Annotated[Array, column()]
    high: Annotated[Array, column()]
    agree: Annotated[NDArray[np.int64], column()]
    tied: Annotated[NDArray[np.int64], column()]
    """Judgments where the measure scores both lists equally."""
    disagree: Annotated[NDArray[np.int64], column()]
    p: Annotated[Array, column()]
    """Two-sided sign test of agreements against disagreements: is the measure better than a coin?"""
    ties: str
    level: float
    resamples: int
    seed: int
    notes: tuple[str, ...]

    def sorted_rows(self) -> NDArray[np.intp]:
        """The highest agreement first."""
        return np.argsort(-np.nan_to_num(self.agreement, nan=-1), kind="stable")


@takes_runs
@operation
def predictive_power(
    scores: Scores,
    preferences: Annotated[
        Preferences | PathLike,
        about(
            "Instead of --gold: lines of topic, run A, run B, preferred (A, B, tie or a run) and optionally assessor.",
            spelled="--preferences FILE",
            holds="file",
        ),
    ],
    measures: MeasuresLike | None = None,
    *,
    measure_ties: Annotated[
        str,
        about(
            "With --preferences: a measure that scores both lists the same counts as {names}: half right, not at all, "
            "or wrong.",
            choices=TIES,
            spelled="--measure-ties RULE",
            rare=True,
        ),
    ] = "half",
    level: Level = 0.95,
    resamples: Annotated[
        int, about("With --preferences: resamples of topics; 0: no intervals.", **{**RESAMPLES, "least": 0})
    ] = 1_000,
    seed: Seed = 0,
) -> PredictivePower:
    """How often each measure prefers the list that people preferred, side by side (Sakai 2014 §5.3).

    preferences: the result of `read_preferences`, or a file. Judgments of a tie are left out and counted in a note,
    because no measure can be right or wrong there. `measure_ties` says how a tie by the measure counts. Each assessor's
    judgment counts once. The interval is the middle of the shares over resampled topics, because judgments of one topic
    are related; the sign test ignores ties and treats judgments as independent.
    Reference: Sanderson, Paramita, Clough & Kanoulas, SIGIR 2010, doi:10.1145/1835449.1835542

    >>> scores = Scores(["P@1"], ["a", "b"], ["1", "2"], [[[1, 0], [0, 1]]])
    >>> preferences = Preferences(("1", "2"), ("a", "a"), ("b", "b"), (1, 1), ("", ""))
    >>> predictive_power(scores, preferences, resamples=0).agreement.tolist()
    [0.5]
    """
    if not isinstance(preferences, Preferences):
        preferences = read_preferences(preferences)
    if measures is not None:
        scores = scores.select(measures=measures)
    signs, topic, _, notes = signs_of(scores, preferences)
    topics = int(topic.max()) + 1
    credit = (signs > 0) + (0.5 if measure_ties == "half" else 0.0) * (signs == 0)
    counts = (signs != 0) if measure_ties == "leave-out" else np.ones(signs.shape, dtype=bool)
    defined = ~np.isnan(signs)
    right, judged = (
        np.stack([np.bincount(topic, weights=row, minlength=topics) for row in np.where(defined, values, 0.0)])
        for values in (credit, counts)
    )
    low = high = np.full(len(scores.measures), np.nan)
    notes.append(f"a tie by a measure: {measure_ties}")
    if resamples and topics > 1:
        times = next(resampled_topics(topics, resamples, seed, resamples)).astype(np.float64)
        low, high = central_interval(divided(times @ right.T, times @ judged.T), level)
        notes.append(
            method_note(
                f"{level:.0%} intervals: percentiles over {resamples:,} resamples of {topics} topics, seed {seed}"
            )
        )
    elif resamples:
        notes.append("1 topic: no intervals over topics")
    agree, tied, disagree = ((signs == sign).sum(axis=1).astype(np.int64) for sign in (1, 0, -1))
    p = np.asarray(sign_p(agree.astype(np.float64), disagree.astype(np.float64), "two-sided"))
    share = divided(right.sum(axis=1), judged.sum(axis=1))
    return PredictivePower(
        scores.measures, share, low, high, agree, tied, disagree, p, measure_ties, level, resamples, seed, tuple(notes)
    )


def signs_of(scores: Scores, preferences: Preferences) -> tuple[Array, Index64, Index64, list[str]]:
    """measures × judgments that are not ties: 1 if the measure agrees, −1 if not, 0 if it ties; topics and assessors.

    Topics and assessors are numbered from 0.
    """
    runs = {name: i for i, name in enumerate(scores.runs)}
    topics = {name: i for i, name in enumerate(scores.topics)}
    entries = (preferences.topic, preferences.first, preferences.second, preferences.preferred, preferences.assessor)
    judgments = list(zip(*entries, strict=True))
    scored = [entry for entry in judgments if entry[0] in topics and entry[1] in runs and entry[2] in runs]
    if not scored:
        topic, first, second, *_ = judgments[0]
        example = f"the first is on topic {topic!r}, {first!r} and {second!r}"
        known = f"there are scores of runs {listed(scores.runs)} and topics {listed(scores.topics)}"
        raise UsageError(f"{preferences.origin}: no judgment is about runs and topics with scores; {example}; {known}")
    notes = Notes([counted(len(judgments), "judgment")])
    if len(scored) < len(judgments):
        unscored = counted(len(judgments) - len(scored), "judgment")
        notes.caution(f"{unscored} left out: no scores for the run or topic")
    strict = [entry for entry in scored if entry[3] != 0]
    if not strict:
        raise UsageError(f"{preferences.origin}: all {len(scored)} judgments are ties; nothing to predict")
    if len(strict) < len(scored):
        notes.caution(f"{counted(len(scored) - len(strict), 'judgment')} left out: neither list was preferred")
    t, a, b, preferred = np.array([(topics[t], runs[a], runs[b], sign) for t, a, b, sign, _ in strict]).T
    _, assessor = np.unique([entry[4] for entry in strict], return_inverse=True)
    better = np.array([-1.0 if lower_is_better(name) else 1.0 for name in scores.measures])
    signs = np.sign(gap(scores.values[:, a, t], scores.values[:, b, t])) * preferred * better[:, None]
    undefined = int(np.isnan(signs).any(axis=0).sum())
    if undefined:
        notes.caution(f"{counted(undefined, 'judgment')} used only for the measures that are defined there")
    return signs, np.unique(t, return_inverse=True)[1].reshape(-1), assessor.reshape(-1), notes

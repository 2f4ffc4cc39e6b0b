"""ROUGE: what summaries have in common with references; ROUGE-2, ROUGE-Lsum, ROUGE-W-1.2, ROUGE-SU4-R."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.answers.answer_texts import References, TextsOfRuns, check_texts
from cranfield.answers.nugget_scores import Beta
from cranfield.answers.tokenisation import WordRules
from cranfield.declared.operation import RESAMPLES, Level, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.notes import caution_note, method_note
from cranfield.record import Record, crossed
from cranfield.scores.mean_intervals import range_interval
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Column, Estimate, Table
from cranfield.text import counted, listed, shown
from cranfield.types import Array, Index64, Progress

VALUES = ("R", "P", "F")
"""Recall, precision, and their weighted harmonic mean."""
DIALECTS = ("rouge-1.5.5", "paper")
KNOWN = ("ROUGE-1", "ROUGE-2", "ROUGE-L", "ROUGE-Lsum", "ROUGE-W-1.2", "ROUGE-S4", "ROUGE-S*", "ROUGE-SU4", "ROUGE-SU*")
DEFAULT = ("ROUGE-1", "ROUGE-2", "ROUGE-L", "ROUGE-Lsum")
_NAME = re.compile(
    r"rouge-?(?:(?P<n>[1-9]\d?)|(?P<lcs>lsum|l)|w(?:-?(?P<weight>\d+(?:\.\d+)?))?|s(?P<u>u?)(?P<skip>\d+|\*)?)"
    r"(?:[- ](?P<value>[rpf]))?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class RougeMeasure:
    """What is counted: n-grams (`N`), a common subsequence (`L`, `Lsum`, `W`) or skip-bigrams (`S`, `SU`).

    n: the words of an n-gram. skip: the most words between the two of a skip-bigram; None: any number. weight: a run of
    k consecutive matches is worth k to the power of this, for `W`.
    """

    kind: str
    n: int = 1
    skip: int | None = None
    weight: float = 1.2

    def __str__(self) -> str:
        if self.kind == "N":
            return f"ROUGE-{self.n}"
        if self.kind == "W":
            return f"ROUGE-W-{self.weight:g}"
        return f"ROUGE-{self.kind}" + (
            "" if self.kind in ("L", "Lsum") else "*" if self.skip is None else f"{self.skip}"
        )

    def unit(self, dialect: str) -> str:
        """What the core counts."""
        weighted = "weighted by sentence" if dialect == "rouge-1.5.5" else "weighted"
        return {
            "N": "ngram", "L": "subsequence", "Lsum": "subsequence by sentence", "W": weighted, "S": "skip-bigram",
            "SU": "skip-bigram and word",
        }[self.kind]  # fmt: skip


def parse_rouge(name: str) -> tuple[RougeMeasure, tuple[str, ...]]:
    """A measure and its values by name; without R, P or F at the end, all three.

    >>> measure, values = parse_rouge("ROUGE-SU4-R")
    >>> str(measure), values
    ('ROUGE-SU4', ('R',))
    >>> [str(parse_rouge(text)[0]) for text in ("rouge1", "rougeLsum", "ROUGE-W", "ROUGE-S")]
    ['ROUGE-1', 'ROUGE-Lsum', 'ROUGE-W-1.2', 'ROUGE-S*']
    """
    match = _NAME.fullmatch(name.strip())
    if match is None:
        raise UsageError(f"no measure {shown(name)}; there are {', '.join(KNOWN)}, each also with -R, -P or -F")
    values = (match["value"].upper(),) if match["value"] else VALUES
    if match["n"]:
        return RougeMeasure("N", n=int(match["n"])), values
    if match["lcs"]:
        return RougeMeasure("L" if match["lcs"].lower() == "l" else "Lsum"), values
    if match["u"] is not None:
        skip = None if match["skip"] in (None, "*") else int(match["skip"])
        return RougeMeasure("SU" if match["u"] else "S", skip=skip), values
    weight = float(match["weight"] or 1.2)
    if weight <= 1:
        raise UsageError(f"{name}: the weight is {weight:g}, must be above 1, so that longer runs are worth more")
    return RougeMeasure("W", weight=weight), values


FEW_TEXTS = 50
"""With fewer topics, percentiles of resampled means are too close together."""
SEVERAL = ("average", "best", "best-F", "jackknife")
"""What is made of several references: their counts added, the best by recall or by F, or jackknifing."""
_HOW = {
    "average": "counts of all references added, as ROUGE-1.5.5 does by default",
    "best": "the reference with the highest recall, as ROUGE-1.5.5 -f B",
    "best-F": "the reference with the highest F, as rouge-score",
    "jackknife": "mean over all sets without one reference of the best recall in it (Lin 2004)",
}


@dataclass(frozen=True, eq=False, repr=False)
class Rouge(Record):
    """ROUGE scores of runs, with intervals of their means. `scores` has those of each topic."""

    facts = ("level", "resamples", "seed")

    scores: Scores
    low: Array
    """measures × runs: lower ends of the intervals of means; NaN without intervals."""
    high: Array
    level: float
    resamples: int
    seed: int

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of the numbers must know."""
        notes = self.scores.notes
        if lacking := self.scores.lacking():
            notes = (*notes, caution_note(f"topics missing from runs, scored 0: {listed(lacking, noun='runs')}"))
        if not self.has_intervals:
            return notes
        if not self.resamples:
            return (
                *notes,
                method_note(f"[low, high]: {100 * self.level:g}% confidence interval, within the range of the measure"),
            )
        how = f"{100 * self.level:g}% bootstrap interval over topics as in ROUGE-1.5.5, {self.resamples:,} resamples"
        notes = (*notes, f"[low, high]: {how}, seed {self.seed}")
        if len(self.scores.topics) >= FEW_TEXTS:
            return notes
        few = caution_note(
            f"{counted(len(self.scores.topics), 'topic')} are few for a bootstrap, whose intervals are then too short"
        )
        return (*notes, caution_note(f"caution: {few}; use --ci (ci=True)"))

    @property
    def has_intervals(self) -> bool:
        return not bool(np.isnan(self.low).all())

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, run, mean, low, high, topics."""
        values = {"mean": self.scores.means(), "low": self.low, "high": self.high}
        count = np.array([[len(self.scores.topics)]])
        return crossed({"measure": self.scores.measures, "run": self.scores.runs}, {**values, "topics": count})

    def table(self) -> Table:
        """A row per run and measure: recall, precision and F, with intervals if there are any."""
        names = list(dict.fromkeys(name.rpartition("-")[0] for name in self.scores.measures))
        values = list(dict.fromkeys(name.rpartition("-")[2] for name in self.scores.measures))
        means = self.scores.means()
        rows: list[tuple[Cell, ...]] = []
        for name in names:
            for r, run in enumerate(self.scores.runs):
                cells: list[Cell] = []
                for value in values:
                    label = f"{name}-{value}"
                    if label not in self.scores.measures:
                        cells.append(None)
                        continue
                    m = self.scores.measures.index(label)
                    ends = (float(self.low[m, r]), float(self.high[m, r]))
                    estimate = Estimate(label, run, float(means[m, r]), *ends, len(self.scores.topics))
                    cells.append(estimate if self.has_intervals else float(means[m, r]))
                rows.append((name, run, *cells))
        heads = (Column("measure"), Column("run"), *(Column(value, "number") for value in values))
        return Table(heads, tuple(rows), notes=self.notes)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Which texts are compared: each system text with each reference of its topic."""

    words: _core.Words
    system: Index64
    reference: Index64
    cell: Index64
    """The place of the system text in runs × topics."""
    start: Index64
    """Where the pairs of a system text begin, and where the last end."""
    shape: tuple[int, int]
    missing: NDArray[np.bool_]
    notes: list[str]


def paired_texts(runs: TextsOfRuns, references: References, rules: WordRules) -> Pairs:
    """The words of all texts, and the pairs to compare."""
    topics, notes = check_texts(runs, references)
    notes += letter_notes(runs, references, rules)
    missing = np.array([[topic not in texts for topic in topics] for texts in runs.values()])
    first_reference = np.concatenate([[0], np.cumsum([len(references[topic]) for topic in topics])])
    texts = [text for topic in topics for text in references[topic]]
    cells = np.flatnonzero(~missing.ravel())
    names = list(runs)
    texts += [runs[names[cell // len(topics)]][topics[cell % len(topics)]] for cell in cells.tolist()]
    counts = np.diff(first_reference)[cells % len(topics)]
    start = np.concatenate([[0], np.cumsum(counts)])
    order = np.repeat(np.arange(len(cells)), counts)
    reference = first_reference[cells % len(topics)][order] + np.arange(len(order)) - start[:-1][order]
    return Pairs(
        rules.numbered(texts),
        np.ascontiguousarray(first_reference[-1] + order, dtype=np.int64),
        np.ascontiguousarray(reference, dtype=np.int64),
        cells.astype(np.int64),
        start.astype(np.int64),
        (len(names), len(topics)),
        missing,
        notes,
    )


def letter_notes(runs: TextsOfRuns, references: References, rules: WordRules) -> list[str]:
    """A note if texts have letters that the rules do not count."""
    if rules.tokens != "ascii":
        return []
    texts = [text for of_run in runs.values() for text in of_run.values()]
    texts += [text for of_topic in references.values() for text in of_topic]
    foreign = sum(
        any(ord(letter) > 127 and letter.isalpha() for letter in text) for text in texts if not text.isascii()
    )
    if not foreign:
        return []
    which = f"{foreign:,} of {counted(len(texts), 'text')} with letters that are not ASCII"
    return [caution_note(f"{which}, which separate words like blanks; count them with tokens 'unicode'")]


@operation
def rouge(
    runs: TextsOfRuns,
    references: Mapping[str, Sequence[str] | str],
    measures: Iterable[str] | str = DEFAULT,
    *,
    rules: WordRules | None = None,
    several: Annotated[
        str,
        about(
            "With several references: {names} (add their counts, take the one with the highest recall or F, or "
            "jackknife).",
            choices=SEVERAL,
            spelled="--several RULE",
        ),
    ] = "average",
    beta: Beta = 1.0,
    alpha: Annotated[
        float | None,
        about(
            "F as ROUGE-1.5.5 weighs it: precision has weight A; instead of beta.", least=0, most=1, spelled="--alpha A"
        ),
    ] = None,
    dialect: Annotated[
        str, about("How ROUGE-W, -SU and -Lsum are counted: {names}.", choices=DIALECTS, rare=True)
    ] = "rouge-1.5.5",
    ci: Annotated[bool, about("Also print intervals of the means, which hold for few topics too.")] = False,
    resamples: Annotated[
        int, about("Instead of --ci, the bootstrap intervals of ROUGE-1.5.5.", **RESAMPLES | {"least": 0})
    ] = 0,
    level: Level = 0.95,
    seed: Seed = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Rouge:
    r"""ROUGE of the texts of runs, against one or several references for each topic.

    .. math:: R = \frac{\sum_{e} \min(c_s(e), c_r(e))}{\sum_e c_r(e)}, \quad
              P = \frac{\sum_{e} \min(c_s(e), c_r(e))}{\sum_e c_s(e)}, \quad F = \frac{(1 + \beta^2) P R}{\beta^2 P + R}

    where :math:`c_s(e)` and :math:`c_r(e)` count the unit e in the system text and in the reference. Units are n-grams
    (`ROUGE-1`), skip-bigrams (`ROUGE-S4`: at most four words between; `ROUGE-S*`: any number; `ROUGE-SU4`: words as
    well), or the words of a longest common subsequence, of the whole texts (`ROUGE-L`) or the union over sentences
    (`ROUGE-Lsum`, which ROUGE-1.5.5 calls ROUGE-L), in which `ROUGE-W-1.2` favours consecutive words.

    several: with several references, `average` adds their counts, as ROUGE-1.5.5 does; `best` takes the reference with
        the highest recall (its option -f B), `best-F` that with the highest F (rouge-score); `jackknife` is the mean,
        over all sets that lack one reference, of the best by recall (Lin 2004).
    alpha: F as ROUGE-1.5.5 weighs it, :math:`PR / ((1 - \alpha) P + \alpha R)`, so :math:`\alpha = 1/(1 + \beta^2)`.
    dialect: `rouge-1.5.5` counts as that program does: ROUGE-SU leaves out the last word of a text as a unigram, and
        the denominator of the recall of ROUGE-W is raised to the power of the weight twice, so that it is below 1 even
        for equal texts. `paper` follows the formulas of Lin (2004): all words count in ROUGE-SU, ROUGE-W compares
        whole texts, and in ROUGE-Lsum a word of the system may match several words of the reference.
    ci: intervals of means within the range of ROUGE, which also hold for few topics (`scores.mean_intervals`).
    resamples: instead, the bootstrap intervals of ROUGE-1.5.5, with this number of resamples (it uses 1,000). With 10
        topics, intervals of 95 % contain the mean in 85 to 90 % of samples (docs/intervals.md).

    A text without units scores 0. A topic that a run lacks scores 0, with a note.
    Reference: Lin, ROUGE: A Package for Automatic Evaluation of Summaries, ACL Workshop 2004, 74-81

    >>> result = rouge({"mine": {"1": "the cat sat on a mat"}}, {"1": ["the cat was on the mat"]}, "ROUGE-1")
    >>> result
    measure  run        R       P       F
    ROUGE-1  mine  0.6667  0.6667  0.6667
    """
    if ci and resamples:
        raise UsageError("rouge: ci and resamples are two kinds of intervals; give one of them")
    wanted = [parse_rouge(name) for name in ([measures] if isinstance(measures, str) else measures)]
    lists = {topic: [texts] if isinstance(texts, str) else list(texts) for topic, texts in references.items()}
    pairs = paired_texts(runs, lists, rules or WordRules())
    precision_share = 1 / (1 + beta * beta) if alpha is None else alpha
    labels: dict[str, Array] = {}
    for done, (measure, parts) in enumerate(wanted):
        values = _scored(pairs, measure, several, precision_share, dialect, threads)
        labels |= {f"{measure}-{part}": values["RPF".index(part)] for part in parts}
        if progress:
            progress(done + 1, len(wanted))
    notes = [*_setting_notes([measure for measure, _ in wanted], lists, several, precision_share, dialect)]
    scores = Scores(
        list(labels), list(runs), list(lists), np.stack(list(labels.values())), pairs.missing, "zero",
        [*notes, *pairs.notes],
    )  # fmt: skip
    if ci:
        low, high = range_interval(scores.values, 0.0, 1.0, level)
    else:
        low, high = rouge_intervals(scores.values, level, resamples, seed)
    return Rouge(scores, low, high, level, resamples, seed)


def _scored(
    pairs: Pairs, measure: RougeMeasure, several: str, alpha: float, dialect: str, threads: int | None
) -> tuple[Array, Array, Array]:
    """Recall, precision and F, each runs × topics."""
    hits, reference, system = counted_pairs(pairs, measure, dialect, threads)
    size = pairs.shape[0] * pairs.shape[1]
    if several == "jackknife":
        values = _jackknife(pairs, hits, reference, system, measure, alpha, dialect)
    else:
        if several == "average":
            first = pairs.start[:-1]
            hits, reference, system = (
                np.add.reduceat(part, first) for part in (hits, _weighed(reference, measure, dialect), system)
            )
        else:
            recall, _, f = _values(hits, reference, system, measure, alpha)
            best = _first_best(recall if several == "best" else f, pairs.start)
            hits, reference, system = hits[best], _weighed(reference[best], measure, dialect), system[best]
        values = _values(hits, reference, system, measure, alpha)
    filled = [np.zeros(size) for _ in values]
    for array, part in zip(filled, values, strict=True):
        array[pairs.cell] = part
    recall, precision, f = (array.reshape(pairs.shape) for array in filled)
    return recall, precision, f


def counted_pairs(
    pairs: Pairs, measure: RougeMeasure, dialect: str, threads: int | None = None
) -> tuple[Array, Array, Array]:
    """For each pair: common units, units of the reference, units of the system."""
    return _core.overlaps(
        pairs.words, pairs.system, pairs.reference, measure.unit(dialect), measure.n,
        -1 if measure.skip is None else measure.skip, dialect == "paper", dialect != "paper", measure.weight,
        threads or os.cpu_count() or 1,
    )  # fmt: skip


def _weighed(reference: Array, measure: RougeMeasure, dialect: str) -> Array:
    """ROUGE-1.5.5 raises the denominator of the recall of ROUGE-W to the power of the weight a second time."""
    return reference**measure.weight if measure.kind == "W" and dialect == "rouge-1.5.5" else reference


def _values(
    hits: Array, reference: Array, system: Array, measure: RougeMeasure, alpha: float
) -> tuple[Array, Array, Array]:
    recall = np.divide(hits, reference, out=np.zeros_like(hits), where=reference > 0)
    precision = np.divide(hits, system, out=np.zeros_like(hits), where=system > 0)
    if measure.kind == "W":
        recall, precision = recall ** (1 / measure.weight), precision ** (1 / measure.weight)
    return recall, precision, weighted_f(precision, recall, alpha)


def weighted_f(precision: Array, recall: Array, alpha: float) -> Array:
    """:math:`PR / ((1 - \\alpha) P + \\alpha R)`; 0 if both are 0.

    >>> weighted_f(np.array([0.5, 0.0]), np.array([1.0, 0.0]), 0.5).round(4).tolist()
    [0.6667, 0.0]
    """
    below = (1 - alpha) * precision + alpha * recall
    return np.divide(precision * recall, below, out=np.zeros_like(below), where=below > 0)


def _first_best(values: Array, start: Index64) -> Index64:
    """The first pair with the highest value, for each text."""
    top = np.maximum.reduceat(values, start[:-1])
    order = np.repeat(np.arange(len(start) - 1), np.diff(start))
    at = np.where(values >= top[order], np.arange(len(values)), len(values))
    return np.minimum.reduceat(at, start[:-1])


def _jackknife(
    pairs: Pairs, hits: Array, reference: Array, system: Array, measure: RougeMeasure, alpha: float, dialect: str
) -> tuple[Array, Array, Array]:
    """The mean over all sets without one reference of the best in it: the best counts in all sets but one."""
    by_choice = _values(hits, reference, system, measure, alpha)[0]
    recall, precision, f = _values(hits, _weighed(reference, measure, dialect), system, measure, alpha)
    counts = np.diff(pairs.start)
    best = _first_best(by_choice, pairs.start)
    others = by_choice.copy()
    others[best] = -1
    second = np.where(counts > 1, _first_best(others, pairs.start), best)
    share = np.where(counts > 1, 1 / counts, 0.0)  # of the sets, the one that lacks the best reference
    values = [(1 - share) * part[best] + share * part[second] for part in (recall, precision, f)]
    return values[0], values[1], values[2]


def rouge_intervals(values: Array, level: float, resamples: int, seed: int) -> tuple[Array, Array]:
    """Bootstrap intervals of means over topics, with the percentiles that ROUGE-1.5.5 takes.

    Of B sorted means of resamples, and d = B (1 − level) / 2, the ends are the ones at d and at B − d − 1, counted from
    0; between two of them, both ends move by the fraction of B − d − 1.
    """
    if not resamples:
        none = np.full(values.shape[:-1], np.nan)
        return none, none.copy()
    rng = np.random.default_rng(seed)
    topics = values.shape[-1]
    flat = values.reshape(-1, topics)
    means = np.empty((len(flat), resamples))
    step = max(1, 4_000_000 // max(1, topics))
    for begin in range(0, resamples, step):
        picks = rng.integers(0, topics, (min(step, resamples - begin), topics))
        weights = np.apply_along_axis(np.bincount, 1, picks, minlength=topics)
        means[:, begin : begin + step] = flat @ weights.T / topics
    means.sort(axis=1)
    delta = resamples * (1 - level) / 2
    top = resamples - delta - 1
    fraction = top - int(top)

    def at(place: int) -> Array:
        place = min(max(place, 0), resamples - 1)
        following = min(place + 1, resamples - 1)
        return np.asarray(means[:, place] + (means[:, following] - means[:, place]) * fraction)

    low, high = at(int(delta + 1e-9)), at(int(top))
    return low.reshape(values.shape[:-1]), high.reshape(values.shape[:-1])


def _setting_notes(
    measures: Sequence[RougeMeasure], references: References, several: str, alpha: float, dialect: str
) -> Iterable[str]:
    if any(len(texts) > 1 for texts in references.values()):
        yield method_note(f"several references: {_HOW[several]}")
    if alpha != 0.5:
        yield method_note(f"F: precision has weight {alpha:.4g}, recall {1 - alpha:.4g}")
    kinds = {measure.kind for measure in measures}
    if dialect == "paper":
        yield method_note("counted by the formulas of Lin (2004), not as ROUGE-1.5.5")
    elif kinds & {"W", "SU"}:
        yield method_note(
            "ROUGE-W and ROUGE-SU are counted as ROUGE-1.5.5 does, which is not quite the formula of the paper"
        )

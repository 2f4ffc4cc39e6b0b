"""Robustness: what becomes of scores and rankings with fewer judgments, other grades, or fewer topics?"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.judged_documents import JudgedDocuments, Mask
from cranfield.assessed.segments import position_in_segment, segment_starts
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.evaluation.evaluator import MeasureLike
from cranfield.frames import Tidy
from cranfield.meta.judgments.rescoring import BY_TAU, PAIRED, Rescorer, chosen_measures, paired_means, tau, undefined
from cranfield.meta.rankings import LEAST_SYSTEMS
from cranfield.scores import summary as summaries
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Column, Table
from cranfield.text import counted
from cranfield.types import Array, Progress

WHO = "robustness"
METHODS = {
    "random": (
        "share of judgments kept",
        "judgments dropped at random, from the relevant and the others of each topic",
    ),
    "depth": ("pool depth", "judgments dropped that are in no list down to a depth"),
    "flips": ("share of judgments changed", "grades moved to the next one up or down, at random"),
    "confusion": ("share expected to change", "grades drawn again by a confusion matrix"),
    "topics": ("topics", "topics drawn at random, without replacement"),
}
"""What the levels of each method are, and what is done."""
USUAL = ("random", "depth", "flips", "topics")
RATES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
DEPTHS = (5, 10, 20, 50, 100)
FLIPS = (0.05, 0.1, 0.2, 0.3)
VALUES = {"tau": "τ with the ranking by everything", "change": "mean change of score", "rmse": "RMSE of scores"}

Confusion = Mapping[Any, Mapping[Any, float]]
"""{grade: {grade it becomes: probability}}."""


@dataclass(frozen=True)
class Setting:
    """One experiment: what was done, how much of it, which time."""

    method: str
    level: float
    repeat: int
    judged: int
    """How many documents were judged then."""


@dataclass(frozen=True, eq=False)
class Robustness(Tidy):
    """Scores after each experiment, compared with those by all judgments and topics. As a frame: a row each."""

    measures: tuple[str, ...]
    runs: tuple[str, ...]
    settings: tuple[Setting, ...]
    tau: Array
    """settings × measures: Kendall's τ_b with the ranking by everything."""
    change: Array
    """settings × measures: the mean over runs of what the mean score changed by."""
    rmse: Array
    """settings × measures: the root of the mean over runs of the square of it."""
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, NDArray[Any]]:
        s, m = (axis.ravel() for axis in np.indices(self.tau.shape))
        told = [(one.method, one.level, one.repeat, one.judged) for one in self.settings]
        kinds: tuple[Any, ...] = (object, np.float64, np.int64, np.int64)
        method, level, repeat, judged = (
            np.array(values, dtype=kind)[s] for values, kind in zip(zip(*told, strict=True), kinds, strict=True)
        )
        return {
            "method": method, "level": level, "repeat": repeat, "judged": judged,
            "measure": np.array(self.measures, dtype=object)[m],
            "tau": self.tau.ravel(), "change": self.change.ravel(), "rmse": self.rmse.ravel(),
        }  # fmt: skip

    def _metadata(self) -> dict[str, Any]:
        return {"notes": list(self.notes)}

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.method for one in self.settings))

    def levels(self, method: str) -> dict[float, list[int]]:
        """{level: which settings}, in the order they were made."""
        found: dict[float, list[int]] = {}
        for number, one in enumerate(self.settings):
            if one.method == method:
                found.setdefault(one.level, []).append(number)
        return found

    def table(self) -> Table:
        """A row for each method, level and measure: means over repeats, and the least τ among them."""
        rows = []
        for method in self.methods:
            for level, which in self.levels(method).items():
                judged = self.settings[which[0]].judged
                columns = [summaries.mean(values[which].T) for values in (self.tau, self.change, self.rmse)]
                least = summaries.statistic(self.tau[which].T, "min")
                for m, measure in enumerate(self.measures):
                    t, change, rmse = (float(column[m]) for column in columns)
                    rows.append((method, _level(level), measure, len(which), judged, t, float(least[m]), change, rmse))
        headings = (
            Column("method"), Column("level"), Column("measure"), Column("repeats", "count"), Column("judged", "count"),
            Column("τ", "number"), Column("least τ", "number"), Column("change", "number"), Column("RMSE", "number"),
        )  # fmt: skip
        return Table(headings, tuple(rows), "Robustness", self.notes)

    def tables(self, value: str = "tau") -> list[Table]:
        """A table for each method: measures by levels, the mean of `tau`, `change` or `rmse` over repeats."""
        check.one_of(WHO, tuple(VALUES), value=value)
        best = "higher" if value == "tau" else "lower" if value == "rmse" else "neither"
        made = []
        for method in self.methods:
            levels = self.levels(method)
            means = [summaries.mean(getattr(self, value)[which].T) for which in levels.values()]
            rows: tuple[tuple[Cell, ...], ...] = tuple(
                (name, *(float(mean[m]) for mean in means)) for m, name in enumerate(self.measures)
            )
            headings = (Column("measure"), *(Column(_level(level), "number", best) for level in levels))
            unit, what = METHODS[method]
            made.append(Table(headings, rows, f"{method}: {VALUES[value]}, by {unit} ({what})"))
        return [*made[:-1], Table(made[-1].columns, made[-1].rows, made[-1].caption, self.notes)]

    def curve(self, method: str, value: str = "tau") -> dict[str, NDArray[Any]]:
        """What is drawn: measure, level, the mean of `tau`, `change` or `rmse` over repeats, and its range."""
        check.one_of(WHO, self.methods, method=method)
        check.one_of(WHO, tuple(VALUES), value=value)
        levels = self.levels(method)
        repeats = [getattr(self, value)[which].T for which in levels.values()]
        return {
            "measure": np.tile(np.array(self.measures, dtype=object), len(levels)),
            "level": np.repeat(list(levels), len(self.measures)),
            value: np.concatenate([summaries.mean(one) for one in repeats]),
            "low": np.concatenate([summaries.statistic(one, "min") for one in repeats]),
            "high": np.concatenate([summaries.statistic(one, "max") for one in repeats]),
        }

    def __str__(self) -> str:
        return "\n\n".join(table.text() for table in self.tables())


def robustness(
    qrels: Any,
    runs: Any,
    measures: MeasureLike | Sequence[MeasureLike] | None = None,
    *,
    how: Sequence[str] | str | None = None,
    rates: Sequence[float] = RATES,
    depths: Sequence[int] | None = None,
    flips: Sequence[float] = FLIPS,
    confusion: Confusion | None = None,
    sizes: Sequence[int] | None = None,
    repeats: int = 5,
    seed: int = 0,
    condensed: bool = False,
    missing: str = "zero",
    options: JoinOptions | None = None,
    progress: Progress | None = None,
) -> Robustness:
    """Score runs again with judgments dropped or changed, and with some topics only.

    how, and its levels:

    - `random`: judgments are dropped at random and become unjudged, of each topic from the relevant documents and from
      the others alike; one relevant document stays. `rates`: the share that stays.
    - `depth`: judgments of documents that no run has in its first k are dropped. `depths`: k.
    - `flips`: of each topic, a share of the judgments changes to the next grade up or down, with equal chances, at both
      ends of the scale inwards. `flips`: the share.
    - `confusion`: every grade is drawn again. `confusion`: {grade: {grade it becomes: probability}}.
    - `topics`: topics are drawn without replacement. `sizes`: how many.

    Left out, `how` is random, depth, flips and topics (and confusion if there is one). All but `depth` are done
    `repeats` times; within a repeat smaller samples are parts of larger ones. The same seed gives the same answer,
    whatever else is asked for. Runs are read and joined once. With `condensed`, each measure is also taken on lists
    without unjudged documents (AP and AP').

    Reference: Buckley & Voorhees, SIGIR 2004, 25-32, doi:10.1145/1008992.1009000 (random); Sakai & Kando, Information
    Retrieval 11, 2008, 447-470, doi:10.1007/s10791-008-9059-7 (condensed lists)

    >>> runs = {"x": {"q": {"a": 3, "b": 2}}, "y": {"q": {"c": 3, "a": 2}}, "z": {"q": {"d": 3, "c": 2}}}
    >>> found = robustness({"q": {"a": 1, "b": 1, "c": 0}}, runs, "P@2", how="depth", depths=[1, 2])
    >>> found.change.round(4).tolist()  # to depth 1 only a and c are judged: x loses b, which is 1/2 for one of three
    [[-0.1667], [0.0]]
    """
    methods = _methods(how, confusion)
    check.whole(WHO, repeats=repeats)
    stays, changes = _shares("rates", rates), _shares("flips", flips)
    chosen = chosen_measures(measures, condensed)
    scorer = Rescorer(WHO, qrels, runs, chosen, options, missing)
    documents, full = scorer.documents, scorer.full
    plan: list[tuple[Setting, Mask | None, Array | None]] = []
    if "random" in methods:
        plan += list(_dropped(documents, stays, repeats, seed))
    if "depth" in methods:
        plan += list(_by_depth(documents, depths))
    if "flips" in methods:
        plan += list(_flipped(documents, changes, repeats, seed))
    if "confusion" in methods:
        plan += list(_confused(documents, confusion, repeats, seed))
    subsets = _subsets(full, sizes, repeats, seed, len(documents)) if "topics" in methods else []
    found: list[tuple[Setting, Array, Array]] = []
    for number, (setting, keep, grade) in enumerate(plan, 1):
        values = scorer.values(documents.judged(keep=keep, grade=grade))
        found.append((setting, *paired_means(full.values, values)))
        if progress is not None:
            progress(number, len(plan))
    return _record(full, [*found, *subsets], repeats, seed, *([PAIRED] if plan else []))


def topic_subsets(scores: Scores, *, sizes: Sequence[int] | None = None, repeats: int = 5, seed: int = 0) -> Robustness:
    """As `robustness` by topics, from scores: means over topics drawn without replacement against those over all.

    >>> scores = Scores.from_matrix([[0.1, 0.2, 0.3], [0.2, 0.3, 0.4], [0.5, 0.6, 0.7]])
    >>> topic_subsets(scores, sizes=[2], repeats=1).tau.tolist()
    [[1.0]]
    """
    check.whole(WHO, repeats=repeats)
    if len(scores.runs) < LEAST_SYSTEMS:
        many = counted(len(scores.runs), "run")
        raise UsageError(f"{WHO}: {many}, must be {LEAST_SYSTEMS} or more: of fewer there is no ranking")
    return _record(scores, _subsets(scores, sizes, repeats, seed, 0), repeats, seed)


def _record(
    full: Scores, found: Sequence[tuple[Setting, Array, Array]], repeats: int, seed: int, *notes: str
) -> Robustness:
    settings, before, after = zip(*found, strict=True)
    gap = np.stack(after) - np.stack(before)
    counts = f"{counted(len(full.runs), 'run')}, {counted(len(full.topics), 'topic')}"
    drawn = () if all(one.method == "depth" for one in settings) else (f"{counted(repeats, 'repeat')}, seed {seed}",)
    found_tau = tau(np.stack(before), np.stack(after))
    told = (*full.notes, counts, *drawn, BY_TAU, *notes, *undefined(found_tau))
    rmse = np.sqrt(summaries.mean(gap**2))
    return Robustness(full.measures, full.runs, settings, found_tau, summaries.mean(gap), rmse, told)


# -- what is done


def _dropped(
    documents: JudgedDocuments, rates: Sequence[float], repeats: int, seed: int
) -> Iterator[tuple[Setting, Mask, None]]:
    relevant = documents.grade >= 1
    stratum = documents.topic * 2 + relevant
    for repeat in range(repeats):
        place, size = _shuffled(stratum, [seed, 0, repeat])
        for rate in rates:
            many = np.maximum(np.floor(rate * size + 0.5), relevant)
            keep = np.asarray(place <= many)
            yield Setting("random", rate, repeat, int(keep.sum())), keep, None


def _by_depth(documents: JudgedDocuments, depths: Sequence[int] | None) -> Iterator[tuple[Setting, Mask, None]]:
    longest = int(documents.lists.retrieved.max(initial=0))
    given = [one for one in DEPTHS if one <= longest] or [longest] if depths is None else depths
    if not given:
        raise UsageError(f"{WHO}: depths is empty, must hold one or more")
    for depth in given:
        check.whole(WHO, depth=depth)
        if depth > longest:
            warnings.warn(
                f"depth == {depth}, but the longest list has {counted(longest, 'document')}: whole lists are taken",
                CranfieldWarning,
                stacklevel=4,
            )
    first = documents.first_ranks(np.zeros(len(documents.lists.runs), dtype=np.int64), 1)[0]
    for depth in given:
        keep = np.asarray((first > 0) & (first <= depth))
        yield Setting("depth", float(depth), 0, int(keep.sum())), keep, None


def _flipped(
    documents: JudgedDocuments, shares: Sequence[float], repeats: int, seed: int
) -> Iterator[tuple[Setting, None, Array]]:
    scale, step = np.unique(documents.grade, return_inverse=True)
    if len(scale) < 2:
        raise UsageError(f"{WHO}: all judgments have grade {scale[0]:g}, so there is none to change it to")
    for repeat in range(repeats):
        place, size = _shuffled(documents.topic, [seed, 1, repeat])
        up = np.random.default_rng([seed, 2, repeat]).random(len(documents)) < 0.5
        up = np.where(step == 0, True, np.where(step == len(scale) - 1, False, up))
        moved = scale[step + np.where(up, 1, -1)]
        for share in shares:
            changed = place <= np.floor(share * size + 0.5)
            grade = np.where(changed, moved, documents.grade)
            yield Setting("flips", share, repeat, len(documents)), None, grade


def _confused(
    documents: JudgedDocuments, confusion: Confusion | None, repeats: int, seed: int
) -> Iterator[tuple[Setting, None, Array]]:
    rows = _matrix(confusion or {}, documents.grade)
    changes = np.array([1 - rows[grade].get(grade, 0.0) for grade in documents.grade.tolist()])
    for repeat in range(repeats):
        draw = np.random.default_rng([seed, 3, repeat]).random(len(documents))
        grade = np.empty(len(documents))
        for old, row in rows.items():
            mine = documents.grade == old
            reached = np.searchsorted(np.cumsum(list(row.values())), draw[mine], side="right")
            grade[mine] = np.array(list(row))[np.minimum(reached, len(row) - 1)]
        yield Setting("confusion", float(changes.mean()), repeat, len(documents)), None, grade


def _matrix(confusion: Confusion, grades: Array) -> dict[float, dict[float, float]]:
    """The rows that are needed, grades and probabilities as floats."""
    rows = {float(old): {float(new): float(p) for new, p in row.items()} for old, row in confusion.items()}
    for old, row in rows.items():
        check.between(f"{WHO}: confusion of grade {old:g}", low=0, high=1, **{f"p({n:g})": p for n, p in row.items()})
        if not math.isclose(total := sum(row.values()), 1.0, abs_tol=1e-6):
            raise UsageError(f"{WHO}: probabilities of grade {old:g} sum to {total:g}, must be 1")
    present = np.unique(grades).tolist()
    for grade in present:
        if grade not in rows:
            raise UsageError(f"{WHO}: confusion says nothing of grade {grade:g}, which judgments have")
    return {grade: rows[grade] for grade in present}


def _subsets(
    full: Scores, sizes: Sequence[int] | None, repeats: int, seed: int, judged: int
) -> list[tuple[Setting, Array, Array]]:
    n = len(full.topics)
    if n < 2:
        raise UsageError(f"{WHO}: {counted(n, 'topic')}, must be 2 or more to take a part of them")
    step = 5 if n > 10 else 1
    given = list(range(step, n, step)) if sizes is None else list(sizes)
    if not given:
        raise UsageError(f"{WHO}: sizes is empty, must hold one or more")
    for size in given:
        check.whole(WHO, size=size)
        check.between(WHO, low=1, high=n, size=size)
    whole = full.means()
    found = []
    for repeat in range(repeats):
        order = np.random.default_rng([seed, 4, repeat]).permutation(n)
        for size in given:
            part = summaries.mean(full.values[:, :, order[:size]])
            found.append((Setting("topics", float(size), repeat, judged), whole, part))
    return found


def _shuffled(stratum: NDArray[np.int64], seed: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A random order within each stratum: the place of each entry (from 1), and the size of its stratum."""
    order = np.lexsort((np.random.default_rng(seed).random(len(stratum)), stratum))
    start = segment_starts(stratum, int(stratum.max(initial=-1)) + 1)
    place = np.empty(len(stratum), dtype=np.int64)
    place[order] = position_in_segment(start)
    return place, np.diff(start)[stratum]


# -- what is asked for


def _methods(how: Sequence[str] | str | None, confusion: Confusion | None) -> tuple[str, ...]:
    if how is None:
        return (*USUAL, "confusion") if confusion is not None else USUAL
    methods = (how,) if isinstance(how, str) else tuple(how)
    if not methods:
        raise UsageError(f"{WHO}: how is empty, must hold one or more of {', '.join(METHODS)}")
    for one in methods:
        check.one_of(WHO, tuple(METHODS), how=one)
    if "confusion" in methods and confusion is None:
        raise UsageError(f"{WHO}: how == 'confusion' needs a matrix: confusion={{grade: {{grade: probability}}}}")
    return methods


def _shares(name: str, given: Sequence[float]) -> list[float]:
    shares = [float(one) for one in given]
    if not shares:
        raise UsageError(f"{WHO}: {name} is empty, must hold one or more")
    for one in shares:
        check.between(WHO, low=0, high=1, **{name: one})
        if not one:
            raise UsageError(f"{WHO}: {name} has 0, must be above 0")
    return shares


def _level(level: float) -> str:
    return f"{level:.4g}"

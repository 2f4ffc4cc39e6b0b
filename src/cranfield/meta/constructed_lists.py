"""Ranked lists made up to learn about a measure: all lists of a length, or some of them, and the steps between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.by_rank import ByRank
from cranfield.assessed.lengths import Lengths
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged
from cranfield.errors import UsageError
from cranfield.measures import Measure
from cranfield.types import Array, Index64

Grades = NDArray[np.int8]

MOST = 2**21
"""So many lists are enumerated at most: that takes some ten seconds."""
CELLS = 4_000_000
"""So many documents are scored at a time; bounds memory."""
LONG = 500.0
"""The length of every document, for measures that count lengths."""
MOVED = 2_000
"""From so many of the lists of a sample steps are tried."""
FAR = 1e-9
"""Scores that differ by less are the same."""
CANNOT = {
    "intents": "judgments by intent",
    "inclusion": "how likely documents were to be drawn",
    "dimensions": "judgments of several dimensions",
}
"""What made-up lists do not have."""


def assess_lists(
    grades: Array, judged: Sequence[float], highest: float, *, lengths: Array | None = None, scores: bool = False
) -> Assessed:
    """Lists of one topic, a row each, as their grades from the top; NaN is an unjudged document.

    `judged` are the grades of the topic's judged documents. There is another topic with a document of grade `highest`:
    what a measure takes from the highest grade of all is the same whatever the topic. `lengths` are of the shape of
    `grades`; with `scores`, the document at rank r has the score 1 / r.

    >>> assess_lists(np.array([[1, np.nan, 0], [0, 0, 1]]), [1, 1, 0, 0], 1).rank.tolist()
    [1, 3, 1, 2, 3]
    """
    rows, n = grades.shape
    row, place = np.nonzero(~np.isnan(grades))
    begin = np.arange(rows) * n
    zero = np.zeros(rows, dtype=np.int64)
    return Assessed(
        runs=("list",),
        topics=("topic", "other"),
        run=zero,
        topic=zero,
        retrieved=np.full(rows, n),
        missing=np.zeros(rows, dtype=bool),
        row=row,
        rank=place + 1,
        grade=np.asarray(grades[row, place], dtype=np.float64),
        judged=Judged.of(np.array([0] * len(judged) + [1]), np.array([*judged, highest], dtype=np.float64), 2),
        set_of_row=zero,
    ).replace(
        lengths=None if lengths is None else Lengths(begin, {"length": np.asarray(lengths, dtype=np.float64).ravel()}),
        scores=ByRank(begin, {"score": np.tile(1.0 / np.arange(1, n + 1), rows)}) if scores else None,
    )


def better(measure: Measure, lists: Assessed) -> Array:
    """Scores, turned so that higher is better."""
    scores = measure.evaluate(lists)
    return np.asarray(0.0 - scores if measure.properties.better == "lower" else scores)


def as_told(measure: Measure, scores: Array) -> Array:
    """Scores as the measure gives them, from those that `better` turned."""
    return np.asarray(0.0 - scores if measure.properties.better == "lower" else scores)


def shown(grades: Sequence[float]) -> str:
    """A list from the top, `-` being an unjudged document.

    >>> shown([2, 0, float("nan")])
    '2 0 -'
    """
    return " ".join("-" if math.isnan(grade) else f"{grade:g}" for grade in grades)


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists of one length that are possible for one topic.

    >>> made = Lists.of(2)
    >>> made.lists.tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """

    length: int
    grades: int
    """How many there are, 0 included."""
    recall_base: tuple[int, ...]
    """How many documents of grade 1, of grade 2, ... the topic has."""
    lists: Grades
    """A row per list, from the top."""
    sample: int | None = None
    seed: int | None = None

    @staticmethod
    def of(
        length: int,
        grades: int = 2,
        recall_base: int | Sequence[int] | None = None,
        *,
        sample: int | None = None,
        seed: int = 0,
    ) -> Lists:
        """All lists of `length` documents with `grades` grades, or a `sample` of them.

        `recall_base` is how many documents of each relevant grade the topic has: one number for all of these, or one
        for each. Left out there are enough for every list. Lists with more of them than there are are left out.
        """
        check.whole("lists", length=length, grades=grades, sample=sample)
        if grades < 2:
            raise UsageError(f"lists: grades == {grades}, must be 2 or more: 0 and a relevant one")
        base = _recall_base(length, grades, recall_base)
        if sample is None:
            if length * math.log(grades) > math.log(MOST) + FAR:
                raise UsageError(
                    f"there are {grades}^{length} = {_many(grades, length)} lists of {length} documents with {grades} "
                    f"grades, too many to enumerate ({MOST:,} at most); take shorter ones, or some of them "
                    "drawn at random: sample=100000, on the command line --draw 100000"
                )
            made = _every(length, grades)
        else:
            drawn = np.random.default_rng(seed).integers(0, grades, (sample, length), dtype=np.int8)
            made = np.unique(np.concatenate([drawn, _at_the_ends(length, base)]), axis=0)
        fits = np.ones(len(made), dtype=bool)
        for grade, there in enumerate(base, 1):
            if there < length:
                fits &= (made == grade).sum(axis=1) <= there
        return Lists(length, grades, base, made[fits], sample, None if sample is None else seed)

    def __len__(self) -> int:
        return len(self.lists)

    @property
    def possible(self) -> int:
        """How many lists there would be if every one were possible."""
        return int(self.grades**self.length)

    @property
    def judged(self) -> list[float]:
        """The grades of the topic's judged documents: the relevant ones, and as many others as a list can hold."""
        relevant = [float(grade) for grade, there in enumerate(self.recall_base, 1) for _ in range(there)]
        return relevant + [0.0] * self.length

    def score(self, measure: Measure, lists: Grades | None = None) -> Array:
        """What the measure gives each list, turned so that higher is better."""
        check_can(measure)
        some = self.lists if lists is None else lists
        step = max(1, CELLS // max(self.length, 1))
        found = [self._score(measure, some[begin : begin + step]) for begin in range(0, len(some), step)]
        return np.concatenate(found) if found else np.zeros(0)

    def _score(self, measure: Measure, some: Grades) -> Array:
        lengths = np.full(some.shape, LONG) if measure.needs == "lengths" else None
        lists = assess_lists(
            some.astype(np.float64), self.judged, self.grades - 1, lengths=lengths, scores=measure.needs == "scores"
        )
        return better(measure, lists)

    def steps(self, measure: Measure, scores: Array, kind: str) -> Iterator[Steps]:
        """From every list to those that a `swap` or a `replacement` makes of it.

        Swap: two neighbours change places, so that the better one comes up. Replacement: a document gives way to one
        of the next better grade.
        """
        for place in range(self.length - (kind == "swap")):
            here = self.lists[:, place]
            if kind == "swap":
                can = here < self.lists[:, place + 1]
            else:
                left = np.array([self.length, *self.recall_base, 0])[here + 1]
                can = (here < self.grades - 1) & ((self.lists == here[:, None] + 1).sum(axis=1) < left)
            before = np.flatnonzero(can)
            if self.sample is not None:
                before = before[:MOVED]
            after = self.lists[before].copy()
            if kind == "swap":
                after[:, [place, place + 1]] = after[:, [place + 1, place]]
            else:
                after[:, place] += 1
            if self.sample is None:
                reached = scores[self._row_of[self._number(after)]]
            else:
                reached = self.score(measure, after)
            yield Steps(self.lists[before], after, scores[before], reached)

    def missed(self, grades: Sequence[int]) -> list[float]:
        """The relevant documents of the topic that are not in the list, best first."""
        left = [there - list(grades).count(grade) for grade, there in enumerate(self.recall_base, 1)]
        return [float(grade) for grade in range(len(left), 0, -1) for _ in range(left[grade - 1])]

    def set_number(self) -> Index64:
        """Lists with the same documents, whatever their order, have the same number; better sets have higher ones."""
        best_first = -np.sort(-self.lists, axis=1)
        if self.length * math.log2(self.grades) < 62:
            return self._number(best_first)
        return np.asarray(np.unique(best_first, axis=0, return_inverse=True)[1]).reshape(-1)

    def _number(self, lists: Grades) -> Index64:
        weights = self.grades ** np.arange(self.length - 1, -1, -1, dtype=np.int64)
        number = np.zeros(len(lists), dtype=np.int64)
        for place, weight in enumerate(weights.tolist()):
            number += weight * lists[:, place].astype(np.int64)
        return number

    @cached_property
    def _row_of(self) -> NDArray[np.int64]:
        """Which row each list is in, by its number among all lists."""
        row_of = np.full(self.possible, -1, dtype=np.int64)
        row_of[self._number(self.lists)] = np.arange(len(self.lists))
        return row_of

    def note(self) -> str:
        """What was looked at, in a sentence."""
        base = set(self.recall_base)
        each = " of each grade" if self.grades > 2 else ""
        there = f"{self.recall_base[0]}{each}" if len(base) == 1 else ", ".join(
            f"{n} of grade {grade}" for grade, n in enumerate(self.recall_base, 1)
        )  # fmt: skip
        of = f"lists of {self.length} documents with grades 0 to {self.grades - 1}, relevant documents: {there}"
        if self.sample is not None:
            drawn = f"{self.sample:,} drawn at random (seed {self.seed}), each once, and those at both ends"
            return f"{len(self):,} {of}; {drawn}"
        left_out = self.possible - len(self)
        return f"all {len(self):,} {of}" + (f"; {left_out:,} lists hold more than there are" if left_out else "")


@dataclass(frozen=True, eq=False)
class Steps:
    """Lists before and after a step, and their scores (higher is better)."""

    before: Grades
    after: Grades
    score_before: Array
    score_after: Array


def check_can(measure: Measure) -> None:
    """Complain about a measure that needs more than lists of grades."""
    if measure.needs in CANNOT or measure.split_views()[1]:
        what = CANNOT.get(measure.needs, CANNOT["intents"])
        raise UsageError(f"{measure} needs {what}, which lists of grades do not have; give a measure of plain lists")


def _recall_base(length: int, grades: int, given: int | Sequence[int] | None) -> tuple[int, ...]:
    if given is None:
        return (length,) * (grades - 1)
    base = (given,) * (grades - 1) if isinstance(given, int) else tuple(given)
    for there in base:
        check.finite("lists", recall_base=there)
        check.not_negative("lists", recall_base=there)
    if len(base) != grades - 1:
        raise UsageError(
            f"lists: recall_base == {base}, must be one number or {grades - 1}, one for each grade above 0"
        )
    if sum(base) == 0:
        raise UsageError("lists: recall_base == 0, must be above 0: a topic with nothing relevant tells no lists apart")
    return tuple(map(int, base))


def _every(length: int, grades: int) -> Grades:
    number = np.arange(grades**length, dtype=np.int64)
    made = np.empty((len(number), length), dtype=np.int8)
    for place in range(length - 1, -1, -1):
        made[:, place] = number % grades
        number //= grades
    return made


def _at_the_ends(length: int, base: tuple[int, ...]) -> Grades:
    """The worst and the best list, and those one step away: for a measure that rewards steps the gaps there are exact.

    Any other list is at most as good as one of those just below the best, and at least as good as one just above the
    worst.
    """
    stock = [grade for grade in range(len(base), 0, -1) for _ in range(min(base[grade - 1], length))]
    best = np.array((stock + [0] * length)[:length], dtype=np.int8)
    worst = np.zeros(length, dtype=np.int8)
    made = [best, worst]
    for place in range(length):
        one = worst.copy()
        one[place] = next(grade for grade, there in enumerate(base, 1) if there)
        made.append(one)
        if best[place] > 0:
            one = best.copy()
            one[place] -= 1
            made.append(one)
        if place + 1 < length:
            one = best.copy()
            one[[place, place + 1]] = one[[place + 1, place]]
            made.append(one)
    return np.array(made)


def _many(grades: int, length: int) -> str:
    digits = length * math.log10(grades)
    return f"{grades**length:,}" if digits < 15 else f"{10 ** (digits % 1):.1f} × 10^{int(digits)}"

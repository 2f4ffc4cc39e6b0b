"""Synthetic ranked lists to study a measure: all lists of a length, or a sample, and the steps between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.attachment import ByRank
from cranfield.assessed.lengths import Lengths
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged
from cranfield.errors import UsageError
from cranfield.measures import Measure
from cranfield.types import Array, Index64

Grades = NDArray[np.int8]

MOST = 2**21
"""The largest number of lists to enumerate, which takes some ten seconds."""
FAR = 1e-9
"""Scores that differ by less are equal."""
_DOCUMENTS = 4_000_000
"""Number of documents scored at a time, to bound memory."""
_LENGTH = 500.0
"""The length of every document, for measures that use lengths."""
_STARTS = 2_000
"""From a sample, steps are tried from this many lists."""
UNAVAILABLE = {
    "intents": "judgments by intent",
    "inclusion": "inclusion probabilities of documents",
    "dimensions": "judgments in several dimensions",
}
"""What synthetic lists do not have, by `Measure.needs`."""


def assess_lists(
    grades: Array, judged: Sequence[float], highest: float, *, lengths: Array | None = None, scores: bool = False
) -> Assessed:
    """Lists of one topic, each a row of grades from the top; NaN is an unjudged document.

    `judged` are the grades of the topic's judged documents. A second topic has a document of grade `highest`, so that
    measures that use the highest grade of all topics score every topic alike. `lengths` has the shape of `grades`; with
    `scores`, the document at rank r has the score 1 / r.

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


def higher_better(measure: Measure, scores: Array) -> Array:
    """Scores with the sign changed if lower is better; applied twice, the original scores."""
    return np.asarray(0.0 - scores if measure.properties.better == "lower" else scores)


def list_text(grades: Sequence[float | None], missed: Sequence[float] = ()) -> str:
    """The grades from the top, with `-` for an unjudged document, and the relevant documents that were missed.

    >>> list_text([2, None, 0], [1, 1]), list_text([float("nan"), 1])
    ('2 - 0 | missed 1 1', '- 1')
    """
    top = " ".join("-" if grade is None or math.isnan(grade) else f"{grade:g}" for grade in grades)
    return top + (f" | missed {' '.join(f'{grade:g}' for grade in missed)}" if missed else "")


@dataclass(frozen=True, eq=False)
class SyntheticLists:
    """Lists of one length that are possible for one topic.

    >>> SyntheticLists.of(2).lists.tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """

    length: int
    grades: int
    """The number of grades, including 0."""
    recall_base: tuple[int, ...]
    """The topic's number of documents of grade 1, of grade 2, ..."""
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
    ) -> SyntheticLists:
        """All lists of `length` documents with `grades` grades, or a `sample` of them.

        `recall_base` is the topic's number of documents of each relevant grade: one number for all grades, or one for
        each; default: enough for every list. Lists with more documents of a grade than that are left out.
        """
        check.whole("lists", length=length, grades=grades, sample=sample)
        if grades < 2:
            raise UsageError(f"lists: grades == {grades}, must be 2 or more: 0 and a relevant one")
        base = _recall_base(length, grades, recall_base)
        if sample is None:
            if length * math.log(grades) > math.log(MOST) + FAR:
                digits = length * math.log10(grades)
                power = f"{grades**length:,}" if digits < 15 else f"{10 ** (digits % 1):.1f} × 10^{int(digits)}"
                every = f"{grades}^{length} = {power} lists of {length} documents with {grades} grades"
                way_out = f"too many to enumerate (at most {MOST:,}); use shorter lists or draw some: draw=100000"
                raise UsageError(f"there are {every}, {way_out}")
            lists = np.ascontiguousarray(np.indices((grades,) * length, dtype=np.int8).reshape(length, -1).T)
        else:
            drawn = np.random.default_rng(seed).integers(0, grades, (sample, length), dtype=np.int8)
            lists = np.unique(np.concatenate([drawn, _extreme_lists(length, base)]), axis=0)
        possible = np.ones(len(lists), dtype=bool)
        for grade, count in enumerate(base, 1):
            if count < length:
                possible &= (lists == grade).sum(axis=1) <= count
        return SyntheticLists(length, grades, base, lists[possible], sample, None if sample is None else seed)

    def __len__(self) -> int:
        return len(self.lists)

    @property
    def possible(self) -> int:
        """The number of lists with an unlimited recall base."""
        return int(self.grades**self.length)

    @property
    def judged(self) -> list[float]:
        """The grades of the topic's judged documents: the relevant ones, and as many others as a list can hold."""
        relevant = [float(grade) for grade, count in enumerate(self.recall_base, 1) for _ in range(count)]
        return relevant + [0.0] * self.length

    def score(self, measure: Measure, lists: Grades | None = None) -> Array:
        """The score of each list, with the sign changed if lower is better."""
        check_plain_lists(measure)
        chosen = self.lists if lists is None else lists
        step = max(1, _DOCUMENTS // max(self.length, 1))
        blocks = [self._score(measure, chosen[begin : begin + step]) for begin in range(0, len(chosen), step)]
        return np.concatenate(blocks) if blocks else np.zeros(0)

    def _score(self, measure: Measure, lists: Grades) -> Array:
        lengths = np.full(lists.shape, _LENGTH) if measure.needs == "lengths" else None
        grades, scores = lists.astype(np.float64), measure.needs == "scores"
        assessed = assess_lists(grades, self.judged, self.grades - 1, lengths=lengths, scores=scores)
        return higher_better(measure, measure.evaluate(assessed))

    def steps(self, measure: Measure, scores: Array, kind: str) -> Iterator[Steps]:
        """Steps of one `kind` from every list, one rank at a time.

        swap: two neighbours change places, so that the better one moves up. replacement: a document of the next better
        grade takes a document's place.
        """
        for place in range(self.length - (kind == "swap")):
            here = self.lists[:, place]
            if kind == "swap":
                can = here < self.lists[:, place + 1]
            else:
                available = np.array([self.length, *self.recall_base, 0])[here + 1]
                can = (here < self.grades - 1) & ((self.lists == here[:, None] + 1).sum(axis=1) < available)
            before = np.flatnonzero(can)
            if self.sample is not None:
                before = before[:_STARTS]
            after = self.lists[before].copy()
            if kind == "swap":
                after[:, [place, place + 1]] = after[:, [place + 1, place]]
            else:
                after[:, place] += 1
            enumerated = self.sample is None
            score_after = scores[self._row_of[self._number(after)]] if enumerated else self.score(measure, after)
            yield Steps(self.lists[before], after, scores[before], score_after)

    def missed(self, grades: Sequence[int]) -> list[float]:
        """The grades of the topic's relevant documents that are not in the list, best first."""
        left = [count - list(grades).count(grade) for grade, count in enumerate(self.recall_base, 1)]
        return [float(grade) for grade in range(len(left), 0, -1) for _ in range(left[grade - 1])]

    def rank_number(self, depth: int) -> Index64:
        """A number for the first `depth` documents of each list, in the rank-based total order."""
        return self._place_number(self.lists[:, :depth])

    def set_number(self, depth: int) -> Index64:
        """A number for the set of the first `depth` documents of each list, in the set-based total order."""
        return self._place_number(-np.sort(-self.lists[:, :depth], axis=1))

    def _place_number(self, lists: Grades) -> Index64:
        """A number for each list: higher if the first document that differs is better."""
        if self.length * math.log2(self.grades) < 62:
            return self._number(np.pad(lists, ((0, 0), (0, self.length - lists.shape[1]))))
        return np.asarray(np.unique(lists, axis=0, return_inverse=True)[1]).reshape(-1)

    def _number(self, lists: Grades) -> Index64:
        weights = self.grades ** np.arange(self.length - 1, -1, -1, dtype=np.int64)
        number = np.zeros(len(lists), dtype=np.int64)
        for place, weight in enumerate(weights.tolist()):
            number += weight * lists[:, place].astype(np.int64)
        return number

    @cached_property
    def _row_of(self) -> Index64:
        """The row of each list, by its number among all lists."""
        row_of = np.full(self.possible, -1, dtype=np.int64)
        row_of[self._number(self.lists)] = np.arange(len(self.lists))
        return row_of

    def note(self) -> str:
        """A description of the lists."""
        if len(set(self.recall_base)) == 1:
            base = f"{self.recall_base[0]}{' of each grade' if self.grades > 2 else ''}"
        else:
            base = ", ".join(f"{count} of grade {grade}" for grade, count in enumerate(self.recall_base, 1))
        lists = f"lists of {self.length} documents with grades 0 to {self.grades - 1}, relevant documents: {base}"
        if self.sample is not None:
            drawn = f"{self.sample:,} drawn at random (seed {self.seed})"
            return f"{len(self):,} distinct {lists}; {drawn}, and the extremes"
        left_out = self.possible - len(self)
        excluded = f"; {left_out:,} lists need more relevant documents than the topic has" if left_out else ""
        return f"all {len(self):,} {lists}{excluded}"


class Steps(NamedTuple):
    """Lists before and after a step, and their scores (higher is better)."""

    before: Grades
    after: Grades
    score_before: Array
    score_after: Array


def check_plain_lists(measure: Measure) -> None:
    """Refuse a measure that needs more than lists of grades."""
    if measure.needs in UNAVAILABLE or measure.split_views()[1]:
        needs = UNAVAILABLE.get(measure.needs, UNAVAILABLE["intents"])
        raise UsageError(f"{measure} needs {needs}, which lists of grades do not have; give a measure of plain lists")


def _recall_base(length: int, grades: int, recall_base: int | Sequence[int] | None) -> tuple[int, ...]:
    if recall_base is None:
        return (length,) * (grades - 1)
    base = (recall_base,) * (grades - 1) if isinstance(recall_base, int) else tuple(recall_base)
    for count in base:
        check.finite("lists", recall_base=count)
        check.not_negative("lists", recall_base=count)
    if len(base) != grades - 1:
        must = f"must be one number or {grades - 1}, one for each grade above 0"
        raise UsageError(f"lists: recall_base == {base}, {must}")
    if sum(base) == 0:
        raise UsageError("lists: recall_base == 0, must be above 0: without relevant documents all lists are equal")
    return tuple(map(int, base))


def _extreme_lists(length: int, base: tuple[int, ...]) -> Grades:
    """The worst and the best list, and those one step away from them.

    For a measure that rewards every step, the gaps at both ends are then exact: any other list is at most as good as
    one just below the best, and at least as good as one just above the worst.
    """
    documents = [grade for grade in range(len(base), 0, -1) for _ in range(min(base[grade - 1], length))]
    best = np.array((documents + [0] * length)[:length], dtype=np.int8)
    worst = np.zeros(length, dtype=np.int8)
    lists = [best, worst]
    for place in range(length):
        lists.append(worst.copy())
        lists[-1][place] = next(grade for grade, count in enumerate(base, 1) if count)
        if best[place] > 0:
            lists.append(best.copy())
            lists[-1][place] -= 1
        if place + 1 < length:
            lists.append(best.copy())
            lists[-1][[place, place + 1]] = best[[place + 1, place]]
    return np.array(lists)

"""Assessed lists from matrices of grades and scores (queries × documents), ranked only as far as a measure reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield import _core
from cranfield.assessed.attachment import Attachment
from cranfield.assessed.by_rank import ByRank
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Gains, Hits, Ideal, Judged, starts_of
from cranfield.errors import DataError, UsageError
from cranfield.types import Array, Index


def assess_arrays(grades: ArrayLike, scores: ArrayLike, mask: ArrayLike | None = None) -> Assessed:
    """Assessed lists from matrices (queries × documents), for training rankers.

    `mask` is true where a document exists; NaN in `grades` is an unjudged document. Of tied documents the one in the
    higher column comes first, as in trec_eval's rule for document ids.

    >>> lists = assess_arrays([[0, 1, 2]], [[0.1, 0.9, 0.5]])
    >>> lists.grade.tolist()
    [1.0, 2.0, 0.0]
    """
    try:
        grade = np.ascontiguousarray(grades, dtype=np.float64)
        score = np.ascontiguousarray(scores, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise UsageError(f"grades and scores must be matrices of numbers (queries × documents): {error}") from None
    exists = None if mask is None else np.ascontiguousarray(mask, dtype=bool)
    shape = score.shape if exists is None else exists.shape
    if np.ndim(grades) != 2 or grade.shape != score.shape or shape != score.shape:
        raise UsageError(f"shapes {grade.shape}, {score.shape} and {shape}: all must be queries × documents")
    if np.isnan(score if exists is None else score[exists]).any():
        wrong = np.isnan(score) if exists is None else np.isnan(score) & exists
        row, column = np.argwhere(wrong)[0]
        raise DataError("scores", None, f"NaN at query {row}, document {column}")
    return MatrixLists.of(grade, score, exists)


class _OnFirstUse:
    """An array that is made when it is first read; after that it is an ordinary attribute."""

    def __init__(self, make: Callable[[MatrixLists], None]) -> None:
        self.make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, lists: MatrixLists | None, kind: type) -> Any:
        if lists is None:
            return None
        self.make(lists)
        return lists.__dict__[self.name]


class MatrixLists(Assessed):
    """Lists of a matrix. A measure with a cutoff reads only the top of each row; all ranks are found if one asks."""

    _grade: Array
    _score: Array
    _exists: NDArray[np.bool_] | None

    @classmethod
    def of(cls, grade: Array, score: Array, exists: NDArray[np.bool_] | None) -> MatrixLists:
        """The lists of one run; `exists` is None if every document does."""
        lists = cls.__new__(cls)
        queries, documents = score.shape
        every = np.arange(queries)
        length = np.full(queries, documents) if exists is None else exists.sum(axis=1)
        lists.__dict__.update(
            _grade=grade, _score=score, _exists=exists, _cache={}, runs=("run",),
            topics=tuple(map(str, range(queries))), run=np.zeros(queries, dtype=np.int64), topic=every,
            set_of_row=every, retrieved=length,
            missing=np.zeros(queries, dtype=bool), notes=("order: score",), attachments=_ScoresOnFirstUse(lists),
        )  # fmt: skip
        return lists

    # -- arrays made when they are needed

    def _rank_all(self) -> None:
        """Rank all documents of every row."""
        every = self._score.shape[1]
        row, rank, column, score = _core.top_of_rows(self._score, self._score, self._exists, every, -np.inf)
        grade = self._grade[row, column]
        begins = np.ones(len(row), dtype=bool)  # whether a document is the first of its tie
        begins[1:] = (row[1:] != row[:-1]) | (score[1:] != score[:-1])
        starts = np.flatnonzero(begins)
        sizes = np.diff(np.append(starts, len(row)))
        first = np.repeat(rank[starts], sizes)
        last = np.repeat(rank[starts] + sizes - 1, sizes)
        hit = ~np.isnan(grade)
        self.__dict__.update(
            row=row[hit], rank=rank[hit], grade=grade[hit], tie_first=first[hit], tie_last=last[hit],
            _ranked_score=score,
        )  # fmt: skip

    def _judge_all(self) -> None:
        """Sort the judged documents of every row by grade."""
        judged = ~np.isnan(self._grade) if self._exists is None else ~np.isnan(self._grade) & self._exists
        count = judged.sum(axis=1)
        best_first = -np.sort(np.where(judged, -self._grade, np.inf), axis=1)  # what is not judged comes last
        self.__dict__["judged"] = Judged(starts_of(count), best_first[np.arange(judged.shape[1]) < count[:, None]])

    row = _OnFirstUse(_rank_all)
    rank = _OnFirstUse(_rank_all)
    grade = _OnFirstUse(_rank_all)
    tie_first = _OnFirstUse(_rank_all)
    tie_last = _OnFirstUse(_rank_all)
    _ranked_score = _OnFirstUse(_rank_all)
    judged = _OnFirstUse(_judge_all)

    def replace(self, **changes: Any) -> Assessed:
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        return Assessed(**{**known, "attachments": dict(self.attachments)}).replace(**changes)

    # -- the top of each row

    @property
    def ranks_on_demand(self) -> bool:
        return "row" not in self.__dict__

    @property
    def deepest(self) -> int:
        return int(self.retrieved.max(initial=0))

    def hits(self, cutoff: int | None = None) -> Hits:
        if cutoff is None or not self.ranks_on_demand:
            return super().hits(cutoff)

        def make() -> Hits:
            row, rank, _, grade = _core.top_of_rows(self._score, self._grade, self._exists, cutoff, -np.inf)
            return self.as_hits(row, rank, grade, None)

        return self._once(("hits", cutoff), make)

    def ideal_down_to(self, gain: Gains, cutoff: int | None) -> Ideal:
        if cutoff is None or ("ideal", gain) in self._cache:
            return self.ideal(gain)

        def make() -> Ideal:
            unjudged = np.isnan(self._grade) if self._exists is None else np.isnan(self._grade) | ~self._exists
            if unjudged.any():
                gains = np.where(unjudged, 0.0, gain(np.where(unjudged, 0.0, self._grade)))
            else:
                gains = gain(self._grade)
            above_0 = np.nextafter(0.0, 1.0)
            count, best = _core.largest_of_rows(gains, cutoff, above_0)
            return Ideal(starts_of(count), best, self.set_of_row)

        return self._once(("ideal", gain, cutoff), make)


class _ScoresOnFirstUse(Mapping[str, Attachment]):
    """The attachments of a matrix: the scores by rank."""

    def __init__(self, lists: MatrixLists) -> None:
        self._lists = lists

    def __getitem__(self, name: str) -> Attachment:
        if name != "scores":
            raise KeyError(name)
        lists = self._lists
        starts: Index = np.cumsum(lists.retrieved) - lists.retrieved
        return lists._once("scores", lambda: ByRank(starts, {"score": lists._ranked_score}))

    def __iter__(self) -> Iterator[str]:
        return iter(("scores",))

    def __len__(self) -> int:
        return 1

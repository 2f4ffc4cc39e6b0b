"""Join runs, from files or matrices, with judgments. Order, ties, missing topics and duplicates are settled here.

Documents can be relevant only together: a set of them counts once, where the last of its members is found.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield import _core
from cranfield.assessed.attachment import Attachment, ByRank
from cranfield.assessed.dimensions import judged_in_dimensions
from cranfield.assessed.intent_files import DISTRIBUTIONS, descriptions
from cranfield.assessed.intents import judged_by_intent
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.joined_runs import JudgedIndex, join_runs
from cranfield.assessed.lists import Assessed
from cranfield.assessed.sampling import AS_STRATA, has_strata, sample_of
from cranfield.assessed.segments import Gains, Hits, Ideal, Judged, starts_of
from cranfield.collection.accepted_inputs import QrelsLike, RunsLike
from cranfield.collection.qrels import Qrels
from cranfield.collection.records import NO_LABEL
from cranfield.collection.tables.table_schema import DOC, TOPIC, Schema, Words
from cranfield.errors import CranfieldWarning, DataError, UsageError, warn_caller
from cranfield.notes import method_note
from cranfield.text import counted
from cranfield.types import Array, Index, Index64, Progress

HIGHEST = 1000.0
"""A higher grade is probably a mistake; from 1024 on, the gain 2^grade is not even a number any more."""
FEW = 100
"""If fewer than one document in 100 has two labels, the judgments are probably not by intent."""
TYPES_FROM = "intent types: from "
"""The beginning of the note that names the source of intent types."""


def join(
    qrels: QrelsLike, runs: RunsLike, options: JoinOptions | None = None, progress: Progress | None = None
) -> Assessed:
    """Assessed lists of every run on every judged topic.

    `qrels` is anything that `Qrels.of` takes. `runs` is one run or a list of them: paths, globs, dicts, frames, `Run`s;
    a mapping {name: run} names them.

    >>> lists = join({"q1": {"d1": 1, "d2": 0}}, {"mine": {"q1": {"d2": 2.0, "d1": 1.0, "d3": 0.5}}})
    >>> lists.rank.tolist(), lists.grade.tolist(), lists.retrieved.tolist()
    ([1, 2], [0.0, 1.0], [3])
    """
    options = options or JoinOptions()
    judgments = qrels if isinstance(qrels, Qrels) else Qrels.of(qrels, on_duplicate=options.on_duplicate)
    return prepare(judgments, options).join(runs, progress)


def _odd_grades(qrels: Qrels, documents: JudgedIndex) -> Iterator[str]:
    """Messages about judgments from which no useful score can be computed."""
    if not len(qrels):
        yield f"{qrels.path or 'the judgments'}: empty, no document is judged; all measures are undefined"
    elif documents.by_topic.highest <= 0:
        yield "no document is judged relevant (grade 1 or more); measures that need one are undefined"
    place, value = qrels.table.furthest_from_zero()
    if abs(value) > HIGHEST:
        topic = qrels.topics[int(np.searchsorted(qrels.starts, place, side="right")) - 1]
        doc = qrels.table.docs(place, place + 1)[0]
        yield (
            f"{qrels.path or 'the judgments'}: the grade of document {doc!r} for topic {topic!r} is {value:g}, which "
            "is unlikely to be a grade; check the column of grades"
        )


@dataclass(frozen=True)
class PreparedJudgments:
    """Judgments ready to be joined, with attachments, notes and the options of joins; used for any number of joins."""

    qrels: Qrels
    options: JoinOptions
    documents: JudgedIndex
    attachments: Mapping[str, Attachment]
    notes: tuple[str, ...]
    odd_grades: tuple[str, ...]
    """Messages about judgments from which no useful score can be computed."""
    other_dimensions: bool
    """Whether some documents are judged only in other dimensions, and have no grade."""

    def join(self, runs: RunsLike, progress: Progress | None = None) -> Assessed:
        """Assessed lists of every run on every judged topic."""
        return self.attach(join_runs(self.documents, runs, self.options, progress, self.qrels))

    def attach(self, lists: Assessed) -> Assessed:
        """Lists that are already joined, with the attachments and notes of the judgments."""
        for message in self.odd_grades:
            warn_caller(message, CranfieldWarning)
        if self.options.together is not None:
            if self.attachments:
                raise UsageError(f"together cannot be combined with {' and '.join(self.attachments)}")
            lists = sets_together(self.options.together, self.qrels, self.documents.table).read(lists)
        if not self.notes and not self.attachments:
            return lists
        attachments = {name: attachment.joined(lists) for name, attachment in self.attachments.items()}
        lists = lists.replace(notes=lists.notes + self.notes, **attachments)
        if not self.other_dimensions:
            return lists
        hits = np.flatnonzero(~np.isnan(lists.grade))
        return lists.take_hits(slice(None), hits, lists.row[hits])


def prepare(qrels: Qrels, options: JoinOptions) -> PreparedJudgments:
    """Judgments ready to be joined."""
    prepared = _prepared(qrels, options)
    documents = JudgedIndex.of(prepared.judged, prepared.grade)
    return PreparedJudgments(
        qrels,
        options,
        documents,
        prepared.attachments,
        (*qrels.notes, *prepared.notes),
        tuple(_odd_grades(qrels, documents)),
        prepared.grade is not None,
    )


class _Prepared(NamedTuple):
    """Judgments in the form that the core joins, with attachments and notes."""

    judged: _core.Judged
    attachments: Mapping[str, Attachment] = {}
    notes: tuple[str, ...] = ()
    grade: Array | None = None
    """Grades of the documents, NaN for documents that only other dimensions judge; None: those of `judged`."""


def _prepared(qrels: Qrels, options: JoinOptions) -> _Prepared:
    described = options.described_intents
    if options.strata and (described or qrels.by_intent or qrels.plain):
        what = "is ignored in format 'trec'" if qrels.plain else "is the intent"
        raise UsageError(f"strata are column 2 of the judgments, which {what} here; leave out one of them")
    if options.dimensions is not None:
        if described or options.inclusion is not None:
            raise UsageError("dimensions cannot be combined with intents or inclusion")
        judged, dimensions = judged_in_dimensions(qrels, options.dimensions, options.on_duplicate)
        return _Prepared(judged, {"dimensions": dimensions}, grade=dimensions.grade[0])
    has_intents = qrels.has_intents
    if is_sample(qrels, options):
        sample = sample_of(qrels, options.inclusion)
        return _Prepared(qrels.judged(), {"sample": sample}, (AS_STRATA,) if sample.strata > 1 else ())
    if described and not has_intents:
        if NO_LABEL.issuperset(qrels.table.labels):
            raise UsageError(
                f"intents are described, but {qrels.path or 'the judgments'} have none: column 2 is the same "
                "everywhere; if it is the intent, read the judgments with format='diversity'"
            )
        qrels, has_intents = qrels.with_intents(), True
    if not has_intents:
        return _Prepared(qrels.judged(options.on_duplicate))
    probabilities, types = descriptions(options.intent_probabilities, options.intent_types)
    judged, intents = judged_by_intent(qrels, probabilities, types, keep_empty=options.empty_intents == "keep")
    if not (described or qrels.by_intent):
        _warn_of_few_intents(qrels, int(judged.start[-1]))
    return _Prepared(judged, {"intents": intents}, _about_intents(options, types))


def is_sample(qrels: Qrels, options: JoinOptions) -> bool:
    """Whether the judgments are read as a sample, because that is asked for or because most documents are not drawn."""
    if options.inclusion is not None or options.strata:
        return True
    if options.described_intents or not (qrels.labels_vary or len(qrels.probabilities)):
        return False
    return has_strata(qrels, wanted=options.sampled)


def _warn_of_few_intents(qrels: Qrels, judged: int) -> None:
    """Warn if hardly any of the judged documents has two labels in column 2, which may be the round of judging."""
    again = len(qrels) - judged
    have = "has" if again == 1 else "have"
    if again * FEW < judged:
        warn_caller(
            f"{qrels.path or 'the judgments'}: column 2 is read as the intent, because {again:,} of {judged:,} "
            f"documents {have} two labels in a topic; if it is a round or an iteration, read the judgments with "
            "format='trec'",
            CranfieldWarning,
        )


def _about_intents(options: JoinOptions, types: Any) -> tuple[str, ...]:
    """Notes on where probabilities and types of intents come from."""
    notes = []
    if (probabilities := options.intent_probabilities) is not None:
        named = DISTRIBUTIONS.get(probabilities) if isinstance(probabilities, str) else None
        source = f"{probabilities}, {named}" if named else f"from {_source(probabilities)}"
        notes.append(method_note(f"intent probabilities: {source}"))
    if types is not None:
        notes.append(TYPES_FROM + _source(options.intent_types or options.intent_probabilities))
    if options.empty_intents == "keep":
        notes.append("intents without relevant documents keep their probability; no document can serve them")
    return tuple(notes)


def _source(thing: Any) -> str:
    path = os.fspath(thing) if isinstance(thing, str | os.PathLike) else "a mapping"
    return "standard input" if path == "-" else path


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
            missing=np.zeros(queries, dtype=bool), notes=(method_note("order: "
                "score"),), attachments=_ScoresOnFirstUse(lists),
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


Sets = Mapping[str, Mapping[str, list[str]]]
"""{topic: {set: documents}}."""
SETS = Schema("topic set doc", comments=True, topic=TOPIC, set=Words(("set", "set_id")), doc=DOC)


@dataclass(frozen=True, eq=False)
class Together:
    """Sets of judged documents.

    | array | one per | meaning |
    |---|---|---|
    | `topic`, `grade` | judged document | its topic and grade, in the order of `Assessed.document` |
    | `set_of` | judged document | its set, -1 if it is relevant by itself |
    | `size` | set | how many documents it has |
    """

    topic: Index64
    grade: Array
    set_of: Index64
    size: Index64

    @property
    def note(self) -> str:
        """What a reader of the scores must know."""
        sets = counted(len(self.size), "set")
        return f"{sets} of documents relevant only together: a set counts once, at the rank of its last document"

    def read(self, lists: Assessed) -> Assessed:
        """The lists in which a set counts where it is complete, and its other documents are not relevant.

        The grade of a set is the highest grade of its documents. A set that is not complete counts nowhere. Among the
        judged documents a set is one relevant document, whose size says how many ranks it takes, and the rest of its
        documents are not relevant.
        """
        assert lists.document is not None
        of_set = np.full(len(self.size), -np.inf)
        member = np.flatnonzero(self.set_of >= 0)
        np.maximum.at(of_set, self.set_of[member], self.grade[member])

        found = self.set_of[lists.document]
        hits = np.flatnonzero(found >= 0)
        key = lists.row[hits].astype(np.int64) * len(self.size) + found[hits]
        keys, which, count = np.unique(key, return_inverse=True, return_counts=True)
        last = np.zeros(len(keys), dtype=np.int64)
        np.maximum.at(last, which, hits)
        complete = count == self.size[keys % max(len(self.size), 1)]
        grade = np.array(lists.grade, dtype=np.float64)
        grade[hits] = np.minimum(grade[hits], 0.0)
        grade[last[complete]] = of_set[found[last[complete]]]

        judged, size = self.grade.copy(), np.ones(len(self.grade))
        judged[member] = np.minimum(judged[member], 0.0)
        _, first = np.unique(self.set_of[member], return_index=True)
        judged[member[first]] = of_set[self.set_of[member[first]]]
        size[member[first]] = self.size[self.set_of[member[first]]]
        sets = Judged.of(self.topic, judged, len(lists.topics), size=size)
        return lists.replace(grade=grade, judged=sets, notes=(*lists.notes, self.note))


def sets_together(source: Any, qrels: Qrels, judged: _core.Judged) -> Together:
    """From {topic: {set: [document, ...]}}, or a file with lines `topic set doc`; all documents must be judged."""
    origin, sets = _sets(source)
    names = qrels.table.docs(0, len(qrels))
    if len(names) != len(judged.grade):
        raise UsageError("together: the judgments of some document are repeated; remove the duplicates")
    topic = np.repeat(np.arange(len(judged.topics)), np.diff(judged.start))
    number_of_topic = {name: number for number, name in enumerate(judged.topics)}
    number = {(int(t), name): at for at, (t, name) in enumerate(zip(topic, names, strict=True))}
    set_of = np.full(len(names), -1, dtype=np.int64)
    sizes: list[int] = []
    for name, by_set in sets.items():
        if name not in number_of_topic:
            continue  # a side file may cover more topics than the judgments
        for label, documents in by_set.items():
            for document in documents:
                at = number.get((number_of_topic[name], document))
                what = f"topic {name!r}, set {label!r}: document {document!r}"
                if at is None:
                    raise DataError(origin, None, f"{what} is not judged; add it to the judgments or leave it out")
                if set_of[at] >= 0:
                    raise DataError(origin, None, f"{what} is named twice, a document can be in one set only")
                set_of[at] = len(sizes)
            sizes.append(len(documents))
    if not sizes:
        raise DataError(origin, None, "no set of a judged topic")
    return Together(topic, np.array(judged.grade), set_of, np.array(sizes, dtype=np.int64))


def _sets(source: Any) -> tuple[str, Sets]:
    if isinstance(source, Mapping):
        return "together", {
            str(topic): {str(label): list(map(str, documents)) for label, documents in sets.items()}
            for topic, sets in source.items()
        }
    if not isinstance(source, str | os.PathLike):
        raise UsageError(f"together from {type(source).__name__}, must be a file or {{topic: {{set: [document]}}}}")
    rows = SETS.read(source)
    sets: dict[str, dict[str, list[str]]] = {}
    for topic, label, document in rows:
        sets.setdefault(topic, {}).setdefault(label, []).append(document)
    return rows.origin, sets

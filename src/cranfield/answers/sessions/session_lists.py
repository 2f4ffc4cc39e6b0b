"""The lists of sessions end to end, as arrays: one entry per document, all sessions together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, TypedDict, Unpack

import numpy as np

from cranfield.answers.sessions.session_files import Session
from cranfield.assessed.lengths import LengthTable
from cranfield.declared.operation import about, check_setting, declared_settings, with_defaults
from cranfield.errors import UsageError
from cranfield.measures.gain import Gain
from cranfield.text import counted, listed
from cranfield.types import Array, Index

DUPLICATES = ("first", "keep")
GAINS = ("judgments", "clicks", "both")
CUTS = ("none", "lowest-click")


class ListSettings(TypedDict, total=False):
    """How the lists of a session are put end to end."""

    gains: Annotated[
        str,
        about(
            "What makes a document gain: {names} (the judgments of clicked documents).",
            "judgments",
            choices=GAINS,
            spelled="--gains-from SOURCE",
            solves="gains='clicks'",
        ),
    ]
    click_gain: Annotated[
        float, about("What a click gains, with --gains-from clicks.", 0.5, above=0, spelled="--click-gain G")
    ]
    cut: Annotated[
        str,
        about(
            "Where lists end: {names}. A list without clicks is then left out.",
            "none",
            choices=CUTS,
            spelled="--cut WHERE",
        ),
    ]
    depth: Annotated[int | None, about("Use only the first N documents of each list.", None, least=1)]
    duplicates: Annotated[
        str,
        about(
            "Documents that several lists of a session show: {names}.",
            "first",
            choices=DUPLICATES,
            spelled="--duplicates RULE",
        ),
    ]
    lengths: Any
    """{document: length in characters}, or a file."""
    missing_length: float | str | None
    """The length of documents that `lengths` lacks, or `mean`; None: an error."""


@dataclass(frozen=True, eq=False)
class SessionLists:
    """Documents of the lists of many sessions, session by session, query by query, from the top."""

    sessions: tuple[Session, ...]
    session: Index
    """The number of the session of each document, from 0."""
    query: Index
    """The number of its query in the session, from 1."""
    rank: Index
    """Its rank in the list of the query, after documents that are left out."""
    shown_rank: Index
    """Its rank in the list that the user saw."""
    position: Index
    """Its rank in the lists of the session end to end."""
    grade: Array
    """NaN if it is not judged."""
    clicked: np.ndarray[Any, np.dtype[np.bool_]]
    document: tuple[str, ...]
    judged: Mapping[str, Array]
    """The grades of all judged documents, by topic."""
    gains: str = "judgments"
    click_gain: float = 0.5
    sizes: tuple[tuple[int, ...], ...] = ()
    """How many documents each list of each session shows, before duplicates are left out."""
    lengths: LengthTable | None = None
    missing_length: float | str | None = None
    notes: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    """Notes about documents that are left out because an earlier list shows them, and about clicks on them."""

    @staticmethod
    def of(
        sessions: Iterable[Session],
        qrels: Mapping[str, Mapping[str, float]] | None = None,
        **settings: Unpack[ListSettings],
    ) -> SessionLists:
        """Put the lists of each session end to end.

        gains: a document gains by its grade (`judgments`); `click_gain` if it was clicked (`clicks`); or by its grade,
        but only if it was clicked (`both`).
        cut: `lowest-click` ends every list at its lowest click; a list without clicks is left out.
        duplicates: a document that an earlier list of the session shows is left out (`first`), or kept (`keep`).
        """
        chosen, lengths = with_defaults(ListSettings, settings), settings.get("lengths")
        for name, setting in declared_settings(ListSettings).items():
            check_setting("sessions", name, chosen[name], setting)  # type: ignore[literal-required]
        gains, click_gain, duplicates = chosen["gains"], chosen["click_gain"], chosen["duplicates"]
        every = tuple(sessions)
        if qrels is None and gains != "clicks":
            raise UsageError(f"gains == {gains!r} needs judgments; give qrels, or gains='clicks'")
        grades = qrels or {}
        rows: list[tuple[int, int, int, int, float, bool]] = []
        names: list[str] = []
        sizes: list[tuple[int, ...]] = []
        repeated, unused_clicks, nan = 0, 0, float("nan")
        for number, session in enumerate(every):
            of_topic = grades.get(session.topic or "", {})
            seen: set[str] = set()
            of_session: list[int] = []
            for asked, query in enumerate(session.queries, 1):
                clicked = {click.rank for click in query.clicks}
                shown = query.documents[: chosen["depth"]]
                if chosen["cut"] == "lowest-click":
                    shown = shown[: max(clicked, default=0)]
                of_session.append(len(shown))
                rank = 0
                for at, doc in enumerate(shown, 1):
                    if duplicates == "first":
                        if doc in seen:
                            repeated += 1
                            unused_clicks += at in clicked
                            continue
                        seen.add(doc)
                    rank += 1
                    rows.append((number, asked, rank, at, of_topic.get(doc, nan), at in clicked))
                    names.append(doc)
            sizes.append(tuple(of_session))
        columns = np.array(rows, dtype=np.float64).reshape(-1, 6).T
        session_of, query_of, rank_of, shown_rank = columns[:4].astype(np.int64)
        start = np.searchsorted(session_of, np.arange(len(every)))
        notes, left_out = [], []
        if repeated:
            left_out.append(f"{counted(repeated, 'document')} left out that an earlier list of the session shows")
        if unused_clicks and gains != "judgments":
            left_out.append(f"{counted(unused_clicks, 'click')} on a document that was left out, not used")
        if gains != "clicks" and (unjudged := [s.name for s in every if s.topic is not None and s.topic not in grades]):
            which = f"{counted(len(unjudged), 'session')} with a topic that has no judgments, undefined"
            notes.append(f"{which}: {listed(unjudged)}")
        return SessionLists(
            every, session_of, query_of, rank_of, shown_rank, np.arange(len(names)) - start[session_of] + 1, columns[4],
            columns[5] > 0, tuple(names),
            {topic: np.array(list(of_topic.values()), dtype=np.float64) for topic, of_topic in grades.items()},
            gains, click_gain, tuple(sizes), None if lengths is None else LengthTable.of(lengths),
            settings.get("missing_length"),            tuple(notes), tuple(left_out),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.sessions)

    @cached_property
    def start(self) -> Index:
        """Where the documents of each session begin; one more entry for the end."""
        return np.searchsorted(self.session, np.arange(len(self) + 1)).astype(np.int64)

    @cached_property
    def undefined(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Sessions whose documents are not judged, although gains come from judgments."""
        if self.gains == "clicks":
            return np.zeros(len(self), dtype=bool)
        return np.array([session.topic not in self.judged for session in self.sessions], dtype=bool)

    @cached_property
    def shapes(self) -> dict[tuple[int, ...], Index]:
        """Sessions by the number of documents in each of their lists, after duplicates are left out."""
        most = max((len(session.queries) for session in self.sessions), default=0)
        sizes = np.bincount(self.session * most + self.query - 1, minlength=len(self) * most).reshape(len(self), most)
        by_shape: dict[tuple[int, ...], list[int]] = {}
        for number, (session, row) in enumerate(zip(self.sessions, sizes.tolist(), strict=True)):
            by_shape.setdefault(tuple(row[: len(session.queries)]), []).append(number)
        return {shape: np.array(numbers, dtype=np.int64) for shape, numbers in by_shape.items()}

    def sum(self, values: Array) -> Array:
        """The sum over the documents of each session; undefined where the topic is not judged."""
        total = np.bincount(self.session, values, len(self))
        return np.where(self.undefined, np.nan, total)

    def gain(self, gain: Gain) -> Array:
        """What each document gains."""
        if self.gains == "clicks":
            return np.where(self.clicked, self.click_gain, 0.0)
        gains = self.gain_of_grade(gain)
        return np.where(self.clicked, gains, 0.0) if self.gains == "both" else gains

    def gain_of_grade(self, gain: Gain) -> Array:
        """What the grade of each document gains, clicked or not; 0 if it is not judged."""
        judged = ~np.isnan(self.grade)
        gains = np.zeros(len(self.grade))
        gains[judged] = gain(self.grade[judged])
        return gains

    def relevant(self, rel: float) -> Array:
        """1 for relevant documents, or for clicked ones if gains come from clicks; otherwise 0."""
        if self.gains == "clicks":
            return self.clicked.astype(np.float64)
        relevant = np.nan_to_num(self.grade, nan=-np.inf) >= rel
        return (relevant & self.clicked if self.gains == "both" else relevant).astype(np.float64)

    def by_session(self, of_topic: Mapping[str, Array], of_clicks: Array) -> list[Array]:
        """An array for each session: that of its topic, or the values of its clicked documents."""
        if self.gains != "clicks":
            empty = np.zeros(0)
            return [of_topic.get(session.topic or "", empty) for session in self.sessions]
        pieces = zip(self.start[:-1].tolist(), self.start[1:].tolist(), strict=True)
        return [of_clicks[begin:end][self.clicked[begin:end]] for begin, end in pieces]

    def ideal_gains(self, gain: Gain) -> list[Array]:
        """The gains of the ideal list of each session: those of all judged, or of all clicked, documents."""
        if self.gains != "clicks":
            return self.by_session({topic: _sorted(gain(grades)) for topic, grades in self.judged.items()}, self.grade)
        return [_sorted(gains) for gains in self.by_session({}, self.gain(gain))]

    def num_relevant(self, rel: float) -> Array:
        """The number of relevant documents of each session's topic; of clicked ones if gains come from clicks."""
        if self.gains == "clicks":
            return np.bincount(self.session, self.clicked, len(self)).astype(np.float64)
        counts = {topic: float((grades >= rel).sum()) for topic, grades in self.judged.items()}
        return np.array([counts.get(session.topic or "", np.nan) for session in self.sessions])

    @cached_property
    def characters(self) -> Mapping[str, float]:
        """The lengths of documents in characters."""
        if self.lengths is None:
            return {}
        columns = self.lengths.columns
        name = next((name for name in ("characters", "length") if name in columns), None)
        if name is None:
            raise UsageError(f"the table of document lengths has only {', '.join(columns)}; add one called characters")
        return dict(zip(self.lengths.documents, columns[name].tolist(), strict=True))

    def length_of(self, documents: list[str], caller: str) -> Array:
        """The lengths of documents in characters; those without one have the length that is assumed."""
        if self.lengths is None:
            raise UsageError(
                f"{caller} needs the lengths of documents: give lengths=, a file with lines 'doc length' or "
                "{doc: length}"
            )
        table = self.characters
        unknown = sorted({doc for doc in documents if doc not in table})
        otherwise = float("nan")
        if unknown:
            if self.missing_length is None:
                which = f"{counted(len(unknown), 'document')} without a length: {listed(unknown)}"
                raise UsageError(f"{caller}: {which}; add them, or give missing_length=N or 'mean'")
            mean = self.missing_length == "mean"
            otherwise = float(np.mean(list(table.values()))) if mean else float(self.missing_length)
        return np.array([table.get(doc, otherwise) for doc in documents], dtype=np.float64)


def _sorted(gains: Array) -> Array:
    return np.sort(gains[gains > 0])[::-1]

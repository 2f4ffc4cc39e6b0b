"""Documents that are relevant only together: a set of them counts once, where the last of its members is found."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import _core
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged
from cranfield.collection.qrels import Qrels
from cranfield.collection.tables.table_schema import DOC, TOPIC, Schema, Words
from cranfield.errors import DataError, UsageError
from cranfield.text import counted
from cranfield.types import Array, Index64

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

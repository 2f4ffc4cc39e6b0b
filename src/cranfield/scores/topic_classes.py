"""Classes of topics, such as navigational and informational ones, or the languages of the queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cranfield.collection.source import PathLike
from cranfield.collection.tables.table_schema import TOPIC, Schema, Words
from cranfield.errors import CranfieldWarning, DataError, warn_caller
from cranfield.text import counted, listed

Classes = Mapping[Any, Any] | PathLike
"""{topic: class}, or a file with lines of topic and class."""
_COLUMNS: dict[str, Any] = {
    "topic": replace(TOPIC, word=True),
    "class": Words(("class", "group", "category", "type")),
}
CLASSES = Schema("topic class", key=("topic",), separators="\t;, ", mixed=True, comments=True, **_COLUMNS)


class TopicClasses(dict[str, str]):
    """{topic: class}, and for messages the file it comes from."""

    origin = "classes"

    @classmethod
    def of(cls, classes: Classes) -> TopicClasses:
        """From a mapping, or from a file with lines of topic and class.

        Columns are separated by tabs, semicolons, commas or blanks; a class may contain blanks unless they separate.
        """
        if isinstance(classes, TopicClasses):
            return classes
        rows = CLASSES.read(classes, "classes")
        read = cls(rows)
        read.origin = rows.origin
        return read


def topics_by_class(topics: Sequence[str], classes: Classes) -> dict[str, list[str]]:
    """The topics of each class that has any, in the order of the classes in the mapping or file.

    Topics without a class are left out, and a warning counts them.

    >>> topics_by_class(["301", "302", "303"], {"302": "easy", "301": "hard", "303": "hard"})
    {'easy': ['302'], 'hard': ['301', '303']}
    """
    of_topic = TopicClasses.of(classes)
    groups: dict[str, list[str]] = {name: [] for name in of_topic.values()}
    without = []
    for topic in topics:
        if topic in of_topic:
            groups[of_topic[topic]].append(topic)
        else:
            without.append(topic)
    if len(without) == len(topics):
        known = listed(map(repr, of_topic)) or "none"
        message = f"no topic has a class: the topics are {listed(map(repr, topics))}, those with a class {known}"
        raise DataError(of_topic.origin, None, message)
    if without:
        verb = "is" if len(without) == 1 else "are"
        number = counted(len(without), "topic")
        message = f"{of_topic.origin}: {number} without a class {verb} left out: {listed(without)}"
        warn_caller(message, CranfieldWarning)
    return {name: members for name, members in groups.items() if members}

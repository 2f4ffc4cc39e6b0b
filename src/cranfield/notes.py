"""Notes of results: sentences below a table, of which a reader first sees the most important ones.

A note is a text. `lead_note` marks the one without which no number can be cited, such as the test and its correction,
`caution_note` one that warns of a wrong reading of the numbers, `method_note` one that only says how they were
computed. Other notes are facts about the data, or explain signs of the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar

from cranfield.text import INTERRUPTED_AFTER

MOST_NOTES = 2
"""The lines of notes below a table."""


class _Weighed(str):
    __slots__ = ()
    weight: ClassVar[int] = 1


class _Caution(_Weighed):
    __slots__ = ()
    weight: ClassVar[int] = 2


class _MethodNote(_Weighed):
    __slots__ = ()
    weight: ClassVar[int] = 0


class _Lead(_Weighed):
    __slots__ = ()
    weight: ClassVar[int] = 3


class _Interruption(_Weighed):
    __slots__ = ()
    weight: ClassVar[int] = 4


def lead_note(text: str) -> str:
    """The note that says what the numbers are: the test, its level and its correction; shown before all cautions.

    >>> by_importance([caution_note("too few"), lead_note("t test, holm")])
    ['t test, holm', 'too few']
    """
    return _Lead(text)


def caution_note(text: str) -> str:
    """A note without which numbers would be misread: some topics have no score, an interval is too narrow."""
    return _Caution(text)


def interruption_note(text: str) -> str:
    """The note that Ctrl-C ended the work early, `text` says when; it is always shown."""
    return _Interruption(f"{INTERRUPTED_AFTER} {text}")


def method_note(text: str) -> str:
    """A note that describes the method: its name, settings, seed and source."""
    return _MethodNote(text)


class Notes(list[str]):
    """The notes that a function collects.

    >>> notes = Notes(["a"])
    >>> notes.caution("too few")
    >>> by_importance(notes)
    ['too few', 'a']
    """

    def caution(self, text: str) -> None:
        """Add a `caution_note`."""
        self.append(caution_note(text))

    def method(self, text: str) -> None:
        """Add a `method_note`."""
        self.append(method_note(text))


def rewritten(note: str, text: str) -> str:
    """Another text for a note, which stays as important.

    >>> by_importance(["b", rewritten(caution_note("too few"), "run a: too few")])
    ['run a: too few', 'b']
    """
    return type(note)(text) if isinstance(note, _Weighed) else text


def by_importance(notes: Sequence[str]) -> list[str]:
    """The notes with the most important ones first; equally important ones stay in their order.

    Of notes that were read from a file, those that begin with "caution:" are cautions.

    >>> by_importance(["a", method_note("t test"), caution_note("too few"), "caution: ties"])
    ['too few', 'caution: ties', 'a', 't test']
    """
    return sorted(notes, key=_weight, reverse=True)


def _weight(note: str) -> int:
    if isinstance(note, _Weighed):
        return note.weight
    return _Caution.weight if note.startswith("caution:") else _Weighed.weight


_KINDS = {kind.weight: kind for kind in (_Weighed, _Caution, _MethodNote, _Lead, _Interruption)}


def notes_to_plain(notes: Sequence[str]) -> list[tuple[int, str]]:
    """Notes with their importance, for a file from which `notes_from_plain` reads them as they were."""
    return [(_weight(note), note) for note in notes]


def notes_from_plain(plain: Iterable[tuple[int, str]]) -> tuple[str, ...]:
    """The notes that `notes_to_plain` wrote.

    >>> by_importance(notes_from_plain(notes_to_plain([method_note("t test"), "a"])))
    ['a', 't test']
    """
    return tuple(_KINDS[weight](text) for weight, text in plain)


_OTHERS: ContextVar[str] = ContextVar("others", default=".notes")


@contextmanager
def notes_elsewhere(where: str) -> Iterator[None]:
    """What texts name, in this block, as the place of the notes that they leave out; if empty, they have all notes."""
    token = _OTHERS.set(where)
    try:
        yield
    finally:
        _OTHERS.reset(token)


def shown_notes(notes: Sequence[str]) -> list[str]:
    """The notes below a table, the most important ones first, and where the others are.

    >>> shown_notes(["a", method_note("t test"), caution_note("too few"), "b"])
    ['too few', 'a', '2 more notes: .notes']
    """
    shown, hidden = main_notes(notes)
    if not hidden:
        return shown
    return [*shown, f"{len(hidden)} more {'note' if len(hidden) == 1 else 'notes'}: {_OTHERS.get()}"]


def main_notes(notes: Sequence[str]) -> tuple[list[str], list[str]]:
    """The most important notes, and those that a reader has to ask for."""
    ordered = by_importance(notes)
    most = MOST_NOTES if _OTHERS.get() else len(ordered)
    return ordered[:most], ordered[most:]

"""How a measure's name is written, and its parts:

    name [( parameter = value , ... )] [@ cutoff] [[ view , ... ]]

`name_reader` reads the values; the grades of a table can be written as at NTCIR, {S: 3, A: 2, B: 1}. The marks ', -IA
and # are printed after the name and views at the end, but they are accepted anywhere after the name.
"""

from __future__ import annotations

import hashlib
import re
import sys
from dataclasses import dataclass
from typing import Any

from cranfield.collection.grade_labels import grade_called
from cranfield.declared.name_reader import MARK, NUMBER, NameReader
from cranfield.errors import UsageError
from cranfield.measures.base import Measure
from cranfield.views.by_intent import ByIntent
from cranfield.views.parse_view import parse_view
from cranfield.views.unjudged import Condensed
from cranfield.views.view import View

OUTSIDE = re.compile(
    rf"\s*(?:(?P<prime>['’′]) | (?P<suffix>[-_]IA(?!\w)[\#♯]?|[\#♯]) | {NUMBER} | (?P<word>[^\W\d]\w*) | {MARK})",
    re.VERBOSE,
)
NAME = re.compile(r"\s*([^\s'’′()@\[\]{},:=\"]+)")
MODULE = re.compile(r"\s*([^\W\d][\w.]*):([^\W\d]\w*)")
HINTS = {
    "(": 'all parameters go in one pair of brackets before the cutoff, such as AP(rel=2,norm="min")@10',
    "-": "here, by intent is written [IA]",
    "_": "here, by intent is written [IA]",
}
"""How to write what cannot be written here, by its first character."""
HINT = 'a measure is written name(parameter=value)@cutoff[view], such as nDCG(gain="exp")@10[ties]'


@dataclass(frozen=True)
class NameParts:
    """The parts of a measure's name; views are in the order in which they are written."""

    name: str
    module: str | None = None
    parameters: dict[str, Any] | None = None
    cutoff: float | None = None
    views: tuple[View, ...] = ()


def split_name(text: str) -> NameParts:
    """The parts of a measure's name.

    >>> split_name("AP(rel=2)'@5")
    NameParts(name='AP', module=None, parameters={'rel': 2}, cutoff=5, views=(Condensed(),))
    """
    return _MeasureReader(text).read_measure()


class _MeasureReader(NameReader):
    outside = OUTSIDE

    def read_measure(self) -> NameParts:
        """Marks and views can follow anywhere; parameters only before the cutoff."""
        module = MODULE.match(self.text)
        match = module or NAME.match(self.text)
        if not match:
            raise self.expected("a measure's name", 0)
        name = match[2] if module else match[1]
        parameters: dict[str, Any] | None = None
        cutoff: float | None = None
        views: list[View] = []
        self.tokenize(match.end())
        while self.next < len(self.tokens):
            token = self.tokens[self.next]
            self.next += 1
            if token.kind == "prime":
                views.append(Condensed())
            elif token.kind == "suffix" and not module:
                name += token.text
            elif token.text == "(" and parameters is None and cutoff is None:
                parameters = self.parameters()
            elif token.text == "@" and cutoff is None:
                cutoff = self.number()
            elif token.text == "[":
                views += self.until("]", self._view)
            else:
                raise UsageError(f"{self.expected('the end', token.at)}; {HINTS.get(token.text[0], HINT)}")
        return NameParts(name, match[1] if module else None, parameters, cutoff, tuple(views))

    def key(self) -> Any:
        """A grade, as a number or as NTCIR writes it, or `else`."""
        label = self.tokens[self.next].text.strip("\"'") if self.next < len(self.tokens) else ""
        grade = grade_called(label)
        if label != "else" and grade is None:
            return self.number()
        self.next += 1
        return "else" if grade is None else int(grade)

    def _view(self) -> View:
        name = self.token("word", "a view: condensed, best, worst, ties, ties=best or ties=worst")
        if self.take("="):
            name += f"={self.token('word', 'best or worst')}"
        return ByIntent() if name == "IA" else parse_view(name)


def definition(measure: Measure) -> str:
    """The measure with all its parameters, those of default value too; with a digest of its file if it is not ours.

    >>> from cranfield.measures import RBP
    >>> definition(RBP(p=0.5))
    "RBP(p=0.5, rel=1, gain=None, largest='judgments', cutoff=None, views=())"
    """
    return " ".join([_in_full(measure), *map(_digest_of_file, files_outside(measure))])


def _in_full(value: Any) -> str:
    if isinstance(value, Measure):
        return f"{type(value).__name__}({', '.join(f'{name}={_in_full(x)}' for name, x in vars(value).items())})"
    return repr(value)


def files_outside(measure: Measure) -> list[str]:
    """The files of the measure, and of the measures in its parameters, that are not part of this package."""
    modules = sorted(name for name in _modules(measure) if name.partition(".")[0] != "cranfield")
    files = (getattr(sys.modules.get(name), "__file__", None) for name in modules)
    return [file for file in files if file]


def _modules(measure: Measure) -> set[str]:
    """The modules of a measure and of the measures in its parameters."""
    inner = (value for value in vars(measure).values() if isinstance(value, Measure))
    return {type(measure).__module__}.union(*map(_modules, inner))


def _digest_of_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()[:16]
    except OSError:
        return "of an unknown file"

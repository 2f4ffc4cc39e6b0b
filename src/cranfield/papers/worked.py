"""The numbers that a text works out, beside ours, and what we found to be wrong in it.

A text is a module of this folder with its examples and errata, and a study file of the same name: `sakai2007.toml` and
`sakai2007_numbers.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Annotated

from cranfield import check
from cranfield.declared.operation import about, operation
from cranfield.notes import method_note
from cranfield.papers.as_text import TEXTS
from cranfield.record import Columns, Record, columns_of
from cranfield.table import Column, Table, headings


@dataclass(frozen=True)
class Example:
    """A number of a text, and how to compute it."""

    section: str
    """Where it is, as in the text: `§3.2, Fig. 2`."""
    example: str
    """What is computed, in words."""
    printed: str
    """The number as printed: `0.86`, `1/5`, `56%`."""
    compute: Callable[[], float]
    note: str = ""
    """Why the two differ, if they do: the section of an erratum, or how the text rounds."""


@dataclass(frozen=True)
class Erratum:
    """Something wrong in a text."""

    section: str
    printed: str
    right: str
    because: str
    """The argument, such that a reader can check it."""


@dataclass(frozen=True)
class Text:
    """A text: its reference, its worked examples and errata in the order of the text."""

    reference: str
    examples: tuple[Example, ...]
    errata: tuple[Erratum, ...]
    left_out: Mapping[str, str]
    """{table or figure without a step: why, or which command makes it}."""


def text_of(name: str) -> Text:
    """The examples and errata of a text.

    >>> text_of("sakai2007").reference.partition(",")[0]
    'Tetsuya Sakai'
    """
    check.one_of("papers", TEXTS, text=name)
    text: Text = import_module(f"{__package__}.{name}_numbers").TEXT
    return text


@dataclass(frozen=True)
class Worked:
    """A worked example with both numbers."""

    section: str
    example: str
    printed: str
    ours: float
    agree: bool
    note: str


@dataclass(frozen=True, repr=False)
class WorkedExamples(Record):
    """The worked examples of a text, printed and computed."""

    facts = ("text",)

    text: str
    examples: tuple[Worked, ...]
    notes: tuple[str, ...]

    def __iter__(self) -> Iterator[Worked]:
        return iter(self.examples)

    def columns(self) -> Columns:
        """section, example, printed, ours, agree, note; a row per example."""
        return columns_of(self.examples, Worked)

    def table(self) -> Table:
        """A row per example."""
        rows = tuple(
            (each.section, each.example, each.printed, each.ours, "yes" if each.agree else "no", each.note)
            for each in self.examples
        )
        columns = (
            *headings("text", "section", "example", "printed"),
            Column("ours", "number"),
            *headings("text", "agree", "note"),
        )
        return Table(columns, rows, f"Worked examples of {self.text}", self.notes)


@dataclass(frozen=True, repr=False)
class Errata(Record):
    """What is wrong in a text, and why."""

    facts = ("text",)

    text: str
    errata: tuple[Erratum, ...]

    def __iter__(self) -> Iterator[Erratum]:
        return iter(self.errata)

    def columns(self) -> Columns:
        """section, printed, right, because; a row per erratum."""
        return columns_of(self.errata, Erratum)

    def table(self) -> Table:
        """A row per erratum."""
        rows = tuple((each.section, each.printed, each.right, each.because) for each in self.errata)
        return Table(headings("text", "section", "printed", "right", "because"), rows, f"Errata of {self.text}")


TextName = Annotated[str, about("The text.", choices=TEXTS)]


@operation
def worked_examples(
    text: TextName,
    *,
    section: Annotated[str, about("Only the examples of sections that begin so: §3, Table 4.")] = "",
) -> WorkedExamples:
    """Compute every number that a text works out, and show it beside the number that the text prints.

    Both agree if ours, rounded to the digits of the printed number, is the printed number. The note says why, if they
    do not.

    >>> worked_examples("sakai2007", section="§3.2").examples[0].ours
    0.2
    """
    chosen = [each for each in text_of(text).examples if each.section.startswith(section)]
    if not chosen:
        raise check.wrong("papers", "section", section, "the beginning of a section with worked examples, such as §3")
    done = tuple(_worked(each) for each in chosen)
    agreeing = sum(each.agree for each in done)
    note = method_note(f"{agreeing} of {len(done)} agree with the text in all printed digits")
    return WorkedExamples(text, done, (note,))


def _worked(example: Example) -> Worked:
    ours = float(example.compute())
    return Worked(example.section, example.example, example.printed, ours, agrees(example.printed, ours), example.note)


@operation
def errata(text: TextName) -> Errata:
    """What is wrong in a text, what is right, and why.

    >>> [each.section for each in errata("sakai2013")][0]
    '§2.2, α-nDCG'
    """
    return Errata(text, text_of(text).errata)


def agrees(printed: str, ours: float) -> bool:
    """Whether a number is the printed one, in the digits that are printed.

    >>> agrees("0.86", 6 / 7), agrees("6/7", 6 / 7), agrees("56%", 242 / 435), agrees("48", 78)
    (True, True, True, False)
    """
    number = printed.replace(",", "").removesuffix("%")
    scale = 100 if printed.endswith("%") else 1
    if "/" in number:
        return abs(float(Fraction(number)) - ours * scale) < 1e-9
    digits = len(re.sub(r"^[^.]*\.?", "", number))
    return abs(float(number) - ours * scale) <= 0.5 * 10.0**-digits + 1e-9

"""`cranfield measures`: what there is to measure."""

from __future__ import annotations

import inspect
import math
import re
import textwrap
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from cranfield.cli.formula import readable
from cranfield.cli.parser import RESULT, Argument, Format, Output, option
from cranfield.cli.printing import emit, emit_table, rendered, terminal_width
from cranfield.cli.property_table import emit_figures
from cranfield.errors import UsageError
from cranfield.measures import REGISTRY, Measure, parse_many
from cranfield.measures.base import show
from cranfield.measures.property_tables import footnotes, property_values
from cranfield.measures.view_descriptions import describe_views
from cranfield.table import Column, Table, visible_width

EXAMPLES = """\
  $ cranfield measures
  $ cranfield measures nDCG
  $ cranfield measures --search "unjudged"
  $ cranfield measures --table
  $ cranfield measures --table nDCG ERR 'D#-nDCG'
  $ cranfield measures --format json
"""

MEANINGS = {
    "rel": "the lowest grade that counts as relevant",
    "gain": 'what a grade is worth: "linear" (the grade), "exp" (2^grade - 1), or a table {1:1,2:3}',
    "beta=1": "the weight of recall, or of gain against the count of relevant documents",
    "beta=0.5": "the probability of going on to the next document",
    "alpha=None": "the weight of precision, from 0 to 1; instead of beta",
    "alpha=0.5": "how much less an intent counts every time a document repeats it: 1 - alpha times as much",
    'ideal="greedy"': '"greedy", or "exact" for topics with few relevant documents',
    'intents="rare"': '"rare": intents with few relevant documents weigh more; "equal": by their probability alone',
    'topics="difficult"': '"difficult": topics whose intents are hard to serve weigh more; "equal": all the same',
    "N": "how many documents the collection has",
    "mult": "the rank, as a multiple of R",
    "norm": '"R" or "min" (of the cutoff and R): what the sum is divided by',
    "discount": '"log2": log2(rank + 1); "jk": max(1, log_base rank); "jk08": 1 + log_base rank',
    "base": 'base of the logarithm of the "jk" discounts',
    'dialect="exact"': '"exact", or "trec9" and "trec10" for the way these versions of trec_eval round',
    'dialect="plain"': '"plain", or "ndeval" for the number that tool prints',
    'dialect="graded"': '"graded": by grades and probabilities; "ndeval": the number that tool prints',
    "points": "recall points",
    "p": "the probability of going on to the next document",
    "max_grade": "the highest grade there can be; None: the highest in the judgments, which is then noted",
}
"""What parameters mean, by name, or by name and default where that makes a difference; others are told in their
measure's text."""


VIEWS = (
    "any of them can be read otherwise: AP' (unjudged documents removed), AP[best] and AP[worst] (unjudged documents "
    "read as relevant, as not), AP[ties] (mean over all orders of tied documents), AP[ties=best], AP[ties=worst]; for "
    "topics with intents AP-IA (mean over intents), D-nDCG (gains for all intents taken together), DIN-nDCG "
    "(navigational intents count once) and # for intent recall beside them: D#-nDCG, DIN#-nDCG, AP-IA#"
)

FAIRNESS = (
    "measures of fairness have a verb of their own, cranfield fairness: AWRF, EE-D, EE-R, EE-L, equity, exposure, "
    "parity, rND, rKL, rRD"
)


@dataclass(frozen=True)
class Page:
    """Everything to know about one measure."""

    name: str
    what: str
    formula: str
    """LaTeX; empty if its docstring has none."""
    text: str
    parameters: dict[str, str]
    cutoff: str
    aliases: tuple[str, ...]
    properties: dict[str, Any]
    reference: str
    example: str
    asked: str
    """The measure that was asked for, with its parameters and views."""
    views: dict[str, str]
    """How its name is read, view by view."""

    @staticmethod
    def of(asked: type[Measure] | Measure) -> Page:
        """From the class and its docstring; of a measure with parameters and views also what these change."""
        kind, made = (asked, None) if isinstance(asked, type) else (type(asked), asked)
        told = kind.__doc__ if "__doc__" in kind.__dict__ else None
        doc = inspect.cleandoc(told or "")
        what, _, rest = doc.partition("\n\n")
        formula = re.search(r"\.\. math::((?:.|\n)*?)(?=\n\n(?! )|\Z)", rest)
        example = re.search(r"^>>> (?:.|\n)*?(?=\n\n|\Z)", rest, re.MULTILINE)
        for part in (formula, example):
            rest = rest.replace(part[0], "") if part else rest
        rest = re.sub(r"Reference: (?:.|\n)*?(?=\n\n|\Z)", "", rest)
        rest = re.sub(r"\n(?=No relevant documents|Nothing retrieved)", "\n\n", rest)  # the empty case stands alone
        paragraphs = [" ".join(paragraph.split()) for paragraph in rest.split("\n\n")]
        cutoffs = {"rank": "a rank", "recall": "a recall point from 0 to 1", "none": "none"}
        return Page(
            name=kind.name,
            what=" ".join(what.split()),
            formula=" ".join(formula[1].split()) if formula else "",
            text="\n".join(paragraph for paragraph in paragraphs if paragraph),
            parameters={name: show(default) for name, default in kind.parameters().items()},
            cutoff=cutoffs[kind.cutoff_kind],
            aliases=kind.aliases,
            properties=asdict(kind.properties) if made is None else property_values(made),
            reference=kind.reference(),
            example=example[0] if example else "",
            asked=kind.name if made is None else str(made),
            views={} if made is None else describe_views(made),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data; an infinite end of the range is null."""
        properties = {
            name: None if isinstance(value, float) and math.isinf(value) else value
            for name, value in self.properties.items()
        }
        return {**vars(self), "aliases": list(self.aliases), "properties": properties}

    def matches(self, words: list[str]) -> bool:
        """Does every word occur in the name, a spelling, the text or the reference?"""
        told = " ".join([self.name, *self.aliases, self.what, self.text, self.reference, *self.parameters]).casefold()
        return all(word.casefold() in told for word in words)

    def for_people(self, width: int) -> str:
        """The page as text of at most `width` columns."""
        parts = []
        if self.views:
            margin = max(map(len, self.views))
            lines = [_hanging(f"  {mark:<{margin}}  ", told, width) for mark, told in self.views.items()]
            parts.append("\n".join([f"{self.asked}: {self.name}, read in this way:", *lines]))
        parts.append(textwrap.fill(f"{self.name}: {self.what}", width))
        if self.formula:
            parts.append(textwrap.indent(readable(self.formula), "    "))
        parts += [textwrap.fill(line, width, break_on_hyphens=False) for line in self.text.split("\n") if line]
        parts.append(self._settings(width))
        parts.append("\n".join(self._facts(width)))
        if self.example:
            parts.append(textwrap.indent(self.example, "    "))
        return "\n\n".join(parts)

    def _settings(self, width: int) -> str:
        lines = ["Parameters"]
        margin = max((len(f"{name}={default}") for name, default in self.parameters.items()), default=0)
        settings = [(f"{name}={default}", meaning(name, default)) for name, default in self.parameters.items()]
        settings.append(("@", self.cutoff if self.cutoff != "none" else "takes no cutoff"))
        margin = min(max(margin, 8), 30)
        for setting, told in settings:
            lines.append(_hanging(f"  {setting:<{margin}}  ", told, width))
        return "\n".join(lines)

    def _facts(self, width: int) -> list[str]:
        told = self.properties
        yes = [name.replace("_", "-") for name, value in told.items() if value is True]
        ends = f"{_end(told['low'])} to {_end(told['high'])}"
        ends += "; describes, does not rate" if told["better"] == "neither" else f"; {told['better']} is better"
        unknown = [name for name, value in told.items() if value is None]
        others = ["graded", "normalised", "recall-free", "diminishing", "additive"]
        properties = ", ".join(yes) or f"none of {', '.join(name for name in others if name not in unknown)}"
        properties += f" (of {self.asked})" if self.asked != self.name else ""
        properties += f"; not known of this reading: {', '.join(unknown)}" if unknown else ""
        facts = {
            "Properties": properties,
            "Range": ends,
            **({} if self.views else {"Scale": told["scale"]}),
            "Spellings": ", ".join((self.name, *self.aliases)),
            "Reference": self.reference or "-",
        }
        return [_hanging(f"{label + ':':<12} ", fact, width) for label, fact in facts.items()]


def meaning(name: str, default: str) -> str:
    """What a parameter means, in a line; nothing where the measure's text says it."""
    return MEANINGS.get(f"{name}={default}", MEANINGS.get(name, ""))


def _end(number: float) -> str:
    return ("-" if number < 0 else "") + "infinity" if math.isinf(number) else f"{number:g}"


def _hanging(label: str, text: str, width: int) -> str:
    wrapped = textwrap.wrap(text, max(width - len(label), 30), break_long_words=False, break_on_hyphens=False)
    return (label + f"\n{' ' * len(label)}".join(wrapped)).rstrip()


def measures_verb(
    names: Annotated[
        list[str] | None,
        Argument(metavar="NAME", help="Show the page of these measures; any spelling will do."),
    ] = None,
    search: Annotated[
        str | None,
        option("--search", "-s", metavar="TEXT", help="List the measures whose page has all these words."),
    ] = None,
    table: Annotated[
        bool,
        option(
            "--table",
            help="Show which properties these measures have, or all: graded, normalised, recall-free, diminishing "
            "return, lengths, nonlinear traversal; for diversity, grades and probabilities of intents.",
        ),
    ] = False,
    full: Annotated[
        bool,
        option("--full", help="Do not shorten what is wider than the terminal.", group=RESULT),
    ] = False,
    format: Format = "table",
    output: Output = None,
) -> int:
    """List all measures, search them, compare their properties, or show one measure's page: formula, paper, example."""
    if names and search is not None:
        raise UsageError("give names or --search, not both")
    if table:
        if search is not None:
            raise UsageError("give --table names, not --search")
        emit_figures([one for name in names or [] for one in parse_many(name)], format, output)
        return 0
    if names:
        _pages([Page.of(one) for one in _told_apart(one for name in names for one in parse_many(name))], format, output)
        return 0
    pages = [Page.of(kind) for kind in REGISTRY.values()]
    if search is not None:
        pages = [page for page in pages if page.matches(search.split())]
        if not pages:
            raise UsageError(f"no measure's page has {search!r}; cranfield measures lists them all. {FAIRNESS}")
    width = None if full else terminal_width(output)
    if format == "json":
        _pages(pages, format, output)
    else:
        emit_table(listing(pages, format == "table", width), format, output)
    return 0


def _told_apart(asked: Iterable[Measure]) -> list[Measure]:
    """One of those that differ in nothing that a page tells: cutoffs and parameters rarely do."""
    return list(
        {(type(one), one.views, tuple(property_values(one).values())): one for one in reversed([*asked])}.values()
    )[::-1]


def listing(pages: list[Page], short: bool, width: int | None) -> Table:
    """A row per measure; `short` tells papers by author and year, `width` cuts off what does not fit."""
    rows = [(page.name, page.what, _short_reference(page.reference) if short else page.reference) for page in pages]
    if width is not None:
        name, paper = (max(visible_width(row[column]) for row in rows) for column in (0, 2))
        rows = [(row[0], _shortened(row[1], max(width - name - paper - 4, 30)), row[2]) for row in rows]
    notes = (
        "cranfield measures NAME shows one measure's page",
        FAIRNESS,
        *footnotes(page.name for page in pages),
        VIEWS,
    )
    notes = notes if short else ()
    return Table((Column("measure"), Column("what it tells"), Column("reference")), tuple(rows), notes=notes)


def _short_reference(reference: str) -> str:
    """Author and year.

    >>> _short_reference("Moffat & Zobel, TOIS 27(1), 2008, doi:10.1145/1416950.1416952")
    'Moffat & Zobel 2008'
    """
    first = reference.partition(";")[0]
    several = re.match(r"(?:(?:van )?[\w.'-]+, )*(?:van )?[\w.'-]+ & (?:van )?[\w.'-]+(?=,|$)", first)
    authors = several[0] if several else first.partition(",")[0]
    authors = f"{authors.partition(',')[0]} et al." if "," in authors else authors
    year = re.search(r"\b(?:19|20)\d\d\b", first)
    return f"{authors} {year[0]}" if year else authors


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def _pages(pages: list[Page], format: str, output: str | None) -> None:
    if format == "table":
        width = min(terminal_width(output) or 100, 100)
        emit("\n\n\n".join(page.for_people(width) for page in pages), output)
        return
    if format == "json":
        import json

        emit(json.dumps([page.to_dict() for page in pages], ensure_ascii=False, indent=1), output, format="json")
        return
    emit(rendered(_wide(pages), format, output), output, format=format)


def _wide(pages: list[Page]) -> Table:
    """Pages as rows, for formats that know nothing else."""
    names = ("name", "what", "formula", "text", "parameters", "cutoff", "aliases", "better", "scale", "reference")
    rows = [
        (
            page.name,
            page.what,
            page.formula,
            page.text,
            ", ".join(f"{name}={default}" for name, default in page.parameters.items()),
            page.cutoff,
            ", ".join(page.aliases),
            str(page.properties["better"]),
            str(page.properties["scale"]),
            page.reference,
        )
        for page in pages
    ]
    return Table(tuple(Column(name) for name in names), tuple(rows))

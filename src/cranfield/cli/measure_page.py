"""The page of a measure: formula, text, parameters, properties, paper, example; and the list of all measures."""

from __future__ import annotations

import inspect
import math
import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cranfield.cli.formula import readable
from cranfield.measures import Measure
from cranfield.measures.base import show
from cranfield.measures.families import by_family, title_and_summary
from cranfield.measures.property_tables import footnotes, property_values
from cranfield.measures.scale_type import declared_scale
from cranfield.measures.view_descriptions import describe_views
from cranfield.table import Column, Table, visible_width

MEANINGS = {
    "rel": "the lowest grade that counts as relevant",
    "gain": 'the gain of a grade: "linear" (the grade), "exp" (2^grade - 1), or a table {1:1,2:3}',
    "beta=1": "the weight of recall, or of gain against the count of relevant documents",
    "beta=0.5": "the probability of continuing to the next document",
    "alpha=None": "the weight of precision, from 0 to 1; instead of beta",
    "alpha=0.5": "each time a document repeats an intent, the intent counts 1 - alpha times as much",
    'ideal="greedy"': '"greedy", or "exact" for topics with few relevant documents',
    'intents="rare"': '"rare": intents with few relevant documents weigh more; "equal": by their probability alone',
    'topics="difficult"': '"difficult": topics whose intents are hard to serve weigh more; "equal": all the same',
    "N": "the number of documents in the collection",
    "mult": "the rank, as a multiple of R",
    "norm": '"R" or "min" (of the cutoff and R): the divisor of the sum',
    "norm=None": 'the divisor of the sum: a number, or "total", the gain of all relevant documents; None: 1',
    "discount": '"log2": log2(rank + 1); "jk": max(1, log_base rank); "jk08": 1 + log_base rank',
    "base": 'base of the logarithm of the "jk" discounts',
    'dialect="exact"': '"exact", or the name of a tool that rounds differently: "trec9" and "trec10", or "clef"',
    'dialect="plain"': '"plain", or "ndeval" for the number that tool prints',
    'dialect="graded"': '"graded": by grades and probabilities; "ndeval": the number that tool prints',
    'probability="exp"': "how likely a document of grade g satisfies a reader: "
    '"exp" (2^g - 1)/2^max, "linear" g/(max + 1), or a table {1:0.3,2:0.9}',
    "probabilities": "whether intents are weighted by their probability",
    'largest="judgments"': 'where the largest gain is looked for: in all "judgments", or in those of each "topic"',
    "cost_below": 'the cost of a document below the end of the list: a number, "mean" of the list, or "none"',
    "points": "recall points",
    "p": "the probability of continuing to the next document",
    "max_grade": "the highest possible grade; None: the highest in the judgments, which a note then states",
}
"""What parameters mean, by name, or by name and default if that makes a difference. Other parameters are explained in
the text of their measure."""

VIEWS = (
    "every measure has variants: AP' (unjudged documents removed), AP[best] and AP[worst] (unjudged documents counted "
    "as relevant, as not relevant), AP[ties] (mean over all orders of tied documents), AP[ties=best], AP[ties=worst]; "
    "for topics with intents AP-IA (mean over intents), D-nDCG (gains of all intents combined), DIN-nDCG (navigational "
    "intents count once), and with # combined with intent recall: D#-nDCG, DIN#-nDCG, AP-IA#"
)


def fairness_note() -> str:
    """Where measures of fairness are found."""
    from cranfield.fairness.audit import MEASURES

    return f"measures of fairness are computed by cranfield fairness: {', '.join(MEASURES)}"


@dataclass(frozen=True, eq=False)
class Page:
    """Everything about one measure."""

    name: str
    family: str
    """The title of its family."""
    family_summary: str
    """What the measures of the family have in common."""
    what: str
    formula: str
    """LaTeX; empty if the docstring has none."""
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
    """What each view in its name means."""
    verb: str = "eval"
    """The verb that computes it."""

    @staticmethod
    def of(asked: type[Measure] | Measure) -> Page:
        """The page of a class, from its docstring. For a measure, it also explains its views."""
        kind, measure = (asked, None) if isinstance(asked, type) else (type(asked), asked)
        family, summary = title_and_summary(kind)
        cutoffs = {"rank": "a rank", "recall": "a recall point from 0 to 1", "none": "none"}
        return Page(
            name=kind.name,
            family=family,
            family_summary=summary,
            **docstring_parts(vars(kind).get("__doc__") or ""),
            parameters={name: show(default) for name, default in kind.parameters().items()},
            cutoff=cutoffs[kind.cutoff_kind],
            aliases=kind.aliases,
            properties=asdict(kind.properties) if measure is None else property_values(measure),
            reference=kind.reference(),
            asked=kind.name if measure is None else str(measure),
            views={} if measure is None else describe_views(measure),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data; an infinite end of the range is null."""
        properties = {
            name: None if isinstance(value, float) and math.isinf(value) else value
            for name, value in self.properties.items()
        }
        return {**vars(self), "aliases": list(self.aliases), "properties": properties}

    def matches(self, words: list[str]) -> bool:
        """Whether each word occurs in the name, a spelling, the text, the reference or the family."""
        texts = (self.name, *self.aliases, self.family, self.family_summary, self.what, self.text, self.reference)
        text = " ".join([*texts, *self.parameters]).casefold()
        return all(word.casefold() in text for word in words)

    def for_people(self, width: int) -> str:
        """The page as text of at most `width` columns."""
        parts = []
        if self.views:
            margin = max(map(len, self.views))
            lines = [hanging(f"  {mark:<{margin}}  ", meaning, width) for mark, meaning in self.views.items()]
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
        settings = [(f"{name}={default}", meaning(name, default)) for name, default in self.parameters.items()]
        margin = min(max([8, *(len(setting) for setting, _ in settings)]), 30)
        settings.append(("@", f"the cutoff: {self.cutoff}"))
        lines = [hanging(f"  {setting:<{margin}}  ", text, width) for setting, text in settings]
        return "\n".join(["Parameters", *lines])

    def _facts(self, width: int) -> list[str]:
        values = self.properties
        yes = [name.replace("_", "-") for name, value in values.items() if value is True]
        unknown = [name for name, value in values.items() if value is None]
        others = ["graded", "normalised", "recall-free", "diminishing", "additive"]
        properties = ", ".join(yes) or f"none of {', '.join(name for name in others if name not in unknown)}"
        properties += f" (of {self.asked})" if self.asked != self.name else ""
        properties += f"; not known of this variant: {', '.join(unknown)}" if unknown else ""
        facts = {
            "Properties": properties,
            "Range": range_text(values),
            **({} if self.views else {"Scale": declared_scale(str(values["scale"]), str(values["step"]))}),
            "Spellings": ", ".join((self.name, *self.aliases)),
            "Reference": self.reference or "-",
        }
        return [hanging(f"{label + ':':<12} ", fact, width) for label, fact in facts.items()]


def docstring_parts(docstring: str) -> dict[str, str]:
    """The parts of a measure's docstring: what it tells, its formula, text and example."""
    what, _, rest = inspect.cleandoc(docstring).partition("\n\n")
    formula = re.search(r"\.\. math::((?:.|\n)*?)(?=\n\n(?! )|\Z)", rest)
    example = re.search(r"^>>> (?:.|\n)*?(?=\n\n|\Z)", rest, re.MULTILINE)
    for part in (formula, example):
        rest = rest.replace(part[0], "") if part else rest
    rest = re.sub(r"Reference: (?:.|\n)*?(?=\n\n|\Z)", "", rest)
    rest = re.sub(r"\n(?=No relevant documents|Nothing retrieved)", "\n\n", rest)  # a paragraph for the empty case
    paragraphs = [" ".join(paragraph.split()) for paragraph in rest.split("\n\n")]
    return {
        "what": " ".join(what.split()),
        "formula": " ".join(formula[1].split()) if formula else "",
        "text": "\n".join(paragraph for paragraph in paragraphs if paragraph),
        "example": example[0] if example else "",
    }


def meaning(name: str, default: str) -> str:
    """What a parameter means, in a line; empty if the text of the measure explains it."""
    return MEANINGS.get(f"{name}={default}", MEANINGS.get(name, ""))


def range_text(properties: Mapping[str, Any]) -> str:
    """The range of a measure, and whether higher values are better."""
    better = properties["better"]
    rating = "; describes a list, does not rate it" if better == "neither" else f"; {better} is better"
    return f"{_end(properties['low'])} to {_end(properties['high'])}{rating}"


def _end(number: float) -> str:
    return ("-" if number < 0 else "") + "infinity" if math.isinf(number) else f"{number:g}"


def hanging(label: str, text: str, width: int) -> str:
    """A label, and text that is wrapped beside it."""
    wrapped = textwrap.wrap(text, max(width - len(label), 30), break_long_words=False, break_on_hyphens=False)
    return (label + f"\n{' ' * len(label)}".join(wrapped)).rstrip()


def all_pages() -> list[Page]:
    """The pages of all measures, family by family."""
    return [Page.of(kind) for kinds in by_family().values() for kind in kinds]


def pages_of(measures: Iterable[Measure]) -> list[Page]:
    """The pages of measures; only one of those whose pages are the same, as cutoffs and parameters rarely matter."""
    different = {
        (type(measure), measure.views, tuple(property_values(measure).values())): measure
        for measure in reversed([*measures])
    }
    return [Page.of(measure) for measure in reversed(different.values())]


def listing(pages: list[Page], *, short: bool, width: int | None) -> Table:
    """A row per measure. `short` gives author and year of papers, `width` cuts off text that does not fit."""
    rows = [(page.name, page.what, _short_reference(page.reference) if short else page.reference) for page in pages]
    if width is not None:
        name, paper = (max(visible_width(row[column]) for row in rows) for column in (0, 2))
        rows = [(row[0], _shortened(row[1], max(width - name - paper - 4, 30)), row[2]) for row in rows]
    usage = "cranfield measures NAME shows the page of a measure"
    ranked = [page.name for page in pages if page.verb == "eval"]
    notes = (usage, fairness_note(), *footnotes(ranked), *((VIEWS,) if ranked else ())) if short else ()
    columns: tuple[Column, ...] = (Column("measure"), Column("what it tells"), Column("reference"))
    if short:
        return Table(columns, tuple(rows), notes=notes)
    with_family = [(*row, page.family, page.verb) for row, page in zip(rows, pages, strict=True)]
    return Table((*columns, Column("family"), Column("verb")), tuple(with_family), notes=notes)


def with_headings(text: str, pages: list[Page]) -> str:
    """The text of a listing, with a heading before each family; unchanged if a row takes several lines."""
    first, *lines = text.split("\n")
    if not all(line.split()[:1] == [page.name] for line, page in zip(lines, pages, strict=False)):
        return text
    shown, family = [first], ""
    for line, page in zip(lines, pages, strict=False):
        if page.family != family:
            family = page.family
            shown += ["", f"{family}:"]
        shown.append(line)
    return "\n".join([*shown, "", *lines[len(pages) :]])


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


def pages_table(pages: list[Page]) -> Table:
    """Pages as rows of a table."""
    names = (
        "name",
        "what",
        "formula",
        "text",
        "parameters",
        "cutoff",
        "aliases",
        "better",
        "scale",
        "reference",
        "verb",
    )
    rows = []
    for page in pages:
        cells = {
            **vars(page),
            "parameters": ", ".join(f"{name}={default}" for name, default in page.parameters.items()),
            "aliases": ", ".join(page.aliases),
            "better": str(page.properties["better"]),
            "scale": str(page.properties["scale"]),
        }
        rows.append(tuple(cells[name] for name in names))
    return Table(tuple(Column(name) for name in names), tuple(rows))

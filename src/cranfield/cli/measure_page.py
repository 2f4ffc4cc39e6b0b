"""The page of a measure: formula, text, parameters, properties, paper, example; and the list of all measures."""

from __future__ import annotations

import inspect
import math
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cranfield.measures import Measure
from cranfield.measures.base import show
from cranfield.measures.property_tables import (
    DIVERSE,
    RANKED,
    by_family,
    declared_scale,
    describe_views,
    diverse,
    footnotes,
    property_values,
    ranked,
    title_and_summary,
)
from cranfield.measures.property_tables import (
    MEANINGS as PROPERTY_MEANINGS,
)
from cranfield.table import Column, Table, visible_width

Properties = Mapping[str, Mapping[str, Any]]
"""{measure: {property: True, False, or None if it is not known}}."""
CELLS = {True: "yes", False: "-", None: "?"}


def property_tables(measures: Sequence[Measure], *, one: bool) -> list[Table]:
    """The properties of these measures, or of all: one table for programs, or two for people."""
    if measures:
        lists = {str(measure): property_values(measure) for measure in measures if not measure.uses_intents()}
        intents = {str(measure): property_values(measure) for measure in measures if measure.uses_intents()}
    else:
        lists, intents = ({name: asdict(entry) for name, entry in every.items()} for every in (ranked(), diverse()))
    return [for_programs(lists, intents)] if one else for_people(lists, intents)


def for_people(lists: Properties, intents: Properties) -> list[Table]:
    """A table of measures of ranked lists and one of measures of diversity, if there are any."""
    tables: list[Table] = []
    explained: set[str] = set()
    for caption, properties, headings in (
        ("Measures of ranked lists", lists, RANKED),
        ("Measures of diversity", intents, DIVERSE),
    ):
        if properties:
            rows = [(name, *(CELLS[values[key]] for key in headings)) for name, values in properties.items()]
            notes = tuple(f"{text}: {PROPERTY_MEANINGS[text]}" for text in headings.values() if text not in explained)
            explained.update(headings.values())
            if any("?" in row[1:] for row in rows):
                notes += ("?: not known of this variant of the measure",)
            notes += footnotes(properties)
            tables.append(Table((Column("measure"), *map(Column, headings.values())), tuple(rows), caption, notes))
    return tables


def for_programs(lists: Properties, intents: Properties) -> Table:
    """A row per measure and a column per property: 1, 0, or empty if the property does not apply."""
    keys = tuple(dict.fromkeys((*RANKED, *DIVERSE)))
    rows = [
        (kind, name, *(_flag(values[key]) if key in applies else None for key in keys))
        for kind, properties, applies in (("ranked", lists, RANKED), ("diversity", intents, DIVERSE))
        for name, values in properties.items()
    ]
    return Table((Column("kind"), Column("measure"), *(Column(key, "count") for key in keys)), tuple(rows))


def _flag(value: bool | None) -> int | None:
    return None if value is None else int(value)


SYMBOLS = {
    "sum": "Σ", "prod": "Π", "cdot": "·", "le": "≤", "ge": "≥", "cap": "∩", "in": "∈", "ldots": "…", "alpha": "α",
    "beta": "β", "gamma": "γ", "epsilon": "ε", "lfloor": "⌊", "rfloor": "⌋", "qquad": "\n", "quad": "\n", "left": "",
    "right": "", "infty": "∞", "times": "×", "pi": "π", "Big": "", "big": "", "bigl": "", "bigr": "", "Bigl": "",
    "Bigr": "", "mid": "|", "lambda": "λ", "tau": "τ", "omega": "ω", "cup": "∪", "ne": "≠", "emptyset": "∅",
    "mathcal": "",
}  # fmt: skip
"""The letters for LaTeX commands; other commands become their name: \\log, \\min."""
ACCENTS = {"hat": "\u0302", "bar": "\u0304"}
"""The signs that these commands put on a letter."""


def readable(latex: str) -> str:
    r"""A formula in plain text, with a line for each of its parts.

    >>> readable(r"\frac{1}{R}\sum_{r \le l} g^*(r)\,p^{r-1}")
    '1/R Σ_{r ≤ l} g*(r) p^(r-1)'
    """
    text = " ".join(latex.split())
    text = re.sub(r"\\text\{([^{}]*)\}", r"\1", text)
    for command, accent in ACCENTS.items():
        text = re.sub(rf"\\{command}\s*(?:\{{(\w)\}}|(\w))", rf"\1\2{accent}", text)
    text = unicodedata.normalize("NFC", text)
    while parts := _innermost(r"\binom", text):
        begin, above, below, end = parts
        text = f"{text[:begin]}({above} choose {below}){text[end:]}"
    while parts := _innermost(r"\frac", text):
        begin, above, below, end = parts
        text = f"{text[:begin]} {_atom(above)}/{_atom(below)} {text[end:]}"
    text = text.replace(r"\{", "⦃").replace(r"\}", "⦄")
    text = re.sub(r"\\([a-zA-Z]+)", lambda command: SYMBOLS.get(command[1], command[1]), text)
    text = re.sub(r"\\[,;:! ]", " ", text)
    text = re.sub(r"_\{(\w+)\}", r"_\1", text.replace("^*", "*"))
    while "^{" in text:
        power, end = _group(text, begin := text.rindex("^{") + 1)
        power = power if re.fullmatch(r"[\w*]+", power) else f"({power})"
        text = text[:begin] + power + text[end:]
    text = re.sub(r"(?<=[\w)}*])([ΣΠ])", r" \1", text.replace("⦃", "{").replace("⦄", "}"))
    text = re.sub(r"(?<=[(⌊]) +| +(?=[),⌋])", "", re.sub(r" {2,}", " ", text))
    return "\n".join(line.strip().rstrip(",") for line in text.split("\n"))


def _innermost(command: str, text: str) -> tuple[int, str, str, int] | None:
    """The last fraction or binomial, which contains no other: its begin, numerator, denominator and end."""
    begin = text.rfind(command)
    if begin < 0:
        return None
    above, after = _group(text, begin + len(command))
    below, end = _group(text, after)
    return begin, above, below, end


def _group(text: str, at: int) -> tuple[str, int]:
    """The text in the braces that open at `at`, or a single letter, and where it ends."""
    at += len(text[at:]) - len(text[at:].lstrip())
    if text[at] != "{":
        return text[at], at + 1
    depth, i = 0, at
    while True:
        depth += (text[i] == "{") - (text[i] == "}")
        i += 2 if text[i] == "\\" and text[i + 1] in "{}" else 1
        if depth == 0:
            return text[at + 1 : i - 1].strip(), i


def _atom(text: str) -> str:
    """The text in brackets, unless it is a name, a number, a call or an amount between bars."""
    a_name, a_call = r"[\w^*'\u0302]+(\([\w']*\))?", r"\\(?:min|max|log_2)\([^()]*(\(\w*\))?[^()]*\)"
    single = re.fullmatch(rf"\\pi|(\\pi\(\w\))|{a_name}|{a_call}|\|[^|]*\|", text)
    return text if single else f"({text})"


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

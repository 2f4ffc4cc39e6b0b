"""A page for each measure, from the registry: formula, text, parameters, properties, picture, example, paper."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cranfield.cli import measure_page, verb_measures
from cranfield.cli.measure_page import Page
from cranfield.measures import REGISTRY
from cranfield.measures.property_tables import MEANINGS, declared_scale
from website import text
from website.pictures import WITHOUT
from website.staging import write

FOLDER = "reference/measures"
YES_OR_NO = {
    "graded": MEANINGS["graded"],
    "normalised": MEANINGS["normalised"].partition(" (")[0],
    "recall_free": MEANINGS["recall-free"],
    "diminishing": MEANINGS["diminishing"],
    "additive": "the score is, up to a constant, a sum over documents that depends only on their grades and ranks",
    "lengths": MEANINGS["lengths"],
    "nonlinear": MEANINGS["nonlinear"],
    "intent_probabilities": MEANINGS["intent probabilities"],
}
EXAMPLES = {
    "Accuracy": "Accuracy(N=2000)", "Fallout": "Fallout(N=2000)", "Specificity": "Specificity(N=2000)",
    "ADM": 'ADM(estimate="minmax")', "IPrec": "IPrec@0.1", "WSS": "WSS@0.95",
}  # fmt: skip
"""Measures that need an argument, as they are written on their page."""


class Entry(NamedTuple):
    """A page that was written."""

    name: str
    path: str
    family: str


def write_pages(folder: Path, pictures: Mapping[str, str]) -> list[Entry]:
    """Write the pages of all measures, and the page that lists them; `pictures` is {measure: path}."""
    pages = [*measure_page.all_pages(), *verb_measures.verb_pages()]
    names = [f"{page.name} {page.verb}" if page.verb != "eval" else page.name for page in pages]
    places = text.slugs(names)
    entries = [
        Entry(page.name, f"{FOLDER}/{places[name]}.md", page.family) for page, name in zip(pages, names, strict=True)
    ]
    for page, entry in zip(pages, entries, strict=True):
        siblings = [other for other in entries if other.family == entry.family and other != entry]
        picture = pictures.get(page.name) if page.verb == "eval" else None
        # A search for nDCG finds alpha-nDCG as well; the page with the shorter name comes first.
        shorter = any(page.name.lower() in other.name.lower() and page.name != other.name for other in entries)
        head = "---\nsearch:\n  boost: 4\n---\n\n" if shorter else ""
        write(folder / entry.path, head + measure_text(page, picture, siblings))
    write(folder / FOLDER / "index.md", index(pages, entries))
    return entries


def measure_text(page: Page, picture: str | None, siblings: list[Entry]) -> str:
    """The page of a measure."""
    meaning = measure_page.meaning if page.verb == "eval" else session_meaning
    settings = [
        (f"`{name}`", f"`{value}`", text.plain(meaning(name, value))) for name, value in page.parameters.items()
    ]
    related = ", ".join(f"[{text.plain(other.name)}]({Path(other.path).name})" for other in siblings)
    return text.page(
        f"# {text.plain(page.name)}",
        text.plain(page.what),
        f"$$\n{page.formula}\n$$" if page.formula else "",
        "\n\n".join(text.plain(paragraph) for paragraph in page.text.split("\n")),
        "## Properties",
        text.facts(about(page)),
        "## Parameters" if settings else "",
        text.table(["parameter", "default", "meaning"], settings),
        *(["## What a rank is worth", *shown_picture(page, picture)] if page.verb == "eval" else []),
        "## Example" if page.example or page.verb == "eval" else "",
        example(page),
        "## See also { data-search-exclude }" if related else "",
        f"{text.plain(page.family)}: {related}" if related else "",
    )


def session_meaning(name: str, default: str) -> str:
    """What a parameter of a measure of sessions means."""
    meanings = verb_measures.PARAMETERS
    return meanings.get(f"{name}={default}", meanings.get(name, ""))


def about(page: Page) -> dict[str, str]:
    """The facts about a measure, by label."""
    properties = page.properties
    holds = [f"{name.replace('_', '-')}: {meaning}" for name, meaning in YES_OR_NO.items() if properties.get(name)]
    lacks = [name for name in ("graded", "normalised", "recall_free") if not properties.get(name, True)]
    return {
        "Family": text.plain(page.family),
        "Range": measure_page.range_text(properties),
        "Scale": declared_scale(str(properties["scale"]), str(properties["step"])) if properties["scale"] else "",
        "Cutoff": f"`@`: {page.cutoff}" if page.cutoff != "none" else "none",
        "Properties": "<br>".join(map(text.plain, holds)).replace("&lt;br>", "<br>"),
        "It is not": ", ".join(lacks).replace("_", "-"),
        "Also written": ", ".join(f"`{alias}`" for alias in page.aliases),
        "Computed by": f"[`cranfield {page.verb}`](../commands/{text.slug(page.verb)}.md)",
        "Paper": text.with_links(page.reference),
    }


def shown_picture(page: Page, picture: str | None) -> list[str]:
    if picture is None:
        return [WITHOUT[page.name]]
    caption = f"The score of {text.plain(page.name)}, for relevant documents at different ranks"
    return [f"![{caption}](../../{picture}){{ .figure }}"]


def example(page: Page) -> str:
    """The example of the docstring, and the scores of the sample collection if they need no further file."""
    parts = []
    if page.example:
        kind = REGISTRY.get(page.name) if page.verb == "eval" else None
        line = f">>> from cranfield.measures import {kind.__name__}\n" if kind else ""
        parts.append(text.code(line + page.example, "python"))
    if page.verb == "eval":
        name = EXAMPLES.get(page.name, page.name)
        quoted = f"'{name}'" if set(name) & set("()#'") else name
        shown = text.console(f"cranfield eval --sample -m {quoted} --quiet")
        parts.append(f"The scores of the bundled sample collection:\n\n{shown}" if shown else "")
    return "\n\n".join(filter(None, parts))


def index(pages: list[Page], entries: list[Entry]) -> str:
    """The list of all measures, by family."""
    parts = [
        "# Measures",
        f"There are {len(pages)} measures. Each has a page with its formula, its properties and an example; those of "
        "ranked lists also have a picture, or say why not. "
        "`cranfield measures NAME` prints the same text in a terminal, and `cranfield measures --search WORDS` finds "
        "measures by words. [How measures are written](../../notation.md) explains names, cutoffs and views such as "
        "`nDCG'@10` or `D#-nDCG`.",
    ]
    family = ""
    rows: list[tuple[str, str, str]] = []
    for page, entry in zip(pages, entries, strict=True):
        if page.family != family and rows:
            parts.append(text.table(["measure", "what it tells", "paper"], rows))
            rows = []
        if page.family != family:
            family = page.family
            summary = page.family_summary
            parts += [f"## {text.plain(family)}", f"{summary[:1].upper()}{summary[1:]}"]
        paper = measure_page._short_reference(page.reference) if page.reference else ""
        rows.append((f"[{text.plain(page.name)}]({Path(entry.path).name})", text.plain(page.what), text.plain(paper)))
    return text.page(*parts, text.table(["measure", "what it tells", "paper"], rows))

"""The order of the pages, built from what is there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cranfield.cli import SECTIONS
from website.command_pages import STAND_INS_TITLE
from website.measure_pages import Entry

GUIDES = {
    "Offline": {
        "Files and rules": ("collections", "rules", "defaults", "notation", "sample", "large_files", "cluster"),
        "Score": ("fusion", "fairness", "several_collections", "plots", "report"),
        "Compare": ("compare", "organisers", "gate", "power"),
        "Measures under test": ("meta", "study"),
        "Answers, sessions, recommenders": ("rag", "answers", "sessions", "recommenders"),
    },
    "Live traffic": {"": ("online", "experiments", "interleaving", "clicks", "calibration")},
    "Build a collection": {
        "": ("topic_sets", "pools", "labels", "machine_judges", "judging", "campaign", "security"),
    },
}
"""The guides in docs/, by part and by title; without a title they stand directly in their part."""
PYTHON = ("python", "frames")
PROJECT = ("everything", "speed", "intervals", "benchmarks", "contributing", "changelog", "fuzzing")
"""Pages of the reference about Python, and about the project."""
FOLDERS = {"how_to": "How-to", "concepts": "Concepts", "papers": "Papers", "coming_from": "Switching"}
"""Folders of docs/, with the title of their part."""
OTHERS = ("index", "tutorial", "guides", "gallery", "tests")

Nav = list[Any]


def navigation(
    folder: Path, measures: list[Entry], registries: Mapping[str, Mapping[str, str]], commands: Mapping[str, str],
    packages: Mapping[str, str],
) -> Nav:  # fmt: skip
    """All pages in the folder, in the order in which people need them."""
    parts = {part: part_pages(folder, part) for part in FOLDERS}
    reference: Nav = [
        {"Measures": measure_part(measures)},
        {"Significance tests": [*registry_part("reference/tests", registries), *titled(folder, ("tests",))]},
        {"Merging of labels": registry_part("reference/merging", registries)},
        {"Online measures": registry_part("reference/online", registries)},
        {"Click models": registry_part("reference/clicks", registries)},
        {"Command line": command_part(commands)},
        {"Python": [*titled(folder, PYTHON), "reference/python/index.md", *by_name(packages)]},
        {"Gallery": "gallery.md"},
        {"The project": titled(folder, PROJECT)},
    ]
    papers = {FOLDERS["papers"]: parts["papers"]}
    return [
        {"Start": "index.md"}, {"Tutorial": "tutorial.md"}, {FOLDERS["how_to"]: parts["how_to"]},
        {FOLDERS["concepts"]: parts["concepts"]}, {"Guides": [*guides(folder), papers]}, {"Reference": reference},
        {FOLDERS["coming_from"]: parts["coming_from"]},
    ]  # fmt: skip


def title_of(path: Path) -> str:
    """The first heading of a page."""
    heading = re.search(r"^# (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return heading[1].replace("`", "").replace("\\", "") if heading else path.stem


def part_pages(folder: Path, part: str) -> Nav:
    """The pages in a folder of docs/: the index first, then the others in the order in which it links to them."""
    pages = sorted((folder / part).rglob("*.md"))
    index = [page for page in pages if page.stem in ("index", "README")]
    linked = re.findall(r"\]\(([\w/]+\.md)", index[0].read_text("utf-8")) if index else []
    place = {folder / part / path: at for at, path in reversed([*enumerate(linked)])}
    pages.sort(key=lambda page: (page not in index, place.get(page, len(linked))))
    named: Nav = []
    for page in pages:
        path = page.relative_to(folder).as_posix()
        named.append(path if page.stem in ("index", "README") else {title_of(page): path})
    return named


def titled(folder: Path, names: Iterable[str]) -> Nav:
    """Pages under their first headings."""
    return [{title_of(folder / f"{name}.md"): f"{name}.md"} for name in names]


def by_name(pages: Mapping[str, str]) -> Nav:
    """Pages under their names."""
    return [{name: path} for name, path in pages.items()]


def guides(folder: Path) -> Nav:
    """The guides, by subject; one that is not named in `GUIDES` comes last."""
    parts: Nav = ["guides.md"]
    placed = {*OTHERS, *PYTHON, *PROJECT}
    for part, titles in GUIDES.items():
        pages: Nav = []
        for title, names in titles.items():
            placed.update(names)
            pages += [{title: titled(folder, names)}] if title else titled(folder, names)
        parts.append({part: pages})
    others = sorted(page.stem for page in folder.glob("*.md") if page.stem not in placed)
    return [*parts, *titled(folder, others)]


def measure_part(measures: list[Entry]) -> Nav:
    """The measures by family."""
    families: dict[str, Nav] = {}
    for entry in measures:
        families.setdefault(entry.family, []).append({entry.name: entry.path})
    return ["reference/measures/index.md", *({family: pages} for family, pages in families.items())]


def command_part(commands: Mapping[str, str]) -> Nav:
    """The verbs by group, and the others below the headings of `cranfield help all`."""
    parts: Nav = ["reference/commands/index.md"]
    for title, words in SECTIONS.items():
        pages: Nav = []
        for word in words:
            verbs = {name: path for name, path in commands.items() if name.startswith(f"{word} ")}
            pages.append({word: [commands[word], *by_name(verbs)]} if verbs else {word: commands[word]})
        parts.append({title: pages})
    placed = {word for words in SECTIONS.values() for word in words}
    others = {word: path for word, path in commands.items() if word.partition(" ")[0] not in placed}
    return [*parts, *([{STAND_INS_TITLE: by_name(others)}] if others else [])]


def registry_part(place: str, registries: Mapping[str, Mapping[str, str]]) -> Nav:
    return [f"{place}/index.md", *by_name(registries[place])]

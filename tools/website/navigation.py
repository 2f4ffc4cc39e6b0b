"""The order of the pages, built from what is there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from website.measure_pages import Entry

GUIDES = {
    "Files and rules": ("collections", "rules", "notation", "sample", "sources"),
    "Evaluate": ("python", "frames", "fusion", "fairness", "several_collections", "plots", "report"),
    "Compare": ("compare", "organisers", "gate", "power"),
    "Measures under test": ("meta", "study"),
    "Build a collection": ("topic_sets", "pools", "labels", "machine_judges", "judging", "campaign", "security"),
    "Live traffic": ("online", "experiments", "interleaving", "clicks", "calibration"),
    "Answers, sessions, recommenders": ("rag", "answers", "sessions", "recommenders"),
}
"""The guides in docs/, by title. A guide that is not named here comes last."""
REFERENCE = ("measures", "tests", "merging", "online_measures")
"""Pages in docs/ that belong to the reference."""
PARTS = {"how_to": "How-to", "coming_from": "Coming from", "concepts": "Concepts"}
"""Folders of docs/, with the title of their part."""
OTHERS = ("index", "tutorial", "guides", "gallery", "contributing", "changelog", "benchmarks", "fuzzing")

Nav = list[Any]


def navigation(
    folder: Path, measures: list[Entry], registries: Mapping[str, Mapping[str, str]], commands: Mapping[str, str],
    packages: Mapping[str, str],
) -> Nav:  # fmt: skip
    """All pages in the folder, in the order in which people need them."""
    nav: Nav = [{"Start": "index.md"}]
    if (folder / "tutorial.md").exists():
        nav.append({"Tutorial": "tutorial.md"})
    nav += [{title: pages} for part, title in PARTS.items() if (pages := part_pages(folder, part))]
    nav.append({"Guides": guides(folder)})
    nav.append({"Reference": [
        {"Measures": measure_part(measures)},
        {"Significance tests": registry_part("reference/tests", registries, "tests.md")},
        {"Merging of labels": registry_part("reference/merging", registries, "merging.md")},
        {"Online measures": registry_part("reference/online", registries, "online_measures.md")},
        {"Click models": registry_part("reference/clicks", registries)},
        {"Command line": ["reference/commands/index.md", *({name: path} for name, path in commands.items())]},
        {"Python": ["reference/python/index.md", *({name: path} for name, path in packages.items())]},
    ]})  # fmt: skip
    nav.append({"Gallery": "gallery.md"})
    others = ("contributing", "changelog", "benchmarks", "fuzzing")
    more = [{name.capitalize(): f"{name}.md"} for name in others if (folder / f"{name}.md").exists()]
    nav.append({"Contributing": more})
    return nav


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


def guides(folder: Path) -> Nav:
    """The guides, by subject."""
    placed = {name for names in GUIDES.values() for name in names} | {*REFERENCE, *OTHERS}
    parts: Nav = ["guides.md"]
    for title, names in GUIDES.items():
        pages = [page for name in names if (page := folder / f"{name}.md").exists()]
        parts.append({title: [{title_of(page): page.name} for page in pages]})
    others = [page for page in sorted(folder.glob("*.md")) if page.stem not in placed]
    return [*parts, *({title_of(page): page.name} for page in others)]


def measure_part(measures: list[Entry]) -> Nav:
    """The measures by family."""
    families: dict[str, Nav] = {}
    for entry in measures:
        families.setdefault(entry.family, []).append({entry.name: entry.path})
    parts = [{family: pages} for family, pages in families.items()]
    return ["reference/measures/index.md", {"All on one page": "measures.md"}, *parts]


def registry_part(place: str, registries: Mapping[str, Mapping[str, str]], whole: str = "") -> Nav:
    pages: Iterable[Any] = ({name: path} for name, path in registries[place].items())
    return [f"{place}/index.md", *([{"All on one page": whole}] if whole else []), *pages]

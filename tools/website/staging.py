"""Copies of the repository's Markdown files, with links and code blocks as the site needs them."""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
ELSEWHERE = {
    "README.md": "index.md",
    "docs/README.md": "guides.md",
    "src/cranfield/samples/README.md": "sample.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "bench/README.md": "benchmarks.md",
    "fuzz/README.md": "fuzzing.md",
}
"""Pages that are not in docs/, or have another name there: {path in the repository: path on the site}."""
REPLACED = {
    "docs/measures.md": "reference/measures/index.md",
    "docs/merging.md": "reference/merging/index.md",
    "docs/online_measures.md": "reference/online/index.md",
}
"""Pages whose entries all have pages of their own on the site: {path in the repository: the page that lists them}."""
BOOSTS = {"how_to/": 6, "notation.md": 8, "coming_from/": 1, "concepts/": 2, "": 4}
"""How much the words of a page count in a search, by the start of its path: who searches looks for a guide first."""
LONG = ("changelog.md", "intervals.md", "benchmarks.md", "tests.md", "contributing.md", "everything.md", "guides.md")
"""Pages that hold nearly every word; a search shows them last."""
LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
"""A link, or a picture."""
FENCE = re.compile(r"^( *)```", re.MULTILINE)


def sources() -> dict[str, str]:
    """All pages that are written by hand: {path in the repository: path on the site}."""
    pages = {path: target for path, target in ELSEWHERE.items() if (ROOT / path).exists()}
    for path in sorted(DOCS.rglob("*.md")):
        name = path.relative_to(ROOT).as_posix()
        if name not in REPLACED:
            pages.setdefault(name, name.removeprefix("docs/"))
    return pages


def stage(folder: Path) -> None:
    """Write all these pages, and the pictures in docs/, below a folder."""
    pages = sources()
    for path, target in pages.items():
        head = f"---\nsearch:\n  boost: {boost(target)}\n---\n\n"
        write(folder / target, head + for_site((ROOT / path).read_text("utf-8"), path, pages))
    for path in DOCS.rglob("*"):
        if path.suffix in (".svg", ".png", ".css"):
            target = folder / path.relative_to(DOCS)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())


def boost(target: str) -> float:
    """How much the words of a page count in a search.

    >>> boost("how_to/compare_two_runs.md"), boost("rag.md"), boost("changelog.md")
    (6, 4, 0.2)
    """
    return 0.2 if target in LONG else next(weight for start, weight in BOOSTS.items() if target.startswith(start))


def write(path: Path, text: str) -> None:
    """Write a page; folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def for_site(text: str, path: str, pages: dict[str, str]) -> str:
    """A page for the site: links lead to pages of the site, and a file in a block of code has its name above it."""
    parts = re.split(r"(^ *```.*?^ *```$)", text, flags=re.DOTALL | re.MULTILINE)
    for number, part in enumerate(parts):
        if number % 2:
            parts[number] = re.sub(r"^( *```\w+) ([^\s{]+)$", r'\1 title="\2"', part, count=1, flags=re.MULTILINE)
        else:
            parts[number] = with_blank_lines(LINK.sub(lambda link: _link(link, path, pages), part))
    return "".join(parts)


def with_blank_lines(text: str) -> str:
    """Text with an empty line before each list and table: mkdocs needs it, other programs that show Markdown do not.

    >>> with_blank_lines("Two things:\\n- one\\n- two")
    'Two things:\\n\\n- one\\n- two'
    """
    lines: list[str] = []
    for line in text.split("\n"):
        before = lines[-1] if lines else ""
        starts = bool(re.match(r"(?:[-*]|\d+\.) ", line)) and not re.match(r" *(?:[-*]|\d+\.) | {2,}", before)
        table = line.startswith("|") and not before.startswith("|")
        if before.strip() and (starts or table):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def _link(link: re.Match[str], path: str, pages: dict[str, str]) -> str:
    text, address = link.groups()
    if re.match(r"\w+:|#", address):
        return link[0]
    file, sign, anchor = address.partition("#")
    source = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
    if link[0].startswith("!"):
        return f"![{text}]({posixpath.relpath(source.removeprefix('docs/'), posixpath.dirname(pages[path]) or '.')})"
    if source in REPLACED:
        entry = f"{posixpath.dirname(REPLACED[source])}/{anchor}.md" if anchor else REPLACED[source]
        return f"[{text}]({posixpath.relpath(entry, posixpath.dirname(pages[path]) or '.')})"
    if source in pages:
        target = posixpath.relpath(pages[source], posixpath.dirname(pages[path]) or ".")
        return f"[{text}]({target}{sign}{anchor})"
    if (ROOT / source).exists() and not source.startswith("docs/"):
        return text  # a file of the repository that is not on the site
    return link[0]


def relative(target: str, page: str) -> str:
    """The link from a page of the site to another.

    >>> relative("notation.md", "reference/measures/index.md")
    '../../notation.md'
    """
    return os.path.relpath(target, posixpath.dirname(page) or ".").replace(os.sep, "/")

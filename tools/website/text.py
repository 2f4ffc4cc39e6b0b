"""Pieces of Markdown that generated pages share."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

SAMPLES = Path(__file__).parent.parent.parent / "src" / "cranfield" / "samples"


def slug(name: str) -> str:
    """A name as part of an address.

    >>> slug("D#-nDCG"), slug("P+"), slug("meta power")
    ('d-sharp-ndcg', 'p-plus', 'meta-power')
    """
    words = name.replace("#", "-sharp-").replace("+", "-plus-")
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def slugs(names: Iterable[str]) -> dict[str, str]:
    """{name: part of an address}; names that differ only in their case get a number.

    >>> slugs(["gAP", "GAP"])
    {'gAP': 'gap', 'GAP': 'gap-2'}
    """
    taken: dict[str, str] = {}
    for name in names:
        base = slug(name)
        number = 1 + sum(re.fullmatch(rf"{re.escape(base)}(?:-\d+)?", other) is not None for other in taken.values())
        taken[name] = base if number == 1 else f"{base}-{number}"
    return taken


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; nothing if there are no rows.

    >>> print(table(["a", "b"], [["1", "x | y"]]))
    | a | b |
    |---|---|
    | 1 | x \\| y |
    """
    cells = [[re.sub(r"(?<!\\)\|", r"\\|", " ".join(cell.split())) for cell in row] for row in rows]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join(["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads), *lines]) if lines else ""


def facts(rows: dict[str, str]) -> str:
    """A table of two columns without a head of its own."""
    shown = {name: text for name, text in rows.items() if text}
    return f'<div class="facts" markdown>\n\n{table(["", ""], shown.items())}\n\n</div>'


def code(text: str, language: str = "") -> str:
    """A block of code; nothing if the text is empty."""
    return f"```{language}\n{text.rstrip()}\n```" if text.strip() else ""


def plain(text: str) -> str:
    """Text in which no sign is Markdown, except code in backquotes.

    >>> plain("a* < b_c, `x_y`")
    'a\\\\* &lt; b\\\\_c, `x_y`'
    """
    parts = re.split(r"(`[^`]*`)", text)
    for number in range(0, len(parts), 2):
        escaped = parts[number].replace("\\", "\\\\").replace("<", "&lt;")
        parts[number] = re.sub(r"([*_\[\]#])", r"\\\1", escaped).replace("$", "&#36;").replace("{", "&#123;")
    return "".join(parts)


def with_links(reference: str) -> str:
    """A reference in which identifiers of papers are links.

    >>> with_links("TOIS 27(1), 2008, doi:10.1145/1416950.1416952")
    'TOIS 27(1), 2008, [doi:10.1145/1416950.1416952](https://doi.org/10.1145/1416950.1416952)'
    """
    text = re.sub(r"doi:(10\.[^\s;,]+[^\s;,.)])", r"[doi:\1](https://doi.org/\1)", plain(reference).replace("\\_", "_"))
    return re.sub(r"arXiv:(\d{4}\.\d{4,5})", r"[arXiv:\1](https://arxiv.org/abs/\1)", text)


def from_docstring(text: str) -> str:
    """A docstring as Markdown: formulas, lists and examples."""
    formula = re.compile(r"\.\. math::\s+(.*?)(?=\n\n(?! )|\Z)", re.DOTALL)
    text = formula.sub(lambda found: f"\n$$\n{' '.join(found[1].split())}\n$$\n", text)
    parts = re.split(r"^(>>> (?:.|\n)*?)(?=\n\n|\Z)", text, flags=re.MULTILINE)
    for number, part in enumerate(parts):
        if number % 2:
            parts[number] = f"```python\n{part.rstrip()}\n```"
        else:
            part = re.sub(r"\n(?=(?:No relevant documents|Nothing retrieved|Reference|Source):)", "\n\n", part)
            part = re.sub(r"\n(?=[a-z_, ]{2,40}: \S)", "\n\n", part)  # a paragraph for each parameter
            parts[number] = re.sub(r"^    (?=\S)", "        ", part, flags=re.MULTILINE)
    return "\n".join(parts)


def run(words: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run a command line in a folder; return its status, and what it prints."""
    from cranfield.cli import main

    printed, before = io.StringIO(), Path.cwd()
    os.chdir(folder)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            return main(words[1:]), printed.getvalue()
    finally:
        os.chdir(before)


def console(command: str, *, folder: Path = SAMPLES) -> str | None:
    """A command line and what it prints; None if it fails."""
    status, printed = run(shlex.split(command), folder)
    return code(f"$ {command}\n{printed}", "console") if status == 0 else None


def page(*parts: str | None) -> str:
    """The text of a page from its parts; empty parts are left out."""
    return "\n\n".join(part for part in parts if part) + "\n"

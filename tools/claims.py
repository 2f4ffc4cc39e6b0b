"""List the strong claims of the documentation, with the test that holds each: python tools/claims.py [PAGE...]

A strong claim is a sentence with one of `WORDS`. `tests/claims.toml` says for each what holds it: a test, or `advice`,
`definition` or `description` for a sentence that promises nothing about the program. `--missing` lists only claims
without an entry, as lines for that file. The exit code is 1 if a claim has no entry, or an entry no claim or no test.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
ENTRIES = ROOT / "tests" / "claims.toml"
WORDS = re.compile(r"\b(byte for byte|never|always|unbiased|without bias|as it is|as they are|any)\b", re.IGNORECASE)
PROMISES_NOTHING = {"advice", "definition", "description"}
"""What a sentence is that no test can hold: what users should do, what a word means, how the world is."""


class Claim(NamedTuple):
    """A sentence of a page with one of the words."""

    page: str
    sentence: str


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page, each on one line, without blocks of code; a cell of a table is a sentence.

    >>> list(sentences("One,\\ntwo. Three\\n\\n```\\ncode\\n```\\n| a | b |"))
    ['One, two.', 'Three', 'a', 'b']
    """
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?= *[|#*-])|(?<=\n)(#.*)\n", text):
        line = " ".join((paragraph or "").split()).strip("|# ")
        yield from filter(None, (part.strip() for part in re.split(r"(?<=[.!?])\s+|\s\|\s", line)))


def claims() -> list[Claim]:
    """All claims, page by page."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [
        Claim(page.relative_to(ROOT).as_posix(), sentence)
        for page in pages
        for sentence in dict.fromkeys(sentences(page.read_text("utf-8")))
        if WORDS.search(sentence)
    ]


def entries() -> dict[str, dict[str, str]]:
    """What holds the claims, as {page: {part of a sentence: test}}."""
    return tomllib.loads(ENTRIES.read_text("utf-8"))


def holder(claim: Claim, known: dict[str, dict[str, str]]) -> str | None:
    """The test that holds a claim; None without an entry."""
    return next((test for part, test in known.get(claim.page, {}).items() if part in claim.sentence), None)


def is_there(test: str) -> bool:
    """Does a test `tests/folder/test_file.py::test_name` exist?"""
    path, _, name = test.partition("::")
    file = ROOT / path
    return (
        file.is_file() and re.search(rf"^ *def {re.escape(name)}\(", file.read_text("utf-8"), re.MULTILINE) is not None
    )


def faults() -> list[str]:
    """Claims without an entry, entries without a claim, and tests that do not exist."""
    known, found = entries(), claims()
    open_claims = [f"{claim.page}: nothing holds {claim.sentence!r}" for claim in found if holder(claim, known) is None]
    for page, parts in known.items():
        of_page = [claim.sentence for claim in found if claim.page == page]
        for part, test in parts.items():
            if not any(part in sentence for sentence in of_page):
                open_claims.append(f"{page}: no sentence has {part!r}")
            if test not in PROMISES_NOTHING and not is_there(test):
                open_claims.append(f"{page}: {test} is not a test")
    return open_claims


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--missing", action="store_true", help="list only claims without an entry")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="list only the claims of these pages")
    arguments = parser.parse_args()
    known = entries()
    for claim in claims():
        held = holder(claim, known)
        if (not arguments.pages or claim.page in arguments.pages) and not (arguments.missing and held):
            print(f"{claim.page}: {claim.sentence}\n    {held or 'nothing holds it'}")
    found = faults()
    sys.exit("\n".join(found) if found else 0)


if __name__ == "__main__":
    main()

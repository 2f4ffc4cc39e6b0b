"""Write src/cranfield/_core.pyi from the compiled core.

    python tools/make_stubs.py            # after a change of src/core/bindings and a new build
    python tools/make_stubs.py --check    # fails if the file is out of date

nanobind's stub generator knows the signatures and docstrings. The keys of the dict that the joins return come from a
small join.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from nanobind.stubgen import StubGen

from cranfield import _core

STUB = Path(__file__).resolve().parent.parent / "src" / "cranfield" / "_core.pyi"

MEANING = {
    "tags": "For each run, the tags of its file; several if they are read as one run.",
    "several": "For each run, the number of judged lists with several documents.",
    "rising": "For each run, the number of those whose scores only rise along the file.",
    "level": "For each run, the number of those whose scores are all equal.",
    "retrieved": "For each list (run × judged topic), the number of retrieved documents.",
    "missing": "For each list, 1 if the run lacks the topic.",
    "unjudged_topics": "For each run, its topics without judgments.",
    "row": "For each hit, its list.",
    "document": "For each hit, its number among the judged documents.",
    "dropped": "The number of duplicate lines that were dropped.",
    "documents": "The number of retrieved documents, with or without judgments.",
    "numbers": "For each retrieved document, its number in `numbers`, or -1; empty without `numbers`.",
    "unknown": "The retrieved documents that have no number in `numbers`.",
    "scores": "For each retrieved document, the number it is ranked by; empty without `scores`.",
}


def small_join() -> dict[str, object]:
    """A join in which no list is empty."""
    judged = _core.judged(_core.table_from_dict({"1": {"a": 1}}, "", "grade"), "error")
    run = {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 1.0}}
    return {**_core.join_dicts(judged, [("run", run)], "score", False, 0, judged, True)}


def type_of(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"NDArray[numpy.{value.dtype}]"
    if isinstance(value, list):
        return f"list[{type_of(value[0]) if value else 'str'}]"
    return type(value).__name__


def joined_class() -> str:
    lines = ["class Joined(TypedDict):", '    """The hits of a join, sorted by list and rank."""', ""]
    for key, value in small_join().items():
        lines.append(f"    {key}: {type_of(value)}")
        if key in MEANING:
            lines.append(f'    """{MEANING[key]}"""')
    return "\n".join(lines)


def stub() -> str:
    generator = StubGen(_core)
    generator.put(_core)
    text = generator.get()
    array = r"Annotated\[(NDArray\[numpy\.\w+\]), dict\((?:[^()]|\([^()]*\))*\)\]"
    text = re.sub(array, r"\1", text).replace("from typing import Annotated, Any", "from typing import Any, TypedDict")
    first_class = text.index("\nclass ")
    text = f"{text[:first_class]}\n{joined_class()}\n{text[first_class:]}"
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format", "--quiet"]):
        done = subprocess.run(
            [*ruff, *command, "--stdin-filename", STUB, "-"], input=text, capture_output=True, text=True, check=True
        )
        text = done.stdout
    return text


def main() -> None:
    text = stub()
    if "--check" not in sys.argv:
        STUB.write_text(text, "utf-8")
    elif STUB.read_text("utf-8") != text:
        raise SystemExit(f"{STUB.name} is out of date: run python tools/make_stubs.py")


if __name__ == "__main__":
    main()

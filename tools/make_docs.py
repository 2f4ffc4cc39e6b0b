"""Writes docs/measures.md from the registry; with --check only says whether it is up to date."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

from cranfield.measures import MEASURES, REGISTRY
from cranfield.measures.base import Measure, show
from cranfield.measures.properties import MEANINGS

PAGE = Path(__file__).parent.parent / "docs" / "measures.md"
ROOMS = {
    "sets": "Sets and counts",
    "ranked": "Ranked lists, many relevant documents",
    "graded": "Average precision with grades",
    "first": "Ranked lists, one good document",
    "ncu": "Readers who stop, and what the list is worth to them then",
    "cwl": "C/W/L: any model of when a reader goes on",
    "cwl_members": "C/W/L: models with names of their own",
    "recall": "High recall",
    "compatibility": "Overlap with an ideal ranking",
    "scale": "Interval scales",
    "time": "Time and text read",
    "incomplete": "Incomplete judgments",
    "sampled": "Judgments that are a sample",
    "diversity": "Topics with several intents",
    "trec": "As trec_eval defines them",
}
# ruff: noqa: E501
INTRODUCTION = """\
# Measures

Made from the registry by `python tools/make_docs.py`; `cranfield measures NAME` prints the same in a terminal.

A measure is written `name(parameter=value)@cutoff`, for instance `nDCG(gain="exp")@10`. Parameters at their defaults are left out.
Any measure can be read through a view:

| written | the list is read |
|---|---|
| `AP'` or `AP[condensed]` | with unjudged documents removed |
| `AP[best]`, `AP[worst]` | with unjudged documents of the highest grade, or of grade 0 |
| `AP[ties]`, `AP[ties=best]`, `AP[ties=worst]` | with documents of equal score in every order (the mean), in the best, in the worst |
| `AP-IA` or `AP[IA]` | once for each intent of the topic; the mean by intent probability |
| `D-nDCG`, `DIN-nDCG` | with the gains of a document for all intents added up, by intent probability; DIN counts a navigational intent once |
| `D#-nDCG`, `DIN#-Q`, `AP-IA#` | as the name without `#`, and `gamma` (0.5) of the score is intent recall |

`rel` is the lowest grade that counts as relevant. `gain` says what a grade is worth: `"linear"` (the grade), `"exp"` (2^grade − 1), or a table
such as `{1:1,2:3,3:7}`. In formulas l is the cutoff, R the number of relevant documents, C(r) how many of them are retrieved down to rank r, I(r) is 1
where a relevant document stands, g(r) the gain there, cg(r) the sum of gains down to r, and a star marks the ideal list.

`cranfield measures --table` prints which measure has which property (Sakai, Metrics, Statistics, Tests, Fig. 6 and Fig. 7), in any format; with names, of
these only, such as `cranfield measures --table nDCG ERR-IA 'D#-nDCG'`. Tests find them out by experiment,
except for measures that need more than grades, intents and lengths:

| property | a measure has it if |
|---|---|
{properties}

Measures of diversity answer for each intent. The highest grade of all topics, where it sets the scale (ERR, gP), and the intents of a topic are
taken for known. A view by intent changes them: no list is ideal for every intent at once, so nDCG-IA is not normalised; intent recall makes D#-nDCG diminish,
which D-nDCG does not.
"""


def page() -> str:
    meanings = "\n".join(f"| {name} | {meaning} |" for name, meaning in MEANINGS.items())
    parts = [INTRODUCTION.replace("{properties}", meanings)]
    for room, title in ROOMS.items():
        members = [REGISTRY[name] for name in REGISTRY if REGISTRY[name].__module__ == f"cranfield.measures.{room}"]
        parts.append(f"## {title}\n")
        parts.extend(entry(cls) for cls in members)
    unplaced = [name for name in MEASURES if REGISTRY[name].__module__.rsplit(".", 1)[1] not in ROOMS]
    if unplaced:
        raise SystemExit(f"say in ROOMS where these belong: {unplaced}")
    return "\n".join(parts)


def entry(cls: type[Measure]) -> str:
    text = inspect.getdoc(cls) or ""
    text = re.sub(
        r"\.\. math::\s+(.*?)(?:\n\n|\Z)", lambda m: f"$${' '.join(m.group(1).split())}$$\n\n", text, flags=re.DOTALL
    )
    example = text.find(">>> ")
    prose, doctest = (text[:example].rstrip(), text[example:].rstrip()) if example >= 0 else (text.rstrip(), "")
    prose = re.sub(r"\n(No relevant documents:|Reference:)", r"\n\n\1", prose)
    properties = cls.properties
    marks = [
        word
        for word, holds in {
            "graded": properties.graded,
            "normalised": properties.normalised,
            "recall-free": properties.recall_free,
            "diminishing return": properties.diminishing,
            "additive": properties.additive,
            "lengths count": properties.lengths,
            "any order of reading": properties.nonlinear,
            "intents count by probability": properties.intent_probabilities,
        }.items()
        if holds
    ]
    facts = []
    if cls.parameters():
        facts.append(
            "Parameters: " + ", ".join(f"`{name}={show(default)}`" for name, default in cls.parameters().items())
        )
    facts.append(f"Cutoff: {'none' if cls.cutoff_kind == 'none' else f'a {cls.cutoff_kind}'}")
    if cls.aliases:
        facts.append("Also written: " + ", ".join(f"`{alias}`" for alias in cls.aliases))
    facts.append(
        f"Properties: {', '.join(marks) or 'binary, depends on all relevant documents'}; {properties.better} is better"
    )
    lines = [f"### {cls.name}\n", prose, "", *(f"- {fact}" for fact in facts), ""]
    if doctest:
        lines += ["```python", f">>> from cranfield.measures import {cls.__name__}", doctest, "```", ""]
    return "\n".join(lines)


def main() -> None:
    made = page()
    if "--check" in sys.argv:
        if not PAGE.exists() or PAGE.read_text("utf-8") != made:
            raise SystemExit(f"{PAGE.name} is out of date: run python tools/make_docs.py")
        return
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(made, "utf-8")


if __name__ == "__main__":
    main()

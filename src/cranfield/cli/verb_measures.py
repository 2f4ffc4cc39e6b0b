"""Pages of measures that verbs other than eval compute: those of sessions, summaries and answers."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from cranfield.cli.measure_page import MEANINGS, Page, docstring_parts, hanging, range_text
from cranfield.measures.base import show
from cranfield.measures.declarations import docstring_reference

if TYPE_CHECKING:
    from cranfield.answers.measure_catalogue import AnswerMeasure
    from cranfield.answers.sessions import SessionMeasure

FAMILIES = {
    verb: f"{title} (cranfield answers {verb})"
    for verb, title in {
        "sessions": "Sessions of several queries", "rouge": "Summaries", "bleu": "Translations and other texts",
        "nuggets": "Answers, by nuggets", "citations": "Answers with citations", "one-click": "One click access",
        "passages": "Ranked passages", "verticals": "Pages of aggregated search",
        "labels": "Labels of items",
        "preferences": "Ranked lists, by preferences between documents",
    }.items()
}  # fmt: skip
"""The heading of each verb's measures."""
FUNCTIONS = {"pyramid": "pyramid_scores", "pyramid-modified": "pyramid_scores", "POURPRE": "pourpre"}
"""The function of `cranfield.answers` behind a measure that has its own; for others, it has the name of the verb."""
PARAMETERS = {
    "rel": MEANINGS["rel"],
    "gain": MEANINGS["gain"],
    "bq": "base of the logarithm of the query's number",
    "b=2": "base of the logarithm of the rank",
    "form": '"concatenated": ranks in the lists end to end; "original": in the list of the query',
    "norm": 'the ideal session: "single", one ideal list; "repeated", one for each query',
    "p": "the probability of going on, to a document or to a query",
    "b=0.8": "of those who go on, the share who read on in the list",
    "reformulate": "the probability of asking the next query after a document",
    "moves": '"global": to any document of the list; "adjacent": one up or down',
    "distance": "how the chance of a move falls with its distance, as in MP",
    "down": "the probability of reading the next document of a list",
    "reform": "the probability of asking the next query",
    "L": "characters after which nothing is worth anything",
    "F": "the fraction of an opened document that is read",
    "snippet=200": "characters of a snippet",
    "again": "whether a second click on a document counts",
    "query": "seconds to ask a query",
    "page": "seconds to turn to the next page",
    "snippet=4.5": "seconds to read a snippet",
    "document": "seconds to read a document",
    "page_size": "documents on a page",
    "time": "seconds of the session that count",
}
"""What parameters of measures of sessions mean, by name, or by name and default if that makes a difference."""


@dataclass(frozen=True, eq=False)
class VerbPage(Page):
    """The page of a measure that a verb other than eval computes."""

    def _settings(self, width: int) -> str:
        if not self.parameters and self.cutoff == "none":
            return f"Computed by cranfield {self.verb} -m {self._example_name()}"
        settings = [
            (f"{name}={default}", PARAMETERS.get(f"{name}={default}", PARAMETERS.get(name, "")))
            for name, default in self.parameters.items()
        ]
        margin = min(max([8, *(len(setting) for setting, _ in settings)]), 30)
        if self.cutoff != "none":
            settings.append(("@", f"the cutoff: {self.cutoff}"))
        lines = [hanging(f"  {setting:<{margin}}  ", text, width) for setting, text in settings]
        return "\n".join([f"Computed by cranfield {self.verb} -m {self._example_name()}", "", "Parameters", *lines])

    def _example_name(self) -> str:
        examples = {"ROUGE-N": "ROUGE-2", "ROUGE-W": "ROUGE-W-1.2", "ROUGE-S": "ROUGE-S4", "ROUGE-SU": "ROUGE-SU4"}
        return examples.get(self.name, self.name)

    def _facts(self, width: int) -> list[str]:
        facts = {"Range": range_text(self.properties), "Reference": self.reference or "-"}
        return [hanging(f"{label + ':':<12} ", fact, width) for label, fact in facts.items()]


def _of_session(kind: type[SessionMeasure]) -> VerbPage:
    parameters = {field.name: show(field.default) for field in fields(kind) if field.name != "cutoff"}
    return VerbPage(
        name=kind.name,
        family=FAMILIES["sessions"],
        family_summary="",
        **docstring_parts(vars(kind).get("__doc__") or ""),
        parameters=parameters,
        cutoff="a rank in the lists end to end" if kind.takes_cutoff else "none",
        aliases=(),
        properties={"low": 0.0, "high": kind.highest, "better": kind.better, "scale": ""},
        reference=docstring_reference(kind),
        asked=kind.name,
        views={},
        verb="answers sessions",
    )


def _of_catalogue(entry: AnswerMeasure) -> VerbPage:
    return VerbPage(
        name=entry.name, family=FAMILIES[entry.verb], family_summary="", what=entry.what, formula=entry.formula,
        text=entry.text, example=_example_of(entry), parameters={}, cutoff="none", aliases=(),
        reference=entry.reference, asked=entry.name, views={}, verb=f"answers {entry.verb}",
        properties={"low": 0.0, "high": entry.high, "better": entry.better, "scale": ""},
    )  # fmt: skip


def _example_of(entry: AnswerMeasure) -> str:
    """The example in the docstring of the function that computes a measure, with the import that it needs."""
    from cranfield import answers

    name = FUNCTIONS.get(entry.name, entry.verb.replace("-", "_"))
    function = getattr(answers, name)
    lines = docstring_parts(function.__doc__)["example"].split("\n")
    call = name if name == function.__name__ else f"answers.{name}"
    code = [line.replace(f"{function.__name__}(", f"{call}(") for line in lines if not line.startswith(">>> from ")]
    words = set(re.findall(r"\w+", " ".join(line for line in code if line.startswith((">>>", "...")))))
    names = words & {*answers.__all__} - {entry.verb} | ({name} if call == name else set())
    imports = ["from cranfield import answers"] if call != name else []
    imports += [f"from cranfield.answers import {', '.join(sorted(names))}"] if names else []
    return "\n".join([*(f">>> {line}" for line in imports), *code])


def verb_pages() -> list[Page]:
    """The pages of all these measures, verb by verb."""
    from cranfield.answers.measure_catalogue import CATALOGUE
    from cranfield.answers.sessions import SESSION_MEASURES

    return [*map(_of_session, SESSION_MEASURES.values()), *map(_of_catalogue, CATALOGUE)]


def pages_named(text: str, *, exactly: bool = True) -> list[Page]:
    """The pages of the measures that a name stands for, such as nsDCG@10 or ROUGE-SU4-R; none if it has no such page.

    exactly: whether upper and lower case must agree, since SDCG is a measure of ranked lists and sDCG of sessions.
    """
    from cranfield.answers.measure_catalogue import catalogue_name
    from cranfield.errors import UsageError
    from cranfield.measures.naming.spelling import split_name

    names = {text, catalogue_name(text)}
    with suppress(UsageError):  # a name with signs that those of ranked lists do not have
        names.add(split_name(text).name)
    if exactly:
        return [page for page in verb_pages() if page.name in names]
    folded = {name.casefold() for name in names}
    return [page for page in verb_pages() if page.name.casefold() in folded]

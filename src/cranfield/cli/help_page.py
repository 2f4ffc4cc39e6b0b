"""The help of a verb: plain text, or the same lines in colour in a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from cranfield.cli.declare import OPTIONS, RARE, RESULT, Parameter, Verb, declared
from cranfield.cli.printing import colored, emit, terminal_width

WIDEST = 100
FEW = 4
"""The number of examples in the short help and in the usage."""
MARGIN = 30
"""The widest column of names; the text of a longer name begins on the next line."""

Line = list[tuple[str, str]]
"""Pieces of text with their style."""
HEADING, NAME, DIM = "bold", "cyan", "dim"


def print_help(verb: type[Verb], prog: str, *, everything: bool = False) -> None:
    """Print the help of a verb; with `everything` also the options that are rarely needed."""
    lines = list(page(verb, prog, min(terminal_width() or WIDEST, WIDEST), everything=everything))
    if not colored():
        emit("\n".join("".join(text for text, _ in line) for line in lines))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line in lines:  # Text, not markup: brackets in a help text are shown as they are
        console.print(Text.assemble(*line), soft_wrap=True)


def usage(verb: type[Verb], prog: str) -> str:
    """How the verb is called, in a line, and examples."""
    lines = [call_line(verb, prog), "", *(f"  {line}" for line in verb.examples.strip().splitlines()[:FEW])]
    return "\n".join([*lines, "", f"{prog} --help shows the options"])


def page(verb: type[Verb], prog: str, width: int = WIDEST, *, everything: bool = False) -> Iterator[Line]:
    """The lines of the help."""
    first, *paragraphs = (verb.__doc__ or "").strip().split("\n\n")
    yield [(call_line(verb, prog), HEADING)]
    for paragraph in [first, *(paragraphs if everything else ())]:
        yield []
        yield from ([(line, "")] for line in textwrap.wrap(" ".join(paragraph.split()), width, break_on_hyphens=False))
    parameters = declared(verb)
    sections = {"Arguments": [parameter for parameter in parameters if not parameter.spellings]}
    groups = (OPTIONS, RESULT, *(RARE if everything else ()))
    sections |= {
        group: [parameter for parameter in parameters if parameter.spellings and parameter.group == group]
        for group in groups
    }
    margin = min(max((len(spelled(parameter)) for part in sections.values() for parameter in part), default=0), MARGIN)
    for title, part in sections.items():
        if part:
            yield []
            yield [(f"{title}:", HEADING)]
            for parameter in part:
                yield from _entry(parameter, margin, width)
    yield []
    yield [("Examples:", HEADING)]
    for line in verb.examples.strip().splitlines()[: None if everything else FEW]:
        command, sign, comment = line.partition("  #")
        yield [("  $ ", DIM), (command, ""), (sign + comment, DIM)]
    hidden = [group.lower() for group in RARE if any(parameter.group == group for parameter in parameters)]
    if hidden and not everything:
        yield []
        yield [(f"{prog} --help-all also shows: {', '.join(hidden)}", DIM)]


def call_line(verb: type[Verb], prog: str) -> str:
    words = []
    for parameter in declared(verb):
        if not parameter.spellings:
            words.append(
                ("|".join(parameter.choices) or parameter.metavar) + ("..." if parameter.kind == "list" else "")
            )
    return " ".join(["usage:", prog, *words, "[options]"])


def spelled(parameter: Parameter) -> str:
    spellings = sorted(parameter.spellings, key=len)
    return ", ".join(spellings) + f" {parameter.metavar}" if spellings else parameter.metavar


def _entry(parameter: Parameter, margin: int, width: int) -> Iterator[Line]:
    name, text = spelled(parameter).rstrip(), parameter.described()
    if parameter.default not in (None, False):
        text += f" [default: {parameter.default}]"
    lines: Sequence[str] = textwrap.wrap(text, max(width - margin - 4, 30), break_on_hyphens=False)
    if len(name) > margin:
        yield [(f"  {name}", NAME)]
    else:
        yield [(f"  {name:<{margin}}  ", NAME), (lines[0], "")]
        lines = lines[1:]
    for line in lines:
        yield [(" " * (margin + 4) + line, "")]

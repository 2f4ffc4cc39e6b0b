"""From words on the command line to a verb with its options, by argparse; and the help of a verb."""

from __future__ import annotations

import argparse
import os
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from cranfield.cli.declare import HELP, OPTIONS, RARE, RESULT, Parameter, Verb, declared
from cranfield.cli.printing import colored, emit, terminal_width
from cranfield.errors import UsageError


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        message = message.removeprefix("argument ").replace("expected one argument", "a value is missing")
        message = message.replace("ignored explicit argument", "it takes no value, got")
        raise misuse(self.prog, message)


def _formatter(prog: str) -> argparse.HelpFormatter:
    """A formatter that does not look for the width of the terminal: `print_help` prints all help."""
    return argparse.HelpFormatter(prog, width=80)


class _Join(argparse.Action):
    """`-c tau-b -c rbo` means the same as `-c tau-b,rbo`."""

    def __call__(self, parser: object, namespace: argparse.Namespace, value: Any, spelling: object = None) -> None:
        before = getattr(namespace, self.dest, None)
        setattr(namespace, self.dest, f"{before},{value}" if before else value)


class _Once(argparse.Action):
    """An option with one value: a second, different one is an error, since one of them would be ignored."""

    def __call__(self, parser: object, namespace: argparse.Namespace, value: Any, spelling: object = None) -> None:
        before = getattr(namespace, self.dest, value)
        if before != value:
            raise argparse.ArgumentError(self, f"is given twice, as {before} and {value}; give one of them")
        setattr(namespace, self.dest, value)


def misuse(prog: str, message: str) -> UsageError:
    """The error for words that cannot be parsed."""
    return UsageError(f"{message}; see: {prog} --help")


def parsed(verb: type[Verb], prog: str, words: Sequence[str]) -> Verb | None:
    """The verb with the options that the words set; None after printing its help."""
    parameters = declared(verb)
    spelled = {spelling: parameter for parameter in parameters for spelling in parameter.spellings}
    cut = words.index("--") if "--" in words else len(words)
    namespace, rest = _argparser(parameters, prog).parse_known_args(_joined(words[:cut], spelled))
    values = vars(namespace)
    if "help" in values:
        print_help(verb, prog, everything=values["help"])
        return None
    for word in rest:
        if word.startswith("-") and word != "-":
            from cranfield.cli.other_words import suggested

            name = word.partition("=")[0]
            arguments = [parameter.metavar for parameter in parameters if not parameter.spellings]
            raise misuse(prog, f"no option {name!r}{suggested(name, (*spelled, *HELP), arguments)}")
    values |= _arguments(
        [parameter for parameter in parameters if not parameter.spellings], [*rest, *words[cut + 1 :]], prog
    )
    for parameter in parameters:
        if parameter.required and parameter.name not in values:
            raise misuse(prog, f"missing {'option' if parameter.spellings else 'argument'} {parameter.label}")
        if parameter.choices and (value := values.get(parameter.name)) not in (None, *parameter.choices):
            allowed = ", ".join(map(repr, parameter.choices))
            raise UsageError(f"{parameter.label} == {value!r}, must be one of {allowed}")
        if parameter.kind == "int" and parameter.name != "seed" and (values.get(parameter.name) or 0) > parameter.most:
            from cranfield.text import shown

            given = shown(values[parameter.name])
            raise UsageError(f"{parameter.label} == {given}, must be at most {parameter.most:,}")
    return verb(**values)


def _argparser(parameters: Sequence[Parameter], prog: str) -> argparse.ArgumentParser:
    parser = _Parser(
        prog, add_help=False, allow_abbrev=False, argument_default=argparse.SUPPRESS, formatter_class=_formatter
    )
    for spelling, everything in HELP.items():
        parser.add_argument(spelling, action="store_const", const=everything, dest="help")
    for parameter in parameters:
        if parameter.kind == "bool":
            parser.add_argument(*parameter.spellings, dest=parameter.name, action="store_true")
        elif parameter.spellings:
            joins = parameter.metavar.endswith(",...")
            action: Any = (
                "append" if parameter.kind == "list" else _Join if joins else "store" if parameter.bare else _Once
            )
            parser.add_argument(
                *parameter.spellings, dest=parameter.name, action=action, type=_TYPES.get(parameter.kind, str)
            )
    return parser


def _joined(words: Sequence[str], spelled: dict[str, Parameter]) -> list[str]:
    """The words, with `--option=value` for an option and its value.

    This way a value may begin with a dash, and the value of an option with `bare` may be left out.
    """
    out: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        parameter = spelled.get(word)
        following = rest[0] if rest else ""
        if parameter and parameter.bare:
            usual, pattern = parameter.bare
            word += f"={rest.pop(0) if re.fullmatch(pattern, following) else usual}"
        elif parameter and parameter.kind == "bool" and re.fullmatch(r"\d*\.?\d+%?", following):
            level = "; the level is --level L, such as 0.95" if word == "--ci" and "--level" in spelled else ""
            if not os.path.exists(following):
                raise UsageError(f"{word} takes no value, got {following}{level}")
        elif parameter and parameter.kind != "bool" and following and following not in (*spelled, *HELP):
            word = f"{parameter.spellings[0]}={rest.pop(0)}"
        out.append(word)
    return out


def _arguments(parameters: Sequence[Parameter], words: list[str], prog: str) -> dict[str, Any]:
    """The words without a name, handed out to the arguments in order."""
    values: dict[str, Any] = {}
    for parameter in parameters:
        if words:
            values[parameter.name] = words if parameter.kind == "list" else words[0]
            words = [] if parameter.kind == "list" else words[1:]
    if words:
        raise misuse(prog, f"unexpected argument {words[0]!r}")
    return values


def _typed(convert: Callable[[str], Any], noun: str) -> Callable[[str], Any]:
    def value(text: str) -> Any:
        try:
            return convert(text)
        except ValueError:
            share = re.fullmatch(r"(\d+\.?\d*)%", text)
            way = f"; write {float(share[1]) / 100:g}" if share and noun == "number" else ""
            raise argparse.ArgumentTypeError(f"{text!r} is not a {noun}{way}") from None

    return value


_TYPES = {"int": _typed(int, "whole number"), "float": _typed(float, "number")}


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

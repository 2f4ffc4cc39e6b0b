"""From words on the command line to a verb with its options, by argparse."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from cranfield.cli.declare import HELP, Parameter, Verb, declared
from cranfield.errors import UsageError


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        message = message.removeprefix("argument ").replace("expected one argument", "a value is missing")
        message = message.replace("ignored explicit argument", "it takes no value, got")
        raise misuse(self.prog, message)


def _formatter(prog: str) -> argparse.HelpFormatter:
    """A formatter that does not look for the width of the terminal: `help_page` prints all help."""
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
        from cranfield.cli.help_page import print_help

        print_help(verb, prog, everything=values["help"])
        return None
    for word in rest:
        if word.startswith("-") and word != "-":
            from cranfield.check import similar

            name = word.partition("=")[0]
            known = {spelling.lstrip("-"): spelling for spelling in (*spelled, *HELP)}
            close = [known[plain] for plain in similar(name.lstrip("-"), known)]
            raise misuse(prog, f"no option {name!r}" + (f" (did you mean {close[0]!r}?)" if len(close) == 1 else ""))
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

    This way a value may begin with a dash, and the value of an option such as `--ci` may be left out.
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
            raise argparse.ArgumentTypeError(f"{text!r} is not a {noun}") from None

    return value


_TYPES = {"int": _typed(int, "whole number"), "float": _typed(float, "number")}

"""Run a verb: parse its words, print a usage if there is nothing to do, add command-line hints to library errors."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence

from cranfield.cli.declare import Verb, declared
from cranfield.cli.guard import OK, USAGE
from cranfield.cli.parser import parsed
from cranfield.errors import CranfieldError


def execute(verb: type[Verb], prog: str, words: Sequence[str]) -> int:
    """Run a verb with the words after its name; return the exit code."""
    command = parsed(verb, prog, words)
    if command is None:
        return OK
    if not command.given():
        from cranfield.cli.help_page import usage

        print(usage(verb, prog), file=sys.stderr)
        return USAGE
    if getattr(command, "quiet", False):
        warnings.simplefilter("ignore")
    try:
        command.check()
        return command.run() or OK
    except CranfieldError as error:
        if hint := way_out(str(error), verb):
            error.add_note(hint)
        raise


def way_out(message: str, verb: type[Verb]) -> str:
    """The options that solve a problem for which the library names its own parameters.

    >>> from cranfield.cli.verbs.eval import EvalVerb
    >>> way_out("TBG needs document lengths: give lengths={doc: length}", EvalVerb)
    'on the command line: --lengths FILE'
    """
    options = [
        f"{one.label} {one.metavar}"
        for one in declared(verb)
        if one.solves and one.label not in message and re.search(rf"(?<!\w){one.solves}(?!=)", message)
    ]
    return f"on the command line: {' or '.join(options)}" if options else ""

"""`cranfield meta study`: a whole paper's worth of meta-evaluation, from one file."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import Annotated

from cranfield.cli.parser import Argument, Digits, Format, Output, Quiet, option
from cranfield.cli.printing import TABLE_FORMATS, Progress, checked, emit, emit_table

USAGE = """\
usage: cranfield meta study FILE

  cranfield meta study --example > study.toml      a file to begin with
  cranfield meta study --methods                   what may stand in it
  cranfield meta study study.toml                  do it; once more does only what is new

cranfield meta study --help tells all options"""

EXAMPLES = """\
  $ cranfield meta study --example > study.toml
  $ cranfield meta study study.toml
  $ cranfield meta study study.yaml --format json
"""


def study_verb(
    file: Annotated[
        str | None, Argument(metavar="FILE", help="The study: collections, measures, methods; .toml, .yaml or .json.")
    ] = None,
    example: Annotated[bool, option("--example", help="Print a study file to begin with.")] = False,
    methods: Annotated[bool, option("--methods", help="List the methods and their options.")] = False,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
) -> int:
    """Do all that a study file asks for: every method on every collection; tables and a report in its output folder.

    Scores and results are kept in a cache by content (files, measures, options, code), so that nothing is computed
    twice: stop it at any moment and start it again, or add a measure, and only what is new is done. What could not be
    done is told; the rest is done, and the exit code is 1.
    """
    checked(format, TABLE_FORMATS)
    if example:
        from cranfield.meta.study.study_file import EXAMPLE

        emit(EXAMPLE, output)
        return 0
    if methods:
        from cranfield.meta.study.study_methods import methods_table

        emit_table(methods_table(), format, output)
        return 0
    if file is None:
        print(USAGE, file=sys.stderr)
        return 2
    if quiet:
        warnings.simplefilter("ignore")
    from cranfield.meta.study.study import run_study

    with Progress("study", quiet=quiet) as progress:
        outcome = run_study(file, progress=progress)
    table = outcome.table()
    emit_table(table if digits is None else replace(table, digits=digits), format, output)
    return 1 if outcome.failed else 0

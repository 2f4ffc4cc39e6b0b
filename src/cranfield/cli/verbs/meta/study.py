"""`cranfield meta study`: the meta-evaluation of a whole paper, from one file."""

from __future__ import annotations

from dataclasses import replace

from cranfield.cli.declare import argument, flag, option
from cranfield.cli.printing import Printing


class StudyVerb(Printing):
    """Run a study file: every method on every collection; tables and a report go to its output folder.

    Scores and results are cached by content (files, measures, options, code), so nothing is computed twice: a study can
    be interrupted and resumed, and a new measure costs only its own work. If a step fails, its error is printed, the
    other steps still run, and the exit code is 1.
    """

    summary = "run a whole study from one file"
    examples = """
cranfield meta study study.toml
cranfield meta study --example > study.toml  # a file to begin with
cranfield meta study --methods  # what a file may contain
cranfield meta study study.yaml --format json
cranfield meta study study.toml --import mine  # the study has measures from mine.py, such as mine:Depth
"""

    file: str | None = argument("FILE", "The study: collections, measures, methods; .toml, .yaml or .json.")
    modules: list[str] | None = option(
        "--import MODULE",
        "A Python module that the study may import for measures MODULE:NAME. This runs its code. Repeat it.",
        solves="modules=",
    )
    example: bool = flag("--example", "Print a study file to begin with.")
    methods: bool = flag("--methods", "List the methods and their options.")

    def given(self) -> bool:
        return self.file is not None or self.example or self.methods

    def run(self) -> int:
        if self.example or self.file is None:
            from cranfield.meta.study.study_file import EXAMPLE
            from cranfield.meta.study.study_methods import methods_table

            self.emit(EXAMPLE if self.example else self.rendered(methods_table()))
            return 0
        from cranfield.meta.study.study import run_study

        with self.progress("study") as progress:
            result = run_study(self.file, modules=self.modules or (), progress=progress)
        table = result.table()
        self.emit(self.rendered(table if self.digits is None else replace(table, digits=self.digits)))
        return 1 if result.failed else 0

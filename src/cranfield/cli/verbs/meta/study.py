"""`cranfield meta study`: the meta-evaluation of a whole paper, from one file."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import RESULT, argument, flag, option
from cranfield.cli.options.report_options import Reporting
from cranfield.cli.printing import Printing, check_page, emit
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.meta.study.study import Outcome
    from cranfield.meta.study.study_file import Given, Study
    from cranfield.report.pages.report_parts import Outline


class StudyVerb(options.Collection, Printing, Reporting, of="meta.study.study:run_study"):
    """Run a study file: every method on every collection; tables and a report go to its output folder.

    Scores and results are cached by content (files, measures, options, code), so nothing is computed twice: a study can
    be interrupted and resumed, and a new measure costs only its own work. If a step fails, its error is printed, the
    other steps still run, and the exit code is 1.

    --report writes a page with all tables and a figure of every method; `report = "report.html"` in the study file
    writes the same page to the output folder. Its sections are summary, studied, the names of the methods in the file,
    and methods.

    Some studies come with cranfield (--list): the tables, figures and worked examples of a text, in its order, from
    your judgments and runs.
    """

    summary = "run a whole study from one file"
    examples = """
cranfield meta study study.toml
cranfield meta study --example > study.toml  # a file to begin with
cranfield meta study --list-methods  # what a file may contain
cranfield meta study study.toml --report study.html  # one page with all tables and figures
cranfield meta study study.yaml --format json
cranfield meta study --list  # the studies that come with cranfield
cranfield meta study sakai2007 qrels.txt runs/*.run --report sakai2007.html
cranfield meta study sakai2007 --sample  # try it on the bundled sample collection
cranfield meta study study.toml --import mine  # the study has measures from mine.py, such as mine:Depth
"""

    file: str | None = argument("FILE", "The study: a file (.toml, .yaml or .json), or a name of --list.")
    modules: list[str] | None = option(
        "--import MODULE",
        "A Python module that the study may import for measures MODULE:NAME. This runs its code. Repeat it.",
        solves="modules=",
    )
    missing: str = options.missing()
    ready: bool = flag("--list", "List the studies that come with cranfield.")
    example: bool = flag("--example", "Print a study file to begin with.")
    methods: bool = flag("--list-methods", "List the methods and their options.")

    sections: str | None = option(
        "--sections NAMES",
        "The sections of the report, in this order: summary, studied, names of methods in FILE, methods; default: all.",
        group=RESULT,
    )

    def given(self) -> bool:
        return self.file is not None or self.example or self.methods or self.ready

    def run(self) -> int:
        if self.ready:
            from cranfield.meta.study.study_file import ready_studies
            from cranfield.table import Table, headings

            table = Table(headings("text", "study", "title"), tuple(ready_studies().items()))
            self.emit(self.rendered(table))
            return 0
        if self.example or self.file is None:
            from cranfield.meta.study.study_file import EXAMPLE
            from cranfield.meta.study.study_methods import methods_table

            self.emit(EXAMPLE if self.example else self.rendered(methods_table()))
            return 0
        from cranfield.meta.study.study import run_study
        from cranfield.meta.study.study_file import read_study
        from cranfield.report.figures.result_figures import plain_figures

        plan = read_study(self.file, self.modules or (), self._given())
        outline = self._outline(plan)
        with self.progress("study") as progress:
            # Figures are described without a report too: they are cached with the results.
            result = run_study(plan, figures=plain_figures, progress=progress)
        self._write_pages(plan, result, outline)
        table = result.table()
        self.emit(self.rendered(table if self.digits is None else replace(table, digits=self.digits)))
        return 1 if result.failed else 0

    def _given(self) -> Given | None:
        """The judgments and runs of the command line."""
        from cranfield.meta.study.study_file import JOINING, Given

        if self.qrels is None and not self.sample:
            return None
        qrels, runs = self.files()
        set_here = {name: value for name, value in self.join_options().items() if name in JOINING and value is not None}
        if self.sample:
            return Given.sample(set_here, self.missing)
        return Given(qrels, tuple(runs), set_here, self.qrels_format, self.missing)

    def _outline(self, plan: Study) -> Outline:
        from cranfield.report.reports.study_report import study_sections

        return self.read_outline(study_sections(plan))

    def _write_pages(self, plan: Study, result: Outcome, outline: Outline) -> None:
        """Write the page of --report, and that of the study file, which without the extra `plot` has no figures."""
        paths = [] if self.report is None else [self.report]
        if plan.report.endswith(".html"):
            with suppress(UsageError):
                check_page(result.report)
                paths.append(result.report)
        if paths:
            from cranfield.report.pages.report_parts import report_page
            from cranfield.report.reports.study_report import study_report

            page = report_page(study_report(plan, result, outline))
            for path in paths:
                emit(page, path, format="html")

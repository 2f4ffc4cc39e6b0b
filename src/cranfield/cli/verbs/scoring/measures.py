"""`cranfield measures`: list and search the measures, or show their pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.cli.declare import RESULT, argument, flag, option
from cranfield.cli.printing import Output, terminal_width
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.cli.measure_page import Page

WIDEST = 100


class MeasuresVerb(Output):
    """List all measures by family, search them, compare their properties, or show a page: formula, paper, example.

    Measures of sessions, summaries and answers are listed with the verb that computes them.
    """

    summary = "list and search the measures, or read a measure's page"
    examples = """
cranfield measures nDCG
cranfield measures
cranfield measures --search diversity
cranfield measures sDCG ROUGE-SU4
cranfield measures --table
cranfield measures --table nDCG ERR 'D#-nDCG'
cranfield measures --format json
"""

    names: list[str] | None = argument("[NAME]", "The measures to show, in any spelling: nDCG@10, ndcg_10, mrr.")
    search: str | None = option("--search TEXT", "List the measures whose pages or families contain all these words.")
    table: bool = flag(
        "--table",
        "Show the properties of these measures, or of all: graded, normalised, recall-free, diminishing, lengths, "
        "nonlinear traversal; for diversity, grades and probabilities of intents.",
    )
    full: bool = flag("--full", "Do not shorten text that is wider than the terminal.", group=RESULT)

    def check(self) -> None:
        if self.search is not None and (self.names or self.table):
            raise UsageError(f"--search lists measures; leave out --search {self.search!r}, or the names and --table")

    def run(self) -> None:
        from cranfield.cli import measure_page, verb_measures

        if self.table:
            from cranfield.cli.measure_page import property_tables
            from cranfield.measures import parse_many

            measures = [measure for name in self.names or [] for measure in parse_many(name, modules=True)]
            self.emit(self.rendered(*property_tables(measures, one=self.for_programs)))
            return
        if self.names:
            self._show_pages(self._named())
            return
        pages = [*measure_page.all_pages(), *verb_measures.verb_pages()]
        if self.search is not None:
            pages = [page for page in pages if page.matches(self.search.split())]
            if not pages:
                raise UsageError(
                    f"no measure's page contains {self.search!r}; cranfield measures lists all; "
                    f"{measure_page.fairness_note()}"
                )
        if self.format == "json":
            self._show_pages(pages)
        else:
            width = None if self.full else terminal_width(self.output)
            text = self.rendered(measure_page.listing(pages, short=self.format == "table", width=width))
            self.emit(measure_page.with_headings(text, pages) if self.format == "table" else text)

    def _named(self) -> list[Page]:
        """The pages of all names; F is a measure of ranked lists and one of answers, and has both."""
        from cranfield.cli.measure_page import pages_of
        from cranfield.cli.verb_measures import pages_named
        from cranfield.measures import Measure, parse_many

        ranked: list[Measure] = []
        others: list[Page] = []
        for name in self.names or []:
            pages = pages_named(name)
            try:
                ranked += parse_many(name, modules=True)
            except UsageError:
                pages = pages or pages_named(name, exactly=False)
                if not pages:
                    raise
            seen = {other.name for other in others}
            others += [page for page in pages if page.name not in seen]
        return [*pages_of(ranked), *others]

    def _show_pages(self, pages: list[Page]) -> None:
        from cranfield.cli.measure_page import pages_table

        if self.format == "table":
            width = min(terminal_width(self.output) or WIDEST, WIDEST)
            self.emit("\n\n\n".join(page.for_people(width) for page in pages))
        elif self.format == "json":
            self.emit_json([page.to_dict() for page in pages])
        else:
            self.emit(self.rendered(pages_table(pages)))

"""`cranfield clicks judgments`: judgments from clicks."""

from __future__ import annotations

from cranfield.cli.declare import RESULT, argument, option
from cranfield.cli.options.label_options import write_table
from cranfield.cli.options.log_options import MODEL
from cranfield.cli.printing import TABLE_FORMATS, Printing, warn_of_notes


class JudgmentsVerb(Printing, of="online.clicks.click_judgments:click_judgments"):
    """Write judgments (qrels) from a click model: for each document of a query an expected grade, probability × top.

    The probability is the relevance of the document (attractive and satisfying) if the model has it, otherwise its
    attractiveness. The grades are numbers such as 0.37; measures with gains use them as they are, and measures that
    need relevant and other documents need --rel, or --whole. -f table, csv and so on, and --write-intervals, have the
    interval of each grade, the impressions and the clicks, and mark documents that were shown fewer than --least times.

    A query becomes a topic. Queries with blanks cannot be written to qrels: --topics gives the ids of topics whose
    titles are the queries.
    """

    summary = "write judgments (qrels) from a click model"
    examples = """
cranfield clicks judgments dbn.json -o clicks.qrels
cranfield clicks judgments pbm.json --topics topics.tsv --top-grade 4 --least 20 --leave-out-few -o clicks.qrels
cranfield clicks judgments dbn.json --parameter attractiveness --write-intervals grades.csv -o clicks.qrels
"""

    model: str = argument("MODEL", MODEL, required=True, reads=True)
    topics: str | None = option(
        "--topics FILE", "The topics: their titles are the queries of the model.", reads=True, solves="contains a blank"
    )
    intervals: str | None = option(
        "--write-intervals FILE", "Also write the table of grades with intervals and counts.", group=RESULT
    )
    format: str = option(
        "--format, -f FORMAT", "{names}.", choices=("qrels", *TABLE_FORMATS), default="qrels", group=RESULT
    )

    def run(self) -> None:
        from cranfield.collection.topics import Topics
        from cranfield.online.clicks import click_judgments, load_click_model

        topics = None if self.topics is None else Topics.read(self.topics).queries()
        result = click_judgments(load_click_model(self.model), topics=topics, **self.settings())
        if self.intervals:
            write_table(result.table(), self.intervals)
        if self.format == "qrels":
            warn_of_notes(result.notes, "trec")
            result.to_qrels().write(self.output or "-")
        else:
            self.show_record(result)

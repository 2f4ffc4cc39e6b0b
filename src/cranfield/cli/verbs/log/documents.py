"""`cranfield log documents`: clicks per document."""

from __future__ import annotations

from cranfield.cli.declare import flag, option
from cranfield.cli.options.log_options import LogReading
from cranfield.cli.printing import Printing


class DocumentsVerb(LogReading, Printing):
    """List documents with their impressions, clicks, CTR, and clicks over expected clicks (COEC).

    The expected clicks are those of an average document at the same ranks: COEC is 1 for a document that is clicked as
    often as others where it was shown. --per-query lists pairs of a query and a document.
    """

    summary = "clicks per document, CTR and COEC"
    examples = """
cranfield log documents log/
cranfield log documents log/ --per-query --sort COEC --top 50
"""

    per_query: bool = flag("--per-query", "A row per query and document.")
    top: int = option("--top N", "How many rows.", default=20)
    sort: str = option(
        "--sort COLUMN",
        "Highest first: {names}.",
        default="impressions",
        choices=("impressions", "clicks", "CTR", "COEC"),
    )
    confidence: float = option("--confidence P", "The confidence of intervals.", default=0.95)
    least: int = option(
        "--least N",
        "Leave out documents that fewer than N users saw, so that they show no single user.",
        default=10,
        solves="least=",
    )

    def run(self) -> None:
        from cranfield.online.log_measures import document_clicks

        log = self.read_log()
        with log.engine:
            self.show_record(document_clicks(log, **self.values("per_query", "top", "sort", "confidence", "least")))

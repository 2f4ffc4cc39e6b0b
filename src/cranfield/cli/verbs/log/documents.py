"""`cranfield log documents`: clicks per document."""

from __future__ import annotations

from cranfield.cli.options.log_options import LogReading
from cranfield.cli.printing import Printing


class DocumentsVerb(LogReading, Printing, of="online.log_measures.document_clicks:document_clicks"):
    """List documents with their impressions, clicks, CTR, and clicks over expected clicks (COEC).

    The expected clicks are those of an average document at the same ranks: COEC is 1 for a document that is clicked as
    often as others where it was shown. --per-query lists pairs of a query and a document.
    """

    summary = "count clicks per document, with CTR and COEC"
    examples = """
cranfield log documents log/
cranfield log documents log/ --per-query --sort COEC --top 50
"""

    def run(self) -> None:
        from cranfield.online.log_measures import document_clicks

        log = self.read_log()
        with log.engine:
            self.show_record(document_clicks(log, **self.settings()))

"""`cranfield judge status`: how far a project is."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import argument
from cranfield.cli.printing import Printing
from cranfield.cli.verbs.judge.serve import DATABASE


class StatusVerb(Printing):
    """Show how far a judging project is, by assessor or by topic.

    Checks are judgments of gold and repeated documents. The server may be running.
    """

    summary = "how far a project is"
    examples = """
cranfield judge status judgments.db
cranfield judge status judgments.db --show topics
cranfield judge status judgments.db -f json
"""

    database: str = argument("DATABASE", DATABASE, required=True)
    what: str = options.show("assessors", "topics", "agreement", help="{names}.")

    def run(self) -> None:
        from cranfield.building.serve.judging_status import labels_of, shared_labels, status
        from cranfield.building.serve.opening import existing
        from cranfield.building.serve.pair_agreement import pair_agreement
        from cranfield.table import Column, Table

        with existing(self.database) as store:
            if self.what == "agreement":
                pairs = pair_agreement(shared_labels(labels_of(store)))
                numbers = (Column("documents", "count"), Column("agreement", "number"), Column("kappa", "number"))
                heads = (Column("first"), Column("second"), *numbers)
                rows = tuple((one.first, one.second, one.documents, one.agreement, one.kappa) for one in pairs)
                note = () if rows else ("no document was judged by two assessors",)
                self.show(Table(heads, rows, "Agreement", note))
                return
            state = status(store)
            if self.format == "json":
                self.emit(state.to_json())
            else:
                self.show(state.by_topic() if self.what == "topics" else state.table())

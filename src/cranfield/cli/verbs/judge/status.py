"""`cranfield judge status`: how far a project is."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import argument
from cranfield.cli.printing import Printing
from cranfield.cli.verbs.judge.serve import PROJECT


class StatusVerb(Printing, of="building.serve.project.judging_status:status"):
    """Show how far a judging project is, by assessor or by topic.

    Checks are judgments of gold and repeated documents. The server may be running.
    """

    summary = "show the progress of a project"
    examples = """
cranfield judge status judgments.db
cranfield judge status judgments.db --show topics
cranfield judge status judgments.db -f json
"""

    database: str = argument("DATABASE", PROJECT, required=True)
    what: str = options.show("assessors", "topics", "agreement", help="{names}.")

    def run(self) -> None:
        from cranfield.building.serve.project.judging_status import live_agreement, status
        from cranfield.building.serve.project.store import existing
        from cranfield.errors import UsageError

        with existing(self.database) as store:
            if self.what == "agreement":
                result = live_agreement(store)
                if result is None:
                    raise UsageError(f"{self.database}: no document was judged by two assessors")
                self.show(result.table())
                return
            state = status(store)
        if self.format == "json":
            self.emit(state.to_json())
        else:
            self.show(state.by_topic() if self.what == "topics" else state.table())

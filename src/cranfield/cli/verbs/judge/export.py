"""`cranfield judge export`: write the judgments as files."""

from __future__ import annotations

from itertools import chain, islice

from cranfield.cli.declare import argument, option
from cranfield.cli.printing import Quiet, emit_lines
from cranfield.cli.verbs.judge.serve import PROJECT


class ExportVerb(Quiet, of="building.serve.project.exporting:export_lines"):
    """Write the judgments of a project as files that cranfield and other programs read.

    With several judgments of a document, --combine makes one grade of them; `labels` has all of them, for
    `cranfield labels agree` and `cranfield labels merge`. `log` is everything that happened; `cranfield judge import`
    reads it back. The server may be running.
    """

    summary = "write qrels, labels, the log and other files"
    examples = """
cranfield judge export judgments.db -o qrels.txt
cranfield judge export judgments.db labels -o labels.tsv
cranfield judge export judgments.db intent-qrels -o qrels.intents.txt
cranfield judge export judgments.db dimension-qrels --dimension credibility -o credibility.txt
cranfield judge export judgments.db log -o log.jsonl
"""

    database: str = argument("DATABASE", PROJECT, required=True)
    what: str | None = argument(
        "WHAT", "What to write: {names}; default: qrels.", names="building.serve.project.exporting:EXPORTS"
    )
    output: str | None = option("--output, -o FILE", "Write to this file instead of standard output.", writes=True)

    def run(self) -> None:
        from cranfield.building.serve.project.exporting import export_lines
        from cranfield.building.serve.project.store import existing
        from cranfield.errors import UsageError

        with existing(self.database) as store:
            what = self.what or "qrels"
            lines = export_lines(store, what, **self.settings())
            first = list(islice(lines, 2))
            if not first or (len(first) == 1 and first[0].startswith("topic\t")):  # a table has a line of names
                as_what = "" if what == "qrels" else f" as {what}"
                raise UsageError(f"{self.database}: there are no judgments to export{as_what}")
            emit_lines(chain(first, lines), self.output)

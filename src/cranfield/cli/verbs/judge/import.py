"""`cranfield judge import`: read judgments back into a project."""

from __future__ import annotations

from cranfield.cli.declare import argument
from cranfield.cli.printing import Quiet
from cranfield.cli.verbs.judge.serve import PROJECT


class ImportVerb(Quiet, of="building.serve.project.importing:import_judgments"):
    """Read the log of a project, or qrels, into a project.

    Judgments that the project already has are left out, so that a file can be imported twice. Stop the server first.
    """

    summary = "read a log or qrels back"
    examples = """
cranfield judge import judgments.db log.jsonl
cranfield judge import judgments.db qrels.txt --assessor earlier
"""

    database: str = argument("DATABASE", PROJECT, required=True)
    file: str = argument("FILE", "A log that was exported, or qrels with --assessor.", required=True, reads=True)

    def run(self) -> None:
        from cranfield.building.serve.project.importing import import_judgments
        from cranfield.building.serve.project.store import existing
        from cranfield.text import counted

        with existing(self.database) as store, store.database.locked():
            done = import_judgments(store, self.file, **self.settings())
        known = f"; {done.known:,} were there already" if done.known else ""
        print(f"{counted(done.rows, 'row')} imported, {counted(done.assessors, 'new assessor')}{known}")

"""`cranfield judge backup`: copy a database while it is in use."""

from __future__ import annotations

from cranfield.cli.declare import argument
from cranfield.cli.printing import Quiet


class BackupVerb(Quiet):
    """Copy the database of a project to another file, also while the server is running.

    The copy is checked and appears complete or not at all. While the server runs, the file of the database alone is
    not enough: the newest judgments are in a second file. For PostgreSQL, use pg_dump --format=custom.
    """

    summary = "copy the database while it is in use"
    examples = """
cranfield judge backup judgments.db backup.db
"""

    database: str = argument("DATABASE", "The database.", required=True)
    file: str = argument("FILE", "The copy.", required=True)

    def run(self) -> None:
        from cranfield.building.serve.project.store import existing

        with existing(self.database) as store:
            store.database.engine.backup(self.file)
        print(f"copied to {self.file}")

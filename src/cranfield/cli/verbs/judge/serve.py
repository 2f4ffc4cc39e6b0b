"""`cranfield judge serve`: start the server on which people judge."""

from __future__ import annotations

import sys
from functools import partial

from cranfield.cli import interrupts, options
from cranfield.cli.declare import MORE, READING, argument, flag, option
from cranfield.cli.options.server_options import LISTENING, Server

DATABASE = "The database: a file, which is created if needed, or postgresql://USER@HOST/NAME."
PROJECT = "The database of the project: a file, or postgresql://USER@HOST/NAME."


OPERATIONS = f"building.serve.project.judging_project:prepare {LISTENING}"


class ServeVerb(Server, of=OPERATIONS):
    """Start a server on which you and others judge documents in the browser.

    It prints an address and opens it. Everything that is given is kept in the database, so that the next time the
    database alone is enough. A judgment is on disk before the page confirms it, so stop the server at any time with
    Ctrl-C.

    Without accounts, only you can open the page, on this machine. Add accounts with `cranfield judge account` before
    you let other machines in with --host. With --runs instead of --pool, a method such as max-mean chooses the next
    documents while people judge.
    """

    summary = "start the server on which people judge"
    examples = """
cranfield judge serve judgments.db --topics topics.xml --pool pool.tsv --docs docs.jsonl
cranfield judge serve judgments.db  # goes on with what is in the database
cranfield judge serve judgments.db --topics topics.xml --docs docs/ --runs 'runs/*.run' --method max-mean --budget 500
cranfield judge serve judgments.db --overlap 2 --gold gold.qrels --gold-rate 0.05 --repeat-rate 0.05
cranfield judge serve judgments.db --host 0.0.0.0 --certificate cert.pem --key key.pem
"""

    database: str = argument("DATABASE", DATABASE, required=True)
    topics: str | None = option("--topics FILE", "The topics.", reads=True, solves="a file of topics")
    pool: str | None = option(
        "--pool FILE", "The documents to judge, as cranfield pool writes them.", reads=True, solves="add a pool"
    )
    docs: list[str] = option(
        "--docs FILE",
        "The texts: JSON-lines or a table with id, title, text; a folder; irds:NAME; or an address with {doc}. May be "
        "repeated.",
    )
    runs: list[str] = option("--runs, --run RUN", "Runs from which --method chooses the documents. May be repeated.")
    guidelines: str | None = option("--guidelines FILE", "A text for assessors.", reads=True)
    gold: str | None = option("--gold FILE", "Qrels with known grades, to check assessors with.", reads=True)
    intents: str | None = option(
        "--intents FILE",
        "Intents: lines of topic, intent, text, type, probability.",
        reads=True,
        solves="a file of intents",
        group=MORE,
    )
    nuggets: str | None = option(
        "--nuggets FILE",
        "Nuggets: lines of topic, nugget, text, type, weight.",
        reads=True,
        solves="a file of nuggets",
        group=MORE,
    )
    no_search: bool = flag("--no-search", "Do not let assessors search the collection.", group=MORE)
    method: str | None
    depth: int | None
    max_size: str | None = option(
        "--max-size SIZE",
        "The most to unpack from a compressed file, such as 20G.",
        group=READING,
        solves="size_limit=",
    )

    def check(self) -> None:
        super().check()
        from cranfield.errors import UsageError

        if self.max_size is not None:
            from cranfield.collection.compression import set_size_limit

            set_size_limit(options.bytes_of(self.max_size))
        if not self.runs:
            for label, value in {"--method": self.method, "--depth": self.depth}.items():
                if value is not None:
                    raise UsageError(f"{label} {value} applies only to --runs")

    def run(self) -> None:
        from cranfield.building.serve.project.judging_project import prepare
        from cranfield.building.serve.project.store import Store
        from cranfield.building.serve.web.serving import serve
        from cranfield.collection.source import expand
        from cranfield.collection.whole_folder import ends_cleanly
        from cranfield.errors import UsageError

        with ends_cleanly(), Store(self.database) as store, store.database.locked():
            with self.progress("reading documents") as progress:
                notes = prepare(
                    store, (lambda done: progress(done, 0)) if progress else None, docs=self.docs or (),
                    runs=expand(self.runs or ()), search=False if self.no_search else None, **self.settings("prepare"),
                    **self.values("topics", "pool", "gold", "guidelines", "intents", "nuggets"),
                )  # fmt: skip
            if not self.quiet:
                for note in notes:
                    print(f"note: {note}", file=sys.stderr)
            try:
                serve(store, self.address(), partial(self.ready, "Judge"))
                interrupts.expected()
            except UsageError as error:
                if "has no passwords" not in str(error):
                    raise
                command = f"cranfield judge account {self.database} NAME --role organiser"
                raise UsageError(f"{error}, on the command line: {command}") from None

"""`cranfield judge demo`: judge the bundled sample collection."""

from __future__ import annotations

from cranfield.cli.declare import argument, flag
from cranfield.cli.options.server_options import LISTENING
from cranfield.cli.printing import Quiet

TOPICS = [str(topic) for topic in range(101, 113)]
"""The topics whose first documents have texts."""
WITH_INTENTS = ["103", "107", "111"]
DEPTH = 10
GRADES = "not relevant, marginally relevant, relevant, highly relevant"
GUIDELINES = """\
Read the description of the topic first. It says what somebody wants to know, and what does not count.

Then judge the note by what is written in it:

3, highly relevant: it answers the question, with figures where the topic asks for them.
2, relevant: it answers a good part of the question.
1, marginally relevant: it helps a little, or mentions the subject in passing.
0, not relevant: it is about something else, even if it uses the same words.

You need not be an engineer. If you cannot decide, say so and go on.
"""


class DemoVerb(Quiet, of=LISTENING):
    """Try judging: start the server with topics and documents of the bundled sample collection.

    The judgments are kept in the database; `cranfield judge export` writes them to files. Start the command again to go
    on, or delete the file to begin anew.
    """

    not_options = ("host", "certificate", "key")
    summary = "try judging, with the bundled sample collection"
    examples = """
cranfield judge demo
cranfield judge demo by-intent.db --by-intent
"""

    database: str = argument("DATABASE", "The file of the database; default: demo.db.")
    by_intent: bool = flag("--by-intent", "Judge three topics by their intents instead of twelve by grade.")
    no_browser: bool = flag("--no-browser", "Do not open a browser.")

    def run(self) -> None:
        import tempfile
        from pathlib import Path

        from cranfield.building.pools.pool_building import make_pool
        from cranfield.building.pools.pooled_lists import PooledLists
        from cranfield.building.pools.pooling import Method
        from cranfield.cli.verbs.judge.serve import ServeVerb
        from cranfield.samples import sample

        files, topics = sample(), WITH_INTENTS if self.by_intent else TOPICS
        with tempfile.TemporaryDirectory() as folder:
            pool, guidelines = Path(folder, "pool.tsv"), Path(folder, "guidelines.txt")
            lists = PooledLists.of(files.runs, depth=DEPTH, topics=topics)
            make_pool(lists, Method.of("depth")).write(str(pool))
            guidelines.write_text(GUIDELINES, encoding="utf-8")
            ServeVerb(
                database=self.database or "demo.db",
                topics=files.topics,
                pool=str(pool),
                docs=[files.notes],
                guidelines=str(guidelines),
                grades=GRADES,
                title="Notes on aeronautics",
                mode="intents" if self.by_intent else None,
                intents=files.intents if self.by_intent else None,
                **self.values("port", "no_browser", "quiet"),
            ).run()

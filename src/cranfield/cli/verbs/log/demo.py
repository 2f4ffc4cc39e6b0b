"""`cranfield log demo`: write a simulated log."""

from __future__ import annotations

from cranfield.cli.declare import MORE, argument, option
from cranfield.cli.options import seed
from cranfield.cli.printing import Printing


class DemoVerb(Printing):
    """Write a simulated log of live traffic to a directory, and print what it holds.

    Users have sessions, queries, reformulations, clicks that depend on relevance and position, dwell times, hovers,
    conversions and segments. The ranker of each further arm is better than that of the arm before. The directory also
    holds the column map (columns.toml) and the truth (truth.json). All files appear at the end, or none does.
    """

    summary = "write a simulated log"
    examples = """
cranfield log demo demo-log --users 200 --days 7
cranfield log demo demo-log --users 200 --arms A,B,C --effect 0.2 --seed 7
cranfield log demo demo-log --users 200 --layout tables --files csv
"""

    out: str = argument("OUT", "The directory to write.", required=True)
    users: int = option("--users N", "The number of users.", default=1000)
    days: int = option("--days N", "The number of days.", default=14)
    arms: str = option("--arms NAMES", "The arms of an experiment, separated by commas.", default="A,B")
    effect: float = option(
        "--effect SHARE", "How much less noise the ranker of each further arm has, from 0 to 1.", default=0.4
    )
    novelty: float = option(
        "--novelty SHARE",
        "How much more users of further arms click on the first day; it fades.",
        default=0.0,
        group=MORE,
    )
    sessions: float = option("--sessions N", "The mean number of sessions per user and day.", default=0.5, group=MORE)
    depth: int = option("--depth N", "The number of documents shown for a query.", default=10, group=MORE)
    topics: int = option("--topics N", "The number of different information needs.", default=500, group=MORE)
    layout: str = option(
        "--layout NAME",
        "The tables: {names} (User Behavior Insights, or impressions and clicks).",
        default="ubi",
        choices=("ubi", "tables"),
    )
    files: str | None = option(
        "--files TYPE",
        "The type of the files: {names}; default: jsonl for ubi, parquet for tables.",
        choices=("jsonl", "csv", "parquet"),
    )
    seed: int = seed()

    def run(self) -> None:
        from cranfield.online.logs import write_demo

        with self.progress("Simulating users") as progress:
            truth = write_demo(
                self.out,
                files=self.files or "",
                progress=progress,
                arms=tuple(name.strip() for name in self.arms.split(",")),
                sessions_per_day=self.sessions,
                **self.values("layout", "users", "days", "effect", "novelty", "depth", "topics", "seed"),
            )
        self.show_record(truth)

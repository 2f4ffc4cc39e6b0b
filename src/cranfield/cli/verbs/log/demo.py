"""`cranfield log demo`: write a simulated log."""

from __future__ import annotations

from cranfield.cli.declare import argument
from cranfield.cli.printing import Printing


class DemoVerb(Printing, of="online.logs.demo_log:write_demo"):
    """Write a simulated log of live traffic to a directory, and print what it holds.

    Users have sessions, queries, reformulations, clicks that depend on relevance and position, dwell times, hovers,
    conversions and segments. The ranker of each further arm is better than that of the arm before. The directory also
    holds the column map (columns.toml) and the truth (truth.json). All files appear at the end, or none does.
    """

    summary = "write a simulated log"
    examples = """
cranfield log demo demo-log --users 200 --days 7
cranfield log demo demo-log --users 200 --arms A,B,C --advantage 0.2 --seed 7
cranfield log demo demo-log --users 200 --layout tables --files csv
"""

    out: str = argument("OUT", "The directory to write.", required=True)

    def run(self) -> None:
        from cranfield.online.logs import write_demo

        with self.progress("Simulating users") as progress:
            truth = write_demo(self.out, progress=progress, **self.settings())
        self.show_record(truth)

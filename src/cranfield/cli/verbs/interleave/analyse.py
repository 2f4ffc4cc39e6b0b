"""`cranfield interleave analyse`: which system do users prefer?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import argument, option
from cranfield.cli.options.engine_options import OnEngine
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.online.interleaving.preference_counts import PreferenceCounts


class AnalyseVerb(OnEngine, Plotting, of="online.interleaving.interleaving_analysis:analyse_interleaving"):
    """Compare systems by the interleaved lists that each won: the verdict, wins, Δ, tests and intervals.

    LOG holds attribution records, a line of JSON each, as cranfield interleave make and Interleaved.to_json write them.
    Each may have query_id (the id of the impression), user, query, and clicks: a list of clicked documents or of
    positions from 1 on. --clicks reads clicks from a file instead, with columns query_id, and doc or position;
    --traffic reads clicks, users and queries from a log of live traffic with the same query_ids.

    The system with more credit wins an impression; ties do not count. p is an exact test over users: the sign-flip test
    of their wins minus losses, or the sign test of impressions if no user has several, or users are not known. p any
    time holds however often one looks at the results, so an experiment may stop as soon as it is small. A system is
    called better if p, and that of the mean difference in credit, corrected for the number of pairs, are below --alpha.

    With more than two systems: all pairs, the matrix of preferences (--show matrix), and cycles, where a is better than
    b, b than c, and c than a.
    """

    summary = "which system users prefer, from logged lists and clicks"
    examples = """
cranfield interleave analyse log.jsonl
cranfield interleave analyse lists.jsonl --clicks clicks.csv
cranfield interleave analyse log.jsonl --show matrix --plot preferences.svg
cranfield interleave analyse lists.jsonl --clicks clicks.parquet --engine duckdb
cranfield interleave analyse lists.jsonl --traffic logs/
"""

    log: str = argument("LOG", "Attribution records, as JSON-lines.", required=True, reads=True)
    clicks: str | None = option(
        "--clicks FILE", "Clicks: query_id, and doc or position (JSON-lines, CSV).", reads=True, solves="clicks="
    )
    traffic: str | None = option(
        "--traffic DIR",
        "A log of live traffic, as cranfield log check reads it: clicks, users and queries come from there.",
    )
    engine: str | None = option(  # type: ignore[assignment]  # None: count in Python
        "--engine NAME",
        "Count on an engine, for large logs: duckdb, spark, or a Spark master such as local[2] or spark://host:7077. "
        "Files may then be Parquet too.",
    )
    what: str = options.show("pairs", "matrix", help="Print {names}: a row per pair, or Δ of every system over others.")

    def check(self) -> None:
        super().check()
        if self.traffic and self.clicks:
            raise UsageError("--traffic and --clicks exclude each other; leave out one of them")
        if self.memory and not (self.engine or self.traffic):
            raise UsageError("--memory limits an engine; choose one with --engine")

    def counts(self) -> PreferenceCounts:
        """Wins and losses, counted in Python or on an engine."""
        if self.engine is None and self.traffic is None:
            from cranfield.online.interleaving.attribution_log import count_logged

            return count_logged(self.log, self.clicks)
        from cranfield.online.engines.engine import without_skip
        from cranfield.online.interleaving.engine_counts import count_on_engine
        from cranfield.online.logs import read_log

        with without_skip(), self.open_engine() as engine:
            clicks = self.clicks if self.traffic is None else read_log(self.traffic, engine=engine)
            return count_on_engine(engine, self.log, clicks)

    def run(self) -> None:
        from cranfield.online.interleaving.interleaving_analysis import analyse_interleaving

        result = analyse_interleaving(self.counts(), **self.settings())
        if self.what == "matrix" and self.format != "json":
            self.show(result.matrix_table())
        else:
            self.show_record(result)
        self.save_plot(result)

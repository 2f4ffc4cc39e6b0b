"""`cranfield log measures`: online measures of a log."""

from __future__ import annotations

from cranfield.cli.declare import option
from cranfield.cli.options.log_options import LogReading
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

UNCHECKED = "repeated events and clicks on documents that were not shown count here; cranfield log check counts them"
"""A note: looking for these would take as long as the measures."""


class MeasuresVerb(LogReading, Plotting, of="online.log_measures.measured_log:measure_log"):
    """Measure a log: clicks, dwell time, abandonment, sessions, loyalty, revenue, with intervals over users.

    Every measure is a ratio of two sums over users, and its interval comes from the delta method: the queries of one
    user are not independent. --by gives a row per day, hour of the day, arm or segment, and --plot draws one measure
    over days or groups. Days and hours are those of --timezone, with its daylight saving time. --oec adds a weighted
    sum of measures, which a TOML file declares:

        name = "shop"
        [[parts]]
        measure = "CTR@5"
        weight = 0.7
        low = 0       # this value counts as 0
        high = 0.2    # and this as 1; without both, the value is divided by that of the whole log
    """

    summary = "compute online measures by day, arm and segment"
    examples = """
cranfield log measures log/
cranfield log measures log/ -m CTR@5,abandonment --by arm
cranfield log measures log/ -m click-RR --by day --plot days.svg
cranfield log measures log/ -m CTR@5 --by hour --timezone America/New_York
cranfield log measures log/ --set heart
cranfield log measures log/ --oec oec.toml --by arm
"""

    measures: list[str] | None = option(
        "--measure, -m MEASURE",
        "The measures, such as CTR@5 or satisfied-clicks(seconds=20); docs/online_measures.md lists them.",
        names="online.log_measures:ONLINE_MEASURES",
    )
    by: list[str] | None = option(
        "--by COLUMN", "A row for each day, hour, arm, or value of another column of the queries."
    )
    set: str | None = option("--set NAME", "A ready-made set of measures: {names}.", names="online.log_measures:SETS")
    oec: str | None = option("--oec FILE", "Also compute the weighted sum that this TOML file declares.", reads=True)

    def run(self) -> None:
        from dataclasses import replace

        from cranfield.cli.options.option_values import measure_names
        from cranfield.online.log_measures import measure_log, metric_set, read_oec

        names = measure_names(self.measures) if self.measures else []
        chosen = metric_set(self.set) if self.set else None
        oec = read_oec(self.oec) if self.oec else None
        by = [name for text in self.by or [] for name in text.split(",")]
        if self.plot and not by:
            raise UsageError("--plot draws a measure over groups; name them with --by, such as --by day")
        log = self.read_log()
        with log.engine:
            result = measure_log(log, names, by=by, oec=oec, metric_set=chosen, **self.settings())
        if self.plot and len(result.measures) > 1 and not oec:
            raise UsageError(f"--plot draws one measure, but there are {len(result.measures)}; choose one with -m")
        self.show_record(replace(result, notes=(*result.notes, UNCHECKED)))
        self.save_plot(result)

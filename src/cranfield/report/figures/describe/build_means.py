"""The means of a measure over the builds of a gate."""

from __future__ import annotations

import numpy as np

from cranfield.comparison.gate.gate_history import GateHistory
from cranfield.report.figures.figure import Axis, Figure, names
from cranfield.text import counted


def describe_gate_history(history: GateHistory, *, title: str | None = None) -> Figure:
    """Show the mean of each measure, build by build; a line per measure, and per candidate if a build has several."""
    several = len({(build.build, build.candidate) for build in history.builds}) > len({b.build for b in history.builds})
    number = {name: place for place, name in enumerate(dict.fromkeys(build.build for build in history.builds), 1)}
    rows = [
        (f"{build.candidate} {measure}" if several else measure, number[build.build], build.means[measure])
        for measure in history.measures
        for build in history.builds
        if measure in build.means
    ]
    failed = [build.build for build in history.builds if not build.passed]
    return Figure(
        "lines",
        {
            "measure": names(row[0] for row in rows),
            "build": np.array([row[1] for row in rows], dtype=np.int64),
            "mean": np.array([row[2] for row in rows], dtype=np.float64),
        },
        x=Axis("build", "build", "count"),
        y=Axis("mean", "mean score"),
        by=Axis("measure", "measure", "category"),
        title="Mean scores by build" if title is None else title,
        subtitle=counted(len(number), "build"),
        notes=(f"failed: {', '.join(failed)}",) if failed else (),
    )

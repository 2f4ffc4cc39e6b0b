"""Achieved significance levels: which measure finds more differences?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield import check
from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, Reference, names, numbers
from cranfield.text import counted


def describe_asl(
    p: Mapping[str, Any], *, alpha: float = 0.05, highest: float | None = None, test: str = "", title: str | None = None
) -> Figure:
    """The p-values of all pairs of systems, each measure's sorted: the closer to the origin, the more it discriminates.

    `p` has the p-values of each measure. `highest` cuts the vertical axis off, such as at 0.15, where the curves part.
    Sakai 2014 Fig. 16, after Sakai, SIGIR 2006, 525-532, doi:10.1145/1148170.1148261. Measures come in the order of how
    many pairs they find at `alpha`.

    >>> describe_asl({"RR": [0.2, 0.03], "AP": [0.04, 0.01]}).columns()["measure"].tolist()
    ['AP', 'AP', 'RR', 'RR']
    """
    if not p:
        raise UsageError("no p-values to draw; give those of one measure or more")
    check.between("describe_asl", low=0, high=1, alpha=alpha)
    lines = {measure: np.sort(numbers(values, f"the p-values of {measure}")) for measure, values in p.items()}
    for measure, values in lines.items():
        if not len(values) or np.isnan(values).any() or values[0] < 0 or values[-1] > 1:
            raise UsageError(f"the p-values of {measure} must be numbers between 0 and 1, one a pair of systems")
    found = {measure: int((values <= alpha).sum()) for measure, values in lines.items()}
    order = sorted(lines, key=lambda one: -found[one])
    sizes = sorted({len(values) for values in lines.values()})
    pairs = counted(sizes[-1], "pair") if len(sizes) == 1 else f"{sizes[0]:,} to {counted(sizes[-1], 'pair')}"
    return Figure(
        "lines",
        {
            "measure": names(one for one in order for _ in lines[one]),
            "pairs": np.concatenate([np.arange(1, len(lines[one]) + 1) for one in order]),
            "p": np.concatenate([lines[one] for one in order]),
        },
        x=Axis("pairs", "pairs of systems, sorted by p", "count", low=0),
        y=Axis("p", "p (achieved significance level)", low=0, high=highest),
        by=Axis("measure", "measure", "category"),
        title="Discriminative power" if title is None else title,
        subtitle=f"{pairs} of systems{f', {test}' if test else ''}; the lower a curve, the more pairs differ",
        references=(Reference("y", alpha, f"α = {alpha:g}"),),
        notes=tuple(f"{one}: {found[one]:,} of {counted(len(lines[one]), 'pair')} at α = {alpha:g}" for one in order),
    )

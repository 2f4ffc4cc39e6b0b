"""Do improvements add up? The best published scores on a collection over the years, beside the baselines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.tables.table_schema import Numbers, Schema, Words
from cranfield.errors import UsageError
from cranfield.frames import need
from cranfield.record import Record, column
from cranfield.text import counted
from cranfield.types import Array, Index64

PROGRESS = Schema(
    "year system score [baseline]",
    key=("year", "system"),
    year=Numbers(("year", "edition")),
    system=Words(("system", "run")),
    score=Numbers(("score", "value")),
    baseline=Words(("baseline", "of"), default="", may_be_empty=True),
)
"""Published scores: `baseline` names the system of the same year that a system is to improve on."""
APART = 5
"""The years between two bests that are compared."""


@dataclass(frozen=True, eq=False, repr=False)
class YearlyBest(Record):
    """The best score of each year, the best before it, and the baselines that papers compared with; a row per year."""

    figure = "describe_progress"
    facts = ("slope", "low", "high", "p", "later", "weak")
    caption = "Best scores over the years"

    year: Annotated[Index64, column()]
    systems: Annotated[Index64, column()]
    best: Annotated[NDArray[Any], column()]
    score: Annotated[Array, column()]
    before: Annotated[Array, column("best before")]
    """The best score of all earlier years; NaN for the first."""
    baseline: Annotated[Array, column("mean baseline", optional=True)]
    """The mean score of the baselines that systems of the year name; NaN if they name none."""
    slope: float
    """The change of the best score per year, by least squares, with its 95% interval and p."""
    low: float
    high: float
    p: float
    later: float
    """The best score of the last year, minus that of the latest year at least `APART` years earlier; NaN if none."""
    weak: float
    """The share of baselines that are below the best score of an earlier year; NaN without any."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether bests rise, how often they beat earlier ones, and how strong the baselines were."""
        beaten = int((self.score > self.before).sum())
        notes = [f"the best of {beaten} of {counted(len(self.year) - 1, 'later year')} is above all earlier ones"]
        if not np.isnan(self.slope):
            notes.append(f"best per year: {self.slope:+.4f} [{self.low:+.4f}, {self.high:+.4f}], p = {self.p:.4f}")
        if not np.isnan(self.later):
            notes.append(
                f"the last best is {self.later:+.4f} from that of {APART} years earlier; scores by topic test it"
            )
        if not np.isnan(self.weak):
            notes.append(f"{100 * self.weak:.0f} % of baselines were below the best of an earlier year")
        return tuple(notes)


def yearly_best(source: Any) -> YearlyBest:
    """Read published scores, lines of year, system, score and perhaps baseline, and follow the best of each year.

    If papers compare with weak baselines, all of them improve, and the best score stays where it was. A higher score is
    taken to be better, and all scores must be by one measure on one collection.

    Reference: Armstrong, Moffat, Webber & Zobel, Improvements That Don't Add Up, CIKM 2009 (after Ferro & Maistro 2024)

    >>> rows = [(2000, "a", 0.2), (2001, "b", 0.3), (2002, "c", 0.25)]
    >>> yearly_best(rows).notes[0]
    'the best of 1 of 2 later years is above all earlier ones'
    """
    rows = PROGRESS.read(source)
    year, score = (np.asarray(rows[name], dtype=np.float64) for name in ("year", "score"))
    system, against = (np.asarray(rows[name], dtype=object) for name in ("system", "baseline"))
    if (year % 1 != 0).any():
        raise UsageError(f"year {year[year % 1 != 0][0]:g}, must be a whole number")
    years = np.unique(year).astype(np.int64)
    if len(years) < 2:
        raise UsageError(f"{counted(len(years), 'year')} in the table, must be 2 or more")
    top = [int(np.flatnonzero(year == y)[np.argmax(score[year == y])]) for y in years]
    best = score[top]
    before = np.concatenate([[np.nan], np.maximum.accumulate(best)[:-1]])
    means, weak = np.full(len(years), np.nan), []
    for place, y in enumerate(years):
        of_year = dict(zip(system[year == y].tolist(), score[year == y].tolist(), strict=True))
        named = sorted({name for name in against[year == y].tolist() if name})
        for name in named:
            if name not in of_year:
                raise UsageError(f"baseline {name!r} of {y} has no score in that year; add its line")
        if named:
            means[place] = np.mean([of_year[name] for name in named])
            weak += [of_year[name] < before[place] for name in named] if place else []
    slope, low, high, p = _trend(years.astype(np.float64), best)
    early = years <= years[-1] - APART
    later = float(best[-1] - best[early][-1]) if early.any() else np.nan
    counts = np.array([int((year == y).sum()) for y in years], dtype=np.int64)
    share = float(np.mean(weak)) if weak else np.nan
    return YearlyBest(years, counts, system[top], best, before, means, slope, low, high, p, later, share)


def _trend(x: Array, y: Array) -> tuple[float, float, float, float]:
    """The slope of a line, its 95% interval and p; NaN for fewer than three points."""
    n = len(x)
    if n < 3:
        return np.nan, np.nan, np.nan, np.nan
    across = x - x.mean()
    slope = float(across @ y / (across @ across))
    left = y - y.mean() - slope * across
    error = float(np.sqrt(left @ left / (n - 2) / (across @ across)))
    special = need("scipy.special", "a trend")
    half = float(special.stdtrit(n - 2, 0.975)) * error
    p = 2 * float(special.stdtr(n - 2, -abs(slope) / error)) if error > 0 else float(slope == 0)
    return slope, slope - half, slope + half, p

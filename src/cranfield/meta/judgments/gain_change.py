"""Does it matter what a grade is worth? System rankings by a measure with its own gains and with others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasureLike, as_measures, score
from cranfield.frames import Tidy
from cranfield.measures import Gain, Measure
from cranfield.meta.agreement.correlation import correlate
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Column, Estimate, Table
from cranfield.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class GainChange(Tidy):
    """Rank correlations between a measure and itself with other gains: measures × gains."""

    coefficient: str
    measures: tuple[str, ...]
    gains: tuple[str, ...]
    values: Array
    low: Array
    high: Array
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, gains, value, low, high."""
        i, j = (axis.ravel() for axis in np.indices(self.values.shape))
        return {
            "measure": np.array(self.measures, dtype=object)[i],
            "gains": np.array(self.gains, dtype=object)[j],
            **{name: getattr(self, name).ravel() for name in ("values", "low", "high")},
        }

    def table(self) -> Table:
        """As Sakai 2007 Table 5: a row per measure, a column per choice of gains."""
        rows: list[tuple[Cell, ...]] = []
        for i, name in enumerate(self.measures):
            cells = zip(self.gains, self.values[i], self.low[i], self.high[i], strict=True)
            rows.append((name, *(Estimate(name, g, float(v), float(lo), float(hi), 0, 0, 0) for g, v, lo, hi in cells)))
        columns = (Column("measure"), *(Column(name, "number") for name in self.gains))
        return Table(columns, tuple(rows), f"{self.coefficient}: the measure's own gains against others", self.notes)

    def __str__(self) -> str:
        return self.table().text()

    __repr__ = __str__


def change_gains(
    qrels: Any,
    runs: Any = None,
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    gains: Iterable[str] | Mapping[str, Any],
    coefficient: str = "tau-b",
    level: float = 0.95,
    resamples: int = 1_000,
    seed: int = 0,
    missing: str = "zero",
    options: JoinOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> GainChange:
    """How alike a measure ranks systems when grades are worth something else (Sakai 2007 §5.5, Table 5).

    qrels, runs: as `evaluate` takes them, or `Assessed` lists alone. gains: `"10:5:1"`, what the grades above 0 are
    worth, best first, or {name: anything that a measure takes for `gain`}. The rest is as for `correlate`.

    >>> qrels = {"1": {"d1": 2, "d2": 1, "d3": 0}}
    >>> runs = {name: {"1": dict(zip(order, (3.0, 2.0, 1.0)))} for name, order in
    ...         {"a": ("d1", "d2", "d3"), "b": ("d2", "d1", "d3"), "c": ("d3", "d2", "d1")}.items()}
    >>> made = change_gains(qrels, runs, ["nDCG"], gains=["1:1"], resamples=0)
    >>> made.values.round(4).tolist()  # a and b tie when all relevant documents are worth the same
    [[0.8165]]
    """
    if not isinstance(qrels, Assessed) and runs is None:
        raise UsageError("change_gains: no runs; give judgments and runs, or assessed lists")
    lists = qrels if isinstance(qrels, Assessed) else join(qrels, runs, options)
    chosen = as_measures(measures)
    for one in chosen:
        if "gain" not in one.parameters():
            raise UsageError(f"change_gains: {one} knows no gains; take a measure such as nDCG or Q")
    named = _tables(gains, lists)
    shape = (len(chosen), len(named))
    values, low, high = (np.full(shape, np.nan) for _ in range(3))
    notes: tuple[str, ...] = ()
    for i, one in enumerate(chosen):
        found = correlate(
            _scores(lists, one, named, missing), coefficients=coefficient, level=level, resamples=resamples, seed=seed
        )
        values[i], low[i], high[i] = (part[0, 0, 1:] for part in (found.values, found.low, found.high))
        notes = tuple(dict.fromkeys((*notes, *found.pairs().notes)))
        if progress is not None:
            progress(i + 1, len(chosen))
    return GainChange(coefficient, tuple(map(str, chosen)), tuple(named), values, low, high, notes)


def _scores(lists: Assessed, measure: Measure, gains: Mapping[str, Gain], missing: str) -> Scores:
    """One measure with its own gains and with each of the others, which may be the same: so labels are our own."""
    variants = [measure, *(measure.replace(gain=gain) for gain in gains.values())]
    each = [score(lists, one, missing=missing) for one in variants]
    values = np.concatenate([one.values for one in each])
    labels = [str(measure), *(f"gains {name}" for name in gains)]
    return Scores(labels, each[0].runs, each[0].topics, values, each[0].missing, each[0].missing_rule, each[0].notes)


def _tables(gains: Iterable[str] | Mapping[str, Any], lists: Assessed) -> dict[str, Gain]:
    if isinstance(gains, Mapping):
        return {str(name): Gain.of(gain) for name, gain in gains.items()}
    grades = np.unique(lists.judged.grade[lists.judged.grade > 0])[::-1]
    made: dict[str, Gain] = {}
    for text in gains:
        try:
            worths = [float(part) for part in text.split(":")]
        except ValueError:
            raise UsageError(f"gains == {text!r}, must be numbers such as 10:5:1, the best grade's first") from None
        if len(worths) != len(grades):
            levels = ", ".join(f"{grade:g}" for grade in grades)
            raise UsageError(f"gains == {text!r}: {len(worths)} numbers, there are {len(grades)} grades: {levels}")
        made[text] = Gain.of(dict(zip(grades.tolist(), worths, strict=True)))
    if not made:
        raise UsageError("change_gains: no gains; give some such as 10:5:1")
    return made

"""Do the gains of grades matter? Rankings of systems by a measure with its own gains and with other gains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.declared.operation import Level, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike, as_measures, score
from cranfield.measures import Gain, Measure
from cranfield.meta.agreement.correlation import correlate
from cranfield.meta.complete_scores import TopicResamples
from cranfield.meta.judgments.rescoring import joined
from cranfield.record import Record, column, estimates
from cranfield.scores.scores import Scores
from cranfield.table import Column, Table, headings
from cranfield.types import Array, Progress, report


@dataclass(frozen=True, eq=False, repr=False)
class GainChange(Record):
    """Rank correlations between a measure and itself with other gains: measures × gains."""

    figure = "gains_figure"
    facts = ("coefficient",)

    coefficient: str
    measures: Annotated[tuple[str, ...], column("measure", axis=True)]
    gains: Annotated[tuple[str, ...], column(axis=True)]
    values: Annotated[Array, column(over="measures gains")]
    low: Annotated[Array, column(over="measures gains")]
    high: Annotated[Array, column(over="measures gains")]
    notes: tuple[str, ...]

    def table(self) -> Table:
        """As Sakai 2007 Table 5: a row per measure, a column per choice of gains."""
        cells = estimates(self.values, self.low, self.high).reshape(self.values.shape).tolist()
        rows = tuple((name, *row) for name, row in zip(self.measures, cells, strict=True))
        columns = (Column("measure"), *headings("number", *self.gains))
        return Table(columns, rows, f"{self.coefficient}: the measure's own gains against others", self.notes)


@operation
def change_gains(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    *,
    gains: Annotated[
        Iterable[str] | Mapping[str, Any],
        about("Other gains, highest grade first: 30:20:10,1:1:1.", spelled="--gains W:W:...,..."),
    ],
    coefficient: Annotated[
        str, about("The rank correlation: {names}.", names="meta.agreement.coefficients:COEFFICIENTS")
    ] = "tau-b",
    level: Level = 0.95,
    resamples: TopicResamples = 1_000,
    seed: Seed = 0,
    missing: str = "zero",
    options: JoinOptions | None = None,
    progress: Progress | None = None,
) -> GainChange:
    """How alike a measure ranks systems with its own gains and with other gains (Sakai 2007 §5.5, Table 5).

    qrels, runs: as for `evaluate`, or `Assessed` lists alone. gains: texts such as `"10:5:1"`, the gains of the grades
    above 0, best first; or {name: any value for a measure's `gain`}. The other parameters are those of `correlate`.

    >>> qrels = {"1": {"d1": 2, "d2": 1, "d3": 0}}
    >>> runs = {name: {"1": dict(zip(order, (3.0, 2.0, 1.0)))} for name, order in
    ...         {"a": ("d1", "d2", "d3"), "b": ("d2", "d1", "d3"), "c": ("d3", "d2", "d1")}.items()}
    >>> result = change_gains(qrels, runs, ["nDCG"], gains=["1:1"], resamples=0)
    >>> result.values.round(4).tolist()  # a and b tie when all relevant documents have the same gain
    [[0.8165]]
    """
    lists = joined("change_gains", qrels, runs, options)
    chosen = as_measures(measures)
    for measure in chosen:
        if "gain" not in measure.parameters():
            raise UsageError(f"change_gains: {measure} has no gains; choose a measure such as nDCG or Q")
    named = named_gains(gains, lists.judged.grade)
    values, low, high = np.full((3, len(chosen), len(named)), np.nan)
    notes: dict[str, None] = {}
    for i, measure in enumerate(chosen):
        scores = _scores(lists, measure, named, missing)
        result = correlate(scores, coefficients=coefficient, level=level, resamples=resamples, seed=seed)
        values[i], low[i], high[i] = (array[0, 0, 1:] for array in (result.values, result.low, result.high))
        notes.update(dict.fromkeys(result.notes))
        report(progress, i + 1, len(chosen))
    return GainChange(coefficient, tuple(map(str, chosen)), tuple(named), values, low, high, tuple(notes))


def _scores(lists: Assessed, measure: Measure, gains: Mapping[str, Gain], missing: str) -> Scores:
    """A measure with its own gains and with each of the others; the labels differ even if the gains are the same."""
    variants = [measure, *(measure.replace(gain=gain) for gain in gains.values())]
    scores = [score(lists, variant, missing=missing) for variant in variants]
    names = [str(measure), *(f"gains {name}" for name in gains)]
    first, values = scores[0], np.concatenate([part.values for part in scores])
    return Scores(names, first.runs, first.topics, values, first.missing, first.missing_rule, first.notes)


def named_gains(gains: Iterable[str] | Mapping[str, Any], judged: Array) -> dict[str, Gain]:
    """The gains by name. Texts such as `10:5:1` are for the grades above 0 that are judged, best first.

    >>> {name: str(gain) for name, gain in named_gains(["10:1"], np.array([0, 1, 2, 1])).items()}
    {'10:1': '{1:1,2:10}'}
    """
    if isinstance(gains, Mapping):
        return {str(name): Gain.of(gain) for name, gain in gains.items()}
    grades = np.unique(judged[judged > 0])[::-1]
    named: dict[str, Gain] = {}
    for text in gains:
        try:
            numbers = [float(part) for part in text.split(":")]
        except ValueError:
            raise UsageError(f"gains == {text!r}, must be numbers such as 10:5:1, best grade first") from None
        if len(numbers) != len(grades):
            levels = ", ".join(f"{grade:g}" for grade in grades)
            raise UsageError(f"gains == {text!r}: {len(numbers)} numbers, there are {len(grades)} grades: {levels}")
        named[text] = Gain.of(dict(zip(grades.tolist(), numbers, strict=True)))
    if not named:
        raise UsageError("change_gains: no gains; give some, such as 10:5:1")
    return named

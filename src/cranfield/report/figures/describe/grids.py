"""Grids: heat maps of any matrix, concordance of measures, and axioms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, columns_of, in_order, names, no_repeats, numbers
from cranfield.text import counted

HOLDS, FAILS = "holds", "fails"


def describe_heat(
    matrix: Any,
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    what: str = "Kendall's τ",
    title: str | None = None,
    subtitle: str = "",
) -> Figure:
    """Show a matrix, such as Kendall's τ between measures: higher values are darker. `columns` default to `rows`.

    >>> describe_heat([[1, 0.9], [0.9, 1]], ["AP", "Q"]).columns()["value"].tolist()
    [1.0, 0.9, 0.9, 1.0]
    """
    across = rows if columns is None else columns
    try:
        values = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError("a heat map needs a matrix of numbers") from None
    if values.shape != (len(rows), len(across)):
        raise UsageError(f"matrix.shape == {values.shape}, must be rows × columns: {(len(rows), len(across))}")
    if np.isnan(values).all():
        raise UsageError(f"nothing to draw: all values of {what} are undefined")
    no_repeats(rows, "row")
    no_repeats(across, "column")
    return Figure(
        "heat_map",
        {
            "row": np.repeat(names(rows), len(across)),
            "column": np.tile(names(across), len(rows)),
            "value": values.ravel(),
        },
        x=Axis("column", "", "category"),
        y=Axis("row", "", "category"),
        by=Axis("value", what),
        title=what if title is None else title,
        subtitle=subtitle,
    )


COEFFICIENT_NAMES = {
    "tau-a": "Kendall's τ_a",
    "tau-b": "Kendall's τ_b",
    "tau-ap": "τ_AP",
    "tau-ap-symmetric": "symmetric τ_AP",
    "tau-ap-b": "τ_AP,b",
    "weighted-tau": "weighted τ",
    "rbo": "RBO",
}
"""What figures call the coefficients."""


def describe_correlations(correlations: Any) -> Figure:
    """Show the rank correlation of every pair of measures, a grid for each coefficient, with intervals over topics.

    `correlations` is the result of `correlate`. A pair is shown once; for a coefficient with a gold standard, which is
    the measure of the row, in both directions.

    >>> from cranfield.meta import correlate
    >>> from cranfield.scores import Scores
    >>> scores = Scores(["AP", "RR"], "abc", "12", [[[0.1, 0.2], [0.3, 0.4], [0.5, 0.7]], [[1, 0], [1, 1], [1, 1]]])
    >>> describe_correlations(correlate(scores, coefficients=["tau-a", "tau-b"], resamples=0)).subtitle
    '3 systems, 2 topics'
    """
    from cranfield.meta.agreement.coefficients import DIRECTED

    measures = names(correlations.measures)
    coefficients = [COEFFICIENT_NAMES.get(name, name) for name in correlations.coefficients]
    arrays = {
        name: np.asarray(getattr(correlations, of))
        for name, of in (("value", "values"), ("low", "low"), ("high", "high"))
    }
    if np.isnan(arrays["value"]).all():
        raise UsageError("nothing to draw: all correlations are undefined")
    basis = f"{counted(correlations.systems, 'system')}, {counted(correlations.topics, 'topic')}"
    if correlations.resamples:
        basis += f"; {100 * correlations.level:g}% intervals over {correlations.resamples:,} resamples of topics"
    different = ~np.eye(len(measures), dtype=bool)
    below = np.tri(len(measures), k=-1, dtype=bool)
    shown = [different if name in DIRECTED else below for name in correlations.coefficients]
    k, row, column = np.nonzero(np.array(shown))
    return Figure(
        "heat_map",
        {
            "coefficient": names(coefficients)[k],
            "row": measures[row],
            "column": measures[column],
            **{
                name: array[k, row, column]
                for name, array in arrays.items()
                if name == "value" or correlations.resamples
            },
        },
        x=Axis("column", "", "category"),
        y=Axis("row", "", "category"),
        by=Axis("value", " / ".join(coefficients)),
        title="Rank correlation of measures"
        if len(coefficients) > 1
        else f"{coefficients[0]} of the rankings of systems",
        subtitle=basis,
    )


def describe_concordance(columns: Any, gold: str | None = None) -> Figure:
    """Show how often the measure of the row agrees with `gold`, on pairs of lists that two measures order differently.

    `columns` are those of `concord`. The default `gold` is the last one: all gold standards together.

    >>> table = {"gold": ["P@10"], "measure": ["Q"], "other": ["RR"], "concordance": [0.9], "other concordance": [0.3]}
    >>> describe_concordance(table).columns()["value"].tolist()
    [nan, 0.9, 0.3, nan]
    """
    table = columns_of(columns, "gold", "measure", "other", "concordance", "other concordance")
    golds = in_order(table["gold"])
    chosen = golds[-1] if gold is None else gold
    if chosen not in golds:
        raise nearest(chosen, golds, "gold standard")
    selected = table["gold"] == chosen
    measures, others = table["measure"][selected].tolist(), table["other"][selected].tolist()
    labels = list(dict.fromkeys([*measures, *others]))
    place = {name: at for at, name in enumerate(labels)}
    i, j = ([place[name] for name in side] for side in (measures, others))
    shares = np.full((len(labels), len(labels)), np.nan)
    shares[i, j] = numbers(table["concordance"][selected], "concordance")
    shares[j, i] = numbers(table["other concordance"][selected], "other concordance")
    if np.isnan(shares).all():
        raise UsageError("nothing to draw: no two of these measures ever disagree on which of two lists is better")
    return describe_heat(
        shares,
        labels,
        what="concordance",
        title=f"Concordance with {chosen}",
        subtitle="of the pairs of lists that two measures\n"
        "order differently, the share in which\nthe measure of the row agrees with it",
    )


def describe_axioms(columns: Any) -> Figure:
    """Show a row per axiom and a column per measure: filled if the axiom holds, hollow if an example breaks it.

    `columns` are those of `axioms`: measure, axiom, holds; `says` and `example` are shown on mouse-over.

    >>> table = {"measure": ["AP", "P+"], "axiom": ["swap", "swap"], "holds": [True, False]}
    >>> describe_axioms(table).columns()["found"].tolist()
    ['holds', 'fails']
    """
    table = columns_of(columns, "measure", "axiom", "holds")
    data = {
        "measure": names(table["measure"]),
        "axiom": names([str(axiom).replace("_", "-") for axiom in table["axiom"].tolist()]),
        "found": np.where(table["holds"].astype(bool), HOLDS, FAILS).astype(object),
    }
    data |= {name: names(table[name]) for name in ("says", "example") if name in table}
    return Figure(
        "dot_grid",
        data,
        x=Axis("measure", "", "category"),
        y=Axis("axiom", "", "category"),
        by=Axis("found", "", "category"),
        title="What measures reward",
        subtitle="tried on all small lists; empty where an axiom does not apply",
    )

"""Axioms: what each measure rewards, and what it does not."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Axis, Figure, columns_of, names

HOLDS, FAILS = "holds", "fails"


def describe_axioms(columns: Any) -> Figure:
    """A row per axiom, a column per measure: filled where the axiom holds, hollow where an example breaks it.

    `columns` are those of `axioms`: measure, axiom, holds; and maybe says and example, which a page shows.

    >>> made = {"measure": ["AP", "P+"], "axiom": ["swap", "swap"], "holds": [True, False]}
    >>> describe_axioms(made).columns()["found"].tolist()
    ['holds', 'fails']
    """
    found = columns_of(columns, "measure", "axiom", "holds")
    data = {
        "measure": names(found["measure"]),
        "axiom": names([str(one).replace("_", "-") for one in found["axiom"].tolist()]),
        "found": np.where(found["holds"].astype(bool), HOLDS, FAILS).astype(object),
    }
    data |= {name: names(found[name]) for name in ("says", "example") if name in found}
    return Figure(
        "axioms",
        data,
        x=Axis("measure", "", "category"),
        y=Axis("axiom", "", "category"),
        by=Axis("found", "", "category"),
        title="What measures reward",
        subtitle="tried on all small lists; nothing is drawn where an axiom does not apply",
    )

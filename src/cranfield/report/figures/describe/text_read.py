"""The text that a user reads, string by string, with what is left of a gain at each place."""

from __future__ import annotations

import numpy as np

from cranfield import check
from cranfield.errors import UsageError
from cranfield.measures.time import Trailtext
from cranfield.report.figures.figure import Axis, Figure
from cranfield.text import counted


def describe_trailtext(trailtext: Trailtext, L: float, *, title: str = "Text read") -> Figure:
    """Show each string of a trailtext as a bar from where it begins to where it ends, and the decay of U.

    `L` is the number of characters after which nothing is worth anything.

    >>> read = Trailtext((400.0, 100.0), (0.0, 0.5), ("snippets 1 to 2", "document 2"))
    >>> describe_trailtext(read, L=1000).columns()["adds"].tolist()
    [0.0, 0.25]
    """
    check.finite("trailtext", L=L)
    check.positive("trailtext", L=L)
    if not trailtext.lengths:
        raise UsageError("the user read nothing: there is no text to draw")
    end = trailtext.offsets
    gains = np.array(trailtext.gains, dtype=np.float64)
    left = np.maximum(0.0, 1.0 - end / L)
    names = trailtext.names or tuple(f"string {number}" for number in range(1, len(end) + 1))
    kinds = ["with a gain" if gain > 0 else "without a gain" for gain in gains.tolist()]
    total = float(np.sum(gains * left))
    return Figure(
        "text_strings",
        {
            "string": np.array([f"{number}. {name}" for number, name in enumerate(names, 1)], dtype=object),
            "kind": np.array(kinds, dtype=object), "begin": end - np.array(trailtext.lengths), "end": end,
            "gain": gains, "decay": left, "adds": gains * left,
        },
        x=Axis("end", "characters read", low=0.0, high=float(end[-1])),
        y=Axis("string", "string", "category"),
        by=Axis("kind", "kind", "category"),
        title=title,
        subtitle=f"{counted(len(end), 'string')}; U = {total:.4f}: the numbers are gain × what is left of it",
    )  # fmt: skip

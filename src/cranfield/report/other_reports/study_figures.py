"""The figures of a study, in the form in which a study caches them with its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.errors import CranfieldError
from cranfield.report.figures.figure import Figure
from cranfield.report.figures.result_figures import METHOD_FIGURES
from cranfield.report.figures.stored_figure import figure_from_plain, figure_to_plain


def plain_figures(method: str, result: Any) -> list[dict[str, Any]]:
    """The figures of a result of a method, as plain values; none if there is nothing to draw.

    Give it to `run_study` as `figures`.
    """
    try:
        return [figure_to_plain(figure) for figure in METHOD_FIGURES[method](result)]
    except CranfieldError:
        return []


def drawn_figures(plain: Sequence[Mapping[str, Any]] | None) -> list[Figure]:
    """The figures that `plain_figures` described."""
    return [figure_from_plain(one) for one in plain or ()]

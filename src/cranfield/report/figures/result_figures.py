"""The figure of a result, by the function that its class names."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from cranfield.errors import UsageError
from cranfield.record import Shown
from cranfield.report import figures
from cranfield.report.figures.figure import Figure


def figure_of(result: Shown, **options: Any) -> Figure:
    """The figure of a result; `options` are those of the function that describes it.

    >>> from cranfield.scores.scores import Scores
    >>> figure_of(Scores.from_matrix([[0.2, 0.4], [0.3, 0.6]], runs=["a", "b"], measure="AP")).title
    'AP of 2 systems on 2 topics'
    """
    if not result.figure:
        raise UsageError(
            f"{type(result).__name__} has no figure of its own; cranfield.report.figures has functions for columns of "
            "numbers"
        )
    return function_of(result.figure)(result, **options)


def function_of(name: str) -> Callable[..., Figure]:
    """A function that describes a figure, by its name."""
    homes = [import_module(f"{figures.__name__}.{module}") for module in ("method_figures", "record_figures")]
    found: Callable[..., Figure] = next(getattr(home, name) for home in (figures, *homes) if hasattr(home, name))
    return found

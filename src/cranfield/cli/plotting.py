"""`--plot FILE`: the picture of what a verb found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cranfield.cli.parser import RESULT, option

if TYPE_CHECKING:
    from cranfield.report.figures import Figure

Plot = Annotated[
    str | None,
    option(
        "--plot",
        metavar="FILE",
        help="Also draw it. The name says how: .html (a page that needs nothing else), .svg, .pdf, .png, .json "
        "(Vega-Lite) or .csv (the numbers drawn).",
        group=RESULT,
    ),
]


def check_plot(path: str | None) -> None:
    """Complain about a picture that cannot be written, before any work is done: its ending, or packages that lack."""
    if path is None:
        return
    from cranfield.report.figures.saving import check_path, converter
    from cranfield.report.figures.theme import altair

    suffix = check_path(path)
    if suffix != "csv":
        altair()
    if suffix not in ("csv", "json"):
        converter()


def save_plot(figure: Figure, path: str | None) -> None:
    """Write the picture, if one was asked for."""
    if path is not None:
        figure.save(path)

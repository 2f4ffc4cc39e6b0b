"""The size of a figure: its width in columns of a paper, its height, the size of its letters, with or without title.

A figure is drawn with letters of `USUAL_POINTS`. For others, all lengths are multiplied; for a width or a height, the
figure is drawn, measured, and drawn again with more or less room for the plot.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cranfield import check
from cranfield.errors import UsageError
from cranfield.report.figures.lettering import text_width, wrapped

if TYPE_CHECKING:
    from cranfield.report.figures.figure import Figure

INCH = 96
"""Pixels of a figure per inch."""
USUAL_POINTS = 8.25
"""The size of letters without a wish: 11 pixels."""
COLUMN, GUTTER = 3.33, 0.33
"""The width of a column of a paper with two columns, and the gap between them, in inches, as ACM has them."""
UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27, "px": 1 / INCH}
"""Units of lengths, in inches; a pt is TeX's."""
LEAST, MOST = 0.8, 40.0
"""The smallest and the largest width and height, in inches."""
LEAST_PLOT, MOST_PLOT = 0.25, 4.0
"""Plots are made smaller and larger within these parts of their usual size; beyond, labels become smaller too."""
FEW_TICKS = 5
"""About as many numbers are on the horizontal axis of a narrow figure."""
NARROW = 5.0
"""In a figure that is narrower, in inches, the legend is below the plot."""
PLOT_SHARE = 0.7
"""How much of the width of a narrow figure the title of its horizontal axis may take."""
SYMBOL = 3.0
"""The room of a symbol in a legend, with the gaps around it, in sizes of its letters."""
GRIDS = ("heat_map", "dot_grid")


@dataclass(frozen=True)
class Style:
    """How large a figure is. None: as large as its content needs."""

    width: float | str | None = None
    """Columns of a paper with two columns, as `1`, `2` or `1.5`, or a length, as `8.5cm`, `240pt` or `3.3in`."""
    height: str | None = None
    """A length, as `5cm`."""
    font_size: float | None = None
    """The size of letters in points."""
    titled: bool = True
    """Are title and subtitle in the figure? A paper has them in the caption."""

    def __post_init__(self) -> None:
        if self.font_size is not None:
            check.between("figure", low=4, high=40, font_size=self.font_size)
        for side in (self.inches_wide, self.inches_high):
            if side is not None and not LEAST <= side <= MOST:
                raise UsageError(
                    f"a figure of {side:.3g} inches: its sides must be between {LEAST:g} and {MOST:g} inches"
                )

    @property
    def inches_wide(self) -> float | None:
        """The width in inches."""
        if self.width is None:
            return None
        try:
            columns = float(self.width)
        except ValueError:
            return _inches("width", str(self.width))
        return columns * COLUMN + (columns - 1) * GUTTER

    @property
    def inches_high(self) -> float | None:
        """The height in inches."""
        return None if self.height is None else _inches("height", str(self.height))

    @property
    def enlarged(self) -> float:
        """How much larger than usual the letters are."""
        return 1.0 if self.font_size is None else self.font_size / USUAL_POINTS


def _inches(side: str, length: str) -> float:
    """A length in inches.

    >>> round(_inches("width", "2.54 cm"), 9)
    1.0
    """
    written = re.fullmatch(rf"\s*(\d+\.?\d*|\.\d+)\s*({'|'.join(UNITS)})\s*", length)
    if written is not None:
        return float(written[1]) * UNITS[written[2]]
    ways = "columns of a paper, such as 1 or 2, or a length" if side == "width" else "a length"
    raise UsageError(f"{side} == {length!r}, must be {ways} such as 8.5cm, 240pt or 3.3in")


STYLES = ("width", "height", "font_size", "titled")
"""The fields of `Style`, which `plot` takes beside the options of the figure itself."""

LENGTHS = {
    "width", "height", "step", "fontSize", "labelFontSize", "titleFontSize", "subtitleFontSize", "strokeWidth",
    "symbolStrokeWidth", "thickness", "dx", "dy", "offset", "subtitlePadding", "labelPadding", "titlePadding",
    "labelLimit", "limit", "maxExtent", "lineHeight", "gradientLength", "spacing",
}  # fmt: skip
"""Properties of a chart that are lengths."""
DATA = {"datasets", "data", "scale", "params", "transform", "usermeta"}
"""Parts of a chart that have no lengths of the drawing."""


SPOTS = {"point", "square", "circle"}


def enlarge(part: Any, times: float) -> Any:
    """A part of a chart in Vega-Lite with all lengths multiplied.

    >>> enlarge({"mark": {"type": "point", "size": 10, "dx": 2}, "height": {"step": 20}}, 2)
    {'mark': {'type': 'point', 'size': 40, 'dx': 4}, 'height': {'step': 40}}
    """
    if isinstance(part, list):
        return [enlarge(inner, times) for inner in part]
    if not isinstance(part, dict):
        return part
    larger = {}
    for name, value in part.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if name in DATA:
            larger[name] = value
        elif number and name in (("symbolSize", "size") if part.get("type") in SPOTS else ("symbolSize",)):
            larger[name] = value * times**2  # an area
        elif number and (name in LENGTHS or name == "size"):
            larger[name] = value * times
        else:
            larger[name] = enlarge(value, times)
    return larger


def fitted(spec: dict[str, Any], figure: Figure, svg_of: Callable[[dict[str, Any]], str]) -> dict[str, Any]:
    """The chart of a figure in its style; `svg_of` draws a chart to measure it."""
    style = figure.style
    if not style.titled:
        spec = {name: value for name, value in spec.items() if name != "title"}
    if style.enlarged != 1:
        spec = enlarge(spec, style.enlarged)
    wishes = {"width": style.inches_wide, "height": style.inches_high}
    if wishes["width"] is not None:
        spec = _with_narrow_texts(spec, figure, wishes["width"] * INCH)
    for side, inches in wishes.items():
        if inches is not None:
            spec = _resized(spec, side, inches * INCH, figure.kind in GRIDS, svg_of)
    return spec


def size_of(svg: str) -> dict[str, float]:
    """The width and the height of a drawing, in pixels.

    >>> size_of('<svg class="marks" width="320" height="96.5" viewBox="0 0 320 96.5">')
    {'width': 320.0, 'height': 96.5}
    """
    return {side: float(size) for side, size in re.findall(r' (width|height)="([\d.]+)"', svg[: svg.index(">")])}


def _resized(
    spec: dict[str, Any], side: str, wanted: float, grid: bool, svg_of: Callable[[dict[str, Any]], str]
) -> dict[str, Any]:
    """The chart with this size: its plots get what the labels leave, or if that is too little, all becomes smaller.

    A grid keeps its shape: it becomes smaller where it has to, and is not made wider.
    """
    usual = size_of(svg_of(spec))[side]
    if not grid:  # the numbers in the cells of a grid would not fit smaller cells
        tried = 0.8
        other = size_of(svg_of(_with_plots(spec, side, tried)))[side]
        factor = 1 + (wanted - usual) * (1 - tried) / max(usual - other, 1.0)
        if LEAST_PLOT <= factor <= MOST_PLOT:
            spec = _with_plots(spec, side, factor)
            if side == "width" and factor < 1:
                spec = _with_axes(spec, _with_names_that_fit)
            usual = size_of(svg_of(spec))[side]
    while usual > wanted + 1:  # texts are drawn in whole pixels, so that the first try may miss
        spec = enlarge(spec, min(0.99, wanted / usual))
        usual = size_of(svg_of(spec))[side]
    return spec


def _with_plots(spec: dict[str, Any], side: str, factor: float) -> dict[str, Any]:
    """The chart with wider or higher plots; steps, from name to name, grow likewise."""
    spec = dict(spec)
    if side in spec:
        size = spec[side]
        spec[side] = {"step": size["step"] * factor} if isinstance(size, dict) else size * factor
    for name in ("hconcat", "vconcat"):
        if name in spec:
            spec[name] = [_with_plots(plot, side, factor) for plot in spec[name]]
    return spec


def _with_narrow_texts(spec: dict[str, Any], figure: Figure, width: float) -> dict[str, Any]:
    """The chart with title and legend that fit a width; in a narrow figure the legend is below the plot."""
    config = {**spec.get("config", {})}

    def narrowed(across: dict[str, Any]) -> dict[str, Any]:
        title = across.get("title")
        lines = wrapped(title, PLOT_SHARE * width, config["axis"]["titleFontSize"]) if isinstance(title, str) else title
        return _with_few_ticks({**across, "title": lines} if "title" in across else across)

    spec = _with_axes(spec, narrowed) if width < NARROW * INCH else dict(spec)
    if "title" in spec:
        heading, below = config["title"]["fontSize"], config["title"]["subtitleFontSize"]
        spec["title"] = {
            "text": wrapped(figure.title, width, heading, bold=True) or [""],
            "subtitle": [line for part in figure.subtitle.split("\n") for line in wrapped(part, width, below)],
        }
        config["title"] = {**config["title"], "frame": "bounds"}
    if width < NARROW * INCH and figure.by is not None and figure.by.column in figure.data:
        legend = config["legend"]
        longest = max(text_width(str(name), legend["labelFontSize"]) for name in figure.data[figure.by.column])
        columns = max(1, int(width // (longest + SYMBOL * legend["labelFontSize"])))
        spec = _with_columns(spec, columns)
        config["legend"] = {**legend, "orient": "bottom", "columns": columns}
    spec["config"] = config
    return spec


def _with_few_ticks(across: dict[str, Any]) -> dict[str, Any]:
    """A horizontal axis with fewer numbers."""
    axis = across.get("axis") or {}
    return {**across, "axis": {**axis, "tickCount": FEW_TICKS}} if "tickCount" in axis else across


def _with_names_that_fit(across: dict[str, Any]) -> dict[str, Any]:
    """A horizontal axis without every second name, or more of them, where they would run into each other."""
    axis = across.get("axis") or {}
    return {**across, "axis": {**axis, "labelOverlap": True}} if "labelOverlap" in axis else across


def _with_axes(part: dict[str, Any], changed: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """The chart with other horizontal axes."""
    part = dict(part)
    if isinstance(part.get("encoding", {}).get("x"), dict):
        part["encoding"] = {**part["encoding"], "x": changed(part["encoding"]["x"])}
    for name in ("layer", "hconcat", "vconcat"):
        if name in part:
            part[name] = [_with_axes(inner, changed) for inner in part[name]]
    return part


def _with_columns(part: Any, columns: int) -> Any:
    """The chart with at most this number of columns in its legends.

    >>> _with_columns({"encoding": {"fill": {"legend": {"columns": 3}}}}, 2)
    {'encoding': {'fill': {'legend': {'columns': 2}}}}
    """
    if isinstance(part, list):
        return [_with_columns(inner, columns) for inner in part]
    if not isinstance(part, dict):
        return part
    part = {name: value if name in DATA else _with_columns(value, columns) for name, value in part.items()}
    legend = part.get("legend")
    if isinstance(legend, dict) and "columns" in legend:
        part["legend"] = {**legend, "columns": min(legend["columns"], columns)}
    return part

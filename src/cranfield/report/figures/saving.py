"""Writing figures: self-contained HTML, SVG, PDF, PNG, Vega-Lite and CSV."""

from __future__ import annotations

import json
import os
import re
import sys
from functools import lru_cache
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from cranfield import _address_space
from cranfield.collection.file_formats.writing import to_delimited
from cranfield.collection.source import write_bytes
from cranfield.errors import UsageError
from cranfield.report.figures.lettering import with_widths
from cranfield.report.figures.style import INCH, Style, enlarge, fitted, size_of
from cranfield.report.figures.theme import altair, without_packages

if TYPE_CHECKING:
    from cranfield.report.figures.figure import Figure

SUFFIXES = ("html", "svg", "pdf", "png", "json", "csv")
PIXELS = 3
"""Pixels of a PNG per pixel of the figure, of which an inch has 96; so a PNG has 288 pixels per inch, and says so."""
POINTS = 72
"""Units of a PDF per inch."""
LARGER_ON_A_PAGE = 1.4
"""How much larger a figure is on a page of its own, beside the size that it has in a text."""
MOST_MARKS = 200_000
"""The most marks of a figure that are drawn; the engine has 1.4 GB for them."""
STARTS_ENGINE = "import vl_convert; vl_convert.get_local_tz()"


def check_path(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a path; raise an error if no figure can be written with it.

    >>> check_path("boxes.bmp")
    Traceback (most recent call last):
    cranfield.errors.UsageError: boxes.bmp: a figure ends in .html, .svg, .pdf, .png, .json or .csv
    """
    suffix = PurePath(path).suffix.lower().removeprefix(".")
    if suffix not in SUFFIXES:
        known = ", ".join(f".{suffix}" for suffix in SUFFIXES[:-1])
        raise UsageError(f"{os.fspath(path)}: a figure ends in {known} or .{SUFFIXES[-1]}")
    return suffix


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure; the file is complete or does not appear at all."""
    write_bytes(path, rendered(figure, check_path(path)))


def rendered(figure: Figure, suffix: str) -> bytes:
    """Return the content of a file with this suffix."""
    if suffix == "csv":
        cells = {name: [None if x != x else x for x in column.tolist()] for name, column in figure.columns().items()}
        return to_delimited(cells, ",").encode("utf-8")
    spec = specification(figure, validate=False)
    if figure.style != Style():
        spec = fitted(spec, figure, svg_of)
    if suffix == "json":
        return json.dumps(spec, ensure_ascii=False, indent=1).encode("utf-8")
    if suffix == "html":
        return page(enlarge(spec, LARGER_ON_A_PAGE), figure, bundle()).encode("utf-8")
    if suffix == "svg":
        return with_widths(svg_of(spec)).encode("utf-8")
    if suffix == "pdf":
        return bytes(converter().svg_to_pdf(_in_points(svg_of(spec))))
    # vl-convert draws `scale` times `ppi` / 72 pixels, and writes `ppi` into the file.
    size: dict[str, Any] = {"scale": POINTS / INCH, "ppi": PIXELS * INCH}
    return bytes(converter_for(spec).vegalite_to_png(_without_zoom(spec), allowed_base_urls=[], **size))


def svg_of(spec: dict[str, Any]) -> str:
    """A chart as SVG."""
    return str(converter_for(spec).vegalite_to_svg(_without_zoom(spec), allowed_base_urls=[]))


def _without_zoom(spec: dict[str, Any]) -> dict[str, Any]:
    """The chart for formats that cannot be zoomed: a figure that can be zoomed clips marks on its edge."""
    return {**spec, "params": [param for param in spec.get("params", ()) if param.get("bind") != "scales"]}


def _in_points(svg: str) -> str:
    """A figure with its size in points, which a PDF takes for pixels.

    >>> _in_points('<svg width="96" height="48" viewBox="0 0 96 48">')
    '<svg width="72" height="36" viewBox="0 0 96 48">'
    """
    size = {side: f"{pixels * POINTS / INCH:g}" for side, pixels in size_of(svg).items()}
    tag, rest = svg.split(">", 1)
    for side, points in size.items():
        tag = re.sub(rf' {side}="[^"]*"', f' {side}="{points}"', tag)
    return f"{tag}>{rest}"


def specification(figure: Figure, *, validate: bool = True) -> dict[str, Any]:
    """Return the figure in Vega-Lite, with the data as rows (charts hold it as text, see `theme.rows`).

    To `validate` it against the schema takes longer than to make it.
    """
    altair()  # the error says how to install it
    from altair.utils.schemapi import debug_mode

    with debug_mode(validate):
        spec: dict[str, Any] = figure.draw().to_dict(validate=validate)
    spec["datasets"] = {name: json.loads(text) for name, text in spec["datasets"].items()}
    return spec


def converter_for(spec: dict[str, Any]) -> Any:
    """Return vl-convert; raise an error if a figure has more data than its engine, V8, draws in its memory.

    The engine would end the whole process.
    """
    size = marks({name: len(rows) for name, rows in spec["datasets"].items()}, spec)
    if size > MOST_MARKS:
        raise UsageError(
            f"the figure {' '.join(spec['title']['text'])!r} has {size:,} marks, and at most {MOST_MARKS:,} are drawn; "
            "choose fewer runs, topics or measures, or write it as .csv or .json, which need no engine"
        )
    return converter()


def marks(sizes: dict[str, int], part: dict[str, Any], size: int = 0) -> int:
    """Return how many marks a part of a specification has, a mark for each row of its data; a layer inherits data."""
    size = sizes.get(part.get("data", {}).get("name"), size)
    parts = [inner for name in ("layer", "hconcat") for inner in part.get(name, ())]
    return size if "mark" in part else sum(marks(sizes, inner, size) for inner in parts)


def converter() -> Any:
    """Import vl-convert, which renders Vega-Lite without a browser; the error says how to install it."""
    try:
        import vl_convert
    except ImportError:
        raise without_packages() from None
    check_addresses()
    return vl_convert


@lru_cache(maxsize=1)
def check_addresses() -> None:
    """Raise an error if the engine of vl-convert, V8, cannot start under a limit of the address space.

    V8 uses 0.1 GB of memory, but reserves 64 GB of addresses; where it gets fewer, it ends the whole process. So
    another process tries it. Without a limit nothing is tried.
    """
    most = _address_space.limit()
    if most is None or not sys.executable:
        return
    import subprocess

    tried = subprocess.run([sys.executable, "-P", "-c", STARTS_ENGINE], capture_output=True, stdin=subprocess.DEVNULL)
    if tried.returncode != 0:
        raise UsageError(
            f"figures cannot be drawn, because the address space is limited to {most / 1e9:.1f} GB (ulimit -v) and the "
            "engine that draws them reserves 64 GB of addresses, though little memory; limit memory in another way "
            "(systemd's MemoryMax, Slurm's --mem), write the figure as .csv or .json, which need no engine, or make a "
            "report of sections without figures"
        )


@lru_cache(maxsize=1)
def bundle() -> str:
    """Return the scripts of Vega. Bundling them takes seconds, so it is done once."""
    return str(converter().javascript_bundle())


# The page contains all scripts and must not fetch anything. Vega compiles its expressions, which needs unsafe-eval.
PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; \
style-src 'unsafe-inline'; img-src data: blob:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 14px/1.4 Helvetica, Arial, sans-serif; margin: 1.5em; color: #000; background: #fff; }}
figure {{ margin: 0 auto; width: fit-content; max-width: 100%; }}
#picture {{ overflow-x: auto; }}
figcaption {{ color: #444; max-width: 50em; margin-top: 1em; }}
figcaption p {{ margin: 0.2em 0; }}
</style>
</head>
<body>
<figure>
<div id="picture" role="img" aria-label="{title}"></div>
<figcaption>{notes}</figcaption>
</figure>
<script type="application/json" id="specification">{spec}</script>
<script type="module">{scripts}</script>
<script type="module">
const words = document.getElementById("specification").textContent;
const actions = {{ export: true, source: false, compiled: false, editor: false }};
vegaEmbed("#picture", JSON.parse(words), {{ renderer: "svg", actions: actions }});
</script>
</body>
</html>
"""


def page(spec: dict[str, Any], figure: Figure, scripts: str) -> str:
    """Return a self-contained page. Everything is escaped, so that no name of a run can start or end a script."""
    text = json.dumps(spec, ensure_ascii=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    title, notes = escape(figure.title or "figure"), "".join(f"<p>{escape(note)}</p>" for note in figure.notes)
    return PAGE.format(title=title, notes=notes, spec=text, scripts=scripts.replace("</script", "<\\/script"))

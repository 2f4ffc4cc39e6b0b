"""Pictures as files: a page that needs nothing else, vector and pixel graphics, the specification, the numbers."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from cranfield.collection.source import write_bytes
from cranfield.collection.writing import to_delimited
from cranfield.errors import UsageError
from cranfield.report.figures.theme import MISSING

if TYPE_CHECKING:
    from cranfield.report.figures.figure import Figure

SUFFIXES = ("html", "svg", "pdf", "png", "json", "csv")
PIXELS = 3
"""Pixels of a PNG to a pixel of the picture: 288 to the inch, as printers want."""


def check_path(path: str | os.PathLike[str]) -> str:
    """The suffix of a file that a picture can be written to; an error tells those that are known.

    >>> check_path("boxes.bmp")
    Traceback (most recent call last):
    cranfield.errors.UsageError: boxes.bmp: a picture ends in .html, .svg, .pdf, .png, .json or .csv
    """
    suffix = PurePath(path).suffix.lower().removeprefix(".")
    if suffix not in SUFFIXES:
        known = ", ".join(f".{one}" for one in SUFFIXES[:-1])
        raise UsageError(f"{os.fspath(path)}: a picture ends in {known} or .{SUFFIXES[-1]}")
    return suffix


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a picture; the file appears whole or not at all."""
    write_bytes(path, rendered(figure, check_path(path)))


def rendered(figure: Figure, suffix: str) -> bytes:
    """The bytes of a file with this suffix."""
    if suffix == "csv":
        return _csv(figure).encode("utf-8")
    spec = specification(figure)
    if suffix == "json":
        return json.dumps(spec, ensure_ascii=False, indent=1).encode("utf-8")
    convert = converter()
    if suffix == "html":
        return page(spec, figure, bundle()).encode("utf-8")
    # Zooming clips what stands on the edge of a picture, and paper cannot be zoomed.
    if "params" in spec:
        spec["params"] = [one for one in spec["params"] if one.get("bind") != "scales"]
    nowhere: dict[str, Any] = {"allowed_base_urls": []}
    if suffix == "svg":
        return str(convert.vegalite_to_svg(spec, **nowhere)).encode("utf-8")
    made: bytes = (
        convert.vegalite_to_pdf(spec, **nowhere)
        if suffix == "pdf"
        else convert.vegalite_to_png(spec, scale=PIXELS, **nowhere)
    )
    return made


def specification(figure: Figure) -> dict[str, Any]:
    """The picture in Vega-Lite; data that charts hold as text (see `theme.rows`) are rows here."""
    made: dict[str, Any] = figure.draw().to_dict()
    for name, words in made["datasets"].items():
        made["datasets"][name] = json.loads(words)
    return made


def converter() -> Any:
    """The package that turns specifications into graphics, without a browser."""
    try:
        import vl_convert
    except ImportError:
        raise UsageError(MISSING) from None
    return vl_convert


@lru_cache(maxsize=1)
def bundle() -> str:
    """The scripts that a page draws with; putting them together takes seconds, so once is enough."""
    return str(converter().javascript_bundle())


# The scripts are inside and nothing may be fetched; Vega compiles its expressions, which is what unsafe-eval allows.
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
body {{ font: 15px/1.4 Helvetica, Arial, sans-serif; margin: 1.5em; color: #000; background: #fff; }}
figure {{ margin: 0; }}
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
    """A page with everything inside. Names of runs come from anywhere: none of them can end a script or begin one."""
    words = json.dumps(spec, ensure_ascii=False)
    for letter in "<>&\u2028\u2029":
        words = words.replace(letter, f"\\u{ord(letter):04x}")
    notes = "".join(f"<p>{escape(note)}</p>" for note in figure.notes)
    return PAGE.format(
        title=escape(figure.title or "picture"),
        notes=notes,
        spec=words,
        scripts=scripts.replace("</script", "<\\/script"),
    )


def _csv(figure: Figure) -> str:
    columns = {name: column.tolist() for name, column in figure.columns().items()}
    told = {name: [None if isinstance(x, float) and x != x else x for x in column] for name, column in columns.items()}
    return to_delimited(told, ",")

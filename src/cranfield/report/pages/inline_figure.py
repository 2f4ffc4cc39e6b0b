"""Figures inside a page: SVG without anything that a strict policy forbids, and small enough for many marks."""

from __future__ import annotations

import re
from typing import Any

from cranfield.report.figures.figure import Figure
from cranfield.report.figures.saving import converter_for, specification
from cranfield.report.pages.html_page import shown_text


def inline_svg(figure: Figure, name: str) -> str:
    """The figure as an `<svg>` element of a page; `name` is unique in the page.

    The labels of single marks are left out: a screen reader reads the title, and the numbers are in tables.
    """
    spec = specification(figure, validate=False)
    spec.setdefault("config", {})["aria"] = False
    spec["params"] = [param for param in spec.get("params", ()) if param.get("bind") != "scales"]
    _drop_tooltips(spec)
    svg = str(converter_for(spec).vegalite_to_svg(spec, allowed_base_urls=[]))
    return cleaned(svg, figure.title or name, name)


def cleaned(svg: str, label: str, name: str) -> str:
    """SVG for a page with other SVG: ids are unique, there are no styles and no links, and a label for all of it.

    >>> cleaned('<svg xmlns="http://www.w3.org/2000/svg"><g id="a" style="x" fill="url(#a)"/></svg>', "L", "f")
    '<svg role="img" overflow="visible" aria-label="L"><g id="f-a" fill="url(#f-a)"/></svg>'
    """
    svg = re.sub(r"<[^<>]*>", lambda tag: _cleaned_tag(tag[0], name), svg)
    # Text may be wider than was measured, if the reader has other fonts.
    return svg.replace("<svg", f'<svg role="img" overflow="visible" aria-label="{shown_text(label)}"', 1)


def _drop_tooltips(spec: dict[str, Any]) -> None:
    """Leave out what only an interactive figure shows."""
    spec.get("encoding", {}).pop("tooltip", None)
    for name in ("layer", "hconcat", "vconcat", "concat"):
        for part in spec.get(name, ()):
            _drop_tooltips(part)


def _cleaned_tag(tag: str, name: str) -> str:
    tag = re.sub(r' (?:xmlns(?::\w+)?|style|class|role|aria-\w+|pointer-events)="[^"]*"', "", tag)
    tag = re.sub(r' (?:xlink:)?href="(?!#)[^"]*"', "", tag)
    tag = re.sub(r' id="([^"]*)"', rf' id="{name}-\1"', tag)
    return re.sub(r'(url\(|href=")#', rf"\1#{name}-", tag)

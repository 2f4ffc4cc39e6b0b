"""How wide text is: by the metric of Helvetica, which Arial and Liberation Sans share, and not by the reader's fonts.

A figure in a file is laid out with this metric. Every text in it says its width, so that a reader with wider letters
sees them condensed, and no label runs into another.
"""

from __future__ import annotations

import re
from html import unescape

from cranfield.table import visible_width

REGULAR = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
    556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
    260, 334, 584,
)  # fmt: skip
BOLD = (
    278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556, 333, 556, 611, 556, 611,
    556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611, 611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389,
    280, 389, 584,
)  # fmt: skip
"""The widths of the letters from the blank to ~, in thousandths of the size: Adobe's metrics of Helvetica."""
FURTHER = {
    "−": 584,
    "–": 556,
    "—": 1000,
    "…": 1000,
    "×": 584,
    "±": 584,
    "·": 278,
    "α": 578,
    "τ": 395,
    "Δ": 668,
    "γ": 501,
}
"""The widths of other letters of our own labels, both regular and bold."""
USUAL = 560
"""The width of a letter that is not known."""
MONOSPACE = 600
ROOM = 1.15
"""How much wider the letters of a reader's fonts may be, where they are not condensed: in a page that can be zoomed."""


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a text in pixels, at a size in pixels; approximate if it has letters that are not known.

    >>> text_width("bm25", 10)
    25.01
    """
    return size * sum(_widths(text, bold)) / 1000


def wrapped(text: str, width: float, size: float, *, bold: bool = False) -> list[str]:
    """A text in lines that are at most this wide, except for a single word that is wider.

    >>> wrapped("bm25 dense", 40, 10)
    ['bm25', 'dense']
    """
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size, bold=bold) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def is_known(text: str) -> bool:
    """Are all letters known, so that the width is exact?"""
    return all(" " <= letter <= "~" or letter in FURTHER for letter in text)


def _widths(text: str, bold: bool) -> list[int]:
    table = BOLD if bold else REGULAR
    return [
        table[ord(letter) - 32] if " " <= letter <= "~" else FURTHER.get(letter, USUAL * visible_width(letter))
        for letter in text
    ]


TEXT = re.compile(r"<text ([^>]*)(?<!/)>(.*?)</text>", re.DOTALL)
LINE = re.compile(r"<tspan([^>]*)>([^<]*)</tspan>")
SHORT = 2
"""Texts that are not longer are not given a width: a single wide letter takes no room from others."""


def with_widths(svg: str) -> str:
    """A figure in SVG in which every text says how wide it is, so that wider letters of another font are condensed.

    >>> with_widths('<text fill="#000" font-size="10px">bm25</text>')
    '<text fill="#000" font-size="10px" textLength="25.01" lengthAdjust="spacingAndGlyphs">bm25</text>'
    """

    def text(element: re.Match[str]) -> str:
        look, inside = element.groups()
        if "<" not in inside:
            return f"<text {look}{_width(look, inside)}>{inside}</text>"
        lines = LINE.sub(lambda line: f"<tspan{line[1]}{_width(look, line[2])}>{line[2]}</tspan>", inside)
        return f"<text {look}>{lines}</text>"

    return TEXT.sub(text, svg)


def _width(look: str, escaped: str) -> str:
    """The attributes that say how wide a text is; none for one that is short, or has letters that are not known."""
    text = unescape(escaped)
    size = re.search(r'font-size="([\d.]+)px"', look)
    if size is None or len(text) <= SHORT or not is_known(text):
        return ""
    if "monospace" in look:
        width = float(size[1]) * MONOSPACE * len(text) / 1000
    else:
        width = text_width(text, float(size[1]), bold='font-weight="bold"' in look)
    return f' textLength="{width:.4g}" lengthAdjust="spacingAndGlyphs"'

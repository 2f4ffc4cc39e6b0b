"""What mkdocs does to every page besides its own work: formulas become MathML, which browsers draw without a script."""

from __future__ import annotations

import html
import re
from typing import Any

FORMULA = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', re.DOTALL)


def on_page_content(text: str, **_: Any) -> str:
    """Replace the formulas of a page."""
    return FORMULA.sub(_drawn, text)


def _drawn(found: re.Match[str]) -> str:
    kind, content = found.groups()
    block = kind == "div"
    latex = html.unescape(content).strip()[2:-2]  # without the marks \\[ and \\], or \\( and \\)
    return f'<div class="formula">{mathml(latex, block=block)}</div>' if block else mathml(latex)


def mathml(latex: str, *, block: bool = False) -> str:
    """A formula as MathML. A search for its letters would find every page, so it is left out of the index."""
    from latex2mathml.converter import convert

    latex = latex.replace(r"\arg", r"\text{arg}\,")  # which the converter does not know
    drawn = convert(latex, display="block" if block else "inline")
    return drawn.replace("<math ", "<math data-search-exclude ", 1)

"""Is a page accessible? On wide and narrow screens, in light and dark colours, by the rules of axe-core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

WIDE, NARROW = 1280, 390
SCHEMES = ("light", "dark")
LOOKS = tuple((width, scheme) for width in (WIDE, NARROW) for scheme in SCHEMES)
RUN = "axe.run({resultTypes: ['violations']}).then(found => found.violations)"


def still(page: Any) -> None:
    """Wait until nothing fades, because the colours in between have no contrast."""
    page.evaluate("Promise.all(document.getAnimations().map(animation => animation.finished.catch(() => null)))")


def looks(page: Any, wanted: tuple[tuple[int, str], ...] = LOOKS) -> Iterator[tuple[str, list[Any]]]:
    """The page in one look after the other, and what breaks a rule of labels, names, focus order and contrast."""
    axe = pytest.importorskip("axe_playwright_python.base", reason="axe-playwright-python is not installed")
    page.evaluate(axe.AXE_SCRIPT)
    for width, scheme in wanted:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        still(page)
        found = page.evaluate(RUN)
        yield f"{width} {scheme}", [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found]

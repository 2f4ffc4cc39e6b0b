"""The names of actions: what logs call a click, a hover or a conversion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.errors import UsageError
from cranfield.online.engines.engine import Engine
from cranfield.text import listed

MOST_ACTIONS = 1000
"""The different actions that are looked at, for notes."""

KNOWN = (
    "click", "hover", "conversion", "add_to_cart", "impression", "search", "view", "scroll", "dwell", "like", "share",
    "login", "logout", "page_exit",
)  # fmt: skip
"""The actions that are known; only clicks, hovers and conversions count in measures."""
SYNONYMS = {
    "purchase": "conversion", "buy": "conversion", "order": "conversion", "checkout": "conversion",
    "item_click": "click", "product_click": "click", "result_click": "click", "click_through": "click",
    "item_hover": "hover", "product_hover": "hover", "mouseover": "hover",
}  # fmt: skip
"""Other names of actions that logs use."""


def with_usual_actions(events: Any, named: Mapping[str, str]) -> Any:
    """The events with their actions in lower case and by their usual names; `named` are further synonyms."""
    import narwhals as nw

    synonyms = SYNONYMS | {name.lower(): kind for name, kind in named.items()}
    if wrong := [kind for kind in named.values() if kind not in KNOWN]:
        raise UsageError(f"no action {listed(map(repr, wrong))} in the column map; there are {', '.join(KNOWN)}")
    low = nw.col("action").str.to_lowercase()
    action = low
    for kind in dict.fromkeys(synonyms.values()):
        names = [name for name, meaning in synonyms.items() if meaning == kind]
        action = nw.when(low.is_in(names)).then(nw.lit(kind)).otherwise(action)
    return events.with_columns(action=action)


def renamed_actions(engine: Engine, events: Any, named: Mapping[str, str]) -> dict[str, str]:
    """The actions of a log that have another usual name, and that name."""
    synonyms = SYNONYMS | {name.lower(): kind for name, kind in named.items()}
    actions = engine.fetch(events.select("action").unique().head(MOST_ACTIONS))["action"].to_pylist()
    return {name: synonyms[name.lower()] for name in sorted(filter(None, actions)) if name.lower() in synonyms}

"""The names of actions: what logs call a click, a hover or a conversion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.errors import UsageError
from cranfield.online.engines.engine import Engine
from cranfield.text import counted, listed

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


def names_of(kind: str, named: Mapping[str, str]) -> list[str]:
    """What logs call an action, in lower case; `named` are further synonyms.

    >>> names_of("hover", {"Point_At": "hover"})
    ['hover', 'item_hover', 'product_hover', 'mouseover', 'point_at']
    """
    return [kind, *(name for name, meaning in _synonyms(named).items() if meaning == kind and name != kind)]


def _synonyms(named: Mapping[str, str]) -> dict[str, str]:
    return SYNONYMS | {name.lower(): kind for name, kind in named.items()}


def with_usual_actions(events: Any, named: Mapping[str, str]) -> Any:
    """The events with their actions in lower case and by their usual names; `named` are further synonyms."""
    import narwhals as nw

    synonyms = _synonyms(named)
    if wrong := [kind for kind in named.values() if kind not in KNOWN]:
        raise UsageError(f"no action {listed(map(repr, wrong))} in the column map; there are {', '.join(KNOWN)}")
    low = nw.col("action").str.to_lowercase()
    action = low
    for kind in dict.fromkeys(synonyms.values()):
        names = [name for name, meaning in synonyms.items() if meaning == kind]
        action = nw.when(low.is_in(names)).then(nw.lit(kind)).otherwise(action)
    return events.with_columns(action=action)


def action_counts(engine: Engine, events: Any) -> dict[str, int]:
    """How many events each action of a log has, by the names of the log; events without an action are left out."""
    import narwhals as nw

    named = events.filter(~nw.col("_unreadable"), ~nw.col("action").is_null())
    counts = engine.fetch(named.group_by("action").agg(nw.len().alias("rows")).sort("action").head(MOST_ACTIONS))
    return dict(zip(counts["action"].to_pylist(), counts["rows"].to_pylist(), strict=True))


def action_notes(counts: Mapping[str, int], named: Mapping[str, str]) -> list[str]:
    """Which actions of a log have another usual name, and which are not known.

    >>> action_notes({"buy": 2, "click": 7, "open": 3}, {})[0]
    'events: actions read as conversion: buy'
    >>> action_notes({"buy": 2, "click": 7, "open": 3}, {})[1]  # doctest: +ELLIPSIS
    "events: 3 events of unknown actions ('open') count as no click, hover or conversion; ..."
    """
    synonyms = _synonyms(named)
    renamed = [f"{synonyms[name.lower()]}: {name}" for name in counts if name.lower() in synonyms]
    unknown = [name for name in counts if name.lower() not in synonyms and name.lower() not in KNOWN]
    notes = [f"events: actions read as {listed(renamed)}"] if renamed else []
    if unknown:
        many = counted(sum(counts[name] for name in unknown), "event")
        notes.append(
            f"events: {many} of unknown actions ({listed(map(repr, unknown), most=3)}) count as no click, hover or "
            "conversion; the column map can say what they are, under [actions]"
        )
    return notes

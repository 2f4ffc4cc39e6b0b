"""Which measure has which property, as Sakai 2014 tabulates it: Fig. 6 for ranked lists, Fig. 7 for diversity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from cranfield.errors import UsageError
from cranfield.measures.base import REGISTRY, Measure, Properties
from cranfield.measures.naming.parse import parse

SHARED = {name: name.replace("_", "-") for name in ("normalised", "recall_free", "diminishing", "lengths")}
"""The rows of both figures, and their names here."""

RANKED = {"graded": "graded", **SHARED, "nonlinear": "nonlinear"}
"""The rows of Fig. 6. Discriminative power is left out: it depends on the runs as well."""

DIVERSE = {"graded": "intent grades", "intent_probabilities": "intent probabilities", **SHARED}
"""The rows of Fig. 7. The concordance test is left out: it depends on the runs as well."""

MEANINGS = {
    "graded": "a better grade can count more",
    "intent grades": "a better grade for an intent can count more",
    "intent probabilities": "intents are weighted by their probability",
    "normalised": "the best list scores 1 on every topic with relevant documents (for alpha-nDCG, nERR-IA and nNRBP "
    "the best list is found greedily, and another list can score more)",
    "recall-free": "the relevant documents that were missed need not be known",
    "diminishing": "a relevant document is worth less after another one (for the same intent), and never more",
    "lengths": "the lengths of documents or snippets count",
    "nonlinear": "readers who do not go straight down the list can be scored: by the text that they read (U), or by "
    "their moves (MP)",
}

READ_BY_INTENT = ("D-nDCG", "D#-nDCG", "D-Q", "D-U", "nDCG-IA", "Q-IA", "U-IA", "DIN-nDCG", "DIN#-nDCG", "P+Q#")
"""Diversity measures that are views of other measures: a few of very many."""


def properties_of(measure: Measure) -> Properties:
    """The properties of a measure, including what its views -IA, D-, DIN- and # change.

    >>> properties_of(parse("D#-nDCG")).intent_probabilities, properties_of(parse("nDCG-IA")).normalised
    (True, False)
    """
    properties = measure.properties
    for view in map(str, measure.split_views()[1]):
        if view == "IA":  # no list is ideal for all intents at once
            properties = properties.replace(normalised=False, intent_probabilities=True)
        if view in ("D", "DIN"):
            properties = properties.replace(intent_probabilities=properties.graded)
        if view == "DIN":  # the ideal list ignores types; which document serves an intent depends on those above it
            properties = properties.replace(normalised=False, diminishing=False, additive=False)
        if view == "#":  # an intent is found once: intent recall diminishes, and adding it to a sum keeps that
            diminishing = properties.diminishing or properties.additive
            properties = properties.replace(diminishing=diminishing, additive=False)
            if measure.cutoff is not None:  # with more intents than ranks, no list has all of them
                properties = properties.replace(normalised=False)
    return properties


UNKNOWN_IN_OTHER_LISTS = ("diminishing", "additive")
"""What a document is worth next to others depends on how the whole list is read."""


def property_values(measure: Measure) -> dict[str, Any]:
    """The properties by name; None where a view of the whole list leaves a property unknown.

    >>> plain, condensed = property_values(parse("P")), property_values(parse("P'"))
    >>> plain["additive"], condensed["additive"], condensed["recall_free"]
    (True, None, True)
    """
    unknown = UNKNOWN_IN_OTHER_LISTS if measure.split_views()[0] else ()
    return {**asdict(properties_of(measure)), **dict.fromkeys(unknown)}


def footnotes(names: Iterable[str]) -> tuple[str, ...]:
    """Notes that a table with these measures needs."""
    shown = tuple(names)
    caveats = {known: kind.caveat for known, kind in REGISTRY.items() if kind.caveat}
    return tuple(dict.fromkeys(caveats[known] for known in caveats if any(name.startswith(known) for name in shown)))


def lower_is_better(measure: str) -> bool:
    """Whether low scores are good; False for a name that is not a measure.

    Names can come from files of scores, so `module:name` imports nothing.

    >>> lower_is_better("AP"), lower_is_better("my own"), lower_is_better("this:s")
    (False, False, False)
    """
    return better_of(measure) == "lower"


def better_of(measure: str) -> str:
    """Which scores are good, `higher`, `lower` or `neither`; `higher` for a name that is not a measure."""
    try:
        return parse(measure).properties.better
    except UsageError:
        return "higher"


def range_of(measure: str) -> tuple[float, float] | None:
    """The lowest and the highest possible score, perhaps infinite; None for a name that is not a measure.

    >>> range_of("AP"), range_of("DCG@10"), range_of("my own")
    ((0.0, 1.0), (0.0, inf), None)
    """
    try:
        properties = parse(measure).properties
    except UsageError:
        return None
    return float(properties.low), float(properties.high)


def ranked() -> dict[str, Properties]:
    """Fig. 6: every measure except the diversity measures."""
    return {name: kind.properties for name, kind in REGISTRY.items() if kind.needs != "intents"}


def diverse() -> dict[str, Properties]:
    """Fig. 7: every diversity measure, and a few measures read by intent."""
    own = {name: kind.properties for name, kind in REGISTRY.items() if kind.needs == "intents"}
    return own | {name: properties_of(parse(name)) for name in READ_BY_INTENT}

"""What measures are like, as Sakai 2014 tabulates it: Fig. 6 for ranked lists, Fig. 7 for topics with intents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from cranfield.errors import UsageError
from cranfield.measures.base import REGISTRY, Measure, Properties
from cranfield.measures.difficulty import A_READING, AlphaSharpIA
from cranfield.measures.naming.parse import parse
from cranfield.views.by_intent import ByIntent, GlobalGain, Sharp

RANKED = {
    "graded": "graded",
    "normalised": "normalised",
    "recall_free": "recall-free",
    "diminishing": "diminishing",
    "lengths": "lengths",
    "nonlinear": "nonlinear",
}
"""The rows of Fig. 6 and what they are called here. Discriminative power is no property of a measure alone."""

DIVERSE = {
    "graded": "intent grades",
    "intent_probabilities": "intent probabilities",
    "normalised": "normalised",
    "recall_free": "recall-free",
    "diminishing": "diminishing",
    "lengths": "lengths",
}
"""The rows of Fig. 7. The concordance test, too, needs runs to be tried on."""

MEANINGS = {
    "graded": "a better grade can count more",
    "intent grades": "a better grade for an intent can count more",
    "intent probabilities": "intents count by their probability",
    "normalised": "the best list scores 1 on every topic that has relevant documents (by alpha-nDCG, nERR-IA and nNRBP "
    "the one found greedily, and another can score more)",
    "recall-free": "relevant documents that were missed need not be known",
    "diminishing": "a relevant document is worth less after another one (for the same intent), and never more",
    "lengths": "the lengths of documents or snippets count",
    "nonlinear": "text that was read in any order can be scored",
}

READ_BY_INTENT = ("D-nDCG", "D#-nDCG", "D-Q", "D-U", "nDCG-IA", "Q-IA", "U-IA", "DIN-nDCG", "DIN#-nDCG", "P+Q#")
"""Measures of diversity that are views of others; some of very many."""


def properties_of(measure: Measure) -> Properties:
    """What a measure is like when it is read by intent, by global gain, or with intent recall beside it.

    >>> properties_of(parse("D#-nDCG")).intent_probabilities, properties_of(parse("nDCG-IA")).normalised
    (True, False)
    """
    told = measure.properties
    for view in measure.split_views()[1]:
        if isinstance(view, ByIntent):
            # no list is ideal for all intents at once
            told = replace(told, normalised=False, intent_probabilities=True)
        elif isinstance(view, GlobalGain):
            told = replace(told, intent_probabilities=told.graded)
            if view.din:
                # the ideal list knows nothing of types; and which document serves an intent depends on those above
                told = replace(told, normalised=False, diminishing=False, additive=False)
        elif isinstance(view, Sharp):
            # an intent is found once: intent recall diminishes, and what is just added to it does not make up for it
            told = replace(told, diminishing=told.diminishing or told.additive, additive=False)
            if measure.cutoff is not None:  # where there are more intents than ranks, no list has all of them
                told = replace(told, normalised=False)
    return told


OF_ALL_DOCUMENTS = ("diminishing", "additive")
"""What a document is worth beside others depends on how the whole list is read."""


def told_of(measure: Measure) -> dict[str, Any]:
    """What a measure is like, by name; None where that is not known, because the list is read in another way.

    >>> told_of(parse("P"))["additive"], told_of(parse("P'"))["additive"], told_of(parse("P'"))["recall_free"]
    (True, None, True)
    """
    unknown = OF_ALL_DOCUMENTS if measure.split_views()[0] else ()
    return {**asdict(properties_of(measure)), **dict.fromkeys(unknown)}


def footnotes(shown: Iterable[str]) -> tuple[str, ...]:
    """What a reader of these names must know besides."""
    family = tuple(name for name, kind in REGISTRY.items() if issubclass(kind, AlphaSharpIA))
    return (A_READING,) if any(name.startswith(family) for name in shown) else ()


def lower_is_better(measure: str) -> bool:
    """As the measure says of itself; a name that is no measure's: higher is better.

    Names come from files of scores, too, and `module:name` in one imports nothing.

    >>> lower_is_better("AP"), lower_is_better("my own"), lower_is_better("this:s")
    (False, False, False)
    """
    try:
        return parse(measure, modules=False).properties.better == "lower"
    except UsageError:
        return False


def is_diverse(measure: Measure) -> bool:
    """Does it look at the intents of a topic?"""
    return measure.needs == "intents" or bool(measure.split_views()[1])


def ranked() -> dict[str, Properties]:
    """Fig. 6, filled: every measure but those of diversity."""
    return {name: kind.properties for name, kind in REGISTRY.items() if kind.needs != "intents"}


def diverse() -> dict[str, Properties]:
    """Fig. 7, filled: every measure of diversity, and some that others become when they are read by intent."""
    own = {name: kind.properties for name, kind in REGISTRY.items() if kind.needs == "intents"}
    return own | {name: properties_of(parse(name)) for name in READ_BY_INTENT}

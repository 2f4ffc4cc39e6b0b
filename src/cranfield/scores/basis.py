"""What scores were computed from: judgments, measures and rules, so that unlike scores are not compared unseen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from cranfield.errors import NotedWarning, warn_caller
from cranfield.notes import caution_note
from cranfield.text import counted, listed

CHANGES = ("judgments", "topics", "measures", "rules")
"""What two evaluations may differ in."""
_SHOWN = 3


class Facts(NamedTuple):
    """What scores depend on, apart from the runs."""

    judgments: Mapping[str, str]
    """For each topic, a digest of its judgments. The order of lines and the form of the file do not change it."""
    measures: Mapping[str, str]
    """For each name, the measure with all its parameters; for a measure of the user's, also a digest of its file."""
    rules: Mapping[str, str]
    """How runs were read and ranked, by the names of the arguments of `evaluate`; side files by a digest."""


class Basis:
    """What scores were computed from. Digests are computed when they are needed, such as when scores are saved."""

    def __init__(self, facts: Facts | Callable[[], Facts]) -> None:
        self._given = facts

    @cached_property
    def facts(self) -> Facts:
        return self._given if isinstance(self._given, Facts) else self._given()

    def __reduce__(self) -> tuple[Any, ...]:
        return Basis, (self.facts,)

    def with_rule(self, name: str, value: str) -> Basis:
        """The basis of scores that were changed afterwards, such as standardised."""
        return Basis(lambda: self.facts._replace(rules={**self.facts.rules, name: value}))

    def plain(self, topics: Iterable[str], measures: Iterable[str]) -> dict[str, dict[str, str]]:
        """As JSON holds it, for some topics and measures."""
        judgments, definitions, rules = self.facts
        return {
            "judgments": {topic: judgments[topic] for topic in topics if topic in judgments},
            "measures": {name: definitions[name] for name in measures if name in definitions},
            "rules": dict(rules),
        }

    def digests(self, topics: Iterable[str], measures: Iterable[str]) -> dict[str, str]:
        """One digest for each kind of change, whatever the order of topics and measures."""
        parts: dict[str, Any] = self.plain(topics, measures)
        parts["topics"] = sorted(parts["judgments"])
        return {kind: _digest(json.dumps(parts[kind], sort_keys=True)) for kind in CHANGES}

    @staticmethod
    def of_plain(data: object) -> Basis | None:
        """The basis that `plain` describes; None if it is not one."""
        if not isinstance(data, Mapping):
            return None
        parts = [data.get(name) for name in Facts._fields]
        texts = [
            {str(key): str(value) for key, value in part.items()} if isinstance(part, Mapping) else None
            for part in parts
        ]
        return None if None in texts else Basis(Facts(*texts))  # type: ignore[arg-type]

    @staticmethod
    def union(bases: Sequence[Basis | None]) -> Basis | None:
        """The basis of scores that are combined; None if one of them is not known, or if two differ."""
        known = [basis for basis in bases if basis is not None]
        if not known or len(known) < len(bases) or any(known[0].changes(other) for other in known[1:]):
            return None
        merged: list[dict[str, str]] = [{}, {}, {}]
        for basis in known:
            for whole, part in zip(merged, basis.facts, strict=True):
                if any(whole.get(key, value) != value for key, value in part.items()):
                    return None
                whole.update(part)
        return Basis(Facts(*merged))

    def changes(self, before: Basis) -> dict[str, str]:
        """What differs from an earlier evaluation, on the topics and measures that both have: {kind: sentence}."""
        changes: dict[str, str] = {}
        now, then = self.facts, before.facts
        topics = [topic for topic in now.judgments if topic in then.judgments]
        changed = [topic for topic in topics if now.judgments[topic] != then.judgments[topic]]
        if changed:
            changes["judgments"] = (
                f"the judgments of {len(changed)} of {counted(len(topics), 'topic')} differ ({listed(changed, _SHOWN)})"
            )
        names = [name for name in now.measures if then.measures.get(name, now.measures[name]) != now.measures[name]]
        if names:
            changes["measures"] = _were("measures", {name: (now.measures[name], then.measures[name]) for name in names})
        keys = [key for key in {**now.rules, **then.rules} if now.rules.get(key) != then.rules.get(key)]
        if keys:
            pairs = {key: (now.rules.get(key, "none"), then.rules.get(key, "none")) for key in keys}
            changes["rules"] = _were("rules", pairs)
        return changes


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _were(what: str, pairs: Mapping[str, tuple[str, str]]) -> str:
    """The sentence about values that differ, with each now and before."""
    shown = [f"{name} is {now}, was {then}" for name, (now, then) in pairs.items()]
    return f"the {what} differ ({listed(shown, _SHOWN)})"


def changed_topics(now: Sequence[str], before: Sequence[str]) -> str:
    """The sentence about topics that only one of two evaluations has; empty if both have the same.

    >>> changed_topics(["1", "2"], ["2", "3", "4"])
    'the topics differ (new: 1; gone: 3, 4)'
    """
    in_both = set(now) & set(before)
    new, gone = ([topic for topic in topics if topic not in in_both] for topics in (now, before))
    parts = [f"{word}: {listed(topics, _SHOWN)}" for word, topics in (("new", new), ("gone", gone)) if topics]
    return f"the topics differ ({'; '.join(parts)})" if parts else ""


def warn_of_unlike(names: Sequence[str], bases: Sequence[Basis | None], kinds: Iterable[str] = CHANGES) -> list[str]:
    """Warn of scores that were computed from something else than the first ones; return the warnings, for notes.

    Scores without a basis are not compared: nobody knows what they were computed from.
    """
    known = [(name, basis) for name, basis in zip(names, bases, strict=True) if basis is not None]
    notes = []
    for name, basis in known[1:]:
        first, before = known[0]
        if sentences := [text for kind, text in basis.changes(before).items() if kind in kinds]:
            notes.append(caution_note(f"{name} is not like {first}: {'; '.join(sentences)}"))
    more = len(notes) - _SHOWN
    if more > 1:
        notes[_SHOWN:] = [caution_note(f"{more} more files are not like {known[0][0]}")]
    for note in notes:
        warn_caller(note, NotedWarning)
    return notes

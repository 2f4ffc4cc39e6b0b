"""The basis of an evaluation: digests of its judgments and side files, its measures and its rules."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from cranfield.assessed.intent_files import DISTRIBUTIONS
from cranfield.assessed.join import PreparedJudgments
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lengths import LengthTable
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import load
from cranfield.measures import Measure
from cranfield.measures.definition import definition
from cranfield.scores.basis import Basis, Facts

RULES = ("ties", "precision", "on_duplicate", "depth", "missing_length", "strata", "empty_intents")
"""The options of a join that change scores and are plain values."""
SIDE = ("intent_probabilities", "intent_types", "lengths", "inclusion", "topic_numbers", "together")
"""Those that hold data."""


COLUMN_2 = {"intents": "intent", "sample": "stratum"}
"""What column 2 of the judgments means if they have one of these attachments."""


def basis_of(prepared: PreparedJudgments, measures: Sequence[Measure], missing: str) -> Basis:
    """The basis of the scores of runs that are joined with these judgments."""
    column_2 = next((COLUMN_2[name] for name in prepared.attachments if name in COLUMN_2), "")
    return Basis(partial(_facts, prepared.qrels, tuple(measures), missing, prepared.options, column_2))


def _facts(qrels: Qrels, measures: Sequence[Measure], missing: str, options: JoinOptions, column_2: str) -> Facts:
    rules = {"missing": missing, "order": options.order or "score"}
    rules |= {name: "none" if (value := getattr(options, name)) is None else str(value) for name in RULES}
    rules["column 2"] = column_2 or "ignored"
    rules |= {name: digest_of(getattr(options, name)) for name in SIDE if getattr(options, name) is not None}
    for name, judgments in (options.dimensions or {}).items():
        rules[f"dimension {name}"] = digest_of(judgments)
    return Facts(
        judgment_digests(qrels, labels_count=bool(column_2)),
        {str(measure): definition(measure) for measure in measures},
        rules,
    )


def judgment_digests(qrels: Qrels, *, labels_count: bool = False) -> dict[str, str]:
    """For each topic a digest of its judgments, whatever their order; column 2 only if it has a meaning.

    >>> one, two = Qrels.of(b"1 0 a 1\\n1 0 b 0\\n"), Qrels.of(b"1 0 b 0\\n1 0 a 1\\n")
    >>> judgment_digests(one) == judgment_digests(two), judgment_digests(one)
    (True, {'1': 'bfcaf8cda72ad4e5'})
    """
    digests = qrels.table.digests(labels_count).tolist()
    return {topic: f"{digest:016x}" for topic, digest in zip(qrels.topics, digests, strict=True)}


def digest_of(thing: Any) -> str:
    """A digest of a side file or mapping: the same for all orders of lines and for a compressed file."""
    if isinstance(thing, Qrels):
        return _digest(f"{topic} {digest}" for topic, digest in judgment_digests(thing, labels_count=True).items())
    if isinstance(thing, LengthTable):
        columns = [column.tolist() for column in thing.columns.values()]
        return _digest([*thing.columns, *map(repr, zip(thing.documents, *columns, strict=True))])
    if isinstance(thing, Mapping):
        return _digest(f"{key!s} {_sorted(value)}" for key, value in thing.items())
    if isinstance(thing, str) and thing in (*DISTRIBUTIONS, "-"):
        return "standard input" if thing == "-" else thing
    if isinstance(thing, str | os.PathLike):
        if not os.path.isfile(thing):
            return "unknown"  # a pipe, which can be read only once
        lines = bytes(load(thing)).decode("utf-8", "surrogateescape").splitlines()
        return _digest(line.strip() for line in lines if line.strip())
    return repr(thing)


def _sorted(value: Any) -> str:
    """A value of a mapping as text that does not depend on the order of keys."""
    if isinstance(value, Mapping):
        return repr(sorted((str(key), _sorted(entry)) for key, entry in value.items()))
    return repr(value)


def _digest(lines: Any) -> str:
    total = hashlib.blake2b(digest_size=8)
    for line in sorted(lines):
        total.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return total.hexdigest()

"""How runs are read and ranked, and what is known of documents and intents besides."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from cranfield import check
from cranfield.assessed.lengths import check_assumed
from cranfield.errors import UsageError

LONGEST = 2**31 - 1
"""No list has more documents."""


@dataclass(frozen=True)
class JoinOptions:
    """How runs are read and ranked."""

    order: str | None = None
    """`score` (descending, ties by document id descending, as trec_eval), `rank` or `file`; None: `score` where there
    are scores, else `rank`."""
    precision: int = 64
    """Bits in which scores are compared: 64, or 32 as trec_eval up to version 9."""
    on_duplicate: str = "error"
    """A document twice in a list or in a topic's judgments: `error`, or keep the `first`, or the one with the `max`
    score or grade (by order `rank`: with the best rank)."""
    depth: int | None = None
    """Look at this many documents of each list only."""
    format: str | None = None
    """Format of the run files; None: detected."""
    threads: int | None = None
    """How many threads read; None: as many as there are cores. The answer is the same at any number."""

    intent_probabilities: Any = None
    """Pr(intent | topic) for judgments with intents: {topic: {intent: p}}, a file, `uniform`, or `nonuniform` (every
    intent half as likely as the one before); None: all the same."""
    intent_types: Any = None
    """`informational` or `navigational` for each intent, given likewise; None: all informational."""
    lengths: Any = None
    """How long documents are, for TBG and U: {document: length}, a frame, or a file with lines `doc length`."""
    missing_length: float | str | None = None
    """The length to assume of a document that `lengths` lacks: a number, or `mean`; None: that is an error."""
    inclusion: Any = None
    """How likely documents were to be drawn for judging, for statAP: {topic: {doc: probability}}, or a file."""
    dimensions: Any = None
    """Judgments of further dimensions of relevance, for uRBP, cRBP, CAM and MM: {name: qrels}."""
    scores: bool = False
    """Keep the scores of all retrieved documents, for ADM; `evaluate` and `explain` see to it themselves."""

    def __post_init__(self) -> None:
        if self.order is not None:
            check.one_of("join", ("score", "rank", "file"), order=self.order)
        check.one_of("join", ("error", "first", "max"), on_duplicate=self.on_duplicate)
        if self.precision not in (32, 64):
            raise UsageError(f"precision == {self.precision!r}, must be 64 or 32")
        for name, value in (("depth", self.depth), ("threads", self.threads)):
            if value is not None and (not isinstance(value, Integral) or isinstance(value, bool) or value < 1):
                raise UsageError(f"{name} == {value!r}, must be a whole number, 1 or more")
        check_assumed(self.missing_length)

    def core(self, order: str) -> dict[str, Any]:
        depth = min(self.depth or 0, LONGEST)
        return {"order": self.order or order, "single_precision": self.precision == 32, "depth": depth}

"""How runs are read and ranked, in how much memory, and data about documents and intents beyond the judgments."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, replace
from math import inf
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from cranfield import check
from cranfield.collection.file_formats.blocks import WHOLE
from cranfield.collection.run import check_order
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from concurrent.futures import Executor

EMPTY_INTENTS = ("renormalise", "keep")


@dataclass(frozen=True)
class Sharding:
    """How run files are joined in parts: groups of files, and ranges of topics of a large file."""

    shards: int | None = None
    """About how many parts; None: parts of 256 MB."""
    resume: str | os.PathLike[str] | None = None
    """A folder that keeps the hits of parts; those that are there already are not read again."""
    executor: Executor | None = None
    """What joins the parts, such as a `ProcessPoolExecutor`; None: one after the other in this process."""

    def __post_init__(self) -> None:
        if self.shards is not None:
            check.whole("", shards=self.shards)
        if self.executor is not None and not callable(getattr(self.executor, "submit", None)):
            raise UsageError(f"executor == {self.executor!r}, must be an executor of concurrent.futures")


@dataclass(frozen=True)
class JoinOptions:
    """How runs are read and ranked."""

    order: str | None = None
    """`score` (descending), `rank` or `file`; None: `score` for runs with scores, else `rank`."""
    ties: str = "z-a"
    """The order of documents with equal scores: by id, descending (`z-a`, as in trec_eval) or ascending (`a-z`), or as
    in the `file`."""
    precision: int = 64
    """Bits in which scores are compared: 64, or 32 as in trec_eval up to version 9."""
    on_duplicate: str = "error"
    """If a document appears twice in a list or in the judgments of a topic: `error`, or keep the `first`, or the one
    with the `max` score or grade (in order `rank`: with the best rank)."""
    depth: int | None = None
    """Read only this many documents of each list."""
    format: str | None = None
    """Format of the run files; None: detected."""
    split_tags: bool = False
    """Read a run for each tag of a file; else a file is one run, whatever its tags."""
    threads: int | None = None
    """Number of threads that read; None: the number of cores. The result does not depend on it."""
    memory: int | str | None = None
    """The most memory that the process may use while it reads runs: a number of bytes, or a text such as `1GB`; None:
    as much as is fast. The result does not depend on it."""
    sharding: Sharding | None = None
    """Join run files in parts, in other processes or with a folder that keeps them; None: in one go."""

    intent_probabilities: Any = None
    """Pr(intent | topic) for judgments with intents: {topic: {intent: p}}, a file, `uniform`, or `nonuniform` (every
    intent half as likely as the one before it); None: all equally likely."""
    intent_types: Any = None
    """`informational` or `navigational` for each intent: {topic: {intent: type}} or a file; None: all informational."""
    lengths: Any = None
    """Document lengths, for TBG and U: {document: length}, a frame, or a file with lines `doc length`."""
    missing_length: float | str | None = None
    """The length to assume for a document that is not in `lengths`: a number, or `mean`; None: this is an error."""
    strata: bool = False
    """Column 2 of the judgments is the stratum that a document was drawn from; grade -1: it was not drawn. Without
    this, column 2 is the stratum if most grades are -1, if `inclusion` is given, or if a measure estimates from strata
    and some grade is -1."""
    inclusion: Any = None
    """Probabilities with which documents were drawn for judging, for statAP: {topic: {doc: probability}}, or a file."""
    dimensions: Any = None
    """Judgments in further dimensions of relevance, for uRBP, cRBP, CAM, MM and TOMA: {name: qrels}."""
    scores: bool = False
    """Keep the scores of all retrieved documents, for ADM; `evaluate` and `explain` set this if a measure needs it."""
    sampled: bool = False
    """A measure estimates from strata; `evaluate` and `explain` set this."""
    empty_intents: str = "renormalise"
    """Intents without relevant documents: `renormalise` leaves them out and gives their probability to the others;
    `keep` keeps them with their probability, as NTCIREVAL does, though no document can serve them."""
    topic_numbers: Any = None
    """Parameters that differ by topic: N for WSS, LastRel, ESL, Accuracy and others, alpha for measures with
    `alpha="topic"`. {name: {topic: number}}, or a file with lines `topic N` or a header `topic,N,alpha`."""

    together: Any = None
    """Sets of documents that are relevant only together: {topic: {set: [document]}}, or a file with lines `topic set
    doc`. A set counts once, at the rank of its last document."""

    def __post_init__(self) -> None:
        check_order("", self.order, self.ties)
        check.one_of("", ("error", "first", "max"), on_duplicate=self.on_duplicate)
        check.one_of("", EMPTY_INTENTS, empty_intents=self.empty_intents)
        if self.precision not in (32, 64):
            raise UsageError(f"precision == {self.precision!r}, must be 64 or 32")
        for name, value in (("depth", self.depth), ("threads", self.threads)):
            if value is not None and (not isinstance(value, Integral) or isinstance(value, bool) or value < 1):
                raise UsageError(f"{name} == {value!r}, must be a whole number, 1 or more")
        if self.memory is not None:
            size_in_bytes(self.memory)
        length = self.missing_length
        number = isinstance(length, Real) and not isinstance(length, bool) and 0 <= float(length) < inf
        if length is not None and length != "mean" and not number:
            raise UsageError(f"missing_length == {length!r}, must be a number, 0 or above, or 'mean'")

    def read(self) -> JoinOptions:
        """The same options with lengths and dimensions read from files, for several joins."""
        changes: dict[str, Any] = {}
        if self.lengths is not None:
            from cranfield.assessed.lengths import LengthTable

            changes["lengths"] = LengthTable.of(self.lengths)
        if self.dimensions is not None:
            from cranfield.assessed.dimensions import named_qrels

            changes["dimensions"] = named_qrels(self.dimensions, self.on_duplicate)
        return replace(self, **changes) if changes else self

    @property
    def described_intents(self) -> bool:
        """Whether probabilities or types of intents are given."""
        return self.intent_probabilities is not None or self.intent_types is not None


CHUNK = 4 << 20
"""What a thread reads at a time, in bytes."""
SMALLEST_CHUNK = 1 << 18
PER_BYTE = 14
"""Memory for each byte that is read at a time, at most: a line may have 6 bytes, and take 80 until it is ranked."""
LEAST = 32 << 20
"""Too little to read anything with."""
UNKNOWN = 100 << 20
"""About what Python, numpy and this package use, where the system does not tell."""


@dataclass(frozen=True)
class MemoryPlan:
    """Sizes in bytes for `_core.join_files`; 0: its default."""

    threads: int
    chunk: int = 0
    window: int = 0
    scattered: int = 0
    most: int = 0
    whole: int = WHOLE
    """Up to this many bytes of a compressed file or a pipe are read as a whole."""

    @property
    def sizes(self) -> dict[str, Any]:
        """The arguments of `_core.join_files`."""
        return {"chunk": self.chunk, "window": self.window, "scattered": self.scattered, "most": self.most}


def memory_plan(memory: int | str | None, threads: int) -> MemoryPlan:
    """How to stay within `memory` bytes; the process, with the judgments, already uses a part of them."""
    if memory is None:
        return MemoryPlan(threads)
    limit, used = size_in_bytes(memory), resident_bytes()
    free = limit - used
    if free < LEAST:
        raise UsageError(
            f"memory == {memory!r}, but the program and the judgments already use {in_megabytes(used)}; "
            f"allow at least {in_megabytes(used + 2 * LEAST)}"
        )
    window = min(free // 4 // PER_BYTE, 2 * CHUNK * threads)
    threads = max(1, min(threads, window // (2 * SMALLEST_CHUNK)))
    return MemoryPlan(
        threads,
        min(CHUNK, max(1, window // (2 * threads))),
        window,
        free * 3 // 10,
        free * 7 // 10,
        min(WHOLE, free // 8),
    )


def size_in_bytes(size: Any) -> int:
    """A number of bytes, or a text such as `500MB` or `1GB`.

    >>> size_in_bytes("1GB"), size_in_bytes("1.5k"), size_in_bytes(4096)
    (1073741824, 1536, 4096)
    """
    if isinstance(size, int) and not isinstance(size, bool) and size > 0:
        return size
    text = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?", size.strip().upper()) if isinstance(size, str) else None
    if text is None or float(text[1]) == 0:
        raise UsageError(f"memory == {size!r}, must be a number of bytes, such as '500MB' or '1GB'")
    return int(float(text[1]) * 1024 ** " KMGT".index(text[2] or " "))


def resident_bytes() -> int:
    """The memory that the process uses at present."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:
        return UNKNOWN
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def in_megabytes(size: int) -> str:
    """
    >>> in_megabytes(150_000_000)
    '144 MB'
    """
    return f"{-(-size // 2**20):,} MB"

"""Reading runs and qrels, ranking, joining, resampling: the loops numpy cannot do."""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

Fault = tuple[int, int, str]
"""Which source, which line, what is wrong."""

class Joined(TypedDict):
    names: list[str]
    sources: list[int]
    retrieved: NDArray[np.int32]
    missing: NDArray[np.uint8]
    unjudged_topics: list[list[str]]
    row: NDArray[np.int64]
    rank: NDArray[np.int32]
    tie_first: NDArray[np.int32]
    tie_last: NDArray[np.int32]
    document: NDArray[np.int32]
    """The number of each hit among the judged documents, for which `Judged.grade` has the grade."""
    dropped: int
    documents: int
    numbers: NDArray[np.int32]
    """Of every retrieved document, list by list in rank order: its number in `numbers`, or -1; empty if not asked."""
    unknown: list[str]
    """The documents that have no number there."""
    scores: NDArray[np.float64]
    """Of every retrieved document, list by list in rank order: what it was ranked by; empty if not asked."""

class Table:
    def __len__(self) -> int: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def sources(self) -> list[int]: ...
    @property
    def topics(self) -> list[str]: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def dropped(self) -> int: ...
    @property
    def list_name(self) -> NDArray[np.int32]: ...
    @property
    def list_topic(self) -> NDArray[np.int32]: ...
    @property
    def list_start(self) -> NDArray[np.int64]: ...
    @property
    def values(self) -> NDArray[np.float64]: ...
    @property
    def ranks(self) -> NDArray[np.float64]: ...
    @property
    def label(self) -> NDArray[np.int32]: ...
    @property
    def lines(self) -> NDArray[np.int64]: ...
    def take(self, rows: NDArray[np.int64], name: str) -> Table: ...
    def renamed(self, name: str) -> Table: ...
    def docs(self, begin: int, end: int) -> list[str]: ...
    def order(self, list: int, order: str, single_precision: bool) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...

class Judged:
    @property
    def topics(self) -> list[str]: ...
    @property
    def start(self) -> NDArray[np.int64]: ...
    @property
    def grade(self) -> NDArray[np.float64]: ...
    @property
    def dropped(self) -> int: ...

def read(
    sources: Sequence[Any],
    columns: Sequence[str],
    delimiter: str,
    header: bool,
    expected: str,
    qrels: bool,
    on_duplicate: str,
    threads: int,
    most_faults: int,
    keep_lines: bool = False,
) -> tuple[Table, list[Fault]]: ...
def table_from_dict(lists: dict[Any, Any], name: str, what: str) -> Table: ...
def table_from_columns(
    names: list[Any] | None,
    topics: list[Any],
    docs: list[Any],
    values: list[Any],
    ranks: list[Any] | None,
    labels: list[Any] | None,
    on_duplicate: str,
    what: str,
) -> Table: ...
def judged(table: Table, on_duplicate: str) -> Judged: ...
def join_files(
    judged: Judged,
    sources: Sequence[Any],
    columns: Sequence[str],
    delimiter: str,
    header: bool,
    expected: str,
    order: str,
    single_precision: bool,
    on_duplicate: str,
    depth: int,
    threads: int,
    progress: Callable[[int, int], None] | None,
    numbers: Judged | None = None,
    scores: bool = False,
) -> tuple[Joined | None, list[Fault]]: ...
def join_tables(
    judged: Judged,
    tables: Sequence[Table],
    order: str,
    single_precision: bool,
    depth: int,
    threads: int = 1,
    numbers: Judged | None = None,
    scores: bool = False,
) -> Joined: ...
def join_dicts(
    judged: Judged,
    runs: Sequence[tuple[str, dict[Any, Any]]],
    order: str,
    single_precision: bool,
    depth: int,
    numbers: Judged | None = None,
    scores: bool = False,
) -> Joined: ...
def by_document(table: Table, place: NDArray[np.int64]) -> tuple[Judged, NDArray[np.int64], NDArray[np.int64]]:
    """Every document once, by topic and id, with its highest grade; the rows sorted by document and by the place of
    their label; and where those of each document begin."""

def documents_by_intent(
    table: Table, place: NDArray[np.int64]
) -> tuple[
    Judged,
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
]:
    """Every document once, with its highest grade, and where its entries begin; of every entry the intent and the
    grade; of every intent the list and the label; the same of intents without relevant documents, which are left out.
    """

def intents_before(
    row: NDArray[np.int64],
    document: NDArray[np.int64],
    intents: NDArray[np.int64],
    start: NDArray[np.int64],
    nth: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Hits by entry: (hit, entry, how many hits above in the list have an entry for the same intent)."""

def hits_by_intent(
    row: NDArray[np.int64],
    document: NDArray[np.int64],
    intents: NDArray[np.int64],
    start: NDArray[np.int64],
    nth: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Hits by entry, sorted by list and intent: (number of the list and intent, hit, entry)."""

def lists_by_intent(
    row: NDArray[np.int64],
    document: NDArray[np.int64],
    intents: NDArray[np.int64],
    start: NDArray[np.int64],
    nth: NDArray[np.int32],
    rank: NDArray[np.int32],
    grade: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """The same as lists: (where each list by intent begins; of every hit there: 1 for the first, 2 for the next, ...;
    its rank; the grade of the entry)."""

def greedy_ideal(
    topic_start: NDArray[np.int64],
    intents: NDArray[np.int64],
    start: NDArray[np.int64],
    nth: NDArray[np.int32],
    worth: NDArray[np.float64],
    lasting: float,
    depth: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The greedy ideal list of each topic: (where it begins, what it gains at every rank down to `depth`).

    `worth` is that of each entry; where it is empty every one is worth 1.
    """

def flip_counts(
    scores: NDArray[np.float64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    limits: NDArray[np.float64],
    two_sided: bool,
    all: bool,
    seed: int,
    begin: int,
    end: int,
    threads: int,
) -> NDArray[np.int64]: ...
def bootstrap_counts(
    centred: NDArray[np.float64],
    largest: NDArray[np.float64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    limits: NDArray[np.float64],
    two_sided: bool,
    seed: int,
    begin: int,
    end: int,
    threads: int,
    kept: NDArray[np.float64],
    sizes: NDArray[np.int64],
    floors: NDArray[np.float64],
) -> NDArray[np.int64]: ...
def bootstrap_borderline(
    centred: NDArray[np.float64],
    largest: NDArray[np.float64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    limits: NDArray[np.float64],
    wanted: int,
    seed: int,
    resamples: int,
    threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
def last_of_largest(
    kept: NDArray[np.float64], sizes: NDArray[np.int64], floors: NDArray[np.float64]
) -> NDArray[np.float64]: ...
def permuted_ranges(
    scores: NDArray[np.float64], seed: int, begin: int, end: int, threads: int
) -> NDArray[np.float64]: ...
def two_sample_differences(
    values: NDArray[np.float64], in_x: int, from_: str, summary: str, seed: int, begin: int, end: int, threads: int
) -> NDArray[np.float64]: ...
def parse_number(text: bytes) -> float | None: ...

"""
Reading runs and judgments, ranking, joining, resampling, comparing texts: the loops that numpy cannot do.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import numpy
from numpy.typing import NDArray

class Joined(TypedDict):
    """The hits of a join, sorted by list and rank."""

    names: list[str]
    sources: list[int]
    tags: list[list[str]]
    """For each run, the tags of its file; several if they are read as one run."""
    several: NDArray[numpy.int32]
    """For each run, the number of judged lists with several documents."""
    rising: NDArray[numpy.int32]
    """For each run, the number of those whose scores only rise along the file."""
    level: NDArray[numpy.int32]
    """For each run, the number of those whose scores are all equal."""
    retrieved: NDArray[numpy.int32]
    """For each list (run × judged topic), the number of retrieved documents."""
    missing: NDArray[numpy.uint8]
    """For each list, 1 if the run lacks the topic."""
    unjudged_topics: list[list[str]]
    """For each run, its topics without judgments."""
    row: NDArray[numpy.int64]
    """For each hit, its list."""
    rank: NDArray[numpy.int32]
    tie_first: NDArray[numpy.int32]
    tie_last: NDArray[numpy.int32]
    document: NDArray[numpy.int32]
    """For each hit, its number among the judged documents."""
    dropped: int
    """The number of duplicate lines that were dropped."""
    documents: int
    """The number of retrieved documents, with or without judgments."""
    numbers: NDArray[numpy.int32]
    """For each retrieved document, its number in `numbers`, or -1; empty without `numbers`."""
    unknown: list[str]
    """The retrieved documents that have no number in `numbers`."""
    scores: NDArray[numpy.float64]
    """For each retrieved document, the number it is ranked by; empty without `scores`."""

class Mapping:
    """The bytes of an open file, mapped into memory."""

    def __init__(self, descriptor: int, path: bytes) -> None: ...
    @property
    def path(self) -> bytes:
        """The path of the file."""

    def release(self, end: int) -> None:
        """
        Let the bytes up to `end` leave the memory; they are read from the file again if they are needed again.
        """

    @property
    def cut_short(self) -> bool:
        """
        Whether another program has cut the file short; the bytes after its end are zeros.
        """

class Table:
    """
    A run or judgments in memory: one row per document, grouped into lists (run × topic).
    """

    def __len__(self) -> int: ...
    @property
    def names(self) -> list[str]:
        """The run tags; one empty name for judgments."""

    @property
    def tags(self) -> list[str]:
        """The different texts in the last column of a run file."""

    @property
    def sources(self) -> list[int]:
        """The file that each name comes from."""

    @property
    def topics(self) -> list[str]:
        """The topics, in order of first appearance."""

    @property
    def labels(self) -> list[str]:
        """The different texts of column 2: Q0, iteration or intent."""

    @property
    def dropped(self) -> int:
        """The number of duplicate rows that were dropped."""

    @property
    def odd(self) -> list[tuple[int, int, str]]:
        """
        Numbers that may not be what their author meant: (source, line, message) each.
        """

    @property
    def list_name(self) -> NDArray[numpy.int32]:
        """For each list, the index of its name."""

    @property
    def list_topic(self) -> NDArray[numpy.int32]:
        """For each list, the index of its topic."""

    @property
    def list_start(self) -> NDArray[numpy.int64]:
        """Where each list begins, and where the last one ends."""

    @property
    def values(self) -> NDArray[numpy.float64]:
        """For each row, the score or grade."""

    @property
    def ranks(self) -> NDArray[numpy.float64]:
        """For each row, the rank column; empty if the file has none."""

    @property
    def label(self) -> NDArray[numpy.int32]:
        """
        For each row, the index of its label; empty if there is only one label.
        """

    @property
    def lines(self) -> NDArray[numpy.int64]:
        """For each row, its line in the file; empty unless `keep_lines`."""

    def take(self, rows: NDArray[numpy.int64], name: str) -> Table:
        """
        Return some rows as a table under one name. Rows of one list must follow one another.
        """

    def renamed(self, name: str) -> Table:
        """Return a copy with another name."""

    def furthest_from_zero(self) -> tuple[int, float]:
        """
        Return the value that is furthest from 0, the first one if there are several: its row, and the value.
        """

    def digests(self, labels_count: bool) -> NDArray[numpy.uint64]:
        """
        Return the digest of each list, which does not depend on the order of its rows.
        """

    def docs(self, begin: int, end: int) -> list[str]:
        """Return the document ids of the rows from `begin` up to `end`."""

    def order(
        self, list: int, order: str, single_precision: bool, ties: str = "z-a"
    ) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]:
        """
        Return the rows of a list, best first, and the number that each is ranked by.
        """

def read(
    sources: list[Any],
    columns: list[str],
    delimiter: str,
    header: bool,
    expected: str,
    qrels: bool,
    on_duplicate: str,
    threads: int,
    most_faults: int,
    keep_lines: bool = False,
    split_tags: bool = False,
    labels_count: bool = True,
    window: int = 16777216,
) -> tuple[Table, list[tuple[int, int, str]]]:
    """
    Read files, given as buffers. Judgments of more than `window` bytes are read so many bytes at a time if one fault is
    enough and lines are not kept; then they may also be an object with `read()`, as for `join_files`.
    Return the table and the faults: (source, line, message) each.
    """

def table_from_dict(lists: dict[Any, Any], name: str, what: str) -> Table:
    """
    Build a table from a dict topic -> document -> number. `what` names the number in messages.
    """

class TableColumns:
    """A table from columns, some rows at a time."""

    def __init__(self, on_duplicate: str, what: str) -> None: ...
    def add(
        self,
        names: list[Any] | None,
        topics: list[Any],
        docs: list[Any],
        values: list[Any],
        ranks: list[Any] | None,
        labels: list[Any] | None,
    ) -> None:
        """Add rows: columns of equal length."""

    def table(self) -> Table:
        """Return the table; nothing can be added afterwards."""

def table_from_columns(
    names: list[Any] | None,
    topics: list[Any],
    docs: list[Any],
    values: list[Any],
    ranks: list[Any] | None,
    labels: list[Any] | None,
    on_duplicate: str,
    what: str,
) -> Table:
    """
    Build a table from columns of equal length. `what` names the values in messages.
    """

def parse_number(text: bytes) -> float | None:
    """Parse a number as the reader does; None if the text is not a number."""

class Judged:
    """
    Judgments ready for joins: the documents of each topic in a hash table.
    """

    @property
    def topics(self) -> list[str]:
        """The judged topics."""

    @property
    def start(self) -> NDArray[numpy.int64]:
        """Where the documents of each topic begin, and where the last ones end."""

    @property
    def grade(self) -> NDArray[numpy.float64]:
        """For each document, its grade."""

    @property
    def levels(self) -> NDArray[numpy.float64]:
        """
        The different grades of many judgments, if there are few: a grade is then kept as its place here. Else empty.
        """

    def grade_of(self, documents: NDArray[numpy.int32]) -> NDArray[numpy.float64]:
        """Return the grades of some documents, given by their numbers."""

    def best_first(self) -> NDArray[numpy.float64]:
        """Return the grades, topic after topic, best first."""

    def grade_counts(self) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32]]:
        """
        Return `levels`, best first, and how many documents have each: topic after topic, as many numbers as levels.
        """

    @property
    def dropped(self) -> int:
        """The number of duplicate judgments that were dropped."""

def judged(table: Table, on_duplicate: str) -> Judged:
    """
    Prepare judgments for joins. Labels are ignored: one grade per topic and document.
    """

def join_files(
    judged: Judged,
    sources: list[Any],
    columns: list[str],
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
    split_tags: bool = False,
    chunk: int = 0,
    window: int = 0,
    scattered: int = 0,
    most: int = 0,
    ties: str = "z-a",
) -> tuple[Joined | None, list[tuple[int, int, str]]]:
    """
    Join run files with judgments. A file is a buffer, or an object with `read()`, which returns the next block,
    `rewind()`, `position` and `length`. Return hits and notes on odd numbers, or None and faults; a fault on line 0
    is about the whole file. In bytes: `chunk` is what a thread reads at a time, `window` what is in memory at a time,
    `scattered` the memory for lists whose lines are not together, `most` the memory for all that is kept.
    0: the default; for `most`, no limit.
    """

def join_tables(
    judged: Judged,
    tables: list[Table],
    order: str,
    single_precision: bool,
    depth: int,
    threads: int = 1,
    numbers: Judged | None = None,
    scores: bool = False,
    ties: str = "z-a",
) -> Joined:
    """Join runs in memory with judgments."""

def join_dicts(
    judged: Judged,
    runs: list[tuple[str, dict[Any, Any]]],
    order: str,
    single_precision: bool,
    depth: int,
    numbers: Judged | None = None,
    scores: bool = False,
    ties: str = "z-a",
) -> Joined:
    """
    Join runs, given as (name, dict topic -> document -> score), with judgments.
    """

def join_tuples(
    judged: Judged,
    tuples: list[Any],
    topic: int,
    doc: int,
    score: int,
    single_precision: bool,
    keep_scores: bool = False,
    ties: str = "z-a",
) -> tuple[Joined, NDArray[numpy.int32]] | None:
    """
    Join one run, given as tuples. Return the hits and the judged topics; None if a row is unusual.
    """

def join_columns(
    judged: Judged,
    topics: list[Any],
    docs: list[Any],
    scores: NDArray[numpy.float64],
    single_precision: bool,
    keep_scores: bool = False,
    ties: str = "z-a",
) -> tuple[Joined, NDArray[numpy.int32]] | None:
    """
    Join one run, given as columns. Return the hits and the judged topics; None if a row is unusual.
    """

def by_document(table: Table, place: NDArray[numpy.int64]) -> tuple[Judged, NDArray[numpy.int64], NDArray[numpy.int64]]:
    """
    Every document once, numbered by topic and id, with its highest grade; the rows sorted by document and by the
    place of their label; and where the rows of each document begin.
    """

def documents_by_intent(
    table: Table, place: NDArray[numpy.int64]
) -> tuple[
    Judged,
    NDArray[numpy.int64],
    NDArray[numpy.int64],
    NDArray[numpy.float64],
    NDArray[numpy.int64],
    NDArray[numpy.int64],
    NDArray[numpy.int64],
    NDArray[numpy.int64],
]:
    """
    Every document once, with its highest grade, and where its entries begin; for each entry the intent and the
    grade; for each intent the list and the label; and the list and label of each intent without a relevant
    document, which is left out.
    """

def intents_before(
    row: NDArray[numpy.int64],
    document: NDArray[numpy.int64],
    intents: NDArray[numpy.int64],
    start: NDArray[numpy.int64],
    nth: NDArray[numpy.int32],
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64]]:
    """
    Return (hit, entry, number of hits above it in the list that have an entry for the same intent) for each hit
    and each entry of its document.
    """

def hits_by_intent(
    row: NDArray[numpy.int64],
    document: NDArray[numpy.int64],
    intents: NDArray[numpy.int64],
    start: NDArray[numpy.int64],
    nth: NDArray[numpy.int32],
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64]]:
    """
    Return (number of the list and intent, hit, entry), sorted by list and intent.
    """

def lists_by_intent(
    row: NDArray[numpy.int64],
    document: NDArray[numpy.int64],
    intents: NDArray[numpy.int64],
    start: NDArray[numpy.int64],
    nth: NDArray[numpy.int32],
    rank: NDArray[numpy.int32],
    grade: NDArray[numpy.float64],
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.float64]]:
    """
    Return where each list by intent begins, and for each hit in it: 1 for the first, 2 for the next, and so on;
    its rank; and the grade of its entry.
    """

def greedy_ideal(
    topic_start: NDArray[numpy.int64],
    intents: NDArray[numpy.int64],
    start: NDArray[numpy.int64],
    nth: NDArray[numpy.int32],
    worth: NDArray[numpy.float64],
    share: NDArray[numpy.float64],
    lasting: float | None,
    depth: int,
) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]:
    """
    Return where the greedy ideal list of each topic begins, and its gain at each rank down to `depth`.

    `worth` has one number per entry, `share` one per intent; if one is empty, all of its numbers are 1. An intent
    is worth `lasting` times as much after each document that serves it; if that is None, 1 - worth times.
    """

def flip_counts(
    scores: NDArray[numpy.float64],
    first: NDArray[numpy.int64],
    second: NDArray[numpy.int64],
    limits: NDArray[numpy.float64],
    two_sided: bool,
    all: bool,
    seed: int,
    begin: int,
    end: int,
    threads: int,
) -> NDArray[numpy.int64]:
    """
    For each pair of systems, count the sign vectors whose sum of differences reaches its limit.

    `all` enumerates every sign vector instead of drawing them.
    """

def bootstrap_counts(
    centred: NDArray[numpy.float64],
    largest: NDArray[numpy.float64],
    first: NDArray[numpy.int64],
    second: NDArray[numpy.int64],
    limits: NDArray[numpy.float64],
    two_sided: bool,
    seed: int,
    begin: int,
    end: int,
    threads: int,
    kept: NDArray[numpy.float64],
    sizes: NDArray[numpy.int64],
    floors: NDArray[numpy.float64],
) -> NDArray[numpy.int64]:
    """
    For each pair, count the bootstrap ratios that reach its limit, and collect the largest ratios in `kept`.
    """

def bootstrap_borderline(
    centred: NDArray[numpy.float64],
    largest: NDArray[numpy.float64],
    first: NDArray[numpy.int64],
    second: NDArray[numpy.int64],
    limits: NDArray[numpy.float64],
    wanted: int,
    seed: int,
    resamples: int,
    threads: int,
) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]:
    """
    For each pair, count the |ratios| that reach its limit, and return the |mean difference| of the resample with
    the `wanted`-th largest |ratio|.
    """

def last_of_largest(
    kept: NDArray[numpy.float64], sizes: NDArray[numpy.int64], floors: NDArray[numpy.float64]
) -> NDArray[numpy.float64]:
    """
    For each pair, the smallest of the wanted largest ratios; minus infinity if there are fewer.
    """

def permuted_ranges(
    scores: NDArray[numpy.float64], seed: int, begin: int, end: int, threads: int
) -> NDArray[numpy.float64]:
    """For each permutation, the largest minus the smallest mean of a system."""

def two_sample_differences(
    values: NDArray[numpy.float64], in_x: int, from_: str, summary: str, seed: int, begin: int, end: int, threads: int
) -> NDArray[numpy.float64]:
    """
    For each resample, the summary of the first `in_x` values minus that of the others.
    """

class PooledDocuments:
    """
    The first documents of every list of many runs, numbered topic by topic.
    """

    def __init__(self) -> None: ...
    def add(
        self,
        table: Table,
        order: str,
        single_precision: bool,
        depth: int,
        threads: int,
        scores: bool = False,
        ties: str = "z-a",
    ) -> None:
        """
        Add a run: the first `depth` documents of each list (0: all), and with `scores` the numbers they are ranked by.
        """

    def documents(self, values: NDArray[numpy.float64] | None = None) -> Table:
        """
        The documents of every topic, in the order of their numbers, with these values or zeros.
        """

    @property
    def list_run(self) -> NDArray[numpy.int32]:
        """For each list, the number of its run."""

    @property
    def list_topic(self) -> NDArray[numpy.int32]:
        """For each list, the number of its topic."""

    @property
    def list_start(self) -> NDArray[numpy.int64]:
        """Where each list begins, and where the last one ends."""

    @property
    def document(self) -> NDArray[numpy.int32]:
        """
        For each place of a list, best first, the number of the document within its topic.
        """

    @property
    def score(self) -> NDArray[numpy.float64]:
        """
        For each place of a list, the number that its document is ranked by; empty unless runs were added with scores.
        """

def examination_step(
    pair: NDArray[numpy.int32],
    place: NDArray[numpy.int32],
    skipped: NDArray[numpy.float64],
    theta: NDArray[numpy.float64],
    pairs: int,
    threads: int,
) -> tuple[NDArray[numpy.float64], float]:
    """
    The expected successes of every parameter in impressions without a click, and the log-likelihood of those.
    """

def weighted_log(weight: NDArray[numpy.float64], values: NDArray[numpy.float64]) -> float:
    """The sum of weight * log(value); a weight of 0 counts as 0."""

def interleave_list(
    rankings: list[Any], method: str, length: int, seed: int, tau: float, skip_shared: bool
) -> tuple[list[str], list[int], list[float], list[int], list[float]]:
    """
    Interleave lists of documents: documents, teams, worth of clicks, ranks and choices; by place, for each system.
    """

def interleave_lists(
    documents: NDArray[numpy.int32],
    start: NDArray[numpy.int64],
    systems: int,
    query: NDArray[numpy.int64],
    seed: NDArray[numpy.uint64],
    method: str,
    length: int,
    tau: float,
    skip_shared: bool,
    threads: int,
) -> tuple[
    NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.int32], NDArray[numpy.float64]
]:
    """
    Interleave the lists of many queries, whose documents are numbers. All arrays are flat, short lists end in -1.
    """

def seeded_uniform(seed: int, stream: int) -> float:
    """A random number in [0, 1) that depends only on its arguments."""

def group_sums(
    group: NDArray[numpy.int32],
    groups: int,
    columns: Sequence[NDArray[numpy.float64] | NDArray[numpy.int64]],
    shift: NDArray[numpy.float64],
    first: NDArray[numpy.int32],
    second: NDArray[numpy.int32],
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    For each group of rows: the sums of columns minus their shifts, and of the products of pairs of them; flat arrays.
    """

class Words:
    """Texts as numbered words; lines are sentences."""

    def __len__(self) -> int: ...
    def vocabulary(self) -> list[str]:
        """The words (or stems) by number."""

    @property
    def word(self) -> NDArray[numpy.int32]:
        """The numbers of all words, text after text."""

    @property
    def sentence_start(self) -> NDArray[numpy.int64]:
        """Where each sentence begins in `word`, and where the last ends."""

    @property
    def text_start(self) -> NDArray[numpy.int64]:
        """Where each text begins in `sentence_start`, and where the last ends."""

def words_of(texts: list[str], ascii: bool, stemmer: str, stop_words: list[str], exceptions: dict[str, str]) -> Words:
    """
    Texts as words: runs of ASCII letters and digits in lower case, or all that is between blanks.
    """

def overlaps(
    words: Words,
    system: NDArray[numpy.int64],
    reference: NDArray[numpy.int64],
    unit: str,
    n: int,
    skip: int,
    last_word: bool,
    clip: bool,
    weight: float,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    For each pair of texts: the units that both have, those of the reference, those of the system.
    """

def marked_words(
    words: Words, system: int, reference: int, unit: str, clip: bool, weight: float
) -> NDArray[numpy.int8]:
    """For each word of the reference, 1 if it is in the common subsequence."""

def clipped_grams(
    words: Words,
    system: NDArray[numpy.int64],
    reference: NDArray[numpy.int64],
    start: NDArray[numpy.int64],
    most: int,
    threads: int,
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
    """
    For each system text and n = 1 to `most`: its n-grams that its references have, clipped; and all its n-grams.
    """

def stem_of(word: str, stemmer: str) -> str:
    """The stem of a lower-case ASCII word."""

def top_of_rows(
    values: NDArray[numpy.float64],
    grades: NDArray[numpy.float64],
    exists: NDArray[numpy.bool_] | None,
    most: int,
    least: float,
) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.float64]]:
    """
    Row, rank, column and grade of the largest values of each row that have a grade of at least `least`.
    """

def largest_of_rows(
    values: NDArray[numpy.float64], most: int, least: float
) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]:
    """
    The largest values of each row, largest first, from `least` on: their number in each row, and all of them.
    """

def max_entropy(
    list_start: NDArray[numpy.int64],
    target: NDArray[numpy.float64],
    found: NDArray[numpy.float64],
    length: NDArray[numpy.int64],
    tables: NDArray[numpy.float64],
    used: NDArray[numpy.int64],
    table_of: NDArray[numpy.int32],
    scale: NDArray[numpy.float64],
    alpha: NDArray[numpy.float64],
    ranks: int,
    parts: int,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    The most random lists with given scores: probabilities of relevance (rows × ranks, flat), and expected scores.
    """

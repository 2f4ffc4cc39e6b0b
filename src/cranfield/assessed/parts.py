"""Run files joined in parts: groups of files, and ranges of topics of a large file. Parts can be kept on disk.

The hits of all parts together are those of one join, so that scores do not depend on how files were cut.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cranfield import _core
from cranfield.assessed.join_options import JoinOptions, MemoryPlan
from cranfield.assessed.kept_parts import ARRAYS, KeptParts
from cranfield.collection.compression import compression
from cranfield.collection.file_formats.blocks import Blocks, load_or_open
from cranfield.collection.file_formats.formats import Layout
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import Buffer, check_complete, load
from cranfield.types import Progress

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

PART = 256 << 20
"""The size of a part in bytes, unless the number of parts is given."""
MARK = b"\xef\xbb\xbf"
LOOK = 1 << 20
"""How many bytes are read at a time to find where a topic ends."""
SAMPLES, SAMPLE = 64, 4096
"""A file is known by its size, its time of change, and SAMPLES blocks of SAMPLE bytes each."""


class Range(NamedTuple):
    """Some bytes of a run file; `end` is None for a whole file."""

    path: str
    begin: int = 0
    end: int | None = None


Result = tuple[dict[str, Any] | None, list[tuple[int, int, str]]]


@dataclass(frozen=True)
class Part:
    """What is joined at a time, perhaps in another process."""

    qrels: Qrels
    options: JoinOptions
    ranges: tuple[Range, ...]
    layout: Layout
    order: str
    memory: MemoryPlan
    key: str
    """A digest of all that the result depends on."""
    judged_key: str

    def join(self) -> Result:
        """The hits, or a fault."""
        judged = _JUDGED.get(self.judged_key)
        if judged is None:
            from cranfield.assessed.join import prepare

            _JUDGED.clear()
            judged = _JUDGED[self.judged_key] = prepare(self.qrels, self.options).documents.table
        contents: list[Any] = []
        for path, begin, end in self.ranges:
            content = load_or_open(path, None, self.memory.whole) if end is None else load(path)[begin:end]
            contents.append(content)
        try:
            joined, faults = join_contents(judged, contents, self.layout, self.order, self.options, self.memory,
                                           header=self.layout.header and self.ranges[0].begin == 0)  # fmt: skip
        finally:
            for content in contents:
                if isinstance(content, Blocks):
                    content.close()
        for content in contents:
            if not isinstance(content, Blocks):
                check_complete(content)
        return (None if joined is None else dict(joined)), faults


_JUDGED: dict[str, _core.Judged] = {}
"""The judgments that this process joins with; preparing them takes time."""


def join_contents(
    judged: _core.Judged,
    contents: list[Any],
    layout: Layout,
    order: str,
    options: JoinOptions,
    memory: MemoryPlan,
    progress: Progress | None = None,
    *,
    header: bool | None = None,
) -> tuple[_core.Joined | None, list[tuple[int, int, str]]]:
    """Join the contents of files; see `_core.join_files`."""
    return _core.join_files(
        judged,
        contents,
        list(layout.columns),
        layout.delimiter,
        layout.header if header is None else header,
        layout.expected,
        on_duplicate=options.on_duplicate,
        threads=memory.threads,
        progress=progress,
        split_tags=options.split_tags,
        **memory.sizes,
        **join_rules(options, order),
    )


def join_rules(options: JoinOptions, order: str) -> dict[str, Any]:
    """The rules of a join as arguments of the core."""
    return {
        "order": order,
        "ties": options.ties,
        "single_precision": options.precision == 32,
        "depth": min(options.depth or 0, 2**31 - 1),
        "numbers": None if options.lengths is None else options.lengths.numbers,
        "scores": options.scores and order == "score",
    }


def can_be_cut(path: str) -> bool:
    """Whether a file can be opened again by another process."""
    try:
        return path != "-" and stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def join_in_parts(
    qrels: Qrels,
    judged: _core.Judged,
    options: JoinOptions,
    paths: Sequence[str],
    layout: Layout,
    order: str,
    memory: MemoryPlan,
    progress: Progress | None,
) -> tuple[dict[str, Any], list[tuple[int, int, str]]] | None:
    """The join of files in parts; None if they have to be joined in one go: for a fault, or topics in two places."""
    sharding = options.sharding
    assert sharding is not None
    # Without what another process cannot receive.
    options = replace(options, sharding=None, lengths=options.lengths and replace(options.lengths))
    judged_key = _digest(judgments_digest(qrels, options))
    _JUDGED.clear()
    _JUDGED[judged_key] = judged
    rules = f"{judged_key} {layout} {order} {_rules_text(options)}"
    identities = {path: file_identity(path) for path in dict.fromkeys(paths)}
    parts = [
        Part(
            qrels, options, ranges, layout, order, memory,
            _digest(rules, *(f"{identities[path]} {begin} {end}" for path, begin, end in ranges)), judged_key,
        )
        for ranges in cut_files(paths, layout, sharding.shards, split_tags=options.split_tags)
    ]  # fmt: skip
    kept = None if sharding.resume is None else KeptParts(os.fspath(sharding.resume), rules, identities)
    results: dict[int, Result] = {}
    if kept is not None:
        kept.begin([part.key for part in parts])
        found = {number: kept.read(part.key) for number, part in enumerate(parts)}
        results = {number: (result, []) for number, result in found.items() if result is not None}
    done = len(results)
    for number, result in _results(parts, results.keys(), sharding.executor):
        if kept is not None and result[0] is not None:
            kept.write(parts[number].key, result[0])
        results[number] = result
        done += 1
        if progress:
            progress(done, len(parts))
    _JUDGED.pop(judged_key, None)
    if any(joined is None for joined, _ in results.values()):
        return None
    whole = merged([(parts[number].ranges, results[number][0]) for number in range(len(parts))], paths, judged, options)
    return None if whole is None else (whole, _oddities(parts, results, paths))


def _oddities(parts: list[Part], results: dict[int, Result], paths: Sequence[str]) -> list[tuple[int, int, str]]:
    """What the core notes about the numbers of parts, once for each file; 0 is an unknown line."""
    noted: dict[tuple[int, str], int] = {}
    for number, part in enumerate(parts):
        for source, line, message in results[number][1]:
            path, begin, _ = part.ranges[source]
            noted.setdefault((paths.index(path), message), 0 if begin else line)
    return [(source, line, message) for (source, message), line in noted.items()]


def _results(parts: list[Part], known: Any, executor: Executor | None) -> Iterator[tuple[int, Result]]:
    """The results of parts that are not known yet, as they come."""
    missing = [number for number in range(len(parts)) if number not in known]
    if executor is None:
        for number in missing:
            yield number, parts[number].join()
        return
    from concurrent.futures import FIRST_COMPLETED, wait

    futures: dict[Future[Result], int] = {executor.submit(parts[number].join): number for number in missing}
    try:
        while futures:
            finished, _ = wait(futures, return_when=FIRST_COMPLETED)
            for future in finished:
                yield futures.pop(future), future.result()
    finally:
        for future in futures:
            future.cancel()


# ---- cutting


def cut_files(
    paths: Sequence[str], layout: Layout, shards: int | None, *, split_tags: bool = False
) -> Iterator[tuple[Range, ...]]:
    """Groups of small files, and ranges of large ones. Compressed files are not cut."""
    sizes = [os.path.getsize(path) for path in paths]
    size = PART if shards is None else max(1, -(-sum(sizes) // shards))
    group: list[Range] = []
    held = 0
    for path, length in zip(paths, sizes, strict=True):
        if group and held + length > size:
            yield tuple(group)
            group, held = [], 0
        if length > size and not _is_compressed(path):
            yield from (
                (Range(path, begin, end),) for begin, end in _topic_ranges(load(path), layout, size, split_tags)
            )
            continue
        group.append(Range(path))
        held += length
    if group:
        yield tuple(group)


def _is_compressed(path: str) -> bool:
    with open(path, "rb") as file:
        return compression(file.read(16)) is not None


def _topic_ranges(buffer: Buffer, layout: Layout, size: int, split_tags: bool) -> Iterator[tuple[int, int]]:
    """Ranges of about `size` bytes that end where a topic ends."""
    begin = 0
    while begin < len(buffer):
        end = _end_of_topic(buffer, layout, min(begin + size, len(buffer)), split_tags)
        yield begin, end
        begin = end


def _end_of_topic(buffer: Buffer, layout: Layout, at: int, split_tags: bool) -> int:
    """The first line after `at` whose topic differs from that of the line before; else the end of the file."""
    columns = [layout.columns.index(name) for name in ("topic", "name") if name in layout.columns]
    columns = columns if split_tags else columns[:1]
    before: list[bytes] | None = None
    rest = b""
    position = at - 1  # of `rest`; the line that this byte belongs to is skipped, whole or not
    skipped = False
    while position + len(rest) < len(buffer):
        block = bytes(buffer[position + len(rest) : position + len(rest) + LOOK])
        rest += block
        whole = rest.rfind(b"\n") + 1
        place = 0
        while place < whole:
            stop = rest.index(b"\n", place) + 1
            line = rest[place:stop]
            cells = line.split() if layout.delimiter == " " else line.split(layout.delimiter.encode())
            if skipped and len(cells) == len(layout.columns) and not line.startswith(b"#"):
                here = [cells[column].strip() for column in columns]
                if before is not None and here != before and not line.startswith(MARK):
                    return position + place
                before = here
            skipped = True
            place = stop
        position, rest = position + whole, rest[whole:]
    return len(buffer)


# ---- merging


def merged(
    results: list[tuple[tuple[Range, ...], dict[str, Any] | None]], paths: Sequence[str], judged: _core.Judged,
    options: JoinOptions,
) -> dict[str, Any] | None:  # fmt: skip
    """One join from those of its parts; None if a topic is in two ranges of a file."""
    topics = len(judged.topics)
    files: list[dict[str, Any]] = []
    first_file = 0
    for is_range, several in groupby(results, key=lambda result: result[0][0].path if result[0][0].end else ""):
        parts = [(ranges, part) for ranges, part in several if part is not None]
        if is_range:
            whole = _merged_ranges([part for _, part in parts], topics, options)
            if whole is None:
                return None
            files.append(whole | {"sources": [first_file] * len(whole["names"])})
            first_file += 1
            continue
        for ranges, part in parts:
            files.append(part | {"sources": [source + first_file for source in part["sources"]]})
            first_file += len(ranges)
    assert first_file == len(paths)
    rows = np.cumsum([0] + [len(part["names"]) * topics for part in files])
    joined: dict[str, Any] = {key: [item for part in files for item in part[key]] for key in LISTS}
    joined |= {key: np.concatenate([part[key] for part in files]) for key in ARRAYS if key != "row"}
    joined["row"] = np.concatenate([part["row"] + first for part, first in zip(files, rows[:-1], strict=True)])
    return joined | {key: sum(part[key] for part in files) for key in COUNTS}


LISTS = ("names", "sources", "tags", "unjudged_topics", "unknown")
PER_RUN = ("several", "rising", "level")
PER_HIT = ("rank", "tie_first", "tie_last", "document")
PER_DOCUMENT = ("numbers", "scores")
COUNTS = ("dropped", "documents")


def _merged_ranges(parts: list[dict[str, Any]], topics: int, options: JoinOptions) -> dict[str, Any] | None:
    """The join of a whole file; None if a list is in two of its ranges, or if it has too many runs."""
    number_of: dict[str, int] = {}
    run_of: list[list[int]] = []  # for each part, the number of its runs in the whole file
    for part in parts:
        if options.split_tags:
            run_of.append([number_of.setdefault(name, len(number_of)) for name in part["names"]])
        else:
            number_of = number_of or dict.fromkeys(part["names"][:1], 0)
            run_of.append([0] * len(part["names"]))
    names = list(number_of)
    if len(names) > 10_000:
        return None
    rows = len(names) * topics
    found: dict[str, Any] = {
        "names": names,
        "retrieved": np.zeros(rows, dtype=np.int32),
        "missing": np.ones(rows, dtype=np.uint8),
        "tags": [[name] for name in names] if options.split_tags else [[] for _ in names],
        "unjudged_topics": [[] for _ in names],
        **{key: np.zeros(len(names), dtype=np.int32) for key in PER_RUN},
        **{key: sum(part[key] for part in parts) for key in COUNTS},
        "unknown": list(dict.fromkeys(document for part in parts for document in part["unknown"])),
    }
    row_of = []  # for each part, where its rows are in the whole file
    for part, runs in zip(parts, run_of, strict=True):
        place = (np.array(runs, dtype=np.int64)[:, None] * topics + np.arange(topics)).ravel()
        row_of.append(place)
        there = part["missing"] == 0
        if (found["missing"][place[there]] == 0).any():
            return None
        found["missing"][place[there]] = 0
        found["retrieved"][place[there]] = part["retrieved"][there]
        for number, run in enumerate(runs):
            for key in PER_RUN:
                found[key][run] += part[key][number]
            found["unjudged_topics"][run] += part["unjudged_topics"][number]
            found["tags"][run] += [tag for tag in part["tags"][number] if tag not in found["tags"][run]]
    if any(len(set(unjudged)) < len(unjudged) for unjudged in found["unjudged_topics"]):
        return None
    row = np.concatenate([place[part["row"]] for part, place in zip(parts, row_of, strict=True)])
    order = np.argsort(row, kind="stable")
    found["row"] = row[order]
    for key in PER_HIT:
        found[key] = np.concatenate([part[key] for part in parts])[order]
    documents = [np.repeat(place, part["retrieved"]) for part, place in zip(parts, row_of, strict=True)]
    order = np.argsort(np.concatenate(documents), kind="stable")
    for key in PER_DOCUMENT:
        values = np.concatenate([part[key] for part in parts])
        found[key] = values[order] if len(values) else values
    return found


# ---- what the result depends on


def file_identity(path: str) -> str:
    """A text that changes if the file does: its size, time of change and some of its blocks."""
    from hashlib import blake2b

    status = os.stat(path)
    digest = blake2b(digest_size=16)
    with open(path, "rb") as file:
        for place in sorted({status.st_size * number // SAMPLES for number in range(SAMPLES)}):
            file.seek(place)
            digest.update(file.read(SAMPLE))
    return f"{os.path.abspath(path)} {status.st_size} {status.st_mtime_ns} {digest.hexdigest()}"


def judgments_digest(qrels: Qrels, options: JoinOptions) -> str:
    """A text that changes if the judgments do, or the options that say how they are read."""
    extra = "" if options.dimensions is None else " ".join(
        f"{name} {judgments_digest(judgments, JoinOptions())}" for name, judgments in options.dimensions.items()
    )  # fmt: skip
    settings = f"{qrels.by_intent} {qrels.plain} {options.on_duplicate} {options.empty_intents} {extra}"
    if qrels.path and can_be_cut(qrels.path):  # of which these may be a part, such as some topics
        content = _digest(*qrels.topics, qrels.table.digests(True).tobytes().hex())
        return f"{file_identity(qrels.path)} {content} {settings}"
    table = qrels.table
    arrays = (table.values, table.list_start, table.label, table.ranks)
    texts = ("\0".join(texts) for texts in (table.topics, table.labels, table.docs(0, len(table))))
    return _digest(settings, *(array.tobytes().hex() for array in arrays), *texts)


def _rules_text(options: JoinOptions) -> str:
    """The options that change hits."""
    names = ("ties", "precision", "on_duplicate", "depth", "split_tags", "scores", "sampled", "strata")
    text = " ".join(f"{name}={getattr(options, name)!r}" for name in names)
    lengths = "" if options.lengths is None else _digest(*map(str, options.lengths.documents))
    return f"{_core.__name__} 1 {text} {lengths}"


def _digest(*texts: str) -> str:
    from hashlib import blake2b

    digest = blake2b(digest_size=20)
    for text in texts:
        digest.update(text.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()

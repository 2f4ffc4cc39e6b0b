"""The runs that people give: files, patterns, dicts and tables; their names, and the first documents of their lists."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

from cranfield import _core
from cranfield.assessed.join_options import JoinOptions
from cranfield.collection.accepted_inputs import RunsLike
from cranfield.collection.file_formats.structured import plain_lists
from cranfield.collection.run import Run, runs_of
from cranfield.collection.source import named_paths, stem
from cranfield.errors import UsageError
from cranfield.types import Progress


def each_run(runs: Any) -> list[tuple[str | None, Any]]:
    """(name or None, run) for each run; globs are expanded."""
    if isinstance(runs, Mapping) and runs and all(isinstance(value, Real) for value in runs.values()):
        plain_lists(runs, "run", "run")  # complains of a level too few
    if isinstance(runs, Mapping) and not is_run_dict(runs):
        return [(_checked_name(str(name)), run) for name, run in runs.items()]
    if isinstance(runs, str | os.PathLike):
        runs = [runs]
    if isinstance(runs, Sequence) and not isinstance(runs, bytes | bytearray | memoryview) and not _is_records(runs):
        if not runs:
            raise UsageError("no runs given")
        if all(isinstance(run, str | os.PathLike) for run in runs):
            return named_paths(runs)
        several: list[tuple[str | None, Any]] = []
        for run in runs:
            several.extend(each_run(run) if not isinstance(run, Mapping) else [(None, run)])
        return several
    return [(None, runs)]


def _checked_name(name: str) -> str:
    try:
        name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise UsageError(f"the run name {name!r} contains half a surrogate pair, expected text") from None
    return name


def is_run_dict(thing: Mapping[Any, Any]) -> bool:
    """Whether it is {topic: {doc: score}} or {topic: [doc, ...]} rather than {name: run}."""
    for documents in thing.values():
        if isinstance(documents, list | tuple) and documents and isinstance(documents[0], str | int):
            return True
        if not isinstance(documents, Mapping):
            return False
        for score in documents.values():
            return not isinstance(score, Mapping | list | tuple)
    return True


def _is_records(thing: Sequence[Any]) -> bool:
    """Whether it is a sequence of (topic, doc, score) rather than of runs."""
    first = thing[0] if thing else None
    if isinstance(first, Mapping):  # {"query_id": "q1", "doc_id": "d1", ...}
        return bool(first) and not any(isinstance(value, Mapping | list | tuple) for value in first.values())
    return isinstance(first, tuple)


def distinct_names(names: list[str], paths: list[str]) -> list[str]:
    """Names of runs that are short and all different.

    The name is the tag; if two runs have the same tag, the file name; if two files have the same name, with as much of
    their folders as tells them apart. Runs of one file have its name and their tags, equal ones also a number.

    >>> distinct_names(["x", "x", "y"], ["/home/a/bm25.run", "/home/a/rm3.run", "/home/a/z.run"])
    ['bm25', 'rm3', 'y']
    >>> distinct_names(["t", "t", "u"], ["/home/a/x.run", "/home/b/x.run", "/home/c/u.run"])
    ['a/x', 'b/x', 'u']
    >>> distinct_names(["x", "x"], ["", ""])
    ['x#1', 'x#2']
    """
    counts = Counter(names)
    out = [n if counts[n] == 1 and n else stem(p) or n for n, p in zip(names, paths, strict=True)]
    counts = Counter(out)
    places: dict[str, dict[str, None]] = {}
    for name, path in zip(out, paths, strict=True):
        if counts[name] > 1 and path:
            places.setdefault(name, {})[path] = None
    shorter = {path: short for same in places.values() for path, short in short_paths(list(same)).items()}
    out = [shorter.get(p, o) if counts[o] > 1 else o for o, p in zip(out, paths, strict=True)]
    counts = Counter(out)  # the tags of one file still have one name
    out = [f"{o}:{n}" if counts[o] > 1 and p else o for n, p, o in zip(names, paths, out, strict=True)]
    counts = Counter(out)
    seen: Counter[str] = Counter()
    for i, name in enumerate(out):
        seen[name] += 1
        if counts[name] > 1:
            out[i] = f"{name}#{seen[name]}"
    return out


def short_paths(paths: list[str]) -> dict[str, str]:
    """{path: short name} for different files: the end of each path that tells all of them apart.

    >>> short_paths(["/data/red/x.run", "/data/blue/x.run"])
    {'/data/red/x.run': 'red/x', '/data/blue/x.run': 'blue/x'}
    >>> list(short_paths(["x.run", "x.txt"]).values())
    ['x.run', 'x.txt']
    """
    parts = [os.path.normpath(path).split(os.sep) for path in paths]
    ways = [
        (0, True),
        (0, False),
        *((depth, full) for depth in range(1, max(map(len, parts))) for full in (True, False)),
    ]
    for depth, short in ways:
        ends = ["/".join([*part[-depth - 1 : -1], stem(part[-1]) if short else part[-1]]) for part in parts]
        if len(set(ends)) == len(ends):
            return dict(zip(paths, (end.lstrip("/") for end in ends), strict=True))
    return {path: stem(path) for path in paths}  # one file under two spellings: the caller numbers them


def pooled_documents(
    runs: RunsLike, depth: int | None, options: JoinOptions, progress: Progress | None, *, scores: bool = False
) -> tuple[_core.PooledDocuments, tuple[str, ...], tuple[str, ...]]:
    """The first `depth` documents of every list, with or without `scores`, and the names and files of the runs."""
    reading = {"on_duplicate": options.on_duplicate, "split_tags": options.split_tags, "format": options.format}
    pooled = _core.PooledDocuments()
    names: list[str] = []
    paths: list[str] = []
    threads = options.threads or os.cpu_count() or 1
    sources = each_run(runs)
    for number, together in enumerate(_read_each(sources, reading, threads)):
        for run in together:
            try:
                pooled.add(
                    run.table, options.order or "score", options.precision == 32, depth or 0, threads, scores,
                    ties=options.ties,
                )  # fmt: skip
            except ValueError as error:
                raise UsageError(f"{run.path or run.name}: {error}") from None
            names.append(run.name)
            paths.append(run.path or "")
        if progress is not None:
            progress(number + 1, len(sources))
    return pooled, tuple(distinct_names(names, paths)), tuple(paths)


def _read_each(
    sources: Sequence[tuple[str | None, Any]], reading: Mapping[str, Any], threads: int
) -> Iterator[list[Run]]:
    """The runs of each source in turn; a few files are read at a time."""

    def read(source: tuple[str | None, Any]) -> list[Run]:
        name, thing = source
        return runs_of(thing, name, **({} if isinstance(thing, Run) else reading))

    if len(sources) == 1 or not all(isinstance(thing, str | os.PathLike) for _, thing in sources):
        yield from map(read, sources)
        return
    from concurrent.futures import ThreadPoolExecutor  # imports logging, which forks must not meet half imported

    with ThreadPoolExecutor(threads) as readers:
        for begin in range(0, len(sources), 2 * threads):  # so that few are in memory
            yield from readers.map(read, sources[begin : begin + 2 * threads])

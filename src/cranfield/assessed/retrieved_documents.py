"""The first documents of all lists of several runs, judged or not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cranfield import _core
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.joined_runs import distinct_names, each_run
from cranfield.collection.accepted_inputs import RunsLike
from cranfield.collection.run import Run, runs_of
from cranfield.errors import UsageError
from cranfield.types import Progress


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
    with ThreadPoolExecutor(threads) as readers:
        for begin in range(0, len(sources), 2 * threads):  # so that few are in memory
            yield from readers.map(read, sources[begin : begin + 2 * threads])

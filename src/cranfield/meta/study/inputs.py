"""The inputs of a study's steps, each file hashed, read and scored once, and the cache of results.

The same files, measures, options and code have the same key and are not computed again. An entry of the cache is
written completely or not at all, so a study can be stopped at any time; a damaged entry is ignored.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

import cranfield
from cranfield.assessed.given_runs import distinct_names
from cranfield.assessed.intent_files import DISTRIBUTIONS
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run, runs_of
from cranfield.collection.source import expand, write_bytes
from cranfield.errors import CranfieldWarning, DataError, UsageError, warn_caller
from cranfield.evaluation.evaluator import Evaluator
from cranfield.measures.naming.parse import parse
from cranfield.measures.naming.spelling import files_outside
from cranfield.meta.study.study_file import FILES, Collection, Study, Task
from cranfield.notes import notes_from_plain, notes_to_plain
from cranfield.scores.scores import Scores
from cranfield.table import Column, Estimate, Table
from cranfield.text import counted
from cranfield.types import Progress


class Cache:
    """A folder of entries; a checksum precedes the content of each."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, key[:2], key)

    def get(self, key: str) -> bytes | None:
        """The content of an entry; None if it is absent or damaged."""
        try:
            entry = Path(self._path(key)).read_bytes()
        except OSError:
            return None
        checksum, _, content = entry.partition(b"\n")
        return zlib.decompress(content) if checksum == _sum(content).encode() else None

    def put(self, key: str, content: bytes) -> None:
        path = self._path(key)
        make_folder(os.path.dirname(path))
        packed = zlib.compress(content, 1)
        # Not durable: a damaged entry is noticed by its checksum, and made again.
        write_bytes(path, _sum(packed).encode() + b"\n" + packed, durable=False)


def make_folder(path: str) -> None:
    try:
        os.makedirs(path or ".", exist_ok=True)
    except OSError as error:
        raise DataError(path, None, f"cannot make this folder: {error.strerror or error}") from None


def key_of(**facts: Any) -> str:
    """A hash of everything that a result depends on, including the code.

    >>> key_of(a=1, b=[2]) == key_of(b=[2], a=1), key_of(a=1) == key_of(a=2)
    (True, False)
    """
    text = json.dumps({"code": code_version(), **facts}, sort_keys=True, default=str)
    return _sum(text.encode("utf-8", "surrogatepass"))


@functools.cache
def code_version() -> str:
    """The release and a hash of the code: results of another version are computed again."""
    root = Path(cranfield.__file__).parent
    files = sorted(path for pattern in ("*.py", "_core*") for path in root.rglob(pattern) if path.is_file())
    total = hashlib.sha256()
    for path in files:
        total.update(f"{path.relative_to(root)}\n".encode())
        total.update(path.read_bytes())
    return f"{cranfield.__version__} {total.hexdigest()}"


def file_sum(path: str) -> str:
    """A hash of a file's content; for names that are not files (`irds:NAME`), the name itself."""
    if path.startswith("irds:"):
        return path
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise DataError(path, None, "no such file") from None
    except OSError as error:
        raise DataError(path, None, f"cannot be read: {error.strerror or error}") from None


def measure_key(name: str) -> str:
    """The name of a measure; for a measure from outside this package, with a hash of its file.

    >>> measure_key("AP")
    'AP'
    """
    return " ".join([name, *map(file_sum, files_outside(parse(name)))])


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def scores_to_bytes(scores: Scores) -> bytes:
    labels = json.dumps(
        [scores.measures, scores.runs, scores.topics, scores.missing_rule, notes_to_plain(scores.notes)]
    )
    buffer = io.BytesIO()
    packed = np.frombuffer(labels.encode("ascii"), np.uint8)
    np.savez(buffer, labels=packed, values=scores.values, missing=scores.missing)
    return buffer.getvalue()


def scores_from_bytes(content: bytes) -> Scores:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        measures, runs, topics, rule, notes = json.loads(arrays["labels"].tobytes())
        return Scores(measures, runs, topics, arrays["values"], arrays["missing"], rule, notes_from_plain(notes))


def table_to_plain(table: Table) -> dict[str, Any]:
    """A table as plain values for JSON, without loss; NaN and infinity are written as Python writes them."""
    return {
        "columns": [[column.header, column.kind, column.better] for column in table.columns],
        "rows": [[[*vars(x).values()] if isinstance(x, Estimate) else x for x in row] for row in table.rows],
        "caption": table.caption,
        "notes": notes_to_plain(table.notes),
        "digits": table.digits,
    }


def table_from_plain(plain: Mapping[str, Any]) -> Table:
    rows = tuple(tuple(Estimate(*x) if isinstance(x, list) else x for x in row) for row in plain["rows"])
    columns = tuple(Column(*column) for column in plain["columns"])
    return Table(columns, rows, plain["caption"], notes_from_plain(plain["notes"]), plain["digits"])


T = TypeVar("T")
MOST_WARNINGS = 5
"""The number of different warnings to show; the rest are counted."""


class Inputs:
    """The files of a study. Scores and runs of one collection at a time are kept in memory."""

    def __init__(self, study: Study, cache: Cache) -> None:
        self.study = study
        self.cache = cache
        self._sum = functools.cache(file_sum)
        self._loaded: dict[str, Any] = {}
        self._loaded_from = ""

    def facts(self, task: Task, collection: Collection | None) -> dict[str, Any]:
        """Everything that a step depends on in addition to its options; files by their hash."""
        measures = self.study.measures_of(task, collection)
        if collection is not None and collection.scores:
            files = [self._run_facts(path) for path in expand(collection.scores)]
            return {"measures": list(measures), "scores": files, "missing": collection.missing}
        keys = [measure_key(name) for name in (*measures, *self.study.further_measures(task))]
        if collection is None:
            return {"measures": keys}
        teams = self._sum(collection.teams) if collection.teams and task.method.accepts("teams") else None
        runs = [self._run_facts(path) for path in expand(collection.runs)]
        return {"measures": keys, "runs": runs, "teams": teams, **self._settings(collection)}

    def content(self, task: Task, name: str, value: Any) -> Any:
        """The value of an option; for an option that names a file, the hash of the file."""
        return self._sum(value) if name in task.method.holding("file") else value

    def _run_facts(self, path: str) -> list[str]:
        return [os.path.basename(path), self._sum(path)]  # the file name is the name of a run without a tag

    def _settings(self, collection: Collection) -> dict[str, Any]:
        """How runs are joined with judgments; side files by their hash."""
        assert collection.qrels is not None
        join = dict(collection.join)
        join |= {name: self._sum(join[name]) for name in FILES if name in join and join[name] not in DISTRIBUTIONS}
        if "dimensions" in join:
            join["dimensions"] = {name: self._sum(path) for name, path in join["dimensions"].items()}
        how = {"join": join, "missing": collection.missing, "qrels_format": collection.qrels_format}
        return {"qrels": self._sum(collection.qrels), **how}

    def _once(self, collection: Collection, name: str, load: Callable[[], T]) -> T:
        if self._loaded_from != collection.name:
            self._loaded_from, self._loaded = collection.name, {}
        if name not in self._loaded:
            self._loaded[name] = load()
        return cast(T, self._loaded[name])

    def read(self, collection: Collection) -> tuple[Qrels, dict[str, Run]]:
        """Judgments and runs, for methods that need the documents."""
        return self._qrels(collection), self._once(collection, "runs", lambda: self._runs(collection))

    def _qrels(self, collection: Collection) -> Qrels:
        rule, qrels = collection.options.on_duplicate, collection.qrels
        format = collection.qrels_format
        assert qrels is not None
        return self._once(collection, "qrels", lambda: Qrels.of(qrels, format=format, on_duplicate=rule))

    def _runs(self, collection: Collection) -> dict[str, Run]:
        options = collection.options
        rules: dict[str, Any] = {"on_duplicate": options.on_duplicate, "split_tags": options.split_tags}
        runs = [run for path in expand(collection.runs) for run in runs_of(path, format=options.format, **rules)]
        names = distinct_names([run.name for run in runs], [run.path for run in runs])
        return dict(zip(names, runs, strict=True))

    def scores(self, collection: Collection, progress: Progress) -> Scores:
        """The scores of this collection by the measures of all methods; cached ones are not computed again."""
        return self._once(collection, "scores", lambda: self._read_or_score(collection, progress))

    def _read_or_score(self, collection: Collection, progress: Progress) -> Scores:
        if collection.scores:
            return Scores.read(expand(collection.scores), missing="skip")
        with _few_warnings():
            return self._scored(collection, progress)

    def _scored(self, collection: Collection, progress: Progress) -> Scores:
        """Score file by file, so that a study that is stopped keeps the finished files."""
        tasks = [task for task in self.study.tasks if collection.name in task.collections]
        names = ((*self.study.measures_of(task, collection), *self.study.further_measures(task)) for task in tasks)
        measures = list(dict.fromkeys(chain.from_iterable(names)))
        keys = {name: measure_key(name) for name in measures}
        paths = expand(collection.runs)
        evaluators: dict[tuple[str, ...], Evaluator] = {}
        parts: list[Scores] = []
        for number, path in enumerate(paths):
            entry = key_of(scores=self._run_facts(path), **self._settings(collection))
            content = self.cache.get(entry)
            known = scores_from_bytes(content) if content is not None else None
            lacking = tuple(name for name in measures if known is None or keys[name] not in known.measures)
            if lacking:
                if lacking not in evaluators:
                    evaluators[lacking] = Evaluator(
                        self._qrels(collection), list(lacking), missing=collection.missing, options=collection.options
                    )
                new = evaluators[lacking].evaluate([path])
                new = replace(new, measures=tuple(keys[name] for name in lacking))
                known = new if known is None else _with_measures(known, new)
                self.cache.put(entry, scores_to_bytes(known))
            assert known is not None
            parts.append(replace(known.select(measures=[keys[name] for name in measures]), measures=tuple(measures)))
            progress(number + 1, len(paths))
        return _stacked(parts, paths)


def _with_measures(known: Scores, new: Scores) -> Scores:
    """Scores of the same runs and topics by the measures of both."""
    return replace(
        known,
        measures=(*known.measures, *new.measures),
        values=np.concatenate([known.values, new.values]),
        notes=tuple(dict.fromkeys((*known.notes, *new.notes))),
    )


def _stacked(parts: list[Scores], paths: list[str]) -> Scores:
    """The runs of all files, with the names that `evaluate` gives them."""
    names = [run for part in parts for run in part.runs]
    origins = [path for part, path in zip(parts, paths, strict=True) for _ in part.runs]
    if any(part.topics != parts[0].topics for part in parts):
        raise UsageError("the cache has scores of other topics; remove its folder")
    return replace(
        parts[0],
        runs=tuple(distinct_names(names, origins)),
        values=np.concatenate([part.values for part in parts], axis=1),
        missing=np.concatenate([part.missing for part in parts]),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


@contextmanager
def _few_warnings() -> Iterator[None]:
    """Show each warning once, rather than once for each of a hundred runs."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CranfieldWarning)
        yield
    ours = (warning for warning in caught if issubclass(warning.category, CranfieldWarning))
    texts = list(dict.fromkeys(str(warning.message) for warning in ours))
    more = len(texts) - MOST_WARNINGS
    if more > 0:
        texts[MOST_WARNINGS:] = [f"{counted(more, 'more warning')} of this kind about other runs"]
    for text in texts:
        warn_caller(text, CranfieldWarning)

"""Read a study file (TOML, YAML or JSON) and check its collections, measures and methods."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from cranfield import check
from cranfield.assessed.join_options import JoinOptions
from cranfield.collection.config_files import read_yaml
from cranfield.collection.doors import check_json, reads, whole_lines
from cranfield.collection.source import PathLike, read_bytes, unmarked
from cranfield.declared.operation import check_setting
from cranfield.declared.settings import NO_DEFAULT, Setting
from cranfield.errors import DataError, UsageError
from cranfield.measures import parse_many
from cranfield.meta.study.study_methods import COLLECTION, LISTS, MEASURES, METHODS, Method
from cranfield.scores.score_input import MISSING_RULES
from cranfield.text import cut, shown

FILES = ("qrels", "teams", "intent_probabilities", "intent_types", "lengths", "inclusion", "topic_numbers", "together")
"""Keys of a collection that name one file."""
JOINING = (
    "order", "ties", "precision", "on_duplicate", "depth", "format", "split_tags", "intent_probabilities",
    "intent_types", "lengths", "missing_length", "strata", "inclusion", "dimensions", "empty_intents", "topic_numbers",
    "together",
)  # fmt: skip
"""Keys of a collection that say how runs are joined with judgments: those of `JoinOptions`."""
TOP = ("title", "output", "cache", "report", "seed", "measures", "collections", "methods")
OF_COLLECTION = ("qrels", "runs", "scores", "teams", "measures", "missing", *JOINING)
OF_METHOD = ("method", "collections", "measures")
REPORTS = (".md", ".html")
LONGEST_PATH = 1_000
SEED = Setting(0, least=0, below=2**64, kind="int")
KINDS = {"bool": ((bool,), "true or false"), "str": ((str, list), "a text or a list of texts")}
"""The accepted types of a setting that is no number, by its kind."""

EXAMPLE = """\
title = "Which measure should I trust?"
output = "results"                    # tables and the report; the cache is in results/.cache
measures = ["AP", "nDCG@10", "RR"]
seed = 1

[collections.robust04]
qrels = "qrels.robust04.txt"
runs = ["runs/*.run"]
teams = "teams.txt"                   # lines of run and team, for leave-one-out

[methods.correlate]                   # options: see `cranfield meta study --list-methods`
coefficients = ["tau-b", "tau-ap"]

[methods.concord]
gold = ["P@10"]

[methods.loo]
pool_depth = 100

[methods.tukey]                       # any name; `method` says which method it is
method = "compare"
test = "randomised-tukey"
resamples = 1000
"""


@dataclass(frozen=True)
class Collection:
    """Judgments and runs, or files of scores."""

    name: str
    qrels: str | None
    runs: tuple[str, ...]
    scores: tuple[str, ...]
    teams: str | None
    measures: tuple[str, ...]
    missing: str
    join: dict[str, Any]

    @property
    def options(self) -> JoinOptions:
        return JoinOptions(**self.join)


@dataclass(frozen=True)
class Task:
    """A method with its options."""

    label: str
    method: Method
    collections: tuple[str, ...]
    """Empty for a method that works only on measures."""
    measures: tuple[str, ...]
    """Empty: use those of the collection."""
    options: dict[str, Any]


@dataclass(frozen=True)
class Study:
    """The content of a study file."""

    path: str
    title: str
    output: str
    cache: str
    report: str
    measures: tuple[str, ...]
    collections: tuple[Collection, ...]
    tasks: tuple[Task, ...]

    def measures_of(self, task: Task, collection: Collection | None) -> tuple[str, ...]:
        """The measures of a task on a collection; empty: all measures in the files of scores."""
        return task.measures or (collection.measures if collection else ()) or self.measures

    def further_measures(self, task: Task) -> tuple[str, ...]:
        """Measures named in options, such as gold standards."""
        return tuple(name for key in task.method.holding("measures") for name in task.options.get(key, ()))


@reads
def read_study(path: PathLike, modules: Iterable[str] = ()) -> Study:
    """Read and check a study file; an error about an unknown key names the nearest known one.

    A measure `module:name` is code of that module. A study may be from somebody else, so only the modules named here
    are imported.
    """
    name = os.fspath(path)
    suffix = os.path.splitext(name)[1].lower()
    if suffix not in (".toml", ".yaml", ".yml", ".json"):
        raise UsageError(f"{name}: unknown format, the name must end in .toml, .yaml, .yml or .json")
    text = unmarked(read_bytes(name, partial(_check_block, name, suffix))).decode("utf-8", "replace")
    if suffix in (".yaml", ".yml"):
        return plan_of(read_yaml(text, name), name, modules)
    return plan_of(_content(text, name, suffix), name, modules)


def _check_block(name: str, suffix: str, head: bytes) -> None:
    """Raise an error for a fault in the first block of a pipe, before the rest is read; only for TOML and JSON."""
    if suffix == ".json":
        check_json(head, name, several=False)
    elif suffix == ".toml" and (lines := whole_lines(head, name, "TOML")):
        try:
            _content(unmarked(lines).decode("utf-8", "replace"), name, suffix)
        except DataError as error:
            if error.line is not None:  # otherwise something is open at the end of the block
                raise


def _content(text: str, name: str, suffix: str) -> Any:
    try:
        return tomllib.loads(text) if suffix == ".toml" else json.loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        at = re.search(r"at line (\d+)", str(error))
        line = int(at[1]) if at else getattr(error, "lineno", None)
        problem = re.sub(r"\s*\(at .*\)|: line .*", "", str(error))
        raise DataError(name, line, f"not valid {suffix[1:].upper()}: {problem}") from None
    except RecursionError:
        raise DataError(name, None, "nested too deeply") from None


class _Section:
    """A table of a study file: it checks values, and errors name the file and key."""

    def __init__(self, values: Any, path: str, name: str = "", modules: tuple[str, ...] = ()) -> None:
        self.path, self.name, self.modules = path, name, modules
        if not isinstance(values, dict):
            kind = "empty" if values is None else f"a {type(values).__name__}"
            raise UsageError(f"{path}: {name or 'the study'} is {kind}, must be a table of keys and values")
        self.values = {str(key): value for key, value in values.items()}

    def error(self, message: object) -> UsageError:
        return UsageError(f"{self.path}: {self.name}: {cut(str(message))}")

    def key(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def check_keys(self, known: Iterable[str]) -> None:
        for key in self.values:
            if key not in known:
                problem = check.nearest(key, list(known), "key")
                raise UsageError(f"{self.path}: in {self.name or 'the study'}: {problem}")

    def section(self, key: str) -> _Section:
        return _Section(self.values.get(key, {}), self.path, self.key(key), self.modules)

    def sections(self, key: str) -> dict[str, _Section]:
        outer = self.section(key)
        return {name: outer.section(name) for name in outer.values}

    def text(self, key: str, default: str = "") -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str) or not value:
            raise UsageError(f"{self.path}: {self.key(key)} == {shown(value)}, must be a text")
        return value

    def texts(self, key: str, default: Iterable[str] = ()) -> tuple[str, ...]:
        value = self.values.get(key, tuple(default))
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list | tuple):
            raise UsageError(f"{self.path}: {self.key(key)} == {shown(value)}, must be a list of texts")
        return tuple(_Section({key: text}, self.path, self.name).text(key) for text in values)

    def file(self, key: str) -> str:
        """The path of a file, relative to the folder of the study file."""
        return self._file(self.text(key))

    def files(self, key: str) -> tuple[str, ...]:
        return tuple(map(self._file, self.texts(key)))

    def _file(self, name: str) -> str:
        if len(name) > LONGEST_PATH:
            raise UsageError(
                f"{self.path}: {self.name or 'the study'}: {shown(name)} is too long for the name of a file"
            )
        return name if name == "-" or name.startswith("irds:") else os.path.join(os.path.dirname(self.path), name)

    def measures(self, key: str = "measures") -> tuple[str, ...]:
        """The usual names of measures, each once; unknown names may be in files of scores, and are kept."""
        names: dict[str, None] = {}
        for name in self.texts(key):
            try:
                names.update(dict.fromkeys(map(str, parse_many(name, modules=self.modules))))
            except UsageError:
                names[name] = None
        return tuple(names)

    def check_name(self, name: str) -> None:
        """Refuse a name that cannot be the name of a file or folder."""
        if not re.fullmatch(r"[\w+-][\w.+ -]*", name):
            raise self.error("the name is used for files; it may have only letters, digits, and . _ + -")

    def check_setting(self, key: str, setting: Setting) -> None:
        """Refuse a value that the operation would refuse."""
        value = self.values[key]
        types, description = KINDS.get(setting.kind.removesuffix("s"), ((), ""))
        if types and type(value) not in types:
            raise UsageError(f"{self.path}: {self.key(key)} == {shown(value)}, must be {description}")
        check_setting(self.path, self.key(key), value, setting)


def plan_of(content: Any, path: str = "study", modules: Iterable[str] = ()) -> Study:
    """The study that a mapping describes; paths in it are relative to the folder of `path`."""
    allowed = (modules,) if isinstance(modules, str) else tuple(modules)
    top = _Section(content, path, modules=allowed)
    top.check_keys(TOP)
    stem = os.path.splitext(os.path.basename(path))[0]
    top.values.setdefault("output", f"{stem}-results")
    output = top.file("output")
    cache = top.file("cache") if "cache" in top.values else os.path.join(output, ".cache")
    report = top.text("report", "report.md")
    if os.path.splitext(report)[1] not in REPORTS or os.path.basename(report) != report:
        raise UsageError(f"{path}: report == {shown(report)}, must be a file name that ends in {' or '.join(REPORTS)}")
    measures = top.measures()
    collections = tuple(_collection(name, section) for name, section in top.sections("collections").items())
    names = [collection.name for collection in collections]
    seed = top.values.get("seed")
    if seed is not None:
        top.check_setting("seed", SEED)
    tasks = tuple(_task(label, section, names, seed) for label, section in top.sections("methods").items())
    if not tasks:
        raise UsageError(f"{path}: no methods; give one, such as a table [methods.correlate]")
    study = Study(path, top.text("title", stem), output, cache, report, measures, collections, tasks)
    _check(study)
    return study


def _collection(name: str, section: _Section) -> Collection:
    section.check_keys(OF_COLLECTION)
    section.check_name(name)
    values = dict(section.values)
    values |= {key: section.file(key) for key in FILES if key in values}
    if "dimensions" in values:
        dimensions = section.section("dimensions")
        values["dimensions"] = {dimension: dimensions.file(dimension) for dimension in dimensions.values}
    runs, scores = section.files("runs"), section.files("scores")
    if bool(scores) == bool(values.get("qrels") and runs):
        raise UsageError(f"{section.path}: {section.name} must have qrels and runs, or scores")
    if "-" in (*runs, *scores, values.get("qrels")):
        raise UsageError(f"{section.path}: {section.name} cannot read standard input; name a file")
    measures = section.measures()
    missing = section.text("missing", "zero")
    check.one_of(f"{section.path}: {section.name}", MISSING_RULES, missing=missing)
    join = {key: values[key] for key in JOINING if key in values}
    try:
        JoinOptions(**join)
    except UsageError as error:
        raise section.error(error) from None
    return Collection(name, values.get("qrels"), runs, scores, values.get("teams"), measures, missing, join)


def _task(label: str, section: _Section, collections: list[str], seed: Any) -> Task:
    section.check_name(label)
    name = section.text("method", label)
    if name not in METHODS:
        raise section.error(check.nearest(name, list(METHODS), "method"))
    method = METHODS[name]
    known = method.settings
    section.check_keys((*OF_METHOD, *known))
    chosen = section.texts("collections", collections)
    for collection in chosen:
        if collection not in collections:
            raise section.error(check.nearest(collection, collections, "collection"))
    options = {key: value for key, value in section.values.items() if key not in OF_METHOD}
    for key, setting in known.items():
        if setting.default is NO_DEFAULT and key not in options:
            raise section.error(f"{key} must be given")
        if key in options:
            section.check_setting(key, setting)
    options |= {key: section.file(key) for key in method.holding("file") if key in options}
    options |= {key: list(section.measures(key)) for key in method.holding("measures") if key in options}
    if seed is not None and "seed" in known:
        options.setdefault("seed", seed)
    return Task(label, method, () if method.takes == MEASURES else chosen, section.measures(), options)


def _check(study: Study) -> None:
    """Check that every task has measures and a suitable collection."""
    by_name = {collection.name: collection for collection in study.collections}
    for task in study.tasks:
        where = f"{study.path}: methods.{task.label}"
        if task.method.takes == MEASURES:
            _check_measures(study.measures_of(task, None), where)
        elif not task.collections:
            raise UsageError(f"{where}: no collection; give one, such as a table [collections.robust04]")
        for collection in (by_name[name] for name in task.collections):
            if not collection.scores:
                _check_measures((*study.measures_of(task, collection), *study.further_measures(task)), where)
            elif task.method.takes in (COLLECTION, LISTS):
                problem = f"{task.method.name} works on runs and qrels, {collection.name} has only scores"
                raise UsageError(f"{where}: {problem}")


def _check_measures(names: tuple[str, ...], where: str) -> None:
    """Refuse names that are not measures, because these are computed from runs."""
    if not names:
        raise UsageError(f"{where}: no measures; give the study, the collection or the method a list of them")
    for name in names:
        try:
            parse_many(name)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None

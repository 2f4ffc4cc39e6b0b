"""Read a study file (TOML, YAML or JSON) and check its collections, measures and methods."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import cranfield
from cranfield import check
from cranfield.assessed.intent_files import DISTRIBUTIONS
from cranfield.assessed.join_options import JoinOptions
from cranfield.collection.config_files import read_yaml
from cranfield.collection.doors import check_json, reads, whole_lines
from cranfield.collection.file_formats.formats import QRELS, STRUCTURED
from cranfield.collection.source import PathLike, read_bytes, unmarked
from cranfield.declared.operation import check_setting
from cranfield.declared.settings import NO_DEFAULT, Setting
from cranfield.errors import DataError, UsageError
from cranfield.measures import parse_many
from cranfield.meta.study.study_methods import ALONE, COLLECTION, LISTS, MEASURES, METHODS, NOTHING, Method
from cranfield.samples import sample
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
TOP = ("title", "output", "cache", "report", "seed", "needs", "measures", "collections", "methods")
INTENTS = "intents"
"""What a study may need of its judgments: intents."""
READY = Path(cranfield.__file__).parent / "papers"
"""The folder of the studies that come with this package."""
OF_COLLECTION = ("qrels", "qrels_format", "runs", "scores", "teams", "measures", "missing", *JOINING)
OF_METHOD = ("method", "collections", "measures", "about")
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
    qrels_format: str | None = None
    """The format of the judgments; None: detected."""

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
    about: str = ""
    """A sentence for the report, such as which table of a paper it is."""


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


@dataclass(frozen=True)
class Given:
    """Judgments and runs for the collections of a study that name no files."""

    qrels: str
    runs: tuple[str, ...]
    join: Mapping[str, Any] = field(default_factory=dict)
    """How runs are joined with judgments, where the collection does not say it: keys of `JoinOptions`."""
    qrels_format: str | None = None
    missing: str = "zero"
    by_intent: Given | None = None
    """The same by intent, for a study that needs intents."""

    @staticmethod
    def sample(join: Mapping[str, Any] = MappingProxyType({}), missing: str = "zero") -> Given:
        """The bundled sample collection."""
        files = sample()
        with_types = {"intent_types": files.intent_types, **join}
        by_intent = Given(files.intent_qrels, files.runs, with_types, missing=missing)
        return Given(files.qrels, files.runs, join, missing=missing, by_intent=by_intent)


def ready_studies() -> dict[str, str]:
    """{name: title} of the studies that come with this package.

    >>> ready_studies()["sakai2007"].partition(",")[0]
    'Sakai 2007'
    """
    return {path.stem: tomllib.loads(path.read_text("utf-8"))["title"] for path in sorted(READY.glob("*.toml"))}


@reads
def read_study(path: PathLike, modules: Iterable[str] = (), given: Given | None = None) -> Study:
    """Read and check a study file; an error about an unknown key names the nearest known one.

    The studies that come with this package are named without a folder: `sakai2007` or `sakai2007.toml`, unless there is
    a file of that name. Collections that name no files, or the only one if the study has none, are those of `given`.

    A measure `module:name` is code of that module. A study may be from somebody else, so only the modules named here
    are imported.
    """
    name = os.fspath(path)
    ready = READY / f"{name.removesuffix('.toml')}.toml"
    if os.path.basename(name) == name and not os.path.exists(name):
        if ready.is_file():
            content = tomllib.loads(ready.read_text("utf-8"))
            return plan_of(content, ready.name, modules, given)
        if not os.path.splitext(name)[1]:
            raise check.nearest(name, list(ready_studies()), "study")
    suffix = os.path.splitext(name)[1].lower()
    if suffix not in (".toml", ".yaml", ".yml", ".json"):
        raise UsageError(f"{name}: unknown format, the name must end in .toml, .yaml, .yml or .json")
    text = unmarked(read_bytes(name, partial(_check_block, name, suffix))).decode("utf-8", "replace")
    if suffix in (".yaml", ".yml"):
        return plan_of(read_yaml(text, name), name, modules, given)
    return plan_of(_content(text, name, suffix), name, modules, given)


def _filled(content: Any, path: str, given: Given | None) -> Any:
    """The content of a study with the files of `given` in each collection that names none."""
    if given is None or not isinstance(content, dict):
        return content
    if content.get("needs") == INTENTS and given.by_intent is not None:
        given = given.by_intent
    collections = content.get("collections") or {"collection": {}}
    lacking = [
        name
        for name, keys in collections.items()
        if isinstance(keys, dict) and not keys.keys() & {"qrels", "runs", "scores"}
    ]
    if not lacking:
        raise UsageError(f"{path}: its collections name their files; leave out {given.qrels!r}")
    join: dict[str, Any] = {
        key: _from_here(value, path) if key in FILES else value for key, value in given.join.items()
    }
    if "dimensions" in join:
        join["dimensions"] = {name: _from_here(file, path) for name, file in join["dimensions"].items()}
    own: dict[str, Any] = {
        "qrels": _from_here(given.qrels, path),
        "runs": [_from_here(run, path) for run in given.runs],
    }
    own |= {"qrels_format": given.qrels_format} if given.qrels_format is not None else {}
    join["missing"] = given.missing
    filled = {name: {**join, **own, **collections[name]} for name in lacking}
    return {**content, "collections": {**collections, **filled}}


def _from_here(name: str, path: str) -> str:
    """A file that is named from the current folder, as a study in another folder names it."""
    if not os.path.dirname(path) or name.startswith("irds:") or name in DISTRIBUTIONS:
        return name
    return os.path.abspath(name)


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
        if name == "-" or name.startswith("irds:") or self._is_word(name):
            return name
        return os.path.join(os.path.dirname(self.path), name)

    def _is_word(self, name: str) -> bool:
        """Whether this is a distribution of intents rather than a file, such as uniform."""
        return name in DISTRIBUTIONS and self.values.get("intent_probabilities") == name

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


def plan_of(content: Any, path: str = "study", modules: Iterable[str] = (), given: Given | None = None) -> Study:
    """The study that a mapping describes; paths in it are relative to the folder of `path`."""
    content = _filled(content, path, given)
    allowed = (modules,) if isinstance(modules, str) else tuple(modules)
    top = _Section(content, path, modules=allowed)
    top.check_keys(TOP)
    if "needs" in top.values:
        check.one_of(path, (INTENTS,), needs=top.text("needs"))
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
    qrels_format = section.text("qrels_format") if "qrels_format" in values else None
    if qrels_format is not None:
        check.one_of(f"{section.path}: {section.name}", (*QRELS, *STRUCTURED), qrels_format=qrels_format)
    return Collection(
        name, values.get("qrels"), runs, scores, values.get("teams"), measures, missing, join, qrels_format
    )


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
    about = section.text("about") if "about" in section.values else ""
    return Task(label, method, () if method.takes in ALONE else chosen, section.measures(), options, about)


def _check(study: Study) -> None:
    """Check that every task has measures and a suitable collection."""
    by_name = {collection.name: collection for collection in study.collections}
    for task in study.tasks:
        where = f"{study.path}: methods.{task.label}"
        if task.method.takes == MEASURES:
            _check_measures(study.measures_of(task, None), where)
        elif task.method.takes != NOTHING and not task.collections:
            raise UsageError(
                f"{where}: no collection; give judgments and runs, or a table such as [collections.robust04]"
            )
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

"""What a study file asks for: collections, measures, methods. TOML, YAML or JSON, checked before anything is done."""

from __future__ import annotations

import inspect
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cranfield import check
from cranfield.assessed.join_options import JoinOptions
from cranfield.check import nearest
from cranfield.collection.source import PathLike, read_bytes, unmarked
from cranfield.errors import DataError, UsageError
from cranfield.measures import parse_many
from cranfield.meta.study.steps import COLLECTION, MEASURES, METHODS, Method
from cranfield.meta.yaml_text import read_yaml
from cranfield.scores.score_tables import MISSING_RULES

FILES = ("qrels", "teams", "intent_probabilities", "intent_types", "lengths", "inclusion")
"""Keys of a collection that name one file."""
JOINING = (
    "order", "precision", "on_duplicate", "depth", "format", "intent_probabilities", "intent_types", "lengths",
    "missing_length", "inclusion", "dimensions",
)  # fmt: skip
"""Keys of a collection that say how runs meet judgments: those of `JoinOptions`."""
TOP = ("title", "output", "cache", "report", "seed", "measures", "collections", "methods")
OF_COLLECTION = ("qrels", "runs", "scores", "teams", "measures", "missing", *JOINING)
OF_METHOD = ("method", "collections", "measures")
REPORTS = (".md", ".html")
KINDS: dict[type, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    str: ((str, list), "a text or a list of texts"),
}
"""What may be given for an option, by the kind of its default."""

EXAMPLE = """\
title = "Which measure should I trust?"
output = "results"                    # tables and the report; the cache is in results/.cache
measures = ["AP", "nDCG@10", "RR"]
seed = 1

[collections.robust04]
qrels = "qrels.robust04.txt"
runs = ["runs/*.run"]
teams = "teams.txt"                   # lines of run and team, for leave-one-out

[methods.correlate]                   # the options are those of `cranfield meta study --methods`
coefficients = ["tau-b", "tau-ap"]

[methods.concord]
gold = ["P@10"]

[methods.loo]
pool_depth = 100

[methods.tukey]                       # a name of your own: say which method it is
method = "compare"
test = "randomised-tukey"
resamples = 1000
"""


@dataclass(frozen=True)
class Collection:
    """Where scores come from: judgments and runs, or files that hold scores."""

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
    """Empty for a method that works on measures alone."""
    measures: tuple[str, ...]
    """Empty: those of the collection."""
    options: dict[str, Any]


@dataclass(frozen=True)
class Study:
    """All that is to be done."""

    path: str
    title: str
    output: str
    cache: str
    report: str
    measures: tuple[str, ...]
    collections: tuple[Collection, ...]
    tasks: tuple[Task, ...]

    def measures_of(self, task: Task, collection: Collection | None) -> tuple[str, ...]:
        """What a task measures there; empty: all measures that a file of scores holds."""
        theirs = collection.measures if collection is not None else ()
        return task.measures or theirs or self.measures

    def further_measures(self, task: Task) -> tuple[str, ...]:
        """Measures that options name, such as gold standards."""
        given = (task.options.get(key, ()) for key in task.method.measures_in)
        return tuple(name for names in given for name in names)


def read_study(path: PathLike) -> Study:
    """A study file as a plan; what is wrong with it is told by name, and an unknown key with the nearest known."""
    name = os.fspath(path)
    return plan_of(_held(name), name)


def _held(name: str) -> Any:
    """What the file holds, by how its name ends."""
    text = unmarked(read_bytes(name)).decode("utf-8", "replace")
    suffix = os.path.splitext(name)[1].lower()
    if suffix in (".yaml", ".yml"):
        return read_yaml(text, name)
    if suffix not in (".toml", ".json"):
        raise UsageError(f"{name}: cannot tell the format, must end in .toml, .yaml, .yml or .json")
    try:
        return tomllib.loads(text) if suffix == ".toml" else json.loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        at = re.search(r"at line (\d+)", str(error))
        line = int(at[1]) if at else getattr(error, "lineno", None)
        what = re.sub(r"\s*\(at .*\)|: line .*", "", str(error))
        raise DataError(name, line, f"this is no {suffix[1:].upper()}: {what}") from None
    except RecursionError:
        raise DataError(name, None, "is nested too deep") from None


def plan_of(held: Any, path: str = "study") -> Study:
    """The plan that a mapping describes; paths in it are relative to the folder of `path`."""
    top = _table(held, path, "the study")
    _known(top, TOP, path, "the study")
    here = os.path.dirname(path)

    def place(text: str) -> str:
        return text if text == "-" or text.startswith("irds:") else os.path.join(here, text)

    output = place(_text(top.get("output", _stem(path) + "-results"), path, "output"))
    cache = place(top["cache"]) if "cache" in top else os.path.join(output, ".cache")
    report = _text(top.get("report", "report.md"), path, "report")
    if os.path.splitext(report)[1] not in REPORTS or os.path.basename(report) != report:
        raise UsageError(f"{path}: report == {report!r}, must be a file name that ends in {' or '.join(REPORTS)}")
    measures = _measures(top.get("measures", ()), path, "measures")
    collections = tuple(
        _collection(name, facts, path, place)
        for name, facts in _table(top.get("collections", {}), path, "collections").items()
    )
    tasks = tuple(
        _task(label, facts, path, place, [one.name for one in collections], top.get("seed"))
        for label, facts in _table(top.get("methods", {}), path, "methods").items()
    )
    if not tasks:
        raise UsageError(f"{path}: no methods; give one, such as a table [methods.correlate]")
    study = Study(
        path, _text(top.get("title", _stem(path)), path, "title"), output, cache, report, measures, collections, tasks
    )
    _check(study)
    return study


def _collection(name: str, held: Any, path: str, place: Any) -> Collection:
    where = f"collections.{name}"
    facts = dict(_table(held, path, where))
    _known(facts, OF_COLLECTION, path, where)
    _file_name(name, path, where)
    for key in FILES:
        if key in facts:
            facts[key] = place(_text(facts[key], path, f"{where}.{key}"))
    if "dimensions" in facts:
        further = _table(facts["dimensions"], path, f"{where}.dimensions")
        facts["dimensions"] = {
            one: place(_text(file, path, f"{where}.dimensions.{one}")) for one, file in further.items()
        }
    runs, scores = (tuple(map(place, _texts(facts.get(key, ()), path, f"{where}.{key}"))) for key in ("runs", "scores"))
    if bool(scores) == bool(facts.get("qrels") and runs):
        raise UsageError(f"{path}: {where} must have qrels and runs, or scores")
    if "-" in (*runs, *scores, facts.get("qrels")):
        raise UsageError(f"{path}: {where} cannot read standard input; name a file")
    measures = _measures(facts.get("measures", ()), path, f"{where}.measures")
    missing = _text(facts.get("missing", "zero"), path, f"{where}.missing")
    check.one_of(f"{path}: {where}", MISSING_RULES, missing=missing)
    join = {key: facts[key] for key in JOINING if key in facts}
    try:
        JoinOptions(**join)
    except UsageError as error:
        raise UsageError(f"{path}: {where}: {error}") from None
    return Collection(name, facts.get("qrels"), runs, scores, facts.get("teams"), measures, missing, join)


def _task(label: str, held: Any, path: str, place: Any, collections: list[str], seed: Any) -> Task:
    where = f"methods.{label}"
    facts = dict(_table(held, path, where))
    _file_name(label, path, where)
    name = _text(facts.pop("method", label), path, f"{where}.method")
    if name not in METHODS:
        raise UsageError(f"{path}: {where}: {nearest(name, list(METHODS), 'method')}")
    method = METHODS[name]
    there = method.options()
    _known(facts, (*OF_METHOD, *there), path, where)
    wanted = _texts(facts.pop("collections", collections), path, f"{where}.collections")
    for one in wanted:
        if one not in collections:
            raise UsageError(f"{path}: {where}: {nearest(one, collections, 'collection')}")
    measures = _measures(facts.pop("measures", ()), path, f"{where}.measures")
    for key, default in there.items():
        if default is inspect.Parameter.empty and key not in facts:
            raise UsageError(f"{path}: {where}: {key} must be given")
        if key in facts:
            _check_kind(facts[key], default, path, f"{where}.{key}")
    for key in method.files:
        if key in facts:
            facts[key] = place(_text(facts[key], path, f"{where}.{key}"))
    for key in method.measures_in:
        if key in facts:
            facts[key] = list(_measures(facts[key], path, f"{where}.{key}"))
    if seed is not None and "seed" in there:
        facts.setdefault("seed", seed)
    return Task(label, method, () if method.takes == MEASURES else tuple(wanted), measures, facts)


def _check(study: Study) -> None:
    """What only the whole can tell."""
    by_name = {one.name: one for one in study.collections}
    for task in study.tasks:
        where = f"{study.path}: methods.{task.label}"
        if task.method.takes == MEASURES:
            _check_measures(study.measures_of(task, None), where)
        elif not task.collections:
            raise UsageError(f"{where}: no collection; give one, such as a table [collections.robust04]")
        for collection in (by_name[name] for name in task.collections):
            if not collection.scores:
                _check_measures((*study.measures_of(task, collection), *study.further_measures(task)), where)
            elif task.method.takes == COLLECTION:
                raise UsageError(
                    f"{where}: {task.method.name} works on runs and qrels, {collection.name} has scores only"
                )


# -- what may stand where


def _known(facts: Mapping[str, Any], known: Iterable[str], path: str, where: str) -> None:
    for key in facts:
        if key not in known:
            raise UsageError(f"{path}: in {where}: {nearest(str(key), list(known), 'key')}")


def _table(held: Any, path: str, where: str) -> dict[str, Any]:
    if not isinstance(held, dict):
        raise UsageError(f"{path}: {where} is {_kind(held)}, must be a table of keys and values")
    return {str(key): value for key, value in held.items()}


def _text(held: Any, path: str, where: str) -> str:
    if not isinstance(held, str) or not held:
        raise UsageError(f"{path}: {where} == {held!r}, must be a text")
    return held


def _texts(held: Any, path: str, where: str) -> tuple[str, ...]:
    several = [held] if isinstance(held, str) else held
    if not isinstance(several, list | tuple):
        raise UsageError(f"{path}: {where} == {held!r}, must be a list of texts")
    return tuple(_text(one, path, where) for one in several)


def _measures(held: Any, path: str, where: str) -> tuple[str, ...]:
    """Names as measures print them, each once; other names may stand in files of scores, and are kept."""
    found: dict[str, None] = {}
    for name in _texts(held, path, where):
        try:
            found.update(dict.fromkeys(map(str, parse_many(name))))
        except UsageError:
            found[name] = None
    return tuple(found)


def _check_measures(names: tuple[str, ...], where: str) -> None:
    """They are measures, as what is computed from runs must be."""
    if not names:
        raise UsageError(f"{where}: no measures; give the study, the collection or the method a list of them")
    for name in names:
        try:
            parse_many(name)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None


def _check_kind(value: Any, default: Any, path: str, where: str) -> None:
    """A value of the kind that the default is of, where that is a plain one."""
    if type(default) in KINDS:
        fits, told = KINDS[type(default)]
        if type(value) not in fits:
            raise UsageError(f"{path}: {where} == {value!r}, must be {told}")


def _file_name(name: str, path: str, where: str) -> None:
    """Names become names of files and folders."""
    if not re.fullmatch(r"[\w+-][\w.+ -]*", name):
        raise UsageError(
            f"{path}: {where}: the name may hold letters, digits, and . _ + - only; files are called by it"
        )


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _kind(held: Any) -> str:
    return "empty" if held is None else f"a {type(held).__name__}"

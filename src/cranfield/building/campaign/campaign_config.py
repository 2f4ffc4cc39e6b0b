"""The file of a campaign, `campaign.toml`: its name, dates, rules for runs, measures, pool and judging.

| mode | what is judged | what ranks the runs |
|---|---|---|
| `graded` | one grade for each document | measures of grades; of a sample, their estimates |
| `intents` | a grade for each intent of the topic | measures of grades and of diversity |
| `nuggets` | passages of documents, attached to nuggets | the same, with a nugget as an intent |
| `dimensions` | a grade in each dimension, relevance among them | the same as for grades, and measures of dimensions |
| `preferences` | which of the lists of two runs is better | `wins`, the share of comparisons that a run wins |
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from cranfield import check
from cranfield.assessed.dimensions import RELEVANCE
from cranfield.building.pools.pooling import Method
from cranfield.building.serve.project.judging_modes import DEFAULT_GRADES, MODE_GRADES, ORDERS, SHARES, Settings
from cranfield.collection.config_files import entries_for, only_known, read_toml, typed_entry
from cranfield.collection.linting.run_rules import RunRules, check_rules
from cranfield.errors import CranfieldError, DataError, UsageError
from cranfield.text import shown

JUDGED = ("graded", "intents", "nuggets", "dimensions", "preferences")
"""The modes of judging that the leaderboard can be scored by."""
BY_INTENT = ("intents", "nuggets")
"""The modes whose judgments have a grade for each part of a topic."""
WINS = "wins"
"""The measure of preferences."""


FILE = "campaign.toml"
PHASES = ("submission", "pooling", "judging", "results")
"""The phases of a campaign in their order. One of them is open at a time."""
LARGEST = 500_000_000
STARTER = """\
# What this campaign is. The server reads this file when it starts.
name = {name}
database = {database}        # a file in this folder, or postgresql://USER@HOST/NAME
measures = {measures}        # the first one ranks the leaderboard

[rules]                      # every run is checked against these when it is uploaded
depth = 1000                 # the most documents of a topic
least = 1                    # the fewest documents of a topic
all_topics = true            # must a run have every topic?
documents = {documents}      # "collection": only documents of the collection; "any": others are warnings
tag = '[A-Za-z0-9][A-Za-z0-9_.-]*'    # what the tag of a run may look like (a regular expression)
runs = 3                     # how many runs of a team count
submissions = 30             # how many files a team may upload in all
bytes = 20_000_000           # the largest file

[pool]                       # made from the runs that count
method = "depth"             # see: cranfield pool build --help
depth = 10                   # the documents of each list that are considered
# most_per_topic = 50             # the most documents of a topic
# budget = 500               # the most documents in all, divided evenly over topics
# share = "adaptive"         # of methods such as max-mean: half of the budget goes where relevant documents are found

[judging]
mode = {mode}              # also "intents", "dimensions", "nuggets", "preferences": see docs/campaign.md
{dimensions}grades = {grades}
overlap = 1                  # how many assessors judge each document
# order = "pool"             # default "own": each assessor has an order of their own, which does not tell the rank
# gold_rate = 0.1            # the share of documents with known grades (init --gold), to check assessors
# repeat_rate = 0.05         # the share of documents that an assessor judges a second time

[results]
public = false               # true: everybody sees the leaderboard in the phase results, without an account

# Dates are optional; without them a phase is open from when an organiser opens it until the next one is opened.
# [phases.submission]
# opens = 2027-01-10T00:00:00Z
# closes = 2027-03-01T23:59:59Z
"""


@dataclass(frozen=True)
class Rules(RunRules):
    """What a run must be like, and how many a team may submit."""

    runs: int = 3
    submissions: int = 30
    bytes: int = 20_000_000


@dataclass(frozen=True)
class PoolPlan:
    """How the pool is made."""

    method: str = "depth"
    depth: int = 10
    most_per_topic: int | None = None
    budget: int | None = None
    share: str = "equal"
    seed: int = 0

    @property
    def adaptive(self) -> bool:
        """Does the method choose the next document by the judgments before it?"""
        return Method.of(self.method).policy.adaptive

    @property
    def samples(self) -> bool:
        """Does the method draw a sample, by which measures are estimated?"""
        return Method.of(self.method).policy.samples


@dataclass(frozen=True)
class Dates:
    """When a phase is open at most; None: no limit."""

    opens: datetime | None = None
    closes: datetime | None = None


@dataclass(frozen=True)
class Config:
    """What `campaign.toml` says."""

    name: str
    measures: tuple[str, ...]
    database: str = "campaign.db"
    rules: Rules = Rules()
    pool: PoolPlan = PoolPlan()
    grades: tuple[tuple[float, str], ...] = DEFAULT_GRADES
    overlap: int = 1
    order: str = "own"
    public: bool = False
    mode: str = "graded"
    dimensions: tuple[str, ...] = ()
    gold_rate: float = 0.0
    repeat_rate: float = 0.0
    dates: Mapping[str, Dates] = field(default_factory=dict)

    def settings(self, before: Settings) -> Settings:
        """The settings of judging."""
        limits = (self.pool.budget, self.pool.most_per_topic) if self.pool.adaptive else (None, None)
        budget, most_per_topic = (None if most is None else most * self.overlap for most in limits)
        return replace(before, budget=budget, most_per_topic=most_per_topic).changed(
            title=self.name, mode=self.mode, dimensions=self.dimensions, grades=self.grades, overlap=self.overlap,
            seed=self.pool.seed, gold_rate=self.gold_rate, repeat_rate=self.repeat_rate, share=self.pool.share,
            order=self.order,
        )  # fmt: skip

    def closed(self, phase: str, now: datetime | None = None) -> str | None:
        """Why a phase is closed by its dates; None if it is open."""
        dates, now = self.dates.get(phase, Dates()), now or datetime.now(UTC)
        if dates.opens is not None and now < dates.opens:
            return f"the phase {phase} opens at {dates.opens:%Y-%m-%d %H:%M} UTC"
        if dates.closes is not None and now > dates.closes:
            return f"the phase {phase} closed at {dates.closes:%Y-%m-%d %H:%M} UTC"
        return None


def starter(
    name: str,
    measures: list[str],
    *,
    documents: str,
    database: str = "campaign.db",
    mode: str = "graded",
    dimensions: Sequence[str] = (),
) -> str:
    """The text of a new file."""
    named = json.dumps(list(dimensions), ensure_ascii=False)
    grades = [label for _, label in MODE_GRADES.get(mode, DEFAULT_GRADES)]
    return STARTER.format(
        mode=json.dumps(mode),
        grades=json.dumps(grades),
        dimensions=f"dimensions = {named}\n" if dimensions else "",
        name=json.dumps(name, ensure_ascii=False),
        database=json.dumps(database),
        measures=json.dumps(measures),
        documents=json.dumps(documents),
    )


def name_database(path: str, database: str) -> None:
    """Change the database that a file names, and nothing else in it."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    line = f"database = {json.dumps(database)}"
    changed, count = re.subn(r"(?m)^database[ \t]*=[ \t]*(\"[^\"\n]*\"|'[^'\n]*')", lambda _: line, text, count=1)
    if not count:  # it has the default; entries at the top of the file belong to no table
        changed = f"{line}\n{text}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(changed)


def read_config(folder: str) -> Config:
    """The campaign in a folder, checked; messages name the file and the entry."""
    path = os.path.join(folder, FILE)
    if not os.path.exists(path):
        raise DataError(path, None, "the file does not exist; make a campaign with: cranfield campaign init")
    return read_toml(path, config_of)


def config_of(data: Mapping[str, Any]) -> Config:
    """A configuration from the tables of a file.

    >>> config = config_of({"name": "Notes 2027", "measures": ["nDCG@10"], "rules": {"depth": 100}})
    >>> config.rules.depth, config.rules.runs
    (100, 3)
    """
    only_known(data, ("name", "database", "measures", "rules", "pool", "judging", "results", "phases"), "")
    for name in ("name", "measures"):
        if not data.get(name):
            raise UsageError(f"{name} is missing")
    measures = typed_entry(data, "measures", list, "")
    rules = Rules(**entries_for(_table(data, "rules"), Rules, "rules."))
    pool = PoolPlan(**entries_for(_table(data, "pool"), PoolPlan, "pool."))
    judging, results = _table(data, "judging"), _table(data, "results")
    only_known(judging, ("mode", "dimensions", "grades", "overlap", "order", "gold_rate", "repeat_rate"), "judging.")
    only_known(results, ("public",), "results.")
    labels = typed_entry(judging, "grades", list, "judging.", None)
    mode = typed_entry(judging, "mode", str, "judging.", "graded")
    usual = MODE_GRADES.get(mode, DEFAULT_GRADES)
    grades = usual if labels is None else tuple((float(at), str(label)) for at, label in enumerate(labels))
    config = Config(
        str(typed_entry(data, "name", str, "")),
        _measure_names(measures, mode),
        str(typed_entry(data, "database", str, "", "campaign.db")),
        rules,
        pool,
        grades,
        typed_entry(judging, "overlap", int, "judging.", 1),
        typed_entry(judging, "order", str, "judging.", "own"),
        typed_entry(results, "public", bool, "results.", False),
        mode,
        tuple(map(str, typed_entry(judging, "dimensions", list, "judging.", ()))),
        float(typed_entry(judging, "gold_rate", float | int, "judging.", 0.0)),
        float(typed_entry(judging, "repeat_rate", float | int, "judging.", 0.0)),
        _dates(_table(data, "phases")),
    )
    _check(config)
    return config


def _check(config: Config) -> None:
    rules, pool = config.rules, config.pool
    check_rules(rules)
    check.whole("rules", runs=rules.runs, submissions=rules.submissions, bytes=rules.bytes)
    if rules.bytes > LARGEST:
        raise UsageError(f"rules: bytes == {rules.bytes:,}, must be at most {LARGEST:,}")
    check.whole("pool", depth=pool.depth, most_per_topic=pool.most_per_topic, budget=pool.budget)
    _check_mode(config)
    _check_measures(config)
    if pool.samples and pool.budget is None and pool.most_per_topic is None:
        raise UsageError(f"pool: {pool.method} needs the number of documents to draw: give budget or most_per_topic")
    check.one_of("pool", tuple(SHARES), share=pool.share)
    check.one_of("judging", tuple(ORDERS), order=config.order)
    if pool.share != "equal" and not pool.adaptive:
        raise UsageError(f"pool: share applies only to methods that learn from judgments, not to {pool.method}")
    config.settings(Settings())


def _dates(phases: Mapping[str, Any]) -> dict[str, Dates]:
    only_known(phases, PHASES, "phases.")
    dates = {}
    for phase, table in phases.items():
        where = f"phases.{phase}"
        if not isinstance(table, dict):
            raise UsageError(f"{where} == {shown(table)}, must be a table with opens and closes")
        only_known(table, ("opens", "closes"), f"{where}.")
        for name, value in table.items():
            if not isinstance(value, datetime):
                raise UsageError(f"{where}.{name} == {shown(value)}, must be a time such as 2027-03-01T23:59:59Z")
        times = {
            name: (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC) for name, time in table.items()
        }
        dates[phase] = Dates(**times)
        if len(times) == 2 and times["opens"] >= times["closes"]:
            raise UsageError(f"{where} closes before it opens")
    return dates


def _table(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table: Mapping[str, Any] = typed_entry(data, name, dict, "", {})
    return table


# ---- modes of judging, and the measures that fit their judgments


def _measure_names(names: Sequence[Any], mode: str) -> tuple[str, ...]:
    """The measures of a campaign by their usual names."""
    from cranfield.measures import parse

    if mode == "preferences":
        if [str(name) for name in names] != [WINS]:
            raise UsageError(
                "measures: preferences have no grades, so that runs are ranked by the share of comparisons that they "
                f'win; write measures = ["{WINS}"]'
            )
        return (WINS,)
    if WINS in names:
        raise UsageError(f'measures: {WINS} needs preferences; write mode = "preferences" under [judging]')
    return tuple(str(parse(str(name))) for name in names)


def _check_mode(config: Config) -> None:
    """Raise an error for a mode that a campaign cannot have, or that does not fit its pool."""
    mode, pool = config.mode, config.pool
    if mode == "answers":
        raise UsageError(
            "judging: the runs of a campaign are lists of documents, not answers; judge answers with `cranfield judge "
            "serve --mode answers`, and score them with `cranfield answers nuggets`"
        )
    check.one_of("judging", JUDGED, mode=mode)
    if config.dimensions and mode != "dimensions":
        raise UsageError(f'judging: dimensions are judged only with mode = "dimensions", but the mode is "{mode}"')
    if mode == "dimensions" and (RELEVANCE not in config.dimensions or len(config.dimensions) < 2):
        raise UsageError(
            f"judging: dimensions must be {RELEVANCE} and at least one other; write, for example, "
            f'dimensions = ["{RELEVANCE}", "credibility"]'
        )
    if pool.samples and mode != "graded":
        raise UsageError(f"pool: {pool.method} draws a sample, which is judged only with one grade for each document")
    if mode == "preferences" and pool.method != "depth":
        raise UsageError(f'pool: method == "{pool.method}", but preferences compare lists, not documents; leave it out')
    if mode in ("preferences", "nuggets") and config.gold_rate:
        raise UsageError(f"judging: gold documents have a known grade, which mode {mode} does not ask for")


def _check_measures(config: Config) -> None:
    """Raise an error for measures that the judgments will not fit."""
    from cranfield.measures import parse

    if config.mode == "preferences":
        return
    for name in config.measures:
        needs = parse(name).looks_at()
        if "intents" in needs and config.mode not in BY_INTENT:
            raise UsageError(f'measures: {name} needs judgments by intent; write mode = "intents" under [judging]')
        if "dimensions" in needs and config.mode != "dimensions":
            raise UsageError(
                f'measures: {name} needs judgments in several dimensions; write mode = "dimensions" and dimensions = '
                f'["{RELEVANCE}", ...] under [judging]'
            )
        if config.pool.samples and not needs & {"sample", "inclusion"}:
            raise UsageError(
                f"measures: {name} cannot be estimated from the sample that {config.pool.method} draws; use xinfAP, "
                "infNDCG or statAP, or another method"
            )
        if "lengths" in needs:
            raise UsageError(f"measures: {name} needs lengths, which a campaign does not have")
        if config.mode in ("graded", "dimensions") and not config.pool.samples:
            _try(name, config)


def _try(measure: str, config: Config) -> None:
    """Raise an error for a measure that the grades are not enough for; a small example shows it."""
    from cranfield.evaluation.evaluator import evaluate

    grades = {"topic": {"a": 1, "b": 0}}
    others = {name: grades for name in config.dimensions if name != RELEVANCE}
    try:
        evaluate(grades, {"run": {"topic": {"a": 2.0, "b": 1.0}}}, measure, dimensions=others or None)
    except CranfieldError as error:
        if others:
            judged = " and ".join(config.dimensions)
            raise UsageError(f"measures: {measure} cannot be computed from grades of {judged}: {error}") from None
        why = str(error).partition(":")[0]
        raise UsageError(
            f"measures: {measure} cannot be computed from one grade for each document: {why}; for diversity measures, "
            'write mode = "intents" under [judging]'
        ) from None

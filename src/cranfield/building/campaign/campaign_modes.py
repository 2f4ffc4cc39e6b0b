"""The modes of judging in a campaign, and the measures that fit their judgments.

| mode | what is judged | what ranks the runs |
|---|---|---|
| `graded` | one grade for each document | measures of grades; of a sample, their estimates |
| `intents` | a grade for each intent of the topic | measures of grades and of diversity |
| `nuggets` | passages of documents, attached to nuggets | the same, with a nugget as an intent |
| `dimensions` | a grade in each dimension, relevance among them | the same as for grades, and measures of dimensions |
| `preferences` | which of the lists of two runs is better | `wins`, the share of comparisons that a run wins |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cranfield.assessed.dimensions import RELEVANCE
from cranfield.check import one_of
from cranfield.errors import CranfieldError, UsageError

if TYPE_CHECKING:
    from cranfield.building.campaign.campaign_config import Config

JUDGED = ("graded", "intents", "nuggets", "dimensions", "preferences")
"""The modes of judging that the leaderboard can be scored by."""
BY_INTENT = ("intents", "nuggets")
"""The modes whose judgments have a grade for each part of a topic."""
WINS = "wins"
"""The measure of preferences."""


def measure_names(names: Sequence[Any], mode: str) -> tuple[str, ...]:
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


def check_mode(config: Config) -> None:
    """Raise an error for a mode that a campaign cannot have, or that does not fit its pool."""
    mode, pool = config.mode, config.pool
    if mode == "answers":
        raise UsageError(
            "judging: the runs of a campaign are lists of documents, not answers; judge answers with `cranfield judge "
            "serve --mode answers`, and score them with `cranfield nuggets`"
        )
    one_of("judging", JUDGED, mode=mode)
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


def check_measures(config: Config) -> None:
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

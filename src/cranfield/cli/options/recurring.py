"""Options that recur in verbs, one declaration each; the verb says the default or the purpose."""

from __future__ import annotations

from typing import Any

from cranfield.cli.declare import MORE, MOST_RESAMPLES, OPTIONS, RANKING, READING, RESULT, SIDE, flag, option

TESTS = "comparison.pair_tests:TESTS"


def measures() -> Any:
    return option(
        "--measure, -m MEASURE",
        "A measure, or several: nDCG@10,AP. May be repeated. cranfield measures lists all.",
    )


def scores() -> Any:
    return option(
        "--scores, -s FILE",
        "Read scores instead of runs: the output of eval -q or trec_eval -q, or a table of topics by runs. May be "
        "repeated.",
        reads=True,
    )


def missing() -> Any:
    return option(
        "--missing RULE",
        "Judged topics that a run does not contain: {names} (score them as an empty list, or leave them out).",
        default="zero",
        names="scores.score_input:MISSING_RULES",
        solves="missing='skip'",
        group=READING,
    )


def significance_test(default: str | None, help: str = "The significance test: {names}.", names: str = TESTS) -> Any:
    return option("--test, -t TEST", help, default=default, names=names)


def alpha(default: float | None = 0.05, help: str = "Significance level.") -> Any:
    return option("--alpha A", help, default=default)


def topic_texts() -> Any:
    return option("--topics FILE", "Show the text of topics: a file of topics (XML, SGML, TSV, JSON).", reads=True)


def level() -> Any:
    return option("--level L", "Confidence level of the intervals.", default=0.95, group=MORE)


def ci() -> Any:
    return flag("--ci", "Also print confidence intervals of the means.")


def level_of_ci() -> Any:
    return option("--level L", "Confidence level of the intervals, which this asks for too; default: 0.95.", group=MORE)


def resamples(default: int | None, help: str) -> Any:
    return option("--resamples, -B N", help, default=default, most=MOST_RESAMPLES)


def seed() -> Any:
    return option("--seed N", "Seed of the random numbers.", default=0)


def asl() -> Any:
    return option(
        "--asl RULE",
        "Tests that resample, {names}: p = (1 + hits) / (1 + B), significant if at most A; or hits / B, significant if "
        "below A, as in Sakai's papers.",
        default="plus-one",
        names="comparison.resampling:ASL",
        group=MORE,
    )


def nan(default: str) -> Any:
    return option(
        "--nan RULE",
        "Topics on which a run has no score: {names} (left out for all runs, or only for this run).",
        default=default,
        names="comparison.data:NAN_RULES",
        group=MORE,
    )


def threads() -> Any:
    return option("--threads N", "Number of threads; the result does not depend on it.", group=READING)


def depth() -> Any:
    return option("--depth N", "Use only the first N documents of each list.", group=RANKING)


def rel(group: str = OPTIONS) -> Any:
    return option("--rel GRADE", "The lowest grade that counts as relevant.", default=1.0, group=group)


def pool_depth(help: str, *, required: bool = False) -> Any:
    return option("--pool-depth N", help, required=required)


def condensed() -> Any:
    return flag("--condensed", "Also score each measure without unjudged documents, as AP' for AP.")


def per_topic(help: str) -> Any:
    return flag("--per-topic, -q", help, group=RESULT)


def show(*choices: str, help: str) -> Any:
    """`--show`; the first choice is the default."""
    return option("--show WHAT", help, default=choices[0], choices=choices, group=RESULT)


def split_tags() -> Any:
    return flag(
        "--split-tags",
        "Read a run for each tag (last column) of a file of runs; without this, a file is one run.",
        group=READING,
        solves="split_tags=",
    )


def order() -> Any:
    return option(
        "--order RULE",
        "Rank documents by {names}: by score (for equal scores see --ties), by the rank column, "
        "or in the order of the file; default: score if there are scores, else rank.",
        choices=("score", "rank", "file"),
        group=RANKING,
        solves="order=",
    )


def ties() -> Any:
    return option(
        "--ties RULE",
        "The order of documents with equal scores, {names}: by document id, descending (as in trec_eval) or ascending, "
        "or as in the file.",
        default="z-a",
        choices=("z-a", "a-z", "file"),
        group=RANKING,
        solves="ties=",
    )


def intent_types() -> Any:
    return option(
        "--intent-types FILE",
        "Types of intents: lines of topic, intent, and inf (informational) or nav (navigational); default: all inf.",
        group=SIDE,
    )

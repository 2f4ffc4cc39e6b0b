"""Writes docs/measures.md and docs/tests.md from the registries; with --check only says whether they are up to date."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

from cranfield import comparison
from cranfield.comparison.corrections import CORRECTIONS
from cranfield.comparison.registry import PairTest, known_tests
from cranfield.measures import MEASURES, REGISTRY
from cranfield.measures.base import Measure, show
from cranfield.measures.property_tables import MEANINGS

DOCS = Path(__file__).parent.parent / "docs"
ROOMS = {
    "sets": "Sets",
    "contingency": "Sets, within the whole collection",
    "counts": "Counts",
    "ranked": "Ranked lists, many relevant documents",
    "graded": "Average precision with grades",
    "first": "Ranked lists, one good document",
    "ncu": "Readers who stop, and what the list is worth to them then",
    "cwl": "C/W/L: any model of when a reader goes on",
    "cwl_members": "C/W/L: models with names of their own",
    "recall": "High recall",
    "estimates": "Estimates of relevance",
    "compatibility": "Overlap with an ideal ranking",
    "total_orders": "Interval scales",
    "time": "Time and text read",
    "incomplete": "Incomplete judgments",
    "sampled": "Judgments that are a sample",
    "diversity": "Topics with several intents",
    "novelty": "Topics with several intents: what repeats counts less",
    "difficulty": "Topics with several intents: what is hard to find counts more",
    "multidimensional": "Relevance in several dimensions",
    "trec": "As trec_eval defines them",
}
# ruff: noqa: E501
INTRODUCTION = """\
# Measures

Made from the registry by `python tools/make_docs.py`; `cranfield measures NAME` prints the same in a terminal.

A measure is written `name(parameter=value)@cutoff[view]`, for instance `nDCG(gain="exp")@10`. Parameters at their defaults are left out.
Any measure can be read through a view. The marks `'`, `-IA` and `#` follow the name, and views in brackets stand at the end; wherever else they stand, they are
read as well: `nDCG@10'` is `nDCG'@10`. `cranfield measures 'D#-nDCG'` prints how a name is read.

| written | the list is read |
|---|---|
| `AP'` or `AP[condensed]` | with unjudged documents removed |
| `AP[best]`, `AP[worst]` | with unjudged documents of the highest grade, or of grade 0, for all intents |
| `AP[ties]`, `AP[ties=best]`, `AP[ties=worst]` | with documents of equal score in every order (the mean), in the best, in the worst; [rules.md](rules.md) says which these are |
| `AP-IA` or `AP[IA]` | once for each intent of the topic; the mean by intent probability |
| `D-nDCG`, `DIN-nDCG` | with the gains of a document for all intents added up, by intent probability; DIN counts a navigational intent once |
| `D#-nDCG`, `DIN#-Q`, `AP-IA#` | as the name without `#`, and `gamma` (0.5) of the score is intent recall |

At a cutoff AP and Q divide by R, as trec_eval's AP does, and so do `Q-IA`, `D-Q` and `DIN-Q`. Sakai's Q@l and D-Q@l divide by min(l, R): they are `Q(norm="min")@10` and
`D-Q(norm="min")@10`.

`rel` is the lowest grade that counts as relevant. `gain` says what a grade is worth: `"linear"` (the grade), `"exp"` (2^grade − 1), or a table
such as `{1:1,2:3,3:7}`, also with the grades of NTCIR, `{S:3,A:2,B:1}`. In formulas l is the cutoff, R the number of relevant documents, C(r) how many of them are retrieved down to rank r, I(r) is 1
where a relevant document stands, g(r) the gain there, cg(r) the sum of gains down to r, and a star marks the ideal list.

`cranfield measures --table` prints which measure has which property (Sakai, Metrics, Statistics, Tests, Fig. 6 and Fig. 7), in any format; with names, of
these only, such as `cranfield measures --table nDCG ERR-IA 'D#-nDCG'`. Tests find them out by experiment,
except for measures that need more than grades, intents and lengths:

| property | a measure has it if |
|---|---|
{properties}

Measures of diversity answer for each intent. The highest grade of all topics, where it sets the scale (ERR, gP), and the intents of a topic are
taken for known. Parameters change them: at a cutoff AP is not normalised unless `norm="min"`, and the ndeval dialect of ERR-IA knows no grades. A view by intent changes them: no list is ideal for every intent at once, so nDCG-IA is not normalised; intent recall makes D#-nDCG diminish,
which D-nDCG does not.
"""


TESTS_INTRODUCTION = """\
# Tests

Made from the registries by `python tools/make_docs.py`. [Comparing systems](compare.md) tells how they are used; `cf.compare(scores, measure, test=NAME)`
and `cranfield compare --test NAME` take every name of the first table. Works cited in short are listed [there](compare.md#sources).

## Tests of all pairs of systems

Tests that hold for all pairs together need no correction. Tests that take means want scores on an interval scale, of which few measures are.

| name | also | statistic | holds for | resampling | takes means | source |
|---|---|---|---|---|---|---|
{tests}

## Corrections for many comparisons

| name | also | controls | assumes | source |
|---|---|---|---|---|
{corrections}
"""
FUNCTIONS = {
    "Two systems": ("paired_t", "wilcoxon", "sign_test", "randomisation", "paired_bootstrap", "one_sample_t"),
    "Two samples that are not matched": ("unpaired_t", "rank_sum", "unpaired_bootstrap", "permutation"),
    "Many systems": ("tukey", "scheffe", "randomised_tukey", "friedman", "kruskal_wallis"),
    "Analysis of variance": ("two_way", "one_way", "anova", "bootstrap_anova"),
    "Equivalence, and how likely a difference is": ("tost", "bayesian_t", "bayesian_signed_rank"),
    "How large, how sure": (
        "paired_effect",
        "unpaired_effect",
        "omega_squared",
        "mean_interval",
        "difference_interval",
    ),
    "Corrections": ("adjust", "bonferroni", "holm", "benjamini_hochberg", "family_wise_error"),
    "How many topics": (
        *("topic_set_size", "detectable_difference", "achieved_power", "simulated_power"),
        *("estimated_variance", "pooled_variance"),
    ),
    "All at once": ("compare",),
}


def tests_page() -> str:
    rows = [test_row(test) for test in known_tests().values()]
    corrections = [
        f"| {one.name} | {', '.join(one.aliases)} | {one.controls} | {one.assumes} | {one.source} |"
        for one in CORRECTIONS.values()
    ]
    head = TESTS_INTRODUCTION.replace("{tests}", "\n".join(rows)).replace("{corrections}", "\n".join(corrections))
    parts = [head]
    for title, names in FUNCTIONS.items():
        parts.append(f"## {title}\n")
        parts.extend(function_entry(name) for name in names)
    functions = {name for name in comparison.__all__ if inspect.isfunction(getattr(comparison, name))}
    unplaced = functions - {name for names in FUNCTIONS.values() for name in names} - {"known_tests"}
    if unplaced:
        raise SystemExit(f"say in FUNCTIONS where these belong: {sorted(unplaced)}")
    return "\n".join(parts)


def test_row(test: PairTest) -> str:
    holds = "all pairs together" if test.simultaneous else "each pair"
    yes = {True: "yes", False: "no"}
    also = ", ".join(test.aliases)
    means, drawn = yes[test.interval_scale], yes[test.resampling]
    return f"| {test.name} | {also} | {test.statistic} | {holds} | {drawn} | {means} | {test.source} |"


def function_entry(name: str) -> str:
    function = getattr(comparison, name)
    prose, doctest = prose_and_doctest(inspect.getdoc(function) or "")
    told = [f"`{one}`" for one in inspect.signature(function).parameters if one not in ("progress", "threads")]
    lines = [f"### {name}\n", prose, "", f"- Parameters: {', '.join(told)}", ""]
    if doctest:
        lines += ["```python", f">>> from cranfield.comparison import {name}", doctest, "```", ""]
    return "\n".join(lines)


def prose_and_doctest(text: str) -> tuple[str, str]:
    """A docstring as Markdown, and its example."""
    text = re.sub(
        r"\.\. math::\s+(.*?)(?:\n\n|\Z)", lambda m: f"$${' '.join(m.group(1).split())}$$\n\n", text, flags=re.DOTALL
    )
    example = text.find(">>> ")
    prose, doctest = (text[:example].rstrip(), text[example:].rstrip()) if example >= 0 else (text.rstrip(), "")
    return re.sub(r"\n(No relevant documents:|Reference:)", r"\n\n\1", prose), doctest


def measures_page() -> str:
    meanings = "\n".join(f"| {name} | {meaning} |" for name, meaning in MEANINGS.items())
    parts = [INTRODUCTION.replace("{properties}", meanings)]
    for room, title in ROOMS.items():
        members = [REGISTRY[name] for name in REGISTRY if REGISTRY[name].__module__ == f"cranfield.measures.{room}"]
        parts.append(f"## {title}\n")
        parts.extend(entry(cls) for cls in members)
    unplaced = [name for name in MEASURES if REGISTRY[name].__module__.rsplit(".", 1)[1] not in ROOMS]
    if unplaced:
        raise SystemExit(f"say in ROOMS where these belong: {unplaced}")
    return "\n".join(parts)


def entry(cls: type[Measure]) -> str:
    prose, doctest = prose_and_doctest(inspect.getdoc(cls) or "")
    properties = cls.properties
    marks = [
        word
        for word, holds in {
            "graded": properties.graded,
            "normalised": properties.normalised,
            "recall-free": properties.recall_free,
            "diminishing return": properties.diminishing,
            "additive": properties.additive,
            "lengths count": properties.lengths,
            "any order of reading": properties.nonlinear,
            "intents count by probability": properties.intent_probabilities,
        }.items()
        if holds
    ]
    facts = []
    if cls.parameters():
        facts.append(
            "Parameters: " + ", ".join(f"`{name}={show(default)}`" for name, default in cls.parameters().items())
        )
    facts.append(f"Cutoff: {'none' if cls.cutoff_kind == 'none' else f'a {cls.cutoff_kind}'}")
    if cls.aliases:
        facts.append("Also written: " + ", ".join(f"`{alias}`" for alias in cls.aliases))
    facts.append(
        f"Properties: {', '.join(marks) or 'binary, depends on all relevant documents'}; {properties.better} is better"
    )
    lines = [f"### {cls.name}\n", prose, "", *(f"- {fact}" for fact in facts), ""]
    if doctest:
        lines += ["```python", f">>> from cranfield.measures import {cls.__name__}", doctest, "```", ""]
    return "\n".join(lines)


def main() -> None:
    for name, made in {"measures.md": measures_page(), "tests.md": tests_page()}.items():
        path = DOCS / name
        if "--check" not in sys.argv:
            path.write_text(made, "utf-8")
        elif not path.exists() or path.read_text("utf-8") != made:
            raise SystemExit(f"{name} is out of date: run python tools/make_docs.py")


if __name__ == "__main__":
    main()

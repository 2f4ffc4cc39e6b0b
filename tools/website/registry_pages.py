"""Pages for tests, merging methods, online measures and click models, from their registries."""

from __future__ import annotations

import dataclasses
import inspect
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from cranfield import comparison
from cranfield.building.merging import MERGING_METHODS, MergingMethod
from cranfield.comparison.pair_tests import TESTS, PairTest
from cranfield.online.clicks.click_kinds import CLICK_MODELS, ClickKind
from cranfield.online.log_measures import ONLINE_MEASURES, OnlineMeasure, measure_log
from cranfield.online.logs import read_log
from website import text
from website.python_pages import signature
from website.staging import write

LOG = "cranfield log demo log --users 300 --days 7 --seed 1"


def write_pages(folder: Path) -> dict[str, dict[str, str]]:
    """Write a page for each entry, and a page that lists them; return {folder: {name: path}}."""
    tests, merging = TESTS, MERGING_METHODS
    online = {name: ONLINE_MEASURES[name] for name in ONLINE_MEASURES}
    clicks = CLICK_MODELS
    values = simulated_values()
    written = {}
    for place, entries, about, index in (
        ("reference/tests", tests, test_text, tests_index),
        ("reference/merging", merging, merging_text, merging_index),
        ("reference/online", online, partial(online_text, values), online_index),
        ("reference/clicks", clicks, click_text, clicks_index),
    ):
        paths = {name: f"{place}/{slug}.md" for name, slug in text.slugs(entries).items()}
        for name, entry in entries.items():
            write(folder / paths[name], about(entry))
        links = {name: f"[{text.plain(name)}]({Path(path).name})" for name, path in paths.items()}
        write(folder / place / "index.md", index(entries, links))
        written[place] = paths
    return written


def yes(answer: bool) -> str:
    return "yes" if answer else "no"


# -- significance tests


def test_text(test: PairTest) -> str:
    function = test.function or test.engine
    return text.page(
        f"# {text.plain(test.name)}",
        text.from_docstring(inspect.getdoc(test.engine) or ""),
        text.facts({
            "Also written": ", ".join(f"`{alias}`" for alias in test.aliases),
            "Statistic": text.plain(test.statistic),
            "Holds for": "all pairs of systems together; no correction is needed"
            if test.simultaneous else "each pair; correct for the number of pairs",
            "Resamples": yes(test.resampling),
            "Compares means": f"{yes(test.interval_scale)}; means assume scores on an interval scale"
            if test.interval_scale else "no",
            "Computed by": "[`cranfield compare`](../commands/compare.md)",
            "Paper": text.with_links(test.source),
        }),
        "## Example",
        text.console(f"cranfield compare --sample -m AP --test {test.name} --quiet"),
        *python_part(function),
    )  # fmt: skip


def python_part(function: Callable[..., object]) -> list[str]:
    """The public function of a test, if it has one."""
    name = getattr(function, "__name__", "")
    if name not in comparison.__all__:
        return []
    doc = inspect.getdoc(function) or ""
    shown = doc.replace(">>> ", f">>> from cranfield.comparison import {name}\n>>> ", 1)
    return ["## In Python", text.code(signature(name, function), "python"), text.from_docstring(shown)]


def tests_index(entries: dict[str, PairTest], links: dict[str, str]) -> str:
    rows = [
        (links[name], text.plain(summary(test.engine)), "all pairs together" if test.simultaneous else "each pair")
        for name, test in entries.items()
    ]
    return text.page(
        "# Significance tests",
        "`cranfield compare --test NAME` and `cf.compare(scores, measure, test=NAME)` take these names. "
        "[Comparing systems](../../compare.md) explains which test to use. [All tests](../../tests.md) has the "
        "functions too: tests of one sample and of samples that are not matched, equivalence tests, Bayesian tests, "
        "effect sizes and corrections.",
        text.table(["test", "what it does", "holds for"], rows),
    )


def summary(thing: object) -> str:
    """The first paragraph of a docstring."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


# -- methods that merge labels


def merging_text(method: MergingMethod) -> str:
    return text.page(
        f"# {text.plain(method.name)}",
        text.from_docstring(inspect.getdoc(method.fit) or ""),
        text.facts({
            "Also written": ", ".join(f"`{alias}`" for alias in method.aliases),
            "Needs labels with an order": yes(method.ordered),
            "Takes steps": yes(method.iterative),
            "Settings": ", ".join(f"`{name}`" for name in method.settings),
            "Computed by": "[`cranfield labels merge`](../commands/labels-merge.md)",
            "Paper": text.with_links(method.source),
        }),
    )  # fmt: skip


def merging_index(entries: dict[str, MergingMethod], links: dict[str, str]) -> str:
    rows = [(links[name], text.plain(summary(method.fit)), yes(method.ordered)) for name, method in entries.items()]
    return text.page(
        "# Methods that merge labels",
        "`cranfield labels merge --method NAME` and `merge(labels, method=NAME)` take these names. "
        "[Labels of several assessors](../../labels.md#merging) explains how to choose.",
        text.table(["method", "what it does", "needs an order"], rows),
    )


# -- online measures


def simulated_values() -> dict[str, tuple[float, float, float]]:
    """{measure: its value in a simulated log, and the ends of its interval}."""
    with tempfile.TemporaryDirectory() as folder:
        status, printed = text.run(LOG.split(), Path(folder))
        if status != 0:
            raise SystemExit(f"{LOG} fails: {printed}")
        columns = measure_log(read_log(Path(folder) / "log"), ONLINE_MEASURES).columns()
    ends = zip(columns["value"].tolist(), columns["low"].tolist(), columns["high"].tolist(), strict=True)
    return dict(zip(ONLINE_MEASURES, ends, strict=True))


def online_text(values: dict[str, tuple[float, float, float]], measure: type[OnlineMeasure]) -> str:
    value, low, high = values[measure.name]
    shown = (
        f"In the simulated log that `{LOG}` writes, it is {value:.4g} ({measure.unit}); "
        f"the 95% interval goes from {low:.4g} to {high:.4g}."
        if value == value
        else f"The simulated log that `{LOG}` writes does not record what this measure needs, so it is undefined there."
    )
    defaults = ", ".join(f"`{field.name}={field.default}`" for field in dataclasses.fields(measure))
    return text.page(
        f"# {text.plain(measure.name)}",
        text.from_docstring(inspect.getdoc(measure) or ""),
        text.facts({
            "Level": measure.level,
            "Unit": measure.unit,
            "Better": measure.better,
            "Parameters": defaults,
            "Computed by": "[`cranfield log measures`](../commands/log-measures.md)",
        }),
        "## Example",
        shown,
        text.code(f"cranfield log measures log -m {measure.name}", "sh"),
    )  # fmt: skip


def online_index(entries: dict[str, type[OnlineMeasure]], links: dict[str, str]) -> str:
    levels = dict.fromkeys(measure.level for measure in entries.values())
    parts = []
    for level in levels:
        rows = [
            (links[name], text.plain(measure.summary()), measure.unit, measure.better)
            for name, measure in entries.items()
            if measure.level == level
        ]
        parts += [f"## {level[:1].upper()}{level[1:]}", text.table(["measure", "meaning", "unit", "better"], rows)]
    return text.page(
        "# Online measures",
        "Measures of logs of live traffic: `cranfield log measures LOG -m NAME` and `measure_log(log, [NAME])` take "
        "these names. [Live traffic](../../online.md) explains how to use them.",
        *parts,
    )


# -- click models


def click_text(kind: ClickKind) -> str:
    belongs = {"pair": "a query and a document", "rank": "a rank", "single": "the whole model"}
    belongs["browsing"] = "a rank and the rank of the last click above it"
    rows = [(name, belongs[place]) for name, place in kind.parameters.items()]
    return text.page(
        f"# {text.plain(kind.name)}",
        f"The {text.plain(kind.title)}." if not kind.title.startswith("the ") else f"{text.plain(kind.title)}.",
        text.from_docstring(inspect.getdoc(type(kind)) or ""),
        text.facts({
            "Fitted from": "whole pages" if kind.from_pages else "counts by query, document and rank",
            "Takes steps": yes(kind.takes_steps),
            "Several clicks on a page": yes(not kind.one_click),
            "Computed by": "[`cranfield clicks fit`](../commands/clicks-fit.md), "
            "[`evaluate`](../commands/clicks-evaluate.md), [`simulate`](../commands/clicks-simulate.md)",
            "Paper": text.with_links(kind.reference),
        }),
        "## Parameters",
        text.table(["parameter", "one for each of"], rows),
        "## Example",
        text.code(f"cranfield clicks fit log/ --model {kind.name} --held-out 0.2", "sh"),
    )  # fmt: skip


def clicks_index(entries: dict[str, ClickKind], links: dict[str, str]) -> str:
    rows = [
        (links[name], text.plain(kind.title), ", ".join(kind.parameters), text.with_links(kind.reference))
        for name, kind in entries.items()
    ]
    return text.page(
        "# Click models",
        "`cranfield clicks fit LOG --model NAME` takes these names. [Clicks](../../clicks.md) explains how to use "
        "them.",
        text.table(["model", "name", "parameters", "paper"], rows),
    )

"""The figures of methods of meta-evaluation, from their results; `METHOD_FIGURES` has those of a study."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.report.figures import (
    describe_agreement,
    describe_alike,
    describe_asl,
    describe_axioms,
    describe_boxes,
    describe_components,
    describe_concordance,
    describe_correlations,
    describe_effects,
    describe_heat,
    describe_informativeness,
    describe_intervals,
    describe_rank_changes,
    describe_robustness,
    describe_spacing,
    describe_swap_rates,
)
from cranfield.report.figures.figure import Axis, Figure, names
from cranfield.text import counted
from cranfield.types import Array

if TYPE_CHECKING:  # these import all of meta-evaluation
    from cranfield.comparison.result import Comparison
    from cranfield.meta.agreement.preferences import PredictivePower
    from cranfield.meta.agreement.preferred_rank import PreferredRanks
    from cranfield.meta.judgments.gain_change import GainChange
    from cranfield.meta.judgments.leave_out import LeftOut
    from cranfield.meta.judgments.robustness import Robustness
    from cranfield.meta.reproduction.reproduction import Reproduction
    from cranfield.meta.scale.meaningfulness import Meaningfulness
    from cranfield.meta.scale.scale import Scale, Scales
    from cranfield.meta.scale.scale_tests import ScaleTests
    from cranfield.meta.stability.accuracy_of_tests import TestAccuracy
    from cranfield.meta.stability.discrimination import DiscriminativePower
    from cranfield.meta.stability.generalisability import GStudies, GStudy
    from cranfield.meta.stability.swap import SwapRates

ROBUSTNESS_AXES = {
    "random": ("judgments kept", True),
    "depth": ("ranks pooled", False),
    "flips": ("judgments unchanged", True),
    "confusion": ("judgments unchanged", True),
    "topics": ("topics", False),
}
"""The label of the axis for each way to change judgments, and whether it is a share."""
MOST_LISTS = 100_000
"""The most lists in a figure of the spacing of scores."""
FEW_LISTS = 600
"""The most lists in such a figure of a report."""
MOST_SYSTEMS = 60
"""The most systems in a figure with a row for each, in a report."""
MOST_MEASURES = 4
"""The most figures of one kind, a measure each, in a report."""


def power_figure(result: DiscriminativePower, zoom: float | None = None) -> Figure:
    """The curves of p-values of the measures, up to the p-value `zoom`."""
    curves = {name: result.p_of(name) for name in result.measures}
    # By the rule `share` p < α is significant, so a p-value of exactly α must not count as below the line.
    limit = result.alpha if result.asl_rule == "plus-one" else math.nextafter(result.alpha, 0)
    test = f"{result.test} test, {counted(result.topics, 'topic')}"
    return describe_asl(curves, alpha=limit, highest=zoom, test=test)


def swap_figure(result: SwapRates) -> Figure:
    """A line per measure; with several sizes, a line per measure and size."""
    columns = result.columns()
    if len(result.sizes) > 1:
        pairs = zip(columns["measure"].tolist(), columns["size"].tolist(), strict=True)
        columns["measure"] = np.array([f"{measure}, {size} topics" for measure, size in pairs], dtype=object)
    return describe_swap_rates(columns, wanted=result.rate, open_end=True, subtitle=result.notes[0])


def left_out_figure(result: LeftOut, measure: str | None = None) -> Figure:
    """How ranks by a measure change, by default the first."""
    chosen = result.measures[0] if measure is None else measure
    columns = result.columns()
    mine = columns["measure"] == chosen
    return describe_rank_changes(
        {name: columns[name][mine] for name in ("run", "rank", "rank_without")},
        system="run",
        before="rank",
        after="rank_without",
        measure=chosen,
        after_label="left out of the pool" if result.by == "run" else "its team left out of the pool",
    )


def robustness_figure(result: Robustness, value: str = "tau", method: str | None = None) -> Figure:
    """How a way to change judgments, by default the first, changes the ranking or the scores."""
    chosen = result.methods[0] if method is None else method
    columns = result.curve(chosen, value)
    if chosen in ("flips", "confusion"):
        columns["level"] = 1 - columns["level"]
    label, share = ROBUSTNESS_AXES[chosen]
    repeats = max(map(len, result.levels(chosen).values()))
    subtitle = f"{counted(len(result.runs), 'system')}, {counted(result.topics, 'topic')}"
    subtitle += f"; bars: minimum and maximum of {repeats} repeats" if repeats > 1 else ""
    return describe_robustness(columns, kept="level", value=value, kept_label=label, as_share=share, subtitle=subtitle)


def scale_figure(result: Scale, most: int = MOST_LISTS) -> Figure:
    """The score of each list by one measure."""
    from cranfield.meta.scale.scale import Scales

    return spacing_figure(Scales((result,)), most)


def spacing_figure(result: Scales, most: int = MOST_LISTS) -> Figure:
    """The score of each list by each measure."""
    columns = result.columns()
    lists = sorted(text.replace(" ", "") for text in result.scales[0].columns()["list"].tolist())
    if len(lists) > most:
        raise UsageError(f"{len(lists):,} lists are too many to draw; use shorter ones")
    scores: dict[str, dict[str, float]] = {}
    for measure, text, score in zip(columns["measure"], columns["list"], columns["score"].tolist(), strict=True):
        scores.setdefault(measure, {})[text.replace(" ", "")] = score
    return describe_spacing(
        {
            with_numbers(measure): [by_list.get(name, float("nan")) for name in lists]
            for measure, by_list in scores.items()
        },
        lists,
    )


def with_numbers(name: str) -> str:
    """The name of a measure with its numbers, also those that are the default, because they decide the spacing.

    >>> with_numbers("RBP"), with_numbers("RBP(p=0.3)"), with_numbers("AP@4")
    ('RBP(p=0.8)', 'RBP(p=0.3)', 'AP@4')
    """
    from cranfield.measures.naming.parse import parse

    if ":" in name or (measure := parse(name)).views:
        return name
    numbers = {
        key: value
        for key, value in measure.parameters().items()
        if isinstance(value, float | int) and not isinstance(value, bool) and key != "rel" and f"{key}=" not in name
    }
    head, tail = measure.name, name.removeprefix(measure.name)
    written = ",".join(f"{key}={value:g}" for key, value in numbers.items())
    if not written:
        return name
    return f"{head}({written},{tail[1:]}" if tail.startswith("(") else f"{head}({written}){tail}"


def components_figure(result: GStudies) -> Figure:
    """The shares of variance of each measure."""
    sizes = ", ".join(counted(size, facet) for facet, size in result.studies[0].sizes.items())
    return describe_components(result.columns(), component="source", subtitle=sizes)


def study_figure(result: GStudy) -> Figure:
    """The shares of variance of one measure."""
    from cranfield.meta.stability.generalisability import GStudies

    return components_figure(GStudies((result,)))


def reproduction_figure(result: Reproduction) -> Figure:
    """The effect, if there is an advanced run; else how alike the lists are by topic."""
    if "advanced" in result.runs:
        return describe_effects(result)
    if not result.orders:
        raise UsageError("a baseline alone has a figure only if its lists are of the same collection")
    lists = result.orders[0]
    return describe_alike({"topic": lists.topics, "tau": lists.tau, "overlap": lists.overlap}, lists.role)


def gains_figure(result: GainChange) -> Figure:
    """The correlation of each ranking with that by the usual gains."""
    title = "Rankings by other gains"
    return describe_heat(result.values, result.measures, result.gains, what=result.coefficient, title=title)


def shares_figure(parts: Mapping[str, Sequence[float]], rows: Sequence[str], *, label: str, title: str) -> Figure:
    """A bar for each row, divided into parts.

    >>> shares_figure({"yes": [1], "no": [3]}, ["AP"], label="share", title="t").columns()["share"].tolist()
    [0.25, 0.75]
    """
    counts: Array = np.array([parts[name] for name in parts], dtype=np.float64).T
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    end = np.cumsum(share, axis=1)
    return Figure(
        "stacked_bars",
        {
            "measure": np.repeat(names(rows), len(parts)),
            "component": np.tile(names(parts), len(rows)),
            "variance": counts.ravel(),
            "share": share.ravel(),
            "begin": (end - share).ravel(),
            "end": end.ravel(),
        },
        x=Axis("share", label, "share", low=0, high=1),
        y=Axis("measure", "measure", "category"),
        by=Axis("component", "", "category"),
        title=title,
    )


def scale_tests_figure(result: ScaleTests) -> Figure:
    """The pairs that differ by both tests, by one of them, and by none."""
    both = result.both
    parts = {
        "by both": both,
        "by ranks only": result.by_ranks - both,
        "by means only": result.by_means - both,
        "by neither": result.pairs - result.by_ranks - result.by_means + both,
    }
    title = "Pairs of systems that differ by ranks and by means"
    return shares_figure(
        {name: column.tolist() for name, column in parts.items()}, result.measures, label="share of pairs", title=title
    )


def meaningful_figure(result: Meaningfulness) -> Figure:
    """The pairs of systems whose order survives every permissible transformation."""
    holds = [int(result.holds[result.measure == name].sum()) for name in result.measures]
    pairs = [int((result.measure == name).sum()) for name in result.measures]
    if not any(pairs):
        raise UsageError("nothing to draw: no two systems differ")
    parts = {"holds": holds, "depends on the scale": [n - held for n, held in zip(pairs, holds, strict=True)]}
    title = "Conclusions about pairs of systems under other scales"
    return shares_figure(parts, result.measures, label="share of pairs", title=title)


def accuracy_figures(result: TestAccuracy) -> list[Figure]:
    """The type I error and the power of each test, by measure."""
    alpha, difference = f"α = {result.alpha:g}", f"a true difference of {result.difference:g}"
    rates = {"type I error": (result.type_1, f"should be {alpha}, at most"), "power": (result.power, difference)}
    return [
        describe_heat(values.T, result.tests, result.measures, what=what, title=f"{what[0].upper()}{what[1:]} of tests",
                      subtitle=subtitle)
        for what, (values, subtitle) in rates.items()
    ]  # fmt: skip


def accuracy_figure(result: TestAccuracy, what: str = "type I error") -> Figure:
    """The type I error, or the power, of each test by measure."""
    by_name = dict(zip(("type I error", "power"), accuracy_figures(result), strict=True))
    if what not in by_name:
        raise UsageError(f"what == {what!r}, must be one of {', '.join(by_name)}")
    return by_name[what]


def predictive_power_figure(result: PredictivePower) -> Figure:
    """How often each measure agrees with preferences."""
    return describe_agreement(result, level=result.level)


def preferred_rank_figure(result: PreferredRanks) -> Figure:
    """How deep the preferred document is in the lists of each run."""
    if len(result.runs) > MOST_SYSTEMS:
        raise UsageError(f"{len(result.runs):,} runs are too many to draw")
    by_run = {
        run: {topic: rank for topic, rank in zip(result.topics, ranks.tolist(), strict=True) if rank == rank}
        for run, ranks in zip(result.runs, result.preferred, strict=True)
    }
    return describe_boxes({run: ranks for run, ranks in by_run.items() if ranks}, "preferred rank")


def comparison_figures(result: Comparison) -> list[Figure]:
    """The means of systems with intervals, for each measure."""
    families = [family for family in result.families if len(family.matrix.systems) <= MOST_SYSTEMS]
    return [describe_intervals(result, family.matrix.measure) for family in families[:MOST_MEASURES]]


METHOD_FIGURES: dict[str, Callable[[Any], Sequence[Figure]]] = {
    "compare": comparison_figures,
    "power": lambda result: [power_figure(result)],
    "swap": lambda result: [swap_figure(result)],
    "correlate": lambda result: [describe_correlations(result)],
    "concord": lambda result: [describe_concordance(result)],
    "predict": lambda result: [predictive_power_figure(result)],
    "loo": lambda result: [left_out_figure(result, measure) for measure in result.measures[:MOST_MEASURES]],
    "robust": lambda result: [robustness_figure(result, "tau", method) for method in result.methods],
    "gains": lambda result: [gains_figure(result)],
    "topics": lambda result: [robustness_figure(result)],
    "scale": lambda result: [spacing_figure(result, FEW_LISTS)],
    "scale-tests": lambda result: [scale_tests_figure(result)],
    "axioms": lambda result: [describe_axioms(result)],
    "gtheory": lambda result: [components_figure(result)],
    "ranks": lambda result: [preferred_rank_figure(result)],
    "inform": lambda result: [describe_informativeness(result)],
    "reproduce": lambda result: [reproduction_figure(result)],
    "tests": accuracy_figures,
    "meaningful": lambda result: [meaningful_figure(result)],
}
"""{method of a study: what makes the figures of its result}."""

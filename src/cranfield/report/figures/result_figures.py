"""The figures of results: `figure_of` finds that of a class, and `METHOD_FIGURES` has those of a study.

Most results are drawn by a `describe_` function as they are; here are those that need a few words, or a choice, before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.record import Shown
from cranfield.report import figures
from cranfield.report.figures.figure import Axis, Figure, names
from cranfield.report.figures.style import STYLES
from cranfield.text import counted
from cranfield.types import Array

if TYPE_CHECKING:  # these import half of the package
    from cranfield.building.effect.effect_record import MergeEffect
    from cranfield.building.machine.machine_audit import Audit
    from cranfield.building.pools.pool_simulation import PoolSimulation
    from cranfield.comparison.anova.anova import LevelMeans
    from cranfield.comparison.power.topic_set_size import PowerAnswer
    from cranfield.comparison.result import Comparison
    from cranfield.evaluation.topic_sheet import DecidingTopics
    from cranfield.meta.agreement.concordance import PredictivePower
    from cranfield.meta.agreement.correlation import Distances
    from cranfield.meta.agreement.gain_change import GainChange
    from cranfield.meta.agreement.preferred_rank import PreferredRanks
    from cranfield.meta.judgments.leave_out import LeftOut
    from cranfield.meta.judgments.robustness import Robustness
    from cranfield.meta.reproduction.reproduction import Reproduction
    from cranfield.meta.scale.conclusions import ScaleTests
    from cranfield.meta.scale.meaningfulness import Meaningfulness
    from cranfield.meta.scale.scale import Scale, Scales
    from cranfield.meta.stability.accuracy_of_tests import TestAccuracy
    from cranfield.meta.stability.discrimination import DiscriminativePower
    from cranfield.meta.stability.generalisability import GStudies, GStudy
    from cranfield.meta.stability.power_side_by_side import PowerSideBySide
    from cranfield.meta.stability.swap import SwapRates
    from cranfield.meta.stability.swap_extrapolation import SwapExtrapolation
    from cranfield.online.interleaving.interleaving_simulation import InterleavingSimulation
    from cranfield.online.interleaving.sign_statistics import InterleavingPower
    from cranfield.online.log_measures.measured_log import LogMeasures
    from cranfield.online.log_measures.satisfaction.learned_satisfaction import Satisfaction
    from cranfield.online.prediction.online_agreement import OnlineAgreement


from cranfield.errors import CranfieldError
from cranfield.report.figures.figure import figure_from_plain, figure_to_plain


def figure_of(result: Shown, **options: Any) -> Figure:
    """The figure of a result; `options` are those of the function that describes it, and those of `Style`.

    >>> from cranfield.scores.scores import Scores
    >>> figure_of(Scores.from_matrix([[0.2, 0.4], [0.3, 0.6]], runs=["a", "b"], measure="AP")).title
    'AP of 2 systems on 2 topics'
    """
    if not result.figure:
        raise UsageError(
            f"{type(result).__name__} has no figure of its own; cranfield.report.figures has functions for columns of "
            "numbers"
        )
    style = {name: options.pop(name) for name in STYLES if name in options}
    return function_of(result.figure)(result, **options).styled(**style)


def function_of(name: str) -> Callable[..., Figure]:
    """A function that describes a figure, by its name."""
    function: Callable[..., Figure] = globals()[name] if name in globals() else getattr(figures, name)
    return function


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
    return figures.describe_asl(curves, alpha=limit, highest=zoom, test=test)


def power_side_by_side_figure(result: PowerSideBySide, zoom: float | None = None) -> Figure:
    """Curves of p-values of each measure and condition; of collections and classes, a line of shares for each."""
    first = next(iter(result.parts.values()))
    if result.kind in ("collection", "class"):
        return figures.describe_shares(result.columns(), by=result.kind, alpha=first.alpha)
    several = len(result.measures) > 1
    curves = {
        f"{measure}, {name}" if several else name: part.p_of(measure)
        for measure in result.measures
        for name, part in result.parts.items()
    }
    limit = first.alpha if first.asl_rule == "plus-one" else math.nextafter(first.alpha, 0)
    subject = counted(first.topics, "topic") if several else f"{result.measures[0]}, {counted(first.topics, 'topic')}"
    return figures.describe_asl(curves, alpha=limit, highest=zoom, test=subject)


def swap_figure(result: SwapRates) -> Figure:
    """A line per measure; with several sizes, a line per measure and size."""
    columns = result.columns()
    if len(result.sizes) > 1:
        pairs = zip(columns["measure"].tolist(), columns["size"].tolist(), strict=True)
        columns["measure"] = np.array([f"{measure}, {counted(size, 'topic')}" for measure, size in pairs], dtype=object)
    return figures.describe_swap_rates(columns, wanted=result.rate, open_end=True, subtitle=result.notes[0])


def swap_extrapolation_figure(result: SwapExtrapolation) -> Figure:
    """Swap rates by the number of topics, and the fitted curves up to the extrapolated number, for five bins each."""
    swaps = result.swaps
    rows: list[tuple[str, float, float]] = []
    several = len(swaps.measures) > 1
    for m, measure in enumerate(swaps.measures):
        fitted = np.flatnonzero(~np.isnan(result.factor[m]))
        for i in fitted[np.unique(np.linspace(0, len(fitted) - 1, 5).round().astype(int))] if len(fitted) else ():
            name = f"{measure}, {swaps.edges[i]:g}" if several else f"{swaps.edges[i]:g}"
            rows += [(name, float(n), float(rate)) for n, rate in zip(swaps.sizes, swaps.rates[m, :, i], strict=True)]
            ends = np.linspace(swaps.sizes[0], result.topics, POINTS)
            rows += [
                (f"{name} (fit)", n, float(result.factor[m, i] * np.exp(-result.decay[m, i] * n)))
                for n in ends.tolist()
            ]
    if not rows:
        raise UsageError("nothing to draw: no bin has swaps in three sizes or more with rates that fall")
    label, n, rate = zip(*rows, strict=True)
    return Figure(
        "lines",
        {"difference": names(label), "topics": np.array(n), "rate": np.array(rate)},
        x=Axis("topics", "topics in each set", low=0),
        y=Axis("rate", "swap rate", "share", low=0),
        by=Axis("difference", "difference", "category"),
        title="Swap rates extrapolated",
        subtitle=f"observed, and the curve a·exp(−b n) to {counted(result.topics, 'topic')}",
    )


def left_out_figure(result: LeftOut, measure: str | None = None) -> Figure:
    """How ranks by a measure change, by default the first."""
    chosen = result.measures[0] if measure is None else measure
    columns = result.columns()
    mine = columns["measure"] == chosen
    return figures.describe_rank_changes(
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
    return figures.describe_robustness(
        columns, kept="level", value=value, kept_label=label, as_share=share, subtitle=subtitle
    )


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
    return figures.describe_spacing(
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
    return figures.describe_components(result.columns(), component="source", subtitle=sizes)


def study_figure(result: GStudy) -> Figure:
    """The shares of variance of one measure."""
    from cranfield.meta.stability.generalisability import GStudies

    return components_figure(GStudies((result,)))


def reproduction_figure(result: Reproduction) -> Figure:
    """The effect, if there is an advanced run; else how alike the lists are by topic."""
    if "advanced" in result.runs:
        return figures.describe_effects(result)
    if not result.orders:
        raise UsageError("a baseline alone has a figure only if its lists are of the same collection")
    lists = result.orders[0]
    return figures.describe_alike({"topic": lists.topics, "tau": lists.tau, "overlap": lists.overlap}, lists.role)


def gains_figure(result: GainChange) -> Figure:
    """The correlation of each ranking with that by the usual gains."""
    title = "Rankings by other gains"
    return figures.describe_heat(result.values, result.measures, result.gains, what=result.coefficient, title=title)


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
    titles = {what: f"{what[0].upper()}{what[1:]} of tests" for what in rates}
    return [
        figures.describe_heat(values.T, result.tests, result.measures, what=what, title=titles[what], subtitle=subtitle)
        for what, (values, subtitle) in rates.items()
    ]


def accuracy_figure(result: TestAccuracy, what: str = "type I error") -> Figure:
    """The type I error, or the power, of each test by measure."""
    by_name = dict(zip(("type I error", "power"), accuracy_figures(result), strict=True))
    if what not in by_name:
        raise UsageError(f"what == {what!r}, must be one of {', '.join(by_name)}")
    return by_name[what]


def predictive_power_figure(result: PredictivePower) -> Figure:
    """How often each measure agrees with preferences."""
    return figures.describe_agreement(result, level=result.level)


def preferred_rank_figure(result: PreferredRanks) -> Figure:
    """How deep the preferred document is in the lists of each run."""
    if len(result.runs) > MOST_SYSTEMS:
        raise UsageError(f"{len(result.runs):,} runs are too many to draw")
    by_run = {
        run: {topic: rank for topic, rank in zip(result.topics, ranks.tolist(), strict=True) if rank == rank}
        for run, ranks in zip(result.runs, result.preferred, strict=True)
    }
    return figures.describe_boxes({run: ranks for run, ranks in by_run.items() if ranks}, "preferred rank")


def comparison_figures(result: Comparison) -> list[Figure]:
    """The means of systems with intervals, for each measure."""
    families = [family for family in result.families if len(family.matrix.systems) <= MOST_SYSTEMS]
    return [figures.describe_intervals(result, family.matrix.measure) for family in families[:MOST_MEASURES]]


METHOD_FIGURES: dict[str, Callable[[Any], Sequence[Figure]]] = {
    "compare": comparison_figures,
    "power": lambda result: [power_figure(result)],
    "power-by-test": lambda result: [power_side_by_side_figure(result)],
    "swap": lambda result: [swap_figure(result)],
    "correlate": lambda result: [figures.describe_correlations(result)],
    "concord": lambda result: [figures.describe_concordance(result)],
    "predict": lambda result: [predictive_power_figure(result)],
    "loo": lambda result: [left_out_figure(result, measure) for measure in result.measures[:MOST_MEASURES]],
    "robust": lambda result: [robustness_figure(result, "tau", method) for method in result.methods],
    "gains": lambda result: [gains_figure(result)],
    "topics": lambda result: [robustness_figure(result)],
    "scale": lambda result: [spacing_figure(result, FEW_LISTS)],
    "scale-tests": lambda result: [scale_tests_figure(result)],
    "axioms": lambda result: [figures.describe_axioms(result)],
    "gtheory": lambda result: [components_figure(result)],
    "ranks": lambda result: [preferred_rank_figure(result)],
    "inform": lambda result: [figures.describe_informativeness(result)],
    "reproduce": lambda result: [reproduction_figure(result)],
    "tests": accuracy_figures,
    "meaningful": lambda result: [meaningful_figure(result)],
    "anova": lambda result: [
        figures.describe_boxes(result.scores, measure) for measure in result.scores.measures[:MOST_MEASURES]
    ],
    **dict.fromkeys(("scales", "anova-square", "worked-examples", "errata"), lambda result: []),  # tables say it all
}
"""{method of a study: what makes the figures of its result}."""


POINTS = 40
"""The number of points of a curve of power."""


def level_means_figure(result: LevelMeans, measure: str = "") -> Figure:
    """The interaction of two factors."""
    if len(result.factors) != 2:
        names = ":".join(result.factors)
        raise UsageError(
            f"means of {names}: a figure shows two factors; for the levels of one, draw the result of tukey"
        )
    return figures.describe_interaction(result, *result.factors, measure=measure)


def distances_figure(result: Distances) -> Figure:
    """The distance from the scores by each measure to the ranking by each other."""
    return figures.describe_heat(
        result.values,
        result.measures,
        result.measures,
        what="d-rank",
        title="Distance between rankings of systems (d_rank)",
        subtitle="from the scores by the row\nto the ranking by the column",
    )


def power_answer_figure(answers: PowerAnswer | Sequence[PowerAnswer]) -> Figure:
    """The curves of all measures: power, detectable difference, or width of intervals."""
    from cranfield.comparison.power.topic_set_size import PowerAnswer, share

    drawn = first_answers([answers] if isinstance(answers, PowerAnswer) else answers)
    lead = drawn[0]
    design = lead.experiment.design
    value = "width" if not design.tests else "difference" if lead.asked == "difference" else "power"
    most = 3 * max(answer.topics for answer in drawn)
    grid = np.unique(np.geomspace(max(2, min(a.topics for a in drawn) / 6), most, POINTS).round().astype(int))
    parts = [answer.curve(grid.tolist()).columns() for answer in drawn]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in ("measure", "topics", value)}
    wanted = {"power": lead.power, "difference": None, "width": lead.width}[value] if lead.asked == "topics" else None
    measure = f"{lead.measure}: " if lead.measure and len(drawn) == 1 else ""
    difference = f"to detect a difference of {lead.difference:g}; " if value == "power" else ""
    power = f"detected with power {share(lead.power)}; " if value == "difference" else ""
    subtitle = f"{measure}{difference}{power}{design.says}, α = {lead.experiment.alpha:g}"
    marked = lead.topics if len(drawn) == 1 else None
    return figures.describe_power(columns, value=value, wanted=wanted, answer=marked, subtitle=subtitle)


def first_answers(answers: Sequence[PowerAnswer]) -> list[PowerAnswer]:
    """The first answer for each measure, whose curve serves for all."""
    return list({answer.measure: answer for answer in reversed(answers)}.values())[::-1]


def log_measure_figure(result: LogMeasures, measure: str | None = None) -> Figure:
    """One measure of a log, by default the last."""
    return figures.describe_log_measure(result, result.measures[-1] if measure is None else measure)


def satisfaction_figure(result: Satisfaction) -> Figure:
    """How well predicted satisfaction is calibrated."""
    return figures.describe_reliability(result.curve)


def online_agreement_figure(result: OnlineAgreement) -> Figure:
    """How often each measure predicts the winner, by the size of its difference."""
    return figures.describe_online_agreement(result.curve_columns(), subtitle=result.verdict)


def interleaving_simulation_figure(result: InterleavingSimulation) -> Figure:
    """The power of each method by the number of impressions."""
    subtitle = f"sign test at α = {result.alpha:g}, shares of wins from {counted(result.impressions, 'impression')}"
    return figures.describe_interleaving_power(result.curve(), wanted=result.power, subtitle=subtitle)


def interleaving_power_figure(result: InterleavingPower) -> Figure:
    """The power for each Δ by the number of impressions."""
    curve: dict[str, Any] = result.curve()
    curve["series"] = np.array([f"Δ = {delta:g}" for delta in np.asarray(curve["delta"]).tolist()], dtype=object)
    return figures.describe_interleaving_power(curve, wanted=result.power, subtitle=result.notes[0])


def pool_simulation_figure(result: PoolSimulation) -> Figure:
    """The relevant documents that each policy has found after each number of judgments."""
    return figures.describe_discovery(result.curve(), subtitle=result.pooled)


def merge_effect_figure(result: MergeEffect, measure: str | None = None) -> Figure:
    """How each way to merge labels ranks the runs by a measure, by default the first."""
    chosen = result.measures[0] if measure is None else measure
    if chosen not in result.measures:
        raise nearest(chosen, result.measures, "measure")
    columns = result.columns()
    own = columns["measure"] == chosen
    return figures.describe_method_ranks({name: column[own] for name, column in columns.items()}, measure=chosen)


def audit_figure(result: Audit) -> Figure:
    """The ranks of runs by people and by the judge, or without runs the confusion of their labels."""
    return (
        figures.describe_judge_confusion(result.confusion)
        if result.ranks is None
        else figures.describe_judge_ranks(result.ranks)
    )


def deciding_topics_figure(result: DecidingTopics, measure: str | None = None) -> Figure:
    """The differences of two runs by topic, for one measure, by default the first."""
    chosen = result.measures[0] if measure is None else measure
    if chosen not in result.measures:
        raise nearest(chosen, result.measures, "measure")
    own = result.data["measure"] == chosen
    topics = result.data["topic"][own].tolist()
    pair = {
        run: dict(zip(topics, result.data[run][own].tolist(), strict=True)) for run in (result.first, result.second)
    }
    return figures.describe_differences(pair, (result.first, result.second), measure=chosen)


def plain_figures(method: str, result: Any) -> list[dict[str, Any]]:
    """The figures of a result of a method, as plain values; none if there is nothing to draw.

    Give it to `run_study` as `figures`.
    """
    try:
        return [figure_to_plain(figure) for figure in METHOD_FIGURES[method](result)]
    except CranfieldError:
        return []


def drawn_figures(plain: Sequence[Mapping[str, Any]] | None) -> list[Figure]:
    """The figures that `plain_figures` described."""
    return [figure_from_plain(figure) for figure in plain or ()]

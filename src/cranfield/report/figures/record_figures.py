"""The figures of results that need a few words, or a choice, before a `describe_` function can draw them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.report.figures import (
    describe_differences,
    describe_discovery,
    describe_heat,
    describe_interaction,
    describe_interleaving_power,
    describe_judge_confusion,
    describe_judge_ranks,
    describe_log_measure,
    describe_method_ranks,
    describe_online_agreement,
    describe_power,
    describe_reliability,
)
from cranfield.report.figures.figure import Figure

if TYPE_CHECKING:  # these import half of the package
    from cranfield.building.effect.effect_record import MergeEffect
    from cranfield.building.machine.machine_audit import Audit
    from cranfield.building.pools.pool_simulation import PoolSimulation
    from cranfield.comparison.anova.anova import LevelMeans
    from cranfield.comparison.power.answers import PowerAnswer
    from cranfield.meta.agreement.rank_distance import Distances
    from cranfield.online.interleaving.impressions_needed import InterleavingPower
    from cranfield.online.interleaving.interleaving_simulation import InterleavingSimulation
    from cranfield.online.log_measures.measured_log import LogMeasures
    from cranfield.online.log_measures.satisfaction.learned_satisfaction import Satisfaction
    from cranfield.online.prediction.online_agreement import OnlineAgreement
    from cranfield.scores.topic_sheet import DecidingTopics

POINTS = 40
"""The number of points of a curve of power."""


def level_means_figure(result: LevelMeans, measure: str = "") -> Figure:
    """The interaction of two factors."""
    if len(result.factors) != 2:
        names = ":".join(result.factors)
        raise UsageError(
            f"means of {names}: a figure shows two factors; for the levels of one, draw the result of tukey"
        )
    return describe_interaction(result, *result.factors, measure=measure)


def distances_figure(result: Distances) -> Figure:
    """The distance from the scores by each measure to the ranking by each other."""
    return describe_heat(
        result.values,
        result.measures,
        result.measures,
        what="d-rank",
        title="Distance between rankings of systems (d_rank)",
        subtitle="from the scores by the row\nto the ranking by the column",
    )


def power_answer_figure(answers: PowerAnswer | Sequence[PowerAnswer]) -> Figure:
    """The curves of all measures: power, detectable difference, or width of intervals."""
    from cranfield.comparison.power.answers import PowerAnswer, share

    given = [answers] if isinstance(answers, PowerAnswer) else list(answers)
    drawn = first_answers(given)
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
    return describe_power(columns, value=value, wanted=wanted, answer=marked, subtitle=subtitle)


def first_answers(answers: Sequence[PowerAnswer]) -> list[PowerAnswer]:
    """The first answer for each measure, whose curve serves for all."""
    return list({answer.measure: answer for answer in reversed(answers)}.values())[::-1]


def log_measure_figure(result: LogMeasures, measure: str | None = None) -> Figure:
    """One measure of a log, by default the last."""
    return describe_log_measure(result, result.measures[-1] if measure is None else measure)


def satisfaction_figure(result: Satisfaction) -> Figure:
    """How well predicted satisfaction is calibrated."""
    return describe_reliability(result.curve)


def online_agreement_figure(result: OnlineAgreement) -> Figure:
    """How often each measure predicts the winner, by the size of its difference."""
    return describe_online_agreement(result.curve_columns(), subtitle=result.verdict)


def interleaving_simulation_figure(result: InterleavingSimulation) -> Figure:
    """The power of each method by the number of impressions."""
    subtitle = f"sign test at α = {result.alpha:g}, shares of wins from {result.impressions:,} impressions"
    return describe_interleaving_power(result.curve(), wanted=result.power, subtitle=subtitle)


def interleaving_power_figure(result: InterleavingPower) -> Figure:
    """The power for each Δ by the number of impressions."""
    curve: dict[str, Any] = result.curve()
    curve["series"] = np.array([f"Δ = {delta:g}" for delta in np.asarray(curve["delta"]).tolist()], dtype=object)
    return describe_interleaving_power(curve, wanted=result.power, subtitle=result.notes[0])


def pool_simulation_figure(result: PoolSimulation) -> Figure:
    """The relevant documents that each policy has found after each number of judgments."""
    return describe_discovery(result.curve(), subtitle=result.pooled)


def merge_effect_figure(result: MergeEffect, measure: str | None = None) -> Figure:
    """How each way to merge labels ranks the runs by a measure, by default the first."""
    chosen = result.measures[0] if measure is None else measure
    if chosen not in result.measures:
        raise nearest(chosen, result.measures, "measure")
    columns = result.columns()
    own = columns["measure"] == chosen
    return describe_method_ranks({name: column[own] for name, column in columns.items()}, measure=chosen)


def audit_figure(result: Audit) -> Figure:
    """The ranks of runs by people and by the judge, or without runs the confusion of their labels."""
    return describe_judge_confusion(result.confusion) if result.ranks is None else describe_judge_ranks(result.ranks)


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
    return describe_differences(pair, (result.first, result.second), measure=chosen)

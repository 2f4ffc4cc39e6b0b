"""The result of an experiment: effects, the sample ratio, a verdict in one sentence, and what has to be known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.corrections import CORRECTIONS
from cranfield.notes import caution_note, method_note
from cranfield.online.experiments.arm_effects import BY_ORDER, ArmEffect, EffectRow, Settings
from cranfield.online.experiments.effects_in_parts import NoveltyEffects, SegmentEffects
from cranfield.online.experiments.ratio_mismatch import SampleRatio
from cranfield.record import Record, columns_of
from cranfield.table import Cell, Column, Estimate, Table
from cranfield.text import counted, listed


@dataclass(frozen=True, eq=False, repr=False)
class Analysis(Record):
    """The effects of all arms in all metrics."""

    figure = "describe_arm_effects"
    facts = ("verdict", "control", "alpha", "correction", "sequential", "sample_ratio", "segments", "novelty")

    control: str
    arms: tuple[str, ...]
    """The arms that are compared with the control."""
    metrics: tuple[str, ...]
    rows: tuple[EffectRow, ...]
    ratio: SampleRatio
    alpha: float
    correction: str
    sequential: str
    lower: frozenset[str]
    """Metrics of which lower values are better."""
    remarks: tuple[str, ...]
    by_segment: SegmentEffects | None = None
    by_day: NoveltyEffects | None = None

    @property
    def mismatch(self) -> bool:
        """Do the numbers of users disagree with the design? Then nothing else counts."""
        return self.ratio.mismatch

    @property
    def sample_ratio(self) -> dict[str, Any]:
        """The users of each arm and the test of their numbers."""
        return self.ratio.to_dict()

    @property
    def segments(self) -> dict[str, Any] | None:
        """The effects by segment, if they were asked for."""
        return None if self.by_segment is None else self.by_segment.to_dict()

    @property
    def novelty(self) -> dict[str, Any] | None:
        """The effects by day, if they were asked for."""
        return None if self.by_day is None else self.by_day.to_dict()

    @property
    def notes(self) -> tuple[str, ...]:
        """The verdict, the sample ratio, and how the numbers were computed."""
        return (caution_note(f"verdict: {self.verdict}"), self.ratio.sentence(), *self.remarks)

    def result(self, row: EffectRow) -> str:
        """What the data say about a metric: `better`, `worse`, `no clear difference`, or nothing without a test."""
        if math.isnan(row.p_adjusted):
            return ""
        if row.p_adjusted >= self.alpha or row.effect.difference == 0:
            return "no clear difference"
        return "better" if (row.effect.difference > 0) != (row.metric in self.lower) else "worse"

    @property
    def verdict(self) -> str:
        """One sentence for the people who decide."""
        if self.mismatch:
            return (
                "do not decide on this experiment: the arms do not have the numbers of users that the design says "
                "(sample-ratio mismatch)"
            )
        sentences = [self._of_arm([row for row in self.rows if row.arm == arm]) for arm in self.arms]
        return "; ".join(sentences)

    def _of_arm(self, rows: Sequence[EffectRow]) -> str:
        main, *others = rows
        arm, effect = main.arm, main.effect
        words = self.result(main)
        if not words:
            return f"{arm} cannot be compared with {self.control} in {main.metric}"
        span = self._span(effect)
        if words == "no clear difference":
            said = f"no clear difference between {arm} and {self.control} in {main.metric} ({span})"
        else:
            change = percent(effect.relative) if math.isfinite(effect.relative_low) else f"{effect.difference:+.4g}"
            said = f"{arm} is {words} than {self.control}: {main.metric} changes by {change} ({span})"
        results = {row.metric: self.result(row) for row in others}
        parts = [
            f"{listed(names)} {'is' if len(names) == 1 else 'are'} {word}"
            for word in ("better", "worse")
            if (names := [name for name, value in results.items() if value == word])
        ]
        unclear = sum(value == "no clear difference" for value in results.values())
        if unclear:
            parts.append(f"no clear difference in {counted(unclear, 'other metric')}")
        return ", ".join([said, *parts])

    def _span(self, effect: ArmEffect) -> str:
        level = f"{100 * (1 - self.alpha):g}% interval"
        if math.isfinite(effect.relative_low):
            return f"{level} {percent(effect.relative_low)} to {percent(effect.relative_high)}"
        if math.isfinite(effect.low):
            return f"{level} of the difference {effect.low:.4g} to {effect.high:.4g}"
        return "without an interval"

    def columns(self) -> dict[str, NDArray[Any]]:
        """metric, arm, method, users, values, difference, relative difference, p, result; a row per metric and arm."""
        effects = columns_of([row.effect for row in self.rows], ArmEffect)
        headings = {
            "method": "method", "users control": "users_control", "users": "users", "control": "control",
            "value": "treatment", "difference": "difference", "low": "low", "high": "high", "relative": "relative",
            "relative low": "relative_low", "relative high": "relative_high", "relative p": "relative_p",
        }  # fmt: skip
        return {
            **columns_of(self.rows, EffectRow, "metric", "arm"),
            **{heading: effects[name] for heading, name in headings.items()},
            "variance removed": np.array([row.reduction for row in self.rows]),
            **{name: effects[name] for name in ("statistic", "df", "p")},
            **columns_of(self.rows, EffectRow, "p adjusted"),
            "result": np.array([self.result(row) for row in self.rows], dtype=object),
        }

    def table(self) -> Table:
        """A row per metric and arm. A sample-ratio mismatch is the heading, so that nobody misses it."""
        columns = (
            Column("metric"), Column("arm"), Column(self.control, "number"), Column("value", "number"),
            Column("difference", "number"), Column("relative"), Column("statistic"), Column("p", "probability"),
            Column("p adjusted", "probability"), Column("result"),
        )  # fmt: skip
        cells: list[tuple[Cell, ...]] = []
        doubtful = self.mismatch
        for row in self.rows:
            effect = row.effect
            difference = Estimate(row.metric, row.arm, effect.difference, effect.low, effect.high, effect.users)
            relative = "" if math.isnan(effect.relative) else percent(effect.relative)
            if math.isfinite(effect.relative_low):
                relative += f" [{percent(effect.relative_low)}, {percent(effect.relative_high)}]"
            cells.append(
                (row.metric, row.arm, effect.control, effect.treatment, difference, relative, _statistic(effect),
                 effect.p, row.p_adjusted, "not to be trusted" if doubtful else self.result(row))
            )  # fmt: skip
        title = self.ratio.sentence() if doubtful else f"{listed(self.arms)} against {self.control}"
        notes = tuple(note for note in self.notes if note != title)
        return Table(columns, tuple(cells), title, notes)


def _statistic(effect: ArmEffect) -> str:
    """t or z, such as `t = 2.31`; empty for exact tests and the bootstrap."""
    if math.isnan(effect.statistic):
        return ""
    return f"{'z' if math.isnan(effect.df) else 't'} = {effect.statistic:z.2f}"


def percent(value: float) -> str:
    """A change in percent with its sign; without one if it is 0 as printed."""
    digits = 1 if abs(value) >= 0.1 else 2
    text = f"{100 * value:+.{digits}f}%"
    return text if text.strip("+-0.%") else text[1:]


_RELATIVE = {
    "fieller": "Fieller's method", "delta": "the delta method", "tea-tasting": "tea-tasting's method (log ratio)",
    "growthbook": "GrowthBook's method (delta method, over the control without covariates)",
}  # fmt: skip
_CUPED = {"within": "", "tea-tasting": " (θ over both arms, as tea-tasting)", "growthbook": " (θ as GrowthBook)"}


def empty_arms(arms: Mapping[str, int]) -> list[str]:
    """A caution if an arm has no users."""
    empty = [arm for arm, users in arms.items() if not users]
    return [f"caution: no users in {listed(empty)}; nothing can be compared with an empty arm"] if empty else []


def method_notes(rows: Sequence[EffectRow], settings: Settings, correction: str) -> list[str]:
    """Which tests and corrections were used."""
    methods = listed(dict.fromkeys(row.effect.method for row in rows), most=8)
    level = f"{100 * (1 - settings.alpha):g}%"
    drawn = {row.metric for row in rows if row.effect.method.startswith("bootstrap")}
    quantiles = {row.metric for row in rows if row.effect.method == BY_ORDER}
    others = {row.metric for row in rows} - drawn - quantiles
    ways = {"the bootstrap": drawn, BY_ORDER: quantiles, _RELATIVE[settings.relative]: others}
    used = {way: names for way, names in ways.items() if names}
    relative = " and ".join(
        way if len(used) == 1 else f"{way} ({listed(sorted(names))})" for way, names in used.items()
    )
    notes = [
        method_note(
            f"tests: {methods}; p adjusted by {CORRECTIONS.find(correction).name} for "
            f"{counted(len(rows), 'comparison')}; "
            f"each interval has level {level}; relative differences by {relative}"
        )
    ]
    looks = settings.looks
    if looks.design == "always-valid":
        tau = listed((f"{row.metric} {row.effect.tau:.3g}" for row in rows if row.effect.tau > 0), most=4)
        notes.append(
            method_note(
                f"always valid: p and intervals hold at any number of looks; mixture with τ = {tau}, which makes "
                f"intervals narrowest at {looks.tuned_for:,.0f} users"
            )
        )
    elif looks.design != "once":
        fractions = ", ".join(f"{t:.3g}" for t in looks.fractions)
        notes.append(
            method_note(
                f"group-sequential: {looks.design}, look {looks.look} at fractions {fractions} of the planned users; "
                "p and intervals hold for all looks together"
            )
        )
    reduced = {row.metric: row.reduction for row in rows if row.reduction > 0}
    if reduced:
        shown = listed((f"{name} {share:.1%}" for name, share in reduced.items()), most=8)
        notes.append(
            method_note(f"CUPED{_CUPED[settings.cuped]}: covariates remove this share of the variance: {shown}")
        )
    return notes

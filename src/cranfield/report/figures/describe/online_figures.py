"""Figures of live traffic: online measures, sessions, click models, interleaving and A/B tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.report.figures.describe.grids import describe_heat
from cranfield.report.figures.figure import Axis, Figure, Reference, columns_of, in_order, names, numbers
from cranfield.text import counted, listed

if TYPE_CHECKING:
    from cranfield.online.experiments.ab_record import Analysis
    from cranfield.online.experiments.experiment_power import ABPower
    from cranfield.online.experiments.random_splits import AASplits

KEYS = ("measure", "value", "low", "high", "error", "unit", "users", "part")
"""The columns of `measure_log` that are not groups."""


def describe_log_measure(columns: Any, measure: str | None = None, *, level: float = 0.95) -> Figure:
    """Show an online measure over days, a line per group, or by group, with its intervals.

    `columns` are those of `measure_log` with `by`: the groups, measure, value, low, high, unit.

    >>> table = {"arm": ["A", "B"], "measure": ["CTR", "CTR"], "value": [0.1, 0.2], "low": [0.0, 0.1]}
    >>> describe_log_measure({**table, "high": [0.2, 0.3], "unit": ["clicks", "clicks"]}).title
    'CTR by arm'
    """
    table = columns_of(columns, "measure", "value", "low", "high", "unit")
    labels = names(table["measure"])
    measure = labels[0] if measure is None else measure
    chosen = labels == measure
    if not chosen.any():
        raise UsageError(f"no measure {measure!r} to draw")
    groups = [name for name in table if name not in KEYS]
    if not groups:
        raise UsageError("a figure of an online measure needs groups, such as days or arms")
    ends = {name: numbers(table[name], name)[chosen] for name in ("value", "low", "high")}
    unit = str(table["unit"][chosen][0])
    label = f"{measure} ({unit})" if unit else measure
    intervals = f"with {100 * level:g}% intervals over users"
    others = [name for name in groups if name != "day"]
    key = _joined(table, others, chosen)
    if "day" in groups:
        data = {"day": names(table["day"][chosen]), measure: ends["value"], "low": ends["low"], "high": ends["high"]}
        if others:
            data[", ".join(others)] = key
        return Figure(
            "lines",
            data,
            x=Axis("day", "day", "category"),
            y=Axis(measure, label),
            by=Axis(", ".join(others), ", ".join(others), "category") if others else None,
            title=f"{measure} by day" + (f" and {', '.join(others)}" if others else ""),
            subtitle=intervals,
        )
    by = ", ".join(others)
    return Figure(
        "intervals",
        {
            "group": key,
            measure: ends["value"],
            "low": ends["low"],
            "high": ends["high"],
        },
        x=Axis(measure, label),
        y=Axis("group", by, "category"),
        title=f"{measure} by {by}",
        subtitle=intervals,
    )


def _joined(table: Any, groups: list[str], chosen: Any) -> Any:
    """The values of several columns as one label."""
    return names(" ".join(map(str, row)) for row in zip(*(table[name][chosen] for name in groups), strict=True))


def describe_reliability(columns: Any) -> Figure:
    """Show predicted probabilities beside the share of labels that are 1: on the diagonal, they are right.

    `columns` are those of `reliability_curve`: predicted, observed, low, high, n.

    >>> table = {"predicted": [0.2, 0.8], "observed": [0.3, 0.7], "low": [0.1, 0.5], "high": [0.5, 0.9], "n": [10, 12]}
    >>> describe_reliability(table).subtitle
    '22 predictions in 2 bins, with 95% intervals; the straight line is perfect calibration'
    """
    table = columns_of(columns, "predicted", "observed", "low", "high", "n")
    bins = len(table["n"])
    data = {name: numbers(table[name], name) for name in ("predicted", "observed", "low", "high")}
    line = {"predicted": np.array([0.0, 1.0]), "observed": np.array([0.0, 1.0])}
    nothing = np.full(2, np.nan)
    joined = {name: np.concatenate([data[name], line.get(name, nothing)]) for name in data}
    total = counted(int(np.sum(table["n"])), "prediction")
    return Figure(
        "lines",
        {"line": names(["classifier"] * bins + ["perfect"] * 2), **joined},
        x=Axis("predicted", "predicted probability", low=0.0, high=1.0),
        y=Axis("observed", "share of satisfied queries", low=0.0, high=1.0),
        by=Axis("line", "line", "category"),
        title="Calibration",
        subtitle=f"{total} in {counted(bins, 'bin')}, with 95% intervals; the straight line is perfect calibration",
    )


def describe_sessions(columns: Any, *, subtitle: str = "") -> Figure:
    """Show the share of sessions by their number of queries.

    `columns` are `queries` and `share`, as in `SessionSummary`.

    >>> describe_sessions({"queries": ["1", "2 or more"], "share": [0.7, 0.3]})
    Figure(lines: 2 rows of queries, share)
    """
    table = columns_of(columns, "queries", "share")
    return Figure(
        "lines",
        {"queries": names(table["queries"]), "share": numbers(table["share"], "share")},
        x=Axis("queries", "queries of a session", "category"),
        y=Axis("share", "share of sessions", "share", low=0, high=1),
        title="Sessions by their number of queries",
        subtitle=subtitle,
    )


def describe_click_parameters(columns: Any, *, model: str = "") -> Figure:
    """Show the parameters of ranks, such as examination, against the rank, with intervals.

    `columns` are those of a `ClickModel`: parameter, rank, above, value, low, high. Parameters of UBM get a line for
    each rank of the click above.

    >>> table = {"parameter": ["examination"] * 2, "rank": [1, 2], "above": [0, 0], "value": [1.0, 0.6]}
    >>> describe_click_parameters({**table, "low": [1.0, 0.5], "high": [1.0, 0.7]})
    Figure(lines: 2 rows of line, rank, value, low, high)
    """
    table = columns_of(columns, "parameter", "rank", "above", "value", "low", "high")
    model = model or getattr(columns, "model", "")
    rank, above = numbers(table["rank"], "rank"), numbers(table["above"], "above")
    shown = rank > 0
    if not shown.any():
        raise UsageError(f"{model or 'this model'} has no parameters of ranks, so there is nothing to draw")
    parameter = names(table["parameter"])[shown]
    label = in_order(parameter)[0]
    lines = parameter
    if above.any():
        words = ["no click above" if not place else f"click at rank {place:g}" for place in above[shown].tolist()]
        lines = names(words)
    low, high = (numbers(table[end], end)[shown] for end in ("low", "high"))
    order = np.lexsort((rank[shown], above[shown]))
    known = ~np.isnan(low)
    ends = {"low": np.where(known, low, np.nan)[order], "high": np.where(known, high, np.nan)[order]}
    return Figure(
        "lines",
        {"line": lines[order], "rank": rank[shown][order], "value": numbers(table["value"], "value")[shown][order]}
        | (ends if known.any() else {}),
        x=Axis("rank", "rank", "count", low=0),
        y=Axis("value", label, low=0, high=1),
        by=Axis("line", "parameter" if not above.any() else "nearest click", "category"),
        title=f"{label.capitalize()} by rank" + (f", {model}" if model else ""),
        subtitle="with intervals" if known.any() else "",
    )


def describe_click_perplexity(columns: Any) -> Figure:
    """Show the perplexity of click models against the rank, a line per model.

    `columns` are those of a `ClickEvaluation`: model, rank (0 for all ranks) and perplexity.

    >>> describe_click_perplexity({"model": ["PBM"] * 3, "rank": [0, 1, 2], "perplexity": [1.4, 1.6, 1.2]})
    Figure(lines: 2 rows of model, rank, perplexity)
    """
    table = columns_of(columns, "model", "rank", "perplexity")
    rank, value = numbers(table["rank"], "rank"), np.asarray(table["perplexity"], dtype=np.float64)
    endless = np.isinf(value) & (rank > 0)
    shown = (rank > 0) & np.isfinite(value)
    if not shown.any():
        raise UsageError("no rank has a perplexity that can be drawn")
    notes = (f"{counted(int(endless.sum()), 'infinite perplexity', 'infinite perplexities')} not shown",)
    return Figure(
        "lines",
        {"model": names(table["model"])[shown], "rank": rank[shown], "perplexity": value[shown]},
        x=Axis("rank", "rank", "count", low=0),
        y=Axis("perplexity", "perplexity", low=1),
        by=Axis("model", "click model", "category"),
        title="Perplexity of click models by rank",
        subtitle="1 is a perfect prediction of clicks, 2 that of a coin",
        notes=notes if endless.any() else (),
    )


def describe_online_agreement(columns: Any, *, comparison: str | None = None, subtitle: str = "") -> Figure:
    """Show the share of pairs whose online winner a measure names, a line per measure, against the number of topics.

    `columns` are comparison, measure, topics and agreement, as in `OnlineAgreement.curve_columns`. With several kinds
    of comparison, a line is named after both, unless `comparison` selects one.

    >>> table = {"comparison": ["ab"] * 2, "measure": ["AP"] * 2, "topics": [10, 50], "agreement": [0.7, 0.8]}
    >>> describe_online_agreement(table)
    Figure(lines: 2 rows of measure, topics, agreement)
    """
    table = columns_of(columns, "comparison", "measure", "topics", "agreement")
    kind, measure = names(table["comparison"]), names(table["measure"])
    keep = np.ones(len(kind), dtype=bool) if comparison is None else kind == comparison
    label = (
        measure
        if len(in_order(kind[keep])) < 2
        else np.array([f"{m}, {k}" for m, k in zip(measure, kind, strict=True)])
    )
    return Figure(
        "lines",
        {
            "measure": names(label[keep]),
            "topics": numbers(table["topics"], "topics")[keep],
            "agreement": numbers(table["agreement"], "agreement")[keep],
        },
        x=Axis("topics", "topics", "count", low=0),
        y=Axis("agreement", "pairs whose online winner is named", "share", low=0, high=1),
        by=Axis("measure", "measure", "category"),
        title="Which measure predicts the online winner?",
        subtitle=subtitle,
        references=(Reference("y", 0.5, "chance"),),
    )


def describe_preferences(analysis: Any) -> Figure:
    """Show Δ of every system (row) over every other (column).

    `analysis` is the result of `analyse_interleaving`.

    >>> from cranfield.online.interleaving.interleaving_analysis import analyse_interleaving
    >>> from cranfield.online.interleaving.preference_counts import count_preferences
    >>> counts = count_preferences(["a", "b"], np.array([[1, 0], [1, 0], [0, 1], [1, 0]]))
    >>> describe_preferences(analyse_interleaving(counts)).columns()["value"].tolist()
    [nan, 0.25, -0.25, nan]
    """
    matrix = np.array(analysis.matrix())
    np.fill_diagonal(matrix, np.nan)
    figure = describe_heat(matrix, analysis.systems, what="Δ of row over column", subtitle=analysis.verdict)
    return replace(figure, title="Preferences of users")


def describe_interleaving_power(columns: Any, *, wanted: float = 0.8, subtitle: str = "") -> Figure:
    """Show the power of the sign test against the number of impressions, a line for each `series`.

    `columns` are `series`, `impressions` and `power`, as in `InterleavingSimulation.curve`.

    >>> describe_interleaving_power({"series": ["team-draft"] * 2, "impressions": [10, 99], "power": [0.1, 0.8]})
    Figure(lines: 2 rows of series, impressions, power)
    """
    table = columns_of(columns, "series", "impressions", "power")
    data = {
        "series": names(table["series"]),
        "impressions": numbers(table["impressions"], "impressions"),
        "power": numbers(table["power"], "power"),
    }
    sizes = data["impressions"]
    return Figure(
        "lines",
        data,
        x=Axis("impressions", "impressions", "count", low=float(sizes.min()), high=float(sizes.max()), log=True),
        y=Axis("power", "power: probability of finding the difference", low=0, high=1),
        by=Axis("series", "", "category"),
        title="Power by number of impressions",
        subtitle=subtitle,
        references=(Reference("y", wanted, f"{wanted:g}"),),
    )


def describe_arm_effects(result: Analysis) -> Figure:
    """Show the relative difference of every metric and arm from the control, with its interval.

    A metric whose relative difference has no interval, because the control may be 0, is left out and noted.

    >>> from cranfield.online.experiments import analyse
    >>> import pyarrow
    >>> table = pyarrow.table({"arm": ["A"] * 3 + ["B"] * 3, "revenue": [5, 6, 7, 8, 9, 13]})
    >>> describe_arm_effects(analyse(table, "revenue")).columns()["effect"].tolist()
    ['revenue, B']
    """
    columns = result.columns()
    several = len(result.arms) > 1
    shown = np.isfinite(columns["relative low"])
    labels = [
        f"{metric}, {arm}" for metric, arm in zip(columns["metric"].tolist(), columns["arm"].tolist(), strict=True)
    ]
    left_out = [label for label, kept in zip(labels, shown.tolist(), strict=True) if not kept]
    if not shown.any():
        raise UsageError("nothing to draw: no metric has an interval of the relative difference")
    clear = np.isin(columns["result"], ["better", "worse"])
    stands = np.where(clear, "differs from the control", "does not clearly differ").astype(object)
    note = (f"without an interval of the relative difference: {listed(left_out)}",) if left_out else ()
    title = f"{listed(result.arms)} against {result.control}" + (f", {len(result.arms)} arms" if several else "")
    warning = "SAMPLE-RATIO MISMATCH: do not trust these results\n" if result.mismatch else ""
    return Figure(
        "intervals",
        {
            "effect": names(labels)[shown],
            "relative": columns["relative"][shown],
            "low": columns["relative low"][shown],
            "high": columns["relative high"][shown],
            "stands": stands[shown],
        },
        x=Axis("relative", "relative difference from the control", "share"),
        y=Axis("effect", "metric, arm", "category"),
        by=Axis("stands", "", "category"),
        title=title,
        subtitle=f"{warning}{100 * (1 - result.alpha):g}% intervals; filled: clear after correction",
        references=(Reference("x", 0.0, ""),),
        notes=(*note, *result.notes),
    )


def describe_detectable(result: ABPower) -> Figure:
    """Show the smallest relative effect that is found, by days or by users, a line per metric.

    >>> from cranfield.online.experiments import ab_power
    >>> import pyarrow
    >>> past = pyarrow.table({"revenue": [0.0, 1.0, 5.0] * 100})
    >>> describe_detectable(ab_power(past, "revenue", users=[1_000, 4_000])).columns()["relative"].round(3).tolist()
    [0.192, 0.096]
    """
    dated = bool(result.days.any())
    x = "days" if dated else "users"
    wanted = (Reference("y", float(result.effect), f"{100 * result.effect:g}%"),) if result.effect else ()
    kept = np.isfinite(result.relative)
    if not kept.any():
        raise UsageError("nothing to draw: every metric has mean 0")
    return Figure(
        "lines",
        {
            "metric": names(result.metric)[kept],
            x: (result.days if dated else result.users)[kept],
            "relative": result.relative[kept],
        },
        x=Axis(x, "days" if dated else "users in all arms", "count"),
        y=Axis("relative", "smallest relative effect that is found", "share", low=0.0),
        by=Axis("metric", "metric", "category"),
        title="Smallest effect that an experiment finds",
        subtitle=f"power {result.power:g}, α = {result.alpha:g}, {counted(len(result.shares), 'arm')}",
        references=wanted,
        notes=result.notes,
    )


def describe_aa_p_values(result: AASplits) -> Figure:
    """Show how often A/A splits have each p-value, a line per metric; a valid test has a flat line.

    >>> from cranfield.online.experiments import aa_splits
    >>> import pyarrow
    >>> table = pyarrow.table({"user": range(200), "x": np.random.default_rng(0).random(200)})
    >>> len(describe_aa_p_values(aa_splits(table, "x", unit="user", splits=50)).columns()["p"])
    20
    """
    table = result.histogram()
    middle = (table["low"] + table["high"]) / 2
    return Figure(
        "lines",
        {"metric": table["metric"], "p": middle, "share": table["share"]},
        x=Axis("p", "p-value", low=0.0, high=1.0),
        y=Axis("share", "share of splits", "share", low=0.0),
        by=Axis("metric", "metric", "category"),
        title=f"p-values of {result.splits:,} A/A splits",
        subtitle="in 20 bins; without an effect all are equally likely",
        references=(Reference("y", float(np.mean(table["high"] - table["low"])), "expected"),),
        notes=result.notes,
    )

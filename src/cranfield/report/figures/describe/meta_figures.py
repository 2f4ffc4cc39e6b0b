"""Figures of meta-evaluation: curves, intervals and variances of measures, ranks of runs, spacing, reproductions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield import check
from cranfield.errors import UsageError
from cranfield.report.figures.figure import (
    Axis,
    Figure,
    Reference,
    columns_of,
    ends_of,
    in_order,
    names,
    no_repeats,
    numbers,
)
from cranfield.text import counted

ROBUSTNESS = {
    "tau": ("Kendall's τ with the full ranking of systems", "Rankings of systems"),
    "mean": ("mean score over systems and topics", "Mean scores"),
    "change": ("change of the mean score, over systems", "Mean scores"),
    "rmse": ("root mean squared error of scores, over systems", "Error of scores"),
}
"""The label of the axis and the title of a robustness curve, by what it shows."""
if TYPE_CHECKING:
    from cranfield.meta.scale.list_order import ListOrder

MOST_IN_ORDER = 200
"""Lists that a figure of an order shows."""
MOST_TICKS = 10
"""The most differences that are numbered on the axis of swap rates."""


def describe_asl(
    p: Mapping[str, Any], *, alpha: float = 0.05, highest: float | None = None, test: str = "", title: str | None = None
) -> Figure:
    """Show the sorted p-values of all pairs of systems: the lower its curve, the more differences a measure finds.

    `p` is {measure: p-values}. `highest` cuts off the vertical axis, for example at 0.15, to show where the curves
    differ. Measures are sorted by how many pairs differ at `alpha`.
    Sakai 2014 Fig. 16, after Sakai, SIGIR 2006, 525-532, doi:10.1145/1148170.1148261

    >>> describe_asl({"RR": [0.2, 0.03], "AP": [0.04, 0.01]}).columns()["measure"].tolist()
    ['AP', 'AP', 'RR', 'RR']
    """
    if not p:
        raise UsageError("no p-values to draw; give those of at least one measure")
    check.between("describe_asl", low=0, high=1, alpha=alpha)
    curves = {measure: np.sort(numbers(values, f"the p-values of {measure}")) for measure, values in p.items()}
    for measure, values in curves.items():
        if not len(values) or np.isnan(values).any() or values[0] < 0 or values[-1] > 1:
            raise UsageError(f"the p-values of {measure} must be numbers between 0 and 1, one per pair of systems")
    significant = {measure: int((values <= alpha).sum()) for measure, values in curves.items()}
    curves = {measure: curves[measure] for measure in sorted(curves, key=lambda measure: -significant[measure])}
    sizes = sorted({len(values) for values in curves.values()})
    pairs = counted(sizes[-1], "pair") if len(sizes) == 1 else f"{sizes[0]:,} to {counted(sizes[-1], 'pair')}"
    return Figure(
        "lines",
        {
            "measure": names(measure for measure, values in curves.items() for _ in values),
            "pairs": np.concatenate([np.arange(1, len(values) + 1) for values in curves.values()]),
            "p": np.concatenate(list(curves.values())),
        },
        x=Axis("pairs", "pairs of systems, sorted by p", "count", low=0),
        y=Axis("p", "p (achieved significance level)", low=0, high=1 if highest is None else highest),
        by=Axis("measure", "measure", "category"),
        title="Discriminative power" if title is None else title,
        subtitle=f"{pairs} of systems{f', {test}' if test else ''}; the lower a curve, the more pairs differ",
        references=(Reference("y", alpha, f"α = {alpha:g}"),),
        notes=tuple(
            f"{measure}: {significant[measure]:,} of {counted(len(values), 'pair')} at α = {alpha:g}"
            for measure, values in curves.items()
        ),
    )


def describe_shares(columns: Any, *, by: str = "collection", alpha: float = 0.05) -> Figure:
    """Show the share of pairs that differ by each measure, a line per collection: parallel lines order measures alike.

    `columns` have a row per measure and collection: `by`, measure and share. Sakai 2007 Fig. 10.

    >>> table = {"collection": ["news", "news"], "measure": ["AP", "RR"], "share": [0.5, 0.3]}
    >>> describe_shares(table).x.kind
    'category'
    """
    check.between("describe_shares", low=0, high=1, alpha=alpha)
    table = columns_of(columns, by, "measure", "share")
    return Figure(
        "lines",
        {by: names(table[by]), "measure": names(table["measure"]), "share": numbers(table["share"], "share")},
        x=Axis("measure", "measure", "category"),
        y=Axis("share", f"pairs of systems that differ at α = {alpha:g}", "share", low=0),
        by=Axis(by, by, "category"),
        title="Discriminative power",
        subtitle="lines that fall alike: the measures have the same order",
    )


def describe_swap_rates(
    columns: Any,
    *,
    measure: str = "measure",
    difference: str = "difference",
    rate: str = "rate",
    wanted: float = 0.05,
    open_end: bool = False,
    subtitle: str = "",
) -> Figure:
    """Show the swap rate against the difference between two systems, one line per measure.

    `columns` have a row per measure and bin; `measure`, `difference` (the lower end of the bin) and `rate` name them.
    Bins without pairs have the rate NaN and are left out. With `open_end`, the last bin is of that difference and all
    above. Voorhees & Buckley, SIGIR 2002, 316-323.

    >>> table = {"measure": ["AP", "AP"], "difference": [0.0, 0.01], "rate": [0.3, 0.1]}
    >>> describe_swap_rates(table).y.label
    'swap rate'
    """
    check.between("describe_swap_rates", low=0, high=1, wanted=wanted)
    table = columns_of(columns, measure, difference, rate)
    rates = numbers(table[rate], rate)
    edges = np.unique(numbers(table[difference], difference))
    ends: dict[str, Any] = {}
    if open_end and len(edges) > 1:
        every = next(
            n for n in range(1, len(edges)) if (len(edges) - 1) % n == 0 and (len(edges) - 1) // n <= MOST_TICKS
        )
        ends = {"ticks": tuple(edges[::every].tolist()), "open_end": True, "high": float(2 * edges[-1] - edges[-2])}
    filled = ~np.isnan(rates)
    return Figure(
        "lines",
        {
            "measure": names(table[measure])[filled],
            "difference": numbers(table[difference], difference)[filled],
            "rate": rates[filled],
        },
        x=Axis("difference", "absolute difference between two systems' means over topics", low=0, **ends),
        y=Axis("rate", "swap rate", "share", low=0),
        by=Axis("measure", "measure", "category"),
        title="Swap rate",
        subtitle=subtitle or "how often another set of topics reverses a difference of this size",
        references=(Reference("y", wanted, f"{100 * wanted:g}%"),),
    )


def describe_robustness(
    columns: Any,
    *,
    measure: str = "measure",
    kept: str = "kept",
    value: str = "tau",
    kept_label: str = "judgments kept",
    as_share: bool = True,
    subtitle: str = "",
) -> Figure:
    """Show `value` against how much was kept, from all to little, one line per measure; `low` and `high` become bars.

    `columns` have a row per measure and amount. `kept` is a share (`as_share`), or a number such as topics or a depth.

    >>> table = {"measure": ["AP", "AP"], "kept": [1.0, 0.5], "tau": [1.0, 0.9]}
    >>> describe_robustness(table).title
    'Rankings of systems with fewer judgments'
    """
    table = columns_of(columns, measure, kept, value)
    amount = numbers(table[kept], kept)
    if as_share:
        for end in (amount.min(), amount.max()):
            check.between("describe_robustness", low=0, high=1, **{kept: float(end)})
    label, title = ROBUSTNESS.get(value, (value, value))
    return Figure(
        "lines",
        {"measure": names(table[measure]), kept: amount, value: numbers(table[value], value), **ends_of(table)},
        x=Axis(
            kept,
            kept_label,
            "share" if as_share else "count",
            low=0,
            high=1.0 if as_share else 1.05 * float(amount.max()),
            reverse=True,
        ),
        y=Axis(value, label, high=1.0 if value == "tau" else None),
        by=Axis("measure", "measure", "category"),
        title=f"{title} with fewer {kept_label.removesuffix(' kept')}",
        subtitle=subtitle,
    )


def describe_agreement(columns: Any, *, level: float | None = None) -> Figure:
    """Show the share of preferences that each measure agrees with, highest first, with its interval.

    `columns` are those of `predictive_power`: measure, agreement, low, high.

    >>> table = {"measure": ["RR", "Q"], "agreement": [0.6, 0.7], "low": [0.5, 0.6], "high": [0.7, 0.8]}
    >>> describe_agreement(table).columns()["measure"].tolist()
    ['Q', 'RR']
    """
    table = columns_of(columns, "measure", "agreement", "low", "high")
    labels = names(table["measure"])
    no_repeats(labels.tolist(), "measure")
    data = {name: numbers(table[name], name) for name in ("agreement", "low", "high")}
    order = np.argsort(-np.nan_to_num(data["agreement"], nan=-1.0), kind="stable")
    intervals = "" if level is None or np.isnan(data["low"]).all() else f", with {100 * level:g}% intervals"
    return Figure(
        "intervals",
        {"measure": labels[order], **{name: column[order] for name, column in data.items()}},
        x=Axis("agreement", "share of preferences agreed with", "share"),
        y=Axis("measure", "measure", "category"),
        title="Agreement with preferences",
        subtitle=f"highest first{intervals}",
        references=(Reference("x", 0.5, "a coin"),),
    )


def describe_informativeness(columns: Any) -> Figure:
    """Show the error of curves inferred from a measure's scores: quartiles over lists, best measure first.

    `columns` are those of `informativeness`: measure and rms, a row per measure and list.

    >>> table = {"measure": ["R", "R", "AP", "AP"], "rms": [0.3, 0.5, 0.1, 0.2]}
    >>> describe_informativeness(table).columns()["measure"].tolist()
    ['AP', 'R']
    """
    table = columns_of(columns, "measure", "rms")
    labels, errors = names(table["measure"]), numbers(table["rms"], "rms")
    measures = in_order(labels)
    quartiles = np.array([np.quantile(errors[labels == measure], [0.5, 0.25, 0.75]) for measure in measures])
    order = np.argsort(quartiles[:, 0], kind="stable")
    rms, low, high = quartiles[order].T
    return Figure(
        "intervals",
        {"measure": names(measures)[order], "rms": rms, "low": low, "high": high},
        x=Axis("rms", "RMS error of precision on the inferred curve", low=0.0),
        y=Axis("measure", "measure", "category"),
        title="How much a score says about the list",
        subtitle=f"median and quartiles over {counted(len(errors) // len(measures), 'list')}, best first",
    )


ALIKE = 1e-9
"""Scores, and gaps between scores, that differ by less than this are equal."""


def describe_spacing(scores: Mapping[str, Any], lists: Sequence[str], *, subtitle: str = "") -> Figure:
    """Show the scores that each measure gives to all lists of a length, with the lists that share each score.

    `scores` is {measure: a score per list}; `lists` are the grades of the lists, such as "1010". `gap` is the distance
    to the next lower score. Ferro & Maistro 2024 Fig. 19.

    >>> table = describe_spacing({"P": [0, 0.5, 0.5, 1]}, ["00", "01", "10", "11"]).columns()
    >>> table["lists"].tolist(), table["spacing"].tolist()
    (['00', '01 10', '11'], ['even', 'even', 'even'])
    """
    if not scores or not len(lists):
        raise UsageError("nothing to draw: give the scores of at least one measure, and the lists")
    records: list[tuple[Any, ...]] = []
    for measure, column in scores.items():
        values = numbers(column, f"the scores of {measure}")
        if len(values) != len(lists):
            raise UsageError(f"{measure} has {len(values)} scores, but there are {len(lists)} lists")
        if np.isnan(values).any():
            raise UsageError(f"{measure} has no score for list {lists[int(np.flatnonzero(np.isnan(values))[0])]}")
        order = np.argsort(values, kind="stable")
        begins = np.flatnonzero(np.diff(values[order], prepend=-np.inf) > ALIKE)
        levels = values[order][begins]
        gaps = np.diff(levels)
        even = not len(gaps) or bool(gaps.max() - gaps.min() <= ALIKE)
        for number, group in enumerate(np.split(order, begins[1:])):
            below = gaps[number - 1] if number else np.nan
            shared = " ".join(str(lists[i]) for i in sorted(group.tolist()))
            records.append((measure, levels[number], below, len(group), shared, "even" if even else "uneven"))
    measures, score, gap, ties, listed, spacing = zip(*records, strict=True)
    data = {"measure": names(measures), "score": np.array(score), "gap": np.array(gap), "ties": np.array(ties)}
    return Figure(
        "spacing",
        {**data, "lists": names(listed), "spacing": names(spacing)},
        x=Axis("score", "score"),
        y=Axis("measure", "measure", "category"),
        title=f"Order and spacing of {counted(len(lists), 'list')}",
        subtitle=subtitle or "an interval scale has even spacing",
    )


def describe_components(
    columns: Any,
    *,
    component: str = "component",
    variance: str = "variance",
    measure: str = "measure",
    subtitle: str = "",
) -> Figure:
    """Show the share of each variance component (system, topic, their interaction ...) for every measure.

    `columns` have a row per measure and component; without a column of measures there is one bar. Estimates below 0
    count as 0.

    >>> table = {"component": ["system", "topic", "system × topic"], "variance": [1.0, 2.0, 1.0]}
    >>> describe_components(table).columns()["share"].tolist()
    [0.25, 0.5, 0.25]
    """
    table = columns_of(columns, component, variance)
    several = measure in table
    labels = names(table[measure] if several else [""] * len(table[component]))
    variances = numbers(table[variance], variance)
    if np.isnan(variances).any():
        raise UsageError(f"{variance} has no value in row {int(np.flatnonzero(np.isnan(variances))[0]) + 1}")
    kept = np.maximum(variances, 0.0)
    share, end = np.empty_like(kept), np.empty_like(kept)
    for label in in_order(labels):
        bar = labels == label
        if not kept[bar].any():
            raise UsageError(f"nothing varies{f' in {label}' if several else ''}, so there are no shares to draw")
        share[bar] = kept[bar] / kept[bar].sum()
        end[bar] = np.cumsum(share[bar])
    below = int((variances < 0).sum())
    data = {"measure": labels, "component": names(table[component]), "variance": variances}
    return Figure(
        "stacked_bars",
        {**data, "share": share, "begin": end - share, "end": end},
        x=Axis("share", "share of variance", "share", low=0, high=1),
        y=Axis("measure", "measure", "category"),
        by=Axis("component", "component", "category"),
        title="Variance components",
        subtitle=subtitle,
        notes=(f"{counted(below, 'estimate')} below 0 drawn as 0",) if below else (),
    )


FEW = 30
"""With more systems than this, the figure shows only those that move, or the first ones if none does."""


def describe_rank_changes(
    columns: Any,
    *,
    system: str = "system",
    before: str = "before",
    after: str = "after",
    measure: str = "",
    before_label: str = "with its own documents judged",
    after_label: str = "left out of the pool",
) -> Figure:
    """Show how ranks change, such as from those with all judgments to those of each system when it was not pooled.

    >>> changes = describe_rank_changes({"system": ["a", "b", "c"], "before": [1, 2, 3], "after": [2, 2, 3]})
    >>> changes.columns()["change"].tolist()
    [1.0, 0.0, 0.0]
    """
    table = columns_of(columns, system, before, after)
    labels = names(table[system])
    no_repeats(labels.tolist(), "system")
    first, second = numbers(table[before], before), numbers(table[after], after)
    order = np.argsort(first, kind="stable")
    change = (second - first)[order]
    moved = int((change != 0).sum())
    extent = f"by up to {np.nanmax(np.abs(change)):g}"
    hidden = "; the others are not shown" if moved and moved < len(labels) and len(labels) > FEW else ""
    outcome = f"{moved:,} of {counted(len(labels), 'system')} change rank, {extent}{hidden}"
    if not moved:
        cut = f"; the first {FEW} of {len(labels):,} systems are shown" if len(labels) > FEW else ""
        outcome = f"no rank changes{cut}"
    return Figure(
        "dumbbells",
        {"system": labels[order], "before": first[order], "after": second[order], "change": change},
        x=Axis("change", "change of rank: to the right, the system falls", "count"),
        y=Axis("system", "system", "category"),
        title=f"Ranks{f' by {measure}' if measure else ''}: {after_label}",
        subtitle=f"first rank: {before_label}; second: {after_label}\n{outcome}",
    )


ROOM = 0.12


def describe_effects(columns: Any) -> Figure:
    """Show every measure at its effect ratio (ER) and its difference of relative improvements (ΔRI).

    `columns` are those of `reproduce`: measure, effect_ratio, delta_ri; rows without an effect are left out. A
    perfect reproduction has ER = 1 and ΔRI = 0. Breuer et al., SIGIR 2020, doi:10.1145/3397271.3401036

    >>> table = {"measure": ["AP", "AP"], "effect_ratio": [float("nan"), 0.8], "delta_ri": [float("nan"), 0.05]}
    >>> describe_effects(table).columns()["ER"].tolist()
    [0.8]
    """
    table = columns_of(columns, "measure", "effect_ratio", "delta_ri")
    ratio, change = numbers(table["effect_ratio"], "effect_ratio"), numbers(table["delta_ri"], "delta_ri")
    defined = ~(np.isnan(ratio) | np.isnan(change))
    if not defined.any():
        raise UsageError("no measure has an effect to draw: an effect needs a baseline and an advanced run that differ")
    ratio, change = ratio[defined], change[defined]
    (low, high), (bottom, top) = _ends(ratio, 1.0), _ends(change, 0.0)
    return Figure(
        "scatter",
        {"measure": names(table["measure"])[defined], "ER": ratio, "ΔRI": change},
        x=Axis("ER", "effect ratio (ER)", low=low, high=high),
        y=Axis("ΔRI", "difference of relative improvements (ΔRI)", low=bottom, high=top),
        title="Is the effect reproduced?",
        subtitle="as large as in the original where the lines meet,\nsmaller to the left of ER = 1",
        references=(Reference("x", 1.0, "ER = 1"), Reference("y", 0.0, "ΔRI = 0")),
    )


def describe_alike(columns: Any, role: str = "") -> Figure:
    """Show how similar the lists of a run and of its repetition are (τ union and RBO), topics in ascending order.

    `columns` are topic, tau and overlap.

    >>> figure = describe_alike({"topic": ["1", "2"], "tau": [0.9, 0.5], "overlap": [0.8, 0.7]})
    >>> figure.columns()["value"].tolist()
    [0.5, 0.9, 0.7, 0.8]
    """
    table = columns_of(columns, "topic", "tau", "overlap")
    parts = []
    for label, name in (("τ union", "tau"), ("RBO", "overlap")):
        values = numbers(table[name], name)
        order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
        parts.append((label, names(table["topic"])[order], values[order]))
    if not any(len(values) for _, _, values in parts):
        raise UsageError("nothing to draw: no topic has lists that can be compared")
    topics = len(table["topic"])
    return Figure(
        "lines",
        {
            "coefficient": names([label for label, _, values in parts for _ in values]),
            "place": np.concatenate([np.arange(1, len(values) + 1) for _, _, values in parts]),
            "topic": np.concatenate([labels for _, labels, _ in parts]),
            "value": np.concatenate([values for _, _, values in parts]),
        },
        x=Axis("place", "topics, sorted by each coefficient", "count"),
        y=Axis("value", "agreement of the two lists", high=1.0),
        by=Axis("coefficient", "", "category"),
        title=f"Lists of the {role} run and of its repetition" if role else "Lists of a run and of its repetition",
        subtitle=f"{counted(topics, 'topic')}; 1: the same documents in the same order",
    )


def _ends(values: Any, mark: float) -> tuple[float, float]:
    """Return the ends of an axis: some room around the values and the reference line."""
    low, high = min(float(values.min()), mark), max(float(values.max()), mark)
    room = max(ROOM * (high - low), 0.02)
    return low - room, high + room


def describe_list_order(order: ListOrder) -> Figure:
    """Show an order of lists as a Hasse diagram: a line from a list down to each list that is just below it.

    >>> from cranfield.meta.scale.list_order import list_order
    >>> describe_list_order(list_order([((1, 1), (1, 0)), ((1, 1), (0, 1))])).columns()["steps"].tolist()
    [1, 0, 0]
    """
    if len(order.lists) > MOST_IN_ORDER:
        raise UsageError(f"{len(order.lists):,} lists, at most {MOST_IN_ORDER} can be drawn; use shorter lists")
    size = np.bincount(order.level)
    nth = np.zeros(len(order.lists), dtype=np.int64)
    seen = np.zeros(len(size), dtype=np.int64)
    for at, level in enumerate(order.level.tolist()):
        nth[at], seen[level] = seen[level], seen[level] + 1
    place = nth - (size[order.level] - 1) / 2
    upper, lower = np.nonzero(order.covers)
    ends = np.stack([upper, lower], axis=1).ravel()
    reach = max(1.0, float(np.abs(place).max()) + 0.5)
    top = int(order.level.max())
    return Figure(
        "scatter",
        {"list": names(order.lists), "place": place, "steps": order.level},
        x=Axis("place", "", "count", low=-reach, high=reach, ticks=(0.0,)),
        y=Axis("steps", "steps up from the worst list", "count", low=-0.2, high=top + 0.2, ticks=tuple(range(top + 1))),
        title=f"The order of {counted(len(order.lists), 'list')}",
        subtitle="a line goes from a list down to those just below it",
        also={"edges": {
            "place": place[ends], "steps": order.level[ends], "edge": np.repeat(np.arange(len(upper)), 2),
        }},
    )  # fmt: skip

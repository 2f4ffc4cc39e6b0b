"""The report of an audit of machine judges: agreement, bias, rankings of runs, and conclusions that change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from cranfield import __version__
from cranfield.building.machine.judged_pairs import BOTH
from cranfield.building.machine.machine_audit import Audit
from cranfield.errors import UsageError
from cranfield.record import Record, table_of
from cranfield.report.figures.figure import in_order
from cranfield.report.pages.report_parts import (
    MADE_WITH,
    Block,
    Content,
    FigureBlock,
    Outline,
    Part,
    Report,
    TableBlock,
    files_block,
    report_of,
)
from cranfield.report.reports.citations import METHODS_TEXT, methods_blocks
from cranfield.table import escape_latex
from cranfield.text import counted, listed

NEEDS = {
    "lengths": "it needs the lengths of documents",
    "judges": "it needs two machine judges or more",
    "rankings": "it needs two runs or more, and two topics or more that both judged",
    "changes": "it needs two runs or more, and two topics or more that both judged",
    "families": "it needs runs and their families",
}
MOST_CONFUSIONS = 6
"""The most judges with a figure of their confusion; the table has all."""
MOST_RUNS = 60
"""With more runs, there is no figure of their ranks."""
FEW_ROWS = 20


def audit_report(
    result: Audit,
    outline: Outline | None = None,
    *,
    files: Sequence[tuple[str, str]] = (),
    warned: Sequence[str] = (),
) -> Report:
    """The report of an audit, ready for `report_page`. `files` are (what it holds, path);
    `warned` are warnings that were given.

    >>> from cranfield.building.machine.machine_audit import audit
    >>> human = {"1": {"a": 1, "b": 0, "c": 0}, "2": {"d": 1, "e": 0}}
    >>> machine = {"1": {"a": 1, "b": 1, "c": 0}, "2": {"d": 1, "e": 0}}
    >>> report = audit_report(audit(human, {"model": machine}))
    >>> report.sections[0].points[0]
    'model and people give the same grade to 80.0% of 5 documents; κ = 0.62, weighted κ = 0.62.'
    """
    judges = result.agreement.judge.tolist()
    lead = f"{listed(judges)} against human judgments of {counted(int(result.agreement.counts[0].max()), 'topic')}"
    audited = partial(_audited, files=files, warned=warned)
    parts = {**SECTIONS, "audited": replace(SECTIONS["audited"], make=audited)}
    return report_of(parts, result, "Audit of machine judges", lead, outline)


def _summary(result: Audit) -> Content:
    agreed = result.agreement
    points = []
    for j, judge in enumerate(agreed.judge.tolist()):
        both = int(agreed.counts[1, j])
        points.append(
            f"{judge} and people give the same grade to {agreed.agreement[j]:.1%} of {counted(both, 'document')}; "
            f"κ = {agreed.kappa[0, j]:.2f}, weighted κ = {agreed.weighted[0, j]:.2f}."
        )
        value, low, high = agreed.leniency[:, j].tolist()
        span = f" ({agreed.level:.0%} interval {low:+.3f} to {high:+.3f})" if low == low else ""
        if low == low and low <= 0 <= high:
            points.append(f"{judge} is neither more lenient nor stricter than people: {value:+.3f} grades{span}.")
        elif value:
            points.append(f"{judge} is {'more lenient' if value > 0 else 'stricter'} by {abs(value):.3f} grades{span}.")
    if result.rankings is None:
        points += [f"{note[0].upper()}{note[1:]}." for note in result.notes]
    else:
        points += _ranking_points(result)
    return Content(points=points)


def _ranking_points(result: Audit) -> list[str]:
    """What changes for runs, on the documents that both judged."""
    rankings = result.rankings
    assert rankings is not None
    columns = rankings.columns()
    points = []
    for at in np.flatnonzero(rankings.documents == BOTH).tolist():
        changed = {name: int(columns[name][at]) for name in ("lost", "gained", "reversed")}
        counts = ", ".join(f"{count} {name}" for name, count in changed.items() if count)
        points.append(
            f"Runs by {rankings.measure[at]} under {rankings.judge[at]}: Kendall's τ with the human ranking is "
            f"{rankings.tau[at]:.3f}; of {counted(int(columns['pairs'][at]), 'pair')} of runs, conclusions about "
            + (f"{sum(changed.values())} change ({counts})." if counts else "none change.")
        )
    return points


def _audited(result: Audit, files: Sequence[tuple[str, str]] = (), warned: Sequence[str] = ()) -> Content:
    table = table_of({name: column for name, column in result.agreement.columns().items() if name in COUNTS})
    notes = tuple(dict.fromkeys([*result.notes, *warned]))
    text = (
        "The same documents, judged by people and by machines. Documents that only one of them judged do not count in "
        "the agreement.",
        f"Made with {MADE_WITH}.",
    )
    blocks: list[Block] = [TableBlock("judged", table, "Documents by who judged them")]
    blocks += [files_block(files)] if files else []
    return Content(text, notes, blocks)


COUNTS = ("judge", "topics", "both", "only human", "only machine")


def _agreement(result: Audit) -> Content:
    table = replace(result.agreement.table(), caption="")
    text = (
        "Agreement is the share of documents with the same grade. κ corrects it for chance; with quadratic weights, a "
        "machine that is one grade off loses less than one that is two off.",
    )
    block = TableBlock("agreement", table, data=table_of(result.agreement.columns()))
    return Content(text, blocks=(block,))


def _confusion(result: Audit) -> Content:
    judges = in_order(result.confusion.judge)
    blocks: list[Block] = [
        FigureBlock(f"confusion_{number}", result.confusion.plot(judge=judge))
        for number, judge in enumerate(judges[:MOST_CONFUSIONS], 1)
    ]
    left_out = len(judges) - MOST_CONFUSIONS
    text = (
        (f"Figures of the first {MOST_CONFUSIONS} of {len(judges)} judges; the table has all.",) if left_out > 0 else ()
    )
    table = replace(result.confusion.table(), caption="")
    blocks.append(TableBlock("confusion", table, data=table_of(result.confusion.columns())))
    return Content(text, blocks=blocks)


def _topics(result: Audit) -> Content:
    text = ("Topics with the lowest agreement first. Read the guidelines and some documents of these again.",)
    columns = result.topics.columns()
    order = np.argsort(result.topics.agreement, kind="stable")
    table = table_of(columns, order)
    blocks: list[Block] = []
    if len(order) > 1:
        blocks.append(FigureBlock("leniency", result.topics.plot()))
    blocks.append(TableBlock("topics", table, tools=len(order) > FEW_ROWS))
    return Content(text, blocks=blocks)


def _one_part(name: str, part: Record | None) -> Content:
    if part is None:
        raise UsageError(NEEDS[name])
    table = replace(part.table(), caption="")
    block = TableBlock(name, table, data=table_of(part.columns()), tools=len(table.rows) > FEW_ROWS)
    return Content(blocks=(block,))


def _rankings(result: Audit) -> Content:
    if result.rankings is None or result.ranks is None:
        raise UsageError(NEEDS["rankings"])
    blocks: list[Block] = [
        TableBlock("rankings", replace(result.rankings.table(), caption=""), data=table_of(result.rankings.columns()))
    ]
    runs = len(set(result.ranks.run.tolist()))
    text = [f"{counted(runs, 'run')} ranked with human judgments and with those of each machine."]
    if runs <= MOST_RUNS:
        for number, measure in enumerate(in_order(result.ranks.measure), 1):
            blocks.append(FigureBlock(f"ranks_{number}", result.ranks.plot(measure=measure)))
    else:
        text.append(f"With more than {MOST_RUNS} runs, their ranks are in the table only.")
    table = replace(result.ranks.table(), caption="")
    data = table_of(result.ranks.columns())
    blocks.append(TableBlock("ranks", table, "Ranks of runs", data=data, tools=len(table.rows) > FEW_ROWS))
    return Content(text, blocks=blocks)


def _changes(result: Audit) -> Content:
    if result.changes is None:
        raise UsageError(NEEDS["changes"])
    if not len(result.changes.run):
        return Content(("No conclusion about a pair of runs changes.",))
    text = ("Pairs of runs whose difference is significant with one of the judgments only, or in another direction.",)
    block = TableBlock(
        "changes", replace(result.changes.table(), caption=""), data=table_of(result.changes.columns()), tools=True
    )
    return Content(text, blocks=(block,))


def _methods(result: Audit) -> Content:
    agreed = result.agreement
    sentences = [
        f"We compared the judgments of {counted(len(agreed.judge), 'machine judge')} with human judgments of the same "
        f"documents, with cranfield {escape_latex(__version__)}, by the share of equal grades, Cohen's $\\kappa$"
        "~\\cite{cohen1960} and $\\kappa$ with quadratic weights~\\cite{cohen1968}."
    ]
    works = ["cohen1960", "cohen1968"]
    if not np.isnan(agreed.kappa[1]).all():
        level = escape_latex(f"{agreed.level:.0%}")
        sentences.append(
            f"Intervals of $\\kappa$ are {level} bootstrap intervals over topics "
            f"($B = {agreed.resamples}$, seed {agreed.seed}); those of the mean difference of grades take topics as "
            "clusters."
        )
    if (rankings := result.rankings) is not None:
        measures = ", ".join(escape_latex(name) for name in in_order(rankings.measure))
        correction = rankings.correction
        sentences.append(
            f"We ranked {counted(rankings.runs, 'run')} by {measures} with both judgments, and compared the rankings "
            "by Kendall's $\\tau_b$~\\cite{kendall1945}, $\\tau_{ap}$~\\cite{yilmaz2008} and rank-biased overlap"
            f"~\\cite{{webber2010}}. Pairs of runs were compared with the two-sided {escape_latex(rankings.test)} test "
            f"at $\\alpha = {rankings.alpha:g}$, "
            + ("without correction." if correction == "none" else f"with the {escape_latex(correction)} correction.")
        )
        works += ["kendall1945", "yilmaz2008", "webber2010"]
    return Content((METHODS_TEXT,), blocks=methods_blocks(sentences, works))


def _has(name: str) -> Callable[[Audit], bool]:
    """Whether an audit has a part."""
    return lambda result: name in dict(result.parts())


SECTIONS = {
    "summary": Part("In short", _summary),
    "audited": Part("What was compared", _audited),
    "agreement": Part("Agreement", _agreement),
    "confusion": Part("Confusion of grades", _confusion),
    "topics": Part("Topics", _topics),
    "lengths": Part("Lengths of documents", lambda result: _one_part("lengths", result.lengths), _has("lengths")),
    "judges": Part(
        "Machine judges among themselves", lambda result: _one_part("judges", result.judges), _has("judges")
    ),
    "rankings": Part("Rankings of runs", _rankings, _has("rankings")),
    "changes": Part("Conclusions that change", _changes, _has("changes")),
    "families": Part("Families of systems", lambda result: _one_part("families", result.families), _has("families")),
    "methods": Part("Methods", _methods),
}
"""The sections, in the order of the page."""

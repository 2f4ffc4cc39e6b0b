"""Sections of the report of runs: data, the leaderboard, pairs, curves, topics, measures, judgments, efficiency."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.join import join
from cranfield.building.pools.pool_coverage import pool_holes
from cranfield.collection.qrels import Qrels
from cranfield.comparison.pair_tests import TESTS
from cranfield.comparison.result import Comparison
from cranfield.comparison.result_tables import BETTER_MARK, COUNTS, OF_GROUPS, OF_MEANS
from cranfield.comparison.test_result import pairs_differ
from cranfield.errors import CranfieldError, UsageError
from cranfield.evaluation.evaluator import as_measures
from cranfield.evaluation.missing_judgments import pool_bias_of
from cranfield.evaluation.topic_sheet import deciding_topics, topic_sheet
from cranfield.measures.property_tables import lower_is_better
from cranfield.measures.ranked_lists.curves import interpolated_precision
from cranfield.meta.agreement.correlation import correlate
from cranfield.meta.stability.discrimination import discriminative_power
from cranfield.record import table_of
from cranfield.report.figures import (
    describe_asl,
    describe_curves,
    describe_heat,
)
from cranfield.report.pages.leaderboard_page import leaderboard_columns
from cranfield.report.pages.report_parts import (
    MADE_WITH,
    Block,
    Content,
    FigureBlock,
    TableBlock,
    files_block,
)
from cranfield.report.reports.experiment import Experiment
from cranfield.scores.efficiency import efficiency
from cranfield.scores.score_text import all_notes
from cranfield.table import (
    Cell,
    Column,
    Estimate,
    Table,
)
from cranfield.text import counted, enumerated, listed

TIE_RULES = {
    "z-a": "by document id, descending (as in trec_eval)",
    "a-z": "by document id, ascending",
    "file": "in the order of the file",
}
RULES = {"zero": "scored as an empty list", "skip": "left out of the mean of the run"}


def evaluated_section(experiment: Experiment) -> Content:
    """Counts, rules, warnings, and the digest of each file."""
    scores, options = experiment.scores, experiment.options
    facts: list[tuple[Cell, ...]] = [
        ("runs", f"{len(scores.runs):,}"),
        ("topics", f"{len(scores.topics):,}"),
        ("measures", ", ".join(scores.measures)),
    ]
    if experiment.qrels is not None:
        facts += _judgments(experiment.qrels)
    if experiment.runs:
        rule = options.order or "score if there are scores, else rank"
        facts.append(("order of documents", rule))
        facts.append(("documents with equal scores", TIE_RULES[options.ties]))
        facts.append(("scores compared as", f"{options.precision}-bit numbers"))
        facts.append(("a document twice in a list", options.on_duplicate))
    facts.append(("a judged topic that a run lacks", RULES.get(scores.missing_rule, scores.missing_rule)))
    facts.append(("made with", MADE_WITH))
    blocks = [TableBlock("evaluated", Table((Column("fact"), Column("value")), tuple(facts)), "Data and rules")]
    if experiment.files:
        blocks.append(files_block(experiment.files))
    notes = tuple(dict.fromkeys([*all_notes(scores), *experiment.warnings]))
    text = ("Warnings and notes of the evaluation:",) if notes else ("The evaluation gave no warnings.",)
    return Content(text, notes, blocks)


def _judgments(qrels: Qrels) -> list[tuple[Cell, ...]]:
    values = qrels.values
    levels, counts = np.unique(values, return_counts=True)
    shown = ", ".join(f"{grade:g}: {count:,}" for grade, count in zip(levels[:12], counts[:12], strict=True))
    more = f" and {len(levels) - 12} more" if len(levels) > 12 else ""
    return [
        ("judgments", f"{len(values):,} of {counted(len(qrels.topics), 'topic')}"),
        ("judgments by grade", shown + more),
    ]


MOST_INTERVALS = 150
"""With more runs there is no figure of intervals, because the table shows them all."""


def summary_section(experiment: Experiment) -> Content:
    """The best run, which runs do not differ from it, how many pairs differ, and how certain the ranking is."""
    board, scores = experiment.board, experiment.scores
    best, mean, low, high = board.run[0], board.mean[0], board.low[0], board.high[0]
    span = f" ({board.level:.0%} interval {low:.4f} to {high:.4f})" if low == low else ""
    topics = counted(len(scores.topics), "topic")
    points = [
        f"{best} is the best of {counted(len(board.run), 'run')} by {board.measure}: {mean:.4f}{span} on {topics}."
    ]
    try:
        comparison = experiment.all_pairs
        family = comparison.families[0]
        names = np.array(family.matrix.systems, dtype=object)
        with_best = (names[family.first] == best) | (names[family.second] == best)
        others = np.where(names[family.first] == best, names[family.second], names[family.first])
        alike = set(others[with_best & (family.adjusted > comparison.alpha)].tolist())
        ranked = [run for run in board.run if run in alike]
        others_differ = len(board.run) - 1 - len(ranked)
        if not ranked:
            differ = "It differs significantly from all others"
        elif not others_differ:
            differ = "No other run differs from it significantly"
        else:
            of_runs = f"{counted(others_differ, 'run')}, but not from {counted(len(ranked), 'run')}"
            differ = f"It differs significantly from {of_runs}: {listed(ranked)}"
        points.append(f"{differ} ({comparison.method()}).")
        if experiment.settings.baseline is None:
            points.append(f"{comparison.significant:,} of {counted(comparison.comparisons, 'pair')} of runs differ.")
        else:
            points.append(_against_baseline(experiment.comparison, experiment.settings.baseline))
        doubts = [f"{note[0].upper()}{note[1:]}." for note in comparison.notes if note.startswith("caution:")]
    except CranfieldError as error:
        points.append(f"No test: {error}.")
        doubts = []
    if board.rank_high[0] > 1:
        points.append(f"On all topics like these, the rank of {best} may be {board.rank_spans[0]} ({board.level:.0%}).")
    points += _other_measures(experiment, best)
    points += [f"The same ranking under {len(names)} names: {listed(names)}." for names in experiment.same.groups]
    return Content(points=[*points, *doubts])


def _against_baseline(comparison: Comparison, baseline: str) -> str:
    """Which runs are significantly better or worse than the baseline."""
    family = comparison.families[0]
    winner, loser = (
        np.array(family.matrix.systems, dtype=object)[of].tolist() for of in family.beaten(comparison.alpha)
    )
    better = [run for run, other in zip(winner, loser, strict=True) if other == baseline]
    worse = [run for run, other in zip(loser, winner, strict=True) if other == baseline]
    parts = [
        f"{listed(runs)} {'are' if len(runs) > 1 else 'is'} {how}"
        for runs, how in ((better, "better"), (worse, "worse"))
        if runs
    ]
    rest = comparison.comparisons - len(better) - len(worse)
    if rest:
        parts.append(f"{counted(rest, 'run')} {'do' if rest > 1 else 'does'} not differ from it")
    return f"Against the baseline {baseline}: {'; '.join(parts)} ({comparison.method()})."


def _other_measures(experiment: Experiment, best: str) -> list[str]:
    """Which runs the other measures rank first."""
    first: dict[str, list[str]] = {}
    for name, means in experiment.board.others.items():
        if not np.isnan(means).all():
            first.setdefault(experiment.scores[name].sort().runs[0], []).append(name)
    same = first.pop(best, [])
    points = [f"{enumerated(same)} also {'rank' if len(same) > 1 else 'ranks'} it first."] if same else []
    for run, names in first.items():
        points.append(f"{enumerated(names)} {'rank' if len(names) > 1 else 'ranks'} {run} first.")
    return points


def leaderboard_section(experiment: Experiment) -> Content:
    """The table of all runs, and a figure of means and intervals."""
    board = experiment.board
    blocks: list[Block] = [
        TableBlock(
            "leaderboard",
            table_of(board.columns(), notes=board.notes),
            columns=leaderboard_columns(board),
            tools=True,
            printed=None,
        )
    ]
    if 1 < len(board.run) <= MOST_INTERVALS:
        with suppress(CranfieldError):  # a note of the leaderboard says why runs cannot be compared
            blocks.append(FigureBlock("intervals", replace(experiment.comparison.plot(), notes=())))
    text = f"Runs by {board.measure}, the best first. Click a heading to sort; type words to filter."
    return Content((text,), blocks=blocks)


MOST_PAIRS = 300
"""Up to this many pairs, those of 25 runs, are all in the page. The CSV file always has all."""
DIGITS = 6
CONSTANT = ("collection", "measure")
"""Columns that are the same for all pairs of a report."""


def pairs_section(experiment: Experiment) -> Content:
    """All pairs, or with many runs those with the best run and those of neighbours in the ranking."""
    comparison = experiment.comparison
    columns = comparison.columns()
    order = np.argsort(-np.abs(columns["difference"]), kind="stable")
    baseline = experiment.settings.baseline
    pairs = f"{counted(comparison.comparisons, 'pair')} of runs differ significantly by "
    if baseline is not None:
        pairs = f"{counted(comparison.comparisons, 'run')} differ significantly from the baseline {baseline} by "
    text = [
        f"{comparison.significant:,} of {pairs}"
        f"{experiment.measure}. {comparison.effect} is the effect size: the mean difference in standard deviations of "
        "the differences over topics."
    ]
    if len(order) > MOST_PAIRS:
        place = {run: at for at, run in enumerate(experiment.board.run)}
        ends = np.array([[place[run] for run in columns[name]] for name in ("system", "other")])
        near, far = ends.min(axis=0), ends.max(axis=0)
        order = order[((near == 0) | (far == near + 1))[order]]
        text.append(
            f"The table shows {len(order):,} of the pairs: those with the best run, and those of neighbours in the "
            "ranking. The CSV file has all."
        )
    data = table_of({name: column for name, column in columns.items() if name not in CONSTANT}, digits=DIGITS)
    table = TableBlock("pairs", _shown(comparison, columns, order), data=data, tools=True)
    return Content(text, blocks=(table,))


def _shown(comparison: Comparison, columns: Mapping[str, NDArray[Any]], order: NDArray[np.intp]) -> Table:
    """Some of the pairs, with the intervals of differences and of effect sizes."""
    hidden = {
        "low",
        "high",
        "effect low",
        "effect high",
        "mean",
        "other mean",
        comparison.statistic,
        "topics",
        *CONSTANT,
    }
    hidden |= {"p adjusted" if comparison.correction == "none" else "p"}
    hidden |= set() if columns["against mean"].any() else {"against mean"}
    table = table_of({name: column for name, column in columns.items() if name not in hidden}, order)
    spans = {"difference": ("low", "high"), comparison.effect: ("effect low", "effect high")}
    heads = [Column(c.header, "difference") if c.header in spans else c for c in table.columns]
    cells = [list(column) for column in zip(*table.rows, strict=True)]
    for at, head in enumerate(heads):
        if head.header in spans:
            low, high = (columns[end][order].tolist() for end in spans[head.header])
            n = columns["topics"][order].tolist()
            numbers = zip(cells[at], low, high, n, strict=True)
            cells[at] = [Estimate("", "", float(value), a, b, topics) for value, a, b, topics in numbers]
    about_runs = (OF_MEANS, OF_GROUPS, BETTER_MARK, COUNTS)
    differ = pairs_differ(comparison.significant, comparison.comparisons)
    notes = tuple(note for note in comparison.notes if note != differ and not note.startswith(about_runs))
    return Table(tuple(heads), tuple(zip(*cells, strict=True)), notes=notes)


def efficiency_section(experiment: Experiment) -> Content:
    """Runs that no other run beats in both are on the front."""
    if experiment.times is None:
        raise UsageError("no times of runs are known")
    result = efficiency(experiment.scores, experiment.times)
    figure = efficiency(experiment.scores[experiment.measure], experiment.times).plot()
    text = "A run is on the front if no other run is at least as effective and as fast, and better in one of the two."
    table = TableBlock("efficiency", result.table(), tools=len(result.runs) > 20)
    return Content((text,), blocks=(FigureBlock("front", figure), table))


MOST_CURVES = 8
"""More lines could not be told apart."""


def curves_section(experiment: Experiment) -> Content:
    """Mean interpolated precision at eleven points of recall."""
    qrels, runs = experiment.need_runs()
    best = {run: runs[run] for run in experiment.board.run[:MOST_CURVES]}
    figure = describe_curves(interpolated_precision(join(qrels, best, experiment.options)))
    shown = f"the {MOST_CURVES} best of {len(runs):,} runs" if len(runs) > MOST_CURVES else counted(len(runs), "run")
    text = (
        f"Interpolated precision against recall, of {shown} by {experiment.measure}. Documents of grade 1 or more are "
        "relevant."
    )
    return Content((text,), blocks=(FigureBlock("curves", figure, figure.table()),))


MOST_TOPICS = 150
"""The most topics in a figure; with more, those on which runs differ most."""
MOST_RUNS = 150


def topics_section(experiment: Experiment) -> Content:
    """The heat map is by rank and difficulty: the best runs above, the hardest topics on the left."""
    scores, measure = experiment.scores[experiment.measure], experiment.measure
    sheet = topic_sheet(scores, topics=experiment.topics)
    blocks: list[Block] = []
    text = [
        f"{measure} of every run on every topic: the best runs above, the hardest topics (by the median of all runs) "
        "on the left."
    ]
    hardest = [str(topic) for topic in sheet.columns()["topic"]]
    shown = hardest
    if len(hardest) > MOST_TOPICS:
        spread = dict(zip(hardest, np.nan_to_num(sheet.columns()["spread"]).tolist(), strict=True))
        chosen = set(sorted(hardest, key=lambda topic: -spread[topic])[:MOST_TOPICS])
        shown = [topic for topic in hardest if topic in chosen]
        text.append(f"The figure has the {MOST_TOPICS} of {len(hardest):,} topics on which runs differ most.")
    runs = list(experiment.board.run)
    if len(runs) > MOST_RUNS:
        text.append(f"The figure has the {MOST_RUNS} best of {len(runs):,} runs.")
    by_run = dict(zip(scores.runs, scores.values[0], strict=True))
    column = {topic: at for at, topic in enumerate(scores.topics)}
    matrix = np.stack([by_run[run] for run in runs])
    picked = matrix[:MOST_RUNS][:, [column[topic] for topic in shown]]
    data = Table(
        (Column("topic"), *(Column(run, "number") for run in runs)),
        tuple((topic, *matrix[:, column[topic]].tolist()) for topic in hardest),
        digits=6,
    )
    if not np.isnan(picked).all():
        title = f"{measure} by run and topic" + (" (lower is better)" if lower_is_better(measure) else "")
        blocks.append(
            FigureBlock("topics", describe_heat(picked, runs[:MOST_RUNS], shown, what=measure, title=title), data)
        )
    blocks.append(TableBlock("hardest_topics", sheet.table(), "Topics, the hardest first", tools=len(hardest) > 20))
    try:
        first, second = experiment.leaders
        decide = deciding_topics(scores, first, second, topics=experiment.topics)
        blocks.append(FigureBlock("differences", decide.plot()))
        title = f"Topics that decide between {first} and {second}"
        blocks.append(TableBlock("deciding_topics", decide.table(), title, data=table_of(decide.columns())))
    except CranfieldError as error:
        text.append(f"Not shown: the topics that decide between two runs ({error}).")
    return Content(text, blocks=blocks)


RESAMPLES = 500
MOST_POINTS = 400
"""The most points of a curve of p-values; with more pairs, evenly spaced ones are drawn."""


def measures_section(experiment: Experiment) -> Content:
    """Kendall's τ of the rankings by all pairs of measures, and the discriminative power of each measure."""
    scores, settings = experiment.scores, experiment.settings
    if len(scores.runs) < 3:
        raise UsageError("there are fewer than three runs, so there are no rankings to compare")
    blocks: list[Block] = []
    text = []
    if len(scores.measures) > 1:
        agreement = correlate(scores, level=settings.level, resamples=RESAMPLES, seed=settings.seed)
        text.append("Agreement: Kendall's τ_b of the rankings of runs by each pair of measures; 1 is the same ranking.")
        blocks.append(FigureBlock("agreement", agreement.plot()))
        blocks.append(TableBlock("agreement_pairs", agreement.pairs(), "Agreement of measures"))
    else:
        text.append("The agreement of measures was not computed: it needs two measures or more.")
    # Resampling 8,000 pairs by all measures would take much longer than everything else.
    test = "t" if TESTS.find(settings.test).resampling else settings.test
    power = discriminative_power(scores, test=test, alpha=settings.alpha, seed=settings.seed)
    text.append(
        "Discriminative power: the share of pairs of runs that differ significantly by a measure. It says how "
        "consistent a measure is over topics, not whether it measures the right thing."
    )
    blocks.append(TableBlock("discriminative_power", power.table(), "Discriminative power", data=power.data()))
    curves = {name: np.sort(power.p_of(name)) for name in power.measures}
    pairs = len(next(iter(curves.values())))
    if pairs > 1:
        figure = describe_asl(curves, alpha=settings.alpha, test=f"{test} test, {counted(power.topics, 'topic')}")
        if pairs > MOST_POINTS:
            kept = np.unique(np.linspace(0, pairs - 1, MOST_POINTS).astype(int))
            rows = np.concatenate([kept + pairs * at for at in range(len(curves))])
            thinned = {name: column[rows] for name, column in figure.data.items()}
            text.append(f"The curves have {len(kept)} of {pairs:,} points, evenly spaced.")
            figure = replace(figure, data=thinned)
        blocks.append(FigureBlock("p_values", figure))
    return Content(text, blocks=blocks)


def judgments_section(experiment: Experiment) -> Content:
    """Holes of each run; with the depth of the pool, also the loss of each run without its own documents."""
    qrels, runs = experiment.need_runs()
    settings = experiment.settings
    topics = experiment.scores.topics
    holes = pool_holes(qrels, dict(runs), settings.cutoff, options=experiment.options, topics=topics)
    columns = holes.columns()
    place = {run: at for at, run in enumerate(experiment.board.run)}
    order = sorted(range(len(holes.runs)), key=lambda at: place.get(holes.runs[at], len(place)))
    table = table_of({name: column[order] for name, column in columns.items()}, notes=holes.notes)
    share = columns["unjudged"].sum() / max(columns["documents"].sum(), 1)
    text = [
        f"{share:.1%} of the first {settings.cutoff} documents of all lists are not judged. Measures count them as not "
        "relevant, so a run with many of them may be better than its score."
    ]
    title = f"Unjudged documents in the first {settings.cutoff}"
    blocks: list[Block] = [TableBlock("holes", table, title, tools=len(runs) > 20)]
    if settings.pool_depth is None:
        text.append("The bias of the pool was not computed: the depth of the pool is not known.")
    else:
        try:
            measures = as_measures(list(experiment.scores.measures))
            bias = pool_bias_of(qrels, runs, measures, depth=settings.pool_depth, groups=experiment.teams)
        except CranfieldError as error:
            text.append(f"The bias of the pool was not computed: {error}.")
        else:
            heads = (Column("run"), *(Column(name, "difference") for name in bias.measures))
            rows: tuple[tuple[Cell, ...], ...] = tuple(
                (run, *bias.mean(run).values()) for run in sorted(bias.runs, key=lambda run: place[run])
            )
            title = f"Loss of each run if its first {settings.pool_depth} documents had not been pooled"
            mean = ", ".join(f"{name} {value:+.4f}" for name, value in bias.mean().items())
            notes = (f"mean of all runs: {mean}", "a run that was not pooled may score too low by as much")
            blocks.append(TableBlock("pool_bias", Table(heads, rows, notes=notes), title, tools=len(runs) > 20))
    return Content(text, blocks=blocks)

"""`cranfield pool-bias`: what runs lose that were not pooled, and scores adjusted for it."""

from __future__ import annotations

import json
import math
import warnings
from typing import TYPE_CHECKING, Annotated, Any

from cranfield import check
from cranfield.cli.parser import (
    READING,
    RESULT,
    Argument,
    Digits,
    Format,
    Measures,
    OnDuplicate,
    Output,
    QrelsFormat,
    Quiet,
    RunFormat,
    chosen,
    option,
)
from cranfield.cli.printing import TABLE_FORMATS, checked, emit, only_one_from_stdin, rendered
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.collection.run import Run
    from cranfield.evaluation.pool_bias import PoolBias
    from cranfield.scores.scores import Scores
    from cranfield.table import Cell, Table

EXAMPLES = """\
  $ cranfield pool-bias qrels.txt pooled/*.run --pool-depth 100
  $ cranfield pool-bias qrels.txt pooled/*.run --pool-depth 100 --adjust new.run -m nDCG@10 -m AP
  $ cranfield pool-bias common.qrels pooled/*.run new.run --pool-depth 100 --adjust new.run --adjust-qrels qrels.txt
  $ cranfield pool-bias qrels.txt pooled/*.run --pool-depth 100 --groups teams.txt --format json
"""
ALL = "(all runs)"


def pool_bias_verb(
    qrels: Annotated[str, Argument("QRELS", "Judgments of the pooled documents; - is standard input.")],
    runs: Annotated[list[str], Argument("RUN", "The runs that were pooled: files, patterns such as 'pooled/*.run'.")],
    pool_depth: Annotated[
        int, option("--pool-depth", metavar="N", help="How many documents of each run went into the pool.")
    ],
    measures: Measures = None,
    adjust: Annotated[
        list[str] | None,
        option(
            "--adjust",
            metavar="RUN",
            help="A run that was not pooled: its score, and the score adjusted. Repeat it for several.",
        ),
    ] = None,
    adjust_qrels: Annotated[
        str | None,
        option(
            "--adjust-qrels",
            metavar="QRELS",
            help="What the runs of --adjust are scored by, if not by QRELS: judgments of topics for which they were "
            "not pooled. A run that is among the pooled ones too is adjusted by its own loss there.",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        option(
            "--groups",
            metavar="FILE",
            help="Lines of run, group: who sent which runs. A document is a run's own if no other group found it; "
            "default: every run is a group.",
            group=READING,
        ),
    ] = None,
    per_topic: Annotated[
        bool, option("--per-topic", "-q", help="A row per pooled run and topic besides.", group=RESULT)
    ] = False,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    on_duplicate: OnDuplicate = "error",
    run_format: RunFormat = None,
    qrels_format: QrelsFormat = None,
) -> int:
    """Tell what each pooled run would lose had it not been pooled: its score, less that without its own documents.

    That is what a run that was not pooled may have lost: --adjust adds the mean over the pooled runs to its score.
    That supposes the new run is like them. Better, pool it along with them for a few topics, and give these as QRELS
    and the others as --adjust-qrels: then its own loss is added. (Webber and Park, SIGIR 2009)

    In csv and tsv there is one table: the adjusted scores if there are any, else the losses.
    """
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    check.whole("--pool-depth", pool_depth=pool_depth)
    if digits is not None:
        check.between("--digits", low=0, high=17, digits=digits)
    only_one_from_stdin(qrels, *runs, *(adjust or []), adjust_qrels, groups)
    if adjust_qrels is not None and not adjust:
        raise UsageError(f"--adjust-qrels {adjust_qrels} is given, but no run to score by it; add --adjust RUN")
    measured = chosen(measures)

    from cranfield.collection.qrels import Qrels
    from cranfield.evaluation.evaluator import evaluate
    from cranfield.evaluation.pool_bias import pool_bias_of

    judgments = Qrels.read(qrels, format=qrels_format, on_duplicate=on_duplicate)
    pooled = _named(runs, run_format, on_duplicate)
    bias = pool_bias_of(judgments, pooled, measured, depth=pool_depth, groups=groups)
    scores = None
    if adjust:
        new = _named(adjust, run_format, on_duplicate)
        both = [name for name in new if name in pooled]
        if both and adjust_qrels is None:
            raise UsageError(
                f"run {both[0]!r} is pooled, so there is nothing to adjust on the same topics; leave it out of one of "
                "the two, or give judgments of other topics: --adjust-qrels"
            )
        other = Qrels.read(adjust_qrels, format=qrels_format, on_duplicate=on_duplicate) if adjust_qrels else judgments
        scores = evaluate(other, new, measured, on_duplicate=on_duplicate)
    if format == "json":
        told = data(bias, scores, pool_depth, per_topic, digits)
        emit(json.dumps(told, ensure_ascii=False, indent=1), output, format=format)
        return 0
    tables = [topic_table(bias, digits)] if per_topic else []
    tables.append(loss_table(bias, pool_depth, digits))
    if scores is not None:
        tables.append(adjusted_table(bias, scores, digits))
    if format in ("csv", "tsv"):
        tables = tables[:1] if per_topic and scores is None else tables[-1:]
    emit("\n\n".join(rendered(table, format, output) for table in tables), output, format=format)
    return 0


def _named(paths: list[str], format: str | None, on_duplicate: str) -> dict[str, Run]:
    """The runs in files, each by a name of its own."""
    from cranfield.assessed.joined_runs import distinct_names
    from cranfield.collection.run import read_runs

    found = read_runs(paths, format=format, on_duplicate=on_duplicate)
    names = distinct_names([run.name for run in found], [run.path or "" for run in found])
    return dict(zip(names, found, strict=True))


def loss_table(bias: PoolBias, depth: int, digits: int | None) -> Table:
    """The mean loss of each pooled run, and of all."""
    from cranfield.table import Column, Table

    rows: list[tuple[Cell, ...]] = [(run, *bias.mean(run).values()) for run in bias.runs]
    rows.append((ALL, *bias.mean().values()))
    return Table(
        (Column("run"), *(Column(name, "number") for name in bias.measures)),
        tuple(rows),
        caption=f"What runs lose that were not pooled (to depth {depth})",
        digits=digits,
    )


def topic_table(bias: PoolBias, digits: int | None) -> Table:
    """The loss of each pooled run on each topic."""
    from cranfield.table import Column, Table

    return Table(
        (Column("run"), Column("topic"), *(Column(name, "number") for name in bias.measures)),
        tuple(
            (run, topic, *bias.values[:, r, t].tolist())
            for r, run in enumerate(bias.runs)
            for t, topic in enumerate(bias.topics)
        ),
        digits=digits,
    )


def adjusted_table(bias: PoolBias, scores: Scores, digits: int | None) -> Table:
    """Scores as they are, and adjusted."""
    from cranfield.table import Column, Table

    means, adjusted = scores.mean(), bias.adjusted(scores)
    columns = [Column(heading, "number") for name in scores.measures for heading in (name, f"{name} adjusted")]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (run, *(value for name in scores.measures for value in (means[run][name], adjusted[run][name])))
        for run in scores.runs
    )
    own = [run for run in scores.runs if run in bias.runs]
    notes = [*scores.notes]
    if len(own) < len(scores.runs):
        notes.append(f"adjusted by the mean loss of {len(bias.runs)} pooled runs")
    if own:
        notes.append(f"adjusted by their own loss on other topics: {', '.join(own)}")
    return Table((Column("run"), *columns), rows, caption="Adjusted scores", notes=tuple(notes), digits=digits)


def data(bias: PoolBias, scores: Scores | None, depth: int, per_topic: bool, digits: int | None) -> dict[str, Any]:
    """Everything, as plain data; null where a number is undefined."""

    def plain(values: dict[str, float]) -> dict[str, float | None]:
        shown = values if digits is None else {name: round(value, digits) for name, value in values.items()}
        return {name: None if math.isnan(value) else value for name, value in shown.items()}

    told: dict[str, Any] = {
        "pool_depth": depth,
        "loss": plain(bias.mean()),
        "runs": {run: plain(bias.mean(run)) for run in bias.runs},
    }
    if per_topic:
        told["per_topic"] = [
            {"run": run, "topic": topic, **plain(dict(zip(bias.measures, bias.values[:, r, t].tolist(), strict=True)))}
            for r, run in enumerate(bias.runs)
            for t, topic in enumerate(bias.topics)
        ]
    if scores is not None:
        means, adjusted = scores.mean(), bias.adjusted(scores)
        told["adjusted"] = {
            run: {name: plain({"score": means[run][name], "adjusted": adjusted[run][name]}) for name in scores.measures}
            for run in scores.runs
        }
    return told

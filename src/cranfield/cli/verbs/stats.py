"""`cranfield stats`: what is in a collection."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.cli.parser import (
    READING,
    RESULT,
    Argument,
    Digits,
    Format,
    Output,
    QrelsFormat,
    Quiet,
    RunFormat,
    option,
)
from cranfield.cli.printing import TABLE_FORMATS, checked, emit, only_one_from_stdin, rendered

if TYPE_CHECKING:
    from cranfield.collection.stats import CollectionStatistics, QrelsStatistics, RunStatistics
    from cranfield.table import Cell, Table

EXAMPLES = """\
  $ cranfield stats qrels.txt
  $ cranfield stats qrels.txt runs/*.run
  $ cranfield stats qrels.txt -q --rel 2 --format csv
"""


def stats_verb(
    qrels: Annotated[str, Argument("QRELS", "Judgments; - is standard input.")],
    runs: Annotated[list[str] | None, Argument("RUN", "Runs: files, patterns such as 'runs/*.run', or -.")] = None,
    rel: Annotated[
        float, option("--rel", metavar="GRADE", help="The lowest grade that counts as relevant.", group=READING)
    ] = 1.0,
    per_topic: Annotated[
        bool, option("--per-topic", "-q", help="A row per topic, of the judgments.", group=RESULT)
    ] = False,
    format: Format = "table",
    digits: Digits = None,
    output: Output = None,
    quiet: Quiet = False,
    run_format: RunFormat = None,
    qrels_format: QrelsFormat = None,
) -> int:
    """Tell how many documents are judged and relevant, by grade and topic, and how much of each run is judged.

    In csv and tsv there is one table: that of the runs if there are any, else that of the judgments.
    """
    if quiet:
        warnings.simplefilter("ignore")
    checked(format, TABLE_FORMATS)
    only_one_from_stdin(qrels, *(runs or []))

    from cranfield.collection.qrels import Qrels
    from cranfield.collection.run import read_runs
    from cranfield.collection.stats import of_collection

    judgments = Qrels.read(qrels, format=qrels_format)
    found = of_collection(judgments, read_runs(runs, format=run_format) if runs else (), rel)
    if format == "json":
        emit(json.dumps(data(found), ensure_ascii=False, indent=1), output, format=format)
        return 0
    one_table = format in ("csv", "tsv")
    few = 1 if digits is None and not one_table else digits  # mean counts need no more where people read
    tables = [topics_table(found.qrels, digits) if per_topic else qrels_table(found.qrels, few)]
    if found.runs:
        tables = [*([] if one_table else tables), runs_table(found.runs, digits)]
    emit("\n\n".join(rendered(table, format, output) for table in tables), output, format=format)
    return 0


def qrels_table(found: QrelsStatistics, digits: int | None) -> Table:
    """How many documents are judged, relevant, and of each grade: in all, and a topic."""
    from cranfield.table import Column, Table
    from cranfield.text import counted

    rows = {"judged": found.judged, f"relevant (grade {found.rel:g} or more)": found.relevant}
    rows |= {f"grade {level:g}": spread for level, spread in found.by_level.items()}
    notes = []
    if found.without_relevant:
        notes.append(f"topics without a relevant document: {', '.join(found.without_relevant)}")
    if found.intents:
        notes.append(f"judged by intent ({', '.join(found.intents)}): a document counts once, with its highest grade")
    return Table(
        (Column("documents"), Column("total", "count"), Column("a topic: mean", "number"), Column("min", "count"),
         Column("median", "number"), Column("max", "count")),
        tuple((name, s.total, s.mean, s.min, s.median, s.max) for name, s in rows.items()),
        caption=f"{found.name}: {counted(found.topics, 'topic')}",
        notes=tuple(notes),
        digits=digits,
    )  # fmt: skip


def topics_table(found: QrelsStatistics, digits: int | None) -> Table:
    """The same, topic by topic."""
    from cranfield.table import Column, Table
    from cranfield.text import counted

    headings = ("judged", "relevant", *(f"grade {level:g}" for level in found.levels))
    return Table(
        (Column("topic"), *(Column(heading, "count") for heading in headings)),
        tuple((topic.topic, topic.judged, topic.relevant, *topic.by_level) for topic in found.per_topic),
        caption=f"{found.name}: {counted(found.topics, 'topic')}",
        digits=digits,
    )


def runs_table(found: tuple[RunStatistics, ...], digits: int | None) -> Table:
    """What each run retrieved of what is judged."""
    from cranfield.collection.stats import DEPTHS
    from cranfield.table import Column, Table

    columns = [Column("run"), Column("topics", "count"), Column("missing", "count"), Column("not judged", "count")]
    columns += [Column("retrieved", "count"), Column("relevant", "count")]
    columns += [Column(name, "number") for name in (*(f"judged@{depth}" for depth in DEPTHS), "judged", "tied lists")]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            run.name,
            run.topics,
            len(run.missing_topics),
            len(run.unjudged_topics),
            run.retrieved.total,
            run.relevant.total,
            *(run.judged_share(depth) for depth in DEPTHS),
            run.judged_share(),
            run.tied_share,
        )
        for run in found
    )
    notes = ("missing: judged topics the run lacks; not judged: topics only the run has; judged, tied lists: shares",)
    return Table(tuple(columns), rows, notes=notes, digits=digits)


def data(found: CollectionStatistics) -> dict[str, Any]:
    """Everything, as plain data."""
    qrels = found.qrels
    return {
        "qrels": {
            "name": qrels.name,
            "topics": qrels.topics,
            "rel": qrels.rel,
            "judged": asdict(qrels.judged),
            "relevant": asdict(qrels.relevant),
            "by_level": {f"{level:g}": asdict(spread) for level, spread in qrels.by_level.items()},
            "without_relevant": list(qrels.without_relevant),
            "intents": list(qrels.intents),
            "per_topic": [
                {"topic": t.topic, "judged": t.judged, "relevant": t.relevant}
                | {"by_level": {f"{level:g}": n for level, n in zip(qrels.levels, t.by_level, strict=True)}}
                for t in qrels.per_topic
            ],
        },
        "runs": [
            {
                "name": run.name,
                "topics": run.topics,
                "missing_topics": list(run.missing_topics),
                "unjudged_topics": list(run.unjudged_topics),
                "retrieved": asdict(run.retrieved),
                "relevant": asdict(run.relevant),
                "unjudged": asdict(run.unjudged),
                "judged_share": run.judged_share(),
                "tied_share": run.tied_share,
                "per_topic": [
                    {"topic": t.topic, "retrieved": t.retrieved, "judged": t.judged, "relevant": t.relevant}
                    | {"judged_at": {str(depth): share for depth, share in t.judged_at.items()}, "tied": t.tied}
                    for t in run.per_topic
                ],
            }
            for run in found.runs
        ],
    }

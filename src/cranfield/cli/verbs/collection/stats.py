"""`cranfield collection stats`: what is in a collection."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from cranfield.cli import options
from cranfield.cli.declare import argument
from cranfield.cli.options.by_class import Experiment, SplitByClass
from cranfield.cli.printing import Printing
from cranfield.notes import caution_note

if TYPE_CHECKING:
    from cranfield.assessed.intents import IntentStatistics
    from cranfield.collection.stats import CollectionStatistics, QrelsStatistics, RunStatistics
    from cranfield.table import Cell, Table


class StatsVerb(options.Files, SplitByClass, Printing, of="collection.stats:of_collection"):
    """Count judged and relevant documents by grade and topic, and show how much of each run is judged.

    Diversity judgments have a second table: intents per topic and relevant documents by grade, for each type of intents
    if --intent-types says which are navigational. csv and tsv hold one table: the runs if there are any, otherwise
    the judgments.
    """

    summary = "count topics, judgments and relevant documents"
    examples = """
cranfield collection stats qrels.txt bm25.run
cranfield collection stats qrels.txt runs/*.run
cranfield collection stats qrels.txt -q --rel 2 --format csv
cranfield collection stats qrels.txt runs/*.run --by classes.txt  # for each class of topics
cranfield collection stats qrels.diversity.txt --intent-types types.txt
"""

    qrels: str = argument("QRELS", options.QRELS, required=True, reads=True)
    runs: list[str] | None = argument("[RUN]", options.RUNS, reads=True)
    rel: float
    intent_types: str | None = options.intent_types()
    per_topic: bool = options.per_topic("Print a row per topic of the judgments.")

    def run(self) -> None:
        from cranfield.collection.stats import of_collection

        def read() -> Experiment:
            return Experiment(self.read_qrels(self.qrels), self.read_runs(self.runs) if self.runs else {})

        judgments, runs = self.part(read)
        statistics = of_collection(judgments, list(runs.values()), **self.settings())
        by_intent = None
        if judgments.has_intents or self.intent_types is not None:
            from cranfield.assessed.intents import of_intents

            by_intent = of_intents(judgments, self.intent_types, self.rel)
        if self.format == "json":
            self.emit_json(data(statistics) | ({"intents": intent_data(by_intent)} if by_intent else {}))
            return
        one_table = self.format in ("csv", "tsv")
        few = 1 if self.digits is None and not one_table else self.digits  # people need no more digits of mean counts
        judged = statistics.qrels
        tables = [topics_table(judged, self.digits) if self.per_topic else qrels_table(judged, few)]
        if by_intent and not one_table:
            tables.append(intents_table(by_intent, few))
        if statistics.runs:
            tables = [*([] if one_table else tables), runs_table(statistics.runs, self.digits)]
        self.emit(self.rendered(*tables))


def qrels_table(judged: QrelsStatistics, digits: int | None) -> Table:
    """The number of documents that are judged, relevant and of each grade, in total and per topic."""
    from cranfield.table import Column, Table
    from cranfield.text import counted

    rows = {"judged": judged.judged, f"relevant (grade {judged.rel:g} or more)": judged.relevant}
    rows |= {f"grade {level:g}": spread for level, spread in judged.by_level.items()}
    notes = []
    if judged.without_relevant:
        notes.append(caution_note(f"topics without a relevant document: {', '.join(judged.without_relevant)}"))
    if judged.intents:
        notes.append(f"judged by intent ({', '.join(judged.intents)}): a document counts once, with its highest grade")
    return Table(
        (Column("documents"), Column("total", "count"), Column("a topic: mean", "number"), Column("min", "count"),
         Column("median", "number"), Column("max", "count")),
        tuple((name, s.total, s.mean, s.min, s.median, s.max) for name, s in rows.items()),
        caption=f"{judged.name}: {counted(judged.topics, 'topic')}",
        notes=tuple(notes),
        digits=digits,
    )  # fmt: skip


def intents_table(statistics: IntentStatistics, digits: int | None) -> Table:
    """The number of intents, in total and per topic, and of relevant documents by grade, for each type of intents."""
    from cranfield.table import Column, Table
    from cranfield.text import counted

    levels = list(statistics.groups[0].by_level)
    columns = [Column("intents"), Column("total", "count"), Column("a topic: mean", "number"), Column("min", "count")]
    columns += [Column("max", "count"), Column("relevant", "count")]
    columns += [Column(f"grade {level:g}", "count") for level in levels]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            group.kind, group.per_topic.total, group.per_topic.mean, group.per_topic.min, group.per_topic.max,
            group.relevant.total, *(group.by_level.get(level, 0) for level in levels),
        )
        for group in statistics.groups
    )  # fmt: skip
    spread = statistics.per_document
    notes = (
        "relevant: pairs of an intent and a document that is relevant to it; intents without any are left out",
        f"{counted(statistics.relevant_documents, 'relevant document')}, each relevant to {spread.mean:.2f} intents "
        f"[{spread.min}, {spread.max}]",
    )
    return Table(tuple(columns), rows, notes=notes, digits=digits)


def topics_table(judged: QrelsStatistics, digits: int | None) -> Table:
    """The same for each topic."""
    from cranfield.table import Column, Table
    from cranfield.text import counted

    headings = ("judged", "relevant", *(f"grade {level:g}" for level in judged.levels))
    return Table(
        (Column("topic"), *(Column(heading, "count") for heading in headings)),
        tuple((topic.topic, topic.judged, topic.relevant, *topic.by_level) for topic in judged.per_topic),
        caption=f"{judged.name}: {counted(judged.topics, 'topic')}",
        digits=digits,
    )


def runs_table(runs: tuple[RunStatistics, ...], digits: int | None) -> Table:
    """How much of each run is judged and relevant."""
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
        for run in runs
    )
    notes = ("missing: judged topics the run lacks; not judged: topics only the run has; judged, tied lists: shares",)
    return Table(tuple(columns), rows, notes=notes, digits=digits)


def data(statistics: CollectionStatistics) -> dict[str, Any]:
    """All statistics as plain data."""
    qrels = statistics.qrels
    judged = [
        picked(topic, "topic", "judged", "relevant")
        | {"by_level": {f"{level:g}": n for level, n in zip(qrels.levels, topic.by_level, strict=True)}}
        for topic in qrels.per_topic
    ]
    levels = {f"{level:g}": asdict(spread) for level, spread in qrels.by_level.items()}
    return {
        "qrels": picked(qrels, "name", "topics", "rel", "judged", "relevant")
        | {"by_level": levels, **picked(qrels, "without_relevant", "intents"), "per_topic": judged},
        "runs": [run_data(run) for run in statistics.runs],
    }


def intent_data(statistics: IntentStatistics) -> dict[str, Any]:
    """The statistics of intents as plain data."""
    groups = [
        picked(group, "kind", "per_topic", "relevant")
        | {"by_level": {f"{level:g}": count for level, count in group.by_level.items()}}
        for group in statistics.groups
    ]
    return picked(statistics, "topics", "relevant_documents", "per_document") | {"groups": groups}


def run_data(run: RunStatistics) -> dict[str, Any]:
    """The statistics of a run as plain data."""
    names = ("name", "topics", "missing_topics", "unjudged_topics", "retrieved", "relevant", "unjudged")
    topics = [
        picked(topic, "topic", "retrieved", "judged", "relevant")
        | {"judged_at": {str(depth): share for depth, share in topic.judged_at.items()}, "tied": topic.tied}
        for topic in run.per_topic
    ]
    shares = {"judged_share": run.judged_share(), "tied_share": run.tied_share}
    return {**picked(run, *names), **shares, "per_topic": topics}


def picked(record: Any, *names: str) -> dict[str, Any]:
    """Some attributes of a record by name, records among them as dictionaries."""
    values = {name: getattr(record, name) for name in names}
    return {name: asdict(value) if is_dataclass(value) else value for name, value in values.items()}  # type: ignore[arg-type]

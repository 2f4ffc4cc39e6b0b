"""How files are read and lists are ranked: options that verbs inherit, each class with those of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cranfield.cli.declare import RANKING, READING, SIDE, Verb, declared, flag, option
from cranfield.cli.options.option_values import assumed_length, bytes_of, columns_of, grades_of, named_files
from cranfield.cli.options.recurring import intent_types, order, split_tags, ties
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.assessed.join_options import JoinOptions
    from cranfield.collection.qrels import Qrels
    from cranfield.collection.run import Run

RUN_FORMATS = "collection.file_formats.formats:RUNS collection.file_formats.formats:STRUCTURED"
QRELS_FORMATS = "collection.file_formats.formats:QRELS collection.file_formats.formats:STRUCTURED"


class Sized(Verb):
    """How much is read."""

    max_size: str | None = option(
        "--max-size SIZE",
        "The most to read from a pipe or to unpack from a compressed file, such as 500M or 20G; default: 4G.",
        group=READING,
        solves="size_limit=",
    )

    def check(self) -> None:
        super().check()
        from cranfield.collection.compression import MOST_BYTES, set_size_limit

        set_size_limit(MOST_BYTES if self.max_size is None else bytes_of(self.max_size))


class Tables(Sized):
    """How tables with unusual columns are read."""

    columns: str | None = option(
        "--columns ROLE=NAME,...",
        "Columns of tables that have unusual names: topic=search_term,doc=sku,grade=stars; or the columns of a file "
        "without a header, in their order: topic,doc,grade. Roles: topic, doc, grade, score, rank, name and label.",
        group=READING,
        solves="columns=",
    )

    def perform(self) -> int | None:
        if self.columns is None:
            return super().perform()
        from cranfield.collection.column_names import named_columns

        with named_columns(columns_of(self.columns)):
            return super().perform()


class Graded(Tables):
    """How judgments with labels in place of grades are read."""

    label_grades: str | None = option(
        "--grades LABEL=N,...",
        "The numbers of labels in place of grades: Exact=3,Partial=1,Irrelevant=0.",
        group=READING,
        solves="grades=",
    )

    def perform(self) -> int | None:
        if self.label_grades is None:
            return super().perform()
        from cranfield.collection.grade_labels import named_grades

        with named_grades(grades_of(self.label_grades)):
            return super().perform()


class Detected(Graded):
    """Files whose kind is detected, and options for those whose kind is not."""

    qrels: list[str] | None = option(
        "--qrels FILE", "A file of judgments, if its kind is not detected. May be repeated.", group=READING, reads=True,
        solves="kinds=",
    )  # fmt: skip
    runs: list[str] | None = option(
        "--runs, --run FILE", "A run, if its kind is not detected. May be repeated.", group=READING, reads=True,
        solves="kinds=",
    )  # fmt: skip

    def kinds(self, **more: list[str] | None) -> dict[str, str]:
        """{file: kind} of the files whose kind is given; `more` are files of other kinds."""
        from cranfield.collection.source import expand

        named = {**more, "qrels": self.qrels, "run": self.runs}
        return {path: kind for kind, paths in named.items() for path in expand(paths or [])}


class Files(Graded):
    """How files of judgments and runs are read."""

    run_format: str | None = option(
        "--input-format, --run-format FORMAT",
        "Format of the runs: {names}; default: detected.",
        group=READING,
        names=RUN_FORMATS,
    )
    qrels_format: str | None = option(
        "--qrels-format FORMAT",
        "Format of the judgments: {names}; default: detected. With diversity, column 2 is always the intent; with "
        "trec, it never has a meaning.",
        group=READING,
        names=QRELS_FORMATS,
        solves="'(diversity|trec)'",
    )
    split_tags: bool = split_tags()
    query_ids: str | None = option(
        "--queries FILE",
        "The topics of responses of a search engine that do not name theirs, such as those of msearch, in their order: "
        "a file of topics, or an id on each line.",
        group=READING,
        reads=True,
        solves="queries=",
    )
    on_duplicate: str = option(
        "--on-duplicate RULE",
        "A document that appears twice in a list: {names} (stop with an error, keep the first, or keep the highest "
        "score or grade).",
        default="error",
        choices=("error", "first", "max"),
        group=READING,
        solves="on_duplicate=",
    )

    def check(self) -> None:
        super().check()
        for parameter in declared(type(self)):
            value = getattr(self, parameter.name)
            if parameter.name in ("run_format", "qrels_format") and value not in (None, *parameter.values()):
                formats = ", ".join(parameter.values())
                raise UsageError(f"{parameter.spellings[-1]} == {value!r}, must be one of {formats}")

    def perform(self) -> int | None:
        if self.query_ids is None:
            return super().perform()
        from cranfield.collection.file_formats.search_responses import queries_named_in

        with queries_named_in(self.query_ids):
            return super().perform()

    def read_qrels(self, path: str) -> Qrels:
        """The judgments in a file."""
        from cranfield.collection.qrels import Qrels

        return Qrels.read(path, format=self.qrels_format, on_duplicate=self.on_duplicate)

    def read_runs(self, paths: Sequence[str]) -> dict[str, Run]:
        """The runs in files, each under a name of its own."""
        from cranfield.assessed.given_runs import distinct_names
        from cranfield.collection.run import read_runs

        runs = read_runs(paths, format=self.run_format, **self.values("on_duplicate", "split_tags"))
        names = distinct_names([run.name for run in runs], [run.path or "" for run in runs])
        return dict(zip(names, runs, strict=True))


class Ranked(Files):
    """How files are read and lists are ranked."""

    order: str | None = order()
    ties: str = ties()
    precision: int = option(
        "--precision BITS",
        "Compare scores as 64-bit numbers, or as 32-bit numbers like trec_eval 9.",
        default=64,
        group=RANKING,
    )

    def ranking_rules(self) -> dict[str, Any]:
        """The options under the names that `JoinOptions` uses."""
        return self.values("order", "ties", "precision", "on_duplicate", "split_tags")


class Lists(Ranked):
    """How files are read and lists are ranked, and further files that some measures need."""

    memory: str | None = option(
        "--memory SIZE",
        "The most memory to use while runs are read, such as 500MB or 1GB; default: what is fast. The result does not "
        "depend on it.",
        group=READING,
        solves="memory=",
    )
    intent_probabilities: str | None = option(
        "--intent-probabilities FILE",
        "Probabilities of intents: a file with lines of topic, intent, probability (and perhaps the type); or uniform "
        "(the default); or nonuniform (each intent is half as likely as the one before).",
        group=SIDE,
    )
    intent_types: str | None = intent_types()
    empty_intents: str = option(
        "--empty-intents RULE",
        "Intents without relevant documents, {names}: the other intents share their probability, or they keep it, as "
        "in NTCIREVAL.",
        default="renormalise",
        names="assessed.join_options:EMPTY_INTENTS",
        group=SIDE,
    )
    topic_numbers: str | None = option(
        "--topic-numbers FILE",
        "Parameters by topic: topic and N, the documents to read or in the collection, for WSS, LastRel, ESL, "
        "Accuracy and others; or a header line topic,N,alpha "
        '(alpha for alpha-nDCG(alpha="topic")).',
        group=SIDE,
    )
    lengths: str | None = option(
        "--lengths FILE",
        "Document lengths for TBG (words) and U (characters): lines of doc, length and optionally length of the "
        'snippet; or a table with the header doc, words, characters, snippet, cost (for C/W/L with cost="cost").',
        group=SIDE,
    )
    missing_length: str | None = option(
        "--missing-length N",
        "Length of documents that are not in the file of lengths: a number, or mean; default: stop with an error.",
        group=SIDE,
    )
    strata: bool = flag(
        "--strata",
        "Column 2 of the judgments is the stratum a document was drawn from, for xinfAP and infNDCG; grade -1: it was "
        "not drawn. Without this, it is if most grades are -1 or such a measure is asked for.",
        group=RANKING,
    )
    inclusion: str | None = option(
        "--inclusion FILE",
        "Sampling probabilities of judged documents, for statAP: lines of topic, doc, probability; or files of TREC's "
        "Legal (.probs) and Million Query (prels) tracks.",
        group=SIDE,
    )
    together: str | None = option(
        "--together FILE",
        "Documents that are relevant only together: lines of topic, set and doc. A set counts once, at the rank of its "
        "last document.",
        group=SIDE,
    )
    dimensions: list[str] | None = option(
        "--dimension NAME=FILE",
        "Judgments of another dimension of relevance, for uRBP (understandability), cRBP (credibility), CAM, "
        "MM and TOMA. May be repeated.",
        group=SIDE,
    )

    def join_options(self) -> dict[str, Any]:
        """The options under the names that `evaluate` and `JoinOptions` use."""
        return {
            "order": self.order,
            "ties": self.ties,
            "precision": self.precision,
            "on_duplicate": self.on_duplicate,
            "format": self.run_format,
            "split_tags": self.split_tags,
            "memory": self.memory,
            "intent_probabilities": self.intent_probabilities,
            "intent_types": self.intent_types,
            "empty_intents": self.empty_intents,
            "topic_numbers": self.topic_numbers,
            "together": self.together,
            "lengths": self.lengths,
            "strata": self.strata,
            "inclusion": self.inclusion,
            "missing_length": assumed_length(self.missing_length),
            "dimensions": named_files(self.dimensions),
        }

    def joining(self) -> JoinOptions:
        """The options as one record."""
        from cranfield.assessed.join_options import JoinOptions

        return JoinOptions(**self.join_options())

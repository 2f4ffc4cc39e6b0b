"""`cranfield eval`: score runs against judgments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import MORE, MOST_PARTS, READING, RESULT, flag, option
from cranfield.cli.options import engine_options
from cranfield.cli.options.as_options import AsText
from cranfield.cli.options.by_class import ByClass, joined
from cranfield.cli.options.option_values import chosen, interval_level
from cranfield.cli.options.source_options import SeveralCollections
from cranfield.cli.printing import Printing, format_option, warn_of_notes
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.measures import Measure
    from cranfield.scores.scores import Scores
    from cranfield.scores.summary import Risk

    Risks = Callable[[Scores], Risk] | None

RISKS = ("URisk", "TRisk", "GeoRisk")
ON_ENGINE = ("order", "ties", "precision", "memory")
"""Options of reading that also apply to runs in tables."""
STATISTICS = ("mean", "gmean", "median", *RISKS, "area")


class EvalVerb(AsText, ByClass, SeveralCollections, Printing):
    """Score the results of search systems (runs) against judgments of which documents are relevant.

    The table has a row per run and a column per measure. Notes below the table say how documents were ordered, and
    which topics are missing or have no score. Formats that cannot hold notes print them to standard error.

    The statistic area is the area under the curve of the mean of the x worst topics of a run, by default for x up to a
    quarter of the topics (Voorhees, TREC 2003). Intervals of means are within the range of the measure. For
    measures that do not depend on missed documents (recall-free), [worst] and [best] are bounds of the score; for
    others, they are two scenarios. Ranks of lists (--interval-scale) are equally spaced, as means assume; the measure
    needs a small cutoff (docs/meta.md).

    With --collection, the table has a row per run and a column per collection, and the mean over collections, each with
    the same weight. Runs are matched by name. With -q, the scores of the collections follow one another.

    To use a measure of your own, name it as module:name.
    """

    repeats_warnings = True
    summary = "score search results against relevance judgments"
    examples = """
cranfield eval qrels.txt bm25.run dense.run -m nDCG@10 -m AP
cranfield eval --sample  # try it on the bundled sample collection
cranfield eval qrels.txt runs/*.run.gz -m nDCG@10,20 -m "RBP(p=0.95)" --ci
cranfield eval qrels.txt bm25.run -m AP -q --format csv -o ap.csv
zcat bm25.run.gz | cranfield eval qrels.txt - -m AP
cranfield eval qrels.txt bm25.run -m uRBP -m "CAM(nDCG@10)" --dimension understandability=clear.qrels
cranfield eval qrels.txt runs/*.run -m AP --statistic URisk --baseline bm25 --alpha 5
cranfield eval qrels.txt runs/*.run -m AP --by classes.txt  # for each class of topics
cranfield eval qrels.txt runs/*.run -m AP@10 --interval-scale  # ranks of lists instead of scores
cranfield eval --collection covid=covid.qrels:covid/*.run --collection nq=nq.qrels:nq/ -m nDCG@10
cranfield eval --collections beir.toml -m nDCG@10 --sort nDCG@10 --format latex
cranfield eval qrels.txt huge.run.zst -m nDCG@10 --memory 1GB
cranfield eval qrels.txt runs/*.run -m AP --shards 20 --resume parts  # may be stopped and started again
cranfield eval qrels.txt bm25.run -m my_measures:HitsOnFirstPage
cranfield eval qrels.txt runs.parquet -m nDCG@10 --engine spark  # a table of run, topic, doc and score
"""

    measures: list[str] | None = options.measures()
    missing: str = options.missing()
    statistic: str = option("--statistic NAME", "The summary over topics: {names}.", default="mean", choices=STATISTICS)
    worst: int | None = option(
        "--worst N", "For area: the number of worst topics; default: a quarter of the topics.", solves="worst="
    )
    baseline: str | None = option("--baseline, -b RUN", "The run that URisk and TRisk compare with.")
    alpha: float | None = options.alpha(None, f"For {', '.join(RISKS)}: losses count 1 + A times; default: 1.")
    ci: bool = options.ci()
    level: float | None = options.level_of_ci()
    residual: bool = flag(
        "--residual", "Also score with all unjudged documents at grade 0 ([worst]) and at the highest grade ([best])."
    )
    interval_scale: bool = flag(
        "--interval-scale",
        "Replace each score by the rank of its list among all lists up to the cutoff, in the order of the measure.",
    )
    per_topic: bool = options.per_topic("Also print the scores of each topic; in json, csv and tsv only these.")
    format: str = format_option("trec", help="{names} (as trec_eval prints).")
    sort: str | None = option(
        "--sort MEASURE",
        "Print the best run first, by this measure; a name without parameters means the one that is shown.",
        group=RESULT,
    )
    depth: int | None = options.depth()
    threads: int | None = options.threads()
    engine: str | None = option(
        "--engine NAME",
        "Runs are tables with columns of run, topic, document and score, which an engine scans: duckdb, spark, or a "
        "Spark master such as spark://host:7077.",
        group=MORE,
    )
    how: str | None = option(
        "--joined-by WAY",
        "For --engine spark: {names}; core: cranfield joins in the workers; sql: Spark joins by itself.",
        choices=("core", "sql"),
        group=MORE,
    )
    wait: float = engine_options.wait()
    shards: int | None = option(
        "--shards N",
        "Read the runs in about N parts: groups of files, and ranges of topics of large files; default with --resume: "
        "parts of 256 MB.",
        group=READING,
        most=MOST_PARTS,
    )
    resume: str | None = option(
        "--resume DIR",
        "Keep the result of every part in this folder; if the job is stopped, the same command goes on where it was.",
        group=READING,
    )

    def check(self) -> None:
        super().check()
        self.runs, self.baseline = options.baseline_file(self.runs, self.baseline)
        self.level = interval_level(self.ci, self.level)
        if self.format == "trec" and (self.level or self.statistic != "mean"):
            raise UsageError("--format trec prints means only; leave out --ci and --statistic, or use another format")
        self.measured = self.usual_as(chosen(self.measures))
        self.sorted_by = chosen([self.sort]) if self.sort else []
        if len(self.sorted_by) > 1:
            raise UsageError(f"--sort names {len(self.sorted_by)} measures; give one")
        self.sorted_by = [shown_variant(measure, self.measured) for measure in self.sorted_by]
        if self.worst is not None and self.statistic != "area":
            raise UsageError("--worst applies only to --statistic area")
        self._check_risk([*self.measured, *self.sorted_by])
        others = {
            "--residual": self.residual, "--sort": self.sorted_by, "--depth": self.depth, "--collection": self.several,
            "--shards": self.shards, "--resume": self.resume,
        }  # fmt: skip
        conflict = next((name for name, value in others.items() if value), None)
        if self.how and not self.engine:
            raise UsageError("--joined-by applies only to --engine")
        if self.engine:
            self._check_engine()
        if self.interval_scale and conflict:
            raise UsageError(f"--interval-scale and {conflict} do not go together; leave out one of them")
        if self.several and (self.shards or self.resume):
            raise UsageError("--shards and --resume are of one collection; leave out --collection")
        if self.several and self.statistic in (*RISKS, "area"):
            raise UsageError(f"--statistic {self.statistic} is of one collection; leave out --collection, or use mean")
        if self.several and self.level and self.statistic != "mean":
            raise UsageError("--ci over collections is of the mean; leave out --statistic or --ci")
        if self.several and self.format == "trec":
            raise UsageError("--format trec has no place for collections; use another, such as csv")

    def _check_engine(self) -> None:
        """Raise an error about options that do not apply to runs in tables."""
        from cranfield.assessed.join_options import JoinOptions

        if self.several or self.interval_scale or self.sample:
            others = "--collection, --interval-scale and --sample"
            raise UsageError(f"--engine reads tables of one collection; leave out {others}")
        if self.shards or self.resume:
            raise UsageError("--shards and --resume read files; an engine has its own parts: leave out --engine")
        if self.runs and len(self.runs) > 1:
            raise UsageError("--engine reads one table with a column of runs; give one path, pattern or directory")
        plain = JoinOptions()
        for name, value in self.join_options().items():
            if name not in ON_ENGINE and value and value != getattr(plain, name):
                raise UsageError(f"--{name.replace('_', '-')} does not apply to runs in tables; leave out --engine")

    def _check_risk(self, measures: list[Measure]) -> None:
        if self.statistic not in RISKS:
            if self.baseline is not None or self.alpha is not None:
                raise UsageError(f"--baseline and --alpha apply only to --statistic {', '.join(RISKS)}")
            return
        if self.statistic == "GeoRisk" and self.baseline is not None:
            raise UsageError("GeoRisk compares with all runs together; leave out --baseline")
        if self.statistic != "GeoRisk" and self.baseline is None:
            raise UsageError(f"{self.statistic} compares with a run; name it: --baseline RUN")
        if self.level:
            raise UsageError(f"{self.statistic} has no interval; leave out --ci")
        for measure in measures:
            if measure.properties.better != "higher":
                raise UsageError(f"{self.statistic} needs a measure whose higher scores are better, unlike {measure}")

    def run(self) -> None:
        measured = self.measured
        if self.residual:
            from cranfield.evaluation.missing_judgments import ends

            measured = list(dict.fromkeys(view for measure in measured for view in (measure, *ends(measure))))
        every = [*measured, *self.sorted_by]
        if self.several:
            self._run_collections(every, measured)
            return
        if self.engine:
            scores = self._on_engine(every)
        elif self.interval_scale:
            scores = self.interval_scores(every, self.missing)
        else:
            parts = self.values("shards", "resume")
            scores = self.evaluate(every, missing=self.missing, depth=self.depth, threads=self.threads, **parts)
        alpha = 1.0 if self.alpha is None else self.alpha
        risks = (lambda some: some.risk(self.statistic, self.baseline, alpha)) if self.statistic in RISKS else None
        if self.sorted_by:
            scores = best_first(scores, self.sorted_by[0], self.statistic, risks, self.worst).select(measures=measured)
            if self.sorted_by[0] not in measured:
                scores = replace(scores, notes=(*scores.notes, f"sorted by {self.sorted_by[0]}, which is not shown"))
        self.emit(self._text(scores, measured, risks))
        if self.sample and not self.measures and self.shows_notes and not self.quiet:
            self.emit(next_steps())

    def _on_engine(self, measures: list[Measure]) -> Scores:
        """The scores of runs in tables."""
        from cranfield.cluster import evaluate_tables

        qrels, runs = self.files()
        settings = self.values("engine", "how", "missing", "depth", "threads", "wait", *ON_ENGINE)
        return evaluate_tables(qrels, runs[0], measures, **settings)

    def _run_collections(self, every: list[Measure], measured: list[Measure]) -> None:
        """Print runs × collections, or with `--per-topic` the scores of one collection after the other."""
        scores = self.read_collections(every, missing=self.missing, depth=self.depth, threads=self.threads)
        if self.sorted_by:
            scores = scores.sort(self.sorted_by[0]).select(measures=measured)
        if not self.per_topic:
            self.emit(self.rendered(replace(scores.table(self.statistic, self.level), digits=self.digits)))
            return
        parts = [(name, len(part.topics), self._text(part, measured, None)) for name, part in scores.parts.items()]
        self.emit(joined(parts, self.format, "collection", guard_formulas=self.guard_formulas))

    def _text(self, scores: Scores, measures: list[Measure], risks: Risks) -> str:
        from cranfield.report.tables import risk_table, summary_table, topic_table, trec_lines
        from cranfield.table import DIGITS, safe_cell

        digits = self.digits
        if self.format == "trec":
            warn_of_notes(scores.notes, self.format)
            few = DIGITS if digits is None else digits
            return "\n".join(trec_lines(scores, per_topic=self.per_topic, digits=few))
        if self.per_topic and self.for_programs:
            kept = scores if digits is None else replace(scores, values=scores.values.round(digits))
            if self.format == "json":
                return kept.to_json()
            safe = partial(safe_cell, guard_formulas=self.guard_formulas)
            return kept.to_csv(sep="\t" if self.format == "tsv" else ",", change=safe)
        better = {name: measure.properties.better for name, measure in zip(scores.measures, measures, strict=True)}
        # The notes below the last table apply to all.
        tables = [replace(topic_table(scores, digits=digits), notes=())] if self.per_topic else []
        if risks:
            tables.append(risk_table(scores, risks(scores), digits=digits))
        else:
            summary = self.values("statistic", "worst", "digits")
            tables.append(summary_table(scores, **summary, level=self.level, better=better))
        return self.rendered(*tables)


def next_steps() -> str:
    """Commands on the files of the sample collection, which work as they are."""
    import os
    import shlex

    from cranfield.samples import sample

    folder = os.path.dirname(sample().qrels)
    # If the folder needs quotes, the pattern is quoted with it, and cranfield expands it.
    runs = os.path.join(folder, "*.run")
    runs = runs if shlex.quote(folder) == folder else shlex.quote(runs)
    qrels, run = shlex.quote(sample().qrels), shlex.quote(sample().runs[0])
    steps = [
        f"cranfield eval {qrels} {runs} -m nDCG@10 -m AP --ci",
        f"cranfield explain {qrels} {run} --topic 101 -m nDCG@10",
        f"cranfield compare {qrels} {runs} -m nDCG@10",
        f"cranfield validate {qrels} {runs}",
        "cranfield measures nDCG",
    ]
    where = f"The sample collection is in {folder}; the README.md there describes it."
    return "\n".join(["", where, "", "Commands to try next:", *(f"  {step}" for step in steps)])


def shown_variant(measure: Measure, shown: list[Measure]) -> Measure:
    """The measure to sort by: if a name has no parameters, the variant of it that is shown.

    >>> from cranfield.measures import AP, nDCG
    >>> shown_variant(nDCG(), [nDCG @ 10, AP()])
    nDCG@10
    """
    variants = [other for other in shown if type(other) is type(measure) and other.views == measure.views]
    if measure in shown or not variants or set("@(") & set(str(measure)):
        return measure
    if len(variants) > 1:
        raise UsageError(f"--sort {measure}: {' and '.join(map(str, variants))} are shown; name one of them")
    return variants[0]


def best_first(
    scores: Scores, measure: Measure, statistic: str, risks: Risks = None, worst: int | None = None
) -> Scores:
    """The runs sorted by a measure, undefined ones last."""
    one_measure = scores[str(measure)]
    if risks:
        values = dict(zip(scores.runs, risks(one_measure).values[0].tolist(), strict=True))
    else:
        values = {entry.run: entry.value for entry in one_measure.summary(statistic, level=None, worst=worst)}
    sign = 1 if measure.properties.better == "lower" else -1
    keys = {run: (value != value, sign * value) for run, value in values.items()}
    return scores.select(runs=sorted(scores.runs, key=keys.__getitem__))

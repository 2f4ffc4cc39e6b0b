"""`cranfield compare`: which systems differ, by how much, and how certain that is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cranfield.cli import options
from cranfield.cli.declare import MORE, RESULT, declared, flag, option
from cranfield.cli.options.by_class import ByClass
from cranfield.cli.options.option_values import chosen, score_names
from cranfield.cli.options.source_options import SCORE_FILES, SeveralCollections
from cranfield.cli.printing import Plotting, Printing, warn_of_notes
from cranfield.errors import UsageError
from cranfield.notes import method_note
from cranfield.text import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cranfield.comparison.across_collections import AcrossCollections
    from cranfield.comparison.result import Comparison
    from cranfield.evaluation.several_collections import CollectionScores
    from cranfield.scores.scores import Scores
    from cranfield.table import Table


ASIDE = ("value", "rope", "statistic")
"""Options of these tests only."""
SETTINGS = ("test", "baseline", "correction", "alpha", "alternative", "seed", "margin", *ASIDE)
"""Settings of `apply_test` that are options, beside the number of resamples."""
SHARED = (*SETTINGS, "resamples", "collections")
"""Options of these tests, beside those that say what is read and how it is printed."""


class OtherTests(ByClass, SeveralCollections, options.BinaryGrades, options.Rescaled, Plotting):
    """The options and the work of the tests of `apply_test`, and of the bootstrap over documents."""

    value: float | None = option("--value X", "one-sample-t: the number to compare means with.", group=MORE)
    rope: float | None = option(
        "--rope D", "Bayesian tests: runs that differ by at most D count as equal; default: 0.01.", group=MORE
    )
    statistic: str | None = option(
        "--statistic NAME",
        "unpaired-bootstrap, unpaired-permutation: what to compare, {names} (geometric mean; area under the mean of "
        "the x worst topics, down to a quarter of them); default: t, means divided by their standard error.",
        choices=("t", "mean", "gmean", "median", "area"),
        group=MORE,
    )

    def check_other_test(self, test: str) -> None:
        """Raise a `UsageError` for options that this test does not have."""
        from cranfield.comparison.apply_test import DOCUMENTS, SAMPLE_TESTS

        reading = {each.name for kind in (ByClass, options.Rescaled, Printing) for each in declared(kind)}
        own = {*SHARED, "per_topic"} if test == DOCUMENTS else set(SHARED)
        self._refuse({each.name for each in declared(type(self))} - reading - own, test)
        if test == DOCUMENTS:
            self._refuse({*ASIDE, "margin", "collections", "standardise", "transform", "alternative", "scores"}, test)
            if len(self.measures or []) > 1:
                raise UsageError(f"--test documents takes one measure, but there are {len(self.measures or [])}")
            return
        SAMPLE_TESTS.find(test)
        if self.several:
            raise UsageError(
                f"--test {test} compares two files of scores; give --scores FILE two times and --collections"
            )
        if self.collections and len(self.scores or []) != 2:
            raise UsageError("--collections compares two files of scores; give --scores FILE exactly two times")

    def _refuse(self, names: set[str], test: str) -> None:
        for each in declared(type(self)):
            if each.name in names and getattr(self, each.name) not in (None, False, each.default):
                raise UsageError(f"{each.label} does not apply to --test {test}; leave it out")

    def run_other_test(self, test: str, resamples: int | None, per_topic: bool) -> None:
        """Test, and print the results."""
        from cranfield.comparison.apply_test import DOCUMENTS, apply_test

        if test == DOCUMENTS:
            self._over_documents(resamples or 1000, per_topic)
            return
        if self.collections:
            data: Any = self.read_scores_by_file("--collections: each file of --scores is a collection")
        else:
            data = self.read_scores()
        settings: dict[str, Any] = self.values(*SETTINGS)
        with self.progress("testing") as progress:
            result = apply_test(data, resamples=resamples or 10_000, **settings, progress=progress)
        if self.format == "json":
            self.emit(result.to_json())
        else:
            self.show(result.table())

    def _over_documents(self, resamples: int, per_topic: bool) -> None:
        from cranfield.comparison.document_sampling import document_bootstrap

        (measure,) = self.usual_as(chosen(self.measures or [options.USUAL]))
        settings: dict[str, Any] = self.values("baseline", "alpha", "seed", "correction")
        settings["correction"] = settings["correction"] or "holm"
        with self.progress("resampling documents") as progress:
            result = document_bootstrap(
                *self.read(), measure, resamples=resamples, **settings, options=self.joining(), progress=progress
            )
        if per_topic:
            tables = [result.topic_table(), result.table()]
            self.emit(self.rendered(*(tables[:1] if self.for_programs else tables)))
        elif self.format == "json":
            self.emit(result.to_json())
        else:
            self.show(result.table())


def is_other_test(test: str) -> bool:
    """Whether a name is that of a test of this module."""
    from cranfield.comparison.apply_test import DOCUMENTS, SAMPLE_TESTS

    return test == DOCUMENTS or test in SAMPLE_TESTS


LABEL = "tab:comparison"
ALL = "all"
"""Compare on all scales."""


OPERATIONS = "comparison.compare:compare comparison.apply_test:apply_test meta.scale.scale_comparison:compare_scales"


class CompareVerb(OtherTests, of=OPERATIONS):
    """Test which runs differ: differences with intervals, p-values, effect sizes, and groups of runs.

    With a baseline or several measures there is one table as papers have it: a row per run, a few columns per measure;
    --show chooses them (default: difference,p; all but percent for one measure; percent in latex).
    p-values are corrected for the number of comparisons. Notes below the table state the test, the correction, the
    significance level, the number of topics and reasons for doubt. csv and tsv hold a row per pair and measure; json
    holds everything; latex is a table for a paper, which needs the package booktabs. Differences are run − baseline, or
    better − worse. Ctrl-C during long resampling prints the result of the resamples
    done so far, with a note and the exit code 130; csv and tsv, which have no notes, are then not written.

    Some tests ask other questions, and print a table of their own. one-sample-t compares the mean of each run with
    --value. tost tests whether runs differ by less than --margin. bayesian-t and bayesian-signed-rank print how
    probable it is that a run scores higher, equal (within --rope) or lower. documents asks whether runs would still
    differ in another sample of documents, by a bootstrap over documents. unpaired-t, rank-sum and others do not match
    topics: with --collections they compare each run between two files of scores. docs/tests.md describes all tests.

    --score-scale all asks whether the verdicts depend on the scale: every pair on the scores, on an interval scale and
    on ranks, by --test, Wilcoxon's test and the sign test, with one default for each measure.
    """

    repeats_warnings = True
    summary = "which systems differ, by how much, and how certain that is"
    examples = """
cranfield compare qrels.txt runs/*.run -m nDCG@10
cranfield compare qrels.txt runs/*.run -m nDCG@10,AP --baseline bm25 --show percent,p,effect --format latex
cranfield compare --scores matrix.csv --test wilcoxon --correction bh
cranfield compare qrels.txt bm25.run dense.run -m AP --per-topic
cranfield compare qrels.txt runs/*.run -m AP@10,P@10 --score-scale all  # does the verdict depend on the scale?
cranfield compare qrels.txt runs/*.run -m AP --test tost --margin 0.02  # are they equal in practice?
"""

    not_options = ("direction", "systems", "tests")
    test: str = options.significance_test("t", names="comparison.pair_tests:TESTS comparison.apply_test:TEST_NAMES")
    correction: str | None
    margin: float | None = option(
        "--margin D", "sign: differences up to D are ties; tost: the largest difference that does not matter.",
        group=MORE, solves="margin=",
    )  # fmt: skip
    resamples: int | None = options.resamples(None, "For tests that resample; default: 10000, documents: 1000.")
    asl: str
    threads: int | None
    baseline: str | None = option(
        "--baseline, -b RUN", "Compare all other runs with this one, a name or file; default: all pairs."
    )
    systems: str | None = option(
        "--systems FILE",
        "Average several runs of the same system per topic, such as seeds of a model: lines of run, system.",
        reads=True,
        group=MORE,
    )
    collections: str | None = option(
        "--collections FILE",
        "The collections, from a TOML file: for each a table [collections.NAME] with qrels and runs. Without a file: "
        "each file of --scores is a collection.",
        bare=(SCORE_FILES, r".+\.toml"),
        group=MORE,
    )
    scale: str = option(
        "--score-scale NAME",
        "{names}: compare the scores, or the rank of each list among all lists up to the cutoff in the order of the "
        "measure, which makes an interval scale, or the ranks of the scores, or show which verdicts depend on this.",
        default="scores",
        choices=("scores", "interval", "ranks", ALL),
        group=MORE,
    )
    show_columns: str | None = option(
        "--show COLUMNS",
        "With --baseline, the columns beside each mean: one or more of {names}.",
        names="comparison.result_tables:SHOWN",
        group=RESULT,
    )
    marks: str | None = option(
        "--marks KIND",
        "Without --baseline, the marks in a table of several measures and in latex, {names}: letters of the runs that "
        "a run beats significantly; letters that runs share if they do not differ; or how many runs a run beats.",
        choices=("beats", "groups", "counts"),
        group=MORE,
    )
    caption: str | None = option("--caption TEXT", "latex: the caption, written in LaTeX.", group=MORE)
    label: str = option("--label NAME", "latex: the label.", default=LABEL, group=MORE)
    pairs: bool = flag("--pairs", "Print a row per pair, even if there are many.", group=RESULT)
    per_topic: bool = options.per_topic("Print the difference on each topic: the best run against the baseline.")

    def check(self) -> None:
        super().check()
        self.runs, self.baseline = options.baseline_file(self.runs, self.baseline)
        if is_other_test(self.test):
            self.check_other_test(self.test)
            return
        for name in ("value", "rope", "statistic"):
            if getattr(self, name) is not None:
                raise UsageError(f"--{name} does not apply to --test {self.test}; leave it out, or choose another test")
        from cranfield.comparison.corrections import CORRECTIONS
        from cranfield.comparison.pair_tests import TESTS
        from cranfield.comparison.resampling import check_asl
        from cranfield.comparison.result_tables import column_names

        TESTS.own_settings(TESTS.find(self.test), **self.values("margin", "zeros", "method", "continuity"))
        check_asl("", self.asl, TESTS.find(self.test).name, TESTS.find(self.test).resampling)
        CORRECTIONS.find(self.correction or "none")
        if self.format != "latex" and (self.caption is not None or self.label != LABEL):
            raise UsageError(f"--caption and --label are for --format latex, not {self.format}")
        if self.show_columns is not None:
            if self.baseline is None:
                raise UsageError("--show needs --baseline RUN; without one, --pairs prints differences and p")
            column_names(self.show_columns, "--show")
        if self.scale == "interval" and self.scores:
            raise UsageError("--score-scale interval needs judgments and runs; leave out --scores")
        if self.scale != "scores" and (self.several or self.collections):
            raise UsageError(f"--score-scale {self.scale} and --collections do not go together; leave out one of them")
        if self.several and self.scores:
            raise UsageError("--collection and --collections FILE replace --scores; leave out one of them")
        if self.scale == ALL:
            for name in (
                "by",
                "collections",
                "collection",
                "standardise",
                "transform",
                "systems",
                "per_topic",
                "pairs",
                "plot",
            ):
                if getattr(self, name):
                    option = f"--{name.replace('_', '-')}"
                    raise UsageError(f"--score-scale {ALL} and {option} do not go together; leave out one of them")
        if self.asl == "share" and self.several:
            raise UsageError("--asl share is for one collection; leave it out")
        if self.measures:
            self._check_single(score_names(self.measures) if self.scores else chosen(self.measures))

    def _check_single(self, measures: Collection[object], collections: int = 1) -> None:
        """Raise a `UsageError` for what shows one measure of one collection, before the tests take their time."""
        for label, wanted in (("--plot draws", self.plot), ("--per-topic shows", self.per_topic)):
            if wanted and len(measures) > 1:
                raise UsageError(f"{label} one measure, but there are {len(measures)}; choose one with -m")
            if wanted and collections > 1:
                raise UsageError(f"{label} one collection, but there are {collections}; compare them one by one")

    def _scores(self) -> Scores:
        """The scores to compare, on the scale asked for."""
        if self.scale == "interval":
            return self.read_interval_scores()
        scores = self.read_scores(threads=self.threads)
        if self.scale == "ranks":
            from cranfield.meta.scale.conclusions import rank_scores

            return rank_scores(scores)
        return scores

    def run(self) -> None:
        if is_other_test(self.test):
            self.run_other_test(self.test, self.resamples, self.per_topic)
            return
        if self.scale == ALL:
            self._on_scales()
            return
        from cranfield.collection.run import read_run_table
        from cranfield.comparison.compare import compare

        systems = read_run_table(self.systems, "system") if self.systems else None
        several = None
        if self.several:
            wanted = self.usual_as(chosen(self.measures or [options.USUAL]))
            several = self.read_collections(wanted, missing=self.missing, threads=self.threads)
            several = replace(several, parts={n: self.rescaled(part) for n, part in several.parts.items()})
            scores = several.comparable(self.baseline)
        elif self.collections:
            scores = self.read_scores_by_file("--collections: each file of --scores is a collection")
        else:
            scores = self._scores()  # type: ignore[assignment]
            if self.baseline is not None:
                self.baseline = self.run_named(self.baseline, scores)  # type: ignore[arg-type]
        parts = [*scores.values()] if isinstance(scores, dict) else [scores]
        self._check_single({measure for part in parts for measure in part.measures}, len(parts))
        settings = {**self.settings(), "resamples": self.resamples or 10_000}
        with self.progress("resampling") as progress:
            result = compare(scores, **settings, systems=systems, progress=progress)
        across = self._across(several) if several is not None else None
        self.emit(self._text(result) if across is None else self._with_collections(result, across))
        if self.plot and self.per_topic:
            from cranfield.report.figures import describe_differences

            self.save_figure(describe_differences(result.families[0].matrix, likely_pair(result)))
        else:
            self.save_plot(result)

    def _on_scales(self) -> None:
        from cranfield.meta.scale.scale_comparison import SCALE_TESTS, compare_scales

        data: Any = self.read_scores() if self.scores else self.assessed()
        settings = {**self.settings("compare_scales"), "resamples": self.resamples or 10_000}
        settings["tests"] = list(dict.fromkeys((self.test, *SCALE_TESTS[1:])))
        measures = None if self.scores else self.usual_as(chosen(self.measures or [options.USUAL]))
        with self.progress("comparing") as progress:
            result = compare_scales(data, measures, **settings, progress=progress)
        if self.format == "json":
            self.emit(result.to_json())
        elif self.format in ("csv", "tsv"):
            warn_of_notes(result.notes, self.format)
            self.emit(self._delimited(result.columns()))
        else:
            self.show(replace(result.summary(), notes=()), result.table())

    def _text(self, result: Comparison) -> str:
        if self.per_topic:
            return self.rendered(replace(result.topics(*likely_pair(result)), digits=self.digits))
        if self.format == "json":
            return result.to_json()
        if self.format == "latex":
            return result.to_latex(self.show_columns, **self.values("marks", "caption", "label", "digits"))
        if self.format in ("csv", "tsv"):
            return self._delimited(result.columns())
        return self.rendered(*(replace(table, digits=self.digits) for table in self._tables(result)))

    def _tables(self, result: Comparison) -> tuple[Table, ...]:
        """The table of runs, and that of pairs; if that is left out, a note says how to get it."""
        from cranfield.comparison.result_tables import SHOWN

        first, *pairs = result.tables(self.show_columns, marks=self.marks, pairs=self.pairs or None)
        if pairs:
            return (first, *pairs)
        hint = f"--pairs prints the difference, interval, p and effect size of {counted(result.comparisons, 'pair')}"
        if result.baseline is not None:
            hint = f"--show chooses columns: {', '.join(SHOWN)}; --pairs prints a row per pair"
        return (replace(first, notes=(*first.notes, method_note(hint))),)

    def _across(self, scores: CollectionScores) -> AcrossCollections | None:
        """The comparison over collections; None for one collection."""
        from cranfield.comparison.across_collections import compare_collections

        if len(scores.collections) < 2:
            return None
        settings = self.values("baseline", "test", "correction", "alpha", "seed")
        settings["resamples"] = self.resamples or 10_000
        return compare_collections(scores, **settings)

    def _with_collections(self, result: Comparison, across: AcrossCollections) -> str:
        """The comparison within each collection and over all of them: both tables, or one of data."""
        if self.format == "json":
            import json

            return json.dumps({"within": result.to_dict(), "over": across.to_dict()}, ensure_ascii=False, indent=1)
        if self.format in ("csv", "tsv"):
            from cranfield.comparison.across_collections import within_and_over

            warn_of_notes((*result.notes, *across.notes), self.format)
            return self._delimited(within_and_over(result, across))
        return f"{self._text(result)}\n\n{self.rendered(replace(across.table(), digits=self.digits))}"

    def _delimited(self, data: Mapping[str, NDArray[Any]]) -> str:
        """A row per pair with all its columns; undefined is empty."""
        from cranfield.collection.file_formats.writing import to_delimited

        columns: dict[str, list[object]] = {}
        for name, column in data.items():
            if column.dtype.kind == "f":
                values = column if self.digits is None else column.round(self.digits)
                columns[name] = [None if x != x else x for x in values.tolist()]
            else:
                columns[name] = column.tolist()
        return to_delimited(columns, "\t" if self.format == "tsv" else ",")


def likely_pair(result: Comparison) -> tuple[str, str]:
    """The best system, and the baseline or the second."""
    family = result.families[0]
    names = [family.matrix.systems[column] for column in family.ranking.tolist()]
    best = next(name for name in names if name != result.baseline)
    return best, result.baseline or next(name for name in names if name != best)

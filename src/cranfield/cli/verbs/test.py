"""`cranfield test`: tests of one run, of two collections, of equivalence, and Bayesian comparisons."""

from __future__ import annotations

from typing import Any

from cranfield.cli import options
from cranfield.cli.declare import MORE, flag, option
from cranfield.cli.measure_names import chosen
from cranfield.cli.options.by_class import ByClass
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError


class TestVerb(ByClass, options.Rescaled, Printing):
    """Ask what compare does not: is a mean above a number, are runs equal in practice, do two collections differ?

    one-sample-t compares the mean of each run with --value. tost tests whether runs differ by less than --margin.
    bayesian-t and bayesian-signed-rank print how probable it is that a run scores higher, equal (within --rope) or
    lower. documents asks whether runs would still differ in another sample of documents, by a bootstrap over documents,
    and shows beside it what the paired t test says over samples of topics; it needs judgments and runs. The other tests
    do not match topics: with --collections they compare each run between two files of scores. docs/tests.md describes
    the tests.
    """

    repeats_warnings = True
    summary = "one run against a number, equivalence, two collections, Bayesian"
    examples = """
cranfield test qrels.txt runs/*.run -m AP --test tost --margin 0.02
cranfield test --sample --test bayesian-t --rope 0.02  # try it on the bundled sample collection
cranfield test qrels.txt runs/*.run -m AP --test one-sample-t --value 0.3 --alternative greater
cranfield test qrels.txt a.run b.run -m AP --test documents --per-topic
cranfield test qrels.txt runs/*.run -m AP --test unpaired-bootstrap --statistic gmean  # do runs differ in GMAP?
cranfield test --scores old.csv --scores new.csv --collections --test unpaired-t --standardise z
"""

    test: str = options.significance_test("tost", "The test: {names}.", "comparison.apply_test:TEST_NAMES")
    baseline: str | None = option("--baseline, -b RUN", "Compare all other runs with this one; default: all pairs.")
    value: float | None = option("--value X", "one-sample-t: the number to compare means with.", solves="value=")
    margin: float | None = option("--margin D", "tost: the largest difference that does not matter.", solves="margin=")
    rope: float | None = option("--rope D", "Bayesian: runs that differ by at most D count as equal; default: 0.01.")
    statistic: str | None = option(
        "--statistic NAME",
        "unpaired-bootstrap, unpaired-permutation: what to compare, {names} (geometric mean; area under the mean of "
        "the x worst topics, down to a quarter of them); default: t, means divided by their standard error.",
        names="comparison.methods.unpaired_resampling:SUMMARIES",
        group=MORE,
    )
    collections: bool = flag(
        "--collections", "Compare each run between two files of --scores; the topics may be different."
    )
    correction: str | None = option(
        "--correction NAME",
        "Correction of p-values: {names}; default: holm.",
        names="comparison.corrections:CORRECTIONS",
        group=MORE,
    )
    alpha: float = options.alpha(help="Significance level; intervals have level 1 - A (tost: 1 - 2A).")
    alternative: str = option(
        "--alternative SIDE",
        "The alternative hypothesis: {names}.",
        default="two-sided",
        names="comparison.test_result:ALTERNATIVES",
        group=MORE,
    )
    resamples: int | None = options.resamples(
        None, "Number of resamples, for tests that resample; default: 10000, documents: 1000."
    )
    seed: int = options.seed()
    per_topic: bool = options.per_topic("documents: also print the differences on each topic.")

    def check(self) -> None:
        super().check()
        self.runs, self.baseline = options.baseline_file(self.runs, self.baseline)
        from cranfield.comparison.apply_test import DOCUMENTS, SAMPLE_TESTS
        from cranfield.comparison.test_result import check_alpha

        check_alpha("", self.alpha, "--alpha")
        if self.test == DOCUMENTS:
            self._check_documents()
            return
        if self.per_topic:
            raise UsageError("--per-topic applies only to --test documents; leave it out")
        SAMPLE_TESTS.find(self.test)
        if self.collections and len(self.scores or []) != 2:
            raise UsageError("--collections compares two files of scores; give --scores FILE exactly two times")

    def _check_documents(self) -> None:
        if self.scores:
            raise UsageError("--test documents resamples documents; give judgments and runs, not --scores")
        not_used = (
            ("--value", self.value),
            ("--margin", self.margin),
            ("--rope", self.rope),
            ("--statistic", self.statistic),
        )
        rescaled = ("--standardise", self.standardise), ("--transform", self.transform)
        for name, value in (*not_used, *rescaled, ("--collections", self.collections or None)):
            if value is not None:
                raise UsageError(f"{name} does not apply to --test documents; leave it out")
        if self.alternative != "two-sided":
            raise UsageError(f"--alternative {self.alternative}: --test documents is two-sided; leave it out")
        if len(self.measures or []) > 1:
            raise UsageError(f"--test documents takes one measure, but there are {len(self.measures or [])}")

    def _documents(self) -> None:
        from cranfield.comparison.document_sampling import document_bootstrap

        (measure,) = chosen(self.measures or [options.USUAL])
        with self.progress("resampling documents") as progress:
            result = document_bootstrap(
                *self.read(),
                measure,
                baseline=self.baseline,
                correction=self.correction or "holm",
                resamples=self.resamples or 1000,
                **self.values("alpha", "seed"),
                options=self.joining(),
                progress=progress,
            )
        if self.per_topic:
            tables = [result.topic_table(), result.table()]
            self.emit(self.rendered(*(tables[:1] if self.for_programs else tables)))
        elif self.format == "json":
            self.emit(result.to_json())
        else:
            self.show(result.table())

    def run(self) -> None:
        from cranfield.comparison.apply_test import DOCUMENTS, apply_test

        if self.test == DOCUMENTS:
            self._documents()
            return
        if self.collections:
            data: Any = self.read_scores_by_file("--collections: each file of --scores is a collection")
        else:
            data = self.read_scores()
        with self.progress("testing") as progress:
            result = apply_test(
                data,
                **self.values("test", "baseline", "correction", "alpha", "alternative", "value", "margin", "rope"),
                **self.values("seed", "statistic"),
                resamples=self.resamples or 10_000,
                progress=progress,
            )
        if self.format == "json":
            self.emit(result.to_json())
        else:
            self.show(result.table())

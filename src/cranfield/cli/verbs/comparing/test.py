"""`cranfield test`: tests of one run, of two collections, of equivalence, and Bayesian comparisons."""

from __future__ import annotations

from typing import Any

from cranfield.cli import options
from cranfield.cli.declare import flag
from cranfield.cli.options.by_class import ByClass
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError


class TestVerb(ByClass, options.Rescaled, Printing, of="comparison.apply_test:apply_test"):
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

    baseline: str | None
    value: float | None
    margin: float | None
    rope: float | None
    statistic: str | None
    correction: str | None
    alternative: str
    test: str = options.significance_test("tost", "The test: {names}.", "comparison.apply_test:TEST_NAMES")
    collections: bool = flag(
        "--collections", "Compare each run between two files of --scores; the topics may be different."
    )
    resamples: int | None = options.resamples(
        None, "Number of resamples, for tests that resample; default: 10000, documents: 1000."
    )
    per_topic: bool = options.per_topic("documents: also print the differences on each topic.")

    def check(self) -> None:
        super().check()
        self.runs, self.baseline = options.baseline_file(self.runs, self.baseline)
        from cranfield.comparison.apply_test import DOCUMENTS, SAMPLE_TESTS

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
        for name in ("value", "margin", "rope", "statistic", "standardise", "transform", "collections"):
            if getattr(self, name) not in (None, False):
                raise UsageError(f"--{name} does not apply to --test documents; leave it out")
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
                **self.settings() | {"resamples": self.resamples or 10_000},
                progress=progress,
            )
        if self.format == "json":
            self.emit(result.to_json())
        else:
            self.show(result.table())

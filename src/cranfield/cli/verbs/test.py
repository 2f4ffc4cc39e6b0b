"""`cranfield test`: tests of one run, of two collections, of equivalence, and Bayesian comparisons."""

from __future__ import annotations

from typing import Any

from cranfield.cli import options
from cranfield.cli.by_class import ByClass
from cranfield.cli.declare import MORE, flag, option
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError


class TestVerb(ByClass, options.Rescaled, Printing):
    """Ask what compare does not: is a mean above a number, are runs equal in practice, do two collections differ?

    one-sample-t compares the mean of each run with --value. tost tests whether runs differ by less than --margin.
    bayesian-t and bayesian-signed-rank print how probable it is that a run scores higher, equal (within --rope) or
    lower. The other tests do not match topics: with --collections they compare each run between two files of scores.
    docs/tests.md describes the tests.
    """

    repeats_warnings = True
    summary = "one run against a number, equivalence, two collections, Bayesian"
    examples = """
cranfield test qrels.txt runs/*.run -m AP --test tost --margin 0.02
cranfield test --sample --test bayesian-t --rope 0.02  # try it on the bundled sample collection
cranfield test qrels.txt runs/*.run -m AP --test one-sample-t --value 0.3 --alternative greater
cranfield test --scores old.csv --scores new.csv --collections --test unpaired-t --standardise z
"""

    test: str = options.significance_test("tost", "The test: {names}.", "comparison.apply_test:SAMPLE_TESTS")
    baseline: str | None = option("--baseline, -b RUN", "Compare all other runs with this one; default: all pairs.")
    value: float | None = option("--value X", "one-sample-t: the number to compare means with.", solves="value=")
    margin: float | None = option("--margin D", "tost: the largest difference that does not matter.", solves="margin=")
    rope: float | None = option("--rope D", "Bayesian: runs that differ by at most D count as equal; default: 0.01.")
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
    resamples: int = options.resamples(10_000, "Number of resamples, for tests that resample.")
    seed: int = options.seed()

    def check(self) -> None:
        super().check()
        from cranfield.comparison.apply_test import find_sample_test
        from cranfield.comparison.test_result import check_alpha

        check_alpha("", self.alpha, "--alpha")
        find_sample_test(self.test)
        if self.collections and len(self.scores or []) != 2:
            raise UsageError("--collections compares two files of scores; give --scores FILE exactly two times")

    def run(self) -> None:
        from cranfield.comparison.apply_test import apply_test

        if self.collections:
            data: Any = self.read_scores_by_file("--collections: each file of --scores is a collection")
        else:
            data = self.read_scores()
        with self.progress("testing") as progress:
            result = apply_test(
                data,
                **self.values("test", "baseline", "correction", "alpha", "alternative", "value", "margin", "rope"),
                **self.values("resamples", "seed"),
                progress=progress,
            )
        if self.format == "json":
            self.emit(result.to_json())
        else:
            self.show(result.table())

"""Tests that ask what paired tests do not: one sample, unmatched samples, equivalence, Bayesian, other documents."""

from __future__ import annotations

from typing import Any

from cranfield.cli import options
from cranfield.cli.declare import MORE, declared, option
from cranfield.cli.options.by_class import ByClass
from cranfield.cli.options.option_values import chosen
from cranfield.cli.options.source_options import SeveralCollections
from cranfield.cli.printing import Plotting, Printing
from cranfield.errors import UsageError

ASIDE = ("value", "rope", "statistic")
"""Options of these tests only."""
SETTINGS = ("test", "baseline", "correction", "alpha", "alternative", "seed", "margin", *ASIDE)
"""Settings of `apply_test` that are options, beside the number of resamples."""
SHARED = (*SETTINGS, "resamples", "collections")
"""Options of these tests, beside those that say what is read and how it is printed."""


class OtherTests(ByClass, SeveralCollections, options.Rescaled, Plotting):
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

        (measure,) = chosen(self.measures or [options.USUAL])
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

"""`cranfield meta tests`: how often significance tests are right."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.by_class import ByClass
from cranfield.cli.declare import option
from cranfield.cli.printing import Printing


class TestsVerb(ByClass, options.Rescaled, Printing):
    """Test the significance tests on simulated experiments with these scores: how often is each test right?

    Type I error: how often a test finds a difference where there is none. Power: how often it finds a difference that
    is there. Agreement: how often one half of the topics confirms what is significant on the other half. All tests see
    the same experiments. docs/tests.md describes the tests.
    """

    repeats_warnings = True
    summary = "how often significance tests are right"
    examples = """
cranfield meta tests qrels.txt runs/*.run -m AP
cranfield meta tests --sample -m AP --simulations 200  # try it on the bundled sample collection
cranfield meta tests qrels.txt runs/*.run -m AP,RR --test t,sign,tukey --difference 0.02
cranfield meta tests --scores scores.csv --truth shift --topics 25
"""

    test: str | None = option(
        "--test, -t TEST,TEST,...",
        "The significance tests, or all: {names}; default: t, wilcoxon, sign, randomisation, bootstrap and "
        "bootstrap-shift.",
        names=options.TESTS,
    )
    truth: str = option(
        "--truth RULE",
        "How two runs are made equal: {names} (swap their scores at random, topic by topic, so that the null "
        "hypothesis of every test holds; or shift one to the mean of the other).",
        default="swap",
        names="meta.stability.accuracy_of_tests:TRUTHS",
    )
    difference: float = option("--difference, -d D", "The true difference, for the power.", default=0.05)
    topics: int | None = option("--topics, -n N", "The topics in an experiment; default: as many as there are.")
    alpha: float = options.alpha()
    simulations: int = option("--simulations N", "The number of experiments.", default=1_000)
    resamples: int = options.resamples(1_000, "Number of resamples, for tests that resample.")
    seed: int = options.seed()
    threads: int | None = options.threads()

    def check(self) -> None:
        super().check()
        from cranfield.comparison.registry import find_test
        from cranfield.comparison.test_result import check_alpha
        from cranfield.meta.stability.accuracy_of_tests import USUAL_TESTS

        check_alpha("", self.alpha, "--alpha")
        given = USUAL_TESTS if self.test is None else self.test.split(",")
        self.names = [name.strip() for name in given if name.strip()]
        for name in self.names if self.names != ["all"] else []:
            find_test(name)

    def run(self) -> None:
        from cranfield.meta.stability.accuracy_of_tests import accuracy_of_tests

        scores = self.read_scores(threads=self.threads)
        with self.progress("simulating") as progress:
            result = accuracy_of_tests(
                scores,
                tests=self.names,
                **self.values("truth", "difference", "topics", "alpha", "simulations", "resamples", "seed", "threads"),
                progress=progress,
            )
        self.show(result.table())

"""`cranfield meta tests`: how often significance tests are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import RESULT, option
from cranfield.cli.options.chosen_runs import TopRuns
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError
from cranfield.notes import method_note

if TYPE_CHECKING:
    from cranfield.meta.stability.accuracy_of_tests import TestAccuracy
    from cranfield.record import Columns


OPERATIONS = "meta.stability.accuracy_of_tests:accuracy_of_tests meta.stability.anova_square:anova_square"


class TestsVerb(TopRuns, options.Rescaled, Printing, of=OPERATIONS):
    """Test the significance tests on simulated experiments with these scores: how often is each right?

    Type I error: how often a test finds a difference where there is none. Power: how often it finds a difference that
    is there. Agreement: how often one half of the topics confirms what is significant on the other half. All tests see
    the same experiments. docs/tests.md describes the tests.
    """

    repeats_warnings = True
    summary = "how often significance tests are right"
    examples = """
cranfield meta tests --sample -m AP --simulations 200  # try it on the bundled sample collection
cranfield meta tests qrels.txt runs/*.run -m AP,RR --test t,sign,tukey --difference 0.02
cranfield meta tests qrels.txt runs/*.run -m AP --show square  # Tukey or bootstrap, family-wise or false discovery
cranfield meta tests --scores scores.csv --truth shift --size 25
cranfield meta tests qrels.txt runs/*.run -m AP,nDCG@10 --size 10,25,50 --show best  # which test for which size?
"""

    tests: str | None = option(
        "--test, -t TEST,TEST,...",
        "The significance tests, or all: {names}; default: t, wilcoxon, sign, randomisation, bootstrap and "
        "bootstrap-shift.",
        names=options.TESTS,
    )
    sizes: str | None = option(
        "--size, -n N,N,...", "The number of topics of an experiment; default: as many as there are."
    )
    what: str = option(
        "--show WHAT",
        "{names}: all rates; the most powerful test that keeps its type I error; how often two tests agree; or the "
        "pairs that four analyses of variance find, and how stable they are.",
        default="rates",
        choices=("rates", "best", "agreement", "square"),
        group=RESULT,
    )
    threads: int | None
    not_options = ("size",)

    def check(self) -> None:
        super().check()
        from cranfield.comparison.pair_tests import TESTS
        from cranfield.meta.stability.accuracy_of_tests import USUAL_TESTS

        given = USUAL_TESTS if self.tests is None else self.tests.split(",")
        self.names = [name.strip() for name in given if name.strip()]
        for name in self.names if self.names != ["all"] else []:
            TESTS.find(name)

        if self.what == "square" and (self.tests is not None or self.sizes is not None):
            raise UsageError("--show square has tests and sizes of its own; leave out --test and --size")
        self.counts: list[int | None] = []
        self.counts += options.whole_numbers("--size", self.sizes) or [None]

    def run(self) -> None:
        from cranfield.meta.stability.accuracy_of_tests import TestAccuracy, accuracy_of_tests
        from cranfield.record import table_of

        scores = self.read_scores(threads=self.threads)
        if self.what == "square":
            from cranfield.meta.stability.anova_square import anova_square

            with self.progress("halving topics") as progress:
                self.show(anova_square(scores, **self.settings("anova_square"), progress=progress).table())
            return
        settings = {**self.settings(), "tests": self.names}
        with self.progress("simulating") as progress:
            results = [
                accuracy_of_tests(scores, **{**settings, "size": size}, progress=progress) for size in self.counts
            ]
        if self.what == "rates" and len(results) == 1:
            self.show(results[0].table())
            return
        columns = {"rates": TestAccuracy.columns, "best": TestAccuracy.best, "agreement": TestAccuracy.agreements}
        parts = [with_topics(columns[self.what](result), result.topics) for result in results]
        self.show(table_of(one_below_the_other(parts), notes=self._notes(results)))

    def _notes(self, results: list[TestAccuracy]) -> tuple[str, ...]:
        first = results[0]
        notes = list(dict.fromkeys(note for result in results for note in result.notes))
        if self.what == "best":
            limit = f"{first.highest_type_1:.4f}, two standard errors above α"
            notes.append(f"best test: the most powerful one with a type I error of at most {limit}")
        if self.what == "agreement":
            notes = [notes[0], *first.selection_notes]
            notes.append(
                method_note(
                    f"agreement: the share of pairs on which two tests decide alike, on {first.half} random topics"
                )
            )
        return tuple(notes)


def with_topics(columns: Columns, topics: int) -> Columns:
    """The columns with the number of topics after the measure."""
    import numpy as np

    measure = columns["measure"]
    return {"measure": measure, "topics": np.full(len(measure), topics), **columns}


def one_below_the_other(parts: list[Columns]) -> Columns:
    """Columns of the same names as one, sorted by measure."""
    import numpy as np

    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    place = {name: number for number, name in enumerate(dict.fromkeys(columns["measure"].tolist()))}
    order = np.argsort([place[name] for name in columns["measure"].tolist()], kind="stable")
    return {name: column[order] for name, column in columns.items()}

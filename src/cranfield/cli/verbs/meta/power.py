"""`cranfield meta power`: how many pairs of systems each measure distinguishes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import MORE, MOST_RESAMPLES, flag, option
from cranfield.cli.options.chosen_runs import Compared
from cranfield.cli.options.option_values import chosen
from cranfield.cli.options.recurring import TESTS
from cranfield.cli.options.source_options import SeveralCollections
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.meta.stability.discrimination import DiscriminativePower
    from cranfield.meta.stability.power_side_by_side import PowerSideBySide
    from cranfield.scores.scores import Scores
    from cranfield.table import Table


class PowerVerb(Compared, SeveralCollections, Plotting, of="meta.stability.discrimination:discriminative_power"):
    """Show the discriminative power: the share of pairs of runs that a measure finds significantly different.

    Also shown is the difference between two means that a significant result needs. A measure of high discriminative
    power is consistent over topics, but that does not make it the right one. --plot draws the p-values in ascending
    order (ASL curves): the closer to the origin, the more a measure discriminates. docs/tests.md describes the tests.

    Several collections, several tests or numbers of resamples, several probabilities of intents, or the classes of --by
    with --one-table are shown side by side, in one table and one figure. Kendall's W below the table says how alike
    they order the measures; --show agreement counts the pairs that only one of two finds.
    """

    repeats_warnings = True
    not_options = ("resamples",)
    summary = "how many pairs of systems a measure distinguishes"
    examples = """
cranfield meta power qrels.txt runs/*.run -m AP,Q
cranfield meta power --sample -m AP,nDCG,RR  # try it on the bundled sample collection
cranfield meta power qrels.txt runs/*.run -m AP,Q,P+,NWRR,RR --plot asl.pdf
cranfield meta power qrels.txt runs/*.run -m AP,Q,RR --test randomised-tukey --show overlap -f latex
cranfield meta power --scores scores.csv --test wilcoxon --show pairs -f csv -o pairs.csv
cranfield meta power qrels.txt runs/*.run -m AP,Q --statistic gmean  # by the geometric mean
cranfield meta power --sample -m AP -t bootstrap,randomised-tukey -B 100,1000 --show agreement
cranfield meta power --collection news=n.qrels:news/ --collection web=w.qrels:web/ -m AP,Q,RR --plot power.svg
cranfield meta power qrels.txt runs/*.run -m D#-nDCG@10,P+Q#@10 --intent-probabilities uniform,nonuniform
cranfield meta power qrels.txt runs/*.run -m D#-nDCG@10,P+Q#@10 --by types.txt --one-table  # faceted and ambiguous
"""

    test: str | None = option(
        "--test, -t TEST,...",
        "The significance test, or several: {names}; default: bootstrap, or unpaired-bootstrap with --statistic.",
        names=TESTS,
    )
    draws: str | None = option(
        "--resamples, -B N,...",
        "Number of resamples, or several numbers, for tests that resample; default: 1000, and 5000 for "
        "randomised-tukey.",
    )
    one_table: bool = flag(
        "--one-table", "With --by: show the classes side by side, in one table and one figure.", group=MORE
    )
    statistic: str
    seed: int
    threads: int | None
    what: str = options.show(
        "power",
        "overlap",
        "asl",
        "pairs",
        "agreement",
        help="{names}: a row per measure, pairs that measures have in common, p-values in ascending order, a row "
        "per measure and pair, or the pairs that several tests have in common.",
    )
    zoom: float | None = option(
        "--zoom P",
        "--plot: show p-values up to P only, such as 0.15, where curves near alpha are easier to tell apart.",
        group=MORE,
    )

    def check(self) -> None:
        super().check()
        from cranfield.comparison.pair_tests import TESTS as TESTS_OF_PAIRS
        from cranfield.comparison.test_result import check_alpha

        if self.zoom is not None:
            check_alpha("", self.zoom, "--zoom")
            if self.plot is None:
                raise UsageError(f"--zoom {self.zoom:g} is for the figure; add --plot FILE")
        for test in self._tests():
            if self.statistic == "mean":
                TESTS_OF_PAIRS.find(test)
        if self.other_gains is not None and self.several:
            raise UsageError("--gains is for one collection; name measures with their gains: -m 'Q(gain={1:1,2:5})'")
        if self.one_table and self.by is None:
            raise UsageError("--one-table shows the classes of --by side by side; add --by FILE")
        ways = [name for name, several in self._several().items() if several]
        if len(ways) > 1:
            raise UsageError(f"{' and '.join(ways)} do not go together: only one of them can be side by side")
        if self.what == "agreement" and not ways:
            raise UsageError("--show agreement compares tests; give several with -t, or several numbers with -B")
        if self.what == "overlap" and ways:
            raise UsageError(f"--show overlap is for one result, but {ways[0]} makes several; use --show agreement")
        if len(self._tests()) > 1 and self.statistic != "mean":
            raise UsageError(f"--statistic {self.statistic} has one test; leave out -t")

    def _tests(self) -> list[str]:
        return [word for word in (self.test or "").split(",") if word]

    def _resamples(self) -> list[int]:
        words = [word for word in (self.draws or "").split(",") if word]
        if not all(word.isdecimal() and 1 <= int(word) <= MOST_RESAMPLES for word in words):
            raise UsageError(f"--resamples == {self.draws}, must be whole numbers from 1 to {MOST_RESAMPLES:,}")
        return [int(word) for word in words]

    def _probabilities(self) -> list[str]:
        """Several probabilities of intents: `uniform,nonuniform`, or files."""
        given = self.intent_probabilities or ""
        return given.split(",") if "," in given and not os.path.exists(given) else []

    def _several(self) -> dict[str, bool]:
        """The options that ask for results side by side."""
        return {
            "several tests or numbers of resamples": len(self._tests()) > 1 or len(self._resamples()) > 1,
            "several collections": self.several,
            "--intent-probabilities": bool(self._probabilities()),
            "--one-table": self.one_table,
        }

    def perform(self) -> int | None:
        if self.one_table:
            self.classes, self.by = self.by or "", None  # they are split below, and not one after the other
        return super().perform()

    def run(self) -> None:
        result = self._side_by_side() if any(self._several().values()) else self._power(self._read())
        self.show(self._table(result))
        self.save_plot(result, zoom=self.zoom)

    def _read(self) -> Scores:
        return self.read_scores(threads=self.threads)

    def _power(self, scores: Scores) -> DiscriminativePower:
        from cranfield.meta.stability.discrimination import discriminative_power

        settings = self.settings() | {"resamples": next(iter(self._resamples()), None)}
        with self.progress("resampling") as progress:
            return discriminative_power(scores, **settings, progress=progress)

    def _side_by_side(self) -> PowerSideBySide:
        from cranfield.meta.stability.power_side_by_side import power_by_test, power_side_by_side

        if self.several:
            parts, kind = self._by_collection(), "collection"
        elif self._probabilities():
            parts, kind = self._by_probabilities(), "probabilities"
        elif self.one_table:
            from cranfield.scores.topic_classes import TopicClasses

            parts, kind = self._read().by_class(TopicClasses.of(self.classes)), "class"
        else:
            settings = {name: value for name, value in self.settings().items() if name in ("alpha", "seed", "asl")}
            with self.progress("resampling") as progress:
                return power_by_test(
                    self._read(), tests=self._tests() or ["bootstrap"], resamples=self._resamples() or None,
                    threads=self.threads, progress=progress, **settings,
                )  # fmt: skip
        return power_side_by_side({name: self._power(scores) for name, scores in parts.items()}, kind, self.seed)

    def _by_collection(self) -> dict[str, Scores]:
        """The scores on each collection, with `--top` those of its best runs."""
        from cranfield.scores.best_runs import best_runs

        measures = self.usual_as(chosen(self.measures or [options.USUAL]))
        by = chosen([self.top_by])[0]
        wanted = measures if self.top is None else list(dict.fromkeys([*measures, by]))
        parts = self.read_collections(wanted, missing=self.missing, threads=self.threads).parts
        if self.top is None:
            return dict(parts)
        best = {name: best_runs(scores, self.top, str(by)) for name, scores in parts.items()}
        return {name: scores.select(measures=measures, runs=best[name]) for name, scores in parts.items()}

    def _by_probabilities(self) -> dict[str, Scores]:
        """The scores with each of the probabilities of intents."""
        parts, given = {}, self.intent_probabilities
        for name in self._probabilities():
            self.intent_probabilities = name
            parts[name] = self._read()
        self.intent_probabilities = given
        return parts

    def _table(self, result: DiscriminativePower | PowerSideBySide) -> Table:
        if self.what == "power":
            return result.data() if self.for_programs else result.table(self.digits)
        if self.what == "asl":
            return result.asl_table()
        if self.what == "pairs":
            return result.pair_table()
        from cranfield.meta.stability.power_side_by_side import PowerSideBySide

        if isinstance(result, PowerSideBySide):
            return result.agreement_data()
        if len(result.measures) < 2:
            raise UsageError("--show overlap compares measures; give two or more with -m")
        return result.overlap_data() if self.for_programs else result.overlap()

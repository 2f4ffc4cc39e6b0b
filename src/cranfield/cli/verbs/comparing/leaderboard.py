"""`cranfield leaderboard`: the runs of many teams, ranked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import RESULT, option
from cranfield.cli.options.by_class import ByClass
from cranfield.cli.printing import Printing, format_option
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.evaluation.same_rankings import SameRankings
    from cranfield.scores.scores import Scores


class LeaderboardVerb(ByClass, options.Source, Printing, of="comparison.leaderboard:leaderboard_of"):
    """Rank runs by the first measure, with intervals, groups of runs that do not differ, and teams.

    Runs with equal means share a rank, which is marked by =. The interval of a mean is within the range of the
    measure; those of ranks (ranks) hold for all runs together, by the max-t test. Runs with a letter in common (groups)
    do not differ significantly; if there are too many groups, above and below count the runs that are significantly
    worse and better.
    Runs with the same documents in the same order are named: the same run under two names. The other measures are
    further columns.

    The format html is a page in one file that sorts and filters; it makes no request. An output file that ends in .html
    has this format.
    """

    repeats_warnings = True
    summary = "rank the runs of many teams, with intervals and groups"
    examples = """
cranfield leaderboard qrels.txt runs/*.run -m nDCG@10 -m AP
cranfield leaderboard --sample  # try it on the bundled sample collection
cranfield leaderboard qrels.txt runs/*.run -m nDCG@10,AP --teams teams.csv -o board.html
cranfield leaderboard qrels.txt runs/*.run -m AP --test max-t --format markdown
cranfield leaderboard --scores scores.csv --format csv
cranfield leaderboard qrels.txt runs/*.run -m AP --by classes.csv  # a table for each class of topics
"""

    teams: str | None = option("--teams FILE", "The teams: lines of run or file, team.", reads=True)
    test: str
    correction: str | None
    title: str = option("--title TEXT", "The heading of the page.", default="Leaderboard", group=RESULT)
    format: str = format_option(help="{names} (a page that sorts and filters).")

    def check(self) -> None:
        super().check()
        from cranfield.comparison.compare import default_correction
        from cranfield.comparison.pair_tests import TESTS

        default_correction(self.correction, TESTS.find(self.test))
        if self.by is not None and self.format == "html":
            raise UsageError("--by prints a table for each class; the page has one: choose another --format")

    def run(self) -> None:
        import warnings

        from cranfield.comparison.leaderboard import leaderboard_of
        from cranfield.errors import SameRunWarning

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SameRunWarning)  # the leaderboard names these runs
            scores = self.read_scores()
        files = self._files(scores)
        same = self._same(scores, files)
        board = leaderboard_of(scores, teams=self.teams, files=files, same=same, **self.settings())
        if self.format == "html":
            from cranfield.report.pages.leaderboard_page import leaderboard_page

            self.emit(leaderboard_page(board, self.title, self.digits))
        else:
            self.show_record(board)

    def _files(self, scores: Scores) -> dict[str, str]:
        """{run: file}; empty if a file holds several runs."""
        from cranfield.collection.source import named_paths

        paths = [] if self.scores else [path for _, path in named_paths(self.files()[1])]
        return dict(zip(scores.runs, paths, strict=True)) if len(paths) == len(scores.runs) else {}

    def _same(self, scores: Scores, files: dict[str, str]) -> SameRankings:
        """The runs that are the same; only those with equal scores are read again."""
        from cranfield.collection.source import expand
        from cranfield.evaluation.same_rankings import same_rankings

        runs: dict[str, object] = {**files}
        if not files and not self.scores and "-" not in (paths := expand(self.files()[1])):
            runs = {**self.read_runs(paths)}
        reading = {"format": self.run_format, "on_duplicate": self.on_duplicate}
        return same_rankings(scores, runs, self.order, self.ties, **reading)

"""`cranfield answers verticals`: pages of blocks from several verticals."""

from __future__ import annotations

from cranfield.cli.declare import argument, option
from cranfield.cli.options import QRELS, Graded
from cranfield.cli.options.text_options import measures
from cranfield.cli.score_printing import ScorePrinting, chosen_names
from cranfield.errors import UsageError


class VerticalsVerb(Graded, ScorePrinting, of="answers.verticals:page_scores"):
    """Score pages of aggregated search: blocks of web pages, news, images and others, one below the other.

    A block is worth the mean relevance of its documents times the orientation of its vertical: the share of users who
    want results of this kind for this topic. Pages have the columns topic, block (a number from 1), vertical and doc;
    the orientation has topic, vertical and orientation (from 0 to 1).
    """

    repeats_warnings = True
    summary = "score pages of blocks from several verticals"
    examples = """
cranfield answers verticals qrels.txt mine.tsv other.tsv --orientation orientation.tsv
cranfield answers verticals qrels.txt mine.tsv --orientation orientation.tsv -m page-nDCG --wanted 0.75 -q
"""

    qrels: str = argument("QRELS", QRELS, required=True, reads=True)
    pages: list[str] = argument("PAGES", "Pages of a system: topic, block, vertical, doc.", required=True, reads=True)
    orientation: str | None = option("--orientation FILE", "topic, vertical, orientation (from 0 to 1).", reads=True)
    measures: list[str] | None = measures("answers.verticals:MEASURES")

    def check(self) -> None:
        super().check()
        if self.orientation is None:
            raise UsageError("no vertical orientation; give it: --orientation FILE")

    def run(self) -> None:
        from cranfield.answers.verticals import MEASURES, page_scores, read_orientation, read_pages
        from cranfield.collection.qrels import Qrels

        names = chosen_names(self.measures, MEASURES, MEASURES)
        orientation = read_orientation(self.orientation or "")
        self.show_scores(
            page_scores(read_pages(self.pages), Qrels.read(self.qrels), orientation, names, **self.settings())
        )

"""Online measures of documents: clicks per impression, time on a document, clicks over expected clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield import check
from cranfield.online.log_measures.expressions import col, where
from cranfield.online.log_measures.log_signals import CLICKS, DWELL, DWELLS, Signal, satisfied
from cranfield.online.log_measures.online_measure import NO_DWELL, Evidence, OnlineMeasure, online_measure
from cranfield.online.log_measures.shown_documents import CLICKS_ON_SHOWN

if TYPE_CHECKING:
    import narwhals as nw


@online_measure
class CTR(OnlineMeasure):
    r"""Clicks per document shown (click-through rate).

    .. math:: \frac{\text{clicks}}{\text{impressions}}

    An impression is a document on the result page of a query. Every click counts, also a second one on the same
    document. Documents at the top get most clicks whatever they are; `COEC` corrects this.
    Reference: Ferro & Maistro 2024, §6.5
    """

    name = "CTR"
    level = "document"
    unit = "clicks per impression"
    better = "higher"
    needs = frozenset({"shown"})

    def signals(self) -> tuple[Signal, ...]:
        return (CLICKS,)

    def numerator(self) -> nw.Expr:
        return where(col("shown") > 0, col(CLICKS.name))

    def denominator(self) -> nw.Expr:
        return col("shown")


@online_measure
class Dwell(OnlineMeasure):
    r"""Mean time that a user stays with a clicked document.

    .. math:: \frac{\text{seconds on clicked documents}}{\text{clicks whose dwell time is known}}

    Reference: Ferro & Maistro 2024, §6.5
    """

    name = "dwell"
    level = "document"
    unit = "seconds per click"

    def signals(self) -> tuple[Signal, ...]:
        return DWELL, DWELLS

    def evidence(self) -> tuple[Evidence, ...]:
        return (NO_DWELL,)

    def numerator(self) -> nw.Expr:
        return col(DWELL.name)

    def denominator(self) -> nw.Expr:
        return col(DWELLS.name)


@online_measure
class SatisfiedClicks(OnlineMeasure):
    r"""Share of clicks after which the user stayed with the document for `seconds` or longer.

    .. math:: \frac{\text{clicks with a dwell time of at least } s \text{ seconds}}
        {\text{clicks whose dwell time is known}}

    Reference: Ferro & Maistro 2024, §6.5, where 30 seconds are the usual threshold
    """

    name = "satisfied-clicks"
    level = "document"
    unit = "share of clicks"
    better = "higher"

    seconds: float = 30

    def __post_init__(self) -> None:
        check.not_negative(self.name, seconds=self.seconds)

    def signals(self) -> tuple[Signal, ...]:
        return satisfied(self.seconds), DWELLS

    def evidence(self) -> tuple[Evidence, ...]:
        return (NO_DWELL,)

    def numerator(self) -> nw.Expr:
        return col(satisfied(self.seconds).name)

    def denominator(self) -> nw.Expr:
        return col(DWELLS.name)


@online_measure
class COEC(OnlineMeasure):
    r"""Clicks over expected clicks: 1 is the average of the log, whatever the ranks at which documents are shown.

    .. math:: \frac{\text{clicks}}{\sum_{\text{impressions}} \text{CTR}(r)}

    CTR(r) is the rate of clicks at rank r in the whole log. Every impression adds the rate of the rank at which it was
    shown. Over the whole log the measure is 1; compare days, arms, segments or documents with it. Clicks count, above
    and below the line, if their query is in the log and their document is on its list; the rank is that of the list.
    A click without a document counts for the one at its position.
    Reference: Zhang & Jones, Comparing Click Logs and Editorial Labels for Training Query Rewriting, WWW 2007 workshop
    """

    name = "COEC"
    level = "document"
    unit = "clicks per expected click"
    better = "higher"
    needs = frozenset({"shown", "expected"})

    def numerator(self) -> nw.Expr:
        return col(CLICKS_ON_SHOWN)

    def denominator(self) -> nw.Expr:
        return col("expected")

    def note(self) -> str:
        return "COEC: the rates of clicks by rank are those of the whole log; its interval takes them as known"

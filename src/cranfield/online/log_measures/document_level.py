"""Online measures of documents: clicks per impression, time on a document, clicks over expected clicks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cranfield import check
from cranfield.notes import method_note
from cranfield.online.expressions import col, indicator, nw, where
from cranfield.online.log_measures.log_signals import CLICKS, DWELL, DWELLS, Signal, satisfied
from cranfield.online.log_measures.online_measure import NO_DWELL, OnlineMeasure, online_measure
from cranfield.online.logs.log import Log
from cranfield.text import counted

CLICKS_ON_SHOWN = "clicks on shown"


def clicks_on_shown(log: Log) -> Any:
    """The clicks on documents that were shown: `query_id`, and the `position` and `doc` in the list of the query.

    The document of a click tells where it was shown; a click without a document is on the one at its position. Clicks
    of queries that are not in the log, of other users than the query, and on other documents are left out.
    """
    asked = log.queries.select("query_id", col("user").alias("asker"))
    clicks = log.events.filter(col("action") == "click", ~col("query_id").is_null())
    clicks = clicks.join(asked, on="query_id", how="inner")
    own = (col("user") == col("asker")) | (col("user").is_null() & col("asker").is_null())
    clicks = clicks.filter(own).select("query_id", "doc", "position")
    places = log.shown.group_by("query_id", "doc").agg(col("position").min().alias("position"))
    named = clicks.filter(~col("doc").is_null()).select("query_id", "doc")
    named = named.join(places, on=["query_id", "doc"], how="inner").select("query_id", "position", "doc")
    docs = log.shown.group_by("query_id", "position").agg(col("doc").min().alias("doc"))
    placed = clicks.filter(col("doc").is_null()).select("query_id", "position")
    placed = placed.join(docs, on=["query_id", "position"], how="inner").select("query_id", "position", "doc")
    return log.engine.keep(nw.concat([named, placed], how="vertical"))


def not_on_shown(log: Log, clicks: Any) -> list[str]:
    """A note on the clicks of a log that are not among its clicks on documents that were shown, if there are any."""
    every = log.events.filter(col("action") == "click")
    counts = [log.engine.count(frame) for frame in (every, clicks)]
    if counts[0] == counts[1]:
        return []
    many = counted(counts[0] - counts[1], "click")
    return [f"{many} on documents that the list of their query does not have, or without a query, do not count in COEC"]


def rank_rates(log: Log, clicks: Any) -> Any:
    """The rate of clicks at each rank: clicks on documents that were shown there, divided by documents shown there."""
    shown = log.shown.group_by("position").agg(nw.len().alias("impressions"))
    clicked = clicks.group_by("position").agg(nw.len().alias("clicks"))
    rates = shown.join(clicked, on="position", how="left")
    return log.engine.keep(rates.select("position", rate=col("clicks").fill_null(0) / col("impressions")))


def add_shown(queries: Any, log: Log, cutoffs: Sequence[int] = (), *, clicks: Any = None) -> Any:
    """Queries with the number of documents `shown`, and of those down to each cutoff.

    clicks: the clicks on documents that were shown; then queries also have the number of these, `clicks on shown`, and
        the `expected` clicks. Over the whole log, both have the same sum.
    """
    shown = log.shown
    sums = [nw.len().alias("shown")]
    sums += [indicator(col("position") <= k).sum().alias(f"shown @{k}") for k in cutoffs]
    if clicks is not None:
        counts = clicks.group_by("query_id").agg(nw.len().alias(CLICKS_ON_SHOWN))
        queries = queries.join(counts, on="query_id", how="left")
        queries = queries.with_columns(col(CLICKS_ON_SHOWN).fill_null(0))
        shown = shown.join(rank_rates(log, clicks), on="position", how="left")
        sums.append(col("rate").sum().alias("expected"))
    names = ["shown", *(f"shown @{k}" for k in cutoffs), *(["expected"] if clicks is not None else [])]
    rows = queries.join(shown.group_by("query_id").agg(*sums), on="query_id", how="left")
    return rows.with_columns(*(col(name).fill_null(0) for name in names))


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
    counts = (CLICKS,)

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
    counts = (DWELL, DWELLS)
    requires = (NO_DWELL,)

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
    requires = (NO_DWELL,)

    seconds: float = 30

    def __post_init__(self) -> None:
        check.not_negative(self.name, seconds=self.seconds)

    def signals(self) -> tuple[Signal, ...]:
        return satisfied(self.seconds), DWELLS

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
        return method_note(
            "COEC: the rates of clicks by rank are those of the whole log; its interval takes them as known"
        )

"""TBG's and U's parameters: how long readers take for snippets and documents, and how long they go on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield.errors import DataError
from cranfield.frames import need
from cranfield.measures.readers.time import TBG, U
from cranfield.notes import caution_note, method_note
from cranfield.online.calibration.calibrated import Calibrated, Estimated, ratio_of_sums, rounded
from cranfield.online.calibration.reader_moves import ViewedLists
from cranfield.online.expressions import nw
from cranfield.online.logs.log import CLICK
from cranfield.online.moments import Moments, moments
from cranfield.text import counted

MICRO = 1e6
SATISFIED = 30.0
"""Seconds on a document from which a click counts as satisfied (Ferro & Maistro 2024 §6.5)."""
SPEED = 20.0
"""Characters that a reader reads in a second, by default: 200 words of 6 characters in a minute."""


def calibrate_TBG(
    viewed: ViewedLists, level: float, rel: float = 1.0, words: Mapping[str, float] | None = None
) -> Calibrated:
    r"""TBG's times, click probabilities and half-life.

    `click_rel` and `click_non` are clicks divided by documents seen, relevant or not. `save_rel` is the share of clicks
    on relevant documents that last 30 seconds or more. The times are those of all clicks, also on documents without a
    judgment. `summary` is the time to the first click divided by its rank, Σ t / Σ r. With the `words` of documents,
    `per_word` and `overhead` are the line of dwell times against words (least squares); without, `per_word` is 0 and
    `overhead` the mean dwell time. `h` is ln 2 times the mean time that readers stay with a list (to the end of the
    last click's dwell time), as if that were exponential.
    """
    clicks = _clicks(viewed)
    relevant = nw.col("grade") >= rel
    docs = viewed.documents.select(
        "user",
        nw.when(relevant).then(nw.col("clicked")).otherwise(0.0).alias("clicks_rel"),
        nw.when(relevant).then(1.0).otherwise(0.0).alias("seen_rel"),
        nw.when(relevant).then(0.0).otherwise(nw.col("clicked")).alias("clicks_non"),
        nw.when(relevant).then(0.0).otherwise(1.0).alias("seen_non"),
    )
    seen = _per_user(docs, ["clicks_rel", "seen_rel", "clicks_non", "seen_non"])
    timed = clicks.filter(~nw.col("dwell").is_null())
    saved = timed.select(
        "user",
        nw.when(relevant & (nw.col("dwell") >= SATISFIED)).then(1.0).otherwise(0.0).alias("saved"),
        nw.when(relevant).then(1.0).otherwise(0.0).alias("opened"),
        "dwell",
        nw.lit(1.0).alias("one"),
    )
    _need_dwell(viewed, clicks)
    dwell = _per_user(saved, ["saved", "opened", "dwell", "one"])
    times = _list_times(viewed, clicks)
    estimates = [
        ratio_of_sums(times, "h", "", "stay", "lists", level, times=math.log(2)),
        ratio_of_sums(seen, "click_rel", "", "clicks_rel", "seen_rel", level, most=1.0),
        ratio_of_sums(dwell, "save_rel", "", "saved", "opened", level, most=1.0),
        ratio_of_sums(seen, "click_non", "", "clicks_non", "seen_non", level, most=1.0),
        ratio_of_sums(times, "summary", "", "first", "first_rank", level),
    ]
    notes = list(viewed.notes)
    if words is None:
        estimates.append(ratio_of_sums(dwell, "overhead", "", "dwell", "one", level))
        notes.append("without the lengths of documents, the time for a document does not depend on its length")
        per_word = 0.0
    else:
        line, lost = _line(viewed, timed, words, level)
        estimates += line
        per_word = max(line[0].value, 0.0)
        if lost:
            notes.append(
                caution_note(
                    f"{counted(lost, 'click')} on documents without a length left out of per_word and overhead"
                )
            )
    values: dict[str, Any] = {
        estimate.parameter: rounded(estimate.value) for estimate in estimates if not math.isnan(estimate.value)
    }
    values["per_word"] = rounded(per_word)
    values["overhead"] = max(values.get("overhead", 0.0), 0.0)
    return Calibrated(TBG(**values, rel=rel), tuple(estimates), level, tuple(notes))


def calibrate_U(
    viewed: ViewedLists, level: float, characters: Mapping[str, float] | None = None, speed: float = SPEED
) -> Calibrated:
    r"""U's L, from how much text readers get through, and F, the fraction of a document that they read.

    The text that a reader gets through is a snippet of 200 characters for each document down to the last click, and
    `speed` characters for each second on a clicked document. U's linear decay is right for a reader whose last offset
    is uniform between 0 and L; its mean is L/2, so L is twice the mean. With the lengths of documents in characters, F
    is the text read in clicked documents divided by their length.
    """
    clicks = _clicks(viewed)
    _need_dwell(viewed, clicks)
    snippet = float(U().snippet)
    read = clicks.group_by("query_id").agg(nw.col("dwell").fill_null(0.0).sum().alias("_dwell"))
    lists = (
        viewed.documents.group_by("query_id", "user")
        .agg(nw.col("last").max())
        .join(read, on="query_id", how="left")
        .select(
            "user",
            (nw.col("last") * snippet + nw.col("_dwell").fill_null(0.0) * speed).alias("text"),
            nw.lit(1.0).alias("lists"),
        )
    )
    sums = _per_user(lists, ["text", "lists"])
    estimates = [ratio_of_sums(sums, "L", "", "text", "lists", level, times=2.0)]
    notes = [*viewed.notes, method_note(f"{speed:g} characters are read in a second, and {snippet:g} for a snippet")]
    settings: dict[str, Any] = {"L": rounded(estimates[0].value)}
    if characters is not None:
        lengths = _lengths(viewed, characters)
        opened = clicks.filter(~nw.col("dwell").is_null()).join(lengths, on="doc", how="inner")
        parts = opened.select("user", (nw.col("dwell") * speed).alias("read"), nw.col("doc_length").alias("size"))
        F = ratio_of_sums(_per_user(parts, ["read", "size"]), "F", "", "read", "size", level)
        estimates.append(F)
        settings["F"] = min(rounded(F.value), 1.0)
        if F.value > 1:
            notes.append(
                caution_note(
                    f"F is estimated as {F.value:.3g}, above 1: readers are slower than {speed:g} characters a second"
                )
            )
    return Calibrated(U(**settings), tuple(estimates), level, tuple(notes))


def _clicks(viewed: ViewedLists) -> Any:
    """The first click on each document that was seen, judged or not: when, how long, and the document's grade."""
    events = (
        viewed.log.events.filter((nw.col("action") == CLICK) & ~nw.col("doc").is_null())
        .group_by("query_id", "doc")
        .agg(nw.col("time").min(), nw.col("dwell").max())
    )
    return viewed.log.engine.keep(
        viewed.seen.filter(nw.col("clicked") > 0)
        .join(events, on=["query_id", "doc"], how="inner")
        .with_columns(nw.col("dwell").cast(nw.Float64))
    )


def _list_times(viewed: ViewedLists, clicks: Any) -> Moments:
    """For each user: seconds with a list, seconds to the first click and the sum of its rank, and the lists."""
    asked = viewed.log.queries.select("query_id", nw.col("time").alias("asked"))
    timed = clicks.join(asked, on="query_id", how="inner").with_columns(
        ((nw.col("time") - nw.col("asked")) / MICRO).alias("after")
    )
    timed = timed.filter(nw.col("after") >= 0)
    firsts = timed.group_by("query_id").agg(nw.col("after").min().alias("_first"))
    first_rank = (
        timed.join(firsts, on="query_id", how="inner")
        .filter(nw.col("after") == nw.col("_first"))
        .group_by("query_id")
        .agg(nw.col("position").min().alias("_rank"))
    )
    lists = (
        timed.with_columns((nw.col("after") + nw.col("dwell").fill_null(0.0)).alias("_until"))
        .group_by("query_id", "user")
        .agg(nw.col("_until").max().alias("stay"), nw.col("after").min().alias("first"))
        .join(first_rank, on="query_id", how="inner")
        .select(
            "user", "stay", "first", nw.col("_rank").cast(nw.Float64).alias("first_rank"), nw.lit(1.0).alias("lists")
        )
    )
    return _per_user(lists, ["stay", "first", "first_rank", "lists"])


def _line(viewed: ViewedLists, timed: Any, words: Mapping[str, float], level: float) -> tuple[list[Estimated], int]:
    """The least-squares line of dwell times against the words of documents, and the clicks without a length."""
    from scipy.special import stdtrit

    every = viewed.log.engine.count(timed)
    known = timed.join(_lengths(viewed, words), on="doc", how="inner")
    known = known.select("dwell", nw.col("doc_length").alias("words"))
    table = moments(known, ["words", "dwell"])
    n = int(table.n[0]) if len(table.n) else 0
    if n < 3 or not table.cov[0, 0, 0] > 0:
        raise DataError(
            viewed.log.origin or "log", None,
            f"{counted(n, 'click')} on documents with lengths, or all equally long: too little for seconds per word",
        )  # fmt: skip
    (x, y), cov = table.mean[0], table.cov[0]
    slope = cov[0, 1] / cov[0, 0]
    residual = max((cov[1, 1] - slope * cov[0, 1]) * (n - 1) / (n - 2), 0.0)
    error = math.sqrt(residual / (cov[0, 0] * (n - 1)))
    at_zero = math.sqrt(residual * (1 / n + x**2 / (cov[0, 0] * (n - 1))))
    t = float(stdtrit(n - 2, (1 + level) / 2))
    overhead = y - slope * x
    return [
        Estimated("per_word", "", float(slope), float(slope - t * error), float(slope + t * error), n),
        Estimated("overhead", "", float(overhead), float(overhead - t * at_zero), float(overhead + t * at_zero), n),
    ], every - n


def _lengths(viewed: ViewedLists, lengths: Mapping[str, float]) -> Any:
    pyarrow = need("pyarrow", "calibrate")
    values = np.array(list(lengths.values()), dtype=np.float64)
    return viewed.log.engine.read(pyarrow.table({"doc": list(lengths), "doc_length": values}))


def _per_user(rows: Any, columns: list[str]) -> Moments:
    return moments(rows.group_by("user").agg(*(nw.col(name).sum() for name in columns)), columns)


def _need_dwell(viewed: ViewedLists, clicks: Any) -> None:
    """Complain if no click has a dwell time."""
    known = viewed.log.engine.row(clicks.select(nw.col("dwell").count().alias("n")))["n"]
    if not known:
        raise DataError(
            viewed.log.origin or "log",
            None,
            "no click has a dwell time (seconds on the document), so no times can be learned",
        )

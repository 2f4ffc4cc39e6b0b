"""Clicks per document, or per query and document: CTR, and clicks over the clicks that the ranks let expect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.notes import caution_note, method_note
from cranfield.online.expressions import col, indicator, nw
from cranfield.online.few_users import FEW_USERS, LEVELS, Part, influences, interval_ends
from cranfield.online.log_measures.document_level import clicks_on_shown, not_on_shown, rank_rates
from cranfield.online.log_measures.measured_log import LEAST
from cranfield.online.log_measures.query_level import normal_text
from cranfield.online.logs.log import Log
from cranfield.online.moments import moments_of_sets
from cranfield.record import Record, column
from cranfield.text import counted
from cranfield.types import Array, Index64


@dataclass(frozen=True, eq=False, repr=False)
class DocumentClicks(Record):
    """The documents of a log that were shown most, with their clicks."""

    caption = "Clicks by document"
    facts = ("level", "least")

    keys: dict[str, NDArray[Any]]
    """`query` and `doc`, or `doc` alone."""
    users: Annotated[Index64, column()]
    """How many users saw the document."""
    impressions: Annotated[Index64, column()]
    clicks: Annotated[Index64, column()]
    rank: Annotated[Array, column(shown="mean rank")]
    """The mean rank at which the document was shown."""
    ctr: Annotated[Array, column("CTR", ends=("CTR low", "CTR high"))]
    ctr_low: Annotated[Array, column("CTR low")]
    ctr_high: Annotated[Array, column("CTR high")]
    coec: Annotated[Array, column("COEC", ends=("COEC low", "COEC high"))]
    coec_low: Annotated[Array, column("COEC low")]
    coec_high: Annotated[Array, column("COEC high")]
    level: float
    least: int
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """query (if asked for), doc, users, impressions, clicks, rank, CTR and COEC with their intervals."""
        return {**self.keys, **super().columns()}


@operation
def document_clicks(
    log: Log,
    *,
    per_query: Annotated[
        bool, about("A row per query and document; queries with the same text in lower case are the same.")
    ] = False,
    top: Annotated[int, about("The number of documents.", least=1)] = 20,
    sort: Annotated[
        str, about("Highest first: {names}.", choices=("impressions", "clicks", "CTR", "COEC"), spelled="--sort COLUMN")
    ] = "impressions",
    level: Annotated[
        float, about("Confidence level of the intervals.", spelled="--level L", rare=True, **LEVELS)
    ] = 0.95,
    least: Annotated[
        int,
        about(
            "Leave out documents that fewer than N users saw, so that they show no single user.",
            least=1,
            solves="least=",
        ),
    ] = LEAST,
) -> DocumentClicks:
    r"""The documents with the most impressions, clicks, CTR or COEC, with intervals over users.

    .. math:: \text{COEC}(d) = \frac{\text{clicks on } d}{\sum_{\text{impressions of } d} \text{CTR}(r)}

    COEC is 1 for a document that is clicked as often as the average document at the ranks where it was shown.

    Reference: Zhang & Jones, WWW 2007 workshop; Ferro & Maistro 2024, §6.5

    >>> from cranfield.online.logs import simulate_log
    >>> clicks = document_clicks(simulate_log(users=80, days=3, seed=1), top=3)
    >>> bool((clicks.clicks <= clicks.impressions).all()), len(clicks.users)
    (True, 3)
    """
    keys = ["query", "doc"] if per_query else ["doc"]
    engine = log.engine
    on_shown = clicks_on_shown(log)
    per_user = engine.keep(_per_user(log, keys, on_shown))
    totals = per_user.group_by(*keys).agg(
        *(col(name).sum().alias(name) for name in ("clicks", "impressions", "expected", "ranks")),
        col("user").count().alias("users"),
    )
    shown = totals.filter(col("users") >= least)
    shown = shown.with_columns((col("clicks") / col("impressions")).alias("CTR"), COEC=col("clicks") / col("expected"))
    best = engine.fetch(shown.sort(sort, *keys, descending=[True, *(False for _ in keys)], nulls_last=True).head(top))
    if not best.num_rows:
        raise UsageError(f"no document was shown to {least} users or more; to show others: least=1")
    chosen = per_user.join(engine.read(best.select(keys)), on=keys, how="inner")
    sets = {"CTR": ("clicks", "impressions"), "COEC": ("clicks", "expected")}
    moments = moments_of_sets(chosen, sets, keys)
    places = [moments["CTR"].group(tuple(row[key] for key in keys)) for row in best.to_pylist()]
    parts = {name: [Part(1.0, *columns)] for name, columns in sets.items()}
    influence = influences(engine, chosen, parts, moments, keys)
    ends = {}
    for name, columns in sets.items():
        value, own, kind = (
            moments[name].ratio(*columns).value,
            influence[name],
            "share" if name == "CTR" else "positive",
        )
        low, high = interval_ends(value, own.variance, own.df, own.third, moments[name], kind, level)
        ends[name] = [value, low, high]
    ctr, coec = ends.values()
    # Without clicks, or if all users are alike, COEC has no interval of its own. It gets that of the CTR, divided by
    # the clicks that are expected at these ranks, which are taken as known.
    expected = moments["COEC"].mean[:, 1]
    scale = moments["CTR"].mean[:, 1] / np.where(expected == 0, np.nan, expected)
    coec[1:] = [np.where(np.isnan(own), ends * scale, own) for ends, own in zip(ctr[1:], coec[1:], strict=True)]
    users = moments["CTR"].n[places]
    counts = {name: np.array(best.column(name).to_pylist(), dtype=np.float64) for name in ("clicks", "impressions")}
    left_out = engine.row(totals.select(indicator(col("users") < least).sum().alias("n")))["n"] or 0
    notes = [method_note(f"{100 * level:g}% intervals over users; rates by rank are taken as known")]
    if (users < FEW_USERS).any():
        notes.append(caution_note(f"caution: intervals of fewer than {FEW_USERS} users may be too narrow"))
    if left_out:
        notes.append(f"{counted(int(left_out), 'row')} seen by fewer than {least} users not shown")
    notes += [*not_on_shown(log, on_shown), *log.notes]
    return DocumentClicks(
        {key: np.array(best.column(key).to_pylist(), dtype=object) for key in keys}, users,
        counts["impressions"].astype(np.int64), counts["clicks"].astype(np.int64),
        np.array(best.column("ranks").to_pylist(), dtype=np.float64) / counts["impressions"], ctr[0][places],
        ctr[1][places], ctr[2][places], coec[0][places], coec[1][places], coec[2][places], level, least,
        tuple(notes),
    )  # fmt: skip


def _per_user(log: Log, keys: list[str], on_shown: Any) -> Any:
    """A row per document and user: impressions, clicks, the clicks that the ranks let expect, and the sum of ranks."""
    clicks = on_shown.group_by("query_id", "doc").agg(nw.len().alias("clicks"))
    users = log.queries.select("query_id", "user", *([normal_text("text").alias("query")] if "query" in keys else []))
    shown = log.shown.join(rank_rates(log, on_shown), on="position", how="left").group_by("query_id", "doc")
    rows = shown.agg(
        nw.len().alias("impressions"), col("rate").sum().alias("expected"), col("position").sum().alias("ranks")
    )
    rows = rows.join(users, on="query_id", how="inner")
    rows = rows.join(clicks, on=["query_id", "doc"], how="left")
    if "query" in keys:
        rows = rows.filter(~col("query").is_null())
    return rows.group_by("user", *keys).agg(
        col("impressions").sum().cast(nw.Float64()),
        col("clicks").fill_null(0).sum().cast(nw.Float64()).alias("clicks"),
        col("expected").sum(),
        col("ranks").sum().cast(nw.Float64()).alias("ranks"),
    )

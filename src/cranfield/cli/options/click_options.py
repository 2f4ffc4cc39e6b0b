"""The options of verbs that read clicks."""

from __future__ import annotations

from typing import Any

from cranfield.cli.declare import MORE, READING, Verb, flag, option
from cranfield.cli.options.label_options import number_list
from cranfield.cli.options.log_options import LogColumns

MODELS = "online.clicks.click_kinds:CLICK_MODELS"
LOG = (
    "The log: a table with a row per impression and the columns session, query, position, doc and clicked (Parquet, "
    "CSV or JSON lines), or a log that cranfield log check reads."
)
MODEL = "A click model, written by cranfield clicks fit."


class ClickReading(LogColumns):
    """How a log is read."""

    depth: int | None = option(
        "--depth N", "Use only the first N documents of each list.", group=READING, solves="set the depth"
    )

    def click_reading(self) -> dict[str, Any]:
        """The parameters of `click_rows`."""
        names = ("events", "columns", "zone", "first_position", "depth")
        return {**self.values(*names), "engine": self.open_engine()}


class ClickFitting(Verb):
    """How a click model is fitted."""

    prior: str | None = option(
        "--prior A,B",
        "Imaginary clicks and skips of each document; 0,0 is maximum likelihood; default: 0.5 in all, as in the log.",
        group=MORE,
    )
    rank_prior: str | None = option(
        "--rank-prior A,B", "The same for parameters of ranks and of the whole model.", group=MORE
    )
    steps: int = option(
        "--steps N", "The largest number of EM steps.", default=2000, group=MORE, solves="allow more steps"
    )
    tolerance: float = option(
        "--tolerance T",
        "Stop if a step adds less to the log-likelihood per impression.",
        default=1e-8,
        group=MORE,
    )
    by_counting: bool = flag(
        "--by-counting", "DCM and SDBN: as if users stopped after their last click; without intervals."
    )
    clicks: str = option(
        "--clicks WHICH",
        "The clicks of a session that count: {names} (all, or only the highest in the list).",
        default="all",
        choices=("all", "first"),
        group=MORE,
    )
    held_out: float | None = option(
        "--held-out SHARE", "Do not fit on this share of the sessions, such as 0.2, so that evaluate can use them."
    )
    split: str = option(
        "--split HOW",
        "How sessions are held out: {names} (at random by a hash of the session, or the latest ones).",
        default="session",
        choices=("session", "time"),
        group=MORE,
    )
    seed: int = option("--seed N", "Seed of the random numbers.", default=0)

    def click_fitting(self) -> dict[str, Any]:
        """The parameters of `fit_clicks`."""
        return {
            "prior": None if self.prior is None else number_list("--prior", self.prior),
            "rank_prior": None if self.rank_prior is None else number_list("--rank-prior", self.rank_prior),
            "exact": not self.by_counting,
            **self.values("steps", "tolerance", "clicks", "held_out", "split", "seed"),
        }

"""The options of verbs that read clicks."""

from __future__ import annotations

from typing import Any

from cranfield.cli.declare import READING, option
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

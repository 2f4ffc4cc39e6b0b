"""`cranfield log check`: look for the traps of logs."""

from __future__ import annotations

from cranfield.cli.declare import option
from cranfield.cli.options.log_options import LogChecking
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError


class CheckVerb(LogChecking, Printing, of="online.logs.check_log:check_log"):
    """Check a log for everything that would make its numbers wrong: count it, and show where it is.

    Errors are wrong rows: clicks on documents that were not shown, events before their query, duplicated events,
    positions that begin with 0, times without a zone, users in two arms, arms with too few users, bots, rows that
    cannot be read. Warnings are worth a look. Notes are good to know, such as sessions across midnight. The exit code
    is 1 if there are errors.
    """

    summary = "check a log for common problems"
    examples = """
cranfield log check log/
cranfield log check impressions.parquet --events clicks.parquet --columns columns.toml
cranfield log check log/ --zone Europe/Berlin --format json
"""

    shares: str | None = option(
        "--share ARM=SHARE,...",
        "The share of users that each arm should have, such as A=0.9,B=0.1; default: equal shares.",
        solves="shares=",
    )

    def run(self) -> int:
        from cranfield.online.logs.check_log import check_log

        tables = self.log_tables()
        with tables["engine"]:
            report = check_log(self.log, **tables, **self.settings(), shares=_shares(self.shares))
            self.show_record(self.with_options(report))
        return 1 if report.wrong else 0


def _shares(text: str | None) -> dict[str, float] | None:
    """The shares of arms, from `A=0.9,B=0.1`."""
    if text is None:
        return None
    try:
        shares = {arm.strip(): float(share) for arm, _, share in (entry.partition("=") for entry in text.split(","))}
    except ValueError:
        shares = {}
    if not shares or not all(share > 0 for share in shares.values()):
        raise UsageError(f"--share == {text!r}, must be arms with numbers above 0, such as A=0.9,B=0.1")
    return shares

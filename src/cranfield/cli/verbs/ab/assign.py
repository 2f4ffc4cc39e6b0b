"""`cranfield ab assign`: which user gets which arm."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from cranfield.cli.declare import MORE, argument, flag, option
from cranfield.cli.options import ab_options
from cranfield.cli.printing import Output, Quiet, format_option
from cranfield.errors import DataError, UsageError
from cranfield.text import counted


class AssignVerb(Quiet, Output, of="online.experiments.assignment:assign_users"):
    """Assign users to the arms of an experiment by a salted hash of their ids.

    Ids are read one per line; the id and the arm are printed, separated by a tab. The same id always gets the same arm,
    and experiments with different names are independent. --exposure is the share of users that take part: raise it
    to ramp up, users who are in stay in and keep their arm. Experiments in one --layer with slots that do not overlap
    share no users. The Python function cranfield.online.experiments.Experiment gives the same answers.
    """

    summary = "assign users to the arms of an experiment"
    examples = """
cranfield ab assign ids.txt --experiment ranker-7 --share A=0.5 --share B=0.5
cranfield ab assign ids.txt --experiment ranker-7 --share A=0.9,B=0.1 --exposure 0.2 -o arms.tsv
cut -f1 users.tsv | cranfield ab assign - --experiment ui-3 --layer page --slot 0,0.3
"""

    ids: str = argument("IDS", "A file with an id per line. - is standard input.", required=True, reads=True)
    share: list[str] | None = option(
        "--share ARM=SHARE",
        "An arm and its share of the users; shares are divided by their sum. Default: A and B, half each. May be "
        "repeated.",
    )
    only_in: bool = flag("--only-in", "Print only users that are in the experiment.")
    counts: bool = flag("--counts", "Print how many users each arm has, instead of every user.")
    not_in: str = option(
        "--not-in WORD", "What is printed for a user who is not in the experiment.", default="", group=MORE
    )
    format: str = format_option(default="tsv", help="{names}; table only with --counts.")

    def check(self) -> None:
        super().check()
        if not self.counts and self.format not in ("tsv", "csv", "json"):
            raise UsageError(f"--format {self.format} is for --counts; arms are printed as tsv, csv or json")

    def run(self) -> None:
        from cranfield.online.experiments.assignment import assign_users

        users = self.read_ids()
        assigned = assign_users(users, shares=ab_options.shares("--share", self.share), **self.settings())
        if assigned.users < len(users):
            repeated = counted(len(users) - assigned.users, "line")
            self.tell(f"warning: {repeated} with an id that appears before; each user is counted once")
        counts = assigned.counts
        if self.counts:
            self.emit(self.rendered(counts.table()))
            return
        self.emit(self.lines(zip(users, assigned.arm, strict=True)))
        numbers = [f"{number:,}" for number in counts.users]
        said = ", ".join(f"{arm} {number}" for arm, number in zip(assigned.arms, numbers, strict=False))
        outside = f", not in the experiment {numbers[-1]}" if len(numbers) > len(assigned.arms) else ""
        self.tell(f"{counted(assigned.users, 'user')}: {said}{outside}")

    def tell(self, sentence: str) -> None:
        """Print a sentence on standard error, unless there is `--quiet`."""
        if not self.quiet:
            print(sentence, file=sys.stderr)

    def read_ids(self) -> list[str]:
        """The lines of the file that are not empty."""
        from cranfield.collection.source import read_bytes

        data = read_bytes(self.ids)
        if b"\0" in data:
            raise DataError(self.ids, None, "is not text, expected an id per line")
        users = [line for line in data.decode("utf-8", "surrogateescape").splitlines() if line.strip()]
        if not users:
            raise DataError("standard input" if self.ids == "-" else self.ids, None, "no ids, expected one per line")
        if any(all(mark in user for user in users) for mark in "\t,;"):
            self.tell(
                f"warning: every line has several columns, and all of {users[0]!r} is taken as one id; expected an id "
                "per line, such as from cut -f1"
            )
        return users

    def lines(self, pairs: Any) -> str:
        """The ids and their arms in the format."""
        kept = ((user, arm) for user, arm in pairs if arm is not None or not self.only_in)
        if self.format == "json":
            import json

            return joined(json.dumps({"id": user, "arm": arm}, ensure_ascii=False) for user, arm in kept)
        if self.format == "csv":
            from cranfield.table import Column, Table

            rows = tuple((user, self.not_in if arm is None else arm) for user, arm in kept)
            return Table((Column("id"), Column("arm")), rows, guard_formulas=self.guard_formulas).csv()
        return joined(f"{user}\t{self.not_in if arm is None else arm}" for user, arm in kept)


def joined(lines: Iterator[str]) -> str:
    """The lines as one text; few of them are in memory beside it.

    >>> joined(iter("abc"))
    'a\\nb\\nc'
    """
    return "\n".join(iter(lambda: "\n".join(islice(lines, 10_000)), ""))

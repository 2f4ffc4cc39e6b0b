"""`cranfield ab assign`: which user gets which arm."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from cranfield.cli import options
from cranfield.cli.declare import MORE, argument, flag, option
from cranfield.cli.options import ab_options
from cranfield.cli.printing import Output, Quiet, format_option
from cranfield.errors import DataError, UsageError
from cranfield.text import counted


class AssignVerb(Quiet, Output):
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
    experiment: str | None = option("--experiment NAME", "The name of the experiment; it decides who gets which arm.")
    share: list[str] | None = option(
        "--share ARM=SHARE",
        "An arm and its share of the users; shares are divided by their sum. Default: A and B, half each. May be "
        "repeated.",
    )
    exposure: float = option("--exposure SHARE", "The share of users in the experiment.", default=1.0)
    layer: str = option("--layer NAME", "The layer that the experiment is in.", default="")
    slot: str = option("--slot LOW,HIGH", "The part of the layer that the experiment has.", default="0,1")
    salt: str = option("--salt TEXT", "A secret, so that nobody can compute the arms from outside.", default="")
    only_in: bool = flag("--only-in", "Print only users that are in the experiment.")
    counts: bool = flag("--counts", "Print how many users each arm has, instead of every user.")
    not_in: str = option(
        "--not-in WORD", "What is printed for a user who is not in the experiment.", default="", group=MORE
    )
    format: str = format_option(default="tsv", help="{names}; table only with --counts.")

    def check(self) -> None:
        super().check()
        if not self.experiment:
            raise UsageError("no experiment; give it a name with --experiment")
        if not self.counts and self.format not in ("tsv", "csv", "json"):
            raise UsageError(f"--format {self.format} is for --counts; arms are printed as tsv, csv or json")

    def run(self) -> None:
        from cranfield.collection.source import read_bytes
        from cranfield.online.experiments.assignment import Experiment

        chosen = ab_options.shares("--share", self.share) or {"A": 1.0, "B": 1.0}
        slot = options.numbers("--slot", self.slot) or []
        if len(slot) != 2:
            raise UsageError(f"--slot {self.slot}: expected two numbers, such as 0,0.3")
        experiment = Experiment(self.experiment or "", chosen, self.exposure, self.layer, (slot[0], slot[1]), self.salt)
        data = read_bytes(self.ids)
        if b"\0" in data:
            raise DataError(self.ids, None, "is not text, expected an id per line")
        users = [line for line in data.decode("utf-8", "surrogateescape").splitlines() if line.strip()]
        del data
        if not users:
            raise DataError("standard input" if self.ids == "-" else self.ids, None, "no ids, expected one per line")
        if not self.quiet and any(all(mark in user for user in users) for mark in "\t,;"):
            print(
                f"warning: every line has several columns, and all of {users[0]!r} is taken as one id; expected an id "
                "per line, such as from cut -f1",
                file=sys.stderr,
            )
        arms = experiment.assign(users)
        distinct = len(set(users))
        counts = Counter(arms if distinct == len(users) else dict(zip(users, arms, strict=True)).values())
        if distinct < len(users) and not self.quiet:
            repeated = counted(len(users) - distinct, "line")
            print(f"warning: {repeated} with an id that appears before; each user is counted once", file=sys.stderr)
        if self.counts:
            from cranfield.table import Column, Table

            rows = [(arm, counts.get(arm, 0), counts.get(arm, 0) / distinct) for arm in [*chosen, None]]
            named = tuple((arm or "(not in the experiment)", n, share) for arm, n, share in rows if arm or n)
            table = Table((Column("arm"), Column("users", "count"), Column("share", "number")), named)
            self.emit(self.rendered(table))
            return
        self.emit(self.lines(zip(users, arms, strict=True)))
        if not self.quiet:
            said = ", ".join(f"{arm} {counts.get(arm, 0):,}" for arm in chosen)
            outside = f", not in the experiment {counts[None]:,}" if counts.get(None) else ""
            print(f"{counted(distinct, 'user')}: {said}{outside}", file=sys.stderr)

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

"""`cranfield collection design`: which user searches for which topic with which system, and in which order."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import option
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError


class DesignVerb(options.Tables, Printing, of="building.topic_sets.user_study:user_study"):
    """Plan a user study: which user searches for which topic with which system, and in which order.

    The topics are cut at random into as many groups as there are systems. Every user works on each group with one
    system, and which group goes with which system rotates from user to user (a Latin square). The order of the systems
    is balanced for practice, fatigue and carry-over from one system to the next (a Williams design: k users for k
    systems, 2k if k is odd). The topics of a group are in random order. Notes say how often each topic met each system,
    and so on. Users are planned in order of arrival.

    cranfield meta users analyses the ratings of such a study.
    """

    summary = "plan a user study with balanced orders"
    examples = """
cranfield collection design --users 24 --system bm25,dense,hybrid --topics topics.tsv --seed 1
cranfield collection design --users 12 --system a,b,c --topics topics.xml --format csv -o plan.csv
cranfield collection design --users 12 --system a,b,c --topics topics.xml --show orders
"""

    users: int = option("--users N", "The number of users.", required=True)
    systems: list[str] | None = option("--system NAME,...", "The systems, two or more: a,b,c. May be repeated.")
    topics: str = option(
        "--topics FILE", "The topics: a file of topics (XML, SGML, TSV, JSON), or an id per line.", required=True,
        reads=True,
    )  # fmt: skip
    what: str = options.show("table", "orders", help="{names}: a row per search, or a row per user.")

    def given(self) -> bool:
        return bool(self.systems or self.topics)

    def check(self) -> None:
        super().check()
        if not self.systems:
            raise UsageError("no systems; name two or more: --system a,b,c")

    def run(self) -> None:
        from cranfield.building.topic_sets.user_study import read_topic_ids, user_study

        names = [name.strip() for names in self.systems or [] for name in names.split(",")]
        study = user_study(names, read_topic_ids(self.topics), self.users, **self.settings())
        self.show(study.orders() if self.what == "orders" else study.table())

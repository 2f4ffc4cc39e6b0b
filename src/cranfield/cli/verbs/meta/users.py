"""`cranfield meta users`: which measure agrees with the users of a study."""

from __future__ import annotations

from dataclasses import replace

from cranfield.cli import options
from cranfield.cli.declare import MORE, argument, option
from cranfield.cli.options.by_class import ByClass
from cranfield.cli.printing import Printing
from cranfield.errors import UsageError

MEASURES = "AP,nDCG@10,RBP,RR"


class UsersVerb(ByClass, options.Source, Printing, of="meta.agreement.user_agreement:user_agreement"):
    """Show which measure agrees with what users said about systems, with intervals over users and topics.

    RATINGS is a table with a header (CSV, TSV or JSON-lines): user, topic, system, and rating or time (seconds); or
    user, topic, first, second, and preferred (A, B, tie or a system). Systems have the names of runs. Mean ratings are
    correlated with scores over topics and systems, and within topics; pairs is the share of preferences between two
    systems that a measure predicts. Of times, the mean negative logarithm counts.

    --show model and --show needed read RATINGS alone: a mixed model with systems fixed, users and topics random (REML),
    and the number of users who would be needed to find a difference.
    """

    repeats_warnings = True
    summary = "which measure agrees with users"
    examples = """
cranfield meta users ratings.csv qrels.txt runs/*.run -m AP,nDCG@10,RR
cranfield meta users ratings.csv --scores scores.csv -B 10000 --format latex
cranfield meta users ratings.csv --show model  # do systems differ for users?
cranfield meta users ratings.csv --show needed --difference 0.5,0.25
"""

    ratings: str | None = argument("RATINGS", "What users said: user, topic, system, rating.", reads=True)
    what: str = options.show(
        "table",
        "model",
        "needed",
        help="{names}: the agreement of measures, the mixed model, or the number of users needed.",
    )
    outcome: str | None = option(
        "--outcome NAME", "model, needed: {names}; default: the first.", choices=("rating", "time"), group=MORE
    )
    difference: str | None = option(
        "--difference, -d D", "needed: differences between two systems, as 0.5,0.25.", group=MORE
    )
    power: float = option("--power P", "needed: the probability of finding the difference.", default=0.8, group=MORE)
    alpha: float = option("--alpha A", "Significance level.", default=0.05, group=MORE)
    plan_topics: int | None = option("--plan-topics N", "needed: topics of the new study.", group=MORE)
    per_system: float | None = option(
        "--per-system M", "needed: topics that a user works on with each system.", group=MORE
    )

    def given(self) -> bool:
        return self.ratings is not None

    def check(self) -> None:
        super().check()
        if self.ratings is None:
            raise UsageError("no ratings; give a file of user, topic, system, rating: RATINGS QRELS RUN...")
        if self.what == "needed" and self.difference is None:
            raise UsageError("--show needed: say which difference would matter: --difference 0.5")
        if self.what != "table":
            more = self.qrels or next((f"--{name}" for name in ("scores", "sample", "by") if getattr(self, name)), None)
            if more:
                raise UsageError(f"--show {self.what} reads RATINGS alone; leave out {more}")

    def run(self) -> None:
        from cranfield.meta.agreement.user_agreement import user_agreement
        from cranfield.meta.agreement.user_ratings import rating_model, read_user_ratings, users_needed

        assert self.ratings is not None
        ratings = read_user_ratings(self.ratings)
        if self.what == "table":
            scores = self.read_scores(MEASURES)
            with self.progress("resampling") as progress:
                self.show(user_agreement(scores, ratings, **self.settings(), progress=progress).table())
            return
        model = rating_model(ratings, self.outcome)
        if self.what == "needed":
            differences = options.numbers("--difference", self.difference or "")
            answer = users_needed(
                model, differences or (), power=self.power, alpha=self.alpha, topics=self.plan_topics,
                per_system=self.per_system,
            )  # fmt: skip
            self.show(answer.table())
            return
        from cranfield.comparison.methods.tukey import tukey

        pairs = tukey(model, factor="system", alpha=self.alpha)
        table = model.table(self.digits)
        notes = (model.sentence(), pairs.sentence(), *ratings.notes, *model.notes)
        tables = [replace(table, notes=notes)]
        if self.format not in ("csv", "tsv", "json"):
            tables += [replace(model.means("system", level=1 - self.alpha).table(), digits=self.digits)]
        self.show(*tables)

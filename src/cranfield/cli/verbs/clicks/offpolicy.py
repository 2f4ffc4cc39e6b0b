"""`cranfield clicks offpolicy`: what would a new system be worth, judged by the log of another?"""

from __future__ import annotations

import warnings

from cranfield.cli.declare import argument, option
from cranfield.cli.options.log_options import LogOfTopics
from cranfield.cli.printing import Printing
from cranfield.errors import CranfieldWarning, UsageError


class OffpolicyVerb(LogOfTopics, Printing, of="online.policies.off_policy:off_policy"):
    """Estimate what a new policy or ranking would be worth, from a log that another system made.

    LOG is a table with a row per decision: reward, propensity (the probability with which the logging system did what
    it did: showed an item or a whole list), and context, action and user as needed. --policy names a column with the
    probability that the new policy does the same, or a file of context, action and probability. The estimators are IPS,
    clipped IPS, SNIPS, direct and doubly robust (DR). A file of a policy gives all of them.

    With --run, LOG is a log of queries and clicks, and the runs are new rankings. How likely each position is examined
    comes from --examined: probabilities, or a position-based model that `cranfield clicks fit --save` wrote.

    The effective sample size is always shown. If it is below --least-ess, the estimate is refused and the exit code is
    1: a few rows would decide. docs/calibration.md explains the estimators.
    """

    summary = "estimate what a new system is worth, from another's log"
    examples = """
cranfield clicks offpolicy log.parquet --policy new
cranfield clicks offpolicy log.csv --policy new.csv --policy other.csv --clip 20
cranfield clicks offpolicy log.jsonl --policy new --column reward=bought --cluster user
cranfield clicks offpolicy log/ --run new.run --topics topics.tsv --examined pbm.json --utility dcg
"""

    log: str = argument("LOG", "The table of decisions; with --run, the log of queries and clicks.", required=True)
    policy: list[str] | None = option(
        "--policy NAME", "A new policy: a column of the table, or a file. May be repeated."
    )
    run_files: list[str] | None = option("--run FILE", "A new ranking: a run. May be repeated.", reads=True)
    examined: str | None = option(
        "--examined LIST", "With --run: probabilities of examination by position, such as 1,0.6,0.4, or a model file."
    )
    utility: str = option(
        "--utility NAME",
        "With --run: {names} per query.",
        default="clicks",
        choices=("clicks", "dcg"),
    )
    depth: int = option("--depth N", "With --run: the ranks of the lists that count.", default=10)
    column: list[str] | None = option(
        "--column ROLE=NAME",
        "The name of a column: reward, propensity, context, action, user or model. May be repeated.",
    )

    def check(self) -> None:
        super().check()
        if bool(self.policy) == bool(self.run_files):
            raise UsageError("give the new policies: --policy NAME, or --run FILE for rankings, and not both")
        if self.run_files and not self.examined:
            raise UsageError(
                "--run needs the probabilities of examination: --examined 1,0.6,0.4 or --examined pbm.json"
            )
        if self.policy and self.examined:
            raise UsageError("--examined is for --run; the propensities of a table are in its column propensity")

    def run(self) -> int:
        if self.policy:
            from cranfield.online.policies import off_policy

            result = off_policy(
                self.log, self.policy, engine=self.open_engine(), columns=self._columns(), **self.settings()
            )
        else:
            from cranfield.collection.run import read_runs
            from cranfield.online.policies import off_policy_runs

            log = self.read_tables(self.log, engine=self.open_engine())
            result = off_policy_runs(
                log, read_runs(self.run_files or []), self._examination(), topics=self.topic_texts(),
                **self.values("utility", "depth", "clip", "least_ess", "shrink", "level"),
            )  # fmt: skip
        self.show_record(result)
        return 1 if result.refused else 0

    def _columns(self) -> dict[str, str]:
        pairs = {}
        for text in self.column or []:
            role, equals, name = text.partition("=")
            if not (role and equals and name):
                raise UsageError(f"--column == {text!r}, must be a role and a name, such as reward=bought")
            pairs[role] = name
        return pairs

    def _examination(self) -> list[float]:
        text = self.examined or ""
        try:
            return [float(part) for part in text.split(",")]
        except ValueError:
            pass
        from cranfield.online.clicks.click_model import load_click_model

        model = load_click_model(text)
        if model.model != "PBM":
            raise UsageError(f"--examined: {text} is a {model.model}; examination by position needs a PBM")
        if model.converged is False:
            warnings.warn(f"{text}: the model did not converge when it was fitted", CranfieldWarning, stacklevel=2)
        values: list[float] = model.value("examination").value.tolist()
        return values

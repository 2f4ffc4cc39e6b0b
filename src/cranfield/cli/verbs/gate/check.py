"""`cranfield gate`: does a candidate pass?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from cranfield.cli import options
from cranfield.cli.declare import MORE, RESULT, declared, flag, option
from cranfield.cli.options.option_values import chosen, imported
from cranfield.cli.printing import Printing, emit
from cranfield.errors import CranfieldError, DataError, UsageError
from cranfield.text import listed

if TYPE_CHECKING:
    from cranfield.measures import Measure
    from cranfield.scores.scores import Scores

ALL = "all"
CHANGE_LIST = r"(judgments|topics|measures|rules|all)(,(judgments|topics|measures|rules|all))*"
"""The values of --accept-changes; another word after it is not one of them."""


class CheckVerb(options.Collection, Printing, of="comparison.gate.gate:gate"):
    """Check a candidate before it is released: it must not be worse than a baseline by more than a margin.

    The default rule is non-inferior: the candidate fails unless the data rule out a loss above the margin, by a
    one-sided test at --alpha. With few topics this is hard to pass; the line then says how large the loss may be. The
    rule observed fails only if the mean loss that was observed exceeds the margin. Every measure must pass.

    --at-least, --at-most, --no-topic-below and --no-topic-drop need no test. The exit code is 0 if everything passes
    and 1 if not. It is 2 if there is no verdict: the command is wrong, a file cannot be read, or the scores of
    --against were computed from other judgments, topics, measures or rules. JUnit XML and JSON then hold the error.
    """

    summary = "a gate for builds: pass or fail, and why; see: cranfield gate help"
    examples = """
cranfield gate qrels.txt --baseline prod.run candidate.run -m nDCG@10 -m R@100 --margin 0.01
cranfield gate qrels.txt candidate.run --at-least nDCG@10=0.45 --no-topic-below R@100=0.1
cranfield gate qrels.txt candidate.run --against last-night.json --save tonight.json --history builds.jsonl
cranfield gate qrels.txt --baseline prod.run candidate.run --rule observed --margin 2% --junit gate.xml --annotations
"""

    measures: list[str] | None = options.measures()
    missing: str = options.missing()
    baseline: str | None = option(
        "--baseline, -b RUN", "The run to compare with, such as the one in production.", reads=True
    )
    against: str | None = option(
        "--against FILE", "Compare with the scores of an earlier build, from --save.",
        reads=True,
    )  # fmt: skip
    accept_changes: str | None = option(
        "--accept-changes CHANGE,...",
        "Compare with --against although these differ: judgments, topics, measures, rules; default: all of them.",
        bare=(ALL, CHANGE_LIST), group=MORE,
    )  # fmt: skip
    margin: list[str] | None = option(
        "--margin LOSS", "The loss to tolerate: 0.01 (the default), 2% of the baseline, or by measure: nDCG@10=0.01.",
    )  # fmt: skip
    alpha: float
    common_topics: bool
    at_least: list[str] | None = option(
        "--at-least MEASURE=LIMIT", "The lowest mean that passes. May be repeated.", solves="at_least="
    )
    at_most: list[str] | None = option(
        "--at-most MEASURE=LIMIT", "The highest mean that passes. May be repeated.", group=MORE
    )
    no_topic_below: list[str] | None = option(
        "--no-topic-below MEASURE=LIMIT", "No topic may score below this. May be repeated."
    )
    no_topic_drop: list[str] | None = option(
        "--no-topic-drop MEASURE=LOSS",
        "No topic may lose more than this against the baseline. May be repeated.",
        group=MORE,
    )
    save: str | None = option("--save FILE", "Write the scores of the candidates, for --against.", group=RESULT)
    junit: str | None = option("--junit FILE", "Write the checks as JUnit XML.", group=RESULT)
    annotations: bool = flag("--annotations", "Also print errors as GitHub Actions shows them.", group=RESULT)
    history: str | None = option(
        "--history FILE", "Append the means to this file, for cranfield gate history.", group=RESULT
    )
    build: str | None = option("--build NAME", "The name of the build in the history; default: its number.", group=MORE)

    def given(self) -> bool:
        return any(getattr(self, parameter.name) != parameter.default for parameter in declared(type(self)))

    def check(self) -> None:
        super().check()
        if self.qrels is None and not self.sample:
            raise UsageError("no judgments; give QRELS RUN..., or --sample")
        for label, value in (("--accept-changes", self.accept_changes), ("--common-topics", self.common_topics)):
            if value and self.against is None:
                raise UsageError(f"{label} is about the scores of --against; give them, or leave it out")

    @classmethod
    def failed(cls, words: Sequence[str], error: Exception) -> None:
        from cranfield.cli.guard import USAGE, message_of
        from cranfield.collection.source import write_bytes
        from cranfield.comparison.gate.gate_checks import annotation_of_error, json_error, junit_error

        error.exit_code = USAGE  # type: ignore[attr-defined]
        message = message_of(error)
        with suppress(CranfieldError, OSError):
            if junit := value_of(words, "--junit"):
                write_bytes(junit, junit_error(message).encode("utf-8", "backslashreplace"))
        with suppress(CranfieldError, OSError):
            if value_of(words, "--format", "-f") == "json":
                emit(json_error(message), value_of(words, "--output", "-o"), format="json")
        if "--annotations" in words:
            print(annotation_of_error(message))

    def run(self) -> int:
        from cranfield.comparison.gate.gate import Conditions, gate_scores
        from cranfield.evaluation.same_rankings import digests, may_be_same, with_digest

        if self.baseline and self.against:
            raise UsageError("--baseline and --against are two baselines; give one of them")
        conditions = Conditions(
            margin=margins(self.margin), at_least=limits("--at-least", self.at_least),
            at_most=limits("--at-most", self.at_most), no_topic_below=limits("--no-topic-below", self.no_topic_below),
            no_topic_drop=limits("--no-topic-drop", self.no_topic_drop), accept_changes=self.accept_changes or (),
            **self.settings(),
        )  # fmt: skip
        wanted, conditions = conditions.for_measures(chosen(self.measures) if self.measures else [])
        scores = self.evaluate(wanted, missing=self.missing)
        against = self.read_baseline(wanted)
        again = self.save or (against is not None and may_be_same(scores, against))
        rankings = digests(scores, self.files()[1], self.join_options()) if again else {}
        same = self._same(rankings, against)
        try:
            result = gate_scores(scores, against, conditions, same=same)
        except UsageError as error:
            raise UsageError(in_options(str(error), self.against)) from None
        if self.save:
            alone = rankings[scores.runs[0]] if len(rankings) == 1 else None
            with_digest(scores, alone).write(self.save)
        if self.junit:
            from cranfield.collection.source import write_bytes

            write_bytes(self.junit, result.to_junit().encode("utf-8", "backslashreplace"))
        if self.history:
            from cranfield.comparison.gate.gate_history import add_build

            add_build(self.history, scores, result, self.build)
        if self.format == "table":
            self.emit(result.text())
        elif self.format == "json":
            self.emit(result.to_json())
        else:
            self.show(result.table())
        if self.annotations:
            print(result.to_annotations())
        return 0 if result.passed else 1

    def _same(self, rankings: dict[str, str], against: Scores | None) -> set[str]:
        """The candidates with the rankings of the baseline."""
        from cranfield.evaluation.same_rankings import digests, saved_digest

        if against is None or not rankings:
            return set()
        if self.baseline:
            known = digests(against, [self.baseline], self.join_options()).get(against.runs[0])
        else:
            known = saved_digest(against)
        return {run for run, digest in rankings.items() if digest == known}

    @staticmethod
    def _saved(path: str) -> Scores:
        """The scores of one run, as --save writes them."""
        from cranfield.scores.scores import Scores

        try:
            saved = Scores.read(path)
        except DataError as error:
            what = error.what.partition("; use header=")[0]
            hint = "--against reads scores that --save wrote, --baseline reads a run"
            raise DataError(error.path, error.line, f"{what}; {hint}") from None
        if len(saved.runs) != 1:
            names = listed(saved.runs)
            raise UsageError(f"{path}: scores of {len(saved.runs)} runs ({names}), must be one; save those of one run")
        return saved

    def read_baseline(self, wanted: Sequence[Measure]) -> Scores | None:
        """The scores of the baseline; None without one."""
        from cranfield.evaluation.evaluator import evaluate

        if self.against:
            saved = self._saved(self.against)
            lost = [name for name in map(str, wanted) if name not in saved]
            if lost:
                have = ", ".join(saved.measures)
                raise UsageError(f"{self.against} has no scores by {', '.join(lost)}; it has {have}")
            return saved
        if self.baseline is None:
            return None
        qrels = self.files()[0]
        settings = self.join_options() | {"missing": self.missing}
        return evaluate(self.read_qrels(qrels), [self.baseline], wanted, **settings)


def in_options(message: str, against: str | None) -> str:
    """A message of the library about scores that are not alike, with the file and the options of the command line."""
    import re

    told = re.sub(r"accept_changes='([a-z,]+)'", r"--accept-changes \1", message)
    told = told.replace("common_topics=True", "--common-topics")
    return message if told == message else f"{against}: {told}"


def value_of(words: Sequence[str], *spellings: str) -> str | None:
    """The value of an option among words that may not be a whole command.

    >>> value_of(["q", "--junit", "a.xml"], "--junit"), value_of(["-fjson"], "--format", "-f"), value_of(["q"], "-f")
    ('a.xml', 'json', None)
    """
    for word, following in zip(words, [*words[1:], None], strict=True):
        for spelling in spellings:
            if word == spelling:
                return following
            if word.startswith(f"{spelling}=" if spelling.startswith("--") else spelling):
                return word[len(spelling) :].removeprefix("=")
    return None


def limits(label: str, texts: Sequence[str] | None) -> dict[str, float]:
    """The values of `--at-least` and others.

    >>> limits("--at-least", ["RBP(p=0.8)=0.3"])
    {'RBP(p=0.8)': 0.3}
    """
    limits: dict[str, float] = {}
    for text in texts or ():
        name, sign, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if not (name and sign) or value != value:
            raise UsageError(f"{label} {text}: expected a measure and a number, such as nDCG@10=0.45")
        if name in limits:
            raise UsageError(f"{label} {text}: {name} is given twice")
        limits[imported(name)] = value
    return limits


def margins(texts: Sequence[str] | None) -> float | str | dict[str, float | str]:
    """The value of `--margin`: one for all measures, or one by measure.

    >>> margins(["2%"]), margins(["nDCG@10=0.01", "R@100=2%"])
    ('2%', {'nDCG@10': '0.01', 'R@100': '2%'})
    """
    from cranfield.comparison.gate.gate import MARGIN

    if not texts:
        return MARGIN
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    pairs = [text.rpartition("=") for text in texts]
    for text, (name, sign, number) in zip(texts, pairs, strict=True):
        if not (name and sign and number):
            raise UsageError(f"--margin {text}: expected one number, or MEASURE=NUMBER for each measure")
    return {imported(name): number for name, _, number in pairs}

"""The checks of a gate, one candidate, one measure and one condition each, and their result."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.data import Matrix
from cranfield.comparison.methods.equivalence import few_changed, mean_above, worst_change
from cranfield.comparison.pair_tests import PairTest, TestSettings
from cranfield.comparison.test_result import shown_p
from cranfield.errors import UsageError
from cranfield.notes import caution_note, shown_notes
from cranfield.record import Record, columns_of, plain, table_of
from cranfield.scores.labels import label, same_measure
from cranfield.scores.scores import Scores
from cranfield.table import Table
from cranfield.text import counted, one_line
from cranfield.types import Array


class TopicScore(NamedTuple):
    """A topic that counts against the candidate."""

    topic: str
    score: float
    baseline: float
    """NaN if there is no baseline."""

    def __str__(self) -> str:
        if math.isnan(self.baseline):
            return f"{self.topic} ({self.score:.4f})"
        return f"{self.topic} ({self.baseline:.4f} -> {self.score:.4f})"


@dataclass(frozen=True)
class GateCheck:
    """One condition, checked for one candidate and one measure."""

    candidate: str
    measure: str
    condition: str
    """`margin`, `at least`, `at most`, `no topic below` or `no topic drop`."""
    limit: float
    passed: bool
    value: float
    """The mean of the candidate, or its lowest topic."""
    baseline: float = math.nan
    difference: float = math.nan
    """Candidate − baseline, or baseline − candidate if lower scores are better: below 0 is a loss."""
    bound: float = math.nan
    """The lower end of the one-sided confidence interval of the difference; NaN if the test has none."""
    p: float = math.nan
    """The p-value of the hypothesis that the loss is at least as large as the margin."""
    topics: int = 0
    reason: str = ""
    worst: tuple[TopicScore, ...] = ()
    """The topics that count most against the candidate, worst first."""
    broken: int = 0
    """The number of topics that break a condition on topics."""

    @property
    def line(self) -> str:
        """The check in a line for a log."""
        worst = f"; worst topics: {', '.join(map(str, self.worst))}" if self.worst and not self.passed else ""
        return one_line(f"{'PASS' if self.passed else 'FAIL'} {self.candidate} {self.measure}: {self.reason}{worst}")


@dataclass(frozen=True, repr=False)
class GateResult(Record):
    """All checks of a gate."""

    checks: tuple[GateCheck, ...]
    rule: str
    test: str
    alpha: float
    baseline: str
    """The name of the baseline; empty without one."""
    notes: tuple[str, ...] = ()

    facts = ("passed", "rule", "test", "alpha", "baseline")

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def failed(self) -> tuple[GateCheck, ...]:
        """The checks that did not pass."""
        return tuple(check for check in self.checks if not check.passed)

    def columns(self) -> dict[str, NDArray[Any]]:
        numbers = ("limit", "value", "baseline", "difference", "bound", "p", "topics", "passed")
        return columns_of(self.checks, GateCheck, "candidate", "measure", "condition", *numbers, "reason")

    def to_dict(self) -> dict[str, Any]:
        """Facts, notes, and a row per check with the topics that count most against the candidate."""
        rows = [{**plain(check), "worst": [plain(topic._asdict()) for topic in check.worst]} for check in self.checks]
        return {**self._metadata(), "notes": list(self.notes), "checks": rows}

    def summary(self) -> str:
        """The result in a line."""
        if self.passed:
            return f"gate passed: {counted(len(self.checks), 'check')}"
        return f"gate failed: {len(self.failed)} of {counted(len(self.checks), 'check')}"

    def text(self) -> str:
        """A line per check, failures first, and the result."""
        ordered = sorted(self.checks, key=lambda check: check.passed)
        return "\n".join([*(check.line for check in ordered), *shown_notes(self.notes), self.summary()])

    def table(self) -> Table:
        columns = self.columns()
        columns["passed"] = np.where(columns["passed"], "yes", "no").astype(object)
        return table_of(columns, notes=self.notes)

    def __str__(self) -> str:
        return self.text()

    def to_junit(self) -> str:
        """JUnit's XML: a test case per check."""
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites tests="{len(self.checks)}" failures="{len(self.failed)}" errors="0">',
            f'  <testsuite name="cranfield gate" tests="{len(self.checks)}" failures="{len(self.failed)}" errors="0">',
        ]
        for check in self.checks:
            name = _attribute(f"{check.measure} {check.condition} {check.limit:g}")
            case = f"    <testcase classname={_attribute(f'cranfield.gate.{check.candidate}')} name={name}"
            if check.passed:
                lines.append(f"{case}/>")
            else:
                lines += [
                    f"{case}>",
                    f'      <failure type="gate" message={_attribute(check.line)}/>',
                    "    </testcase>",
                ]
        return "\n".join([*lines, "  </testsuite>", "</testsuites>", ""])

    def to_annotations(self) -> str:
        """Workflow commands of GitHub Actions: an error per failed check, and a notice with the result."""
        lines = [
            f"::error title={_command(f'gate: {check.candidate} {check.measure}', title=True)}::{_command(check.line)}"
            for check in self.failed
        ]
        return "\n".join([*lines, f"::notice title=gate::{_command(self.summary())}"])


def junit_error(message: str) -> str:
    """JUnit's XML if there is no verdict: a test case with an error."""
    return "\n".join([
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<testsuites tests="1" failures="0" errors="1">',
        '  <testsuite name="cranfield gate" tests="1" failures="0" errors="1">',
        '    <testcase classname="cranfield.gate" name="verdict">',
        f'      <error type="gate" message={_attribute(message)}/>',
        "    </testcase>", "  </testsuite>", "</testsuites>", "",
    ])  # fmt: skip


def json_error(message: str) -> str:
    """The JSON if there is no verdict."""
    return json.dumps({"passed": None, "error": message, "checks": []}, ensure_ascii=False, indent=1)


def annotation_of_error(message: str) -> str:
    """The workflow command of GitHub Actions if there is no verdict."""
    return f"::error title=gate::{_command(message)}"


def _attribute(text: str) -> str:
    """A value of an XML attribute; characters that XML does not allow are replaced."""
    from xml.sax.saxutils import quoteattr  # loads urllib, so only for those who ask for XML

    return quoteattr("".join(c if c in "\t\n" or (c >= " " and not "\ud800" <= c <= "\udfff") else "�" for c in text))


def _command(text: str, *, title: bool = False) -> str:
    """Text in a workflow command, in which %, line ends and, in a title, colons and commas are escaped.

    >>> _command("50%, a:b", title=True)
    '50%25%2C a%3Ab'
    """
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return escaped.replace(":", "%3A").replace(",", "%2C") if title else escaped


Limit = float | str
"""A number, or a percentage of the baseline's mean such as `2%`."""


def amount(text: Limit, what: str, mean: float = math.nan) -> float:
    """A limit as a number; a percentage is that of `mean`.

    >>> amount("2%", "margin", 0.4), amount(0.01, "margin")
    (0.008, 0.01)
    """
    percent = is_percentage(text)
    try:
        number = float(text.strip().rstrip("%") if isinstance(text, str) else text)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(text, bool) or not isinstance(text, Real | str) or not math.isfinite(number):
        raise UsageError(
            f"{what} == {text!r}, must be a number{' or a percentage such as 2%' if what == 'margin' else ''}"
        )
    if percent and math.isnan(mean):
        raise UsageError(f"{what} == {text!r}: a percentage needs a baseline; give a number")
    return number / 100 * abs(mean) if percent else number


def is_percentage(text: Limit) -> bool:
    return isinstance(text, str) and text.strip().endswith("%")


def margins(margin: Any, measures: list[str]) -> dict[str, Limit]:
    """The margin of each measure: one for all, or {measure: margin}, in which measures may be missing."""
    if isinstance(margin, Mapping):
        limits = limits_by_measure(margin, measures, "margin")
    else:
        limits = dict.fromkeys(measures, margin)
    for limit in limits.values():
        if amount(limit, "margin", 1.0) < 0:
            raise UsageError(f"margin == {limit!r}, must be 0 or above: the loss that is tolerated")
    return limits


def limits_by_measure(given: Mapping[Any, Any] | None, measures: list[str], what: str) -> dict[str, Any]:
    """{measure: limit} with the measures as `measures` spells them."""
    limits: dict[str, Any] = {}
    for measure, limit in (given or {}).items():
        name = label(measure)
        place = measures.index(name) if name in measures else same_measure(name, measures)
        if place is None:
            raise UsageError(f"{what} of {name}: not one of the measures {', '.join(measures)}")
        amount(limit, what, 1.0)
        limits[measures[place]] = limit
    return limits


# -- checks

WORST = 5
"""The number of topics that a failure names."""


@dataclass(frozen=True, eq=False)
class Compared:
    """A candidate and perhaps a baseline on their common topics, by one measure."""

    run: str
    measure: str
    topics: list[str]
    """The topics on which the candidate, and the baseline if there is one, has a score."""
    values: Array
    other: Array
    """The scores of the baseline; NaN without one."""
    baseline: str
    sign: float
    """−1 if lower scores are better."""
    note: str = ""

    @staticmethod
    def of(scores: Scores, run: str, measure: str, against: Scores | None, name: str) -> Compared:
        own = scores.select(measures=measure, runs=run)
        values = dict(zip(own.topics, own.values[0, 0].tolist(), strict=True))
        topics, note = list(values), ""
        other = dict.fromkeys(topics, math.nan)
        if against is not None:
            earlier = against.select(measures=measure)
            other = dict(zip(earlier.topics, earlier.values[0, 0].tolist(), strict=True))
            topics = [topic for topic in topics if topic in other]
            if not topics:
                raise UsageError(f"{run} and {name} have no topic in common")
            lost = len(set(values) ^ set(other))
            if lost:
                note = caution_note(f"{counted(lost, 'topic')} left out: not in both {run} and {name}")
        topics = [
            topic for topic in topics
            if not math.isnan(values[topic]) and (against is None or not math.isnan(other[topic]))
        ]  # fmt: skip
        if not topics:
            raise UsageError(f"{run}: no topic has a score by {measure}")
        return Compared(
            run, measure, topics, np.array([values[topic] for topic in topics]),
            np.array([other[topic] for topic in topics]), name, -1.0 if _lower_is_better(measure) else 1.0, note,
        )  # fmt: skip

    @property
    def gains(self) -> Array:
        """What the candidate gains on each topic against the baseline; below 0 is a loss."""
        return np.asarray(self.sign * (self.values - self.other))

    def worst(self, by: Array, most: int = WORST) -> tuple[TopicScore, ...]:
        """The topics with the lowest numbers, if these are below 0."""
        order = [place for place in np.argsort(by, kind="stable").tolist() if by[place] < 0][:most]
        return tuple(TopicScore(self.topics[i], float(self.values[i]), float(self.other[i])) for i in order)

    def facts(self) -> dict[str, Any]:
        return {"candidate": self.run, "measure": self.measure, "topics": len(self.topics)}


def _lower_is_better(measure: str) -> bool:
    from cranfield.measures.naming.parse import parse

    try:
        return parse(measure).properties.better == "lower"
    except UsageError:
        return False  # a column of a file of scores


def margin_check(
    pair: Compared, limit: Limit, observed: bool, test: PairTest, settings: TestSettings, same: bool = False
) -> GateCheck:
    """`same`: the candidate and the baseline have the same documents in the same order on every topic."""
    value, other = float(pair.values.mean()), float(pair.other.mean())
    margin, gains = amount(limit, "margin", other), pair.gains
    difference, n = float(gains.mean()), len(pair.topics)
    side = "below" if value < other else "above"
    shown = f"{value:.4f} is {abs(difference):.4f} {side} {pair.baseline} ({other:.4f})"
    shown = f"{value:.4f} equals {pair.baseline} on average" if difference == 0 else shown
    bound, p = math.nan, math.nan
    if observed:
        passed = difference >= -margin
        reason = f"{shown}, margin {margin:g}"
    elif same and not gains.any():
        passed, p, bound = True, 0.0, 0.0
        reason = f"{value:.4f}, the same ranking as {pair.baseline} on {_all(n)}; other topics were not seen"
    else:
        if n < 2:
            message = f"{pair.measure}: {counted(n, 'topic')}, but the rule non-inferior needs 2 or more"
            raise UsageError(f"{message}; use the rule observed")
        tolerated = _tolerated(pair, limit, margin)
        changed = int((gains != 0).sum())
        worst = float((tolerated + _worst_gain(pair)).min())
        above = mean_above(gains + tolerated, changed, worst, settings.alpha)
        p, bound = above.p, above.low - margin
        how = f"{test.name}, {shown_p(p)}, {counted(n, 'topic')}"
        if not above.few and test.name != "t":
            p, bound = _tested(pair, tolerated, margin, test, settings)
            how = f"{test.name}, {shown_p(p)}, {counted(n, 'topic')}"
        elif above.few:
            how = f"{shown_p(p)}, {changed} of {counted(n, 'topic')} changed, which are few: bounded by the worst loss"
        passed = p <= settings.alpha and difference >= -margin  # a test of ranks or wins may contradict the mean
        reason = f"{shown}; {_proof(p <= settings.alpha, difference, margin, bound, how)}"
        if not passed and difference >= -margin and above.topics is not None:
            reason += f"; not shown: about {above.topics:,} topics like these would do"
            reason += "" if changed or same else ", or runs with the same rankings"
        much = int((np.abs(gains) >= margin).sum())
        if passed and not above.few and few_changed(much, n):
            reason += f"; caution: {much} of {counted(n, 'topic')} changed by {margin:g} or more, which are few: "
            reason += "topics that lose much may be too rare to be among them"
    return GateCheck(
        condition="margin", limit=margin, passed=bool(passed), value=value, baseline=other, difference=difference,
        bound=bound, p=p, reason=reason, worst=pair.worst(gains), **pair.facts(),
    )  # fmt: skip


def _all(n: int) -> str:
    return "the only topic" if n == 1 else f"all {n:,} topics"


def _tolerated(pair: Compared, limit: Limit, margin: float) -> Array:
    """The loss that is tolerated on each topic: the margin, or the percentage of the baseline's score there.

    The baseline's mean varies from pair sample of topics to another, so a percentage of it is not a fixed number.
    """
    if not is_percentage(limit):
        return np.full(len(pair.topics), margin)
    return np.asarray(amount(limit, "margin", 1.0) * pair.other * np.sign(pair.other.mean()))


def _worst_gain(pair: Compared) -> float:
    return -worst_change(pair.measure, pair.values, pair.other)


def _tested(
    pair: Compared, tolerated: Array, margin: float, test: PairTest, settings: TestSettings
) -> tuple[float, float]:
    """The p-value of a loss of the margin or more, and the pair-sided bound of the difference."""
    shifted = np.column_stack([pair.gains + tolerated, np.zeros(len(pair.topics))])
    matrix = Matrix(shifted, tuple(pair.topics), (pair.run, pair.baseline), pair.measure)
    first, second = np.array([0], dtype=np.int64), np.array([1], dtype=np.int64)
    result = test.run(matrix, first, second, settings)
    return float(result.p[0]), float(result.low[0]) - margin


def _proof(ruled_out: bool, difference: float, margin: float, bound: float, how: str) -> str:
    if ruled_out and difference < -margin:
        return f"the mean loses more than the margin {margin:g}, though most topics do not ({how})"
    if ruled_out:
        return f"a loss above {margin:g} is ruled out ({how})"
    possible = "" if math.isnan(bound) else f", it may be {max(-bound, 0):.4f}"
    if difference < -margin:
        return f"the loss exceeds the margin {margin:g}{possible} ({how})"
    return f"a loss above {margin:g} is not ruled out{possible} ({how})"


def at_least_check(pair: Compared, limit: float) -> GateCheck:
    value = float(pair.values.mean())
    return GateCheck(
        condition="at least", limit=limit, passed=value >= limit, value=value,
        reason=f"{value:.4f}, must be at least {limit:g}", worst=pair.worst(pair.values - limit), **pair.facts(),
    )  # fmt: skip


def at_most_check(pair: Compared, limit: float) -> GateCheck:
    value = float(pair.values.mean())
    return GateCheck(
        condition="at most", limit=limit, passed=value <= limit, value=value,
        reason=f"{value:.4f}, must be at most {limit:g}", worst=pair.worst(limit - pair.values), **pair.facts(),
    )  # fmt: skip


def floor_check(pair: Compared, limit: float) -> GateCheck:
    below = int((pair.values < limit).sum())
    count = counted(below, "topic is", "topics are")
    reason = f"{count if below else 'no topic is'} below {limit:g}, of {len(pair.topics)}"
    return GateCheck(
        condition="no topic below", limit=limit, passed=not below, value=float(pair.values.min()), broken=below,
        reason=reason, worst=pair.worst(pair.values - limit), **pair.facts(),
    )  # fmt: skip


def drop_check(pair: Compared, limit: float) -> GateCheck:
    dropped = int((pair.gains < -limit).sum())
    count = counted(dropped, "topic loses", "topics lose")
    reason = (
        f"{count if dropped else 'no topic loses'} more than {limit:g} against {pair.baseline}, of {len(pair.topics)}"
    )
    return GateCheck(
        condition="no topic drop", limit=limit, passed=not dropped, value=float(pair.values.mean()),
        baseline=float(pair.other.mean()), difference=float(pair.gains.min()), broken=dropped, reason=reason,
        worst=pair.worst(pair.gains + limit), **pair.facts(),
    )  # fmt: skip

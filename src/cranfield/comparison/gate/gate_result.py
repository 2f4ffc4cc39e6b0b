"""The result of a gate: its checks, and why each passed or failed, for people and for build servers."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.record import Record, plain, table_of
from cranfield.table import Table
from cranfield.text import counted, one_line


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
        texts = ("candidate", "measure", "condition")
        numbers = ("limit", "value", "baseline", "difference", "bound", "p")
        return {
            **{name: np.array([getattr(check, name) for check in self.checks], dtype=object) for name in texts},
            **{name: np.array([getattr(check, name) for check in self.checks], dtype=np.float64) for name in numbers},
            "topics": np.array([check.topics for check in self.checks], dtype=np.int64),
            "passed": np.array([check.passed for check in self.checks], dtype=bool),
            "reason": np.array([check.reason for check in self.checks], dtype=object),
        }

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
        return "\n".join([*(check.line for check in ordered), *self.notes, self.summary()])

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

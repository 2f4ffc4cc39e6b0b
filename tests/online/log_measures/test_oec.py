"""The overall evaluation criterion: its file, its value, and its interval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield.errors import CranfieldError, UsageError
from cranfield.online.engines import open_engine
from cranfield.online.log_measures import measure_log, read_oec
from cranfield.online.log_measures.oec import oec_of
from tests.online.log_measures.literal_measures import LITERAL, Literal
from tests.online.log_measures.small_logs import Rows, log_of, random_rows

FILE = """
name = "shop"

[[parts]]
measure = "CTR@3"
weight = 0.7
low = 0.1
high = 0.3

[[parts]]
measure = "time-to-first-click"
weight = 0.2
low = 600
high = 0

[[parts]]
measure = "revenue"
weight = 0.1
"""


@pytest.fixture(scope="module")
def rows() -> Rows:
    return random_rows(seed=8, users=50)


@pytest.fixture(scope="module")
def log(rows: Rows) -> Any:
    return log_of(rows, open_engine("duckdb"))


def sums(rows: Rows, name: str) -> dict[str, np.ndarray]:
    log = Literal(rows)
    result = {user: np.zeros(2) for user in log.by_user}
    for row, above, below in LITERAL[name](log):
        result[row["user"]] += (above, below)
    return result


def test_the_value_is_the_weighted_sum_of_normalised_measures(tmp_path: Path, log: Any) -> None:
    path = tmp_path / "oec.toml"
    path.write_text(FILE)
    oec = read_oec(path)
    by_arm, whole = measure_log(log, oec=oec, by="arm"), measure_log(log, oec=oec)
    assert by_arm.measures == ("CTR@3", "time-to-first-click", "revenue", "shop")
    for measured, g in ((by_arm, 0), (by_arm, 1), (whole, 0)):
        ctr, seconds, revenue, value = measured.value[:, g]
        expected = 0.7 * (ctr - 0.1) / 0.2 + 0.2 * (seconds - 600) / -600 + 0.1 * revenue / whole.value[2, 0]
        assert value == pytest.approx(expected, rel=1e-12)


def test_the_interval_is_that_of_the_jackknife_over_users(rows: Rows, log: Any) -> None:
    """The delta method with all covariances: leaving out one user at a time gives nearly the same standard error."""
    parts = [{"measure": "CTR@3", "weight": 1, "low": 0, "high": 1}, {"measure": "clicks-per-query", "weight": 0.5,
             "low": 0, "high": 2}]  # fmt: skip
    measured = measure_log(log, oec=oec_of({"parts": parts}))
    first, second = (np.array(list(sums(rows, name).values())) for name in ("CTR@3", "clicks-per-query"))
    n = len(first)

    def value(kept: np.ndarray) -> float:
        a, b = first[kept].sum(axis=0), second[kept].sum(axis=0)
        return a[0] / a[1] + 0.5 * b[0] / b[1] / 2

    left = np.array([value(np.arange(n) != i) for i in range(n)])
    jackknife = np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum())
    assert measured.value[-1, 0] == pytest.approx(value(np.ones(n, dtype=bool)))
    assert measured.error[-1, 0] == pytest.approx(jackknife, rel=0.05)


def test_the_interval_of_a_single_part_is_that_of_the_measure(log: Any) -> None:
    measured = measure_log(log, oec=oec_of({"parts": [{"measure": "CTR", "weight": 2, "low": 0, "high": 4}]}))
    assert measured.error[1, 0] == pytest.approx(measured.error[0, 0] / 2, rel=1e-12)


def test_the_normalisation_is_stated_and_more_than_five_parts_are_warned_of(log: Any) -> None:
    names = ["CTR", "CTR@3", "abandonment", "click-RR", "dwell", "revenue"]
    notes = measure_log(log, oec=oec_of({"parts": [{"measure": name, "weight": 1} for name in names]})).notes
    assert any(note.startswith("OEC = 1 × CTR (divided by its value over the whole log)") for note in notes)
    assert any("OEC has 6 measures: with more than 5" in note for note in notes)
    five = measure_log(log, oec=oec_of({"parts": [{"measure": name, "weight": 1} for name in names[:5]]})).notes
    assert not any("with more than 5" in note for note in five)


def test_an_undefined_part_makes_the_sum_undefined(rows: Rows) -> None:
    events = [{**row, "dwell": None} for row in rows.events]
    log = log_of(Rows(rows.queries, rows.shown, events), open_engine("duckdb"))
    measured = measure_log(log, oec=oec_of({"parts": [{"measure": "dwell", "weight": 1, "low": 0, "high": 1}]}))
    assert np.isnan(measured.value).all()
    assert any("OEC: its measure dwell is undefined" in note for note in measured.notes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "no parts"),
        ({"part": []}, "no key 'part'; did you mean 'parts'"),
        ({"parts": [{"measure": "CTR"}]}, "part 1 has no weight"),
        ({"parts": [{"weight": 1}]}, "part 1 has no measure"),
        ({"parts": [{"measure": "CTR", "weight": "much"}]}, "weight == 'much', must be a number"),
        ({"parts": [{"measure": "CTR", "weight": 1, "low": 1}]}, "only one of low and high"),
        ({"parts": [{"measure": "CTR", "weight": 1, "low": 1, "high": 1}]}, "high == 1, must be other than low"),
        ({"parts": [{"measure": "CTR", "weight": 1}, {"measure": "ctr", "weight": 2}]}, "CTR appears twice"),
        ({"parts": [{"measure": "CTTR", "weight": 1}]}, "no online measure 'CTTR'"),
        ({"parts": ["CTR"]}, "parts must be tables"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason(content: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        oec_of(content)
    assert message in str(error.value)


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "oec.toml"
    path.write_text("name = ")
    with pytest.raises(CranfieldError, match=r"oec\.toml: not valid TOML"):
        read_oec(path)
    path.write_text("[[parts]]\nmeasure = 'CTR'\n")
    with pytest.raises(CranfieldError, match=r"oec\.toml: OEC: part 1 has no weight"):
        read_oec(path)
    with pytest.raises(CranfieldError, match="No such file"):
        read_oec(tmp_path / "none.toml")

"""Satisfaction learned from labels: its signals by a literal version, its quality, its mean over the log."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield.errors import CranfieldError, UsageError
from cranfield.online.engines import open_engine
from cranfield.online.engines.dialect import digest
from cranfield.online.log_measures import measure_log
from cranfield.online.log_measures.satisfaction import (
    area_under_curve,
    fit_logistic,
    learn_satisfaction,
)
from cranfield.online.log_measures.satisfaction import learned_satisfaction as module
from cranfield.online.log_measures.satisfaction.learned_satisfaction import SIGNALS
from tests.online.log_measures.literal_measures import Literal
from tests.online.log_measures.small_logs import Row, Rows, log_of, random_rows


@pytest.fixture(scope="module")
def rows() -> Rows:
    return random_rows(seed=11, users=80)


@pytest.fixture(scope="module")
def log(rows: Rows) -> Any:
    return log_of(rows, open_engine("duckdb"))


def literal_signals(log: Literal, query: Row) -> dict[str, float]:
    clicks, ranked = log.clicks(query), log.ranked(query)
    near = log.similarity(query)
    seconds = (min(click["time"] for click in clicks) - query["time"]) / 1e6 if clicks else 0.0
    return {
        "clicks": len(clicks),
        "abandoned": not clicks,
        "satisfied clicks": sum((click["dwell"] or 0) >= 30 for click in clicks),
        "log dwell": math.log1p(sum(click["dwell"] or 0 for click in clicks)),
        "first click RR": 1 / ranked[0]["position"] if ranked else 0,
        "last click RR": 1 / ranked[-1]["position"] if ranked else 0,
        "log seconds to click": math.log1p(seconds),
        "hovers": sum(event["action"] == "hover" for event in log.of_query[query["query_id"]]),
        "reformulated": near is not None and 0.3 <= near < 1,
        "last query": log.next_query(query) is None,
    }


def matrix(rows: Rows) -> np.ndarray:
    log = Literal(rows)
    return np.array([[float(literal_signals(log, query)[name]) for name in SIGNALS] for query in rows.queries])


def made_labels(rows: Rows) -> dict[str, int]:
    features = matrix(rows)
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(-(-0.5 + 0.5 * features[:, 3] - features[:, 8])))
    return {row["query_id"]: int(rng.random() < each) for row, each in zip(rows.queries, p, strict=True)}


def test_the_folds_do_not_depend_on_the_salt_of_the_run(rows: Rows) -> None:
    labels, areas = made_labels(rows), set()
    for salt in ("a", "b", "c"):
        parts = {
            field.name: [{**row, "user": digest(row["user"], salt)} if "user" in row else row for row in part]
            for field in fields(rows)
            for part in [getattr(rows, field.name)]
        }
        areas.add(learn_satisfaction(log_of(Rows(**parts), open_engine("duckdb")), labels).auc)
    assert len(areas) == 1


def test_the_fit_is_that_of_the_literal_signals(rows: Rows, log: Any) -> None:
    labels = made_labels(rows)
    result = learn_satisfaction(log, labels)
    users = np.array([row["user"] for row in rows.queries])
    expected = fit_logistic(matrix(rows), np.array(list(labels.values()), dtype=float), users)
    assert result.names == ("constant", *SIGNALS)
    assert result.fit.coefficients == pytest.approx(expected.coefficients, rel=1e-5, abs=1e-6)
    assert result.fit.errors == pytest.approx(expected.errors, rel=1e-5)
    assert (result.queries, result.users) == (len(labels), 80)


@pytest.mark.xdist_group("spark")
def test_spark_learns_the_same(rows: Rows, log: Any, spark: Any) -> None:
    labels = made_labels(rows)
    first, second = learn_satisfaction(log, labels), learn_satisfaction(log_of(rows, spark), labels)
    assert second.fit.coefficients == pytest.approx(first.fit.coefficients, rel=1e-6)
    assert second.auc == first.auc


def test_predictions_for_all_queries_are_a_measure_of_the_log(rows: Rows, log: Any) -> None:
    result = learn_satisfaction(log, made_labels(rows))
    measured = measure_log(log, [result.measure(), "abandonment"])
    assert measured.measures == ("satisfaction", "abandonment")
    assert measured.value[0, 0] == pytest.approx(result.fit.predict(matrix(rows)).mean(), rel=1e-9)


def test_cross_validation_holds_out_users(rows: Rows, log: Any) -> None:
    """With labels that are a coin per user, signals say nothing: the area is near 1/2, and not above by leakage."""
    rng = np.random.default_rng(5)
    coin = {row["user"]: int(rng.random() < 0.5) for row in rows.queries}
    labels = {row["query_id"]: coin[row["user"]] for row in rows.queries}
    result = learn_satisfaction(log, labels, ridge=1.0)
    assert 0.35 < result.auc < 0.62
    assert result.curve.n.sum() == len(labels)


def test_good_signals_have_a_high_area_and_beat_the_base_rate(rows: Rows, log: Any) -> None:
    labels = made_labels(rows)
    result = learn_satisfaction(log, labels)
    y = np.array(list(labels.values()))
    assert result.auc > 0.6
    assert result.curve.brier < y.mean() * (1 - y.mean())
    assert result.auc < area_under_curve(result.fit.predict(matrix(rows)), y) + 0.02


def test_labels_come_from_a_file_or_a_column(rows: Rows, log: Any, tmp_path: Path) -> None:
    labels = made_labels(rows)
    path = tmp_path / "labels.csv"
    path.write_text("query_id,label\n" + "".join(f"{q},{'yes' if v else 'no'}\n" for q, v in labels.items()))
    from_file = learn_satisfaction(log, str(path))
    assert from_file.fit.coefficients == pytest.approx(learn_satisfaction(log, labels).fit.coefficients)
    queries = [{**row, "device": str(labels[row["query_id"]])} for row in rows.queries]
    column = learn_satisfaction(log_of(Rows(queries, rows.shown, rows.events), open_engine("duckdb")), "device")
    assert column.fit.coefficients == pytest.approx(from_file.fit.coefficients)


def test_labels_of_unknown_queries_are_counted(rows: Rows, log: Any) -> None:
    result = learn_satisfaction(log, {**made_labels(rows), "nobody": 1, "asked": 0})
    assert "2 labels of queries that the log does not have are left out" in result.notes


def test_of_very_many_labels_a_sample_is_used(rows: Rows, log: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sys.modules[module.__name__], "MOST_LABELS", 150)
    result = learn_satisfaction(log, made_labels(rows), ridge=1.0)
    assert 100 < result.queries < 200
    assert any("a sample of about 150 is used" in note for note in result.notes)


def test_signals_can_be_chosen(rows: Rows, log: Any) -> None:
    assert learn_satisfaction(log, made_labels(rows), signals=["clicks"]).names == ("constant", "clicks")
    with pytest.raises(UsageError, match="no signal 'click'; did you mean 'clicks'"):
        learn_satisfaction(log, made_labels(rows), signals=["click"])


def test_wrong_labels_are_refused(rows: Rows, log: Any, tmp_path: Path) -> None:
    labels: dict[str, Any] = dict(made_labels(rows))
    with pytest.raises(CranfieldError, match="'maybe' as a label, expected 0 or 1"):
        learn_satisfaction(log, {**labels, next(iter(labels)): "maybe"})
    with pytest.raises(UsageError, match="3 labelled queries, at least 30 are needed"):
        learn_satisfaction(log, dict(list(labels.items())[:3]))
    path = tmp_path / "labels.csv"
    path.write_text("query_id,grade\nq1,1\n")
    with pytest.raises(UsageError, match="labels have no column 'label'; it has 'query_id', 'grade'"):
        learn_satisfaction(log, str(path))
    path.write_text("query_id,label\nq1,1\nq1,0\n")
    with pytest.raises(UsageError, match="1 label of queries that already have one"):
        learn_satisfaction(log, str(path))
    with pytest.raises(UsageError, match="folds == 1, must be a whole number, 2 or more"):
        learn_satisfaction(log, labels, folds=1)


@pytest.mark.parametrize("lines", ["", "q1,\nq2,\n"])
def test_a_file_without_labels_is_refused(log: Any, tmp_path: Path, lines: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f"query_id,label\n{lines}")
    with pytest.raises(UsageError, match="0 labelled queries, at least 30 are needed"):
        learn_satisfaction(log, str(path))


def test_ids_of_labels_keep_their_leading_zeros(rows: Rows, tmp_path: Path) -> None:
    digits = {query["query_id"]: query["query_id"].removeprefix("q") for query in rows.queries}  # q00012 is 00012
    parts = [
        [{**row, "query_id": digits.get(row["query_id"])} for row in part]
        for part in (rows.queries, rows.shown, rows.events)
    ]
    path = tmp_path / "labels.csv"
    labels = made_labels(rows)
    path.write_text("query_id,label\n" + "".join(f"{digits[query]},{label}\n" for query, label in labels.items()))
    found = learn_satisfaction(log_of(Rows(*parts), open_engine("duckdb")), str(path))
    assert found.queries == len(labels)

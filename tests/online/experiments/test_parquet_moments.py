"""Moments straight from Parquet files are those of the engine, and odd tables are left to the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from cranfield import _core
from cranfield.online.engines import Engine
from cranfield.online.experiments import analyse
from cranfield.online.experiments.ab_analysis import parquet_table
from cranfield.online.moments import moments_of_sets

SETS = {"revenue": ("revenue", "before"), "ratio": ("clicks", "shown")}


def table(n: int = 5_000, **more: Any) -> pyarrow.Table:
    rng = np.random.default_rng(3)
    columns = {
        "arm": rng.choice(["A", "B", "C"], n),
        "revenue": 1e6 + rng.normal(size=n),  # large numbers that differ little
        "before": rng.exponential(size=n).astype(np.float32),
        "clicks": rng.integers(0, 5, n),
        "shown": rng.integers(1, 9, n).astype(np.int16),
    }
    return pyarrow.table(columns | more)


def test_moments_are_those_of_the_engine(tmp_path: Path, duck: Engine) -> None:
    for part in range(2):
        parquet.write_table(table(5_000 + part), tmp_path / f"{part}.parquet", row_group_size=1_500)
    files = parquet_table(tmp_path)
    assert files is not None
    ours = files.moments("arm", SETS)
    assert ours is not None
    theirs = moments_of_sets(duck.read(tmp_path), SETS, ["arm"])
    for label in SETS:
        assert ours[label].groups == theirs[label].groups
        assert ours[label].n.tolist() == theirs[label].n.tolist()
        assert ours[label].mean == pytest.approx(theirs[label].mean, rel=1e-12)
        assert ours[label].cov == pytest.approx(theirs[label].cov, rel=1e-9)


def test_a_value_that_is_missing_is_left_to_the_engine(tmp_path: Path) -> None:
    path, n = tmp_path / "t.parquet", 50
    odd: dict[str, Any] = {
        "arm": ["A", None] * (n // 2), "revenue": [1.0, float("nan")] * (n // 2), "clicks": [1, None] * (n // 2),
        "before": ["x"] * n,
    }  # fmt: skip
    for name, values in odd.items():
        parquet.write_table(table(n, **{name: pyarrow.array(values)}), path)
        files = parquet_table(path)
        assert files is not None
        assert files.moments("arm", SETS) is None, name
    parquet.write_table(table(n, revenue=pyarrow.array([1.0, 2.0, None, 4.0, 5.5] * (n // 5))), path)
    assert int(analyse(path, ["revenue"]).ratio.users.sum()) == n


def test_group_sums_by_hand_and_with_any_number_of_threads() -> None:
    group = np.array([0, 1, 0], np.int32)
    columns = [np.array([1.0, 2.0, 3.0]), np.array([10, 20, 30])]
    pair = np.array([0, 1], np.int32), np.array([1, 1], np.int32)
    sums, products = _core.group_sums(group, 2, columns, np.array([1.0, 0.0]), *pair, 1)
    assert sums.tolist() == [0 + 2, 10 + 30, 1, 20]
    assert products.tolist() == [0 * 10 + 2 * 30, 100 + 900, 1 * 20, 400]
    rng = np.random.default_rng(1)
    many, values = rng.integers(0, 3, 100_000).astype(np.int32), rng.normal(size=100_000)
    first = np.zeros(1, np.int32)
    results = [_core.group_sums(many, 3, [values], np.zeros(1), first, first, threads) for threads in (1, 2, 5)]
    assert results[0][0] == pytest.approx(np.bincount(many, values), rel=1e-12)
    for again in results[1:]:
        assert again[0].tolist() == results[0][0].tolist()
        assert again[1].tolist() == results[0][1].tolist()
    with pytest.raises(ValueError, match="out of range"):
        _core.group_sums(group, 1, columns, np.zeros(2), *pair, 1)
    with pytest.raises(ValueError, match="another length"):
        _core.group_sums(group, 2, [values], np.zeros(1), first, first, 1)

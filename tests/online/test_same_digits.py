"""The same rows give the same digits: in whatever order they come, and whatever thread adds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from cranfield.online.engines.duckdb_engine import DuckDBEngine
from cranfield.online.logs import write_demo
from tests.cli.conftest import in_process

LOG = "log"
VERBS = {
    "log measures": ["log", "measures", LOG],
    "log documents": ["log", "documents", LOG, "--least", "2"],
    "ab analyse": ["ab", "analyse", LOG, "-m", "CTR,dwell,click-RR", "--segment", "device", "--day", "day"],
    "ab analyse bootstrap": ["ab", "analyse", LOG, "-m", "dwell", "--method", "bootstrap"],
    "ab analyse users": ["ab", "analyse", "users", "--unit", "user", "--metric", "value", "--metric", "value/time"],
    "ab aa": ["ab", "aa", LOG, "-m", "dwell", "--splits", "10"],
    "ab power": ["ab", "power", "users", "--unit", "user", "--metric", "value", "--effect", "0.1"],
    "clicks calibrate": ["clicks", "calibrate", LOG, "--measure", "RBP"],
    "clicks fit": ["clicks", "fit", LOG, "--model", "PBM"],
}
PARTS = 5


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two folders with the same log, whose rows are in other files and in another order."""
    made = tmp_path_factory.mktemp("demo")
    write_demo(made / LOG, layout="tables", users=40, days=2, seed=5)
    generator = np.random.default_rng(1)
    users = pyarrow.table({
        "user": [f"u{n % 90}" for n in range(400)], "arm": [("A", "B")[n % 90 % 2] for n in range(400)],
        "value": generator.lognormal(size=400), "time": generator.gamma(2.0, size=400),
    })  # fmt: skip
    tables = {
        f"{LOG}/impressions": pyarrow.parquet.read_table(made / LOG / "impressions.parquet"),
        f"{LOG}/clicks": pyarrow.parquet.read_table(made / LOG / "clicks.parquet"),
        "users": users,
    }
    folders = []
    for name in ("first", "second"):
        folder = made / name
        for path, table in tables.items():
            (folder / path).mkdir(parents=True)
            rows = generator.permutation(table.num_rows)
            for n, part in enumerate(np.array_split(rows, PARTS)):
                pyarrow.parquet.write_table(table.take(part), folder / path / f"part{n}.parquet")
        (folder / LOG / "columns.toml").write_text((made / LOG / "columns.toml").read_text())
        folders.append(folder)
    return folders[0], folders[1]


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_prints_the_same_digits_for_other_orders_and_threads(
    verb: str, orders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    initialise = DuckDBEngine.__init__
    printed = []
    for folder, threads in zip(orders, (1, 4), strict=True):

        def with_threads(self: Any, *more: Any, threads: int = threads, **options: Any) -> None:
            initialise(self, *more, **options)
            self.connection.execute(f"SET threads = {threads}")

        monkeypatch.setattr(DuckDBEngine, "__init__", with_threads)
        monkeypatch.chdir(folder)
        result = in_process(*VERBS[verb], "--format", "json", "--quiet")
        assert result.code == 0, result.err
        printed.append(result.out.splitlines())
    assert printed[0] == printed[1]


def test_sums_and_means_do_not_depend_on_the_order_of_rows() -> None:
    """And they are those that `math.fsum` computes without rounding, to the last digit."""
    import math

    generator = np.random.default_rng(2)
    kinds = {
        "times": generator.lognormal(4, 2, 20_000), "shares": generator.random(20_000),
        "squares": generator.lognormal(8, 4, 20_000), "small": generator.random(20_000) * 1e-3,
        "signs": generator.normal(0, 1e6, 20_000), "counts": generator.poisson(3, 20_000).astype(float),
    }  # fmt: skip
    with DuckDBEngine() as engine:
        for name, values in kinds.items():
            found = set()
            for _ in range(5):
                rows = pyarrow.table({"x": generator.permutation(values)})
                engine.connection.register("t", rows)
                found |= set(engine.connection.execute("SELECT sum(x), avg(x) FROM t").fetchall())
            (only,) = found
            exact = math.fsum(values)
            assert only == (pytest.approx(exact, rel=2e-16), pytest.approx(exact / 20_000, rel=4e-16)), name


def test_sums_of_whole_numbers_stay_whole() -> None:
    with DuckDBEngine() as engine:
        row = engine.connection.execute("SELECT sum(i), sum(i > 3), avg(i), sum(NULL::DOUBLE) FROM range(10) t(i)")
        assert row.fetchall() == [(45, 6, 4.5, None)]
        running = engine.connection.execute("SELECT sum(i) OVER (ORDER BY i) FROM range(4) t(i)")
        assert running.fetchall() == [(0,), (1,), (3,), (6,)]


@pytest.mark.parametrize(
    ("values", "total"), [([np.inf, 1.0], "nan"), ([1e300, 1.0], 1e300), ([1e-300, 2e-300], 3e-300)]
)
def test_sums_of_extreme_numbers(values: list[float], total: Any) -> None:
    with DuckDBEngine() as engine:
        engine.connection.register("t", pyarrow.table({"x": values}))
        ((found,),) = engine.connection.execute("SELECT sum(x) FROM t").fetchall()
        assert found == pytest.approx(float(total), rel=1e-15, nan_ok=True)

"""An A/B test with a million users and six metrics, from Parquet to p-values, beside tea-tasting.

`python -m bench.experiments NAME FOLDER` runs one contestant in its own process, and prints seconds and bytes as JSON.
The time goes from opening the file to the results; imports are not included, and every contestant analyses a small
table first. tea-tasting is run in several ways, as it reads frames of several libraries.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench.peers import peak_bytes

USERS = 1_000_000
METRICS = ("revenue", "orders", "seconds", "pages", "clicks/impressions", "orders/clicks")

Timed = Callable[[], Any]


def table(folder: Path, users: int = USERS) -> Path:
    """A Parquet file with a row per user; made once."""
    path = folder / f"experiment_{users}.parquet"
    if not path.exists():
        import pyarrow
        import pyarrow.parquet

        rng = np.random.default_rng(0)
        activity = rng.gamma(2.0, 1.0, users)
        impressions = rng.poisson(5 * activity) + 1
        columns = {
            "arm": rng.choice(["A", "B"], users),
            "revenue": activity * rng.exponential(2.0, users),
            "orders": rng.poisson(activity / 2),
            "clicks": rng.binomial(impressions, 0.3) + 1,
            "impressions": impressions,
            "seconds": rng.lognormal(4, 1, users),
            "pages": rng.poisson(3 * activity),
            "revenue_before": activity * rng.exponential(2.0, users),
        }
        folder.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def ours(folder: Path) -> Timed:
    from cranfield.online.experiments.ab_analysis import analyse

    def work(path: Path) -> list[float]:
        result = analyse(str(path), METRICS, covariates=["revenue=revenue_before"])
        return [row.effect.p for row in result.rows]

    work(table(folder, 1_000))
    return lambda: work(table(folder))


def tea(read: Callable[[Path], Any]) -> Callable[[Path], Timed]:
    def prepared(folder: Path) -> Timed:
        import tea_tasting as tt

        experiment = tt.Experiment(
            {
                "revenue": tt.Mean("revenue", "revenue_before"),
                "orders": tt.Mean("orders"),
                "seconds": tt.Mean("seconds"),
                "pages": tt.Mean("pages"),
                "clicks/impressions": tt.RatioOfMeans("clicks", "impressions"),
                "orders/clicks": tt.RatioOfMeans("orders", "clicks"),
            },
            variant="arm",
        )

        def work(path: Path) -> list[float]:
            result: Any = experiment.analyze(read(path), control="A")
            return [result[name].pvalue for name in METRICS]

        work(table(folder, 1_000))
        return lambda: work(table(folder))

    return prepared


def arrow(path: Path) -> Any:
    import pyarrow.parquet

    return pyarrow.parquet.read_table(path)


def polars(path: Path) -> Any:
    import polars

    return polars.read_parquet(path)


def lazy_polars(path: Path) -> Any:
    import polars

    return polars.scan_parquet(path)


def pandas(path: Path) -> Any:
    import pandas

    return pandas.read_parquet(path)


def duckdb(path: Path) -> Any:
    import duckdb

    return duckdb.read_parquet(str(path))


CRANFIELD = "cranfield"
WAYS = {"Arrow": arrow, "polars": polars, "lazy polars": lazy_polars, "pandas": pandas, "DuckDB": duckdb}
CONTESTANTS: dict[str, Callable[[Path], Timed]] = {
    CRANFIELD: ours,
    **{f"tea-tasting, {name}": tea(read) for name, read in WAYS.items()},
}


def main(name: str, folder: str) -> None:
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    timed = CONTESTANTS[name](Path(folder))
    ready = time.perf_counter()
    values = timed()
    done = time.perf_counter()
    facts = {"seconds": done - ready, "with_imports": done - began, "spent": done - began, "peak": peak_bytes()}
    print(json.dumps({**facts, "values": values}))


if __name__ == "__main__":
    main(*sys.argv[1:])

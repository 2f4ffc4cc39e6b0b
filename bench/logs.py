"""Logs of live traffic: writing a simulated log, and its sessions, by cranfield and by bare SQL.

`python -m bench.logs NAME FOLDER` runs one contestant in its own process, and prints seconds, bytes and the answer as
JSON. The time goes from the Parquet files to the numbers; imports and the making of data are not included. Our time
includes reading: finding the columns, the checks of times and positions, and hashing all users.
"""

import json
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.peers import peak_bytes

Timed = Callable[[], Any]

LARGE_USERS, SMALL_USERS, DAYS = 400_000, 40_000, 14
"""About 10 million and 1 million queries and events."""
LIMIT = "300MB"
"""Less than half of the memory that the queries and events need."""
BARE_SQL = """
WITH activity AS (
    SELECT client_id AS u, epoch_us(timestamp::TIMESTAMPTZ) AS t, 0 AS kind FROM '{folder}/ubi_queries.parquet'
    UNION ALL
    SELECT client_id, epoch_us(timestamp::TIMESTAMPTZ), 1 FROM '{folder}/ubi_events.parquet'
), gaps AS (
    SELECT *, CASE WHEN t - lag(t) OVER (PARTITION BY u ORDER BY t) <= 1800000000 THEN 0 ELSE 1 END AS begins
    FROM activity
), numbered AS (
    SELECT *, sum(begins) OVER (PARTITION BY u ORDER BY t) AS n FROM gaps
), sessions AS (
    SELECT max(t) - min(t) AS length, count(*) FILTER (kind = 0) AS queries FROM numbered GROUP BY u, n
)
SELECT count(*), sum(length), sum(queries) FROM sessions
"""


def log_of(folder: Path, users: int) -> Path:
    """The simulated log of a number of users, made if it is not there."""
    path = folder / f"log-{users}"
    if not (path / "truth.json").exists():
        from cranfield.online.logs import write_demo

        write_demo(path, users=users, days=DAYS, seed=1, layout="ubi", files="parquet")
    return path


def found(path: Path, **engine: Any) -> list[float]:
    """Sessions, minutes and queries, by cranfield."""
    from cranfield.online.engines import open_engine
    from cranfield.online.logs import read_log
    from cranfield.online.logs.sessions import summarise_sessions

    with open_engine(**engine) as opened:
        summary = summarise_sessions(read_log(path, engine=opened, salt="bench"), by="silence")
    n = summary.sessions
    return [n, round(summary.minutes * n, 3), round(summary.queries_per_session * n)]


def ours(folder: Path) -> Timed:
    path = log_of(folder, LARGE_USERS)
    found(log_of(folder, 100))  # imports
    return lambda: found(path)


def limited(folder: Path) -> Timed:
    path = log_of(folder, LARGE_USERS)
    found(log_of(folder, 100))
    return lambda: found(path, memory=LIMIT)


def bare(folder: Path) -> Timed:
    import duckdb

    path = log_of(folder, LARGE_USERS)

    def work() -> list[float]:
        n, length, queries = duckdb.connect().execute(BARE_SQL.format(folder=path)).fetchall()[0]
        return [n, round(length / 60e6, 3), queries]

    return work


def rounded(values: dict[str, float]) -> dict[str, str]:
    """Values to ten digits: sums in another order differ in the last ones."""
    return {name: f"{value:.10g}" for name, value in sorted(values.items())}


def measured(path: Path) -> dict[str, str]:
    """All ranking measures and all measures of sessions, with their intervals."""
    from cranfield.online.engines import open_engine
    from cranfield.online.log_measures import ONLINE_MEASURES, measure_log
    from cranfield.online.logs import read_log

    names = [name for name, measure in ONLINE_MEASURES.items() if measure.level in ("ranking", "session")]
    with open_engine() as opened:
        log = read_log(path, engine=opened, salt="bench")
        result = measure_log(log, [*names, "sessions-per-user"], sessions="silence")
    return rounded(dict(zip(result.measures, result.value[:, 0].tolist(), strict=True)))


def measures(folder: Path) -> Timed:
    path = log_of(folder, LARGE_USERS)
    measured(log_of(folder, 100))  # imports
    return lambda: measured(path)


def bare_measures(folder: Path) -> Timed:
    import duckdb

    path, sql = log_of(folder, LARGE_USERS), Path(__file__).with_name("log_measures.sql").read_text()

    def work() -> dict[str, str]:
        result = duckdb.connect().execute(sql.format(folder=path))
        names = [column[0] for column in result.description]
        return rounded(dict(zip(names, result.fetchall()[0], strict=True)))

    return work


def small(folder: Path) -> Timed:
    path = log_of(folder, SMALL_USERS)
    found(log_of(folder, 100))
    return lambda: found(path)


def spark(folder: Path) -> Timed:
    path = log_of(folder, SMALL_USERS)
    found(log_of(folder, 100))
    return lambda: found(path, engine="spark", memory="2GB")


def writing(folder: Path) -> Timed:
    from cranfield.online.logs import write_demo

    target = Path(tempfile.mkdtemp())
    write_demo(target, users=10)

    def work() -> None:
        try:
            write_demo(target, users=LARGE_USERS, days=DAYS, seed=1, layout="ubi", files="parquet")
        finally:
            shutil.rmtree(target)

    return work


OURS = "sessions of 10 million queries and events, cranfield"
MEASURES = "all ranking and session measures of 10 million queries and events, cranfield"
BARE = "sessions of 10 million queries and events, bare SQL"
BARE_MEASURES = "all ranking and session measures of 10 million queries and events, bare SQL"
LIMITED = f"the same with {LIMIT} of memory, cranfield"
SMALL = "sessions of 1 million queries and events, DuckDB"
SPARK = "sessions of 1 million queries and events, Spark (with its start)"
WRITING = "writing the log of 10 million"

CONTESTANTS: dict[str, Callable[[Path], Timed]] = {
    OURS: ours, MEASURES: measures, BARE: bare, BARE_MEASURES: bare_measures, LIMITED: limited, SMALL: small,
    SPARK: spark, WRITING: writing,
}  # fmt: skip
SAME = ((OURS, BARE), (MEASURES, BARE_MEASURES), (OURS, LIMITED), (SMALL, SPARK))
"""Contestants that must give the same answer."""


def main(name: str, folder: str) -> None:
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    timed = CONTESTANTS[name](Path(folder))
    ready = time.perf_counter()
    answer = timed()
    done = time.perf_counter()
    times = {"seconds": done - ready, "with_imports": done - began, "spent": done - began}
    print(json.dumps({**times, "peak": peak_bytes(), "answer": answer}))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Click models, from a Parquet file with a row per impression; and off-policy estimates from a million decisions.

`python -m bench.clicks NAME FOLDER` runs one contestant in its own process, and prints seconds and bytes as JSON. The
time goes from opening the file to the parameters after 50 EM steps, without intervals; imports are not included. For
the contestants of counts, bytes are those of the counts alone.
"""

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from bench.peers import peak_bytes

RANKS, QUERIES, DOCS, LISTS = 10, 20_000, 15, 4
"""Ranks of a page, queries, documents of a query, and different lists of a query."""
MANY, FEW = 1_000_000, 250_000
STEPS = 50
LIMITS = {"PBM": 3.0, "UBM": 6.0, "DCM": 6.0, "DBN": 30.0, "CCM": 30.0}
"""Seconds for a million sessions."""
COUNTS_MANY, COUNTS_FEW = (f"counts of PBM, {size:,} sessions, 500 queries" for size in (MANY, FEW))
OFF_POLICY = "off-policy"
OFF_POLICY_LIMIT = 5.0
"""Seconds for all estimates of a new policy, from a million logged decisions."""
CONTESTANTS = (*LIMITS, COUNTS_MANY, COUNTS_FEW, OFF_POLICY)


def clicks_log(folder: Path, sessions: int, queries: int = QUERIES) -> Path:
    """A log: popular and rare queries, four lists of each, clicks by position and document."""
    path = folder / f"clicks-{sessions}-{queries}.parquet"
    if path.exists():
        return path
    import pyarrow
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng([17, queries])
    lists = np.argsort(rng.random((queries * LISTS, DOCS)), axis=1)[:, :RANKS]
    popular = 1 / np.arange(1, queries + 1) ** 0.9
    attractive, examined = rng.beta(1, 2, (queries, DOCS)), 1 / np.arange(1, RANKS + 1) ** 0.7
    query_names = pyarrow.array([f"query {number}" for number in range(queries)])
    doc_names = pyarrow.array([f"doc-{number}" for number in range(queries * DOCS)])
    writer, partial = None, path.with_suffix(".partial")
    for first in range(0, sessions, 100_000):
        size = min(100_000, sessions - first)
        query = rng.choice(queries, size, p=popular / popular.sum())
        docs = lists[query * LISTS + rng.integers(0, LISTS, size)]
        clicked = rng.random((size, RANKS)) < attractive[query[:, None], docs] * examined
        table = pyarrow.table({
            "session": pyarrow.array(np.repeat(np.char.add("s", np.arange(first, first + size).astype(str)), RANKS)),
            "query": query_names.take(pyarrow.array(np.repeat(query, RANKS))),
            "position": np.tile(np.arange(1, RANKS + 1), size),
            "doc": doc_names.take(pyarrow.array((query[:, None] * DOCS + docs).ravel())),
            "clicked": clicked.ravel().astype(np.int8),
        })  # fmt: skip
        writer = writer or parquet.ParquetWriter(partial, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    partial.rename(path)
    return path


def decisions(folder: Path) -> tuple[Path, Path]:
    """A million logged decisions: 20,000 contexts with 5 actions, 100,000 users; and a new policy as a table."""
    paths = folder / "decisions.parquet", folder / "new-policy.parquet"
    if all(path.exists() for path in paths):
        return paths
    import pyarrow
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(23)
    logged, new = (rng.dirichlet(np.full(5, 3.0), QUERIES) for _ in range(2))
    reward = rng.beta(1, 3, (QUERIES, 5))
    context = rng.integers(0, QUERIES, MANY)
    action = (rng.random((MANY, 1)) > np.cumsum(logged, axis=1)[context, :4]).sum(axis=1)
    names, actions = np.char.add("q", np.arange(QUERIES).astype(str)), np.char.add("a", np.arange(5).astype(str))
    table = {
        "user": np.char.add("u", rng.integers(0, 100_000, MANY).astype(str)), "context": names[context],
        "action": actions[action], "reward": (rng.random(MANY) < reward[context, action]).astype(np.float64),
        "propensity": logged[context, action],
    }  # fmt: skip
    policy = {"context": np.repeat(names, 5), "action": np.tile(actions, QUERIES), "probability": new.ravel()}
    for path, columns in zip(paths, (table, policy), strict=True):
        parquet.write_table(pyarrow.table(columns), path)
    return paths


def main(name: str, folder: str) -> None:
    import duckdb  # noqa: F401
    import narwhals  # noqa: F401
    import pyarrow.compute  # noqa: F401
    import scipy.special  # noqa: F401

    from cranfield.online.clicks import CLICK_MODELS, fit_clicks
    from cranfield.online.clicks.click_rows import click_rows, read_cells

    warnings.simplefilter("ignore")
    list(CLICK_MODELS)  # imports all models
    if name in LIMITS:
        path = str(clicks_log(Path(folder), MANY))
        began = time.perf_counter()
        fit_clicks(path, name, steps=STEPS, tolerance=0.0, intervals=False)
        seconds, size = time.perf_counter() - began, peak_bytes()
    elif name == OFF_POLICY:
        from cranfield.online.policies import off_policy

        log, policy = map(str, decisions(Path(folder)))
        began = time.perf_counter()
        off_policy(log, policy)
        seconds, size = time.perf_counter() - began, peak_bytes()
    else:
        path = str(clicks_log(Path(folder), MANY if name == COUNTS_MANY else FEW, 500))
        began = time.perf_counter()
        cells = read_cells(click_rows(path))
        seconds = time.perf_counter() - began
        arrays: list[Any] = [cells.pair, cells.rank, cells.shown, cells.clicked, cells.names.query, cells.names.doc]
        size = sum(array.nbytes for array in arrays)
    print(json.dumps({"seconds": seconds, "with_imports": seconds, "spent": seconds, "peak": size}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

"""Engines for the tests of live traffic and of tables; all tests of a worker share one session of Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cranfield.online.engines import Engine

SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
"""Settings for tables of a few hundred rows: one task per step, and no Java is compiled for a query that runs once."""

QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java compiles once and quickly: most of the time of a short run went into compiling again, for speed later."""


@pytest.fixture(scope="session")
def spark() -> Iterator[Engine]:
    """Spark on this machine; the tests that use it run on one worker: `pytest.mark.xdist_group("spark")`."""
    from cranfield.online.engines import open_engine

    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("Java does not start beside the address sanitizer")
    options = os.environ.get("SPARK_SUBMIT_OPTS", "")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{options} {QUICK_START}"  # read when Java starts
    with open_engine("local[2]", memory="1GB") as engine:
        os.environ["SPARK_SUBMIT_OPTS"] = options
        for name, value in SMALL.items():
            engine.session.conf.set(name, value)  # type: ignore[attr-defined]
        yield engine


@pytest.fixture
def duck() -> Iterator[Engine]:
    from cranfield.online.engines import open_engine

    with open_engine("duckdb", memory="1GB", threads=2) as engine:
        yield engine

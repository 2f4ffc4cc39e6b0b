"""Engines for the tests of live traffic."""

from collections.abc import Iterator

import pytest

from cranfield.online.engines import Engine, open_engine


@pytest.fixture(scope="session")
def spark() -> Iterator[Engine]:
    """Spark on this machine; the tests that use it run on one worker: `pytest.mark.xdist_group("spark")`."""
    with open_engine("local[2]", memory="1GB") as engine:
        yield engine


@pytest.fixture
def duck() -> Iterator[Engine]:
    with open_engine("duckdb", memory="1GB", threads=2) as engine:
        yield engine

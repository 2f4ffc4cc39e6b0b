"""A store in SQLite and one in PostgreSQL, behind the same tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from glob import glob
from pathlib import Path

import pytest

from cranfield.building.serve.project_parts import PoolEntry
from cranfield.building.serve.store import Store
from cranfield.collection.topics import Topic, Topics

TOPICS = Topics(
    [
        Topic("1", "wing flutter", "What causes flutter?", "Notes on flutter of wings are relevant."),
        Topic("2", "boundary layer"),
    ]
)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a PostgreSQL server that runs for these tests only, on a socket in a folder of its own."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: no test with PostgreSQL")
    found = sorted(glob("/usr/lib/postgresql/*/bin")) or [
        str(Path(path).parent) for path in [shutil.which("initdb")] if path
    ]
    if not found:
        pytest.skip("PostgreSQL is not installed (initdb not found): apt-get install postgresql")
    programs = Path(found[-1])
    as_user: dict[str, str] = {}
    folder = tempfile.mkdtemp(prefix="cranfield-postgres-")
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        import pwd

        try:
            owner = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        as_user = {"user": "postgres"}
    data = f"{folder}/data"

    def run(*command: str) -> None:
        subprocess.run(command, check=True, cwd=folder, capture_output=True, timeout=120, **as_user)  # type: ignore[call-overload]

    try:
        run(str(programs / "initdb"), "-D", data, "-A", "trust", "-U", "judge", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder}"
        run(str(programs / "pg_ctl"), "-D", data, "-o", options, "-l", f"{folder}/log", "-w", "start")
        try:
            yield f"postgresql://judge@/postgres?host={folder}"
        finally:
            run(str(programs / "pg_ctl"), "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The path or URL of an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "judgments.db")
    import psycopg

    url = request.getfixturevalue("postgres_url")
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return str(url).replace("/postgres?", f"/{name}?")


@pytest.fixture
def store(where: str) -> Iterator[Store]:
    """A store with two topics and ten documents each to judge."""
    with Store(where) as made:
        fill(made)
        yield made


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[Store]:
    """As `store`, in SQLite."""
    with Store(str(tmp_path / "judgments.db")) as made:
        fill(made)
        yield made


def fill(store: Store, docs: int = 10) -> None:
    from cranfield.building.serve.accounts import add_account

    store.add_topics(TOPICS)
    store.add_pool(
        PoolEntry(topic, f"d{number}", {"run": "secret-run", "rank": number})
        for topic in TOPICS
        for number in range(docs)
    )
    store.set_settings(store.settings().changed(order="pool"))  # so that tests know what comes next
    for name in ("anna", "ben", "cleo"):
        add_account(store, name)

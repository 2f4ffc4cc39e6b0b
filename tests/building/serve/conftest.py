"""A store in SQLite and one in PostgreSQL, behind the same tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import Any

import pytest

from cranfield.building.serve.project import accounts
from cranfield.building.serve.project.judging_modes import PoolEntry
from cranfield.building.serve.project.store import Store
from cranfield.collection.topics import Topic, Topics
from tests.building.serve.working import Clock

TOPICS = Topics(
    [
        Topic("1", "wing flutter", "What causes flutter?", "Notes on flutter of wings are relevant."),
        Topic("2", "boundary layer"),
    ]
)


class PostgresServer:
    """A PostgreSQL server that runs for these tests only, on a socket in a folder of its own."""

    def __init__(self, programs: Path, folder: str, owner: str | None) -> None:
        self.url = f"postgresql://judge@/postgres?host={folder}"
        self._programs, self._folder, self._owner = programs, folder, owner
        self._run("initdb", "-A", "trust", "-U", "judge", "--no-sync")
        self.start()

    def _run(self, program: str, *more: str) -> None:
        command = [str(self._programs / program), "-D", f"{self._folder}/data", *more]
        as_user: dict[str, Any] = {"user": self._owner} if self._owner else {}
        subprocess.run(command, check=True, cwd=self._folder, capture_output=True, timeout=120, **as_user)

    def start(self) -> None:
        # Without fsync, since a process is killed and not the machine: else every start syncs all databases first.
        options = f"-c listen_addresses='' -c unix_socket_directories={self._folder} -c fsync=off"
        for _ in range(20):
            with suppress(subprocess.CalledProcessError):  # after a kill, its processes may not have ended yet
                self._run("pg_ctl", "-o", options, "-l", f"{self._folder}/log", "-w", "start")
                return
            time.sleep(0.2)
        raise AssertionError(Path(self._folder, "log").read_text())

    def stop(self) -> None:
        self._run("pg_ctl", "-m", "immediate", "stop")

    def kill(self) -> None:
        """As a power cut would; its other processes notice that it is gone, and end."""
        os.kill(int(Path(self._folder, "data/postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def database(self) -> str:
        """The URL of a new database."""
        import psycopg

        name = f"test_{uuid.uuid4().hex}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url.replace("/postgres?", f"/{name}?")


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashing a password takes long on purpose. Here it does not; a hash says itself what it cost."""
    monkeypatch.setattr(accounts, "_COST", 16)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server; the tests that use it belong to the xdist group `postgres`."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: no test with PostgreSQL")
    found = sorted(glob("/usr/lib/postgresql/*/bin")) or [
        str(Path(path).parent) for path in [shutil.which("initdb")] if path
    ]
    if not found:
        pytest.skip("PostgreSQL is not installed (initdb not found): apt-get install postgresql")
    folder, owner = tempfile.mkdtemp(prefix="cranfield-postgres-"), None
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        owner = "postgres"
        try:
            shutil.chown(folder, owner, owner)
        except LookupError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    try:
        server = PostgresServer(Path(found[-1]), folder, owner)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The path or URL of an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "judgments.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.database()


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
    from cranfield.building.serve.project.accounts import add_account

    store.add_topics(TOPICS)
    store.add_pool(
        PoolEntry(topic, f"d{number}", {"run": "secret-run", "rank": number})
        for topic in TOPICS
        for number in range(docs)
    )
    store.set_settings(store.settings().changed(order="pool"))  # so that tests know what comes next
    for name in ("anna", "ben", "cleo"):
        add_account(store, name)


@pytest.fixture
def clock() -> Clock:
    return Clock()

"""A PostgreSQL server for a benchmark: in a folder of its own, reached by a socket there, with commits on disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path


def programs() -> Path | None:
    """Where initdb and pg_ctl are; None if PostgreSQL is not installed, or cannot run as this user."""
    found = sorted(glob("/usr/lib/postgresql/*/bin"))
    path = shutil.which("initdb")
    folder = Path(found[-1]) if found else Path(path).parent if path else None
    return folder if folder is not None and (os.geteuid() != 0 or _owner()) else None


def _owner() -> str | None:
    """The user who runs PostgreSQL, which refuses to run as root."""
    import pwd

    if os.geteuid() != 0:
        return None
    return "postgres" if "postgres" in {one.pw_name for one in pwd.getpwall()} else None


@contextmanager
def server(parent: Path) -> Iterator[str]:
    """Run a server; gives the URL of its database."""
    where = programs()
    assert where is not None, "PostgreSQL is not installed"
    place, owner = tempfile.mkdtemp(dir=parent, prefix="postgres-"), _owner()
    sockets = tempfile.mkdtemp(prefix="bench-")  # a path of sockets must be short
    if owner:
        for folder in (place, sockets):
            shutil.chown(folder, owner, owner)

    def run(*command: str) -> None:
        subprocess.run(command, check=True, cwd=sockets, capture_output=True, timeout=120, user=owner)

    data = f"{place}/data"
    try:
        run(str(where / "initdb"), "-D", data, "-A", "trust", "-U", "judge")
        options = f"-c listen_addresses='' -c unix_socket_directories={sockets}"
        run(str(where / "pg_ctl"), "-D", data, "-o", options, "-l", f"{place}/log", "-w", "start")
        try:
            yield f"postgresql://judge@/postgres?host={sockets}"
        finally:
            run(str(where / "pg_ctl"), "-D", data, "-m", "fast", "stop")
    finally:
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(sockets, ignore_errors=True)

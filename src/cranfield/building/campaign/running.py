"""Evaluation as a service: run the command of a team on hidden topics, inside limits, and take in what it prints."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from cranfield.building.campaign.campaign_store import Campaign
from cranfield.building.campaign.submitting import Receipt, submit
from cranfield.declared.operation import about, operation
from cranfield.errors import DataError, UsageError
from cranfield.text import shown

MEGABYTE = 1 << 20
LAST = 2000
"""Bytes of standard error that are shown."""
ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin"}
UNSHARED = ("--pid", "--fork", "--kill-child", "--net")
"""A network and a table of processes of its own: none of them outlives the command."""


@dataclass(frozen=True)
class Printed:
    """What a command printed."""

    output: bytes
    seconds: float


@lru_cache(maxsize=1)
def isolation() -> tuple[str, ...]:
    """The words that start a command without the network; empty if this system cannot."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    for words in ((unshare, *UNSHARED), (unshare, "--user", "--map-root-user", *UNSHARED)):
        with suppress(OSError, subprocess.TimeoutExpired):
            tried = subprocess.run([*words, "--", "true"], capture_output=True, stdin=subprocess.DEVNULL, timeout=10)
            if tried.returncode == 0:
                return (*words, "--")
    return ()


def run_command(
    command: Sequence[str], data: bytes, *, seconds: float, megabytes: int, most_bytes: int, network: bool = False
) -> Printed:
    """What a command prints that gets data on standard input; an error if it fails or goes beyond a limit.

    It runs in a new, empty folder that is removed afterwards, with few environment variables. All processes that it
    started are killed at the end. Each of them may use `megabytes` of memory and write files of `most_bytes`.
    """
    if os.name == "nt":
        raise UsageError("run_command: limits of processes need Linux or another Unix system")
    if not command:
        raise UsageError("run_command: the command is empty")
    apart = isolation()
    if not apart and not network:
        raise UsageError(
            "run_command: this system cannot take the network from a command (unshare is missing or not allowed); "
            "allow it the network: network=True"
        )
    words = [*(() if network else apart), *command]
    name = shown(command[0])

    def limit() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (megabytes * MEGABYTE,) * 2)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes + 1,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with tempfile.TemporaryDirectory(prefix="cranfield-run-", ignore_cleanup_errors=True) as folder:
        home = os.path.join(folder, "home")
        os.mkdir(home)
        paths = [os.path.join(folder, part) for part in ("topics", "output", "errors")]
        with open(paths[0], "wb") as topics:
            topics.write(data)
        began = time.monotonic()
        with open(paths[0], "rb") as given, open(paths[1], "wb") as output, open(paths[2], "wb") as errors:
            try:
                process = subprocess.Popen(
                    words, stdin=given, stdout=output, stderr=errors, cwd=home, start_new_session=True,
                    env=ENVIRONMENT | {"HOME": home, "TMPDIR": home}, preexec_fn=limit,
                )  # fmt: skip
            except OSError as error:
                raise UsageError(f"run_command: {name} cannot be started: {error.strerror}") from None
            try:
                code: int | None = process.wait(seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _kill(process)
        taken = time.monotonic() - began
        with open(paths[2], "rb") as file:
            file.seek(max(0, os.path.getsize(paths[2]) - LAST))
            said = file.read().decode("utf-8", "replace").strip()
        if code is None:
            raise DataError(name, None, f"ran for more than {seconds:g} s, and was stopped")
        if os.path.getsize(paths[1]) > most_bytes or -code == signal.SIGXFSZ or code == 128 + signal.SIGXFSZ:
            raise DataError(name, None, f"wrote more than {most_bytes:,} bytes, and was stopped")
        if code != 0:
            raise DataError(name, None, f"failed with code {code}" + (f": {said}" if said else ", and said nothing"))
        with open(paths[1], "rb") as file:
            return Printed(file.read(), taken)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the command and all processes of its session; those that left it end with its table of processes."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@operation
def run_submission(
    campaign: Campaign,
    team: str,
    command: Sequence[str],
    *,
    seconds: Annotated[
        float, about("The longest time that the command may take.", above=0, spelled="--seconds S")
    ] = 600,
    megabytes: Annotated[
        int, about("The most memory of each process, in megabytes.", least=16, spelled="--megabytes N")
    ] = 2000,
    network: Annotated[bool, about("Let the command use the network, such as for an endpoint.")] = False,
) -> Receipt:
    """Run the command of a team on the topics of the campaign, and take in its output as a submitted run.

    The command gets the topics on standard input, as lines of id, tab and title, and prints a run. The output may have
    as many bytes as an uploaded run, and is checked by the same rules.

    Reference: Potthast, Gollub, Wiegmann & Stein, TIRA Integrated Research Architecture, 2019; Ferro & Maistro 2024,
    §2.2
    """
    campaign.need("submission")
    if team not in [known.name for known in campaign.teams()]:
        raise UsageError(f"run_submission: no team {shown(team)} in the campaign")
    store = campaign.store
    lines = []
    for topic in store.topic_ids():
        title = " ".join(str(store.topic_data(topic).get("title", "")).split())
        lines.append(f"{topic}\t{title}\n")
    printed = run_command(
        command, "".join(lines).encode("utf-8", "surrogateescape"), seconds=seconds, megabytes=megabytes,
        most_bytes=campaign.config.rules.bytes, network=network,
    )  # fmt: skip
    return submit(campaign, team, f"{team}.run", printed.output)


def words_of(command: str) -> list[str]:
    """The words of a command, as a shell would separate them; nothing else is expanded.

    >>> words_of("python3 run.py --name 'my run' $HOME")
    ['python3', 'run.py', '--name', 'my run', '$HOME']
    """
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"command {command!r}: {error}; close the quotes") from None

"""Wait for a free worker of a Spark cluster, with a word about it, and not for ever."""

from __future__ import annotations

import threading
from typing import Any

from cranfield.errors import UsageError, warn_caller

WAIT = 120.0
"""Seconds after which an engine gives up if no worker of the cluster is free."""
SILENCE = 10.0
"""Seconds after which it says what it waits for."""
GROUP = "cranfield: is a worker free?"


def wait_for_worker(session: Any, master: str, wait: float = WAIT, silence: float = SILENCE) -> None:
    """Return when a worker has done a task of one row; warn after `silence` seconds, and give up after `wait`.

    Spark itself waits for ever, and its session starts without a worker. A task also makes a cluster that adds workers
    on demand add one.
    """
    context = session.sparkContext
    failed: list[Exception] = []

    def try_task() -> None:
        try:
            context.setJobGroup(GROUP, GROUP, interruptOnCancel=True)
            session.range(0, 1, 1, 1).count()
        except Exception as error:  # of Python, of Py4J, or of Java
            failed.append(error)

    task = threading.Thread(target=try_task, daemon=True)
    task.start()
    task.join(min(silence, wait))
    if task.is_alive() and wait > silence:
        warn_caller(
            f"waiting for a free worker of {master}, for at most {wait:g} seconds: it has no worker, others use them "
            "all, or none has the memory that is asked for"
        )
        task.join(wait - silence)
    if task.is_alive():
        context.cancelJobGroup(GROUP)
        task.join(1.0)  # a job that is cancelled ends at once; the session ends without it, too
        raise UsageError(
            f"no worker of {master} was free for {wait:g} seconds; look at the workers and applications on the page of "
            "the master (usually port 8080), ask for less memory= if workers are there, or wait longer with wait="
        )
    if failed:
        raise UsageError(f"{master} did not do a task of one row: {str(failed[0]).strip().partition(chr(10))[0]}")

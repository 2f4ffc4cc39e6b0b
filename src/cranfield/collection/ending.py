"""End cleanly when somebody else ends the process: docker and systemd send SIGTERM, a closed terminal sends SIGHUP."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def ending_calls(stop: Callable[[int, object], None], *, replace: bool = False) -> Iterator[None]:
    """Within this block, call `stop` with a signal that would end the process.

    A signal that is ignored, as under nohup, stays ignored; one that already calls a function does so unless `replace`.
    """
    before = {number: signal.getsignal(number) for number in ENDING}
    kept = (signal.SIG_IGN, None) if replace else tuple(set(before.values()) - {signal.SIG_DFL})
    if threading.current_thread() is not threading.main_thread():
        before = {}  # only the main thread can handle signals
    before = {number: handler for number, handler in before.items() if handler not in kept}
    try:
        for number in before:
            signal.signal(number, stop)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ends_cleanly() -> Iterator[None]:
    """Within this block, a signal that ends the process raises SystemExit first, so that everything open is closed."""
    received: list[int] = []

    def stop(number: int, frame: object) -> None:
        received.append(number)
        raise SystemExit(128 + number)

    try:
        with ending_calls(stop):
            yield
    finally:
        if received:
            signal.raise_signal(received[0])

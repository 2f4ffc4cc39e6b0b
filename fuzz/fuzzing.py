"""What all fuzzers share: make an input, try it, keep what breaks the package, and go on until the time is over.

For every input: a result, or an error of the package with a message (`CranfieldError`); no other exception, no crash
and no endless loop.
"""

from __future__ import annotations

import random
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from cranfield.errors import CranfieldError

FOUND = Path(__file__).parent / "found"
PATIENCE = 20
"""Seconds of processor time after which an input counts as an endless loop: a busy machine does not shorten them."""
SILENCE = 600
"""Seconds after which an input counts as waiting for ever, whatever the machine does."""


class Target(NamedTuple):
    """What is fuzzed: how an input is made, and what is done with the file that holds it."""

    make: Callable[[random.Random], bytes]
    check: Callable[[Path], None]


def attempt(work: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Do something that may be refused with a message; then the result is None."""
    try:
        return work(*given, **named)
    except CranfieldError as error:
        message = str(error)
    assert message.strip(), "an error without a message"
    return None


def too_long(number: int, frame: object) -> None:
    if number == signal.SIGPROF:
        raise TimeoutError(f"more than {PATIENCE} seconds of processor time")
    raise TimeoutError(f"no answer after {SILENCE} seconds")


def try_out(target: Target, path: Path) -> None:
    """Check one input, with a limit of time."""
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    signal.alarm(SILENCE)
    try:
        target.check(path)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def place_of(error: BaseException) -> str:
    """What was raised, and where: inputs that fail alike are one finding."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "cranfield" in frame.filename or "fuzz" in frame.filename]
    last = (own or frames)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}"


def fuzz(name: str, target: Target, seconds: float, seed: int) -> bool:
    """Try inputs for some seconds, and print a line; returns whether nothing was found."""
    warnings.simplefilter("ignore")
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, too_long)
    FOUND.mkdir(exist_ok=True)
    began, tried, found = time.monotonic(), 0, dict[str, str]()
    with TemporaryDirectory() as folder:
        path, now = Path(folder, "input"), FOUND / f"{name}-{seed}-now"
        while time.monotonic() - began < seconds:
            data = target.make(random.Random(f"{seed}-{tried}"))
            path.write_bytes(data)
            now.write_bytes(data)  # which remains if the process crashes
            try:
                try_out(target, path)
            except Exception as error:
                place = place_of(error)
                if place not in found:
                    found[place] = f"{name}-{seed}-{tried}"
                    (FOUND / found[place]).write_bytes(data)
                    print(f"--- {name}, input {tried} of seed {seed}: fuzz/found/{found[place]}", file=sys.stderr)
                    traceback.print_exc()
            tried += 1
        now.unlink()
    spent = time.monotonic() - began
    what = "; ".join(f"{place} ({file})" for place, file in found.items()) or "nothing"
    print(f"{name}: {tried:,} inputs in {spent:.0f} s, seed {seed}: found {what}", flush=True)
    return not found


def again(target: Target, file: Path) -> None:
    """Try an input that was kept."""
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, too_long)
    with TemporaryDirectory() as folder:
        path = Path(folder, "input")
        path.write_bytes(file.read_bytes())
        try_out(target, path)
    print(f"{file}: no failure")

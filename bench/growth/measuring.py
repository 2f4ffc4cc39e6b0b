"""Measure how the time and the memory of a command grow with its input, and hold them against limits."""

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bench.contest import script

LINEAR = 1.3
"""The limit of a linear exponent: sorting adds a logarithm, and large data leave the processor's caches."""
QUADRATIC = 2.5
TWICE = 2.0
ALLOWANCE = 16 << 20
"""Memory that does not count: buffers and libraries that only a larger input needs."""
ENOUGH = 0.6
"""Seconds of processor time beside the start; the sizes grow until the largest needs them."""
LARGEST = 20 << 20
"""Bytes of the largest input, where time does not end the growth before."""
ROUNDS = 3


class Case(NamedTuple):
    """A command whose input grows in one dimension."""

    dimension: str
    make: Callable[[Path, int], Sequence[str]]
    """Writes the input of a size to a folder; the words after the verb."""
    sizes: tuple[int, int]
    """The first and the largest."""
    time: float = LINEAR
    """The largest exponent of processor time allowed."""
    memory: float = TWICE
    """The largest part of the input that may be in memory beside what the start needs."""
    why: str = ""
    """The reason for a limit that is not linear, or not twice the input."""
    codes: tuple[int, ...] = (0,)
    """Exit codes that are a success."""


class Use(NamedTuple):
    """What a process used."""

    size: int
    bytes: int
    seconds: float
    peak: int


@dataclass
class Growth:
    """The growth of a command in one dimension."""

    verb: str
    case: Case
    uses: list[Use] = field(default_factory=list)
    """In the order of sizes; the first tells the start."""
    fault: str = ""

    @property
    def fitted(self) -> list[Use]:
        """The largest sizes, within a factor of four."""
        return [use for use in self.uses[1:] if use.size * 4 >= self.uses[-1].size]

    @property
    def exponent(self) -> float:
        """The power of the growth beyond the first size, without the time of that size."""
        start = self.uses[0]
        return slope(
            [use.size - start.size for use in self.fitted], [use.seconds - start.seconds for use in self.fitted]
        )

    @property
    def memory(self) -> float:
        """Bytes of memory for each byte of input, beside the start and the allowance."""
        first, last = self.uses[0], self.uses[-1]
        return max(0, last.peak - first.peak - ALLOWANCE) / max(1, last.bytes - first.bytes)

    @property
    def net(self) -> float:
        """Seconds of the largest size beside the start."""
        return self.uses[-1].seconds - self.uses[0].seconds

    @property
    def missed(self) -> list[str]:
        """The limits that are missed; too little time to tell is not counted."""
        if self.fault:
            return [self.fault]
        words = []
        if self.net > ENOUGH / 2 and self.exponent > self.case.time:
            words.append(f"time grows with the power {self.exponent:.2f}, must be at most {self.case.time:g}")
        if self.memory > self.case.memory:
            words.append(f"memory is {self.memory:.1f} times the input, must be at most {self.case.memory:g}")
        return words


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The exponent of a power law: the slope of a line through the logarithms, by least squares.

    >>> slope([1, 2, 4], [3, 12, 48])
    2.0
    """
    points = [(math.log(size), math.log(value)) for size, value in zip(sizes, values, strict=True) if value > 0]
    if len(points) < 2:
        return math.nan
    middle, height = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    spread = sum((x - middle) ** 2 for x, _ in points)
    return sum((x - middle) * (y - height) for x, y in points) / spread


class Measuring:
    """Makes inputs in a folder, and lets a launcher run the commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        threads = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}  # they wait busily
        self.launcher = subprocess.Popen(
            [sys.executable, "-m", "bench.growth.launcher"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **threads, "PYTHONPATH": str(Path(__file__).parents[2])},
        )

    def growth(self, verb: str, case: Case) -> Growth:
        """Measure one dimension of a verb; a limit that is missed is measured again, and the best counts."""
        growth = Growth(verb, case)
        try:
            self.grow(growth)
            for _ in range(ROUNDS - 1):
                if growth.missed:
                    self.repeat(growth)
        except RuntimeError as error:
            growth.fault = str(error)
        return growth

    def grow(self, growth: Growth) -> None:
        size, most = growth.case.sizes
        uses = {size: self.use(growth, size)}
        start = uses[size]
        while size < most:
            net = uses[size].seconds - start.seconds
            if net >= ENOUGH or uses[size].bytes >= LARGEST:
                break
            factor = 8 if net < ENOUGH / 30 else 4 if net < ENOUGH / 6 else 2
            while factor > 2 and uses[size].bytes * factor > 2 * LARGEST:
                factor //= 2
            size = min(most, size * factor)
            uses[size] = self.use(growth, size)
        for smaller in (size // 2, size // 4):
            if smaller > growth.case.sizes[0] and smaller not in uses:
                uses[smaller] = self.use(growth, smaller)
        growth.uses = [use for _, use in sorted(uses.items())]

    def repeat(self, growth: Growth) -> None:
        """Measure the start and the largest sizes again; the least time and memory count."""
        again = {use.size for use in [growth.uses[0], *growth.fitted]}
        growth.uses = [best(use, self.use(growth, use.size)) if use.size in again else use for use in growth.uses]

    def use(self, growth: Growth, size: int) -> Use:
        """Make the input of a size, and run the verb on it."""
        place = self.folder / "input"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        words = growth.case.make(place, size)
        volume = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
        command = [script("cranfield"), *growth.verb.split(), *words]
        stdin, stdout = self.launcher.stdin, self.launcher.stdout
        assert stdin is not None
        assert stdout is not None
        print(json.dumps({"words": command, "folder": str(place)}), file=stdin, flush=True)
        told = json.loads(stdout.readline())
        code = os.waitstatus_to_exitcode(told["code"])
        if code not in growth.case.codes:
            said = (self.folder / "stderr").read_text(errors="replace").strip().splitlines() or ["no message"]
            reason = "ended after too much processor time" if code < 0 else said[-1]
            raise RuntimeError(f"size {size}: exit code {code}: {reason}: cranfield {growth.verb} {' '.join(words)}")
        return Use(size, volume, told["seconds"], told["peak"])

    def close(self) -> None:
        assert self.launcher.stdin is not None
        self.launcher.stdin.close()
        self.launcher.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def best(one: Use, other: Use) -> Use:
    return Use(one.size, one.bytes, min(one.seconds, other.seconds), min(one.peak, other.peak))

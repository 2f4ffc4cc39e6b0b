"""A limit of the address space, as `ulimit -v` and batch systems set it.

Databases and drawing engines reserve far more addresses than they use memory. Where they get fewer, they crash or wait
for ever instead of raising an error. So what they need is checked before they start.
"""

from __future__ import annotations

import os

from cranfield.errors import UsageError

WAY_OUT = "raise the limit (ulimit -v), or limit memory in another way (systemd's MemoryMax, Slurm's --mem)"


def limit() -> int | None:
    """The most bytes of addresses that this process may use; None: as many as it wants."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return None
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if most == resource.RLIM_INFINITY else most


def free() -> int | None:
    """How many more bytes of addresses this process may use; None: as many as it wants."""
    most = limit()
    if most is None:
        return None
    try:
        with open("/proc/self/statm", "rb") as file:
            return max(0, most - int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, IndexError):  # another system than Linux, which does not say how many are used
        return most


def check_limit(least: int) -> None:
    """Raise an error if the limit is below `least` bytes."""
    most = limit()
    if most is not None and most < least:
        raise UsageError(
            f"not enough memory: the address space is limited to {most / 1e9:.2g} GB, and {least / 1e9:.1f} GB are "
            f"needed at least; {WAY_OUT}"
        )


def need(least: int, what: str) -> int | None:
    """Raise an error if fewer than `least` bytes of addresses are free; return how many are."""
    left = free()
    if left is not None and left < least:
        raise UsageError(
            f"not enough memory: {what} needs {least / 1e9:.1f} GB of addresses, and {left / 1e9:.1f} GB are left of "
            f"the limit of {(limit() or 0) / 1e9:.1f} GB; {WAY_OUT}"
        )
    return left

"""How often people may try a password: a try counts before it is checked, so that tries at the same time count too.

Three numbers are kept of wrong passwords. One name from one address waits twice as long with every further one; this
stops a guesser, and nobody else. One name from all addresses, and one address with all names, may have many more, and
wait only for seconds, because the right person may be behind the same address, or wait at home for a guesser elsewhere.
A browser with which a person has logged in before is counted by itself: no guesser can make it wait.
"""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

Key = tuple[str, ...]
"""What is counted: a kind, and whose tries these are."""
FORGET = 3600.0
"""Seconds without a wrong password after which the ones before are forgotten."""


@dataclass(frozen=True)
class Patience:
    """How many wrong passwords are free, and how many seconds the next tries wait: twice as long with each."""

    free: int
    first: float
    longest: float

    def wait(self, tries: int) -> float:
        """Seconds between a try and the next, after this number of tries.

        >>> [Patience(2, 1.0, 3.0).wait(tries) for tries in range(6)]
        [0.0, 0.0, 1.0, 2.0, 3.0, 3.0]
        """
        return min(self.first * 2.0 ** min(tries - self.free, 30), self.longest) if tries >= self.free else 0.0


ONE_GUESSER = Patience(5, 2.0, 900.0)
MANY_PEOPLE = Patience(100, 1.0, 30.0)
"""For numbers that many people share: a class that logs in at the same time is no attack."""
KINDS = {"name at address": ONE_GUESSER, "browser": ONE_GUESSER, "own password": ONE_GUESSER, "name": MANY_PEOPLE,
         "address": MANY_PEOPLE, "join code": MANY_PEOPLE}  # fmt: skip
"""{kind: patience}."""


def login_keys(name: str, host: str, browser: str | None) -> tuple[Key, ...]:
    """What a try to log in counts for. `browser` is the number of one with which this person has logged in before."""
    if browser is not None:
        return (("browser", name, browser),)
    address = network(host)
    return (("name at address", name, address), ("name", name), ("address", address))


def network(host: str) -> str:
    """The network of an address, as far as one household or company has all of it.

    >>> network("192.0.2.7"), network("2001:db8::1:2:3"), network("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7')
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False))


class LoginLimit:
    """Counts tries, and says how long to wait.

    >>> limit = LoginLimit(lambda: 0.0)
    >>> [limit.take(("browser", "anna")) for _ in range(7)]
    [0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 2.0]
    """

    MOST = 10_000
    """Keys that are remembered."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tries: dict[Key, tuple[int, float]] = {}
        """{key: how many tries, and when the last was}, the oldest first."""
        self._lock = threading.Lock()

    def take(self, *keys: Key) -> float:
        """Count a try: 0.0 if it may be made, else the seconds to wait, and then it does not count."""
        with self._lock:
            now = self._clock()
            wait = max(last + KINDS[key[0]].wait(tries) - now for key, (tries, last) in self._of(keys, now))
            if wait > 0:
                return wait
            for key, (tries, _) in self._of(keys, now):
                self._tries.pop(key, None)
                self._tries[key] = tries + 1, now
            while len(self._tries) > self.MOST:
                del self._tries[next(iter(self._tries))]
            return 0.0

    def right(self, *keys: Key) -> None:
        """The try was right: it no longer counts, and one guesser is none."""
        with self._lock:
            for key, (tries, last) in self._of(keys, self._clock()):
                if KINDS[key[0]] is ONE_GUESSER or tries <= 1:
                    self._tries.pop(key, None)
                else:
                    self._tries[key] = tries - 1, last

    def _of(self, keys: tuple[Key, ...], now: float) -> list[tuple[Key, tuple[int, float]]]:
        """The tries of each key."""
        known = [(key, self._tries.get(key, (0, now))) for key in keys]
        return [(key, (0, now) if now - last > FORGET else (tries, last)) for key, (tries, last) in known]

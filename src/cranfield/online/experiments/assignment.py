"""Assign users to the arms of experiments by a salted hash: no table of assignments, and the same answer everywhere."""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.online.engines.dialect import BUCKETS, SEPARATOR
from cranfield.record import Record, column
from cranfield.types import Array, Index64

BLOCK = 1 << 16
"""The number of ids that are in memory as bytes at a time."""


@dataclass(frozen=True)
class Experiment:
    """An experiment: its arms with their shares, how many users are in it, and its part of an exclusion layer.

    A user's arm depends only on the salt, the name of the experiment and the user's id. So the same user always has
    the same arm, on every server and in every program, and experiments with different names are independent.

    `exposure` is the share of users that are in the experiment. Raise it step by step to ramp up: a user who is in
    stays in, and keeps the arm. Never change the arms or their shares while an experiment runs: users would change
    their arm. Start a new experiment, with another name, instead.

    `layer` and `slot`: experiments in one layer, with slots that do not overlap, such as (0, 0.3) and (0.3, 1), share
    no users. Layers with different names are independent of each other.

    The arm is chosen by `cranfield.online.engines.dialect.bucket` of the id, with the salt `salt/arm/name`: SHA-256, so
    engines and other programs can compute it as well. The exposure has the salt `salt/exposure/name`, the slot
    `salt/layer/name of the layer`.

    References: Kohavi, Longbotham, Sommerfield & Henne, Controlled Experiments on the Web, DMKD 18(1), 2009,
    doi:10.1007/s10618-008-0114-1 (§4.1); Tang, Agarwal, O'Brien & Meyer, Overlapping Experiment Infrastructure, KDD
    2010, doi:10.1145/1835804.1835810

    >>> test = Experiment("ranker-1", {"A": 0.5, "B": 0.5})
    >>> [test.arm(user) for user in ("ada", "grace", "edsger", "barbara")]
    ['B', 'A', 'A', 'B']
    >>> small = Experiment("ranker-1", {"A": 0.5, "B": 0.5}, exposure=0.1)
    >>> [small.arm(user) for user in ("ada", "grace", "edsger", "barbara")]
    [None, None, None, None]
    """

    name: str
    arms: Mapping[str, float] = field(default_factory=lambda: {"A": 1.0, "B": 1.0})
    """{arm: share}; the shares are divided by their sum."""
    exposure: float = 1.0
    layer: str = ""
    slot: tuple[float, float] = (0.0, 1.0)
    salt: str = ""
    _bounds: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _arm_hash: Any = field(init=False, repr=False, compare=False)
    _exposure_hash: Any = field(init=False, repr=False, compare=False)
    _layer_hash: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise UsageError("experiment: the name is empty; it decides who gets which arm")
        check.between("experiment", low=0, high=1, exposure=self.exposure)
        if not self.arms:
            raise UsageError("experiment: no arms; give a share for each, such as {'A': 0.5, 'B': 0.5}")
        for arm, share in self.arms.items():
            check.finite("share of arm", **{str(arm): share})
            check.positive("share of arm", **{str(arm): share})
        low, high = self.slot
        if not 0 <= low < high <= 1:
            raise check.wrong("experiment", "slot", self.slot, "two numbers between 0 and 1, the first one lower")
        if (low, high) != (0, 1) and not self.layer:
            raise UsageError(f"experiment: slot == {self.slot}, but no layer; name the layer that it is a part of")
        total = sum(self.arms.values())
        ends = np.cumsum([share / total for share in self.arms.values()]).tolist()[:-1]
        object.__setattr__(self, "_bounds", tuple(_threshold(end) for end in ends))
        object.__setattr__(self, "_names", tuple(str(arm) for arm in self.arms))
        object.__setattr__(self, "_arm_hash", _started(f"{self.salt}/arm/{self.name}"))
        object.__setattr__(self, "_exposure_hash", _started(f"{self.salt}/exposure/{self.name}"))
        object.__setattr__(self, "_layer_hash", _started(f"{self.salt}/layer/{self.layer}"))

    def arm(self, user: object) -> str | None:
        """The arm of a user; None if the user is not in the experiment."""
        data = encoded_id(user)
        if self.layer and not _threshold(self.slot[0]) <= _place(self._layer_hash, data) < _threshold(self.slot[1]):
            return None
        if self.exposure < 1 and _place(self._exposure_hash, data) >= _threshold(self.exposure):
            return None
        return self._names[bisect_right(self._bounds, _place(self._arm_hash, data))]

    def assign(self, users: Iterable[object]) -> NDArray[Any]:
        """The arms of many users, as an array of names; None for users that are not in the experiment.

        >>> Experiment("ranker-1").assign(["ada", "grace", 7]).tolist()
        ['B', 'A', 'B']
        """
        names = np.array([*self._names, None], dtype=object)
        remaining = iter(users)
        blocks = iter(lambda: [encoded_id(user) for user in islice(remaining, BLOCK)], [])
        return np.concatenate([names[:0], *(names[self._arms(block)] for block in blocks)])

    def _arms(self, data: list[bytes]) -> NDArray[np.int64]:
        """The number of the arm of each id; the number of arms for users that are not in the experiment."""
        arm = np.searchsorted(np.array(self._bounds, dtype=np.int64), _places(self._arm_hash, data), side="right")
        if self.layer:
            place = _places(self._layer_hash, data)
            arm[(place < _threshold(self.slot[0])) | (place >= _threshold(self.slot[1]))] = len(self._names)
        if self.exposure < 1:
            arm[_places(self._exposure_hash, data) >= _threshold(self.exposure)] = len(self._names)
        return np.asarray(arm)


def encoded_id(user: object) -> bytes:
    """The id as bytes: text in UTF-8, a whole number as its decimal digits.

    >>> encoded_id("ada"), encoded_id(7)
    (b'ada', b'7')
    """
    if isinstance(user, str):
        return user.encode("utf-8", "surrogateescape")
    if isinstance(user, bytes):
        return user
    if isinstance(user, (int, np.integer)) and not isinstance(user, bool):
        return str(int(user)).encode()
    raise UsageError(f"user id == {user!r}, must be text or a whole number")


@dataclass(frozen=True, eq=False, repr=False)
class ArmCounts(Record):
    """How many users each arm has; each user is counted once."""

    arm: Annotated[tuple[str, ...], column()]
    users: Annotated[Index64, column()]
    share: Annotated[Array, column()]


@dataclass(frozen=True, eq=False, repr=False)
class Assignment(Record):
    """The arm of each user; empty for users who are not in the experiment."""

    facts = ("experiment", "users")

    user: Annotated[Sequence[str], column("id")]
    arm: Annotated[NDArray[Any], column()]
    arms: tuple[str, ...]
    """All arms of the experiment."""
    experiment: str
    users: int
    """The number of different users."""

    @property
    def counts(self) -> ArmCounts:
        """How many users each arm has, and how many are not in the experiment, if there are any."""
        repeated = self.users < len(self.arm)
        number = Counter(dict(zip(self.user, self.arm, strict=True)).values() if repeated else self.arm)
        named = {arm: number[arm] for arm in self.arms}
        named |= {"(not in the experiment)": number[None]} if number[None] else {}
        users = np.array(list(named.values()), dtype=np.int64)
        return ArmCounts(tuple(named), users, users / self.users)


@operation
def assign_users(
    users: Iterable[str],
    experiment: Annotated[
        str, about("The name of the experiment; it decides who gets which arm.", spelled="--experiment NAME")
    ],
    *,
    shares: Mapping[str, float] | None = None,
    exposure: Annotated[
        float, about("The share of users in the experiment.", least=0, most=1, spelled="--exposure SHARE")
    ] = 1.0,
    layer: Annotated[str, about("The layer that the experiment is in.")] = "",
    slot: Annotated[
        Sequence[float],
        about("The part of the layer that the experiment has.", least=0, most=1, spelled="--slot LOW,HIGH"),
    ] = (0, 1),
    salt: Annotated[
        str, about("A secret, so that nobody can compute the arms from outside.", spelled="--salt TEXT")
    ] = "",
) -> Assignment:
    """The arms of users by a salted hash of their ids, as `Experiment` assigns them.

    shares: {arm: share}; default: A and B, half each.

    >>> assign_users(["ada", "grace", "edsger"], "ranker-1").arm.tolist()
    ['B', 'A', 'A']
    """
    if len(slot) != 2:
        raise check.wrong("assign_users", "slot", slot, "two numbers, such as 0,0.3")
    ids = list(users)
    chosen = Experiment(experiment, shares or {"A": 1.0, "B": 1.0}, exposure, layer, (slot[0], slot[1]), salt)
    return Assignment(ids, chosen.assign(ids), tuple(map(str, chosen.arms)), experiment, len(set(ids)))


def check_layer(experiments: Iterable[Experiment]) -> None:
    """Raise an error if two experiments of one layer have slots that overlap, and so share users.

    >>> check_layer([Experiment("a", layer="ui", slot=(0, 0.5)), Experiment("b", layer="ui", slot=(0.4, 1))])
    Traceback (most recent call last):
    cranfield.errors.UsageError: layer 'ui': the slots of 'a' (0 to 0.5) and 'b' (0.4 to 1) overlap
    """
    by_layer: dict[tuple[str, str], list[Experiment]] = {}
    for experiment in experiments:
        if experiment.layer:
            by_layer.setdefault((experiment.salt, experiment.layer), []).append(experiment)
    for (_, layer), members in by_layer.items():
        members.sort(key=lambda member: member.slot)
        for first, second in pairwise(members):
            if second.slot[0] < first.slot[1]:
                spans = [f"{member.name!r} ({member.slot[0]:g} to {member.slot[1]:g})" for member in (first, second)]
                raise UsageError(f"layer {layer!r}: the slots of {spans[0]} and {spans[1]} overlap")


def _started(salt: str) -> Any:
    """SHA-256 that has read the salt and the separator, as `digest` does."""
    return hashlib.sha256(f"{salt}{SEPARATOR}".encode("utf-8", "surrogateescape"))


def _threshold(share: float) -> int:
    """The bucket at which a share of all buckets ends."""
    return math.floor(share * float(BUCKETS) + 0.5)


def _place(started: Any, data: bytes) -> int:
    """The bucket of an id: the first 52 bits of its digest."""
    digest = started.copy()
    digest.update(data)
    return int.from_bytes(bytes(digest.digest()[:7]), "big") >> 4


def _places(started: Any, data: list[bytes]) -> NDArray[np.int64]:
    """The buckets of many ids."""
    parts = []
    copy = started.copy
    for encoded in data:
        digest = copy()
        digest.update(encoded)
        parts.append(digest.digest()[:8])
    return (np.frombuffer(b"".join(parts), dtype=">u8") >> np.uint64(12)).astype(np.int64)

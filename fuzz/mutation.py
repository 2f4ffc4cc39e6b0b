"""Random changes to the bytes of a file."""

from __future__ import annotations

import random
from collections.abc import Sequence


def mutate(data: bytes, rng: random.Random, pieces: Sequence[bytes], times: int | None = None) -> bytes:
    """Change the data in several random places (or in `times`): insert a piece, delete, overwrite or repeat bytes."""
    out = bytearray(data * rng.choice([1, 1, 1, 2, 20]))
    for _ in range(rng.choice([0, 1, 1, 2, 5, 20]) if times is None else times):
        at = rng.randrange(len(out) + 1)
        action = rng.randrange(4)
        if action == 0:
            out[at:at] = rng.choice(pieces)
        elif action == 1:
            del out[at : at + rng.choice([1, 1, 3, 40])]
        elif action == 2 and at < len(out):
            out[at] = rng.randrange(256)
        else:
            end = min(len(out), at + rng.randrange(60))
            out[at:at] = out[at:end]
    return bytes(out[: rng.randrange(len(out) + 1)]) if rng.random() < 0.1 else bytes(out)

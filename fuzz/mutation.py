"""Random changes to files: to their bytes, to the values of JSON, and to the values of TOML."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

MARKS = rb"""
\n \r \0 \t , ; : " ' [ ] { } < > </top> <top> & &a; <!-- --> <![CDATA[ ]]> \xff\xfe \xed\xa0\x80 \xef\xbb\xbf
nan NaN Infinity -inf 1e999 null true &x *x !!python/object:os.system - ? | % @ # \xc3\xa9 \x80 0x10 1_000 2024-01-01
0o7 yes ~
"""
PIECES = [mark.decode("unicode_escape").encode("latin-1") for mark in MARKS.split()] + [
    b" ",
    b"<!DOCTYPE x [",
    b"\\ud800",
    b"\\u0000",
    b"1" * 400,
    b"a" * 70_000,
    b"[" * 3_000,
    b'{"a":' * 2_000,
    b"|\n",
    b"<<: *x\n",
]


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


def mutated(seeds: Sequence[bytes]) -> Callable[[random.Random], bytes]:
    """Inputs that are changes of one of these."""
    return lambda rng: mutate(rng.choice(seeds), rng, PIECES)


VALUES: list[Any] = [
    None, True, False, 0, -1, 5, 1.5, -0.0, 1e308, float("inf"), float("nan"), 2**63, 10**400, "", " ", "x", "5", "\0",
    "\ud800", "\r", "=1+1", "caf\u00e9", "x" * 3_000, [], {}, [[]], [None], [1, "a"], {"": None}, {"x": {"y": [1]}},
    "2024-01-01T00:00:00Z", "nan", "a:b", "../x",
]  # fmt: skip
"""What may stand in the place of another value."""


def revalued(value: Any, rng: random.Random) -> Any:
    """A value of JSON with another value in one place: replaced, removed, repeated, or with another name."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        name = rng.choice(list(value))
        changed = dict(value)
        action = rng.random()
        if action < 0.1:
            del changed[name]
        elif action < 0.2:
            changed[rng.choice([name.upper(), name + " ", "", "\r", "x"])] = changed.pop(name)
        else:
            changed[name] = revalued(value[name], rng)
        return changed
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        return [*value[:at], *([revalued(value[at], rng)] * rng.choice([0, 1, 1, 1, 1, 2])), *value[at + 1 :]]
    return rng.choice(VALUES)


def mutated_json(seeds: Sequence[bytes]) -> Callable[[random.Random], bytes]:
    """Changes of the values of JSON or JSON-lines, or of the bytes."""

    def make(rng: random.Random) -> bytes:
        seed = rng.choice(seeds)
        if rng.random() < 0.3:
            return mutate(seed, rng, PIECES)
        lines = [json.loads(line) for line in seed.splitlines() if line.strip()]
        for _ in range(rng.choice([1, 1, 2, 5])):
            lines = revalued(lines, rng) if isinstance(lines, list) and lines else [lines]
        return b"".join(json.dumps(line, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass") + b"\n"
                        for line in (lines if isinstance(lines, list) else [lines]))  # fmt: skip

    return make


LITERALS = [
    b"5", b"-1", b"0", b"1.5", b"nan", b"inf", b"true", b'""', b'"x"', b"'a:b'", b"[]", b"[1]", b'["x", 5]', b"{}",
    b"{a = 1}", b"[[]]", b"2027-01-01", b"2027-01-01T00:00:00Z", b"99999999999999999999", b'"[A-Z"', b'"\\u0000"',
    b'"/"',
]  # fmt: skip
"""Values of TOML."""
ENTRY = re.compile(rb"(?m)(?<== ).+?(?= *(#|$))")


def mutated_toml(seeds: Sequence[bytes]) -> Callable[[random.Random], bytes]:
    """Other values of entries, removed lines, or changed bytes."""

    def make(rng: random.Random) -> bytes:
        text = rng.choice(seeds)
        if rng.random() < 0.3:
            return mutate(text, rng, PIECES)
        for _ in range(rng.choice([1, 1, 2, 4])):
            places = list(ENTRY.finditer(text))
            if places and rng.random() < 0.8:
                place = rng.choice(places)
                text = text[: place.start()] + rng.choice(LITERALS) + text[place.end() :]
            else:
                lines = text.splitlines(keepends=True)
                at = rng.randrange(len(lines) + 1)
                lines[at : at + 1] = rng.choice([[], lines[at : at + 1] * 2])
                text = b"".join(lines)
        return text

    return make

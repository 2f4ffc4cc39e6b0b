"""Feeds the core runs and qrels that were mutated at random, for as long as told.

What must hold for every input: no crash (the sanitizers watch), either a table or a fault with a line inside the file,
the same answer at one thread and at three, and a join that agrees with the table read in full.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

from cranfield import _core
from cranfield.collection.formats import QRELS, RUNS, Layout

RUN = b"1 Q0 d1 1 9.5 tag\n1\tQ0 d2 2 8.25 tag\r\n2 Q0 d1 1 0x1p3 tag\n# note\n\n2 Q0 d3 2 -inf tag\n1 Q0 d9 3 1e-3 b\n"
QREL = b"1 0 d1 1\n1 0 d2 0\n2 0 d1 2\n2 1 d3 -1\n"
PIECES = [
    b"\n", b" ", b"\t", b"\r\n", b"#", b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"nan", b"inf", b"-", b"+", b"1e999",
    b"1e-999",
    b"0x", b"0x1p-2000", b".", b"1" * 40, b"a" * 70_000, b"1 Q0 d1 1 9.5 tag\n", b" " * 70, b"\x80" * 64, b"1.5", b"e",
    b"d1",
]  # fmt: skip


def mutate(data: bytes, dice: random.Random) -> bytes:
    out = bytearray(data * dice.choice([1, 1, 1, 2, 50]))
    for _ in range(dice.choice([0, 1, 2, 5, 20])):
        at = dice.randrange(len(out) + 1)
        action = dice.randrange(4)
        if action == 0:
            out[at:at] = dice.choice(PIECES)
        elif action == 1:
            del out[at : at + dice.choice([1, 1, 3, 40])]
        elif action == 2 and at < len(out):
            out[at] = dice.randrange(256)
        else:
            end = min(len(out), at + dice.randrange(60))
            out[at:at] = out[at:end]
    return bytes(out[: dice.randrange(len(out) + 1)]) if dice.random() < 0.1 else bytes(out)


def contents(table: _core.Table) -> tuple[Any, ...]:
    return (
        table.names, table.topics, table.labels, table.docs(0, len(table)), table.list_start.tobytes(),
        table.list_topic.tobytes(), table.list_name.tobytes(), table.values.tobytes(), table.ranks.tobytes(),
        table.dropped,
    )  # fmt: skip


def check(run: bytes, qrels: bytes, layout: Layout, rule: str, order: str) -> None:
    fixed = (list(layout.columns), layout.delimiter, layout.header, layout.expected)
    answers = []
    for threads in (1, 3):
        table, faults = _core.read([run], *fixed, False, rule, threads, 5)
        assert all(1 <= line <= run.count(b"\n") + 1 for _, line, _ in faults), faults
        answers.append((contents(table), faults))
    assert answers[0] == answers[1], "different answers at 1 and 3 threads"
    plain = QRELS["trec"]
    judgments, wrong = _core.read([qrels], list(plain.columns), " ", False, plain.expected, True, "max", 1, 5)
    if wrong:
        return
    judged = _core.judged(judgments, "max")
    if (order == "score" and "value" not in layout.columns) or (order == "rank" and "rank" not in layout.columns):
        return
    joined, faults = _core.join_files(judged, [run], *fixed, order, False, rule, 0, 3, None)
    if joined is not None and order == "score" and not answers[0][1]:
        again = _core.join_tables(judged, [table], order, False, 0)
        for key in ("names", "unjudged_topics"):
            assert joined[key] == again[key], key
        for key in ("retrieved", "missing", "row", "rank", "grade", "tie_first", "tie_last"):
            assert joined[key].tobytes() == again[key].tobytes(), key


def main() -> None:
    seconds, seed = float(sys.argv[1]), int(sys.argv[2])
    dice = random.Random(seed)
    end = time.monotonic() + seconds
    tried = 0
    while time.monotonic() < end:
        run, qrels = mutate(RUN, dice), mutate(QREL, dice)
        layout = dice.choice(list(RUNS.values()))
        rule, order = dice.choice(["error", "first", "max"]), dice.choice(["score", "rank", "file"])
        found = Path(__file__).parent / "found"
        try:
            check(run, qrels, layout, rule, order)
        except BaseException:
            found.mkdir(exist_ok=True)
            (found / f"{seed}-{tried}.run").write_bytes(run)
            (found / f"{seed}-{tried}.qrels").write_bytes(qrels)
            print(f"failed on input {tried} of seed {seed}: {layout.name} {rule} {order}; see {found}", file=sys.stderr)
            raise
        tried += 1
    print(f"{tried} inputs in {seconds:g} s, seed {seed}: no fault found")


if __name__ == "__main__":
    main()

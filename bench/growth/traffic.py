"""The inputs that grow: logs of live traffic, experiments, clicks, interleaved lists."""

import json
from itertools import pairwise
from pathlib import Path

from bench.growth.inputs import collection, command, mixed, rows


def log(folder: Path, users: int) -> None:
    command(folder, f"log demo log --users {users} --days 3 --seed 1")


def labelled_log(folder: Path, users: int) -> None:
    log(folder, users)
    with open(folder / "log" / "ubi_queries.jsonl") as file:
        ids = [json.loads(line)["query_id"] for line in file]
    rows(folder / "labels.csv", "query_id,label", (f"{name},{mixed(n, 2)}" for n, name in enumerate(ids)))


def users(folder: Path, size: int) -> None:
    rows(folder / "users.csv", "user,arm,revenue,clicks,impressions", (
        f"u{n},{'AB'[mixed(n, 2)]},{mixed(n, 977) / 10},{mixed(n, 7)},{7 + mixed(n, 5)}" for n in range(size)
    ))  # fmt: skip


def impressions(folder: Path, sessions: int) -> None:
    """Sessions of ten ranks, for click models; and a run with the same documents."""

    def line(session: int, rank: int) -> str:
        place = session * 10 + rank
        doc, clicked = mixed(place, 10_007) % 50 + 50 * rank, mixed(place, 3 + rank) == 0
        return f"s{session},q{session % 100},{rank + 1},d{doc},{clicked:d}"

    lines = (line(session, rank) for session in range(sessions) for rank in range(10))
    rows(folder / "log.csv", "session,query,position,doc,clicked", lines)


def model(folder: Path, sessions: int) -> None:
    """A click model that was fitted to as many sessions."""
    impressions(folder, sessions)
    command(folder, "clicks fit log.csv --model PBM --save model.json --quiet")
    (folder / "log.csv").unlink()


def a_model(folder: Path, size: int) -> None:
    """A small click model, and a run."""
    model(folder, 1000)
    rows(folder / "bm25.run", "", (f"q{q} Q0 d{50 * k} {k + 1} {9 - k} bm25" for q in range(100) for k in range(5)))


def decisions(folder: Path, size: int) -> None:
    rows(folder / "log.csv", "user,reward,propensity,new", (
        f"u{n % 1000},{mixed(n, 2)},0.5,{0.25 + mixed(n, 2) / 2}" for n in range(size)
    ))  # fmt: skip


def interleaved(folder: Path, size: int) -> None:
    """Lists with clicks of two runs, mixed with probabilities."""
    collection(folder)
    words = "interleave simulate qrels.txt runs/r00000.run runs/r00001.run --methods probabilistic"
    command(folder, f"{words} --impressions {size} --write-log log.jsonl --quiet")


def outcomes(folder: Path, sizes: dict[str, int]) -> None:
    names = [f"r{n:05}" for n in range(sizes["runs"])]
    pairs = enumerate(pairwise(names))
    rows(folder / "outcomes.tsv", "", (f"{a}\t{b}\t{mixed(n, 200) / 100 - 1}" for n, (a, b) in pairs))

"""Make the judgments and runs of the sample collection, the same bytes every time.

    python tools/make_sample.py                 # rewrites src/cranfield/samples
    python tools/make_sample.py --out elsewhere

The topics are written by hand: `topics.xml` in the samples, of which only the ids matter here. Everything else is
drawn: which notes are relevant, how the search systems score them, and so which notes come before the judges.
README.md in the samples says what the result is meant to show; tests hold it to its numbers, so change them together.

Only raw 64-bit draws of PCG64 and plain arithmetic are used: numpy promises that the raw stream stays as it is,
whereas its normal variates may change between releases.
"""

from __future__ import annotations

import argparse
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

SAMPLES = Path(__file__).resolve().parents[1] / "src" / "cranfield" / "samples"

SEED = 1967  # Cleverdon's report on the second Cranfield tests
NOTES = 1800  # notes in the invented corpus
DEPTH = 100  # notes a run lists for a topic
POOL_DEPTH = 20  # notes of a published run that reach the judges
EXTRA_POOL_DEPTH = 60  # notes of a run that only feeds the pool; deeper, so that judgments go on below rank 20
NO_RELEVANT = "113"  # nothing in the corpus answers this topic
NOT_ANSWERED = ("dense", "114")  # this run has no list for this topic
NOT_POOLED = "coord"  # this run came after the judging, so it has unjudged notes near its top too
RRF_K = 60  # the constant of reciprocal rank fusion, as in Cormack et al., SIGIR 2009

Array: TypeAlias = NDArray[np.float64]
Scores: TypeAlias = dict[str, Array]  # system -> score of every note; minus infinity is "not retrieved"


class Draws:
    """Random numbers that do not depend on the numpy release. Every topic has its own, so topics can be added."""

    def __init__(self, *seed: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence(list(seed)))

    def uniform(self, count: int) -> Array:
        """`count` numbers in [0, 1)."""
        raw = np.asarray(self._bits.random_raw(count), dtype=np.uint64)
        return np.asarray((raw >> np.uint64(11)).astype(np.float64) * 2.0**-53)

    def normal(self, count: int) -> Array:
        """`count` nearly normal numbers: twelve uniform ones added up, less six."""
        total = np.full(count, -6.0)
        for _ in range(12):
            total += self.uniform(count)
        return total


def true_grades(draws: Draws, topic: str) -> Array:
    """What a judge would say of every note: 14 to 73 of them are relevant, the best of those rare."""
    order = np.argsort(draws.uniform(NOTES), kind="stable")
    size = draws.uniform(1)[0]
    relevant = 0 if topic == NO_RELEVANT else int(14 + 60 * size * size)
    grades = np.zeros(NOTES)
    level = draws.uniform(relevant)
    grades[order[:relevant]] = 1.0 + (level > 0.55) + (level > 0.85)
    return grades


def system_scores(draws: Draws, grades: Array) -> tuple[Scores, list[Array]]:
    """The scores of three published systems (the fourth is fused from two of them), and of systems only for the pool.

    A score is what a system sees of the grade, plus how near a note's words are to the topic (shared by all systems, so
    that they agree on their mistakes), plus noise of the system's own.
    """
    nearness = np.maximum(draws.normal(NOTES), 0.0)
    ease = 0.5 + draws.uniform(1)[0]  # some topics are hard for everybody
    visible = np.where(grades > 0, 1.0 + 0.5 * grades, 0.0) * ease

    # The weights are set so that means look like a real test collection's: AP .09 to .42, nDCG@10 .17 to .49.
    def match(sees: float, words: float, noise: float) -> Array:
        scores: Array = sees * visible + words * nearness + noise * draws.normal(NOTES)
        return scores

    lexical, semantic, overlap = match(0.86, 0.8, 0.62), match(0.9, 0.7, 0.6), match(0.7, 0.7, 0.9)
    pool_only = [match(0.8, 0.85, 0.5), match(0.85, 0.85, 0.5), match(0.8, 0.85, 0.5)]
    published = {
        "bm25": 9.0 + 4.0 * lexical,  # scaled to look like BM25 sums; cosines below
        "dense": 0.6 + 0.05 * semantic,
        # Coordination level: how many of the query's words a note holds. Whole numbers, so ties everywhere.
        "coord": np.floor(np.clip(1.6 + 1.1 * overlap, 0.0, 7.0)),
    }
    return published, pool_only


def fuse(first: Array, second: Array) -> Array:
    """Reciprocal rank fusion of two systems, both cut at twice the depth; notes in neither are not retrieved."""
    fused = np.zeros(NOTES)
    for scores in (first, second):
        top = ranking(scores)[: 2 * DEPTH]
        fused[top] += 1.0 / (RRF_K + np.arange(1, top.size + 1))
    return np.where(fused > 0, fused, -np.inf)


def ranking(scores: Array) -> NDArray[np.intp]:
    """Notes by falling score; ties stay in the order of their numbers, as a sort by score alone would leave them."""
    order = np.argsort(-scores, kind="stable")
    return order[: int(np.isfinite(scores).sum())]


def note(number: int) -> str:
    """The id of a note; its numbers start at 1 in ids, at 0 in arrays."""
    return f"NOTE-{number + 1:04d}"


def make() -> dict[str, str]:
    """File name -> text, for the judgments and each run."""
    decimals = {"bm25": 6, "dense": 7, "fusion": 6, "coord": 1}
    qrels: list[str] = []
    runs: dict[str, list[str]] = {run: [] for run in decimals}
    for topic in (element.text or "" for element in ET.parse(SAMPLES / "topics.xml").iterfind("topic/identifier")):
        draws = Draws(SEED, int(topic))
        grades = true_grades(draws, topic)
        published, pool_only = system_scores(draws, grades)
        published["fusion"] = fuse(published["bm25"], published["dense"])
        judged: set[int] = set()
        for run, scores in published.items():
            if (run, topic) == NOT_ANSWERED:
                continue
            # Rounding comes first: the ties a reader of the file sees are the ties the file is ordered by.
            printed = np.round(scores, decimals[run])
            order = ranking(printed)
            runs[run] += [
                f"{topic} Q0 {note(number)} {rank} {printed[number]:.{decimals[run]}f} {run}\n"
                for rank, number in enumerate(order[:DEPTH], start=1)
            ]
            if run != NOT_POOLED:
                judged.update(order[:POOL_DEPTH].tolist())
        for scores in pool_only:
            judged.update(ranking(scores)[:EXTRA_POOL_DEPTH].tolist())
        qrels += [f"{topic} 0 {note(number)} {grades[number]:.0f}\n" for number in sorted(judged)]
    return {"qrels.txt": "".join(qrels)} | {f"{run}.run": "".join(lines) for run, lines in runs.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the judgments and runs of the sample collection.")
    parser.add_argument("--out", type=Path, default=SAMPLES, help="folder to write to (default: the package's samples)")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, text in make().items():
        (out / name).write_bytes(text.encode("ascii"))


if __name__ == "__main__":
    main()

"""Make the judgments and runs of the sample collection. The result is the same, byte for byte, every time.

    python tools/make_sample.py                 # rewrites src/cranfield/samples
    python tools/make_sample.py --out elsewhere

The topics in `topics.xml` are written by hand; only their ids are used here. Everything else is random: which notes are
relevant, how the systems score them, and therefore which notes are judged. README.md in the samples says what the
collection shows. Tests check its numbers, so change them together.

Only raw 64-bit numbers of PCG64 and plain arithmetic are used: numpy guarantees that the raw stream does not change,
but its normal variates may change between releases.
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
DEPTH = 100  # notes per topic in a run
POOL_DEPTH = 20  # notes of a published run that are judged
EXTRA_POOL_DEPTH = 60  # the same for runs that only contribute to the pool; gives judgments below rank 20
NO_RELEVANT = "113"  # this topic has no relevant notes
NOT_ANSWERED = ("dense", "114")  # this run has no results for this topic
NOT_POOLED = "coord"  # this run is not in the pool, so it also has unjudged notes near its top
RRF_K = 60  # the constant of reciprocal rank fusion, as in Cormack et al., SIGIR 2009

Array: TypeAlias = NDArray[np.float64]
Scores: TypeAlias = dict[str, Array]  # system -> score of every note; minus infinity means not retrieved


class Draws:
    """Random numbers that do not depend on the numpy release. Each topic has its own stream, so topics can be added."""

    def __init__(self, *seed: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence(list(seed)))

    def uniform(self, count: int) -> Array:
        """Return `count` numbers in [0, 1)."""
        raw = np.asarray(self._bits.random_raw(count), dtype=np.uint64)
        return np.asarray((raw >> np.uint64(11)).astype(np.float64) * 2.0**-53)

    def normal(self, count: int) -> Array:
        """Return `count` nearly normal numbers: the sum of twelve uniform numbers, minus six."""
        total = np.full(count, -6.0)
        for _ in range(12):
            total += self.uniform(count)
        return total


def true_grades(draws: Draws, topic: str) -> Array:
    """Return the grade of every note: 14 to 73 notes are relevant, and high grades are rare."""
    order = np.argsort(draws.uniform(NOTES), kind="stable")
    size = draws.uniform(1)[0]
    relevant = 0 if topic == NO_RELEVANT else int(14 + 60 * size * size)
    grades = np.zeros(NOTES)
    level = draws.uniform(relevant)
    grades[order[:relevant]] = 1.0 + (level > 0.55) + (level > 0.85)
    return grades


def system_scores(draws: Draws, grades: Array) -> tuple[Scores, list[Array]]:
    """Return the scores of three published systems (the fourth fuses two of them), and of systems only for the pool.

    A score is the sum of three parts: what the system sees of the grade; how close the words of the note are to the
    topic, which all systems share, so that they make the same mistakes; and random noise of the system.
    """
    nearness = np.maximum(draws.normal(NOTES), 0.0)
    ease = 0.5 + draws.uniform(1)[0]  # some topics are hard for all systems
    visible = np.where(grades > 0, 1.0 + 0.5 * grades, 0.0) * ease

    # The weights give means like those of real collections: AP .09 to .42, nDCG@10 .17 to .49.
    def match(sees: float, words: float, noise: float) -> Array:
        scores: Array = sees * visible + words * nearness + noise * draws.normal(NOTES)
        return scores

    lexical, semantic, overlap = match(0.86, 0.8, 0.62), match(0.9, 0.7, 0.6), match(0.7, 0.7, 0.9)
    pool_only = [match(0.8, 0.85, 0.5), match(0.85, 0.85, 0.5), match(0.8, 0.85, 0.5)]
    published = {
        "bm25": 9.0 + 4.0 * lexical,  # scaled to look like BM25 scores; the next ones like cosines
        "dense": 0.6 + 0.05 * semantic,
        # Coordination level: the number of query words in a note. Whole numbers give many ties.
        "coord": np.floor(np.clip(1.6 + 1.1 * overlap, 0.0, 7.0)),
    }
    return published, pool_only


def fuse(first: Array, second: Array) -> Array:
    """Fuse the first 2 × DEPTH notes of two systems by reciprocal rank; other notes are not retrieved."""
    fused = np.zeros(NOTES)
    for scores in (first, second):
        top = ranking(scores)[: 2 * DEPTH]
        fused[top] += 1.0 / (RRF_K + np.arange(1, top.size + 1))
    return np.where(fused > 0, fused, -np.inf)


def ranking(scores: Array) -> NDArray[np.intp]:
    """Return the notes by decreasing score; tied notes stay in the order of their numbers."""
    order = np.argsort(-scores, kind="stable")
    return order[: int(np.isfinite(scores).sum())]


def note(number: int) -> str:
    """Return the id of a note. Ids start at 1, array positions at 0."""
    return f"NOTE-{number + 1:04d}"


def by_intent(topic: str, grades: Array, judged: list[int]) -> list[str]:
    """Return the lines of the relevant judged notes by intent: each is relevant to one intent, a fifth also to another.

    Intent 1 has 40% of the notes, intent 2 30%, intent 3 20% and intent 4 10%.
    """
    draws = Draws(SEED, int(topic), 1)
    relevant = [number for number in judged if grades[number] > 0]
    first = 1 + np.searchsorted([0.4, 0.7, 0.9], draws.uniform(len(relevant)), side="right")
    other = 1 + np.floor(4 * draws.uniform(len(relevant))).astype(int)
    also = draws.uniform(len(relevant)) < 0.25  # in a quarter of them, the other is the same
    lines = []
    for number, one, two, both in zip(relevant, first.tolist(), other.tolist(), also.tolist(), strict=True):
        lines.append((one, f"{topic} {one} {note(number)} {grades[number]:.0f}\n"))
        if both and two != one:
            lines.append((two, f"{topic} {two} {note(number)} 1\n"))
    return [line for _, line in sorted(lines)]


def make() -> dict[str, str]:
    """Return {file name: text} of the judgments and the runs."""
    decimals = {"bm25": 6, "dense": 7, "fusion": 6, "coord": 1}
    qrels: list[str] = []
    intents: list[str] = []
    types: list[str] = []
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
            # Round before sorting, so that ties in the file are also ties in the order.
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
        lines = by_intent(topic, grades, sorted(judged))
        found = sorted({line.split()[1] for line in lines})
        intents += lines
        types += [f"{topic} {intent} {'nav' if intent in '34' else 'inf'}\n" for intent in found]
    judgments = {"qrels.txt": qrels, "intent_qrels.txt": intents, "intent_types.txt": types}
    return {name: "".join(lines) for name, lines in judgments.items()} | {
        f"{run}.run": "".join(lines) for run, lines in runs.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the judgments and runs of the sample collection.")
    parser.add_argument("--out", type=Path, default=SAMPLES, help="folder to write to (default: the package's samples)")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, text in make().items():
        (out / name).write_bytes(text.encode("ascii"))


if __name__ == "__main__":
    main()

"""Random input for the core's texts, overlaps, stemmers, interleaving and examination steps.

A result agrees with simple laws, or there is an error of the usual kind.
"""

from __future__ import annotations

import random
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from fuzzing import Target

from cranfield import _core

UNITS = (
    "ngram", "skip-bigram", "skip-bigram and word", "subsequence", "subsequence by sentence", "weighted",
    "weighted by sentence",
)  # fmt: skip
MARKED = UNITS[3:]
STEMMERS = ("none", "rouge", "porter", "nltk")
METHODS = ("balanced", "team-draft", "probabilistic", "rounds", "pairwise")
PIECES = [
    "a", "b", "the cat", "cats", "running", "flies", "ational", "y", "sses", "eed", "ing", "1942", " ", "  ", "\n",
    "\n\n", "\t", "\r", "\0", "é", "e\u0301", "東京", "😀", "שלום", "\u200f", "\u202e", "\ufffd", "-", ".", "x" * 3000,
    "aaaa", "bbbb", "AbC", "'s", "ies", "ed", "bl", "at", "iz", "\x7f", "\U0010ffff",
]  # fmt: skip


def text(rng: random.Random) -> str:
    return "".join(rng.choice(PIECES) for _ in range(rng.choice([0, 1, 2, 10, 60, 300])))


def ascii_text(rng: random.Random) -> str:
    return text(rng).encode("ascii", "ignore").decode()


def words(rng: random.Random) -> None:
    texts = [text(rng) for _ in range(rng.randrange(1, 6))]
    stop_words = [text(rng) for _ in range(rng.randrange(3))]
    exceptions = {text(rng): text(rng) for _ in range(rng.randrange(3))}
    numbered = _core.words_of(texts, rng.random() < 0.5, rng.choice(STEMMERS), stop_words, exceptions)
    assert len(numbered) == len(texts)
    starts, sentences = numbered.text_start.tolist(), numbered.sentence_start.tolist()
    assert sentences[starts[-1]] == len(numbered.word)
    assert all(begin < end for begin, end in pairwise(sentences))
    vocabulary = numbered.vocabulary()
    assert all(0 <= word < len(vocabulary) for word in numbered.word.tolist())
    compared(rng, numbered)


def compared(rng: random.Random, numbered: Any) -> None:
    size = len(numbered)
    wrong = rng.random() < 0.05
    pairs = [[rng.randrange(-1, size + 1) if wrong else rng.randrange(size) for _ in range(9)] for _ in range(2)]
    system, reference = (np.array(numbers, dtype=np.int64) for numbers in pairs)
    unit, n = rng.choice(UNITS), rng.choice([1, 2, 3, 50, 2**40])
    skip, weight = rng.choice([-1, 0, 1, 4, 2**40]), rng.choice([1.0, 1.2, 2.0, 700.0])
    clip = rng.random() < 0.5
    try:
        hits, of_reference, of_system = _core.overlaps(
            numbered, system, reference, unit, n, skip, rng.random() < 0.5, clip, weight, rng.choice([1, 2])
        )
    except IndexError:
        assert wrong
        return
    if weight < 700:
        slack = 1e-9 * np.maximum(1.0, of_reference)
        assert (hits >= 0).all()
        assert (hits <= of_reference + slack).all(), (unit, hits, of_reference)
        assert not clip or (hits <= of_system + 1e-9 * np.maximum(1.0, of_system)).all(), (unit, hits, of_system)
    first, second = int(system[0]), int(reference[0])
    marks = _core.marked_words(numbered, first, second, rng.choice(MARKED), clip, weight)
    begin, end = numbered.sentence_start[numbered.text_start[second : second + 2]].tolist()
    assert len(marks) == end - begin
    start = np.array([0, *sorted(rng.randrange(10) for _ in range(len(system) - 1)), len(reference)], dtype=np.int64)
    most = rng.choice([1, 4, 9])
    matched, total = _core.clipped_grams(numbered, system, reference, start, most, 2)
    assert (matched <= total).all()


def stems(rng: random.Random) -> None:
    letters = "".join(rng.choice("aeiouybcdlmnrstz") for _ in range(rng.randrange(12)))
    for word in (letters, letters + rng.choice(["ing", "ed", "ational", "ies", "y", "eed", "sses"]), ascii_text(rng)):
        for stemmer in STEMMERS:
            stem = _core.stem_of(word, stemmer)
            assert len(stem.encode()) <= len(word.encode()) + 1, (word, stem)


def interleaved(rng: random.Random) -> None:
    systems, queries, method = rng.randrange(2, 5), rng.randrange(1, 4), rng.choice(METHODS)
    lists = [
        rng.sample(range(12), rng.randrange(13)) if rng.random() < 0.95 else [rng.randrange(-3, 9) for _ in range(4)]
        for _ in range(systems * queries)
    ]
    start = np.concatenate(([0], np.cumsum([len(one) for one in lists]))).astype(np.int64)
    if rng.random() < 0.1:
        rng.shuffle(shuffled := start.tolist())
        start = np.array(shuffled, dtype=np.int64)
    documents = np.array([doc for one in lists for doc in one], dtype=np.int64)
    numbers = np.arange(queries, dtype=np.int64) if rng.random() < 0.9 else np.arange(queries + 1, dtype=np.int64)
    with suppress(ValueError, IndexError):
        _core.interleave_lists(
            documents.astype(np.int32), start, systems, numbers, numbers.astype(np.uint64), method,
            rng.choice([1, 5, 30]), 3.0, rng.random() < 0.5, 2,
        )  # fmt: skip


def examined(rng: random.Random) -> None:
    size, pairs, places = rng.randrange(0, 40), rng.randrange(1, 6), rng.randrange(1, 5)
    low = -1 if rng.random() < 0.1 else 0
    pair = np.sort(np.array([rng.randrange(low, pairs + (low < 0)) for _ in range(size)], dtype=np.int32))
    place = np.array([rng.randrange(low, places + (low < 0)) for _ in range(size)], dtype=np.int32)
    skipped = np.array([rng.random() * 5 for _ in range(size)])
    theta = np.array([rng.choice([0.0, 1.0, 0.5, rng.random()]) for _ in range(pairs + places)])
    with suppress(ValueError):
        _core.examination_step(pair, place, skipped, theta, pairs, 2)
    _core.weighted_log(skipped, np.resize(theta, size))


WORK = {work.__name__: work for work in (words, stems, interleaved, examined)}


def make(rng: random.Random) -> bytes:
    """The name of the work, and the seed of its numbers."""
    return f"{rng.choice(list(WORK))} {rng.random()}".encode()


def work_on(path: Path) -> None:
    name, seed = path.read_text().split()
    WORK[name](random.Random(seed))


TARGETS = {"texts": Target(make, work_on)}

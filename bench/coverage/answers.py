"""Texts and answers: intervals of mean ROUGE."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
from bench.coverage.case import Case, Outcome, covers

from cranfield.answers.rouge_scores import rouge

WORDS = [f"w{number}" for number in range(60)]
LENGTH = 12
SHARES = {"good texts": (4.0, 2.0), "weak texts": (0.5, 3.0), "mostly perfect texts": (9.0, 0.5)}
"""The share of words that a text has from its reference is Beta with these parameters."""


def cases() -> list[Case]:
    return [
        Case(name, data, f"{topics} topics", partial(interval, data, topics, how), trials=600,
             small=150 if (name, data, topics) == ("rouge --ci", "weak texts", 10) else 0)
        for name, how in (("rouge --ci", {"ci": True}), ("rouge --resamples 1000", {"resamples": 1000}))
        for data in SHARES
        for topics in (10, 25, 50)
    ]  # fmt: skip


def drawn_texts(data: str, topics: int, rng: np.random.Generator) -> tuple[dict[str, str], dict[str, str]]:
    """A text and a reference of different words for each topic."""
    shares = rng.beta(*SHARES[data], topics)
    texts, references = {}, {}
    for topic, share in enumerate(shares.tolist()):
        words = rng.permutation(WORDS).tolist()
        common = int(rng.binomial(LENGTH, share))
        references[str(topic)] = " ".join(words[:LENGTH])
        texts[str(topic)] = " ".join(words[LENGTH - common : 2 * LENGTH - common])
    return texts, references


@lru_cache(maxsize=16)
def true_mean(data: str) -> float:
    first, second = SHARES[data]
    return first / (first + second)


def interval(data: str, topics: int, how: dict[str, object], rng: np.random.Generator) -> Outcome:
    texts, references = drawn_texts(data, topics, rng)
    found = rouge({"run": texts}, references, "ROUGE-1-R", threads=1, **how)  # type: ignore[arg-type]
    said = any(note.startswith("caution: ") for note in found.notes)
    return covers(true_mean(data), float(found.low[0, 0]), float(found.high[0, 0]), said)

"""ROUGE: 1,000 pairs of texts of 100 words beside rouge-score, ten times as many pairs, and two long texts.

`python -m bench.answers NAME` runs one contestant in its own process, and prints seconds and bytes as JSON. The
time goes from texts in memory to scores; imports and the making of texts are not included.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from bench.peers import peak_bytes

Timed = Callable[[], Any]

PAIRS, WORDS, LONG = 1_000, 100, 100_000
KINDS = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
OURS, MORE, PEER, TWO = "cranfield", "cranfield, 10,000 pairs", "rouge-score", "cranfield, two long texts"


def texts(pairs: int, words: int = WORDS) -> tuple[list[str], list[str]]:
    """Texts of words with a skewed distribution and with endings that a stemmer removes, ten words on a line."""
    rng = np.random.default_rng(0)
    endings = np.array(["", "s", "ed", "ing", "ation", "ness", "ly"])
    stems = np.array(["".join(letters) for letters in rng.choice(list("abcdefghiklmnoprstuvw"), (5_000, 5))])

    def text() -> str:
        picked = np.minimum(rng.zipf(1.3, words) - 1, len(stems) - 1)
        made = np.char.add(stems[picked], endings[rng.integers(0, len(endings), words)])
        return "\n".join(" ".join(made[at : at + 10]) for at in range(0, words, 10))

    return [text() for _ in range(pairs)], [text() for _ in range(pairs)]


def ours(pairs: int = PAIRS, words: int = WORDS, kinds: list[str] = KINDS) -> Timed:
    from cranfield.answers.rouge_scores import rouge
    from cranfield.answers.tokenisation import WordRules

    systems, references = texts(pairs, words)
    runs = {"x": {str(i): text for i, text in enumerate(systems)}}
    golden = {str(i): [text] for i, text in enumerate(references)}
    rules = WordRules(stemmer="nltk")
    return lambda: rouge(runs, golden, kinds, rules=rules).scores.means()[2::3, 0].tolist()


def more() -> Timed:
    return ours(10 * PAIRS)


def two() -> Timed:
    return ours(1, LONG, ["rougeL"])


def peer() -> Timed:
    from rouge_score.rouge_scorer import RougeScorer

    systems, references = texts(PAIRS)
    scorer = RougeScorer(KINDS, use_stemmer=True)

    def run() -> list[float]:
        scores = [scorer.score(reference, system) for system, reference in zip(systems, references, strict=True)]
        return [float(np.mean([score[kind].fmeasure for score in scores])) for kind in KINDS]

    return run


CONTESTANTS: dict[str, Callable[[], Timed]] = {OURS: ours, MORE: more, TWO: two, PEER: peer}


def main(name: str) -> None:
    began = time.perf_counter()
    timed = CONTESTANTS[name]()
    before, ready = peak_bytes(), time.perf_counter()
    means = timed()
    done = time.perf_counter()
    times = {"seconds": done - ready, "with_imports": done - began, "spent": done - began}
    print(json.dumps({**times, "peak": peak_bytes(), "grown": peak_bytes() - before, "means": means}))


if __name__ == "__main__":
    main(*sys.argv[1:])

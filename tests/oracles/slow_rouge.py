"""ROUGE counted slowly and literally: every unit is listed, every table is filled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

Counts = tuple[float, float, float]
"""Common units, units of the reference, units of the system."""


def common(system: Counter, reference: Counter) -> Counts:
    return (system & reference).total(), reference.total(), system.total()


def ngrams(system: Sequence[str], reference: Sequence[str], n: int) -> Counts:
    def grams(text: Sequence[str]) -> Counter:
        return Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1))

    return common(grams(system), grams(reference))


def skip_bigrams(system: Sequence[str], reference: Sequence[str], skip: int | None, unigrams: str = "no") -> Counts:
    """`unigrams`: no; all; or as ROUGE-1.5.5 counts them, all but the last word."""

    def units(text: Sequence[str]) -> Counter:
        pairs = Counter(
            (text[i], text[j]) for i, j in combinations(range(len(text)), 2) if skip is None or j - i - 1 <= skip
        )
        words = {"no": [], "all": text, "all but the last": text[:-1]}[unigrams]
        return pairs + Counter((word,) for word in words)

    return common(units(system), units(reference))


def subsequence_table(reference: Sequence[str], system: Sequence[str], weight: float) -> tuple[list, list]:
    """The best value for the first words of both texts, and the direction in which it was found."""
    m, n = len(reference), len(system)
    value = [[0.0] * (n + 1) for _ in range(m + 1)]
    run = [[0] * (n + 1) for _ in range(m + 1)]
    direction = [[""] * (n + 1) for _ in range(m + 1)]
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            if reference[i - 1] == system[j - 1]:
                k = run[i - 1][j - 1]
                value[i][j] = value[i - 1][j - 1] + (k + 1) ** weight - k**weight
                run[i][j] = k + 1
                direction[i][j] = "diagonal"
            elif value[i - 1][j] >= value[i][j - 1]:
                value[i][j], direction[i][j] = value[i - 1][j], "up"
            else:
                value[i][j], direction[i][j] = value[i][j - 1], "left"
    return value, direction


def subsequence(system: Sequence[str], reference: Sequence[str], weight: float = 1.0) -> Counts:
    """Of the whole texts, as Lin's paper has it."""
    value, _ = subsequence_table(reference, system, weight)
    return value[-1][-1], len(reference) ** weight, len(system) ** weight


def marked(reference: Sequence[str], system: Sequence[str], weight: float) -> set[int]:
    _, direction = subsequence_table(reference, system, weight)
    i, j, places = len(reference), len(system), set()
    while i and j:
        if direction[i][j] == "diagonal":
            places.add(i - 1)
        if direction[i][j] != "left":
            i -= 1
            j -= direction[i + 1][j] == "diagonal"
        else:
            j -= 1
    return places


def by_sentence(system: list[list[str]], reference: list[list[str]], weight: float | None = None) -> Counts:
    """The union over sentences, as ROUGE-1.5.5 counts it: a word of the system counts once."""
    left = Counter(word for sentence in system for word in sentence)
    hits = base = 0.0
    for sentence in reference:
        hit = set().union(*(marked(sentence, other, weight or 1.0) for other in system))
        run = 0
        for j, word in enumerate(sentence):
            if j not in hit or not left[word]:
                continue
            left[word] -= 1
            if weight is None:
                hits += 1
                continue
            run += 1
            if j + 1 == len(sentence) or j + 1 not in hit:
                hits += run**weight
                run = 0
        base += len(sentence) ** (weight or 1.0)
    return hits, base, sum(map(len, system)) ** (weight or 1.0)

"""Near-duplicates by comparing every query with every other, and edit distance by the textbook recursion."""

from collections.abc import Callable, Sequence
from functools import cache

from cranfield.building.topic_sets.near_duplicates import words_of


def damerau(first: str, second: str) -> int:
    """Insertions, deletions, replacements and swaps of neighbours (each place edited once)."""

    @cache
    def distance(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return i + j
        options = [
            distance(i - 1, j) + 1,
            distance(i, j - 1) + 1,
            distance(i - 1, j - 1) + (first[i - 1] != second[j - 1]),
        ]
        if i > 1 and j > 1 and first[i - 1] == second[j - 2] and first[i - 2] == second[j - 1]:
            options.append(distance(i - 2, j - 2) + 1)
        return min(options)

    return distance(len(first), len(second))


@cache
def one_edit(first: str, second: str) -> bool:
    same_digits = [c for c in first if c.isdigit()] == [c for c in second if c.isdigit()]
    return min(len(first), len(second)) >= 8 and same_digits and damerau(first, second) == 1


def share_words(threshold: float, stem: bool) -> Callable[[str, str], bool]:
    def near(first: str, second: str) -> bool:
        a, b = set(words_of(first, stem)), set(words_of(second, stem))
        return len(a & b) >= threshold * len(a | b) - 1e-9

    return near


def leaders(queries: Sequence[str], near: Callable[[str, str], bool]) -> list[int]:
    """For each query the first kept query that is near to it, else its own number."""
    kept: list[int] = []
    for at, query in enumerate(queries):
        earlier = (other for other in range(at) if kept[other] == other and near(queries[other], query))
        kept.append(next(earlier, at))
    return kept


def near_by_brute_force(queries: Sequence[str], threshold: float, stem: bool, edits: bool) -> list[int]:
    by_words = leaders(queries, share_words(threshold, stem))
    if not edits:
        return by_words
    rest = [at for at, other in enumerate(by_words) if at == other]
    by_edit = leaders([queries[at] for at in rest], one_edit)
    final = {at: rest[by_edit[place]] for place, at in enumerate(rest)}
    return [final[other] for other in by_words]

r"""Find queries that are nearly the same: the same words in another order or number, or one typing error.

Queries are compared in order, the most frequent first. A query that is near to one of those kept before it is dropped;
otherwise it is kept. So a query is only ever dropped in favour of a query that is kept, is near to it, and is at least
as frequent. The search is exact: indexes find the few pairs that can be near, and only those are compared.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np

from cranfield.building.topic_sets.typing_errors import TypingErrors
from cranfield.types import Index64

_WORD = re.compile(r"\w+")


def near_duplicates(keys: Sequence[str], *, jaccard: float = 0.8, stem: bool = True, edits: bool = True) -> Index64:
    r"""For each query the number of the query that is kept in its place: its own number if it is kept itself.

    Two queries are near in their words if

    .. math:: \frac{|A \cap B|}{|A \cup B|} \ge \text{jaccard}

    where :math:`A` and :math:`B` are their sets of words, so order and repetition of words do not matter; with `stem`,
    the plural of an English word counts as the word itself. With a `jaccard` above 1, words are not compared.
    With `edits`, queries that are not near in their words are then compared in their characters: see `TypingErrors`.

    keys: normalised queries, all different, the most frequent first.

    >>> near_duplicates(["cheap flights paris", "paris cheap flight", "cheap flihgts paris", "cheap hotels paris"])
    array([0, 0, 0, 3])
    """
    kept = np.arange(len(keys), dtype=np.int64)
    if jaccard <= 1:
        kept = _near_in_words([words_of(key, stem) for key in keys], jaccard)
    if not edits:
        return kept
    rest = np.flatnonzero(kept == np.arange(len(keys)))
    by_edit = rest[TypingErrors([keys[i] for i in rest.tolist()]).kept()]
    now = np.arange(len(keys), dtype=np.int64)
    now[rest] = by_edit
    return now[kept]  # a query that was kept for others may have been dropped for a third


def words_of(key: str, stem: bool) -> list[str]:
    """The words of a query; a query of other characters, such as "??", is one word.

    >>> words_of("cheap flights to paris", stem=True), words_of("c++", stem=True), words_of("??", stem=True)
    (['cheap', 'flight', 'to', 'paris'], ['c++'], ['??'])
    """
    words = _WORD.findall(key)
    if not words or (len(words) == 1 and len(words[0]) < 3):
        return [key]  # such as c, c++ and c#
    return list(map(singular, words)) if stem else words


@lru_cache(maxsize=1 << 18)
def singular(word: str) -> str:
    """An English word without the ending of the plural, by Harman's S stemmer (JASIS 42(1), 1991); "paris" stays.

    The first of three rules whose ending fits is applied: -ies (not -eies, -aies) becomes -y; -es (not -aes, -ees,
    -oes) becomes -e; -s (not -us, -ss) is removed. Words of up to three letters, and those in -is, stay as they are.

    >>> [singular(word) for word in ["queries", "flights", "buses", "glass", "bus", "tennis", "gas"]]
    ['query', 'flight', 'buse', 'glass', 'bus', 'tennis', 'gas']
    """
    if len(word) <= 3 or not word.endswith("s") or word.endswith("is"):
        return word
    if word.endswith("ies"):
        return word if word.endswith(("eies", "aies")) else word[:-3] + "y"
    if word.endswith("es"):
        return word if word.endswith(("aes", "ees", "oes")) else word[:-1]
    return word if word.endswith(("us", "ss")) else word[:-1]


def _near_in_words(words: Sequence[Sequence[str]], threshold: float) -> Index64:
    """As `near_duplicates`, by sets of words alone.

    Two sets of n and m words reach the threshold only if they share at least threshold / (1 + threshold) · (n + m)
    words. So if the words of both are in the same order, rare words first, they share one of their first few words:
    kept queries are indexed by these. (Prefix filtering: Bayardo, Ma & Srikant, WWW 2007.)
    """
    kept = np.arange(len(words), dtype=np.int64)
    sets = [frozenset(query) for query in words]
    partners = {size: list(_partners(size, threshold)) for size in set(map(len, sets))}
    first_of: dict[frozenset[str], int] = {}
    compared = []
    for at, query_words in enumerate(sets):
        if partners[len(query_words)]:
            compared.append(at)
        else:  # only queries with the same words are near
            kept[at] = first_of.setdefault(query_words, at)
    rest = np.array(compared, dtype=np.int64)
    kept[rest] = rest[_near_in_indexed_words([sets[at] for at in compared], threshold, partners)]
    return kept


def _near_in_indexed_words(
    words: Sequence[frozenset[str]], threshold: float, partners: Mapping[int, Sequence[tuple[int, int]]]
) -> Index64:
    """As `_near_in_words`, for queries that can also be near to queries with other words."""
    frequency = Counter(chain.from_iterable(words))
    number = {word: at for at, (word, _) in enumerate(sorted(frequency.items(), key=lambda pair: (pair[1], pair[0])))}
    kept = np.empty(len(words), dtype=np.int64)
    same: dict[tuple[int, ...], int] = {}
    """The kept query with exactly this set of words."""
    index: dict[tuple[int, int], list[tuple[int, frozenset[int]]]] = {}
    """The kept queries with this number of words, and with this word among the first few."""
    for at, query in enumerate(words):
        ordered = tuple(sorted([number[word] for word in query]))
        size, found = len(ordered), same.get(ordered, -1)
        mine = frozenset(ordered)
        for other_size, shared in partners[size]:
            # Only the most frequent of the near queries counts, so that the result is the same as by comparing all.
            for word in ordered[: size - shared + 1]:
                for other, theirs in index.get((other_size, word), ()):
                    if (found < 0 or other < found) and len(mine & theirs) >= shared:
                        found = other
        if found >= 0:
            kept[at] = found
            continue
        kept[at] = same[ordered] = at
        first = size - _least_shared(size, math.ceil(threshold * size - 1e-9), threshold) + 1
        for word in ordered[:first]:
            index.setdefault((size, word), []).append((at, mine))
    return kept


def _least_shared(size: int, other: int, threshold: float) -> int:
    """How many words two sets must share."""
    return math.ceil(threshold / (1 + threshold) * (size + other) - 1e-9)


def _partners(size: int, threshold: float) -> Iterator[tuple[int, int]]:
    """The sizes of sets that can be near to one of this size without being equal, and how many words they share."""
    if threshold <= 0:
        raise ValueError("the threshold must be above 0")
    for other in range(max(1, math.ceil(threshold * size - 1e-9)), math.floor(size / threshold + 1e-9) + 1):
        shared = _least_shared(size, other, threshold)
        if shared <= min(size, other) and not shared == size == other:
            yield other, shared

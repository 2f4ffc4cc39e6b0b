r"""Find queries that are nearly the same: the same words in another order or number, or one typing error.

Queries are compared in order, the most frequent first. A query that is near to one of those kept before it is dropped;
otherwise it is kept. So a query is only ever dropped in favour of a query that is kept, is near to it, and is at least
as frequent. The search is exact: indexes find the few pairs that can be near, and only those are compared.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

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
        size, nearest = len(ordered), same.get(ordered, -1)
        mine = frozenset(ordered)
        for other_size, shared in partners[size]:
            # Only the most frequent of the near queries counts, so that the result is the same as by comparing all.
            for word in ordered[: size - shared + 1]:
                for other, theirs in index.get((other_size, word), ()):
                    if (nearest < 0 or other < nearest) and len(mine & theirs) >= shared:
                        nearest = other
        if nearest >= 0:
            kept[at] = nearest
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


SHORTEST = 8
"""Queries with fewer characters are never compared: one character makes too many of them another word."""
BLOCK = 8_192
"""Queries whose hashes are computed at a time, to bound memory."""
Hashes = NDArray[np.uint64]

_BASE = np.uint64(0x9E3779B97F4A7C15)
_FILTER_BITS = 16, 24


def one_error(first: str, second: str) -> bool:
    """Is one text the other with one character inserted, deleted, replaced, or swapped with its neighbour?

    Both have at least 8 characters, and the same digits in the same order: "windows 10" and "windows 11" differ.

    >>> one_error("weather berlin", "waether berlin"), one_error("songs of 2005", "songs of 2006")
    (True, False)
    """
    if min(len(first), len(second)) < SHORTEST or abs(len(first) - len(second)) > 1 or first == second:
        return False
    if _digits(first) != _digits(second):
        return False
    if len(first) < len(second):
        first, second = second, first
    start = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(second))
    if len(first) > len(second):
        return first[start + 1 :] == second[start:]
    if first[start + 1 :] == second[start + 1 :]:
        return True
    return first[start : start + 2] == second[start : start + 2][::-1] and first[start + 2 :] == second[start + 2 :]


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


class TypingErrors:
    r"""All pairs of texts with `one_error` between them, found by hashes of the texts with a character removed.

    The hash of a text is :math:`h(x) = \sum_i x_i b^i` modulo :math:`2^{64}`, so the hash without a character follows
    from the sums before and after it: all hashes of all texts are computed at once, and only texts with equal hashes
    are compared.

    >>> TypingErrors(["weather berlin", "waether berlin", "weather berlim", "weather bern"]).kept()
    array([0, 0, 0, 3])
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self._long = np.array([at for at, text in enumerate(texts) if len(text) >= SHORTEST], dtype=np.int64)

    def kept(self) -> Index64:
        """For each text the first text before it that is kept and has one error to it; else its own number."""
        near: defaultdict[int, set[int]] = defaultdict(set)
        for first, second in self._pairs():
            near[max(first, second)].add(min(first, second))
        blocks: defaultdict[int, list[int]] = defaultdict(list)
        for block, members in enumerate(self._replacements()):
            for member in members:
                blocks[member].append(block)
        kept = np.arange(len(self.texts), dtype=np.int64)
        of_block: dict[int, int] = {}
        for at in sorted(near.keys() | blocks.keys()):
            before = [other for other in near.get(at, ()) if kept[other] == other]
            before += [of_block[block] for block in blocks.get(at, ()) if block in of_block]
            if before:
                kept[at] = min(before)
            else:
                of_block |= dict.fromkeys(blocks.get(at, ()), at)
        return kept

    def _pairs(self) -> Iterator[tuple[int, int]]:
        """Pairs in which a character was inserted, deleted, or swapped with its neighbour."""
        if not len(self._long):
            return
        whole = np.concatenate([block.whole for block in self._blocks()])
        order = np.argsort(whole, kind="stable")
        known = _Known(whole[order])
        for block in self._blocks():
            for hashes in (block.without(), block.swapped()):
                at = known.which(hashes)
                at = at[hashes[at] != block.of_text[at]]  # swapping equal characters changes nothing
                row = block.row[at]
                low = np.searchsorted(known.hashes, hashes[at], "left")
                high = np.searchsorted(known.hashes, hashes[at], "right")
                for text, begin, end in zip(row.tolist(), low.tolist(), high.tolist(), strict=True):
                    for place in range(begin, end):
                        first, second = int(self._long[text]), int(self._long[order[place]])
                        if one_error(self.texts[first], self.texts[second]):
                            yield first, second

    def _replacements(self) -> Iterator[list[int]]:
        """Groups of texts that are equal without the character at one place, so each is one error from the others."""
        if not len(self._long):
            return
        parts = [
            (block.without(placed=True), block.row.astype(np.int32), block.place.astype(np.int32))
            for block in self._blocks()
        ]
        hashes, rows, places = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        del parts
        repeated = np.sort(hashes)
        repeated = np.unique(repeated[1:][repeated[1:] == repeated[:-1]])
        if not len(repeated):
            return
        at = _Known(repeated).which(hashes)
        groups: defaultdict[tuple[int, str, str], list[int]] = defaultdict(list)
        for text, where in zip(rows[at].tolist(), places[at].tolist(), strict=True):
            number = int(self._long[text])
            name = self.texts[number]
            groups[where, name[:where] + name[where + 1 :], _digits(name)].append(number)
        yield from (sorted(members) for members in groups.values() if len(members) > 1)

    def _blocks(self) -> Iterator[_Block]:
        for begin in range(0, len(self._long), BLOCK):
            rows = self._long[begin : begin + BLOCK]
            yield _Block([self.texts[i] for i in rows.tolist()], begin)


class _Known:
    """Sorted hashes, with a table that tells quickly of most others that they are not among them."""

    def __init__(self, hashes: Hashes) -> None:
        self.hashes = hashes
        self._bits = max(_FILTER_BITS[0], min(_FILTER_BITS[1], len(hashes).bit_length() + 4))
        self._table = np.zeros(1 << self._bits, dtype=bool)
        self._table[_high_bits(hashes, self._bits)] = True

    def which(self, hashes: Hashes) -> Index64:
        """The places of the hashes that are among the known ones."""
        at = np.flatnonzero(self._table[_high_bits(hashes, self._bits)])
        place = np.searchsorted(self.hashes, hashes[at])
        place[place == len(self.hashes)] = 0
        same: Index64 = at[self.hashes[place] == hashes[at]]
        return same


def _high_bits(hashes: Hashes, number: int) -> NDArray[np.int64]:
    mixed = hashes * np.uint64(0xFF51AFD7ED558CCD)
    bits: NDArray[np.int64] = (mixed >> np.uint64(64 - number)).astype(np.int64)
    return bits


class _Block:
    """The hashes of some texts, with a row per character of each."""

    def __init__(self, texts: Sequence[str], first: int) -> None:
        length = np.array([len(text) for text in texts], dtype=np.int64)
        code = np.frombuffer("".join(texts).encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
        starts = np.concatenate([[0], np.cumsum(length)[:-1]])
        text = np.repeat(np.arange(len(texts)), length)
        self.row = first + text
        """The number of the text of each character."""
        self.place = np.arange(len(code)) - starts[text]
        """The place of each character in its text."""
        power = np.cumprod(np.concatenate([[np.uint64(1)], np.full(int(length.max()), _BASE)]), dtype=np.uint64)
        self._term = (code + np.uint64(1)) * power[self.place]
        self._power, self._code, self._length = power, code, length[text]
        total = np.cumsum(self._term, dtype=np.uint64)
        before = total - self._term - (total[starts] - self._term[starts])[text]
        whole = np.add.reduceat(self._term, starts)
        self.whole: Hashes = whole
        """The hash of each text."""
        self._before, self.of_text = before, whole[text]

    def without(self, placed: bool = False) -> Hashes:
        """The hash of each text without the character; with `placed`, different for each place."""
        after = self.of_text - self._before - self._term
        inverse = np.uint64(pow(int(_BASE), -1, 1 << 64))
        hashes: Hashes = self._before + after * inverse
        if placed:
            hashes = hashes ^ (self.place.astype(np.uint64) + np.uint64(1)) * np.uint64(0xC2B2AE3D27D4EB4F)
        return hashes

    def swapped(self) -> Hashes:
        """The hash of each text with the character and the next one swapped; the text itself for the last character."""
        last = self.place == self._length - 1
        following = np.concatenate([self._code[1:], [np.uint64(0)]])
        difference = (following - self._code) * (self._power[self.place] - self._power[self.place] * _BASE)
        hashes: Hashes = self.of_text + np.where(last, np.uint64(0), difference)
        return hashes

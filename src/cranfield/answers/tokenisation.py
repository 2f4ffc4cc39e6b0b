"""From texts to words: tokenisation, stemming, stop words, and the part of a text that counts."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from cranfield import _core, check
from cranfield.collection.doors import reads
from cranfield.collection.source import PathLike, load, text_of
from cranfield.collection.tables.table_schema import Schema, Words
from cranfield.errors import UsageError

TOKENISATIONS = ("ascii", "unicode", "blanks")
STEMMERS = ("none", "rouge", "porter", "nltk")
SENTENCES = ("lines", "marks")
_BY_CHARACTER = (
    (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3040, 0x30FF), (0x3100, 0x312F), (0x31A0, 0x31BF),
    (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x1B000, 0x1B16F),
    (0x20000, 0x3FFFF),
)  # fmt: skip
"""Han, Hiragana, Katakana and Bopomofo, which are written without blanks."""
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""Bytes that are not UTF-8, and halves of surrogate pairs, which JSON can hold."""
EXCEPTIONS = Schema(
    "word stem", layouts=["word stem" + " -" * more for more in range(7)], separators="\t ", mixed=True, comments=True,
    header=False, word=Words(), stem=Words(),
)  # fmt: skip
"""A word, its stem, and further stems that are not used."""
_SENTENCE_END = re.compile(r"(?<=[.!?。！？؟।])[\"'”’»)\]]*\s+|(?<=[。！？])(?=\S)")


@dataclass(frozen=True)
class WordRules:
    """How a text becomes words.

    tokens: `ascii` (as ROUGE-1.5.5 and rouge-score: runs of ASCII letters and digits, in lower case), `unicode`
        (letters, digits and marks of any script, case-folded and in NFC; Han, Hiragana, Katakana and Bopomofo by
        character; everything else separates words, as emoji do) or `blanks` (what is between blanks, unchanged).
    stemmer: `none`, `rouge` (the Porter stemmer of ROUGE-1.5.5), `porter` (Porter's own) or `nltk` (that of
        rouge-score). Only words of four letters or more are stemmed, and only ASCII words.
    stop_words: words that are left out, before stemming.
    exceptions: {word: stem} for words that the stemmer does not see, as ROUGE-1.5.5 looks up those of WordNet.
    sentences: `lines`, or `marks`, which also ends a sentence after . ! ? and their like.
    most_words, most_bytes: only the beginning of a text counts, in words between blanks or in bytes of UTF-8. As in
        ROUGE-1.5.5, ends of lines do not count, and references are cut as well.

    >>> WordRules(tokens="unicode").words("Die Straße, 東京!")
    ['die', 'strasse', '東', '京']
    """

    tokens: str = "ascii"
    stemmer: str = "none"
    stop_words: frozenset[str] = frozenset()
    exceptions: Mapping[str, str] = field(default_factory=dict)
    sentences: str = "lines"
    most_words: int | None = None
    most_bytes: int | None = None

    def __post_init__(self) -> None:
        check.one_of("", TOKENISATIONS, tokens=self.tokens)
        check.one_of("", STEMMERS, stemmer=self.stemmer)
        check.one_of("", SENTENCES, sentences=self.sentences)
        check.whole("", most_words=self.most_words, most_bytes=self.most_bytes)
        if self.most_words is not None and self.most_bytes is not None:
            raise UsageError("most_words and most_bytes are both given; a text has one limit")

    def numbered(self, texts: Iterable[str]) -> _core.Words:
        """All texts as numbered words."""
        stop_words = [word if self.tokens == "blanks" else word.lower() for word in self.stop_words]
        prepared = [self.prepared(text) for text in texts]
        return _core.words_of(prepared, self.tokens == "ascii", self.stemmer, stop_words, dict(self.exceptions))

    def prepared(self, text: str) -> str:
        """The part of a text that counts, a sentence on each line; words are between blanks unless they are ASCII."""
        text = _HALF_CHARACTER.sub("\ufffd", text)
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if self.sentences == "marks":
            text = "\n".join(_SENTENCE_END.split(text))
        if self.most_words is not None or self.most_bytes is not None:
            text = self._cut(text)
        if self.tokens == "unicode":
            return "\n".join(" ".join(unicode_words(line)) for line in text.split("\n"))
        return text.replace("\t", " ") if self.tokens == "blanks" else text

    def words(self, text: str) -> list[str]:
        """The words of one text."""
        numbered = self.numbered([text])
        vocabulary = numbered.vocabulary()
        return [vocabulary[number] for number in numbered.word.tolist()]

    def _cut(self, text: str) -> str:
        left = self.most_words or self.most_bytes or 0
        kept = []
        for line in text.split("\n"):
            if self.most_words is not None:
                words = line.split()[:left]
                left -= len(words)
                kept.append(" ".join(words))
            else:
                part = line.encode("utf-8")[:left]
                left -= len(part)
                kept.append(part.decode("utf-8", "ignore"))
            if left <= 0:
                break
        return "\n".join(kept)


def unicode_words(text: str) -> list[str]:
    """The words of a text in any script, case-folded and in NFC.

    A word is a run of letters, digits and the marks on them. Characters of scripts without blanks are words by
    themselves. Invisible format characters, such as marks of direction and joiners, are dropped.

    >>> unicode_words("Café 東京タワー 😀 שלום!") == ["café", "東", "京", "タ", "ワ", "ー", "שלום"]
    True
    """
    if text.isascii():
        return re.findall("[a-z0-9]+", text.lower())
    words, dropped = _patterns()
    return words.findall(unicodedata.normalize("NFC", dropped.sub("", text).casefold()))


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of words and of characters that are dropped; they are made on first use, which takes a moment."""
    marks, dropped = characters_of("M"), characters_of("Cf")
    single = "".join(f"{chr(low)}-{chr(high)}" for low, high in _BY_CHARACTER)
    letter = rf"(?![{single}])[^\W_]"
    return re.compile(rf"(?=[{single}])[^\W_][{marks}]*|{letter}(?:{letter}|[{marks}])*"), re.compile(f"[{dropped}]")


def characters_of(category: str) -> str:
    """The characters of a category of Unicode, such as P (punctuation) or Cf, as the inside of a class of a pattern.

    >>> bool(re.fullmatch(f"[{characters_of('Sc')}]+", "$€"))
    True
    """
    return _ranges([point for point, name in enumerate(_categories()) if name.startswith(category)])


@lru_cache(maxsize=1)
def _categories() -> list[str]:
    return [unicodedata.category(chr(point)) for point in range(sys.maxunicode + 1)]


def _ranges(points: Sequence[int]) -> str:
    """Characters as the inside of a class of a pattern."""
    starts = [point for at, point in enumerate(points) if at == 0 or points[at - 1] != point - 1]
    ends = [point for at, point in enumerate(points) if at == len(points) - 1 or points[at + 1] != point + 1]
    return "".join(f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in zip(starts, ends, strict=True))


@reads
def read_word_list(path: PathLike) -> frozenset[str]:
    """Stop words: words between blanks or line ends."""
    words = text_of(load(path)).split()
    if not words:
        raise UsageError(f"{path}: holds no words")
    return frozenset(words)


def read_exceptions(paths: Sequence[PathLike]) -> dict[str, str]:
    """Words and their stems, a pair on each line, as in WordNet's files of exceptions; the first stem counts."""
    exceptions: dict[str, str] = {}
    for path in paths:
        for word, stem in EXCEPTIONS.read(path):
            exceptions.setdefault(word, stem)
    return exceptions

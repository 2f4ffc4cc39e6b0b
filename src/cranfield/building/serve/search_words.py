"""The words of a text, for search in documents and for marking: blanks separate them, or each character is one."""

from __future__ import annotations

import re
from functools import lru_cache

_UNSPACED = re.compile(r"([\u2e80-\u2fdf\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])")
"""Characters of Chinese, Japanese and Korean, which are written without blanks or with few."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
MOST_WORDS = 20
_COMMON = frozenset(
    """a about an and any are as at be been by can could did do does for from had has have how i if in into is it its
    of on or should than that the their them there these they this those to was were what when where which who whom
    whose why will with would you your der die das und oder ein eine ist im in von zu le la les de des du et un une en
    el los las y o un una il lo gli e""".split()  # noqa: SIM905  (a list of words is easier to read as text)
)


def spaced(text: str) -> str:
    """The text with blanks around characters of languages that are written without blanks.

    >>> spaced("Tokyo 東京")
    'Tokyo  東  京 '
    """
    return _UNSPACED.sub(r" \1 ", text)


def phrases(query: str) -> list[str]:
    """The words of a query; characters that stand together without blanks are one phrase.

    >>> phrases('wing-flutter "東京" OR')
    ['wing', 'flutter', '東 京', 'OR']
    """
    return [" ".join(spaced(word).split()) for word in _WORD.findall(query)[:MOST_WORDS]]


@lru_cache(maxsize=1_000)
def marked_words(title: str) -> tuple[str, ...]:
    """The words of a topic that are marked in documents: all but the most common ones.

    >>> marked_words("What is the flutter of wings?")
    ('flutter', 'wings')
    """
    words = dict.fromkeys(word.casefold() for word in _WORD.findall(title))
    return tuple([word for word in words if word not in _COMMON and (len(word) > 1 or not word.isascii())][:MOST_WORDS])

"""Text that the database and files can hold, and its words, for search and for marking.

Half of a surrogate pair (which JSON can write, as in "\\ud800") has no UTF-8, and PostgreSQL holds no NUL character.
Blanks separate words, or each character is a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from cranfield.errors import UsageError

_WRONG = re.compile("[\0\ud800-\udfff]")


def need_text(value: Any, name: str = "") -> None:
    """Raise an error for text, also within lists and mappings, that holds something other than characters.

    >>> need_text({"reason": "half \\ud83d of a pair"})
    Traceback (most recent call last):
    ...
    cranfield.errors.UsageError: reason has U+D83D at character 6, which is not a character; take it out and try again
    """
    waiting = [(name, value)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, str):
            wrong = _WRONG.search(value)
            if wrong:
                code, place = f"U+{ord(wrong[0]):04X}", wrong.start() + 1
                raise UsageError(
                    f"{name} has {code} at character {place:,}, which is not a character; take it out and try again"
                )
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                waiting += [("a name", key), (str(key) if isinstance(inner, str) else name or str(key), inner)]
        elif isinstance(value, list | tuple):
            waiting += [(name, inner) for inner in value]


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

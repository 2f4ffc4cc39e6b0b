"""The three Porter stemmers, beside NLTK and by hand."""

from __future__ import annotations

import random

import pytest
from nltk.stem.porter import PorterStemmer

from cranfield import _core

TEXT = """
s es ies sses ed eed ied ing y ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness
fulness ousness aliti iviti biliti logi fulli icate ative alize iciti ical ful ness al ance ence er ic able ible ant
ement ment ent ion sion tion ou ism ate iti ous ive ize e ll
"""
ENDINGS = TEXT.split()


def made_words(count: int) -> list[str]:
    rng = random.Random(0)
    words = []
    for _ in range(count):
        stem = "".join(rng.choice("aeiouyybcdfglmnrstwxz") for _ in range(rng.randrange(1, 7)))
        words.append(stem + "".join(rng.choice(ENDINGS) for _ in range(rng.randrange(3))))
    return words


@pytest.mark.peers
@pytest.mark.parametrize(
    ("name", "mode"), [("porter", PorterStemmer.MARTIN_EXTENSIONS), ("nltk", PorterStemmer.NLTK_EXTENSIONS)]
)
def test_stems_are_those_of_nltk(name: str, mode: str) -> None:
    peer = PorterStemmer(mode)
    words = [*made_words(5000), "skies", "dying", "news", "innings", "proceed", "tied", "spied", "by", "enjoy"]
    assert [_core.stem_of(word, name) for word in words] == [peer.stem(word) for word in words]


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("replacement", "replac"),  # -ement
        ("adjustment", "adjust"),  # -ment
        ("dependent", "depend"),  # -ent
        ("adoption", "adopt"),  # -ion after t
        ("fundamental", "fundam"),  # -al, and then -ent; Porter's own gives fundament
        ("governmental", "govern"),  # -al, and then -ment; Porter's own gives government
        ("yes", "ye"),
    ],
)
def test_step_4_of_rouge(word: str, stem: str) -> None:
    """By the rules of ROUGE-1.5.5: one ending of a list, then -ment, then -ent or else -ion, each if m > 1."""
    assert _core.stem_of(word, "rouge") == stem

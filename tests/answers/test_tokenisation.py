"""Words of texts in any script."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield import UsageError
from cranfield.answers.tokenisation import WordRules, read_exceptions, read_word_list, unicode_words


def slow_words(text: str) -> list[str]:
    """Character by character."""
    visible = "".join(c for c in text if unicodedata.category(c) != "Cf")
    words: list[str] = []
    state = "between"
    for c in unicodedata.normalize("NFC", visible.casefold()):
        category, name = unicodedata.category(c), unicodedata.name(c, "")
        by_character = name.startswith(("CJK UNIFIED", "CJK COMPAT", "HIRAGANA", "KATAKANA", "BOPOMOFO LETTER"))
        if category[0] == "M":
            if state != "between":
                words[-1] += c
        elif category[0] not in "LN":
            state = "between"
        elif by_character:
            words.append(c)
            state = "single"
        else:
            if state == "word":
                words[-1] += c
            else:
                words.append(c)
            state = "word"
    return words


SCRIPTS = "abZ19 _.,-'éß\u0301\u200d\ufe0f😀👍🏽東京タワひらㄅ한국어שלוםمرحبا\u064eहिन्दीไทย\u200f\n"


@given(st.text(alphabet=SCRIPTS, max_size=30))
def test_words_are_those_found_character_by_character(text: str) -> None:
    assert unicode_words(text) == slow_words(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Cafe\u0301 CAFÉ", ["café", "café"]),  # composed and decomposed, capital and small
        ("STRASSE Straße", ["strasse", "strasse"]),
        ("東京タワー は333m", ["東", "京", "タ", "ワ", "ー", "は", "333m"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("\u200fשלום\u200e עולם", ["שלום", "עולם"]),
        ("हिन्दी में", ["हिन्दी", "में"]),  # vowel signs belong to the word
        ("great 👍🏽 idea", ["great", "idea"]),
        ("می\u200cخواهم", ["میخواهم"]),  # the joiner is dropped
    ],
)
def test_words_in_many_scripts(text: str, words: list[str]) -> None:
    assert WordRules(tokens="unicode").words(text) == words


def test_ascii_words_are_those_of_rouge_155() -> None:
    assert WordRules().words("Don't-stop: 3.5% of café's É") == ["don", "t", "stop", "3", "5", "of", "caf", "s"]


def test_only_ascii_words_are_stemmed() -> None:
    assert WordRules(tokens="unicode", stemmer="porter").words("running éditions") == ["run", "éditions"]


def test_sentences_by_marks() -> None:
    rules = WordRules(tokens="unicode", sentences="marks")
    prepared = rules.prepared('One. Two! "Three?" 四。五 v1.5')
    assert prepared.split("\n") == ["one", "two", "three", "四", "五 v1 5"]


def test_texts_with_bytes_that_are_not_utf_8() -> None:
    """Such bytes come as surrogates, and separate words."""
    assert WordRules().words("a\udcffb") == ["a", "b"]
    assert WordRules(tokens="unicode").words("a\udcffb é") == ["a", "b", "é"]
    assert WordRules().words("a\ud800b") == ["a", "b"]  # half of a surrogate pair, which JSON can hold
    assert WordRules(most_bytes=2).words("\ud800 b c") == []


def test_two_limits_are_an_error() -> None:
    with pytest.raises(UsageError, match="a text has one limit"):
        WordRules(most_words=3, most_bytes=3)
    with pytest.raises(UsageError, match="stemmer == 'lancaster', must be one of"):
        WordRules(stemmer="lancaster")


def test_files_of_words(tmp_path) -> None:
    (tmp_path / "stop.txt").write_text("the a\nof\n")
    assert read_word_list(tmp_path / "stop.txt") == {"the", "a", "of"}
    (tmp_path / "noun.exc").write_text("mice mouse\ngeese goose\nmice other\n")
    assert read_exceptions([tmp_path / "noun.exc"]) == {"mice": "mouse", "geese": "goose"}

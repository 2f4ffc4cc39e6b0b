"""BLEU beside sacrebleu, and by hand."""

from __future__ import annotations

import math
import random

import pytest
import sacrebleu

from cranfield import UsageError
from cranfield.answers.bleu_scores import bleu, tokenised_13a, tokenised_char, tokenised_intl

WORDS = [
    "the",
    "cat",
    "sat,",
    "on",
    "3.5%",
    "a",
    "mat.",
    "(dog)",
    "well-known",
    "5-7",
    "&quot;x&quot;",
    "U.S.",
    "it's",
    "ä",
    "«東京。»",
    "10\u00a0€",
    "2019.",
]
METHODS = {"exp": "exp", "floor": "floor", "add-k": "add-k", "none": "none"}


def random_text(rng: random.Random, most: int = 14) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, most)))


@pytest.mark.peers
@pytest.mark.parametrize("tokeniser", ["13a", "intl", "char", "none"])
@pytest.mark.parametrize("smoothing", sorted(METHODS))
def test_scores_are_those_of_sacrebleu(tokeniser: str, smoothing: str) -> None:
    rng = random.Random(1)
    systems = [random_text(rng) for _ in range(60)]
    references = [[random_text(rng) for _ in range(2)] for _ in systems]
    result = bleu(
        {"x": dict(enumerate_topics(systems))}, dict(enumerate_topics(references)), tokeniser=tokeniser,
        smoothing=smoothing,
    )  # fmt: skip
    peer = sacrebleu.metrics.BLEU(tokenize=tokeniser, smooth_method=METHODS[smoothing])
    whole = peer.corpus_score(systems, [list(column) for column in zip(*references, strict=True)])
    assert 100 * result.corpus.item() == pytest.approx(whole.score, abs=1e-9)
    assert [100 * p for p in result.precisions[0]] == pytest.approx(whole.precisions)
    assert result.brevity.item() == pytest.approx(whole.bp)
    assert (result.length.item(), result.reference_length.item()) == (whole.sys_len, whole.ref_len)
    alone = sacrebleu.metrics.BLEU(tokenize=tokeniser, smooth_method=METHODS[smoothing], effective_order=True)
    for i, system in enumerate(systems):
        expected = alone.sentence_score(system, references[i]).score
        assert 100 * result.scores.values[0, 0, i] == pytest.approx(expected, abs=1e-9), (system, references[i])


def enumerate_topics(texts: list) -> list[tuple[str, object]]:
    return [(str(i), text) for i, text in enumerate(texts)]


@pytest.mark.peers
@pytest.mark.parametrize("name", ["13a", "intl", "char"])
def test_the_tokeniser_is_that_of_sacrebleu(name: str) -> None:
    theirs = sacrebleu.metrics.BLEU(tokenize=name).tokenizer
    ours = {"13a": tokenised_13a, "intl": tokenised_intl, "char": tokenised_char}[name]
    rng = random.Random(2)
    signs = [
        *list("ab1.,-'\"()$%&;:/<> \n"),
        "&amp;",
        "&lt;",
        "<skipped>",
        "é",
        "東",
        "。",
        "«",
        "€",
        "\u00a0",
        "²",
        "٣",
        "־",
    ]
    for _ in range(2000):
        text = "".join(rng.choice(signs) for _ in range(rng.randrange(12)))
        assert ours(text).split() == theirs(text).split(), repr(text)


@pytest.mark.peers
@pytest.mark.parametrize("tokeniser", ["13a", "intl"])
def test_blanks_at_the_end_of_a_text_change_nothing(tokeniser: str) -> None:
    text, reference = "in 2019. 5-\n", "it was 2019. 5-"
    expected = sacrebleu.metrics.BLEU(tokenize=tokeniser, effective_order=True).sentence_score(text, [reference]).score
    result = bleu({"x": {"1": text}}, {"1": reference}, tokeniser=tokeniser)
    assert 100 * result.scores.values.item() == pytest.approx(expected, abs=1e-9)


def test_by_hand() -> None:
    """the cat sat on the mat . against the cat sat on a mat . : 6/7, 4/6, 2/5 and 1/4 n-grams, equally long."""
    result = bleu({"x": {"1": "the cat sat on the mat ."}}, {"1": "the cat sat on a mat ."}, tokeniser="none")
    assert result.corpus.item() == pytest.approx(math.prod([6 / 7, 4 / 6, 2 / 5, 1 / 4]) ** 0.25)
    assert result.precisions[0].tolist() == pytest.approx([6 / 7, 4 / 6, 2 / 5, 1 / 4])


def test_empty_texts_score_zero() -> None:
    result = bleu({"x": {"1": "", "2": "a"}}, {"1": "a", "2": ""})
    assert result.scores.values.tolist() == [[[0, 0]]]
    assert result.corpus.item() == 0
    assert "1 empty text, scored 0: x: 1" in result.notes


def test_a_value_needs_a_smoothing_that_has_one() -> None:
    with pytest.raises(UsageError, match="smoothing_value applies to floor and add-k"):
        bleu({"x": {"1": "a"}}, {"1": "a"}, smoothing="exp", smoothing_value=1)

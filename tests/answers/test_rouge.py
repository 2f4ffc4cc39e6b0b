"""ROUGE: against rouge-score, against slow and literal counting, and by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cranfield import UsageError
from cranfield.answers.rouge_scores import counted_pairs, paired_texts, parse_rouge, rouge, rouge_intervals
from cranfield.answers.tokenisation import WordRules
from cranfield.comparison import mean_interval
from tests.oracles import slow_rouge

WORDS = [
    "the",
    "cat",
    "cats",
    "sat",
    "sitting",
    "on",
    "mat",
    "a",
    "dog",
    "barked",
    "happily",
    "relational",
    "running",
    "ponies",
    "National,",
    "end.",
    "x3",
    "don't",
]


def random_text(rng: random.Random, most: int = 40, words: list[str] = WORDS) -> str:
    parts = [rng.choice(words) for _ in range(rng.randrange(most))]
    return "".join(part + rng.choice("    \n") for part in parts)


def values(system: str, references: list[str], measure: str, **options: object) -> list[float]:
    result = rouge({"x": {"1": system}}, {"1": references}, measure, **options)
    return result.scores.values[:, 0, 0].tolist()


@pytest.mark.peers
@pytest.mark.parametrize("stemmer", ["none", "nltk"])
def test_scores_are_those_of_rouge_score(stemmer: str) -> None:
    from rouge_score import rouge_scorer  # its import takes a second, which every worker would spend

    rng = random.Random(1)
    kinds = ["rouge1", "rouge2", "rouge3", "rougeL", "rougeLsum"]
    scorer = rouge_scorer.RougeScorer(kinds, use_stemmer=stemmer == "nltk")
    texts = [(random_text(rng), random_text(rng)) for _ in range(150)]
    runs = {"x": {str(i): system for i, (system, _) in enumerate(texts)}}
    references = {str(i): [reference] for i, (_, reference) in enumerate(texts)}
    result = rouge(runs, references, kinds, rules=WordRules(stemmer=stemmer)).scores
    for i, (system, reference) in enumerate(texts):
        expected = scorer.score(reference, system)
        flat = [x for kind in kinds for x in (expected[kind].recall, expected[kind].precision, expected[kind].fmeasure)]
        assert result.values[:, 0, i].tolist() == pytest.approx(flat, abs=1e-12)


@pytest.mark.peers
def test_the_best_reference_by_f_is_that_of_rouge_score() -> None:
    from rouge_score import rouge_scorer

    rng = random.Random(2)
    scorer = rouge_scorer.RougeScorer(["rouge1", "rougeL"])
    for _ in range(50):
        system, references = random_text(rng), [random_text(rng) for _ in range(3)]
        expected = scorer.score_multi(references, system)
        for kind in ("rouge1", "rougeL"):
            assert values(system, references, f"{kind}-F", several="best-F") == pytest.approx([expected[kind].fmeasure])


@pytest.mark.peers
def test_the_stemmer_of_rouge_differs_from_porters_in_step_4_only() -> None:
    """nltk has Porter's own release as a mode; ROUGE-1.5.5 tries -ment and -ent after the other endings."""
    from nltk.stem.porter import PorterStemmer

    stem = PorterStemmer(PorterStemmer.MARTIN_EXTENSIONS).stem
    words = "relational conditionally vietnamization operator feudalism sensibility triplicate formalize hopefulness "
    words += (
        "revival adjustable replacement adoption controlling failing hissed falling skies dying happily archaeology"
    )
    assert WordRules(stemmer="porter").words(words) == [stem(word) if len(word) > 3 else word for word in words.split()]
    # by hand: fundamental loses -al (step 4), and in ROUGE-1.5.5 then -ent as well, as "fundam" has m = 2
    assert WordRules(stemmer="porter").words("fundamental") == ["fundament"]
    assert WordRules(stemmer="rouge").words("fundamental replacement") == ["fundam", "replac"]


@pytest.mark.parametrize("seed", range(6))
def test_units_are_those_of_literal_counting(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        words = WORDS[: rng.choice([2, 4, 10])]
        system, reference = random_text(rng, words=words), random_text(rng, words=words)
        rules = WordRules()
        sentences = [[w for line in text.split("\n") if (w := rules.words(line))] for text in (system, reference)]
        s, r = ([word for sentence in text for word in sentence] for text in sentences)
        expected = {
            "ROUGE-1": slow_rouge.ngrams(s, r, 1),
            "ROUGE-2": slow_rouge.ngrams(s, r, 2),
            "ROUGE-5": slow_rouge.ngrams(s, r, 5),
            "ROUGE-S*": slow_rouge.skip_bigrams(s, r, None),
            "ROUGE-S0": slow_rouge.skip_bigrams(s, r, 0),
            "ROUGE-S4": slow_rouge.skip_bigrams(s, r, 4),
            "ROUGE-SU4": slow_rouge.skip_bigrams(s, r, 4, "all but the last"),
            "ROUGE-SU4 paper": slow_rouge.skip_bigrams(s, r, 4, "all"),
            "ROUGE-L": slow_rouge.subsequence(s, r),
            "ROUGE-W-1.2 paper": slow_rouge.subsequence(s, r, 1.2),
            "ROUGE-Lsum": slow_rouge.by_sentence(*sentences),
            "ROUGE-W-1.2": slow_rouge.by_sentence(*sentences, weight=1.2),
            "ROUGE-W-2": slow_rouge.by_sentence(*sentences, weight=2.0),
        }
        pairs = paired_texts({"x": {"1": system}}, {"1": [reference]}, rules)
        for name, counts in expected.items():
            measure = parse_rouge(name.removesuffix(" paper"))[0]
            dialect = "paper" if name.endswith("paper") else "rouge-1.5.5"
            counted = [part[0] for part in counted_pairs(pairs, measure, dialect)]
            assert counted == pytest.approx(list(counts), abs=1e-9), (name, system, reference)


def test_long_sentences_are_marked_as_short_ones_are() -> None:
    """Above 512 words, some rows of the tables are computed again; the result is that of the whole table."""
    rng = random.Random(3)
    s, r = (["abcdefgh"[rng.randrange(8)] for _ in range(n)] for n in (700, 900))
    pairs = paired_texts({"x": {"1": " ".join(s)}}, {"1": [" ".join(r)]}, WordRules())
    for name, weight in (("ROUGE-Lsum", None), ("ROUGE-W-1.2", 1.2)):
        counted = [part[0] for part in counted_pairs(pairs, parse_rouge(name)[0], "rouge-1.5.5")]
        assert counted == pytest.approx(list(slow_rouge.by_sentence([s], [r], weight)))
    length = [part[0] for part in counted_pairs(pairs, parse_rouge("ROUGE-L")[0], "paper")]
    assert length == list(slow_rouge.subsequence(s, r))


def test_examples_of_lins_paper() -> None:
    """Section 3 and 5 of Lin (2004): S1 is the reference "police killed the gunman"."""
    reference = "police killed the gunman"
    assert values("police kill the gunman", [reference], "ROUGE-L-F") == pytest.approx([3 / 4])
    assert values("the gunman kill police", [reference], "ROUGE-L-F") == pytest.approx([2 / 4])
    assert values("police kill the gunman", [reference], "ROUGE-S*-F") == pytest.approx([3 / 6])
    assert values("the gunman kill police", [reference], "ROUGE-S*-F") == pytest.approx([1 / 6])
    assert values("the gunman police killed", [reference], "ROUGE-S*-F") == pytest.approx([2 / 6])


def test_weighted_subsequences_of_lins_paper() -> None:
    """X = A B C D E F G, Y1 = A B C D H I K, Y2 = A H B K C I D; with f(k) = k², ROUGE-W is .571 and .286."""
    scores = [
        values(y, ["A B C D E F G"], "ROUGE-W-2-F", dialect="paper")[0] for y in ("A B C D H I K", "A H B K C I D")
    ]
    assert scores == pytest.approx([4 / 7, 2 / 7])


def test_rouge_w_of_equal_texts() -> None:
    """1 by the paper; ROUGE-1.5.5 divides by (4^1.2)^1.2, so that its recall is 4^(1 - 1.2)."""
    text = "police killed the gunman"
    assert values(text, [text], "ROUGE-W-1.2", dialect="paper") == pytest.approx([1, 1, 1])
    assert values(text, [text], "ROUGE-W-1.2")[:2] == pytest.approx([4 ** (1 - 1.2), 1])


def test_the_union_of_lins_paper() -> None:
    """Section 3.2: r = w1 w2 w3 w4 w5, c1 = w1 w2 w6 w7 w8, c2 = w1 w3 w8 w9 w5: the union LCS is w1 w2 w3 w5, 4/5."""
    assert values("w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5", ["w1 w2 w3 w4 w5"], "ROUGE-Lsum-R") == pytest.approx([4 / 5])


def test_several_references() -> None:
    """Recall of a b against "a c" is 1/2, against "a b c d" 2/4, against "a b x" 2/3; precision 1/2, 1, 1."""
    references = ["a c", "a b c d", "a b x"]
    assert values("a b", references, "ROUGE-1", several="average")[:2] == pytest.approx([5 / 9, 5 / 6])
    assert values("a b", references, "ROUGE-1", several="best")[:2] == pytest.approx([2 / 3, 1])
    # of the three sets without one reference, two hold the best one; in the third, the first of the two with 1/2
    assert values("a b", references, "ROUGE-1", several="jackknife")[:2] == pytest.approx(
        [(2 * 2 / 3 + 1 / 2) / 3, (2 * 1 + 1 / 2) / 3]
    )
    assert values("a b", references[:1], "ROUGE-1-R", several="jackknife") == [0.5]


def test_f_by_beta_and_by_alpha() -> None:
    """R = 1/2 and P = 1: F(β = 2) is 5·P·R / (4·P + R) = 2.5/4.5, and α = 1/5 is the same."""
    assert values("a", ["a b"], "ROUGE-1-F", beta=2) == pytest.approx([2.5 / 4.5])
    assert values("a", ["a b"], "ROUGE-1-F", alpha=0.2) == pytest.approx([2.5 / 4.5])
    assert values("a", ["a b"], "ROUGE-1-F", alpha=1) == pytest.approx([1])
    assert values("a", ["a b"], "ROUGE-1-F", alpha=0) == pytest.approx([1 / 2])


def test_stop_words_and_exceptions_come_before_stemming() -> None:
    rules = WordRules(stemmer="rouge", stop_words=frozenset({"The"}), exceptions={"mice": "mouse", "was": "be"})
    assert rules.words("The mice was running") == ["mouse", "was", "run"]  # was has three letters


def test_limits_cut_systems_and_references() -> None:
    assert values("a b c d", ["a b c d e f"], "ROUGE-1-R", rules=WordRules(most_words=3)) == [1.0]
    assert WordRules(most_words=3).words("a b\nc d") == ["a", "b", "c"]
    assert WordRules(most_bytes=4).words("ab\ncdef") == ["ab", "cd"]  # the end of the line does not count
    assert WordRules(tokens="unicode", most_bytes=4).words("äöü") == ["äö"]  # two bytes each


def test_empty_texts_score_zero_and_are_noted() -> None:
    result = rouge({"x": {"1": "", "2": "a"}, "y": {"1": "a"}}, {"1": ["a"], "2": [" \n"]}, ["ROUGE-1", "ROUGE-SU4"])
    assert result.scores.select(measures=["ROUGE-1-R"]).values[0].tolist() == [[0, 0], [1, 0]]
    notes = " ".join(result.notes)
    assert "1 empty text, scored 0: x: 1" in notes
    assert "1 topic with an empty reference, in which nothing matches: 2" in notes
    assert "topics missing from runs, scored 0: y (2)" in notes


def test_texts_without_references_are_noted_or_an_error() -> None:
    result = rouge({"x": {"1": "a", "9": "b"}}, {"1": "a"}, "ROUGE-1")
    assert "1 text without a reference left out: x: 9" in result.notes
    with pytest.raises(UsageError, match="topics of the texts are like '9', those of the references like '1'"):
        rouge({"x": {"9": "b"}}, {"1": "a"})


@pytest.mark.parametrize("name", ["ROUGE-0", "ROUGE-X", "BLEU", "ROUGE-1-Q", "ROUGE-W-1"])
def test_unknown_names_are_errors(name: str) -> None:
    with pytest.raises(UsageError):
        parse_rouge(name)


def test_intervals_are_the_percentiles_of_rouge_155() -> None:
    """With B = 1,000 and 95%, d = 25: the ends are the means at places 25 and 974 of the sorted ones."""
    scores = np.random.default_rng(0).random((1, 1, 7))
    low, high = rouge_intervals(scores, 0.95, 1000, seed=5)
    picks = np.random.default_rng(5).integers(0, 7, (1000, 7))
    means = sorted(float(np.mean([scores[0, 0, i] for i in row])) for row in picks.tolist())
    assert [low.item(), high.item()] == pytest.approx([means[25], means[974]])


def test_the_number_of_threads_does_not_change_scores() -> None:
    rng = random.Random(4)
    runs = {"x": {str(i): random_text(rng) for i in range(200)}}
    references = {str(i): [random_text(rng), random_text(rng)] for i in range(200)}
    names = ["ROUGE-1", "ROUGE-2", "ROUGE-L", "ROUGE-Lsum", "ROUGE-W", "ROUGE-SU*"]
    one, many = (rouge(runs, references, names, threads=n).scores for n in (1, 3))
    assert one == many


def test_letters_that_are_not_counted_are_noted() -> None:
    runs, references = {"x": {"1": "שלום café", "2": "plain — text 😀"}}, {"1": ["שלום café"], "2": ["plain text"]}
    result = rouge(runs, references, "ROUGE-1")
    assert result.scores.values[0, 0].tolist() == [1, 1]  # of the first text, only "caf" is a word
    assert result.notes == (
        "2 of 4 texts with letters that are not ASCII, which separate words like blanks; count them with tokens "
        "'unicode'",
    )
    assert rouge(runs, references, "ROUGE-1", rules=WordRules(tokens="unicode")).notes == ()


def test_intervals_within_the_range_hold_for_few_topics() -> None:
    texts = {str(topic): "a b c d" for topic in range(10)}
    result = rouge({"mine": texts}, texts, "ROUGE-1-R", ci=True)
    assert result.high.item() == 1
    assert result.low.item() == pytest.approx(mean_interval([1.0] * 10, measure="P@10").interval.low)
    assert "within the range of the measure" in result.notes[-1]
    short = rouge({"mine": texts}, texts, "ROUGE-1-R", resamples=20)
    assert short.notes[-1].startswith("caution: 10 topics are few for a bootstrap")
    with pytest.raises(UsageError, match="two kinds of intervals"):
        rouge({"mine": texts}, texts, ci=True, resamples=20)

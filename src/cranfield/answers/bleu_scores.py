"""BLEU: the n-gram precision of texts, with a penalty for short ones."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.answers.answer_texts import TextsOfRuns
from cranfield.answers.rouge_scores import paired_texts
from cranfield.answers.tokenisation import WordRules, characters_of
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.notes import caution_note, method_note
from cranfield.record import Record
from cranfield.scores.scores import Scores
from cranfield.text import listed
from cranfield.types import Array, Index64

SMOOTHING = ("exp", "floor", "add-k", "none")
_DEFAULT = {"floor": 0.1, "add-k": 1.0}
_ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}


@dataclass(frozen=True, eq=False, repr=False)
class Bleu(Record):
    """BLEU of runs: of all their texts together, and in `scores` of each text by itself."""

    facts = ("tokeniser", "smoothing", "lower_case")

    scores: Scores
    """Of each text (topic) by itself."""
    corpus: Array
    """runs: of all texts together."""
    precisions: Array
    """runs × 1 to N: n-gram precisions of all texts together, smoothed."""
    brevity: Array
    """runs: the brevity penalty."""
    length: Index64
    reference_length: Index64
    tokeniser: str
    smoothing: str
    lower_case: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of the numbers must know."""
        how = method_note(f"tokeniser {self.tokeniser}, smoothing {self.smoothing}")
        notes = (method_note(f"from 0 to 1; {how}{', lower case' if self.lower_case else ''}"), *self.scores.notes)
        if lacking := self.scores.lacking():
            return (
                *notes,
                caution_note(
                    f"topics missing from runs, scored 0 and left out of all together: {listed(lacking, noun='runs')}"
                ),
            )
        return notes

    def columns(self) -> dict[str, NDArray[Any]]:
        """run, BLEU, mean of sentences, a precision for each n, brevity penalty, words, reference words."""
        orders = {f"p{n}": self.precisions[:, n - 1] for n in range(1, self.precisions.shape[1] + 1)}
        return {
            "run": np.array(self.scores.runs, dtype=object),
            "BLEU": self.corpus,
            "mean of texts": self.scores.means()[0],
            **orders,
            "brevity": self.brevity,
            "words": self.length,
            "reference words": self.reference_length,
        }


@operation
def bleu(
    runs: TextsOfRuns,
    references: Mapping[str, Sequence[str] | str],
    *,
    tokeniser: Annotated[
        str,
        about(
            "How texts become words: {names} (the rules of mteval-v13a, those of mteval-v14 for all scripts, every "
            "character, or blanks).",
            choices=TOKENISERS,
        ),
    ] = "13a",
    smoothing: Annotated[str, about("What a precision of 0 becomes: {names}.", choices=SMOOTHING)] = "exp",
    smoothing_value: Annotated[
        float | None, about("The value of floor (default: 0.1) and of add-k (default: 1).", rare=True)
    ] = None,
    lower_case: Annotated[bool, about("Ignore the difference between capital and small letters.")] = False,
    most: Annotated[int, about("The longest n-grams.", least=1, spelled="--most-n N", rare=True)] = 4,
    threads: int | None = None,
) -> Bleu:
    r"""BLEU of runs: of all texts together, and of each text by itself.

    .. math:: \min\left(1, e^{1 - r/l}\right) \left(\prod_{n=1}^{N} p_n\right)^{1/N}

    :math:`p_n` is the share of n-grams of the text that a reference has, each counted at most as often as in the
    reference that has it most often. l is the length of the text in words, r that of the reference whose length is
    closest. The score of one text uses the orders up to the highest n of which it has n-grams.

    tokeniser: `13a` (the rules of mteval-v13a, the default of sacreBLEU), `intl` (those of mteval-v14, which know the
        punctuation and symbols of all scripts), `char` (every character is a word) or `none` (blanks).
    smoothing: of precisions of 0: `exp` (1/2, 1/4, ... of an n-gram), `floor` (`smoothing_value` n-grams, 0.1 by
        default), `add-k` (adds k, 1 by default, to both counts of n above 1), or `none`.

    A text without words scores 0.
    Reference: Papineni et al., BLEU: a Method for Automatic Evaluation of Machine Translation, ACL 2002, 311-318

    >>> result = bleu({"mine": {"1": "the cat sat on the mat ."}}, {"1": ["the cat sat on a mat ."]}, tokeniser="none")
    >>> round(result.corpus.item(), 4)
    0.4889
    """
    if smoothing_value is not None and smoothing not in _DEFAULT:
        raise UsageError(f"bleu: smoothing_value applies to floor and add-k, not to {smoothing!r}")
    value = _DEFAULT.get(smoothing, 0.0) if smoothing_value is None else smoothing_value
    split = _TOKENISERS[tokeniser]

    def prepared(text: str) -> str:
        return split((text.lower() if lower_case else text).rstrip())

    lists = {
        topic: [prepared(text) for text in ([texts] if isinstance(texts, str) else texts)]
        for topic, texts in references.items()
    }
    texts = {run: {topic: prepared(text) for topic, text in of_run.items()} for run, of_run in runs.items()}
    pairs = paired_texts(texts, lists, WordRules(tokens="blanks"))
    system = pairs.system[pairs.start[:-1]]
    counts = _core.clipped_grams(
        pairs.words, system, pairs.reference, pairs.start, most, threads or os.cpu_count() or 1
    )
    matched, total = (part.reshape(-1, most) for part in counts)
    lengths = np.diff(pairs.words.sentence_start[pairs.words.text_start])
    own = lengths[system]
    closest = _closest(own, lengths[pairs.reference], pairs.start)
    sentence = np.zeros(pairs.shape[0] * pairs.shape[1])
    for at, cell in enumerate(pairs.cell.tolist()):
        sentence[cell] = _score(matched[at], total[at], int(own[at]), int(closest[at]), smoothing, value, True)[0]
    run_of = pairs.cell // pairs.shape[1]
    names = list(runs)
    whole = []
    for r in range(len(names)):
        mine = run_of == r
        sums = (int(own[mine].sum()), int(closest[mine].sum()))
        whole.append(
            (*_score(matched[mine].sum(axis=0), total[mine].sum(axis=0), *sums, smoothing, value, False), *sums)
        )
    scores = Scores(["BLEU"], names, list(lists), sentence.reshape(1, *pairs.shape), pairs.missing, "zero", pairs.notes)
    corpus, precisions, brevity, length, reference_length = (np.array(column) for column in zip(*whole, strict=True))
    return Bleu(scores, corpus, precisions, brevity, length, reference_length, tokeniser, smoothing, lower_case)


def _closest(own: Index64, references: Index64, start: Index64) -> Index64:
    """The reference length closest to that of the text; of two equally close ones, the shorter."""
    closest = [
        min(references[begin:end].tolist(), key=lambda length: (abs(length - mine), length))
        for mine, begin, end in zip(own.tolist(), start[:-1].tolist(), start[1:].tolist(), strict=True)
    ]
    return np.array(closest, dtype=np.int64)


def _score(
    matched: Index64, total: Index64, length: int, reference: int, smoothing: str, value: float, effective: bool
) -> tuple[float, list[float], float]:
    """BLEU, the precisions and the brevity penalty; `effective` uses only the orders of which there are n-grams."""
    brevity = 0.0 if length == 0 else min(1.0, math.exp(1 - reference / length))
    precisions = [0.0] * len(total)
    if not any(matched.tolist()) and smoothing != "add-k":
        return 0.0, precisions, brevity
    half, orders = 1.0, len(total)
    for n, (hits, all_of) in enumerate(zip(matched.tolist(), total.tolist(), strict=True)):
        if smoothing == "add-k" and n > 0:
            hits, all_of = hits + value, all_of + value
        if all_of == 0:
            break
        if effective:
            orders = n + 1
        if hits == 0:
            half /= 2
            hits = {"exp": half, "floor": value}.get(smoothing, 0.0)
        precisions[n] = hits / all_of
    used = precisions[:orders]
    if min(used) == 0:
        return 0.0, precisions, brevity
    return brevity * math.exp(sum(map(math.log, used)) / orders), precisions, brevity


def tokenised_13a(text: str) -> str:
    """Words and punctuation between blanks, by the rules of mteval-v13a.

    >>> tokenised_13a('Mr. Smith paid $3.50 (5-7%), "today".')
    'Mr . Smith paid $ 3.50 ( 5 - 7 % ) , " today " .'
    """
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, sign in _ENTITIES.items():
        text = text.replace(entity, sign)
    text = f" {text} "
    text = re.sub(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])", r" \1 ", text)  # punctuation, other than . , - and '
    text = re.sub(r"([^0-9])([\.,])", r"\1 \2 ", text)  # . and , unless after a digit
    text = re.sub(r"([\.,])([^0-9])", r" \1 \2", text)  # . and , unless before a digit
    text = re.sub(r"([0-9])(-)", r"\1 \2 ", text)  # - after a digit
    return " ".join(text.split())


def tokenised_intl(text: str) -> str:
    """Words, punctuation and symbols of any script between blanks, by the rules of mteval-v14 for all languages.

    Punctuation between digits stays, and so does that after a digit at the very end, as in the original.

    >>> tokenised_intl("«Ça coûte 3,50 €», dit-il en 2019.")
    '« Ça coûte 3,50 € » , dit - il en 2019.'
    """
    after_other, before_other, symbol = _intl_patterns()
    text = after_other.sub(r"\1 \2 ", text)
    text = before_other.sub(r" \1 \2", text)
    return " ".join(symbol.sub(r" \1 ", text).split())


@lru_cache(maxsize=1)
def _intl_patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Punctuation after anything but a number, and before it; symbols."""
    number, punctuation, symbol = (characters_of(kind) for kind in "NPS")
    return (
        re.compile(f"([^{number}])([{punctuation}])"),
        re.compile(f"([{punctuation}])([^{number}])"),
        re.compile(f"([{symbol}])"),
    )


def tokenised_char(text: str) -> str:
    """Every character that is not blank, between blanks.

    >>> tokenised_char("東京 2")
    '東 京 2'
    """
    return " ".join("".join(text.split()))


_TOKENISERS: dict[str, Callable[[str], str]] = {
    "13a": tokenised_13a,
    "intl": tokenised_intl,
    "char": tokenised_char,
    "none": lambda text: " ".join(text.split()),
}
TOKENISERS = tuple(_TOKENISERS)

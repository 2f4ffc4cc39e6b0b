"""Measures of the time a reader spends and of the text a reader reads; they need to know how long documents are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield import check
from cranfield.assessed.lengths import Lengths
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, measure
from cranfield.measures.gain import LINEAR, Gain, GainLike
from cranfield.types import Array


def lengths_of(lists: Assessed, who: str) -> Lengths:
    """The lengths of the documents, or a complaint that says what would supply them."""
    if lists.lengths is None:
        raise UsageError(
            f"{who} needs to know how long documents are: give a file with lines 'doc length', or {{doc: length}}, "
            "as lengths=... (--lengths FILE)"
        )
    return lists.lengths


class _Reading(Measure):
    """What measures share that follow a reader from rank to rank."""

    needs: ClassVar[str] = "lengths"
    unit: ClassVar[str] = ""
    """In what documents are measured: `words` or `characters`."""

    def note(self, lists: Assessed) -> str | None:
        if lists.lengths is None or lists.lengths.column(self.unit) == self.unit:
            return None
        return f"{self.name}: the lengths of documents are taken for {self.unit}"

    def text(self, lists: Assessed, every: Hits) -> Array:
        return lengths_of(lists, self.name).of(self.unit, every.row, every.rank)


@measure
class TBG(_Reading):
    r"""Time-biased gain: relevant documents count less the more time has passed before they are reached.

    .. math:: \sum_r g(r)\, 2^{-T(r)/h}, \quad T(r) = \sum_{k<r} T_S + p_{click}(k)\,(a\,L(k) + b)

    A summary takes `summary` seconds (T_S); a document of L words, opened with chance `click_rel` if it is relevant and
    `click_non` if not (or not judged), takes `per_word` (a) for each of them and `overhead` (b). A relevant document
    gains `click_rel` times `save_rel`, the chance to be opened and then kept. After `h` seconds half the readers have
    left. The defaults are those that Smucker and Clarke calibrated on logs. Needs the lengths of documents in words.
    No relevant documents: 0.
    Reference: Smucker & Clarke, SIGIR 2012, doi:10.1145/2348283.2348300

    >>> round(TBG().of([1, 0, 1], lengths=[500, 1000, 300]), 4)
    0.9424
    """

    h: float = 224
    click_rel: float = 0.64
    save_rel: float = 0.77
    click_non: float = 0.39
    summary: float = 4.4
    per_word: float = 0.018
    overhead: float = 7.8
    rel: float = 1

    properties = Properties(recall_free=True, high=np.inf, lengths=True)
    unit = "words"

    def check(self) -> None:
        check.positive(self.name, h=self.h)
        check.between(
            self.name, low=0, high=1, click_rel=self.click_rel, save_rel=self.save_rel, click_non=self.click_non
        )
        check.not_negative(self.name, summary=self.summary, per_word=self.per_word, overhead=self.overhead)

    def terms(self, lists: Assessed) -> Terms:
        every = lists.every(self.k)
        relevant = lists.counts(every.grade, self.rel)
        reading = self.per_word * self.text(lists, every) + self.overhead
        spent = self.summary + np.where(relevant, self.click_rel, self.click_non) * reading
        time = every.previous(every.running(spent), 0.0)
        decay = np.exp2(-time / self.h)
        adds = np.where(relevant, self.click_rel * self.save_rel * decay, 0.0)
        return Terms(every, adds, 1.0, {"time": time, "decay": decay})


@dataclass(frozen=True)
class Trailtext:
    """All the text somebody has read, string after string: how long each is, and what it gains (Sakai 2014 Fig. 4).

    >>> session = Trailtext.of([("Cats sleep a lot.", 0), (1200, 3)])
    >>> session.offsets.tolist()
    [17.0, 1217.0]
    """

    lengths: tuple[float, ...]
    """In characters."""
    gains: tuple[float, ...]
    names: tuple[str, ...] = ()
    """What each string is, such as `snippet 1` or `document 2`; may be left out."""

    def __post_init__(self) -> None:
        if len(self.gains) != len(self.lengths) or len(self.names) not in (0, len(self.lengths)):
            raise UsageError(f"trailtext: {len(self.lengths)} lengths, but {len(self.gains)} gains")
        for length, gain in zip(self.lengths, self.gains, strict=True):
            check.finite("trailtext", length=length, gain=gain)
            check.not_negative("trailtext", length=length)

    @staticmethod
    def of(strings: Iterable[tuple[str | float, float]]) -> Trailtext:
        """From pairs of a text (or how many characters it has) and what it gains."""
        read = [(len(text) if isinstance(text, str) else text, gain) for text, gain in strings]
        return Trailtext(tuple(length for length, _ in read), tuple(gain for _, gain in read))

    @property
    def offsets(self) -> Array:
        """Where each string ends."""
        return np.cumsum(np.array(self.lengths, dtype=np.float64))


@measure
class U(_Reading):
    r"""U-measure: relevant documents count less the more text has been read down to their end.

    .. math:: \sum_r g(r) \max\left(0, 1 - \frac{pos(r)}{L}\right), \quad pos(r) = \sum_{k \le r} s_k + F\,I(k)\,len(k)

    The text read is one snippet after another and, for every document that gains something, a share `F` of it. A
    snippet has `snippet` characters unless the table of lengths has its own (s); after `L` characters nothing is worth
    anything any more. It is not normalised (Sakai 2014 has the factor "set to zero" then, which must be one). Needs the
    lengths of documents in characters, unless F is 0. `of_trailtext` takes any other text that was read.
    No relevant documents: 0.
    Reference: Sakai & Dou, SIGIR 2013, doi:10.1145/2484028.2484031

    >>> U(L=1000).of([0, 1, 2], lengths=[900, 500, 250])
    1.0
    >>> from cranfield.measures import Trailtext
    >>> read = Trailtext.of([(200, 0), (200, 0), (100, 1), (200, 0), (50, 2)])
    >>> U(L=1000).of_trailtext(read)
    1.0
    """

    L: float = 132000
    F: float = 0.2
    snippet: float = 200
    gain: GainLike = LINEAR

    aliases = ("U-measure", "Umeasure")
    properties = Properties(graded=True, recall_free=True, diminishing=True, high=np.inf, lengths=True, nonlinear=True)
    unit = "characters"

    def check(self) -> None:
        check.positive(self.name, L=self.L)
        check.between(self.name, low=0, high=1, F=self.F)
        check.not_negative(self.name, snippet=self.snippet)

    def terms(self, lists: Assessed) -> Terms:
        every = lists.every(self.k)
        snippets, read, gains = self._strings(lists, every)
        offset = every.running(snippets + read)
        decay = self.decay(offset)
        return Terms(every, gains * decay, 1.0, {"offset": offset, "gain": gains, "decay": decay})

    def _strings(self, lists: Assessed, every: Hits) -> tuple[Array, Array, Array]:
        """For every document: the length of its snippet, how much of it is read, what it gains."""
        gains = np.zeros(len(every))
        judged = np.flatnonzero(~np.isnan(every.grade))
        gains[judged] = Gain.of(self.gain)(every.grade[judged])
        if lists.lengths is None and self.F == 0:
            return np.full(len(every), float(self.snippet)), np.zeros(len(every)), gains
        snippets = lengths_of(lists, self.name).snippet(every.row, every.rank, self.snippet)
        return snippets, np.where(gains > 0, self.F * self.text(lists, every), 0.0), gains

    def decay(self, offset: Array) -> Array:
        """What of a gain is left at an offset in the text."""
        return np.maximum(0.0, 1.0 - offset / self.L)

    def of_trailtext(self, trailtext: Trailtext) -> float:
        """U of any text that was read, given by hand or observed."""
        return float(np.sum(np.array(trailtext.gains) * self.decay(trailtext.offsets)))

    def trailtext(self, lists: Assessed, row: int = 0) -> Trailtext:
        """The text that is read of one list, as relevance assessments have it (Sakai 2014 Fig. 5)."""
        every = lists.every(self.k)
        here = slice(*every.start[row : row + 2].tolist())
        columns = (column[here].tolist() for column in (every.rank, *self._strings(lists, every)))
        strings = []
        for rank, snippet, read, gain in zip(*columns, strict=True):
            strings.append((snippet, 0.0, f"snippet {rank}"))
            if gain > 0:
                strings.append((read, gain, f"document {rank}"))
        lengths, gains, names = zip(*strings, strict=True) if strings else ((), (), ())
        return Trailtext(lengths, gains, names)

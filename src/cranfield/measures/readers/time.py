"""Time and text read: measures that count the time or text a reader spends; they need the lengths of documents."""

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
from cranfield.measures.declarations import NotNegative, Positive, Probability, Whole
from cranfield.measures.gain import LINEAR, Gain, GainLike, total_gain
from cranfield.types import Array


def lengths_of(lists: Assessed, caller: str) -> Lengths:
    """The lengths of the documents; an error if they were not given."""
    if lists.lengths is None:
        raise UsageError(
            f"{caller} needs the lengths of documents: give lengths=, a file with lines 'doc length' or {{doc: length}}"
        )
    return lists.lengths


def note_unit(caller: str, lists: Assessed, unit: str) -> str | None:
    """The note that lengths without a unit are used as words or characters, if they are."""
    if lists.lengths is None or lists.lengths.column(unit) == unit:
        return None
    return f"{caller}: the lengths of documents are used as {unit}"


class _Reading(Measure):
    """The base class of measures that follow a reader from rank to rank."""

    needs: ClassVar[str] = "lengths"
    unit: ClassVar[str] = ""
    """The unit of lengths: `words` or `characters`."""

    def note(self, lists: Assessed) -> str | None:
        return note_unit(self.name, lists, self.unit)

    def text(self, lists: Assessed, every: Hits) -> Array:
        return lengths_of(lists, self.name).of(self.unit, every.row, every.rank)


@measure
class TBG(_Reading):
    r"""Time-biased gain: relevant documents count less the more time a reader needs to reach them.

    .. math:: \sum_r g(r)\, 2^{-T(r)/h}, \quad T(r) = \sum_{k<r} T_S + p_{click}(k)\,(a\,L(k) + b)

    Reading a summary takes `summary` seconds (T_S). A document is opened with probability `click_rel` if it is relevant
    and `click_non` if it is not, or not judged; reading its L words takes `per_word` (a) seconds each and `overhead`
    (b). A relevant document gains `click_rel` times `save_rel`, the probability that it is opened and then saved. After
    `h` seconds half of the readers have left. The defaults were calibrated on logs by Smucker and Clarke. Needs the
    lengths of documents in words.
    No relevant documents: 0.
    Reference: Smucker & Clarke, SIGIR 2012, doi:10.1145/2348283.2348300

    >>> round(TBG().of([1, 0, 1], lengths=[500, 1000, 300]), 4)
    0.9424
    """

    h: Positive = 224
    click_rel: Probability = 0.64
    save_rel: Probability = 0.77
    click_non: Probability = 0.39
    summary: NotNegative = 4.4
    per_word: NotNegative = 0.018
    overhead: NotNegative = 7.8
    rel: float = 1

    top_down = True
    properties = Properties(recall_free=True, high=np.inf, lengths=True)
    unit = "words"

    def terms(self, lists: Assessed) -> Terms:
        every = lists.every(self.k)
        relevant = lists.counts(every.grade, self.rel)
        reading = self.per_word * self.text(lists, every) + self.overhead
        spent = self.summary + np.where(relevant, self.click_rel, self.click_non) * reading
        time = every.previous(every.running(spent), 0.0)
        decay = np.exp2(-time / self.h)
        adds = np.where(relevant, self.click_rel * self.save_rel * decay, 0.0)
        return Terms(every, adds, 1.0, {"time": time, "decay": decay})


@measure
class ESD(_Reading):
    r"""Expected search duration: the seconds that a reader needs to find the wanted number of relevant documents.

    .. math:: \sum_{k \le r_w} T_S + p_{click}(k)\,(a\,L(k) + b)

    Cooper's expected search length (`ESL`) in time, as Dunlop proposed; the paper was not at hand, so the times are
    those of `TBG`: reading a summary takes `summary` seconds (T_S), and a document is opened with probability
    `click_rel` or `click_non` and read at `per_word` (a) seconds a word and `overhead` (b). The search ends when the
    `wanted`-th relevant document, at rank r_w, has been read. If a list has too few relevant documents, the duration is
    undefined. `ESD[ties]` is the expectation over the orders of tied documents. Lower is better. Needs the lengths of
    documents in words.
    No relevant documents: undefined.
    Reference: Dunlop, Time, Relevance and Interaction Modelling for Information Retrieval, SIGIR 1997, 206-213

    >>> round(ESD(click_rel=1).of([0, 1], lengths=[1000, 500]), 3)
    35.662
    """

    wanted: Whole = 1
    click_rel: Probability = 0.64
    click_non: Probability = 0.39
    summary: NotNegative = 4.4
    per_word: NotNegative = 0.018
    overhead: NotNegative = 7.8
    rel: float = 1

    top_down = True
    cutoff_kind = "none"
    properties = Properties(better="lower", recall_free=True, diminishing=True, high=np.inf, lengths=True)
    unit = "words"

    def declares(self, default: Properties) -> Properties:
        return default.replace(diminishing=self.wanted == 1)

    def terms(self, lists: Assessed) -> Terms:
        every = lists.every(None)
        relevant = lists.counts(every.grade, self.rel)
        found = every.running(relevant.astype(np.float64))
        searching = every.previous(found, 0.0) < self.wanted
        reading = self.per_word * self.text(lists, every) + self.overhead
        spent = self.summary + np.where(relevant, self.click_rel, self.click_non) * reading
        reached = every.sum(relevant.astype(np.float64)) >= self.wanted
        adds = np.where(searching, spent, 0.0)
        return Terms(every, adds, reached.astype(np.float64), {"time": every.running(adds)})


@dataclass(frozen=True)
class Trailtext:
    """The text that a user has read, string by string, with the length and gain of each (Sakai 2014 Fig. 4).

    >>> session = Trailtext.of([("Cats sleep a lot.", 0), (1200, 3)])
    >>> session.offsets.tolist()
    [17.0, 1217.0]
    """

    lengths: tuple[float, ...]
    """In characters."""
    gains: tuple[float, ...]
    names: tuple[str, ...] = ()
    """What each string is, such as `snippet 1` or `document 2`; optional."""

    def __post_init__(self) -> None:
        if len(self.gains) != len(self.lengths) or len(self.names) not in (0, len(self.lengths)):
            raise UsageError(f"trailtext: {len(self.lengths)} lengths, but {len(self.gains)} gains")
        for length, gain in zip(self.lengths, self.gains, strict=True):
            check.finite("trailtext", length=length, gain=gain)
            check.not_negative("trailtext", length=length)

    @staticmethod
    def of(strings: Iterable[tuple[str | float, float]]) -> Trailtext:
        """From pairs of a text (or its number of characters) and its gain."""
        pairs = [(len(text) if isinstance(text, str) else text, gain) for text, gain in strings]
        return Trailtext(tuple(length for length, _ in pairs), tuple(gain for _, gain in pairs))

    @property
    def offsets(self) -> Array:
        """The end of each string."""
        return np.cumsum(np.array(self.lengths, dtype=np.float64))


@measure
class U(_Reading):
    r"""U-measure: relevant documents count less the more text a reader has read by the end of them.

    .. math:: \frac{1}{N} \sum_r g(r)\, D(pos(r)), \quad D(pos) = \max\left(0, 1 - \frac{pos}{L}\right), \quad
        pos(r) = \sum_{k \le r} s_k + F\,I(k)\,len(k)

    The reader reads every snippet and, for every document with a gain, a fraction `F` of the document. A snippet has
    `snippet` characters, unless the table of lengths has its length (s); text after `L` characters is worth nothing.
    `decay="exp"` is exponential instead, D(pos) = 2^(−pos/h), as in TBG: text is worth half as much after every `h`
    characters, by default after L/2, where the linear decay is at one half. `norm` is the normaliser N: a number, or
    `"total"` for the gains of all relevant documents of the topic together, with which no score exceeds 1; by default
    it is 1 (where Sakai 2014 says that it is "set to zero" if not required, it must be one). Needs the lengths of
    documents in characters, unless F is 0. `of_trailtext` scores any other text that was read.
    No relevant documents: 0.
    Reference: Sakai & Dou, SIGIR 2013, doi:10.1145/2484028.2484031

    >>> U(L=1000).of([0, 1, 2], lengths=[900, 500, 250])
    1.0
    >>> from cranfield.measures import Trailtext
    >>> read = Trailtext.of([(200, 0), (200, 0), (100, 1), (200, 0), (50, 2)])
    >>> U(L=1000).of_trailtext(read)
    1.0
    """

    L: Positive = 132000
    F: Probability = 0.2
    snippet: NotNegative = 200
    gain: GainLike = LINEAR
    decay: str = "linear"
    h: Positive | None = None
    norm: float | str | None = None

    aliases = ("U-measure", "Umeasure")
    top_down = True
    properties = Properties(graded=True, recall_free=True, diminishing=True, high=np.inf, lengths=True, nonlinear=True)
    unit = "characters"

    def declares(self, default: Properties) -> Properties:
        return default.replace(recall_free=False, high=1.0) if self.norm == "total" else default

    def check(self) -> None:
        check.one_of(self.name, ("linear", "exp"), decay=self.decay)
        if self.h is not None and self.decay != "exp":
            raise UsageError(f'{self.name}: h == {self.h:g} is the half-life of an exponential decay; give decay="exp"')
        if isinstance(self.norm, str):
            check.one_of(self.name, ("total",), norm=self.norm)
        elif self.norm is not None:
            check.finite(self.name, norm=self.norm)
            check.positive(self.name, norm=self.norm)

    def terms(self, lists: Assessed) -> Terms:
        every = lists.every(self.k)
        snippets, read, gains = self._strings(lists, every)
        offset = every.running(snippets + read)
        left = self.left_at(offset)
        return Terms(every, gains * left, self._normaliser(lists), {"offset": offset, "gain": gains, "decay": left})

    def _normaliser(self, lists: Assessed) -> Array | float:
        if not isinstance(self.norm, str):
            return 1.0 if self.norm is None else float(self.norm)
        total = total_gain(lists, Gain.of(self.gain))
        return np.where(total > 0, total, 1.0)  # without relevant documents the score is 0

    def _strings(self, lists: Assessed, every: Hits) -> tuple[Array, Array, Array]:
        """For every document: the length of its snippet, how much of it is read, and its gain."""
        gains = np.zeros(len(every))
        judged = np.flatnonzero(~np.isnan(every.grade))
        gains[judged] = Gain.of(self.gain)(every.grade[judged])
        if lists.lengths is None and self.F == 0:
            return np.full(len(every), float(self.snippet)), np.zeros(len(every)), gains
        snippets = lengths_of(lists, self.name).snippet(every.row, every.rank, self.snippet)
        return snippets, np.where(gains > 0, self.F * self.text(lists, every), 0.0), gains

    def left_at(self, offset: Array) -> Array:
        """The fraction of a gain that is left at an offset in the text."""
        if self.decay == "exp":
            return np.asarray(np.exp2(-offset / (self.h or self.L / 2)))
        return np.maximum(0.0, 1.0 - offset / self.L)

    def of_trailtext(self, trailtext: Trailtext) -> float:
        """The score of any text that was read."""
        if isinstance(self.norm, str):
            raise UsageError(f"{self}: the gains of all relevant documents are not known; give norm= as a number")
        return float(np.sum(np.array(trailtext.gains) * self.left_at(trailtext.offsets)) / (self.norm or 1.0))

    def trailtext(self, lists: Assessed, row: int = 0) -> Trailtext:
        """The text that a reader of one list reads, according to the judgments (Sakai 2014 Fig. 5)."""
        every = lists.every(self.k)
        of_list = slice(*every.start[row : row + 2].tolist())
        columns = (column[of_list].tolist() for column in (every.rank, *self._strings(lists, every)))
        strings: list[tuple[float, float, str]] = []
        for rank, snippet, read, gain in zip(*columns, strict=True):
            strings.append((snippet, 0.0, f"snippet {rank}"))
            if gain > 0:
                strings.append((read, gain, f"document {rank}"))
        lengths, gains, names = zip(*strings, strict=True) if strings else ((), (), ())
        return Trailtext(lengths, gains, names)

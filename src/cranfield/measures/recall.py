"""Measures for a reader who must find all relevant documents, or a given number: patents, law, systematic reviews."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.base import DEEPEST, Measure, Properties, Terms, measure, normalised_unless_cut
from cranfield.measures.contingency import confusion
from cranfield.measures.ranked import needed
from cranfield.types import Array


def _relevant(lists: Assessed, rel: float, N: int | None) -> Array:
    """How many relevant documents each topic has; complains about an N that has no room for what there is."""
    cells = confusion(lists, rel, N)
    return cells.true_positive + cells.false_negative


def _rank_of(hits: Hits, number: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The rank of the `number`-th of these hits in each list, and where there are so many; 0 elsewhere."""
    at = hits.start[:-1] + number.astype(np.int64) - 1
    reached = at < hits.start[1:]
    rank = np.zeros(hits.rows)
    rank[reached] = hits.rank[at[reached]]
    return rank, reached


@measure
class PRES(Measure):
    r"""Patent retrieval evaluation score: how early the relevant documents come, for a reader who checks N_max of them.

    .. math::
        1 - \frac{\frac{1}{R}\sum_i r_i - \frac{R+1}{2}}{N_{max}}
        = \frac{1}{R}\sum_{i:\,r_i \le N_{max}} \frac{N_{max} + i - r_i}{N_{max}}

    r_i is the rank of the i-th relevant document; those not found down to rank `N_max` are taken to stand right behind
    it, at N_max + i. `@l` is the same as `N_max=l`; the smaller of the two counts. It lies between R·recall²/N_max and
    recall; 1 can be reached where R ≤ N_max.
    No relevant documents: undefined.
    Reference: Magdy & Jones, SIGIR 2010, doi:10.1145/1835449.1835551

    >>> (PRES @ 100).of([1] + [0] * 99, missed=[1, 1, 1])
    0.25
    """

    N_max: int = 1000
    rel: float = 1

    properties = normalised_unless_cut(Properties(normalised=True))

    def check(self) -> None:
        check.whole(self.name, N_max=self.N_max)

    def terms(self, lists: Assessed) -> Terms:
        deep = int(min(self.N_max, self.k or DEEPEST, DEEPEST))
        hits = lists.relevant(self.rel, deep)
        ahead = (deep + hits.nth - hits.rank).astype(np.float64)
        return Terms(hits, ahead / deep, lists.num_rel(self.rel), {"ranks ahead of the worst": ahead})


@measure
class ESL(Measure):
    r"""Expected search length: how many non-relevant documents are read before the wanted number of relevant ones.

    .. math:: j + \frac{s\,i}{r + 1}

    The search ends in a level of documents of equal score with r relevant and i others, where s relevant ones are still
    `wanted` and j others stand above. `ESL[ties]` takes the levels from tied scores (exact up to 1,000 orders of a
    list's tied documents, sampled beyond); plain ESL reads the list in its one order, in which every level is a
    document. A list that has too few relevant documents ends in the rest of the collection, in any order, whose size
    `N` gives; without it, and where the topic has too few, the length is undefined. Lower is better.
    No relevant documents: undefined.
    Reference: Cooper, American Documentation 19(1), 1968, doi:10.1002/asi.5090190108

    >>> ESL(wanted=2).of([0, 1, 0, 0, 1])
    3.0
    """

    wanted: int = 1
    N: int | None = None
    rel: float = 1

    cutoff_kind = "none"
    properties = Properties(better="lower", high=np.inf)

    def check(self) -> None:
        check.whole(self.name, wanted=self.wanted, N=self.N)

    def terms(self, lists: Assessed) -> Terms | None:
        if self.N is not None:
            return None  # what lies in the rest of the collection is not at any hit
        hits = lists.relevant(self.rel)
        reached = hits.count >= self.wanted
        hits = hits.where(hits.nth <= self.wanted)
        passed = hits.rank - hits.previous(hits.rank, first=0.0) - 1.0
        return Terms(hits, passed, reached.astype(np.float64), {"non-relevant before it": passed})

    def score(self, lists: Assessed) -> Array:
        if self.N is None:
            return super().score(lists)
        cells = confusion(lists, self.rel, self.N)
        found, missed = cells.true_positive, cells.false_negative
        wanted = np.full(lists.rows, float(self.wanted))
        rank, reached = _rank_of(lists.relevant(self.rel), wanted)
        assert cells.true_negative is not None
        rest = (wanted - found) * cells.true_negative / (missed + 1.0)
        length = np.where(reached, rank - wanted, cells.false_positive + rest)
        return np.where(found + missed >= wanted, length, np.nan)


@measure
class WSS(Measure):
    r"""Work saved over sampling at a recall point: the share left unread, less what reading at random would save.

    .. math:: \frac{N - r_i}{N} - (1 - i)

    `@` takes the recall point i, 0 to 1 (0.95 in most reviews); r_i is the rank where that recall is reached, and a
    point that falls between two documents needs the later one. `N` is the number of documents there are to read; by
    default the list itself is the collection, which is right for runs that order all candidates of a review. Where the
    recall is not reached nothing is left unread: i − 1.
    No relevant documents: undefined.
    Reference: Cohen, Hersh, Peterson & Yen, JAMIA 13(2), 2006, doi:10.1197/jamia.M1929

    >>> (WSS @ 1).of([1, 1, 0, 0])
    0.5
    """

    N: int | None = None
    rel: float = 1

    aliases = ("wss",)
    cutoff_kind = "recall"
    properties = Properties(low=-1.0)

    def check(self) -> None:
        check.whole(self.name, N=self.N)

    def score(self, lists: Assessed) -> Array:
        if self.cutoff is None:
            raise UsageError("WSS needs a recall point: write WSS@0.95")
        relevant = _relevant(lists, self.rel, self.N)
        size = np.full(lists.rows, float(self.N)) if self.N else lists.retrieved.astype(np.float64)
        rank, reached = _rank_of(lists.relevant(self.rel), np.maximum(needed(self.cutoff, relevant, "exact"), 1.0))
        unread = np.divide(size - rank, size, out=np.zeros(lists.rows), where=reached)
        return np.where(relevant > 0, unread - (1.0 - self.cutoff), np.nan)

    def remarks(self, lists: Assessed) -> list[str]:
        hits, relevant = lists.relevant(self.rel), lists.num_rel(self.rel)
        if self.cutoff is None or not relevant[0]:
            return []
        wanted = int(max(needed(self.cutoff, relevant, "exact")[0], 1))
        size = self.N or int(lists.retrieved[0])
        documents = f"N = {size} documents ({'given' if self.N else 'the length of the list'})"
        start = f"recall {self.cutoff:g} needs {wanted} of {relevant[0]:g} relevant documents"
        less = f"(1 − {self.cutoff:g})"
        if wanted > len(hits):
            return [f"{start}, but the list has {len(hits)}; none of {documents} is left unread: 0 − {less}"]
        rank = int(hits.rank[wanted - 1])
        return [f"{start}, reached at rank {rank}; {documents}: ({size} − {rank}) / {size} − {less}"]


@measure
class LastRel(Measure):
    r"""Last relevant rank: how far down the list all relevant documents are found.

    .. math:: \max_r \{r : I(r) = 1\}

    A list that lacks relevant documents never gets there: with `N`, the number of documents there are to read, it
    scores N, without it the rank is undefined, since the last of those found would reward a list for missing the
    others. Lower is better.
    No relevant documents: undefined.
    Reference: Kanoulas, Li, Azzopardi & Spijker, CLEF Technologically Assisted Reviews Overview, CLEF 2017

    >>> LastRel().of([1, 0, 1, 0])
    3.0
    """

    N: int | None = None
    rel: float = 1

    aliases = ("last_rel",)
    cutoff_kind = "none"
    properties = Properties(better="lower", high=np.inf)

    def check(self) -> None:
        check.whole(self.name, N=self.N)

    def undefined_because(self) -> str | None:
        if self.N is not None:
            return None
        return "a list lacks some of them; LastRel(N=...) gives it the score N, the number of documents to read"

    def terms(self, lists: Assessed) -> Terms | None:
        if self.N is not None:
            return None  # the end of the collection is at no hit
        hits, relevant = lists.relevant(self.rel), lists.num_rel(self.rel)
        further = hits.rank - hits.previous(hits.rank, first=0.0)
        all_found = (hits.count == relevant) & (relevant > 0)
        return Terms(hits, further, all_found.astype(np.float64), {"ranks from the last": further})

    def note(self, lists: Assessed) -> str | None:
        relevant = lists.num_rel(self.rel)
        lacking = int(((lists.relevant(self.rel).count < relevant) & (relevant > 0)).sum())
        if self.N is not None or not lacking:
            return None
        some = "1 list that lacks" if lacking == 1 else f"{lacking:,} lists that lack"
        return f"LastRel: undefined for {some} relevant documents; with N=, how many documents there are, it scores N"

    def score(self, lists: Assessed) -> Array:
        if self.N is None:
            return super().score(lists)
        relevant = _relevant(lists, self.rel, self.N)
        rank, reached = _rank_of(lists.relevant(self.rel), np.maximum(relevant, 1.0))
        return np.where(relevant > 0, np.where(reached, rank, float(self.N)), np.nan)

"""High recall: measures for a reader who must find all relevant documents, or a certain number of them."""

from __future__ import annotations

import numpy as np

from cranfield import check
from cranfield.assessed.changed_lists.prefixes import Prefixes
from cranfield.assessed.lists import Assessed
from cranfield.errors import CranfieldWarning, UsageError, warn_caller
from cranfield.measures.base import DEEPEST_CUTOFF, Measure, Properties, Terms, measure, normalised_unless_cut
from cranfield.measures.declarations import Whole
from cranfield.measures.ranked_lists.ranked import needed
from cranfield.measures.ranked_lists.sets import collection_size, confusion
from cranfield.notes import caution_note
from cranfield.text import counted, listed
from cranfield.types import Array

DIALECTS = ("exact", "clef")


def documents_to_read(caller: str, lists: Assessed, N: int | None) -> Array | None:
    """N of each list, from the parameter or from the table of topics; None if neither gives it.

    Warns, with their number, if lists have more documents than that.
    """
    sizes = collection_size(caller, lists, N)
    if sizes is None or isinstance(lists, Prefixes):  # of a list that has been scored whole, with a warning
        return sizes
    longer = np.flatnonzero(lists.retrieved > sizes)

    def warn() -> bool:
        names = dict.fromkeys(lists.topics[topic] for topic in lists.topic[longer].tolist())
        verb = "is" if len(longer) == 1 else "are"
        message = f"{caller}: {counted(len(longer), 'list')} {verb} longer than N, the number of documents to read"
        warn_caller(f"{message}; check N of topics {listed(names)}", CranfieldWarning)
        return True

    if len(longer):
        lists._once(("longer than N", caller, N), warn)
    return sizes


@measure
class PRES(Measure):
    r"""Patent retrieval evaluation score: how early relevant documents come, for a reader who checks N_max documents.

    .. math::
        1 - \frac{\frac{1}{R}\sum_i r_i - \frac{R+1}{2}}{N_{max}}
        = \frac{1}{R}\sum_{i:\,r_i \le N_{max}} \frac{N_{max} + i - r_i}{N_{max}}

    r_i is the rank of the i-th relevant document; documents not found down to rank `N_max` are placed right after it,
    at N_max + i. `@l` is the same as `N_max=l`; the smaller of the two counts. The score lies between R·recall²/N_max
    and recall; it can reach 1 if R ≤ N_max.
    No relevant documents: undefined.
    Reference: Magdy & Jones, SIGIR 2010, doi:10.1145/1835449.1835551

    >>> (PRES @ 100).of([1] + [0] * 99, missed=[1, 1, 1])
    0.25
    """

    N_max: Whole = 1000
    rel: float = 1

    top_down = True
    properties = normalised_unless_cut(Properties(normalised=True))

    def terms(self, lists: Assessed) -> Terms:
        depth = int(min(self.N_max, self.k or DEEPEST_CUTOFF, DEEPEST_CUTOFF))
        hits = lists.relevant(self.rel, depth)
        ahead = (depth + hits.nth - hits.rank).astype(np.float64)
        return Terms(hits, ahead / depth, lists.num_rel(self.rel), {"ranks ahead of the worst": ahead})


@measure
class ESL(Measure):
    r"""Expected search length: the number of non-relevant documents read to find the wanted number of relevant ones.

    .. math:: j + \frac{s\,i}{r + 1}

    The search ends in a level of documents with equal scores, r relevant and i others, in which s relevant documents
    are still `wanted`; j others are above it. `ESL[ties]` uses the levels of tied scores (exact for up to 1,000 orders
    of a list's tied documents, sampled beyond that); plain ESL treats every document as a level. If a list has too few
    relevant documents, the search goes on in the rest of the collection in random order; `N` is the size of the
    collection, which can differ by topic, in a table of topics (`topic_numbers`). Without `N`, or if the topic has too
    few relevant documents, the length is undefined. Lower is better.
    No relevant documents: undefined.
    Reference: Cooper, American Documentation 19(1), 1968, doi:10.1002/asi.5090190108

    >>> ESL(wanted=2).of([0, 1, 0, 0, 1])
    3.0
    """

    wanted: Whole = 1
    N: Whole | None = None
    rel: float = 1

    cutoff_kind = "none"
    top_down = True
    properties = Properties(better="lower", high=np.inf)

    def terms(self, lists: Assessed) -> Terms | None:
        if collection_size(self.name, lists, self.N) is not None:
            return None  # the rest of the collection is not at any hit
        hits = lists.relevant(self.rel)
        reached = hits.count >= self.wanted
        hits = hits.where(hits.nth <= self.wanted)
        others = hits.rank - hits.previous(hits.rank, first=0.0) - 1.0
        return Terms(hits, others, reached.astype(np.float64), {"non-relevant before it": others})

    def score(self, lists: Assessed) -> Array:
        sizes = collection_size(self.name, lists, self.N)
        if sizes is None:
            return super().score(lists)
        cells = confusion(lists, self.rel, sizes if self.N is None else self.N)
        assert cells.true_negative is not None
        retrieved, missed = cells.true_positive, cells.false_negative
        wanted = np.full(lists.rows, float(self.wanted))
        hits = lists.relevant(self.rel)
        rank, reached = hits.value_at_nth(hits.rank, wanted)
        rest = (wanted - retrieved) * cells.true_negative / (missed + 1.0)
        length = np.where(reached, rank - wanted, cells.false_positive + rest)
        return np.where(retrieved + missed >= wanted, length, np.nan)


@measure
class WSS(Measure):
    r"""Work saved over sampling at a recall point: the fraction left unread, minus what reading at random would save.

    .. math:: \frac{N - r_i}{N} - (1 - i)

    `@` takes the recall point i, 0 to 1 (0.95 in most reviews); r_i is the rank at which that recall is reached. A
    point between two documents is reached at the later one. `N` is the number of documents to read; it can differ by
    topic, in a table of topics (`topic_numbers`); without both it is the length of the list, which is right for runs
    that rank all candidates of a review. If the recall is not reached, nothing is left unread and the score is i − 1.
    `dialect="clef"` is the number of CLEF's tool: the recall is reached with i · R documents, rounded (half to even),
    and the score is 0 if it is not reached.
    No relevant documents: undefined.
    Reference: Cohen, Hersh, Peterson & Yen, JAMIA 13(2), 2006, doi:10.1197/jamia.M1929

    >>> (WSS @ 1).of([1, 1, 0, 0])
    0.5
    """

    N: Whole | None = None
    rel: float = 1
    dialect: str = "exact"

    aliases = ("wss",)
    cutoff_kind = "recall"
    top_down = True
    properties = Properties(low=-1.0)

    def check(self) -> None:
        check.one_of(self.name, DIALECTS, dialect=self.dialect)

    def _enough(self, recall: float, relevant: Array) -> Array:
        """The number of relevant documents with which the recall is reached."""
        clef = self.dialect == "clef"
        return np.maximum(np.rint(recall * relevant) if clef else needed(recall, relevant, "exact"), 1.0)

    def score(self, lists: Assessed) -> Array:
        if self.cutoff is None:
            raise UsageError("WSS needs a recall point: write WSS@0.95")
        relevant, sizes = lists.num_rel(self.rel), documents_to_read(self.name, lists, self.N)
        size = lists.retrieved.astype(np.float64) if sizes is None else sizes
        hits = lists.relevant(self.rel)
        rank, reached = hits.value_at_nth(hits.rank, self._enough(self.cutoff, relevant))
        unread = np.divide(np.maximum(size - rank, 0.0), size, out=np.zeros(lists.rows), where=reached)
        saved = unread - (1.0 - self.cutoff)
        if self.dialect == "clef":
            saved = np.where(reached, saved, 0.0)
        return np.where(relevant > 0, saved, np.nan)

    def remarks(self, lists: Assessed) -> list[str]:
        hits, relevant = lists.relevant(self.rel), lists.num_rel(self.rel)
        if self.cutoff is None or not relevant[0]:
            return []
        wanted = int(self._enough(self.cutoff, relevant)[0])
        sizes = documents_to_read(self.name, lists, self.N)
        size = int(lists.retrieved[0]) if sizes is None else int(sizes[0])
        documents = f"N = {size} documents ({'the length of the list' if sizes is None else 'given'})"
        start = f"recall {self.cutoff:g} needs {wanted} of {relevant[0]:g} relevant documents"
        less = f"(1 − {self.cutoff:g})"
        if wanted > len(hits):
            missed = f"{start}, but the list has {len(hits)}"
            if self.dialect == "clef":
                return [f"{missed}: 0"]
            return [f"{missed}; none of {documents} is left unread: 0 − {less}"]
        rank = int(hits.rank[wanted - 1])
        return [f"{start}, reached at rank {rank}; {documents}: ({size} − {rank}) / {size} − {less}"]


@measure
class LastRel(Measure):
    r"""Last relevant rank: the rank at which all relevant documents have been found.

    .. math:: \max_r \{r : I(r) = 1\}

    A list that misses relevant documents scores `N`, the number of documents to read, which can differ by topic, in a
    table of topics (`topic_numbers`). Without it the rank is undefined, because the last relevant document in the list
    would reward it for missing others. `dialect="clef"` is the number of CLEF's tool: the rank of the last relevant
    document that was found, 0 if there is none. Lower is better.
    No relevant documents: undefined.
    Reference: Kanoulas, Li, Azzopardi & Spijker, CLEF Technologically Assisted Reviews Overview, CLEF 2017

    >>> LastRel().of([1, 0, 1, 0])
    3.0
    """

    N: Whole | None = None
    rel: float = 1
    dialect: str = "exact"

    aliases = ("last_rel",)
    cutoff_kind = "none"
    top_down = True
    properties = Properties(better="lower", high=np.inf)

    def check(self) -> None:
        check.one_of(self.name, DIALECTS, dialect=self.dialect)

    def undefined_because(self) -> str | None:
        if self.N is not None or self.dialect == "clef":
            return None
        return "a list lacks some of them; LastRel(N=...) gives it the score N, the number of documents to read"

    def terms(self, lists: Assessed) -> Terms | None:
        if documents_to_read(self.name, lists, self.N) is not None and self.dialect == "exact":
            return None  # the end of the collection is not at any hit
        hits, relevant = lists.relevant(self.rel), lists.num_rel(self.rel)
        further = hits.rank - hits.previous(hits.rank, first=0.0)
        counts = (hits.count == relevant) & (relevant > 0) if self.dialect == "exact" else relevant > 0
        return Terms(hits, further, counts.astype(np.float64), {"ranks from the last": further})

    def note(self, lists: Assessed) -> str | None:
        relevant = lists.num_rel(self.rel)
        incomplete = int(((lists.relevant(self.rel).count < relevant) & (relevant > 0)).sum())
        if not incomplete:
            return None
        missed = f"{counted(incomplete, 'list')} that missed relevant documents"
        if self.dialect == "clef":
            return caution_note(
                f"LastRel: {missed} {'has' if incomplete == 1 else 'have'} the rank of the last one found"
            )
        if documents_to_read(self.name, lists, self.N) is not None:
            return None
        return caution_note(
            f"LastRel is undefined for {missed}; give N, the number of documents to read, to score them N"
        )

    def score(self, lists: Assessed) -> Array:
        sizes = documents_to_read(self.name, lists, self.N)
        if sizes is None or self.dialect == "clef":
            return super().score(lists)
        hits, relevant = lists.relevant(self.rel), lists.num_rel(self.rel)
        rank, reached = hits.value_at_nth(hits.rank, np.maximum(relevant, 1.0))
        return np.where(relevant > 0, np.where(reached, rank, sizes), np.nan)

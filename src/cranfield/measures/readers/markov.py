"""Markov Precision: precision at the relevant documents, weighted by how often a wandering reader is there."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits, ranges, row_blocks
from cranfield.collection.source import PathLike
from cranfield.collection.tables.table_schema import Numbers, Schema
from cranfield.errors import DataError, UsageError
from cranfield.measures.base import Measure, Properties, Terms, measure, number_tuple
from cranfield.measures.gain import Gain, num_retrieved
from cranfield.types import Array, Index

MOST_RANKS = 5_000
"""The deepest rank of a file of transitions: a matrix of 5,000 × 5,000 numbers takes 200 MB."""


TRANSITIONS = Schema(
    "from to weight",
    mixed=True,
    comments=True,
    left=Numbers(("from", "left"), "rank", least=1, most=MOST_RANKS, whole=True),
    reached=Numbers(("to", "reached"), "rank", least=1, most=MOST_RANKS, whole=True),
    weight=Numbers(("weight", "count", "clicks", "probability"), least=0),
)


def read_transitions(path: PathLike) -> Array:
    """The weights of moves from rank to rank: a row per rank that is left, a column per rank that is reached.

    The file has lines `from to weight`; a weight is a count or a probability, and a pair of ranks that appears several
    times counts with the sum of its weights.
    """
    moves = TRANSITIONS.read(path)
    weight = moves["weight"]
    if not (weight > 0).any():
        raise DataError(moves.origin, None, "no move has a weight above 0")
    first, second = moves["left"].astype(np.int64), moves["reached"].astype(np.int64)
    deepest = int(max(first.max(), second.max()))
    weights = np.zeros((deepest, deepest))
    np.add.at(weights, (first - 1, second - 1), weight)
    return weights


def invariant_distribution(weights: Array, origin: str = "transitions") -> Array:
    r"""How often a Markov chain is in each state in the long run: :math:`\pi = \pi P`, where P has rows that sum to 1.

    `weights` are counts or probabilities of moves. States that no move enters or leaves get 0. The chain must be able
    to come back from everywhere, otherwise it has no single invariant distribution.

    >>> invariant_distribution(np.array([[0.0, 1.0], [0.5, 0.5]])).round(4).tolist()
    [0.3333, 0.6667]
    """
    used = np.flatnonzero(weights.sum(axis=0) + weights.sum(axis=1) > 0)
    inside = weights[np.ix_(used, used)]
    leaving = inside.sum(axis=1)
    if not (leaving > 0).all():
        stuck = used[leaving == 0] + 1
        raise UsageError(f"{origin}: no move leaves rank {stuck[0]}, so that readers end there; add one")
    moves = inside / leaving[:, None]
    reached = _reachable(moves)
    if not (reached.all() and _reachable(moves.T).all()):
        cut_off = used[~(reached & _reachable(moves.T))] + 1
        raise UsageError(
            f"{origin}: readers cannot come to rank {cut_off[0]} and back to rank {used[0] + 1}, so that there is no "
            "single invariant distribution; add moves, such as a small weight from every rank to rank 1"
        )
    n = len(used)
    # π (I − P + 1) = 1, where 1 is a matrix and a vector of ones: the sum of π is part of every equation
    shares = np.linalg.solve((np.eye(n) - moves + np.ones((n, n))).T, np.ones(n))
    out = np.zeros(len(weights))
    out[used] = np.maximum(shares, 0.0)
    return np.asarray(out / out.sum())


def _reachable(moves: Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which states can be reached from the first."""
    reached = np.zeros(len(moves), dtype=bool)
    reached[0] = True
    newly = reached
    while newly.any():
        newly = (moves[newly] > 0).any(axis=0) & ~reached
        reached = reached | newly
    return reached


def visits_in_file(path: str) -> Array:
    """The invariant distribution of the moves in a file; the file is read again only if it has changed."""
    try:
        state = os.stat(path)
    except OSError as error:
        raise DataError(path, None, f"cannot be read: {error.strerror or error}") from None
    return _visits(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=16)
def _visits(path: str, changed: int, size: int) -> Array:
    return invariant_distribution(read_transitions(path), path)


STATES = ("all", "relevant")
MOVES = ("global", "adjacent")
DISTANCES = ("inverse", "log", "none")
PAIRS = 4_000_000
"""How many pairs of documents are weighed at a time, to bound memory."""


@measure
class MP(Measure):
    r"""Markov Precision: precision at the relevant documents, weighted by how often a reader who moves about is there.

    .. math:: \sum_{i} \pi_i\,\frac{C(i)}{i}, \qquad \pi = \pi P,
        \quad P_{ij} = \frac{w_{ij}}{\sum_k w_{ik}}, \quad w_{ij} = \frac{1}{|i - j| + 1}

    The reader moves up and down the list as a Markov chain, and π is its invariant distribution, restricted to the
    ranks i of the relevant retrieved documents: there it adds up to 1. `states` are the documents that are visited:
    `"all"`, or `"relevant"` ones only. `moves` are `"global"` (to every other document) or `"adjacent"` (to the next
    document above or below). The `distance` of the two documents makes a move less likely: `"inverse"` as above,
    `"log"` w = 1/log(|i − j| + 2), or `"none"` w = 1. With `loops=True` the reader may also stay (distance 0).

    Moves can be estimated from clicks or from eye tracking instead: `transitions` names a file with lines `from to
    weight` (ranks, and a count or a probability); `visits` lists π itself by rank. Ranks that these leave out are
    never visited.

    `seconds` is the mean time that a visit lasts, 1 / exit rate, by grade, {1: 20, 2: 60}, or by rank, [30, 20, 10]
    (the last number holds for all further ranks). Then the chain runs in continuous time: π̃_i ∝ π_i · seconds.
    `recall=True` multiplies by the share of relevant documents that are retrieved. AP is
    MP(states="relevant", distance="none", recall=True): all relevant retrieved documents are visited alike.
    No relevant documents: 0.
    With `recall=True`, a topic without relevant documents is undefined.
    Reference: Ferrante, Ferro & Maistro, SIGIR 2014, doi:10.1145/2600428.2609637

    >>> MP(states="relevant", distance="none").of([1, 0, 1], missed=[1])
    0.8333333333333333
    >>> model = MP(visits=[0.5, 0.3, 0.2])
    >>> round(model.of([1, 0, 1]), 4)  # (0.5 · 1 + 0.2 · 2/3) / 0.7
    0.9048
    """

    states: str = "all"
    moves: str = "global"
    distance: str = "inverse"
    loops: bool = False
    transitions: str | None = None
    visits: Sequence[float] = ()
    seconds: Mapping[float, float] | Sequence[float] | Gain | None = None
    recall: bool = False
    rel: float = 1

    only_relevant = True
    properties = Properties(normalised=True, recall_free=True, nonlinear=True)

    def normalised(self) -> dict[str, Any]:
        seconds = self.seconds
        if isinstance(seconds, Mapping):
            seconds = Gain.of(seconds, "seconds")
        elif seconds is not None and not isinstance(seconds, (Gain, str)):
            seconds = number_tuple(seconds)
        return {"visits": number_tuple(self.visits), "seconds": seconds}

    def check(self) -> None:
        for name, choices in (("states", STATES), ("moves", MOVES), ("distance", DISTANCES)):
            check.one_of(self.name, choices, **{name: getattr(self, name)})
        if self.transitions is not None and not isinstance(self.transitions, str):
            raise check.wrong(self.name, "transitions", self.transitions, "the path of a file")
        for name in ("loops", "recall"):
            if not isinstance(getattr(self, name), bool):
                raise check.wrong(self.name, name, getattr(self, name), "True or False")
        if not isinstance(self.visits, tuple):
            raise check.wrong(self.name, "visits", self.visits, "a list of numbers, such as [0.5, 0.3, 0.2]")
        for share in self.visits:
            check.finite(self.name, visits=share)
            check.not_negative(self.name, visits=share)
        if self.visits and not sum(self.visits) > 0:
            raise check.wrong(self.name, "visits", list(self.visits), "above 0 for some rank")
        if self.visits and self.transitions is not None:
            raise UsageError(f"{self.name}: visits and transitions are both given; give only one of them")
        chain = {name: default for name, default in self.parameters().items() if name in CHAIN}
        changed = [name for name, default in chain.items() if getattr(self, name) != default]
        if changed and (self.visits or self.transitions is not None):
            first = "visits" if self.visits else "transitions"
            raise UsageError(f"{self.name}: {first} says how the reader moves; {', '.join(changed)} would do nothing")
        self._check_seconds()

    def _check_seconds(self) -> None:
        if self.seconds is None:
            return
        if isinstance(self.seconds, Gain) and self.seconds.kind == "table":
            values: Sequence[float] = [worth for _, worth in self.seconds.table]
        elif isinstance(self.seconds, tuple) and self.seconds:
            values = self.seconds
        else:
            allowed = "seconds by grade, such as {1: 20, 2: 60}, or by rank, such as [30, 20, 10]"
            raise check.wrong(self.name, "seconds", self.seconds, allowed)
        for value in values:
            check.finite(self.name, seconds=value)
            check.positive(self.name, seconds=value)

    def declares(self, default: Properties) -> Properties:
        if self.recall:
            return default.replace(recall_free=False, normalised=self.cutoff is None)
        # Ranks that are never visited do not count, so that a list can be perfect and score 0.
        return default if self.transitions is None and not self.visits else default.replace(normalised=False)

    def terms(self, lists: Assessed) -> Terms:
        hits = lists.relevant(self.rel, self.k)
        visits = self._visits(lists, hits)
        if self.seconds is not None:
            visits = visits * self._seconds_at(hits)
        total = hits.sum(visits)
        share = visits / np.where(total > 0, total, 1.0)[hits.row]
        precision = hits.nth / hits.rank
        over: Array | float = 1.0
        if self.recall:
            relevant = lists.num_rel(self.rel)
            retrieved = np.maximum(hits.count, 1.0)
            over = np.where(relevant > 0, relevant / retrieved, 0.0)
        return Terms(hits, share * precision, over, {"precision": precision, "share of visits": share})

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        """A single list cut after each rank: the weights of moves are added up as relevant documents appear."""
        hits = lists.relevant(self.rel, self.k)
        if hits.weight is not None:
            return super().score_prefixes(lists, ranks)
        precision, total, scores = hits.nth / hits.rank, np.zeros(len(hits)), np.zeros(ranks)
        seconds = np.ones(len(hits)) if self.seconds is None else self._seconds_at(hits)
        fixed = self._visits(lists, hits) if self.visits or self.transitions is not None else None
        hits_above = np.searchsorted(hits.rank, np.arange(1, ranks + 1), side="right")
        for cut, seen in enumerate(hits_above.tolist(), 1):
            if seen > 1 and hits.rank[seen - 1] == cut:
                first = seen - 2 if self.moves == "adjacent" else 0
                steps = self.move_weights(cut - hits.rank[first : seen - 1])
                total[first : seen - 1] += steps
                total[seen - 1] = steps.sum()
            if fixed is not None:
                visits = fixed[:seen]
            elif self.states == "all":
                visits = self._among_all(hits.rank[:seen], np.full(seen, min(cut, self.k or cut)))
            else:
                visits = self._or_alone(total[:seen])
            visits = visits * seconds[:seen]
            scores[cut - 1] = visits @ precision[:seen] / (visits.sum() or 1.0)
        if not self.recall:
            return scores
        relevant = float(lists.num_rel(self.rel)[0])
        return scores * hits_above / relevant if relevant else np.full(ranks, np.nan)

    def has_bounds(self) -> bool:
        """A document that turns out relevant can draw visits away from better places, and so lower the score."""
        return False

    def _visits(self, lists: Assessed, hits: Hits) -> Array:
        """How often the reader is at each relevant document, up to a factor for each list."""
        if self.visits:
            return _by_rank(np.array(self.visits), hits.rank)
        if self.transitions is not None:
            return _by_rank(visits_in_file(self.transitions), hits.rank)
        if self.states == "all":
            return self._among_all(hits.rank, num_retrieved(lists, self.k)[hits.row].astype(np.int64))
        if self.moves == "adjacent":
            return self._to_neighbours(hits)
        return self._to_all_relevant(hits)

    # The weights are symmetric, w_ij = w_ji. So π_i P_ij = π_j P_ji for π_i ∝ Σ_k w_ik: these sums are invariant.

    def _among_all(self, rank: Index, length: Index) -> Array:
        """The sum of weights from each rank to all, or to adjacent, ranks of a list of this length."""
        steps = self.move_weights(np.arange(1, int(length.max(initial=1)) + 1))
        above, below = rank - 1, length - rank
        if self.moves == "adjacent":
            total = steps[0] * (np.minimum(above, 1) + np.minimum(below, 1))
        else:
            running = np.concatenate(([0.0], np.cumsum(steps)))
            total = running[above] + running[below]
        return self._or_alone(np.asarray(total, dtype=np.float64))

    def _to_neighbours(self, hits: Hits) -> Array:
        """The sum of weights to the relevant documents just above and just below."""
        before = hits.previous(hits.rank.astype(np.float64), first=0.0)
        up = np.where(hits.nth > 1, self.move_weights(hits.rank - before), 0.0)
        down = np.zeros(len(hits))
        down[:-1] = np.where(hits.nth[1:] > 1, up[1:], 0.0)
        return self._or_alone(up + down)

    def _to_all_relevant(self, hits: Hits) -> Array:
        """The sum of weights to all other relevant documents of the list."""
        size, total = np.diff(hits.start), np.zeros(len(hits))
        for begin, end in row_blocks(size.astype(np.float64) ** 2, PAIRS):
            first = np.arange(hits.start[begin], hits.start[end])
            partners = size[hits.row[first]]
            i = np.repeat(first, partners)
            j = ranges(hits.start[hits.row[first]], partners)
            weight = np.where(i == j, 0.0, self.move_weights(np.abs(hits.rank[i] - hits.rank[j])))
            total[first] = np.bincount(i - hits.start[begin], weight, len(first))
        return self._or_alone(total)

    def move_weights(self, apart: Array | Index) -> Array:
        """The weight of a move between two documents, from the difference of their ranks."""
        if self.distance == "none":
            return np.ones(apart.shape)
        return np.asarray(1.0 / (apart + 1.0 if self.distance == "inverse" else np.log2(apart + 2.0)))

    def _or_alone(self, total: Array) -> Array:
        """With the weight of staying; a reader without a way out of the only document stays there."""
        stay = float(self.move_weights(np.zeros(1))[0]) if self.loops else 0.0
        return np.where(total + stay > 0, total + stay, 1.0)

    def _seconds_at(self, hits: Hits) -> Array:
        if isinstance(self.seconds, Gain):
            return self.seconds(hits.grade)
        by_rank = np.array(self.seconds)
        return np.asarray(by_rank[np.minimum(hits.rank, len(by_rank)) - 1])


CHAIN = ("states", "moves", "distance", "loops")
"""The parameters that describe how the reader moves."""


def _by_rank(visits: Array, rank: Index) -> Array:
    """The number of each rank, 0 for ranks beyond the last."""
    inside = rank <= len(visits)
    return np.where(inside, visits[np.minimum(rank, len(visits)) - 1], 0.0)


def session_precision(
    session: Sequence[Sequence[float | None]], measure: MP | None = None, *, reformulate: float = 0.2
) -> float:
    r"""Markov Precision of a session, given as the grades of each query's list from the top (None: not judged).

    .. math:: \sum_{(q,i) \in \mathcal{R}} \pi_{qi}\,\frac{C_q(i)}{i}, \qquad P_{(q,i)(q,j)} = (1 - \rho)\,P^q_{ij},
        \quad P_{(q,i)(q+1,1)} = \rho

    Within a list the reader moves as `measure` says, whose `states` must be all documents. After each document, with
    probability `reformulate` (ρ), the reader asks the next query and begins at the top of its list; the next one after
    the last is the first query of a new session like this. π is restricted to relevant documents, as in MP, and C_q(i)
    counts relevant documents in the document's own list. With `seconds`, π is weighted by them. Queries
    without results are left out. No relevant documents: 0.
    Reference: van Dijk, Ferrante, Ferro & Kanoulas, ECIR 2019 (the idea; the formula is ours)

    >>> round(session_precision([[0, 1], [1, 0]], MP(moves="adjacent"), reformulate=0.5), 4)
    0.8333
    """
    model = MP() if measure is None else measure
    check_session_model(model, reformulate)
    lists = [list(grades)[: model.k] for grades in session if len(grades)]
    if not lists:
        return 0.0
    sizes = [len(grades) for grades in lists]
    begins = np.concatenate(([0], np.cumsum(sizes))).astype(int)
    visits = session_visits(tuple(sizes), model, reformulate)
    weights: list[float] = []
    precision: list[float] = []
    for query, grades in enumerate(lists):
        relevant = 0
        for rank, grade in enumerate(grades, 1):
            if grade is not None and grade >= model.rel:
                relevant += 1
                weights.append(float(visits[begins[query] + rank - 1]) * _seconds(model, rank, float(grade)))
                precision.append(relevant / rank)
    total = sum(weights)
    return float(np.dot(weights, precision) / total) if total > 0 else 0.0


def check_session_model(model: MP, reformulate: float, caller: str = "session_precision") -> None:
    """Raise an error if the chain of a session cannot be made from these parameters."""
    check.finite(caller, reformulate=reformulate)
    if not 0 < reformulate <= 1:
        raise check.wrong(caller, "reformulate", reformulate, "above 0 and at most 1")
    if model.states != "all" or model.visits or model.transitions is not None or model.recall or model.views:
        raise UsageError(
            f"{caller}: {model}, must be MP with all documents as states, and without visits, transitions, "
            "recall and views"
        )


@lru_cache(maxsize=4096)
def session_visits(sizes: tuple[int, ...], model: MP, reformulate: float) -> Array:
    """How often the reader is at each document of a session whose lists have these sizes, none of them 0."""
    begins = np.concatenate(([0], np.cumsum(sizes))).astype(int)
    moves = np.zeros((begins[-1], begins[-1]))
    for query, size in enumerate(sizes):
        inside = slice(begins[query], begins[query + 1])
        top = begins[(query + 1) % len(sizes)]
        moves[inside, inside] = (1 - reformulate) * _moves(model, size)
        moves[inside, top] += reformulate
    return invariant_distribution(moves, "session_precision")


def _moves(model: MP, size: int) -> Array:
    """The probabilities of moves within a list of this size."""
    rank = np.arange(size)
    apart = np.abs(rank[:, None] - rank)
    weights = model.move_weights(apart)
    if not model.loops and size > 1:
        np.fill_diagonal(weights, 0.0)
    if model.moves == "adjacent":
        weights[apart > 1] = 0.0
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _seconds(model: MP, rank: int, grade: float) -> float:
    seconds: Any = model.seconds
    if seconds is None:
        return 1.0
    return float(seconds[min(rank, len(seconds)) - 1] if isinstance(seconds, tuple) else seconds(np.array([grade]))[0])

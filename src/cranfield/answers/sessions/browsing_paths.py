"""Expected measures over browsing paths: where a user may leave each list is a matter of chance.

A user reads the first j lists of a session, with a probability proportional to `reform`^(j−1). In each list but the
last of these the user reads the top f documents, with a probability proportional to `down`^(f−1), and then asks the
next query; the last one is read to its end. A path is what is read, in order. A session of one list has one path, so
that every expected measure is then the measure itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import Annotated, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.answers.sessions.session_files import Session
from cranfield.answers.sessions.session_lists import ListSettings, SessionLists
from cranfield.answers.sessions.session_measures import SessionMeasure, session_measure
from cranfield.declared.operation import Seed, about, operation
from cranfield.errors import UsageError
from cranfield.measures.base import Measure
from cranfield.measures.gain import LINEAR, Gain, GainLike
from cranfield.measures.naming.parse import parse
from cranfield.record import Columns, Record, column
from cranfield.types import Array, Progress

Sizes = tuple[int, ...]


@lru_cache(maxsize=4096)
def stop_probabilities(size: int, down: float) -> Array:
    """The probability that the user leaves a list of this size after document 1, 2, ...

    >>> stop_probabilities(2, 0.5).round(4).tolist()
    [0.6667, 0.3333]
    """
    weights = down ** np.arange(size, dtype=np.float64)
    return np.asarray(weights / weights.sum())


def query_probabilities(queries: int, reform: float) -> Array:
    """The probability that list 1, 2, ... is the last one that the user reads."""
    return stop_probabilities(queries, reform)


def moved(chances: Array, stop: Array) -> Array:
    """For each place f to leave a list: the chances of 0, 1, ... documents moved by f, times the chance of f."""
    size, length = len(stop), len(chances)
    rows = np.zeros((size, length + size))
    rows[np.arange(size)[:, None], np.arange(1, size + 1)[:, None] + np.arange(length)[None, :]] = np.outer(
        stop, chances
    )
    return rows


def convolved(rows: Array, stop: Array) -> Array:
    """Every row of chances of 0, 1, ... documents, with those of a further list that is left at 1, 2, ..."""
    length, size = rows.shape[1], len(stop)
    moves = np.zeros((length, length + size))
    moves[np.arange(length)[:, None], np.arange(length)[:, None] + np.arange(1, size + 1)[None, :]] = stop
    return np.asarray(rows @ moves)


def reach(sizes: Sizes, down: float, reform: float) -> tuple[tuple[Array, Array], ...]:
    """For each list: the probabilities of the number of documents read before it, and of reading each of its documents.

    The second ones include that the list is reached; the first ones do not.
    """
    last = query_probabilities(len(sizes), reform)
    before = np.ones(1)
    reached = []
    for at, size in enumerate(sizes):
        later = float(last[at + 1 :].sum())
        if not size:
            reached.append((before, np.zeros(0)))
            continue
        stop = stop_probabilities(size, down)
        still = np.cumsum(stop[::-1])[::-1]  # the probability of leaving at this document or below
        reached.append((before, float(last[at]) + later * still))
        before = np.convolve(before, np.concatenate(([0.0], stop)))
    return tuple(reached)


def path_weights(sizes: Sizes, down: float, reform: float, worth: Array) -> Array:
    """The expected worth of the place that each document has on the path; worth[i] is that of place i + 1."""
    weights = [np.zeros(0)]
    for before, read in reach(sizes, down, reform):
        places = np.arange(len(before))[:, None] + np.arange(len(read))[None, :]
        weights.append(read * (before @ worth[places]))
    return np.concatenate(weights)


def pair_weights(sizes: Sizes, down: float, reform: float, cutoff: int | None) -> Array:
    """For documents i and j: the expectation of 1 / place of j, if the path has j, and i at or above j; otherwise 0.

    The sum over relevant i and j is the expected sum of precisions at relevant documents.
    """
    total = sum(sizes)
    inverse = 1.0 / np.arange(1, total + 1)
    if cutoff is not None:
        inverse[cutoff:] = 0.0
    last = query_probabilities(len(sizes), reform)
    begins = np.concatenate(([0], np.cumsum(sizes))).astype(int)
    weights = np.zeros((total, total))
    for at, (before, read) in enumerate(reach(sizes, down, reform)):
        if not len(read):
            continue
        own = slice(begins[at], begins[at + 1])
        places = np.arange(len(before))[:, None] + np.arange(len(read))[None, :]
        weights[own, own] = np.triu(np.broadcast_to(read * (before @ inverse[places]), (len(read), len(read))))
        # The chances of what is read before the next list, if document n of this list is read: the user stops at n or
        # below.
        stopping = moved(before, stop_probabilities(sizes[at], down))
        joint = np.cumsum(stopping[::-1], axis=0)[::-1]
        for later in range(at + 1, len(sizes)):
            if not sizes[later]:
                continue
            places = np.arange(joint.shape[1])[:, None] + np.arange(sizes[later])[None, :]
            going_on = np.cumsum(stop_probabilities(sizes[later], down)[::-1])[::-1]
            reads = float(last[later]) + float(last[later + 1 :].sum()) * going_on
            weights[own, begins[later] : begins[later + 1]] = joint @ inverse[places] * reads
            joint = convolved(joint, stop_probabilities(sizes[later], down))
    return weights


@dataclass(frozen=True, repr=False)
class _OverPaths(SessionMeasure):
    """The parameters of the user who follows a path."""

    down: float = 0.8
    reform: float = 0.5

    def check(self) -> None:
        check.finite(self.name, down=self.down, reform=self.reform)
        for name in ("down", "reform"):
            if not 0 < getattr(self, name) <= 1:
                raise check.wrong(self.name, name, getattr(self, name), "above 0 and at most 1")


class _Expected(_OverPaths, ABC):
    """An expected sum of what each place of the path is worth."""

    @abstractmethod
    def worth(self, places: int) -> Array:
        """What a relevant document is worth at each place of the path."""

    def terms(self, lists: SessionLists) -> dict[str, Array]:
        weights = np.zeros(len(lists.position))
        for sizes, sessions in lists.shapes.items():
            of_path = path_weights(sizes, self.down, self.reform, self._worth_until(sum(sizes)))
            at = lists.start[sessions][:, None] + np.arange(len(of_path))[None, :]
            weights[at] = of_path
        gains = self.gains(lists)
        return {"gain": gains, "expected discount": weights, "adds": gains * weights}

    def _worth_until(self, places: int) -> Array:
        worth = self.worth(places)
        if self.cutoff is not None:
            worth[self.cutoff :] = 0.0
        return worth

    def gains(self, lists: SessionLists) -> Array:
        return lists.relevant(getattr(self, "rel", 1))


@session_measure
@dataclass(frozen=True, repr=False)
class esP(_Expected):
    r"""Expected precision of the first k documents of a browsing path.

    .. math:: \sum_\omega \Pr(\omega)\,\frac{1}{k} \sum_{i \le k} \text{rel}(\omega_i)

    `reform` and `down` are the probabilities of asking a next query and of reading the next document, both cut to the
    lists of the session; the defaults are ours. All paths count: the expectation is exact. Without a cutoff, k is 10.
    No relevant documents: 0.
    Reference: Kanoulas, Carterette, Clough & Sanderson, SIGIR 2011, 1053-1062

    >>> from cranfield.answers.sessions import Query, Session, SessionLists
    >>> lists = SessionLists.of([Session("s", "1", (Query(("a", "b")), Query(("c",))))], {"1": {"c": 1}})
    >>> esP(down=0.5, cutoff=2).score(lists).round(4).tolist()  # second list: 1/3, left after document 1: 2/3
    [0.1111]
    """

    rel: float = 1

    name = "esP"
    highest = 1.0

    def worth(self, places: int) -> Array:
        depth = self.cutoff or 10
        return np.where(np.arange(places) < depth, 1.0 / depth, 0.0)


@session_measure
@dataclass(frozen=True, repr=False)
class esR(_Expected):
    r"""Expected recall of a browsing path, or of its first k documents.

    .. math:: \sum_\omega \Pr(\omega)\,\frac{1}{R} \sum_{i \le k} \text{rel}(\omega_i)

    The paths are those of esP.
    No relevant documents: undefined.
    Reference: Kanoulas, Carterette, Clough & Sanderson, SIGIR 2011, 1053-1062

    >>> from cranfield.answers.sessions import Query, Session, SessionLists
    >>> lists = SessionLists.of([Session("s", "1", (Query(("a", "b")), Query(("c",))))], {"1": {"c": 1}})
    >>> esR(down=0.5).score(lists).round(4).tolist()  # a third of the paths has c
    [0.3333]
    """

    rel: float = 1

    name = "esR"
    highest = 1.0

    def worth(self, places: int) -> Array:
        return np.ones(places)

    def terms(self, lists: SessionLists) -> dict[str, Array]:
        parts = super().terms(lists)
        relevant = lists.num_relevant(self.rel)
        return parts | {"adds": parts["adds"] / np.where(relevant > 0, relevant, np.nan)[lists.session]}

    def score(self, lists: SessionLists) -> Array:
        relevant = lists.num_relevant(self.rel)
        return np.asarray(lists.sum(super().terms(lists)["adds"]) / np.where(relevant > 0, relevant, np.nan))


@session_measure
@dataclass(frozen=True, repr=False)
class esDCG(_Expected):
    r"""Expected DCG of a browsing path.

    .. math:: \sum_\omega \Pr(\omega) \sum_{i \le k} \frac{g(\omega_i)}{\log_2(i + 1)}

    The paths are those of esP.
    No relevant documents: 0.
    Reference: Kanoulas, Carterette, Clough & Sanderson, SIGIR 2011, 1053-1062

    >>> from cranfield.answers.sessions import Query, Session, SessionLists
    >>> lists = SessionLists.of([Session("s", "1", (Query(("a", "b")), Query(("c",))))], {"1": {"c": 1}})
    >>> esDCG(down=0.5).score(lists).round(4).tolist()  # 1/3 · (2/3 · 1/log2(3) + 1/3 · 1/log2(4))
    [0.1958]
    """

    gain: GainLike = LINEAR

    name = "esDCG"

    def worth(self, places: int) -> Array:
        return np.asarray(1.0 / np.log2(np.arange(places) + 2.0))

    def gains(self, lists: SessionLists) -> Array:
        return lists.gain(Gain.of(self.gain))


@session_measure
@dataclass(frozen=True, repr=False)
class esNDCG(esDCG):
    r"""Expected nDCG of a browsing path: esDCG divided by the DCG of the ideal list.

    .. math:: \sum_\omega \Pr(\omega)\,\frac{\text{DCG}(\omega)}{\text{ideal DCG}}

    The paths are those of esP.
    No relevant documents: undefined.
    Reference: Kanoulas, Carterette, Clough & Sanderson, SIGIR 2011, 1053-1062

    >>> from cranfield.answers.sessions import Query, Session, SessionLists
    >>> lists = SessionLists.of([Session("s", "1", (Query(("a", "b")), Query(("c",))))], {"1": {"c": 1}})
    >>> esNDCG(down=0.5).score(lists).round(4).tolist()  # the ideal list has DCG 1
    [0.1958]
    """

    name = "esNDCG"
    highest = 1.0

    def ideal(self, lists: SessionLists) -> Array:
        """The DCG of the ideal list of each session; NaN if it is 0."""
        gains = lists.ideal_gains(Gain.of(self.gain))
        worth = self._worth_until(max((len(best) for best in gains), default=0))
        values = np.array([float(best @ worth[: len(best)]) for best in gains])
        return np.where(values > 0, values, np.nan)

    def terms(self, lists: SessionLists) -> dict[str, Array]:
        parts = super().terms(lists)
        return parts | {"adds": parts["adds"] / self.ideal(lists)[lists.session]}

    def score(self, lists: SessionLists) -> Array:
        return np.asarray(lists.sum(super().terms(lists)["adds"]) / self.ideal(lists))


@session_measure
@dataclass(frozen=True, repr=False)
class esAP(_OverPaths):
    r"""Expected average precision of a browsing path.

    .. math:: \sum_\omega \Pr(\omega)\,\frac{1}{R} \sum_{i \le k} \text{rel}(\omega_i)\,\frac{1}{i}
        \sum_{j \le i} \text{rel}(\omega_j)

    The paths are those of esP.
    No relevant documents: undefined.
    Reference: Kanoulas, Carterette, Clough & Sanderson, SIGIR 2011, 1053-1062

    >>> from cranfield.answers.sessions import Query, Session, SessionLists
    >>> lists = SessionLists.of([Session("s", "1", (Query(("a", "b")), Query(("c",))))], {"1": {"c": 1}})
    >>> esAP(down=0.5).score(lists).round(4).tolist()  # 1/3 · (2/3 · 1/2 + 1/3 · 1/3)
    [0.1481]
    """

    rel: float = 1

    name = "esAP"
    highest = 1.0

    def terms(self, lists: SessionLists) -> dict[str, Array]:
        relevant, total = lists.relevant(self.rel), lists.num_relevant(self.rel)
        precision = np.zeros(len(relevant))
        for sizes, sessions in lists.shapes.items():
            weights = pair_weights(sizes, self.down, self.reform, self.cutoff)
            at = lists.start[sessions][:, None] + np.arange(len(weights))[None, :]
            precision[at] = relevant[at] @ weights
        over = np.where(total > 0, total, np.nan)[lists.session]
        return {"gain": relevant, "expected precision": precision, "adds": relevant * precision / over}

    def score(self, lists: SessionLists) -> Array:
        total = lists.num_relevant(self.rel)
        adds = lists.sum(np.nan_to_num(self.terms(lists)["adds"]))
        return np.where(total > 0, adds, np.nan)


Stops = tuple[int, ...]
"""How many documents of each list are read; lists after the last one are not read."""


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedOverPaths(Record):
    """The expectation of a measure over the browsing paths of each session; sampled ones have an interval."""

    measure: str
    sessions: Annotated[tuple[str, ...], column("session")]
    value: Annotated[Array, column()]
    low: Annotated[Array, column()]
    high: Annotated[Array, column()]
    paths: Annotated[NDArray[np.int64], column()]
    sampled: Annotated[NDArray[np.bool_], column()]
    notes: tuple[str, ...] = ()

    facts: ClassVar[tuple[str, ...]] = ("measure",)

    def columns(self) -> Columns:
        """A row per session; the value is in the column of the measure."""
        return {self.measure if name == "value" else name: values for name, values in super().columns().items()}


@operation
def expected_over_paths(
    sessions: Iterable[Session],
    qrels: Mapping[str, Mapping[str, float]],
    measure: Measure | str,
    *,
    down: Annotated[
        float,
        about(
            "With --paths: probability of reading the next document.", above=0, most=1, spelled="--down P", rare=True
        ),
    ] = 0.8,
    reform: Annotated[
        float,
        about("With --paths: probability of asking the next query.", above=0, most=1, spelled="--reform P", rare=True),
    ] = 0.5,
    most_paths: int = 1000,
    samples: Annotated[int, about("With --paths: paths to draw, if there are many.", least=2, rare=True)] = 1000,
    level: float = 0.95,
    seed: Annotated[Seed, about("With --paths: seed of the random numbers.", least=0, below=2**64, rare=True)] = 0,
    progress: Progress | None = None,
    **settings: Unpack[ListSettings],
) -> ExpectedOverPaths:
    r"""The expectation of a measure of ranked lists over the browsing paths of each session.

    .. math:: \sum_\omega \Pr(\omega)\, M(\omega)

    The paths and their probabilities are those of esP, which has a fast formula, as esR, esAP, esDCG and esNDCG have;
    this function takes any measure that needs only grades. A session with up to `most_paths` paths is exact, and its
    interval has no width; otherwise `samples` paths are drawn, and the interval of the mean is a normal approximation.
    settings: those of `SessionLists.of`.
    Reference: Kanoulas, Carterette, Clough & Sanderson, SIGIR 2011, 1053-1062

    >>> from cranfield.answers.sessions import Query
    >>> session = Session("s", "1", (Query(("a", "b")), Query(("c",))))
    >>> print(expected_over_paths([session], {"1": {"c": 1}}, "RR", down=0.5))
    session      RR     low    high  paths  sampled
    s        0.1481  0.1481  0.1481      3
    """
    wanted = parse(measure) if isinstance(measure, str) else measure
    caller = "expected_over_paths"
    if wanted.needs:
        raise UsageError(f"{caller}: {wanted} needs {wanted.needs}, but paths have only grades; choose another measure")
    if settings.get("duplicates", "first") != "first" or settings.get("gains", "judgments") != "judgments":
        raise UsageError(f"{caller}: a path is judged, and has no document twice; leave out duplicates and gains")
    check.whole(caller, most_paths=most_paths)
    if not 0 < level < 1:
        raise check.wrong(caller, "level", level, "between 0 and 1")
    from scipy.special import ndtri

    z = float(ndtri(0.5 + level / 2))
    lists = SessionLists.of(sessions, qrels, **settings)
    rows: list[tuple[str, float, float, float, int, bool]] = []
    for number, session in enumerate(lists.sessions):
        if progress is not None:
            progress(number, len(lists))
        own = slice(*lists.start[number : number + 2].tolist())
        by_query: list[list[float]] = [[] for _ in session.queries]
        for query, grade in zip(lists.query[own].tolist(), lists.grade[own].tolist(), strict=True):
            by_query[query - 1].append(grade)
        if lists.undefined[number] or not by_query:
            rows.append((session.name, np.nan, np.nan, np.nan, 0, False))
            continue
        grades_of_topic = sorted(lists.judged[session.topic or ""].tolist())
        rng = np.random.default_rng([seed, number])
        expected = _expectation(by_query, grades_of_topic, wanted, (down, reform), most_paths, samples, z, rng)
        rows.append((session.name, *expected))
    notes = (*lists.repeated, *lists.notes)
    return ExpectedOverPaths.of_rows(rows, measure=str(wanted), notes=notes)


def _expectation(
    lists: list[list[float]],
    judged: list[float],
    measure: Measure,
    chances: tuple[float, float],
    most_paths: int,
    samples: int,
    z: float,
    rng: np.random.Generator,
) -> tuple[float, float, float, int, bool]:
    """The expectation for one session, its interval, the number of paths, and whether they are sampled."""
    known: dict[Stops, float] = {}

    def score(stops: Stops) -> float:
        if stops not in known:
            read = [grade for grades, stop in zip(lists, stops, strict=False) for grade in grades[:stop]]
            left = list(judged)
            for grade in read:
                if grade == grade:
                    left.remove(grade)
            known[stops] = measure.of([None if grade != grade else grade for grade in read], left)
        return known[stops]

    sizes = [len(grades) for grades in lists]
    count = sum(prod(max(size, 1) for size in sizes[:last]) for last in range(len(sizes)))
    if count <= most_paths:
        mean = float(sum(chance * score(stops) for chance, stops in every_path(sizes, *chances)))
        return mean, mean, mean, count, False
    values = np.array([score(stops) for stops in drawn_paths(sizes, *chances, samples, rng)])
    half = z * float(values.std(ddof=1)) / np.sqrt(samples)
    mean = float(values.mean())
    return mean, mean - half, mean + half, count, True


def every_path(sizes: list[int], down: float, reform: float) -> Iterator[tuple[float, Stops]]:
    """Every path with its probability.

    >>> [(round(chance, 3), stops) for chance, stops in every_path([2, 1], down=0.5, reform=0.5)]
    [(0.667, (2,)), (0.222, (1, 1)), (0.111, (2, 1))]
    """
    for last, chance in enumerate(query_probabilities(len(sizes), reform).tolist()):
        places = [list(enumerate(stop_probabilities(size, down).tolist(), 1)) or [(0, 1.0)] for size in sizes[:last]]
        for chosen in product(*places):
            probability = chance * prod(share for _, share in chosen)
            yield probability, (*(stop for stop, _ in chosen), sizes[last])


def drawn_paths(
    sizes: list[int], down: float, reform: float, samples: int, rng: np.random.Generator
) -> Iterator[Stops]:
    """Paths drawn at random."""
    last = rng.choice(len(sizes), samples, p=query_probabilities(len(sizes), reform))
    stops = [
        rng.choice(size, samples, p=stop_probabilities(size, down)) + 1 if size else np.zeros(samples, dtype=np.int64)
        for size in sizes
    ]
    for at, final in enumerate(last.tolist()):
        yield (*(int(stop[at]) for stop in stops[:final]), sizes[final])

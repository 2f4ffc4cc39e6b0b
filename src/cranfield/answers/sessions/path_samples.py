"""The expectation of any measure over browsing paths: exact where there are few paths, sampled where there are many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.answers.sessions.browsing_paths import query_probabilities, stop_probabilities
from cranfield.answers.sessions.session_files import Session
from cranfield.answers.sessions.session_lists import SessionLists
from cranfield.errors import UsageError
from cranfield.measures.base import Measure
from cranfield.measures.naming.parse import parse
from cranfield.record import Record
from cranfield.types import Array, Progress

Stops = tuple[int, ...]
"""How many documents of each list are read; lists after the last one are not read."""


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedOverPaths(Record):
    """The expectation of a measure over the browsing paths of each session; sampled ones have an interval."""

    measure: str
    sessions: tuple[str, ...]
    value: Array
    low: Array
    high: Array
    paths: NDArray[np.int64]
    sampled: NDArray[np.bool_]
    notes: tuple[str, ...] = ()

    facts: ClassVar[tuple[str, ...]] = ("measure",)

    def columns(self) -> dict[str, NDArray[Any]]:
        """A row per session."""
        names = np.array(self.sessions, dtype=object)
        return {
            "session": names, self.measure: self.value, "low": self.low, "high": self.high, "paths": self.paths,
            "sampled": self.sampled,
        }  # fmt: skip


def expected_over_paths(
    sessions: Iterable[Session],
    qrels: Mapping[str, Mapping[str, float]],
    measure: Measure | str,
    *,
    down: float = 0.8,
    reform: float = 0.5,
    most_paths: int = 1000,
    samples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> ExpectedOverPaths:
    r"""The expectation of a measure of ranked lists over the browsing paths of each session.

    .. math:: \sum_\omega \Pr(\omega)\, M(\omega)

    The paths and their probabilities are those of esP, which has a fast formula, as esR, esAP, esDCG and esNDCG have;
    this function takes any measure that needs only grades. A session with up to `most_paths` paths is exact, and its
    interval has no width; otherwise `samples` paths are drawn, and the interval of the mean is a normal approximation.
    options: those of `SessionLists.of`.
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
    if options.get("duplicates", "first") != "first" or options.get("gains", "judgments") != "judgments":
        raise UsageError(f"{caller}: a path is judged, and has no document twice; leave out duplicates and gains")
    check.whole(caller, most_paths=most_paths, samples=samples)
    if samples < 2:
        raise check.wrong(caller, "samples", samples, "2 or more, to have an interval")
    for name, chance in (("down", down), ("reform", reform)):
        check.finite(caller, **{name: chance})
        if not 0 < chance <= 1:
            raise check.wrong(caller, name, chance, "above 0 and at most 1")
    if not 0 < confidence < 1:
        raise check.wrong(caller, "confidence", confidence, "between 0 and 1")
    from scipy.special import ndtri

    z = float(ndtri(0.5 + confidence / 2))
    lists = SessionLists.of(sessions, qrels, **options)
    rows: list[tuple[float, float, float, int, bool]] = []
    for number, session in enumerate(lists.sessions):
        if progress is not None:
            progress(number, len(lists))
        own = slice(*lists.start[number : number + 2].tolist())
        by_query: list[list[float]] = [[] for _ in session.queries]
        for query, grade in zip(lists.query[own].tolist(), lists.grade[own].tolist(), strict=True):
            by_query[query - 1].append(grade)
        if lists.undefined[number] or not by_query:
            rows.append((np.nan, np.nan, np.nan, 0, False))
            continue
        grades_of_topic = sorted(lists.judged[session.topic or ""].tolist())
        rng = np.random.default_rng([seed, number])
        rows.append(_one(by_query, grades_of_topic, wanted, (down, reform), most_paths, samples, z, rng))
    value, low, high, paths, sampled = zip(*rows, strict=True) if rows else ((),) * 5
    return ExpectedOverPaths(
        str(wanted), tuple(session.name for session in lists.sessions), np.array(value),
        np.array(low), np.array(high), np.array(paths, dtype=np.int64), np.array(sampled, dtype=bool),
        (*lists.repeated, *lists.notes),
    )  # fmt: skip


def _one(
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

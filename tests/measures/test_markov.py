"""Markov Precision, against matrices written out in full and eigenvectors."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.assessed.lists import Assessed
from cranfield.errors import DataError, UsageError
from cranfield.measures import AP, MP, parse, session_precision
from cranfield.measures.readers.markov import invariant_distribution, read_transitions
from tests.oracles.joined import graded_lists, side_by_side

LISTS: list[list[float | None]] = [
    [1, 0, 1, None, 1],
    [0, 0, 1],
    [1],
    [1, 1, 0, 0, 0, 0, 1, None, None, 1],
    [None, 1, 1, 1],
]


def stationary(P: np.ndarray) -> np.ndarray:
    """The left eigenvector of eigenvalue 1."""
    values, vectors = np.linalg.eig(P.T)
    vector = np.real(vectors[:, np.argmin(np.abs(values - 1))])
    return np.asarray(vector / vector.sum())


def literal(grades: list[float | None], states: str, moves: str, distance: str, loops: bool) -> float:
    """The transition matrix entry by entry, its invariant distribution, and the sum of (18) of Ferro & Maistro 2024."""
    relevant = [rank for rank, grade in enumerate(grades, 1) if grade]
    every = list(range(1, len(grades) + 1)) if states == "all" else relevant
    n = len(every)
    P = np.zeros((n, n))
    for i, j in product(range(n), repeat=2):
        far = abs(every[i] - every[j])
        allowed = (i != j or loops) and (moves == "global" or abs(i - j) <= 1)
        P[i, j] = allowed * {"inverse": 1 / (far + 1), "log": 1 / np.log10(far + 2), "none": 1.0}[distance]
    if n == 1:
        P[:] = 1
    share = dict(zip(every, stationary(P / P.sum(axis=1, keepdims=True)), strict=True))
    total = sum(share[rank] for rank in relevant)
    return float(sum(share[r] / total * (nth / r) for nth, r in enumerate(relevant, 1)))


@pytest.mark.parametrize("states", ["all", "relevant"])
@pytest.mark.parametrize("moves", ["global", "adjacent"])
@pytest.mark.parametrize("distance", ["inverse", "log", "none"])
@pytest.mark.parametrize("loops", [False, True])
def test_every_chain_agrees_with_the_eigenvector_of_its_matrix(
    states: str, moves: str, distance: str, loops: bool
) -> None:
    measure = MP(states=states, moves=moves, distance=distance, loops=loops)
    for grades in LISTS:
        assert measure.of(grades) == pytest.approx(literal(grades, states, moves, distance, loops), abs=1e-12)


def test_a_list_by_hand() -> None:
    # Relevant at ranks 1, 2 and 4 of 4; moves to adjacent documents with equal weights: the inner ranks are visited
    # twice as often as the ends, π = (1, 2, 2, 1)/6, restricted to 1, 2, 4: (1, 2, 1)/4.
    assert MP(moves="adjacent", distance="none").of([1, 1, 0, 1]) == pytest.approx((1 * 1 + 2 * 1 + 1 * 3 / 4) / 4)
    # Among relevant documents only: weights 1/2 between ranks 1 and 2, 1/3 between 2 and 4, 1/4 between 1 and 4.
    first, second, third = 1 / 2 + 1 / 4, 1 / 2 + 1 / 3, 1 / 3 + 1 / 4
    expected = (first + second + third * 3 / 4) / (first + second + third)
    assert MP(states="relevant").of([1, 1, 0, 1]) == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists())
def test_AP_is_MP_times_recall_if_all_relevant_retrieved_documents_are_visited_alike(
    graded: tuple[list[float | None], list[float]],
) -> None:
    uniform = MP(states="relevant", distance="none")
    lists = Assessed.one(*graded)
    retrieved, relevant = lists.relevant(1).count[0], lists.num_rel(1)[0]
    if relevant:
        assert retrieved / relevant * uniform.of(*graded) == pytest.approx(AP().of(*graded))
    assert uniform.replace(recall=True).of(*graded) == pytest.approx(AP().of(*graded), nan_ok=True)
    loops = uniform.replace(loops=True, recall=True)
    assert loops.of(*graded) == pytest.approx(AP().of(*graded), nan_ok=True)


def test_the_chain_watched_at_relevant_documents_has_the_restricted_distribution() -> None:
    # The reader's visits to relevant documents alone are a Markov chain too: S = P_RR + P_RN (I − P_NN)⁻¹ P_NR.
    grades = [1, 0, 1, 0, 0, 1, 0]
    ranks = np.arange(1, 8)
    weights = 1 / (np.abs(ranks[:, None] - ranks) + 1.0)
    np.fill_diagonal(weights, 0)
    P = weights / weights.sum(axis=1, keepdims=True)
    R, N = np.flatnonzero(grades), np.flatnonzero(np.array(grades) == 0)
    way_round = np.linalg.solve(np.eye(len(N)) - P[np.ix_(N, N)], P[np.ix_(N, R)])
    watched = stationary(P[np.ix_(R, R)] + P[np.ix_(R, N)] @ way_round)
    precision = np.arange(1, 4) / (R + 1)
    assert MP().of(grades) == pytest.approx(float(watched @ precision))


def test_with_time_the_invariant_distribution_is_that_of_the_generator() -> None:
    # Continuous time: leave rank i at rate μ_i, to rank j with probability P_ij. π̃ G = 0 with G = diag(μ)(P − I).
    seconds = np.array([30.0, 5.0, 12.0, 60.0])
    ranks = np.arange(1, 5)
    weights = 1 / (np.abs(ranks[:, None] - ranks) + 1.0)
    np.fill_diagonal(weights, 0)
    P = weights / weights.sum(axis=1, keepdims=True)
    generator = (P - np.eye(4)) / seconds[:, None]
    time = np.linalg.lstsq(np.vstack([generator.T, np.ones(4)]), np.array([0, 0, 0, 0, 1.0]), rcond=None)[0]
    share = time[[0, 2]] / time[[0, 2]].sum()
    assert MP(seconds=list(seconds)).of([1, 0, 1, 0]) == pytest.approx(share[0] + share[1] * 2 / 3)


def test_seconds_by_grade_weigh_the_visits() -> None:
    measure = MP(states="relevant", distance="none", seconds={1: 10, 2: 30})
    assert measure.of([2, 0, 1]) == pytest.approx((30 * 1 + 10 * 2 / 3) / 40)
    assert parse(str(measure)) == measure


def test_the_last_number_of_seconds_holds_for_further_ranks() -> None:
    assert MP(seconds=[30, 20]).of([1, 0, 1, 1]) == MP(seconds=[30, 20, 20, 20]).of([1, 0, 1, 1])


def test_transitions_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "clicks.tsv"
    path.write_text("from\tto\tclicks\n1\t2\t6\n1\t3\t2\n2\t1\t3\n2\t3\t1\n3\t1\t4\n")
    P = np.array([[0, 6 / 8, 2 / 8], [3 / 4, 0, 1 / 4], [1, 0, 0]])
    assert invariant_distribution(read_transitions(path)) == pytest.approx(stationary(P))
    share = stationary(P)
    measure = MP(transitions=str(path))
    expected = (share[0] * 1 + share[2] * 2 / 3) / (share[0] + share[2])
    assert measure.of([1, 0, 1]) == pytest.approx(expected)
    assert measure.of([1, 0, 1, 1]) == pytest.approx(expected)  # rank 4 is never visited
    assert measure.of([0, 0, 0, 1]) == 0
    assert MP(visits=share.tolist()).of([1, 0, 1]) == pytest.approx(expected)
    assert parse(str(measure)) == measure
    path.write_text("1 2 1\n2 1 1\n1 1 1\n")  # the file is read again: π = (2/3, 1/3)
    assert measure.of([1, 1, 1]) == pytest.approx(1)
    assert measure.of([0, 1]) == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 x\n", ":1: the weight is 'x', expected a number, 0 or above"),
        ("1 2 1\n0 1 1\n", ":2: the rank is '0', expected a whole number, between 1 and 5000"),
        ("1 2 -1\n", "the weight is '-1', expected a number"),
        ("1 2 0\n", "no move has a weight above 0"),
        ("1 2 1\n", "no move leaves rank 2, so that readers end there"),
        ("1 1 1\n2 2 1\n", "readers cannot come to rank 2 and back to rank 1"),
        ("1 2\n", ":1: 2 columns, expected 3: from to weight"),
    ],
)
def test_wrong_transitions(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "moves.txt"
    path.write_text(text)
    with pytest.raises((DataError, UsageError), match=message.replace("(", r"\(")):
        MP(transitions=str(path)).of([1, 1])


def test_a_missing_file_is_named() -> None:
    with pytest.raises(DataError, match=r"nowhere\.tsv: cannot be read"):
        MP(transitions="nowhere.tsv").of([1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"states": "some"}, "states == 'some', must be one of 'all', 'relevant'"),
        ({"visits": [0, 0]}, r"visits == \[0.0, 0.0\], must be above 0 for some rank"),
        ({"visits": [1, -1]}, "visits == -1.0, must be 0 or above"),
        ({"visits": [1], "moves": "adjacent"}, "visits says how the reader moves; moves would do nothing"),
        ({"visits": [1], "transitions": "x"}, "visits and transitions are both given"),
        ({"seconds": {1: 0}}, "seconds == 0.0, must be above 0"),
        ({"seconds": "linear"}, "seconds == .*, must be seconds by grade"),
        ({"recall": 1}, "recall == 1, must be True or False"),
    ],
)
def test_wrong_parameters(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=f"MP: {message}"):
        MP(**settings)  # type: ignore[arg-type]


@settings(max_examples=20, deadline=None)
@given(many=st.lists(graded_lists(), min_size=2, max_size=5), states=st.sampled_from(["all", "relevant"]))
def test_lists_side_by_side_score_as_alone(many: list[tuple[list[float | None], list[float]]], states: str) -> None:
    lists = side_by_side([grades for grades, _ in many], [3])
    alone = [MP(states=states).of(grades, [3]) for grades, _ in many]
    assert MP(states=states).evaluate(lists).tolist() == pytest.approx(alone)


def test_a_session_by_hand() -> None:
    # Two lists of two documents, moves to the other document or, with probability 1/2, to the top of the other list.
    # By symmetry both lists are visited alike: π(top) = π(bottom)/2 + 1/4 and π(top) + π(bottom) = 1/2, so 1/3 and 1/6.
    score = session_precision([[0, 1], [1, 0]], MP(moves="adjacent"), reformulate=0.5)
    assert score == pytest.approx((1 / 6 * 1 / 2 + 1 / 3 * 1) / (1 / 6 + 1 / 3))
    timed = session_precision([[0, 1], [1, 0]], MP(moves="adjacent", seconds=[10, 40]), reformulate=0.5)
    assert timed == pytest.approx((40 / 6 * 1 / 2 + 10 / 3 * 1) / (40 / 6 + 10 / 3))


def test_a_session_against_a_simulated_reader() -> None:
    session = [[0, 1, 0, 1], [1, 0, 0], [0, 1]]
    rng = np.random.default_rng(7)
    weights = [1 / (np.abs(np.arange(n)[:, None] - np.arange(n)) + 1.0) for n in (4, 3, 2)]
    for each in weights:
        np.fill_diagonal(each, 0)
    query = rank = 0
    counts: dict[tuple[int, int], int] = {}
    for _ in range(60_000):
        if rng.random() < 0.3:
            query, rank = (query + 1) % 3, 0
        else:
            row = weights[query][rank]
            rank = int(np.searchsorted(np.cumsum(row) / row.sum(), rng.random()))
        counts[query, rank] = counts.get((query, rank), 0) + 1
    precision = {(0, 1): 1 / 2, (0, 3): 2 / 4, (1, 0): 1, (2, 1): 1 / 2}
    total = sum(counts[place] for place in precision)
    simulated = sum(counts[place] * value for place, value in precision.items()) / total
    assert session_precision(session, reformulate=0.3) == pytest.approx(simulated, abs=0.01)


def test_sessions_that_cannot_be_scored() -> None:
    assert session_precision([[0, 0], [None]]) == 0
    assert session_precision([]) == 0
    with pytest.raises(UsageError, match="reformulate == 0, must be above 0"):
        session_precision([[1]], reformulate=0)
    with pytest.raises(UsageError, match="must be MP with all documents as states"):
        session_precision([[1]], MP(states="relevant"))

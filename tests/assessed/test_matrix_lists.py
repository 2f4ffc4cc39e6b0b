"""Lists from matrices: the top of each row alone gives the same scores as all ranks, and as scikit-learn."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

import cranfield as cf
from cranfield.assessed.join import MatrixLists, assess_arrays

NAMES = [
    "nDCG@10", "nDCG@3", "nDCG(gain='exp')@5", "nDCG(gain={0:1,1:3,2:4,3:5})@4", "nDCG@200",
    "DCG@5", "P@5", "P(rel=2)@3",
    "R@10", "RR@3", "AP@5", "Success@1", "Judged@5", "AP", "nDCG", "RR", "ERR@10", "RBP", "Q@5",
]  # fmt: skip


def matrices(seed: int, *, unjudged: bool, masked: bool, ties: bool) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    grades = rng.integers(-1, 4, (30, 90)).astype(float)
    scores = rng.integers(0, 5, grades.shape).astype(float) if ties else rng.random(grades.shape)
    if unjudged:
        grades[rng.random(grades.shape) < 0.3] = np.nan
    mask = rng.random(grades.shape) < 0.7 if masked else None
    if mask is not None:
        mask[3] = False
        scores[~mask] = np.nan
    return grades, scores, mask


def as_dicts(grades: Any, scores: Any, mask: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    exists = np.ones(grades.shape, dtype=bool) if mask is None else mask
    qrels: dict[str, Any] = {}
    run: dict[str, Any] = {}
    for query in range(len(grades)):
        columns = np.flatnonzero(exists[query])
        run[str(query)] = {f"{column:03d}": scores[query, column] for column in columns}
        qrels[str(query)] = {
            f"{column:03d}": grades[query, column] for column in columns if not np.isnan(grades[query, column])
        }
    return qrels, run


@pytest.mark.parametrize("unjudged", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_the_top_of_each_row_gives_the_scores_of_the_whole(unjudged: bool, masked: bool, ties: bool) -> None:
    """The other way to the same scores is by dicts: ids with leading zeros are in the order of the columns."""
    grades, scores, mask = matrices(1, unjudged=unjudged, masked=masked, ties=ties)
    qrels, run = as_dicts(grades, scores, mask)
    with warnings.catch_warnings():  # one topic has no documents
        warnings.simplefilter("ignore", cf.CranfieldWarning)
        by_dict = cf.evaluate(qrels, {"run": run}, NAMES)
    assert list(by_dict.topics) == [str(query) for query in range(len(grades))]
    for number, name in enumerate(NAMES):
        measure = cf.parse(name)
        lists = assess_arrays(grades, scores, mask)
        alone = measure.evaluate(lists)
        if name in ("nDCG@10", "P@5"):
            assert lists.ranks_on_demand, f"{name} needs only the top"
        np.testing.assert_allclose(alone, by_dict.values[number, 0], atol=1e-12, err_msg=name)
        np.testing.assert_allclose(measure.evaluate(lists.replace()), alone, atol=1e-12, err_msg=name)


def test_it_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(2)
    grades, scores = rng.integers(0, 4, (200, 50)).astype(float), rng.random((200, 50))
    for cutoff in (1, 10, 60):
        ours = (cf.nDCG @ cutoff).evaluate(assess_arrays(grades, scores))
        assert ours.mean() == pytest.approx(ndcg_score(grades, scores, k=cutoff, ignore_ties=True), abs=1e-12)


def test_all_ranks_are_found_on_first_use() -> None:
    """By hand: of the equal scores the higher column comes first."""
    lists = assess_arrays([[0, 1, 2, np.nan]], [[0.5, 0.9, 0.5, 0.1]])
    assert isinstance(lists, MatrixLists)
    assert lists.ranks_on_demand
    assert lists.rank.tolist() == [1, 2, 3]
    assert not lists.ranks_on_demand
    assert lists.grade.tolist() == [1, 2, 0]
    assert lists.tie_first is not None
    assert lists.tie_last is not None
    assert (lists.tie_first.tolist(), lists.tie_last.tolist()) == ([1, 2, 2], [1, 3, 3])
    assert lists.judged.grade.tolist() == [2, 1, 0]
    assert lists.scores is not None
    copy = pickle.loads(pickle.dumps(assess_arrays([[0, 1]], [[0.5, 0.9]])))
    assert copy.rank.tolist() == [1, 2]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_empty_matrices(shape: tuple[int, int]) -> None:
    lists = assess_arrays(np.zeros(shape), np.zeros(shape))
    assert len((cf.nDCG @ 10).evaluate(lists)) == shape[0]
    assert len((cf.P @ 10).evaluate(lists)) == shape[0]

"""The core sorts a list only if it has many hits; else it counts the documents above each hit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
SCORES = [0.0, 0.5, 1.0, 1.0 + 1e-12, -2.0]


def hits_of(
    run: Mapping[str, float], judged: Mapping[str, int], depth: int | None, precision: int, ties: str = "z-a"
) -> list[list[float]]:
    """Rank, first and last rank of the tie, and grade of each hit: by sorting, as the rule is written down."""
    score = {doc: float(np.float32(value)) if precision == 32 else value for doc, value in run.items()}
    ranked = list(score) if ties == "file" else sorted(score, reverse=ties == "z-a")
    ranked = sorted(ranked, key=lambda doc: -score[doc])[:depth]
    hits = []
    for rank, doc in enumerate(ranked, 1):
        if doc in judged:
            tied = [place for place, other in enumerate(ranked, 1) if score[other] == score[doc]]
            hits.append([rank, tied[0], tied[-1], judged[doc]])
    return hits


@given(
    st.dictionaries(st.text("ab1é", min_size=1, max_size=3), st.sampled_from(SCORES), min_size=1),
    st.data(),
    st.sampled_from([None, 1, 3]),
    st.sampled_from([64, 32]),
    st.sampled_from(["z-a", "a-z", "file"]),
)
def test_ranks_and_ties_follow_the_rule(
    run: dict[str, float], data: st.DataObject, depth: int | None, precision: int, ties: str
) -> None:
    judged = {doc: n % 3 for n, doc in enumerate(data.draw(st.lists(st.sampled_from(sorted(run)), unique=True)))}
    options = JoinOptions(depth=depth, precision=precision, ties=ties)
    lists = join({"q": {**judged, "another": 1}}, {"r": {"q": run}}, options)
    assert lists.tie_first is not None
    assert lists.tie_last is not None
    columns = (lists.rank, lists.tie_first, lists.tie_last, lists.grade)
    assert np.stack(columns, axis=1).tolist() == hits_of(run, judged, depth, precision, ties)


@pytest.mark.parametrize("ties", ["z-a", "a-z", "file"])
@pytest.mark.parametrize("judged", [1, 20, 40, 41, 300])
def test_the_number_of_hits_does_not_matter(judged: int, ties: str) -> None:
    """With 300 documents, lists of up to 4 × 9 hits are counted and longer ones are sorted."""
    scores = np.random.default_rng(judged).integers(0, 60, 300)
    run = {f"d{n}": float(score) for n, score in enumerate(scores)}
    qrels = {f"d{n}": n % 4 for n in range(judged)}
    lists = join({"q": qrels}, {"r": {"q": run}}, JoinOptions(ties=ties))
    assert lists.tie_first is not None
    assert lists.tie_last is not None
    found = np.stack((lists.rank, lists.tie_first, lists.tie_last, lists.grade), axis=1).tolist()
    assert found == hits_of(run, qrels, None, 64, ties)

"""Random judgments and runs: ties, unjudged documents, grades of all kinds, topics that one side lacks."""

from __future__ import annotations

from hypothesis import strategies as st

Lists = dict[str, dict[str, float]]

TOPICS = ["1", "10", "2", "q-é", "all"]
DOCS = [f"d{number}" for number in range(24)]
GRADES = st.sampled_from([[0, 1], [0, 1, 2, 3], [-1, 0, 1], [-3, -1, 0, 2], [0], [1, 12]])
SCORES = st.one_of(
    st.sampled_from([0.0, 1.0, 2.0, -1.0]),  # ties
    st.sampled_from([16777216.0, 16777217.0, 16777218.0]),  # ties in 32 bits
    st.floats(-100, 100, allow_nan=False, width=32),
)


@st.composite
def judgments(draw: st.DrawFn) -> dict[str, dict[str, int]]:
    """At least one topic; every topic has a document that was judged (trec_eval fails on one without)."""
    grades = draw(GRADES)
    topics = draw(st.lists(st.sampled_from(TOPICS), min_size=1, unique=True))
    lists = st.dictionaries(st.sampled_from(DOCS), st.sampled_from(grades), min_size=1, max_size=20)
    return {topic: draw(lists) | {"judged": max(grades[0], 0)} for topic in topics}


def runs() -> st.SearchStrategy[Lists]:
    """A run on some topics or none, with unjudged documents."""
    docs = st.sampled_from([*DOCS, *(f"x{number}" for number in range(6))])
    return st.dictionaries(st.sampled_from([*TOPICS, "7"]), st.dictionaries(docs, SCORES, min_size=1, max_size=30))

"""The join of runs with judgments: the core compared with a slow join; names of runs, warnings, errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.assessed.lists import Assessed
from tests.oracles.joined import collections, joined

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")

Collection = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]


def as_files(folder, collection: Collection, shuffle: int = 0) -> tuple[str, str]:
    """The collection as TREC files; the lines of the run are shuffled, so topics are not contiguous."""
    judgments, run = collection
    qrels = [f"{topic} 0 {doc} {grade}" for topic, docs in judgments.items() for doc, grade in docs.items()]
    lines = [f"{topic} Q0 {doc} 0 {score!r} tag" for topic, docs in run.items() for doc, score in docs.items()]
    np.random.default_rng(shuffle).shuffle(lines)
    (folder / "qrels").write_text("\n".join(qrels))
    (folder / "run").write_text("\n".join(lines))
    return str(folder / "qrels"), str(folder / "run")


def same(a: Assessed, b: Assessed) -> bool:
    arrays = ("retrieved", "missing", "row", "rank", "grade", "tie_first", "tie_last")
    return (
        a.topics == b.topics
        and all(np.array_equal(getattr(a, name), getattr(b, name)) for name in arrays)
        and np.array_equal(a.judged.start, b.judged.start)
        and np.array_equal(a.judged.grade, b.judged.grade)
    )


@settings(max_examples=150, deadline=None)
@given(collections(), st.integers(0, 100))
def test_files_dicts_and_tables_join_as_the_slow_join_does(tmp_path_factory, collection: Collection, seed: int) -> None:
    judgments, run = collection
    expected = joined(judgments, {"tag": run})
    qrels_file, run_file = as_files(tmp_path_factory.mktemp("join"), collection, seed)
    assert same(cf.join(judgments, {"tag": run}), expected)
    assert same(cf.join(qrels_file, run_file), expected)
    assert same(cf.join(cf.Qrels.of(qrels_file), cf.Run.of(run_file)), expected)


def test_same_answer_at_any_number_of_threads(tmp_path) -> None:
    dice = np.random.default_rng(7)
    topics, documents = 60, 3000  # several chunks of 4 MB, cut in the middle of lists
    lines = [
        f"topic-{t} Q0 document-{d:06d}-{'x' * 20} 1 {s:.3f} run"
        for t in dice.permutation(topics)
        for d, s in zip(dice.permutation(documents), dice.random(documents), strict=True)
    ]
    (tmp_path / "run").write_text("\n".join(lines))
    judged = {
        f"topic-{t}": {f"document-{d:06d}-{'x' * 20}": d % 3 for d in range(0, documents, 7)} for t in range(topics)
    }
    assert (tmp_path / "run").stat().st_size > 2 * 4 * 2**20
    lists = [cf.join(judged, str(tmp_path / "run"), cf.JoinOptions(threads=n)) for n in (1, 2, 5)]
    assert same(lists[0], lists[1])
    assert same(lists[0], lists[2])


def test_scores_that_differ_beyond_32_bits_are_tied_as_in_trec_eval_9() -> None:
    run = {"q": {"a": 1.0, "b": 1.0 + 1e-12}}
    double = cf.join({"q": {"a": 1}}, run)
    single = cf.join({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0 + 1e-12, "b": 1.0}}, cf.JoinOptions(precision=32))
    assert double.rank.tolist() == [2]
    assert single.grade.tolist() == [0, 1]  # tied, so b goes first: ids descend
    assert single.tie_last.tolist() == [2, 2]


def test_order_by_rank_and_by_file(tmp_path) -> None:
    (tmp_path / "run").write_text("q Q0 a 2 9.0 t\nq Q0 b 1 8.0 t\nq Q0 c 3 10 t\n")
    judged = {"q": {"a": 1, "b": 2, "c": 3}}
    by = {
        o: cf.join(judged, str(tmp_path / "run"), cf.JoinOptions(order=o)).grade.tolist()
        for o in ("score", "rank", "file")
    }
    assert by == {"score": [3, 1, 2], "rank": [2, 1, 3], "file": [1, 2, 3]}


def test_a_file_without_scores_is_in_the_order_of_its_ranks(tmp_path) -> None:
    (tmp_path / "run.tsv").write_text("q\ta\t2\nq\tb\t1\n")
    lists = cf.join({"q": {"a": 1, "b": 2}}, str(tmp_path / "run.tsv"))
    assert lists.grade.tolist() == [2, 1]
    assert lists.notes == ("order: rank",)


def test_depth_cuts_lists_after_ranking() -> None:
    lists = cf.join({"q": {"a": 1, "b": 1}}, {"q": {"a": 1.0, "b": 2.0, "c": 3.0}}, cf.JoinOptions(depth=2))
    assert lists.retrieved.tolist() == [2]
    assert lists.rank.tolist() == [2]


def test_infinite_scores_are_ranked(tmp_path) -> None:
    (tmp_path / "run").write_text("q Q0 a 1 -inf t\nq Q0 b 2 Infinity t\nq Q0 c 3 1e999 t\nq Q0 d 4 0x1p4 t\n")
    lists = cf.join({"q": {"a": 1, "b": 2, "c": 3, "d": 4}}, str(tmp_path / "run"))
    assert lists.grade.tolist() == [3, 2, 4, 1]  # c and b are tied at infinity, ids descend


@pytest.mark.parametrize(("rule", "rank"), [("first", 3), ("max", 1)])
def test_on_duplicate_keeps_the_first_line_or_the_highest_score(tmp_path, rule: str, rank: int) -> None:
    (tmp_path / "run").write_text("q Q0 a 1 1.0 t\nq Q0 b 2 2.0 t\nq Q0 c 3 3.0 t\nq Q0 a 4 9.0 t\n")
    with pytest.warns(cf.CranfieldWarning, match="1 duplicate document"):
        lists = cf.join({"q": {"a": 1}}, str(tmp_path / "run"), cf.JoinOptions(on_duplicate=rule))
    assert lists.rank.tolist() == [rank]
    assert lists.retrieved.tolist() == [3]


def test_the_maximum_of_two_scores_is_rounded_to_32_bits(tmp_path) -> None:
    (tmp_path / "run").write_text("q Q0 a 1 0.5 t\nq Q0 b 2 1.0 t\nq Q0 a 3 1.000000001 t\n")
    rules = cf.JoinOptions(on_duplicate="max", precision=32)
    with pytest.warns(cf.CranfieldWarning, match="1 duplicate document"):
        lists = cf.join({"q": {"a": 1, "b": 0}}, str(tmp_path / "run"), rules)
    assert lists.grade.tolist() == [0, 1]  # 1.000000001 is 1 in 32 bits: a tie, and ids descend
    assert lists.tie_first.tolist() == [1, 1]


def test_max_keeps_the_better_of_two_ranks(tmp_path) -> None:
    (tmp_path / "run").write_text("q Q0 a 3 9.0 t\nq Q0 b 2 8.0 t\nq Q0 a 1 7.0 t\n")
    rules = cf.JoinOptions(order="rank", on_duplicate="max")
    with pytest.warns(cf.CranfieldWarning, match="1 duplicate document"):
        lists = cf.join({"q": {"a": 1}}, str(tmp_path / "run"), rules)
    assert lists.rank.tolist() == [1]


def test_ranks_are_not_rounded_to_32_bits(tmp_path) -> None:
    (tmp_path / "run").write_text("q Q0 a 16777217 1.0 t\nq Q0 b 16777216 1.0 t\n")
    rules = cf.JoinOptions(order="rank", precision=32)
    assert cf.join({"q": {"a": 1}}, str(tmp_path / "run"), rules).rank.tolist() == [2]  # 2^24 + 1 has no 32-bit float


def test_a_duplicate_is_an_error_with_both_lines(tmp_path) -> None:
    (tmp_path / "run").write_text("q Q0 a 1 1.0 t\nq Q0 b 2 2.0 t\nz Q0 a 1 1 t\nq Q0 a 3 0.5 t\n")
    message = r"run:4: document 'a' appears twice for topic 'q', first on line 1; to keep one: on_duplicate='first'"
    with pytest.raises(cf.DataError, match=message):
        cf.join({"q": {"a": 1}}, str(tmp_path / "run"))


def test_runs_are_named_by_tag_then_by_file_then_by_both(tmp_path) -> None:
    for name, tags in {"one.run": ["x"], "two.run": ["x"], "three.run": ["y"], "four.run": ["a", "b"]}.items():
        (tmp_path / name).write_text("".join(f"q Q0 d 1 1.0 {tag}\n" for tag in tags))
    paths = [str(tmp_path / f"{name}.run") for name in ("one", "two", "three", "four")]
    lists = cf.join({"q": {"d": 1}}, paths, cf.JoinOptions(split_tags=True))
    assert lists.runs == ("one", "two", "y", "a", "b")
    assert cf.join({"q": {"d": 1}}, {"mine": str(tmp_path / "one.run")}).runs == ("mine",)


def test_globs_expand_in_order(tmp_path) -> None:
    for name in "ba":
        (tmp_path / f"{name}.run").write_text(f"q Q0 d 1 1.0 {name}\n")
    assert cf.join({"q": {"d": 1}}, str(tmp_path / "*.run")).runs == ("a", "b")
    with pytest.raises(cf.UsageError, match="no file matches"):
        cf.join({"q": {"d": 1}}, str(tmp_path / "*.nothing"))


def test_a_missing_topic_is_counted_and_named() -> None:
    with pytest.warns(cf.CranfieldWarning, match=r"1 judged topic missing from runs: r \(q2\)"):
        lists = cf.join({"q1": {"d": 1}, "q2": {"d": 1}}, {"r": {"q1": {"d": 1.0}}})
    assert lists.missing.tolist() == [False, True]


def test_topics_without_judgments_are_counted_and_named() -> None:
    with pytest.warns(cf.CranfieldWarning, match=r"1 topic without judgments ignored: r \(q9\)"):
        cf.join({"q1": {"d": 1}}, {"r": {"q1": {"d": 1.0}, "q9": {"d": 1.0}}})


def test_a_run_with_no_judged_topic_shows_how_the_ids_differ() -> None:
    with pytest.raises(cf.DataError, match="none of its topics is judged: the run has 51, the judgments have 051"):
        cf.join({"051": {"d": 1}}, {"r": {"51": {"d": 1.0}}})


def test_judgments_without_relevant_documents_give_a_warning() -> None:
    with pytest.warns(cf.CranfieldWarning, match="no document is judged relevant"):
        cf.join({"q": {"d": 0}}, {"r": {"q": {"d": 1.0}}})


@pytest.mark.parametrize(
    ("score", "message"), [(float("nan"), "the score is nan"), ("high", "the score is 'high', expected a number")]
)
def test_bad_scores_in_dicts_name_topic_and_document(score, message: str) -> None:
    with pytest.raises(cf.DataError, match=f"topic 'q', document 'd': {message}"):
        cf.join({"q": {"d": 1}}, {"r": {"q": {"d": score}}})


def test_integer_and_non_ascii_ids() -> None:
    lists = cf.join({7: {"文": 1, 3: 2}}, {"r": {"7": {"文": 1.0, "3": 2}}})
    assert lists.grade.tolist() == [2, 1]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(1, 5), st.randoms(use_true_random=False))
def test_arrays_are_ranked_as_dicts_are(queries: int, documents: int, dice) -> None:
    grades = [[dice.choice([0.0, 1.0, 2.0, np.nan]) for _ in range(documents)] for _ in range(queries)]
    scores = [[dice.choice([0.0, 1.0, 2.0, -np.inf]) for _ in range(documents)] for _ in range(queries)]
    mask = [[True] + [dice.random() < 0.8 for _ in range(documents - 1)] for _ in range(queries)]
    lists = cf.assess_arrays(grades, scores, mask)
    judged = {
        str(q): {str(d): grades[q][d] for d in range(documents) if mask[q][d] and not np.isnan(grades[q][d])}
        for q in range(queries)
    }
    run = {str(q): {str(d): scores[q][d] for d in range(documents) if mask[q][d]} for q in range(queries)}
    assert same(lists, joined(judged, {"run": run}))


def test_arrays_must_have_the_same_shape() -> None:
    with pytest.raises(cf.UsageError, match=r"shapes \(1, 2\), \(1, 3\)"):
        cf.assess_arrays([[1, 2]], [[1, 2, 3]])
    with pytest.raises(cf.DataError, match="NaN at query 0, document 1"):
        cf.assess_arrays([[1, 2]], [[1.0, np.nan]])


def test_a_topic_that_several_runs_lack_or_add_is_counted_once() -> None:
    run = {"q1": {"d": 1.0}, "q9": {"d": 1.0}}
    with pytest.warns(cf.CranfieldWarning) as warned:
        cf.join({"q1": {"d": 1}, "q2": {"d": 1}}, {"a": run, "b": run})
    messages = [str(warning.message) for warning in warned]
    assert "1 judged topic missing from runs: a (q2), b (q2)" in messages
    assert "1 topic without judgments ignored: a (q9), b (q9)" in messages

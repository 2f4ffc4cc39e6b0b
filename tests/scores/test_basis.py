"""What scores were computed from: kept in files, compared when scores meet."""

from __future__ import annotations

import gzip
import pickle
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.assessed.join_options import JoinOptions
from cranfield.errors import NotedWarning
from cranfield.evaluation.evaluator import RULES, SIDE
from cranfield.scores.scores import Scores

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 2}}
RUN = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}}
LINES = ["q1 0 a 1", "q1 0 b 0", "q2 0 a 0", "q2 0 b 2"]


def scored(qrels: Any = QRELS, measures: Any = "AP", run: str = "a", **options: Any) -> Scores:
    return cf.evaluate(qrels, {run: RUN}, measures, **options)


def changes(now: Scores, before: Scores) -> dict[str, str]:
    assert now.basis is not None
    assert before.basis is not None
    return now.basis.changes(before.basis)


def test_the_order_of_lines_and_compression_do_not_change_the_digest(tmp_path: Path) -> None:
    plain, packed = tmp_path / "qrels.txt", tmp_path / "other.gz"
    plain.write_text("\n".join(LINES) + "\n")
    packed.write_bytes(gzip.compress("\n".join(["q2\tQ0\tb\t2.0", *LINES[2::-1]]).encode()))
    assert changes(scored(plain), scored(packed)) == {}
    assert changes(scored(plain), scored(QRELS)) == {}


@pytest.mark.parametrize(
    "change",
    [{"a": 1, "b": 1}, {"a": 1}, {"a": 1, "c": 0}, {"a": 0, "b": 1}, {"a": 1, "b": 0, "c": 0}, {"a0": 1, "b": 0}],
)
def test_any_change_of_a_judgment_is_seen(change: dict[str, int]) -> None:
    found = changes(scored({**QRELS, "q1": change}), scored())
    assert found == {"judgments": "the judgments of 1 of 2 topics differ (q1)"}


def test_intents_count_if_column_2_is_the_intent() -> None:
    first, second = b"1 1 a 1\n1 2 a 1\n1 1 b 1\n", b"1 1 a 1\n1 2 a 1\n1 2 b 1\n"
    run = {"r": {"1": {"a": 2.0, "b": 1.0}}}
    one, two = (cf.evaluate(cf.Qrels.of(text), run, "alpha-nDCG@5") for text in (first, second))
    assert list(changes(one, two)) == ["judgments"]
    rounds = [cf.evaluate(cf.Qrels.of(text), run, "AP") for text in (b"1 1 a 1\n1 2 b 0\n", b"1 2 a 1\n1 1 b 0\n")]
    assert changes(*rounds) == {}  # no document has two labels, so column 2 has no meaning


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 1}, "the rules differ (depth is 1, was none)"),
        ({"missing": "skip"}, "the rules differ (missing is skip, was zero)"),
        ({"order": "file", "precision": 32}, "the rules differ (order is file, was score, precision is 32, was 64)"),
    ],
)
def test_other_rules_are_named(options: dict[str, Any], message: str) -> None:
    assert changes(scored(**options), scored()) == {"rules": message}
    assert changes(scored(order="score"), scored()) == {}


def test_a_side_file_counts_by_its_content(tmp_path: Path) -> None:
    first, same, other = (tmp_path / name for name in ("a.txt", "b.txt", "c.txt"))
    first.write_text("a 10\nb 20\n")
    same.write_text("b\t20\na\t10\n")
    other.write_text("a 10\nb 21\n")
    one, two, three = (scored(measures="TBG", lengths=path) for path in (first, same, other))
    assert changes(one, two) == {}
    assert changes(one, three)["rules"].startswith("the rules differ (lengths is ")


def test_a_measure_with_another_definition_under_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "own_measure_of_a_test.py"
    code = "from cranfield.measures import AP, measure\n\n@measure\nclass OwnOfATest(AP):\n    cutoff_kind = 'none'\n"
    module.write_text(code)
    before = scored(measures=cf.parse("own_measure_of_a_test:OwnOfATest()", modules=True))
    assert before.basis is not None
    assert before.basis.facts
    module.write_text(code + "# changed\n")
    now = scored(measures=cf.parse("own_measure_of_a_test:OwnOfATest()", modules=True))
    assert list(changes(now, before)) == ["measures"]


@pytest.mark.parametrize("name", ["s.json", "s.csv", "s.tsv", "s.parquet", "s.json.gz"])
def test_a_file_keeps_what_its_scores_were_computed_from(tmp_path: Path, name: str) -> None:
    scored().write(tmp_path / name)
    read = Scores.read(tmp_path / name)
    assert read == scored()
    assert changes(read, scored()) == {}
    assert "judgments" in changes(read, scored({**QRELS, "q1": {"a": 0, "b": 1}}))


def test_selections_frames_and_pickles_keep_it() -> None:
    whole = scored(measures=["AP", "RR"])
    for part in (
        whole.select("RR", topics="q2"),
        Scores.from_frame(whole.to_pandas()),
        pickle.loads(pickle.dumps(whole)),
    ):
        assert changes(part, scored(measures=["AP", "RR"])) == {}
    assert list(changes(scored().transformed(), scored())) == ["rules"]


def test_combining_scores_of_other_judgments_is_said_and_noted() -> None:
    other = scored({**QRELS, "q2": {"a": 1, "b": 2}}, run="b")
    with pytest.warns(NotedWarning, match=r"b.json is not like a.json: the judgments of 1 of 2 topics differ \(q2\)"):
        both = Scores.combine(scored(), other, names=["a.json", "b.json"])
    assert "b.json is not like a.json: the judgments of 1 of 2 topics differ (q2)" in both.notes
    assert both.basis is None


def test_parts_of_one_evaluation_combine_without_a_word() -> None:
    whole = scored(measures=["AP", "RR"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = Scores.combine(*(whole.select(m, topics=t) for m in whole.measures for t in whole.topics))
    assert again == whole
    assert changes(again, whole) == {}


def test_every_option_of_a_join_is_a_rule_or_does_not_change_scores() -> None:
    neutral = {"format", "split_tags", "threads", "memory", "sharding", "scores", "sampled"}
    assert {field.name for field in fields(JoinOptions)} == {"order", "dimensions", *RULES, *SIDE, *neutral}

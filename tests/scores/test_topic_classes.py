"""Scores by classes of topics: the scores of a class are those of its topics alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import cranfield as cf
from cranfield.errors import CranfieldWarning, DataError, UsageError

SCORES = cf.Scores.from_matrix(
    [[0.1, 0.2], [0.3, 0.6], [0.5, 0.7], [0.9, 0.1]], runs=["a", "b"], topics=["1", "2", "3", "4"], measure="AP"
)


def test_a_class_has_the_scores_of_its_topics() -> None:
    parts = SCORES.by_class({"1": "easy", "2": "hard", "3": "easy", "4": "hard"})
    assert list(parts) == ["easy", "hard"]
    assert parts["easy"].topics == ("1", "3")
    assert parts["easy"].mean()["a"]["AP"] == pytest.approx((0.1 + 0.5) / 2)
    assert parts["hard"].mean()["b"]["AP"] == pytest.approx((0.6 + 0.1) / 2)
    assert parts["hard"] == SCORES.select(topics=["2", "4"])


@pytest.mark.parametrize(
    "text", ["1 x\n2 y\n3 x\n4 y\n", "# classes\n1\tx\n2\ty\n\n3\tx\n4\ty\n", "1,x\r\n2,y\r\n3;x\r\n4, y\r\n"]
)
def test_classes_from_a_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "classes").write_text(text, newline="")
    assert SCORES.by_class(tmp_path / "classes") == SCORES.by_class({1: "x", 2: "y", 3: "x", 4: "y"})


def test_a_class_may_contain_blanks(tmp_path: Path) -> None:
    (tmp_path / "classes").write_text("1;long query\n2;short\n3;short\n4;short\n")
    assert list(SCORES.by_class(tmp_path / "classes")) == ["long query", "short"]


def test_topics_without_a_class_are_counted_and_left_out() -> None:
    with pytest.warns(CranfieldWarning, match="classes: 2 topics without a class are left out: 3, 4"):
        parts = SCORES.by_class({"1": "x", "2": "y", "9": "z"})
    assert {name: part.topics for name, part in parts.items()} == {"x": ("1",), "y": ("2",)}


def test_compare_takes_classes_as_collections() -> None:
    """The differences of each class are tested on its own topics, and corrected over all classes."""
    result = cf.compare(SCORES.by_class({"1": "x", "2": "x", "3": "y", "4": "y"}))
    columns = result.columns()
    assert columns["collection"].tolist() == ["x", "y"]
    assert columns["difference"].tolist() == pytest.approx([(0.1 + 0.3) / 2, (-0.2 + 0.8) / 2])  # better − worse


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "classes: is empty, expected lines of topic class"),
        ("1\n", "classes:1: 1 column, expected 2: topic class"),
        ("1 x\n1 y\n", "classes:2: topic '1' appears twice, first on line 1"),
        ("301 x\n", "no topic has a class: the topics are '1', '2', '3', '4', those with a class '301'"),
    ],
)
def test_wrong_files_are_named_by_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "classes").write_text(text)
    with pytest.raises(DataError) as error:
        SCORES.by_class(tmp_path / "classes")
    assert message in str(error.value)


def test_other_objects_are_errors() -> None:
    with pytest.raises(UsageError, match=r"classes: 'x', must be \(topic, class\)"):
        SCORES.by_class(["x", "y"])  # type: ignore[arg-type]

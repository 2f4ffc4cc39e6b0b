"""Groups of documents: all sources give the same groups, and errors name the problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cranfield import DataError, UsageError
from cranfield.fairness.attention import Groups


@pytest.mark.parametrize(
    "text",
    [
        "d1 a\nd2 a\nd2 b\n",
        "d1,a\nd2,a\nd2,b\n",
        "d1\ta\nd2\ta\nd2\tb\n",
        "doc,group,weight\nd1,a,2\n\nd2,a,3\nd2,b,3\n",
        "docid group\nd1 a\nd2 a\nd2 b\n",
    ],
)
def test_files_can_have_any_layout(text: str, tmp_path: Path) -> None:
    path = tmp_path / "groups.txt"
    path.write_text(text)
    groups = Groups.of(path)
    assert groups.names == ("a", "b")
    assert groups.of_documents(["d1", "d2"]).tolist() == [[1, 0], [0.5, 0.5]]  # d2 is half in each


@pytest.mark.parametrize(
    "thing",
    [
        {"d1": "a", "d2": ["a", "b"]},
        {"d1": "a", "d2": {"b", "a"}},
        {"d1": {"a": 1}, "d2": {"a": 0.2, "b": 0.2}},
        [("d1", "a"), ("d2", "a"), ("d2", "b")],
        [("d1", "a", 1), ("d2", "a", 7), ("d2", "b", 7)],
        pd.DataFrame({"docno": ["d1", "d2", "d2"], "group": ["a", "a", "b"]}),
        pd.DataFrame({"share": [1, 0.5, 0.5], "group": ["a", "a", "b"], "doc_id": ["d1", "d2", "d2"]}),
    ],
)
def test_groups_can_be_any_object(thing: Any) -> None:
    groups = Groups.of(thing)
    assert groups.names == ("a", "b")
    assert groups.of_documents(["d1", "d2"]).tolist() == [[1, 0], [0.5, 0.5]]
    assert Groups.of(groups) is groups


def test_documents_without_a_group_are_an_error_or_put_in_a_group() -> None:
    groups = Groups.of({"d1": "a"})
    with pytest.raises(DataError, match="2 documents have no group: d2, d3; add them, or use covering"):
        groups.of_documents(["d2", "d1", "d3"])
    covered = groups.covering(["d2", "d1", "d2"])
    assert covered.names == ("a", "unknown")
    assert covered.of_documents(["d1", "d2"]).tolist() == [[1, 0], [0, 1]]
    assert groups.covering(["d1"]) is groups
    assert groups.covering(["d2"], "a").names == ("a",)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "is empty"),
        ("d1 a\nd2\n", ":2: 1 column, expected 2 as on line 1: doc group"),
        ("d1 a 1\nd2 b x\n", ":2: document 'd2': the weight is 'x', expected a number, 0 or above"),
        ("d1 a 1\nd2 b -1\n", ":2: document 'd2': the weight is '-1'"),
        ("d1 a\n\nd1 a\n", ":3: document 'd1' with group 'a' appears twice, first on line 1"),
        ("d1 a 0\n", "document 'd1': all its weights are 0"),
    ],
)
def test_errors_in_files(text: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "groups.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=fault):
        Groups.of(path)


def test_errors_in_objects() -> None:
    with pytest.raises(UsageError, match="int cannot be read as groups"):
        Groups.of(3)
    with pytest.raises(DataError, match="no column for the group among doc, colour"):
        Groups.of(pd.DataFrame({"doc": ["d1"], "colour": ["red"]}))
    with pytest.raises(UsageError, match="group == 'c', must be one of 'a'"):
        Groups.of({"d1": "a"}).column("c")
    with pytest.raises(UsageError, match=r"groups: \('d1',\), must be \(doc, group\[, weight\]\)"):
        Groups.of([("d1",)])
    for nothing in (None, float("nan")):
        with pytest.raises(DataError, match="document 'd1': the group is"):
            Groups.of({"d1": nothing})


def test_parquet_files(tmp_path: Path) -> None:
    path = tmp_path / "groups.parquet"
    pd.DataFrame({"docno": ["d1", "d2"], "group": ["a", "b"]}).to_parquet(path)
    assert Groups.of(path).of_documents(["d2"]).tolist() == [[0, 1]]

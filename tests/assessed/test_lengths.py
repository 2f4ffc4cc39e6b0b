"""Document lengths: read from files, frames and mappings, and looked up for every rank of every list."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas
import polars
import pytest
from hypothesis import given, settings

import cranfield as cf
from cranfield.assessed.lengths import Lengths, LengthTable
from tests.oracles.joined import DOCUMENTS, collections, ranked

Collection = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}}
RUN = {"q1": {"c": 3.0, "a": 2.0, "b": 1.0}, "q2": {"a": 1.0}}
TABLE = {"a": 10, "b": 20.5, "c": 30}
IN_ORDER = [30, 10, 20.5, 10]  # q1: c a b; q2: a


def lengths(table: object, run: object = RUN, **more: object) -> list[float]:
    lists = cf.join(QRELS, run, cf.JoinOptions(lengths=table, **more))  # type: ignore[arg-type]
    assert lists.lengths is not None
    return lists.lengths.columns["length"].tolist()


def test_lengths_from_a_mapping() -> None:
    assert lengths(TABLE) == IN_ORDER


@pytest.mark.parametrize(
    "text",
    ["a 10\nb 20.5\nc 30\n", "\na\t10\n\nb\t20.5\nc\t30", "a,10\nb,20.5\nc,30\n", "docno length\na 10\nb 20.5\nc 30\n",
     "Length,Doc-ID\n10,a\n20.5,b\n30,c\n", "a 10 5\nb 20.5 6\nc 30 7\n", "\ufeffa 10\r\nb 20.5\r\nc 30\r\n"],
)  # fmt: skip
def test_lengths_from_a_file(text: str, tmp_path: Path) -> None:
    path = tmp_path / "lengths"
    path.write_text(text, "utf-8")
    assert lengths(path) == IN_ORDER
    path.write_bytes(gzip.compress(text.encode()))
    assert lengths(str(path)) == IN_ORDER


def test_lengths_from_frames(tmp_path: Path) -> None:
    columns = {"docno": list(TABLE), "length": list(map(float, TABLE.values()))}
    frame = pandas.DataFrame(columns)
    frame.to_parquet(tmp_path / "lengths.parquet")
    for table in (frame, polars.DataFrame(columns), tmp_path / "lengths.parquet"):
        assert lengths(table) == IN_ORDER


@pytest.mark.filterwarnings("ignore:.*(is judged; an id|the same score|the same judged documents)")
def test_runs_in_files_tables_and_dicts_have_the_same_lengths(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("".join(f"{t} Q0 {d} 0 {s} tag\n" for t, docs in RUN.items() for d, s in docs.items()))
    two = {"x": str(path), "y": RUN, "z": cf.Run.of(RUN)}
    assert lengths(TABLE, two) == IN_ORDER * 3
    assert lengths(TABLE, [str(path), cf.Run.of(RUN)], depth=2) == [30, 10, 10] * 2


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
@settings(max_examples=40, deadline=None)
@given(collections())
def test_every_rank_of_every_list_has_its_length(collection: Collection) -> None:
    qrels, run = collection
    table = {doc: number for number, doc in enumerate(DOCUMENTS)}
    lists = cf.join(qrels, {"r": run}, cf.JoinOptions(lengths=table))
    assert lists.lengths is not None
    every = lists.every()
    expected = [table[doc] for topic in lists.topics for doc in ranked(run.get(topic, {}))]
    assert lists.lengths.of("words", every.row, every.rank).tolist() == expected


def test_missing_lengths_are_named_and_counted() -> None:
    run = {"q1": {f"d{n}": -float(n) for n in range(7)}, "q2": {"a": 1.0, "d0": 0.5}}
    message = r"lengths: 7 retrieved documents without a length: d0, d1, d2, d3, d4 and 2 more; add them, or give"
    with pytest.raises(cf.DataError, match=message):
        lengths({"a": 10}, run)
    with pytest.raises(cf.DataError, match="1 retrieved document without a length: c; add"):
        lengths({"a": 10, "b": 1})


def test_a_length_may_be_assumed() -> None:
    with pytest.warns(cf.CranfieldWarning, match="1 retrieved document without a length: c; assumed: 7$"):
        assert lengths({"a": 10, "b": 20}, missing_length=7) == [7, 10, 20, 10]
    with pytest.warns(cf.CranfieldWarning, match=r"1 retrieved document without a length: c; assumed: 15 \(the mean\)"):
        assert lengths({"a": 10, "b": 20}, missing_length="mean") == [15, 10, 20, 10]
    for wrong in (-1, "median", True, float("inf")):
        with pytest.raises(cf.UsageError, match=r"missing_length == .*, must be a number, 0 or above, or 'mean'"):
            cf.JoinOptions(missing_length=wrong)


@pytest.mark.filterwarnings("ignore:.*(is judged; an id|the same score|the same judged documents)")
def test_words_and_characters_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "lengths"
    path.write_text("doc words characters snippet\na 10 60 5\nb 20 130 6\n")
    scores = cf.evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, ["TBG", "U"], lengths=path)
    time, text = 4.4 + 0.39 * (0.018 * 20 + 7.8), 6 + 5 + 0.2 * 60
    assert scores.means().ravel().tolist() == pytest.approx([0.64 * 0.77 * 2 ** (-time / 224), 1 - text / 132_000])
    assert not any("used as" in note for note in scores.notes)
    with pytest.raises(cf.UsageError, match="missing_length == 7, but lengths are in words and in characters"):
        lengths(path, missing_length=7)
    with pytest.warns(cf.CranfieldWarning, match=r"c; assumed: 15 words and 95 characters \(the mean\)"):
        lists = cf.join(
            QRELS, {"q1": {"c": 1.0}, "q2": {"a": 1.0}}, cf.JoinOptions(lengths=path, missing_length="mean")
        )
    assert lists.lengths is not None
    assert lists.lengths.columns["words"].tolist() == [15, 10]
    assert lists.lengths.snippet(np.array([0, 1]), np.array([1, 1]), 200).tolist() == [200, 5]


def test_a_length_in_another_unit_is_not_used() -> None:
    with pytest.raises(cf.UsageError, match="document lengths has only words; add a column called characters"):
        cf.U().of([1], lengths={"words": [5]})
    with pytest.raises(cf.UsageError, match="lengths: column 'pages' is not known; there are length, snippet, words"):
        Lengths.one({"pages": [5]}, 1)


def test_a_note_names_the_unit_of_lengths() -> None:
    notes = cf.evaluate(QRELS, RUN, ["TBG", "U"], lengths=TABLE).notes
    assert notes[-2:] == (
        "TBG: the lengths of documents are used as words", "U: the lengths of documents are used as characters"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "lengths: is empty, expected lines of doc length"),
        ("a 1\nb\n", r":2: 1 column, expected 2 as on line 1: doc length \[snippet\]"),
        ("\na 1\nb x\n", ":3: document 'b': the length is 'x', expected a number, 0 or above"),
        ("a 1\nb -1\n", ":2: document 'b': the length is '-1', expected"),
        ("a 1\nb nan\n", ":2: document 'b': the length is 'nan', expected"),
        ("a 1\nb 2\na 1\n", ":3: document 'a' appears twice, first on line 1"),
        ("a abc\nb 2\n", ":1: document 'a': the length is 'abc', expected a number, 0 or above"),
        ("a\nb\n", ":1: 1 column, expected doc length"),
        ("a 1 2 3\n", ":1: 4 columns, expected doc length"),
        ("doc pages\na 1\n", ":1: no column for the length among doc, pages; expected one called length, words"),
        ("name length\na 1\n", ":1: no column for the document among name, length; expected one called doc_id"),
        ("doc length\n", ":1: holds only a header, expected lines of doc length"),
        ("doc length\na 1\na 2\n", ":3: document 'a' appears twice"),
    ],
)
def test_errors_in_files_name_the_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "lengths"
    path.write_text(text)
    with pytest.raises(cf.DataError, match=message):
        LengthTable.of(path)


def test_errors_in_mappings_name_the_row() -> None:
    for value in ("x", None, float("nan"), -1, 10**400):
        with pytest.raises(cf.DataError, match=r"lengths: row 2: document 'b': the length is .*, expected a number"):
            LengthTable.of({"a": 1, "b": value})
    with pytest.raises(cf.DataError, match="lengths: row 1: 2 values, others have 3"):
        LengthTable.of({"a": 1, "b": [1, 2]})
    with pytest.raises(cf.UsageError, match="int cannot be read as lengths"):
        LengthTable.of(3)
    with pytest.raises(cf.DataError, match="lengths: is empty"):
        lengths({})


def test_an_evaluator_reads_lengths_once(tmp_path: Path) -> None:
    path = tmp_path / "lengths"
    path.write_text("a 10\nb 20\nc 30\n")
    evaluator = cf.Evaluator(QRELS, "TBG", options=cf.JoinOptions(lengths=path))
    path.unlink()
    assert evaluator.evaluate(RUN).means().item() > 0

"""Numbers that are read but may be mistakes: infinite scores, numbers in base 16 and ranks that are no numbers."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.collection import doors
from cranfield.collection.file_formats import blocks
from tests.cli.conftest import Cranfield

LINES = {
    "1 Q0 b 2 inf t": "the score is 'inf', infinite as a 64-bit number",
    "1 Q0 b 2 -Infinity t": "the score is '-Infinity', infinite as a 64-bit number",
    "1 Q0 b 2 1e999 t": "the score is '1e999', infinite as a 64-bit number",
    "1 Q0 b 2 -0X1p3 t": "the score is '-0X1p3', which is read as a number in base 16",
    "1 Q0 b 2 0x10 t": "the score is '0x10', which is read as a number in base 16",
    "1 Q0 b abc 1 t": "the rank is 'abc', not a number; ranks are not used here",
    "1 Q0 b 1abc 1 t": "the rank is '1abc', not a number; ranks are not used here",
    "1 Q0 b nan 1 t": "the rank is 'nan', not a number; ranks are not used here",
}
FINE = ("1 Q0 b 2 -1e308 t", "1 Q0 b -2 -1.5 t", "1 Q0 b 2. 1 t", "1 Q0 b +2 .5 t", "1 Q0 b 0 5e-324 t")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n")


def run_with(line: str) -> bytes:
    return f"1 Q0 a 1 2 t\n{line}\n2 Q0 a 1 1 t\n".encode()


@pytest.mark.parametrize("line", LINES)
def test_an_odd_number_is_a_warning_with_its_line(line: str, cranfield: Cranfield) -> None:
    expected = f"file:2: {LINES[line]}"
    Path("file").write_bytes(run_with(line))
    with pytest.warns(cf.CranfieldWarning, match="file:2: ") as caught:
        cf.Run.read("file")
    assert [str(one.message) for one in caught] == [expected]
    for words in (("eval", "qrels", "file", "-m", "AP"), ("eval", "qrels", "file", "-m", "AP", "--shards", "2")):
        done = cranfield(*words)
        assert done.code == 0
        assert f"warning: {expected}\n" in done.err
    Path("file").write_bytes(gzip.compress(run_with(line)))
    assert f"warning: {expected}\n" in cranfield("eval", "qrels", "file", "-m", "AP").err


@pytest.mark.parametrize("line", FINE)
def test_a_usual_number_is_no_warning(line: str, cranfield: Cranfield) -> None:
    Path("file").write_bytes(run_with(line))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cf.Run.read("file")
    assert "warning" not in cranfield("eval", "qrels", "file", "-m", "AP").err


def test_the_first_of_each_kind_is_named_with_their_number(cranfield: Cranfield) -> None:
    lines = [f"1 Q0 d{n} {'x' if n == 70_000 else n} {'inf' if n > 199_990 else -n} t\n" for n in range(200_000)]
    Path("file").write_text("1 Q0 a 0 9 t\n" + "".join(lines))
    done = cranfield("eval", "qrels", "file", "-m", "AP")
    assert "file:199993: the score is 'inf', infinite as a 64-bit number (9 lines like this)" in done.err
    assert "file:70002: the rank is 'x', not a number; ranks are not used here\n" in done.err
    assert done.err.index("file:70002") < done.err.index("file:199993")


def test_a_rank_that_orders_the_documents_is_an_error(cranfield: Cranfield) -> None:
    Path("file").write_bytes(run_with("1 Q0 b abc 1 t"))
    done = cranfield("eval", "qrels", "file", "-m", "AP", "--order", "rank")
    assert done.code == 1
    assert "file:2: the rank is 'abc', expected a number" in done.err


def test_an_infinite_grade_is_a_warning_with_its_line() -> None:
    Path("file").write_text("1 0 a 1\n1 0 b 1e999\n")
    with pytest.warns(cf.CranfieldWarning, match="^file:2: the grade is '1e999', infinite as a 64-bit number$"):
        cf.Qrels.read("file")


def test_an_infinite_number_in_other_formats_is_a_warning() -> None:
    pandas = pytest.importorskip("pandas")
    rows = {"topic": ["1", "1"], "doc": ["a", "b"], "score": [1.0, float("inf")]}
    frame = pandas.DataFrame(rows)
    frame.to_csv("file.csv", index=False)
    frame.to_parquet("file.parquet")
    Path("file.json").write_text(json.dumps({"1": {"a": 1.0, "b": float("inf")}}))
    for thing in (frame, "file.csv", "file.parquet", "file.json"):
        with pytest.warns(cf.CranfieldWarning, match="infinite as a 64-bit number"):
            cf.Run.of(thing)


@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_file_of_any_size_names_the_line(ending: str, size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large file is read in parts, whose rows are not those of the file."""
    if size == "large":
        monkeypatch.setattr(blocks, "SMALL", 0)
        monkeypatch.setattr(doors, "BLOCK", 1)
        monkeypatch.setattr(blocks, "ROWS", 1)
    scores = ["3", "Infinity", "2", "1e999"]
    file = Path(f"file.{ending}")
    if ending == "csv":
        file.write_text("topic,doc,score\n" + "".join(f"1,d{n},{score}\n" for n, score in enumerate(scores)))
    else:
        rows = (f'{{"topic": "1", "doc": "d{n}", "score": {score}}}\n' for n, score in enumerate(scores))
        file.write_text("# a comment\n" + "".join(rows))
    with pytest.warns(cf.CranfieldWarning) as caught:
        cf.Run.of(file)
    [warning] = caught
    assert str(warning.message).startswith(f"file.{ending}:3: the score is inf, infinite as a 64-bit number (2 ")


@pytest.mark.parametrize("small", [0, 1 << 21])
def test_a_number_in_base_16_in_csv_is_a_warning_with_its_line(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "SMALL", small)
    Path("file.csv").write_text("topic,doc,relevance\n1,x0,1\n1,0x1,2\n1,b,0x10\n")
    with pytest.warns(cf.CranfieldWarning) as caught:
        cf.Qrels.read("file.csv")
    assert [str(one.message) for one in caught] == [
        "file.csv:4: the grade is '0x10', which is read as a number in base 16"
    ]


def test_validate_lists_a_number_in_base_16(cranfield: Cranfield) -> None:
    Path("file").write_bytes(run_with("1 Q0 b 2 0x10 t"))
    done = cranfield("validate", "--run", "file", "--strict")
    assert done.code == 1
    assert "file:2: warning: the score is '0x10', which is read as a number in base 16 [base-16]" in done.out


RUNS = {
    "trec": ("file", "1 Q0 a 1 9 t\n1 Q0 b {} 5 t\n"),
    "msmarco": ("file", "1\ta\t1\n1\tb\t{}\n"),
    "csv": ("file.csv", 'topic,doc,rank,score\n1,a,1,9\n1,b,"{}",5\n'),
    "tsv": ("file.tsv", "topic\tdoc\trank\tscore\n1\ta\t1\t9\n1\tb\t{}\t5\n"),
    "ranks": ("file.csv", 'topic,doc,rank\n1,a,1\n1,b,"{}"\n'),
    "jsonl": (
        "file.jsonl",
        '{{"topic": "1", "doc": "a", "rank": 1, "score": 9}}\n{{"topic": "1", "doc": "b", "rank": "{}", "score": 5}}\n',
    ),
}


@pytest.mark.parametrize("rank", ["0x2", "1_000", "１２", "1e999", "1,5", "abc", "nan"])
@pytest.mark.parametrize("format", RUNS)
def test_every_reader_says_that_a_rank_is_odd(format: str, rank: str, cranfield: Cranfield) -> None:
    """A number is decimal, in ASCII digits, with a point; all else is an error or a warning with its line."""
    name, text = RUNS[format]
    Path(name).write_text(text.format(rank))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", cf.CranfieldWarning)
        try:
            cf.Run.read(name)
            said = str(caught[0].message)
        except cf.DataError as error:
            said = str(error)
    line = 3 if text.startswith("topic") else 2
    assert said.startswith(f"{name}:{line}: the rank is ")
    if rank == "0x2":
        assert cranfield("validate", "--run", name, "--strict").code == 1


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("lengths.tsv", "a\t{}\nb\t1\n", "simulate-time qrels run --lengths lengths.tsv"),
        ("groups.tsv", "a\tg\t{}\nb\tg\t1\n", "fairness qrels run --groups groups.tsv"),
        ("times.tsv", "run\ttopic\tseconds\nt\t1\t{}\nt\t2\t1\n", "efficiency qrels run -m AP --times times.tsv"),
        ("scores.csv", "measure,run,topic,value\nAP,t,1,{}\nAP,t,2,0.5\n", "stats scores.csv"),
        ("pool.tsv", "topic\tdoc\torder\n1\ta\t{}\n", "pool holes pool.tsv"),
    ],
)
@pytest.mark.parametrize("number", ["1_0", "１０", "0x1"])
def test_a_side_file_holds_decimal_numbers(file: str, text: str, words: str, number: str, cranfield: Cranfield) -> None:
    Path("run").write_bytes(run_with("1 Q0 b 2 1 t"))
    Path(file).write_text(text.format(number))
    if file == "scores.csv":
        with pytest.raises(cf.DataError, match=r"scores\.csv:2: "):
            cf.Scores.read(file)
    elif file == "pool.tsv":
        from cranfield.building.pools.pool_file import Pool

        with pytest.raises(cf.DataError, match=r"pool\.tsv:2: "):
            Pool.read(file)
    else:
        done = cranfield(*words.split())
        assert done.code == 1
        assert f"{file}:{2 if text.startswith('run') else 1}: " in done.err

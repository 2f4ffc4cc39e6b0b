"""Results are written in the format that the ending of their file names, by every verb."""

import csv
import io
import json
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet
import pytest

from cranfield.cli import every_verb, find
from cranfield.cli.data_files import columns_of_csv, xlsx
from cranfield.cli.declare import TABLE_ENDINGS, declared
from cranfield.cli.printing import FORMATS, Output, say_written
from cranfield.samples import sample
from tests.cli.conftest import Cranfield

SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"

OWN_CHECK = {"fuse": "formats of runs", "plot": "formats of figures", "judge export": "what is exported"}
"""Verbs that check the file themselves, each with what it may be."""

QRELS, RUNS = sample().qrels, " ".join(sample().runs)
VERBS = [
    "eval --sample -m AP,RR --ci",
    "eval --sample -m AP -q",
    "eval --sample -m AP --by classes.tsv",
    "compare --sample -m AP",
    "compare --sample -m AP --baseline bm25",
    "leaderboard --sample",
    "anova --sample -m AP",
    "power --sample -m AP -d 0.1",
    "topics --sample -m AP",
    "measures AP RR",
    f"explain {QRELS} {sample().runs[0]} --topic 101 -m AP",
    "gate check --sample --at-least RR=0.1",
    "meta power --sample -m AP,RR -B 20",
    "meta swap --sample -m AP,RR -B 20",
    "meta correlate --sample -m AP,RR -B 10",
    "meta gtheory --sample -m AP",
    f"meta robust {QRELS} {RUNS} -m AP --repeats 5",
    f"pool contributions {QRELS} {RUNS}",
    f"pool simulate {QRELS} {RUNS} --budgets 5",
    f"interleave simulate {QRELS} {RUNS} --impressions 50 --methods team-draft",
    f"collection stats {QRELS} {RUNS}",
    "labels agree labels.csv --resamples 20",
    "labels merge labels.csv",
    "ab analyse ab.csv --metric clicks --control A",
    "answers nuggets --assignments assignments.tsv",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    people = [("x", 1), ("y", 1), ("z", 0)]
    labels = [f"{item},{worker},{(label + place) % 3}" for place, item in enumerate("abcd") for worker, label in people]
    (tmp_path / "labels.csv").write_text("\n".join(["item,worker,label", *labels, ""]))
    users = [f"u{n},{'AB'[n % 2]},{n % 5}" for n in range(60)]
    (tmp_path / "ab.csv").write_text("\n".join(["user,arm,clicks", *users, ""]))
    classes = [f"{topic}\t{'easy' if topic % 2 else 'hard'}" for topic in range(101, 125)]
    (tmp_path / "classes.tsv").write_text("\n".join(["topic\tclass", *classes, ""]))
    (tmp_path / "assignments.tsv").write_text("run\ttopic\tnugget\tsupport\na\t1\tn1\tsupport\na\t1\tn2\tnot_support\n")
    return tmp_path


@pytest.mark.parametrize("verb", every_verb())
def test_every_verb_says_which_endings_it_writes(verb: str) -> None:
    kind = find(verb)
    (*_, output) = [None, *(parameter for parameter in declared(kind) if parameter.name == "output")]
    if output is None or verb in OWN_CHECK:
        return
    assert output.spellings == ("--output", "-o")
    if issubclass(kind, Output) and kind.output_is_result:
        assert set(kind.endings()) <= {*TABLE_ENDINGS} == {*FORMATS}
        assert {".csv", ".tsv", ".json", ".md", ".html", ".parquet", ".xlsx"} <= set(kind.endings())
    else:
        assert output.endings is not None


def cells_of_sheet(path: Path) -> list[list[str | float]]:
    """The cells of the first sheet of a spreadsheet."""
    with zipfile.ZipFile(path) as file:
        sheet = ElementTree.fromstring(file.read("xl/worksheets/sheet1.xml"))
        assert file.testzip() is None
    rows: list[list[str | float]] = []
    for row in sheet.iter(f"{SHEET}row"):
        texts = [(cell.get("t"), "".join(cell.itertext())) for cell in row.iter(f"{SHEET}c")]
        rows.append([text if kind or not text else float(text) for kind, text in texts])
    return rows


@pytest.mark.parametrize("verb", VERBS)
def test_a_result_is_written_in_every_format_and_can_be_read(cranfield: Cranfield, folder: Path, verb: str) -> None:
    def written(ending: str) -> Path:
        path = folder / f"out{ending}"
        done = cranfield(*verb.split(), "-o", path.name)
        assert (done.code, done.out) == (0, "")
        assert done.err.splitlines()[-1].startswith(f"wrote out{ending} (")
        return path

    header, *rows = csv.reader(io.StringIO(written(".csv").read_text()))
    assert rows
    assert {len(row) for row in rows} == {len(header)}
    assert list(csv.reader(io.StringIO(written(".tsv").read_text()), delimiter="\t")) == [header, *rows]
    assert json.loads(written(".json").read_text())
    assert r"\begin{tabular}" in written(".tex").read_text()
    assert "|" in written(".md").read_text()
    assert "<table" in written(".html").read_text()
    table = pyarrow.parquet.read_table(written(".parquet"))
    assert (table.column_names, table.num_rows) == (header, len(rows))
    first, *others = cells_of_sheet(written(".xlsx"))
    assert (first, len(others)) == (header, len(rows))
    for row, cells, entry in zip(rows, others, table.to_pylist(), strict=True):
        for text, cell, value in zip(row, cells, entry.values(), strict=True):
            assert text == "" or (cell == text if isinstance(cell, str) else float(text) == cell == value)
    assert written(".txt").read_text() != (folder / "out.csv").read_text()  # as it is printed


def test_ids_of_topics_stay_texts_and_scores_are_numbers(cranfield: Cranfield, folder: Path) -> None:
    assert cranfield("eval", "--sample", "-m", "AP", "-q", "-o", "out.parquet", "--quiet") == (0, "", "")
    table = pyarrow.parquet.read_table("out.parquet")
    assert {name: str(table.schema.field(name).type) for name in ("topic", "run", "value")} == {
        "topic": "string", "run": "string", "value": "double",
    }  # fmt: skip


def test_an_ending_that_a_verb_does_not_write_is_an_error_before_anything_is_read(
    cranfield: Cranfield, folder: Path
) -> None:
    done = cranfield("validate", "absent.run", "-o", "out.tex")
    assert (done.code, done.out) == (2, "")
    assert "out.tex: .tex is not written here; name a file that ends in .csv, .tsv, .json, .md" in done.err
    done = cranfield("pool", "build", "absent.run", "-o", "pool.xlsx")
    assert "pool.xlsx: .xlsx is not written here; name a file that ends in .tsv" in done.err
    assert not list(folder.glob("out*"))


@pytest.mark.parametrize("ending", [".pdf", ".docx", ".md", ".xlsx"])
def test_a_run_is_not_written_under_the_ending_of_another_format(
    cranfield: Cranfield, folder: Path, ending: str
) -> None:
    for words in (["fuse", "absent.run", "-o", f"out{ending}"], ["convert", "absent.run", f"out{ending}"]):
        done = cranfield(*words)
        assert done.code == 2
        expected = f"{ending} is not written here; name a file that ends in .csv, .tsv, .json, .jsonl, .parquet"
        assert expected in done.err
    assert not list(folder.glob("out*"))


def test_a_run_is_written_under_any_other_name(cranfield: Cranfield, folder: Path) -> None:
    (folder / "a.run").write_text("1 Q0 a 1 9 mine\n")
    for name in ("out", "out.run", "out.txt", "out.trec", "out.v2", "out.run.gz", "out.jsonl"):
        assert cranfield("fuse", "a.run", "-o", name).code == 0
        assert cranfield("convert", "a.run", name, "--kind", "run").code == 0


@pytest.mark.filterwarnings("ignore")
def test_a_table_is_not_written_to_a_file_of_a_figure(cranfield: Cranfield, tmp_path: Path) -> None:
    done = cranfield("compare", "--sample", "-m", "AP", "-o", tmp_path / "out.pdf")
    assert "out.pdf: a figure is written by --plot" in done.err
    done = cranfield("eval", "--sample", "-m", "AP", "-o", tmp_path / "out.PNG")
    assert "out.PNG: .png is not written here; name a file that ends in .csv" in done.err
    assert not list(tmp_path.iterdir())


def test_a_format_beside_an_ending_that_says_another_is_an_error(cranfield: Cranfield, folder: Path) -> None:
    done = cranfield("eval", "--sample", "-f", "json", "-o", "out.csv")
    assert (done.code, done.out) == (2, "")
    assert "out.csv: a file that ends in .csv does not have the format json; leave out --format" in done.err
    assert cranfield("eval", "--sample", "-m", "AP", "-f", "csv", "-o", "out.csv", "--quiet").code == 0
    assert cranfield("eval", "--sample", "-m", "AP", "-f", "csv", "-o", "scores.txt", "--quiet").code == 0
    assert (folder / "scores.txt").read_text() == (folder / "out.csv").read_text()


def test_no_text_of_a_spreadsheet_is_a_formula_or_breaks_it(tmp_path: Path) -> None:
    texts = ["=HYPERLINK(0)", "a<b&c", "\x07 bell", "\udcff", "x" * 40_000, " two  blanks "]
    path = tmp_path / "texts.xlsx"
    path.write_bytes(xlsx([{"text": [*texts], "n": [1, 2.5, None, float("inf"), 0, -1]}]))
    _, *rows = cells_of_sheet(path)
    assert [row[0] for row in rows] == [*texts[:2], "\ufffd bell", "\ufffd", "x" * 32_767, texts[-1]]
    assert [row[1] for row in rows] == [1, 2.5, "", "inf", 0, -1]
    assert b"<f>" not in zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml")


def test_a_column_is_of_numbers_only_if_all_cells_are_written_as_numbers() -> None:
    (table,) = columns_of_csv("topic,n,code,x\n1,1,007,1\n2,,8,2.5\n", ["topic"])
    assert table == {"topic": ["1", "2"], "n": [1, None], "code": ["007", "8"], "x": [1.0, 2.5]}


def test_what_was_written_is_said_once_and_many_files_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(6):
        Path(f"{number}.txt").write_text("x" * 1000)
    say_written(["0.txt", "0.txt", "1.txt"])
    assert capsys.readouterr().err.splitlines() == ["wrote 0.txt (1.0 kB)", "wrote 1.txt (1.0 kB)"]
    say_written([f"{number}.txt" for number in range(6)])
    assert capsys.readouterr().err == "wrote 6 files in . (6.0 kB)\n"

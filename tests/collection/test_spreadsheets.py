"""Tables as spreadsheets export them: read, or refused with file, line and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield import CranfieldWarning, DataError, Qrels, Run, Scores, UsageError, evaluate
from cranfield.building.merging.merge_labels import merge
from cranfield.collection.column_names import named_columns
from cranfield.collection.tables.table_schema import DOC, Numbers, Schema

LENGTHS = Schema("doc length", doc=DOC, length=Numbers(least=0))
JUDGED = {"301": {"d1": 3, "d2": 0}}


def written(folder: Path, content: str | bytes, name: str = "file.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_without_a_header_is_read_with_the_names_that_are_given(
    tmp_path: Path, mark: str, delimiter: str, end: str
) -> None:
    text = mark + "".join(delimiter.join(row) + end for row in (("d1", "x", "301", "3"), ("d2", "y", "301", "0")))
    path = written(tmp_path, text)
    assert Qrels.read(path, columns=["doc", "-", "topic", "grade"]).to_dict() == JUDGED
    assert Run.read(path, columns=["doc", "-", "topic", "score"]).to_dict() == JUDGED


def test_names_for_files_without_a_header_leave_other_files_as_they_are(tmp_path: Path) -> None:
    qrels = written(tmp_path, "301,d1,3\n301,d2,0\n", "qrels.csv")
    run = written(tmp_path, "301 d2 1\n301 d1 2\n", "three.run")
    named = written(tmp_path, "doc,score,topic\nd1,2,301\nd2,1,301\n", "named.csv")
    scores = evaluate(qrels, [str(run), str(named)], "P@1", columns=["topic", "doc", "grade"])
    assert scores.mean() == {"three": {"P@1": 0.0}, "named": {"P@1": 1.0}}


def test_a_large_file_without_a_header_is_read_in_parts_alike(tmp_path: Path) -> None:
    rows = [(str(topic), f"document-{doc:06d}", str(doc % 3)) for topic in range(40) for doc in range(3000)]
    path = written(tmp_path, "".join(",".join(row) + "\n" for row in rows))
    assert path.stat().st_size > 2 << 20
    qrels = Qrels.read(path, columns=["topic", "doc", "grade"])
    assert len(qrels) == len(rows)
    assert qrels.grades("39")["document-002999"] == 2999 % 3


def test_a_small_table_without_a_header_takes_the_names_that_fit(tmp_path: Path) -> None:
    path = written(tmp_path, "500,d1\n80,d2\n")
    with named_columns(["length", "doc"]):
        rows = LENGTHS.read(path)
    assert (rows["doc"], rows["length"].tolist()) == (["d1", "d2"], [500, 80])


def test_cells_in_quotes_may_have_line_breaks_and_delimiters(tmp_path: Path) -> None:
    path = written(tmp_path, 'query;doc;note;grade\n301;d1;"a\nb; c";3\n301;d2;"";0\n')
    assert Qrels.read(path).to_dict() == JUDGED


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "301,d1,3\n301,d2,0\n",
            "file.csv:1: no header: the first line has 301, d1, 3; to name the columns, such as: "
            "columns=['topic', 'doc', 'grade']",
        ),
        (
            "\n# judged by hand\n301;d1;3;me\n",
            "file.csv:3: no header: the first line has 301, d1, 3, me; to name the columns, such as: "
            "columns=['topic', 'doc', 'grade', '-']",
        ),
        (
            "lamp;d1;Exact\nlamp;d2;Bad\n",
            "file.csv:1: no header: the first line has lamp, d1, Exact; to name the columns, such as: "
            "columns=['topic', 'doc', 'grade']",
        ),
        (
            "lamp;d1;0,5\nsofa;d2;1,0\n",
            "file.csv:1: no header: the first line has lamp, d1, 0,5; to name the columns, such as: "
            "columns=['topic', 'doc', 'grade']",
        ),
        (
            "frage,ware,sterne\n301,d1,3\n",
            "file.csv:1: the columns are frage, ware, sterne; to say which is which, such as: "
            "columns={'topic': 'frage', 'doc': 'ware', 'grade': 'sterne'}",
        ),
        (
            "query;ware;sterne\n301;d1;3\n",
            "file.csv:1: the columns are query, ware, sterne; to say which is which, such as: "
            "columns={'doc': 'ware', 'grade': 'sterne'}",
        ),
        (
            "query;sku;date\n301;d1;2027\n",
            "file.csv: no column for the grade among query, sku, date; expected one called grade, relevance, rel, "
            "label, judgment, judgement, rating, relevant, score; to say which it is, such as: "
            "columns={'grade': 'date'}",
        ),
        (
            "query;doc;grade\n301;d1;3\n301;d2;0,5\n301;d3;1.5\n",  # both marks: one of them is a mistake
            "file.csv:3: the grade is '0,5', expected a number; numbers need a decimal point: 0.5",
        ),
        (
            "query,doc,grade\n301,d1,0,5\n",
            "file.csv:2: 4 columns, expected 3: query, doc, grade; if the last number is 0.5, write it with a decimal "
            "point",
        ),
        (
            "query;doc;grade\n301;d1;3\n301;café;0\n".encode("cp1252"),
            "file.csv:3: is not UTF-8, and looks like Windows-1252 ('afé'); save it as 'CSV UTF-8', or convert it: "
            "iconv -f WINDOWS-1252 -t UTF-8",
        ),
        (
            b"PK\x03\x04\x14\x00\x06\x00" + bytes(22) + b"[Content_Types].xml",
            "file.csv: is an Excel workbook; save the sheet as 'CSV UTF-8'",
        ),
        (
            b"PK\x03\x04\x14\x00\x00\x00" + bytes(22) + b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
            "file.csv: is an OpenDocument file; save the sheet as CSV in UTF-8",
        ),
        (b"PK\x03\x04\x14\x00\x00\x00" + bytes(22) + b"qrels.txt", "file.csv: is a ZIP archive; unpack it first"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_line_and_what_to_do(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    with pytest.raises(DataError) as caught:
        Qrels.read(written(tmp_path, text))
    assert str(caught.value) == str(tmp_path / message)


@pytest.mark.parametrize("columns", ["topic", ["topic"], ["topic", ""], ["topic", 3]])
def test_names_of_columns_are_two_texts_or_more(columns: list[str]) -> None:
    with pytest.raises(UsageError, match=r"must be \{role: name\}, or the names of two columns or more"):
        Run.of(b"1,d,2\n", columns=columns)


COMMAS = r"file.csv: the .* decimal commas; 0,5 is read as 0.5"


def test_decimal_commas_between_semicolons_are_read_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(CranfieldWarning, match=COMMAS):
        judged = Qrels.read(written(tmp_path, "query;doc;grade\n301;d1;3\n301;d2;0,5\n"))
    assert judged.to_dict() == {"301": {"d1": 3, "d2": 0.5}}
    with pytest.warns(CranfieldWarning, match=COMMAS):
        run = Run.read(written(tmp_path, "query;doc;score\n301;d1;0,5\n301;d2;,25\n"))
    assert run.to_dict() == {"301": {"d1": 0.5, "d2": 0.25}}
    with pytest.warns(CranfieldWarning, match=COMMAS):
        rows = LENGTHS.read(written(tmp_path, "doc;length\nd1;0,5\nd2;1,25e2\n"))
    assert rows["length"].tolist() == [0.5, 125]
    with pytest.warns(CranfieldWarning, match=COMMAS) as caught:
        scores = Scores.read(written(tmp_path, "topic;a;b\n1;0,5;0\n2;1;0,25\n"))
    assert scores.values.tolist() == [[[0.5, 1], [0, 0.25]]]
    assert len(caught) == 1  # of all columns


def test_ids_with_commas_between_semicolons_stay_as_they_are(tmp_path: Path) -> None:
    rows = LENGTHS.read(written(tmp_path, "doc;length\n1,5;2\n"))
    assert rows["doc"] == ["1,5"]


def test_a_large_file_with_decimal_commas_is_read_alike(tmp_path: Path) -> None:
    lines = "".join(f"301;d{n};{n},5\n" for n in range(300_000))
    with pytest.warns(CranfieldWarning, match="decimal commas"):
        read = Qrels.read(written(tmp_path, f"query;doc;grade\n{lines}")).to_dict()["301"]
    assert (read["d0"], read["d299999"], len(read)) == (0.5, 299_999.5, 300_000)


def test_a_small_table_in_windows_1252_is_refused_with_the_command_that_converts_it(tmp_path: Path) -> None:
    path = written(tmp_path, "topic,doc,assessor,label\n1,d1,J\xfcrgen,1\n".encode("cp1252"))
    with pytest.raises(DataError, match=r"file.csv:2: is not UTF-8, .*'Jür'.*: iconv -f WINDOWS-1252 -t UTF-8"):
        merge(path)

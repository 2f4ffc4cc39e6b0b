"""The verbs that score texts: rouge, bleu, nuggets, citations, one-click, passages, verticals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

FILES = {
    "mine.jsonl": '{"topic": "1", "text": "police kill the gunman"}\n{"topic": "2", "text": "a dog barks"}\n',
    "other.tsv": "1\tthe gunman kill police\n2\tdogs bark\n",
    "third.tsv": "1\tnobody was there\n2\tthe dogs bark\n",
    "ref.tsv": "1\tpolice killed the gunman\n1\tpolice shot him\n2\tdogs bark\n",
    "nuggets.tsv": "topic\tnugget\ttype\tweight\ttext\n1\ta\tvital\t2\tpolice kill gunman\n2\tb\tokay\t1\tdogs bark\n",
    "people.tsv": "topic\trun\tnugget\tsupport\n1\tmine\ta\tsupport\n1\tother\ta\tpartial\n2\tmine\tb\tsupport\n",
    "machine.tsv": "topic\trun\tnugget\tsupport\n1\tmine\ta\tsupport\n1\tother\ta\tnot_support\n2\tmine\tb\tsupport\n",
    "failed.tsv": "topic\trun\tnugget\tsupport\n1\tmine\ta\tfailed\n1\tother\ta\tpartial\n2\tmine\tb\tsupport\n",
    "cited.tsv": "run\ttopic\tsentence\tcitation\tsupport\nmine\t1\t1\td1\t1\nmine\t1\t2\t\t\n",
    "iunits.tsv": "topic\tiunit\tweight\tvital_string\n1\tu\t1\tgunman\n",
    "spans.tsv": "topic\tiunit\trun\tstart\tend\ttext\n1\tu\tmine\t16\t22\tgunman\n",
    "relevant.tsv": "topic\tdoc\tstart\tend\n1\td1\t0\t10\n",
    "passages.tsv": "topic\tdoc\tstart\tend\trank\n1\td1\t5\t15\t1\n",
    "pages.tsv": "topic\tblock\tvertical\tdoc\n1\t1\tweb\td1\n",
    "orientation.tsv": "topic\tvertical\torientation\n1\tweb\t1\n",
    "qrels.txt": "1 0 d1 1\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(cranfield: Cranfield, line: str) -> str:
    result = cranfield(*line.split())
    assert result.code == 0, result.err
    return result.out


def test_values_without_meaning_count_as_zero_by_option(cranfield: Cranfield) -> None:
    command = "answers nuggets --assignments failed.tsv --nuggets nuggets.tsv -m all --unknown zero"
    result = cranfield(*command.split())
    lines = result.out.splitlines()
    assert lines[1].split() == ["mine", "2", "0.5000"]
    assert lines[2].split() == ["other", "2", "0.2500"]
    assert "1 × support without meaning, counted as not supported: 'failed'" in result.out
    command = "answers nuggets --assignments people.tsv --against failed.tsv --unknown zero"
    result = cranfield(*command.split())
    assert "failed: 1 × support without meaning" in result.err
    result = cranfield("answers", "nuggets", "--assignments", "failed.tsv")
    assert result.code == 1
    assert "failed.tsv:2: support is 'failed'" in result.err
    assert "on the command line: --unknown RULE" in result.err


def test_rouge_prints_recall_precision_and_f(cranfield: Cranfield) -> None:
    lines = printed(cranfield, "answers rouge mine.jsonl other.tsv -r ref.tsv -m ROUGE-2 --several best").splitlines()
    # the best reference by recall: 1 of 3 bigrams on topic 1; on topic 2, mine has none and other its only one
    assert lines[1].split() == ["ROUGE-2", "mine", "0.1667", "0.1667", "0.1667"]
    assert lines[2].split() == ["ROUGE-2", "other", "0.6667", "0.6667", "0.6667"]


def test_scores_of_topics_go_on_to_other_verbs(cranfield: Cranfield) -> None:
    printed(
        cranfield,
        "answers rouge mine.jsonl other.tsv third.tsv -r ref.tsv -m ROUGE-1-F,ROUGE-L-F -q -f csv -o scores.csv",
    )
    assert "ROUGE-1-F" in printed(cranfield, "compare --scores scores.csv -m ROUGE-1-F")
    assert "ROUGE-L-F" in printed(cranfield, "meta correlate --scores scores.csv --quiet")
    printed(cranfield, "plot boxes --scores scores.csv -m ROUGE-1-F -o box.json")
    assert Path("box.json").exists()


def test_intervals_and_json(cranfield: Cranfield) -> None:
    data = json.loads(
        printed(cranfield, "answers rouge mine.jsonl -r ref.tsv -m ROUGE-1-R --resamples 50 --format json")
    )
    (row,) = data["rows"]
    assert row["low"] <= row["mean"] <= row["high"]
    assert data["resamples"] == 50


def test_bleu(cranfield: Cranfield) -> None:
    out = printed(cranfield, "answers bleu mine.jsonl other.tsv -r ref.tsv --smoothing none")
    assert out.splitlines()[0].split()[:2] == ["run", "BLEU"]


def test_nuggets(cranfield: Cranfield) -> None:
    lines = printed(
        cranfield, "answers nuggets --assignments people.tsv --nuggets nuggets.tsv -m all,W-Rec,pyramid"
    ).splitlines()
    assert lines[1].split() == ["mine", "2", "1.0000", "1.0000", "1.0000"]
    assert lines[2].split() == ["other", "2", "0.2500", "0.0000", "0.0000"]
    assert any("topics missing from runs" in line for line in lines[3:])


def test_pourpre_needs_no_assignments(cranfield: Cranfield) -> None:
    out = printed(cranfield, "answers nuggets mine.jsonl other.tsv --nuggets nuggets.tsv")
    assert out.splitlines()[0].split() == ["run", "topics", "POURPRE"]
    assert "police kill gunman" in printed(cranfield, "answers nuggets mine.jsonl --nuggets nuggets.tsv --explain 1")


def test_people_and_a_machine(cranfield: Cranfield) -> None:
    out = printed(cranfield, "answers nuggets --assignments people.tsv --against machine.tsv --format json --quiet")
    assert any(abs((row["value"] or 0) - 2 / 3) < 1e-9 for row in json.loads(out)["rows"])


def test_citations(cranfield: Cranfield) -> None:
    out = printed(cranfield, "answers citations cited.tsv")
    assert out.splitlines()[1].split() == ["mine", "1", "1.0000", "0.5000", "0.6667"]
    assert "d1" in printed(cranfield, "answers citations cited.tsv --explain 1")


def test_one_click(cranfield: Cranfield) -> None:
    out = printed(cranfield, "answers one-click mine.jsonl --iunits iunits.tsv --spans spans.tsv --patience 100 -m S,T")
    # (100 - 22) / (100 - 6), and 6 of 22 characters
    assert out.splitlines()[1].split() == ["mine", "1", f"{78 / 94:.4f}", f"{6 / 22:.4f}"]
    assert "S = 78/94" in printed(
        cranfield, "answers one-click mine.jsonl --iunits iunits.tsv --spans spans.tsv --patience 100 --explain 1"
    )


def test_passages_and_verticals(cranfield: Cranfield) -> None:
    lines = printed(cranfield, "answers passages relevant.tsv passages.tsv -m char-P,char-R").splitlines()
    assert lines[1].split() == ["passages", "1", "0.5000", "0.5000"]
    lines = printed(
        cranfield, "answers verticals qrels.txt pages.tsv --orientation orientation.tsv -m page-nDCG"
    ).splitlines()
    assert lines[1].split() == ["pages", "1", "1.0000"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("answers rouge mine.jsonl", "no references; give a file or a folder of them: --reference SOURCE"),
        (
            "answers rouge mine.jsonl --reference ./mine.jsonl",
            "mine.jsonl is given as texts of a system and as references",
        ),
        (
            "answers bleu other.tsv mine.jsonl -r mine.jsonl",
            "and would be compared with itself; leave it out of the systems",
        ),
        (
            "answers nuggets --assignments people.tsv --against people.tsv",
            "is the file of --assignments, which agrees with",
        ),
        ("answers citations cited.tsv --against cited.tsv", "is the file of the answers, which agrees with itself"),
        ("answers rouge mine.jsonl -r ref.tsv -m ROUGE-Q", "no measure 'ROUGE-Q'"),
        ("answers rouge mine.jsonl -r ref.tsv --alpha 0.5 --beta 2", "--alpha and --beta both say how F is weighed"),
        ("answers rouge mine.jsonl -r ref.tsv --explain 9", "--explain 9: there is no reference for this topic"),
        ("answers rouge mine.jsonl -r ref.tsv --stemmer lancaster", "--stemmer == 'lancaster', must be one of"),
        ("answers rouge mine.jsonl -r ref.tsv --most-words 0", "--most-words == 0, must be a whole number, 1 or more"),
        ("answers bleu mine.jsonl -r ref.tsv --smoothing exp --smoothing-value 1", "applies to floor and add-k"),
        ("answers nuggets --nuggets nuggets.tsv", "nothing to score; give --assignments FILE"),
        ("answers nuggets --assignments people.tsv -m F", "F needs the length of answers"),
        ("answers nuggets --assignments people.tsv -m vitl", "no measure 'vitl'; did you mean 'vital'?"),
        ("answers nuggets mine.jsonl --nuggets nuggets.tsv -m all", "which answer has which nugget?"),
        ("answers nuggets --assignments people.tsv --stemmer nltk", "--stemmer applies only to POURPRE"),
        (
            "answers nuggets --assignments people.tsv --model-summaries 3",
            "--model-summaries applies only to pyramid and pyramid-modified",
        ),
        (
            "answers nuggets --assignments people.tsv --against machine.tsv -m all",
            "--against prints agreement, not scores",
        ),
        ("answers nuggets --assignments people.tsv --explain 1 -q", "--explain shows one topic; leave out -q"),
        (
            "answers rouge mine.jsonl -r ref.tsv --seed 3",
            "--seed and --level are for intervals; give --ci, or --resamples N",
        ),
        ("answers citations cited.tsv -m precision", "no measure 'precision'; did you mean 'citation-precision'?"),
        ("answers citations cited.tsv --explain 7", "no topic '7'"),
        ("answers one-click mine.jsonl --iunits iunits.tsv", "give --iunits FILE and --spans FILE"),
        ("answers verticals qrels.txt pages.tsv", "give it: --orientation FILE"),
    ],
)
def test_wrong_command_lines_say_what_to_do(cranfield: Cranfield, line: str, message: str) -> None:
    result = cranfield(*line.split())
    assert result.code == 2
    assert message in result.err


def test_offsets_in_bytes_have_a_way_out(cranfield: Cranfield, folder: Path) -> None:
    (folder / "mine.jsonl").write_text('{"topic": "1", "text": "é gunman x"}\n')
    (folder / "spans.tsv").write_text("topic\tiunit\trun\tstart\tend\ttext\n1\tu\tmine\t3\t9\tgunman\n")
    result = cranfield("answers", "one-click", "mine.jsonl", "--iunits", "iunits.tsv", "--spans", "spans.tsv")
    assert result.code == 1
    assert "spans.tsv:2: the text has 'unman' there, not 'gunman'; are the offsets in bytes?" in result.err
    assert "on the command line: --offsets UNIT" in result.err
    assert cranfield(
        "answers", "one-click", "mine.jsonl", "--iunits", "iunits.tsv", "--spans", "spans.tsv", "--offsets", "bytes"
    ).code == 0  # fmt: skip

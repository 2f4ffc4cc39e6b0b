"""`cranfield validate` with many runs, and with the rules of a track."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

RUN = "1 Q0 a 1 2.0 {0}\n1 Q0 b 2 1.0 {0}\n2 Q0 a 1 1.0 {0}\n"


TWO_REASONS = "the tag is 't-a', must match x; line 2: topic '1' has 2 documents, at most 1 are allowed"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    for name in "abcdefgh":
        Path(f"runs/{name}.run").write_text(RUN.format(f"t-{name}"))
    Path("runs/h.run").write_text(RUN.format("t-h") + "2 Q0 b 2 high t-h\n2 Q0 c 3 low t-h\n")
    Path("topics.tsv").write_text("1\tflutter\n2\tlayers\n")
    Path("ids.txt").write_text("a\nb\n")


def rules(text: str) -> tuple[str, ...]:
    Path("track.toml").write_text(text)
    return ("--rules", "track.toml")


def test_many_runs_begin_with_a_table_and_details_are_on_request(cranfield: Cranfield) -> None:
    done = cranfield("validate", "runs/*.run")
    lines = done.out.splitlines()
    assert done.code == 1
    assert lines[1].split()[:4] == ["h.run", "rejected", "2", "0"]
    assert lines[1].endswith("line 4: the score is 'high', expected a number (and 1 more)")
    assert [line.split()[1] for line in lines[2:9]] == ["accepted"] * 7
    assert lines[9] == "8 runs: 7 accepted, 1 rejected"
    assert "runs/h.run:5" not in done.out
    assert "runs/h.run:5: error: the score is 'low'" in cranfield("validate", "runs/*.run", "--details").out


def test_few_runs_have_findings_only_unless_the_table_is_asked_for(cranfield: Cranfield) -> None:
    assert "accepted" not in cranfield("validate", "runs/a.run").out
    assert "a.run  accepted" in cranfield("validate", "runs/a.run", "--table").out


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[rules]\ndepth = 1\n", "line 2: topic '1' has 2 documents, at most 1 are allowed"),
        ("[rules]\nleast = 2\n", "line 3: topic '2' has 1 document, at least 2 are needed"),
        ("[rules]\ntag = '[A-Z]+'\n", "the tag is 't-a', must match [A-Z]+"),
        ("document_ids = 'ids.txt'\n[rules]\ndocuments = 'collection'\n", ""),
        (
            "[rules]\ndepth = 1\ntag = 'x'\n",
            TWO_REASONS,
        ),
    ],
)
def test_rules_of_a_track_reject_runs(cranfield: Cranfield, text: str, why: str) -> None:
    done = cranfield("validate", "runs/a.run", "--topics", "topics.tsv", *rules(text), "-f", "csv")
    (row,) = csv.DictReader(io.StringIO(done.out))
    assert (done.code, row["verdict"], row["why"]) == ((1, "rejected", why) if why else (0, "accepted", ""))


def test_documents_must_be_in_the_collection(cranfield: Cranfield) -> None:
    Path("ids.txt").write_text("a\n")
    text = "topics = 'topics.tsv'\ndocument_ids = 'ids.txt'\n[rules]\ndocuments = 'collection'\n"
    done = cranfield("validate", "runs/a.run", *rules(text))
    assert "line 2: document 'b' is not in the collection" in done.out


def test_all_topics_are_those_of_the_file_or_the_judged_ones(cranfield: Cranfield) -> None:
    Path("topics.tsv").write_text("1\tflutter\n2\tlayers\n3\twings\n")
    Path("qrels.txt").write_text("1 0 a 1\n2 0 a 1\n")
    given = rules("topics = 'topics.tsv'\n")
    assert "1 topic is missing: 3" in cranfield("validate", "runs/a.run", *given).out
    assert cranfield("validate", "runs/a.run", "--qrels", "qrels.txt", *rules("[rules]\n")).code == 0
    done = cranfield("validate", "runs/a.run", *rules("[rules]\n"))
    assert done.code == 2
    assert "track.toml: all topics must be there, but which are they?" in done.err


def test_json_lists_the_runs(cranfield: Cranfield) -> None:
    data = json.loads(cranfield("validate", "runs/*.run", "-f", "json").out)
    assert [run["accepted"] for run in data["runs"]] == [True] * 7 + [False]
    assert data["counts"]["error"] == 2


def test_a_campaign_file_has_rules_too(cranfield: Cranfield) -> None:
    text = 'name = "x"\nmeasures = ["AP"]\n[rules]\ndepth = 1\nruns = 3\nall_topics = false\n'
    assert "at most 1 are allowed" in cranfield("validate", "runs/a.run", *rules(text)).out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[rules]\ndept = 1\n", "no entry 'rules.dept'; did you mean 'rules.depth'?"),
        ("[rules]\ndepth = 0\n", "rules: depth == 0, must be a whole number, 1 or more"),
        ("[rules]\ndepth = 'x'\n", "rules.depth == 'x', must be a whole number"),
        ("[rules]\nleast = 5\ndepth = 2\n", "rules: least == 5, must be at most depth == 2"),
        ("[rules]\ntag = '['\n", "is not a regular expression"),
        ("[rules]\ndocuments = 'collection'\n", "needs document_ids"),
        ("rule = 1\n", "no entry 'rule'; did you mean 'rules'?"),
        ("[rules\n", "not valid TOML"),
        ("topics = 'none.xml'\n", "none.xml: no such file"),
    ],
)
def test_wrong_rules_are_errors_of_the_file(cranfield: Cranfield, text: str, message: str) -> None:
    done = cranfield("validate", "runs/a.run", *rules(text))
    assert (done.code, done.out) == (1, "")
    assert message in done.err


def test_a_run_from_standard_input_cannot_be_read_twice(cranfield: Cranfield) -> None:
    done = cranfield("validate", "--runs", "-", *rules("[rules]\n"), stdin=RUN.format("x").encode())
    assert done.code == 2
    assert "standard input" in done.err


def test_warnings_are_counted_and_not_named_if_only_errors_are_shown(cranfield: Cranfield) -> None:
    Path("runs/a.run").write_text("1 Q0 a 1 1.0 t\n1 Q0 b 2 2.0 t\n2 Q0 a 1 1.0 t\n")  # ranks against scores: a warning
    rows = {
        row["run"]: row for row in csv.DictReader(io.StringIO(cranfield("validate", "runs/*.run", "-f", "csv").out))
    }
    assert (rows["a.run"]["verdict"], rows["a.run"]["warnings"]) == ("accepted", "1")
    warning = rows["a.run"]["why"]
    assert warning
    for words in (("--table",), ("--table", "--details"), ("-f", "csv"), ("-f", "json")):
        assert warning in cranfield("validate", "runs/*.run", *words).out
        assert warning not in cranfield("validate", "runs/*.run", "--show", "error", *words).out
    strict = cranfield("validate", "runs/*.run", "--show", "error", "--strict", "-f", "csv").out
    assert f"a.run,rejected,0,1,{warning}" in strict.replace('"', "")  # the reason why it is rejected


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes of POSIX")
def test_wrong_rules_are_found_before_any_run_is_read(cranfield: Cranfield) -> None:
    os.mkfifo("pipe.run")  # whoever reads it waits for ever
    done = cranfield("validate", "--runs", "pipe.run", *rules("[rules]\ndepht = 5\n"))
    assert done.code in (1, 2)
    assert "track.toml" in done.err
    assert "depht" in done.err

"""`cranfield machine label`, as a user meets it. The endpoint is a real server on the loopback address."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from cranfield.building.machine.questions import NO_GRADE
from cranfield.collection.qrels import Qrels
from tests.building.machine.chat_server import completion, grade_of, send, serving
from tests.cli.conftest import Cranfield

INPUT = ("topics.tsv", "pool.tsv", "docs.jsonl")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "topics.tsv").write_text("1\twing flutter\n")
    (tmp_path / "pool.tsv").write_text("topic\tdoc\n1\td1\n1\td2\n1\td3\n")
    lines = (json.dumps({"doc_id": f"d{i}", "text": f"text of d{i}"}) + "\n" for i in (1, 2, 3))
    (tmp_path / "docs.jsonl").write_text("".join(lines))
    return tmp_path


def ask(cranfield: Cranfield, url: str, *more: str) -> tuple[int, str, str]:
    return cranfield("machine", "label", *INPUT, "--endpoint", url, "--model", "m", "-o", "labels.jsonl", *more)


def test_labels_are_kept_and_written_as_judgments(cranfield: Cranfield, folder: Path) -> None:
    with serving() as server:
        code, out, _ = ask(cranfield, server.url, "--write-qrels", "machine.qrels", "--max-tokens", "7")
        assert code == 0
        assert ask(cranfield, server.url, "--max-tokens", "7")[0] == 0
    assert out.split()[:3] == ["assessor", "items", "labelled"]
    assert Qrels.read("machine.qrels").to_dict() == {"1": {"d1": 1, "d2": 2, "d3": 3}}
    assert sum(server.asked.values()) == 3  # the second command asked nothing
    assert server.bodies[0]["max_tokens"] == 7


def test_several_prompts_have_files_of_their_own(cranfield: Cranfield, folder: Path) -> None:
    for name in ("short", "long"):
        (folder / f"{name}.txt").write_text(f"{name} {{query}} {{document}} {{scale}}")
    with serving() as server:
        prompts = ("--prompt", "short.txt", "--prompt", "long.txt", "--scale", "0,1,2,3", "--parameters", '{"seed": 4}')
        code, out, _ = ask(cranfield, server.url, *prompts, "--write-qrels", "machine.qrels", "-f", "json")
    assert code == 0
    assert [row["assessor"] for row in json.loads(out)["rows"]] == ["m/short", "m/long"]
    assert Qrels.read("machine-long.qrels").grades("1")["d3"] == 3
    assert len((folder / "labels.jsonl.prompts").read_text().splitlines()) == 2
    assert server.bodies[0]["seed"] == 4


def test_answers_without_a_grade_are_listed_and_the_exit_code_is_1(cranfield: Cranfield, folder: Path) -> None:
    def reply(handler: BaseHTTPRequestHandler, doc: str, before: int) -> None:
        send(handler, 200, completion("hard to say" if doc == "d2" else str(grade_of(doc))))

    with serving(reply) as server:
        code, out, err = ask(cranfield, server.url, "--write-qrels", "machine.qrels")
        data = json.loads(ask(cranfield, server.url, "-f", "json")[1])
    assert code == 1
    assert [(entry["doc"], entry["answer"]) for entry in data["unparsed"]] == [("d2", "hard to say")]
    assert "machine.qrels: 1 of 3 items have no grade and are left out" in err
    assert Qrels.read("machine.qrels").to_dict() == {"1": {"d1": 1, "d3": 3}}
    assert f"1 answer without a grade: 1 d2 ({NO_GRADE}): 'hard to say'" in out


def test_an_answer_with_a_final_score_is_a_grade(cranfield: Cranfield, folder: Path) -> None:
    def reply(handler: BaseHTTPRequestHandler, doc: str, before: int) -> None:
        send(handler, 200, completion(f"It has 3 facts of 5.\n##final score: {grade_of(doc)}"))

    with serving(reply) as server:
        code, _, _ = ask(cranfield, server.url, "--write-qrels", "machine.qrels")
    assert code == 0
    assert Qrels.read("machine.qrels").to_dict() == {"1": {"d1": 1, "d2": 2, "d3": 3}}


@pytest.mark.parametrize(
    ("url", "more", "message"),
    [
        ("http://a..b/v1", (), "--endpoint == 'http://a..b/v1' is not a URL: the host or the path"),
        (f"http://{'a' * 70}.invalid/v1", (), "is not a URL: the host or the path"),
        ("http://my host/v1", (), "--endpoint == 'http://my host/v1' is not a URL"),
        ("http://localhost:1/ü", (), "is not a URL"),
        ("http://localhost:1/v1", ("--timeout", "inf"), "--timeout == inf, must be above 0 and at most 86,400"),
        ("http://localhost:1/v1", ("--first-wait", "1e300"), "--first-wait == 1e+300, must be between 0 and 86400"),
    ],
)
def test_an_address_or_a_time_that_cannot_be_is_not_called_a_bug(
    cranfield: Cranfield, folder: Path, url: str, more: tuple[str, ...], message: str
) -> None:
    code, _, err = ask(cranfield, url, *more)
    assert code == 2
    assert message in err


@pytest.mark.parametrize("content", [b"\xff\xfe\n", b"[1, 2]\n", b"{\n"])
def test_a_file_of_prompts_that_another_program_wrote_is_named(
    cranfield: Cranfield, folder: Path, content: bytes
) -> None:
    (folder / "labels.jsonl.prompts").write_bytes(content)
    code, _, err = ask(cranfield, "http://localhost:1/v1")
    assert code == 1
    assert err.startswith("error: labels.jsonl.prompts:1: ")
    assert "move this file away, or name another log" in err


def test_the_key_comes_from_the_variable_that_is_named(
    cranfield: Cranfield, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "secret-key-2")
    with serving() as server:
        code, out, err = ask(cranfield, server.url, "--key-variable", "MY_KEY")
    assert code == 0
    assert server.headers[0]["Authorization"] == "Bearer secret-key-2"
    assert "secret-key-2" not in out + err + "".join(path.read_text() for path in folder.iterdir())
    with serving() as server:
        ask(cranfield, server.url)
        assert all("Authorization" not in headers for headers in server.headers)


def test_a_dry_run_shows_the_first_prompt_and_sends_nothing(cranfield: Cranfield, folder: Path) -> None:
    with serving() as server:
        done = cranfield("machine", "label", *INPUT, "--endpoint", server.url, "--dry-run")
    assert done.code == 0
    assert "text of d1" in done.out
    assert "3 questions about 3 items" in done.out
    assert "nothing was sent" in done.out
    assert not server.asked
    assert not (folder / "labels.jsonl").exists()
    facts = json.loads(cranfield("machine", "label", *INPUT, "--dry-run", "-f", "json").out)
    assert facts["questions"] == 3
    assert facts["characters"] == 3 * len(facts["first prompt"])


def test_documents_without_text_are_counted(cranfield: Cranfield, folder: Path) -> None:
    (folder / "pool.tsv").write_text("topic\tdoc\n1\td1\n1\tgone\n7\td2\n")
    with serving() as server:
        code, out, _ = ask(cranfield, server.url)
    assert code == 0
    assert "1 item not asked, because the document has no text in the collection: 1 gone" in out
    assert "1 item not asked, because the topic is not in the file of topics, or has no title: 7 d2" in out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--model", "m", "-o", "l.jsonl"], 2, "no endpoint is configured, so nothing is sent"),
        (["--endpoint", "http://127.0.0.1:9", "-o", "l.jsonl"], 2, "--model NAME"),
        (["--endpoint", "http://127.0.0.1:9", "--model", "m"], 2, "--output FILE"),
        (["--endpoint", "file:///etc", "--model", "m", "-o", "l.jsonl"], 2, "must be a URL such as"),
        (["--endpoint", "http://127.0.0.1:9", "--model", "m", "-o", "l.jsonl", "--key-variable", "NOT_SET_1"], 2,
         "this environment variable is not set"),
        (["--endpoint", "http://127.0.0.1:9", "--model", "m", "-o", "l.jsonl", "--parameters", "{"], 2, "not valid"),
        (["--endpoint", "http://127.0.0.1:9", "--model", "m", "-o", "l.jsonl", "--parameters", "[]"], 2, "an object"),
        (["--endpoint", "http://127.0.0.1:9", "--model", "m", "-o", "no/l.jsonl"], 1, "cannot be written"),
        (["--dry-run", "--scale", "1"], 2, "must be two or more different numbers"),
        (["--dry-run", "--characters", "0"], 2, "must be a whole number, 1 or more"),
        (["--dry-run", "--prompt", "none.txt"], 1, "none.txt: no such file"),
    ],
)  # fmt: skip
def test_bad_input(cranfield: Cranfield, folder: Path, words: list[str], code: int, message: str) -> None:
    done = cranfield("machine", "label", *INPUT, *words)
    assert message in done.err
    assert done.code == code


def test_an_endpoint_that_is_not_there_is_named(cranfield: Cranfield, folder: Path) -> None:
    with serving() as server:
        url = server.url  # which is closed below
    code, out, _ = ask(cranfield, url, "--attempts", "2", "--first-wait", "0.01")
    assert code == 1
    assert "3 questions failed" in out
    assert "Connection refused" in out
    assert "the same command goes on" in out

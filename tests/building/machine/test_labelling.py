"""Labelling with a real server: slow, wrong, busy, failing and dying."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from cranfield.building.assessor_labels import Labels
from cranfield.building.document_texts import DocumentTexts
from cranfield.building.machine.asking import Patience, read_log
from cranfield.building.machine.endpoint import Endpoint
from cranfield.building.machine.labelling import Labelling, label
from cranfield.building.machine.questions import DEFAULT, NO_GRADE, SCALE, LabelPlan, Prompt, digest
from cranfield.collection.qrels import Qrels
from cranfield.collection.topics import Topic, Topics
from cranfield.errors import DataError, UsageError
from tests.building.machine.chat_server import ChatServer, completion, grade_of, send, serving, well

DOCS = [f"d{i}" for i in range(12)]
HASTE = Patience(concurrency=3, attempts=4, first_wait=0.01, longest_wait=5)


def plan_of(docs: list[str] = DOCS, prompts: tuple[Prompt, ...] = (Prompt("default", DEFAULT),)) -> LabelPlan:
    topics = Topics([Topic("1", "wing flutter")])
    texts = DocumentTexts({doc: f"text of {doc}" for doc in docs})
    return LabelPlan.of(topics, tuple(("1", doc) for doc in docs), texts, prompts, SCALE, "judge-1")


def ask(server: ChatServer, log: Path, plan: LabelPlan | None = None, **options: object) -> Labelling:
    endpoint = Endpoint(server.url, "judge-1", {"temperature": 0.0}, timeout=float(options.pop("timeout", 5.0)))  # type: ignore[arg-type]
    patience = options.pop("patience", HASTE)
    return label(plan or plan_of(), endpoint, log, **patience, **options)  # type: ignore[arg-type]


def test_every_item_has_the_grade_of_the_model(tmp_path: Path) -> None:
    with serving() as server:
        result = ask(server, tmp_path / "log.jsonl")
    grades = result.qrels("judge-1/default").grades("1")
    assert grades == {doc: grade_of(doc) for doc in DOCS}
    assert server.asked == Counter(DOCS)
    assert server.most_open <= 3
    body = server.bodies[0]
    assert body["path"] == "/v1/chat/completions"
    assert (body["model"], body["temperature"], body["stream"]) == ("judge-1", 0.0, False)
    columns = result.columns()
    assert columns["labelled"].tolist() == [12]
    assert columns["prompt tokens"].tolist() == [120]  # the server counts 10 for each of 12 prompts


def test_the_log_keeps_prompts_by_digest_and_raw_answers(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with serving() as server:
        ask(server, log, plan_of(["d7"]))
    (entry,) = read_log(log).entries.values()
    sent = server.bodies[0]["messages"][0]["content"]
    assert entry.prompt == digest(sent)
    assert entry.answer == '{"grade": 3}'
    assert entry.usage["total_tokens"] == 12
    (template,) = [json.loads(line) for line in (tmp_path / "log.jsonl.prompts").read_text().splitlines()]
    assert template["template"] == DEFAULT
    assert template["digest"] == entry.template == digest(DEFAULT)


def test_labels_reads_the_log(tmp_path: Path) -> None:
    def sometimes(handler: BaseHTTPRequestHandler, doc: str, before: int) -> None:
        send(handler, 200, completion("perhaps" if doc == "d3" else str(grade_of(doc))))

    log = tmp_path / "log.jsonl"
    prompts = (Prompt("a", DEFAULT), Prompt("b", "Shorter. " + DEFAULT))
    with serving(sometimes) as server:
        ask(server, log, plan_of(DOCS[:5], prompts))
    labels = Labels.read(log)
    assert labels.workers == ("judge-1/a", "judge-1/b")
    assert labels.qrels_of("judge-1/b").grades("1") == {"d0": 0, "d1": 1, "d2": 2, "d4": 0}
    assert "2 rows without a label, left out" in labels.notes


def test_answers_without_a_grade_are_counted_listed_and_no_grade(tmp_path: Path) -> None:
    answers = {"d0": "I cannot judge this.", "d1": '{"grade": 7}', "d2": "", "d3": '{"grade": true}', "d4": "1 or 2"}

    def reply(handler: BaseHTTPRequestHandler, doc: str, before: int) -> None:
        if doc == "d5":
            send(handler, 200, completion(None, refusal="I will not."))
        else:
            send(handler, 200, completion(answers.get(doc, "2")))

    log = tmp_path / "log.jsonl"
    with serving(reply) as server:
        result = ask(server, log, plan_of(DOCS[:7]))
        problems = {entry.doc: entry.problem for entry in result.unparsed}
        assert problems == {
            "d0": NO_GRADE,
            "d1": "grade 7 is not on the scale 0, 1, 2, 3",
            "d2": "the answer is empty",
            "d3": "grade True is not on the scale 0, 1, 2, 3",
            "d4": NO_GRADE,
            "d5": "the model refused",
        }
        assert result.qrels("judge-1/default").to_dict() == {"1": {"d6": 2}}
        assert all(entry.label is None for entry in result.unparsed)
        assert any("6 answers without a grade" in note and "I cannot judge" in note for note in result.notes)
        ask(server, log, plan_of(DOCS[:7]))
        assert server.asked["d0"] == 1  # an answer is an answer
        answers["d0"] = "3"
        again = ask(server, log, plan_of(DOCS[:7]), again=True)
    assert server.asked["d0"] == 2
    assert again.qrels("judge-1/default").grades("1")["d0"] == 3
    assert len(again.unparsed) == 5


def test_a_busy_endpoint_is_asked_again_after_the_time_it_names(tmp_path: Path) -> None:
    def busy(handler: BaseHTTPRequestHandler, doc: str, before: int) -> None:
        if before == 0:
            send(handler, 429, b'{"error": {"message": "slow down"}}', Retry_After="1")
        else:
            well(handler, doc, before)

    with serving(busy) as server:
        result = ask(server, tmp_path / "log.jsonl", plan_of(["d1"]))
    assert result.left == 0
    assert server.times[1] - server.times[0] >= 1.0
    assert next(iter(result.entries.values())).attempts == 2


@pytest.mark.parametrize("kind", ["500", "close", "torn", "garbage", "wrong JSON"])
def test_a_failure_is_followed_by_another_attempt(tmp_path: Path, kind: str) -> None:
    def reply(handler: BaseHTTPRequestHandler, doc: str, before: int) -> None:
        if before:
            well(handler, doc, before)
        elif kind == "500":
            send(handler, 500, b"oops")
        elif kind == "close":
            handler.connection.close()
        elif kind == "torn":
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.write(completion("3")[:40])
        else:
            send(handler, 200, b"<html>" if kind == "garbage" else b'{"choices": []}')

    with serving(reply) as server:
        result = ask(server, tmp_path / "log.jsonl", plan_of(DOCS[:4]))
    assert result.qrels("judge-1/default").grades("1") == {doc: grade_of(doc) for doc in DOCS[:4]}
    assert server.asked == Counter(DOCS[:4] * 2)


def test_a_slow_answer_is_given_up_at_the_deadline_even_if_it_trickles(tmp_path: Path) -> None:
    def trickle(handler: BaseHTTPRequestHandler, doc: str, before: int) -> None:
        body = completion("1")
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        for byte in body[:40]:
            handler.wfile.write(bytes([byte]))
            time.sleep(0.05)

    began = time.monotonic()
    with serving(trickle) as server:
        patience = Patience(concurrency=1, attempts=2, first_wait=0.01)
        result = ask(server, tmp_path / "log.jsonl", plan_of(["d1"]), timeout=0.3, patience=patience)
    assert time.monotonic() - began < 5
    assert result.failed == ((("1", "d1", "judge-1/default"), "no answer within 0.3 seconds"),)
    assert not result.entries


def test_a_slow_answer_is_given_up_at_the_deadline_even_if_its_headers_trickle(tmp_path: Path) -> None:
    def trickle(handler: BaseHTTPRequestHandler, doc: str, before: int) -> None:
        handler.send_response(200)
        handler.flush_headers()
        for _ in range(100):
            handler.wfile.write(b"X")
            time.sleep(0.05)

    began = time.monotonic()
    with serving(trickle) as server:
        patience = Patience(concurrency=1, attempts=1, first_wait=0.01)
        result = ask(server, tmp_path / "log.jsonl", plan_of(["d1"]), timeout=0.3, patience=patience)
    assert time.monotonic() - began < 4  # the headers take 5 seconds
    assert result.failed == ((("1", "d1", "judge-1/default"), "no answer within 0.3 seconds"),)


def test_a_question_that_always_fails_is_listed_and_the_others_are_answered(tmp_path: Path) -> None:
    def reply(handler: BaseHTTPRequestHandler, doc: str, before: int) -> None:
        if doc == "d2":
            send(handler, 503, b"down")
        elif doc == "d4":
            send(handler, 400, b'{"error": {"message": "too long"}}')
        else:
            well(handler, doc, before)

    with serving(reply) as server:
        result = ask(server, tmp_path / "log.jsonl")
    assert dict(result.failed) == {
        ("1", "d2", "judge-1/default"): "HTTP 503 Service Unavailable: down",
        ("1", "d4", "judge-1/default"): "HTTP 400 Bad Request: too long",
    }
    assert (server.asked["d2"], server.asked["d4"]) == (4, 1)  # four attempts; a bad request is not repeated
    assert result.left == 2
    assert len(result.entries) == 10


def test_an_endpoint_that_dies_ends_the_work_and_a_new_one_goes_on(tmp_path: Path) -> None:
    docs, log = [f"d{i}" for i in range(40)], tmp_path / "log.jsonl"

    def dying(handler: BaseHTTPRequestHandler, doc: str, before: int) -> None:
        if sum(server.asked.values()) > 15:
            handler.connection.close()
        else:
            well(handler, doc, before)

    with serving(dying) as server:
        first = ask(server, log, plan_of(docs))
    assert "10 questions in a row failed" in first.stopped
    answered = {entry.doc for entry in first.entries.values()}
    assert len(answered) == 15
    with serving() as server:
        second = ask(server, log, plan_of(docs))
    assert second.left == 0
    assert set(server.asked) == set(docs) - answered


@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (401, {}, "the key is wrong or not allowed"),
        (404, {}, "POST /v1/chat/completions gives HTTP 404"),
        (
            302,
            {"Location": "http://127.0.0.1:9/v1"},
            "redirects to 'http://127.0.0.1:9/v1'; redirects are not followed",
        ),
    ],
)
def test_an_endpoint_that_cannot_be_used_stops_at_once(
    tmp_path: Path, status: int, headers: dict[str, str], message: str
) -> None:
    with serving(lambda handler, doc, before: send(handler, status, b"no secret-key-1 here", **headers)) as server:
        endpoint = Endpoint(server.url, "judge-1", key="secret-key-1")
        patience = Patience(concurrency=1, attempts=3, first_wait=0.01)
        result = label(plan_of(), endpoint, tmp_path / "log.jsonl", **patience)
    assert message in result.stopped
    assert sum(server.asked.values()) == 1
    assert "secret-key-1" not in "".join([result.to_json(), repr(endpoint), str(result)])


def test_the_key_is_sent_and_never_written(tmp_path: Path) -> None:
    with serving() as server:
        endpoint = Endpoint(server.url, "judge-1", key="secret-key-1")
        label(plan_of(["d1"]), endpoint, tmp_path / "log.jsonl", **HASTE)
    assert server.headers[0]["Authorization"] == "Bearer secret-key-1"
    assert all(b"secret-key-1" not in path.read_bytes() for path in tmp_path.iterdir())


def test_an_answer_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    def endless(handler: BaseHTTPRequestHandler, doc: str, before: int) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(64):
            handler.wfile.write(b"x" * (1 << 20))

    with serving(endless) as server:
        result = ask(server, tmp_path / "log.jsonl", plan_of(["d1"]), timeout=20)
    assert result.failed[0][1] == "the response is longer than 8 MB"


def test_a_wait_that_is_too_long_stops_the_work(tmp_path: Path) -> None:
    with serving(lambda handler, doc, before: send(handler, 429, b"later", Retry_After="3600")) as server:
        result = ask(server, tmp_path / "log.jsonl")
    assert "asks to wait 3600 seconds, which is too long" in result.stopped


def test_a_limit_asks_some_now_and_the_rest_later(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with serving() as server:
        assert (ask(server, log, limit=5).left, sum(server.asked.values())) == (7, 5)
        assert ask(server, log).left == 0
    assert server.asked == Counter(DOCS)


def test_a_torn_last_line_is_dropped_and_asked_again(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with serving() as server:
        ask(server, log)
        whole = log.read_bytes()
        lost = read_log(log).entries
        log.write_bytes(whole[:-20])
        result = ask(server, log)
    assert any("was not complete" in note and "dropped" in note for note in result.notes)
    again = [doc for doc, times in server.asked.items() if times == 2]
    assert again == [list(lost)[-1][1]]
    assert len(read_log(log).entries) == len(DOCS)


def test_a_log_of_another_prompt_or_other_parameters_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with serving() as server:
        ask(server, log)
        with pytest.raises(UsageError, match="to another prompt: the template has changed"):
            ask(server, log, plan_of(prompts=(Prompt("default", "New. " + DEFAULT),)))
        with pytest.raises(UsageError, match=r"with the parameters \{'temperature': 0.0\}, now they are \{\}"):
            label(plan_of(), Endpoint(server.url, "judge-1"), log)


def test_a_log_that_was_changed_is_refused_with_its_line(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with serving() as server:
        ask(server, log)
        lines = log.read_bytes().split(b"\n")
        log.write_bytes(b"\n".join([lines[0], b"{}", *lines[2:]]))
        with pytest.raises(DataError, match=r"log.jsonl:2: is \{\}, expected an answer"):
            ask(server, log)


COMMAND = [sys.executable, "-m", "cranfield", "machine", "label", "topics.tsv", "pool.tsv", "docs.jsonl"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = [f"d{i}" for i in range(60)]
    (tmp_path / "topics.tsv").write_text("1\twing flutter\n2\theat transfer\n")
    (tmp_path / "pool.tsv").write_text("topic\tdoc\n" + "".join(f"{1 + i % 2}\t{doc}\n" for i, doc in enumerate(docs)))
    lines = (json.dumps({"doc_id": doc, "text": f"text of {doc}"}) + "\n" for doc in docs)
    (tmp_path / "docs.jsonl").write_text("".join(lines))
    return tmp_path


def started(folder: Path, url: str, *more: str) -> subprocess.Popen[bytes]:
    words = [*COMMAND, "--endpoint", url, "--model", "m", "-o", "labels.jsonl", "--first-wait", "0.01", *more]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def waited(folder: Path, least: int) -> None:
    """Wait until the log has some lines."""
    for _ in range(1000):
        log = folder / "labels.jsonl"
        if log.exists() and log.read_bytes().count(b"\n") >= least:
            return
        time.sleep(0.02)
    raise AssertionError("no answer was written within 20 seconds")


def slowly(handler: BaseHTTPRequestHandler, doc: str, before: int) -> None:
    time.sleep(0.03)
    well(handler, doc, before)


def test_after_kill_9_nothing_is_lost_and_no_written_answer_is_asked_again(folder: Path) -> None:
    written: set[str] = set()
    with serving(slowly) as server:
        for kills in range(1, 4):
            process = started(folder, server.url)
            waited(folder, 10 * kills)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate(timeout=20)
            data = (folder / "labels.jsonl").read_bytes()
            complete = {json.loads(line)["doc"] for line in data.split(b"\n")[:-1]}
            assert written <= complete
            written = complete
        before = Counter(server.asked)
        process = started(folder, server.url, "--write-qrels", "machine.qrels")
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert all(server.asked[doc] == before[doc] for doc in written)
    qrels = Qrels.read(folder / "machine.qrels")
    assert len(qrels) == 60
    assert all(judgment.grade == grade_of(judgment.doc) for judgment in qrels)


def test_ctrl_c_keeps_open_answers_and_says_how_to_go_on(folder: Path) -> None:
    with serving(slowly) as server:
        process = started(folder, server.url)
        waited(folder, 8)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 130
        assert b"Ctrl-C again drops them" in err
        assert b"the same command goes on" in out
        entries = read_log(folder / "labels.jsonl").entries
        assert len(entries) == sum(server.asked.values())  # every answer that was asked for is there
        assert started(folder, server.url).wait(30) == 0
    assert server.asked == Counter(f"d{i}" for i in range(60))


def test_a_second_program_does_not_write_to_the_same_log(folder: Path) -> None:
    released = threading.Event()

    def held(handler: BaseHTTPRequestHandler, doc: str, before: int) -> None:
        if sum(server.asked.values()) > 5:
            released.wait(30)
        well(handler, doc, before)

    with serving(held) as server:
        first = started(folder, server.url)
        waited(folder, 3)
        second = started(folder, server.url)
        _, err = second.communicate(timeout=30)
        released.set()
        assert second.returncode == 2
        assert b"is in use by another program" in err
        assert first.wait(30) == 0

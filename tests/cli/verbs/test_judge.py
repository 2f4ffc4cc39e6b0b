"""`cranfield judge`: from files to a database, and from the database to files."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cranfield.building.serve.project.judging import Judging
from cranfield.building.serve.project.judging_project import prepare, proposals_of, read_facets
from cranfield.building.serve.project.judgment_log import Entry
from cranfield.building.serve.project.store import Store
from cranfield.errors import CranfieldError, DataError, UsageError
from tests.building.serve.working import new_request
from tests.cli.conftest import Cranfield

TOPICS = "1\twing flutter\n2\tboundary layer\n"
POOL = "topic\tdoc\torder\trun\trank\n1\ta\t2\tbm25\t2\n1\tb\t1\tbm25\t1\n2\ta\t1\tbm25\t9\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("topics.tsv").write_text(TOPICS)
    Path("pool.tsv").write_text(POOL)
    Path("docs.jsonl").write_text("".join(json.dumps({"id": id, "text": f"text {id}"}) + "\n" for id in "abc"))
    return tmp_path


def ready(**more: Any) -> Store:
    store = Store("judgments.db")
    prepare(store, **{"topics": "topics.tsv", "pool": "pool.tsv", "docs": ("docs.jsonl",), **more})
    return store


def judge_all(store: Store, name: str = "me", grade: float = 1) -> list[tuple[str, str]]:
    from cranfield.building.serve.project.accounts import add_account

    add_account(store, name)
    judging, done = Judging(store, proposals_of(store)), []
    while offers := judging.offers(name).result(10).offers:
        one = offers[0]
        judging.judge(Entry(new_request(), one.topic, one.doc, name, grade=grade, offer=one.id)).result(10)
        done.append((one.topic, one.doc))
    return done


def test_the_pool_is_offered_in_its_order_and_keeps_its_audit_trail(files: Path) -> None:
    with ready(order="pool") as store:
        assert judge_all(store) == [("1", "b"), ("1", "a"), ("2", "a")]
        rows = store.database.read("SELECT doc, audit FROM pool WHERE topic = '1' ORDER BY position")
    assert [(doc, json.loads(audit)) for doc, audit in rows] == [
        ("b", {"order": 1, "run": "bm25", "rank": 1}),
        ("a", {"order": 2, "run": "bm25", "rank": 2}),
    ]


def test_the_database_alone_is_enough_the_next_time(files: Path) -> None:
    ready(overlap=2, title="Wings").close()
    with Store("judgments.db") as store:
        assert prepare(store) == []
        assert (store.settings().overlap, store.settings().title, store.pool_size()) == (2, "Wings", 3)
        assert prepare(store, docs=("docs.jsonl",)) == ["docs.jsonl: unchanged, documents are in the database"]


def test_the_command_line_sets_how_documents_are_handed_out() -> None:
    from cranfield.cli.verbs.judge.serve import ServeVerb

    given = {"budget": 500, "most_per_topic": 30, "share": "adaptive", "order": "pool"}
    settings = ServeVerb(database="judgments.db", **given).settings("prepare")
    assert {name: settings[name] for name in given} == given


def test_an_adaptive_method_chooses_by_the_judgments(files: Path) -> None:
    """Move-to-front: the run whose documents are relevant goes on, the other waits."""
    Path("good.run").write_text("".join(f"1 Q0 g{i} {i} {10 - i} good\n" for i in range(1, 6)))
    Path("bad.run").write_text("".join(f"1 Q0 x{i} {i} {10 - i} bad\n" for i in range(1, 6)))
    with Store("judgments.db") as store:
        runs = ("good.run", "bad.run")
        notes = prepare(store, topics="topics.tsv", runs=runs, method="move-to-front", order="pool")
        assert "move-to-front chooses from 10 documents of 2 runs" in notes
        from cranfield.building.serve.project.accounts import add_account

        add_account(store, "me")
        judging, order = Judging(store, proposals_of(store)), []
        for _ in range(10):
            one = judging.offers("me", most=1).result(10).offers[0]
            order.append(one.doc)
            grade = 1.0 if one.doc.startswith("g") else 0.0
            judging.judge(Entry(new_request(), "1", one.doc, "me", grade=grade), most=1).result(10)
            if len(order) == 4:  # a server that starts again learns from the log
                judging = Judging(store, proposals_of(store))
        assert [doc[0] for doc in order] != ["g", "x"] * 5
        assert order.index("g5") < order.index("x4")
        estimates = store.database.read("SELECT COUNT(estimate) FROM offer")
        assert estimates == [(10,)]


def test_lists_of_runs_are_compared_in_pairs(files: Path) -> None:
    for name, docs in {"one": "ab", "two": "bc", "three": "ab"}.items():
        Path(f"{name}.run").write_text("".join(f"1 Q0 {d} {i} {9 - i} {name}\n" for i, d in enumerate(docs, 1)))
    with Store("judgments.db") as store:
        runs = ("one.run", "two.run", "three.run")
        notes = prepare(store, topics="topics.tsv", docs=("docs.jsonl",), runs=runs, mode="preferences")
        assert "2 pairs of lists by 3 runs" in notes  # one and three have the same list
        assert sorted(doc for (doc,) in store.database.read("SELECT doc FROM pool")) == ["one | two", "three | two"]


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ({"topics": None}, "there are no topics; give a file of topics"),
        ({"pool": None}, "has no documents to judge; add a pool"),
        ({"pool": "wide.tsv"}, "the pool has 1 topic without a text: 9"),
        ({"overlap": 0}, "overlap == 0"),
        ({"most_per_topic": 0}, "most_per_topic == 0"),
        ({"budget": 1, "overlap": 2}, "budget == 1, must be at least the overlap, 2"),
        ({"share": "first"}, "share == 'first', must be one of 'equal', 'adaptive'"),
        ({"order": "rank"}, "order == 'rank', must be one of 'own', 'pool'"),
        ({"mode": "guess"}, "mode == 'guess', must be one of 'graded'"),
        ({"mode": "dimensions"}, "dimensions: there are none"),
        ({"mode": "intents"}, "mode intents: no intents for topic 1, 2"),
        ({"gold_rate": 0.9}, "gold_rate == 0.9, must be between 0 and 0.5"),
        ({"docs": ("none.jsonl",)}, "none.jsonl"),
        ({"docs": ("twice.jsonl",)}, "twice.jsonl:2: document 'a' appears twice, first on line 1"),
        ({"docs": ("bad.jsonl",)}, "bad.jsonl:1: not valid JSON"),
        ({"docs": ("nameless.jsonl",)}, "nameless.jsonl:1: no id of the document among text"),
        ({"docs": ("escape.jsonl",)}, "image '../../etc/passwd' is outside the folder"),
        ({"docs": ("pool.tsv",)}, "document 'a' appears twice, first on line 2"),
        ({"docs": ("plain.txt",)}, "neither JSON-lines nor a table"),
        ({"docs": ("empty",)}, "holds no documents; expected files that end in"),
        ({"docs": ("http://host/page",)}, "expected an address with {doc}"),
        ({"gold": "gold.qrels"}, "document 'a' of topic '1' has grade 7, which is not a grade of the project"),
        ({"runs": ("none.run",)}, "none.run"),
    ],
)
def test_wrong_files_and_settings_are_named(files: Path, sources: dict[str, Any], message: str) -> None:
    Path("wide.tsv").write_text("topic\tdoc\n9\ta\n")
    Path("twice.jsonl").write_text('{"id": "a"}\n{"id": "a"}\n')
    Path("bad.jsonl").write_text('{"id": \n')
    Path("nameless.jsonl").write_text('{"text": "x"}\n')
    Path("escape.jsonl").write_text('{"id": "a", "image": "../../etc/passwd"}\n')
    Path("plain.txt").write_text("only words\n")
    Path("gold.qrels").write_text("1 0 a 7\n")
    Path("empty").mkdir()
    with Store("judgments.db") as store, pytest.raises(CranfieldError) as error:
        prepare(store, **{"topics": "topics.tsv", "pool": "pool.tsv", **sources})
    assert message in str(error.value)


def test_the_mode_cannot_change_once_something_is_judged(files: Path) -> None:
    with ready() as store:
        judge_all(store)
        with pytest.raises(UsageError, match="already has judgments in mode 'graded'; start another database"):
            prepare(store, mode="dimensions", dimensions=("relevance",))


def test_documents_of_the_pool_without_a_text_are_counted(files: Path) -> None:
    Path("few.jsonl").write_text('{"id": "a", "text": "x"}\n')
    with Store("judgments.db") as store:
        notes = prepare(store, topics="topics.tsv", pool="pool.tsv", docs=("few.jsonl",))
    assert notes[-1] == "1 document of the pool without a text: b"


def test_a_folder_of_texts_pages_and_images(files: Path) -> None:
    from cranfield.building.serve.project.judging_project import read_documents

    folder = Path("texts")
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("plain")
    (folder / "sub" / "b.html").write_text("<p>page</p><script>x</script>")
    (folder / "c.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "notes.pdf").write_bytes(b"%PDF")
    found = {one.id: one for one in read_documents("texts")}
    assert {id: (one.kind, one.text) for id, one in found.items()} == {
        "a": ("text", "plain"),
        "sub/b": ("html", "page"),
        "c": ("image", ""),
    }
    (folder / "d.png").write_text("not an image")
    with pytest.raises(DataError, match="is missing or not one of"):
        list(read_documents("texts"))


def test_documents_of_a_dataset_of_ir_datasets(files: Path) -> None:
    """A dataset in local files, which ir_datasets itself reads."""
    import ir_datasets

    from cranfield.building.serve.project.judging_project import read_documents

    Path("dataset.tsv").write_text("a\tOn wing flutter.\nb\tOn heat.\n")
    ir_datasets.registry.register("cranfield-test", ir_datasets.create_dataset(docs_tsv="dataset.tsv"))
    with Store("judgments.db") as store:
        notes = prepare(store, topics="topics.tsv", pool="pool.tsv", docs=("irds:cranfield-test",))
        assert "2 document texts from irds:cranfield-test" in notes
        document = store.document("a")
        assert document is not None
        assert document.text == "On wing flutter."
        assert [one.id for one in store.search("heat")] == ["b"]
    ir_datasets.registry.register("cranfield-test/queries", ir_datasets.create_dataset(queries_tsv="dataset.tsv"))
    with pytest.raises(DataError, match="this dataset has no documents"):
        list(read_documents("irds:cranfield-test/queries"))
    with pytest.raises(DataError, match="ir_datasets has no such dataset"):
        list(read_documents("irds:cranfield-none"))


def test_facets_have_text_type_and_weight(files: Path) -> None:
    Path("intents.tsv").write_text(
        "topic\tintent\ttext\ttype\tweight\n1\ta\tthe causes\tinf\t0.7\n1\tb\ttests\tNAV\t0.3\n"
    )
    facets = read_facets("intents.tsv", "intent")
    assert [(one.id, one.text, one.type, one.weight) for one in facets] == [
        ("a", "the causes", "inf", 0.7),
        ("b", "tests", "nav", 0.3),
    ]
    Path("intents.tsv").write_text("1\ta\tx\tinf\tmany\n")
    with pytest.raises(DataError, match=r"intents.tsv:1: the weight is 'many', expected a number"):
        read_facets("intents.tsv", "intent")


# ---- the verbs


def test_status_export_import_and_backup(cranfield: Cranfield, files: Path) -> None:
    with ready() as store:
        judge_all(store, "anna", grade=2)
    done = cranfield("judge", "status", "judgments.db")
    assert done.code == 0
    assert "3 of 3 judgments (100%) of 3 documents" in done.out
    assert json.loads(cranfield("judge", "status", "judgments.db", "-f", "json").out)["counted"] == 3
    assert (
        cranfield("judge", "status", "judgments.db", "--show", "topics", "-f", "csv")
        .out.splitlines()[1]
        .startswith("1,2,2")
    )
    assert cranfield("judge", "export", "judgments.db").out == "1 0 b 2\n1 0 a 2\n2 0 a 2\n"
    assert cranfield("judge", "export", "judgments.db", "log", "-o", "log.jsonl").code == 0
    assert (
        cranfield("judge", "import", "judgments.db", "log.jsonl").out
        == "0 rows imported, 0 new assessors; 3 were there already\n"
    )
    assert cranfield("judge", "backup", "judgments.db", "copy.db").out == "copied to copy.db\n"
    assert cranfield("judge", "export", "copy.db").out == "1 0 b 2\n1 0 a 2\n2 0 a 2\n"
    evaluated = cranfield("judge", "export", "judgments.db", "-o", "qrels.txt")
    assert evaluated.code == 0
    Path("x.run").write_text("1 Q0 a 1 1 x\n2 Q0 a 1 1 x\n")
    assert "1.0000" in cranfield("eval", "qrels.txt", "x.run", "-m", "P@1").out


def test_accounts(cranfield: Cranfield, files: Path) -> None:
    ready().close()
    made = cranfield("judge", "account", "judgments.db", "olga", "--role", "organiser")
    assert re.fullmatch(r"olga \(organiser\): the password is \S{12}\n", made.out)
    Path("secret").write_text("a long password\nmore\n")
    assert cranfield("judge", "account", "judgments.db", "ben", "--password-file", "secret").out == "ben (assessor)\n"
    listed = cranfield("judge", "account", "judgments.db", "-f", "csv").out
    assert listed.splitlines()[1:] == ["ben,assessor,active,yes", "olga,organiser,active,yes"]
    assert cranfield("judge", "account", "judgments.db", "ben", "--off").out == "ben cannot log in any more\n"
    assert "no account 'nobody'" in cranfield("judge", "account", "judgments.db", "nobody", "--off").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["status", "none.db"], "error: none.db: the database does not exist"),
        (["status", "empty.db"], "error: empty.db: is empty, expected the database of a judging project"),
        (["export", "judgments.db", "all"], "what == 'all', must be one of qrels"),
        (["export", "judgments.db"], "there are no judgments to export\n"),
        (["export", "judgments.db", "labels"], "there are no judgments to export as labels"),
        (["export", "judgments.db", "--dimension", "x"], "a dimension applies only to dimension-qrels"),
        (["export", "judgments.db", "intents"], "only in mode intents"),
        (["import", "judgments.db", "pool.tsv"], "expected the log of a project; qrels need the name of"),
        (["backup", "judgments.db", "judgments.db"], "is the database itself"),
        (["status", "judgments.db", "--show", "agreement"], "no document was judged by two assessors"),
        (["serve", "judgments.db", "--host", "0.0.0.0"], "cranfield judge account judgments.db NAME --role organiser"),
        (["serve", "judgments.db", "--method", "max-mean"], "--method max-mean applies only to --runs"),
        (["serve", "judgments.db", "--grade-names", "one=1"], "grades: 'one=1', must be a number, '=' and a meaning"),
        (["serve", "judgments.db", "--grade-names", "12"], "grades: there are 12, must be 2 to 10"),
        (["serve", "new.db"], "there are no topics; give a file of topics; on the command line: --topics FILE"),
        (["serve", "topics.tsv"], "the database is damaged, or not a database"),
        (["serve", "judgments.db", "--certificate", "c.pem"], "TLS needs both a certificate and a key"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(cranfield: Cranfield, files: Path, words: list[str], message: str) -> None:
    ready().close()
    Path("empty.db").touch()
    done = cranfield("judge", *words)
    assert done.code in (1, 2)
    assert not Path("empty.db").stat().st_size
    assert message in done.err
    assert "bug" not in done.err


def test_a_server_starts_prints_its_address_and_stops_with_ctrl_c(files: Path) -> None:
    command = [sys.executable, "-m", "cranfield", "judge", "serve", "judgments.db", "--topics", "topics.tsv", "--pool"]
    command += ["pool.tsv", "--docs", "docs.jsonl", "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    line = server.stdout.readline()
    assert re.fullmatch(r"Judge at http://127\.0\.0\.1:\d+/enter\?key=\S{24}\n", line)
    again = subprocess.run([*command[:6], "--no-browser"], capture_output=True, text=True, timeout=60, check=False)
    assert again.returncode == 1
    assert "another server has this database open" in again.stderr
    os.kill(server.pid, signal.SIGINT)
    assert server.wait(20) in (0, 130)
    with sqlite3.connect("judgments.db") as connection:
        assert connection.execute("SELECT COUNT(*) FROM pool").fetchone() == (3,)


@pytest.mark.parametrize(("option", "documents", "mode"), [([], 310, "graded"), (["--by-intent"], 71, "intents")])
def test_the_demo_serves_the_sample_collection(
    files: Path, option: list[str], documents: int, mode: str, cranfield: Cranfield
) -> None:
    """310 and 71 are the documents in the first 10 of the four runs, counted in the loop below."""
    import cranfield as cf

    topics = {"103", "107", "111"} if option else {str(topic) for topic in range(101, 113)}
    runs = [cf.Run.read(path).to_dict() for path in cf.sample().runs]
    pool = {
        (topic, doc)
        for run in runs
        for topic in topics
        for doc in sorted(run[topic], key=lambda doc: (run[topic][doc], doc), reverse=True)[:10]
    }
    assert len(pool) == documents
    command = [sys.executable, "-m", "cranfield", "judge", "demo", *option, "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert server.stdout.readline().startswith("Judge at http://127.0.0.1:")
    os.kill(server.pid, signal.SIGINT)
    assert server.wait(20) in (0, 130)
    with Store("demo.db") as store:
        assert set(store.database.read("SELECT topic, doc FROM pool")) == pool
        without = store.database.read("SELECT doc FROM pool WHERE doc NOT IN (SELECT id FROM document)")
    assert without == []
    assert f"mode: {mode}" in cranfield("judge", "status", "demo.db").out


def test_a_server_with_tls(files: Path) -> None:
    import shutil
    import ssl
    import urllib.request

    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: no certificate can be made")
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "key.pem",
        "-out",
        "cert.pem",
        "-days",
        "2",
    ]
    subprocess.run([*made, *subject], check=True, capture_output=True)
    ready().close()
    command = [sys.executable, "-m", "cranfield", "judge", "serve", "judgments.db", "--no-browser", "--port", "0"]
    server = subprocess.Popen(
        [*command, "--certificate", "cert.pem", "--key", "key.pem"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        assert address.startswith("https://127.0.0.1:")
        trusted = ssl.create_default_context(cafile="cert.pem")
        with urllib.request.urlopen(
            address.partition("/enter")[0] + "/static/app.css", context=trusted, timeout=20
        ) as answer:
            assert answer.status == 200
    finally:
        server.terminate()
        server.wait(20)

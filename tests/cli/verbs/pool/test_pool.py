"""`cranfield pool` and its verbs, as users meet them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cranfield.building.pools.pool_file import Pool
from cranfield.building.pools.pooling import POLICIES
from tests.cli.conftest import Cranfield

QRELS = "1 0 a 1\n1 0 b 0\n1 0 c 1\n1 0 d 0\n2 0 e 1\n2 0 f 0\n"
X = "1 Q0 a 1 9 x\n1 Q0 b 2 8 x\n1 Q0 c 3 7 x\n2 Q0 e 1 9 x\n2 Q0 f 2 8 x\n"
Y = "1 Q0 d 1 9 y\n1 Q0 a 2 8 y\n2 Q0 f 1 9 y\n2 Q0 g 2 8 y\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"qrels.txt": QRELS, "x.run": X, "y.run": Y, "empty.run": "", "teams.txt": "x A\ny B\n"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_pool_is_printed_with_its_audit_trail(cranfield: Cranfield) -> None:
    done = cranfield("pool", "x.run", "y.run", "--depth", "1")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "topic\tdoc\torder\trun\trank\testimate",
        "1\ta\t1\tx\t1\t", "1\td\t2\ty\t1\t", "2\te\t1\tx\t1\t", "2\tf\t2\ty\t1\t",
    ]  # fmt: skip
    assert cranfield("pool", "build", "x.run", "y.run", "--depth", "1") == done


def test_a_file_gets_the_pool_and_the_terminal_its_size(cranfield: Cranfield) -> None:
    done = cranfield("pool", "x.run", "y.run", "--budget", "3", "--method", "rrf", "-o", "pool.tsv")
    assert done.code == 0
    assert [line.split() for line in done.out.splitlines()] == [
        ["topic", "documents"], ["1", "2"], ["2", "1"], ["(all", "topics)", "3"],
    ]  # fmt: skip
    pool = Pool.read("pool.tsv")
    assert (pool.docs("1"), pool.docs("2")) == (["a", "d"], ["f"])  # a and f are in both runs; d at 1, b at 2


@pytest.mark.parametrize("method", POLICIES)
def test_every_method_makes_a_pool(cranfield: Cranfield, method: str) -> None:
    done = cranfield("pool", "x.run", "y.run", "--method", method, "--most-per-topic", "2", "-o", "pool.tsv")
    assert done.code == 0, done.err
    pool = Pool.read("pool.tsv")
    assert pool.is_sample == POLICIES[method].samples
    assert len(pool.docs("1")) <= 2
    assert ("chooses each document by the judgments before it" in done.out) == POLICIES[method].adaptive


def test_judging_continues_from_the_judgments_so_far(cranfield: Cranfield, files: Path) -> None:
    (files / "so-far.qrels").write_text("1 0 d 0\n1 0 a 1\n2 0 z 1\n")
    words = ["pool", "x.run", "y.run", "--method", "max-mean", "--judged", "so-far.qrels", "--batch", "1"]
    done = cranfield(*words, "-o", "next.tsv")
    assert "1 judged document is in no list to this depth, and not counted: 2/z" in done.out
    pool = Pool.read("next.tsv")
    # Topic 1: x has a (relevant): 2/3, y has d and a: 2/4. So x proposes b.
    assert (pool.docs("1"), pool.run[0], pool.estimate[0]) == (["b"], "x", pytest.approx(2 / 3))


def test_from_a_sample_to_estimates_without_further_options(cranfield: Cranfield) -> None:
    done = cranfield(
        "pool", "x.run", "y.run", "--method", "stratified", "--strata-ranks", "1:1,3:0.5", "-o", "sample.tsv"
    )
    assert done.code == 0, done.err
    drawn = Pool.read("sample.tsv")
    lines = [f"{topic} 0 {doc} 1\n" for topic in drawn.topics for doc in drawn.docs(topic)]
    Path("judged.qrels").write_text("".join(lines))
    done = cranfield("pool", "join", "sample.tsv", "judged.qrels", "-o", "sampled.qrels")
    assert (done.code, done.err) == (0, "wrote sampled.qrels (121 bytes)\n")
    done = cranfield("eval", "sampled.qrels", "x.run", "y.run", "-m", "xinfAP,infNDCG,statAP", "-f", "json")
    assert done.code == 0, done.err
    assert "statAP" in json.dumps(json.loads(done.out))
    short = cranfield("pool", "join", "sample.tsv", "qrels.txt", "-o", "other.qrels")
    if short.code:
        assert "on the command line: --partial" in short.err


def test_holes_are_counted_and_written(cranfield: Cranfield) -> None:
    done = cranfield("pool", "holes", "qrels.txt", "y.run", "-k", "2", "-o", "holes.tsv")
    assert done.code == 0
    assert done.out.splitlines()[1].split() == ["y", "4", "1", "0.2500", "1"]
    assert Pool.read("holes.tsv").docs("2") == ["g"]
    done = cranfield("pool", "holes", "qrels.txt", "y.run", "-k", "2", "-q", "-f", "csv")
    assert done.out.splitlines() == ["run,topic,documents,unjudged", "y,1,2,0", "y,2,2,1"]


def test_contributions_by_run_and_team(cranfield: Cranfield) -> None:
    done = cranfield("pool", "contributions", "qrels.txt", "x.run", "y.run", "--pool-depth", "3", "-f", "csv")
    # x: a b c e f, of which b, c and e are its own (c, e relevant); y: d a f, of which d is its own.
    assert done.out.splitlines()[1:] == ["x,5,3,3,2,0.6666666666666666", "y,3,1,1,0,0.0"]
    done = cranfield("pool", "contributions", "qrels.txt", "x.run", "y.run", "--teams", "teams.txt", "-f", "csv")
    assert done.out.splitlines()[0].startswith("team,runs,")


def test_a_simulation_prints_a_table_and_draws_the_curves(cranfield: Cranfield) -> None:
    words = ["pool", "simulate", "--sample", "--methods", "depth,mm-ns(rate=0.25)", "--budgets", "5,20", "-m", "P@10"]
    done = cranfield(*words, "--plot", "curves.csv", "-f", "json")
    assert done.code == 0, done.err
    rows = json.loads(done.out)["rows"] if isinstance(json.loads(done.out), dict) else json.loads(done.out)
    assert [(row["method"], row["budget"]) for row in rows] == [
        ("depth", 5), ("depth", 20), ("mm-ns(rate=0.25)", 5), ("mm-ns(rate=0.25)", 20),
    ]  # fmt: skip
    assert rows[0]["judgments"] == 24 * 5
    assert rows[0]["significant"] == rows[0]["kept"] + rows[0]["lost"] + rows[0]["reversed"]
    assert -1 <= rows[0]["tau"] <= 1
    assert Path("curves.csv").read_text().splitlines()[0] == "method,judgments,share"


def test_the_group_has_an_overview_and_help_of_its_verbs(cranfield: Cranfield) -> None:
    done = cranfield("pool", "help")
    assert done.code == 0
    for verb in ("build", "join", "holes", "contributions", "simulate"):
        assert f"\n  {verb} " in done.out
    assert cranfield("pool", "--help").out.startswith("usage: cranfield pool RUN...")
    assert cranfield("help", "pool").out == cranfield("pool", "--help").out
    assert "did you mean 'simulate'" in cranfield("pool", "simulat").err
    Path("holess").write_text(X)  # a file is a file
    assert cranfield("pool", "holess").code == 0


BAD = [
    (("pool", "empty.run"), 1, "empty.run: is empty"),
    (("pool", "nothing.run"), 1, "nothing.run: no such file"),
    (("pool", "x.run", "--depth", "0"), 2, "--depth == 0, must be a whole number, 1 or more"),
    (("pool", "x.run", "--budget", "0"), 2, "--budget == 0, must be a whole number, 1 or more"),
    (("pool", "x.run", "--most-per-topic", "0"), 2, "--most-per-topic == 0"),
    (("pool", "x.run", "--method", "hegde"), 2, "no method 'hegde'; did you mean 'hedge'?"),
    (("pool", "x.run", "--method", "rbp(q=1)"), 2, "rbp: no parameter 'q'; there are 'p'"),
    (("pool", "x.run", "--method", "rrf", "--batch", "3"), 2, "applies only to adaptive methods"),
    (("pool", "x.run", "--method", "sample"), 2, "sample needs the number of documents to draw: give a budget"),
    (("pool", "x.run", "--method", "hedge", "--least-probability", "0.5"), 2, "is not a probability"),
    (
        ("pool", "x.run", "--method", "stratified", "--strata-ranks", "1:1,3:0.5", "--budget", "3"),
        2,
        "the shares of strata say how many documents are drawn, so that a budget has no effect",
    ),
    (("pool", "x.run", "--strata-ranks", "10"), 2, "strata apply only to the method stratified"),
    (
        ("pool", "x.run", "--method", "mm", "--least-probability", "2"),
        2,
        "--least-probability == 2.0, must be between 0 and 1",
    ),
    (("pool", "x.run", "--method", "mm", "--seed", "-1"), 2, "seed == -1, must be a whole number, 0 or more"),
    (("pool", "x.run", "--topic", "9"), 2, "no run has any of the topics 9"),
    (("pool", "qrels.txt"), 1, "these are judgments, expected a run"),
    (("pool", "x.run", "--judged", "y.run"), 1, "this is a run, expected judgments"),
    (("pool", "join", "x.run", "qrels.txt"), 1, "x.run:1: no column for the topic among 1, Q0"),
    (("pool", "holes", "qrels.txt", "x.run", "-k", "0"), 2, "--cutoff == 0"),
    (("pool", "simulate", "qrels.txt", "x.run", "y.run", "--budgets", "0"), 2, "expected whole numbers from 1 on"),
    (("pool", "simulate", "qrels.txt", "x.run", "y.run", "--methods", "mn"), 2, "no method 'mn'"),
    (("pool", "simulate", "qrels.txt", "x.run", "--methods", "depth"), 2, "run"),
    (("pool", "simulate", "qrels.txt", "x.run", "y.run", "--teams", "t", "--leave-out-runs"), 2, "exclude each other"),
    (("pool", "contributions", "qrels.txt", "x.run", "y.run", "--teams", "nothing"), 1, "no such file"),
]


@pytest.mark.parametrize(("words", "code", "message"), BAD, ids=[" ".join(words) for words, *_ in BAD])
def test_bad_input_is_a_clear_error(cranfield: Cranfield, words: tuple[str, ...], code: int, message: str) -> None:
    done = cranfield(*words)
    assert (done.code, done.out) == (code, ""), done.err
    assert message in done.err
    assert "bug" not in done.err


NOTED = [
    (("pool", "x.run", "y.run", "--budget", "99"), "the budget is 99, but the lists have 7 documents: all are"),
    (("pool", "x.run", "y.run", "--most-per-topic", "4"), "1 topic has fewer documents than the 4 per topic: 2"),
    (("pool", "x.run", "y.run", "--topic", "1,7"), "1 topic is in no run: 7"),
    (("pool", "x.run", "y.run", "--budget", "1"), "the budget is 1, fewer than the 2 topics: some topics have no"),
    (("pool", "x.run", "y.run", "--method", "mm", "--budget", "5", "--batch", "1"), "the budget leaves 3 for later"),
    (
        ("pool", "x.run", "y.run", "--method", "stratified", "--strata-ranks", "1:1"),
        "the last stratum, to rank 1, also has",
    ),
    (("pool", "x.run", "x.run"), "2 runs retrieve the same documents in the same order"),
    (("pool", "holes", "qrels.txt", "y.run"), "1 different document to judge"),
]


@pytest.mark.parametrize(("words", "note"), NOTED, ids=[note for _, note in NOTED])
def test_what_is_odd_is_counted(cranfield: Cranfield, words: tuple[str, ...], note: str) -> None:
    done = cranfield(*words)
    assert done.code == 0
    assert note in done.err + done.out


def test_a_file_of_topics_may_have_ids_with_blanks(cranfield: Cranfield) -> None:
    Path("blank.tsv").write_text("topic\tdoc\tscore\trun\na b\td 1\t2\tx\na\td2\t1\tx\n")
    Path("topics.tsv").write_text("a b\twhat is asked\n")
    done = cranfield("pool", "blank.tsv", "--topic", "topics.tsv")
    assert [line.split("\t")[:2] for line in done.out.splitlines()[1:]] == [["a b", "d 1"]]


def test_teams_may_be_named_by_the_files_of_runs(cranfield: Cranfield, files: Path) -> None:
    (files / "first.run").write_text(X)
    (files / "second.run").write_text(Y)
    (files / "teams.txt").write_text("first.run A\nsecond B\n")  # the runs are called x and y
    result = cranfield(
        "pool", "contributions", "qrels.txt", "first.run", "second.run", "--teams", "teams.txt", "-f", "csv"
    )
    assert result.code == 0
    # a, b, c, e and f of x; d, a and f of y (g is not judged); b, c and e only of x, d only of y
    head, *rows = (line.split(",") for line in result.out.splitlines())
    found = {row[head.index("team")]: [int(row[head.index(name)]) for name in ("judged", "unique")] for row in rows}
    assert found == {"A": [5, 3], "B": [3, 1]}

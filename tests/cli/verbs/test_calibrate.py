"""`cranfield clicks calibrate` and `cranfield clicks offpolicy`, as a user meets them."""

import json
from pathlib import Path

import numpy as np
import pytest

from cranfield.measures import MP, RBP, parse
from tests.cli.conftest import Cranfield

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")

ROWS = """query_id,user,time,query,position,doc,clicked
q1,ann,2026-01-05T10:00:00Z,cats,1,d1,1
q1,ann,2026-01-05T10:00:00Z,cats,2,d2,1
q1,ann,2026-01-05T10:00:00Z,cats,3,d3,0
q2,ann,2026-01-05T11:00:00Z,dogs,1,d4,1
q2,ann,2026-01-05T11:00:00Z,dogs,2,d5,0
q3,bob,2026-01-05T12:00:00Z,cats,1,d2,0
q3,bob,2026-01-05T12:00:00Z,cats,2,d1,1
"""


@pytest.fixture
def log(tmp_path: Path) -> str:
    (tmp_path / "log.csv").write_text(ROWS)
    return str(tmp_path / "log.csv")


def most_likely_p() -> float:
    """By trying all p and c in steps of a thousandth: clicks at 1 and 2 of 3 documents, at 1 of 2, and at 2 of 2."""
    p, c = np.meshgrid(np.arange(0.001, 1, 0.001), np.arange(0.001, 1, 0.001), indexing="ij")
    none_1 = 1 - p + p * (1 - c)  # no click on the next document; on the next two
    none_2 = 1 - p + p * (1 - c) * none_1
    likelihood = (p * c * c * none_1) * (c * none_1) * (p * c * (1 - c))
    some_of_2, some_of_3 = 1 - (1 - c) * none_1, 1 - (1 - c) * none_2
    place = np.unravel_index(np.argmax(likelihood / (some_of_3 * some_of_2**2)), p.shape)
    return float(p[place])


def persistence(name: str) -> float:
    measure = parse(name.strip())
    assert isinstance(measure, RBP)
    return measure.p


def test_the_name_is_ready_for_eval(cranfield: Cranfield, log: str) -> None:
    done = cranfield("clicks", "calibrate", log, "--measure", "RBP", "--name-only", "--quiet")
    assert done.code == 0
    assert persistence(done.out) == pytest.approx(most_likely_p(), abs=0.0015)


def test_json_has_every_parameter(cranfield: Cranfield, log: str) -> None:
    done = cranfield("clicks", "calibrate", log, "-m", "RBP", "-f", "json", "--quiet")
    content = json.loads(done.out)
    assert persistence(content["name"]) == pytest.approx(most_likely_p(), abs=0.0015)
    assert content["rows"][0]["value"] == pytest.approx(most_likely_p(), abs=0.0015)


def test_moves_are_written_for_MP(cranfield: Cranfield, log: str, tmp_path: Path) -> None:
    moves = tmp_path / "moves.tsv"
    assert cranfield("clicks", "calibrate", log, "--measure", "MP", "--moves", str(moves), "--quiet").code == 0
    assert moves.read_text().startswith("from\tto\tweight\n")
    # clicks at ranks 1, 2, 1, 2: both ranks are visited alike, precision is 1 and 1/2 · 2
    assert MP(transitions=str(moves)).of([0, 1]) == pytest.approx(1 / 2)


def test_topics_are_found_by_their_texts(cranfield: Cranfield, log: str, tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("7 0 d1 1\n7 0 d2 0\n8 0 d4 1\n")
    (tmp_path / "topics.tsv").write_text("7\tCats\n8\tdogs\n")
    qrels, topics = str(tmp_path / "qrels.txt"), str(tmp_path / "topics.tsv")
    wrong = cranfield("clicks", "calibrate", log, qrels, "--measure", "ERR")
    assert wrong.code == 1
    assert "--topics FILE" in wrong.err
    right = cranfield(
        "clicks", "calibrate", log, qrels, "--measure", "ERR", "--topics", topics, "--name-only", "--quiet"
    )
    # seen: d1, d2 (stop) | d4 (stop) | d2, d1 (stop): grade 0 stops 1 of 2, grade 1 2 of 3
    assert right.out == "ERR(probability={0:0.5,1:0.6667})\n"


def test_wrong_options(cranfield: Cranfield, log: str) -> None:
    assert "ERR has parameters by grade" in cranfield("clicks", "calibrate", log, "--measure", "ERR").err
    done = cranfield("clicks", "calibrate", log, "--measure", "RBP", "--moves", "x")
    assert done.code == 2
    assert "--moves is for MP, and RBP has no moves" in done.err


@pytest.fixture
def decisions(tmp_path: Path) -> str:
    path = tmp_path / "decisions.csv"
    path.write_text(
        "user,reward,propensity,new\n" + "".join(f"u{i},{i % 2},0.5,{0.25 + i % 2 / 2}\n" for i in range(400))
    )
    return str(path)


def test_an_estimate_and_its_verdict(cranfield: Cranfield, decisions: str) -> None:
    # weights 1/2 without and 3/2 with a reward: IPS and SNIPS are 3/4, ESS is 400 · 1² / ((1/4 + 9/4)/2) = 320
    done = cranfield("clicks", "offpolicy", decisions, "--policy", "new", "-f", "json")
    rows = {row["estimator"]: row for row in json.loads(done.out)["rows"]}
    assert done.code == 0
    assert rows["IPS"]["value"] == pytest.approx(0.75)
    assert rows["SNIPS"]["value"] == pytest.approx(0.75)
    assert rows["IPS"]["effective n"] == pytest.approx(320)
    assert (
        "new is better than the logged policy by SNIPS"
        in cranfield("clicks", "offpolicy", decisions, "--policy", "new").out
    )


def test_a_small_sample_is_refused_with_exit_code_1(cranfield: Cranfield, decisions: str) -> None:
    done = cranfield("clicks", "offpolicy", decisions, "--policy", "new", "--least-ess", "321")
    assert done.code == 1
    assert "refused, the effective sample size is 320.0 and must be 321 or more" in done.out


def test_bad_rows_are_an_error_with_a_way_out(cranfield: Cranfield, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("reward,propensity,new\n1,0,0.5\n0,0.5,0.5\n1,0.5,0.5\n")
    done = cranfield("clicks", "offpolicy", str(path), "--policy", "new")
    assert done.code == 1
    assert "1 row with a propensity of 0 or below of 3" in done.err
    assert "--bad RULE" in done.err
    assert cranfield("clicks", "offpolicy", str(path), "--policy", "new", "--bad", "skip", "--least-ess", "0").code == 0


def test_a_new_run_on_logged_clicks(cranfield: Cranfield, log: str, tmp_path: Path) -> None:
    (tmp_path / "new.run").write_text("cats Q0 d2 1 2 new\ncats Q0 d1 2 1 new\n")
    words = (
        "clicks",
        "offpolicy",
        log,
        "--run",
        str(tmp_path / "new.run"),
        "--examined",
        "1,0.5,0.25",
        "--least-ess",
        "0",
    )
    rows = {
        row["estimator"]: row["value"] for row in json.loads(cranfield(*words, "-f", "json", "--quiet").out)["rows"]
    }
    # q1: d1 at 1 moves to 2 (0.5/1), d2 at 2 moves to 1 (1/0.5); q3: d1 at 2 stays (0.5/0.5); two queries
    assert rows["IPS"] == pytest.approx((0.5 + 2 + 1) / 2)


def test_each_run_has_the_logged_value_of_its_own_queries(cranfield: Cranfield, log: str, tmp_path: Path) -> None:
    (tmp_path / "one.run").write_text("cats Q0 d2 1 2 one\ncats Q0 d1 2 1 one\n")
    (tmp_path / "two.run").write_text("cats Q0 d2 1 2 two\ndogs Q0 d3 1 1 two\n")
    words = ["clicks", "offpolicy", log, "--examined", "1,0.5,0.25", "--least-ess", "0", "-f", "json", "--quiet"]
    both = [word for name in ("one", "two") for word in ("--run", str(tmp_path / f"{name}.run"))]
    together = {row["policy"]: row["logged"] for row in json.loads(cranfield(*words, *both).out)["rows"]}
    alone = [json.loads(cranfield(*words, *both[i : i + 2]).out) for i in (0, 2)]
    assert together == {row["policy"]: one["logged"] for one in alone for row in one["rows"]}
    assert together["one"] != together["two"]
    table = cranfield(*words[:-3], *both).out
    assert "logged, rows of one" in table
    assert "logged, rows of two" in table


def test_policies_and_runs_need_their_options(cranfield: Cranfield, log: str) -> None:
    assert "give the new policies: --policy NAME, or --run FILE" in cranfield("clicks", "offpolicy", log).err
    assert "--run needs the probabilities of examination" in cranfield("clicks", "offpolicy", log, "--run", log).err


def test_a_log_of_two_applications_that_count_from_0_and_from_1_is_read_one_by_one(
    cranfield: Cranfield, log: str, tmp_path: Path
) -> None:
    header, *rows = ROWS.splitlines()
    shop = [f"{row},shop" for row in rows]
    from_zero = [
        ",".join([f"n{cells[0]}", *cells[1:4], str(int(cells[4]) - 1), *cells[5:], "news"])
        for cells in (row.split(",") for row in rows)
    ]
    both = tmp_path / "both.csv"
    both.write_text("\n".join([f"{header},application", *shop, *from_zero]) + "\n")
    wrong = cranfield("clicks", "calibrate", str(both), "--measure", "RBP")
    assert wrong.code == 1
    assert "--application NAME" in wrong.err or "--first-position N" in wrong.err
    for options in (["--application", "shop"], ["--application", "news", "--first-position", "0"]):
        right = cranfield("clicks", "calibrate", str(both), "--measure", "RBP", "--name-only", "--quiet", *options)
        assert right.code == 0
        assert persistence(right.out) == pytest.approx(most_likely_p(), abs=0.0015)

"""`cranfield ab`: files in, tables, verdicts and exit codes out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cranfield.online.experiments.assignment import Experiment
from tests.cli.conftest import Cranfield
from tests.online.experiments.data import users


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("ab") / "users.csv"
    users(2_000, effect=0.3).to_csv(path, index=False)
    return str(path)


def test_analyse_prints_table_verdict_and_notes(cranfield: Cranfield, table: str) -> None:
    done = cranfield("ab", "analyse", table, "--metric", "revenue,share(bought)", "--metric", "clicks/impressions")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "B against A"
    assert lines[1].split()[:5] == ["metric", "arm", "A", "value", "difference"]
    assert [line.split()[0] for line in lines[2:5]] == ["revenue", "share(bought)", "clicks/impressions"]
    assert lines[5].startswith("verdict: B is better than A: revenue changes by +")


def test_a_mismatch_is_the_first_line_and_the_exit_code(cranfield: Cranfield, table: str) -> None:
    done = cranfield("ab", "analyse", table, "--metric", "revenue", "--share", "A=0.8", "--share", "B=0.2")
    assert done.code == 1
    assert done.out.startswith("SAMPLE-RATIO MISMATCH: users are A ")
    as_json = cranfield("ab", "analyse", table, "--metric", "revenue", "--share", "A=0.8,B=0.2", "-f", "json")
    assert as_json.code == 1
    data = json.loads(as_json.out)
    assert data["sample_ratio"]["mismatch"] is True
    assert data["verdict"].startswith("do not decide on this experiment")


def test_analyse_shows_segments_and_draws(cranfield: Cranfield, table: str, tmp_path: Path) -> None:
    words = ["--unit", "user", "--segment", "country", "--covariate", "revenue=revenue_before", "--cap", "revenue=p99"]
    figure = tmp_path / "effects.svg"
    done = cranfield("ab", "analyse", table, "--metric", "revenue", *words, "--plot", str(figure), "--why")
    assert done.code == 0
    assert "\nEffects by segment\n" in done.out
    assert "caution: 3 comparisons of segments" in done.out
    assert "CUPED: covariates remove" in done.out
    assert "revenue capped at" in done.out
    assert figure.read_text().startswith("<svg")
    both = cranfield("ab", "analyse", table, "--metric", "revenue", "--segment", "country", "-f", "json")
    assert len(json.loads(both.out)["segments"]["rows"]) == 3


def test_analyse_writes_a_report(cranfield: Cranfield, table: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    words = ["--metric", "revenue,share(bought)", "--segment", "country"]
    assert cranfield("ab", "analyse", table, *words, "--report", str(path)).code == 0
    page = path.read_text("utf-8")
    assert re.findall(r'<section class="part" id="(\w+)">', page) == ["verdict", "effects", "segments", "methods"]
    assert "<p>B is better than A: revenue changes by +" in page
    assert 'data-save="effects.csv"' in page
    assert not re.search(r"(src|href)=\"(?!#)|https?:", page)
    wrong = cranfield("ab", "analyse", table, *words, "--report", str(tmp_path / "none" / "r.html"))
    assert wrong.code == 2
    assert "does not exist" in wrong.err


def test_analyse_names_the_way_out(cranfield: Cranfield, table: str) -> None:
    nothing = cranfield("ab", "analyse", table)
    assert (nothing.code, nothing.out) == (2, "")
    assert "name one with --metric" in nothing.err
    boot = cranfield("ab", "analyse", table, "--metric", "revenue", "--method", "bootstrap")
    assert boot.code == 2
    assert "--unit COLUMN" in boot.err
    look = cranfield("ab", "analyse", table, "--metric", "revenue", "--sequential", "pocock")
    assert look.code == 2
    assert "--look N" in look.err
    missing = cranfield("ab", "analyse", table + ".gone", "--metric", "revenue")
    assert missing.code != 0
    assert "users.csv.gone" in missing.err
    arm = cranfield("ab", "analyse", table, "--metric", "revenue", "--arm", "arms")
    assert "no column 'arms'; did you mean 'arm'?" in arm.err


def test_sequential_looks(cranfield: Cranfield, table: str) -> None:
    words = ["--sequential", "lan-demets-of", "--looks", "0.2,0.5,1", "--look", "2"]
    done = cranfield("ab", "analyse", table, "--metric", "revenue", *words, "--why")
    assert "group-sequential: lan-demets-of, look 2 at fractions 0.2, 0.5 of the planned users" in done.out
    wrong = cranfield("ab", "analyse", table, "--metric", "revenue", "--sequential", "pocock", "--looks", "2,3")
    assert "--looks 2,3: expected a number of looks, or shares such as 0.2,0.5,1" in wrong.err


def test_assign_reads_ids_and_prints_arms(cranfield: Cranfield, tmp_path: Path) -> None:
    ids = [f"u{i}" for i in range(50)]
    words = ["ab", "assign", "-", "--experiment", "x", "--share", "A=1,B=3", "--exposure", "0.5", "--salt", "s"]
    done = cranfield(*words, stdin="\n".join([*ids, "", ""]).encode())
    experiment = Experiment("x", {"A": 1, "B": 3}, 0.5, salt="s")
    expected = [experiment.arm(user) for user in ids]
    assert done.code == 0
    assert done.out.splitlines() == [f"{user}\t{arm or ''}" for user, arm in zip(ids, expected, strict=True)]
    counts = {arm: expected.count(arm) for arm in ("A", "B", None)}
    summary = f"50 users: A {counts['A']}, B {counts['B']}, not in the experiment {counts[None]}\n"
    assert done.err == summary
    path = tmp_path / "ids.txt"
    path.write_text("\n".join(ids))
    inside = cranfield("ab", "assign", str(path), *words[3:], "--only-in", "-f", "json", "--quiet")
    assert inside.err == ""
    assert [json.loads(line)["arm"] for line in inside.out.splitlines()] == [arm for arm in expected if arm]
    table = cranfield("ab", "assign", str(path), *words[3:], "--counts", "-f", "csv")
    assert table.out.splitlines()[1:3] == [f"{arm},{counts[arm]},{counts[arm] / 50}" for arm in "AB"]


def test_assign_counts_a_repeated_id_once(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("7\n7\n8\n")
    done = cranfield("ab", "assign", str(tmp_path / "ids.txt"), "--experiment", "x", "--share", "A=1")
    assert done.out.splitlines() == ["7\tA", "7\tA", "8\tA"]
    assert done.err.splitlines() == [
        "warning: 1 line with an id that appears before; each user is counted once",
        "2 users: A 2",
    ]


def test_options_of_designs_need_their_design(cranfield: Cranfield, table: str) -> None:
    looks = cranfield("ab", "analyse", table, "--metric", "revenue", "--looks", "3")
    assert looks.code == 2
    assert "--looks 3 needs a group-sequential design" in looks.err
    tuned = cranfield("ab", "analyse", table, "--metric", "revenue", "--tuned-for", "500")
    assert tuned.code == 2
    assert "--tuned-for 500 needs --sequential always-valid" in tuned.err


def test_assign_warns_of_a_table(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "ids.csv").write_text("user,country\nu1,de\nu2,fr\n")
    done = cranfield("ab", "assign", str(tmp_path / "ids.csv"), "--experiment", "x")
    assert done.err.startswith("warning: every line has several columns, and all of 'user,country' is taken as one id")


def test_assign_refuses_what_makes_no_sense(cranfield: Cranfield) -> None:
    assert "missing option --experiment" in cranfield("ab", "assign", "-", stdin=b"u1\n").err
    empty = cranfield("ab", "assign", "-", "--experiment", "x", stdin=b"\n")
    assert (empty.code, empty.err) == (1, "error: standard input: no ids, expected one per line\n")
    slot = cranfield("ab", "assign", "-", "--experiment", "x", "--slot", "0.2", stdin=b"u\n")
    assert "--slot == [0.2], must be two numbers, such as 0,0.3" in slot.err


def test_power_and_aa(cranfield: Cranfield, table: str, tmp_path: Path) -> None:
    power = cranfield("ab", "power", table, "--metric", "revenue", "--effect", "0.05", "--users", "1000,2000")
    assert (power.code, power.err) == (0, "")
    assert "revenue: a change of 5% needs " in power.out
    assert len(json.loads(cranfield("ab", "power", table, "--metric", "revenue", "-f", "json").out)["rows"]) == 6
    splits = cranfield("ab", "aa", table, "--unit", "user", "--metric", "bought", "--splits", "100")
    assert (splits.code, splits.err) == (0, "")
    assert "verdict: A/A splits are significant about as often as they should be" in splits.out
    for verb, words in (("power", []), ("aa", ["--unit", "user", "--splits", "50"])):
        figure = tmp_path / f"{verb}.svg"
        assert cranfield("ab", verb, table, "--metric", "revenue", *words, "--plot", str(figure)).code == 0
        assert figure.exists()
    assert "name it with --unit" in cranfield("ab", "aa", table, "--metric", "revenue").err


def test_assign_refuses_a_file_that_is_not_text(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "users.parquet").write_bytes(b"PAR1\x00\x01u1")
    result = cranfield("ab", "assign", str(tmp_path / "users.parquet"), "--experiment", "x")
    assert (result.code, result.out) == (1, "")
    assert "is not text, expected an id per line" in result.err


def test_the_options_that_the_messages_about_positions_name_exist(cranfield: Cranfield, tmp_path: Path) -> None:
    rows = ["query_id,user,time,query,position,doc,clicked,application"]
    for user in range(30):
        for name, first in (("shop", 1), ("news", 0)):
            asked = f"{name}{user},u{user},2026-01-05T10:{user:02}:00Z,cats"
            rows += [f"{asked},{first + k},d{k},{int(user % 3 == k)},{name}" for k in range(2)]
    log = tmp_path / "log.csv"
    log.write_text("\n".join(rows) + "\n")
    wrong = cranfield("ab", "power", str(log), "-m", "CTR")
    assert wrong.code == 1
    assert "--application NAME" in wrong.err or "--first-position N" in wrong.err
    for options in (["--application", "shop"], ["--application", "news", "--first-position", "0"]):
        done = cranfield("ab", "power", str(log), "-m", "CTR", "--users", "100", "-f", "json", *options)
        assert json.loads(done.out)["rows"][0]["mean"] == pytest.approx(1 / 3)
    lost = cranfield("ab", "power", str(log), "--metric", "clicked", "--first-position", "0")
    assert (lost.code, lost.err) == (2, "error: --first-position needs -m CTR or another online measure, or --oec\n")


def test_a_measure_of_a_log_names_the_columns_of_a_table_of_units(cranfield: Cranfield, table: str) -> None:
    wrong = cranfield("ab", "analyse", table, "-m", "CTR@5")
    assert wrong.code == 2
    assert "is a table of units, and CTR@5 is measured on a log of queries; -m names columns here: " in wrong.err
    by_measure, by_metric = (
        cranfield("ab", "analyse", table, option, "revenue", "-f", "json").out for option in ("-m", "--metric")
    )
    assert by_measure == by_metric != ""


def test_turning_weights_need_an_oec(cranfield: Cranfield) -> None:
    result = cranfield("ab", "analyse", "log", "-m", "CTR", "--show", "turning-weights")
    assert "is for a weighted sum of measures; give it: --oec FILE" in result.err

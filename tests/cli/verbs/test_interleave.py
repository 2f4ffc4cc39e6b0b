"""`cranfield interleave`: make, simulate, analyse, power, reuse."""

import json
from pathlib import Path

import pytest

from cranfield.collection.run import read_runs
from cranfield.online.interleaving import read_records, reuse_history
from cranfield.samples import sample

from ..conftest import Cranfield

FILES = [sample().qrels, *list(sample().runs)[:2]]


def test_make_writes_a_record_for_each_topic_and_the_same_again(cranfield: Cranfield, tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    for path in paths:
        result = cranfield("interleave", "make", *FILES[1:], "--length", "5", "--seed", "3", "-o", path)
        assert result.code == 0
        assert "24 lists of 24 topics written to" in result.out
    first, second = (Path(path).read_text() for path in paths)
    assert first == second
    record = json.loads(first.splitlines()[0])
    assert record["systems"] == ["bm25", "coord"]
    assert len(record["shown"]) == 5
    assert {place["team"] for place in record["shown"]} == {"bm25", "coord"}


def test_make_prints_records_without_an_output(cranfield: Cranfield) -> None:
    result = cranfield(
        "interleave", "make", *FILES[1:], "--method", "probabilistic(tau=1)", "--topic", "101", "--copies", "2"
    )
    records = [json.loads(line) for line in result.out.splitlines()]
    assert [record["query"] for record in records] == ["101", "101"]
    assert {record["method"] for record in records} == {"probabilistic(tau=1)"}
    assert records[0]["seed"] != records[1]["seed"]


def test_a_simulated_log_is_analysed(cranfield: Cranfield, tmp_path: Path) -> None:
    log, plot = str(tmp_path / "log.jsonl"), str(tmp_path / "power.csv")
    words = ["--methods", "team-draft", "--impressions", "600", "--write-log", log, "--users", "50", "--plot", plot]
    simulated = cranfield("interleave", "simulate", *FILES, *words, "-f", "json", "--quiet")
    assert simulated.code == 0
    row = json.loads(simulated.out)["rows"][0]
    assert Path(plot).read_text().startswith("series,impressions,power")
    analysed = cranfield("interleave", "analyse", log, "-f", "json", "--plot", str(tmp_path / "matrix.csv"))
    whole = json.loads(analysed.out)
    pair = whole["rows"][0]
    assert [pair[name] for name in ("wins", "ties", "losses")] == [row[name] for name in ("wins", "ties", "losses")]
    assert whole["verdict"].startswith(f"{pair['better'] or 'No difference'} ")
    on_engine = json.loads(cranfield("interleave", "analyse", log, "-f", "json", "--engine", "duckdb").out)
    assert on_engine["rows"] == whole["rows"]
    power = cranfield("interleave", "power", log, "--delta", "0.05", "-f", "json")
    assert json.loads(power.out)["ties"] == pytest.approx(pair["ties"] / 600)


def test_the_matrix_has_a_row_for_each_system(cranfield: Cranfield, tmp_path: Path) -> None:
    log = str(tmp_path / "log.jsonl")
    cranfield(
        "interleave",
        "simulate",
        "--sample",
        "--methods",
        "pairwise",
        "--impressions",
        "100",
        "--write-log",
        log,
        "--quiet",
    )
    result = cranfield("interleave", "analyse", log, "--show", "matrix", "-f", "csv")
    assert result.out.splitlines()[0] == "Δ of row over column,bm25,coord,dense,fusion"
    assert len(result.out.splitlines()) == 5


def test_power_by_hand(cranfield: Cranfield) -> None:
    """Δ = 0.05, half ties: wins 0.3, losses 0.2. (1.95996 √0.5 + 0.84162 √0.49)² / 0.01 = 390.1."""
    result = cranfield("interleave", "power", "--delta", "0.05", "--tied", "0.5", "-f", "csv", "--quiet")
    assert result.out.splitlines()[1].split(",")[3] == "391.0"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["simulate", *FILES, "--methods", "team-daft"],
            "no method of interleaving 'team-daft'; did you mean 'team-draft'?",
        ),
        (["simulate", *FILES, "--user", "perfekt"], "no user 'perfekt'; did you mean 'perfect'?"),
        (["simulate", *FILES, "--write-log", "x.jsonl"], "--write-log writes one experiment"),
        (["make", *FILES[1:2]], "1 list, interleaving needs two or more"),
        (["make", *FILES[1:], "--length", "0"], "--length == 0, must be a whole number"),
        (["make", *FILES[1:], *FILES[1:], "--method", "balanced"], "4 lists, but it takes two"),
        (["power", "--delta", "0.9"], "must be above 0 and at most 0.5"),
        (["power", "--delta", "big"], "--delta big: expected numbers separated by commas"),
        (["power", "--delta", "0.1", "--clicks", FILES[0]], "--clicks belongs to a LOG"),
    ],
)
def test_errors_name_the_option_and_the_way_out(cranfield: Cranfield, words: list[str], message: str) -> None:
    result = cranfield("interleave", *words)
    assert result.code == 2
    assert message in result.err


def test_a_log_without_clicks_points_to_the_option(cranfield: Cranfield, tmp_path: Path) -> None:
    lists = str(tmp_path / "lists.jsonl")
    cranfield("interleave", "make", *FILES[1:], "-o", lists)
    result = cranfield("interleave", "analyse", lists)
    assert result.code == 1
    assert "a record without 'clicks'" in result.err
    assert "--clicks FILE" in result.err
    (tmp_path / "clicks.csv").write_text("query_id,position\ni1,1\ni2,3\n")
    assert cranfield("interleave", "analyse", lists, "--clicks", str(tmp_path / "clicks.csv")).code == 0


def test_clicks_users_and_queries_come_from_a_log_of_live_traffic(cranfield: Cranfield, tmp_path: Path) -> None:
    """Three lists; clicks on the first document of each, by two users."""
    lists = str(tmp_path / "lists.jsonl")
    cranfield("interleave", "make", *FILES[1:], "--topic", "101,102,103", "-o", lists)
    shown = [json.loads(line)["shown"] for line in Path(lists).read_text().splitlines()]
    queries = [
        {"query_id": f"i{n}", "user_id": f"u{n % 2}", "timestamp": f"2026-01-0{n}T10:00Z", "user_query": f"words {n}",
         "query_response_hit_ids": [place["doc"] for place in places]}
        for n, places in enumerate(shown, 1)
    ]  # fmt: skip
    events = [
        {"query_id": f"i{n}", "user_id": f"u{n % 2}", "timestamp": f"2026-01-0{n}T10:00:09Z", "action_name": "click",
         "event_attributes": {"object": {"object_id": places[0]["doc"]}, "position": {"ordinal": 1}}}
        for n, places in enumerate(shown, 1)
    ]  # fmt: skip
    (tmp_path / "traffic").mkdir()
    for name, rows in (("queries", queries), ("events", events)):
        (tmp_path / "traffic" / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    result = cranfield("interleave", "analyse", lists, "--traffic", str(tmp_path / "traffic"), "-f", "json", "--quiet")
    assert result.code == 0, result.err
    whole = json.loads(result.out)
    wins = [places[0]["team"] for places in shown].count("bm25")
    assert [whole["rows"][0][name] for name in ("wins", "ties", "losses")] == [wins, 0, 3 - wins]
    assert "3 impressions, 2 users, 3 queries" in whole["notes"]


def test_old_clicks_are_used_for_new_runs(cranfield: Cranfield, tmp_path: Path) -> None:
    log, old = str(tmp_path / "log.jsonl"), [word for run in FILES[1:] for word in ("--old", run)]
    words = ["--methods", "probabilistic(tau=1)", "--impressions", "200", "--write-log", log, "--users", "20"]
    assert cranfield("interleave", "simulate", *FILES, *words, "--quiet").code == 0
    # the old runs again: every weight is 1, and the difference is that of the log itself
    again = json.loads(cranfield("interleave", "reuse", log, *FILES[1:], *old, "-f", "json", "--quiet").out)
    pair = json.loads(cranfield("interleave", "analyse", log, "-f", "json", "--quiet").out)["rows"][0]
    assert (again["impressions"], again["effective"]) == (200, pytest.approx(200))
    assert again["difference"] == pytest.approx(pair["credit"])
    # the same by hand for a run that was not shown
    third = list(sample().runs)[2]
    done = cranfield("interleave", "reuse", log, third, FILES[1], *old, "-f", "json", "--quiet")
    runs = read_runs([*FILES[1:], third])
    first = {(run.name, topic): run.ordered_docs(topic)[:10] for run in runs for topic in run.topics}
    history = [
        (
            {name: first[name, str(one.query)] for name in one.record.systems},
            one.record.documents,
            {click if isinstance(click, str) else one.record.documents[click - 1] for click in one.clicks or ()},
            {run.name: first[run.name, str(one.query)] for run in (runs[2], runs[0])},
        )
        for one in read_records(log)
        if all((run.name, str(one.query)) in first for run in runs)
    ]
    expected = reuse_history(history, tau=1.0)
    row = json.loads(done.out)
    assert (row["difference"], row["effective"]) == (
        pytest.approx(expected.difference),
        pytest.approx(expected.effective),
    )


def test_lists_that_were_not_mixed_are_not_used_again(cranfield: Cranfield, tmp_path: Path) -> None:
    log = str(tmp_path / "log.jsonl")
    old = [word for run in FILES[1:] for word in ("--old", run)]
    make = ["interleave", "make", *FILES[1:], "--topic", "101", "-o", log, "--quiet"]
    empty = tmp_path / "clicks.csv"
    empty.write_text("query_id,doc\n")
    reuse = ["interleave", "reuse", log, *FILES[1:], "--clicks", str(empty)]
    cranfield(*make, "--method", "team-draft")
    assert "only lists of probabilistic can be used again" in cranfield(*reuse, *old).err
    cranfield(*make, "--method", "probabilistic", "--depth", "20")
    done = cranfield(*reuse, *old)
    assert "are not those that were mixed" in done.err
    assert "--depth N" in done.err
    assert cranfield(*reuse, *old, "--depth", "20").code == 0
    assert "must be two" in cranfield("interleave", "reuse", log, FILES[1], *old).err
    assert "--old RUN --old RUN" in cranfield("interleave", "reuse", log, *FILES[1:]).err


def test_power_of_a_log_of_ties_needs_their_share(cranfield: Cranfield, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    cranfield("interleave", "make", *FILES[1:], "--length", "3", "-o", str(log))
    records = [{**json.loads(line), "clicks": []} for line in log.read_text().splitlines()]
    log.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    result = cranfield("interleave", "power", str(log), "--delta", "0.02")
    assert (result.code, "all impressions are ties" in result.err) == (2, True)
    assert cranfield("interleave", "power", str(log), "--delta", "0.02", "--tied", "0.5").code == 0


def test_the_verb_makes_lists_and_reads_their_clicks(cranfield: Cranfield, tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    run.write_text("".join(f"1 Q0 d{n} {n} {9 - n} a\n" for n in range(1, 6)))
    log = tmp_path / "lists.jsonl"
    cranfield("interleave", "pairs", str(run), "--copies", "3", "-o", str(log))
    made = log.read_text().splitlines()
    assert len(made) == 3
    log.write_text("".join(line[:-1] + ', "clicks": [2]}\n' for line in made))
    from cranfield.online.interleaving.fair_pairs import fair_lists, read_fair_lists

    assert [own.documents for own in read_fair_lists(log)] == [own.documents for own in fair_lists(str(run), copies=3)]
    assert "3 lists, 3 with clicks" in cranfield("interleave", "pairs", "--log", str(log), "--why").out

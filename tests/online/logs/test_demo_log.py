"""The simulated log: its truth is what its rows say, and its probabilities are those it was made with."""

from typing import Any

import narwhals as nw
import numpy as np
import pytest

from cranfield.errors import DataError, UsageError
from cranfield.online.logs import Log, demo_world, simulate_log, write_demo
from cranfield.online.logs.demo_world import ATTRACTION, make_world


def counted(log: Log, frame: Any, *conditions: Any) -> dict[str, int]:
    """The rows of a frame by arm."""
    arms = log.queries.select("query_id", "arm")
    joined = frame.join(arms, on="query_id") if "arm" not in frame.collect_schema().names() else frame
    kept = joined.filter(*conditions) if conditions else joined
    rows = log.engine.fetch(kept.group_by("arm").agg(nw.len().alias("n"))).to_pylist()
    return {row["arm"]: row["n"] for row in rows}


@pytest.fixture(scope="module")
def log() -> Log:
    return simulate_log(users=3000, days=7, seed=11)


def test_the_truth_is_what_the_rows_say(log: Log) -> None:
    table = {name: dict(zip("AB", column.tolist(), strict=True)) for name, column in log.truth.counts.items()}
    assert counted(log, log.queries) == table["queries"]
    assert counted(log, log.queries.unique(subset=["session"])) == table["sessions"]
    for name, action in (("clicks", "click"), ("hovers", "hover"), ("conversions", "conversion")):
        assert counted(log, log.events, nw.col("action") == action) == table[name]
    assert counted(log, log.events, nw.col("dwell") >= 30) == table["satisfied clicks"]
    revenue = log.engine.fetch(log.events.select(nw.col("value").sum()))["value"][0].as_py()
    assert revenue == pytest.approx(sum(table["revenue"].values()))
    assert sum(table["users"].values()) == 3000


def test_arms_have_equal_shares_and_users_stay_in_theirs(log: Log) -> None:
    a = int(log.truth.counts["users"][0])
    assert abs(a - 1500) < 4 * np.sqrt(3000 / 4)  # four standard errors of a fair coin
    arms = log.queries.group_by("user").agg(nw.col("arm").n_unique().alias("n"))
    assert log.engine.fetch(arms.select(nw.col("n").max()))["n"][0].as_py() == 1


def test_clicks_have_the_probabilities_of_the_truth(log: Log) -> None:
    """A document of grade g at position r, not on a phone: attraction(g) / r, unless the page itself has an answer."""
    world = make_world(users=3000, days=7, seed=11)
    grade = {}  # of (arm, text, document)
    for arm, variant, topic in np.ndindex(world.grades.shape[:3]):
        text = world.texts[topic * world.grades.shape[1] + variant]
        for doc, value in zip(world.documents[arm, variant, topic], world.grades[arm, variant, topic], strict=True):
            grade["AB"[arm], text, f"d{doc}"] = value
    answered = {world.texts[t * world.grades.shape[1] + v] for t in np.flatnonzero(world.answered) for v in range(3)}
    about = log.queries.filter(nw.col("device") != "phone").select("query_id", "arm", "text")
    clicks = log.events.filter(nw.col("action") == "click").select("query_id", "doc", clicked=nw.lit(1))
    joined = log.shown.join(about, on="query_id").join(clicks, on=["query_id", "doc"], how="left")
    rows = log.engine.fetch(joined.select("arm", "text", "doc", "position", "clicked")).to_pylist()
    shown, clicked = np.zeros((4, 10)), np.zeros((4, 10))
    for row in rows:
        if row["text"] not in answered:
            cell = grade[row["arm"], row["text"], row["doc"]], row["position"] - 1
            shown[cell] += 1
            clicked[cell] += row["clicked"] or 0
    expected = ATTRACTION[:, None] / np.arange(1, 11)
    error = np.sqrt(expected * (1 - expected) / shown)
    assert shown.min() > 50
    assert np.abs(clicked / shown - expected).max() < 0.1
    assert (np.abs(clicked / shown - expected) < 4 * error).all()


def test_the_better_ranker_gets_more_clicks_and_an_equal_one_does_not(log: Log) -> None:
    def rates(**settings: Any) -> list[float]:
        truth = simulate_log(users=3000, days=7, seed=11, **settings).truth.counts
        return (truth["clicks"] / truth["queries"]).tolist()

    first, second = rates()
    assert second > first * 1.1
    first, second = rates(effect=0.0)
    assert second == pytest.approx(first, rel=0.08)
    plain, novel = rates(effect=0.0)[1], rates(effect=0.0, novelty=1.0)[1]
    assert novel > plain * 1.1


def test_weekends_have_less_traffic(log: Log) -> None:
    day = (nw.col("time") // 86_400_000_000).alias("day")
    rows = log.engine.fetch(log.queries.group_by(day).agg(nw.len().alias("n")).sort("day")).to_pylist()
    counts = [row["n"] for row in rows][:7]  # from Monday on
    assert max(counts[5:]) < min(counts[:4])


def test_batches_do_not_change_who_is_in_which_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    one = simulate_log(users=60, days=3, seed=1)
    monkeypatch.setattr("cranfield.online.logs.demo_log.USERS_PER_BATCH", 20)
    three = simulate_log(users=60, days=3, seed=1)
    assert demo_world.USERS_PER_BATCH > 60
    assert one.truth.counts["users"].tolist() == three.truth.counts["users"].tolist()
    for frame in (three.queries, three.events):
        ids = three.engine.fetch(frame)["query_id"].to_pylist()
        assert len(ids) > 20
    ids = three.engine.fetch(three.queries)["query_id"].to_pylist()
    assert sorted(ids) == sorted(f"q{n}" for n in range(len(ids)))  # numbers go on from batch to batch
    sessions = three.engine.fetch(three.queries.select("session").unique())["session"].to_pylist()
    assert sorted(sessions) == sorted(f"s{n}" for n in range(int(three.truth.counts["sessions"].sum())))


def test_wrong_settings_are_errors(tmp_path: Any) -> None:
    with pytest.raises(UsageError, match="days == 0"):
        simulate_log(days=0)
    with pytest.raises(UsageError, match=r"2,100,000,000 sessions in memory at a time .*, must be at most 5,000,000"):
        simulate_log(sessions_per_day=150_000)
    with pytest.raises(UsageError, match=r"topics × depth == 10,000,000,000, must be at most 10,000,000"):
        simulate_log(topics=10_000_000, depth=1000)
    with pytest.raises(UsageError, match="layout == 'wide'"):
        write_demo(tmp_path, layout="wide")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="is a file; give a new folder"):
        write_demo(tmp_path / "file", users=1)

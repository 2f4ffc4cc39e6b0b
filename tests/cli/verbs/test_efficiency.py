"""`cranfield efficiency`, as a user meets it."""

import json
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.samples import Sample
from cranfield.scores.efficiency import efficiency, read_times
from tests.cli.conftest import Cranfield

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")


@pytest.fixture
def times(tmp_path: Path, collection: Sample) -> Path:
    scores = cf.evaluate(collection.qrels, list(collection.runs), "AP")
    path = tmp_path / "times.tsv"
    lines = [
        f"{run}\t{topic}\t{(r + 1) * (t + 1)}\n"
        for r, run in enumerate(scores.runs)
        for t, topic in enumerate(scores.topics)
    ]
    path.write_text("".join(lines))
    return path


def test_json_has_the_numbers_of_python(cranfield: Cranfield, collection: Sample, times: Path) -> None:
    words = ("efficiency", "--sample", "-m", "AP,RR", "--times", str(times), "--time", "p95", "-f", "json", "--quiet")
    rows = json.loads(cranfield(*words).out)["rows"]
    scores = cf.evaluate(collection.qrels, list(collection.runs), ["AP", "RR"])
    expected = efficiency(scores, read_times(times), time="p95")
    assert [row["run"] for row in rows] == list(expected.runs)  # later runs are slower
    assert [row["p95 s"] for row in rows] == pytest.approx(expected.seconds[2].tolist())
    assert [row["RR"] for row in rows] == pytest.approx(expected.effectiveness[1].tolist())
    assert [row["front (AP)"] == "yes" for row in rows] == expected.front[0].tolist()


def test_the_front_is_drawn(cranfield: Cranfield, times: Path, tmp_path: Path) -> None:
    path = tmp_path / "front.csv"
    words = ("efficiency", "--sample", "--times", str(times), "--quiet", "--plot", str(path))
    assert cranfield(*words, "-m", "AP").code == 0
    assert path.read_text().splitlines()[0] == "run,seconds,AP,front"
    assert "--plot draws one measure, but there are 2" in cranfield(*words, "-m", "AP,RR").err


def test_without_times_the_option_is_named(cranfield: Cranfield) -> None:
    done = cranfield("efficiency", "--sample")
    assert done.code == 2
    assert "--times FILE" in done.err


def test_pairs_compare_times_by_their_ratio(cranfield: Cranfield, times: Path) -> None:
    # Every topic of the second run takes exactly twice as long as that of the first one, and so on.
    words = ("efficiency", "--sample", "-m", "AP", "--times", str(times), "--quiet", "-f", "json", "--show", "pairs")
    rows = json.loads(cranfield(*words, "--test", "sign").out)["rows"]
    assert [(row["faster"], row["slower"], row["ratio"]) for row in rows][:3] == [
        ("bm25", "coord", pytest.approx(2)),
        ("bm25", "dense", pytest.approx(3)),
        ("bm25", "fusion", pytest.approx(4)),
    ]
    assert {row["significant"] for row in rows} == {"yes"}


def test_intervals_say_how_often_a_run_is_on_the_front(cranfield: Cranfield, times: Path) -> None:
    words = ("efficiency", "--sample", "-m", "AP", "--times", str(times), "--quiet", "-f", "json")
    rows = json.loads(cranfield(*words, "--show", "intervals", "-B", "200").out)["rows"]
    by_run = {row["run"]: row for row in rows}
    assert by_run["bm25"]["share on front"] == 1  # the fastest in every resample
    assert 0 <= by_run["coord"]["share on front"] < 0.5  # slower, and nearly always less effective
    assert all(row["low"] <= row["effectiveness"] <= row["high"] for row in rows)
    assert cranfield(*words, "--show", "intervals", "--plot", "x.svg").code == 2

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

"""`cranfield meta users`, as a user meets it."""

import json
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.building.topic_sets import user_study
from cranfield.meta import read_user_ratings
from cranfield.meta.agreement.user_agreement import user_agreement
from cranfield.samples import Sample
from tests.cli.conftest import Cranfield

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")


@pytest.fixture
def ratings(tmp_path: Path, collection: Sample) -> Path:
    scores = cf.evaluate(collection.qrels, list(collection.runs), ["nDCG@10"])
    rng = np.random.default_rng(0)
    plan = user_study(scores.runs, scores.topics, 4).columns()
    rows = zip(plan["user"], plan["topic"], plan["system"], rng.integers(1, 6, len(plan["user"])), strict=True)
    path = tmp_path / "ratings.tsv"
    path.write_text("user\ttopic\tsystem\trating\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows))
    return path


def test_json_has_the_numbers_of_python(cranfield: Cranfield, collection: Sample, ratings: Path) -> None:
    words = ("-m", "AP,RR", "-B", "20", "--seed", "3", "-f", "json", "--quiet")
    shown = json.loads(cranfield("meta", "users", str(ratings), collection.qrels, *collection.runs, *words).out)
    scores = cf.evaluate(collection.qrels, list(collection.runs), ["AP", "RR"])
    result = user_agreement(scores, read_user_ratings(ratings), resamples=20, seed=3)
    assert [row["measure"] for row in shown["rows"]] == ["AP", "RR"]
    assert json.dumps(result.values[0, 0, 0].item()) in json.dumps(shown)


def test_the_model_and_the_number_of_users_need_the_ratings_alone(cranfield: Cranfield, ratings: Path) -> None:
    assert "random user" in cranfield("meta", "users", str(ratings), "--show", "model").out
    answer = cranfield("meta", "users", str(ratings), "--show", "needed", "--difference", "1,0.5", "-f", "json").out
    assert [row["difference"] for row in json.loads(answer)["rows"]] == [1, 0.5]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--show", "needed"], "--show needed: say which difference would matter"),
        (["qrels.txt", "--show", "model"], "--show model reads RATINGS alone; leave out qrels.txt"),
        (["--show", "needed", "--difference", "much"], "--difference much: expected numbers"),
        (["--show", "needed", "--difference", "-1"], "must be above 0"),
        (["--show", "model", "--outcome", "time"], "no time, only rating"),
    ],
)
def test_what_does_not_go_together(words: list[str], message: str, cranfield: Cranfield, ratings: Path) -> None:
    result = cranfield("meta", "users", str(ratings), *words)
    assert (result.code, message in result.err) == (2, True)

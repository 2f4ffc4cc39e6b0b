"""`cranfield meta predict`, as a user meets it."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.meta.agreement.prediction import prediction_quality
from cranfield.samples import Sample
from tests.cli.conftest import Cranfield

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")


@pytest.fixture
def predictors(tmp_path: Path, collection: Sample) -> Path:
    scores = cf.evaluate(collection.qrels, list(collection.runs)[:1], ["AP"])
    rng = np.random.default_rng(0)
    lines = [f"{topic},{rng.uniform()},{rng.uniform()}" for topic in scores.topics]
    path = tmp_path / "qpp.csv"
    path.write_text("\n".join(["topic,clarity,nqc", *lines]) + "\n")
    return path


def test_json_has_the_numbers_of_python(cranfield: Cranfield, collection: Sample, predictors: Path) -> None:
    words = ("-m", "AP", "--predictors", str(predictors), "-B", "20", "--seed", "3", "-f", "json", "--quiet")
    done = cranfield("meta", "predict", collection.qrels, collection.runs[0], *words)
    scores = cf.evaluate(collection.qrels, list(collection.runs)[:1], ["AP"])
    expected = prediction_quality(scores, str(predictors), resamples=20, seed=3)
    rows = json.loads(done.out)["rows"]
    assert [row["predictor"] for row in rows] == ["clarity", "nqc"]
    assert [row["sMARE"] for row in rows] == pytest.approx(expected.values[3, 0, 0].tolist())
    assert [row["tau-b low"] for row in rows] == pytest.approx(expected.low[2, 0, 0].tolist())


def test_anova_and_topics_of_one_run(cranfield: Cranfield, collection: Sample, predictors: Path) -> None:
    words = (
        "meta",
        "predict",
        collection.qrels,
        collection.runs[0],
        "-m",
        "AP",
        "--predictors",
        str(predictors),
        "--quiet",
    )
    assert "sARE: topic + predictor" in cranfield(*words, "--show", "anova").out
    rows = list(csv.DictReader(io.StringIO(cranfield(*words, "--show", "topics", "-f", "csv").out)))
    assert list(rows[0]) == ["topic", "clarity", "nqc"]
    assert all(0 <= float(row["nqc"]) < 1 for row in rows)
    done = cranfield(*words, collection.runs[1], "-m", "RR", "--show", "anova")
    assert all(factor in done.out for factor in ("predictor:system", "predictor:measure", "topic"))
    done = cranfield(*words, collection.runs[1], "-m", "RR", "--show", "topics")
    assert done.code == 2
    assert "--show topics is for one measure of one run, not 2 measures and 2 runs" in done.err


def test_every_run_and_measure_has_a_row(cranfield: Cranfield, predictors: Path) -> None:
    done = cranfield(
        "meta", "predict", "--sample", "-m", "AP,RR", "--predictors", str(predictors), "-B", "0", "--quiet"
    )
    assert done.code == 0
    assert done.out.splitlines()[1].split() == ["measure", "run", "predictor", "pearson", "spearman", "tau-b", "sMARE"]


def test_without_predictions_the_option_is_named(cranfield: Cranfield) -> None:
    done = cranfield("meta", "predict", "--sample")
    assert done.code == 2
    assert "--predictors FILE" in done.err

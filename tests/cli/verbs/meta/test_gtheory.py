"""`cranfield meta gtheory`: from runs, from saved scores, with a further facet."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from cranfield.evaluation.evaluator import evaluate
from cranfield.meta.stability.generalisability import g_studies, g_study
from cranfield.notes import notes_elsewhere
from cranfield.samples import Sample
from tests.cli.conftest import Cranfield


@pytest.fixture
def shards(tmp_path: Path) -> list[str]:
    """The same systems and topics twice."""
    rng = np.random.default_rng(0)
    base = rng.normal(0.4, 0.1, (20, 1)) + np.linspace(0, 0.2, 4)
    paths = []
    for number in range(2):
        values = base + rng.normal(0, 0.05, base.shape)
        lines = ["topic,a,b,c,d", *(f"t{t}," + ",".join(map(str, row)) for t, row in enumerate(values.tolist()))]
        paths.append(str(tmp_path / f"shard{number}.csv"))
        Path(paths[-1]).write_text("\n".join(lines) + "\n")
    return paths


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_from_runs(cranfield: Cranfield, collection: Sample) -> None:
    result = cranfield("meta", "gtheory", collection.qrels, *collection.runs, "-m", "AP,P@10", "--quiet", "--why")
    assert result.code == 0
    scores = evaluate(collection.qrels, list(collection.runs), ["AP", "P@10"])
    with notes_elsewhere(""):
        assert result.out.rstrip("\n") == g_studies(scores).table().text()
    assert cranfield("meta", "gtheory", "--sample", "-m", "AP,P@10", "--quiet", "--why").out == result.out


def test_more_topics_and_components(cranfield: Cranfield, shards: list[str]) -> None:
    result = cranfield("meta", "gtheory", "--scores", shards[0], "--size", "10,200", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(result.out)))
    study = g_study(shards[0])
    assert [int(row["topics"]) for row in rows] == [10, 200]
    assert float(rows[1]["Eρ²"]) == pytest.approx(study.stability(200).rho2)
    assert float(rows[1]["Φ low"]) == pytest.approx(study.stability(200).phi_low)
    parts = cranfield("meta", "gtheory", "--scores", shards[0], "--components", "-f", "json")
    assert [row["source"] for row in json.loads(parts.out)["rows"]] == ["system", "topic", "system × topic"]


def test_a_further_facet(cranfield: Cranfield, shards: list[str]) -> None:
    result = cranfield("meta", "gtheory", "-s", shards[0], "-s", shards[1], "--facet", "shard", "-f", "json")
    row = json.loads(result.out)["rows"][0]
    assert {"system × shard", "topic × shard", "system × topic × shard"} <= set(row)
    assert sum(row[name] for name in row if name in ("system", "topic", "shard") or "×" in name) == pytest.approx(1)


def test_the_figure_is_drawn(cranfield: Cranfield, shards: list[str], tmp_path: Path) -> None:
    path = tmp_path / "parts.csv"
    assert cranfield("meta", "gtheory", "-s", shards[0], "--plot", str(path)).code == 0
    assert len(list(csv.DictReader(path.open()))) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--size", "0,5"], "--size 0,5: expected whole numbers"),
        (["--wanted-coefficient", "1.5"], "--wanted-coefficient == 1.5"),
        (["--facet", "shard"], "--facet needs a file of scores for each level"),
        (["--drop", "2"], "drop == 2.0"),
    ],
)
def test_bad_input_is_an_error(cranfield: Cranfield, shards: list[str], words: list[str], message: str) -> None:
    result = cranfield("meta", "gtheory", "-s", shards[0], *words)
    assert result.code == 2
    assert message in result.err


def test_fewer_than_three_systems_are_an_error(cranfield: Cranfield, tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("topic,a,b\n1,0.1,0.2\n2,0.3,0.4\n")
    assert "2 systems, must be 3 or more" in cranfield("meta", "gtheory", "-s", str(path)).err


def test_without_arguments_a_usage_is_printed(cranfield: Cranfield) -> None:
    result = cranfield("meta", "gtheory")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("usage: cranfield meta gtheory")


def test_the_figure_says_how_many_systems_and_topics(cranfield: Cranfield, tmp_path: Path, shards: list[str]) -> None:
    assert cranfield("meta", "gtheory", "--scores", shards[0], "--plot", str(tmp_path / "bars.svg")).code == 0
    assert "4 systems, 20 topics" in (tmp_path / "bars.svg").read_text()

"""`cranfield log measures`, `documents`, `preferences` and `satisfaction`, as a user meets them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from cranfield.online.log_measures import measure_log
from cranfield.online.logs import read_log, write_demo
from tests.cli.conftest import Cranfield

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log")
    write_demo(path / "log", users=150, days=4, seed=2, topics=12)
    return path


def rows_of(text: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(text)["rows"]
    return rows


def test_json_has_the_numbers_of_python(cranfield: Cranfield, folder: Path) -> None:
    words = ("log", "measures", str(folder / "log"), "-m", "CTR@3,abandonment", "--by", "arm", "-f", "json")
    done = cranfield(*words, "--level", "0.9")
    expected = measure_log(read_log(folder / "log"), ["CTR@3", "abandonment"], by="arm", level=0.9)
    rows = rows_of(done.out)
    assert [row["measure"] for row in rows] == ["CTR@3", "CTR@3", "abandonment", "abandonment"]
    assert [row["value"] for row in rows] == pytest.approx(expected.value.ravel().tolist())
    assert [row["low"] for row in rows] == pytest.approx(expected.low.ravel().tolist())


def test_the_demo_log_has_the_counts_that_made_it(cranfield: Cranfield, folder: Path) -> None:
    truth = json.loads((folder / "log" / "truth.json").read_text())["rows"]
    clicks, queries, conversions = (sum(row[name] for row in truth) for name in ("clicks", "queries", "conversions"))
    names = "clicks-per-query,CTR,satisfied-clicks,conversions-per-query"
    rows = rows_of(cranfield("log", "measures", str(folder / "log"), "-m", names, "-f", "json").out)
    satisfied = sum(row["satisfied clicks"] for row in truth)
    expected = [clicks / queries, clicks / queries / 10, satisfied / clicks, conversions / queries]
    assert [row["value"] for row in rows] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "first"), [("pulse", "Page views"), ("heart", "Engagement"), ("pirate", "Acquisition")]
)
def test_sets_show_their_parts_and_what_a_log_lacks(cranfield: Cranfield, folder: Path, name: str, first: str) -> None:
    done = cranfield("log", "measures", str(folder / "log"), "--set", name, "--why")
    assert done.code == 0
    assert re.search(rf"^{first}", done.out, re.MULTILINE)
    assert f"\n{name.upper()}: " in done.out


def test_an_oec_file_adds_a_row_with_its_formula(cranfield: Cranfield, folder: Path) -> None:
    path = folder / "oec.toml"
    path.write_text('name = "shop"\n[[parts]]\nmeasure = "CTR"\nweight = 2\nlow = 0\nhigh = 1\n')
    done = cranfield("log", "measures", str(folder / "log"), "--oec", str(path), "--why")
    assert "shop = 2 × CTR (0 counts as 0 and 1 as 1)" in done.out
    assert re.search(r"^shop +\d", done.out, re.MULTILINE)


@pytest.mark.parametrize("by", ["day", "device", "day,arm"])
def test_a_measure_over_groups_is_drawn(cranfield: Cranfield, folder: Path, by: str) -> None:
    figure = folder / f"{by}.csv"
    words = ("log", "measures", str(folder / "log"), "-m", "click-RR", "--by", by, "--plot", str(figure))
    assert cranfield(*words).code == 0
    assert "click-RR" in figure.read_text().splitlines()[0]


def test_wrong_words_are_refused_with_the_way_out(cranfield: Cranfield, folder: Path) -> None:
    log = str(folder / "log")
    wrong = {
        ("-m", "CTTR"): "did you mean 'CTR'",
        ("--by", "devise"): "did you mean 'device'",
        ("--set", "hart"): "did you mean 'heart'",
        ("--least", "5000"): "on the command line: --least N",
        ("-m", "CTR", "--plot", "x.svg"): "--plot draws a measure over groups; name them with --by",
        ("-m", "CTR,dwell", "--by", "arm", "--plot", "x.svg"): "--plot draws one measure, but there are 2",
        ("--level", "2"): "--level == 2.0, must be between 0.5 and 0.9999",
    }
    for words, message in wrong.items():
        done = cranfield("log", "measures", log, *words)
        assert done.code == 2
        assert message in done.err


def test_documents_are_listed_per_query(cranfield: Cranfield, folder: Path) -> None:
    words = ("log", "documents", str(folder / "log"), "--per-query", "--top", "3", "--sort", "clicks", "-f", "json")
    rows = rows_of(cranfield(*words).out)
    assert len(rows) == 3
    assert {"query", "doc", "CTR", "COEC low"} <= rows[0].keys()
    refused = cranfield("log", "documents", str(folder / "log"), "--least", "5000")
    assert refused.code == 2
    assert "--least N" in refused.err


def test_preferences_are_counted_and_runs_compared(cranfield: Cranfield, folder: Path) -> None:
    log = str(folder / "log")
    rows = rows_of(
        cranfield("log", "preferences", log, "--preference-rule", "skip-above,no-click-next", "-f", "json").out
    )
    assert {"query", "better", "worse", "times", "reverse", "users", "share"} <= rows[0].keys()
    shown = cranfield("log", "preferences", log, "--top", "2").out
    assert "further pairs not shown" in shown
    best: dict[str, dict[str, float]] = {}
    for row in rows:
        docs = best.setdefault(str(row["query"]), {})
        for doc, sign in ((str(row["better"]), 1), (str(row["worse"]), -1)):
            docs[doc] = docs.get(doc, 0.0) + sign * float(str(row["times"]))
    topics = {query: f"t{i}" for i, query in enumerate(sorted(best))}
    (folder / "topics.tsv").write_text("".join(f"{topic}\t{query}\n" for query, topic in topics.items()))
    for name, sign in (("good", 1), ("bad", -1)):
        lines = [
            f"{topics[query]} Q0 {doc} {rank} {sign * score} {name}\n"
            for query, docs in best.items()
            for rank, (doc, score) in enumerate(sorted(docs.items(), key=lambda each: -sign * each[1]), 1)
        ]
        (folder / f"{name}.run").write_text("".join(lines))
    words = ("log", "preferences", log, str(folder / "good.run"), str(folder / "bad.run"))
    done = cranfield(*words, "--topics", str(folder / "topics.tsv"))
    assert done.code == 0
    assert done.out.index("good") < done.out.index("bad")
    refused = cranfield(*words)
    assert refused.code == 2
    assert "on the command line: --topics FILE" in refused.err


def test_satisfaction_is_learned_drawn_and_applied(cranfield: Cranfield, folder: Path) -> None:
    log = read_log(folder / "log")
    table = log.engine.fetch(log.queries.select("query_id")).to_pydict()
    rng = np.random.default_rng(0)
    labels = "".join(f"{query},{int(rng.random() < 0.5)}\n" for query in table["query_id"])
    (folder / "labels.csv").write_text("query_id,label\n" + labels)
    words = ("log", "satisfaction", str(folder / "log"), "--labels", str(folder / "labels.csv"), "--ridge", "1")
    done = cranfield(*words, "--by", "arm", "--plot", str(folder / "calibration.csv"))
    assert done.code == 0
    assert "cross-validated over users in 5 folds: AUC" in done.out
    assert re.search(r"^B +\d+ +0\.\d+", done.out, re.MULTILINE)
    assert "predicted" in (folder / "calibration.csv").read_text().splitlines()[0]
    data = json.loads(cranfield(*words, "-f", "json").out)
    assert data["curve"]["n"]
    assert cranfield("log", "satisfaction", str(folder / "log")).code == 2


@pytest.mark.parametrize("verb", ["measures", "documents", "preferences", "sessions"])
def test_notes_name_options_of_the_command_line(cranfield: Cranfield, folder: Path, verb: str) -> None:
    done = cranfield("log", verb, str(folder / "log"), "--why")
    assert "set --salt or CRANFIELD_SALT" in done.out + done.err
    assert "salt=" not in done.out + done.err

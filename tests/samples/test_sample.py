"""The sample collection is as its README says, and `tools/make_sample.py` writes it."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from pathlib import Path

import cranfield as cf

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "src" / "cranfield" / "samples"
RUNS = ("bm25", "dense", "fusion", "coord")


def read_qrels() -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (SAMPLES / "qrels.txt").read_text("ascii").splitlines():
        topic, _, document, grade = line.split(" ")
        assert document not in qrels[topic]
        qrels[topic][document] = int(grade)
    return dict(qrels)


def read_run(run: str) -> dict[str, dict[str, float]]:
    lists: dict[str, dict[str, float]] = defaultdict(dict)
    for line in (SAMPLES / f"{run}.run").read_text("ascii").splitlines():
        topic, _, document, rank, score, tag = line.split(" ")
        assert tag == run
        assert document not in lists[topic]
        lists[topic][document] = float(score)
        assert int(rank) == len(lists[topic])
    return dict(lists)


def read_topics() -> list[str]:
    return [element.text or "" for element in ET.parse(SAMPLES / "topics.xml").iterfind("topic/identifier")]


def share_unjudged(run: str, first: int, last: int) -> float:
    qrels = read_qrels()
    judged = [
        document in qrels[topic]
        for topic, scores in read_run(run).items()
        for document in list(scores)[first - 1 : last]
    ]
    return 1 - sum(judged) / len(judged)


def tied(run: str) -> int:
    """Documents with the score of another in the same list."""
    return sum(n for scores in read_run(run).values() for n in Counter(scores.values()).values() if n > 1)


def test_script_makes_the_shipped_bytes(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tools" / "make_sample.py"), "--out", str(tmp_path)]
    subprocess.run(command, check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["qrels.txt", "intent_qrels.txt", "intent_types.txt", *(f"{run}.run" for run in RUNS)]
    )
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (SAMPLES / path.name).read_bytes(), path.name


def test_judgments_by_intent_are_of_the_relevant_documents() -> None:
    lines = [line.split() for line in (SAMPLES / "intent_qrels.txt").read_text().splitlines()]
    best: dict[str, dict[str, int]] = {}
    for topic, _, document, grade in lines:
        grades = best.setdefault(topic, {})
        grades[document] = max(grades.get(document, 0), int(grade))
    relevant = {t: {d: g for d, g in grades.items() if g} for t, grades in read_qrels().items() if any(grades.values())}
    assert best == relevant
    types = {tuple(line.split()[:2]) for line in (SAMPLES / "intent_types.txt").read_text().splitlines()}
    assert types == {(topic, intent) for topic, intent, *_ in lines}


def test_every_topic_is_judged_with_grades_0_to_3() -> None:
    qrels = read_qrels()
    assert list(qrels) == read_topics() == [str(topic) for topic in range(101, 125)]
    assert {grade for grades in qrels.values() for grade in grades.values()} == {0, 1, 2, 3}
    assert all(re.fullmatch(r"NOTE-\d{4}", document) for grades in qrels.values() for document in grades)


def test_one_topic_has_no_relevant_document() -> None:
    assert [topic for topic, grades in read_qrels().items() if not any(grades.values())] == ["113"]


def test_runs_have_100_documents_per_topic_and_one_run_lacks_a_topic() -> None:
    for run in RUNS:
        lists = read_run(run)
        assert {len(scores) for scores in lists.values()} == {100}
        assert set(read_topics()) - set(lists) == ({"114"} if run == "dense" else set())


def test_scores_never_rise_along_a_list() -> None:
    for run in RUNS:
        for scores in read_run(run).values():
            assert list(scores.values()) == sorted(scores.values(), reverse=True)


def test_ties() -> None:
    assert tied("bm25") == tied("dense") == 0
    assert tied("fusion") > 100
    assert tied("coord") > 2000


def test_about_half_below_rank_20_is_unjudged() -> None:
    for run in ("bm25", "dense", "fusion"):
        assert share_unjudged(run, 1, 20) == 0
        assert 0.4 < share_unjudged(run, 21, 100) < 0.6
    assert 0.4 < share_unjudged("coord", 1, 20) < 0.6


def test_small_enough_to_ship() -> None:
    assert sum(path.stat().st_size for path in SAMPLES.iterdir() if path.is_file()) < 600_000


def test_readme_table_is_what_pytrec_eval_computes() -> None:
    import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(read_qrels(), {"map", "ndcg_cut.10"})
    readme = (SAMPLES / "README.md").read_text("utf-8")
    for run in RUNS:
        of_topic = evaluator.evaluate(read_run(run)).values()
        ap, ndcg = (sum(scores[name] for scores in of_topic) / 24 for name in ("map", "ndcg_cut_10"))
        assert f"| {run} | {ap:.4f} | {ndcg:.4f} |".replace("0.", ".") in readme


def test_readme_table_is_what_the_toolkit_gives() -> None:
    collection = cf.sample()
    readme = (SAMPLES / "README.md").read_text("utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cf.CranfieldWarning)  # the missing topic and the one without relevant documents
        zero = cf.evaluate(collection.qrels, collection.runs, [cf.AP, cf.nDCG @ 10])
        skip = cf.evaluate(collection.qrels, collection.runs, [cf.AP], missing="skip")
    for run in RUNS:
        means = (*zero.means()[:, zero.runs.index(run)], skip.means()[0, skip.runs.index(run)])
        row = " | ".join(f"{mean:.4f}".removeprefix("0") for mean in means)
        assert f"| {run} | {row} |" in readme

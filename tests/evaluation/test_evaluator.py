"""From judgments and runs to scores, compared with three other tools on random collections and the sample."""

from __future__ import annotations

import math
import warnings

import ir_measures
import numpy as np
import pandas
import polars
import pytest
import pytrec_eval
from hypothesis import given, settings

import cranfield as cf
from cranfield.measures import REGISTRY
from tests.oracles.joined import collections

Collection = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]

quiet = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")


def sample() -> tuple[dict, dict[str, dict]]:
    files = cf.sample()
    return cf.Qrels.read(files.qrels).to_dict(), {run.name: run.to_dict() for run in cf.read_runs(files.runs)}


@quiet
@pytest.mark.peers
def test_sample_agrees_with_pytrec_eval_topic_by_topic() -> None:
    qrels, runs = sample()
    ours = {"AP": "map", "nDCG@10": "ndcg_cut_10", "RR": "recip_rank", "P@10": "P_10", "R@100": "recall_100",
            "bpref": "bpref", "Rprec": "Rprec", "infAP": "infAP", "nDCG": "ndcg", "AP@20": "map_cut_20"}  # fmt: skip
    scores = cf.evaluate(cf.sample().qrels, list(cf.sample().runs), list(ours)).to_dict()
    integer = {t: {d: int(g) for d, g in docs.items()} for t, docs in qrels.items()}
    for name, run in runs.items():
        theirs = pytrec_eval.RelevanceEvaluator(integer, set(ours.values())).evaluate(run)
        for topic, values in theirs.items():
            for mine, other in ours.items():
                value = scores[name][topic][mine]
                assert (0.0 if math.isnan(value) else value) == pytest.approx(values[other], abs=1e-9)


@quiet
@pytest.mark.peers
@settings(max_examples=40, deadline=None)
@given(collections(lowest=0, ties=False, every_topic=True))
def test_means_agree_with_ir_measures(collection: Collection) -> None:
    qrels, run = collection
    names = ["AP", "nDCG@5", "RR", "P@3", "R@4", "Rprec", "Judged@5", "Success@2"]
    theirs = ir_measures.calc_aggregate([ir_measures.parse_measure(name) for name in names], qrels, run)
    scores = cf.evaluate(qrels, {"r": run}, names)
    for measure, value in theirs.items():
        topics = np.nan_to_num(scores[str(measure)].values)  # ir_measures counts undefined topics as 0
        assert topics.mean() == pytest.approx(value, abs=1e-9)


@quiet
@pytest.mark.peers
@pytest.mark.compiles
def test_sample_agrees_with_ranx() -> None:
    from ranx import Qrels, Run, evaluate

    qrels, runs = sample()
    relevant = {t: {d: int(g) for d, g in docs.items() if g > 0} for t, docs in qrels.items()}
    topics = [t for t, docs in relevant.items() if docs]
    names = {"AP": "map", "nDCG@10": "ndcg@10", "RR": "mrr", "P@10": "precision@10", "R@50": "recall@50"}
    run = runs["bm25"]  # the run without ties, which ranx orders differently
    theirs = evaluate(
        Qrels({t: relevant[t] for t in topics}),
        Run({t: run[t] for t in topics}),
        list(names.values()),
        make_comparable=True,
    )
    ours = cf.evaluate({t: qrels[t] for t in topics}, {"bm25": run}, list(names)).mean()["bm25"]
    assert ours == pytest.approx({name: theirs[other] for name, other in names.items()}, abs=1e-9)


def test_paths_dicts_frames_and_tuples_give_the_same_scores() -> None:
    qrels, runs = sample()
    path = next(p for p in cf.sample().runs if "fusion" in p)
    judged = [(t, d, g) for t, docs in qrels.items() for d, g in docs.items()]
    records = [(t, d, s) for t, docs in runs["fusion"].items() for d, s in docs.items()]
    ids, others = ["query_id", "doc_id"], ["qid", "docno"]
    frames = [
        (pandas.DataFrame(judged, columns=[*ids, "relevance"]), pandas.DataFrame(records, columns=[*ids, "score"])),
        (
            polars.DataFrame(judged, schema=[*others, "label"], orient="row"),
            polars.DataFrame(records, schema=[*others, "score"], orient="row"),
        ),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cf.CranfieldWarning)
        expected = cf.evaluate(cf.sample().qrels, path).means()
        for a, b in [(qrels, runs["fusion"]), *frames, (judged, records)]:
            np.testing.assert_array_equal(cf.evaluate(a, b).means(), expected)


def test_missing_topics_score_zero_or_are_skipped() -> None:
    qrels, run = {"q1": {"d": 1}, "q2": {"d": 1}}, {"r": {"q1": {"d": 1.0}}}
    with pytest.warns(cf.CranfieldWarning, match=r"missing from runs: r \(q2\)"):
        zero = cf.evaluate(qrels, run, cf.AP)
    with pytest.warns(cf.CranfieldWarning, match=r"missing from runs: r \(q2\)"):
        skip = cf.evaluate(qrels, run, cf.AP, missing="skip")
    assert zero.means().item() == 0.5
    assert skip.means().item() == 1.0
    assert skip.missing.tolist() == [[False, True]]


@quiet
def test_the_rule_for_duplicates_applies_to_judgments() -> None:
    judged, run = b"q 0 d1 1\nq 0 d1 3\nq 0 d2 2\n", {"q": {"d2": 2.0, "d1": 1.0}}
    with pytest.raises(cf.DataError, match=":2: document 'd1' appears twice"):
        cf.evaluate(judged, run, "CG")
    totals = {rule: cf.evaluate(judged, run, "CG", on_duplicate=rule).means().item() for rule in ("first", "max")}
    assert totals == {"first": 2 + 1, "max": 2 + 3}  # the grades of d2 and d1


def test_undefined_scores_are_nan_and_give_a_warning() -> None:
    with pytest.warns(cf.CranfieldWarning, match=r"AP: undefined on 1 of 2 topics \(q2\)"):
        scores = cf.evaluate({"q1": {"d": 1}, "q2": {"d": 0}}, {"q1": {"d": 1.0}, "q2": {"d": 1.0}}, "AP")
    assert scores.values.tolist()[0][0][0] == 1.0
    assert math.isnan(scores.values[0, 0, 1])
    assert scores.means().item() == 1.0


def test_evaluator_is_reused_over_runs() -> None:
    evaluator = cf.Evaluator({"q": {"a": 2, "b": 1}}, [cf.nDCG @ 1])
    assert evaluator.evaluate({"q": {"a": 1.0, "b": 2.0}}).means().item() == 0.5
    assert evaluator.evaluate({"q": {"a": 2.0, "b": 1.0}}).means().item() == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"measures": ["nDGC@10"]}, "nDGC"),
        ({"measures": []}, "no measures"),
        ({"measures": [3]}, "3 is not a measure"),
        ({"missing": "drop"}, "missing == 'drop'"),
        ({"order": "up"}, "order == 'up'"),
        ({"precision": 16}, "precision == 16"),
        ({"depth": 0}, "depth == 0"),
        ({"threads": 0}, "threads == 0"),
        ({"on_duplicate": "last"}, "on_duplicate == 'last'"),
    ],
)
def test_usage_errors_name_the_value(arguments: dict, message: str) -> None:
    with pytest.raises(cf.UsageError, match=message):
        cf.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, **arguments)


EVERY = [name for name, cls in REGISTRY.items() if cls.__module__.startswith("cranfield.") and not cls.needs]
NEEDS = {
    "Accuracy": "Accuracy(N=5000)",
    "Fallout": "Fallout(N=5000)",
    "Specificity": "Specificity(N=5000)",
    "IPrec": "IPrec@0.1",
    "WSS": "WSS@0.95",
}


@quiet
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("view", ["", "[condensed]", "[best]", "[ties=best]"])
def test_explain_ends_at_the_score_for_every_measure(name: str, view: str) -> None:
    measure = cf.parse(NEEDS.get(name, name) + view)
    files = cf.sample()
    run = next(p for p in files.runs if "coord" in p)  # the run with ties and unjudged documents
    explained = cf.explain(files.qrels, run, "102", measure)
    expected = cf.evaluate(files.qrels, run, measure).to_dict()["coord"]["102"][str(measure)]
    assert explained.score == pytest.approx(expected, nan_ok=True)
    assert explained.lines[-1].so_far == pytest.approx(explained.score, nan_ok=True)
    assert [line.rank for line in explained.lines] == list(range(1, len(explained.lines) + 1))
    judged = cf.Qrels.read(files.qrels).grades("102")
    for line in explained.lines:
        if "best" not in view:
            assert line.grade == judged.get(line.doc)


@pytest.mark.parametrize("views", ["condensed,best", "condensed,worst", "ties=worst,best", "best,condensed"])
def test_explain_names_the_documents_through_two_views(views: str) -> None:
    run = {"q": {"a": 6.0, "b": 5.0, "c": 4.0, "d": 3.0, "e": 2.0, "f": 1.0}}
    explained = cf.explain({"q": {"b": 0, "e": 2, "f": 0}}, run, "q", f"AP[{views}]")
    condensed_first = views.startswith("condensed")
    assert [line.doc for line in explained.lines] == list("bef" if condensed_first else "abcdef")
    assert [line.grade for line in explained.lines] == ([0, 2, 0] if condensed_first else [2, 0, 2, 2, 2, 0])


def test_explain_names_a_topic_that_is_not_judged() -> None:
    with pytest.raises(cf.UsageError, match="topic 'x' is not judged; judged topics are q"):
        cf.explain({"q": {"d": 1}}, {"q": {"d": 1.0}}, "x", "AP")

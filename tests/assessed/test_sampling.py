"""Judgments of a sample: strata in column 2, probabilities from a file, and errors in them."""

from __future__ import annotations

import gzip
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import DataError, UsageError
from cranfield.measures import infAP, infNDCG, statAP, xinfAP

# topics and strata out of order on purpose
STRATIFIED = b"2 b d2 -1\n2 a d1 1\n2 b d3 1\n2 b d4 0\n1 b y -1\n1 a x 1\n1 b z 0\n"
RUN = {"2": {"d1": 5, "d2": 4, "d3": 3, "d4": 2, "u": 1}, "1": {"y": 2, "x": 1}}
QRELS = {"q1": {"a": 1, "b": 0, "c": -1}, "q2": {"a": 1}}
SCORED = {"q1": {"c": 3.0, "a": 2.0, "b": 1.0}, "q2": {"x": 2.0, "a": 1.0}}
CHANCES = {"q1": {"a": 0.5, "b": 0.25}, "q2": {"a": 1}}


def test_column_2_is_read_as_strata_if_some_documents_are_not_drawn() -> None:
    scores = cf.evaluate(STRATIFIED, {"mine": RUN}, ["xinfAP", "infNDCG", "AP"])
    assert scores.to_dict()["mine"] == {
        "2": {
            "xinfAP": pytest.approx(xinfAP().of([1, -1, 1, 0, None], strata="abbb-")),
            "infNDCG": pytest.approx(infNDCG().of([1, -1, 1, 0, None], strata="abbb-")),
            "AP": pytest.approx((1 + 2 / 3) / 2),  # relevant at ranks 1 and 3
        },
        "1": {
            "xinfAP": pytest.approx(xinfAP().of([-1, 1], [0], strata="bab")),
            "infNDCG": pytest.approx(infNDCG().of([-1, 1], [0], strata="bab")),
            "AP": pytest.approx(1 / 2),
        },
    }
    assert any("stratum" in note for note in scores.notes)


def test_strata_change_the_estimate() -> None:
    name = 'xinfAP(unseen="half")'
    scores = cf.evaluate(STRATIFIED, RUN, [name]).to_dict()["run"]["2"]
    assert scores[name] != pytest.approx(infAP().of([1, -1, 1, 0]), abs=0.01)


def test_infap_refuses_strata_that_were_sampled_at_different_rates() -> None:
    with pytest.raises(UsageError, match="drawn from strata at different rates"):
        cf.evaluate(STRATIFIED, RUN, ["infAP"], strata=True)
    alike = {str(stratum): [1, -1] for stratum in range(3)}
    lines = [f"1 {s} d{s}{i} {grade}\n" for s, grades in alike.items() for i, grade in enumerate(grades)]
    scores = cf.evaluate("".join(lines).encode(), {"1": {"d00": 1.0}}, ["infAP"], strata=True)
    assert scores.mean()["run"]["infAP"] == pytest.approx(1 / 3)


def test_without_strata_the_pool_is_one_stratum() -> None:
    name = 'xinfAP(unseen="half")'
    scores = cf.evaluate(QRELS, SCORED, [name, "infAP"])
    assert scores.mean()["run"][name] == pytest.approx(scores.mean()["run"]["infAP"])
    assert any("one stratum" in note for note in scores.notes)


def test_intents_are_not_read_as_strata() -> None:
    lists = cf.join(b"1 a d1 1\n1 b d1 1\n1 b d2 -1\n", {"1": {"d1": 1.0}})  # d1 has two labels
    assert lists.sample is None
    assert lists.intents is not None
    once = b"1 a d1 1\n1 b d2 1\n1 b d3 -1\n"
    described = cf.join(once, {"1": {"d1": 1.0}}, cf.JoinOptions(intent_types={"1": {"a": "inf", "b": "nav"}}))
    assert described.intents is not None


def test_views_keep_the_strata_of_documents() -> None:
    document = {"d1": (1, "a"), "d2": (-1, "b"), "d3": (1, "b"), "d4": (0, "b"), "u": (None, "-")}
    names = ["xinfAP[ties]", "infNDCG[ties]", "xinfAP[ties=best]", "xinfAP'"]
    tied = cf.evaluate(STRATIFIED, {"2": dict.fromkeys(document, 1.0), "1": RUN["1"]}, names).to_dict()["run"]["2"]
    for measure in (xinfAP(), infNDCG()):  # the mean over all orders, each scored by itself
        orders = [[document[name] for name in order] for order in permutations(document)]
        every = [measure.of([g for g, _ in order], strata=[s for _, s in order]) for order in orders]
        assert tied[f"{measure}[ties]"] == pytest.approx(np.mean(every))
    assert tied["xinfAP[ties=best]"] == pytest.approx(
        max(xinfAP().of([1, 1, 0, -1], strata=s) for s in ("abbb", "babb"))
    )
    order = ["u", "d4", "d3", "d2", "d1"]  # equal scores: by id, descending
    grades, strata = zip(*(document[name] for name in order[1:]), strict=True)
    assert tied["xinfAP'"] == pytest.approx(xinfAP().of(grades, strata=strata))


def test_explain_shows_how_many_documents_a_document_represents() -> None:
    explained = cf.explain(STRATIFIED, RUN, "2", "xinfAP")
    assert [line.counts.get("stands for") for line in explained.lines] == [1.0, None, 1.5, None, None]
    assert explained.lines[-1].so_far == pytest.approx(explained.score)


@pytest.mark.parametrize(
    "text",
    ["q1 a 0.5\nq1 b .25\nq2 a 1\n", "\ufeffq2\ta\t1\r\n# drawn\r\nq1\ta\t0.5\r\nq1\tb\t0.25\r\n",
     "q1 0 a 1 0.5\nq1 0 b 0 0.25\nq1 0 c -1 0\nq2 0 a 1 1\n",  # TREC Legal track
     "q1 a 1 2 0.5\nq1 b 0 3 0.25\nq2 a 1 2 1\nq3 a 1 2 0.1\n"],  # Million Query track
)  # fmt: skip
def test_probabilities_from_a_file(text: str, tmp_path: Path) -> None:
    path = tmp_path / "prels"
    expected = {"q1": statAP().of([-1, 1, 0], inclusion=[0, 0.5, 0.25]), "q2": statAP().of([None, 1], inclusion="01")}
    for content in (text.encode(), gzip.compress(text.encode())):
        path.write_bytes(content)
        scores = cf.evaluate(QRELS, SCORED, "statAP", inclusion=path).to_dict()["run"]
        assert {topic: row["statAP"] for topic, row in scores.items()} == pytest.approx(expected)
    assert cf.evaluate(QRELS, SCORED, "statAP", inclusion=CHANCES).to_dict()["run"] == scores


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1 a 0.5\nq1 b 0\nq2 a 1\n", r"prels:2: topic 'q1', document 'b': probability 0, but the document is judged"),
        ("q1 a 0.5\nq1 b 1.5\nq2 a 1\n", r"prels:2: .*probability '1.5', must be a number above 0, at most 1"),
        ("q1 a 0.5\nq1 b x\nq2 a 1\n", r"prels:2: .*probability 'x'"),
        ("q1 a nan\nq1 b 1\nq2 a 1\n", r"prels:1: .*probability 'nan'"),
        ("q1 a 0.5\nq2 a 1\n", r"no probability for 1 judged document.*: q1/b"),
        ("q1 a 0.5\nq1 a 0.5\n", r"prels:2: document 'a' of topic 'q1' appears twice"),
        ("q1 a\n", r"prels:1: 2 columns, expected topic doc probability"),
        ("q1 a 0.5\nq1 b\n", r"prels:2: 2 columns"),
        ("\n", "is empty"),
    ],
)
def test_wrong_probabilities_name_the_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "prels"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        cf.evaluate(QRELS, SCORED, "statAP", inclusion=path)


def test_inclusion_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(DataError, match="topic 'q1', document 'b': probability 0, but the document is judged"):
        cf.evaluate(QRELS, SCORED, "statAP", inclusion={"q1": {"a": 1, "b": 0}, "q2": {"a": 1}})
    for thing in (7, {"q1": 0.5}):
        with pytest.raises(UsageError, match="must be a file or"):
            cf.evaluate(QRELS, SCORED, "statAP", inclusion=thing)
    with pytest.raises(UsageError, match="have intents"):
        cf.evaluate(b"1 a d1 1\n1 b d1 1\n", {"1": {"d1": 1}}, "statAP", inclusion={"1": {"d1": 1}})


def test_missing_probabilities_are_named() -> None:
    with pytest.raises(UsageError, match="give inclusion="):
        cf.evaluate(QRELS, SCORED, "statAP")


def test_inclusion_on_the_command_line(tmp_path: Path, capsys: Any) -> None:
    from cranfield.cli import main

    (tmp_path / "qrels").write_text("q1 0 a 1\nq1 0 b 0\n")
    (tmp_path / "run").write_text("q1 Q0 b 1 2.0 x\nq1 Q0 a 2 1.0 x\n")
    (tmp_path / "prels").write_text("q1 a 0.5\nq1 b 0.5\n")
    files = [str(tmp_path / "qrels"), str(tmp_path / "run"), "--inclusion", str(tmp_path / "prels")]
    main(["eval", *files, "-m", "statAP"])
    assert "0.5000" in capsys.readouterr().out  # precision 1/2, whatever the probability
    main(["explain", *files, "-m", "statAP", "--topic", "q1"])
    assert "1/probability" in capsys.readouterr().out

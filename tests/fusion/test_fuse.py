"""Fusion: formulas by hand, every method and normalisation beside ranx, weights, depth, errors."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import CranfieldWarning, DataError, UsageError
from cranfield.fusion import FUSION_METHODS, NORMALISATIONS, fuse

Lists = dict[str, dict[str, float]]

LN2 = math.log(2)
BM25 = {"q": {"a": 9.0, "b": 5.0, "c": 1.0}}
DENSE = {"q": {"b": 0.8, "d": 0.6}}


def scores_of(run: cf.Run) -> dict[str, float]:
    return {doc: round(score, 6) for doc, score in run.to_dict()["q"].items()}


BY_HAND: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "rrf": ({"k": 60}, {"b": 1 / 62 + 1 / 61, "a": 1 / 61, "d": 1 / 62, "c": 1 / 63}),
    "isr": ({}, {"b": 2 * (1 / 4 + 1), "a": 1.0, "d": 1 / 4, "c": 1 / 9}),
    "logisr": ({}, {"b": math.log(2) * 1.25, "a": 0.0, "c": 0.0, "d": 0.0}),
    "lognisr": ({"sigma": 1}, {"b": math.log(3) * 1.25, "a": LN2, "d": LN2 / 4, "c": LN2 / 9}),
    # 4 documents: bm25 gives 4, 3, 2 and its one missing document the last point; dense gives 4, 3, and (2 + 1) / 2
    "borda": ({}, {"b": 3 + 4, "a": 4 + 1.5, "c": 2 + 1.5, "d": 1 + 3}),
    # b beats c and d, a beats c; the other pairs are even. Wins less losses: b 2, a 1, d -1, c -2
    "condorcet": ({}, {"b": 4, "a": 3, "d": 2, "c": 1}),
    "rbc": ({"phi": 0.5}, {"b": 0.25 + 0.5, "a": 0.5, "d": 0.25, "c": 0.125}),
    # min-max: bm25 a 1, b .5, c 0; dense b 1, d 0
    "combsum": ({}, {"b": 1.5, "a": 1.0, "c": 0.0, "d": 0.0}),
    "combmnz": ({}, {"b": 3.0, "a": 1.0, "c": 0.0, "d": 0.0}),
    "combgmnz": ({"gamma": 3}, {"b": 12.0, "a": 1.0, "c": 0.0, "d": 0.0}),
    "combanz": ({}, {"b": 0.75, "a": 1.0, "c": 0.0, "d": 0.0}),
    "combmax": ({}, {"b": 1.0, "a": 1.0, "c": 0.0, "d": 0.0}),
    "combmin": ({}, {"b": 0.5, "a": 1.0, "c": 0.0, "d": 0.0}),
    "combmed": ({}, {"b": 0.75, "a": 1.0, "c": 0.0, "d": 0.0}),
}


@pytest.mark.parametrize("method", FUSION_METHODS)
def test_a_method_by_hand(method: str) -> None:
    parameter, expected = BY_HAND[method]
    fused = fuse({"bm25": BM25, "dense": DENSE}, method, **parameter)
    assert scores_of(fused) == {doc: round(score, 6) for doc, score in expected.items()}
    in_name = ",".join(f"{key}={value}" for key, value in parameter.items() if (key, value) != ("k", 60))
    assert fused.name == (f"{method}({in_name})" if in_name else method)  # 60 is the default
    scores = list(fused.to_dict()["q"].values())
    assert scores == sorted(scores, reverse=True)  # the table itself is in order, best first


NORMALISED = {
    "min-max": [1.0, 0.5, 0.0],
    "min-max-inverted": [0.0, 0.5, 1.0],
    "max": [1.0, 5 / 9, 1 / 9],
    "sum": [8 / 12, 4 / 12, 0.0],
    "z": [4 / math.sqrt(32 / 3), 0.0, -4 / math.sqrt(32 / 3)],  # mean 5, variance (16 + 0 + 16) / 3
    "rank": [1.0, 2 / 3, 1 / 3],
    "none": [9.0, 5.0, 1.0],
}
ALL_EQUAL = {"min-max": 1.0, "min-max-inverted": 1.0, "max": 1.0, "sum": 1 / 2, "z": 0.0, "rank": 1.0, "none": 3.0}


@pytest.mark.parametrize("norm", NORMALISATIONS)
def test_a_normalisation_by_hand(norm: str) -> None:
    fused = fuse([BM25, {"q": {"x": 3.0, "y": 3.0}}], "combmax", norm=norm).to_dict()["q"]
    assert [fused[doc] for doc in "abc"] == pytest.approx(NORMALISED[norm])
    best = "y" if norm == "rank" else "x"  # equal scores are ranked by document id, descending
    assert fused[best] == pytest.approx(ALL_EQUAL[norm])


def test_weights_by_position_and_by_name() -> None:
    by_position = fuse([BM25, DENSE], "combsum", weights=[1, 0.5])
    assert scores_of(by_position) == {"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0}
    by_name = fuse({"bm25": BM25, "dense": DENSE}, "combsum", weights={"dense": 0.5, "bm25": 1})
    assert by_name == by_position


@pytest.mark.parametrize("method", FUSION_METHODS)
def test_a_run_of_weight_0_adds_nothing(method: str) -> None:
    noise = {"q": {doc: 1.0 - i / 4 for i, doc in enumerate("dcba")}}
    fused = fuse([BM25, DENSE, noise], method, weights=[1, 1, 0])
    assert scores_of(fused) == scores_of(fuse([BM25, DENSE], method))


def test_depth_cuts_the_lists_and_top_cuts_the_fused_list() -> None:
    assert set(fuse([BM25, DENSE], depth=1).to_dict()["q"]) == {"a", "b"}
    assert list(fuse([BM25, DENSE], top=2).to_dict()["q"]) == ["b", "a"]


def test_a_topic_that_a_run_lacks_is_fused_from_the_others_with_a_warning() -> None:
    with pytest.warns(CranfieldWarning, match=r"topics missing from runs, fused from the other runs: dense \(1 of 2\)"):
        fused = fuse({"bm25": {**BM25, "r": {"z": 1.0}}, "dense": DENSE})
    assert fused.to_dict()["r"] == {"z": 1 / 61}


RANX_METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "rrf": ("rrf", {"k": 60}),
    "isr": ("isr", {}),
    "logisr": ("log_isr", {}),
    "lognisr": ("logn_isr", {"sigma": 0.01}),
    "borda": ("bordafuse", {}),
    "rbc": ("rbc", {"phi": 0.8}),
    "combsum": ("sum", {}),
    "combmnz": ("mnz", {}),
    "combgmnz": ("gmnz", {"gamma": 2.0}),
    "combanz": ("anz", {}),
    "combmax": ("max", {}),
    "combmin": ("min", {}),
    "combmed": ("med", {}),
}
RANX = Path(__file__).parent / "ranx_fused.json"
RANX_NORMS = {
    "min-max": "min-max",
    "min-max-inverted": "min-max-inverted",
    "max": "max",
    "sum": "sum",
    "z": "zmuv",
    "rank": "rank",
    "none": None,
}


def three_runs() -> list[Lists]:
    """Three runs of two topics, whose scores differ."""
    rng = np.random.default_rng(3)
    return [
        {f"q{t}": {f"d{d}": float(rng.random()) for d in rng.choice(12, 6, replace=False)} for t in range(2)}
        for _ in range(3)
    ]


def complete_runs() -> list[Lists]:
    """Three runs of three topics, each with all seven documents of the topic; there is no cycle."""
    rng = np.random.default_rng(5)
    return [{f"q{t}": {f"d{d}": float(rng.random() + d / 4) for d in range(7)} for t in range(3)} for _ in range(3)]


@pytest.mark.parametrize("method", RANX_METHODS)
def test_ranx_gives_the_same_scores_with_every_normalisation(method: str) -> None:
    """The numbers of ranx 0.3.21 are in a file, as ranx compiles each method for half a minute.

    They come from `ranx.fuse([ranx.Run(run) for run in three_runs()], norm, method, params)` with `RANX_METHODS` and
    `RANX_NORMS`.
    """
    numbers = json.loads(RANX.read_text("utf-8"))["fused"]
    uses_scores = method.startswith("comb")
    for norm in NORMALISATIONS if uses_scores else ["none"]:
        ours = fuse(three_runs(), method, norm=norm if uses_scores else None, **RANX_METHODS[method][1])
        for topic, documents in ours.to_dict().items():
            assert documents == pytest.approx(numbers[f"{method} {norm}"][topic], abs=1e-12), norm


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "method": ({"method": "rff"}, "no fusion method 'rff'; did you mean 'rrf'"),
    "norm": ({"method": "combsum", "norm": "minimax"}, "no normalisation 'minimax'; did you mean 'min-max'"),
    "norm of ranks": ({"norm": "z"}, "norm == 'z', but rrf uses ranks, not scores; leave it out"),
    "parameter": ({"phi": 0.5}, "rrf: no parameter 'phi'; there are 'k'"),
    "k": ({"k": -1}, "rrf: k == -1, must be 0 or above"),
    "phi": ({"method": "rbc", "phi": 1}, "rbc: phi == 1, must be above 0 and below 1"),
    "depth": ({"depth": 0}, "depth == 0, must be a whole number"),
    "too few weights": ({"weights": [1]}, r"1 weight for 2 runs \(bm25, dense\); give one for each"),
    "weight": ({"weights": [1, -2]}, "weight of dense == -2, must be 0 or above"),
    "weights": ({"weights": [0, 0]}, "all weights are 0, at least one must be above 0"),
    "name": ({"weights": {"bm25": 1, "dens": 1}}, "no run 'dens'; did you mean 'dense'"),
    "order": ({"method": "combsum", "order": "rank"}, "order == 'rank', but combsum uses scores"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_settings(case: str) -> None:
    settings, message = WRONG[case]
    with pytest.raises(UsageError, match=message):
        fuse({"bm25": BM25, "dense": DENSE}, **settings)


@pytest.mark.parametrize("norm", NORMALISATIONS)
def test_fusing_one_run_normalises_it(norm: str) -> None:
    fused = fuse({"bm25": BM25}, norm=norm)
    assert fused.name == "bm25"
    assert [fused.to_dict()["q"][doc] for doc in "abc"] == pytest.approx(NORMALISED[norm])


def test_one_run_can_be_scored_by_its_ranks() -> None:
    assert scores_of(fuse({"bm25": BM25}, "rrf")) == {
        "a": round(1 / 61, 6),
        "b": round(1 / 62, 6),
        "c": round(1 / 63, 6),
    }


def test_inverted_scores_of_the_first_documents_need_the_order_of_the_file() -> None:
    distances = {"q": {"near": 0.1, "middle": 0.5, "far": 0.9}}
    with pytest.raises(UsageError, match=r"depth == 2 keeps the highest scores.* use order='file'"):
        fuse([distances], "combsum", norm="min-max-inverted", depth=2)
    first = fuse([distances], "combsum", norm="min-max-inverted", depth=2, order="file")
    assert first.to_dict()["q"] == {"near": 1.0, "middle": 0.0}


def test_condorcet_follows_majorities_and_weights() -> None:
    """By hand: a beats b and c twice, b beats c twice; with weight 3, the last run decides alone."""
    runs = [{"q": dict(zip(order, (3.0, 2.0, 1.0), strict=True))} for order in ("abc", "acb", "bca")]
    assert fuse(runs, "condorcet").to_dict()["q"] == {"a": 3.0, "b": 2.0, "c": 1.0}
    assert fuse(runs, "condorcet", weights=[1, 1, 3]).to_dict()["q"] == {"b": 3.0, "c": 2.0, "a": 1.0}


def test_condorcet_is_that_of_ranx_if_every_run_has_every_document() -> None:
    """The runs are `complete_runs()`. If runs lack documents, ranx counts two missing ones as a vote for the second."""
    numbers = json.loads(RANX.read_text("utf-8"))["fused"]["condorcet complete"]
    assert fuse(complete_runs(), "condorcet").to_dict() == numbers


@pytest.mark.parametrize("seed", range(5))
def test_no_document_of_condorcet_is_beaten_by_the_next_one(seed: int) -> None:
    """Also in cycles: random lists of 9 documents have many."""
    rng = np.random.default_rng(seed)
    runs = [{"q": {f"d{d}": float(rng.random()) for d in rng.choice(9, 7, replace=False)}} for _ in range(4)]
    order = list(fuse(runs, "condorcet").to_dict()["q"])
    for upper, lower in itertools.pairwise(order):
        votes = [run["q"].get(upper, -1) - run["q"].get(lower, -1) for run in runs]
        assert sum(vote > 0 for vote in votes) >= sum(vote < 0 for vote in votes)


def test_scores_that_cannot_be_normalised_name_run_topic_and_way_out() -> None:
    below = {"q": {"a": -1.0, "b": -2.0}}
    with pytest.raises(DataError, match="low: topic 'q': the highest score is -1, must be above 0 for max; min-max"):
        fuse({"low": below, "bm25": BM25}, "combsum", norm="max")
    endless = {"q": {"a": math.inf, "b": 1.0}}
    with pytest.raises(DataError, match="endless: topic 'q': the score of rank 1 is inf; min-max needs finite scores"):
        fuse({"endless": endless, "bm25": BM25}, "combsum")
    assert fuse({"endless": endless, "bm25": BM25}, "rrf").ranking("q")[0].doc == "a"

"""Fairness, compared with arithmetic by hand, loops over the definitions, all rankings of small sets, and scipy."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from cranfield import CranfieldWarning, DataError, Run, Scores, UsageError
from cranfield.fairness import (
    Attention,
    audit,
    awrf,
    equity_of_attention,
    expected_exposure,
    exposure,
    jensen_shannon,
    pairwise_parity,
    prefix_fairness,
)

DOCS = ["d0", "d1", "d2", "d3", "d4"]
SOFT = {"d0": "a", "d1": {"a": 0.5, "b": 0.5}, "d2": "b", "d3": {"b": 0.2, "c": 0.8}, "d4": "c"}

rankings = st.lists(st.permutations(DOCS), min_size=1, max_size=3)
grades = st.lists(st.integers(0, 2), min_size=5, max_size=5).map(lambda g: dict(zip(DOCS, g, strict=True)))
attentions = st.builds(
    Attention,
    st.sampled_from(["geometric", "log", "trec"]),
    p=st.sampled_from([0.3, 0.5, 0.9]),
    stop=st.sampled_from([0.0, 0.4]),
    cutoff=st.sampled_from([None, 3]),
)


def weight(attention: Attention, ranking: list[str], relevant: set[str]) -> dict[str, float]:
    """Attention from its definition, document by document."""
    result, going = {}, 1.0
    for r, doc in enumerate(ranking, 1):
        base = {"geometric": attention.p ** (r - 1), "log": 1 / math.log2(r + 1), "trec": 1 / math.log2(max(r, 2))}
        seen = attention.cutoff is None or r <= attention.cutoff
        result[doc] = base[attention.kind] * going if seen else 0.0
        going *= 1 - attention.stop if doc in relevant else 1
    return result


def values(scores: Scores) -> dict[str, float]:
    return scores.to_dict()["run"]["q"]


# ---- exposure


def test_group_exposure_by_hand() -> None:
    # p = 0.5: exposures 1, 0.5, 0.25; d1 belongs half to a, half to b
    qrels = {"q": {"d0": 1, "d1": 0, "d2": 1}}
    result = exposure({"q": [["d0", "d1", "d2"]]}, SOFT, qrels)
    assert result.documents["q"] == {"d0": 1.0, "d1": 0.5, "d2": 0.25}
    a, b, c = (result.groups["q"][group] for group in "abc")
    assert (a.exposure, a.members, b.exposure, b.members) == (1.25, 1.5, 0.5, 1.5)
    assert a.share == pytest.approx(1.25 / 1.75)
    assert a.mean == pytest.approx(1.25 / 1.5)
    assert a.merit == pytest.approx(1 / 1.5)  # d0 of d0 and half of d1
    assert a.per_merit == pytest.approx(1.25)
    assert (c.exposure, c.share, c.members) == (0, 0, 0)
    assert math.isnan(c.mean)
    assert math.isnan(c.merit)
    assert math.isnan(c.per_merit)
    data = result.to_dict()
    assert data["groups"]["q"]["a"]["per_merit"] == a.per_merit
    assert result.to_pandas()["exposure"].tolist() == [1.0, 0.5, 0.25]


@given(rankings, grades, attentions)
def test_exposure_follows_its_definition(lists: Any, judged: Any, attention: Attention) -> None:
    relevant = {doc for doc, grade in judged.items() if grade >= 1}
    result = exposure({"q": lists}, SOFT, {"q": judged}, attention=attention).documents["q"]
    each = [weight(attention, ranking, relevant) for ranking in lists]
    for doc in DOCS:
        assert result[doc] == pytest.approx(sum(weights[doc] for weights in each) / len(each))


@settings(deadline=None, max_examples=40)
@given(rankings, grades, attentions, st.booleans())
def test_expected_exposure_follows_its_definition(lists: Any, judged: Any, attention: Attention, grouped: bool) -> None:
    relevant = {doc for doc, grade in judged.items() if grade >= 1}
    ideal = [
        ranking
        for ranking in itertools.permutations(DOCS)
        if all(judged[x] >= judged[y] for x, y in itertools.pairwise(ranking))
    ]
    reached = dict.fromkeys(DOCS, 0.0)
    target = dict.fromkeys(DOCS, 0.0)
    for policy, into in ((lists, reached), (ideal, target)):
        for ranking in policy:
            for doc, got in weight(attention, list(ranking), relevant).items():
                into[doc] += got / len(policy)
    parts: list[tuple[float, float]] = [(reached[doc], target[doc]) for doc in DOCS]
    if grouped:
        hard = {"d0": "a", "d1": "b", "d2": "b", "d3": "a", "d4": "c"}
        of = {g: [doc for doc in DOCS if hard[doc] == g] for g in "abc"}
        parts = [(sum(reached[d] for d in docs), sum(target[d] for d in docs)) for docs in of.values()]
    result = values(expected_exposure({"q": judged}, {"q": lists}, hard if grouped else None, attention=attention))
    assert result["EE-D"] == pytest.approx(sum(x * x for x, _ in parts))
    assert result["EE-R"] == pytest.approx(sum(x * y for x, y in parts))
    assert result["EE-L"] == pytest.approx(sum((x - y) ** 2 for x, y in parts), abs=1e-12)
    constant = sum(y * y for _, y in parts)
    assert result["EE-L"] == pytest.approx(result["EE-D"] - 2 * result["EE-R"] + constant, abs=1e-9)


def test_the_target_of_binary_relevance_has_a_closed_form() -> None:
    # Diaz et al. 2020, geometric browsing: each of m relevant documents gets (1 - p^m) / (m (1 - p)),
    # each of the n - m others (p^m - p^n) / ((n - m) (1 - p)); EE-R is its product with what the ranking gives
    p, n, m = 0.5, 5, 2
    high, low = (1 - p**m) / (m * (1 - p)), (p**m - p**n) / ((n - m) * (1 - p))
    qrels = {"q": {"d0": 1, "d1": 1, "d2": 0}}  # d3 and d4 are ranked, but not judged
    result = values(expected_exposure(qrels, {"q": [DOCS]}))
    assert result["EE-R"] == pytest.approx((1 + 0.5) * high + (0.25 + 0.125 + 0.0625) * low)


def test_the_loss_is_0_over_all_rankings_with_relevant_documents_first() -> None:
    fair = [["d0", "d1", *rest] for rest in itertools.permutations(["d2", "d3"])]
    fair += [["d1", "d0", *rest] for rest in itertools.permutations(["d2", "d3"])]
    qrels = {"q": {"d0": 1, "d1": 1, "d2": 0, "d3": 0}}
    assert values(expected_exposure(qrels, {"q": fair}))["EE-L"] == pytest.approx(0, abs=1e-15)


def test_a_topic_without_rankings_has_exposure_0_or_is_left_out() -> None:
    qrels = {"q": {"d0": 1}, "r": {"d0": 1, "d1": 1}}
    result = expected_exposure(qrels, {"q": [["d0"]]}).to_dict()["run"]
    assert result["q"] == {"EE-D": 1, "EE-R": 1, "EE-L": 0}
    assert result["r"] == {"EE-D": 0, "EE-R": 0, "EE-L": pytest.approx(2 * 0.75**2)}  # both ought to get 0.75
    assert list(expected_exposure(qrels, {"q": [["d0"]]}, missing="skip").to_dict()["run"]) == ["q"]


def test_without_relevant_documents_equal_exposure_is_fair() -> None:
    result = values(expected_exposure({"q": {"d0": 0, "d1": 0}}, {"q": [["d0", "d1"], ["d1", "d0"]]}))
    assert result["EE-L"] == 0


# ---- distributions over groups


@given(st.lists(st.floats(0.01, 1), min_size=3, max_size=3), st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_jensen_shannon_equals_scipy(p: Any, q: Any) -> None:
    x = np.array(p) / sum(p)
    y = np.array(q) / sum(q) if sum(q) > 1e-9 else np.array([1.0, 0.0, 0.0])
    assert jensen_shannon(x, y) == pytest.approx(jensenshannon(x, y) ** 2, abs=1e-12)


@given(st.permutations(DOCS), st.sampled_from(["geometric", "log", "trec"]), st.sampled_from([math.e, 2.0]))
def test_awrf_follows_its_definition(ranking: Any, kind: str, base: float) -> None:
    attention = Attention(kind)
    shares = dict.fromkeys("abc", 0.0)
    for doc, got in weight(attention, ranking, set()).items():
        of = SOFT[doc] if isinstance(SOFT[doc], dict) else {SOFT[doc]: 1.0}
        for group, share in of.items():
            shares[group] += got * share
    total = sum(shares.values())
    distance = jensenshannon([shares[g] / total for g in "abc"], [0.5, 0.25, 0.25], base=base)
    result = awrf({"q": [ranking]}, SOFT, {"a": 2, "b": 1, "c": 1}, attention=attention, base=base)
    assert values(result)["AWRF"] == pytest.approx(1 - distance**2)


def test_awrf_compares_with_the_relevant_documents() -> None:
    # relevant: d0 (a) and d2 (b), so the target is half and half. TREC's discount is 1, 1, 1/log2(3) at ranks 1, 2, 3
    qrels = {"q": {"d0": 1, "d2": 1, "d4": 0}, "none": {"d0": 0}, "lacking": {"d0": 1}}
    result = awrf({"q": [["d0", "d2"]], "none": [["d0"]]}, SOFT, qrels).to_dict()["run"]
    assert result["q"]["AWRF"] == 1
    assert math.isnan(result["none"]["AWRF"])
    assert math.isnan(result["lacking"]["AWRF"])
    alone = values(awrf({"q": [["d0"], ["d2"]]}, SOFT, {"q": {"d4": 1}}, base=2))
    assert alone["AWRF"] == pytest.approx(0)  # only c is wanted, none of it shown
    assert values(awrf({"q": [["d0"]]}, SOFT, {"q": {"d4": 1}}))["AWRF"] == pytest.approx(1 - math.log(2))


def test_a_document_without_a_group_is_an_error() -> None:
    with pytest.raises(DataError, match="1 document has no group: x"):
        awrf({"q": [["d0", "x"]]}, SOFT, {"a": 1})


# ---- prefixes and pairs

PROTECTED = {f"p{i}": "p" for i in range(8)} | {f"o{i}": "other" for i in range(8)}


def differences(ranking: str, step: int) -> dict[str, float]:
    """rND, rKL and rRD before they are divided by Z, from a ranking such as ppoo."""
    n, s = len(ranking), ranking.count("p")
    result = {"rND": 0.0, "rKL": 0.0, "rRD": 0.0}
    for i in range(step, n + 1, step):
        here = ranking[:i].count("p")
        result["rND"] += abs(here / i - s / n) / math.log2(i)
        pairs = ((here / i, s / n), (1 - here / i, 1 - s / n))
        result["rKL"] += sum(p * math.log(p / q) for p, q in pairs if p > 0) / math.log2(i)
        ratio = here / (i - here) if i > here else 0.0
        result["rRD"] += abs(ratio - s / (n - s)) / math.log2(i)
    return result


@pytest.mark.parametrize(("n", "s", "step"), [(8, 4, 2), (8, 2, 2), (7, 3, 3), (8, 6, 2), (9, 4, 2)])
def test_prefix_fairness_is_divided_by_the_worst_of_all_rankings(n: int, s: int, step: int) -> None:
    every = {"".join("p" if i in where else "o" for i in range(n)) for where in itertools.combinations(range(n), s)}
    worst = {kind: max(differences(labels, step)[kind] for labels in every) for kind in ("rND", "rKL", "rRD")}
    for labels in sorted(every)[::7]:
        count = {"p": itertools.count(), "o": itertools.count()}
        ranking = [f"{letter}{next(count[letter])}" for letter in labels]
        result = values(prefix_fairness({"q": [ranking]}, PROTECTED, "p", step=step))
        expected = differences(labels, step)
        for kind in worst:
            assert result[kind] == pytest.approx(expected[kind] / worst[kind], abs=1e-12)


def test_prefix_fairness_is_undefined_if_all_rankings_are_equally_fair() -> None:
    few = prefix_fairness({"q": [["p1", "o1"]]}, PROTECTED, "p")
    same = prefix_fairness({"q": [["p1", "p2", "p3"]]}, PROTECTED, "p", step=2)
    assert np.isnan(few.values).all()
    assert np.isnan(same.values).all()


soft = st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]), min_size=3, max_size=6).filter(lambda x: len(set(x)) > 1)


@settings(deadline=None, max_examples=60)
@given(soft)
def test_soft_labels_count_by_their_shares(shares: list[float]) -> None:
    n, s = len(shares), sum(shares)

    def unfair(order: tuple[float, ...], kind: str) -> float:
        total = 0.0
        for i in range(2, n + 1, 2):
            here = sum(order[:i])
            pairs = [(here / i, s / n), (1 - here / i, 1 - s / n)]
            ratio = here / (i - here) if i - here > 1e-9 else 0.0
            total += {
                "rND": abs(here / i - s / n),
                "rKL": sum(p * math.log(p / q) for p, q in pairs if p > 1e-12),
                "rRD": abs(ratio - s / (n - s)),
            }[kind] / math.log2(i)  # fmt: skip
        return total

    labels = {f"x{i}": {"p": share, "other": 1 - share} for i, share in enumerate(shares)}
    result = values(prefix_fairness({"q": [list(labels)]}, labels, "p", step=2))
    for kind in ("rND", "rKL", "rRD"):
        worst = max(unfair(order, kind) for order in set(itertools.permutations(shares)))
        assert result[kind] == pytest.approx(unfair(tuple(shares), kind) / worst, abs=1e-9)


def test_soft_labels_by_hand() -> None:
    # two documents half protected, one wholly, one not: 2 of 4. The first two hold 1.5, at most 1.5, at least 0.5
    labels = {"a": "p", "b": {"p": 0.5, "o": 0.5}, "c": {"p": 0.5, "o": 0.5}, "d": "o"}
    assert values(prefix_fairness({"q": [list("abcd")]}, labels, "p", step=2))["rND"] == pytest.approx(1)
    assert values(prefix_fairness({"q": [list("adbc")]}, labels, "p", step=2))["rND"] == pytest.approx(0)
    alike = {doc: {"p": 0.5, "o": 0.5} for doc in "abcd"}
    assert np.isnan(prefix_fairness({"q": [list("abcd")]}, alike, "p", step=2).values).all()


def test_a_protected_group_may_be_absent_from_a_list_but_must_exist() -> None:
    result = prefix_fairness({"q": [["o1", "o2", "o3"]], "r": [["p1", "o1", "o2"]]}, PROTECTED, "p", step=2)
    assert np.isnan(result.values[:, 0, 0]).all()
    assert result.values[0, 0, 1] == pytest.approx(abs(1 / 2 - 1 / 3) / abs(0 - 1 / 3))  # worst is p1 at the end
    with pytest.raises(UsageError, match="group == 'z', must be one of 'p', 'other'"):
        prefix_fairness({"q": [["o1", "o2", "o3"]]}, PROTECTED, "z", step=2)


def test_the_step_is_at_least_2() -> None:
    with pytest.raises(UsageError, match="step == 1, must be 2 or more"):
        prefix_fairness({"q": [DOCS]}, SOFT, "c", step=1)


@given(rankings)
def test_pairwise_parity_follows_its_definition(lists: Any) -> None:
    def member(doc: str, group: str) -> float:
        of = SOFT[doc]
        return of.get(group, 0.0) if isinstance(of, dict) else float(of == group)

    result = values(pairwise_parity({"q": lists}, SOFT))
    for group in "abc":
        each = []
        for ranking in lists:
            above = all_pairs = 0.0
            for r, s in itertools.permutations(range(len(ranking)), 2):
                pair = member(ranking[r], group) * (1 - member(ranking[s], group))
                all_pairs += pair
                above += pair if r < s else 0.0
            each.append(above / all_pairs)
        assert result[f"parity({group})"] == pytest.approx(sum(each) / len(each))


def test_pairwise_parity_by_hand() -> None:
    # p above o in (p1, o1), (p1, o2), (p2, o2), of four pairs
    result = values(pairwise_parity({"q": [["p1", "o1", "p2", "o2"]]}, PROTECTED))
    assert result == {"parity(p)": 0.75, "parity(other)": 0.25}
    assert math.isnan(values(pairwise_parity({"q": [["p1", "p2"]]}, PROTECTED))["parity(p)"])


# ---- over a sequence


def test_equity_of_attention_by_hand() -> None:
    # p = 0.5 over two ranks: attention 2/3, 1/3; relevance 3/4, 1/4 of grades 3 and 1
    qrels = {"q1": {"d0": 3, "d2": 1}, "q2": {"d0": 1, "d2": 0}, "q3": {"d0": 0}}
    shown = {"q1": [["d0", "d2"]], "q2": [["d2", "d0"]], "q3": [["d0"]]}
    result = equity_of_attention(qrels, shown)
    assert result.steps[0] == ("q1", pytest.approx(2 * (3 / 4 - 2 / 3)))
    # after q2: d0 got 2/3 + 1/3 of 3/4 + 1, d2 got 1/3 + 2/3 of 1/4
    assert result.unfairness == pytest.approx(0.75 + 0.75)
    assert result.left_out == ("q3",)
    data = result.to_dict()
    assert data["subjects"]["d0"] == {"attention": pytest.approx(1), "relevance": 1.75}
    assert data["steps"][1] == {"topic": "q2", "unfairness": pytest.approx(1.5)}
    assert result.to_pandas()["subject"].tolist() == ["d0", "d2"]


@given(st.lists(st.tuples(grades, st.permutations(DOCS)), min_size=1, max_size=4), attentions, st.booleans())
def test_equity_of_attention_follows_its_definition(sequence: Any, attention: Attention, grouped: bool) -> None:
    qrels = {f"q{i}": judged for i, (judged, _) in enumerate(sequence)}
    shown = {f"q{i}": [ranking] for i, (_, ranking) in enumerate(sequence)}
    got: dict[str, float] = {}
    deserved: dict[str, float] = {}
    for judged, ranking in sequence:
        worth = sum(judged.values())
        if worth == 0:
            continue
        given_here = weight(attention, ranking, {doc for doc, grade in judged.items() if grade > 0})
        for doc in DOCS:
            of = SOFT[doc] if grouped else doc
            for subject, share in (of if isinstance(of, dict) else {of: 1.0}).items():
                got[subject] = got.get(subject, 0) + share * given_here[doc] / sum(given_here.values())
                deserved[subject] = deserved.get(subject, 0) + share * judged[doc] / worth
    result = equity_of_attention(qrels, shown, SOFT if grouped else None, attention=attention)
    assert result.unfairness == pytest.approx(sum(abs(got[x] - deserved[x]) for x in got), abs=1e-9)


def test_alternating_rankings_are_fair_in_the_long_run() -> None:
    turns = {"q": [["d0", "d1"], ["d1", "d0"]] * 5}
    result = equity_of_attention({"q": {"d0": 1, "d1": 1}}, turns)
    assert result.unfairness == pytest.approx(0)
    assert result.steps[0][1] == pytest.approx(1 / 3)  # 2/3 and 1/3 where 1/2 each was due


# ---- rankings


def test_rankings_can_be_runs_lists_of_runs_or_lists_of_documents() -> None:
    one, two = {"q": {"d0": 2.0, "d1": 1.0}}, {"q": {"d1": 2.0, "d0": 1.0}}
    drawn = exposure([one, Run.of(two)]).documents
    assert drawn == exposure({"q": [["d0", "d1"], ["d1", "d0"]]}).documents == {"q": {"d0": 0.75, "d1": 0.75}}
    assert exposure(one).documents == exposure({"q": ["d0", "d1"]}).documents == {"q": {"d0": 1.0, "d1": 0.5}}
    assert exposure([("q", "d0", 2.0), ("q", "d1", 1.0)]).documents == {"q": {"d0": 1.0, "d1": 0.5}}


def test_errors_name_the_wrong_value() -> None:
    with pytest.raises(DataError, match="topic 'q': document 'd0' is ranked twice"):
        exposure({"q": [["d0", "d0"]]})
    with pytest.raises(UsageError, match="rankings of topic 'q': expected lists of documents"):
        exposure({"q": [["d0"], 3]})
    with pytest.raises(UsageError, match=r"p == 1\.2, must be between 0 and 1"):
        Attention(p=1.2)
    with pytest.raises(UsageError, match="kind == 'flat', must be one of 'geometric', 'log', 'trec'"):
        Attention("flat")
    with pytest.raises(UsageError, match="target: no group 'z'; there are 'a', 'b', 'c'"):
        awrf({"q": [DOCS]}, SOFT, {"z": 1})
    with pytest.raises(UsageError, match="must be shares of 0 or more"):
        awrf({"q": [DOCS]}, SOFT, {"a": -1, "b": 2})
    with pytest.raises(UsageError, match="base == 1, must be above 1"):
        awrf({"q": [DOCS]}, SOFT, {"a": 1}, base=1)
    with pytest.raises(UsageError, match=r"stop == 0\.5, must be 0"):
        awrf({"q": [DOCS]}, SOFT, {"a": 1}, attention=Attention(stop=0.5))


# ---- audit

GROUPS = {"d0": "a", "d1": "b", "d2": {"a": 0.5, "b": 0.5}}
JUDGED = {"q": {"d0": 1, "d1": 1, "d2": 0}, "r": {"d0": 1, "d2": 1}}


def test_an_audit_has_the_numbers_of_the_functions() -> None:
    runs = {"x": {"q": ["d0", "d1", "d2"], "r": ["d2", "d1", "d0"]}, "y": {"q": ["d1", "d0"], "r": ["d0"]}}
    result = audit(JUDGED, runs, GROUPS, step=2)
    same = partial(pytest.approx, rel=1e-12, nan_ok=True)  # the functions get one run, so they add in another order
    for r, (run, shown) in enumerate(runs.items()):
        expected = expected_exposure(JUDGED, shown, GROUPS)
        for name in expected.measures:
            assert result.of_runs[name][r] == same(expected[name].values[0, 0])
        assert result.to_dict()[run]["EE-L"] == pytest.approx(expected.mean()["run"]["EE-L"])
        steps = equity_of_attention(JUDGED, shown, GROUPS).steps
        assert result.of_runs["equity"][r] == same([value for _, value in steps])
        assert result.to_dict()[run]["equity"] == same(steps[-1][1])  # the last value, not a mean
        assert result.of_runs["AWRF"][r] == same(awrf(shown, GROUPS, JUDGED).values[0, 0])
        for g, group in enumerate("ab"):
            each = [exposure(shown, GROUPS, JUDGED).groups[topic][group].share for topic in "qr"]
            assert result.of_groups["share"][r, :, g] == same(each)
            assert result.to_dict()[run]["groups"][group]["share"] == pytest.approx(sum(each) / 2)
            prefix = prefix_fairness(shown, GROUPS, group, step=2)
            assert result.of_groups["rKL"][r, :, g] == same(prefix["rKL"].values[0, 0])
    frame = result.to_pandas()
    assert list(frame.columns) == ["run", "topic", "group", "measure", "value"]
    assert len(frame) == 2 * 2 * (5 + 2 * (6 + 1 + 3))
    # y shows only two documents on q and one on r
    assert "undefined in some run, of 2 topics: parity on 1, rND on 2, rKL on 2, rRD on 2" in result.notes


def test_an_audit_uses_the_order_of_the_judgments_and_warns_about_other_topics() -> None:
    runs = {"x": {"z": ["d0"], "r": ["d0"]}}
    with pytest.warns(CranfieldWarning) as caught:
        result = audit(JUDGED, runs, GROUPS)
    messages = [str(warning.message) for warning in caught]
    assert "1 topic without judgments ignored: x has z" in messages
    assert "1 judged topic missing from x: q" in messages
    assert result.topics == ("q", "r")
    # nothing is shown where a and b are due 3/4 + 1/8 each
    assert result.of_runs["EE-L"][0, 0] == pytest.approx(2 * 0.875**2)
    with pytest.warns(CranfieldWarning):
        skipped = audit(JUDGED, runs, GROUPS, "EE-L", missing="skip")
    assert math.isnan(skipped.of_runs["EE-L"][0, 0])
    with pytest.raises(DataError, match="none of its topics is judged: it has z"):
        audit(JUDGED, {"x": {"z": ["d0"]}}, GROUPS)


def test_runs_of_an_audit_have_different_names() -> None:
    same = Run.of({"q": {"d0": 1.0}, "r": {"d0": 1.0}})
    assert audit(JUDGED, [same, same], measures="EE-L").runs == ("run#1", "run#2")
    with pytest.raises(UsageError, match="no runs given"):
        audit(JUDGED, [])


def test_without_judgments_groups_have_no_merit() -> None:
    rankings, groups = {"q": [["d1", "d2"]]}, {"d1": "a", "d2": "b"}
    unknown = exposure(rankings, groups).groups["q"]
    assert all(math.isnan(group.merit) and math.isnan(group.per_merit) for group in unknown.values())
    known = exposure(rankings, groups, {"q": {"d1": 1, "d2": 0}}).groups["q"]
    assert (known["a"].merit, known["b"].merit) == (1.0, 0.0)

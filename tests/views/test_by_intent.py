"""Views of measures that use more than grades: intents, lengths, several dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.assessed import intents as intents_module
from cranfield.assessed.changed_lists.tied_orders import ENUMERATED
from cranfield.assessed.hits_by_intent import with_intents
from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.evaluation.missing_judgments import residual
from cranfield.measures import Measure, parse
from tests.measures.test_diversity import ALL

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")

# a, b and x are tied, d and e, y and f; x and y are not judged, and c has only judgments of 0
RUN = {"1": {"a": 5.0, "b": 5.0, "x": 5.0, "d": 3.0, "e": 3.0, "c": 2.0, "y": 1.0, "f": 1.0}}
OTHER = {"2": {"p": 2.0, "q": 2.0, "r": 1.0}}
BY_INTENT = b"""1 1 a 2
1 1 b 1
1 2 b 1
1 3 b 1
1 2 c 0
1 2 d 1
1 1 e 3
1 3 f 1
1 2 z 2
2 1 p 0
2 1 q 1
2 2 r 1
"""
OPTIONS = JoinOptions(
    intent_probabilities={"1": {"1": 0.2, "2": 0.3, "3": 0.5}, "2": {"1": 0.6, "2": 0.4}},
    intent_types={"1": {"1": "nav", "2": "inf", "3": "nav"}, "2": {"1": "inf", "2": "nav"}},
)
LENGTHS = {"a": 5000, "b": 50, "x": 90_000, "d": 10, "e": 4000, "c": 700, "y": 20_000, "f": 300}
GRADES = {"1": {"a": 1, "b": 1, "c": 0, "d": 2, "e": 0, "f": 1, "z": 1}}
CLEAR = {"1": {"a": 0, "b": 2, "x": 1, "c": 2, "d": 0, "e": 1, "y": 1, "z": 2}}  # x and y are judged here only


def every_order(scores: Mapping[str, float]) -> list[dict[str, float]]:
    """The run of one topic in every order of its tied documents, by itertools, without ties."""
    documents = sorted(scores, key=lambda document: -scores[document])
    groups = [list(group) for _, group in groupby(documents, key=scores.__getitem__)]
    orders = [[d for group in combination for d in group] for combination in product(*map(permutations, groups))]
    return [{document: -float(rank) for rank, document in enumerate(order)} for order in orders]


def brute_force(measure: Measure, judged: Any, options: JoinOptions, topic: str, scores: Any) -> Any:
    runs = {f"r{n}": {topic: order} for n, order in enumerate(every_order(scores))}
    lists = join(judged, runs, options)
    return measure.evaluate(lists)[lists.topic == lists.topics.index(topic)]


def agree(name: str | Measure, judged: Any, options: JoinOptions, run: Any = RUN) -> None:
    """Compare the three readings of ties with the scores of all orders."""
    measure = parse(name) if isinstance(name, str) else name
    lists = join(judged, {"run": run}, options)
    actual = {reading: measure.view(reading).evaluate(lists) for reading in ("ties", "ties=best", "ties=worst")}
    for topic, scores in run.items():
        values = brute_force(measure, judged, options, topic, scores)
        best, worst = values.max(), values.min()
        if measure.properties.better == "lower":
            best, worst = worst, best
        at = lists.topics.index(topic)
        expected = {"ties": values.mean(), "ties=best": best, "ties=worst": worst}
        close = {reading: pytest.approx(value, abs=1e-12, nan_ok=True) for reading, value in expected.items()}
        assert {reading: values[at] for reading, values in actual.items()} == close, measure


# -- ties


def test_a_document_with_more_intents_is_better() -> None:
    # b serves three intents, a serves one with a better grade: at rank 1 they gain 3/3 or 1/3 of the ideal
    judged, run = b"1 1 a 2\n1 1 b 1\n1 2 b 1\n1 3 b 1\n", {"1": {"a": 1.0, "b": 1.0}}
    actual = cf.evaluate(judged, run, ["alpha-nDCG@1[ties=best]", "alpha-nDCG@1[ties=worst]", "alpha-nDCG@1[ties]"])
    assert actual.values.ravel().tolist() == pytest.approx([1, 1 / 3, 2 / 3])


FORMS = [
    "nDCG-IA@4",
    "D-nDCG@4",
    "D#-nDCG@4",
    "D-Q",
    "DIN-Q",
    "DIN#-nDCG@5",
    "P+Q#@4",
    "ERR-IA@4",
    "bpref-IA",
    "ESL-IA",
]


@pytest.mark.parametrize("measure", [*ALL, *map(parse, FORMS)], ids=str)
def test_ties_by_intent_agree_with_all_orders(measure: Measure) -> None:
    agree(measure, BY_INTENT, OPTIONS, {**RUN, **OTHER})


@pytest.mark.parametrize("name", ["alpha-nDCG", "D#-nDCG@3", "AP-IA"])
@pytest.mark.parametrize("view", ["condensed", "best", "worst"])
def test_views_of_unjudged_documents_and_ties_commute(name: str, view: str) -> None:
    agree(parse(name).view(view), BY_INTENT, OPTIONS)
    measure, lists = parse(name), join(BY_INTENT, {"run": RUN}, OPTIONS)
    for reading in ("ties", "ties=best", "ties=worst"):
        first, second = measure.view(view, reading).evaluate(lists), measure.view(reading, view).evaluate(lists)
        assert first.tolist() == pytest.approx(second.tolist(), nan_ok=True)


@pytest.mark.parametrize(
    "name", ["TBG", "TBG@4", "TBG'", "U", "U(L=9000)", "U(L=9000)@3", "U[best]", "INST(cost='length')"]
)
def test_ties_with_lengths_agree_with_all_orders(name: str) -> None:
    agree(name, GRADES, JoinOptions(lengths=LENGTHS))


@pytest.mark.parametrize("name", ["U-IA(L=9000)", "D-U(L=9000)", "D#-U(L=9000)@4"])
def test_ties_with_lengths_and_intents_agree_with_all_orders(name: str) -> None:
    options = JoinOptions(lengths={**LENGTHS, **dict.fromkeys("pqr", 10)}, intent_types=OPTIONS.intent_types)
    agree(name, BY_INTENT, options)


DIMENSIONS = [
    "uRBP", "uRBPgr(p=0.5)@4", "uRBP'", "CAM(AP)", "CAM(AP')", "CAM(nDCG@3,weights={relevance:3,understandability:1})",
    "CAM(ESL)", "MM(AP)", "MM(nDCG@4)", "MM(AP[best])", "MM(RBP')", "MM(RR)",
]  # fmt: skip


@pytest.mark.parametrize("name", DIMENSIONS)
def test_tied_documents_have_one_order_in_all_dimensions(name: str) -> None:
    agree(name, GRADES, JoinOptions(dimensions={"understandability": CLEAR}))


@pytest.mark.parametrize("name", ["CAM(U(L=9000))", "MM(TBG)", "uRBP"])
def test_tied_documents_keep_their_lengths_in_all_dimensions(name: str) -> None:
    agree(name, GRADES, JoinOptions(dimensions={"understandability": CLEAR}, lengths=LENGTHS))


def test_ties_are_sorted_by_grade_if_neither_high_nor_low_is_better() -> None:
    options = JoinOptions(dimensions={"clear": {"1": {"b": 1, "x": 1, "e": 1}}}, lengths=LENGTHS)
    assert parse("CAM(Judged@3)").properties.better == "neither"
    for reading, order in (("best", "baxdecfy"), ("worst", "xbaedcyf")):  # by relevance, equal grades by id
        ranked = {"1": {document: -float(rank) for rank, document in enumerate(order)}}
        for name in ("CAM(Judged@1)", "CAM(Judged@4)", "CAM(NumRet)"):
            actual = parse(name).view(f"ties={reading}").evaluate(join(GRADES, RUN, options))
            assert actual.tolist() == parse(name).evaluate(join(GRADES, ranked, options)).tolist(), (name, reading)


def test_documents_tied_only_in_another_dimension() -> None:
    judged, clear, run = {"1": {"a": 1}}, {"1": {"b": 1, "c": 0}}, {"1": {"a": 3.0, "b": 2.0, "c": 2.0}}
    agree("MM(AP)", judged, JoinOptions(dimensions={"clear": clear}), run)


def test_ties_of_the_inner_measure_become_ties_of_the_mean() -> None:
    assert parse("MM(AP)[ties]") == parse("MM(AP[ties])") == parse("MM(AP)").view("ties")
    assert str(parse("MM(AP')").view("ties=best")) == "MM(AP'[ties=best])"
    with pytest.raises(cf.UsageError, match="ties and ties=best; give only one of them"):
        parse("CAM(AP[ties])").view("ties=best")


@pytest.mark.parametrize("name", ["xinfAP", "infNDCG"])
def test_ties_in_a_sample_agree_with_all_orders(name: str) -> None:
    judged = b"1 1 a 1\n1 1 b 0\n1 2 d 1\n1 2 e -1\n1 2 x 1\n1 3 f 1\n1 3 c 0\n1 3 y -1\n1 3 z -1\n"
    agree(name, judged, JoinOptions())


def test_ties_with_inclusion_probabilities_agree_with_all_orders() -> None:
    inclusion = {"1": {"a": 1.0, "b": 0.1, "c": 0.3, "d": 0.5, "e": 1.0, "f": 0.2, "z": 0.4}}
    agree("statAP", GRADES, JoinOptions(inclusion=inclusion))


def many_tied(documents: int) -> tuple[bytes, dict[str, dict[str, float]]]:
    lines = ["1 2 d00 0", *(f"1 {1 + n % 3} d{n:02} {1 + n % 2}" for n in range(documents))]
    return ("\n".join(lines) + "\n").encode(), {"1": {f"d{n:02}": 1.0 for n in range(documents)}}


def test_drawn_orders_include_the_present_order_and_are_reproducible() -> None:
    judged, run = many_tied(9)  # 9! orders
    lists = join(judged, run)
    for name in ("alpha-nDCG@5", "D-nDCG", "AP-IA"):
        measure = parse(name)
        best, worst = (measure.view(f"ties={reading}").evaluate(lists)[0] for reading in ("best", "worst"))
        as_it_is = measure.evaluate(lists)[0]
        first = measure.evaluate(join(judged, {"1": {d: float(not int(d[1:]) % 2) for d in run["1"]}}))  # grade 1 first
        last = measure.evaluate(join(judged, {"1": {d: float(int(d[1:]) % 2) for d in run["1"]}}))
        assert worst <= min(as_it_is, first[0], last[0])
        assert best >= max(as_it_is, first[0], last[0])
        assert measure.view("ties=best").evaluate(join(judged, run))[0] == best


def test_drawn_orders_include_the_order_by_grade() -> None:
    # 60 documents, 3 of them relevant: the best order has these on top, and none of 1,000 random orders does
    lines = [f"1 1 d{n} {2 if n in (5, 17, 40) else 0}" for n in range(60)]
    judged, run = "\n".join([*lines, ""]).encode(), {"1": {f"d{n}": 1.0 for n in range(60)}}
    options = JoinOptions(intent_probabilities={"1": {"1": 1.0}})
    assert ENUMERATED < 60 * 59 * 58 / 30
    actual = parse("D-nDCG[ties=best]").evaluate(join(judged, run, options))
    assert actual.tolist() == pytest.approx([1.0])


@pytest.mark.parametrize("name", ["CAM(AP)[ties=best]", "MM(AP)[ties=worst]", "uRBP[ties=best]", "MM(U)[ties=best]"])
def test_explain_shows_the_order_that_is_scored(name: str) -> None:
    options = JoinOptions(dimensions={"understandability": CLEAR}, lengths=LENGTHS)
    explained = cf.explain(GRADES, RUN, "1", name, options=options)
    assert explained.score == pytest.approx(parse(name).evaluate(join(GRADES, RUN, options))[0])
    assert explained.lines[-1].so_far == pytest.approx(explained.score)
    assert sorted(line.doc for line in explained.lines) == sorted(RUN["1"])


# -- unjudged documents

WITH_UNJUDGED: list[tuple[list[Any], list[Any]]] = [
    ([{"a": 2}, None, {"a": 1, "b": 1}, None], [{"b": 2}]),
    ([None, {"b": 1}, None, {"a": 0}], [{"a": 1, "c": 1}]),
    ([None, None], [{"a": 1}]),
    ([{"a": 3, "b": 1}], []),
    ([], [{"a": 1}]),
]


@pytest.mark.parametrize("measure", [*ALL, *map(parse, [*FORMS, "Judged-IA@3"])], ids=str)
def test_best_and_worst_grade_unjudged_documents_for_every_intent(measure: Measure) -> None:
    for documents, missed in WITH_UNJUDGED:
        judged = [document for document in (*documents, *missed) if document]
        intents = {intent for document in judged for intent, grade in document.items() if grade > 0}
        highest = max(grade for document in judged for grade in document.values())
        for view, grade in (("best", highest), ("worst", 0)):
            read = [dict.fromkeys(intents, grade) if document is None else document for document in documents]
            lists, expected = (with_intents(grades, missed, None, ["a"]) for grades in (documents, read))
            actual = measure.view(view).evaluate(lists)
            assert actual.tolist() == pytest.approx(measure.evaluate(expected).tolist(), nan_ok=True), (documents, view)


def test_worst_does_not_change_the_score_of_these_measures() -> None:
    for name in ("alpha-nDCG", "I-rec@2", "NRBP", "nERR-IA", "D#-nDCG", "P+Q", "AP-IA"):
        for documents, missed in WITH_UNJUDGED:
            lists = with_intents(documents, missed)
            actual, plain = parse(name).view("worst").evaluate(lists), parse(name).evaluate(lists)
            assert actual.tolist() == pytest.approx(plain.tolist(), rel=1e-12)


@pytest.mark.parametrize(
    "name", ["alpha-nDCG@3[best]", "D#-nDCG@5[best]", "AP-IA[best]", "nDCG@3[best][ties]", "RBU[worst]"]
)
def test_adding_unjudged_documents_in_blocks_gives_the_same_scores(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {"r": RUN | OTHER, "s": {"1": RUN["1"] | {"b": 9.0}, "2": {"r": 1.0}}, "t": {"2": {"w": 2.0, "q": 1.0}}}
    lists = join(BY_INTENT, runs, OPTIONS)
    expected = parse(name).evaluate(lists)
    monkeypatch.setattr(intents_module, "MOST_ENTRIES", 1)  # one list at a time
    assert lists.intents is not None
    assert lists.intents.blocks(lists) == [(row, row + 1) for row in range(6)]
    assert parse(name).evaluate(lists.replace()).tolist() == expected.tolist()


def test_added_judgments_belong_to_one_list_and_have_the_largest_grade_of_all_topics() -> None:
    judged = b"1 1 a 1\n1 2 b 1\n2 1 c 3\n2 2 c 0\n2 2 d 1\n3 1 e 1\n"
    runs = {
        "full": {"1": {"a": 2.0, "b": 1.0}},
        "open": {"1": {"x": 3.0, "a": 2.0, "y": 1.0}, "2": {"z": 2.0, "c": 1.0}},
    }
    lists = join(judged, runs)
    for name in ("alpha-nDCG", "ERR-IA", "nDCG-IA", "D-Q"):
        measure = parse(name)
        actual = measure.view("best").evaluate(lists)
        assert actual[0] == pytest.approx(measure.evaluate(lists)[0], rel=1e-12)
        for row, lines in ((3, "1 {} x 3\n1 {} y 3\n"), (4, "2 {} z 3\n")):
            more = "".join(lines.replace("{}", intent) for intent in "12").encode()
            explained = join(judged + more, {"open": runs["open"]})
            assert actual[row] == pytest.approx(measure.evaluate(explained)[row - 3]), (name, row)


INTENT_GRADES = [{"a": a, "b": b} for a in (0, 1, 2) for b in (0, 1, 2)]


@pytest.mark.parametrize("measure", [*ALL, *map(parse, ["RBP-IA", "D-DCG", "DIN-DCG", "P-IA#@2", "RR-IA"])], ids=str)
def test_bounds_by_intent_enclose_every_possible_judgment(measure: Measure) -> None:
    for documents in ([None, {"a": 2, "b": 1}, None, {"a": 1}], [{"b": 1}, None, {"a": 1}, None]):
        missed = [{"a": 2, "b": 1}]
        low, high, bounds = residual(measure, with_intents(documents, missed, None, ["a"]))
        if not bounds:
            continue
        for first, second in product(INTENT_GRADES, repeat=2):
            guesses = iter((first, second))
            full = [next(guesses) if document is None else document for document in documents]
            value = measure.evaluate(with_intents(full, missed, None, ["a"]))[0]
            assert np.isnan(value) or low[0] - 1e-12 <= value <= high[0] + 1e-12


def test_which_residuals_by_intent_are_bounds() -> None:
    lists = with_intents([{"a": 1}, None])
    bounds = {name: residual(name, lists).bounds for name in ("alpha-DCG", "ERR-IA", "P-IA@2", "alpha-nDCG", "AP-IA")}
    assert bounds == {"alpha-DCG": True, "ERR-IA": True, "P-IA@2": True, "alpha-nDCG": False, "AP-IA": False}
    # a navigational intent: 1 if a document of grade 1 comes first, 2/log2(3) if that document is not relevant
    diverse = with_intents([None, {"a": 2}], navigational=["a"])
    low, _, enclosed = residual("DIN-DCG", diverse)
    lesser = parse("DIN-DCG").evaluate(with_intents([{"a": 1}, {"a": 2}], navigational=["a"]))[0]
    assert lesser < low[0]
    assert not enclosed
    # all best, both documents serve both navigational intents: the second is redundant; as b and a they both count
    low, high, enclosed = residual("Ef-P", with_intents([None, {"a": 1}], [{"b": 1}], None, ["a", "b"]))
    assert (low[0], high[0], enclosed) == (0.5, 0.5, False)
    assert parse("Ef-P").evaluate(with_intents([{"b": 1}, {"a": 1}], navigational=["a", "b"]))[0] == 1
    # with b's highest grade 1 the first document satisfies by 1/2; with a document of grade 2 below it, by 1/4
    assert not residual("RBU", lists).bounds
    judged, lower = [{"b": 1}, *[{"a": 0}] * 9, None], [{"b": 1}, *[{"a": 0}] * 9, {"b": 2}]
    low = residual("RBU", with_intents(judged, [{"a": 2}])).low[0]
    assert parse("RBU").evaluate(with_intents(lower, [{"a": 2}]))[0] < low
    # an intent without a document of grade 2 does not count for I-rec(rel=2), but may count with other judgments
    assert not residual("I-rec(rel=2)", lists).bounds


@pytest.mark.parametrize("name", ["uRBP", "uRBP(p=0.5,rel=2)@6", "uRBPgr"])
def test_best_and_worst_read_what_a_dimension_does_not_judge_as_judged(name: str) -> None:
    run = {"1": {document: -float(n) for n, document in enumerate("axwbcdyefg")}}  # g and w are unjudged
    measure, judged = parse(name), {"1": {**GRADES["1"], "a": 2}}
    lists = join(judged, run, JoinOptions(dimensions={"understandability": {"1": {**CLEAR["1"], "a": 3}}}))
    bounds = residual(measure, lists)
    for grade, clear, value in ((2, 3, bounds.high), (0, 0, bounds.low)):
        relevance = {"1": {document: {**judged["1"]}.get(document, grade) for document in run["1"]}}
        further = {"1": {document: {**CLEAR["1"], "a": 3}.get(document, clear) for document in run["1"]}}
        explained = join(relevance, run, JoinOptions(dimensions={"understandability": further}))
        assert value.tolist() == pytest.approx(measure.evaluate(explained).tolist())
    assert bounds.bounds


@pytest.mark.parametrize("view", ["best", "worst"])
def test_ties_of_documents_that_dimensions_do_not_judge(view: str) -> None:
    agree(parse("uRBPgr").view(view), GRADES, JoinOptions(dimensions={"understandability": CLEAR}))


def test_residuals_of_a_mean_over_dimensions_read_the_unjudged_first() -> None:
    lists = join({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, JoinOptions(dimensions={"clear": {"q": {"a": 1}}}))
    low, high, bounds = residual("CAM(P'@2)", lists)
    assert (low[0], high[0], bounds) == (0.5, 1.0, True)  # x counts in both dimensions or in none: 2/2 or 1/2


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from cranfield.cli import main

    (tmp_path / "q").write_bytes(BY_INTENT)
    (tmp_path / "r").write_text("".join(f"1 Q0 {doc} 1 {score} run\n" for doc, score in RUN["1"].items()), "utf-8")
    main(["eval", str(tmp_path / "q"), str(tmp_path / "r"), "-m", "I-rec@1", "--residual", "-f", "csv"])
    header, *lines = capsys.readouterr().out.splitlines()
    assert [name for name in header.split(",") if "I-rec" in name] == ["I-rec@1", "I-rec@1[worst]", "I-rec@1[best]"]
    assert lines


def test_lists_that_do_not_say_which_documents_they_hold() -> None:
    lists: Assessed = with_intents([{"a": 1}]).replace(document=None)
    with pytest.raises(cf.UsageError, match="do not say which judged document each hit is"):
        parse("alpha-nDCG").evaluate(lists)

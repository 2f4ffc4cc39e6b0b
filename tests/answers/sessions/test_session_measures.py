"""Measures of sessions: numbers by hand, laws, and slow versions beside ours."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.answers.sessions import (
    Click,
    Query,
    Session,
    SessionLists,
    Sessions,
    as_session_measure,
    esAP,
    esDCG,
    esNDCG,
    esP,
    esR,
    explain_session,
    nsDCG,
    sCG,
    sDCG,
    session_scores,
    session_trailtext,
    sFreq,
    sMP,
    sRBP,
    sU,
    with_topics,
)
from cranfield.errors import UsageError
from cranfield.measures import AP, DCG, MP, RBP, P, R, U, nDCG
from cranfield.measures.readers.markov import session_precision
from tests.oracles.slow_sessions import click_u, expected

QRELS = {"1": {"a": 2, "c": 1, "e": 1, "x": 1, "b": 0}}
TWO = Session("s", "1", (Query(("a", "b"), (Click(1, 5.0),)), Query(("b", "c", "a", "d"), (Click(2, 9.0),))))


def laid(grades: list[list[int]], missed: list[int] | None = None, **options: object) -> SessionLists:
    """A session whose lists have these grades, all documents different."""
    names = [[f"d{q}-{r}" for r in range(len(of_query))] for q, of_query in enumerate(grades)]
    judged = {doc: grade for docs, of in zip(names, grades, strict=True) for doc, grade in zip(docs, of, strict=True)}
    judged |= {f"missed{i}": grade for i, grade in enumerate(missed or [])}
    queries = tuple(Query(tuple(docs)) for docs in names)
    return SessionLists.of([Session("s", "1", queries)], {"1": judged}, **options)  # type: ignore[arg-type]


def value(measure: object, lists: SessionLists) -> float:
    return float(as_session_measure(measure).score(lists)[0])  # type: ignore[arg-type]


def test_sdcg_is_formula_35() -> None:
    lists = SessionLists.of([TWO], QRELS)  # a b | c d: b and a of the second list are duplicates
    assert lists.document == ("a", "b", "c", "d")
    by_hand = 2 / (1 * 1) + 1 / (log(5, 4) * log(4, 2))
    assert value("sDCG", lists) == pytest.approx(by_hand)


def test_duplicates_are_kept_if_asked_for() -> None:
    lists = SessionLists.of([TWO], QRELS, duplicates="keep")  # a b | b c a d
    by_hand = 2 + (1 / log(5, 2) + 2 / log(6, 2)) / log(5, 4)
    assert value("sDCG", lists) == pytest.approx(by_hand)


def test_lists_end_at_the_lowest_click_if_asked_for() -> None:
    lists = SessionLists.of([TWO], QRELS, cut="lowest-click")  # a | b c
    assert lists.document == ("a", "b", "c")
    assert value("sDCG", lists) == pytest.approx(2 + 1 / (log(5, 4) * log(4, 2)))


def test_original_form_starts_ranks_again_in_every_list() -> None:
    lists = SessionLists.of([TWO], QRELS, duplicates="keep")
    # ranks 1 and 2 are not discounted with b = 2: log2(2) = 1; the second query divides by 1 + log4(2) = 1.5
    by_hand = 2 + (1 / 1 + 2 / log(3, 2)) / 1.5
    assert value('sDCG(form="original")', lists) == pytest.approx(by_hand)


def test_nsdcg_divides_by_one_ideal_list() -> None:
    ideal = 2 + 1 / log(3, 2) + 1 / log(4, 2) + 1 / log(5, 2)
    lists = SessionLists.of([TWO], QRELS)
    assert value("nsDCG", lists) == pytest.approx((2 + 1 / (log(5, 4) * 2)) / ideal)


def test_nsdcg_divides_by_repeated_ideal_lists() -> None:
    lists = SessionLists.of([TWO], QRELS, duplicates="keep")
    second = sum(gain / log(position + 1, 2) for gain, position in zip([2, 1, 1, 1], [3, 4, 5, 6], strict=True))
    ideal = 2 + 1 / log(3, 2) + second / log(5, 4)  # two documents in the first list, four in the second
    top = 2 + (1 / log(5, 2) + 2 / log(6, 2)) / log(5, 4)
    assert value('nsDCG(norm="repeated")', lists) == pytest.approx(top / ideal)
    assert value('nsDCG(norm="repeated",form="original")', lists) <= 1


def test_gains_from_clicks_and_from_both() -> None:
    clicks = SessionLists.of([TWO], gains="clicks", click_gain=1)
    assert value("sDCG", clicks) == pytest.approx(1 + 1 / (log(5, 4) * 2))
    assert value("nsDCG", clicks) == pytest.approx((1 + 1 / (log(5, 4) * 2)) / (1 + 1 / log(3, 2)))
    session = Session("s", "1", (Query(("a", "b", "c"), (Click(2), Click(3))),))
    assert value("sDCG", SessionLists.of([session], QRELS, gains="both")) == pytest.approx(1 / log(4, 2))


def test_srbp_by_hand() -> None:
    lists = laid([[0, 1], [1]])
    onward = 0.9 * 0.7
    by_hand = 0.1 * (onward + (0.9 - onward) / (1 - onward))
    assert value("sRBP(p=0.9,b=0.7)", lists) == pytest.approx(by_hand)


def test_srbp_of_long_relevant_lists_is_one() -> None:
    # 60 lists of 60 relevant documents: what is below has a weight of less than 10⁻⁶
    assert value("sRBP(p=0.8,b=0.8)", laid([[1] * 60] * 60)) == pytest.approx(1, abs=1e-5)


GRADES = st.lists(st.integers(0, 3), min_size=1, max_size=6)
LISTS = st.lists(st.lists(st.integers(0, 2), max_size=3), min_size=1, max_size=4)


@given(GRADES, st.lists(st.integers(1, 3), max_size=3))
def test_a_session_of_one_list_has_the_measure_of_the_list(grades: list[int], missed: list[int]) -> None:
    lists = laid([grades], missed)
    pairs = [
        (sDCG(), DCG()), (nsDCG(), nDCG()), (sDCG(cutoff=3), DCG() @ 3), (nsDCG(cutoff=3), nDCG() @ 3),
        (nsDCG(norm="repeated", cutoff=len(grades)), nDCG() @ len(grades)),
        (sRBP(p=0.7, b=1), RBP(p=0.7)), (esP(cutoff=3), P() @ 3), (esR(), R()), (esAP(), AP()),
        (esAP(cutoff=2), AP() @ 2),
        (esDCG(), DCG()), (esNDCG(), nDCG()), (esNDCG(cutoff=3), nDCG() @ 3),
    ]  # fmt: skip
    for ours, of_list in pairs:
        expected_value = of_list.of(grades, missed)
        assert value(ours, lists) == pytest.approx(expected_value, nan_ok=True), (ours, of_list)


@given(GRADES)
def test_session_u_of_one_list_is_u(grades: list[int]) -> None:
    lengths = [100 * (i + 1) for i in range(len(grades))]
    lists = laid([grades], lengths={f"d0-{r}": length for r, length in enumerate(lengths)})
    assert value(sU(L=3000), lists) == pytest.approx(U(L=3000).of(grades, lengths=lengths))


@given(LISTS, st.floats(0.1, 1), st.floats(0.1, 1))
def test_expected_measures_are_sums_over_all_paths(grades: list[list[int]], down: float, reform: float) -> None:
    lists = laid(grades, [1, 2])
    missed = sum(grade > 0 for of_query in grades for grade in of_query) + 2
    every = [*(grade for of_query in grades for grade in of_query), 1, 2]

    def of_path(measure: object, path: list[float]) -> float:
        left = list(every)
        for grade in path:
            left.remove(grade)
        return measure.of(path, left) if path else 0.0  # type: ignore[attr-defined, no-any-return]

    assert missed >= 2
    for ours, measure in [
        (esP(down, reform, cutoff=2), P() @ 2), (esR(down, reform), R()), (esR(down, reform, cutoff=3), R() @ 3),
        (esAP(down, reform), AP()), (esAP(down, reform, cutoff=3), AP() @ 3), (esDCG(down, reform), DCG()),
        (esNDCG(down, reform), nDCG()), (esNDCG(down, reform, cutoff=2), nDCG() @ 2),
    ]:  # fmt: skip
        slow = expected(grades, down, reform, lambda path, measure=measure: of_path(measure, path))  # type: ignore[misc]
        assert value(ours, lists) == pytest.approx(slow), ours


@given(LISTS, st.sampled_from(["global", "adjacent"]), st.floats(0.1, 0.99))
def test_session_markov_precision_is_that_of_each_session(
    grades: list[list[int]], moves: str, reformulate: float
) -> None:
    one_by_one = session_precision(grades, MP(moves=moves), reformulate=reformulate)
    assert value(sMP(reformulate, moves), laid(grades)) == pytest.approx(one_by_one)


CLICKS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=8)


@given(CLICKS)
def test_click_u_is_figure_9(clicks: list[tuple[int, int]]) -> None:
    docs = {(q, r): f"d{q}-{r}" for q in (1, 2, 3) for r in (1, 2, 3, 4)}
    lengths = {doc: 100.0 * (number + 1) for number, doc in enumerate(docs.values())}
    by_query = {
        q: tuple(Click(rank, float(at)) for at, (query, rank) in enumerate(clicks) if query == q) for q in (1, 2, 3)
    }
    queries = tuple(Query(tuple(docs[q, r] for r in (1, 2, 3, 4)), by_query[q]) for q in (1, 2, 3))
    lists = SessionLists.of([Session("s", None, queries)], gains="clicks", lengths=lengths)
    rows = [(q, r, lengths[docs[q, r]]) for q, r in clicks]
    assert value(sU(L=5000, again=True), lists) == pytest.approx(click_u(rows, 5000, 0.2, 200))
    once = list(dict.fromkeys(rows))
    assert value(sU(L=5000), lists) == pytest.approx(click_u(once, 5000, 0.2, 200))
    read = session_trailtext(sU(L=5000), lists)
    assert U(L=5000).of_trailtext(read) == pytest.approx(value(sU(L=5000), lists))


def test_a_click_counts_in_the_list_in_which_it_is() -> None:
    # Query 1 shows a and b without a click; query 2 shows c and a, and the user clicks a: two snippets and 0.2 · 1000
    # characters of a are read, as in Figure 9, although an earlier list shows a.
    session = Session("s", "1", (Query(("a", "b")), Query(("c", "a"), (Click(2, 9.0),))))
    lists = SessionLists.of([session], gains="clicks", lengths={"a": 1000})
    assert value(sU(L=6000), lists) == pytest.approx(0.5 * (1 - 600 / 6000))
    # 2 queries, 2 snippets, 1 document
    assert value("sCost(query=10,snippet=2,document=20)", lists) == 2 * 10 + 2 * 2 + 20
    both = SessionLists.of([session], {"1": {"a": 3}}, gains="both", lengths={"a": 1000})
    assert value(sU(L=6000), both) == pytest.approx(3 * (1 - 600 / 6000))
    # Lists end to end have a at rank 1 of query 1, where it was not clicked, and a note says so.
    assert value("sDCG", lists) == 0
    notes = session_scores({"m": [session]}, None, ["sDCG"], gains="clicks").notes
    assert notes == (
        "1 document left out that an earlier list of the session shows",
        "1 click on a document that was left out, not used",
    )
    assert session_scores({"m": [session]}, None, ["sCost"], gains="clicks").notes == ()
    kept = SessionLists.of([session], gains="clicks", duplicates="keep")
    assert value("sDCG", kept) == pytest.approx(0.5 / (log(5, 4) * log(5, 2)))


def test_costs_explain_each_step() -> None:
    queries = (Query(("a", "b"), (Click(2, 1.0),)), Query(("c",), (Click(1, 3.0),)), Query(("d",)))
    explained = explain_session(
        Session("s", None, queries), None, "sCost(query=10,snippet=2,document=20)", gains="clicks"
    )
    # 10 + 2 · 2 + 20, then 10 + 2 + 20, and a third query for 10
    assert explained.columns()["adds"].tolist() == [34, 32]
    assert explained.columns()["ends at"].tolist() == [34, 66]
    assert explained.score == 76
    assert explained.notes[0] == "1 further query: 10 s"
    gained = explain_session(
        Session("s", None, queries), None, "sCG(time=65,query=10,snippet=2,document=20)", gains="clicks"
    )
    assert gained.columns()["adds"].tolist() == [0.5, 0]


def test_nonlinear_traversal_of_figure_8() -> None:
    # rank 4 is clicked first, then rank 2: four snippets, document 4, document 2
    session = Session("s", None, (Query(("a", "b", "c", "d"), (Click(4, 10.0), Click(2, 20.0))),))
    lists = SessionLists.of([session], gains="clicks", lengths={"b": 1000, "d": 500})
    read = session_trailtext(sU(), lists)
    assert read.names == ("query 1: snippets 1 to 4", "query 1: document 4 (d)", "query 1: document 2 (b)")
    assert read.offsets.tolist() == [800, 900, 1100]


def test_costs_of_actions_by_hand() -> None:
    documents = tuple(f"d{i}" for i in range(25))
    session = Session("s", "1", (Query(documents, (Click(12, 1.0), Click(3, 2.0))), Query(("z",), (Click(1, 3.0),))))
    lists = SessionLists.of([session], gains="clicks", click_gain=1)
    # 2 queries, 1 next page, 12 + 1 snippets, 3 documents
    assert value("sCost(query=10,page=3,snippet=2,document=20)", lists) == 2 * 10 + 3 + 13 * 2 + 3 * 20
    # the first document ends after 10 + 3 + 24 + 20 = 57 s, the second after 77 s, the third after 109 s
    for time, gain in ((56, 0), (57, 1), (77, 2), (108, 2), (109, 3)):
        assert value(sCG(query=10, page=3, snippet=2, document=20, time=time), lists) == gain


def test_explained_terms_add_up_to_the_score() -> None:
    options = {"lengths": dict.fromkeys("abcd", 700)}
    for name in ("sDCG", "nsDCG", "sRBP", "esP@3", "esR", "esAP", "esDCG", "esNDCG", "sMP", "sU(L=3000)"):
        explained = explain_session(TWO, QRELS, name, **options)
        lists = SessionLists.of([TWO], QRELS, **options)  # type: ignore[arg-type]
        assert explained.columns()["adds"].sum() == pytest.approx(value(name, lists)), name
        assert explained.score == pytest.approx(value(name, lists))


def test_no_relevant_documents() -> None:
    lists = laid([[0, 0], [0]], lengths={"d0-0": 1})
    for name in ("sDCG", "sRBP", "esP@2", "esDCG", "sU", "sCG", "sMP"):
        assert value(name, lists) == 0
    for name in ("nsDCG", "esR", "esAP", "esNDCG"):
        assert np.isnan(value(name, lists))


def test_sessions_of_unjudged_topics_are_undefined_and_counted() -> None:
    sessions = [TWO, Session("t", "9", (Query(("a",)),))]
    scores = session_scores({"mine": sessions}, QRELS, ["sDCG", "sCost", "sRBP"])
    assert np.isnan(scores.values[:, 0, 1]).all()
    assert not np.isnan(scores.values[:, 0, 0]).any()
    assert any("1 session with a topic that has no judgments, undefined: t" in note for note in scores.notes)
    with pytest.raises(UsageError, match="no session has a topic with judgments; its topics are 9"):
        session_scores({"mine": sessions[1:]}, QRELS)


def test_sessions_that_name_no_topic_are_sent_to_the_table_of_topics() -> None:
    sessions = Sessions((Session("s", None, (Query(("a",)),)),))
    with pytest.raises(UsageError, match=r"no session names its topic.*with_topics\(sessions, read_session_topics"):
        session_scores({"mine": sessions}, QRELS)
    assert session_scores({"mine": with_topics(sessions, {"s": TWO.topic or ""})}, QRELS).runs == ("mine",)


def test_scores_have_the_session_as_the_unit() -> None:
    other = Session("u", "1", (Query(("x",)),))
    scores = session_scores({"mine": [TWO, other], "theirs": [other]}, QRELS, ["sDCG", "sCost"])
    assert scores.topics == ("s", "u")
    assert scores.missing.tolist() == [[False, False], [True, False]]
    assert scores.values[0, 1].tolist() == [0, 1]  # missing, and x at the top
    assert np.isnan(scores.values[1, 1, 0])


def test_names_parse_back() -> None:
    for name in (
        "sDCG@10",
        'nsDCG(bq=2,gain="exp",norm="repeated")',
        "sRBP(p=0.9)",
        "sU(L=1000,again=True)",
        "esAP(down=0.5)",
    ):
        assert str(as_session_measure(name)) == name
        assert as_session_measure(str(as_session_measure(name))) == as_session_measure(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sdgc", "no measure of sessions 'sdgc'; did you mean 'sDCG'"),
        ("sDCG(bp=2)", "no parameter of sDCG 'bp'; there are 'bq', 'b'"),
        ("sDCG(bq=1)", "sDCG: bq == 1, must be above 1"),
        ("sU@10", "sU: cutoff == 10, must be left out"),
        ("sMP(reformulate=1)", "sMP: reformulate == 1, must be above 0 and below 1"),
        ("sRBP(p=1)", "sRBP: p == 1, must be below 1"),
        ("esAP(down=0)", "esAP: down == 0, must be above 0 and at most 1"),
        ('nsDCG(norm="both")', "nsDCG: norm == 'both', must be one of 'single', 'repeated'"),
    ],
)
def test_wrong_names_and_parameters_are_errors(name: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        as_session_measure(name)
    assert message in str(error.value)


def test_u_needs_lengths() -> None:
    with pytest.raises(UsageError, match="sU needs the lengths of documents"):
        sU().score(SessionLists.of([TWO], QRELS))
    with pytest.raises(UsageError, match="sU: 1 document without a length: c; add them, or give missing_length"):
        sU().score(SessionLists.of([TWO], QRELS, lengths={"a": 100}))
    assumed = SessionLists.of([TWO], QRELS, lengths={"a": 100}, missing_length="mean")
    given_all = SessionLists.of([TWO], QRELS, lengths={"a": 100, "c": 100})
    assert sU().score(assumed) == sU().score(given_all)


def test_the_frequency_of_relevant_documents_over_all_lists() -> None:
    """By hand: 2 of the 5 documents are relevant; of the first 3, 1; of the 3 above the lowest clicks, 2."""
    session = Session("s", "1", (Query(("a", "b"), clicks=(Click(1),)), Query(("c", "d", "e"), clicks=(Click(2),))))
    grades = {"1": {"a": 1, "b": 0, "d": 2}}
    lists = SessionLists.of([session], grades)
    assert sFreq().score(lists).tolist() == pytest.approx([2 / 5])
    assert sFreq(cutoff=3).score(lists).tolist() == pytest.approx([1 / 3])
    assert sFreq(rel=2).score(lists).tolist() == pytest.approx([1 / 5])
    cut = SessionLists.of([session], grades, cut="lowest-click")  # a; c and d
    assert sFreq().score(cut).tolist() == pytest.approx([2 / 3])
    one = SessionLists.of([Session("s", "1", (Query(("a", "b", "d")),))], grades)
    assert sFreq().score(one)[0] == pytest.approx((P() @ 3).of([1, 0, 2]))
    nothing = SessionLists.of([Session("s", "1", (Query(()),))], grades)
    assert sFreq().score(nothing).tolist() == [0]

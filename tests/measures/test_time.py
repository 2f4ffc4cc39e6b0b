"""TBG and U: examples of the papers, their definitions as loops, cwl-eval, and laws."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.assessed.hits_by_intent import with_intents
from cranfield.assessed.lengths import Lengths
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures import AP, ESD, ESL, REGISTRY, TBG, Measure, Trailtext, U, parse

Documents = list[tuple[float | None, int]]
"""A list as (grade or None, length), from the top."""

documents = st.lists(st.tuples(st.sampled_from([None, 0, 1, 2, 3]), st.integers(0, 30_000)), max_size=8)  # type: ignore[var-annotated]

FORMS: list[Measure] = [
    TBG(), TBG(h=60, rel=2) @ 3, TBG(click_rel=0.5, save_rel=0.3, click_non=0.9, summary=0, per_word=1, overhead=2),
    U(), U(L=5000, F=0.5, snippet=30), U(L=900, gain="exp") @ 3, U(gain={1: 5, 2: 6, 3: 7}, F=0),
    U(decay="exp"), U(decay="exp", h=900) @ 3, U(norm=7),
]  # fmt: skip


def lists_of(*many: Documents) -> Assessed:
    """Lists of one run, one per topic; each topic also has a relevant document that is missed."""
    every = [(str(n), f"{n}-{r}", *document) for n, ranking in enumerate(many) for r, document in enumerate(ranking)]
    judged: dict[str, dict[str, float]] = {str(n): {"missed": 1} for n in range(len(many))}
    run: dict[str, dict[str, float]] = {str(n): {} for n in range(len(many))}
    for topic, doc, grade, _ in every:
        run[topic][doc] = -float(len(run[topic]))
        if grade is not None:
            judged[topic][doc] = grade
    return cf.join(judged, run, cf.JoinOptions(lengths={doc: length for _, doc, _, length in every}))


def of(measure: Measure, ranking: Documents, missed: list[float] | None = None) -> float:
    return measure.of([g for g, _ in ranking], missed or [], lengths=[length for _, length in ranking])


# -- by hand


def test_U_with_exponential_decay_and_normaliser_by_hand() -> None:
    # snippets of 100 characters, a tenth of the relevant documents: offsets 200 and 500; h = L/2 = 200
    ranking: Documents = [(1, 1000), (None, 9), (3, 1000)]
    assert of(U(L=400, F=0.1, snippet=100), ranking) == pytest.approx(1 * (1 - 200 / 400) + 0)
    exponential = 1 * 2 ** (-200 / 200) + 3 * 2 ** (-500 / 200)
    assert of(U(L=400, F=0.1, snippet=100, decay="exp"), ranking) == pytest.approx(exponential)
    half_life = 1 * 2 ** (-200 / 50) + 3 * 2 ** (-500 / 50)
    assert of(U(F=0.1, snippet=100, decay="exp", h=50), ranking) == pytest.approx(half_life)
    # 𝒩 of Sakai 2014 (19): a number, or the gains of all relevant documents, here 1 + 3 + 2
    assert of(U(L=400, F=0.1, snippet=100, decay="exp", norm=4), ranking) == pytest.approx(exponential / 4)
    total = of(U(L=400, F=0.1, snippet=100, decay="exp", norm="total"), ranking, [2])
    assert total == pytest.approx(exponential / 6)
    read = Trailtext.of([(200, 1), (300, 3)])
    assert U(L=400, decay="exp", norm=4).of_trailtext(read) == pytest.approx(exponential / 4)
    with pytest.raises(UsageError, match="the gains of all relevant documents are not known"):
        U(norm="total").of_trailtext(read)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("U(decay='log')", "U: decay == 'log', must be one of 'linear', 'exp'"),
        ("U(h=100)", 'U: h == 100 is the half-life of an exponential decay; give decay="exp"'),
        ("U(norm='ideal')", "U: norm == 'ideal', must be one of 'total'"),
        ("U(norm=0)", "U: norm == 0, must be above 0"),
    ],
)
def test_wrong_decays_and_normalisers_are_refused(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(name)


def test_the_time_to_rank_2_in_seed_000() -> None:
    # Sakai 2014 §2.2: T_S + 10.062 after a non-relevant document of 1000 words, T_S + 5.107 after a relevant one of 10
    def time(grade: float, words: int) -> float:
        terms = TBG().terms(Assessed.one([grade, 1]).replace(lengths=Lengths.one([words, 1], 2)))
        return float(terms.columns["time"][1])

    assert time(0, 1000) == pytest.approx(4.4 + 10.062)
    assert time(1, 10) == pytest.approx(4.4 + 5.107, abs=5e-4)  # .64 (.18 + 7.8) = 5.1072
    assert time(None, 1000) == time(0, 1000)  # type: ignore[arg-type]


def test_TBG_by_hand() -> None:
    # ranks 1 and 3 relevant; T(3) = 4.4 + .64 (.018 500 + 7.8) + 4.4 + .39 (.018 1000 + 7.8) = 15.152 + 14.462
    expected = 0.64 * 0.77 * (1 + math.exp(-29.614 * math.log(2) / 224))
    assert TBG().of([1, 0, 1], lengths=[500, 1000, 300]) == pytest.approx(expected, rel=1e-12)
    assert (TBG() @ 2).of([1, 0, 1], lengths=[500, 1000, 300]) == pytest.approx(0.64 * 0.77)


def test_TBG_halves_after_its_half_life() -> None:
    # 1 + .5 (.02 · 300) = 4 seconds
    fast = TBG(h=4, click_rel=1, save_rel=1, click_non=0.5, summary=1, per_word=0.02, overhead=0)
    assert fast.of([0, 1], lengths=[300, 9]) == 0.5


def test_a_short_relevant_document_may_speed_TBG_up() -> None:
    # 000: no diminishing return is guaranteed. The document at rank 2 counts more after the short relevant one
    behind_relevant = TBG().of([1, 1], lengths=[10, 10]) - TBG().of([1, 0], lengths=[10, 10])
    behind_other = TBG().of([0, 1], lengths=[1000, 10])
    assert behind_relevant > behind_other
    assert TBG().of([1, 1], lengths=[500, 10]) - TBG().of([1, 0], lengths=[500, 10]) < TBG().of(
        [0, 1], lengths=[500, 10]
    )


def test_the_trailtext_of_seed_000_figure_5() -> None:
    # ranks 2 and 4 relevant: snippets 1 and 2, document 2, snippets 3 and 4, document 4
    lists = Assessed.one([0, 1, 0, 2]).replace(lengths=Lengths.one([900, 500, 900, 1000], 4))
    read = U().trailtext(lists)
    assert read.names == ("snippet 1", "snippet 2", "document 2", "snippet 3", "snippet 4", "document 4")
    assert read.lengths == (200, 200, 100, 200, 200, 200)
    assert read.offsets.tolist() == [200, 400, 500, 700, 900, 1100]
    assert read.gains == (0, 0, 1, 0, 0, 2)
    score = 1 * (1 - 500 / 132_000) + 2 * (1 - 1100 / 132_000)
    assert U().of_trailtext(read) == pytest.approx(score)
    assert U().evaluate(lists).tolist() == pytest.approx([score])


def test_a_relevant_document_in_between_pushes_the_next_one_back() -> None:
    # 000: rank 3 of Fig. 5 becomes relevant, and rank 4 counts less
    before = U().of([0, 1, 0, 1], lengths=[900] * 4) - U().of([0, 1, 0, 0], lengths=[900] * 4)
    after = U().of([0, 1, 1, 1], lengths=[900] * 4) - U().of([0, 1, 1, 0], lengths=[900] * 4)
    assert after == pytest.approx(before - 0.2 * 900 / 132_000)


def test_text_after_L_is_worth_nothing() -> None:
    assert U(L=300).of([0, 1], lengths=[1, 500]) == 0.0
    assert U(L=300).of([1, 1], lengths=[100, 500]) == pytest.approx(1 - 220 / 300)


def test_snippets_have_their_own_lengths() -> None:
    lengths = {"characters": [900, 500], "snippet": [150, 50]}
    assert U(L=1000).of([0, 1], lengths=lengths) == pytest.approx(1 - (150 + 50 + 100) / 1000)


def test_the_search_duration_is_cooper_s_search_length_in_time() -> None:
    """If reading any document takes 1 s and nothing else takes time, it is the rank of the last wanted document."""
    lists = [[0, 1, 0, 0, 1], [1, 1], [0, 0, 0, 1, 1], [1, 0]]
    for wanted in (1, 2):
        rank = ESD(wanted=wanted, click_rel=1, click_non=1, summary=0, per_word=0, overhead=1)
        for grades in lists:
            expected = ESL(wanted=wanted).of(grades) + wanted  # the non-relevant documents and the wanted ones
            assert rank.of(grades, lengths=[9] * len(grades)) == pytest.approx(expected, nan_ok=True)


def test_the_search_duration_by_hand() -> None:
    """Sakai 2014 §2.2: T_S + 0.39 (0.018 · 1000 + 7.8) = T_S + 10.062 for the first, T_S + 0.64 · 7.98 for the next.

    The search for two documents ends with the third, of 100 words: T_S + 0.64 (1.8 + 7.8).
    """
    of_two = ESD(wanted=2).of([0, 1, 1, 0], lengths=[1000, 10, 100, 5000])
    assert of_two == pytest.approx(3 * 4.4 + 10.062 + 0.64 * 7.98 + 0.64 * 9.6)
    assert ESD().of([0, 1, 1, 0], lengths=[1000, 10, 100, 5000]) == pytest.approx(2 * 4.4 + 10.062 + 0.64 * 7.98)
    assert np.isnan(ESD(wanted=3).of([0, 1, 1, 0], lengths=[1000, 10, 100, 5000]))


def test_the_search_duration_of_tied_documents_is_the_mean_over_their_orders() -> None:
    """Two tied documents above another, one relevant: the search ends at rank 1 or 2, so at 1.5."""
    rank = "ESD(click_rel=1,click_non=1,summary=0,per_word=0,overhead=1)[ties]"
    lists = {"mine": {"q": {"a": 1.0, "b": 1.0, "c": 0.5}}}
    scores = cf.evaluate({"q": {"a": 1, "b": 0}}, lists, rank, lengths={"a": 1, "b": 1, "c": 1})
    assert scores.values.item() == pytest.approx(1.5)


def test_a_trailtext_given_by_hand() -> None:
    # Sakai 2014 Fig. 4 (c): snippet 1, snippet 2, full text 3
    read = Trailtext.of([("a" * 100, 0), ("b" * 150, 1), (250, 3)])
    assert U(L=1000).of_trailtext(read) == pytest.approx(1 * 0.75 + 3 * 0.5)
    assert U().of_trailtext(Trailtext((), ())) == 0.0
    with pytest.raises(UsageError, match="trailtext: length == -1, must be 0 or above"):
        Trailtext.of([(-1, 0)])
    with pytest.raises(UsageError, match="trailtext: gain == nan, must be a number"):
        Trailtext.of([(1, math.nan)])
    with pytest.raises(UsageError, match="trailtext: 2 lengths, but 1 gains"):
        Trailtext((1, 2), (0,))


@pytest.mark.parametrize("measure", FORMS, ids=str)
def test_nothing_relevant_or_nothing_retrieved_scores_0(measure: Measure) -> None:
    assert measure.of([0, None, 0], [0], lengths=[5, 6, 7]) == 0.0
    assert measure.of([0, None], lengths=[5, 6]) == 0.0
    assert measure.of([], [1], lengths=[]) == 0.0
    empty = Assessed.one([1]).replace(lengths=Lengths.one([1], 1)).take(np.zeros(0, dtype=np.int64))
    assert measure.evaluate(empty).tolist() == []


# -- the definitions as loops


def tbg(ranking: Documents, m: TBG) -> float:
    total = time = 0.0
    for rank, (grade, words) in enumerate(ranking, 1):
        if m.k is not None and rank > m.k:
            break
        relevant = grade is not None and grade >= m.rel
        if relevant:
            total += m.click_rel * m.save_rel * math.exp(-time * math.log(2) / m.h)
        time += m.summary + (m.click_rel if relevant else m.click_non) * (m.per_word * words + m.overhead)
    return total


def u(ranking: Documents, m: U) -> float:
    gain = {"linear": lambda g: g, "exp": lambda g: 2**g - 1}.get(m.gain.kind, dict(m.gain.table).get)  # type: ignore[union-attr]
    total = position = 0.0
    for rank, (grade, characters) in enumerate(ranking, 1):
        if m.k is not None and rank > m.k:
            break
        position += m.snippet
        if grade:
            position += m.F * characters
            left = max(0, 1 - position / m.L) if m.decay == "linear" else 2 ** (-position / (m.h or m.L / 2))
            total += gain(grade) * left
    return total / (m.norm or 1)  # type: ignore[operator]


@settings(max_examples=60, deadline=None)
@given(ranking=documents)
def test_scores_agree_with_the_definition(ranking: Documents) -> None:
    for measure in FORMS:
        expected = tbg(ranking, measure) if isinstance(measure, TBG) else u(ranking, measure)  # type: ignore[arg-type]
        assert of(measure, ranking) == pytest.approx(expected, rel=1e-12, abs=1e-12), measure


@settings(max_examples=40, deadline=None)
@given(ranking=documents)
def test_the_trailtext_has_the_same_score(ranking: Documents) -> None:
    lists = lists_of([(0, 1)], ranking)
    for measure in (m for m in FORMS if isinstance(m, U)):
        assert measure.of_trailtext(measure.trailtext(lists, 1)) == pytest.approx(measure.evaluate(lists)[1], abs=1e-12)


@pytest.mark.peers
@settings(max_examples=40, deadline=None)
@given(ranking=documents)
def test_cwl_eval_agrees_once_its_weights_are_not_scaled(ranking: Documents) -> None:
    # cwl-eval scales weights to sum to 1, so the first weight becomes W(1). Its costs are those before a document, but
    # the offset of U is at the end of the document: the gains are shifted by one rank.
    from cwl.ruler.measures.cwl_tbg import TBGCWLMetric
    from cwl.ruler.measures.cwl_umeasure import UMeasureCWLMetric
    from cwl.ruler.ranking import Ranking

    if not ranking:
        return
    relevant = np.array([bool(grade) for grade, _ in ranking])
    words = np.array([length for _, length in ranking])
    costs = 4.4 + np.where(relevant, 0.64, 0.39) * (0.018 * words + 7.8)
    their_ranking = Ranking("topic", 0.64 * 0.77 * relevant, costs, max_n=len(ranking))
    theirs = TBGCWLMetric(224)
    assert of(TBG(), ranking) == pytest.approx(
        theirs.measure(their_ranking) / theirs.w_vector(their_ranking)[0], rel=1e-9
    )

    text = 200 + np.where(relevant, 0.2 * words, 0.0)
    gains = np.array([0, *(grade or 0 for grade, _ in ranking), 0], dtype=float)
    shifted = Ranking("topic", gains, np.array([*text, 1, 1]), max_n=len(gains))
    whole = UMeasureCWLMetric(132_000)
    assert of(U(), ranking) == pytest.approx(whole.measure(shifted) / whole.w_vector(shifted)[0], rel=1e-9)


# -- laws


@pytest.mark.filterwarnings("ignore:.*(is judged; an id|the same score|the same judged documents)")
@settings(max_examples=40, deadline=None)
@given(ranking=documents, other=documents)
def test_terms_add_up_and_other_lists_change_nothing(ranking: Documents, other: Documents) -> None:
    if not ranking or not other:
        return
    together = lists_of(other, ranking)
    narrow = together.replace(row=together.row.astype(np.int16), rank=together.rank.astype(np.int32))
    for measure in FORMS:
        scores = measure.evaluate(together)
        terms = measure.terms(together)
        assert terms is not None
        assert np.array_equal(terms.score(), scores)
        assert scores[1] == measure.evaluate(lists_of(ranking))[0]
        assert np.array_equal(scores, measure.evaluate(narrow))
        assert (scores >= 0).all()


@settings(max_examples=40, deadline=None)
@given(ranking=documents, missed=st.lists(st.integers(0, 3), max_size=3))
def test_only_retrieved_documents_down_to_the_cutoff_count(ranking: Documents, missed: list[float]) -> None:
    for measure in FORMS:
        assert of(measure, ranking) == of(measure, ranking, missed)
        if measure.k is not None:
            assert of(measure, ranking) == of(measure, ranking[: measure.k])


@settings(max_examples=40, deadline=None)
@given(ranking=documents)
def test_condensed_best_and_worst(ranking: Documents) -> None:
    judged = [(grade, length) for grade, length in ranking if grade is not None]
    highest = max((grade for grade, _ in judged), default=0) or 1
    for measure in FORMS:
        assert of(measure.view("condensed"), ranking) == pytest.approx(of(measure, judged))
        for reading, grade in (("best", highest), ("worst", 0)):
            filled = [(grade if g is None else g, length) for g, length in ranking]
            assert of(measure.view(reading), ranking) == pytest.approx(of(measure, filled)), reading


groups = st.lists(
    st.lists(st.tuples(st.sampled_from([None, 0, 1, 3]), st.integers(0, 9000)), min_size=1, max_size=3),
    min_size=1, max_size=3,
)  # fmt: skip


def tied(ties: list[Documents]) -> Assessed:
    """Lists in which the documents of each group have the same score."""
    every = [(f"{g}-{r}", -float(g), *document) for g, group in enumerate(ties) for r, document in enumerate(group)]
    return cf.join(
        {"q": {**{doc: grade for doc, _, grade, _ in every if grade is not None}, "missed": 1}},
        {"q": {doc: score for doc, score, _, _ in every}},
        cf.JoinOptions(lengths={doc: length for doc, _, _, length in every}),
    )


@pytest.mark.filterwarnings("ignore:.*(is judged; an id|the same score|the same judged documents)")
@settings(max_examples=30, deadline=None)
@given(ties=groups)
def test_expected_over_ties_is_the_mean_over_all_orders(ties: list[Documents]) -> None:
    orders = [
        [d for group in combination for d in group] for combination in product(*(permutations(group) for group in ties))
    ]
    for measure in FORMS:
        mean = np.mean([of(measure, order) for order in orders])
        assert measure.view("ties").evaluate(tied(ties))[0] == pytest.approx(mean), measure


@pytest.mark.filterwarnings("ignore:.*(is judged; an id|the same score|the same judged documents)")
@settings(max_examples=30, deadline=None)
@given(ties=groups)
def test_documents_keep_their_lengths_when_ties_are_broken(ties: list[Documents]) -> None:
    lists = tied(ties)
    for reading, worth in (("best", -1.0), ("worst", 1.0)):
        read = cf.parse(f"AP[ties={reading}]").views[0].apply(lists)
        assert read.lengths is not None
        lengths = read.lengths.columns["length"].tolist()
        grades = read.every().grade.tolist()
        at = 0
        for group in ties:
            actual = list(zip(grades[at : at + len(group)], lengths[at : at + len(group)], strict=True))
            expected = [(math.nan if g is None else g, length) for g, length in group]
            assert sorted(map(str, actual)) == sorted(map(str, [(float(g), float(n)) for g, n in expected]))
            gained = [0.0 if math.isnan(g) else g for g, _ in actual]
            assert gained == sorted(gained, key=lambda g: worth * g)
            at += len(group)


@pytest.mark.filterwarnings("ignore:.*(is judged; an id|the same score|the same judged documents)")
def test_lengths_do_not_change_other_measures_over_ties() -> None:
    # 12 documents tied, one relevant: 12 orders that differ for AP, though all documents differ in length
    run = {"q": {f"d{n}": 1.0 for n in range(12)}}
    options = cf.JoinOptions(lengths={f"d{n}": n for n in range(12)})
    expected = sum(1 / rank for rank in range(1, 13)) / 12
    assert AP().view("ties").evaluate(cf.join({"q": {"d3": 1}}, run, options)).tolist() == pytest.approx([expected])


def test_missing_lengths_are_an_error_that_says_what_to_give() -> None:
    assert {name for name, kind in REGISTRY.items() if kind.needs == "lengths"} == {"ESD", "TBG", "U"}
    for name in ("ESD", "TBG", "U", "TBG'", "D-U", "U-IA"):
        with pytest.raises(UsageError, match=r"needs the lengths of documents: give lengths=, a file"):
            parse(name).of([{"a": 1}, {"a": 0}])
    assert U(F=0).of([0, 1]) == pytest.approx(1 - 400 / 132_000)  # only snippets are read
    with pytest.raises(UsageError, match="lengths: 1 numbers for length, but the list has 2 documents"):
        TBG().of([1, 0], lengths=[1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TBG(h=0)", "TBG: h == 0, must be above 0"),
        ("TBG(click_rel=1.2)", "TBG: click_rel == 1.2, must be between 0 and 1"),
        ("TBG(summary=-1)", "TBG: summary == -1, must be 0 or above"),
        ("U(L=-1)", "U: L == -1, must be above 0"),
        ("U(F=20)", "U: F == 20, must be between 0 and 1"),
        ("U(snippet=-1)", "U: snippet == -1, must be 0 or above"),
        ("D-TBG", "TBG counts no gains"),
    ],
)
def test_parameters_out_of_range_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(text)


def test_names_parse_back() -> None:
    for measure in (*FORMS, *map(parse, ["D-U", "U-IA", "DIN-U", "D#-U@10", "TBG-IA", "U-measure", "U'"])):
        assert parse(str(measure)) == measure


# -- with intents

intents_of_document = st.one_of(
    st.none(), st.dictionaries(st.sampled_from("abc"), st.integers(0, 3), min_size=1, max_size=3)
)
diverse = st.lists(st.tuples(intents_of_document, st.integers(0, 3000)), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(ranking=diverse, probability=st.floats(0.1, 0.8))
def test_D_U_is_close_to_U_IA(ranking: list[tuple[dict[str, int] | None, int]], probability: float) -> None:
    # Sakai 2014 (30, 31). A reader with one intent skips documents for other intents, so U_i reads no more text than
    # D-U: U-IA is higher by at most the text of the skipped documents, divided by L. With F = 0 they are the same.
    likely = {"a": probability, "b": (1 - probability) / 2, "c": (1 - probability) / 2}
    lists = with_intents([d for d, _ in ranking], probabilities=likely).replace(
        lengths=Lengths.one([length for _, length in ranking], len(ranking))
    )
    if lists.intents is None or not len(lists.intents):
        return
    global_gain, by_intent = parse("D-U").evaluate(lists)[0], parse("U-IA").evaluate(lists)[0]
    gained = parse("D-CG").evaluate(lists)[0]
    text = 0.2 * sum(length for document, length in ranking if document and max(document.values()) > 0)
    assert -1e-12 <= by_intent - global_gain <= gained * text / 132_000 + 1e-12
    assert parse("D-U(F=0)").evaluate(lists)[0] == pytest.approx(parse("U-IA(F=0)").evaluate(lists)[0])


def test_D_U_and_U_IA_by_hand() -> None:
    # intents a and b, equally likely; document 1 is for a (grade 2), document 2 for both (grade 1 each)
    ranking = [{"a": 2}, {"a": 1, "b": 1}]
    lengths = [1000, 500]
    first, both, second = 1 - 400 / 2000, 1 - 700 / 2000, 1 - 500 / 2000  # ends at 200+200; +200+100; for b 200+200+100
    assert parse("D-U(L=2000)").of(ranking, lengths=lengths) == pytest.approx(1.0 * first + 1.0 * both)
    local = 0.5 * (2 * first + 1 * both) + 0.5 * (1 * second)
    assert parse("U-IA(L=2000)").of(ranking, lengths=lengths) == pytest.approx(local)
    assert (2 * first + both + second) / 2 == local


# -- explain


QRELS = {"q": {"a": 0, "b": 2, "d": 1}}
RUN = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}
LENGTHS = {"a": 900, "b": 500, "c": 700, "d": 1000}


@pytest.mark.parametrize("name", ["TBG", "U", "TBG'", "U[best]", "TBG[ties=best]", "U@2"])
def test_explain_ends_at_the_score(name: str) -> None:
    explanation = cf.explain(QRELS, RUN, "q", name, options=cf.JoinOptions(lengths=LENGTHS))
    score = cf.evaluate(QRELS, RUN, name, lengths=LENGTHS).means().item()
    assert explanation.score == pytest.approx(score)
    assert explanation.lines[-1].so_far == pytest.approx(score)


def test_explain_shows_the_time_at_each_rank_and_the_offset_in_the_trailtext() -> None:
    options = cf.JoinOptions(lengths=LENGTHS)
    time = [line.counts["time"] for line in cf.explain(QRELS, RUN, "q", "TBG", options=options).lines]
    step = [4.4 + p * (0.018 * words + 7.8) for p, words in ((0.39, 900), (0.64, 500), (0.39, 700))]
    assert time == pytest.approx([0, step[0], step[0] + step[1], sum(step)])
    explanation = cf.explain(QRELS, RUN, "q", "U", options=options)
    assert [line.counts["offset"] for line in explanation.lines] == pytest.approx([200, 500, 700, 1100])
    assert "U: the lengths of documents are used as characters" in explanation.notes

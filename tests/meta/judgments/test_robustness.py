"""Robustness: every experiment agrees with judgments that are changed document by document and evaluated again."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.assessed.changed_lists.judged_documents import JudgedDocuments
from cranfield.assessed.join_options import JoinOptions
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.meta.judgments.robustness import (
    Robustness,
    _confused,
    _dropped,
    _flipped,
    _of_intents,
    robustness,
    topic_subsets,
)
from cranfield.scores.scores import Scores
from cranfield.types import Array
from tests.meta.judgments.pooled import MEASURES, Grades, collection, kept, means, ranking

GRADES, LISTS = collection()
PAIRS = [(topic, doc) for topic, row in GRADES.items() for doc in sorted(row)]
"""Judged documents by topic and id, as they are numbered."""


def agrees(result: Robustness, setting: int, after: Array) -> None:
    """τ, mean change and RMSE of one setting agree with scores computed in another way."""
    before = means(GRADES, LISTS, list(result.measures))
    gap = after - before
    assert result.change[setting] == pytest.approx(gap.mean(axis=1), abs=1e-12)
    assert result.rmse[setting] == pytest.approx(np.sqrt((gap**2).mean(axis=1)), abs=1e-12)
    for m in range(len(result.measures)):
        expected = stats.kendalltau(before[m].round(12), after[m].round(12)).statistic
        assert result.tau[setting, m] == pytest.approx(expected)


def regraded(grades: Array) -> Grades:
    out: Grades = {topic: {} for topic in GRADES}
    for (topic, doc), grade in zip(PAIRS, grades.tolist(), strict=True):
        out[topic][doc] = grade
    return out


def test_documents_below_a_shallower_pool_are_unjudged() -> None:
    result = robustness(GRADES, LISTS, MEASURES, how="depth", depths=[2, 5])
    for setting, depth in enumerate([2, 5]):
        pool = {(t, doc) for lists in LISTS.values() for t, docs in lists.items() for doc in ranking(docs)[:depth]}
        fewer = kept(GRADES, lambda topic, doc, pool=pool: (topic, doc) in pool)  # type: ignore[misc]
        agrees(result, setting, means(fewer, LISTS, MEASURES))
        assert result.settings[setting].judged == sum(map(len, fewer.values())) < len(PAIRS)


def test_judgments_dropped_at_random() -> None:
    result = robustness(GRADES, LISTS, MEASURES, how="random", rates=[0.7, 0.2], repeats=2, seed=5)
    drawn = list(_dropped(JudgedDocuments.of(GRADES, LISTS), [0.7, 0.2], 2, 5))
    assert result.settings == tuple(setting for setting, _ in drawn)
    for number, (setting, changes) in enumerate(drawn):
        left = {pair for pair, stays in zip(PAIRS, changes["keep"].tolist(), strict=True) if stays}
        agrees(result, number, means(kept(GRADES, lambda t, d, left=left: (t, d) in left), LISTS, MEASURES))  # type: ignore[misc]
        for topic, row in GRADES.items():  # the share of the relevant documents, and of the others
            for relevant in (True, False):
                every = [doc for doc, grade in row.items() if (grade >= 1) == relevant]
                expected = max(int(setting.level * len(every) + 0.5), relevant)
                assert sum((topic, doc) in left for doc in every) == expected
    larger, smaller, other = (changes["keep"] for _, changes in drawn[:3])
    assert (larger | smaller == larger).all()  # within a repeat samples are nested, another repeat is another sample
    assert (larger != other).any()


def test_grades_move_by_one_step() -> None:
    result = robustness(GRADES, LISTS, MEASURES, how="flips", flips=[0.1, 1.0], repeats=2, seed=2)
    documents = JudgedDocuments.of(GRADES, LISTS)
    flipped = list(_flipped(documents, [0.1, 1.0], 2, 2))
    for number, (setting, changes) in enumerate(flipped):
        grades = changes["grade"]
        agrees(result, number, means(regraded(grades), LISTS, MEASURES))
        step = np.abs(grades - documents.grade)
        assert set(step.tolist()) <= {0.0, 1.0}
        assert (grades.min(), grades.max()) == (0, 3)
        for topic in range(len(GRADES)):
            mine = documents.topic == topic
            assert step[mine].sum() == int(setting.level * mine.sum() + 0.5)


def test_on_a_scale_with_gaps_grades_move_to_the_next_existing_grade() -> None:
    wide = {topic: {doc: {0: 0, 1: 1, 2: 4, 3: 4}[int(g)] for doc, g in row.items()} for topic, row in GRADES.items()}
    grades = next(_flipped(JudgedDocuments.of(wide, LISTS), [1.0], 1, 0))[1]["grade"]
    before = np.array([wide[topic][doc] for topic, doc in PAIRS])
    assert set(zip(before.tolist(), grades.tolist(), strict=True)) == {(0, 1), (1, 0), (1, 4), (4, 1)}


def test_a_confusion_matrix_changes_grades() -> None:
    sure = {0: {0: 1.0}, 1: {0: 1.0}, 2: {3: 1.0}, 3: {1: 0.0, 3: 1.0}}
    result = robustness(GRADES, LISTS, MEASURES, how="confusion", confusion=sure, repeats=1)
    becomes = {0: 0, 1: 0, 2: 3, 3: 3}
    agrees(
        result, 0, means({t: {d: becomes[int(g)] for d, g in r.items()} for t, r in GRADES.items()}, LISTS, MEASURES)
    )
    changed = sum(GRADES[t][d] in (1, 2) for t, d in PAIRS)
    assert result.settings[0].level == pytest.approx(changed / len(PAIRS))


def test_confusion_follows_its_probabilities() -> None:
    doubtful = {g: {0: 0.25, 2: 0.75} for g in range(4)}
    drawn = [changes["grade"] for _, changes in _confused(JudgedDocuments.of(GRADES, LISTS), doubtful, 30, 0)]
    share = float(np.mean(np.concatenate(drawn) == 2))
    n = 30 * len(PAIRS)
    assert abs(share - 0.75) < 4 * np.sqrt(0.75 * 0.25 / n)  # four standard errors


def test_topic_subsets_are_means_over_the_topics_drawn() -> None:
    scores = cf.evaluate(GRADES, LISTS, ["AP", "P@5"])
    result = topic_subsets(scores, sizes=[3, 8], repeats=2, seed=4)
    order = [np.random.default_rng([4, 4, repeat]).permutation(8) for repeat in range(2)]
    for number, setting in enumerate(result.settings):
        part = scores.values[:, :, order[setting.repeat][: int(setting.level)]].mean(axis=2)
        assert result.change[number] == pytest.approx((part - scores.means()).mean(axis=1))
        if setting.level == 8:
            assert result.tau[number] == pytest.approx(1)
            assert result.rmse[number] == pytest.approx(0, abs=1e-12)
    same = robustness(GRADES, LISTS, ["AP", "P@5"], how=["topics"], sizes=[3, 8], repeats=2, seed=4)
    assert np.array_equal(same.tau, result.tau)


def test_nothing_changes_when_everything_is_kept() -> None:
    result = robustness(GRADES, LISTS, MEASURES, how=["random"], rates=[1.0], repeats=1)
    assert result.tau[0] == pytest.approx(1)
    assert result.rmse[0] == pytest.approx(0, abs=1e-12)


def test_the_same_seed_gives_the_same_result_with_any_other_methods() -> None:
    few = robustness(GRADES, LISTS, "AP", how="random", rates=[0.5], repeats=1, seed=9)
    many = robustness(GRADES, LISTS, ["RR", "AP"], rates=[0.9, 0.5], repeats=3, seed=9)
    at = [(setting.method, setting.level, setting.repeat) for setting in many.settings].index(("random", 0.5, 0))
    assert many.change[at, 1] == pytest.approx(few.change[0, 0], rel=1e-12)
    other = robustness(GRADES, LISTS, "AP", how="random", rates=[0.5], repeats=1, seed=10)
    assert other.change[0, 0] != few.change[0, 0]


def test_condensed_lists_and_bpref_keep_their_scores_when_judgments_are_dropped() -> None:
    """The known direction: Buckley & Voorhees, SIGIR 2004 (bpref and AP); Sakai & Kando 2008 (AP')."""
    grades, lists = collection(7, topics=20)
    result = robustness(grades, lists, ["AP", "AP'", "bpref"], how="random", rates=[0.5, 0.3], repeats=3)
    raw, condensed, bpref = np.abs(result.change).mean(axis=0)
    assert raw > 2 * condensed
    assert raw > 2 * bpref


def test_default_levels_and_their_tables() -> None:
    result = robustness(GRADES, LISTS, ["AP"], condensed=True, repeats=2)
    assert result.methods == ("random", "depth", "flips", "topics")
    assert result.measures == ("AP", "AP'")
    assert list(result.levels("depth")) == [5, 10, 20]  # no list is deeper
    assert list(result.levels("topics")) == [1, 2, 3, 4, 5, 6, 7]
    table = result.table()
    assert len(table.rows) == 2 * (9 + 3 + 4 + 7)
    assert len(result.to_pandas()) == 2 * (2 * (9 + 4 + 7) + 3)
    assert [len(table.columns) for table in result.tables("rmse")] == [10, 4, 5, 8]
    assert str(result).startswith("random: τ with the full ranking, by share of judgments kept")
    curve = result.curve("random")
    assert (curve["low"] <= curve["tau"]).all()
    assert (curve["tau"] <= curve["high"]).all()
    mean = result.tau[result.levels("random")[0.1], 0].mean()
    assert curve["tau"][(curve["measure"] == "AP") & (curve["level"] == 0.1)] == pytest.approx(mean)


def test_bad_input_is_refused() -> None:
    def fails(match: str, grades: Grades = GRADES, **requested: object) -> None:
        with pytest.raises(UsageError, match=match):
            robustness(grades, LISTS, "AP", **requested)  # type: ignore[arg-type]

    fails("how == 'luck', must be one of 'random'", how="luck")
    fails("rates == 1.5, must be above 0 and at most 1", rates=[1.5])
    fails("rates == 0, must be above 0 and at most 1", rates=[0])
    fails("depths == 0, must be a whole number", how="depth", depths=[0])
    fails("size == 9, must be between 1 and 8", how="topics", sizes=[9])
    fails("repeats == 0", repeats=0)
    fails("how == 'confusion' needs a matrix", how="confusion")
    fails("probabilities of grade 0 sum to 0.5, must be 1", confusion={0: {0: 0.5}})
    fails("confusion has no row for grade 1", confusion={0: {0: 1.0}})
    ones: Grades = {topic: dict.fromkeys(row, 1) for topic, row in GRADES.items()}
    fails("all judgments have grade 1, so there is no other", ones, how="flips")
    with pytest.raises(UsageError, match="2 runs, must be 3 or more"):
        topic_subsets(Scores.from_matrix([[0.1, 0.2], [0.2, 0.2]]))
    with pytest.raises(UsageError, match="1 topic, must be 2 or more"):
        topic_subsets(Scores.from_matrix([[0.1, 0.2, 0.3]]))


def test_judgments_by_intent_are_dropped_but_not_given_other_grades() -> None:
    lines = [
        (topic, doc, grade, intent) for topic, row in GRADES.items() for doc, grade in row.items() for intent in "12"
    ]
    intents = cf.Qrels.from_tuples(lines)
    result = robustness(intents, LISTS, ["AP", "I-rec@5"], how="depth", depths=[3])
    plain = robustness(GRADES, LISTS, "AP", how="depth", depths=[3])
    assert result.change[0, 0] == pytest.approx(plain.change[0, 0], rel=1e-12)
    with pytest.raises(UsageError, match="judgments by intent cannot have other grades"):
        robustness(intents, LISTS, "AP", how="flips")


BY_INTENT = ["alpha-nDCG@10", "I-rec@10", "ERR-IA@10", "D-nDCG@10", "D#-nDCG@10", "P+Q", "AP", "nDCG@10"]


def judged_by_intent(seed: int = 3) -> tuple[list[tuple[str, str, int, str]], dict[str, dict[str, float]]]:
    """Each document is judged for some of four intents, whose probabilities are 0.4, 0.3, 0.2 and 0.1."""
    rng = np.random.default_rng(seed)
    lines = [
        (topic, doc, int(grade * (rng.random() < 0.7)), intent)
        for topic, row in GRADES.items()
        for doc, grade in row.items()
        for intent in "1234"
        if rng.random() < 0.6
    ]
    return lines, {topic: {"1": 0.4, "2": 0.3, "3": 0.2, "4": 0.1} for topic in GRADES}


@pytest.mark.parametrize("empty", ["renormalise", "keep"])
def test_dropping_intents_is_evaluating_with_judgments_without_them(empty: str) -> None:
    lines, probabilities = judged_by_intent()
    options = JoinOptions(intent_probabilities=probabilities, empty_intents=empty)
    qrels = cf.Qrels.from_tuples(lines)
    result = robustness(
        qrels, LISTS, BY_INTENT, how="intents", intent_shares=[0.75, 0.5, 0.1], repeats=2, seed=6, options=options
    )
    assert [setting.level for setting in result.settings] == [0.75, 0.5, 0.1] * 2
    documents = JudgedDocuments.of(qrels, LISTS, options)
    before = cf.evaluate(qrels, LISTS, BY_INTENT, intent_probabilities=probabilities, empty_intents=empty).means()
    intents = documents.lists.intents
    assert intents is not None
    for number, (setting, changes) in enumerate(_of_intents(documents, [0.75, 0.5, 0.1], 2, 6)):
        left = {
            (documents.lists.topics[topic], name)
            for topic, name, stays in zip(intents.topic, intents.names, changes["intents"].tolist(), strict=True)
            if stays
        }
        fewer = cf.Qrels.from_tuples([line for line in lines if (line[0], line[3]) in left])
        shares = {topic: {i: p for i, p in row.items() if (topic, i) in left} for topic, row in probabilities.items()}
        shares = {topic: {i: p / sum(row.values()) for i, p in row.items()} for topic, row in shares.items()}
        for topic, row in shares.items():
            assert len(row) == max(1, int(setting.level * len(intents.names) / len(GRADES) + 0.5)), topic
        after = cf.evaluate(fewer, LISTS, BY_INTENT, intent_probabilities=shares, empty_intents=empty).means()
        assert result.change[number] == pytest.approx((after - before).mean(axis=1), abs=1e-12)


def test_without_intents_there_are_none_to_drop() -> None:
    with pytest.raises(UsageError, match="the judgments have no intents to choose from"):
        robustness(GRADES, LISTS, "AP", how="intents")
    with pytest.raises(UsageError, match="intent_shares == 2, must be above 0 and at most 1"):
        robustness(GRADES, LISTS, "AP", how="intents", intent_shares=[2])


def test_a_note_counts_undefined_correlations() -> None:
    result = topic_subsets(Scores.from_matrix([[0.5, 0.5, 0.5], [0.1, 0.2, 0.3]]), sizes=[1], repeats=4)
    ties = int(np.isnan(result.tau).sum())
    assert 0 < ties < 4
    assert result.notes[-1].startswith(f"{ties} of 4 τ are undefined: all runs tie")


def test_a_depth_beyond_all_lists_is_a_warning() -> None:
    with pytest.warns(CranfieldWarning, match="depth == 100, but the longest list has 20 documents"):
        robustness(GRADES, LISTS, "AP", how="depth", depths=[100])

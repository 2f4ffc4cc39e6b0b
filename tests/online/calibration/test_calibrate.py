"""Calibration: counts by hand, plain Python over the rows, and parameters of simulated readers."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield.errors import DataError, UsageError
from cranfield.measures import ERR, MP, TBG, U, parse
from cranfield.measures.readers.markov import invariant_distribution, read_transitions
from cranfield.online.calibration import Calibrated, calibrate
from cranfield.online.engines import Engine
from tests.online.made_logs import made_log

# Four lists: last clicks at ranks 2 (of 3), 1 (of 3), 3 (of 3) and none.
SMALL: list[dict[str, Any]] = [
    {"user": "ann", "text": "red", "docs": ["a", "b", "c"], "clicks": [(1, 3, 40), (2, 60, 10)]},
    {"user": "ann", "text": "blue", "docs": ["x", "y", "z"], "clicks": [(1, 5, 30)]},
    {"user": "bob", "text": "red", "docs": ["b", "a", "c"], "clicks": [(3, 12, 100), (2, 130, 20)]},
    {"user": "bob", "text": "blue", "docs": ["y", "x", "z"]},
]
QRELS = {"red": {"a": 2, "b": 0, "c": 1}, "blue": {"x": 1, "z": 0}}


def value(result: Calibrated, parameter: str, of: str = "") -> float:
    return next(one.value for one in result.parameters if (one.parameter, one.of) == (parameter, of))


def test_the_persistence_of_RBP_by_hand(duck: Engine) -> None:
    # everything seen is clicked. Went on: 0 + 1 + 2 = 3 times; stopped before the end: twice (the third may go on)
    whole = [
        {**SMALL[0], "docs": ["a", "b", "c"], "clicks": [(k, 1.0, 1.0) for k in range(1, n + 1)]} for n in (1, 2, 3)
    ]
    result = calibrate(made_log(duck, [*whole, SMALL[3]]), "RBP")
    assert value(result, "p") == pytest.approx(3 / 5, abs=1e-3)
    assert result.measure.p == pytest.approx(0.6, abs=1e-3)
    assert parse(result.name) == result.measure
    assert "3 lists with clicks, read down to the last click" in result.notes
    assert any(note.startswith("1 list without clicks left out") for note in result.notes)


def test_clicks_may_name_a_position_instead_of_a_document(duck: Engine) -> None:
    import narwhals as nw

    log = made_log(duck, SMALL)
    nameless = log.events.with_columns(nw.when(nw.col("position") > 99).then(nw.col("doc")).alias("doc"))
    assert calibrate(replace(log, events=nameless), "RBP").measure == calibrate(log, "RBP").measure


def test_the_stopping_probabilities_of_ERR_by_hand(duck: Engine) -> None:
    # seen: a, b | x | b, a, c; last clicks: b | x | c. Grade 0: b, b with 1 stop; 1: x, c with 2; 2: a, a with 0
    result = calibrate(made_log(duck, SMALL), "ERR", QRELS)
    assert {one.of: one.value for one in result.parameters} == {"grade 0": 0.5, "grade 1": 1.0, "grade 2": 0.0}
    assert [one.n for one in result.parameters] == [2, 2, 2]
    assert result.measure == ERR(probability={0: 0.5, 1: 1, 2: 0})


def test_the_times_of_TBG_by_hand(duck: Engine) -> None:
    result = calibrate(made_log(duck, SMALL), "TBG", QRELS)
    # relevant seen: a | x | a, c, clicked a, x, c and a (rank 2 of the third list); not relevant: b, b, clicked once
    assert value(result, "click_rel") == pytest.approx(4 / 4)
    assert value(result, "click_non") == pytest.approx(1 / 2)
    assert value(result, "save_rel") == pytest.approx(3 / 4)  # 40, 30 and 100 seconds, not 20
    assert value(result, "summary") == pytest.approx((3 + 5 + 12) / (1 + 1 + 3))
    assert value(result, "overhead") == pytest.approx((40 + 10 + 30 + 100 + 20) / 5)
    assert value(result, "h") == pytest.approx(math.log(2) * ((60 + 10) + (5 + 30) + (130 + 20)) / 3)
    assert isinstance(result.measure, TBG)
    assert result.measure.per_word == 0
    assert parse(result.name) == result.measure


def test_times_of_TBG_do_not_depend_on_judgments(duck: Engine) -> None:
    # Without a judgment of b: the first click of the first list is still that on a after 3 seconds, and the last one
    # is still that on b, which ends after 60 + 10 seconds
    judged = {"red": {"b": 0, "c": 1}, "blue": {"x": 1, "z": 0}}
    result = calibrate(made_log(duck, SMALL), "TBG", judged)
    assert value(result, "summary") == pytest.approx((3 + 5 + 12) / (1 + 1 + 3))
    assert value(result, "h") == pytest.approx(math.log(2) * ((60 + 10) + (5 + 30) + (130 + 20)) / 3)
    assert value(result, "overhead") == pytest.approx((40 + 10 + 30 + 100 + 20) / 5)
    assert value(result, "click_rel") == pytest.approx(2 / 2)  # x and c
    assert value(result, "save_rel") == pytest.approx(2 / 2)


def test_clicks_without_a_position_have_that_of_their_document(duck: Engine) -> None:
    import narwhals as nw

    log = made_log(duck, SMALL)
    bare = log.events.with_columns(nw.when(nw.col("position") > 99).then(nw.col("position")).alias("position"))
    result = calibrate(replace(log, events=bare), "MP")
    assert [one.value for one in result.parameters] == pytest.approx([2 / 5, 2 / 5, 1 / 5])
    lost = bare.with_columns(nw.when(nw.col("doc") != "c").then(nw.col("doc")).alias("doc"))
    assert "1 click without a position left out" in calibrate(replace(log, events=lost), "MP").notes
    assert "1 click below rank 2 left out" in calibrate(log, "MP", depth=2).notes


def test_queries_without_a_topic_are_counted(duck: Engine) -> None:
    result = calibrate(made_log(duck, SMALL), "RBP", topics={"7": "red"})
    assert "2 queries left out, with texts that no topic has" in result.notes


def test_seconds_per_word_are_the_slope_of_a_line(duck: Engine) -> None:
    words = {"a": 100.0, "b": 50.0, "c": 400.0, "x": 120.0}
    result = calibrate(made_log(duck, SMALL), "TBG", QRELS, lengths=words)
    from scipy import stats

    line = stats.linregress([100, 50, 120, 400, 100], [40, 10, 30, 100, 20])
    assert value(result, "per_word") == pytest.approx(line.slope)
    assert value(result, "overhead") == pytest.approx(line.intercept)
    slope = next(one for one in result.parameters if one.parameter == "per_word")
    assert slope.high - slope.value == pytest.approx(stats.t.ppf(0.975, 3) * line.stderr)


def test_the_text_of_U_by_hand(duck: Engine) -> None:
    result = calibrate(made_log(duck, SMALL), "U", speed=10)
    text = [2 * 200 + 50 * 10, 1 * 200 + 30 * 10, 3 * 200 + 120 * 10]
    assert value(result, "L") == pytest.approx(2 * sum(text) / 3)
    characters = {"a": 1000.0, "b": 500.0, "c": 4000.0, "x": 600.0}
    longer = calibrate(made_log(duck, SMALL), "U", speed=10, lengths=characters)
    assert value(longer, "F") == pytest.approx(10 * (40 + 10 + 30 + 100 + 20) / (1000 + 500 + 600 + 4000 + 1000))
    assert isinstance(longer.measure, U)
    assert parse(longer.name) == longer.measure


def test_moves_of_MP_by_hand(duck: Engine, tmp_path: Path) -> None:
    # clicks in order: 1, 2 | 1 | 3, 2. First clicks at 1, 1, 3, last clicks at 2, 1, 2: a reader who ends at rank 2
    # (twice) or 1 (once) goes on at rank 1 with 2/3 and at rank 3 with 1/3
    result = calibrate(made_log(duck, SMALL), "MP")
    weights = np.array([[2 / 3, 1, 1 / 3], [4 / 3, 0, 2 / 3], [0, 1, 0]])
    assert result.moves == pytest.approx(weights)
    assert [one.value for one in result.parameters] == pytest.approx([2 / 5, 2 / 5, 1 / 5])  # the shares of clicks
    assert all(one.low < one.value < one.high for one in result.parameters)
    path = tmp_path / "moves.tsv"
    path.write_text(result.moves_text())
    assert read_transitions(path) == pytest.approx(weights, abs=1e-5)
    grades = [1, 0, 1]
    assert result.measure.of(grades) == pytest.approx(MP(transitions=str(path)).of(grades), abs=1e-3)
    assert result.measure == MP(visits=[0.4, 0.4, 0.2])
    timed = calibrate(made_log(duck, SMALL), "MP", timed=True)
    assert value(timed, "seconds", "rank 1") == pytest.approx((40 + 30) / 2)
    assert value(timed, "seconds", "rank 2") == pytest.approx((10 + 20) / 2)
    assert timed.measure.of(grades) == pytest.approx((70 * 1 + 100 * 2 / 3) / 170)  # shares of time


def test_moves_within_queries_only(duck: Engine) -> None:
    # moves 1 → 2 and 3 → 2; one imaginary move from each rank, half to each other rank
    result = calibrate(made_log(duck, SMALL), "MP", restart=False)
    visits = invariant_distribution(np.array([[0, 1.5, 0.5], [0.5, 0, 0.5], [0.5, 1.5, 0]]))
    assert [one.value for one in result.parameters] == pytest.approx(visits.tolist())


def test_intervals_of_visits_cover_the_truth(duck: Engine) -> None:
    # Every query has one click, at rank 1, 2 or 3: successive queries are independent
    truth, covered = np.array([0.5, 0.3, 0.2]), 0
    for seed in range(40):
        ranks = np.random.default_rng(seed).choice(3, size=80, p=truth) + 1
        made = [
            {"user": f"u{i}", "text": "q", "docs": ["a", "b", "c"], "clicks": [(int(r), 1, 1)]}
            for i, r in enumerate(ranks)
        ]
        first = calibrate(made_log(duck, made), "MP", seed=seed).parameters[0]
        covered += first.low <= 0.5 <= first.high
    assert covered >= 33  # binomial with 40 trials and 0.95: below 33 with probability 0.002


def readers(seed: int, n: int, p: float) -> list[dict[str, Any]]:
    """Readers of RBP who click on everything that they look at: the last click shows where they stopped."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(n):
        depth = 1
        while depth < 10 and rng.random() < p:
            depth += 1
        clicks = [(k, float(k), 1.0) for k in range(1, depth + 1)]
        made.append({"user": f"u{i}", "text": "q", "docs": [f"d{k}" for k in range(10)], "clicks": clicks})
    return made


def test_intervals_of_p_cover_the_truth(duck: Engine) -> None:
    covered = 0
    for seed in range(40):
        (p,) = calibrate(made_log(duck, readers(seed, 60, 0.7)), "RBP").parameters
        covered += p.low <= 0.7 <= p.high
    assert covered >= 33  # binomial with 40 trials and 0.95: below 33 with probability 0.002


def test_readers_who_do_not_click_on_everything_are_not_taken_for_impatient(duck: Engine) -> None:
    """Readers with p = 0.8 who click on two of five documents that they see; the last click alone would say 0.78."""
    rng = np.random.default_rng(3)
    made = readers(3, 3000, 0.8)
    for one in made:
        one["clicks"] = [click for click in one["clicks"] if rng.random() < 0.4]
    (p,) = calibrate(made_log(duck, made), "RBP").parameters
    assert p.low < 0.8 < p.high
    assert p.high - p.low < 0.03
    assert p.value == pytest.approx(0.8, abs=0.013)


def cascade(seed: int, n: int) -> list[dict[str, Any]]:
    """Readers of ERR: they click on what satisfies them, and stop."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(n):
        docs = rng.permutation(["g0", "g1", "g2", "g3"]).tolist()
        clicks = []
        for k, doc in enumerate(docs, 1):
            if rng.random() < (0.1, 0.2, 0.5, 0.8)[int(doc[1])]:
                clicks = [(k, 1.0, 1.0)]
                break
        made.append({"user": f"u{i}", "text": "q", "docs": docs, "clicks": clicks})
    return made


def test_stopping_probabilities_of_simulated_readers_are_found(duck: Engine) -> None:
    # lists without a click tell nothing here: those who read all four, 0.9 · 0.8 · 0.5 · 0.2 = 7 % of them, are left
    # out, so the estimate of grade g is R / (1 − 0.072 · ...), a little above R
    qrels = {"q": {"g0": 0, "g1": 1, "g2": 2, "g3": 3}}
    made = cascade(1, 4000)
    result = calibrate(made_log(duck, made), "ERR", qrels)
    stops: dict[str, list[int]] = {}
    for one in made:
        if one["clicks"]:
            last = one["clicks"][0][0]
            for k, doc in enumerate(one["docs"][:last], 1):
                stops.setdefault(f"grade {doc[1]}", []).append(k == last)
    assert {one.of: one.value for one in result.parameters} == pytest.approx(
        {grade: np.mean(each) for grade, each in stops.items()}
    )
    for grade, R in enumerate((0.1, 0.2, 0.5, 0.8)):
        assert R - 0.02 < value(result, "probability", f"grade {grade}") < R * 1.2 + 0.03


def pages(seed: int, n: int) -> list[dict[str, Any]]:
    """Readers of the position-based model on forty topics with ten documents each."""
    rng = np.random.default_rng(seed)
    attractive = (0.05, 0.3, 0.7)
    made = []
    for i in range(n):
        text = f"t{i % 40}"
        docs = rng.permutation([f"{text}d{k}" for k in range(10)]).tolist()
        clicks = [
            (k, float(k), 1.0)
            for k, doc in enumerate(docs, 1)
            if rng.random() < attractive[int(doc[-1]) % 3] / math.sqrt(k)
        ]
        made.append({"user": f"u{i}", "text": text, "docs": docs, "clicks": clicks})
    return made


def test_a_click_measure_gets_the_parameters_of_its_model(duck: Engine) -> None:
    qrels = {f"t{i}": {f"t{i}d{k}": k % 3 for k in range(10)} for i in range(40)}
    result = calibrate(made_log(duck, pages(1, 4000)), "uPBM", qrels)
    for grade, a in enumerate((0.05, 0.3, 0.7)):
        assert value(result, "attractive", f"grade {grade}") == pytest.approx(a, abs=0.05)
    for rank in (2, 5, 10):
        assert value(result, "examined", f"rank {rank}") == pytest.approx(1 / math.sqrt(rank), abs=0.06)
    assert parse(result.name) == result.measure
    assert result.name.startswith("uPBM(attractive={0:")


@pytest.mark.parametrize("name", ["uPBM", "uDCM", "uUBM"])
def test_parameters_of_ranks_count_what_was_shown_there(duck: Engine, name: str) -> None:
    made = pages(3, 200)
    for one in made[:50]:  # shorter lists
        one["docs"], one["clicks"] = one["docs"][:4], [click for click in one["clicks"] if click[0] <= 4]
    qrels = {f"t{i}": {f"t{i}d{k}": k % 3 for k in range(10)} for i in range(40)}
    n = {one.of: one.n for one in calibrate(made_log(duck, made), name, qrels).parameters if "rank" in one.of}
    clicked = [{click[0] for click in one["clicks"]} for one in made]
    for rank in (1, 3, 7):
        shown = [clicks for one, clicks in zip(made, clicked, strict=True) if len(one["docs"]) >= rank]
        if name == "uPBM":
            assert n[f"rank {rank}"] == len(shown)
        elif name == "uDCM":  # readers go on, or not, after a click
            assert n[f"rank {rank}"] == sum(rank in clicks for clicks in shown)
        else:
            none_above = sum(not any(place < rank for place in clicks) for clicks in shown)
            assert n[f"rank {rank}, no click above"] == none_above


@pytest.mark.parametrize("name", ["uUBM", "uDCM", "rrDCM", "uCCM", "rrCCM", "uDBN", "rrDBN", "EBU", "uSDBN", "rrSDBN"])
def test_every_click_measure_can_be_calibrated(duck: Engine, name: str) -> None:
    qrels = {f"t{i}": {f"t{i}d{k}": k % 3 for k in range(10)} for i in range(40)}
    result = calibrate(made_log(duck, pages(2, 300)), name, qrels)
    assert parse(result.name) == result.measure
    assert result.measure.of([2, 0, 1]) > result.measure.of([0, 0, 1])
    assert not any(math.isnan(one.value) for one in result.parameters)


def test_topics_by_their_texts(duck: Engine) -> None:
    by_text = calibrate(
        made_log(duck, SMALL), "ERR", {"1": QRELS["red"], "2": QRELS["blue"]}, topics={"1": "Red ", "2": "blue"}
    )
    assert by_text.measure == calibrate(made_log(duck, SMALL), "ERR", QRELS).measure


def test_bad_input(duck: Engine) -> None:
    log = made_log(duck, SMALL)
    with pytest.raises(UsageError, match="no measure to calibrate 'RPB'; did you mean 'RBP'"):
        calibrate(log, "RPB")
    with pytest.raises(UsageError, match="ERR has parameters by grade, so that judgments are needed"):
        calibrate(log, "ERR")
    with pytest.raises(DataError, match="none of the 6 documents that were seen is judged"):
        calibrate(log, "ERR", {"7": {"a": 1}})
    with pytest.raises(DataError, match="no document of the click model is judged"):
        calibrate(log, "uPBM", {"7": {"a": 1}})
    with pytest.raises(DataError, match="none of the 1 lists has a click"):
        calibrate(made_log(duck, SMALL[3:]), "RBP")
    with pytest.raises(DataError, match="no moves between ranks down to 10"):
        calibrate(made_log(duck, SMALL[1:2]), "MP")
    with pytest.raises(UsageError, match="timed is for MP"):
        calibrate(log, "RBP", timed=True)
    with pytest.raises(UsageError, match="lengths are for TBG and U"):
        calibrate(log, "RBP", lengths={"a": 1})
    with pytest.raises(UsageError, match="RBP uses no click model, so that steps would do nothing"):
        calibrate(log, "RBP", steps=3)
    without = [{**one, "clicks": [(k, t, None) for k, t, _ in one.get("clicks", ())]} for one in SMALL]
    with pytest.raises(DataError, match="no click has a dwell time"):
        calibrate(made_log(duck, without), "TBG", QRELS)


@pytest.mark.xdist_group("spark")
def test_spark_gives_the_same_answers(spark: Engine, duck: Engine) -> None:
    for measure in ("RBP", "ERR", "TBG", "MP"):
        here, there = (
            calibrate(made_log(engine, SMALL), measure, None if measure in ("RBP", "MP") else QRELS)
            for engine in (duck, spark)
        )
        assert there.name == here.name


def test_a_share_of_all_or_none_has_an_exact_interval(duck: Engine) -> None:
    from scipy import stats

    estimates = {one.of: one for one in calibrate(made_log(duck, SMALL), "ERR", QRELS).parameters}
    for grade, share in (("grade 1", 2), ("grade 2", 0)):
        exact = stats.binomtest(share, 2).proportion_ci(0.95, "exact")
        assert (estimates[grade].low, estimates[grade].high) == pytest.approx((exact.low, exact.high))

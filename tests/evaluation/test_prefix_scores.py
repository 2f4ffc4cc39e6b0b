"""The score so far in `explain`: as much work as the list is long, for every measure in the registry."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.assessed.changed_lists.prefixes import score_cut_lists
from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.lists import Assessed
from cranfield.measures import MEASURES, Measure, parse
from tests.laws.instances import NEEDS

SETTINGS = {**NEEDS, "RBTO": "(normalize=True)", "Accuracy": "(N=9000)", "Fallout": "(N=9000)"}
SETTINGS["Specificity"] = "(N=9000)"


def everything(documents: int, folder: Path, measure: Measure, strata: bool = False) -> tuple[Any, Any, JoinOptions]:
    """A judged list with intents, lengths, scores, probabilities, strata and dimensions, as the measure needs them."""
    rng = random.Random(documents)
    names = [f"d{number}" for number in range(documents)]
    judged = [name for name in names if rng.random() < 0.7] + ["missed"]
    run = {"1": {name: 1 - number / documents for number, name in enumerate(names)}}
    grades = {name: rng.choice([0, 0, 1, 2, 3]) for name in judged}
    further: dict[str, Any] = {"lengths": {name: rng.randint(50, 900) for name in names}}
    further["scores"] = measure.needs == "scores"
    qrels: Any = {"1": grades}
    if measure.uses_intents():
        qrels = folder / "intents.qrels"
        lines = [
            f"1 {intent} {name} {rng.randint(0, 3)}" for name in judged[:-1] for intent in "abc" if rng.random() < 0.6
        ]
        qrels.write_text("\n".join([*lines, "1 a missed 1", "1 b missed 1"]) + "\n")
        further["intent_types"] = {"1": {"a": "inf", "b": "nav", "c": "inf"}}
    if measure.needs == "inclusion" and strata:
        qrels = folder / "strata.qrels"
        drawn = [f"1 {rng.randint(1, 2)} {name} {rng.choice([-1, grades[name]])}" for name in judged]
        qrels.write_text("\n".join(drawn) + "\n")
        further["strata"] = True
    elif measure.needs == "inclusion":
        further["inclusion"] = {"1": {name: rng.uniform(0.1, 1) for name in judged}}
    if measure.needs == "dimensions":
        others = {name: rng.choice([0, 1, 2]) for name in names if rng.random() < 0.8}
        further["dimensions"] = {"understandability": {"1": others}, "credibility": {"1": grades}}
    return qrels, run, JoinOptions(**further)


@pytest.mark.parametrize("name", [name for name in MEASURES if parse(name + NEEDS.get(name, "")).needs])
@pytest.mark.parametrize("strata", [False, True])
def test_measures_that_need_more_than_grades_score_cut_lists_as_lists(name: str, strata: bool, tmp_path: Path) -> None:
    """Against the score of a copy of the list for every rank."""
    measure = parse(name + NEEDS.get(name, ""))
    if strata and (measure.needs != "inclusion" or name == "statAP"):
        pytest.skip("the measure does not use strata")
    qrels, run, options = everything(30, tmp_path, measure, strata)
    lists = join(qrels, run, options)
    expected = score_cut_lists(measure.evaluate, lists, 30)
    np.testing.assert_allclose(measure.evaluate_prefixes(lists, 30), expected, rtol=1e-12, atol=1e-12)
    assert len({round(score, 9) for score in expected.tolist()}) > 1


@pytest.mark.parametrize("name", MEASURES)
def test_explaining_a_list_copies_its_hits_a_few_times_only(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the list for every rank would be 300 · 210 / 2 hits. C/W/L measures read 20 ranks here, not 1,000."""
    measure = parse(name + SETTINGS.get(name, ""))
    if "depth" in measure.parameters():
        measure = measure.replace(depth=20)
    qrels, run, options = everything(300, tmp_path, measure)
    copied, take_hits = [0], Assessed.take_hits

    def counting(lists: Assessed, *arguments: Any) -> Assessed:
        taken = take_hits(lists, *arguments)
        copied[0] += len(taken.row)
        return taken

    monkeypatch.setattr(Assessed, "take_hits", counting)
    lines = cf.explain(qrels, run, "1", measure, options=options).lines
    assert len(lines) == 300
    assert copied[0] < 10 * 300


def test_a_few_ranks_of_a_measure_that_does_not_add_up_copy_as_many_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measure that says nothing about cut lists is scored on copies: 1 + 2 + ... + 20 hits for 20 ranks."""

    class Middle(cf.Measure):
        """The grade in the middle of the list."""

        cutoff_kind = "none"

        def score(self, lists: Assessed) -> Any:
            return lists.hits().value_at_nth(lists.grade, (lists.retrieved + 1) // 2)[0]

    qrels = {"1": {f"d{number}": number % 3 for number in range(300)}}
    run = {"1": {f"d{number}": 300.0 - number for number in range(300)}}
    copied, take_hits = [0], Assessed.take_hits

    def counting(lists: Assessed, rows: Any, *rest: Any) -> Assessed:
        taken = take_hits(lists, rows, *rest)
        copied[0] += len(taken.row) if taken.rows > 1 else 0
        return taken

    monkeypatch.setattr(Assessed, "take_hits", counting)
    lines = cf.explain(qrels, run, "1", Middle(), depth=20).lines
    assert [line.so_far for line in lines[:4]] == [0, 0, 1, 1]
    assert copied[0] == 20 * 21 // 2

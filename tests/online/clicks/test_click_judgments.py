"""Judgments from clicks, and files of models."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import DataError, UsageError
from cranfield.online.clicks import CLICK_MODELS, ClickModel, Pages, click_judgments, fit_clicks, load_click_model
from tests.online.clicks.literal import simulated
from tests.online.clicks.test_click_fits import hand_made


def test_grades_are_probabilities_times_the_top_grade() -> None:
    model = fit_clicks(hand_made(), "SDBN", prior=(0, 0), exact=False)
    judged = click_judgments(model, top=3, least=4)
    # Relevance by hand, as in the test of counting: 1/3 each.
    assert judged.to_qrels().to_dict() == {"q": {"d1": 1.0, "d2": 1.0, "d3": 1.0}}
    assert judged.parameter == "relevance"
    low, high = model.value("relevance").low, model.value("relevance").high
    np.testing.assert_allclose(judged.low, 3 * low)
    np.testing.assert_allclose(judged.high, 3 * high)
    attractive = click_judgments(model, "attractiveness").to_qrels().to_dict()["q"]
    assert attractive == pytest.approx({"d1": 2 / 3, "d2": 1 / 3, "d3": 1 / 3})


def test_our_measures_read_the_judgments() -> None:
    judged = click_judgments(fit_clicks(hand_made(), "DCTR", prior=(0, 0))).to_qrels()
    run = {"q": {"d2": 3.0, "d1": 2.0, "d3": 1.0}}
    # Grades 1/4, 1/2, 1/4 in the order of the run; ideal: 1/2, 1/4, 1/4.
    gained = 0.25 + 0.5 / np.log2(3) + 0.25 / 2
    ideal = 0.5 + 0.25 / np.log2(3) + 0.25 / 2
    assert cf.evaluate(judged, {"run": run}, [cf.nDCG]).mean()["run"]["nDCG"] == pytest.approx(gained / ideal)


def test_documents_with_few_impressions_are_marked_or_left_out() -> None:
    pages = Pages.of(["q"] * 3, [["x", "y"], ["x", "y"], ["x", "z"]], [[1, 0]] * 3)
    model = fit_clicks(pages, "DCTR")
    marked = click_judgments(model, least=3)
    assert dict(zip(marked.doc.tolist(), marked.few.tolist(), strict=True)) == {"x": False, "y": True, "z": True}
    assert marked.notes == ("2 documents shown fewer than 3 times, marked",)
    assert list(click_judgments(model, least=3, leave_out_few=True).doc) == ["x"]
    with pytest.raises(UsageError, match="no documents are left: 3 documents shown fewer than 9 times, left out"):
        click_judgments(model, least=9, leave_out_few=True)


def test_whole_grades() -> None:
    judged = click_judgments(fit_clicks(hand_made(), "DCTR", prior=(0, 0)), top=3, whole=True)
    assert judged.to_qrels().to_dict() == {"q": {"d1": 2, "d2": 1, "d3": 1}}  # 1.5 is rounded to even
    assert "grades are rounded to whole numbers" in judged.notes


def test_queries_become_topics() -> None:
    pages = Pages.of(["fast cars", "cats"], [["x"], ["x"]], [[1], [0]])
    model = fit_clicks(pages, "DCTR", prior=(0, 0))
    judged = click_judgments(model, topics={"7": "fast cars", "8": "dogs"})
    assert judged.to_qrels().to_dict() == {"7": {"x": 1}}
    assert "1 query without a topic, left out: cats" in judged.notes
    with pytest.raises(UsageError, match="no query of the model is among the topics; the first query is 'cats'"):
        click_judgments(model, topics={"8": "dogs"})
    with pytest.raises(UsageError, match="topics '7' and '8' have the same query"):
        click_judgments(model, topics={"7": "cats", "8": "cats"})


def test_models_without_documents_give_no_judgments() -> None:
    with pytest.raises(UsageError, match="RCTR says nothing about documents"):
        click_judgments(fit_clicks(hand_made(), "RCTR"))
    with pytest.raises(UsageError, match="PBM has no satisfaction of documents; it has attractiveness"):
        click_judgments(fit_clicks(hand_made(), "PBM"), "satisfaction")


# -- files


@pytest.mark.parametrize("name", CLICK_MODELS)
def test_a_model_comes_back_from_its_file(name: str, tmp_path: Path) -> None:
    pages, _ = simulated("DBN", 51, 100)
    model = fit_clicks(pages, name)
    path = str(tmp_path / "model.json.gz")
    model.save(path)
    again = load_click_model(path)
    assert again.names.keys == model.names.keys
    for attribute in ("model", "ranks", "steps", "converged", "level", "prior", "notes", "held_out", "log_likelihood"):
        assert getattr(again, attribute) == getattr(model, attribute)
    for parameter, estimates in model.values.items():
        for end in ("value", "low", "high"):
            np.testing.assert_array_equal(getattr(again.value(parameter), end), getattr(estimates, end))
    np.testing.assert_array_equal(again.page_log_likelihood(pages), model.page_log_likelihood(pages))


def changed(model: ClickModel, path: Path, **changes: object) -> str:
    model.save(str(path))
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return str(path)


def test_files_that_are_not_models(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    model = fit_clicks(hand_made(), "PBM")
    path.write_text("{")
    with pytest.raises(DataError, match="is not a click model: "):
        load_click_model(path)
    path.write_text("[1]")
    with pytest.raises(DataError, match=r"model\.json: is not a click model; expected a file that"):
        load_click_model(path)
    with pytest.raises(DataError, match="has version 99, expected 1"):
        load_click_model(changed(model, path, version=99))
    with pytest.raises(DataError, match="is not a complete click model: KeyError: 'attractiveness'"):
        load_click_model(changed(model, path, values={}))
    with pytest.raises(DataError, match="pairs and queries do not belong together"):
        load_click_model(changed(model, path, queries=[]))


def test_a_model_is_a_record() -> None:
    model = fit_clicks(hand_made(), "UBM")
    assert str(model).startswith("UBM, user browsing model")
    content = json.loads(model.to_json())
    assert content["model"] == "UBM"
    assert [(row["rank"], row["above"]) for row in content["rows"][1:]] == [
        (1, 0),
        (2, 0),
        (2, 1),
        (3, 0),
        (3, 1),
        (3, 2),
    ]
    assert "examination" in model.to_latex()
    assert model.pair_columns()["impressions"].tolist() == [4, 4, 4]

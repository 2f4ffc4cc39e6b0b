"""Probabilities of clicks against sums over all hidden paths of a user."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from cranfield.online.clicks import CLICK_MODELS, Pages
from tests.online.clicks.literal import all_pairs, model_of, random_theta, sequences

MODELS = list(CLICK_MODELS)
DOCS = ("d2", "d0", "d3")


@pytest.mark.parametrize("name", MODELS)
def test_the_probability_of_a_session_is_the_sum_over_hidden_paths(name: str) -> None:
    names = all_pairs()
    theta = random_theta(name, names, 3, np.random.default_rng(1))
    model = model_of(name, names, 3, theta)
    patterns = list(itertools.product([0, 1], repeat=3))
    literal = sequences(name, "q1", DOCS, theta)
    for clicks in patterns:
        pages = Pages.of(["q1"], [DOCS], [clicks])
        assert math.exp(model.page_log_likelihood(pages)[0]) == pytest.approx(literal[clicks], abs=1e-12)
    assert sum(literal.values()) == pytest.approx(1)


@pytest.mark.parametrize("name", MODELS)
def test_marginal_probabilities_are_sums_over_click_sequences(name: str) -> None:
    names = all_pairs()
    theta = random_theta(name, names, 3, np.random.default_rng(2))
    literal = sequences(name, "q0", DOCS, theta)
    wanted = [sum(p for clicks, p in literal.items() if clicks[rank]) for rank in range(3)]
    marginal = model_of(name, names, 3, theta).click_probabilities(Pages.lists(["q0"], [DOCS]))
    np.testing.assert_allclose(marginal[0], wanted, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_simulated_clicks_have_the_probabilities_of_the_model(name: str) -> None:
    names = all_pairs()
    theta = random_theta(name, names, 3, np.random.default_rng(3))
    size = 20_000
    clicked = model_of(name, names, 3, theta).simulate(["q0"] * size, [DOCS] * size, 4)
    seen = dict.fromkeys(itertools.product([0, 1], repeat=3), 0)
    for row in clicked.astype(int).tolist():
        seen[tuple(row)] += 1
    for clicks, p in sequences(name, "q0", DOCS, theta).items():
        assert abs(seen[clicks] / size - p) <= 4.5 * math.sqrt(p * (1 - p) / size)


@pytest.mark.parametrize("name", MODELS)
def test_a_rank_without_a_document_changes_nothing_for_users_who_read_from_the_top(name: str) -> None:
    names = all_pairs()
    theta = random_theta(name, names, 3, np.random.default_rng(5))
    model = model_of(name, names, 3, theta)
    whole, gap = Pages.of(["q0"], [["d1", "d2"]], [[0, 1]]), Pages.of(["q0"], [["d1", "", "d2"]], [[0, 0, 1]])
    assert model.page_log_likelihood(gap)[0] < 0
    assert model.click_probabilities(gap)[0, 1] == 0
    if name in ("CM", "DBN", "SDBN", "CCM", "DCM", "RCM", "DCTR"):
        assert model.page_log_likelihood(gap)[0] == pytest.approx(model.page_log_likelihood(whole)[0])


def test_unseen_documents_get_the_mean_of_the_prior() -> None:
    names = all_pairs()
    model = model_of("DCTR", names, 3, random_theta("DCTR", names, 3, np.random.default_rng(0)))
    assert model.of_pair("q0", "new") == pytest.approx(model.value("attractiveness").value.mean())
    given = replace(model, prior=(0.5, 1.5))
    assert given.of_pair("q0", "new") == given.of_pair("a new query", "d0") == 0.25


@pytest.mark.parametrize("name", ["RCTR", "PBM", "DCM"])
def test_ranks_below_the_deepest_have_its_parameters(name: str) -> None:
    names = all_pairs()
    model = model_of(name, names, 2, random_theta(name, names, 2, np.random.default_rng(0)))
    placement = model.placement(Pages.lists(["q0"], [["d0", "d1", "d2", "d3"]]))
    parameter = next(name for name, scope in model.kind.parameters.items() if scope == "rank")
    first, second = model.values[parameter].value
    assert placement.rank(parameter).tolist() == [first, second, second, second]


def test_ubm_below_the_deepest_rank_keeps_the_distance_to_the_click_above() -> None:
    names = all_pairs()
    theta = random_theta("UBM", names, 3, np.random.default_rng(0))
    table = model_of("UBM", names, 3, theta).placement(Pages.lists(["q0"], [["d0", "d1", "d2", "d3"]])).browsing
    examination = table("examination")
    for rank in (1, 2, 3):
        for above in range(rank):
            assert examination[rank - 1, above] == theta["e", rank, above]
    # rank 4: no click; a click 3, 2 and 1 ranks above, where rank 3 has at most 2 ranks above
    wanted = [theta["e", 3, 0], theta["e", 3, 1], theta["e", 3, 1], theta["e", 3, 2]]
    assert examination[3, :4].tolist() == wanted

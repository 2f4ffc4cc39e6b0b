"""Fits against literal EM over all hidden paths, and against counting in plain loops."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from cranfield.errors import CranfieldWarning, UsageError
from cranfield.online.clicks import CLICK_MODELS, Pages, fit_clicks
from cranfield.online.clicks.chain_em import chain_counts
from cranfield.online.clicks.click_estimates import ClickSettings, Problem
from cranfield.online.clicks.models.cascade_models import BayesianProblem, ChainModelProblem, DependentProblem
from cranfield.online.clicks.models.examination_models import ExaminationProblem, browsing_cells
from tests.online.clicks.literal import (
    BY_STEPS,
    Key,
    anchor_of,
    expected_counts,
    keys_of,
    literal_em,
    random_theta,
    sessions_of,
    simulated,
)


def problem_of(name: str, pages: Pages, settings: ClickSettings) -> tuple[Problem, list[Key]]:
    """The likelihood of a model, and the keys of its parameters in their order."""
    keys = [key for of_name in keys_of(name, pages.names, pages.ranks).values() for key in of_name]
    pairs, ranks = len(pages.names), pages.ranks
    if name == "PBM":
        cells = pages.cells()
        problem = ExaminationProblem(cells.pair, cells.rank - 1, cells.shown, cells.clicked, (pairs, ranks), settings)
        return problem, keys
    if name == "UBM":
        return ExaminationProblem(*browsing_cells(pages), (pairs, ranks * (ranks + 1) // 2), settings), keys
    counts = chain_counts(pages)
    if name == "SDBN":
        return BayesianProblem(counts, settings, gives_up=False), [*keys, ("c",)]
    kinds = {"DBN": BayesianProblem, "CCM": ChainModelProblem, "DCM": DependentProblem}
    return kinds[name](counts, settings), keys


@pytest.mark.parametrize("name", BY_STEPS)
def test_an_e_step_counts_what_the_hidden_paths_of_every_session_say(name: str) -> None:
    pages, _ = simulated(name, 11, 60)
    problem, keys = problem_of(name, pages, ClickSettings())
    theta = random_theta(name, pages.names, pages.ranks, np.random.default_rng(12))
    given = np.array([theta.get(key, 1.0) for key in keys])
    expected = problem.expected(given)
    counts, likelihood = expected_counts(name, sessions_of(pages), theta)
    assert expected.log_likelihood == pytest.approx(likelihood)
    for place, key in enumerate(keys):
        if key in theta and key != anchor_of(name):
            assert expected.success[place] == pytest.approx(counts[key][0], abs=1e-9), key
            assert expected.failure[place] == pytest.approx(counts[key][1], abs=1e-9), key


@pytest.mark.parametrize("name", BY_STEPS)
def test_a_fit_ends_where_literal_em_ends(name: str) -> None:
    pages, _ = simulated(name, 21, 80, queries=1)
    prior = (1.0, 1.5)
    fitted = fit_clicks(pages, name, prior=prior, rank_prior=prior, tolerance=1e-13, steps=20_000)
    start = random_theta(name, pages.names, pages.ranks, np.random.default_rng(22))
    literal = literal_em(name, sessions_of(pages), start, anchor_of(name), prior, 300)
    for parameter, keys in keys_of(name, pages.names, pages.ranks).items():
        wanted = [literal[key] for key in keys]
        np.testing.assert_allclose(fitted.value(parameter).value, wanted, atol=2e-4)


@pytest.mark.parametrize("name", BY_STEPS)
def test_the_log_likelihood_never_falls_from_step_to_step(name: str) -> None:
    pages, _ = simulated(name, 31, 300)
    fitted = fit_clicks(pages, name, intervals=False)
    assert fitted.converged
    assert np.diff(fitted.trace).min() > -1e-9
    # The log-likelihood of the record is that of the walk down every page, which is other code.
    walked = float((fitted.page_log_likelihood(pages) * pages.sessions).sum())
    assert fitted.log_likelihood == pytest.approx(walked)


def hand_made() -> Pages:
    """Four sessions of one query: clicks on d1; on d1 and d3; none; on d2 in another order."""
    docs = [["d1", "d2", "d3"], ["d1", "d2", "d3"], ["d1", "d2", "d3"], ["d3", "d2", "d1"]]
    return Pages.of(["q"] * 4, docs, [[1, 0, 0], [1, 0, 1], [0, 0, 0], [0, 1, 0]])


def by_doc(pages: Pages, name: str, parameter: str = "attractiveness") -> dict[str, float]:
    exact = not CLICK_MODELS[name].can_be_counted
    fitted = fit_clicks(pages, name, prior=(0, 0), rank_prior=(0, 0), exact=exact)
    return dict(zip(fitted.names.doc.tolist(), fitted.value(parameter).value.tolist(), strict=True))


def test_counting_by_hand() -> None:
    pages = hand_made()
    rcm = fit_clicks(pages, "RCM", prior=(0, 0), rank_prior=(0, 0))
    assert rcm.value("click rate").value.tolist() == [4 / 12]
    rctr = fit_clicks(pages, "RCTR", prior=(0, 0), rank_prior=(0, 0))
    assert rctr.value("click rate").value.tolist() == [2 / 4, 1 / 4, 1 / 4]
    assert by_doc(pages, "DCTR") == {"d1": 2 / 4, "d2": 1 / 4, "d3": 1 / 4}
    cascade = by_doc(pages, "CM")
    # First clicks: d1, d1, none, d2. d1 is examined in sessions 1 to 3, d2 in 3 and 4, d3 in 3 and 4.
    assert cascade == {"d1": 2 / 3, "d2": 1 / 2, "d3": 0 / 2}
    # Down to the last click (all without one): session 1: d1; 2: d1 d2 d3; 3: all; 4: d3 d2.
    down = {"d1": 2 / 3, "d2": 1 / 3, "d3": 1 / 3}
    assert by_doc(pages, "DCM") == by_doc(pages, "SDBN") == down
    # Last clicks: d1, d3, d2; d1 was clicked twice, once as the last.
    assert by_doc(pages, "SDBN", "satisfaction") == {"d1": 1 / 2, "d2": 1.0, "d3": 1.0}
    assert by_doc(pages, "SDBN", "relevance") == {"d1": 1 / 3, "d2": 1 / 3, "d3": 1 / 3}
    dcm = fit_clicks(pages, "DCM", prior=(0, 0), rank_prior=(0, 0), exact=False)
    # Clicks at rank 1: two, one of them goes on; at ranks 2 and 3: one each, the last of its session.
    assert dcm.value("continuation").value.tolist() == [1 / 2, 0.0, 0.0]


@pytest.mark.parametrize("seed", range(3))
def test_counting_in_loops(seed: int) -> None:
    """DCM and SDBN by walking through every session."""
    pages, _ = simulated("DBN", seed, 500)
    shown: Counter[tuple[str, str]] = Counter()
    clicked: Counter[tuple[str, str]] = Counter()
    last: Counter[tuple[str, str]] = Counter()
    at: Counter[int] = Counter()
    last_at: Counter[int] = Counter()
    for query, docs, clicks in sessions_of(pages):
        lowest = max((rank for rank, yes in enumerate(clicks) if yes), default=None)
        for rank, (doc, yes) in enumerate(zip(docs, clicks, strict=True)):
            if lowest is None or rank <= lowest:
                shown[query, doc] += 1
                clicked[query, doc] += yes
                at[rank] += yes
        if lowest is not None:
            last[query, docs[lowest]] += 1
            last_at[lowest] += 1
    dcm, sdbn = (fit_clicks(pages, name, prior=(1, 2), rank_prior=(3, 1), exact=False) for name in ("DCM", "SDBN"))
    for place, key in enumerate(dcm.names.keys):
        wanted = (clicked[key] + 1) / (shown[key] + 3)
        assert dcm.value("attractiveness").value[place] == pytest.approx(wanted)
        assert sdbn.value("attractiveness").value[place] == pytest.approx(wanted)
        assert sdbn.value("satisfaction").value[place] == pytest.approx((last[key] + 1) / (clicked[key] + 3))
    onward = [(at[rank] - last_at[rank] + 3) / (at[rank] + 4) for rank in range(3)]
    np.testing.assert_allclose(dcm.value("continuation").value, onward)


def test_only_first_clicks() -> None:
    pages = hand_made()
    first = fit_clicks(pages, "DCTR", prior=(0, 0), clicks="first")
    assert dict(zip(first.names.doc.tolist(), first.value("attractiveness").value.tolist(), strict=True)) == {
        "d1": 2 / 4, "d2": 1 / 4, "d3": 0.0,
    }  # fmt: skip
    assert "only the first click of each session is counted" in first.notes


def test_several_clicks_are_counted_for_the_cascade_model() -> None:
    notes = " ".join(fit_clicks(hand_made(), "CM").notes)
    assert "1 session with clicks on several documents, which are impossible in CM" in notes
    assert "1 session without clicks" in notes


def test_a_fit_that_does_not_converge_says_so() -> None:
    pages, _ = simulated("PBM", 5, 200)
    with pytest.warns(CranfieldWarning, match="PBM did not converge in 3 steps; allow more steps"):
        fitted = fit_clicks(pages, "PBM", steps=3)
    assert fitted.converged is False
    assert fitted.steps == 3


@pytest.mark.parametrize("name", ["RCM", "DCTR", "PBM", "CM", "DBN", "UBM"])
def test_a_log_without_clicks_is_warned_of(name: str) -> None:
    pages = Pages.of(["cats"] * 3, [["d1", "d2"]] * 3, [[0, 0]] * 3)
    with pytest.warns(
        CranfieldWarning, match=f"{name}: there is no click in these sessions, .* little more than the prior"
    ):
        fitted = fit_clicks(pages, name)
    assert any("there is no click" in note for note in fitted.notes)


def test_pages_that_are_seen_again_count_again() -> None:
    pages, _ = simulated("DBN", 6, 200)
    twice = Pages(pages.names, pages.pair, pages.clicked, 2 * pages.sessions)
    for name in ("PBM", "DBN", "UBM", "CCM"):
        one = fit_clicks(pages, name, prior=(1, 1), rank_prior=(1, 1), tolerance=1e-12)
        two = fit_clicks(twice, name, prior=(2, 2), rank_prior=(2, 2), tolerance=1e-12)
        np.testing.assert_allclose(one.value("attractiveness").value, two.value("attractiveness").value, atol=1e-5)


def test_wrong_calls() -> None:
    pages = hand_made()
    with pytest.raises(UsageError, match="no click model 'PBN'; did you mean 'PBM'"):
        fit_clicks(pages, "PBN")
    with pytest.raises(UsageError, match="exact=False is for DCM and SDBN"):
        fit_clicks(pages, "PBM", exact=False)
    with pytest.raises(UsageError, match=r"prior == \(1, 2, 3\), must be two numbers"):
        fit_clicks(pages, "PBM", prior=(1, 2, 3))
    with pytest.raises(UsageError, match=r"prior == -1, must be 0 or above"):
        fit_clicks(pages, "PBM", prior=(-1, 1))
    with pytest.raises(UsageError, match=r"level == 1\.5, must be above 0 and below 1"):
        fit_clicks(pages, "PBM", level=1.5)
    with pytest.raises(UsageError, match="no impressions"):
        fit_clicks(Pages.of([], [], []), "PBM")
    with pytest.raises(UsageError, match="PBM has no parameter 'satisfaction'; it has attractiveness, examination"):
        fit_clicks(pages, "PBM").value("satisfaction")

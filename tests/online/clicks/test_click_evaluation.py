"""Log-likelihood and perplexity against the formula, session by session."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cranfield.errors import UsageError
from cranfield.online.clicks import CLICK_MODELS, Pages, evaluate_clicks, fit_clicks
from cranfield.online.clicks.click_evaluation import held_out_pages
from cranfield.online.engines import Engine
from tests.online.clicks.literal import all_pairs, model_of, random_theta, sequences, sessions_of, simulated
from tests.online.clicks.test_click_reading import sessions, table_of

MODELS = list(CLICK_MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_perplexity_and_log_likelihood_by_brute_force(name: str) -> None:
    names = all_pairs()
    theta = random_theta(name, names, 3, np.random.default_rng(7))
    pages, _ = simulated("PBM", 8, 150)
    result = evaluate_clicks(model_of(name, names, 3, theta), pages)
    logs, impossible = [], 0
    bits: list[list[float]] = [[], [], []]
    for query, docs, clicks in sessions_of(pages):
        literal = sequences(name, query, docs, theta)
        if literal[clicks] > 0:
            logs.append(math.log(literal[clicks]))
        else:
            impossible += 1
        for rank, yes in enumerate(clicks):
            click = sum(p for done, p in literal.items() if done[rank])
            bits[rank].append(math.log2(click if yes else 1 - click))
    wanted = [2 ** (-sum(of_rank) / len(of_rank)) for of_rank in bits]
    np.testing.assert_allclose(result.rank_perplexity[0], wanted)
    assert result.perplexity[0] == pytest.approx(sum(wanted) / 3)
    assert result.log_likelihood[0] == pytest.approx(sum(logs) / len(logs))
    assert result.impossible[0] == impossible
    assert (impossible > 0) == (name == "CM")
    assert result.rank_impressions.tolist() == [len(of_rank) for of_rank in bits]


def test_the_log_likelihoods_of_ranks_add_up() -> None:
    pages, _ = simulated("DBN", 9, 200)
    result = evaluate_clicks(fit_clicks(pages, "DBN"), pages)
    total = float((result.rank_log_likelihood[0] * result.rank_impressions).sum())
    assert total / result.sessions == pytest.approx(result.log_likelihood[0])


def test_impossible_sessions_unseen_documents_and_deeper_ranks_are_said() -> None:
    short = Pages.of(["cats"] * 3, [["d1", "d2"]] * 3, [[1, 0], [0, 1], [0, 0]])
    models = {name: fit_clicks(short, name, prior=(1, 1)) for name in ("CM", "PBM", "UBM", "RCM")}
    other = Pages.of(["cats", "dogs"], [["d1", "d2", "d7"], ["d1", "d2", "d3"]], [[1, 1, 0], [0, 0, 1]])
    result = evaluate_clicks(models, other)
    assert result.impossible.tolist() == [1, 0, 0, 0]
    assert result.unseen.tolist() == [4, 4, 4, 0]  # RCM knows no documents
    assert result.deeper.tolist() == [0, 2, 2, 0]  # CM and RCM know no ranks
    assert result.notes == (
        "CM, PBM, UBM: 4 impressions (66.7%) of documents that the model has not seen, 1 new query; they get the mean "
        "of the prior",
        "CM: 1 session that are impossible in the model, so its log-likelihood of all sessions is -inf; the one shown "
        "is that of the other sessions, and does not compare with other models",
        "PBM, UBM: 2 impressions below rank 2, the deepest that the model has seen; they get the parameters of rank 2",
    )
    # The session that CM holds possible: three unseen documents at 1/2 each.
    assert result.log_likelihood[0] == pytest.approx(3 * math.log(0.5))


def test_a_model_that_holds_every_session_impossible_says_so() -> None:
    model = fit_clicks(Pages.of(["cats"] * 2, [["d1", "d2"]] * 2, [[1, 0], [0, 1]]), "CM")
    result = evaluate_clicks(model, Pages.of(["cats"] * 2, [["d1", "d2"]] * 2, [[1, 1], [1, 1]]))
    assert result.log_likelihood.tolist() == [-math.inf]
    assert result.notes == (
        "CM: 2 sessions that are impossible in the model, so its log-likelihood of all sessions is -inf; these are all "
        "sessions, so that none is left to compare",
    )


def test_the_true_model_predicts_best() -> None:
    pages, _ = simulated("UBM", 10, 20_000, docs=5, ranks=4)
    other, _ = simulated("UBM", 10, 20_000, docs=5, ranks=4)
    models = {name: fit_clicks(pages, name, intervals=False) for name in MODELS}
    result = evaluate_clicks(models, other)
    possible = result.impossible == 0
    assert result.models[int(np.argmax(np.where(possible, result.log_likelihood, -np.inf)))] == "UBM"


def test_models_are_evaluated_on_the_sessions_that_were_held_out(duck: Engine) -> None:
    table = table_of(*sessions(2, 400))
    models = {name: fit_clicks(table, name, engine=duck, held_out=0.25, seed=3) for name in ("PBM", "DCM")}
    pages = held_out_pages(table, models, engine=duck)
    fitted = models["DCM"].impressions
    assert pages.impressions + fitted == table.num_rows
    assert (
        pages.notes[0] == "25% of the sessions, held out when the models were fitted (by a hash of the session, seed 3)"
    )
    other = fit_clicks(table, "UBM", engine=duck)
    with pytest.raises(UsageError, match="PBM and UBM were fitted on different parts of a log"):
        held_out_pages(table, {**models, "UBM": other}, engine=duck)
    assert "this flatters them" in held_out_pages(table, {"UBM": other}, engine=duck).notes[0]


def test_wrong_calls() -> None:
    pages, _ = simulated("PBM", 1, 20)
    with pytest.raises(UsageError, match="no click models to evaluate"):
        evaluate_clicks({}, pages)
    with pytest.raises(UsageError, match="no impressions"):
        evaluate_clicks(fit_clicks(pages, "PBM"), Pages.of([], [], []))

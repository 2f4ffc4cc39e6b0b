"""Intervals: observed information against differences of a literal likelihood, and coverage by simulation."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import beta

from cranfield.online.clicks import CLICK_MODELS, Pages, click_estimates, fit_clicks
from cranfield.online.clicks.click_estimates import (
    ClickSettings,
    beta_estimates,
    common_means,
    logit_covariances,
    maximise,
)
from tests.online.clicks.literal import (
    BY_STEPS,
    Key,
    all_pairs,
    anchor_of,
    expected_counts,
    keys_of,
    model_of,
    random_theta,
    sessions_of,
    simulated,
)
from tests.online.clicks.test_click_fits import problem_of

MODELS = list(CLICK_MODELS)


@pytest.mark.parametrize("name", BY_STEPS)
def test_variances_are_those_of_the_inverse_hessian_of_the_literal_likelihood(name: str) -> None:
    pages, _ = simulated(name, 41, 60, docs=3)
    settings = ClickSettings((2.0, 2.0), (2.0, 2.0), tolerance=1e-14, steps=50_000)
    problem, keys = problem_of(name, pages, settings)
    maximum = maximise(problem, settings)
    variance, _, cut = logit_covariances(problem, maximum, np.full(len(keys), -1))
    assert cut == 0
    free = [place for place, key in enumerate(keys) if not problem.layout.fixed[place]]
    sessions = sessions_of(pages)
    centre = logit(np.clip(maximum.theta, 1e-9, 1 - 1e-9))

    def objective(logits: np.ndarray) -> float:
        theta = expit(logits)
        theta[problem.layout.fixed] = 1.0
        named: dict[Key, float] = dict(zip(keys, theta.tolist(), strict=True))
        prior = 2.0 * sum(np.log(theta[free]) + np.log(1 - theta[free]))
        return expected_counts(name, sessions, named)[1] + float(prior)

    step = 1e-3
    size = len(free)
    hessian = np.zeros((size, size))
    for i in range(size):
        for j in range(i, size):
            total = 0.0
            for a in (1, -1):
                for b in (1, -1):
                    moved = centre.copy()
                    moved[free[i]] += a * step
                    moved[free[j]] += b * step
                    total += a * b * objective(moved)
            hessian[i, j] = hessian[j, i] = total / (4 * step * step)
    wanted = np.diag(np.linalg.inv(-hessian))
    np.testing.assert_allclose(variance[free], wanted, rtol=5e-3)
    assert not variance[problem.layout.fixed].any()


def test_covariances_with_the_partner_are_those_of_the_whole_inverse() -> None:
    pages, _ = simulated("DBN", 43, 200, queries=1)
    settings = ClickSettings(tolerance=1e-13)
    problem, keys = problem_of("DBN", pages, settings)
    maximum = maximise(problem, settings)
    size = len(pages.names)
    partner = np.concatenate([np.arange(size) + size, np.arange(size), [-1]])
    variance, covariance, _ = logit_covariances(problem, maximum, partner)
    columns = click_estimates._Columns(problem, maximum.theta)
    whole = np.linalg.inv(np.stack([columns.of(np.array([k])) for k in range(len(keys))], axis=1))
    np.testing.assert_allclose(variance, np.diag(whole), rtol=1e-5)
    np.testing.assert_allclose(covariance[:size], whole[np.arange(size), np.arange(size) + size], rtol=1e-4, atol=1e-9)


def every_page() -> Pages:
    """All lists of three of four documents, with all their clicks."""
    lists = list(permutations(range(4), 3))
    clicks = list(product([False, True], repeat=3))
    pair = np.array([docs for docs in lists for _ in clicks])
    return Pages(all_pairs(1, 4), pair, np.array([each for _ in lists for each in clicks]), np.ones(len(pair), int))


@pytest.mark.parametrize("name", MODELS)
def test_intervals_cover_the_truth_at_their_level(name: str) -> None:
    """150 logs of 1,500 sessions of models with random parameters; 80% intervals of all parameters.

    Parameters of a log are estimated together, so the limits come from the spread over logs. They are about 0.8 ± 0.035
    (RCM, which has one parameter: 0.8 ± 0.11). Standard errors that are wrong by a tenth give 0.75 or 0.84.
    """
    pages, rng = every_page(), np.random.default_rng(7)
    covered = []
    for _ in range(150):
        theta = random_theta(name, pages.names, 3, rng)
        likely = np.exp(model_of(name, pages.names, 3, theta).page_log_likelihood(pages)) / 24
        seen = rng.multinomial(1_500, likely / likely.sum())
        drawn = Pages(pages.names, pages.pair[seen > 0], pages.clicked[seen > 0], seen[seen > 0])
        fitted = fit_clicks(drawn, name, level=0.8, tolerance=1e-9)
        inside = []
        for parameter, keys in keys_of(name, fitted.names, fitted.ranks).items():
            estimates = fitted.value(parameter)
            truth = np.array([theta[key] for key in keys])
            known = np.array([key != anchor_of(name) for key in keys])
            if name == "DCM" and parameter == "continuation":
                known[-1] = False  # what happens after the last rank is not seen
            inside += ((estimates.low <= truth) & (truth <= estimates.high))[known].tolist()
        covered.append(np.mean(inside))
    error = np.std(covered, ddof=1) / np.sqrt(len(covered))
    assert abs(np.mean(covered) - 0.8) < 3.5 * error, (np.mean(covered), error)


def test_counting_has_intervals_of_the_beta_posterior() -> None:
    pages, _ = simulated("DCTR", 44, 50, queries=1)
    fitted = fit_clicks(pages, "DCTR", prior=(0.5, 1.5), level=0.8)
    for place in range(fitted.pairs):
        clicks, skips = fitted.clicked[place], fitted.shown[place] - fitted.clicked[place]
        ends = beta.ppf([0.1, 0.9], clicks + 0.5, skips + 1.5)
        estimates = fitted.value("attractiveness")
        assert [estimates.low[place], estimates.high[place]] == pytest.approx(ends.tolist())


def test_counting_dcm_and_sdbn_is_biased_where_users_read_on_without_a_click() -> None:
    """Why counting is not the default, and has no intervals."""
    pages, theta = simulated("SDBN", 45, 20_000, queries=1)
    truth = np.array([theta[key] for key in keys_of("SDBN", pages.names, 3)["satisfaction"]])
    counted, exact = (fit_clicks(pages, "SDBN", exact=each) for each in (False, True))
    assert (counted.value("satisfaction").value - truth).min() > 0.05
    assert np.abs(exact.value("satisfaction").value - truth).max() < 0.06
    assert exact.log_likelihood > counted.log_likelihood
    assert any(note.startswith("by counting, as if users stopped after their last click") for note in counted.notes)
    assert np.isnan(counted.value("satisfaction").low).all()


@pytest.mark.parametrize("name", BY_STEPS)
def test_without_a_prior_there_are_intervals_even_for_what_the_log_does_not_say(name: str) -> None:
    """d3 is never clicked, and nobody knows how satisfying it is."""
    pages = Pages.of(["q"] * 4, [["d1", "d2", "d3"]] * 4, [[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 1, 0]])
    fitted = fit_clicks(pages, name, prior=(0, 0), rank_prior=(0, 0))
    for parameter in keys_of(name, fitted.names, fitted.ranks):
        estimates = fitted.value(parameter)
        assert (estimates.low <= estimates.value + 1e-9).all()
        assert (estimates.value <= estimates.high + 1e-9).all()
    assert fitted.value("attractiveness").high[2] > 0.5


def test_the_mean_of_the_prior_is_the_mean_of_all_estimates() -> None:
    """A literal search for the mean at which the estimates have that mean; by counting and by EM."""
    success, failure = np.array([0.0, 3.0, 40.0]), np.array([5.0, 1.0, 60.0])
    mean = brentq(lambda m: ((success + m / 2) / (success + failure + 0.5)).mean() - m, 0, 1)
    assert common_means(success, failure, np.zeros(3, dtype=int))[0] == pytest.approx(mean)
    assert beta_estimates(success, failure, None, 0.9).value.mean() == pytest.approx(mean)
    pages, _ = simulated("PBM", 46, 400)
    fitted = fit_clicks(pages, "PBM", tolerance=1e-13, steps=20_000)
    found = float(fitted.value("attractiveness").value.mean())
    examined = fitted.value("examination").value[1:].mean()
    priors = {"prior": (found / 2, (1 - found) / 2), "rank_prior": (examined / 2, (1 - examined) / 2)}
    given = fit_clicks(pages, "PBM", **priors, tolerance=1e-13, steps=20_000)
    np.testing.assert_allclose(given.value("attractiveness").value, fitted.value("attractiveness").value, atol=1e-4)


def test_no_intervals_if_none_are_wanted() -> None:
    pages, _ = simulated("DBN", 46, 100)
    for name in ("DCTR", "PBM", "DBN", "SDBN"):
        fitted = fit_clicks(pages, name, intervals=False)
        assert all(np.isnan(each.low).all() for each in fitted.values.values())


def test_large_blocks_are_cut_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    pages, _ = simulated("DBN", 47, 300, queries=1)
    whole = fit_clicks(pages, "DBN")
    monkeypatch.setattr(click_estimates, "MOST_IN_BLOCK", 6)
    cut = fit_clicks(pages, "DBN")
    assert any("2 parameters of queries with many documents" in note for note in cut.notes)
    width = {name: each.high - each.low for name, each in whole.values.items()}
    for name in ("attractiveness", "satisfaction"):
        each = cut.value(name)
        assert (each.high - each.low <= width[name] + 1e-9).all()
        assert (each.high > each.low).all()

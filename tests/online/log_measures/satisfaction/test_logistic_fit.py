"""Logistic regression, beside statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from cranfield.errors import UsageError
from cranfield.online.log_measures.satisfaction import fit_logistic


def data(seed: int = 0, n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 60, n)
    effect = rng.normal(size=60)[groups]
    features = np.column_stack([rng.normal(50, 10, n), rng.poisson(2, n), rng.random(n) < 0.3]).astype(float)
    linear = -3 + 0.05 * features[:, 0] + 0.3 * features[:, 1] - features[:, 2] + effect
    return features, (rng.random(n) < 1 / (1 + np.exp(-linear))).astype(float), groups


def test_coefficients_and_likelihood_are_those_of_statsmodels() -> None:
    features, labels, groups = data()
    fit = fit_logistic(features, labels, groups)
    peer = sm.Logit(labels, sm.add_constant(features)).fit(disp=0, cov_type="cluster", cov_kwds={"groups": groups})
    assert fit.coefficients == pytest.approx(peer.params, rel=1e-6)
    assert fit.errors == pytest.approx(peer.bse, rel=1e-6)
    assert fit.log_likelihood == pytest.approx(peer.llf, rel=1e-10)
    assert fit.predict(features) == pytest.approx(peer.predict(), rel=1e-6)


def test_a_ridge_gives_the_maximum_of_the_penalised_likelihood() -> None:
    """The gradient of the penalised likelihood is 0, in standardised features."""
    features, labels, _ = data(1)
    fit = fit_logistic(features, labels, ridge=5.0)
    standard = (features - features.mean(axis=0)) / features.std(axis=0)
    residual = labels - fit.predict(features)
    beta = fit.coefficients[1:] * features.std(axis=0)
    assert residual.sum() == pytest.approx(0, abs=1e-8)
    assert standard.T @ residual - 5.0 * beta == pytest.approx(np.zeros(3), abs=1e-7)


def test_a_constant_feature_has_no_error() -> None:
    features, labels, _ = data(2)
    fit = fit_logistic(np.column_stack([features, np.ones(len(labels))]), labels)
    assert fit.coefficients[-1] == 0
    assert np.isnan(fit.errors[-1])


def test_labels_that_a_feature_separates_are_refused_with_the_way_out() -> None:
    x = np.arange(40.0)[:, None]
    y = (x[:, 0] > 19).astype(float)
    with pytest.raises(UsageError, match="separates the labels"):
        fit_logistic(x, y)
    assert np.isfinite(fit_logistic(x, y, ridge=1.0).coefficients).all()


def test_features_that_determine_each_other_are_refused_or_held_by_a_ridge() -> None:
    features, labels, _ = data(3)
    twice = np.column_stack([features, features[:, 0]])
    assert np.isfinite(fit_logistic(twice, labels, ridge=1.0).coefficients).all()
    with pytest.raises(UsageError, match="not unique"):
        fit_logistic(twice, labels)


def test_one_label_alone_is_refused() -> None:
    with pytest.raises(UsageError, match="all 5 labels are 1"):
        fit_logistic(np.arange(5.0)[:, None], np.ones(5))

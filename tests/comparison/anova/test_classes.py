"""The interaction of classes of topics and systems; peers are the linear models of statsmodels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

from cranfield.comparison.anova.anova import anova
from cranfield.comparison.anova.mixed import FixedTest, mixed
from cranfield.errors import DataError, UsageError
from cranfield.scores.scores import Scores

TOPICS = [f"t{i:02}" for i in range(14)]
CLASSES = {topic: "hard" if i < 5 else "easy" if i < 11 else "odd" for i, topic in enumerate(TOPICS)}


def scores(effect: float = 0.1) -> Scores:
    rng = np.random.default_rng(4)
    values = rng.normal(0.4, 0.05, (3, 14)) + rng.normal(0, 0.1, 14)
    values[2, :5] += effect  # the third system is better on hard topics only
    return Scores(["AP"], ["a", "b", "c"], TOPICS, values[None])


def frame(data: Scores) -> pd.DataFrame:
    columns = data.columns()
    table = pd.DataFrame({"y": columns["value"], "topic": columns["topic"], "system": columns["run"]})
    return table.assign(kind=table["topic"].map(CLASSES))


def test_the_interaction_is_that_of_nested_linear_models() -> None:
    result = anova(scores(), "AP", classes=CLASSES)
    table = frame(scores())
    small, large = (smf.ols(f"y ~ C(topic) + {more}", table).fit() for more in ("C(system)", "C(system) * C(kind)"))
    f, p, df = large.compare_f_test(small)
    row = result["class:system"]
    assert (row.f, row.p, row.df) == (pytest.approx(f), pytest.approx(p), df)
    assert row.df == 4  # (3 classes − 1) × (3 systems − 1)
    # Classes are tested against their topics, as in a one-way analysis of the topics' means.
    means = [table.query("kind == @kind").groupby("topic")["y"].mean() for kind in ("hard", "easy", "odd")]
    assert result["class"].f == pytest.approx(stats.f_oneway(*means).statistic)


def test_with_random_topics_it_is_that_of_a_mixed_linear_model() -> None:
    values = scores().values.copy()
    values[0, 1, 3] = values[0, 2, 8] = np.nan  # so that it is not balanced
    data = Scores(["AP"], ["a", "b", "c"], TOPICS, values)
    row = mixed(data, "AP", classes=CLASSES)["class:system"]
    assert isinstance(row, FixedTest)
    peer = smf.mixedlm("y ~ C(system, Sum) * C(kind, Sum)", frame(data).dropna(), groups="topic").fit(reml=True)
    terms = [name for name in peer.fe_params.index if ":" in name]
    estimate = peer.fe_params[terms].to_numpy()
    covariance = peer.cov_params().loc[terms, terms].to_numpy()
    wald = estimate @ np.linalg.solve(covariance, estimate) / len(terms)
    assert row.f == pytest.approx(wald, rel=2e-3)


def test_an_interaction_that_is_there_is_found() -> None:
    there, absent = (anova(scores(effect), "AP", classes=CLASSES)["class:system"].p for effect in (0.3, 0.0))
    assert there < 0.001 < 0.05 < absent


def test_topics_without_a_class_are_left_out_with_a_warning() -> None:
    known = dict(list(CLASSES.items())[:11])
    with pytest.warns(UserWarning, match="3 topics without a class are left out"):
        assert anova(scores(), "AP", classes=known).n == 33


def test_classes_that_cannot_be_used() -> None:
    with pytest.raises(UsageError, match=r"all topics are in one class \(x\)"):
        anova(scores(), "AP", classes=dict.fromkeys(TOPICS, "x"))
    with pytest.raises(DataError, match="no topic has a class"):
        anova(scores(), "AP", classes={"301": "hard", "302": "easy"})
    with pytest.raises(UsageError, match="class is a factor"):
        anova(scores(), "AP", classes=CLASSES, factors={"class": {"a": "1", "b": "2", "c": "2"}})

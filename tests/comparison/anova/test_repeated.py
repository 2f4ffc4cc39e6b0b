"""The classical table of repeated measures: statsmodels' AnovaRM, and the two-way analysis."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.anova import AnovaRM

from cranfield.comparison import anova, repeated_measures, tukey, two_way
from cranfield.errors import UsageError

GRID = {
    "stemmer": dict(zip("abcdef", ["no", "no", "no", "yes", "yes", "yes"], strict=True)),
    "model": dict(zip("abcdef", ["tf", "bm25", "lm"] * 2, strict=True)),
}


def scores(topics: int = 9) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(11)
    easy, likes = rng.beta(2, 3, topics), rng.normal(0, 0.1, topics)
    return {
        run: {f"t{t}": easy[t] + 0.03 * i + (likes[t] if GRID["stemmer"][run] == "yes" else 0) + rng.normal(0, 0.05)
              for t in range(topics)}
        for i, run in enumerate("abcdef")
    }  # fmt: skip


def test_every_effect_has_the_f_and_p_of_statsmodels():
    data = scores()
    frame = pd.DataFrame(
        [
            (topic, GRID["stemmer"][run], GRID["model"][run], score)
            for run in data
            for topic, score in data[run].items()
        ],
        columns=["topic", "stemmer", "model", "score"],
    )
    expected = AnovaRM(frame, "score", "topic", within=["stemmer", "model"]).fit().anova_table
    result = repeated_measures(data, "AP", factors=GRID)
    for effect, row in expected.iterrows():
        ours = result[effect]
        assert (ours.f, ours.p, ours.df) == pytest.approx((row["F Value"], row["Pr > F"], row["Num DF"])), effect
        assert ours.against == f"topic:{effect}"
        assert result[ours.against].df == row["Den DF"]
    # Against the residual, the effect that differs between topics would look far more certain.
    assert result["stemmer"].p > 10 * anova(data, "AP", factors=GRID, interactions=["stemmer:model"])["stemmer"].p


def test_the_sums_of_squares_add_up():
    rows = repeated_measures(scores(), "AP", factors=GRID).sources
    assert sum(row.ss for row in rows[:-1]) == pytest.approx(rows[-1].ss)
    assert sum(row.df for row in rows[:-1]) == rows[-1].df == 9 * 6 - 1


def test_with_systems_alone_it_is_the_two_way_analysis():
    ours, theirs = repeated_measures(scores())["system"], two_way(scores())["system"]
    assert (ours.f, ours.p, ours.df) == pytest.approx((theirs.f, theirs.p, theirs.df))
    assert tukey(repeated_measures(scores())).p == pytest.approx(tukey(scores()).p)


def test_topics_without_a_score_are_left_out_and_replicates_refused():
    data = scores()
    data["a"]["t3"] = float("nan")
    assert repeated_measures(data, factors=GRID).n == 8 * 6
    with pytest.raises(UsageError, match="run is nested"):
        repeated_measures(scores(), factors={"stemmer": GRID["stemmer"]})

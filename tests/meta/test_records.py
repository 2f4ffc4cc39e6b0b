"""Every record of meta-evaluation can be read in a terminal, a notebook, a paper, by a program and in a frame."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Callable
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from cranfield import meta
from cranfield.assessed.join import join
from cranfield.comparison.anova.anova import anova
from cranfield.errors import UsageError
from cranfield.meta.agreement.concordance import Preferences
from cranfield.meta.scale.list_order import list_order
from cranfield.meta.scale.maximin import guaranteed
from cranfield.meta.scale.scale import scale
from cranfield.meta.stability.power_side_by_side import power_side_by_side
from cranfield.meta.stability.swap_extrapolation import extrapolate_swaps
from cranfield.meta.study.study_methods import anova_by_measure
from cranfield.record import Record
from cranfield.scores.scores import Scores
from cranfield.table import Table

QRELS = {topic: {"d1": 2, "d2": 1, "d3": 0} for topic in ("1", "2")}
RUNS = {
    name: {topic: dict(zip(order, (3.0, 2.0, 1.0), strict=True)) for topic in QRELS}
    for name, order in {"a": ("d1", "d2", "d3"), "b": ("d2", "d3", "d1"), "c": ("d3", "d2", "d1")}.items()
}
VALUES = np.random.default_rng(0).uniform(size=(2, 4, 6)) + np.linspace(0, 1, 4)[None, :, None]
SCORES = Scores(["AP", "RR"], ["a", "b", "c", "d"], [str(topic) for topic in range(6)], VALUES)
NOISE = np.random.default_rng(0).normal(0, 0.2, (6, 60))
NOISY = Scores(["AP"], list("abcdef"), map(str, range(60)), [np.linspace(0.2, 0.4, 6)[:, None] + NOISE])
PREFERENCES = Preferences(("1", "2"), ("a", "c"), ("b", "a"), (1, -1), ("", ""))

RATINGS = meta.UserRatings.of("uuvvww", "121212", "ababba", rating=[5, 2, 4, 3, 2, 4])


def study() -> Record:
    from cranfield.meta.study.study import Outcome, Step

    return Outcome("title", "folder", "folder/report.md", (Step("correlate", "correlate", "tiny", "computed", 0.5),))


RECORDS: dict[str, Callable[[], Record]] = {
    "Anova": lambda: anova(SCORES, "AP"),
    "AnovaByMeasure": lambda: anova_by_measure(SCORES),
    "AnovaSquare": lambda: meta.anova_square(SCORES, splits=2, resamples=20),
    "Axioms": lambda: meta.axioms("AP", "graded"),
    "Conclusions": lambda: meta.conclusions(SCORES),
    "Concordance": lambda: meta.concord(SCORES.select(runs=["a", "b"]), "AP", ["AP", "RR"]),
    "Correlation": lambda: meta.rank_correlation([1, 2, 3], [1, 3, 2]),
    "Correlations": lambda: meta.correlate(SCORES, resamples=10),
    "DiscriminativePower": lambda: meta.power(SCORES, test="t"),
    "Distances": lambda: meta.rank_distances(SCORES),
    "GStudies": lambda: meta.gtheory(SCORES),
    "GStudy": lambda: meta.g_study(SCORES, "AP"),
    "GainChange": lambda: meta.change_gains(QRELS, RUNS, "nDCG", gains=["1:1"], resamples=0),
    "Informativeness": lambda: meta.inform(join(QRELS, RUNS), "AP"),
    "LeftOut": lambda: meta.loo(QRELS, RUNS, "P@2", pool_depth=1),
    "ListOrder": lambda: list_order([((1, 1), (1, 0)), ((1, 0), (0, 1)), ((0, 1), (0, 0))], ["P@2", "RR"]),
    "Meaningfulness": lambda: meta.meaningful(SCORES),
    "MixedAnova": lambda: meta.rating_model(RATINGS),
    "Outcome": study,
    "Overlap": lambda: meta.rbo("abc", "acb"),
    "PowerSideBySide": lambda: power_side_by_side({name: meta.power(SCORES, test="t") for name in "ab"}, "collection"),
    "PredictionQuality": lambda: meta.predict(SCORES, {"p": dict(zip("012345", range(6), strict=True))}),
    "PredictivePower": lambda: meta.predictive_power(SCORES, PREFERENCES, resamples=10),
    "PreferredRanks": lambda: meta.ranks(QRELS, RUNS),
    "Reproduction": lambda: meta.reproduce(QRELS, (RUNS["a"], RUNS["b"]), measures="RR"),
    "Robustness": lambda: meta.robust(QRELS, RUNS, "P@2", how="depth", depths=[1, 2]),
    "Scale": lambda: scale("AP", 3),
    "ScaleComparison": lambda: meta.compare_scales(SCORES),
    "Steps": lambda: guaranteed(meta.scale(["AP", "RR"], 3)),
    "ScaleTests": lambda: meta.scale_tests(SCORES),
    "Scales": lambda: meta.scale(["AP", "RR"], 3),
    "SwapExtrapolation": lambda: extrapolate_swaps(meta.swap(NOISY, replacement=False, sizes=[10, 15, 20, 25, 30]), 60),
    "SwapRates": lambda: meta.swap(SCORES, resamples=10),
    "TestAccuracy": lambda: meta.tests(SCORES, tests=["t"], simulations=10),
    "UserAgreement": lambda: meta.users(SCORES, RATINGS, resamples=10),
    "UsersNeeded": lambda: meta.users_needed(RATINGS, [1.0, 0.5]),
}


def test_every_record_is_in_the_table() -> None:
    modules = pkgutil.walk_packages([str(Path(meta.__file__).parent)], "cranfield.meta.")
    things = [thing for module in modules for thing in vars(import_module(module.name)).values()]
    classes = [thing for thing in things if isinstance(thing, type) and issubclass(thing, Record)]
    assert {record.__name__ for record in classes if is_dataclass(record)} == set(RECORDS)


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_text_json_latex_html_and_a_frame(name: str) -> None:
    record = RECORDS[name]()
    assert type(record).__name__ == name
    table = record.table()
    assert isinstance(table, Table)
    assert table.rows
    assert str(record)
    columns = record.columns()
    content = json.loads(record.to_json())
    assert [list(row) for row in content["rows"]] == [list(columns)] * len(next(iter(columns.values())))
    assert content["notes"] == list(getattr(record, "notes", ()))
    assert r"\begin{tabular}" in record.to_latex()
    assert "<table" in record._repr_html_()
    frame = record.to_pandas()
    assert list(frame.columns) == list(columns)
    assert len(frame) == len(content["rows"])
    assert list(record.to_polars().columns) == list(columns)
    assert record.to_arrow().column_names == list(columns)


WITHOUT_FIGURE = {
    "AnovaSquare", "Conclusions", "Correlation", "MixedAnova", "Outcome", "Overlap", "PredictionQuality",
    "ScaleComparison", "Steps", "UserAgreement", "UsersNeeded", "Anova", "AnovaByMeasure",
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_draws_its_figure(name: str) -> None:
    """`plot` said that swap rates, correlations and fifteen other results have no figure."""
    record = RECORDS[name]()
    if name in WITHOUT_FIGURE:
        with pytest.raises(UsageError, match=f"{name} has no figure of its own"):
            record.plot()
    else:
        assert record.plot().columns()

"""Results show themselves in a notebook, warnings point at the caller, and a text may name several measures."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from functools import cache
from typing import Any

import pytest

import cranfield as cf
from cranfield.building.agreement import topic_agreement
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.record import Shown
from cranfield.report.figures import describe_assessor_agreement, describe_boxes, result_figures
from cranfield.samples import sample

NOT_RESULTS = {
    "Tidy": "the base of everything with columns", "Frame": "input",
    "Columns": "entries of a file while it is read", "Structured": "a format", "File": "a file that was checked",
    "Qrels": "input", "Run": "input", "Records": "input", "Labels": "input", "QueryLog": "input",
    "TableSource": "input", "LoggedList": "input", "Interleaved": "a list to be shown to users",
    "FairList": "a list to be shown to users",
    "InterleavedRuns": "lists to be shown to users", "RawTable": "a table of a log as it was written",
    "JudgedIndex": "judgments, prepared for joins",
    "Metric": "a setting", "Reader": "a part of measures", "Gain": "a part of measures",
    "Accuracy": "a measure", "Fallout": "a measure", "Specificity": "a measure",
    "BiasAndNoise": "a part of a merging model", "TableBlock": "a part of a report",
    **dict.fromkeys(("MomentMetric", "Mean", "Share", "Ratio", "WeightedSum", "Quantile"), "a metric of experiments"),
    "TableColumns": "a table while it is read", "Part": "a part of a file",
}  # fmt: skip
"""Classes with columns, a table or a dict that are not results, and what they are."""


@cache
def classes() -> dict[str, type]:
    """Public classes that have columns, a table or plain data."""
    out: dict[str, type] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in pkgutil.walk_packages(cf.__path__, "cranfield."):
            if {"__main__", "cli", "compat"} & set(module.name.split(".")):
                continue
            for name, kind in vars(importlib.import_module(module.name)).items():
                own = inspect.isclass(kind) and kind.__module__ == module.name and not name.startswith("_")
                if own and any(hasattr(kind, method) for method in ("columns", "table", "to_dict")):
                    out[f"{module.name}.{name}"] = kind
    return out


def figures() -> set[str]:
    """The functions that describe the figures of results."""
    return {kind.figure for kind in classes().values() if issubclass(kind, Shown) and kind.figure}


def test_every_result_class_shows_itself_in_a_notebook() -> None:
    every = classes()
    assert len(every) > 120
    silent = [
        name
        for name, kind in every.items()
        if not any(hasattr(kind, method) for method in ("_repr_html_", "_repr_mimebundle_"))
    ]
    assert {name.rpartition(".")[2] for name in silent} <= NOT_RESULTS.keys()


def results() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)
        scores = cf.evaluate(sample().qrels, sample().runs, "RR,AP")
        explained = cf.explain(sample().qrels, sample().runs[0], "101", "AP")
        return {
            "scores": scores,
            "summary": scores.summary(),
            "risk": scores.risk("GeoRisk"),
            "comparison": cf.compare(scores, "AP"),
            "leaderboard": cf.leaderboard(sample().qrels, sample().runs, "AP"),
            "collections": cf.evaluate_collections({"notes": (sample().qrels, list(sample().runs))}, "AP"),
            "explanation": explained,
            "table": scores.table(),
        }


def test_results_are_tables_in_html() -> None:
    for name, result in results().items():
        assert "<table>" in result._repr_html_(), name


def test_figures_are_methods_of_results() -> None:
    every = results()
    assert every["scores"].plot().title.startswith("RR of 4 systems")
    assert every["scores"].plot("AP").title.startswith("AP of 4 systems")
    assert every["comparison"].plot().kind == "intervals"
    with pytest.raises(UsageError, match="Summary has no figure of its own"):
        every["summary"].plot()


def test_every_result_with_a_figure_exists_and_has_a_function() -> None:
    names = figures()
    assert len(names) > 40
    assert all(callable(result_figures.function_of(name)) for name in names)


OF_LISTS = {
    "describe_curves", "describe_diversity", "describe_first_rank", "describe_precision_recall", "describe_saw_tooth",
    "describe_trailtext",
}  # fmt: skip
"""They draw lists or two measures rather than a result."""
OTHERS = {"describe_assessor_confusion"}
"""A second figure of a result that has another one."""


def test_every_figure_is_the_plot_of_some_result() -> None:
    """By its `describe_` function itself, or by a function of `result_figures` that calls it."""
    code = inspect.getsource(result_figures)
    for name in importlib.import_module("cranfield.report.figures").__all__:
        if name.startswith("describe_") and name not in figures():
            assert name in OF_LISTS | OTHERS or f"{name}(" in code, name


def test_classes_with_one_name_have_their_own_figures() -> None:
    """The agreement of assessors on topics was drawn as that of a machine judge, whose class has the same name."""
    rows = [(f"t{i % 3}", f"d{i}", f"w{g}", (i * g + i) % 3) for i in range(12) for g in range(3)]
    result = topic_agreement(rows, resamples=10)
    assert result.plot().title == describe_assessor_agreement(result).title


def test_a_figure_without_altair_shows_its_data(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = describe_boxes({"bm25": [0.1, 0.2, 0.3]}, "AP")

    def missing(self: object) -> None:
        raise UsageError("figures need altair, which is not installed: pip install altair")

    monkeypatch.setattr(type(figure), "draw", missing)
    shown = figure._repr_mimebundle_()["text/html"]
    assert "<table>" in shown
    assert "pip install altair" in shown


def test_scores_sort_and_become_latex() -> None:
    scores = cf.Scores.from_matrix([[0.2, 0.4, float("nan")]], runs=["a", "b", "c"], measure="AP")
    assert scores.sort().runs == ("b", "a", "c")
    assert scores.sort("AP").to_latex().splitlines()[-4] == r"a & 0.2000 \\"
    late = cf.Scores.from_matrix([[9.0, 3.0]], runs=["late", "early"], measure="LastRel")
    assert late.sort().runs == ("early", "late")


QRELS, RUN = {"1": {"a": 1}, "2": {"b": 1}}, {"1": {"a": 1.0}}


@pytest.mark.filterwarnings("always::cranfield.CranfieldWarning")
@pytest.mark.parametrize(
    "call",
    [
        lambda: cf.evaluate(QRELS, {"x": RUN}, "AP"),
        lambda: cf.Evaluator(QRELS, "AP").evaluate({"x": RUN}),
        lambda: cf.leaderboard(QRELS, {"x": RUN}, "AP"),
        lambda: cf.evaluate_collections({"c": (QRELS, {"x": RUN})}, "AP"),
    ],
)
def test_a_warning_points_at_the_line_of_the_caller(call: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize(
    ("measures", "names"),
    [
        ("RR,AP", ("RR", "AP")),
        ("nDCG@5,10 RBP(p=0.7, rel=2)", ("nDCG@5", "nDCG@10", "RBP(p=0.7,rel=2)")),
        (["RR,AP", cf.P @ 5], ("RR", "AP", "P@5")),
        ("P.5,10", ("P@5", "P@10")),
    ],
)
def test_python_takes_measures_as_the_command_line_does(measures: Any, names: tuple[str, ...]) -> None:
    assert cf.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, measures).measures == names


def test_an_explanation_in_a_notebook_has_the_missed_documents_too() -> None:
    qrels = {"1": {"d1": 1, **{f"<m{i}>": 2 for i in range(12)}}}
    one, two = (
        cf.explain(qrels, {"1": {"d1": 1.0, doc: 2.0}}, "1", "AP", topics={"1": "wings & flutter"})
        for doc in ("x", "y")
    )
    for shown in (one, one.beside(two)):
        page = shown._repr_html_()
        assert "missed" in page
        assert page.count("&lt;m") == 10
        assert "and 2 more" in page
        assert "wings &amp; flutter" in page

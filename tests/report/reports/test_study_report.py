"""The report of a study: a section and a figure for every method, also from the cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield.meta.study.study import run_study
from cranfield.meta.study.study_file import Study, plan_of
from cranfield.meta.study.study_methods import METHODS
from cranfield.report.figures.figure import figure_from_plain, figure_to_plain
from cranfield.report.figures.result_figures import METHOD_FIGURES, plain_figures
from cranfield.report.pages.figure_worker import DrawnBeside, DrawnHere
from cranfield.report.pages.report_parts import FigureBlock, Section, TableBlock, report_page
from cranfield.report.reports.study_report import study_report
from cranfield.samples import Sample
from tests.cli.conftest import Cranfield

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
WORDS = ("worked-examples", "errata")
"""Methods that take a text."""
TABLES_ALONE = (*WORDS, "scales", "anova-square")
"""Methods without a figure."""
OPTIONS: dict[str, dict[str, Any]] = {
    "concord": {"gold": ["P@5"]},
    "predict": {"preferences": "prefer.txt"},
    "gains": {"gains": ["3:2:1", "7:3:1"], "measures": ["nDCG@10"]},
    "reproduce": {"baseline": ["bm25", "coord"], "advanced": ["dense", "fusion"]},
    "tests": {"simulations": 20, "resamples": 20},
    **{name: {"text": "course2015"} for name in WORDS},
    "anova-square": {"splits": 2, "resamples": 20},
    "inform": {"measures": ["AP", "P@10"], "depth": 50},
    **{name: {"resamples": 20} for name in ("power", "swap", "correlate")},
}


def study(folder: Path, data: Sample) -> Study:
    """Every method on the sample collection."""
    (folder / "prefer.txt").write_text("101 bm25 dense A\n102 dense coord A\n103 coord bm25 B\n")
    content = {
        "measures": ["AP", "P@10"],
        "collections": {"sample": {"qrels": str(data.qrels), "runs": [str(run) for run in data.runs]}},
        "methods": {name: OPTIONS.get(name, {}) for name in METHODS},
    }
    return plan_of(content, str(folder / "study.toml"))


def test_every_method_has_a_section_with_a_figure_and_a_table(tmp_path: Path, collection: Sample) -> None:
    plan = study(tmp_path, collection)
    first = run_study(plan, figures=plain_figures)
    assert [(step.label, step.error) for step in first.failed] == []
    again = run_study(plan, figures=plain_figures)
    assert {step.state for step in again.steps} == {"cached"}
    report = study_report(plan, again)
    sections = {section.key: section for section in report.sections}
    assert list(sections) == ["summary", "studied", *METHODS, "methods"]
    for name in METHODS:
        kinds = {type(block) for block in sections[name].blocks}
        assert kinds == ({TableBlock} if name in TABLES_ALONE else {FigureBlock, TableBlock}), name
    table = first.results["correlate", "sample"].tables[""]
    (shown,) = [block for block in sections["correlate"].blocks if block.name == "sample_correlate"]
    assert isinstance(shown, TableBlock)
    assert shown.csv() == table.csv()
    assert "\\cite{sakai2006}" in sections["methods"].blocks[0].text  # type: ignore[union-attr]
    assert report_page(report).count("<svg role") >= len(METHODS)


def test_results_without_figures_are_computed_again_for_a_report(tmp_path: Path, collection: Sample) -> None:
    plan = plan_of(
        {
            "measures": ["AP", "P@10"],
            "collections": {"s": {"qrels": str(collection.qrels), "runs": [str(run) for run in collection.runs]}},
            "methods": {"correlate": {"resamples": 0}},
        },
        str(tmp_path / "study.toml"),
    )
    assert [step.state for step in run_study(plan).steps] == ["computed"]
    assert [step.state for step in run_study(plan, figures=plain_figures).steps] == ["computed"]
    assert [step.state for step in run_study(plan, figures=plain_figures).steps] == ["cached"]


def test_every_method_of_a_study_has_figures() -> None:
    assert METHOD_FIGURES.keys() == METHODS.keys()


def test_a_figure_is_the_same_after_it_was_stored(tmp_path: Path, collection: Sample) -> None:
    outcome = run_study(study(tmp_path, collection), figures=plain_figures)
    stored = [plain for result in outcome.results.values() for plain in result.figures or ()]
    assert len(stored) >= len(METHODS)
    for plain in stored:
        figure = figure_from_plain(json.loads(json.dumps(plain)))
        for name, (kind, values) in plain["data"].items():
            assert figure.data[name].dtype.kind == kind.replace("U", "O")
            np.testing.assert_array_equal(figure.data[name], np.array(values, dtype=figure.data[name].dtype))
        assert json.dumps(figure_to_plain(figure)) == json.dumps(plain)


def test_the_command_writes_the_page_and_that_of_the_study_file(
    cranfield: Cranfield, tmp_path: Path, collection: Sample
) -> None:
    runs = json.dumps([str(run) for run in collection.runs])
    (tmp_path / "study.toml").write_text(
        f'title = "<b>"\nreport = "report.html"\nmeasures = ["AP", "RR"]\n[collections.s]\nruns = {runs}\n'
        f'qrels = "{collection.qrels}"\n[methods.summary]\nmethod = "correlate"\nresamples = 0\n'
    )
    words = ("meta", "study", str(tmp_path / "study.toml"), "--quiet")
    done = cranfield(*words, "--report", str(tmp_path / "s.html"), "--sections", "method-summary,studied")
    assert done.code == 0, done.err
    page = (tmp_path / "s.html").read_text("utf-8")
    assert (tmp_path / "study-results" / "report.html").read_text("utf-8") == page
    assert "<h1>&lt;b&gt;</h1>" in page
    assert page.count('<section class="part"') == 2
    wrong = cranfield(*words, "--report", str(tmp_path / "s.html"), "--sections", "pears")
    assert "no section 'pears'" in wrong.err


def test_figures_drawn_in_another_process_are_the_same(tmp_path: Path, collection: Sample) -> None:
    outcome = run_study(study(tmp_path, collection), figures=plain_figures)
    plains = [outcome.results[name, "sample"].figures for name in ("correlate", "reproduce")]
    blocks = tuple(
        FigureBlock(f"figure{number}", figure_from_plain(plain[0])) for number, plain in enumerate(plains) if plain
    )
    with DrawnBeside() as drawing:
        drawing.begin(Section("s", "S", blocks=blocks))
        assert [drawing.svg(block) for block in blocks] == [DrawnHere().svg(block) for block in blocks]


def test_without_another_process_figures_are_drawn_here(monkeypatch: pytest.MonkeyPatch) -> None:
    from cranfield.report.figures import describe_heat

    monkeypatch.setattr("sys.executable", "/bin/false")
    block = FigureBlock("heat", describe_heat([[1.0]], ["AP"]))
    with DrawnBeside() as drawing:
        drawing.begin(Section("s", "S", blocks=(block,)))
        assert drawing.svg(block).startswith("<svg")

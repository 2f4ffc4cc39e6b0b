"""The report of an audit: its sentences and tables have the numbers of the audit."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from cranfield.building.machine.machine_audit import audit
from cranfield.collection.qrels import Qrels
from cranfield.report.pages.report_parts import Block, FigureBlock, Outline, Section, TableBlock
from cranfield.report.reports.audit_report import SECTIONS, audit_report
from cranfield.samples import Sample
from tests.cli.conftest import Cranfield
from tests.report.reports.machine_grades import machine_grades

HUMAN = {"1": {"a": 1, "b": 0, "c": 0, "d": 0}, "2": {"a": 1, "b": 1, "c": 0, "d": 0}}
MACHINE = {"1": {"a": 1, "b": 1, "c": 0, "d": 0}, "2": {"a": 1, "b": 1, "c": 0, "d": 0}}
RUNS = {"x": {t: {"a": 3, "b": 2, "c": 1} for t in "12"}, "y": {t: {"c": 3, "b": 2, "a": 1} for t in "12"}}


def sections(**options: Any) -> dict[str, Section]:
    result = audit(HUMAN, {"model": MACHINE}, **{"runs": RUNS, "measures": "AP", "resamples": 20, **options})
    return {section.key: section for section in audit_report(result).sections}


def rows(block: Block) -> list[dict[str, str]]:
    assert isinstance(block, TableBlock)
    return list(csv.DictReader(io.StringIO(block.csv())))


def test_the_summary_has_the_agreement_and_the_leniency() -> None:
    points = sections()["summary"].points
    # 7 of 8 grades agree. Relevant are 3 of 8 and 4 of 8 documents: by chance 3/8 · 4/8 + 5/8 · 4/8 = 1/2 agree, and
    # κ = (7/8 − 1/2) / (1 − 1/2) = 3/4. One grade of eight is higher by 1: leniency 1/8.
    assert points[0].startswith("model and people give the same grade to 87.5% of 8 documents; κ = 0.75")
    assert "0.125 grades" in points[1]


def test_the_confusion_counts_documents() -> None:
    *figures, table = sections()["confusion"].blocks
    assert [type(figure) for figure in figures] == [FigureBlock]
    counts = {
        (row["human grade"], row["machine grade"]): row["documents"] for row in rows(table) if row["documents"] != "0"
    }
    assert counts == {("0.0", "0.0"): "4", ("0.0", "1.0"): "1", ("1.0", "1.0"): "3"}


def test_the_worst_topic_is_first() -> None:
    *_, table = sections()["topics"].blocks
    assert [(row["topic"], float(row["agreement"])) for row in rows(table)] == [("1", 0.75), ("2", 1.0)]


def test_sections_without_data_are_left_out_and_say_why_if_asked_for() -> None:
    assert [name for name in SECTIONS if name not in sections()] == ["lengths", "judges", "families"]
    result = audit(HUMAN, {"model": MACHINE}, resamples=20)
    report = audit_report(result, Outline(sections=("rankings", "families")))
    assert [section.text[0][:13] for section in report.sections] == ["Not computed:"] * 2
    assert "runs" not in [block.name for section in audit_report(result).sections for block in section.blocks]


def test_the_command_writes_the_page_with_files_and_chosen_sections(
    cranfield: Cranfield, tmp_path: Path, collection: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Qrels.of(machine_grades(collection.qrels)["good"]).write("good.qrels")
    words = ("machine", "audit", collection.qrels, "good.qrels", *collection.runs, "-m", "AP", "--quiet")
    done = cranfield(*words, "--report", "audit.html", "--sections", "audited,agreement", "--title", "Our judge")
    assert done.code == 0, done.err
    page = Path("audit.html").read_text("utf-8")
    assert "<h1>Our judge</h1>" in page
    assert page.count('<section class="part"') == 2
    assert "good.qrels" in page
    wrong = cranfield(*words, "--sections", "agreement")
    assert wrong.code == 2
    assert "--sections is for a report; add --report FILE" in wrong.err
    assert "did you mean 'agreement'" in cranfield(*words, "--report", "a.html", "--sections", "agrement").err

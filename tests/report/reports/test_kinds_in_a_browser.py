"""Every kind of report in a real browser, without a network: no request, no message, accessible, and on paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from cranfield.building.campaign.campaign_store import Campaign
from cranfield.building.machine.machine_audit import audit
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.evaluation.evaluator import evaluate
from cranfield.meta.study.study import run_study
from cranfield.meta.study.study_file import plan_of
from cranfield.online.experiments import analyse
from cranfield.report.figures.result_figures import plain_figures
from cranfield.report.pages.report_parts import FigureBlock, Outline, Report, TableBlock, report_page
from cranfield.report.reports.ab_report import ab_report
from cranfield.report.reports.audit_report import audit_report
from cranfield.report.reports.campaign_report import campaign_report
from cranfield.report.reports.experiment import Experiment
from cranfield.report.reports.run_report import make_report
from cranfield.report.reports.study_report import study_report
from cranfield.samples import Sample, sample
from cranfield.scores.scores import Scores
from tests.building.campaign.test_campaign_browser import played
from tests.building.serve.accessible import NARROW, WIDE, looks
from tests.building.serve.browsing import CHROMIUM, browser
from tests.report.reports.machine_grades import machine_grades

__all__ = ["browser"]
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium"),
    pytest.mark.xdist_group("browser"),
    pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning"),
]


def of_runs(folder: Path, data: Sample) -> Report:
    scores = evaluate(data.qrels, data.runs, ["nDCG@10", "AP"])
    runs = dict(zip(scores.runs, map(Run.read, map(str, data.runs)), strict=True))
    times = {run: {"101": 0.1} for run in scores.runs}
    return make_report(Experiment(scores, Qrels.read(data.qrels), runs, times=times))


def of_experiment(folder: Path, data: Sample) -> Report:
    arms = ["A"] * 20 + ["B"] * 20
    values = [5 + at % 7 for at in range(20)] + [6 + at % 7 for at in range(20)]
    countries = ["de", "fr"] * 20
    table = pyarrow.table({"arm": arms, "revenue": values, "clicks": values[::-1], "country": countries})
    return ab_report(analyse(table, ["revenue", "clicks"], segments=["country"]))


def of_study(folder: Path, data: Sample) -> Report:
    content = {
        "measures": ["AP", "P@10"],
        "collections": {"one": {"qrels": str(data.qrels), "runs": [str(run) for run in data.runs]}},
        "methods": {"power": {"resamples": 50}, "correlate": {"resamples": 20}, "inform": {"measures": ["AP"]}},
    }
    plan = plan_of(content, str(folder / "study.toml"))
    return study_report(plan, run_study(plan, figures=plain_figures))


def of_campaign(folder: Path, data: Sample) -> Report:
    with Campaign(played(folder)) as campaign:
        return campaign_report(campaign)


def of_audit(folder: Path, data: Sample) -> Report:
    runs = {Path(run).stem: Run.read(run) for run in data.runs}
    return audit_report(audit(data.qrels, machine_grades(data.qrels), runs, "AP", resamples=50))


KINDS: dict[str, Callable[[Path, Sample], Report]] = {
    "runs": of_runs,
    "A/B test": of_experiment,
    "study": of_study,
    "campaign": of_campaign,
    "audit": of_audit,
}


@pytest.mark.parametrize("kind", KINDS)
def test_pages_are_complete_quiet_and_accessible(browser: Any, tmp_path: Path, kind: str) -> None:
    """Also on a phone, and in dark colours: labels, names and contrast, by the rules of axe-core."""
    report = KINDS[kind](tmp_path, sample())
    failed = [text for section in report.sections for text in section.text if text.startswith("Not computed")]
    assert not failed
    path = tmp_path / "report.html"
    path.write_text(report_page(report), "utf-8")
    trouble: list[Any] = []
    context = browser.new_context(offline=True, viewport={"width": WIDE, "height": 800}, accept_downloads=True)
    page = context.new_page()
    page.route("**/*", lambda route: route.continue_() if route.request.url == path.as_uri() else route.abort())
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda message: trouble.append(message.text))
    page.on("requestfailed", lambda request: trouble.append(request.url))
    page.goto(path.as_uri())
    for look, found in looks(page, ((WIDE, "light"), (NARROW, "dark"))):
        assert page.evaluate("document.documentElement.scrollWidth") == page.viewport_size["width"]
        if found:
            trouble.append((look, found))
    page.set_viewport_size({"width": WIDE, "height": 800})
    _check_files(page, report, path)
    context.close()
    assert not trouble


def _check_files(page: Any, report: Report, path: Path) -> None:
    """Every table can be saved as CSV, every figure as SVG; the first of each is saved."""
    blocks = [block for section in report.sections for block in section.blocks]
    tables = [f"{block.name}.csv" for block in blocks if isinstance(block, TableBlock)]
    figures = [f"{block.name}.svg" for block in blocks if isinstance(block, FigureBlock)]
    assert tables
    assert figures
    for name in (*tables, *figures):
        assert page.locator(f"button[data-save='{name}']").count() == 1, name
    with page.expect_download() as download:
        page.locator(f"button[data-save='{tables[0]}']").click()
    (first, *_) = [block for block in blocks if isinstance(block, TableBlock)]
    assert Path(download.value.path()).read_text("utf-8") == first.csv() + "\n"
    with page.expect_download() as download:
        page.locator(f"button[data-save='{figures[0]}']").click()
    assert Path(download.value.path()).read_text("utf-8").startswith("<?xml")


def test_headings_are_repeated_on_every_page_of_paper(browser: Any, tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed")
    rows = [[0.2 + 0.001 * run + 0.01 * topic for run in range(160)] for topic in range(4)]
    scores = Scores.from_matrix(rows, runs=[f"run{number:03d}" for number in range(160)], measure="AP")
    report = make_report(Experiment(scores), Outline(sections=("leaderboard",)))
    (tmp_path / "report.html").write_text(report_page(report), "utf-8")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    context.close()
    texts = [sheet.extract_text() for sheet in pypdf.PdfReader(tmp_path / "report.pdf").pages]
    with_runs = [text for text in texts if "run0" in text or "run1" in text]
    assert len(with_runs) >= 3
    assert all("Rank" in text and "interval" in text for text in with_runs)
    assert sum(text.count("run0") + text.count("run1") for text in texts) == 160  # all rows, and no tools
    assert not any("words in a row" in text for text in texts)

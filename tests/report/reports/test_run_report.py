"""The report of runs: its sections, its numbers, and what it says where something cannot be computed."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.comparison import compare
from cranfield.errors import DataError, UsageError
from cranfield.evaluation.evaluator import evaluate
from cranfield.online.experiments import analyse
from cranfield.report.pages.report_parts import FigureBlock, ListingBlock, Outline, Section, TableBlock
from cranfield.report.reports.citations import cited, works
from cranfield.report.reports.experiment import Experiment, ReportSettings
from cranfield.report.reports.run_report import SECTIONS, make_report, report
from cranfield.scores.scores import Scores

QRELS = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 2, "d": 1}, "3": {"b": 1, "c": 1}}
RUNS = {
    "good": {"1": {"c": 3, "a": 2, "b": 1}, "2": {"a": 3, "d": 2, "x": 1}, "3": {"b": 3, "c": 2}},
    "fair": {"1": {"c": 3, "b": 2, "y": 1}, "2": {"x": 3, "a": 2}, "3": {"b": 3, "z": 2}},
    "poor": {"1": {"b": 3, "y": 2, "a": 1}, "2": {"x": 3, "y": 2, "d": 1}, "3": {"z": 3, "c": 2}},
}


def experiment(measures: Any = ("AP", "RR"), runs: Any = None, **more: Any) -> Experiment:
    runs = RUNS if runs is None else runs
    scores = evaluate(QRELS, runs, list(measures))
    return Experiment(scores, Qrels.of(QRELS), {name: Run.of(run, name) for name, run in runs.items()}, **more)


def section(name: str, of: Experiment) -> Section:
    (made,) = make_report(of, Outline(sections=(name,))).sections
    return made


def tables(of: Section) -> dict[str, TableBlock]:
    return {block.name: block for block in of.blocks if isinstance(block, TableBlock)}


def rows_of(block: TableBlock) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(block.csv())))


def test_all_sections_with_data_are_made_and_none_fails() -> None:
    report = make_report(experiment(times={run: {"1": 0.2, "2": 0.1} for run in RUNS}))
    assert [made.key for made in report.sections] == [name for name in SECTIONS if name not in ("answers", "log", "ab")]
    assert not [made.key for made in report.sections if any("Not computed" in text for text in made.text)]
    without_times = make_report(experiment())
    assert "efficiency" not in [made.key for made in without_times.sections]


def test_from_scores_alone_there_are_the_sections_that_need_no_runs() -> None:
    scores = Scores.from_matrix([[0.5, 0.9], [0.4, 0.8], [0.6, 0.8]], runs=["x", "y"], measure="AP")
    keys = [made.key for made in make_report(Experiment(scores)).sections]
    assert keys == ["summary", "leaderboard", "pairs", "topics", "measures", "methods", "evaluated"]
    made = section("curves", Experiment(scores))
    assert made.text == ("Not computed: this needs judgments and runs, and only scores are known.",)


def test_the_summary_names_the_best_run_and_its_mean() -> None:
    # AP of good: all relevant documents first on all topics.
    points = section("summary", experiment()).points
    assert points[0].startswith("good is the best of 3 runs by AP: 1.0000")
    assert "RR also ranks it first." in points


def test_the_pairs_are_those_of_compare() -> None:
    of = experiment()
    rows = rows_of(tables(section("pairs", of))["pairs"])
    expected = list(compare(of.scores, "AP").rows())
    assert len(rows) == len(expected) == 3
    for row, pair in zip(rows, expected, strict=True):
        assert (row["system"], row["other"]) == (pair["system"], pair["other"])
        for name in ("difference", "p", "p adjusted", "d_z"):
            assert float(row[name]) == pytest.approx(pair[name], abs=1e-6)


def test_with_many_runs_the_page_has_some_pairs_and_the_file_all() -> None:
    rng = np.random.default_rng(3)
    values = np.linspace(0.2, 0.8, 30) + rng.normal(0, 0.01, (12, 30))
    runs = [f"r{n:02d}" for n in range(30)]
    made = section("pairs", Experiment(Scores.from_matrix(values, runs=runs, measure="AP")))
    block = tables(made)["pairs"]
    assert len(rows_of(block)) == 30 * 29 // 2
    assert len(block.table.rows) == 29 + 28  # with the best run, and the other neighbours
    assert "57 of the pairs" in made.text[1]


def test_holes_and_pool_bias_are_counted() -> None:
    made = section("judgments", experiment(["P@2"], settings=ReportSettings(cutoff=2, pool_depth=2)))
    holes = {row["run"]: row for row in rows_of(tables(made)["holes"])}
    # The first two of fair: c b | x a | b z; of poor: b y | x y | z c. Not judged are x, y and z.
    assert {run: row["unjudged"] for run, row in holes.items()} == {"good": "0", "fair": "2", "poor": "4"}
    # Only good has a of topic 1 and d of topic 2 in its first two: P@2 falls by 1/2 on both. Fair and poor find no
    # relevant document alone.
    bias = {row["run"]: float(row["P@2"]) for row in rows_of(tables(made)["pool_bias"])}
    assert bias == pytest.approx({"good": 1 / 3, "fair": 0, "poor": 0})


def test_the_depth_of_the_pool_is_asked_for() -> None:
    assert "the depth of the pool is not known" in section("judgments", experiment()).text[1]


def test_topics_that_decide_are_explained() -> None:
    of = experiment(settings=ReportSettings(explained=1))
    decide = tables(section("topics", of))["deciding_topics"]
    # AP of fair: 1/2 on topics 1 and 3; on topic 2 (1/2) / 2 = 1/4. The largest difference is that of topic 2.
    first = rows_of(decide)[0]
    assert first["topic"] == "2"
    assert float(first["difference"]) == pytest.approx(0.75)
    (explained,) = section("explain", of).blocks
    assert isinstance(explained, TableBlock)
    assert explained.title == "Topic 2: fair 0.2500, good 1.0000"


def test_the_scores_of_the_heat_map_can_be_saved() -> None:
    (heat, *_) = section("topics", experiment()).blocks
    assert isinstance(heat, FigureBlock)
    assert heat.data is not None
    rows = list(csv.DictReader(io.StringIO(heat.data.csv())))
    assert rows[0].keys() == {"topic", "good", "fair", "poor"}
    assert {row["topic"]: float(row["fair"]) for row in rows} == {"1": 0.5, "2": 0.25, "3": 0.5}


def test_one_run_and_one_topic_are_reported_with_what_cannot_be_computed() -> None:
    one_run = make_report(experiment(runs={"good": RUNS["good"]}))
    texts = {made.key: made.text for made in one_run.sections}
    assert texts["pairs"] == ("Not computed: there is one run, so there are no pairs to compare.",)
    assert texts["measures"] == ("Not computed: there are fewer than three runs, so there are no rankings to compare.",)
    one_topic = Scores.from_matrix([[0.5, 0.9]], runs=["x", "y"], measure="AP")
    report = make_report(Experiment(one_topic))
    assert report.sections[0].points[0] == "y is the best of 2 runs by AP: 0.9000 on 1 topic."
    assert any(text.startswith("Not computed") for made in report.sections for text in made.text)


def test_methods_cite_measures_and_test() -> None:
    paragraph, references = section("methods", experiment(["nDCG@10", "AP"])).blocks
    assert isinstance(paragraph, ListingBlock)
    assert isinstance(references, ListingBlock)
    assert (
        "We evaluated 3 runs on 3 topics by nDCG@10~\\cite{jarvelin2002} and AP~\\cite{buckley2005}" in paragraph.text
    )
    assert "t test~\\cite{student1908}" in paragraph.text
    assert "with the Holm correction~\\cite{holm1979}" in paragraph.text
    for key in ("jarvelin2002", "buckley2005", "student1908", "holm1979", "kendall1945", "sakai2006", "rubin1981"):
        assert f"{{{key}," in references.text
    assert references.text.count("@") == 7
    assert references.text.count("{") == references.text.count("}")


def test_methods_say_how_the_intervals_of_the_leaderboard_are_made() -> None:
    """As `scores.mean_intervals` says: by the range of nDCG, and for DCG, which has none, by skewness."""
    for measure, how in (
        ("nDCG@10", "by the Bayesian bootstrap~\\cite{rubin1981}"),
        ("DCG@10", "corrected for skewness"),
    ):
        paragraph, references = section("methods", experiment([measure])).blocks
        assert isinstance(paragraph, ListingBlock)
        assert isinstance(references, ListingBlock)
        assert how in paragraph.text
    assert "On the Removal of Skewness by Transformation" in references.text


def against_fair() -> Experiment:
    return experiment(settings=ReportSettings(baseline="fair"))


def test_with_a_baseline_every_other_run_is_compared_with_it() -> None:
    (pairs,) = tables(section("pairs", against_fair())).values()
    assert {(row["system"], row["other"]) for row in rows_of(pairs)} == {("good", "fair"), ("poor", "fair")}
    points = section("summary", against_fair()).points
    assert any(point.startswith("Against the baseline fair: ") for point in points)
    assert against_fair().leaders == ("good", "fair")
    board = tables(section("leaderboard", against_fair()))["leaderboard"]
    assert len(board.table.rows) == 3


def test_the_notes_of_pairs_are_about_their_table() -> None:
    """It has neither means nor groups nor the signs of runs."""
    for of in (experiment(), against_fair()):
        notes = tables(section("pairs", of))["pairs"].table.notes
        assert any("t test" in note for note in notes)
        assert not [
            note for note in notes if note.startswith(("[low, high]:", "groups", "▲")) or "pairs differ" in note
        ]


def test_doubts_come_last_in_the_summary() -> None:
    points = section("summary", experiment()).points
    doubtful = [point.startswith("Caution: ") for point in points]
    assert any(doubtful)
    assert doubtful == sorted(doubtful)


def test_a_baseline_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UsageError, match="no run 'fare'"):
        experiment(settings=ReportSettings(baseline="fare"))


def test_titles_and_texts_are_beside_the_documents(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    apples, words = {"id": "a", "title": "Apples", "text": "They are red."}, {"id": "b", "text": "w " * 500}
    path.write_text(f"{json.dumps(apples)}\n{json.dumps(words)}\n")
    blocks = tables(section("explain", experiment(documents=path)))
    texts = {row[0]: row[1] for block in blocks.values() for row in block.table.rows}
    assert texts["a"] == "Apples: They are red."
    assert texts["b"].endswith("…")
    assert len(texts["b"]) < 210
    assert texts.get("c", "") == ""


def test_answers_log_and_experiment_have_sections() -> None:
    answers = Scores.from_matrix([[0.5, 0.9], [0.4, 0.8], [0.6, 0.7]], runs=["x", "y"], measure="nugget-recall")
    table = {"arm": ["A"] * 4 + ["B"] * 4, "revenue": [5, 6, 7, 6, 8, 9, 13, 9]}
    of = experiment(answers=answers, ab=analyse(pyarrow.table(table), "revenue"))
    keys = [made.key for made in make_report(of).sections]
    assert keys[-4:] == ["answers", "ab", "methods", "evaluated"]
    assert [row["run"] for row in rows_of(tables(section("answers", of))["answers"])][:1] == ["x"]
    assert "ab_effects" in tables(section("ab", of))


def test_known_works_are_found_by_doi_title_and_authors() -> None:
    assert cited("Sakai, Give Me Just One Highly Relevant Document: P-measure, SIGIR 2006", "P")[0] == "sakai2006one"
    assert cited("Savoy 1997; Smucker, Allan & Carterette 2007", "t")[0] == "savoy1997"
    assert cited("Smucker, Allan & Carterette 2007", "t")[0] == "smucker2007"
    # Two works of Sakai are from SIGIR 2006: without a title or a DOI it is neither.
    assert cited("Sakai, SIGIR 2006", "x")[0] not in works()


def test_works_that_reports_cite_are_complete() -> None:
    """Authors, title, year, and where it appeared: each kind of work has its own field for that."""
    for key, work in works().items():
        venue = {"journal", "booktitle", "publisher", "institution", "school", "note"}
        assert {"author", "title", "year"} <= work.fields.keys(), key
        assert venue & work.fields.keys(), key
        assert work.bibtex().count("{") == work.bibtex().count("}"), key
    assert len(works()) == len(dict.fromkeys(work.fields.get("doi", key) for key, work in works().items()))


def test_a_reference_without_an_author_still_has_a_key() -> None:
    assert cited("1999", "odd@5")[0] == "odd1999"


def test_sections_and_texts_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "report.toml"
    path.write_text(
        'title = "Track"\nintroduction = "One.\\n\\nTwo."\nsections = ["pairs", "summary"]\n'
        '[notes]\npairs = "Look here."\n'
    )
    report = make_report(experiment(), Outline.read(path, SECTIONS))
    assert (report.title, report.introduction) == ("Track", ("One.", "Two."))
    assert [made.key for made in report.sections] == ["pairs", "summary"]
    assert report.sections[0].text[0] == "Look here."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('sections = ["pears"]', "no section 'pears'; did you mean 'pairs'?"),
        ("sections = [1]", "sections == 1, must be text"),
        ('titel = "x"', "no entry 'titel'; did you mean 'title'?"),
        ("title = 3", "title == 3, must be text"),
        ("[notes]\npairs = 2", "notes.pairs == 2, must be text"),
        ("title = ", "not valid TOML"),
    ],
)
def test_mistakes_in_the_file_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "report.toml"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        Outline.read(path, SECTIONS)
    assert message in str(error.value)
    assert "report.toml" in str(error.value)


def test_an_experiment_needs_scores() -> None:
    with pytest.raises(UsageError, match="at least one run and one judged topic"):
        Experiment(Scores(["AP"], [], [], np.zeros((1, 0, 0))))


def test_a_figure_of_many_topics_has_those_on_which_runs_differ_most_the_hardest_first() -> None:
    topics = [f"t{i}" for i in range(160)]
    median = np.random.default_rng(3).permutation(160) / 200  # how hard each is
    half = np.where(np.arange(160) % 16 == 5, 0.0, 0.1)  # on t5, t21, ... the runs are alike
    scores = Scores(["AP"], ["a", "b"], topics, [[median + half, median - half]])
    made = section("topics", Experiment(scores))
    figure = next(block for block in made.blocks if isinstance(block, FigureBlock) and block.name == "topics").figure
    shown = list(dict.fromkeys(figure.columns()["column"].tolist()))
    differ = [topic for topic, width in zip(topics, half, strict=True) if width]
    assert shown == sorted(differ, key=lambda topic: median[topics.index(topic)])
    assert "The figure has the 150 of 160 topics on which runs differ most." in made.text


def test_the_function_takes_the_options_of_the_verb() -> None:
    made = report(QRELS, RUNS, "AP", baseline="fair", answers={"x": {"1": 0.5, "2": 0.4}, "y": {"1": 0.6, "2": 0.9}})
    assert "answers" in [section.key for section in made.sections]
    assert any("Against the baseline fair" in point for point in made.sections[0].points)

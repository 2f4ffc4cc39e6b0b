"""Tables: formats, marks, alignment and escaping."""

from __future__ import annotations

import csv
import io
import json
import math
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.errors import UsageError
from cranfield.report.tables import summary_table, topic_table, trec_lines
from cranfield.scores.scores import Scores
from cranfield.scores.summary import Estimate
from cranfield.table import Column, Table, escape_latex, visible_width

NAN = math.nan

SCORES = Scores(
    ["AP", "E", "NumRet"],
    ["bm25", "dense_2"],
    ["1", "2"],
    [[[0.2, 0.3], [0.5, NAN]], [[0.8, 0.6], [0.1, 0.2]], [[10.0, 10.0], [20.0, 0.0]]],
    [[False, False], [False, True]],
    notes=["order: score"],
)
"""Means: AP 0.25 and 0.5, E 0.7 and 0.15, NumRet 10 and 10."""

BETTER = {"E": "lower", "NumRet": "neither"}


def test_summary_table_as_text() -> None:
    assert summary_table(SCORES, better=BETTER).text().splitlines() == [
        "run      topics      AP       E   NumRet",
        "bm25          2  0.2500  0.7000  10.0000",
        "dense_2       2  0.5000  0.1500  10.0000",
        "topics missing from runs, scored as empty lists: dense_2 (1 topic: 2)",
        "undefined scores, left out of means: AP (1 topic: 2)",
        "1 more note: .notes",
    ]


def test_the_best_cell_depends_on_whether_higher_or_lower_is_better() -> None:
    table = summary_table(SCORES, better=BETTER)
    assert table.best == {(1, 2), (1, 3)}  # dense_2 by AP (higher) and by E (lower); NumRet is neither better nor worse
    assert summary_table(SCORES, better={"E": "higher"}).best == {(1, 2), (0, 3), (0, 4), (1, 4)}
    assert summary_table(SCORES, statistic="std").best == frozenset()


def test_values_that_are_equal_when_rounded_are_both_best() -> None:
    columns = (Column("run"), Column("AP", "number", "higher"))
    rows = (("a", 0.25001), ("b", 0.25002), ("c", 0.2))
    assert Table(columns, rows).best == {(0, 1), (1, 1)}
    assert Table(columns, rows, digits=5).best == {(1, 1)}


def test_a_single_value_is_not_marked_as_best() -> None:
    columns = (Column("run"), Column("AP", "number", "higher"))
    assert Table(columns, (("a", 0.5),)).best == frozenset()
    assert Table(columns, (("a", 0.5), ("b", NAN))).best == frozenset()


def test_color_adds_bold_and_keeps_the_alignment() -> None:
    table = summary_table(SCORES, better=BETTER)
    assert "\x1b" not in table.text()
    colored = table.text(color=True)
    assert "\x1b[1m0.5000\x1b[0m  \x1b[1m0.1500\x1b[0m  10.0000" in colored
    assert colored.replace("\x1b[1m", "").replace("\x1b[0m", "") == table.text()


def test_intervals_are_aligned() -> None:
    scores = Scores.from_matrix([[0.1, 10.0], [0.2, 20.0], [0.3, 30.0]], runs=["a", "b"], measure="AP")
    # t(0.975, 2) = 4.302653; half widths 0.1 / sqrt(3) * t = 0.24841 and 24.841
    assert summary_table(scores, level=0.95).text().splitlines() == [
        "run  topics                          AP",
        "a         3   0.2000 [-0.0484,  0.4484]",
        "b         3  20.0000 [-4.8414, 44.8414]",
        "caution: 3 topics are few for AP, whose scores have no bounds; intervals may be too short",
        "[low, high]: 95% confidence interval by Student's t corrected for skewness",
    ]


def test_a_number_without_interval_is_aligned_with_the_others() -> None:
    rows = (
        ("a", Estimate("AP", "a", 0.5, 0.25, 0.75, 2, 0, 0)),
        ("b", Estimate("AP", "b", 0.25, NAN, NAN, 1, 0, 0)),
    )
    lines = Table((Column("run"), Column("AP", "number", "higher")), rows, digits=2).text().splitlines()
    assert lines[1:] == ["a    0.50 [0.25, 0.75]", "b    0.25"]


def test_east_asian_names_keep_the_alignment() -> None:
    scores = Scores.from_matrix([[0.5, 0.25]], runs=["検索モデル", "naïve"], measure="AP")
    lines = summary_table(scores).text().splitlines()
    assert {visible_width(line) for line in lines} == {visible_width(lines[0])}
    assert lines[1] == "検索モデル       1  0.5000"


@given(st.text(st.characters(categories=["L", "M", "N", "P", "S"])))
def test_visible_width_counts_wide_characters_twice_and_marks_as_0(text: str) -> None:
    expected = 0
    for c in text:
        if unicodedata.category(c) not in ("Mn", "Me"):
            expected += 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1
    assert visible_width(text) == expected


def test_a_name_cannot_move_the_cursor() -> None:
    scores = Scores.from_matrix([[0.5]], runs=["a\x1b[2J\nb"], measure="AP")
    for shown in (summary_table(scores).text(), "\n".join(trec_lines(scores))):
        assert "\x1b" not in shown
        assert "a\\x1b[2J\\nb" in shown


def test_columns_are_stacked_in_a_narrow_terminal() -> None:
    scores = Scores([f"m{i}" for i in range(5)], ["a"], ["1"], np.full((5, 1, 1), 0.5))
    lines = summary_table(scores).text(width=30).splitlines()
    assert all(len(line) <= 30 for line in lines)
    assert lines == [
        "run  topics      m0      m1",
        "a         1  0.5000  0.5000",
        "",
        "run      m2      m3      m4",
        "a    0.5000  0.5000  0.5000",
    ]


def test_many_runs_and_measures() -> None:
    values = np.random.default_rng(0).random((30, 129, 10))
    scores = Scores([f"m{i}" for i in range(30)], [f"run{i}" for i in range(129)], map(str, range(10)), values)
    table = summary_table(scores)
    lines = table.text().splitlines()
    assert len(lines) == 130
    assert len(set(map(len, lines))) == 1
    best = {(int(r), m + 2) for m, r in enumerate(values.mean(axis=2).argmax(axis=1))}
    assert best <= table.best


def test_csv_and_json_have_all_digits_and_no_nan() -> None:
    scores = Scores(["AP", "P,5"], ["a"], ["1", "2", "3"], [[[0.1, 0.2, 0.7]], [[NAN] * 3]])
    mean = (0.1 + 0.2 + 0.7) / 3
    table = summary_table(scores)
    assert list(csv.reader(io.StringIO(table.csv()))) == [["run", "topics", "AP", "P,5"], ["a", "3", repr(mean), ""]]
    assert table.tsv().splitlines()[0] == "run\ttopics\tAP\tP,5"
    data = json.loads(table.json(), parse_constant=pytest.fail)
    assert data["rows"] == [{"run": "a", "topics": 3, "AP": mean, "P,5": None}]
    assert data["notes"] == list(table.notes)
    assert summary_table(scores, digits=2).csv().splitlines()[1] == "a,3,0.33,"


def test_intervals_are_separate_columns_in_data_formats() -> None:
    scores = Scores.from_matrix([[0.25], [0.75]], runs=["a"], measure="AP")
    table = summary_table(scores, level=0.5, method="t")
    # t(0.75, 1) = 1, standard error 0.25: 0.5 ± 0.25
    (row,) = json.loads(table.json())["rows"]
    assert row == {
        "run": "a",
        "topics": 2,
        "AP": 0.5,
        "AP low": pytest.approx(0.25),
        "AP high": pytest.approx(0.75),
    }


def test_latex_has_rules_bold_cells_and_escapes() -> None:
    table = summary_table(SCORES, better=BETTER, digits=2)
    assert table.latex().splitlines() == [
        "% order: score",
        "% topics missing from runs, scored as empty lists: dense_2 (1 topic: 2)",
        "% undefined scores, left out of means: AP (1 topic: 2)",
        r"\begin{tabular}{lrrrr}",
        r"\toprule",
        r"run & topics & AP & E & NumRet \\",
        r"\midrule",
        r"bm25 & 2 & 0.25 & 0.70 & 10.00 \\",
        r"dense\_2 & 2 & \textbf{0.50} & \textbf{0.15} & 10.00 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert escape_latex("a\x1b[31m b") == r"a\textbackslash{}x1b[31m b"  # LaTeX is read in terminals, too
    assert escape_latex(r"\a{b}~^<") == r"\textbackslash{}a\{b\}\textasciitilde{}\textasciicircum{}\textless{}"
    assert r"\caption{50\% more}" in Table((Column("a"),), (("b",),), caption="50% more").latex()


def test_markdown_and_html_have_marks_and_escapes() -> None:
    rows = (("a|b", 0.5), ("<i>", 0.25))
    table = Table((Column("run"), Column("AP", "number", "higher")), rows, caption="A & B", notes=("n < 3",))
    assert table.markdown().splitlines() == [
        "A & B",
        "",
        "| run | AP |",
        "| :-- | --: |",
        r"| a\|b | **0.5000** |",
        r"| \<i\> | 0.2500 |",
        "",
        r"n \< 3",
    ]
    html = table.html()
    assert "<caption>A &amp; B</caption>" in html
    assert '<td style="text-align:left">&lt;i&gt;</td><td style="text-align:right">0.2500</td>' in html
    assert "<strong>0.5000</strong>" in html
    assert "<p>n &lt; 3</p>" in html


def test_topic_table_has_a_row_per_run_and_topic_and_marks_missing_topics() -> None:
    lines = topic_table(SCORES["AP"], digits=1).text().splitlines()
    assert lines[:5] == [
        "run      topic  missing   AP",
        "bm25     1               0.2",
        "bm25     2               0.3",
        "dense_2  1               0.5",
        "dense_2  2      missing    -",
    ]


def test_trec_lines_can_be_read_again(tmp_path: Path) -> None:
    lines = list(trec_lines(SCORES, per_topic=True))
    assert lines[0] == "AP                    \t1\t0.2000"
    assert lines[6:11] == [
        "runid                 \tall\tbm25",
        "num_q                 \tall\t2",
        "AP                    \tall\t0.2500",
        "E                     \tall\t0.7000",
        "NumRet                \tall\t10.0000",
    ]
    path = tmp_path / "scores.txt"
    path.write_text("\n".join(lines))
    back = Scores.read(path)
    assert back.runs == SCORES.runs
    assert back.values == pytest.approx(SCORES.values, abs=1e-4, nan_ok=True)


def test_trec_lines_leave_out_missing_topics_that_are_skipped() -> None:
    skip = Scores(SCORES.measures, SCORES.runs, SCORES.topics, SCORES.values, SCORES.missing, "skip")
    of_dense = list(trec_lines(skip.select("AP", "dense_2"), per_topic=True))
    assert [line.split("\t")[1:] for line in of_dense] == [
        ["1", "0.5000"],
        ["all", "dense_2"],
        ["all", "1"],
        ["all", "0.5000"],
    ]
    assert len(list(trec_lines(skip, per_topic=True, summary=False))) == 9  # 3 measures × 3 lists that are there


def test_wrong_tables_raise_errors() -> None:
    with pytest.raises(UsageError, match="row 0 has 2 cells, there are 1 columns"):
        Table((Column("a"),), ((1, 2),))
    with pytest.raises(UsageError, match="kind == 'date', must be one of"):
        Table((Column("a", "date"),), ())
    with pytest.raises(UsageError, match="better == 'bigger', must be one of 'higher'"):
        summary_table(SCORES, better={"AP": "bigger"})
    with pytest.raises(UsageError, match="format == 'pdf', must be one of 'text'"):
        Table((Column("a"),), ()).render("pdf")
    with pytest.raises(UsageError, match="digits == -1, must be 0 or above"):
        Table((Column("a"),), (), digits=-1)


@pytest.mark.parametrize("format", ["text", "json", "csv", "tsv", "latex", "markdown", "html"])
def test_every_format_shows_every_row(format: str) -> None:
    shown = summary_table(SCORES).render(format)
    assert "bm25" in shown
    assert "dense" in shown


def test_cells_can_be_numpy_numbers() -> None:
    table = Table((Column("n", "count"), Column("x", "number")), ((np.int64(3), np.float32(0.5)),))  # type: ignore[arg-type]
    assert json.loads(table.json())["rows"] == [{"n": 3, "x": 0.5}]


def test_a_small_probability_is_never_shown_as_0() -> None:
    table = Table((Column("p", "probability"),), ((0.00001,), (0.25,), (0.0,)))
    assert [line.strip() for line in table.text().splitlines()] == ["p", "<0.0001", "0.2500", "0.0000"]
    assert table.csv().splitlines()[1] == "1e-05"


def test_tables_do_not_import_heavy_packages() -> None:
    heavy = ("scipy", "pandas", "polars", "pyarrow", "rich")
    code = f"import sys, cranfield.report.tables; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_number_that_rounds_to_zero_has_no_sign() -> None:
    table = Table(
        (Column("difference", "number"),), ((-4.6e-18,), (Estimate("AP", "a", -0.00001, -0.2, 0.2, 2, 0, 0),))
    )
    assert table.text().split() == ["difference", "0.0000", "0.0000", "[-0.2000,", "0.2000]"]
    assert "-0.0000" not in table.latex() + table.markdown() + table.html()

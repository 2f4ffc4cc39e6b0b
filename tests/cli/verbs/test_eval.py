"""`cranfield eval`: what it computes, prints and writes."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import pty
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.samples import Sample
from cranfield.scores.scores import Scores
from tests.cli.conftest import Cranfield

# By hand for the list of `tiny`, relevant (grades 1 and 2) at ranks 1 and 4 of 4, R = 2:
TINY_AP = (1 / 1 + 2 / 4) / 2
TINY_P2 = 1 / 2


def test_the_order_rule_is_printed_below_the_table(cranfield: Cranfield, tiny: Path) -> None:
    result = cranfield("eval", "qrels.txt", "mine.run", "-m", "AP", "-m", "P@2")
    assert result == (0, "run   topics      AP     P@2\nmine       1  0.7500  0.5000\norder: score\n", "")


def test_default_measures_are_the_package_s(cranfield: Cranfield, tiny: Path) -> None:
    header = cranfield("eval", "qrels.txt", "mine.run").out.splitlines()[0]
    assert header.split() == ["run", "topics", *map(str, cf.DEFAULT)]


def test_the_same_numbers_as_from_python(cranfield: Cranfield, collection: Sample) -> None:
    result = cranfield("eval", collection.qrels, *collection.runs, "-m", "nDCG@10,AP", "-f", "json", "--quiet")
    with pytest.warns(cf.CranfieldWarning):
        means = cf.evaluate(collection.qrels, list(collection.runs), ["nDCG@10", "AP"]).mean()
    rows = {row["run"]: row for row in json.loads(result.out)["rows"]}
    assert {run: {m: row[m] for m in ("nDCG@10", "AP")} for run, row in rows.items()} == means


def test_measures_can_be_repeated_or_separated_by_commas(cranfield: Cranfield, tiny: Path) -> None:
    one = cranfield("eval", "qrels.txt", "mine.run", "-m", "AP", "-m", "P@2", "-m", "P@4", "-m", "RBP(p=0.5)")
    two = cranfield("eval", "qrels.txt", "mine.run", "-mAP,P@2,4, RBP(p=0.5)")
    assert one == two


def test_names_of_trec_eval_can_contain_commas(cranfield: Cranfield, tiny: Path) -> None:
    header = cranfield("eval", "qrels.txt", "mine.run", "-m", "P.2,4", "-m", "map").out.splitlines()[0]
    assert header.split() == ["run", "topics", "P@2", "P@4", "AP"]


def test_your_own_measure_can_be_used(program: Cranfield, tiny: Path) -> None:
    (tiny / "my_measures.py").write_text(
        "def Found(lists):\n    'Relevant documents retrieved.'\n    return lists.relevant(1).count\n"
    )
    result = program("eval", "qrels.txt", "mine.run", "-m", "my_measures:Found")
    assert (result.code, result.err) == (0, "")
    assert "2.0000" in result.out  # a and d


def test_an_unknown_measure_is_an_error(cranfield: Cranfield, tiny: Path) -> None:
    result = cranfield("eval", "qrels.txt", "mine.run", "-m", "nDGC@10")
    assert (result.code, result.out) == (2, "")
    assert "did you mean nDCG" in result.err


# -- input


def test_standard_input(cranfield: Cranfield, tiny: Path) -> None:
    direct = cranfield("eval", "qrels.txt", "mine.run", "-m", "AP")
    run, qrels = ((tiny / name).read_bytes() for name in ("mine.run", "qrels.txt"))
    assert cranfield("eval", "qrels.txt", "-", "-m", "AP", stdin=run) == direct
    assert cranfield("eval", "-", "mine.run", "-m", "AP", stdin=qrels) == direct
    assert cranfield("eval", "qrels.txt", "-", "-m", "AP", stdin=gzip.compress(run)) == direct


def test_standard_input_is_read_only_once(cranfield: Cranfield) -> None:
    result = cranfield("eval", "-", "-")
    assert result.code == 2
    assert "only once" in result.err


def test_patterns_are_expanded(cranfield: Cranfield, tiny: Path) -> None:
    (tiny / "other.run").write_text("1 Q0 b 1 9 other\n")
    result = cranfield("eval", "qrels.txt", "*.run", "-m", "AP")
    assert [line.split()[0] for line in result.out.splitlines()[1:3]] == ["mine", "other"]
    nothing = cranfield("eval", "qrels.txt", "*.nothing")
    assert nothing == (2, "", "error: *.nothing: no file matches this pattern\n")


def test_input_format_can_be_set(cranfield: Cranfield, tiny: Path) -> None:
    (tiny / "three").write_text("1 d 1\n1 a 2\n")
    result = cranfield("eval", "qrels.txt", "three", "-m", "P@2", "--input-format", "msmarco")
    assert "1.0000" in result.out
    assert "order: rank" in result.out
    wrong = cranfield("eval", "qrels.txt", "three", "--input-format", "xlsx")
    assert wrong.code == 2
    assert "format == 'xlsx'" in wrong.err


def test_no_run_is_an_error(cranfield: Cranfield, tiny: Path) -> None:
    result = cranfield("eval", "qrels.txt")
    assert (result.code, result.out) == (2, "")
    assert "no run to score against qrels.txt; add one" in result.err


def test_without_arguments_examples_are_printed(cranfield: Cranfield) -> None:
    result = cranfield("eval")
    assert (result.code, result.out) == (2, "")
    assert "cranfield eval --sample" in result.err
    assert cranfield("eval", "--sample").code == 0


def test_sample_takes_no_files(cranfield: Cranfield) -> None:
    assert cranfield("eval", "--sample", "qrels.txt").code == 2


# -- options


def test_order(cranfield: Cranfield, tiny: Path) -> None:
    (tiny / "upside-down.run").write_text("1 Q0 b 1 1 x\n1 Q0 a 2 2 x\n")
    rr = {}
    for rule in ("score", "rank", "file"):
        result = cranfield("eval", "qrels.txt", "upside-down.run", "-m", "RR", "--order", rule)
        assert f"order: {rule}" in result.out
        rr[rule] = float(result.out.splitlines()[1].split()[-1])
    assert rr == {"score": 1.0, "rank": 0.5, "file": 0.5}
    assert cranfield("eval", "qrels.txt", "mine.run", "--order", "name").code == 2


def test_precision(cranfield: Cranfield, tiny: Path) -> None:
    """a is ahead in 64 bits; in 32 bits the two are tied and b has the higher id."""
    (tiny / "close.run").write_text("1 Q0 a 1 1.00000000001 x\n1 Q0 b 2 1.0 x\n")
    rr = [
        cranfield("eval", "qrels.txt", "close.run", "-m", "RR", "--precision", bits).out.splitlines()[1].split()[-1]
        for bits in ("64", "32")
    ]
    assert rr == ["1.0000", "0.5000"]
    assert cranfield("eval", "qrels.txt", "close.run", "--precision", "16").code == 2


def test_depth(cranfield: Cranfield, tiny: Path) -> None:
    result = cranfield("eval", "qrels.txt", "mine.run", "-m", "NumRelRet", "--depth", "3")
    assert result.out.splitlines()[1].split()[-1] == "1.0000"  # d is at rank 4
    assert cranfield("eval", "qrels.txt", "mine.run", "--depth", "0").code == 2


def test_on_duplicate(cranfield: Cranfield, tiny: Path) -> None:
    (tiny / "twice.run").write_text("1 Q0 a 3 1 x\n1 Q0 b 2 2 x\n1 Q0 a 1 3 x\n")
    words = ("eval", "qrels.txt", "twice.run", "-m", "RR")
    refused = cranfield(*words)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("error: twice.run:3: ")
    first, highest = (cranfield(*words, "--on-duplicate", rule) for rule in ("first", "max"))
    assert [r.out.splitlines()[1].split()[-1] for r in (first, highest)] == ["0.5000", "1.0000"]
    assert first.err.startswith("warning: 1 duplicate document")
    assert first.err.count("\n") == 1


def test_missing_topics(cranfield: Cranfield, tiny: Path) -> None:
    with (tiny / "qrels.txt").open("a") as file:
        file.write("2 0 a 1\n")
    zero, skip = (cranfield("eval", "qrels.txt", "mine.run", "-m", "AP", "--missing", r) for r in ("zero", "skip"))
    assert zero.out.splitlines()[1].split() == ["mine", "2", "0.3750"]  # (0.75 + 0) / 2
    assert skip.out.splitlines()[1].split() == ["mine", "1", "0.7500"]
    assert zero.err == ""
    assert "topics missing from runs, scored as empty lists: mine (1 topic: 2)" in zero.out.splitlines()
    in_json = cranfield("eval", "qrels.txt", "mine.run", "-m", "AP", "-f", "json")
    assert in_json.err.startswith("warning: 1 judged topic")
    assert in_json.err.endswith("mine (2)\n")
    assert in_json.err.count("\n") == 1
    assert cranfield("eval", "qrels.txt", "mine.run", "-m", "AP", "--quiet").err == ""
    assert cranfield("eval", "qrels.txt", "mine.run", "--missing", "ignore").code == 2


@pytest.mark.parametrize(("kind", "baseline"), [("URisk", "bm25"), ("TRisk", "bm25"), ("GeoRisk", None)])
def test_risks_of_runs_are_printed(cranfield: Cranfield, collection: Sample, kind: str, baseline: str | None) -> None:
    words = ("eval", "--sample", "-m", "AP", "-m", "nDCG@5", "--statistic", kind, "--alpha", "5", "-f", "json")
    data = json.loads(cranfield(*words, *(("--baseline", baseline) if baseline else ())).out)
    with pytest.warns(cf.CranfieldWarning):
        scores = cf.evaluate(collection.qrels, list(collection.runs), ["AP", "nDCG@5"])
    expected = scores.risk(kind, baseline, 5).to_dict()
    assert len(data["rows"]) == len(expected) > 2
    for row in data["rows"]:
        for measure, value in expected[row["run"]].items():
            assert row[measure] == (None if math.isnan(value) else pytest.approx(value))
    assert data["notes"][-1] == f"{kind} against {baseline or 'all runs together'}, losses counted 6 times"
    first = cranfield(*words, *(("-b", baseline) if baseline else ()), "--sort", "AP")
    order = [row["AP"] for row in json.loads(first.out)["rows"] if row["AP"] is not None]
    assert order == sorted(order, reverse=True)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--baseline", "bm25"], "--baseline and --alpha apply only to --statistic URisk, TRisk, GeoRisk"),
        (["--alpha", "2"], "--baseline and --alpha apply only to"),
        (["--statistic", "TRisk"], "TRisk compares with a run; name it: --baseline RUN"),
        (["--statistic", "GeoRisk", "-b", "bm25"], "GeoRisk compares with all runs together; leave out --baseline"),
        (["--statistic", "URisk", "-b", "bm25", "--ci"], "URisk has no interval; leave out --ci"),
        (["--statistic", "URisk", "-b", "bm52"], "no run 'bm52'"),
        (["--statistic", "URisk", "-b", "bm25", "--alpha", "-1"], "alpha == -1.0, must be 0 or above"),
        (
            ["--statistic", "URisk", "-b", "bm25", "-m", "ESL"],
            "whose higher scores are better, unlike ESL",
        ),
    ],
)
def test_impossible_risks_are_errors(cranfield: Cranfield, words: list[str], complaint: str) -> None:
    result = cranfield("eval", "--sample", "-m", "AP", *words)
    assert result.code == 2
    assert complaint in result.err


def test_statistic_and_interval(cranfield: Cranfield, collection: Sample) -> None:
    words = ("eval", collection.qrels, *collection.runs, "-m", "AP", "-f", "json", "--quiet")
    with pytest.warns(cf.CranfieldWarning):
        scores = cf.evaluate(collection.qrels, list(collection.runs), "AP")
    for statistic in ("mean", "gmean", "median", "area"):
        expected = scores.summary(statistic, level=0.9)
        rows = json.loads(cranfield(*words, "--statistic", statistic, "--level", "0.9").out)["rows"]
        for row in rows:
            one = expected["AP", row["run"]]
            assert [row["AP"], row["AP low"], row["AP high"]] == [one.value, one.low, one.high]
    area = json.loads(cranfield(*words, "--statistic", "area", "--worst", "3", "--sort", "AP").out)
    worst = scores.summary("area", level=None, worst=3)
    assert [row["AP"] for row in area["rows"]] == sorted((one.value for one in worst), reverse=True)
    assert area["notes"][-1] == "statistic: area under the curve of the mean of the x worst topics, x from 1 to 3"
    assert "--worst applies only to --statistic area" in cranfield(*words, "--worst", "3").err
    assert "higher scores are better, unlike ESL" in cranfield(*words, "-m", "ESL", "--statistic", "area").err
    assert "--worst == 99, expected at most 24 topics" in cranfield(*words, "--statistic", "area", "--worst", "99").err
    assert cranfield(*words, "--statistic", "mode").code == 2
    assert cranfield(*words, "--level", "1.5").code == 2


def test_sort_puts_the_best_first(cranfield: Cranfield, collection: Sample) -> None:
    """Means of AP as in the sample's README; E is better when lower, so its order is that of F."""
    words = ("eval", collection.qrels, *collection.runs, "--quiet", "-m", "RR", "--sort")
    by_ap = cranfield(*words, "AP").out
    assert [line.split()[0] for line in by_ap.splitlines()[1:5]] == ["fusion", "dense", "bm25", "coord"]
    assert by_ap.splitlines()[0].split() == ["run", "topics", "RR"]
    orders = [[line.split()[0] for line in cranfield(*words, m).out.splitlines()[1:5]] for m in ("F@10", "E@10")]
    assert orders[0] == orders[1]
    assert cranfield(*words, "AP,RR").code == 2


def test_threads_do_not_change_the_result(cranfield: Cranfield, collection: Sample) -> None:
    words = ("eval", collection.qrels, *collection.runs, "--quiet", "-q", "-f", "json", "--threads")
    assert cranfield(*words, "1") == cranfield(*words, "3")


# -- formats


def test_json_and_csv_parse_back(cranfield: Cranfield, tiny: Path) -> None:
    words = ("eval", "qrels.txt", "mine.run", "-m", "AP,P@2", "-f")
    data = json.loads(cranfield(*words, "json").out)
    assert data["rows"] == [{"run": "mine", "topics": 1, "AP": TINY_AP, "P@2": TINY_P2}]
    assert data["notes"] == ["order: score"]
    for format, delimiter in (("csv", ","), ("tsv", "\t")):
        rows = list(csv.DictReader(io.StringIO(cranfield(*words, format).out), delimiter=delimiter))
        assert rows == [{"run": "mine", "topics": "1", "AP": "0.75", "P@2": "0.5"}]


@pytest.mark.parametrize("format", ["json", "csv", "tsv"])
def test_scores_of_every_topic_read_back(cranfield: Cranfield, collection: Sample, tmp_path: Path, format: str) -> None:
    with pytest.warns(cf.CranfieldWarning):
        scores = cf.evaluate(collection.qrels, list(collection.runs), ["AP", "nDCG@10"])
    path = str(tmp_path / f"scores.{format}")
    words = ("eval", collection.qrels, *collection.runs, "-m", "AP,nDCG@10", "-q", "--quiet", "-f", format, "-o", path)
    assert cranfield(*words) == (0, "", "")
    assert Scores.read(path) == scores


def test_per_topic_tables(cranfield: Cranfield, collection: Sample) -> None:
    result = cranfield("eval", collection.qrels, collection.runs[0], "-m", "AP", "-q", "--quiet")
    topics, summary = result.out.split("\n\n")
    assert len(topics.splitlines()) == 1 + 24
    assert summary.splitlines()[1].split()[:2] == ["bm25", "24"]


def test_trec_lines(cranfield: Cranfield, tiny: Path) -> None:
    result = cranfield("eval", "qrels.txt", "mine.run", "-m", "AP", "-q", "-f", "trec")
    assert result.out == (
        "AP                    \t1\t0.7500\n"
        "runid                 \tall\tmine\n"
        "num_q                 \tall\t1\n"
        "AP                    \tall\t0.7500\n"
    )
    for option in (("--ci",), ("--statistic", "median")):
        assert cranfield("eval", "qrels.txt", "mine.run", "-f", "trec", *option).code == 2


def test_formats_for_documents(cranfield: Cranfield, collection: Sample) -> None:
    words = ("eval", collection.qrels, *collection.runs, "-m", "AP", "--quiet", "-f")
    latex, markdown, html = (cranfield(*words, format).out for format in ("latex", "markdown", "html"))
    assert r"\begin{tabular}{lrr}" in latex
    assert r"fusion & 24 & \textbf{" in latex
    assert re.search(r"^\| fusion \| 24 \| \*\*0\.\d{4}\*\* \|$", markdown, re.MULTILINE)
    table = ET.fromstring(html[: html.index("</table>") + len("</table>")])
    assert len(table.findall("./tbody/tr")) == 4


def test_digits(cranfield: Cranfield, tiny: Path) -> None:
    assert cranfield("eval", "qrels.txt", "mine.run", "-m", "AP", "--digits", "1").out.splitlines()[1].endswith("0.8")
    result = cranfield("eval", "qrels.txt", "mine.run", "-m", "AP", "-q", "-f", "json", "--digits", "1").out
    assert json.loads(result)["scores"]["mine"]["1"]["AP"] == 0.8
    assert cranfield("eval", "qrels.txt", "mine.run", "--digits", "-1").code == 2


def test_unknown_format_is_usage_before_any_work(cranfield: Cranfield) -> None:
    result = cranfield("eval", "no-such-file", "no-such-file", "-f", "xlsx")
    assert result.code == 2
    assert "'xlsx', must be one of 'table', 'json'" in result.err


def test_the_output_file_is_complete_or_does_not_appear(cranfield: Cranfield, tiny: Path) -> None:
    printed = cranfield("eval", "qrels.txt", "mine.run", "-m", "AP").out
    assert cranfield("eval", "qrels.txt", "mine.run", "-m", "AP", "-o", "scores.txt", "--quiet") == (0, "", "")
    assert (tiny / "scores.txt").read_text() == printed
    before = sorted(path.name for path in tiny.iterdir())
    (tiny / "bad.run").write_text("1 Q0 a\n")
    assert cranfield("eval", "qrels.txt", "bad.run", "-o", "scores.txt").code == 1
    assert (tiny / "scores.txt").read_text() == printed
    assert cranfield("eval", "qrels.txt", "mine.run", "-o", "no/such/folder.txt").code == 1
    assert sorted(path.name for path in tiny.iterdir()) == sorted([*before, "bad.run"])


# -- terminals


def in_terminal(*words: str, **environment: str) -> str:
    """What a terminal shows."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "cranfield", *words]
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm", **environment}
    process = subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=env)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # Linux reports the other side's end as an error
        pass
    os.close(ours)
    assert process.wait(60) == 0
    return shown.decode().replace("\r\n", "\n")


def test_best_is_bold_in_a_terminal_only(cranfield: Cranfield) -> None:
    words = ("eval", "--sample", "-m", "AP")
    shown = in_terminal(*words)
    assert [line.split()[0] for line in shown.splitlines() if "\x1b[1m" in line] == ["fusion"]
    plain = re.sub(r"\x1b\[\d*m", "", shown)
    assert plain == in_terminal(*words, NO_COLOR="1") == in_terminal(*words, TERM="dumb") == cranfield(*words).out


def test_wide_tables_are_stacked_to_fit(cranfield: Cranfield) -> None:
    words = ("eval", "--sample", "-m", "AP,RR,P@5,10,20,nDCG@5,10,20")
    shown = in_terminal(*words, COLUMNS="50", NO_COLOR="1")
    table = shown[: shown.index("topics missing")]
    assert max(map(len, table.splitlines())) <= 50
    assert table.count("fusion") > 1
    assert cranfield(*words).out.count("fusion") == 1


# -- any bytes


def test_names_of_any_bytes_are_printed_unchanged(program: Cranfield, tiny: Path) -> None:
    (tiny / "odd.run").write_bytes(b"1 Q0 a 1 9 t\xff\xe9g\n")
    table = program("eval", "qrels.txt", "odd.run", "-m", "AP")
    assert (table.code, table.err) == (0, "")
    assert "0.5000" in table.out
    assert "t\udcff\udce9g" in program("eval", "qrels.txt", "odd.run", "-m", "AP", "-f", "csv").out
    result = program("eval", "qrels.txt", "odd.run", "-m", "AP", "-f", "json").out
    assert json.loads(result)["rows"][0]["run"] == "t\udcff\udce9g"


def test_paths_can_have_any_bytes(program: Cranfield, tiny: Path) -> None:
    folder = os.fsencode(tiny)
    try:
        os.rename(folder + b"/mine.run", folder + b"/m\xffine.run")
    except OSError:
        pytest.skip("this file system has no such names")
    assert program("eval", "qrels.txt", b"m\xffine.run", "-m", "AP").code == 0
    absent = program("eval", "qrels.txt", b"n\xffo.run")
    assert absent.code == 1
    assert "no such file" in absent.err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_output_works_in_any_encoding(program: Cranfield, tiny: Path, encoding: str) -> None:
    result = program("measures", "nDCG", PYTHONIOENCODING=encoding)
    assert (result.code, result.err) == (0, "")
    assert "Järvelin" in result.out
    assert "Σ" in result.out


def test_control_characters_do_not_reach_the_terminal(cranfield: Cranfield, tiny: Path) -> None:
    (tiny / "evil.run").write_bytes(b"1 Q0 a 1 9 t\x1b[2Jx\n1 Q0 \x1b[1mb 1 nan x\n")
    refused = cranfield("eval", "qrels.txt", "evil.run")
    assert refused.code == 1
    (tiny / "evil.run").write_bytes(b"1 Q0 a 1 9 t\x1b[2Jx\n")
    assert "\x1b" not in cranfield("eval", "qrels.txt", "evil.run").out + refused.err


def test_sorting_uses_the_variant_that_is_shown(
    cranfield: Cranfield, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The relevant document is first in one run, and second in the other."""
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("1 0 d1 1\n2 0 d1 1\n")
    Path("first").write_text("1 Q0 d1 1 9 a\n1 Q0 x 2 8 a\n2 Q0 d1 1 9 a\n2 Q0 x 2 8 a\n")
    Path("deep").write_text("1 Q0 x 1 9 deep\n1 Q0 d1 2 8 deep\n2 Q0 x 1 9 deep\n2 Q0 d1 2 8 deep\n")
    words = ("eval", "qrels", "deep", "first", "--quiet", "-m")
    for sort in ("nDCG", "nDCG@1"):
        done = cranfield(*words, "nDCG@1", "--sort", sort)
        assert [line.split()[0] for line in done.out.splitlines()[1:3]] == ["a", "deep"]
        assert "not shown" not in done.out
    done = cranfield(*words, "P@2", "--sort", "RR")
    assert "sorted by RR, which is not shown" in done.out
    done = cranfield(*words, "nDCG@1", "--sort", "nDCG@2")
    assert "sorted by nDCG@2, which is not shown" in done.out
    done = cranfield(*words, "nDCG@1", "-m", "nDCG@2", "--sort", "nDCG")
    assert (done.code, done.err) == (2, "error: --sort nDCG: nDCG@1 and nDCG@2 are shown; name one of them\n")


def test_scores_on_an_interval_scale_are_ranks_of_lists(cranfield: Cranfield, tiny: Path) -> None:
    # The four lists of two documents, of R = 2, by AP@2: 00 < 01 < 10 < 11. The list of `tiny` begins with 10.
    result = cranfield("eval", "qrels.txt", "mine.run", "-m", "AP(rel=1)@2", "--interval-scale", "-f", "json")
    assert json.loads(result.out)["rows"][0]["AP@2 (interval scale)"] == pytest.approx(2 / 3)
    for other in (["--residual"], ["--sort", "AP@2"], ["--depth", "5"]):
        refused = cranfield("eval", "qrels.txt", "mine.run", "-m", "AP@2", "--interval-scale", *other)
        assert refused.code == 2
        assert f"--interval-scale and {other[0]} do not go together" in refused.err

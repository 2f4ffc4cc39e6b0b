"""The wide table of a comparison, in text and in LaTeX."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import cranfield as cf
from cranfield.comparison.result import Comparison
from cranfield.errors import UsageError
from cranfield.notes import notes_elsewhere
from cranfield.scores import Scores

RNG = np.random.default_rng(5)
EASY = RNG.beta(2, 3, (2, 30, 1))
VALUES = np.clip(EASY + np.array([0.0, 0.02, 0.1, 0.25]) + RNG.normal(0, 0.08, (2, 30, 4)), 0, 1)
NAMES = ("coord", "bm25", "dense", "fusion")
MEASURES = ("AP", "nDCG@10")
SCORES = Scores(MEASURES, NAMES, [str(t) for t in range(30)], VALUES.transpose(0, 2, 1))


def as_dicts(comparison: Comparison, *arguments: str, **options: str) -> dict[str, dict[str, object]]:
    """The cells of the wide table by system and heading."""
    table = comparison.wide(*arguments, **options)
    names = [column.name for column in table.columns]
    rows = [dict(zip(names, row, strict=True)) for row in table.rows]
    return {str(row["system"]): row for row in rows}


def test_differences_p_and_marks_against_a_baseline_agree_with_scipy_and_statsmodels() -> None:
    rows = as_dicts(cf.compare(SCORES, baseline="bm25"), "difference,percent,p,effect,wins")
    others = (0, 2, 3)
    p = [stats.ttest_rel(VALUES[m, :, i], VALUES[m, :, 1]).pvalue for m in range(2) for i in others]
    corrected = multipletests(p, method="holm")[1]
    for place, (m, i) in enumerate((m, i) for m in range(2) for i in others):
        row, d = rows[NAMES[i]], VALUES[m, :, i] - VALUES[m, :, 1]
        head = MEASURES[m]
        assert row[f"{head} mean"] == pytest.approx(VALUES[m, :, i].mean())
        assert row[f"{head} Δ"] == pytest.approx(d.mean())
        assert row[f"{head} Δ %"] == pytest.approx(100 * d.mean() / VALUES[m, :, 1].mean())
        assert row[f"{head} p"] == pytest.approx(corrected[place])
        assert row[f"{head} d_z"] == pytest.approx(d.mean() / d.std(ddof=1))
        assert row[f"{head} w/t/l"] == f"{(d > 0).sum()}/{(d == 0).sum()}/{(d < 0).sum()}"
        mark = "" if corrected[place] > 0.05 else "▲" if d.mean() > 0 else "▼"
        assert row[f"{head} sig"] == mark
    assert {row["AP sig"] for row in rows.values()} == {"", "▲"}
    assert list(rows) == ["bm25", "fusion", "dense", "coord"]  # the baseline, then best first
    assert np.isnan(rows["bm25"]["AP Δ"])


def test_letters_name_exactly_the_systems_that_are_significantly_worse() -> None:
    comparison = cf.compare(SCORES)
    rows = as_dicts(comparison)
    key = {row["#"]: system for system, row in rows.items()}
    expected: dict[str, set[str]] = {f"{system} {measure}": set() for system in NAMES for measure in MEASURES}
    pairs = [(m, i, j) for m in range(2) for i in range(4) for j in range(i)]
    p = [stats.ttest_rel(VALUES[m, :, i], VALUES[m, :, j]).pvalue for m, i, j in pairs]
    for (m, i, j), corrected in zip(pairs, multipletests(p, method="holm")[1], strict=True):
        if corrected <= 0.05:
            better, worse = (i, j) if VALUES[m, :, i].mean() > VALUES[m, :, j].mean() else (j, i)
            expected[f"{NAMES[better]} {MEASURES[m]}"].add(NAMES[worse])
    found = {f"{s} {m}": {key[letter] for letter in str(rows[s][f"{m} beats"])} for s in NAMES for m in MEASURES}
    assert found == expected
    counts = as_dicts(comparison, marks="counts")
    assert {k: counts[k.split()[0]][f"{k.split()[1]} beats"] for k in expected} == {
        k: len(v) for k, v in expected.items()
    }
    lost = sum(int(str(row[f"{m} loses to"])) for row in counts.values() for m in MEASURES)
    assert lost == sum(map(len, expected.values()))


def test_the_lower_mean_beats_if_lower_is_better() -> None:
    ranks = Scores.from_matrix(VALUES[0] * 100, runs=NAMES, measure="LastRel")
    rows = as_dicts(cf.compare(ranks))
    assert next(iter(rows)) == "coord"
    assert len(str(rows["coord"]["LastRel beats"])) > len(str(rows["fusion"]["LastRel beats"])) == 0
    pairs = cf.compare(ranks).columns()
    assert (pairs["mean"] <= pairs["other mean"]).all()  # better − worse


def test_every_pair_is_better_minus_worse_in_every_measure_and_test() -> None:
    mixed = Scores(MEASURES, NAMES, SCORES.topics, np.stack([SCORES.values[0], SCORES.values[1, ::-1]]))
    for test in ("t", "tukey", "wilcoxon", "randomisation", "sign"):
        columns = cf.compare(mixed, test=test, resamples=200, effect="glass").columns()
        assert (columns["difference"] >= 0).all()
        assert (columns["mean"] >= columns["other mean"]).all()
    assert (columns["win"] + columns["tie"] + columns["loss"] == 30).all()
    given = cf.compare(mixed, direction="given").columns()
    assert given["system"][:3].tolist() == ["coord"] * 3
    assert (given["difference"] < 0).any()
    one_sided = cf.compare(mixed.select(runs=["coord", "fusion"]), alternative="less").columns()
    assert one_sided["system"].tolist() == ["coord", "coord"]


def test_beyond_26_systems_marks_are_counts() -> None:
    many = Scores.from_matrix(RNG.random((20, 27)), measure="AP")
    columns = [column.header for column in cf.compare(Scores.combine(many, _renamed(many))).wide().columns]
    assert columns == ["system", *["mean", "beats", "loses to"] * 2]
    with pytest.raises(UsageError, match="letters for 26 systems, but there are 27; use 'counts'"):
        cf.compare(many).wide(marks="beats")


def _renamed(scores: Scores) -> Scores:
    return Scores(["P@10"], scores.runs, scores.topics, scores.values)


def test_what_is_left_out_is_said_and_how_to_get_it() -> None:
    many = Scores.from_matrix(RNG.random((20, 9)), measure="AP")
    with notes_elsewhere(""):
        assert "pairs() has the difference, p and effect size of 36 pairs" in str(cf.compare(many))
        assert "pairs() has" in str(cf.compare(SCORES, baseline="bm25"))
        assert "pairs() has" not in str(cf.compare(SCORES))
    for text in (str(cf.compare(SCORES)), str(cf.compare(SCORES, baseline="bm25"))):
        assert "interval of each mean" not in text  # no such interval is shown
        assert "letter in common" not in text


@pytest.mark.parametrize(
    ("baseline", "options", "message"),
    [
        ("bm25", {"show": "foo"}, "show == 'foo', must be one of 'difference', 'percent'"),
        (None, {"show": "p"}, "need a baseline"),
        ("bm25", {"marks": "groups"}, "is for comparisons of all pairs"),
        (None, {"marks": "stars"}, "marks == 'stars', must be one of 'beats', 'groups', 'counts'"),
    ],
)
def test_wrong_columns_and_marks_are_errors(baseline: str | None, options: dict[str, str], message: str) -> None:
    comparison = cf.compare(SCORES, baseline=baseline)
    for make in (comparison.wide, comparison.to_latex):
        with pytest.raises(UsageError, match=message):
            make(**options)


def test_a_label_that_latex_cannot_read_is_an_error() -> None:
    for label in ("a b", "a}", "", "50%"):
        with pytest.raises(UsageError, match="must be a name without blanks"):
            cf.compare(SCORES).to_latex(label=label)
    assert r"\label{tab:mine}" in cf.compare(SCORES).to_latex(label="tab:mine", caption="Mine.")
    assert r"\caption{Mine.}" in cf.compare(SCORES).to_latex(caption="Mine.")


@pytest.mark.parametrize(
    ("show", "head", "meaning"),
    [
        ("percent", r"$\Delta$\,\%", "difference in percent of the mean of bm25"),
        ("difference", r"$\Delta$", "difference from bm25"),
        # 3 pairs by 2 measures, so each interval has level 1 - 0.05 / 6
        ("interval", r"$\Delta$ [low, high]", r"difference from bm25 with its 99.17\% interval"),
        ("effect", r"$d_{z}$", "effect size of the difference"),
        ("wins", "w/t/l", "topics won, tied and lost"),
    ],
)
def test_the_caption_explains_each_column_by_its_heading(show: str, head: str, meaning: str) -> None:
    lines = cf.compare(SCORES, baseline="bm25").to_latex(show=show).splitlines()
    caption, heads = (next(line for line in lines if line.startswith(start)) for start in (r"\caption", "System"))
    assert f"; {head}: {meaning} (" in caption
    assert f"& {head} " in heads
    assert caption.count(r"\Delta") == head.count(r"\Delta")


def test_the_best_of_each_measure_is_bold_as_shown() -> None:
    values = [[0.50001, 0.5, 0.1], [0.5, 0.50001, 0.2], [0.5, 0.5, 0.1]]
    latex = cf.compare(Scores.from_matrix(values, ["a", "b", "c"], measure="AP"), baseline="c").to_latex()
    assert len(re.findall(r"\\selectfont 0\.5000", latex)) == 2


def test_blocks_of_a_narrow_terminal_keep_a_measure_together() -> None:
    lines = cf.compare(SCORES, baseline="bm25").wide().text(width=45).splitlines()
    assert max(map(len, lines[:12])) <= 45
    heads = [line.split() for line in lines if line.startswith("system")]
    assert heads == [["system", "mean", "sig", "Δ", "p"]] * 2


def test_the_latex_of_every_table_compiles(tmp_path: Path) -> None:
    program = shutil.which("tectonic") or shutil.which("pdflatex")
    if program is None:
        pytest.skip("neither tectonic nor pdflatex is installed")
    names = ["bm25", 'a_b & "50%"', r"\~^{#$}", "<x|y>"]
    odd = Scores(MEASURES, names, SCORES.topics, SCORES.values)
    against, every = cf.compare(odd, baseline="bm25"), cf.compare(odd)
    parts = [
        against.to_latex(),
        against.to_latex("difference,percent,p,effect,wins", label="tab:b"),
        against.to_latex("interval", label="tab:c", digits=3),
        every.to_latex(label="tab:d"),
        every.to_latex(marks="groups", label="tab:e"),
        every.to_latex(marks="counts", label="tab:f"),
    ]
    head = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
    (tmp_path / "t.tex").write_text(head + "\n".join(parts) + "\n\\end{document}\n", encoding="utf-8")
    options = ["-interaction=nonstopmode", "-halt-on-error"] if program.endswith("pdflatex") else []
    done = subprocess.run([program, *options, "t.tex"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "t.pdf").exists()

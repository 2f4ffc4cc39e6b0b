"""`cranfield anova`: what it reads, prints and refuses."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from cranfield.cli.verbs.comparing.anova import nesting
from cranfield.comparison.anova.anova import anova, two_way
from cranfield.comparison.methods.tukey import scheffe, tukey
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.evaluation.shard_scores import shard_scores
from cranfield.samples import Sample, sample
from cranfield.scores.scores import Scores
from tests.cli.conftest import Cranfield

RUNS = ["a", "b", "c", "d"]


@pytest.fixture
def values() -> np.ndarray:
    rng = np.random.default_rng(1)
    return (rng.normal(0.4, 0.05, (12, 4)) + rng.normal(0, 0.1, (12, 1)) + [0, 0.06, 0.1, 0.15]).round(4)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: np.ndarray) -> Path:
    """`matrix.csv` (with topics), `plain.csv` (without), `parts.csv` (factors), `seeds.txt` (runs of two systems)."""
    lines = [",".join(map(str, row)) for row in values]
    (tmp_path / "matrix.csv").write_text(
        "topic,a,b,c,d\n" + "\n".join(f"{301 + i},{line}" for i, line in enumerate(lines)) + "\n"
    )
    (tmp_path / "plain.csv").write_text("a,b,c,d\n" + "\n".join(lines) + "\n")
    (tmp_path / "parts.csv").write_text("run,stemmer,model\na,no,tf\nb,yes,tf\nc,no,bm25\nd,yes,bm25\n")
    (tmp_path / "seeds.txt").write_text("a one\nb one\nc two\nd two\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


# -- what it prints


def test_the_table_and_the_sentences_below_it(cranfield: Cranfield, folder: Path, values: np.ndarray) -> None:
    result = cranfield("anova", "--scores", "matrix.csv", "-m", "AP", "--why")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    printed = two_way(values, "AP")
    assert lines[0] == "AP: topic + system, 48 scores"
    assert lines[1].split() == ["source", "SS", "df", "MS", "F", "p", "ω²", "size"]
    system = printed["system"]
    assert lines[3].split()[:5] == ["system", f"{system.ss:.4f}", "3", f"{system.ms:.4f}", f"{system.f:.4f}"]
    assert printed.sentence() in lines
    assert tukey(printed).sentence() in lines


def test_a_matrix_with_or_without_topics_is_the_same(cranfield: Cranfield, folder: Path) -> None:
    assert cranfield("anova", "--scores", "plain.csv").out == cranfield("anova", "--scores", "matrix.csv").out


def test_runs_and_judgments(cranfield: Cranfield, collection: Sample) -> None:
    result = cranfield("anova", collection.qrels, *collection.runs, "-m", "AP,nDCG@10", "-f", "csv", "--quiet")
    assert [row["measure"] for row in rows(result.out)] == ["AP"] * 4 + ["nDCG@10"] * 4
    assert result.out == cranfield("anova", "--sample", "-m", "AP,nDCG@10", "-f", "csv", "--quiet").out


def test_components_with_interactions(cranfield: Cranfield, folder: Path, values: np.ndarray) -> None:
    words = ("--factors", "parts.csv", "--interactions", "stemmer:model,topic:stemmer", "-f", "csv")
    data = rows(cranfield("anova", "--scores", "plain.csv", *words).out)
    scores = dict(zip(RUNS, values.T, strict=True))
    result = anova(scores, factors="parts.csv", interactions=["stemmer:model", "topic:stemmer"])
    assert [row["source"] for row in data] == [one.source for one in result.sources]
    assert [float(row["ss"]) for row in data] == [one.ss for one in result.sources]
    assert [row["size"] for row in data][:2] == [one.effect.words for one in result.sources[:2] if one.effect]


def test_tukey_s_counts_for_every_factor_or_those_named(cranfield: Cranfield, folder: Path) -> None:
    usual = cranfield("anova", "-s", "plain.csv", "--factors", "parts.csv", "--why").out
    assert "pair of levels of stemmer differs" in usual
    assert "pair of levels of model differs" in usual
    named = cranfield("anova", "-s", "plain.csv", "--factors", "parts.csv", "--tukey", "stemmer:model", "--why").out
    assert "of 6 pairs of levels of stemmer:model differ" in named
    assert "pair of levels of stemmer differs" not in named


def test_pairs(cranfield: Cranfield, folder: Path, values: np.ndarray) -> None:
    data = rows(cranfield("anova", "-s", "plain.csv", "--pairs", "-f", "csv").out)
    result = tukey(values)
    assert [float(row["p"]) for row in data] == pytest.approx(result.p.tolist(), rel=1e-12)
    assert [row["differ"] == "true" for row in data] == result.differ.tolist()
    assert "first  second" in cranfield("anova", "-s", "plain.csv", "--pairs").out
    strict = rows(cranfield("anova", "-s", "plain.csv", "--pairs", "--scheffe", "--alpha", "0.01", "-f", "csv").out)
    assert [float(row["low"]) for row in strict] == pytest.approx(scheffe(values, alpha=0.01).low.tolist(), rel=1e-12)


def test_means_for_plots(cranfield: Cranfield, folder: Path, values: np.ndarray) -> None:
    words = (
        "-s",
        "plain.csv",
        "--factors",
        "parts.csv",
        "-i",
        "stemmer:model",
        "--means",
        "stemmer:model",
        "-f",
        "tsv",
    )
    data = list(csv.DictReader(io.StringIO(cranfield("anova", *words).out), delimiter="\t"))
    # The levels of the first factor change slowest: no:tf is run a, no:bm25 run c, and so on.
    assert [row["level"] for row in data] == ["no:tf", "no:bm25", "yes:tf", "yes:bm25"]
    assert [float(row["mean"]) for row in data] == pytest.approx(values.mean(axis=0)[[0, 2, 1, 3]])
    assert [row["n"] for row in data] == ["12"] * 4


def test_intervals_of_compared_means_are_those_of_the_comparison(
    cranfield: Cranfield, folder: Path, values: np.ndarray
) -> None:
    """They were t intervals, under a sentence with the half-width of Tukey's; csv and json name the kind."""
    test = tukey(values)
    out = cranfield("anova", "-s", "plain.csv", "--means", "system").out
    assert out.count(f"half-width {test.half_width:.4f}") == 2
    data = rows(cranfield("anova", "-s", "plain.csv", "--means", "system", "-f", "csv").out)
    assert [float(row["high"]) - float(row["mean"]) for row in data] == pytest.approx([test.half_width] * 4)
    assert {row["interval"] for row in data} == {"Tukey HSD"}
    fewer = rows(cranfield("anova", "-s", "plain.csv", "--means", "system", "--fdr", "-f", "csv").out)
    assert {row["interval"] for row in fewer} == {"t with the pooled error, benjamini-hochberg"}
    words = ("-s", "plain.csv", "--factors", "parts.csv", "--means", "stemmer:model", "-f", "csv")
    assert {row["interval"] for row in rows(cranfield("anova", *words).out)} == {"t"}  # these are not compared


def test_the_figure_without_means_is_that_of_tukeys_test(
    cranfield: Cranfield, folder: Path, values: np.ndarray, tmp_path: Path
) -> None:
    cranfield("anova", "-s", "plain.csv", "--plot", str(tmp_path / "levels.csv"))
    data = rows((tmp_path / "levels.csv").read_text())
    test = tukey(values)
    assert [float(row["mean"]) for row in data] == pytest.approx(sorted(test.mean, reverse=True))
    assert [float(row["mean"]) - float(row["low"]) for row in data] == pytest.approx([test.half_width] * 4)


def test_seeds_of_a_system_from_a_file(cranfield: Cranfield, folder: Path) -> None:
    out = cranfield("anova", "-s", "plain.csv", "--factor", "system=seeds.txt").out
    assert "topic + system + run(system)" in out
    system = next(line for line in out.splitlines() if line.startswith("system "))
    assert system.split()[-1] == "run(system)"


def test_a_column_under_another_name(cranfield: Cranfield, folder: Path) -> None:
    out = cranfield("anova", "-s", "plain.csv", "--factors", "parts.csv", "--factor", "weighting=model").out
    assert "topic + weighting + run(weighting)" in out


def test_files_as_levels_of_a_factor(cranfield: Cranfield, folder: Path) -> None:
    (folder / "second.csv").write_text((folder / "plain.csv").read_text().replace("0.4", "0.5"))
    shards = cranfield("anova", "-s", "plain.csv", "-s", "second.csv", "-i", "topic:system", "--across", "shard")
    assert "topic + system + shard + topic:system, 96 scores" in shards.out
    assert next(line for line in shards.out.splitlines() if line.startswith("error")).split()[2] == "47"  # 96 - 48 - 1
    apart = cranfield("anova", "-s", "matrix.csv", "-s", "plain.csv", "--across", "shard")  # topics 301.. and 1..
    assert apart.code == 2
    assert "no topic is in both 'matrix' and 'plain'" in apart.err
    collections = cranfield("anova", "-s", "matrix.csv", "-s", "plain.csv", "--across", "collection")
    assert "system + collection + topic(collection), 96 scores" in collections.out


def test_json_holds_everything(cranfield: Cranfield, folder: Path, values: np.ndarray) -> None:
    data = json.loads(cranfield("anova", "-s", "plain.csv", "--pairs", "--means", "system", "-f", "json").out)
    (one,) = data["analyses"]
    result = tukey(values)
    assert one["model"] == "topic + system"
    assert one["comparisons"][0]["half_width"] == result.half_width
    assert (one["comparisons"][0]["differ"], one["comparisons"][0]["of"]) == (int(result.differ.sum()), 6)
    assert [pair["p"] for pair in one["comparisons"][0]["pairs"]] == result.p.tolist()
    assert [level["mean"] for level in one["means"][0]["levels"]] == pytest.approx(values.mean(axis=0).tolist())


def test_html_latex_and_markdown(cranfield: Cranfield, folder: Path) -> None:
    html = cranfield("anova", "-s", "plain.csv", "-f", "html").out
    assert ET.fromstring(f"<div>{html}</div>").find("table") is not None
    latex = cranfield("anova", "-s", "plain.csv", "-f", "latex").out
    assert r"$\omega$$^2$" in latex
    assert r"\toprule" in latex
    assert "| source |" in cranfield("anova", "-s", "plain.csv", "-f", "markdown").out


def test_a_file_is_written(cranfield: Cranfield, folder: Path) -> None:
    assert cranfield("anova", "-s", "plain.csv", "-f", "csv", "-o", "out.csv").out == ""
    assert rows((folder / "out.csv").read_text())[0]["source"] == "topic"


def test_saved_scores(cranfield: Cranfield, folder: Path, values: np.ndarray) -> None:
    Scores.from_matrix(values, runs=RUNS, measure="AP").write(folder / "saved.json")
    assert cranfield("anova", "-s", "saved.json").out == cranfield("anova", "-s", "plain.csv", "-m", "AP").out


def test_an_undefined_score_is_left_out_with_a_note(cranfield: Cranfield, folder: Path) -> None:
    text = (folder / "plain.csv").read_text().splitlines()
    text[1] = "nan" + text[1][text[1].index(",") :]
    (folder / "hole.csv").write_text("\n".join(text))
    result = cranfield("anova", "-s", "hole.csv", "--type", "III")
    assert "47 scores, sums of squares of type III" in result.out
    assert "1 of 48 scores are undefined and left out" in result.out
    assert "44 scores" in cranfield("anova", "-s", "hole.csv", "--nan", "listwise").out


# -- what it refuses


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--factors", "parts.csv", "--factor", "stemer"), "no factor 'stemer'; did you mean 'stemmer'?"),
        (("--factors", "parts.csv", "--tukey", "modle"), "no factor 'modle'; did you mean 'model'?"),
        (("--interactions", "topic:qqq"), "no factor 'qqq'; there are 'topic', 'system'"),
        (("--means", "sistem"), "no factor 'sistem'; did you mean 'system'?"),
        (("--factor", "stemmer"), "give NAME=FILE, or a table with --factors"),
        (("--interactions", "topic:system"), "no degrees of freedom are left for the error"),
        (("--alpha", "1"), "alpha == 1.0, must be above 0 and below 1"),
        (("--type", "IV"), "must be one of 'I', 'II', 'III'"),
        (("--nan", "zero"), "must be one of 'listwise', 'pairwise'"),
        (("--across", "shard"), "give --scores FILE two times or more"),
        (("--nested", "topic"), "must be CHILD=PARENT"),
        (("--pairs", "--means", "system", "-f", "csv"), "leave out --pairs or --means"),
        (("-f", "trec"), "must be one of 'table'"),
        (("--sample",), "leave out --sample"),
    ],
)
def test_wrong_options_are_errors(cranfield: Cranfield, folder: Path, words: tuple[str, ...], message: str) -> None:
    result = cranfield("anova", "-s", "plain.csv", *words)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert len(result.err.splitlines()) == 1


def test_without_arguments_a_usage_is_printed(cranfield: Cranfield) -> None:
    result = cranfield("anova")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("usage: cranfield anova")


def test_one_topic_is_an_error(cranfield: Cranfield, folder: Path) -> None:
    (folder / "one.csv").write_text("a,b\n0.1,0.2\n")
    result = cranfield("anova", "-s", "one.csv")
    assert result.code == 2
    assert "1 topic (1), an analysis of variance needs 2 or more" in result.err


def test_a_run_without_a_level_is_an_error(cranfield: Cranfield, folder: Path) -> None:
    (folder / "few.csv").write_text("run,stemmer\na,no\nb,yes\n")
    result = cranfield("anova", "-s", "plain.csv", "--factors", "few.csv")
    assert (result.code, result.err) == (2, "error: factor 'stemmer' has no level for c, d\n")


def test_nesting_in_words() -> None:
    assert nesting(["seed=system", "topic=a,b"]) == {"seed": ("system",), "topic": ("a", "b")}
    with pytest.raises(UsageError, match="CHILD=PARENT"):
        nesting(["=x"])


def test_a_run_that_no_line_names_is_a_system_of_its_own(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("bm25 lexical\ncoord lexical\n")
    done = cranfield("anova", "--sample", "--factor", f"system={tmp_path / 'seeds.txt'}", "--means", "system")
    assert done.code == 0
    for level in ("lexical", "dense", "fusion"):
        assert level in done.out
    lacking = cranfield("anova", "--sample", "--factor", f"kind={tmp_path / 'seeds.txt'}")
    assert lacking.code == 2
    assert "factor 'kind' has no level for dense, fusion" in lacking.err


# -- random factors


def test_random_topics_are_fitted_by_reml(cranfield: Cranfield, folder: Path, values: np.ndarray) -> None:
    printed = cranfield("anova", "--scores", "matrix.csv", "--random", "topic", "-f", "csv")
    table = {row["source"]: row for row in rows(printed.out)}
    assert list(table) == ["system", "topic", "error"]
    # Balanced scores: the F of the two-way analysis, and its mean squares.
    theirs = two_way(values)
    assert float(table["system"]["f"]) == pytest.approx(theirs["system"].f, rel=1e-6)
    assert (table["system"]["df"], table["error"]["df"]) == ("3", "33")
    assert float(table["topic"]["variance"]) == pytest.approx((theirs["topic"].ms - theirs["error"].ms) / 4, rel=1e-6)


def test_scores_that_a_file_lacks_are_left_out_on_request(cranfield: Cranfield, tmp_path: Path) -> None:
    scores = np.random.default_rng(2).random((3, 7)).round(3).tolist()
    lines = [f"AP,{run},{topic},{scores[i][topic - 1]}" for i, run in enumerate("abc") for topic in range(1, 8)]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(["measure,run,topic,value", *lines[2:]]))  # a lacks topics 1 and 2
    words = ("anova", "--scores", str(path), "--random", "topic")
    skipped = cranfield(*words, "--missing", "skip")
    assert (skipped.err, "19 scores" in skipped.out) == ("", True)
    zero = cranfield(*words)
    assert "21 scores" in zero.out
    assert "2 of 21 lists have no score and count as 0: a 1, a 2" in zero.err
    assert "--missing RULE" in zero.err


def test_random_topics_with_pairs_means_and_json(cranfield: Cranfield, folder: Path, values: np.ndarray) -> None:
    words = ("anova", "--scores", "matrix.csv", "--random", "topic")
    pairs = rows(cranfield(*words, "--pairs", "-f", "csv").out)
    assert [float(row["p"]) for row in pairs] == pytest.approx(tukey(two_way(values)).p.tolist(), rel=1e-5)
    means = rows(cranfield(*words, "--means", "system", "-f", "csv").out)
    assert [float(row["mean"]) for row in means] == pytest.approx(values.mean(axis=0).tolist())
    (analysis,) = json.loads(cranfield(*words, "-f", "json").out)["analyses"]
    assert analysis["random"] == ["topic"]
    assert [comparison["factor"] for comparison in analysis["comparisons"]] == ["system"]
    text = cranfield(*words).out
    assert "system + random topic, REML" in text
    assert "of 6 pairs of systems differ at α = 0.05" in text


def test_random_topics_do_not_go_with_type_iii(cranfield: Cranfield, folder: Path) -> None:
    printed = cranfield("anova", "--scores", "matrix.csv", "--random", "topic", "--type", "III")
    assert printed.code == 2
    assert "--type III does not go with --random; use I or II" in printed.err


def test_levels_of_a_random_factor_are_not_compared(cranfield: Cranfield, folder: Path) -> None:
    printed = cranfield("anova", "--scores", "matrix.csv", "--random", "topic", "--tukey", "topic")
    assert printed.code == 2
    assert "only fixed factors have levels to compare (system)" in printed.err


# -- shards


def test_shards_are_scored_and_analysed(cranfield: Cranfield) -> None:
    words = ("anova", "--sample", "-m", "AP", "--shards", "3", "--seed", "4", "--quiet")
    table = {row["source"]: row for row in rows(cranfield(*words, "-f", "csv").out)}
    with pytest.warns(CranfieldWarning):
        parts = shard_scores(sample().qrels, list(sample().runs), "AP", 3, seed=4)
    expected = anova(parts, across="shard", interactions=["topic:system"])
    assert list(table) == [source.source for source in expected.sources]
    assert float(table["system"]["f"]) == pytest.approx(expected["system"].f)
    random = rows(cranfield(*words, "--random", "topic", "-f", "csv").out)
    assert [row["source"] for row in random] == ["system", "shard", "topic", "topic:system", "error"]
    assert random[0]["against"] == "topic:system"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--scores", "matrix.csv", "--shards", "3"), "leave out --scores"),
        (("--sample", "--shards", "1"), "--shards 1, must be 2 or more"),
        (("--sample", "--shards", "2", "--by", "parts.csv"), "--by and --shards do not go together"),
    ],
)
def test_wrong_shards_are_errors(cranfield: Cranfield, folder: Path, words: tuple[str, ...], message: str) -> None:
    printed = cranfield("anova", *words)
    assert printed.code == 2
    assert message in printed.err


def test_classes_interact_with_systems(cranfield: Cranfield, collection: Sample, tmp_path: Path) -> None:
    topics = [line.split()[0] for line in Path(collection.qrels).read_text().splitlines()]
    path = tmp_path / "classes.tsv"
    path.write_text(
        "".join(f"{topic}\t{'even' if int(topic) % 2 == 0 else 'odd'}\n" for topic in dict.fromkeys(topics))
    )
    words = ("anova", collection.qrels, *collection.runs, "-m", "AP", "--classes", str(path), "--quiet")
    assert "class:system" in cranfield(*words).out
    refused = cranfield(*words, "--by", str(path))
    assert refused.code == 2
    assert "--by analyses each class alone" in refused.err


def test_repeated_measures_test_effects_against_their_interaction_with_topics(
    cranfield: Cranfield, folder: Path, values: np.ndarray
) -> None:
    data = rows(cranfield("anova", "-s", "plain.csv", "--factors", "parts.csv", "--repeated", "-f", "csv").out)
    against = {row["source"]: row["against"] for row in data if row["against"]}
    assert against == {name: f"topic:{name}" for name in ("stemmer", "model", "stemmer:model")}
    refused = cranfield("anova", "-s", "plain.csv", "--repeated", "--random", "topic")
    assert "leave out --random" in refused.err


def test_one_way_leaves_topics_out(cranfield: Cranfield, folder: Path, values: np.ndarray) -> None:
    data = rows(cranfield("anova", "-s", "plain.csv", "--one-way", "-f", "csv").out)
    assert [row["source"] for row in data] == ["system", "error", "total"]
    assert float(data[0]["f"]) == pytest.approx(stats.f_oneway(*values.T).statistic)  # scipy


def test_scores_are_transformed_before_the_analysis(cranfield: Cranfield, folder: Path, values: np.ndarray) -> None:
    data = rows(cranfield("anova", "-s", "plain.csv", "--transform", "arcsine", "-f", "csv").out)
    assert float(data[1]["ss"]) == pytest.approx(two_way(np.arcsin(np.sqrt(values)))["system"].ss)


def test_residuals_are_printed_and_drawn(cranfield: Cranfield, folder: Path, values: np.ndarray) -> None:
    words = ("anova", "-s", "plain.csv", "--residuals", "normal")
    assert "Brown–Forsythe" in cranfield(*words, "--plot", "normal.svg").out
    assert ET.parse("normal.svg")
    data = rows(cranfield(*words, "-f", "csv").out)
    assert [float(row["score"]) for row in data] == pytest.approx(values.ravel().tolist())
    by_json = json.loads(cranfield(*words, "-f", "json").out)["analyses"][0]["residuals"]
    assert len(by_json["rows"]) == 4


@pytest.mark.parametrize("words", [("--random", "topic"), ("--repeated",)])
@pytest.mark.parametrize("also", [("--residuals", "fitted"), ("--one-way",)])
def test_what_needs_topics_goes_alone(
    cranfield: Cranfield, folder: Path, words: tuple[str, ...], also: tuple[str, ...]
) -> None:
    refused = cranfield("anova", "-s", "plain.csv", *words, *also)
    assert refused.code == 2
    assert "leave out" in refused.err

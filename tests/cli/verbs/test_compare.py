"""`cranfield compare`, as a user meets it."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.samples import Sample
from tests.cli.conftest import Cranfield, as_process


def test_the_sample_gives_a_ranking_the_pairs_and_how_it_was_done(cranfield: Cranfield) -> None:
    done = cranfield("compare", "--sample", "--why")
    assert done.code == 0
    assert "nDCG@10" in done.out
    assert "t test, two-sided; α = 0.05" in done.out
    assert "corrected for 6 comparisons (holm)" in done.out


def test_without_arguments_a_usage_is_printed(cranfield: Cranfield) -> None:
    done = cranfield("compare")
    assert done.code == 2
    assert "usage: cranfield compare" in done.err


@pytest.mark.parametrize("format", ["json", "csv", "tsv", "latex", "markdown", "html"])
def test_every_format_can_be_printed(cranfield: Cranfield, format: str) -> None:
    done = cranfield("compare", "--sample", "-m", "AP", "--format", format)
    assert done.code == 0
    if format == "json":
        assert len(json.loads(done.out)["pairs"]) == 6
    if format in ("csv", "tsv"):
        rows = list(csv.DictReader(io.StringIO(done.out), delimiter="," if format == "csv" else "\t"))
        assert len(rows) == 6
        assert {"system", "other", "p", "p adjusted", "d_z", "win"} <= set(rows[0])


def test_a_plain_matrix_with_and_without_a_topic_column(cranfield: Cranfield, tmp_path: Path) -> None:
    bare, named = tmp_path / "bare.csv", tmp_path / "named.csv"
    bare.write_text("a,b\n0.2,0.4\n0.6,0.7\n0.1,0.3\n")
    named.write_text("topic,a,b\n301,0.2,0.4\n302,0.6,0.7\n303,0.1,0.3\n")
    result = [json.loads(cranfield("compare", "--scores", str(one), "-f", "json").out) for one in (bare, named)]
    assert result[0]["pairs"] == result[1]["pairs"]
    assert result[0]["pairs"][0]["difference"] == pytest.approx(0.5 / 3)  # b − a: better − worse


def test_saved_scores_and_runs_give_the_same_result(cranfield: Cranfield, tmp_path: Path) -> None:
    saved = tmp_path / "scores.csv"
    assert cranfield("eval", "--sample", "-m", "AP,nDCG@10", "-q", "-f", "csv", "-o", str(saved)).code == 0
    fresh = json.loads(cranfield("compare", "--sample", "-m", "AP", "-f", "json").out)
    kept = json.loads(cranfield("compare", "--scores", str(saved), "-m", "AP", "-f", "json").out)
    assert fresh["pairs"] == kept["pairs"]


def test_baseline_topics_and_systems(cranfield: Cranfield, tmp_path: Path) -> None:
    done = cranfield("compare", "--sample", "--baseline", "bm25", "--per-topic")
    assert done.code == 0
    assert "− bm25, mean difference" in done.out
    table = tmp_path / "systems.txt"
    table.write_text("bm25 sparse\ncoord sparse\n")
    done = cranfield("compare", "--sample", "--systems", str(table), "-f", "json")
    assert {row["system"] for row in json.loads(done.out)["ranking"]} == {"sparse", "dense", "fusion"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--sample", "--alpha", "0"), "--alpha == 0"),
        (("--sample", "--test", "tuckey"), "did you mean 'tukey'"),
        (("--sample", "-B", "0", "--test", "bootstrap"), "resamples == 0"),
        (("--sample", "--baseline", "bm26"), "did you mean 'bm25'"),
        (("--sample", "--correction", "holmes"), "did you mean 'holm'"),
        (("qrels.txt",), "no run to score"),
        (("--sample", "--systems", "nowhere.txt"), "nowhere.txt"),
    ],
)
def test_wrong_options_are_errors(cranfield: Cranfield, words: tuple[str, ...], message: str) -> None:
    done = cranfield("compare", *words)
    assert done.code in (1, 2)
    assert message in done.err


def test_help_explains_the_options() -> None:
    done = as_process("compare", "--help")
    assert done.code == 0
    for word in ("--baseline", "--correction", "randomised-tukey", "Examples:"):
        assert word in done.out


def test_every_file_of_scores_can_be_a_collection(cranfield: Cranfield, tmp_path: Path) -> None:
    files = []
    for name, better in (("old", 0.1), ("new", 0.2)):
        rows = [f"{name}{t},{0.1 * t:.2f},{0.1 * t + better + 0.01 * (t % 3):.2f}" for t in range(1, 7)]
        files.append(tmp_path / f"{name}.csv")
        files[-1].write_text("topic,a,b\n" + "\n".join(rows) + "\n")
    words = [word for file in files for word in ("--scores", str(file))]
    done = cranfield("compare", *words, "--collections", "--format", "csv")
    assert done.code == 0
    rows_told = list(csv.DictReader(io.StringIO(done.out)))
    assert [(row["collection"], row["topics"]) for row in rows_told] == [("old", "6"), ("new", "6")]
    p = [float(row["p"]) for row in rows_told]  # Holm over both: the smaller doubled, the larger at least that
    adjusted = [float(row["p adjusted"]) for row in rows_told]
    assert min(adjusted) == pytest.approx(2 * min(p))
    assert max(adjusted) == pytest.approx(max(max(p), 2 * min(p)))
    assert float(rows_told[0]["difference"]) == pytest.approx(0.11)  # 0.1 and 0, 0.01 or 0.02 in turn
    alone = cranfield("compare", "--scores", str(files[0]), "--collections")
    assert alone.code == 2
    assert "give --scores FILE two times or more" in alone.err
    both = cranfield("compare", *words, "--collections", "--sample")
    assert both.code == 2
    assert "leave out --sample" in both.err


@pytest.mark.parametrize("option", [("--plot", "x.csv"), ("--per-topic",)])
def test_one_measure_is_asked_for_before_anything_is_read(cranfield: Cranfield, option: tuple[str, ...]) -> None:
    done = cranfield("compare", "absent.txt", "absent.run", "-m", "AP,RR", *option)
    assert done.code == 2
    assert re.search(f"{option[0]} (draws|shows) one measure, but there are 2; choose one with -m", done.err)


def test_a_wrong_seed_is_an_error_for_every_test(cranfield: Cranfield) -> None:
    done = cranfield("compare", "--sample", "--seed", "-1")
    assert done.code == 2
    assert "seed == -1, must be a whole number, 0 or more" in done.err


def test_an_empty_table_of_systems_is_an_error(cranfield: Cranfield, tmp_path: Path) -> None:
    table = tmp_path / "systems.txt"
    table.write_text("# nothing yet\n")
    done = cranfield("compare", "--sample", "--systems", str(table))
    assert done.code == 1
    assert "systems.txt: is empty, expected lines of run system" in done.err


def test_a_margin_and_the_rules_of_wilcoxon_are_options(cranfield: Cranfield, tmp_path: Path) -> None:
    import numpy as np
    from scipy import stats

    matrix = tmp_path / "matrix.csv"
    values = np.random.default_rng(2).integers(0, 5, (30, 2)) / 10
    matrix.write_text("a,b\n" + "\n".join(f"{x},{y}" for x, y in values.tolist()) + "\n")
    given = ("compare", "--scores", str(matrix), "-f", "json")

    d = np.round(values[:, 0] - values[:, 1], 1)
    for zeros in ("wilcox", "pratt", "zsplit"):
        done = cranfield(*given, "-t", "wilcoxon", "--zeros", zeros, "--p-values", "normal", "--continuity", "0")
        expected = stats.wilcoxon(d, zero_method=zeros, method="approx").pvalue
        assert json.loads(done.out)["pairs"][0]["p"] == pytest.approx(expected)
    pair = json.loads(cranfield(*given, "-t", "sign", "--margin", "0.1").out)["pairs"][0]
    assert (pair["win"], pair["tie"], pair["loss"]) == ((d > 0.1).sum(), (np.abs(d) <= 0.1).sum(), (d < -0.1).sum())
    assert pair["p"] == pytest.approx(stats.binomtest(pair["win"], pair["win"] + pair["loss"]).pvalue)


def test_a_setting_of_another_test_is_refused_with_the_name_of_its_test(cranfield: Cranfield) -> None:
    done = cranfield("compare", "--sample", "--margin", "0.1")
    assert done.code == 2
    assert "--margin == 0.1 is a setting of sign, not of t" in done.err
    done = cranfield("compare", "--sample", "-t", "wilcoxon", "--zeros", "all")
    assert done.code == 2
    assert "--zeros == 'all', must be one of 'wilcox', 'pratt', 'zsplit'" in done.err


def test_systems_within_the_margin_are_not_called_identical(cranfield: Cranfield, tmp_path: Path) -> None:
    matrix = tmp_path / "matrix.csv"
    matrix.write_text("a,b\n0.2,0.21\n0.6,0.59\n0.1,0.1\n")
    done = cranfield("compare", "--scores", str(matrix), "-t", "sign", "--margin", "0.05", "--why")
    assert "identical" not in done.out
    assert "no difference is above 0.05 in 1 pair: p = 1" in done.out


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
def test_scores_can_be_compared_on_other_scales(cranfield: Cranfield, collection: Sample) -> None:
    from cranfield.assessed.join import join
    from cranfield.comparison import compare
    from cranfield.meta import interval_scores, rank_scores

    words = ("compare", "--sample", "-m", "P@5,RR@5", "--quiet", "-f", "json")
    lists = join(collection.qrels, list(collection.runs))
    scores = cf.evaluate(collection.qrels, list(collection.runs), ["P@5", "RR@5"])
    for scale, expected in (("interval", interval_scores(lists, ["P@5", "RR@5"])), ("ranks", rank_scores(scores))):
        rows = json.loads(cranfield(*words, "--score-scale", scale).out)["pairs"]
        assert [row["p"] for row in rows] == pytest.approx(compare(expected).columns()["p"].tolist())
    failed = cranfield("compare", "-s", "x.csv", "--score-scale", "interval")
    assert "--score-scale interval needs judgments" in failed.err


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
def test_all_scales_side_by_side(cranfield: Cranfield, collection: Sample) -> None:
    from cranfield.assessed.join import join
    from cranfield.meta import compare_scales

    expected = compare_scales(join(collection.qrels, list(collection.runs)), ["P@10", "AP@10"])
    words = ("compare", "--sample", "-m", "P@10,AP@10", "--score-scale", "all", "--quiet")
    printed = json.loads(cranfield(*words, "-f", "json").out)
    assert printed["defaults"] == {"P@10": "t of scores", "AP@10": "sign of scores"} == expected.defaults
    assert [row["p (t, interval)"] for row in printed["rows"]] == pytest.approx(expected.p[1, 0].tolist())
    text = cranfield(*words).out
    assert "sign, any scale" in text
    assert "the scales of topics cannot be compared" in text
    assert "no interval scale: it needs judgments" in "\n".join(
        compare_scales(cf.evaluate(collection.qrels, list(collection.runs), "AP")).notes
    )
    assert len(cranfield(*words, "-f", "csv").out.splitlines()) == 1 + 12


@pytest.mark.parametrize("more", [("--pairs",), ("--transform", "arcsine"), ("--per-topic",)])
def test_scales_go_alone(cranfield: Cranfield, more: tuple[str, ...]) -> None:
    refused = cranfield("compare", "--sample", "--score-scale", "all", *more)
    assert refused.code == 2
    assert "leave out" in refused.err


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
def test_sizes_and_binary_grades(cranfield: Cranfield, collection: Sample) -> None:
    from cranfield.collection.qrels import Qrels
    from cranfield.comparison import compare

    words = ("compare", "--sample", "-m", "nDCG@10", "--binary", "2", "--rule-of-thumb", "--quiet", "-f", "json")
    scores = cf.evaluate(Qrels.read(collection.qrels).binary(2), list(collection.runs), "nDCG@10")
    expected = compare(scores, rule_of_thumb=True)
    printed = json.loads(cranfield(*words).out)
    assert [row["difference"] for row in printed["pairs"]] == pytest.approx(expected.columns()["difference"].tolist())
    assert [row["size"] for row in printed["pairs"]] == expected.columns()["size"].tolist()
    assert "leave out one of them" in cranfield("compare", "--scores", "x.csv", "--binary", "2").err

"""`cranfield compare`, and scores that are standardised or transformed before a test."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.cli.conftest import Cranfield

VALUES = np.random.default_rng(4).beta(2, 3, (25, 3)).round(4)


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    path = tmp_path / "matrix.csv"
    path.write_text("a,b,c\n" + "\n".join(",".join(map(str, row)) for row in VALUES.tolist()) + "\n")
    return path


def test_equivalence_on_the_command_line(cranfield: Cranfield, matrix: Path) -> None:
    done = cranfield("compare", "-s", str(matrix), "--test", "tost", "--margin", "0.2", "-b", "a", "-f", "json")
    d = VALUES[:, 1] - VALUES[:, 0]
    lower, upper = (
        stats.ttest_1samp(d, edge, alternative=side).pvalue for edge, side in ((-0.2, "greater"), (0.2, "less"))
    )
    assert json.loads(done.out)["rows"][0]["p"] == pytest.approx(max(lower, upper))


def test_what_a_test_lacks_is_named_with_its_option(cranfield: Cranfield, matrix: Path) -> None:
    done = cranfield("compare", "-s", str(matrix), "-t", "tost")
    assert (done.code, done.out) == (2, "")
    assert "tost needs the largest difference that does not matter" in done.err
    assert "on the command line: --margin D" in done.err
    done = cranfield("compare", "-s", str(matrix), "-t", "unpaired-t", "--collections")
    assert "give --scores FILE exactly two times" in done.err


def test_two_files_are_two_collections(cranfield: Cranfield, matrix: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("a,b\n0.5,0.2\n0.7,0.3\n0.1,0.6\n")
    words = ("--scores", str(matrix), "--scores", str(new), "--collections", "-t", "unpaired-t", "-f", "json")
    rows = json.loads(cranfield("compare", *words).out)["rows"]
    assert [(row["system"], row["collection"], row["other collection"]) for row in rows] == [
        ("a", "matrix", "new"),
        ("b", "matrix", "new"),
    ]
    assert rows[0]["p"] == pytest.approx(stats.ttest_ind(VALUES[:, 0], [0.5, 0.7, 0.1], equal_var=False).pvalue)


def test_scores_are_standardised_before_a_test(cranfield: Cranfield, matrix: Path) -> None:
    done = cranfield("compare", "-s", str(matrix), "--standardise", "z", "-f", "json")
    z = stats.zscore(VALUES, axis=1, ddof=1)
    result = json.loads(done.out)
    assert result["pairs"][0]["p"] == pytest.approx(stats.ttest_rel(z[:, 0], z[:, 1]).pvalue)
    assert "standardised per topic (z) on 3 runs" in result["notes"]


@pytest.mark.parametrize("verb", [("compare",), ("compare", "-t", "unpaired-t")])
def test_scores_are_transformed_before_a_test_and_a_note_says_so(
    cranfield: Cranfield, matrix: Path, verb: tuple[str, ...]
) -> None:
    result = json.loads(cranfield(*verb, "-s", str(matrix), "--transform", "arcsine", "-f", "json").out)
    x, y = np.arcsin(np.sqrt(VALUES[:, :2])).T
    expected = stats.ttest_rel(x, y) if verb == ("compare",) else stats.ttest_ind(x, y, equal_var=False)
    assert result["pairs" if verb == ("compare",) else "rows"][0]["p"] == pytest.approx(expected.pvalue)
    assert any(note.startswith("arcsine: every score x became arcsin √x") for note in result["notes"])


def test_a_score_without_an_arcsine_is_named(cranfield: Cranfield, tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("topic,a,b\n301,0.5,0.2\n302,1.7,0.3\n")
    done = cranfield("compare", "-s", str(path), "--transform", "arcsine")
    assert done.code == 2
    assert "score of a on topic 302 is 1.7, must be between 0 and 1 for arcsine" in done.err


def test_documents_are_resampled_beside_the_test_over_topics(cranfield: Cranfield) -> None:
    done = cranfield("compare", "--sample", "-m", "AP", "--test", "documents", "-B", "50", "--baseline", "bm25")
    header, *rows = done.out.splitlines()
    assert header.split("  ")[0] == "first"
    assert [row.split()[:2] for row in rows[:3]] == [["coord", "bm25"], ["dense", "bm25"], ["fusion", "bm25"]]
    by_topic = cranfield(
        "compare", "--sample", "-m", "AP", "--test", "documents", "-B", "50", "--per-topic", "-f", "csv"
    )
    assert by_topic.out.splitlines()[0] == "first,second,topic,difference,error,p"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--margin", "0.1"], "--margin does not apply to --test documents"),
        (["-m", "AP", "-m", "RR"], "--test documents takes one measure, but there are 2"),
        (["--alternative", "less"], "--alternative does not apply to --test documents"),
    ],
)
def test_options_of_other_tests_are_refused_for_documents(cranfield: Cranfield, words: list[str], message: str) -> None:
    done = cranfield("compare", "--sample", "--test", "documents", *words)
    assert message in done.err


@pytest.mark.parametrize("name", ["mean", "gmean", "median", "area"])
def test_unmatched_samples_are_compared_by_any_summary(cranfield: Cranfield, matrix: Path, name: str) -> None:
    def area(x: np.ndarray) -> float:  # under the mean of the x worst of the worst quarter, 6 of 25
        means = [np.sort(x)[:k].mean() for k in range(1, len(x) // 4 + 1)]
        return float(sum((low + high) / 2 for low, high in pairwise(means)))

    of = {"mean": np.mean, "gmean": stats.gmean, "median": np.median, "area": area}[name]
    words = ["compare", "-s", str(matrix), "--test", "unpaired-bootstrap", "--statistic", name, "-b", "a", "-f", "json"]
    row = json.loads(cranfield(*words, "-B", "2000").out)["rows"][0]
    b, a = VALUES[:, 1], VALUES[:, 0]
    observed = of(b) - of(a)
    assert row["estimate"] == pytest.approx(observed)
    # an independent bootstrap: both samples from all scores
    rng, pool = np.random.default_rng(99), np.concatenate([a, b])
    drawn = np.array([of(rng.choice(pool, 25)) - of(rng.choice(pool, 25)) for _ in range(2000)])
    assert row["p"] == pytest.approx((np.abs(drawn) >= abs(observed)).mean(), abs=0.06)


def test_a_statistic_belongs_to_unmatched_resampling(cranfield: Cranfield, matrix: Path) -> None:
    done = cranfield("compare", "-s", str(matrix), "--test", "tost", "--margin", "0.1", "--statistic", "median")
    assert done.code == 2
    assert "--statistic == 'median' is a setting of unpaired-bootstrap, unpaired-permutation, not of tost" in done.err
    done = cranfield("compare", "-s", str(matrix), "--test", "unpaired-bootstrap", "--statistic", "mode")
    assert done.code == 2
    assert "--statistic == 'mode', must be one of 't', 'mean', 'gmean', 'median', 'area'" in done.err

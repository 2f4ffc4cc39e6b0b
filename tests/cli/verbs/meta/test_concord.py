"""`cranfield meta concord` with scores and runs together."""

from pathlib import Path

from cranfield.samples import Sample
from tests.cli.conftest import Cranfield


def test_scores_and_runs_together_are_as_runs_alone(cranfield: Cranfield, tmp_path: Path) -> None:
    # the witness is the same comparison with all measures computed from the runs
    file = str(tmp_path / "s.csv")
    assert cranfield("eval", "--sample", "-m", "AP", "-q", "-f", "csv", "-o", file, "--quiet").code == 0
    words = ("meta", "concord", "--sample", "-m", "AP,RR", "--gold-measure", "P@5", "-f", "csv", "--quiet")
    together = cranfield(*words, "--scores", file)
    assert together.code == 0, together.err
    assert together.out == cranfield(*words).out


def test_scores_of_other_runs_are_refused(cranfield: Cranfield, collection: Sample, tmp_path: Path) -> None:
    file = str(tmp_path / "s.csv")
    cranfield("eval", "--sample", "-m", "AP", "-q", "-f", "csv", "-o", file, "--quiet")
    words = (collection.qrels, *collection.runs[:2], "--scores", file, "-g", "P@5")
    done = cranfield("meta", "concord", *words, "-m", "AP,RR")
    assert done.code == 2
    assert "only one of them has 'dense', 'fusion'" in done.err or "only one of them has dense, fusion" in done.err
    done = cranfield("meta", "concord", *words, "-m", "AP", "-g", "AP")
    assert done.code == 2


def test_topics_that_only_one_has_are_left_out_with_a_note(cranfield: Cranfield, tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    cranfield("eval", "--sample", "-m", "AP", "-q", "-f", "csv", "-o", str(file), "--quiet")
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if ",101," not in line))
    done = cranfield("meta", "concord", "--sample", "--scores", str(file), "-m", "AP,RR", "-g", "P@5", "--why")
    assert done.code == 0, done.err
    assert "1 topic left out that only the files or the judgments have" in done.out + done.err


def test_other_verbs_still_refuse_both(cranfield: Cranfield, tmp_path: Path) -> None:
    done = cranfield("meta", "gtheory", "--sample", "--scores", str(tmp_path / "s.csv"))
    assert done.code == 2
    assert "--scores replaces judgments and runs" in done.err

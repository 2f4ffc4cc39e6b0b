"""`cranfield fuse`: one run from several."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield import Run
from tests.cli.conftest import Cranfield

FIRST = "1 Q0 a 1 9 x\n1 Q0 b 2 5 x\n"
SECOND = "1 Q0 b 1 0.8 y\n1 Q0 c 2 0.6 y\n"


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    for name, text in {"x.run": FIRST, "y.run": SECOND}.items():
        (tmp_path / name).write_text(text)
    return str(tmp_path / "x.run"), str(tmp_path / "y.run")


def test_the_fused_run_is_printed_best_first_with_ranks(cranfield: Cranfield, runs: tuple[str, str]) -> None:
    lines = cranfield("fuse", *runs, "--method", "combmnz").out.splitlines()
    assert [line.split() for line in lines] == [  # min-max: b has 0 + 1 in 2 lists, a 1 in one, c 0
        ["1", "Q0", "b", "1", "2.0", "combmnz"],
        ["1", "Q0", "a", "2", "1.0", "combmnz"],
        ["1", "Q0", "c", "3", "0.0", "combmnz"],
    ]


def test_the_fused_run_is_written_in_the_format_of_the_file(
    cranfield: Cranfield, runs: tuple[str, str], tmp_path: Path
) -> None:
    target = tmp_path / "fused.json.gz"
    result = cranfield("fuse", *runs, "--method", "rrf(k=1)", "--name", "mine", "--top", "1", "-o", str(target))
    assert result.out == f"{target}: mine, 1 topic, 1 document\n"
    assert Run.read(target).to_dict() == {"1": {"b": 1 / 3 + 1 / 2}}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--method", "rff"), "no fusion method 'rff'; did you mean 'rrf'?"),
        (("--method", "rrf(k=x)"), "rrf: k == 'x', must be a number"),
        (("--method", "rrf("), "fusion method 'rrf(': expected a parameter's name or )"),
        (("--norm", "z"), "--norm == 'z', but rrf uses ranks, not scores; leave it out"),
        (("--weights", "1"), "1 weight for 2 runs (x, y); give one for each"),
        (("--weights", "1,b"), "--weights 1,b: expected numbers separated by commas"),
        (("--weights", "1,nan"), "weight of y == nan, must be a number"),
        (("--depth", "0"), "--depth == 0, must be a whole number, 1 or more"),
    ],
)
def test_wrong_options(
    cranfield: Cranfield, runs: tuple[str, str], words: tuple[str, ...], message: str
) -> None:  # fmt: skip
    result = cranfield("fuse", *runs, *words)
    assert result.code == 2
    assert message in result.err


def test_a_wrong_line_is_named(cranfield: Cranfield, runs: tuple[str, str], tmp_path: Path) -> None:
    bad = tmp_path / "bad.run"
    bad.write_text(FIRST + "1 Q0 c 3 high x\n")
    result = cranfield("fuse", runs[0], str(bad))
    assert (result.code, f"{bad}:3: the score is 'high', expected a number" in result.err) == (1, True)

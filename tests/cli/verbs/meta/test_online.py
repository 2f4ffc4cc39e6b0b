"""`cranfield meta online`, as a user meets it."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")


def test_simulated_outcomes_can_be_written_and_read_again(cranfield: Cranfield, tmp_path: Path) -> None:
    path = tmp_path / "outcomes.tsv"
    words = ("meta", "online", "--sample", "-m", "AP,RR", "-B", "50", "--subsets", "5", "-f", "json", "--quiet")
    made = cranfield(*words, "--simulate", "--simulated-queries", "200", "--write", str(path))
    read = cranfield(*words, "--outcomes", str(path))
    assert (made.code, read.code) == (0, 0)
    assert json.loads(made.out)["rows"] == json.loads(read.out)["rows"]
    assert {row["comparison"] for row in json.loads(read.out)["rows"]} == {"ab", "interleaving"}


def test_a_figure_is_drawn(cranfield: Cranfield, tmp_path: Path) -> None:
    outcomes, figure = tmp_path / "outcomes.tsv", tmp_path / "agreement.svg"
    outcomes.write_text("bm25\tcoord\t0.2\nbm25\tfusion\t-0.1\n")
    done = cranfield(
        "meta", "online", "--sample", "-m", "AP", "--outcomes", str(outcomes), "--plot", str(figure), "--quiet"
    )
    assert done.code == 0
    assert "<svg" in figure.read_text()


@pytest.mark.parametrize(
    "option", [("--user", "informational"), ("--simulated-queries", "7"), ("--simulated-metric", "clicks")]
)
def test_options_of_the_simulation_need_it(cranfield: Cranfield, option: tuple[str, str]) -> None:
    done = cranfield("meta", "online", "--sample", "--outcomes", "none.tsv", *option)
    assert done.code == 2
    assert f"{option[0]} is for simulated outcomes: give --simulate" in done.err


def test_outcomes_are_given_or_simulated(cranfield: Cranfield) -> None:
    done = cranfield("meta", "online", "--sample")
    assert done.code == 2
    assert "--outcomes FILE, or simulate them: --simulate" in done.err

"""`cranfield meta meaningful`, as a user meets it."""

from tests.cli.conftest import Cranfield


def test_the_command_line_shows_statements_pairs_and_correlations(cranfield: Cranfield) -> None:
    shown = cranfield("meta", "meaningful", "--sample", "-m", "AP,P@10", "--quiet")
    assert "Statements that survive" in shown.out
    assert "Correlation of two rankings" in shown.out
    pairs = cranfield("meta", "meaningful", "--sample", "-m", "AP", "--show", "pairs", "-f", "csv", "--quiet")
    assert pairs.out.splitlines()[0].startswith("measure,better,worse,difference,holds")
    alone = cranfield("meta", "meaningful", "--sample", "-m", "AP", "--show", "correlations")
    assert alone.code == 2

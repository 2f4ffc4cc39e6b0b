"""Which notes are shown, and that nothing is said both on standard error and below the table."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

VERBS = [
    "eval --sample -m AP",
    "compare --sample -m AP",
    "anova --sample -m AP",
    "meta correlate --sample -m AP,RR -B 10",
    "meta power --sample -m AP -B 20",
    "meta swap --sample -m AP -B 20",
    "meta concord --sample -m AP,RR --gold-measure P@5",
    "meta gtheory --sample -m AP",
    "meta scale --sample -m AP",
    "power --sample -m AP -d 0.1",
]
"""In the sample, the run dense lacks topic 114, and topic 113 has no relevant document: AP is undefined."""


@pytest.mark.parametrize("verb", VERBS)
def test_missing_topics_and_undefined_scores_are_noted_once(cranfield: Cranfield, verb: str) -> None:
    done = cranfield(*verb.split(), "--why")
    assert (done.code, done.err) == (0, "")
    (missing,) = [line for line in done.out.splitlines() if "missing" in line and "dense" in line]
    assert "114" in missing
    assert len([line for line in done.out.splitlines() if "undefined" in line or "has no score" in line]) == 1


@pytest.mark.parametrize("verb", VERBS)
def test_csv_notes_missing_topics_and_undefined_scores_once(cranfield: Cranfield, verb: str) -> None:
    lines = cranfield(*verb.split(), "--why", "-f", "csv").err.splitlines()
    assert len([line for line in lines if "dense" in line and "114" in line]) == 1
    assert len([line for line in lines if "113" in line]) == 1


def test_csv_of_each_topic_has_no_notes_so_that_warnings_are_printed(cranfield: Cranfield) -> None:
    missing, undefined = cranfield("eval", "--sample", "-m", "AP", "-q", "-f", "csv").err.splitlines()
    assert missing == "warning: 1 judged topic missing from runs: dense (114)"
    assert undefined.startswith("warning: AP: undefined on 1 of 24 topics (113)")


@pytest.mark.parametrize("more", [["-f", "json"], ["-f", "csv"], ["-o", "table.txt"]])
def test_where_notes_are_not_below_a_table_the_warnings_are_printed(
    cranfield: Cranfield, more: list[str], tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    done = cranfield("compare", "--sample", "-m", "AP", *more)
    assert "warning: 1 judged topic missing from runs: dense (114)" in done.err
    assert "warning: AP: undefined on 1 of 24 topics (113)" in done.err


@pytest.mark.parametrize("format", ["table", "markdown", "html", "latex", "json", "csv", "tsv", "trec"])
@pytest.mark.parametrize("verb", [("eval",), ("eval", "-q"), ("leaderboard",)])
def test_every_format_of_scores_says_which_order_was_used(
    cranfield: Cranfield, verb: tuple[str, ...], format: str
) -> None:
    if format == "trec" and verb == ("leaderboard",):
        return
    for order, said in ((("--order", "rank"), "order: rank"), (("--ties", "a-z"), "equal scores: a-z")):
        done = cranfield(*verb, "--sample", "-m", "AP", "-f", format, "--why", *order)
        assert (done.code, (done.out + done.err).count(said) > 0) == (0, True)
        if format in ("csv", "tsv", "trec") and "-q" not in verb:
            assert said not in done.out  # rows and nothing else


@pytest.mark.parametrize("verb", VERBS)
def test_a_table_ends_with_two_notes_and_the_number_of_the_others_which_why_shows(
    cranfield: Cranfield, verb: str
) -> None:
    short, full = (cranfield(*verb.split(), *why).out.splitlines() for why in ((), ("--why",)))
    if "more note" not in short[-1]:
        assert short == full
        return
    hidden = int(short[-1].split()[0])
    assert short[-1].endswith(": --why")
    assert len(full) == len(short) - 1 + hidden
    assert short[:-1] == full[: len(short) - 1]


def test_the_test_comes_first_and_cautions_before_what_describes_the_method(cranfield: Cranfield) -> None:
    lines = cranfield("compare", "--sample", "-m", "AP", "--why").out.splitlines()
    (test,) = [place for place, line in enumerate(lines) if line.startswith("t test, two-sided")]
    (method,) = [place for place, line in enumerate(lines) if "comparisons together" in line]
    warned = [
        place for place, line in enumerate(lines) if "left out" in line or line.startswith(("caution", "missing"))
    ]
    assert len(warned) >= 3
    assert test < min(warned)
    assert max(warned) < method


def test_notes_that_are_not_printed_are_in_json(cranfield: Cranfield) -> None:
    *_, last = cranfield("meta", "swap", "--sample", "-m", "AP", "-B", "20").out.splitlines()
    notes = json.loads(cranfield("meta", "swap", "--sample", "-m", "AP", "-B", "20", "-f", "json").out)["notes"]
    assert last == f"{len(notes) - 2} more notes: --why"


@pytest.mark.filterwarnings("ignore")
def test_a_file_has_all_notes(cranfield: Cranfield, tmp_path: Path) -> None:
    """Who reads it later cannot add --why."""
    assert "more notes: --why" in cranfield("compare", "--sample", "-m", "AP").out
    cranfield("compare", "--sample", "-m", "AP", "-o", tmp_path / "out.md")
    text = (tmp_path / "out.md").read_text("utf-8")
    assert "t test, two-sided" in text
    assert "--why" not in text

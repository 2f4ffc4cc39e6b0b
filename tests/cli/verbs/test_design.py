import csv
import io

import pytest

from cranfield.cli import main


@pytest.fixture
def topics(tmp_path):
    path = tmp_path / "topics.tsv"
    path.write_text("".join(f"{i}\ttopic {i}\n" for i in range(1, 7)))
    return str(path)


def test_the_plan_has_a_row_per_search_and_notes_about_its_balance(topics, capsys):
    assert main(["collection", "design", "--users", "6", "--system", "a,b,c", "--topics", topics, "-f", "csv"]) == 0
    out, err = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 36
    assert list(rows[0]) == ["user", "place", "block", "topic", "system"]
    assert "every topic is used 2 times with every system" in err


def test_a_row_per_user(topics, capsys):
    assert (
        main(
            [
                "collection",
                "design",
                "--users",
                "4",
                "--system",
                "a",
                "--system",
                "b",
                "--topics",
                topics,
                "--show",
                "orders",
            ]
        )
        == 0
    )
    assert sum(line.startswith("user") for line in capsys.readouterr().out.splitlines()) == 1 + 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--system", "a"], "1 system, must be 2 or more"),
        (["--system", "a,b,c,d,e,f,g"], "6 topics for 7 systems"),
        ([], "no systems; name two or more: --system a,b,c"),
    ],
)
def test_what_is_missing(words, message, topics, capsys):
    assert main(["collection", "design", "--users", "4", "--topics", topics, *words]) == 2
    assert message in capsys.readouterr().err

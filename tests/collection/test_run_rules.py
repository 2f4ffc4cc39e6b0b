"""What is wrong with an uploaded run."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from cranfield.collection.run_rules import Checked, check_run
from cranfield.collection.run_rules import RunRules as Rules

GOOD = "1 Q0 a 1 2.0 mine\n1 Q0 b 2 1.0 mine\n2 Q0 a 1 1.0 mine\n"
DEFAULT = Rules()


def checked(tmp_path: Path, content: str | bytes, rules: Rules = DEFAULT) -> Checked:
    path = tmp_path / "upload.part"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return check_run(str(path), "mine.run", rules, ["1", "2"], lambda ids: sorted(set(ids) - {"a", "b"}))


def test_a_good_run_has_a_tag_and_its_size(tmp_path: Path) -> None:
    result = checked(tmp_path, GOOD, Rules(documents="collection"))
    assert (result.errors, result.tag, result.lists, result.documents) == ((), "mine", 2, 3)


def test_a_bad_line_is_named_by_the_file_that_the_team_uploaded(tmp_path: Path) -> None:
    result = checked(tmp_path, GOOD + "2 Q0 b 2 high mine\n")
    assert [str(error) for error in result.errors] == [
        "mine.run:4: error: the score is 'high', expected a number [not-a-number]"
    ]


@pytest.mark.parametrize(
    ("content", "rules", "message"),
    [
        (GOOD, Rules(depth=1), "topic '1' has 2 documents, at most 1 are allowed"),
        (GOOD, Rules(least=2), "topic '2' has 1 document, at least 2 are needed"),
        (GOOD, Rules(tag="[A-Z]+"), "the tag is 'mine', must match [A-Z]+"),
        (GOOD.replace("2 Q0", "3 Q0"), Rules(), "1 topic is unknown: 3"),
        (GOOD.replace("2 Q0", "3 Q0"), Rules(), "1 topic is missing: 2"),
        (GOOD.replace("b", "z"), Rules(documents="collection"), "1 document is not in the collection: z"),
        (GOOD + "2 Q0 b 2 0.5 yours\n", Rules(), "the file has 2 tags: mine, yours; expected one run in a file"),
        ("1\ta\t1\n2\tb\t1\n", Rules(), "the run has no tag; expected 6 columns: topic Q0 doc rank score tag"),
        ("", Rules(), "is empty"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_an_error_with_the_value(tmp_path: Path, content: str, rules: Rules, message: str) -> None:
    assert any(message in error.message for error in checked(tmp_path, content, rules).errors)


def test_topics_may_be_missing_if_the_rules_allow_it(tmp_path: Path) -> None:
    assert not checked(tmp_path, "1 Q0 a 1 2.0 mine\n", Rules(all_topics=False)).errors


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (gzip.compress(GOOD.encode(), mtime=0), "compressed by gzip"),
        (b"PK\x03\x04 and more", "a ZIP archive"),
        (b"\0" * 257 + b"ustar\0" + b"\0" * 300, "a tar archive"),
        (b"BZh9", "compressed by bzip2"),
    ],
    ids=["gzip", "zip", "tar", "bzip2"],
)
def test_an_archive_is_refused_and_not_unpacked(tmp_path: Path, content: bytes, kind: str) -> None:
    (error,) = checked(tmp_path, content).errors
    assert error.message == f"is {kind}; upload the run itself, as text"

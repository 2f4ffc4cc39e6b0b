"""What is wrong with an uploaded run."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from cranfield.collection.linting import run_rules
from cranfield.collection.linting.run_rules import Checked, check_run
from cranfield.collection.linting.run_rules import RunRules as Rules
from tests.peak_memory import needs_peak_memory

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
        (GOOD.replace("2 Q0", "3 Q0"), Rules(), "topic '3' is unknown"),
        (GOOD.replace("2 Q0", "3 Q0"), Rules(), "1 topic is missing: 2"),
        (GOOD.replace("b", "z"), Rules(documents="collection"), "document 'z' is not in the collection"),
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


def test_unknown_topics_and_documents_are_listed_with_their_lines(tmp_path: Path) -> None:
    content = GOOD + "02 Q0 y 1 1.0 mine\n2 Q0 z 2 high mine\n3 Q0 a 1 1 mine\n3 Q0 y 2 0 mine\n"
    result = checked(tmp_path, content, Rules(documents="collection"))
    assert [(one.line, one.code, one.message) for one in result.findings] == [
        (4, "unknown-topics", "topic '02' is unknown"),
        (4, "unknown-documents", "document 'y' is not in the collection"),
        (5, "not-a-number", "the score is 'high', expected a number"),
        (6, "unknown-topics", "topic '3' is unknown"),
        (None, "topic-ids", "topics '2' and '02' differ only by leading zeros or case"),
    ]
    (missing,) = (one for one in checked(tmp_path, GOOD.replace("2 Q0", "02 Q0")).errors if one.line)
    assert (missing.line, missing.message) == (3, "topic '02' is unknown; did you mean '2'?")


def test_many_unknown_topics_and_documents_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_rules, "DOCS_AT_ONCE", 7)  # several parts
    content = "".join(f"x{number // 2} Q0 y{number} 1 {-number} mine\n" for number in range(50))
    errors = checked(tmp_path, content, Rules(documents="collection", all_topics=False)).errors
    topics = [(one.line, one.message) for one in errors if one.code == "unknown-topics"]
    assert topics[:2] == [(1, "topic 'x0' is unknown"), (3, "topic 'x1' is unknown")]
    assert (len(topics), topics[-1]) == (21, (41, "5 more topics are unknown"))
    docs = [(one.line, one.message) for one in errors if one.code == "unknown-documents"]
    assert docs[:2] == [
        (1, "document 'y0' is not in the collection"),
        (2, "document 'y1' is not in the collection"),
    ]
    assert (len(docs), docs[-1]) == (21, (21, "30 more entries have documents that are not in the collection"))


def test_unknown_documents_are_warnings_if_any_document_is_allowed(tmp_path: Path) -> None:
    result = checked(tmp_path, GOOD.replace("b", "z"), Rules(documents="any"))
    assert not result.errors
    assert [str(one) for one in result.findings] == [
        "mine.run:2: warning: document 'z' is not in the collection [unknown-documents]"
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"1": {"a": 1.0}, "2": {"a": 2.0}}', "is in the format json, expected lines of topic Q0 doc rank score tag"),
        (b"PAR1" + b"\0" * 50, "is in the format parquet, expected lines of topic Q0 doc rank score tag"),
        ("query_id,doc_id,score\n1,a,2\n", "is in the format csv, expected lines of topic Q0 doc rank score tag"),
        ("".join(f"{number} Q0 a 1 1 mine\n" for number in range(10_021)), "has more than 10,020 topics"),
        ("".join(f"1\tQ0\ta\t1\t1\t{number} \r\n" for number in range(1_001)), "has more than 1,000 tags"),
    ],
    ids=["JSON", "Parquet", "CSV", "topics", "tags"],
)
def test_a_file_that_would_take_much_memory_is_not_read(tmp_path: Path, content: str | bytes, message: str) -> None:
    (error,) = checked(tmp_path, content).findings
    assert (error.severity, error.message) == ("error", message)


FILES = {
    "every line is a repeat": b"1 Q0 a 1 1 mine\n" * 120_000,
    "nothing but empty lines": b"1 Q0 a 1 1 mine\n" + b"\n" * 2_000_000,
}


@needs_peak_memory
@pytest.mark.parametrize("name", FILES)
def test_memory_is_bounded_whatever_a_file_holds(tmp_path: Path, name: str) -> None:
    """A file of 2 MB may take 40 MB: twelve times its size, and what the modules of the check take."""
    (tmp_path / "run").write_bytes(FILES[name])
    script = (
        "import re, sys; from cranfield.collection.linting.run_rules import RunRules, check_run\n"
        "def peak(): return int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        "rules = RunRules(documents='collection'); check_run(sys.argv[1], '', rules, ['1'], set); before = peak()\n"
        "check_run(sys.argv[2], '', rules, ['1'], set); print(peak() - before)\n"
    )
    (tmp_path / "small").write_bytes(b"1 Q0 a 1 1 mine\n")
    command = [sys.executable, "-c", script, str(tmp_path / "small"), str(tmp_path / "run")]
    kilobytes = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert kilobytes < 40_000


def test_bytes_that_are_not_text_are_an_error_with_their_line(tmp_path: Path) -> None:
    """The linter only notes them; a database and a page cannot hold them."""
    (error,) = checked(tmp_path, GOOD.encode() + b"2 Q0 b\xff 2 0.5 mine\n").errors
    assert (error.line, error.message) == (4, "byte 0xff is not UTF-8, expected text")

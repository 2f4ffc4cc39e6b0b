"""The linter reports everything at once, with file and line."""

from __future__ import annotations

import gzip
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import cranfield
from cranfield.collection.linting import file_findings
from cranfield.collection.linting.file_findings import Finding
from cranfield.collection.linting.lint import Entries, _followers, check_files
from cranfield.collection.run import Run

SAMPLES = Path(cranfield.__file__).parent / "samples"


class Folder:
    """Writes files and lints them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def file(self, name: str, data: bytes) -> Path:
        (self.path / name).write_bytes(data)
        return self.path / name

    def qrels(self, data: bytes) -> list[tuple[int | None, str, str, str]]:
        return as_tuples(check_files(qrels=[self.file("q", data)]))

    def run(self, data: bytes) -> list[tuple[int | None, str, str, str]]:
        return as_tuples(check_files(runs=[self.file("r", data)]))


def as_tuples(findings: list[Finding]) -> list[tuple[int | None, str, str, str]]:
    return [(finding.line, finding.severity, finding.code, finding.message) for finding in findings]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_good_files_have_no_findings(folder: Folder) -> None:
    assert folder.qrels(b"1 0 a 1\n1 0 b 0\n") == []
    assert folder.run(b"1 Q0 a 1 2.0 x\n1 Q0 b 2 1.0 x\n") == []


def test_every_fault_is_reported(folder: Folder) -> None:
    assert folder.qrels(b"1 0 a 1\n1 0 b\n1 0 c x\n1 0 a 2\n1 0 d nan\n1 0 a 1\n") == [
        (2, "error", "columns", "3 columns, expected 4: topic iteration doc grade"),
        (3, "error", "not-a-number", "the grade is 'x', expected a number"),
        (
            4,
            "error",
            "different-grades",
            "document 'a' appears twice for topic '1', first on line 1, with grades 1 and 2",
        ),
        (5, "error", "nan", "the grade is 'nan', not a number that can be ordered"),
        (6, "error", "duplicate", "document 'a' appears twice for topic '1', first on line 1"),
    ]


def test_faults_beyond_a_thousand_are_counted(folder: Folder) -> None:
    findings = folder.qrels(b"1 0 a 1\n" + b"bad\n" * 1500)
    assert len(findings) == 1001
    assert findings[0][0] == 2
    assert findings[-1] == (1002, "error", "more", "500 more faults, from this line on")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty"),
        (b"# nothing\n", "empty"),
        (b"\x7fELF\0\0", "binary"),
        (gzip.compress(b"1 0 a 1\n" * 100, mtime=0)[:30], "truncated"),
        (b"PAR1 nothing", "damaged"),
        (b'{"1": {"a": 1}', "not-json"),
        (b"query-id\tcorpus-id\tscore\n", "empty"),
        (b"1 0 " + b"x" * 70_000 + b" 1\n", "long-id"),
    ],
)
def test_files_that_cannot_be_read(folder: Folder, data: bytes, code: str) -> None:
    assert [(severity, reported) for _, severity, reported, _ in folder.qrels(data)] == [("error", code)]


def test_missing_files(tmp_path: Path) -> None:
    findings = check_files(qrels=[tmp_path / "none"], runs=[tmp_path], topics=[tmp_path / "no"])
    assert [(finding.code, finding.path) for finding in findings] == [
        ("missing-file", str(tmp_path / "none")),
        ("directory", str(tmp_path)),
        ("missing-file", str(tmp_path / "no")),
    ]


def test_bytes(folder: Folder) -> None:
    assert folder.qrels(b"\xef\xbb\xbf1 0 a 1\r\n1 0 b 1 \n1 0 c 1\n1 0 \xff 1\t\r\n") == [
        (1, "info", "byte-order-mark", "begins with a UTF-8 byte order mark"),
        (2, "info", "line-ends", "mixed line ends: 2 lines in CR LF, 2 lines in LF"),
        (2, "info", "trailing-blanks", "2 lines end in blanks"),
        (4, "info", "not-utf-8", "byte 0xff is not UTF-8: Arrow and Parquet cannot hold it"),
    ]
    assert folder.qrels(b"1 0 a 1\r\n1 0 b 1\r\n") == []
    assert folder.qrels(b"1 0 a 1\n\n1 0 b 1  ") == [(3, "info", "trailing-blanks", "1 line ends in blanks")]


def test_grades(folder: Folder) -> None:
    assert folder.qrels(b"1 0 a 1\n1 0 b -1\n1 0 c 0.5\n1 0 d 1.5\n1 0 e inf\n2 0 a 0\n") == [
        (None, "warning", "topic-without-relevant", "topics without a relevant document: 2"),
        (2, "info", "negative-grades", "1 grade is negative"),
        (3, "info", "fractional-grades", "2 grades are not integers; trec_eval reads the part before the point"),
        (5, "warning", "infinite", "1 grade is infinite"),
    ]
    assert folder.qrels(b"1 0 a 0\n2 0 b 0\n") == [
        (None, "warning", "nothing-relevant", "no document is judged relevant")
    ]
    assert folder.qrels(b"1 a d 1\n1 b d 1\n") == [
        (2, "info", "intents", "documents have several labels in column 2: these are judgments by intent (a, b)")
    ]
    assert folder.qrels(b"1 1 d 1\n1 2 e 1\n") == [
        (2, "info", "iterations", "column 2 varies within topics (1, 2), but no document has two labels: it is ignored")
    ]


def test_scattered_topics(folder: Folder) -> None:
    assert folder.qrels(b"1 0 a 1\n2 0 a 1\n1 0 b 1\n3 0 a 1\n2 0 b 1\n") == [
        (3, "info", "scattered", "the lines of a topic are not together: topics 1, 2")
    ]


def test_topic_ids_that_look_alike(folder: Folder) -> None:
    assert folder.qrels(b"51 0 a 1\n051 0 a 1\nMB1 0 a 1\nmb01 0 a 1\n100 0 a 1\n10 0 a 1\n") == [
        (None, "warning", "topic-ids", "topics '51' and '051' differ only by leading zeros or case"),
        (None, "warning", "topic-ids", "topics 'MB1' and 'mb01' differ only by leading zeros or case"),
    ]


def test_ranks(folder: Folder) -> None:
    assert folder.run(b"1 Q0 a 0 3 x\n1 Q0 b 1 2 x\n2 Q0 a 2 3 x\n2 Q0 b 3 2 x\n") == [
        (1, "warning", "rank-from-0", "1 list begins at rank 0: topic 1"),
        (3, "warning", "rank-start", "1 list begins at another rank than 1: topic 2"),
    ]
    assert folder.run(b"1 Q0 a 1 9 x\n1 Q0 b 1 8 x\n1 Q0 c 2 7 x\n1 Q0 d 5 6 x\n1 Q0 e 6 6.5 x\n") == [
        (2, "warning", "repeated-rank", "1 rank appears twice: topic 1"),
        (4, "warning", "rank-gap", "1 gap between ranks: topic 1"),
        (5, "warning", "rank-against-score", "1 score is higher than that of the previous rank: topic 1"),
    ]
    assert folder.run(b"1 Q0 a - 9 x\n1 Q0 b 2 8 x\n") == [
        (1, "warning", "rank-not-a-number", "1 rank is not a number")
    ]


def test_scores(folder: Folder) -> None:
    assert folder.run(b"1 Q0 a 1 2 x\n1 Q0 b 2 1 x\n1 Q0 c 3 1 x\n2 Q0 a 1 inf x\n") == [
        (3, "info", "ties", "1 document has the score of another (50% of the lists); tied documents are ordered by id"),
        (4, "warning", "infinite", "1 score is infinite"),
    ]
    # 1 + 2^-30 differs from 1 in 64 bits, not in 32
    assert folder.run(b"1 Q0 a 1 1.00000000093132257 x\n1 Q0 b 2 1 x\n") == [
        (1, "warning", "single-precision",
         "1 score differs from another in 64 bits but not in 32: trec_eval up to version 9 compares 32 bits and "
         "treats them as ties")
    ]  # fmt: skip


def test_runs_of_odd_shape(folder: Folder) -> None:
    long = b"".join(b"1 Q0 d%d %d %d x\n" % (i, i + 1, -i) for i in range(1001))
    assert folder.run(long) == [(None, "info", "long-list", "1 list has more than 1,000 documents, the longest 1,001")]
    assert folder.run(b"1 Q0 a 1 1 x\n2 Q0 a 1 1 y\n") == [
        (
            None,
            "warning",
            "several-tags",
            "2 tags (x, y) are read as one run; to read a run for each tag: split_tags=True",
        )
    ]
    two = folder.file("two", b"1 Q0 a 1 1 x\n1 Q0 a 1 1 y\n")
    assert [(f.severity, f.message) for f in check_files(runs=[two], split_tags=True)] == [
        ("info", "2 runs in one file: x, y")
    ]
    assert folder.run(b'{"1": {"a": 1, "b": 1}}') == [
        (
            None,
            "info",
            "ties",
            "1 document has the score of another (100% of the lists); tied documents are ordered by id",
        )
    ]


def test_files_together(folder: Folder) -> None:
    qrels = folder.file("q", b"051 0 a 1\n2 0 a 1\n3 0 a 1\n")
    first = folder.file("r1", b"51 Q0 a 1 1 x\n2 Q0 a 1 1 x\n")
    second = folder.file("r2", b"2 Q0 b 1 1 x\n3 Q0 b 1 1 x\n051 Q0 c 1 1 x\n")
    third = folder.file("r3", b"77 Q0 a 1 1 z\n")
    topics = folder.file("t.tsv", b"2\twings\n3\ttails\n")
    findings = check_files([qrels], [first, second, third], [topics])
    assert [(Path(f.path).name, f.severity, f.code, f.message) for f in findings] == [
        ("q", "warning", "unknown-topics", "1 topic is not in the topics: 051"),
        ("r1", "warning", "missing-topics", "2 topics of the judgments missing: 051, 3"),
        ("r1", "warning", "topic-ids", "topic '51' is '051' in the judgments: they differ by leading zeros or case"),
        ("r1", "warning", "unknown-topics", "1 topic is not judged: 51"),
        ("r2", "warning", "no-judged-document",
         "no retrieved document is judged: an id here is 'b', an id in the judgments is 'a'"),
        ("r2", "warning", "same-tag", f"{first} has the same tag, 'x'"),
        ("r3", "error", "no-common-topic",
         "no topic of this file is judged: it has 77, the judgments have 051, 2, 3"),
    ]  # fmt: skip


def test_two_files_of_judgments(folder: Folder) -> None:
    first, second = folder.file("q1", b"1 0 a 1\n"), folder.file("q2", b"1 0 b 1\n")
    assert as_tuples(check_files([first, second])) == [
        (None, "warning", "judged-twice", f"topics that {first} also judges: 1")
    ]


def test_topics(folder: Folder) -> None:
    assert as_tuples(check_files(topics=[folder.file("t.tsv", b"7\twings\n07\ttails\n")])) == [
        (None, "warning", "topic-ids", "topics '7' and '07' differ only by leading zeros or case")
    ]
    bad = folder.file("t.xml", b"<topics><topic>")
    assert [finding.severity for finding in check_files(topics=[bad])] == ["error"]


def test_the_sample_has_the_findings_of_its_readme() -> None:
    findings = check_files([SAMPLES / "qrels.txt"], sorted(SAMPLES.glob("*.run")), [SAMPLES / "topics.xml"])
    assert [(Path(f.path).name, f.code) for f in findings] == [
        ("qrels.txt", "topic-without-relevant"),
        ("coord.run", "ties"),
        ("dense.run", "missing-topics"),
        ("fusion.run", "ties"),
    ]


def test_findings_look_like_compiler_messages() -> None:
    assert str(Finding("a.run", 3, "error", "nan", "the score is 'nan'")) == "a.run:3: error: the score is 'nan' [nan]"
    assert str(Finding("a.run", None, "info", "ties", "2 ties")) == "a.run: info: 2 ties [ties]"


def test_lines_are_the_same_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole file in one block against blocks of a line or two."""
    rng = random.Random(0)
    pieces = [b"\n", b"\r\n", b" ", b"\t", b"a", b"\xef\xbb\xbf", b"\xff", b"\xc3\xa9", b"\r"]
    for _ in range(300):
        data = b"".join(rng.choices(pieces, k=rng.randrange(25)))
        found = list(file_findings.byte_findings("f", data))
        with monkeypatch.context() as patch:
            patch.setattr(file_findings, "BLOCK", rng.choice([1, 4, 9]))
            assert list(file_findings.byte_findings("f", data)) == found, data


def test_a_file_of_faults_is_not_counted_to_its_end(folder: Folder) -> None:
    findings = folder.run(b"1 Q0 a 1 1 x\n" * 30_000)
    assert findings[999] == (1001, "error", "duplicate", "document 'a' appears twice for topic '1', first on line 1")
    assert findings[-1] == (1002, "error", "more", "at least 9,000 more faults, from this line on")


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")  # scores are infinite
@pytest.mark.parametrize("kind", ["falling", "rising", "mixed", "tied", "infinite"])
def test_lists_in_order_are_compared_as_if_they_were_sorted(tmp_path: Path, kind: str) -> None:
    """Neighbours by score or rank are found by sorting every list here, and without sorting most of them there."""
    rng = np.random.default_rng(1)
    lines, keys = [], []
    for topic in range(1, 30):
        values = np.round(rng.random(rng.integers(1, 40)), 1 if kind == "tied" else 6)
        values = np.sort(values) if kind == "rising" else np.sort(values)[::-1] if kind != "mixed" else values
        if kind == "infinite" and topic % 3 == 0:
            values = np.where(rng.random(len(values)) < 0.3, np.inf, values)
        lines += [f"{topic} Q0 d{place} 1 {value} tag" for place, value in enumerate(values)]
        keys.append(values)
    (tmp_path / "run").write_text("\n".join([*lines, ""]))
    entries = Entries("run", "run", Run.read(tmp_path / "run", on_duplicate="error").table)
    key = np.array(entries.values)

    def pairs(row: np.ndarray, following: np.ndarray) -> np.ndarray:
        equal.extend(zip(key[row].tolist(), key[following].tolist(), strict=True))
        return np.ones(len(row), dtype=bool)

    equal: list[tuple[float, float]] = []
    _followers(entries, key, pairs)
    expected: list[tuple[float, float]] = []
    for begin, end in pairwise(entries.starts.tolist()):
        ordered = np.sort(key[begin:end]).tolist()
        expected += pairwise(ordered)
    assert sorted(equal) == sorted(expected)

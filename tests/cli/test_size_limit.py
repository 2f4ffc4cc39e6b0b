"""Pipes without end and files that unpack to more than memory holds are refused before they are read."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.collection.compression import MOST_BYTES, packed, size_limit
from cranfield.collection.file_formats.formats import detect
from cranfield.errors import DataError
from tests.cli.conftest import Cranfield

QRELS = "1 0 d1 1\n"
LINE = b"1 Q0 d%d %d %d a\n"
RUN = b"".join(LINE % (n, n, -n) for n in range(1, 200_001))
"""A valid run of about 5 MB."""
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": partial(gzip.compress, compresslevel=1),
    "bz2": partial(bz2.compress, compresslevel=1),
    "xz": partial(lzma.compress, preset=0),
    "zst": lambda data: b"".join(packed([data], "x.zst")),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text(QRELS)


@pytest.mark.parametrize(("text", "message"), [("y", "1 column, expected 6"), ("1 Q0 d x y z", "the score is 'y'")])
@pytest.mark.skipif(sys.platform == "win32", reason="needs the program yes")
def test_an_endless_pipe_is_refused_at_its_first_line(text: str, message: str) -> None:
    with subprocess.Popen(["yes", text], stdout=subprocess.PIPE) as endless:
        command = [sys.executable, "-m", "cranfield", "eval", "qrels", "-", "-m", "AP"]
        done = subprocess.run(command, stdin=endless.stdout, capture_output=True, text=True, timeout=60)
        endless.kill()
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: standard input:1: {message}")


@pytest.mark.parametrize("suffix", PACKED)
def test_a_bomb_is_refused_at_its_first_block(cranfield: Cranfield, suffix: str) -> None:
    """Before the limit of its size is reached."""
    for content, message in ((b"a bomb\n", "2 columns, expected 6"), (b"\0" * 7, "a NUL byte: a binary file")):
        Path(f"bomb.{suffix}").write_bytes(PACKED[suffix](content * 1_000_000))
        done = cranfield("eval", "qrels", f"bomb.{suffix}", "-m", "AP", "--max-size", "1M")
        assert done.err.startswith(f"error: bomb.{suffix}:1: {message}")


@pytest.mark.parametrize("suffix", PACKED)
def test_the_unpacked_size_has_a_limit_that_an_option_raises(cranfield: Cranfield, suffix: str) -> None:
    Path(f"big.{suffix}").write_bytes(PACKED[suffix](RUN))
    words = ("eval", "qrels", f"big.{suffix}", "-m", "RR")
    refused = cranfield(*words, "--max-size", "1M")
    assert refused.code == 1
    assert refused.err == (
        f"error: big.{suffix}: more than 1,048,576 bytes; to read more: size_limit=; on the command line: "
        "--max-size SIZE\n"
    )
    for size in ((), ("--max-size", "10M")):
        assert cranfield(*words, *size).out.splitlines()[1].split()[-1] == "1.0000"


def test_a_pipe_has_the_same_limit(cranfield: Cranfield) -> None:
    done = cranfield("eval", "qrels", "-", "-m", "RR", "--max-size", "1M", stdin=RUN)
    assert "standard input: more than 1,048,576 bytes" in done.err
    assert cranfield("eval", "qrels", "-", "-m", "RR", stdin=RUN).code == 0
    assert cranfield("eval", "qrels", "-", "-m", "RR", stdin=gzip.compress(RUN)).code == 0


def test_the_limit_in_python() -> None:
    Path("big.gz").write_bytes(gzip.compress(RUN))
    with size_limit(1000), pytest.raises(DataError, match=r"big\.gz: more than 1,000 bytes; to read more"):
        cf.Run.read("big.gz")
    assert len(cf.Run.read("big.gz")) == 200_000
    assert MOST_BYTES == 4 * 1024**3  # as the help and docs/collections.md say


def test_several_streams_in_one_file_count_together() -> None:
    for suffix, pack in PACKED.items():
        half = RUN.index(b"\n", len(RUN) // 2) + 1
        Path(f"two.{suffix}").write_bytes(pack(RUN[:half]) + pack(RUN[half:]))
        assert len(cf.Run.read(f"two.{suffix}")) == 200_000
        with size_limit(len(RUN) - 1), pytest.raises(DataError, match="more than"):
            cf.Run.read(f"two.{suffix}")
        with size_limit(len(RUN)):
            assert len(cf.Run.read(f"two.{suffix}")) == 200_000


def test_a_size_that_is_not_one_is_refused(cranfield: Cranfield) -> None:
    done = cranfield("eval", "qrels", "qrels", "--max-size", "much")
    assert (done.code, done.err) == (2, "error: --max-size much: expected a number of bytes, such as 500M or 20G\n")


# -- every other reader also looks at the first block first


@pytest.mark.parametrize(
    ("words", "text", "message"),
    [
        (["validate", "-"], "y", "the kind of standard input cannot be detected"),
        (["validate", "--runs", "-"], "y", "1 column, expected 6"),
        (["validate", "--qrels", "-"], "y", "1 column, expected 4"),
        (["validate", "--topics", "-"], "y", "neither markup, JSON nor tabs"),
        (["validate", "--topics", "-"], "<y", "no tags in the first 65,536 bytes"),
        (["validate", "--topics", "-"], "1\ta\tb", "3 columns between tabs, expected 2"),
        (["validate", "--topics", "-"], '{"id" "1"}', "is not valid JSON"),
        (["convert", "-", "out.tsv", "--kind", "topics"], "y", "neither markup, JSON nor tabs"),
        (["convert", "-", "out.run", "--kind", "run"], "y", "1 column, expected 6"),
        (["eval", "qrels", "-", "-m", "AP"], '{"1": {"d1" 1}}', "is not valid JSON"),
        (["eval", "qrels", "run", "-m", "U", "--lengths", "-"], "y", "1 column, expected"),
        (["fairness", "qrels", "run", "--groups", "-"], "y", "1 column, expected"),
        (["compare", "--scores", "-"], "y", "'y', expected scores"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="needs the program yes")
def test_every_reader_refuses_an_endless_pipe(words: list[str], text: str, message: str) -> None:
    """Without the check, the pipe is read up to the limit, with another message."""
    Path("run").write_bytes(b"1 Q0 d1 1 9 a\n")
    with subprocess.Popen(["yes", text], stdout=subprocess.PIPE) as endless:
        command = [sys.executable, "-m", "cranfield", *words]
        done = subprocess.run(command, stdin=endless.stdout, capture_output=True, text=True, timeout=60)
        endless.kill()
    assert done.returncode != 0
    assert message in done.stdout + done.stderr
    assert "more than" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "content", "message"),
    [
        (["validate", "bomb.gz"], b"a bomb\n", "cannot tell whether it is a run, qrels or topics"),
        (["validate", "--topics", "bomb.gz"], b"a bomb\n", "neither markup, JSON nor tabs"),
        (["validate", "--runs", "bomb.gz"], b"no line end ", "the line is longer than 65,536 bytes"),
        (["eval", "qrels", "run", "-m", "U", "--lengths", "bomb.gz"], b"a\n", "1 column, expected"),
        (["eval", "qrels", "run", "-m", "WSS@1", "--topic-numbers", "bomb.gz"], b"a\n", "1 column, expected"),
    ],
)
def test_every_reader_refuses_a_bomb_at_its_first_block(
    cranfield: Cranfield, words: list[str], content: bytes, message: str
) -> None:
    """Before the limit of its size is reached."""
    Path("run").write_bytes(RUN)
    Path("bomb.gz").write_bytes(gzip.compress(content * 5_000_000))
    done = cranfield(*words, "--max-size", "6M")
    assert done.code != 0
    assert message in done.out + done.err
    assert "more than" not in done.out + done.err


def test_a_long_packed_file_with_a_few_faults_is_validated_to_its_end(cranfield: Cranfield) -> None:
    Path("long.run.gz").write_bytes(gzip.compress(b"oops\n" + RUN + b"1 Q0 d x y z\n"))
    done = cranfield("validate", "--runs", "long.run.gz")
    assert "long.run.gz:1: error: 1 column" in done.out
    assert "long.run.gz:200002: error: the score is 'y'" in done.out


def test_long_packed_files_of_each_kind_pass_the_check_of_their_first_block() -> None:
    """Each is larger than a block, and the block ends within a line, a string, a number or a quoted cell."""
    documents = [f"d{number}" for number in range(20_000)]
    json_run = b'{"1": {' + b", ".join(b'"%s": %d' % (doc.encode(), -n) for n, doc in enumerate(documents)) + b"}}"
    lines = b"".join(b'{"topic": "1", "doc": "d%d", "score": %d}\n' % (n, -n) for n in range(20_000))
    for name, content in {"a.json.gz": json_run, "a.jsonl.gz": lines}.items():
        Path(name).write_bytes(gzip.compress(content))
        assert len(cf.Run.read(name)) == 20_000
    topics = {
        "topics.tsv.gz": "".join(f"{n}\ttopic {n}\n" for n in range(9_000)),
        "topics.json.gz": "[" + ",".join(f'{{"id": "{n}", "title": "topic {n}"}}' for n in range(9_000)) + "]",
        "topics.jsonl.gz": "".join(f'{{"id": "{n}", "title": "topic {n}"}}\n' for n in range(9_000)),
        "topics.xml.gz": "<t>" + "".join(f"<topic><num>{n}</num><title>é {n}</title></topic>" for n in range(9_000))
        + "</t>",
    }  # fmt: skip
    for name, text in topics.items():
        Path(name).write_bytes(gzip.compress(text.encode()))
        assert len(cf.Topics.read(name)) == 9_000, name


def test_a_line_without_end_is_named_as_what_it_is() -> None:
    """Its first columns alone look like another format."""
    line = b"1 Q0 " + b"d" * (1 << 25) + b" 1 2.0 x\n"
    with pytest.raises(DataError, match=r"long.run:1: the line is longer than 33,554,432 bytes, expected run"):
        detect(line, "run", "long.run")
    assert detect(b"1 Q0 " + b"d" * 100_000 + b" 1 2.0 x", "run").name == "trec"

"""More than a hundred kinds of bad input, in one table: an error with the file and an exit code, never a traceback."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from cranfield.cli import VERBS
from tests.cli.conftest import Cranfield

QRELS = b"1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 c 0\n"
RUN = b"1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n2 Q0 a 1 1 t\n"
OTHER = b"1 Q0 b 1 2 u\n1 Q0 a 2 1 u\n2 Q0 a 1 1 u\n"

BAD_RUNS = {
    "empty": b"",
    "blank": b"\n\n# nothing\n",
    "short line": b"1 Q0 a 1 2 t\n1 Q0 b\n",
    "long line": b"1 Q0 a 1 2 t\n1 Q0 b 2 1 t more\n",
    "text for a number": b"1 Q0 a 1 2 t\n1 Q0 b 2 high t\n",
    "nan": b"1 Q0 a 1 2 t\n1 Q0 b 2 NaN t\n",
    "duplicate": b"1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n",
    "binary": b"1 Q0 a 1 2 t\n\x00\x01\x02\xff\n",
    "truncated gzip": gzip.compress(RUN * 100)[:-12],
    "broken json": b'{"1": {"a": 1',
    "nested json": b"[" * 5000,
    "html": b"<!DOCTYPE html>\n<html></html>\n",
    "git-lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    "utf-16": RUN.decode().encode("utf-16"),
    "judgments": QRELS,
}
BAD_QRELS = {
    "empty": b"",
    "short line": b"1 0 a 1\n1 0 b\n",
    "text for a number": b"1 0 a 1\n1 0 b good\n",
    "nan": b"1 0 a 1\n1 0 b nan\n",
    "duplicate": b"1 0 a 1\n1 0 a 1\n",
    "binary": bytes(range(256)),
    "truncated gzip": gzip.compress(QRELS * 100)[:-12],
    "broken json": b'{"1": {"a": 1',
    "html": b"<!DOCTYPE html>\n<html></html>\n",
    "utf-16": QRELS.decode().encode("utf-16"),
    "a run": RUN,
}
WITH_RUN = {
    "eval": "eval good.qrels file -m AP",
    "eval, collections": "eval --collection c=good.qrels:file -m AP",
    "compare": "compare good.qrels good.run file -m AP",
    "compare, collections": "compare --collection c=good.qrels:file --collection d=good.qrels:good.run -m AP",
    "leaderboard": "leaderboard good.qrels good.run file -m AP",
    "leaderboard, html": "leaderboard good.qrels file -m AP -f html",
    "explain": "explain good.qrels file --topic 1 -m AP",
    "stats": "collection stats good.qrels file",
    "anova": "anova good.qrels good.run file -m AP",
    "pool": "pool good.run file --depth 2",
    "plot": "plot boxes good.qrels file -m AP -o boxes.csv",
    "topics": "topics good.qrels good.run file -m AP",
    "gate": "gate good.qrels --baseline good.run file -m AP --margin 0.1",
    "fuse": "fuse good.run file -o fused.run",
}
WITH_QRELS = {
    "eval": "eval file good.run -m AP",
    "compare": "compare file good.run other.run -m AP",
    "leaderboard": "leaderboard file good.run -m AP",
    "explain": "explain file good.run --topic 1 -m AP",
    "topics": "topics file good.run other.run -m AP",
    "gate": "gate file --baseline good.run other.run -m AP --margin 0.1",
}
BAD_SIDE_FILES = {
    "teams, three columns": ("leaderboard good.qrels good.run -m AP --teams file", b"t red blue\n"),
    "teams, twice": ("leaderboard good.qrels good.run -m AP --teams file", b"t red\nt blue\n"),
    "teams, binary": ("leaderboard good.qrels good.run -m AP --teams file", b"t \x00red\n"),
    "rules, no toml": ("validate good.run --rules file", b"[rules\n"),
    "rules, unknown entry": ("validate good.run --rules file", b"[rules]\ndeep = 3\n"),
    "rules, wrong type": ("validate good.run --rules file", b"[rules]\ndepth = 'all'\n"),
    "rules, no regular expression": ("validate good.run --rules file", b"[rules]\ntag = '('\n"),
    "rules, missing documents": ("validate good.run --rules file", b"[rules]\ndocuments = 'collection'\n"),
    "rules, not utf-8": ("validate good.run --rules file", b"topics = '\xff'\n"),
    "collections, no toml": ("eval --collections file -m AP", b"collections = \n"),
    "collections, empty": ("eval --collections file -m AP", b""),
    "collections, no runs": ("eval --collections file -m AP", b"[collections.a]\nqrels = 'good.qrels'\n"),
    "collections, nested": ("eval --collections file -m AP", b"a = " + b"[" * 5000),
    "scores, empty": ("compare --scores file", b""),
    "scores, text": ("compare --scores file", b"topic,a,b\n1,high,low\n"),
    "scores, broken json": ("leaderboard --scores file", b'{"cranfield": "scores"'),
}  # fmt: skip
MISUSE = {
    "no such file": ("eval good.qrels absent -m AP", "absent"),
    "no such folder": ("leaderboard good.qrels absent/*.run -m AP", "absent"),
    "a folder": ("eval good.qrels . -m AP", "directory"),
    "unknown measure": ("eval good.qrels good.run -m nDGC@10", "nDCG"),
    "no cutoff": ("eval good.qrels good.run -m P@0", "P@0"),
    "wrong parameter": ("eval good.qrels good.run -m RBP(p=7)", "p == 7"),
    "unknown option": ("eval good.qrels good.run --mesure AP", "--mesure"),
    "option without value": ("eval good.qrels good.run -m", "-m"),
    "unknown format": ("leaderboard good.qrels good.run -f pdf", "pdf"),
    "unknown test": ("leaderboard good.qrels good.run --test tt", "tt"),
    "unknown correction": ("leaderboard good.qrels good.run --correction bob", "bob"),
    "alpha": ("leaderboard good.qrels good.run --alpha 2", "--alpha"),
    "level": ("leaderboard good.qrels good.run --level 95", "--level"),
    "digits": ("eval good.qrels good.run --digits 99", "--digits"),
    "teams of other runs": ("leaderboard good.qrels good.run --teams teams.txt", "teams.txt"),
    "unknown baseline": ("compare good.qrels good.run other.run -m AP -b bm25", "bm25"),
    "one run to compare": ("compare good.qrels good.run -m AP", "2 or more"),
    "unknown topic": ("explain good.qrels good.run --topic 99 -m AP", "99"),
    "unwritable output": ("eval good.qrels good.run -m AP -o none/scores.txt", "none/scores.txt"),
    "collection without runs": ("eval --collection c=good.qrels", "NAME=QRELS:RUNS"),
    "collection twice": ("eval --collection c=good.qrels:good.run --collection c=good.qrels:good.run", "twice"),
    "no judgments": ("eval", "usage"),
    "unknown verb": ("evaluat good.qrels good.run", "eval"),
    "rules without topics": ("validate good.run --rules rules.toml", "which are they"),
    "two standard inputs": ("eval - - -m AP", "standard input"),
}


def cases() -> list[tuple[str, str, bytes | None, str]]:
    """(name, words, content of the file, text that the message must have)."""
    out: list[tuple[str, str, bytes | None, str]] = []
    for table, kinds in ((WITH_RUN, BAD_RUNS), (WITH_QRELS, BAD_QRELS)):
        for verb, words in table.items():
            if verb.partition(",")[0] in (*VERBS, "pool"):
                out += [(f"{verb}: {kind}", words, content, "file") for kind, content in kinds.items()]
    out += [(name, words, content, "file") for name, (words, content) in BAD_SIDE_FILES.items()]
    return out + [(name, words, None, text) for name, (words, text) in MISUSE.items()]


CASES = cases()


def test_there_are_more_than_a_hundred_kinds() -> None:
    assert len(CASES) > 200


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, data in {"good.qrels": QRELS, "good.run": RUN, "other.run": OTHER}.items():
        Path(name).write_bytes(data)
    Path("teams.txt").write_text("x red\n")
    Path("rules.toml").write_text("[rules]\n")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("name", "words", "content", "expected"), CASES, ids=[case[0] for case in CASES])
def test_bad_input_is_an_error_with_its_place(
    cranfield: Cranfield, name: str, words: str, content: bytes | None, expected: str
) -> None:
    if content is not None:
        Path("file").write_bytes(content)
    done = cranfield(*words.split())
    assert done.code in (1, 2)
    said = f"{done.out}{done.err}"
    assert "Traceback" not in said
    assert "this is a bug" not in said
    assert expected in said
    assert len(done.err) < 2000

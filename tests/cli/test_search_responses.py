"""`--queries`: the topics of responses of a search engine that do not name theirs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cranfield import Run
from tests.cli.conftest import Cranfield
from tests.collection.test_search_responses import MSEARCH


@pytest.mark.parametrize("content", ["q9\nq4\n", "q9\tred lamp\nq4\tchair\n", '{"q9": "red lamp", "q4": "chair"}'])
def test_ids_of_queries_come_from_topics_or_lines(cranfield: Cranfield, tmp_path: Path, content: str) -> None:
    for name, text in {"q.txt": content, "run.json": json.dumps(MSEARCH), "qrels.txt": "q9 0 a 1\nq4 0 c 1\n"}.items():
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / name) for name in ("qrels.txt", "run.json")]
    done = cranfield("eval", *files, "-m", "P@1", "-f", "csv", "--queries", str(tmp_path / "q.txt"))
    assert done.out.splitlines()[-1] == "run,2,0.5"
    target = str(tmp_path / "out.run")
    assert cranfield("convert", files[1], target, "--queries", str(tmp_path / "q.txt")).code == 0
    assert Run.of(target).topics == ("q9", "q4")
    assert "queries= names their topics; on the command line: --queries FILE" in cranfield("eval", *files).err

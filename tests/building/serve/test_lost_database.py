"""A database whose file is deleted, moved or replaced under a running server: it is noticed, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from cranfield.building.serve.database.database import StoreError
from cranfield.building.serve.project.store import Store
from tests.building.serve.conftest import fill
from tests.building.serve.live import Server, Worker, make_project
from tests.building.serve.web import Client, app_of


def judged(path: str) -> int:
    with Store(path) as store:
        return int(store.database.read("SELECT COUNT(*) FROM judgment")[0][0])


def delete(path: str) -> None:
    os.unlink(path)


def delete_log(path: str) -> None:
    os.unlink(f"{path}-wal")


def move(path: str) -> None:
    os.rename(path, f"{path}.moved")


def replace(path: str) -> None:
    with Store(f"{path}.other") as other:
        fill(other)
    os.replace(f"{path}.other", path)


@pytest.mark.parametrize("harm", [delete, delete_log, move, replace])
def test_no_judgment_is_confirmed_that_would_be_lost_and_all_before_are_copied(tmp_path: Path, harm: Any) -> None:
    path = str(tmp_path / "judgments.db")
    with Store(path) as store:
        fill(store)
        app = app_of(store)
        anna, olga = Client(app, "anna"), Client(app, "olga")
        items = anna.state()["items"]
        assert anna.judge(items[0], grade=1).status_code == 200
        harm(path)
        there = os.path.exists(path)
        for item in items[1:4]:
            answer = anna.judge(item, grade=1)
            assert answer.status_code == 503, answer.text
            assert "somebody deleted, moved or replaced it while it was in use" in answer.json()["error"]
            assert f"what was saved before is in {path}.rescued1" in answer.json()["error"]
        assert olga.form("/organise/guidelines", text="new").status_code == 503
        assert Client(app).http.post("/login", data={"name": "anna", "password": "a long password"}).status_code == 503
        assert os.path.exists(path) == there  # no empty database in its place
        assert judged(f"{path}.rescued1") == 1
        assert not os.path.exists(f"{path}.rescued2")
        with pytest.raises(StoreError, match="rescued1"):
            store.database.check()


def test_a_file_that_is_moved_back_is_used_on(tmp_path: Path) -> None:
    path = str(tmp_path / "judgments.db")
    with Store(path) as store:
        fill(store)
        anna = Client(app_of(store), "anna")
        items = anna.state()["items"]
        move(path)
        assert anna.judge(items[0], grade=1).status_code == 503
        os.rename(f"{path}.moved", path)
        assert anna.judge(items[0], grade=1).status_code == 200
        store.database.check()
    assert judged(path) == 1


def test_a_folder_that_is_gone_is_a_clear_message(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    with Store(str(folder / "judgments.db")) as store:
        fill(store)
        shutil.rmtree(folder)
        with pytest.raises(StoreError, match=r"is gone: .* is lost when the server stops: no copy can be written"):
            store.write_guidelines("new", "anna")


def test_the_server_says_in_its_terminal_what_happened_and_where_the_copy_is(tmp_path: Path) -> None:
    path = str(tmp_path / "judgments.db")
    make_project(path, docs=4, people=1)
    with Server(path) as server:
        Worker(server.port, "w0").judge()
        os.unlink(path)
        for _ in range(3000):  # nobody sends anything: the server sees it by itself
            if "rescued1" in server.log.read_text():
                break
            time.sleep(0.01)
        server.stop()
        said = server.log.read_text()
        assert said.count("somebody deleted, moved or replaced it") >= 1, said
        assert "Traceback" not in said
        assert server.process.returncode not in (0, None)
    assert judged(f"{path}.rescued1") == 1

"""PostgreSQL is restarted or killed while a server works: one server holds the database, before and afterwards."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack

import pytest

from cranfield.building.serve.database.database import StoreError
from cranfield.building.serve.project.judging import Judging
from cranfield.building.serve.project.judgment_log import Entry
from cranfield.building.serve.project.store import Store
from cranfield.building.serve.web.serving import Watch
from tests.building.serve.conftest import PostgresServer, fill
from tests.building.serve.working import new_request

pytestmark = pytest.mark.xdist_group("postgres")


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    made = postgres.database()
    with Store(made) as store:
        fill(store)
    return made


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_the_lock_is_taken_again_before_anything_is_written(url: str, postgres: PostgresServer, end: str) -> None:
    with Store(url) as store, store.database.locked():
        judging = Judging(store)
        offer = judging.offers("anna").result(10).offers[0]
        getattr(postgres, end)()
        postgres.start()
        entry = Entry(new_request(), offer.topic, offer.doc, "anna", grade=1, offer=offer.id)
        assert judging.judge(entry).result(30).row is not None  # without an error: nothing had begun
        with Store(url) as second:
            assert second.database.read("SELECT COUNT(*) FROM judgment") == [(1,)]
            with pytest.raises(StoreError, match="another server has this database open"), second.database.locked():
                pass


def test_a_server_on_which_nobody_judges_takes_the_lock_again(url: str, postgres: PostgresServer) -> None:
    with Store(url) as store, store.database.locked():
        watch = Watch(store.database)
        postgres.stop()
        postgres.start()
        watch()  # as every second
        assert watch.asked is not None
        watch.asked.result(30)
        with (
            Store(url) as second,
            pytest.raises(StoreError, match="another server has this database open"),
            second.database.locked(),
        ):
            pass


def test_a_database_that_does_not_answer_is_told_once(
    url: str, postgres: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    with Store(url) as store:
        watch = Watch(store.database)
        postgres.stop()
        for turn in (1, 2, 3):
            if turn == 3:
                postgres.start()
            watch()
            assert watch.asked is not None
            assert (watch.asked.exception(30) is None) == (turn == 3)
    assert len(caplog.records) == 1


def test_a_server_that_lost_the_database_to_another_refuses_until_it_has_it_again(
    url: str, postgres: PostgresServer
) -> None:
    with Store(url) as store, store.database.locked(), ExitStack() as others:
        judging = Judging(store)
        mine = judging.offers("anna").result(10).offers[0]
        postgres.stop()
        postgres.start()
        second = others.enter_context(Store(url))
        others.enter_context(second.database.locked())
        taken = Judging(second)
        offer = taken.offers("ben", topic=mine.topic).result(10).offers[0]
        taken.judge(Entry(new_request(), offer.topic, offer.doc, "ben", grade=1, offer=offer.id)).result(10)
        entry = Entry(new_request(), mine.topic, mine.doc, "anna", grade=1, offer=mine.id)
        for change in (lambda: judging.judge(entry), lambda: judging.offers("cleo"), lambda: judging.release("anna")):
            with pytest.raises(StoreError, match="another server has this database now"):
                change().result(10)
        second.set_settings(second.settings().changed(title="Changed by the other"))
        others.close()
        given = judging.judge(entry).result(10)
        assert given.row is not None
        assert store.settings().title == "Changed by the other"
        counted = store.database.read("SELECT topic, doc FROM current_qrels")
        assert sorted(counted) == sorted({(mine.topic, mine.doc), (offer.topic, offer.doc)})


def test_pages_are_read_again_after_a_restart_without_an_error(url: str, postgres: PostgresServer) -> None:
    with Store(url) as store:
        assert store.pool_size() == 20
        postgres.stop()
        postgres.start()
        assert store.pool_size() == 20


def test_a_second_server_changes_nothing_before_it_is_refused(url: str) -> None:
    with Store(url) as store, store.database.locked():
        command = [sys.executable, "-m", "cranfield", "judge", "serve", url, "--no-browser", "--title", "Mine now"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert "another server has this database open; stop it first" in done.stderr
        assert store.database.read("SELECT value FROM setting WHERE value LIKE '%Mine now%'") == []

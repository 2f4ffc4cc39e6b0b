"""Changes are on disk before they are acknowledged, and a change that fails leaves nothing."""

from __future__ import annotations

import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cranfield.building.serve.database import engines
from cranfield.building.serve.database.database import Connection, StoreError
from cranfield.building.serve.project.accounts import add_account
from cranfield.building.serve.project.judging_modes import PoolEntry
from cranfield.building.serve.project.store import Store
from cranfield.errors import UsageError
from tests.building.serve.conftest import fill


def facts(store: Store) -> dict[str, str]:
    return dict(store.database.read("SELECT name, value FROM setting WHERE name LIKE 'x%'"))


def put(name: str, then: Exception | None = None):  # type: ignore[no-untyped-def]
    def change(connection: Connection) -> str:
        connection.run("INSERT INTO setting (name, value) VALUES (?, ?)", (name, "1"))
        if then is not None:
            raise then
        return name

    return change


def test_an_exception_in_a_change_leaves_nothing_and_the_next_change_works(store: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        store.database.write(put("x1", ZeroDivisionError()))
    assert store.database.write(put("x2")) == "x2"
    assert facts(store) == {"x2": "1"}


def test_a_statement_that_fails_leaves_nothing_and_the_next_change_works(store: Store) -> None:
    def broken(connection: Connection) -> None:
        put("x1")(connection)
        connection.run("SELECT * FROM no_such_table")

    with pytest.raises(Exception, match="no_such_table"):
        store.database.write(broken)
    store.database.write(put("x2"))
    assert facts(store) == {"x2": "1"}


def test_changes_that_share_a_commit_fail_each_for_itself(store: Store) -> None:
    gate = threading.Event()
    first = store.database.submit(lambda connection: gate.wait(10))  # meanwhile the others wait together
    rest = [store.database.submit(put(f"x{i}", ZeroDivisionError() if i % 3 == 0 else None)) for i in range(30)]
    gate.set()
    assert first.result(10)
    failed = {i for i, future in enumerate(rest) if future.exception(10) is not None}
    assert failed == set(range(0, 30, 3))
    assert set(facts(store)) == {f"x{i}" for i in range(30) if i % 3}


def test_a_change_is_visible_to_others_when_it_is_acknowledged(store: Store, where: str) -> None:
    with Store(where) as other:
        store.database.write(put("x1"))
        assert facts(other) == {"x1": "1"}
        other.database.write(put("x2"))
        assert facts(store) == {"x1": "1", "x2": "1"}


def test_many_threads_write_and_nothing_is_lost(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: store.database.write(put(f"x{i}")), range(200)))
    assert len(facts(store)) == 200


def test_a_reader_cannot_write(store: Store) -> None:
    with pytest.raises(Exception, match=r"readonly|read-only"):
        store.database.read("INSERT INTO setting (name, value) VALUES ('x', '1') RETURNING name")


def test_a_second_server_on_the_same_database_is_refused(store: Store, where: str) -> None:
    with Store(where) as other:
        with store.database.locked():
            with pytest.raises(StoreError, match="another server has this database open"), other.database.locked():
                pass
            other.database.write(put("x"))  # other programs may write
        with other.database.locked():
            pass


def test_a_closed_database_says_so(where: str) -> None:
    store = Store(where)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.database.write(put("x"))


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "photos.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE photo (id INTEGER)")
    with pytest.raises(StoreError, match="is the database of another program, with tables photo"):
        Store(str(path))


def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "judgments.db")
    with Store(path) as store:
        store.keep_fact("version", "99")
    with pytest.raises(StoreError, match="made by a newer cranfield"):
        Store(path)


# ---- trouble with the disk


def test_a_full_disk_is_a_clear_message_and_no_half_written_row(sqlite_store: Store) -> None:
    def fill_up(connection: Connection) -> None:
        (pages,) = connection.run("PRAGMA page_count")[0]
        connection.run(f"PRAGMA max_page_count = {pages + 2}")

    sqlite_store.database.write(fill_up)
    entries = [PoolEntry("1", f"new{i}" * 100, {"text": "x" * 1000}) for i in range(100)]
    before = sqlite_store.pool_size()
    with pytest.raises(
        StoreError, match=r"the disk is full; nothing of this change was saved; free some space"
    ) as error:
        sqlite_store.add_pool(entries)
    assert error.value.kind == "full"
    assert sqlite_store.pool_size() == before

    def make_room(connection: Connection) -> None:
        connection.run("PRAGMA max_page_count = 1000000")

    sqlite_store.database.write(make_room)
    assert sqlite_store.add_pool(entries) == 100


def test_a_locked_database_is_a_clear_message(sqlite_store: Store) -> None:
    other = sqlite3.connect(sqlite_store.origin, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    sqlite_store.database._writer.run("PRAGMA busy_timeout = 50")
    with pytest.raises(StoreError, match="another program has locked the database") as error:
        sqlite_store.keep_fact("x", "1")
    assert error.value.kind == "locked"
    other.execute("ROLLBACK")
    sqlite_store.keep_fact("x", "1")
    assert sqlite_store.fact("x") == "1"


@pytest.mark.parametrize("damage", ["garbage", "header"])
def test_a_damaged_database_is_a_clear_message(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "judgments.db"
    if damage == "garbage":
        path.write_bytes(b"topic doc grade\n" * 1000)
    else:
        Store(str(path)).close()
        path.write_bytes(path.read_bytes()[:20] + os.urandom(3000) + path.read_bytes()[3020:])
    with pytest.raises(StoreError, match=r"damaged, or not a database .*; restore a backup"):
        Store(str(path))


def test_a_folder_and_a_missing_folder_are_clear_messages(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        Store(str(tmp_path))
    with pytest.raises(StoreError, match="there is no folder"):
        Store(str(tmp_path / "none" / "judgments.db"))


def test_the_file_is_readable_for_its_owner_only(tmp_path: Path) -> None:
    Store(str(tmp_path / "judgments.db")).close()
    assert (tmp_path / "judgments.db").stat().st_mode & 0o077 == 0


def test_text_that_is_not_unicode_is_refused_with_its_character(store: Store) -> None:
    with pytest.raises(StoreError, match=r"'\\udcff', which is not a character"):
        store.keep_fact("x", "a\udcff")


# ---- durability settings


def test_every_connection_syncs_fully_in_wal_mode(sqlite_store: Store) -> None:
    def pragmas(connection: Connection) -> tuple[object, ...]:
        names = ("journal_mode", "synchronous", "foreign_keys")
        return tuple(connection.run(f"PRAGMA {name}")[0][0] for name in names)

    assert sqlite_store.database.write(pragmas) == ("wal", 2, 1)  # 2 is FULL


# ---- backup


def test_a_backup_is_a_complete_copy_made_while_others_write(sqlite_store: Store, tmp_path: Path) -> None:
    stop = threading.Event()

    def busy() -> None:
        number = 0
        while not stop.is_set():
            sqlite_store.keep_fact(f"y{number % 50}", str(number))
            number += 1

    thread = threading.Thread(target=busy)
    thread.start()
    sqlite_store.keep_fact("x", "before the backup")
    sqlite_store.database.engine.backup(str(tmp_path / "copy.db"))
    stop.set()
    thread.join()
    with Store(str(tmp_path / "copy.db")) as copy:
        assert copy.fact("x") == "before the backup"
        assert copy.pool_size() == 20


def test_a_backup_onto_itself_is_refused(sqlite_store: Store) -> None:
    with pytest.raises(StoreError, match="is the database itself"):
        sqlite_store.database.engine.backup(sqlite_store.origin)
    assert isinstance(sqlite_store.database.engine, engines.SQLite)


# ---- what is kept


def test_a_pool_with_an_unknown_topic_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="1 topic without a text: 9"):
        store.add_pool([PoolEntry("9", "d1", {})])


def test_documents_are_found_by_all_words_in_any_script(store: Store) -> None:
    from cranfield.building.serve.project.judging_modes import Document

    docs = [
        Document("a", "Flutter", "Flutter of swept wings"),
        Document("b", "", "boundary layer of wings"),
        Document("c", "東京", "東京の天気は晴れです"),
        Document("d", "", "الطقس في القاهرة"),
    ]
    assert store.add_documents(docs) == 4
    assert [doc.id for doc in store.search("WINGS flutter")] == ["a"]
    assert {doc.id for doc in store.search("wings")} == {"a", "b"}
    assert [doc.id for doc in store.search("天気")] == ["c"]
    assert store.search("京天") == []
    assert [doc.id for doc in store.search("القاهرة")] == ["d"]
    assert store.search("  ") == store.search('"*') == []
    store.add_documents([Document("a", "Lift", "Lift of wings")])  # replaced, in the index as well
    assert store.search("flutter") == []
    assert [doc.id for doc in store.search("lift")] == ["a"]


def test_guidelines_have_versions(store: Store) -> None:
    assert store.guidelines() == (0, "")
    assert store.write_guidelines("Be kind.", "anna") == 1
    assert store.write_guidelines("Be kind.", "anna") == 1
    assert store.write_guidelines("Be fair.", "ben") == 2
    assert store.guidelines() == (2, "Be fair.")


def test_threads_that_come_and_go_share_their_connections(store: Store) -> None:
    """The threads of a server end when they have nothing to do; a connection for each would never be closed."""
    made: list[object] = []
    connect = store.database.engine.connect
    store.database.engine.connect = lambda *, writes: made.append(writes) or connect(writes=writes)  # type: ignore

    for _ in range(20):
        thread = threading.Thread(target=lambda: store.database.read("SELECT COUNT(*) FROM topic"))
        thread.start()
        thread.join()
    assert len(made) <= 1


def test_text_that_is_not_utf8_is_a_damaged_database(tmp_path: Path) -> None:
    path = str(tmp_path / "judgments.db")
    with Store(path) as store:
        fill(store)
        with sqlite3.connect(path) as raw:
            raw.execute("UPDATE assessor SET role = CAST(x'61ff' AS TEXT)")
        with pytest.raises(StoreError, match=r"the database is damaged \(text that is not UTF-8\)"):
            store.database.read("SELECT role FROM assessor")


def test_settings_that_cannot_be_read_are_a_damaged_database(tmp_path: Path) -> None:
    path = str(tmp_path / "judgments.db")
    for wrong in ("{", "[]", '{"grades": 5}', '{"grades": [], "dimensions": null}'):
        with Store(path) as store:
            store.keep_fact("settings", wrong)
        with Store(path) as store, pytest.raises(StoreError, match=r"damaged \(its settings cannot be read\)"):
            store.settings()


def test_a_version_that_cannot_be_read_is_a_damaged_database(tmp_path: Path) -> None:
    path = str(tmp_path / "judgments.db")
    with Store(path) as store:
        store.keep_fact("version", "\x04")
    with pytest.raises(StoreError, match=r"damaged \(its version cannot be read\)"):
        Store(path)


def test_an_error_that_no_check_foresaw_is_a_damaged_database_if_it_is_damaged(tmp_path: Path) -> None:
    """A bit of the disk may turn a name into NULL, which the table does not allow."""
    path = str(tmp_path / "judgments.db")
    with Store(path) as store:
        fill(store)
        add_account(store, "anna")
    with pytest.raises(TypeError), Store(path):
        sorted([None, "anna"])  # type: ignore[type-var]
    with sqlite3.connect(path) as raw:
        raw.executescript(
            "PRAGMA writable_schema = ON; "
            "UPDATE sqlite_master SET sql = replace(sql, 'role TEXT NOT NULL', 'role TEXT') WHERE name = 'assessor';"
        )
    raw.close()
    with sqlite3.connect(path) as raw:
        raw.executescript(
            "UPDATE assessor SET role = NULL; PRAGMA writable_schema = ON;"
            " UPDATE sqlite_master SET sql = replace(sql, 'role TEXT', 'role TEXT NOT NULL') WHERE name = 'assessor';"
        )
    raw.close()
    with pytest.raises(StoreError, match=r"the database is damaged \(NULL value in assessor.role\)"), Store(path):
        sorted([None, "anna"])  # type: ignore[type-var]


def test_a_connection_counts_the_rows_that_it_changed(store: Store) -> None:
    def change(connection: Connection) -> list[int]:
        counts = [connection.changes()]
        for statement in (
            "INSERT INTO setting (name, value) VALUES ('a', '1'), ('b', '2')",
            "SELECT value FROM setting",
            "UPDATE setting SET value = '3' WHERE name = 'a'",
        ):
            connection.run(statement)
            counts.append(connection.changes())
        connection.run_many("DELETE FROM setting WHERE name = ?", [("a",), ("b",), ("c",)])
        counts.append(connection.changes())
        return [count - counts[0] for count in counts]

    assert store.database.write(change) == [0, 2, 2, 3, 5]

"""A log comes back whole: in little memory, with the line of what is wrong, and with what a policy learned from it."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from cranfield.building.serve.database.schema import judgment_indexes
from cranfield.building.serve.project.exporting import export_lines
from cranfield.building.serve.project.importing import import_log
from cranfield.building.serve.project.judging import Judging
from cranfield.building.serve.project.store import Store
from cranfield.cli import main
from cranfield.errors import DataError
from tests.building.serve.test_budgets import adaptive_project
from tests.building.serve.working import export_text, work

ROW = {
    "id": 1, "request": "request-1", "topic": "1", "doc": "d1", "assessor": "anna", "action": "judge",
    "state": "graded", "grade": 1.0, "payload": None, "reason": "", "milliseconds": 900, "position": 1,
    "judged_at": "2027-01-10T12:00:00Z", "purpose": "pool", "counted": 1, "supersedes": None, "restores": None,
    "guideline": None, "offer": None,
}  # fmt: skip


def rows(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{**ROW, "id": n, "request": f"request-{n}", "doc": f"d{n}", **more} for n in range(1, count + 1)]


def written(path: Path, log: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in log))
    return str(path)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"reason": "half \ud800"}, "log.jsonl:3: reason has U+D800 at character 6, which is not a character"),
        ({"doc": "a\0b"}, "log.jsonl:3: doc has U+0000 at character 2"),
        ({"payload": {"grades": {"\udfff": 1}}}, "log.jsonl:3: a name has U+DFFF"),
        ({"payload": [1]}, "log.jsonl:3: payload is [1], expected an object"),
        ({"state": "good"}, "log.jsonl:3: state is 'good', must be one of graded, cannot, later, none"),
        ({"purpose": "fun"}, "log.jsonl:3: purpose is 'fun', must be one of pool, found, gold, repeat"),
        ({"counted": 2}, "log.jsonl:3: counted is 2, must be one of 0, 1"),
        ({"milliseconds": 2**31}, "log.jsonl:3: milliseconds is 2147483648, which is too large"),
        ({"supersedes": 3}, "log.jsonl:3: supersedes is 3, which is not the id of an earlier row"),
        ({"restores": 4}, "log.jsonl:3: restores is 4, which is not the id of an earlier row"),
        ({"doc": "d1"}, "log.jsonl:3: 'anna' has judged document 'd1' of topic '1' before, in another row"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_nothing_is_imported(
    store: Store, tmp_path: Path, wrong: dict[str, Any], message: str
) -> None:
    log = rows(4)
    log[2] |= wrong
    with pytest.raises(DataError) as error:
        import_log(store, written(tmp_path / "log.jsonl", log))
    assert message in str(error.value)
    assert store.database.read("SELECT COUNT(*) FROM judgment") == [(0,)]
    assert import_log(store, written(tmp_path / "log.jsonl", rows(4))).rows == 4


def test_two_objects_on_a_line_are_not_two_lines(store: Store, tmp_path: Path) -> None:
    first, second = (json.dumps(row) for row in rows(2))
    (tmp_path / "log.jsonl").write_text(f"{first},{second}\n\n")
    with pytest.raises(DataError, match=r"log\.jsonl:1: not valid JSON"):
        import_log(store, str(tmp_path / "log.jsonl"))


def test_the_indexes_are_there_again_after_an_import_of_many_rows(store: Store, tmp_path: Path) -> None:
    import_log(store, written(tmp_path / "log.jsonl", rows(3_000)))
    table = "pg_indexes" if store.origin.startswith("postgres") else "sqlite_master"
    column = "indexname" if table == "pg_indexes" else "name"
    made = {name for (name,) in store.database.read(f"SELECT {column} FROM {table}")}
    assert set(judgment_indexes()) <= made
    again = import_log(store, str(tmp_path / "log.jsonl"))
    assert (again.rows, again.known) == (0, 3_000)
    more = [*rows(10), *rows(3_010)[2_990:], rows(3_010)[-1]]  # known, known and new, and one that comes twice
    done = import_log(store, written(tmp_path / "log.jsonl", more))
    assert (done.rows, done.known) == (10, 21)


def test_a_log_that_has_grown_is_imported_again_with_what_was_changed_since(store: Store, tmp_path: Path) -> None:
    """The new rows refer to rows that the project has, or that come twice in the log."""
    log = rows(3)
    change = {**ROW, "id": 4, "request": "request-4", "supersedes": 1, "grade": 0.0}
    import_log(store, written(tmp_path / "log.jsonl", log))
    done = import_log(store, written(tmp_path / "log.jsonl", [*log, change]))
    assert (done.rows, done.known) == (1, 3)
    assert store.database.read(
        "SELECT new.doc, old.request FROM judgment AS new JOIN judgment AS old ON old.id = new.supersedes"
    ) == [("d1", "request-1")]
    other = {**ROW, "id": 5, "request": "request-5", "doc": "d9"}
    change = {**other, "id": 6, "request": "request-6", "supersedes": 5}
    assert import_log(store, written(tmp_path / "log.jsonl", [other, other, change])).rows == 2


def test_a_log_goes_out_and_comes_back_in_less_memory_than_it_has(sqlite_store: Store, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    import_log(sqlite_store, written(path, rows(3_000, reason="because " * 400)))
    size = path.stat().st_size
    tracemalloc.start()
    try:
        assert main(["judge", "export", str(sqlite_store.origin), "log", "-o", str(tmp_path / "out.jsonl")]) == 0
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(1 for _ in export_lines(sqlite_store, "log")) == 3_000
    assert (tmp_path / "out.jsonl").read_text() == export_text(sqlite_store, "log")
    assert peak < size / 2


def test_a_policy_goes_on_after_an_import_as_after_a_restart(sqlite_store: Store, tmp_path: Path) -> None:
    """The log of a project whose documents a policy chose: the policy learns from it again, topic by topic."""
    make = adaptive_project(sqlite_store)
    sqlite_store.set_settings(sqlite_store.settings().changed(budget=60))
    judging = Judging(sqlite_store, make)
    work(judging, "anna", 25)
    judging.release("anna").result(10)
    (tmp_path / "log.jsonl").write_text(export_text(sqlite_store, "log"))
    with Store(str(tmp_path / "copy.db")) as copy:
        adaptive_project(copy)
        copy.set_settings(sqlite_store.settings())
        import_log(copy, str(tmp_path / "log.jsonl"))
        assert work(Judging(copy, make), "anna") == work(Judging(sqlite_store, make), "anna")
        assert export_text(copy, "qrels") == export_text(sqlite_store, "qrels")

"""The log only grows; what stands follows from it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cranfield.building.serve.database.database import Connection
from cranfield.building.serve.project.judgment_log import Entry, LogRow, record, undo
from cranfield.building.serve.project.store import Store
from cranfield.errors import UsageError

Judge = Callable[..., LogRow]
counter = iter(range(1_000_000))


@pytest.fixture
def judge(store: Store) -> Judge:
    def judge(
        grade: float | None = 1, doc: str = "d0", assessor: str = "anna", overlap: int = 1, **more: object
    ) -> LogRow:
        request = str(more.pop("request", f"request-{next(counter)}"))
        entry = Entry(request, "1", doc, assessor, grade=grade, **more)  # type: ignore[arg-type]
        return store.database.write(lambda connection: record(connection, entry, overlap=overlap, now=100.0))

    return judge


def take_back(store: Store, assessor: str = "anna", request: str | None = None) -> LogRow | None:
    name = request or f"request-{next(counter)}"
    return store.database.write(lambda connection: undo(connection, assessor, name, overlap=1, now=100.0))


def stands(store: Store) -> dict[tuple[str, str], float | None]:
    rows = store.database.read("SELECT doc, assessor, grade FROM current_qrels")
    return {(doc, assessor): grade for doc, assessor, grade in rows}


def size(store: Store) -> int:
    return int(store.database.read("SELECT COUNT(*) FROM judgment")[0][0])


def test_a_retry_is_recorded_once_and_answered_as_the_first_time(store: Store, judge: Judge) -> None:
    first = judge(2, request="same-request")
    again = judge(2, request="same-request")
    assert first == again
    assert size(store) == 1


def test_a_request_id_cannot_be_used_for_another_judgment(store: Store, judge: Judge) -> None:
    judge(2, request="same-request")
    with pytest.raises(UsageError, match="'same-request' was used for another judgment"):
        judge(1, request="same-request")
    with pytest.raises(UsageError, match="'same-request' was used for another judgment"):
        judge(2, assessor="ben", request="same-request")
    assert stands(store) == {("d0", "anna"): 2}


def test_a_change_replaces_the_earlier_judgment_and_both_stay_in_the_log(store: Store, judge: Judge) -> None:
    first = judge(0)
    second = judge(2)
    assert second.supersedes == first.id
    assert stands(store) == {("d0", "anna"): 2}
    assert size(store) == 2


def test_undo_restores_what_was_there_step_by_step(store: Store, judge: Judge) -> None:
    judge(0, doc="d0")
    judge(1, doc="d1")
    judge(2, doc="d0")  # a change of the first
    steps = [stands(store)]
    for _ in range(4):
        take_back(store)
        steps.append(stands(store))
    assert steps == [
        {("d0", "anna"): 2, ("d1", "anna"): 1},
        {("d0", "anna"): 0, ("d1", "anna"): 1},
        {("d0", "anna"): 0},
        {},
        {},
    ]
    assert size(store) == 6  # three judgments, three undos; the fourth had nothing to take back


def test_undo_of_a_judgment_made_after_an_undo_goes_back_to_the_restored_one(store: Store, judge: Judge) -> None:
    judge(0)
    judge(1)
    take_back(store)  # back to 0
    judge(2)
    take_back(store)
    assert stands(store) == {("d0", "anna"): 0}
    take_back(store)
    assert stands(store) == {}


def test_a_retried_undo_takes_back_one_judgment_only(store: Store, judge: Judge) -> None:
    judge(1, doc="d0")
    judge(1, doc="d1")
    first = take_back(store, request="undo-request")
    assert take_back(store, request="undo-request") == first
    assert stands(store) == {("d0", "anna"): 1}


def test_undo_never_touches_others(store: Store, judge: Judge) -> None:
    judge(1, assessor="ben")
    assert take_back(store, "anna") is None
    assert stands(store) == {("d0", "ben"): 1}


def test_cannot_judge_and_later_do_not_count(store: Store, judge: Judge) -> None:
    judge(None, state="cannot")
    judge(None, doc="d1", state="later")
    assert stands(store) == {}
    judge(1)  # changed their mind
    assert stands(store) == {("d0", "anna"): 1}


def test_no_more_judgments_count_than_the_overlap_and_the_rest_stays_in_the_log(store: Store, judge: Judge) -> None:
    rows = [judge(1, assessor=name, overlap=2) for name in ("anna", "ben", "cleo")]
    assert [row.counted for row in rows] == [1, 1, 0]
    assert set(stands(store)) == {("d0", "anna"), ("d0", "ben")}
    assert size(store) == 3


def test_gold_and_repeated_documents_do_not_count(store: Store, judge: Judge) -> None:
    judge(1, purpose="gold")
    judge(1, doc="d1")
    repeat = judge(2, doc="d1", purpose="repeat")
    assert repeat.supersedes is None  # a chain of its own
    assert stands(store) == {("d1", "anna"): 1}


def test_order_and_guidelines_version_are_kept(store: Store, judge: Judge) -> None:
    assert judge(1).guideline is None
    store.write_guidelines("Be fair.", "anna")
    row = judge(1, doc="d1")
    assert (row.position, row.guideline) == (2, 1)
    assert judge(1, doc="d1", assessor="ben", overlap=2).position == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"request": "short"}, "request == 'short', must be text of 8 to 100 characters"),
        ({"state": "none"}, "state == 'none', must be one of graded, cannot, later"),
        ({"grade": None}, "must have a grade"),
        ({"state": "cannot"}, "must have a grade"),
        ({"reason": "x" * 10_001}, "the reason has 10,001 characters"),
        ({"milliseconds": -1}, "milliseconds == -1"),
        ({"payload": {"text": "x" * 200_000}}, "too long"),
    ],
)
def test_a_wrong_entry_is_refused(store: Store, judge: Judge, wrong: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        judge(**wrong)
    assert size(store) == 0


def test_two_rows_can_never_replace_the_same_one(store: Store, judge: Judge) -> None:
    first = judge(1)
    judge(2)

    def forge(connection: Connection) -> None:
        connection.run(
            """INSERT INTO judgment (request, topic, doc, assessor, action, state, reason, position, judged_at, purpose,
            counted, supersedes) VALUES ('forged-one', '1', 'd0', 'anna', 'judge', 'cannot', '', 9, 0, 'pool', 0, ?)""",
            (first.id,),
        )

    with pytest.raises(Exception, match=r"(?i)unique"):
        store.database.write(forge)
    assert stands(store) == {("d0", "anna"): 2}

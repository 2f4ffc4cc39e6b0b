"""An assessor cannot tell a check from another document by anything that the server sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cranfield.building.serve.project.judging_modes import PoolEntry
from cranfield.building.serve.project.offers import REPEAT_AFTER
from cranfield.building.serve.project.store import Store
from cranfield.collection.topics import Topics
from tests.building.serve.web import TEXTS, Client, app_of

STEPS = 24
VARYING = ("content-length", "date")


def shape(value: Any) -> Any:
    """Names and types of an answer, however deep; texts and numbers may differ from document to document."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else type(value).__name__


def played(path: Path, **settings: Any) -> tuple[list[Any], list[str]]:
    """What an assessor can see at each of many judgments, and for what the documents were offered."""
    seen: list[Any] = []
    purposes = []
    with Store(str(path)) as store:
        store.add_topics(Topics.from_dict({"1": "wing flutter"}))
        store.add_pool(PoolEntry("1", f"d{i}", {}) for i in range(40))
        store.add_gold([("1", f"g{i}", 1) for i in range(20)])
        store.set_settings(store.settings().changed(seed=3, search=True, **settings))
        anna = Client(app_of(store), "anna")
        state = anna.state()
        for step in range(STEPS):
            item, before = state["items"][0], state["progress"]
            ((purpose,),) = store.database.read("SELECT purpose FROM offer WHERE id = ?", item["offer"])
            purposes.append(purpose)
            history = anna.http.get("/api/history")
            judged = anna.judge(item, grade=1)
            given = anna.http.get(f"/api/item?offer={item['offer']}")
            found = anna.http.get("/api/search?q=title+3")
            page = anna.http.get("/judge")
            answers = [history, judged, given, found, page]
            if step % 7 == 6:  # take it back, see it again, and judge it again
                undone = anna.post("/api/undo", {"request": f"undo-{step:08}", "times": 1})
                again = anna.judge({"offer": undone.json()["first"]}, grade=1)
                answers += [undone, again]
            state = anna.state()
            after, listed = state["progress"], history.json()["judgments"]
            seen.append(
                {
                    "answers": [(answer.status_code, headers(answer)) for answer in answers],
                    "shapes": [shape(answer.json()) for answer in (judged, given, found)],
                    "history": [(shape(one), one["times"]) for one in listed[:REPEAT_AFTER]],
                    "in view": (item["topic"]["id"], item["doc"]) in [(one["topic"], one["doc"]) for one in listed],
                    "steps": [after[name] - before[name] for name in ("mine", "done", "total")],
                    "offers": (item["offer"], state["open"]),
                }
            )
    return seen, purposes


def headers(answer: Any) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name not in VARYING}


def test_everything_that_an_assessor_sees_is_the_same_with_and_without_checks(tmp_path: Path) -> None:
    with_checks, purposes = played(tmp_path / "checks.db", gold_rate=0.25, repeat_rate=0.35)
    without, plain = played(tmp_path / "plain.db")
    assert set(purposes) == {"pool", "gold", "repeat"}, "the test has to meet checks of both kinds"
    assert set(plain) == {"pool"}
    for step, (one, other) in enumerate(zip(with_checks, without, strict=True)):
        assert one == other, (step, purposes[step])


def test_the_list_of_judgments_has_no_gaps_and_nothing_leaves_it_but_the_oldest(tmp_path: Path) -> None:
    """A judgment that is missing, or that goes before its time, would be that of a document that comes again."""
    with Store(str(tmp_path / "judgments.db")) as store:
        store.add_topics(Topics.from_dict({"1": "wing flutter"}))
        store.add_pool(PoolEntry("1", document.id, {}) for document in TEXTS)
        store.set_settings(store.settings().changed(repeat_rate=0.5, seed=2))
        anna = Client(app_of(store), "anna")
        said: list[str] = []
        for _ in range(14):
            listed = anna.http.get("/api/history").json()["judgments"]
            assert [one["doc"] for one in listed] == said[::-1][:REPEAT_AFTER]
            item = anna.state()["items"][0]
            assert anna.judge(item, grade=1).status_code == 200
            said.append(item["doc"])
        assert len(set(said)) < len(said)


def test_the_length_of_the_list_after_an_undo_does_not_tell_that_a_repeat_is_in_view(tmp_path: Path) -> None:
    lengths = set()
    for seed in range(6):
        with Store(str(tmp_path / f"{seed}.db")) as store:
            store.add_topics(Topics.from_dict({"1": "wing flutter"}))
            store.add_pool(PoolEntry("1", f"d{i}", {}) for i in range(40))
            store.set_settings(store.settings().changed(repeat_rate=0.4, seed=seed))
            anna = Client(app_of(store), "anna")
            seen = []
            for step in range(18):
                anna.judge(anna.state()["items"][0], grade=1)
                if step % 3 == 2:
                    anna.post("/api/undo", {"request": f"undo-{step:08}", "times": 2})
                    seen.append(len(anna.http.get("/api/history").json()["judgments"]))
                    in_view = {(one["topic"]["id"], one["doc"]) for one in anna.state()["items"]}
                    listed = anna.http.get("/api/history").json()["judgments"]
                    assert not in_view & {(one["topic"], one["doc"]) for one in listed}
            assert store.database.read("SELECT 1 FROM offer WHERE purpose = 'repeat'")
            lengths.add(tuple(seen))
    assert len(lengths) == 1, lengths


def test_an_undo_goes_back_to_the_judgment_that_was_chosen_in_the_list(tmp_path: Path) -> None:
    """Also if one in between was changed, and the change taken back."""
    with Store(str(tmp_path / "judgments.db")) as store:
        store.add_topics(Topics.from_dict({"1": "wing flutter"}))
        store.add_pool(PoolEntry("1", document.id, {}) for document in TEXTS)
        store.set_settings(store.settings().changed(order="pool"))
        anna = Client(app_of(store), "anna")
        items = []
        for _ in range(4):
            items.append(anna.state()["items"][0])
            anna.judge(items[-1], grade=1)
        anna.judge(items[1], grade=2)
        anna.post("/api/undo", {"request": "undo-the-change", "times": 1})
        listed = anna.http.get("/api/history").json()["judgments"]
        assert [(one["doc"], one["grade"], one["times"]) for one in listed] == [
            ("d3", 1, 1), ("d2", 1, 2), ("d1", 1, 3), ("d0", 1, 4),
        ]  # fmt: skip
        assert [one["offer"] for one in listed] == [item["offer"] for item in items[::-1]]
        given = anna.http.get(f"/api/item?offer={items[1]['offer']}").json()["item"]["given"]
        assert given == {"state": "graded", "grade": 1, "reason": ""}
        anna.post("/api/undo", {"request": "undo-to-the-first", "times": 4})
        assert anna.http.get("/api/history").json()["judgments"] == []

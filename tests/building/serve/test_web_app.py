"""The server by HTTP: judging works, and nothing is sent that an assessor must not know."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cranfield.building.serve.database.database import Connection
from cranfield.building.serve.project.judging_modes import Document, Facet, PoolEntry
from cranfield.building.serve.project.store import Store
from cranfield.building.serve.web.web_app import BLOCK
from tests.building.serve.web import Client, app_of
from tests.building.serve.working import export_text, new_request


@pytest.fixture
def app(sqlite_store: Store) -> Any:
    return app_of(sqlite_store)


def qrels(store: Store) -> dict[tuple[str, str], float]:
    return {(t, d): g for t, d, g in store.database.read("SELECT topic, doc, grade FROM current_qrels")}


def test_the_page_holds_the_first_documents_with_topic_and_text(app: Any) -> None:
    state = Client(app, "anna").state()
    first = state["items"][0]
    assert first["topic"] == {
        "id": "1",
        "title": "wing flutter",
        "description": "What causes flutter?",
        "narrative": "Notes on flutter of wings are relevant.",
        "words": ["wing", "flutter"],
    }
    assert (first["doc"], first["title"], first["text"]) == ("d0", "Title 0", "Text 0 on wing flutter.")
    assert state["progress"] == {"mine": 0, "done": 0, "total": 20}
    assert len(state["items"]) == 3


def test_a_judgment_is_saved_and_the_next_document_comes_with_the_answer(app: Any, sqlite_store: Store) -> None:
    anna = Client(app, "anna")
    state = anna.state()
    answer = anna.judge(state["items"][0], grade=2, reason="on the topic", have=state["open"]).json()
    assert answer["saved"]
    assert [item["doc"] for item in answer["items"]] == ["d3"]  # the page has d1 and d2
    assert answer["open"][:2] == state["open"][1:]
    assert answer["progress"] == {"mine": 1, "done": 1, "total": 20}
    assert qrels(sqlite_store) == {("1", "d0"): 2}
    assert sqlite_store.database.read("SELECT reason, milliseconds, position FROM judgment") == [
        ("on the topic", 1200, 1)
    ]


def test_a_retry_is_harmless(app: Any, sqlite_store: Store) -> None:
    anna = Client(app, "anna")
    item, request = anna.state()["items"][0], new_request()
    answers = [anna.judge(item, request, grade=1) for _ in range(3)]
    assert {answer.status_code for answer in answers} == {200}
    assert answers[0].json() == answers[2].json()
    assert sqlite_store.database.read("SELECT COUNT(*) FROM judgment") == [(1,)]


def test_undo_back_and_change(app: Any, sqlite_store: Store) -> None:
    anna = Client(app, "anna")
    first, second, _ = anna.state()["items"]
    anna.judge(first, grade=1)
    anna.judge(second, grade=0)
    undone = anna.post("/api/undo", {"request": new_request()}).json()
    assert (undone["undone"], undone["doc"], undone["state"]) == (1, "d1", "none")
    assert undone["first"] in undone["open"]
    back = anna.http.get(f"/api/item?offer={first['offer']}").json()["item"]
    assert back["given"] == {"state": "graded", "grade": 1, "reason": ""}
    anna.judge(back, grade=2)
    assert qrels(sqlite_store) == {("1", "d0"): 2}
    history = anna.http.get("/api/history").json()["judgments"]
    assert [(one["doc"], one["grade"]) for one in history] == [("d0", 2)]


def test_bulk_undo(app: Any, sqlite_store: Store) -> None:
    anna = Client(app, "anna")
    for _ in range(5):
        anna.judge(anna.state()["items"][0], grade=1)
    assert anna.post("/api/undo", {"request": new_request(), "times": 3}).json()["undone"] == 3
    assert len(qrels(sqlite_store)) == 2


def test_an_assessor_cannot_see_or_judge_what_was_offered_to_another(app: Any) -> None:
    anna, ben = Client(app, "anna"), Client(app, "ben")
    item = anna.state()["items"][0]
    for answer in (
        ben.http.get(f"/api/item?offer={item['offer']}"),
        ben.judge(item, grade=1),
        ben.http.get(f"/page?offer={item['offer']}"),
    ):
        assert answer.status_code == 400
        assert "is not one of yours" in answer.text.replace("&#39;", "'")


def test_two_assessors_at_once_never_get_the_same_document(app: Any, sqlite_store: Store) -> None:
    def work(name: str) -> list[tuple[str, str]]:
        client, done = Client(app, name), []
        while items := client.state()["items"]:
            done.append((items[0]["topic"]["id"], items[0]["doc"]))
            assert client.judge(items[0], grade=1).status_code == 200
        return done

    with ThreadPoolExecutor(2) as pool:
        anna, ben = pool.map(work, ("anna", "ben"))
    assert len(anna) + len(ben) == 20
    assert not set(anna) & set(ben)


def everything_sent(client: Client) -> str:
    """All that a browser of an assessor gets."""
    page = client.http.get("/judge").text
    item = client.state()["items"][0]
    answers = [
        page,
        client.judge(item, grade=1).text,
        client.post("/api/offers", {}).text,
        client.http.get("/api/history").text,
        client.http.get(f"/api/item?offer={item['offer']}").text,
        client.http.get("/api/search?q=flutter").text,
        client.post("/api/find", {"topic": "1", "doc": "d11", "query": "flutter"}).text,
        client.post("/api/undo", {"request": new_request()}).text,
    ]
    return "\n".join(answers)


def test_blind_means_blind(app: Any, sqlite_store: Store) -> None:
    """Neither run nor rank, estimate, purpose, other assessors nor their grades are sent to an assessor."""
    sqlite_store.add_gold([("1", "d10", 2)])
    sqlite_store.set_settings(sqlite_store.settings().changed(overlap=2, gold_rate=0.5))
    app.state.site.judging.reload()
    ben = Client(app, "ben")
    for _ in range(6):
        ben.judge(ben.state()["items"][0], grade=2, reason="a secret reason of ben")
    anna = Client(app, "anna")
    sent = everything_sent(anna)
    for secret in (
        "secret-run",
        '"rank"',
        "estimate",
        "purpose",
        "gold",
        "repeat",
        "ben",
        "a secret reason",
        "overlap",
    ):
        assert secret not in sent, secret


def test_what_is_gold_cannot_be_told_from_the_data_of_a_document(app: Any, sqlite_store: Store) -> None:
    sqlite_store.add_gold([("1", f"d{i}", 1) for i in (10, 11)])
    sqlite_store.set_settings(sqlite_store.settings().changed(gold_rate=0.5))
    app.state.site.judging.reload()
    anna = Client(app, "anna")
    keys = set()
    purposes = set()
    for _ in range(8):
        item = anna.state()["items"][0]
        keys.add(tuple(sorted(item)))
        before = anna.state()["progress"]["mine"]
        after = anna.judge(item, grade=1).json()["progress"]["mine"]
        assert after == before + 1
        purposes |= set(sqlite_store.database.read("SELECT purpose FROM offer WHERE id = ?", item["offer"]))
    assert len(keys) == 1
    assert purposes == {("pool",), ("gold",)}


def test_every_number_that_is_sent_changes_alike_with_checks(app: Any, sqlite_store: Store) -> None:
    """Gold, repeated and other documents: the same fields, the same steps of all numbers, no earlier grade in sight."""
    sqlite_store.add_gold([(topic, f"g{i}", 1) for i in range(9) for topic in "12"])
    sqlite_store.set_settings(sqlite_store.settings().changed(gold_rate=0.3, repeat_rate=0.4, seed=7, order="own"))
    app.state.site.judging.reload()
    anna = Client(app, "anna")
    seen: dict[str, set[Any]] = {}
    state = anna.state()
    while len(state["items"]) == 3:  # at the very end fewer documents are left
        item, before = state["items"][0], state["progress"]
        listed = [(one["topic"], one["doc"]) for one in anna.http.get("/api/history").json()["judgments"]]
        assert (item["topic"]["id"], item["doc"]) not in listed
        answer = anna.judge(item, grade=1).json()
        steps = tuple(answer["progress"][name] - before[name] for name in ("mine", "done", "total"))
        ((purpose,),) = sqlite_store.database.read("SELECT purpose FROM offer WHERE id = ?", item["offer"])
        fields = (tuple(sorted(answer)), tuple(sorted(item)))
        if len(answer["open"]) == 3:
            seen.setdefault(purpose, set()).add((steps, fields))
        state = anna.state()
        assert answer["open"] == state["open"]  # the answer to a check has as many documents as any other
    assert set(seen) == {"pool", "gold", "repeat"}
    assert len(set.union(*seen.values())) == 1, seen


def test_search_finds_documents_and_they_enter_marked_so(app: Any, sqlite_store: Store) -> None:
    anna = Client(app, "anna")
    results = anna.http.get("/api/search?q=text+11").json()["results"]
    assert results == [{"doc": "d11", "title": "Title 11", "snippet": "Text 11 on wing flutter."}]
    item = anna.post("/api/find", {"topic": "2", "doc": "d11", "query": "text 11"}).json()["item"]
    anna.judge(item, grade=2)
    assert sqlite_store.database.read("SELECT source, query, added_by FROM pool WHERE doc = 'd11'") == [
        ("found", "text 11", "anna")
    ]
    sqlite_store.set_settings(sqlite_store.settings().changed(search=False))
    assert anna.http.get("/api/search?q=text").json() == {"error": "the organiser has switched search off"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"grade": 7}, "grade == 7, must be one of 0, 1, 2"),
        ({"grade": "1"}, "grade == '1', must be one of 0, 1, 2"),
        ({"grade": True}, "grade == True, must be one of 0, 1, 2"),
        ({}, "grade == None, must be one of 0, 1, 2"),
        ({"grade": 1, "state": "perhaps"}, "state == 'perhaps', must be one of graded, cannot, later"),
        ({"grade": 1, "request": "x"}, "must be text of 8 to 100 characters"),
        ({"grade": 1, "request": 12}, "request, reason and state must be text"),
        ({"grade": 1, "offer": "1"}, "offer '1' is not one of yours"),
        ({"grade": 1, "offer": 10**30}, "is not one of yours"),
        ({"grade": 1, "offer": -1}, "is not one of yours"),
        ({"grade": 1, "reason": "x" * 10_001}, "the reason has 10,001 characters"),
    ],
)
def test_a_wrong_judgment_is_refused_with_the_reason_and_nothing_is_saved(
    app: Any, sqlite_store: Store, body: dict[str, Any], message: str
) -> None:
    anna = Client(app, "anna")
    whole = {"request": new_request(), "offer": anna.state()["items"][0]["offer"], **body}
    answer = anna.post("/api/judge", whole)
    assert answer.status_code == 400
    assert message in answer.json()["error"]
    assert not qrels(sqlite_store)


def test_bodies_that_are_not_json_are_refused(app: Any) -> None:
    anna = Client(app, "anna")
    for content in (b"", b"{", b"[1]", b"\xff", b'"x"', b"[" * 100_000):
        answer = anna.http.post("/api/judge", content=content, headers={"x-csrf-token": anna.csrf})
        assert answer.status_code == 400, content[:10]


def test_trouble_with_the_database_is_told_and_judging_goes_on_afterwards(app: Any, sqlite_store: Store) -> None:
    anna = Client(app, "anna")
    item, request = anna.state()["items"][0], new_request()

    def allow(more: int) -> None:
        def change(connection: Connection) -> None:
            (pages,) = connection.run("PRAGMA page_count")[0]
            connection.run(f"PRAGMA max_page_count = {pages + more}")

        sqlite_store.database.write(change)

    allow(0)
    reason = "x" * 9000  # needs pages that the file does not have
    answer = anna.judge(item, request, grade=1, reason=reason)
    assert answer.status_code == 507
    assert "the disk is full; nothing of this change was saved" in answer.json()["error"]
    assert not sqlite_store.database.read("SELECT 1 FROM judgment")
    allow(1000)
    assert anna.judge(item, request, grade=1, reason=reason).status_code == 200
    assert qrels(sqlite_store) == {("1", "d0"): 1}


def test_a_bug_sends_no_details(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    anna = Client(app, "anna")
    anna.http = type(anna.http)(
        app, base_url="http://localhost", raise_server_exceptions=False, cookies=anna.http.cookies
    )
    monkeypatch.setattr("cranfield.building.serve.web.judging_pages.snippet", lambda *a: 1 / 0)
    answer = anna.http.get("/api/search?q=flutter")
    assert answer.status_code == 500
    assert "division" not in answer.text
    assert answer.json()["error"].startswith("The server has a problem")


# ---- the pages of organisers


def test_the_organiser_sees_progress_agreement_and_who_judged_what(app: Any, sqlite_store: Store) -> None:
    sqlite_store.set_settings(sqlite_store.settings().changed(overlap=2))
    app.state.site.judging.reload()
    for name, grade in (("anna", 1), ("ben", 0)):
        client = Client(app, name)
        client.post("/api/offers", {"topic": "1"})
        for _ in range(3):
            client.judge(client.state()["items"][0], grade=grade, reason=f"because {name}")
    olga = Client(app, "olga")
    page = olga.http.get("/organise").text
    assert "anna and ben" in page
    assert "0.00" in page  # they agree on nothing
    log = olga.http.get("/organise/log?assessor=ben").text
    assert "because ben" in log
    assert "because anna" not in log


def test_guidelines_are_edited_in_place_and_assessors_see_them(app: Any, sqlite_store: Store) -> None:
    olga = Client(app, "olga")
    assert olga.form("/organise/guidelines", text="Read <b>first</b>.\r\nThen judge.").status_code == 303
    assert sqlite_store.guidelines() == (1, "Read <b>first</b>.\nThen judge.")
    page = Client(app, "anna").http.get("/judge").text
    assert "Read &lt;b&gt;first&lt;/b&gt;." in page


def test_an_organiser_adds_and_switches_off_people(app: Any) -> None:
    olga = Client(app, "olga")
    page = olga.form("/organise/accounts", name="dora", role="assessor").text
    password = page.split("<code>")[1].split("</code>")[0]
    dora = Client(app, "dora", password)
    assert olga.form("/organise/accounts/switch", name="dora", active="0").status_code == 303
    assert dora.http.get("/judge").headers["location"] == "/login"
    assert olga.form("/organise/accounts/switch", name="olga", active="0").status_code == 400


def test_downloads_are_what_the_command_line_writes(app: Any, sqlite_store: Store) -> None:
    anna = Client(app, "anna")
    anna.judge(anna.state()["items"][0], grade=2)
    answer = Client(app, "olga").http.get("/organise/export/qrels")
    assert answer.text == "1 0 d0 2\n"
    assert answer.headers["content-disposition"] == 'attachment; filename="qrels.txt"'
    assert Client(app, "olga").http.get("/organise/export/none").status_code == 400


# ---- documents


def test_html_is_text_in_the_page_and_runs_nothing_in_its_frame(app: Any, sqlite_store: Store) -> None:
    html = "<h1>Hi</h1><script>steal()</script><p onclick=steal()>Flutter</p>"
    sqlite_store.add_documents([Document("d0", "", "Hi\n\nFlutter", "html", {"html": html})])
    anna = Client(app, "anna")
    item = anna.state()["items"][0]
    assert item["text"] == "Hi\n\nFlutter"
    assert "steal" not in str(item)
    answer = anna.http.get(item["page"])
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'")
    assert "script" not in policy


def test_images_are_sent_only_if_they_are_images(app: Any, sqlite_store: Store, tmp_path: Any) -> None:
    picture = tmp_path / "p.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    sqlite_store.add_documents([Document("d0", "", "", "image", {"image": str(picture)})])
    anna = Client(app, "anna")
    item = anna.state()["items"][0]
    answer = anna.http.get(item["image"])
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    picture.write_text("<script>steal()</script>")
    assert anna.http.get(item["image"]).status_code == 400


# ---- further modes


def set_mode(app: Any, store: Store, mode: str, **more: Any) -> None:
    store.set_settings(store.settings().changed(mode=mode, **more))
    app.state.site.judging.reload()


def test_judging_by_intent(app: Any, sqlite_store: Store) -> None:
    sqlite_store.add_facets(
        [Facet("1", "intent", "a", "causes", "inf", 0.75), Facet("1", "intent", "b", "tests", "nav", 0.25)]
    )
    set_mode(app, sqlite_store, "intents")
    anna = Client(app, "anna")
    anna.post("/api/offers", {"topic": "1"})
    item = anna.state()["items"][0]
    assert [(row["id"], row["label"], row["help"]) for row in item["rows"]] == [
        ("a", "causes", "inf"),
        ("b", "tests", "nav"),
    ]
    assert "0.75" not in str(item)
    assert "must be for a, b" in anna.judge(item, grades={"a": 1}).json()["error"]
    assert anna.judge(item, grades={"a": 2, "b": 0}).status_code == 200
    olga = Client(app, "olga")
    assert olga.http.get("/organise/export/intent-qrels").text == "1 a d0 2\n1 b d0 0\n"
    assert olga.http.get("/organise/export/intents").text == "1 a 0.75 inf\n1 b 0.25 nav\n"
    assert olga.form("/organise/facets", topic="1", id="b", text="tests", type="nav", weight="2").status_code == 400
    assert (
        olga.form("/organise/facets", topic="1", id="b", text="wind tunnel", type="inf", weight="0.25").status_code
        == 303
    )
    assert sqlite_store.facets("intent", "1")[1] == Facet("1", "intent", "b", "wind tunnel", "inf", 0.25)


def test_judging_by_dimension(app: Any, sqlite_store: Store) -> None:
    set_mode(app, sqlite_store, "dimensions", dimensions=("relevance", "credibility"))
    anna = Client(app, "anna")
    item = anna.state()["items"][0]
    assert anna.judge(item, grades={"relevance": 1, "credibility": 2}).status_code == 200
    assert qrels(sqlite_store) == {("1", "d0"): 1}


def test_preferences_are_blind_to_names_and_sides_vary(app: Any, sqlite_store: Store) -> None:
    from cranfield.building.serve.project.judging_modes import list_key

    def empty(connection: Connection) -> None:
        connection.run("DELETE FROM pool")

    sqlite_store.database.write(empty)
    topics = list(sqlite_store.topics())
    for topic in topics:
        sqlite_store.keep_fact(list_key(topic, "runA"), '["d0", "d1"]')
        sqlite_store.keep_fact(list_key(topic, "runB"), '["d2", "d3"]')
    sqlite_store.add_pool(PoolEntry(t, "runA | runB", {"first": "runA", "second": "runB"}) for t in topics)
    set_mode(app, sqlite_store, "preferences", overlap=2)
    sides = set()
    for name in ("anna", "ben"):
        client = Client(app, name)
        while items := client.state()["items"]:
            item = items[0]
            assert "run" not in str(item)
            left = [one["doc"] for one in item["sides"][0]["documents"]]
            sides.add(tuple(left))
            best = "left" if left == ["d2", "d3"] else "right"  # everybody prefers runB
            assert client.judge(item, preferred=best).status_code == 200
            assert client.http.get(f"/api/item?offer={item['offer']}").json()["item"]["given"]["preferred"] == best
    assert sides == {("d0", "d1"), ("d2", "d3")}
    text = Client(app, "olga").http.get("/organise/export/preferences").text
    assert text.splitlines()[0] == "topic\tfirst\tsecond\tpreferred\tassessor"
    assert {line.split("\t")[3] for line in text.splitlines()[1:]} == {"runB"}


def test_passages_are_attached_to_nuggets_with_offsets_in_characters(app: Any, sqlite_store: Store) -> None:
    text = "𝒜 wing flutters. It bends."
    sqlite_store.add_documents([Document("d0", "", text)])
    set_mode(app, sqlite_store, "nuggets")
    anna = Client(app, "anna")
    item = anna.state()["items"][0]
    nuggets = anna.post("/api/nugget", {"offer": item["offer"], "text": "wings flutter"}).json()["nuggets"]
    assert [(one["id"], one["text"]) for one in nuggets] == [("n1", "wings flutter")]
    start = text.index("wing")
    spans = [{"nugget": "n1", "start": start, "end": start + 13}]
    assert "must be within" in anna.judge(item, spans=[{"nugget": "n1", "start": 5, "end": 99}]).json()["error"]
    assert "not a nugget" in anna.judge(item, spans=[{"nugget": "n9", "start": 0, "end": 1}]).json()["error"]
    assert anna.judge(item, spans=spans).status_code == 200
    lines = Client(app, "olga").http.get("/organise/export/spans").text.splitlines()
    assert lines[1].split("\t") == ["1", "n1", "d0", "2", "15", "anna", "wing flutters"]


def test_nuggets_are_assigned_to_answers(app: Any, sqlite_store: Store) -> None:
    sqlite_store.add_facets([Facet("1", "nugget", "n1", "speed"), Facet("1", "nugget", "n2", "mass")])
    set_mode(app, sqlite_store, "answers")
    anna = Client(app, "anna")
    anna.post("/api/offers", {"topic": "1"})
    item = anna.state()["items"][0]
    assert anna.judge(item, grades={"n1": 2, "n2": 0}).status_code == 200
    text = Client(app, "olga").http.get("/organise/export/assignments").text
    assert text == "topic\tanswer\tnugget\tgrade\n1\td0\tn1\t2\n1\td0\tn2\t0\n"


def test_the_page_of_organisers_says_what_to_copy(app: Any, sqlite_store: Store) -> None:
    page = Client(app, "olga").http.get("/organise").text
    assert f"cranfield judge backup {sqlite_store.origin} COPY.db" in page


def test_a_download_is_sent_in_parts_and_is_the_file_that_the_terminal_writes(app: Any, sqlite_store: Store) -> None:
    anna, olga = Client(app, "anna"), Client(app, "olga")
    while items := anna.state()["items"]:
        anna.judge(items[0], grade=1, reason="long " * 400)
    answer = olga.http.get("/organise/export/log")
    assert answer.text == export_text(sqlite_store, "log")
    assert int(answer.headers["content-length"]) == len(answer.content) > BLOCK / 2
    assert 'filename="log.jsonl"' in answer.headers["content-disposition"]


def test_a_download_that_cannot_be_made_is_a_page_and_not_half_a_file(app: Any, sqlite_store: Store) -> None:
    sqlite_store.add_pool([PoolEntry("1", "a blank", {})])
    rows = [("r1" * 8, "1", "d1"), ("r2" * 8, "1", "a blank")]
    sqlite_store.database.write(
        lambda connection: connection.run_many(
            """INSERT INTO judgment (request, topic, doc, assessor, action, state, grade, reason, position, judged_at,
            purpose, counted) VALUES (?, ?, ?, 'anna', 'judge', 'graded', 1, '', ?, 0, 'pool', 1)""",
            [(*row, at) for at, row in enumerate(rows, 1)],
        )
    )
    answer = Client(app, "olga").http.get("/organise/export/qrels")
    assert answer.status_code == 400
    assert "has a blank, which qrels cannot hold" in answer.text

"""Nobody gets in, and hostile text stays text."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from cranfield.building.serve.project import accounts
from cranfield.building.serve.project.accounts import add_account, has_passwords, matching_hash
from cranfield.building.serve.project.judging import Judging
from cranfield.building.serve.project.judging_modes import Document, PoolEntry
from cranfield.building.serve.project.store import Store
from cranfield.building.serve.web.serving import bound, listening_at, local_name, url
from cranfield.building.serve.web.web_app import Site, make_app
from cranfield.errors import CranfieldWarning, UsageError
from tests.building.serve.web import PASSWORD, Client, app_of
from tests.building.serve.working import new_request

PAGES = ["/", "/judge", "/organise", "/organise/log", "/organise/export/log", "/page?offer=1", "/image?offer=1"]
CALLS = ["/api/judge", "/api/undo", "/api/offers", "/api/find", "/api/nugget"]
READS = ["/api/history", "/api/item?offer=1", "/api/search?q=x"]
SCRIPTS = [
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)", "{{ 7 * 7 }}", "{% raw %}", "<!--", "\u2028alert(1)", "<svg onload=alert(1)>",
    "'-alert(1)-'", "<a href='javascript:alert(1)'>x</a>",
]  # fmt: skip
SQL = [
    "' OR '1'='1", "'; DROP TABLE judgment; --", '" OR ""="', "1); DELETE FROM pool; --",
    "%' UNION SELECT password FROM assessor --",
    "\\'; --", "NEAR(a b)", 'a" OR "b', "title:secret", "a AND b NOT c", "*", "^a", "(", "a*", "-a",
]  # fmt: skip
PATHS = [
    "../../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "/etc/passwd", "....//....//etc/passwd",
    "%2e%2e/%2e%2e/etc/passwd",
    "..\\..\\etc\\passwd", "app.css%00.png", "templates/../../store.py", "../store.py", "../templates/judge.html",
]  # fmt: skip


@pytest.fixture
def app(sqlite_store: Store) -> Any:
    return app_of(sqlite_store)


# ---- who gets in


@pytest.mark.parametrize("path", PAGES)
def test_pages_lead_strangers_to_the_login(app: Any, path: str) -> None:
    answer = Client(app).http.get(path)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")


@pytest.mark.parametrize("path", CALLS)
def test_changes_by_strangers_are_refused(app: Any, path: str) -> None:
    assert Client(app).http.post(path, json={}).status_code == 401


@pytest.mark.parametrize("path", READS)
def test_data_is_not_sent_to_strangers(app: Any, path: str) -> None:
    assert Client(app).http.get(path).status_code == 401


@pytest.mark.parametrize("path", ["/organise", "/organise/log", "/organise/export/qrels", "/organise/export/log"])
def test_pages_of_organisers_are_closed_to_assessors(app: Any, path: str) -> None:
    answer = Client(app, "anna").http.get(path)
    assert answer.status_code == 403
    assert "only an organiser may do this" in answer.text


@pytest.mark.parametrize(
    "path", ["/organise/guidelines", "/organise/accounts", "/organise/accounts/switch", "/organise/facets"]
)
def test_changes_of_organisers_are_closed_to_assessors(app: Any, sqlite_store: Store, path: str) -> None:
    answer = Client(app, "anna").form(path, name="anna", role="organiser", text="mine", active="1")
    assert answer.status_code == 403
    assert sqlite_store.guidelines() == (0, "")
    assert {one.name: one.role for one in accounts.accounts(sqlite_store)}["anna"] == "assessor"


@pytest.mark.parametrize(
    "headers",
    [
        {"x-csrf-token": "wrong"},
        {"x-csrf-token": ""},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_changes_that_other_sites_send_are_refused(app: Any, sqlite_store: Store, headers: dict[str, str]) -> None:
    anna = Client(app, "anna")
    item = anna.state()["items"][0]
    body = {"request": new_request(), "offer": item["offer"], "grade": 1}
    assert anna.post("/api/judge", body, **headers).status_code == 403
    assert not sqlite_store.database.read("SELECT 1 FROM judgment")


def test_a_form_without_the_token_is_refused(app: Any, sqlite_store: Store) -> None:
    olga = Client(app, "olga")
    assert olga.http.post("/organise/guidelines", data={"text": "forged"}).status_code == 403
    assert sqlite_store.guidelines() == (0, "")


def test_the_token_of_another_person_does_not_help(app: Any) -> None:
    anna, ben = Client(app, "anna"), Client(app, "ben")
    anna.csrf = ben.csrf
    assert anna.post("/api/offers", {}).status_code == 403


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(app: Any) -> None:
    answer = Client(app).http.post("/login", data={"name": "anna", "password": PASSWORD})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Secure" not in cookie  # this server has no TLS


def test_with_tls_the_cookie_is_sent_only_encrypted(sqlite_store: Store) -> None:
    add_account(sqlite_store, "anna", password=PASSWORD)
    app = make_app(Site(sqlite_store, Judging(sqlite_store), secure=True))
    answer = Client(app).http.post("/login", data={"name": "anna", "password": PASSWORD})
    assert "Secure" in answer.headers["set-cookie"]
    assert answer.headers["strict-transport-security"] == "max-age=31536000"


def test_logging_out_ends_the_session_on_the_server(app: Any) -> None:
    anna = Client(app, "anna")
    cookies = dict(anna.http.cookies)
    assert anna.form("/logout").status_code == 303
    anna.http.cookies.update(cookies)
    assert anna.http.get("/judge").headers["location"] == "/login"


def test_a_forged_or_old_session_is_refused(app: Any, sqlite_store: Store) -> None:
    client = Client(app)
    for token in ("", "x", "0" * 43, "' OR 1=1 --", "é"):
        client.http.cookies.clear()
        client.http.cookies.set("cranfield_session", token.encode("ascii", "ignore").decode())
        assert client.http.get("/judge").status_code == 303
    anna = Client(app, "anna")
    sqlite_store.database.write(lambda connection: connection.run("UPDATE session SET expires_at = 1"))
    assert anna.http.get("/judge").status_code == 303


def test_a_new_password_ends_old_sessions(app: Any, sqlite_store: Store) -> None:
    anna = Client(app, "anna")
    add_account(sqlite_store, "anna", password="another password")
    assert anna.http.get("/judge").status_code == 303
    assert not matching_hash(sqlite_store, "anna", PASSWORD)


# ---- passwords


def test_passwords_and_tokens_are_not_in_the_database(app: Any, sqlite_store: Store) -> None:
    client = Client(app, "anna")
    token = client.http.cookies["cranfield_session"]
    rows = str(sqlite_store.database.read("SELECT * FROM assessor")) + str(
        sqlite_store.database.read("SELECT * FROM session")
    )
    assert PASSWORD not in rows
    assert token not in rows
    assert "scrypt$16$8$1$" in rows  # a test need not be slow
    assert accounts.NOBODY.startswith("scrypt$16384$8$1$")  # a server is


@pytest.mark.parametrize("name", ["", "a b", "a/b", "<b>", "x" * 61, 'a"b', "a\nb"])
def test_names_that_could_confuse_are_refused(sqlite_store: Store, name: str) -> None:
    with pytest.raises(UsageError, match="must be 1 to 60 characters"):
        add_account(sqlite_store, name)


def test_short_passwords_and_unknown_roles_are_refused(sqlite_store: Store) -> None:
    with pytest.raises(UsageError, match="the password has 3 characters, must have 8"):
        add_account(sqlite_store, "dora", password="abc")
    with pytest.raises(UsageError, match="role == 'king'"):
        add_account(sqlite_store, "dora", "king")


# ---- where the server listens


def test_beyond_this_machine_accounts_are_needed(tmp_path: Any) -> None:
    with Store(str(tmp_path / "judgments.db")) as store:
        for host in ("0.0.0.0", "192.168.1.5", "example.org", "::"):
            with pytest.raises(UsageError, match="the project has no passwords"):
                listening_at(host).check(store)
        for host in ("127.0.0.1", "localhost", "::1", "127.1.2.3"):
            listening_at(host).check(store)
        add_account(store, "anna", password=PASSWORD)
        assert has_passwords(store)
        listening_at("0.0.0.0", certificate=__file__, key=__file__).check(store)
        listening_at("127.0.0.1").check(store)
        for host in ("0.0.0.0", "::", "192.168.1.5", "example.org"):
            with pytest.warns(CranfieldWarning, match="without TLS: whoever is on the way can read passwords"):
                listening_at(host).check(store)


def test_tls_needs_both_files(sqlite_store: Store, tmp_path: Any) -> None:
    with pytest.raises(UsageError, match="both a certificate and a key"):
        listening_at(certificate="c.pem").check(sqlite_store)
    with pytest.raises(UsageError, match="the file does not exist"):
        listening_at(certificate=str(tmp_path / "c"), key=str(tmp_path / "k")).check(sqlite_store)


def test_a_port_that_is_taken_is_named() -> None:
    taken = bound(listening_at(port=0))
    taken.listen()
    port = taken.getsockname()[1]
    with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1 port {port}"):
        bound(listening_at(port=port))
    taken.close()
    with pytest.raises(UsageError, match="must be between 0 and 65535"):
        bound(listening_at(port=99999))


def test_addresses() -> None:
    assert url(listening_at(), 8500, "k") == "http://127.0.0.1:8500/enter?key=k"
    assert url(listening_at("0.0.0.0", certificate="c", key="k"), 443) == "https://localhost:443/"
    assert url(listening_at("::1"), 8500) == "http://[::1]:8500/"
    assert local_name()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8500", "127.0.0.1.evil.example", "", "localhost.evil"])
def test_a_name_that_is_not_ours_is_refused(app: Any, host: str) -> None:
    """DNS rebinding: a site lets its own name point to this machine, so that a browser sends it our pages."""
    assert Client(app).http.get("/login", headers={"host": host}).status_code == 421


def test_a_local_project_opens_only_with_its_key(sqlite_store: Store) -> None:
    add_account(sqlite_store, "me", "organiser")
    app = make_app(Site(sqlite_store, Judging(sqlite_store), open_to_key=accounts.local_key(sqlite_store)))
    stranger = Client(app)
    assert stranger.http.get("/enter?key=guess").headers["location"] == "/login"
    assert stranger.http.get("/login").status_code == 401
    assert stranger.http.post("/login", data={"name": "me", "password": ""}).status_code == 403
    me = Client(app)
    answer = me.http.get(f"/enter?key={accounts.local_key(sqlite_store)}")
    assert answer.headers["location"] == "/"
    assert me.state()["me"] == "me"
    assert me.http.get("/organise").status_code == 200


# ---- hostile text


@pytest.mark.parametrize("text", SCRIPTS)
def test_scripts_in_documents_topics_and_reasons_stay_text(app: Any, sqlite_store: Store, text: str) -> None:
    from cranfield.collection.topics import Topic, Topics

    sqlite_store.add_topics(Topics([Topic("1", text, text, text)]))
    sqlite_store.add_documents([Document("d0", text, text)])
    sqlite_store.write_guidelines(text, "olga")
    anna = Client(app, "anna")
    page = anna.http.get("/judge").text
    item = anna.state()["items"][0]
    assert item["text"] == item["title"] == item["topic"]["title"] == text
    anna.judge(item, grade=1, reason=text)
    olga = Client(app, "olga")
    for sent in (page, olga.http.get("/organise").text, olga.http.get("/organise/log").text):
        scripts = re.findall(r"<script[^>]*>", sent)
        assert all('src="/static/' in one or 'type="application/json"' in one for one in scripts)
        assert "<img src=x" not in sent
        assert "<svg onload" not in sent
        assert "onerror=alert" not in re.sub(r"&[^;]+;", "", re.sub(r"\\u003[ce]", "", sent)) or "<img" not in sent
        assert not re.search(r"<[a-z][^>]*\son\w+\s*=", sent)


@pytest.mark.parametrize("path", PAGES[1:4])
def test_every_page_forbids_inline_scripts_and_foreign_content(app: Any, path: str) -> None:
    answer = Client(app, "olga").http.get(path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert not re.search(r"<[a-z][^>]*\s(on\w+|style)\s*=", answer.text)


@pytest.mark.parametrize("text", SQL)
def test_sql_in_every_field_is_only_text(app: Any, sqlite_store: Store, text: str) -> None:
    before = sqlite_store.pool_size()
    anna = Client(app, "anna")
    assert anna.http.get("/api/search", params={"q": text}).status_code == 200
    item = anna.state()["items"][0]
    assert anna.judge(item, grade=1, reason=text).status_code == 200
    for body in ({"topic": text, "doc": "d1", "query": text}, {"topic": "1", "doc": text, "query": "x"}):
        assert anna.post("/api/find", body).status_code == 400
    assert anna.post("/api/offers", {"topic": text}).status_code == 400
    assert anna.http.get("/api/item", params={"offer": text}).status_code == 400
    client = Client(app)
    assert client.http.post("/login", data={"name": text, "password": text}).status_code == 401
    olga = Client(app, "olga")
    assert olga.http.get("/organise/log", params={"assessor": text, "before": text}).status_code == 200
    assert sqlite_store.pool_size() == before
    assert sqlite_store.database.read("SELECT COUNT(*) FROM judgment") == [(1,)]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_out_of_the_static_files(app: Any, path: str) -> None:
    client = Client(app, "anna")
    for start in ("/static/", "/organise/export/", "/image?offer=", "/page?offer="):
        answer = client.http.get(f"{start}{path}")
        assert answer.status_code in (303, 400, 403, 404, 405), (start, path)
        assert "root:" not in answer.text
        assert "class Store" not in answer.text


def test_bodies_are_bounded(app: Any) -> None:
    anna = Client(app, "anna")
    answer = anna.post("/api/judge", {"reason": "x" * 1_100_000})
    assert answer.status_code == 413

    def endless() -> Any:
        for _ in range(200):
            yield b"x" * 10_000

    answer = anna.http.post("/api/judge", content=endless(), headers={"x-csrf-token": anna.csrf})
    assert answer.status_code == 413
    assert anna.http.post("/api/judge", content=b"{}", headers={"content-length": "-1"}).status_code == 413


def test_uploads_are_not_accepted_anywhere(app: Any) -> None:
    olga = Client(app, "olga")
    answer = olga.http.post("/organise/guidelines", data={"csrf": olga.csrf}, files={"text": ("a.txt", b"x")})
    assert answer.status_code == 400


def test_methods_and_addresses_that_do_not_exist(app: Any) -> None:
    anna = Client(app, "anna")
    assert anna.http.get("/none").status_code == 404
    assert anna.http.get("/api/judge").status_code == 405
    assert anna.http.request("TRACE", "/judge").status_code == 405


def test_documents_with_strange_ids_are_judged_as_any_other(app: Any, sqlite_store: Store) -> None:
    ids = ["a/b", "../x", "a b", "ü", "<i>", "'; --", "a?b#c", "%2e", "{{1}}"]
    sqlite_store.add_pool(PoolEntry("1", id, {}) for id in ids)
    sqlite_store.add_documents(Document(id, "", f"text of {id}") for id in ids)
    app.state.site.judging.reload()
    anna = Client(app, "anna")
    seen = []
    while items := anna.state()["items"]:
        seen.append(items[0]["doc"])
        assert anna.judge(items[0], grade=1).status_code == 200
    assert set(ids) < set(seen)
    assert json.loads(json.dumps(seen)) == seen


def test_the_call_that_judges_has_the_checks_and_headers_of_all_others(app: Any, sqlite_store: Store) -> None:
    anna, olga = Client(app, "anna"), Client(app, "olga")
    item = anna.state()["items"][0]
    body = {"request": new_request(), "offer": item["offer"], "grade": 1}
    other = anna.post("/api/offers", {})
    assert anna.post("/api/judge", body, host="evil.example").status_code == 421
    assert anna.post("/api/judge", {**body, "reason": "x" * 1_000_001}).status_code == 413
    long = (b"x" * 100_000 for _ in range(11))  # without a content-length
    assert anna.http.post("/api/judge", content=long, headers={"x-csrf-token": anna.csrf}).status_code == 413
    assert "is not one of yours; reload the page" in olga.post("/api/judge", body).json()["error"]
    assert not sqlite_store.database.read("SELECT 1 FROM judgment")
    answer = anna.post("/api/judge", body)
    assert answer.status_code == 200
    assert {name: answer.headers[name] for name in other.headers if name != "content-length"} == {
        name: value for name, value in other.headers.items() if name != "content-length"
    }


def test_an_account_that_is_switched_off_judges_no_more(app: Any, sqlite_store: Store) -> None:
    anna = Client(app, "anna")
    item = anna.state()["items"][0]
    accounts.set_active(sqlite_store, "anna", False)
    assert anna.judge(item, grade=1).status_code == 401
    assert not sqlite_store.database.read("SELECT 1 FROM judgment")


def test_servers_on_two_ports_of_a_host_do_not_log_each_other_out(tmp_path: Any) -> None:
    """Browsers send the cookies of a host to all of its ports."""
    browser: dict[str, str] = {}
    apps = {}
    for port in ("8500", "8501"):
        store = Store(str(tmp_path / f"{port}.db"))
        apps[port] = app_of(store)
        client = Client(apps[port]).http
        answer = client.post(
            "/login", data={"name": "olga", "password": PASSWORD}, headers={"host": f"localhost:{port}"}
        )
        browser |= dict(answer.cookies)
    sent = "; ".join(f"{name}={value}" for name, value in browser.items())
    for port, app in apps.items():
        headers = {"host": f"localhost:{port}", "cookie": sent}
        assert Client(app).http.get("/organise", headers=headers).status_code == 200
        assert Client(app).http.get("/organise", headers={**headers, "host": "localhost:1"}).status_code == 303
        app.state.site.store.close()

"""Rules that hold for all routes of both servers. The routes are found by themselves, so that new ones are held too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from cranfield.building.campaign.campaign_site import campaign_app
from cranfield.building.campaign.campaign_store import Campaign
from cranfield.building.serve.project.accounts import add_account
from cranfield.building.serve.project.store import Store
from cranfield.building.serve.web.web_security import FORGED, READS
from tests.building.campaign.players import PASSWORD, Person, make_campaign
from tests.building.serve.conftest import fill
from tests.building.serve.web import app_of

FOREIGN = [
    {"origin": "http://evil.example"},
    {"origin": "http://localhost:8501"},  # another server on this machine
    {"origin": "null"},
    {"origin": ""},
    {"origin": "http://["},
    {"origin": "http://localhost.evil.example"},
    {"origin": "ftp://localhost"},
    {"referer": "http://evil.example/page"},  # of a browser that says no more
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": "http://localhost", "sec-fetch-site": "cross-site"},
]
"""What a browser says of a request that another site makes it send."""


@pytest.fixture(params=["judging", "campaign"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Each server, with an organiser olga whose password is known."""
    if request.param == "judging":
        with Store(str(tmp_path / "judgments.db")) as store:
            fill(store)
            yield app_of(store)
        return
    make_campaign(tmp_path)
    with Campaign(str(tmp_path / "notes")) as campaign:
        add_account(campaign.store, "olga", "organiser", PASSWORD)
        yield campaign_app(campaign, hosts=("localhost",))


def changing(app: Any) -> list[tuple[str, str]]:
    """(method, path) of every route that is not only for reading."""
    assert all(isinstance(route, Route | Mount) for route in app.routes)
    found = [
        (method, route.path.replace("{", "").replace("}", ""))
        for route in app.routes
        if isinstance(route, Route)
        for method in sorted((route.methods or set()) - set(READS))
    ]
    assert {("POST", "/login"), ("POST", "/logout"), ("POST", "/api/judge")} <= set(found)
    return found


def test_no_route_changes_anything_for_a_page_of_another_site(app: Any) -> None:
    olga = Person(app, "olga")
    store = app.state.site.store
    before = _content(store)
    for method, path in [*changing(app), ("POST", "/"), ("PUT", "/none"), ("DELETE", "/static/app.css")]:
        stranger = TestClient(app, base_url="http://localhost", follow_redirects=False)
        for http, headers in [(stranger, FOREIGN[0]), *((olga.http, headers) for headers in FOREIGN)]:
            answer = http.request(method, path, data={"csrf": olga.csrf}, headers=headers)
            assert (answer.status_code, FORGED in answer.text) == (403, True), (method, path, headers)
            assert "set-cookie" not in answer.headers
            assert answer.headers["x-content-type-options"] == "nosniff"
    assert _content(store) == before


def test_no_route_believes_one_of_two_headers(app: Any) -> None:
    """A proxy in between may believe the other one."""
    olga = Person(app, "olga")
    for name, values in {
        "host": ("localhost", "evil.example"),
        "origin": ("http://localhost", "http://evil.example"),
        "sec-fetch-site": ("same-origin", "cross-site"),
        "x-csrf-token": (olga.csrf, "another"),
    }.items():
        for method, path in changing(app):
            for pair in (values, values[::-1]):
                answer = olga.http.request(method, path, headers=[(name, value) for value in pair])
                assert answer.status_code in (400, 403, 421), (name, pair, path, answer.status_code)
                assert "set-cookie" not in answer.headers


def test_every_route_answers_a_page_of_its_own(app: Any) -> None:
    """So that the test above does not hold because everything is refused."""
    olga = Person(app, "olga")
    own = {"origin": "http://localhost", "sec-fetch-site": "same-origin", "x-csrf-token": olga.csrf}
    for method, path in sorted(changing(app), key=lambda route: route[1] == "/logout"):
        answer = olga.http.request(method, path, data={"csrf": olga.csrf}, headers=own)
        assert FORGED not in answer.text, (method, path)


def test_every_change_of_somebody_who_is_logged_in_needs_the_secret_of_the_session(app: Any) -> None:
    olga = Person(app, "olga")
    for method, path in changing(app):
        if path in ("/login", "/register"):  # there is no session yet: the origin protects them
            continue
        for token in ("", "wrong", None):
            answer = olga.http.request(method, path, data={} if token is None else {"csrf": token})
            assert answer.status_code == 403, (method, path, token)


def _content(store: Store) -> dict[str, Any]:
    tables = [name for (name,) in store.database.read(store.database.engine.words["tables"])]
    return {name: store.database.read(f"SELECT * FROM {name}") for name in tables if not name.startswith("document_")}


def test_the_answer_to_a_form_that_is_too_long_is_a_page(app: Any) -> None:
    """Whether the length is announced or not; scripts get JSON."""
    olga, long = Person(app, "olga"), b"x" * 1_000_001

    def parts() -> Iterator[bytes]:
        yield from (b"x" * 100_000 for _ in range(11))

    for method, path in changing(app):
        if path == "/team/runs":  # takes files
            continue
        kind = "application/json" if path.startswith("/api/") else "text/html; charset=utf-8"
        for body in (long, parts()):
            headers = {"content-type": "application/x-www-form-urlencoded"}
            answer = olga.http.request(method, path, content=body, headers=headers)
            if body is not long and answer.status_code == 403:
                continue  # refused before it was read
            assert (answer.status_code, answer.headers["content-type"]) == (413, kind), (method, path)
            assert "at most 1,000,000 bytes are allowed" in answer.text


def test_a_form_that_cannot_be_read_is_answered_by_a_page(app: Any) -> None:
    olga = Person(app, "olga")
    for method, path in changing(app):
        if path.startswith("/api/"):
            continue
        for kind in ("multipart/form-data; boundary=b", "multipart/form-data", "text/plain", "application/json"):
            answer = olga.http.request(method, path, content=b"--b\r\nx", headers={"content-type": kind})
            assert answer.status_code < 500, (path, kind)
            assert answer.headers.get("content-type", "text/html").startswith("text/html"), (path, kind)


BAD_TEXT = ["half \ud83d of a pair", "\udc80", "a\0b"]
"""Text that a database or a file cannot hold."""


@pytest.mark.parametrize("text", BAD_TEXT)
def test_no_route_takes_in_what_is_not_text(app: Any, text: str) -> None:
    """In a body, a form, the name of a file or an address: the answer is 400, says why, and nothing changes."""
    olga = Person(app, "olga")
    before = _content(app.state.site.store)
    code = next(f"U+{ord(letter):04X}" for letter in text if letter == "\0" or "\ud800" <= letter <= "\udfff")
    escaped, tried = text.encode("unicode_escape"), set()
    part = b'--b\r\ncontent-disposition: form-data; name="%s"\r\n\r\n%s\r\n'
    for method, path in sorted(changing(app), key=lambda route: route[1] == "/logout"):
        if path.startswith("/api/"):
            bodies = [{"reason": text}, {text: 1}, {"have": [{"deep": [text]}]}]
            sent = [(json.dumps(body).encode(), "application/json") for body in bodies]
            raw = json.dumps({"reason": text}, ensure_ascii=False).encode("utf-8", "surrogatepass")
            sent += [(raw, "application/json")] if code != "U+0000" else []
        else:
            token = part % (b"csrf", olga.csrf.encode())
            kind = "multipart/form-data; boundary=b; charset=unicode_escape"
            named = b'--b\r\ncontent-disposition: form-data; name="run"; filename="%s"\r\n\r\nx\r\n' % escaped
            sent = [(token + one + b"--b--\r\n", kind) for one in (part % (b"name", escaped), part % (escaped, b"x"))]
            sent += [(token + named + b"--b--\r\n", kind)] if path == "/team/runs" else []
        for body, kind in sent:
            headers = {"content-type": kind} | ({"x-csrf-token": olga.csrf} if path.startswith("/api/") else {})
            answer = olga.http.request(method, path, content=body, headers=headers)
            if answer.status_code == 403 and FORGED not in answer.text:
                continue  # it is for teams, or for another phase
            tried.add(path)
            assert answer.status_code == 400, (method, path, body, answer.status_code)
            assert code in answer.text or "valid JSON in UTF-8" in answer.text, (method, path, body)
    assert {"/login", "/logout", "/organise/guidelines"} <= tried
    assert "/api/judge" in tried or "/register" in tried  # the judging server, or the campaign
    assert _content(app.state.site.store) == before


def test_no_address_holds_what_is_not_text(app: Any) -> None:
    olga = Person(app, "olga")
    paths = {route.path for route in app.routes if isinstance(route, Route)}
    for path in sorted(paths):
        with_null = re.sub(r"{\w+}", "a%00b", path)
        for address in ([with_null] if with_null != path else []) + [f"{path}?offer=1&q=a%00b&assessor=%00"]:
            answer = olga.http.get(address)
            assert answer.status_code == 400, address
            assert "U+0000" in answer.text
        assert olga.http.get(f"{path}?q=%ed%a0%80&offer=%ff").status_code < 500


def test_bodies_and_forms_are_read_only_at_the_door() -> None:
    """A page that read a form by itself would take in what the test above refuses."""
    import cranfield.building

    reading = re.compile(r"\.(form|json|body)\(|request\.stream\(|json\.loads\(await")
    for folder in ("serve", "campaign"):
        for path in sorted(Path(cranfield.building.__path__[0], folder).glob("*.py")):
            if path.name != "request_text.py":
                found = [line for line in path.read_text(encoding="utf-8").splitlines() if reading.search(line)]
                assert not found, (path.name, found)

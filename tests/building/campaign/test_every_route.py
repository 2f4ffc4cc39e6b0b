"""Rules that hold for all routes of both servers. The routes are found by themselves, so that new ones are held too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from cranfield.building.campaign.campaign_site import campaign_app
from cranfield.building.campaign.campaign_store import Campaign
from cranfield.building.serve.accounts import add_account
from cranfield.building.serve.store import Store
from cranfield.building.serve.web_security import FORGED, READS
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
        for headers in FOREIGN:
            for http in (olga.http, TestClient(app, base_url="http://localhost", follow_redirects=False)):
                answer = http.request(method, path, data={"csrf": olga.csrf}, headers=headers)
                assert (answer.status_code, FORGED in answer.text) == (403, True), (method, path, headers)
                assert "set-cookie" not in answer.headers
                assert answer.headers["x-content-type-options"] == "nosniff"
    assert _content(store) == before


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

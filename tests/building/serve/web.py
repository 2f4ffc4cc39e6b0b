"""A server in the test's own process, and clients that log in to it."""

from __future__ import annotations

import json
import re
from typing import Any

from starlette.testclient import TestClient

from cranfield.building.serve.project.accounts import add_account
from cranfield.building.serve.project.judging import Judging
from cranfield.building.serve.project.judging_modes import Document
from cranfield.building.serve.project.store import Store
from cranfield.building.serve.web.web_app import Site, make_app
from tests.building.serve.working import new_request

PASSWORD = "a long password"
TEXTS = [Document(f"d{i}", f"Title {i}", f"Text {i} on wing flutter.") for i in range(12)]


class Client:
    """A person with a browser."""

    def __init__(self, app: Any, name: str | None = None, password: str = PASSWORD) -> None:
        self.http = TestClient(app, base_url="http://localhost", follow_redirects=False)
        self.csrf = ""
        if name is not None:
            answer = self.http.post("/login", data={"name": name, "password": password})
            assert answer.status_code == 303, answer.text
            self.csrf = self.state()["csrf"]

    def state(self) -> Any:
        page = self.http.get("/judge").text
        found = re.search(r'<script type="application/json" id="state">(.*?)</script>', page, re.DOTALL)
        assert found, page
        return json.loads(found[1])

    def post(self, path: str, body: Any, **headers: str) -> Any:
        return self.http.post(path, json=body, headers={"x-csrf-token": self.csrf, **headers})

    def form(self, path: str, **fields: str) -> Any:
        return self.http.post(path, data={"csrf": self.csrf, **fields})

    def judge(self, item: Any, request: str | None = None, **answer: Any) -> Any:
        body = {"request": request or new_request(), "offer": item["offer"], "milliseconds": 1200, **answer}
        return self.post("/api/judge", body)


def site_of(store: Store) -> Site:
    store.add_documents(TEXTS)
    for name, role in {"anna": "assessor", "ben": "assessor", "olga": "organiser"}.items():
        add_account(store, name, role, PASSWORD)
    return Site(store, Judging(store))


def app_of(store: Store) -> Any:
    return make_app(site_of(store), hosts=("localhost", "127.0.0.1"))

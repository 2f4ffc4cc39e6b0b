"""People of a campaign with browsers, and the runs that they submit."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from cranfield.building.campaign.campaign_setup import add_organiser, init_campaign
from cranfield.building.campaign.campaign_store import Campaign
from tests.building.serve.web import Client as Judge

TEAMS = ("red", "green", "blue", "amber", "pink")
TOPICS = [str(number) for number in range(1, 11)]
DOCS = [f"d{number}" for number in range(60)]
DEPTH = 15
PASSWORD = "a long password"


def grade(topic: str, doc: str) -> int:
    """The grade that every assessor gives."""
    return {0: 2, 1: 1}.get((int(doc[1:]) * 7 + int(topic) * 3) % 5, 0)


def ranking(team: str, run: int, topic: str) -> list[str]:
    """A list of a run: all documents in an order of their own, with more or fewer good ones in front."""
    skill = TEAMS.index(team) * 3 + run
    noise = {doc: (int(doc[1:]) * 31 + int(topic) * 17 + skill * 13) % 59 for doc in DOCS}
    return sorted(DOCS, key=lambda doc: (noise[doc] - 2 * skill * (grade(topic, doc) > 0), doc))[:DEPTH]


def run_text(team: str, run: int, *, topics: list[str] = TOPICS, tag: str | None = None) -> str:
    tag = tag or f"{team}-{run}"
    return "".join(
        f"{topic} Q0 {doc} {rank} {100 - rank} {tag}\n"
        for topic in topics
        for rank, doc in enumerate(ranking(team, run, topic), 1)
    )


def make_campaign(folder: Path, *, toml: dict[str, str] | None = None, database: str = "campaign.db") -> str:
    """A campaign in `folder / "notes"`, whose file has some lines replaced; returns the organiser's password."""
    import json

    (folder / "topics.tsv").write_text("".join(f"{topic}\ttopic {topic}\n" for topic in TOPICS))
    (folder / "docs.jsonl").write_text("".join(json.dumps({"id": doc, "text": f"about {doc}"}) + "\n" for doc in DOCS))
    where = str(folder / "notes")
    init_campaign(
        where,
        name="Notes",
        topics=str(folder / "topics.tsv"),
        docs=[str(folder / "docs.jsonl")],
        measures=["AP", "P@5"],
        database=database,
    )
    path = folder / "notes" / "campaign.toml"
    text = path.read_text()
    for name, value in {"depth = 1000": "depth = 15", **(toml or {})}.items():
        assert text.count(name) == 1, name
        text = text.replace(name, value)
    path.write_text(text)
    with Campaign(where) as campaign:
        return add_organiser(campaign, "olga")


class Person:
    """Somebody with a browser; logs in if there is a name."""

    def __init__(self, app: Any, name: str | None = None, password: str = PASSWORD) -> None:
        self.app = app
        self.name = name
        self.http = TestClient(app, base_url="http://localhost", follow_redirects=False)
        self.csrf = ""
        if name is not None:
            answer = self.http.post("/login", data={"name": name, "password": password})
            assert answer.status_code == 303, answer.text
            self.see(self.http.get("/", follow_redirects=True).text)

    def see(self, page: str) -> str:
        """Remember the secret of the forms of a page."""
        found = re.search(r'name="csrf" value="([^"]+)"', page)
        self.csrf = found[1] if found else self.csrf
        return unescape(page)

    def get(self, path: str, status: int = 200) -> str:
        answer = self.http.get(path)
        assert answer.status_code == status, (path, answer.status_code, answer.text[:2000])
        return unescape(answer.text)

    def form(self, path: str, status: int = 303, **fields: str) -> str:
        answer = self.http.post(path, data={"csrf": self.csrf, **fields})
        assert answer.status_code == status, (path, answer.status_code, answer.text[:2000])
        return unescape(answer.text)

    def upload(self, content: str | bytes, name: str = "run.txt", *, csrf: str | None = None) -> Any:
        data = content.encode() if isinstance(content, str) else content
        files = {"run": (name, data, "text/plain")}
        return self.http.post("/team/runs", data={"csrf": self.csrf if csrf is None else csrf}, files=files)


def register(app: Any, name: str, code: str, status: int = 303, **more: str) -> Person:
    person = Person(app)
    fields = {"name": name, "title": f"Team {name}", "contact": f"{name}@example.org", "password": PASSWORD}
    answer = person.http.post("/register", data={**fields, "code": code, **more})
    assert answer.status_code == status, answer.text
    person.name = name
    if status == 303:
        person.see(person.http.get("/team").text)
    return person


def judge_all(app: Any, name: str, password: str) -> int:
    """Judge everything that is offered; returns how many documents that were."""
    judge = Judge(app, name, password)
    done = 0
    state = judge.state()
    items, order = {item["offer"]: item for item in state["items"]}, state["open"]
    while order:
        item = items[order[0]]
        answer = judge.judge(item, grade=grade(item["topic"]["id"], item["doc"])).json()
        items |= {one["offer"]: one for one in answer["items"]}
        order = answer["open"]
        done += 1
    return done

"""Uploads to a server: a few are checked at a time, what a kill leaves is swept, problems are on a page."""

from __future__ import annotations

import http.client
import re
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from cranfield.building.campaign.campaign_site import CHECKED_AT_ONCE, campaign_app
from cranfield.building.campaign.campaign_store import Campaign
from tests.building.campaign.players import DOCS, PASSWORD, TOPICS, make_campaign, register, run_text
from tests.building.serve.live import Server

BOUNDARY = "a-boundary-that-no-run-contains"


class Team:
    """A team that talks HTTP to a server in another process."""

    def __init__(self, port: int, name: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.cookie = ""
        form = {"content-type": "application/x-www-form-urlencoded"}
        headers = self.call("POST", "/login", urlencode({"name": name, "password": PASSWORD}).encode(), form)[1]
        self.cookie = headers["set-cookie"].partition(";")[0]
        found = re.search(r'name="csrf" value="([^"]+)"', self.call("GET", "/team")[2])
        assert found
        self.csrf = found[1]

    def call(self, method: str, path: str, body: bytes = b"", headers: Any = None) -> tuple[int, Any, str]:
        self.connection.request(method, path, body or None, {"cookie": self.cookie, **(headers or {})})
        answer = self.connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()

    def upload(self, run: bytes) -> tuple[int, str]:
        body = (
            f'--{BOUNDARY}\r\ncontent-disposition: form-data; name="csrf"\r\n\r\n{self.csrf}\r\n--{BOUNDARY}\r\n'
            'content-disposition: form-data; name="run"; filename="r.txt"\r\n\r\n'
        ).encode() + run + f"\r\n--{BOUNDARY}--\r\n".encode()  # fmt: skip
        self.connection.close()  # the server may have closed it, if this machine is slow; the call opens another
        status, _, page = self.call(
            "POST", "/team/runs", body, {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}
        )
        return status, page


def test_a_few_uploads_are_checked_at_a_time_and_a_page_lists_the_problems(tmp_path: Path) -> None:
    make_campaign(tmp_path)
    folder, runs = str(tmp_path / "notes"), tmp_path / "notes" / "runs"
    names = [f"t{number}" for number in range(6)]
    with Campaign(folder) as campaign:
        for name in names:
            campaign.register(name, name, f"{name}@example.org", PASSWORD, campaign.join_code)
    (runs / ".0123456789abcdef.part").write_bytes(b"what a server that was killed had received")
    with Server(folder, group="campaign") as server:
        assert not list(runs.iterdir())
        teams = [Team(server.port, name) for name in names]
        answers: dict[str, tuple[int, str]] = {}

        def send(team: Team, name: str) -> None:
            lines = (f"{row % 10 + 1} Q0 x{row} {row} {-row} {name}\n" for row in range(60_000))
            answers[name] = team.upload("".join(lines).encode())

        threads = [threading.Thread(target=send, args=pair) for pair in zip(teams, names, strict=True)]
        for thread in threads:
            thread.start()
        at_once = 0
        while any(thread.is_alive() for thread in threads):
            at_once = max(at_once, len(list(runs.glob(".*.part"))))
            time.sleep(0.001)
        assert 1 <= at_once <= CHECKED_AT_ONCE
        assert not list(runs.iterdir())
        for status, page in answers.values():
            assert status == 422
            assert "<code>line 1</code> document &#39;x0&#39; is not in the collection" in page
            assert "more entries have documents that are not in the collection" in page
            assert "topic &#39;1&#39; has 6,000 documents, at most 15 are allowed" in page
        status, page = teams[0].upload(b"x" * 21_000_000)
        assert (status, "at most 20,100,000 bytes are allowed" in page) == (413, True)
        assert teams[0].upload(run_text("red", 1).encode())[0] == 303


def test_warnings_are_on_the_page_too(tmp_path: Path) -> None:
    make_campaign(tmp_path, toml={'documents = "collection"': 'documents = "any"'})
    with Campaign(str(tmp_path / "notes")) as campaign:
        red = register(campaign_app(campaign), "red", campaign.join_code)
        text = run_text("red", 0).replace(f" {DOCS[3]} ", " elsewhere ")
        answer = red.upload(text.replace(f"{TOPICS[-1]} Q0", "99 Q0"))
        assert answer.status_code == 422
        assert "(warning) document &#39;elsewhere&#39; is not in the collection" in answer.text
        assert "topic &#39;99&#39; is unknown" in answer.text
        kept = red.upload(text)
        assert kept.status_code == 303
        assert "document 'elsewhere' is not in the collection" in red.get(kept.headers["location"])


def test_bytes_that_are_not_text_are_refused_on_a_page(tmp_path: Path) -> None:
    make_campaign(
        tmp_path,
        toml={'documents = "collection"': 'documents = "any"', "tag = '[A-Za-z0-9][A-Za-z0-9_.-]*'": "tag = '.*'"},
    )
    with Campaign(str(tmp_path / "notes")) as campaign:
        red = register(campaign_app(campaign), "red", campaign.join_code)
        text = run_text("red", 0).encode()
        for wrong in (
            text.replace(b" d3 ", b" d\x8f "),
            text.replace(b"red-0", b"red\x8f"),
            text.replace(b"1 Q0", b"\x8f Q0"),
            text.replace(b" 99 ", b" \x8f "),
        ):
            answer = red.upload(wrong)
            assert (answer.status_code, "byte 0x8f is not UTF-8, expected text" in answer.text) == (422, True)
        assert [event.what for event in campaign.events()][-4:] == ["refused"] * 4

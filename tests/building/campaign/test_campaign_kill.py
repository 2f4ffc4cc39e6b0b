"""The server or its PostgreSQL is killed while teams upload: every acknowledged run is there, whole, and counts once.

Two or three rounds by default; for fifty:
CRANFIELD_KILLS=50 python -m pytest tests/building/campaign/test_campaign_kill.py
"""

from __future__ import annotations

import hashlib
import http.client
import os
import random
import re
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest

from cranfield.building.campaign.campaign_store import Campaign
from tests.building.campaign.players import PASSWORD, make_campaign, run_text
from tests.building.serve.conftest import PostgresServer
from tests.building.serve.live import Server

ROUNDS = int(os.environ.get("CRANFIELD_KILLS", "0"))
TEAMS = ("red", "blue", "pink")
BOUNDARY = "a-boundary-that-no-run-contains"


class Uploads:
    """A team that uploads runs until the server is gone, and remembers what was acknowledged."""

    def __init__(self, port: int, name: str, first: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.name, self.number = name, first
        self.acknowledged: dict[str, str] = {}
        """{digest: tag}."""
        self.cookie, self.csrf = self.log_in()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def log_in(self) -> tuple[str, str]:
        body = urlencode({"name": self.name, "password": PASSWORD})
        self.connection.request("POST", "/login", body, {"content-type": "application/x-www-form-urlencoded"})
        answer = self.connection.getresponse()
        answer.read()
        assert answer.status == 303, answer.status
        cookie = answer.headers["set-cookie"].partition(";")[0]
        self.connection.request("GET", "/team", headers={"cookie": cookie})
        found = re.search(r'name="csrf" value="([^"]+)"', self.connection.getresponse().read().decode())
        assert found
        return cookie, found[1]

    def work(self) -> None:
        while True:
            self.number += 1
            tag = f"{self.name}-{self.number}"
            run = run_text("red", self.number % 9, tag=tag).encode()
            body = (
                f'--{BOUNDARY}\r\ncontent-disposition: form-data; name="csrf"\r\n\r\n{self.csrf}\r\n--{BOUNDARY}\r\n'
                'content-disposition: form-data; name="run"; filename="r.txt"\r\n\r\n'
            ).encode() + run + f"\r\n--{BOUNDARY}--\r\n".encode()  # fmt: skip
            headers = {"cookie": self.cookie, "content-type": f"multipart/form-data; boundary={BOUNDARY}"}
            try:
                self.connection.request("POST", "/team/runs", body, headers)
                answer = self.connection.getresponse()
                text = answer.read().decode()
            except (OSError, http.client.HTTPException):
                return
            if answer.status == 503:  # PostgreSQL is gone
                return
            assert answer.status in (200, 303), text
            self.acknowledged[hashlib.sha256(run).hexdigest()] = tag


def test_a_kill_loses_no_acknowledged_run(tmp_path: Path) -> None:
    upload_and_kill(tmp_path, ROUNDS or 3)


@pytest.mark.xdist_group("postgres")
def test_a_kill_of_the_server_or_of_postgresql_loses_no_acknowledged_run(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    upload_and_kill(tmp_path, ROUNDS or 2, postgres)


def upload_and_kill(tmp_path: Path, rounds: int, postgres: PostgresServer | None = None) -> None:
    """Kill the server; in every second round PostgreSQL before, after which the same server goes on."""
    database = "campaign.db" if postgres is None else postgres.database()
    make_campaign(tmp_path, toml={"submissions = 30": "submissions = 100000"}, database=database)
    folder = str(tmp_path / "notes")
    with Campaign(folder) as campaign:
        for team in TEAMS:
            campaign.register(team, team, f"{team}@example.org", PASSWORD, campaign.join_code)
    rng, acknowledged = random.Random(0), {}
    for number in range(rounds):
        with Server(folder, group="campaign") as server:
            uploads = [Uploads(server.port, team, 10_000 * number) for team in TEAMS]
            time.sleep(rng.uniform(0.2, 0.8))
            if postgres is not None and number % 2:
                postgres.kill()
                postgres.start()
                uploads += [Uploads(server.port, team, 10_000 * number + 5_000) for team in TEAMS]
                time.sleep(rng.uniform(0.2, 0.8))
            server.kill()
        for one in uploads:
            one.thread.join(30)
            acknowledged |= one.acknowledged
        with Campaign(folder) as campaign:
            kept = {one.digest: one for one in campaign.submissions()}
            assert {digest: kept[digest].tag for digest in acknowledged} == acknowledged
            for one in kept.values():  # also those that were written but not acknowledged
                assert hashlib.sha256(Path(campaign.path_of(one.digest)).read_bytes()).hexdigest() == one.digest
            for team in TEAMS:
                assert sum(one.counts for one in kept.values() if one.team == team) <= 3
    assert len(acknowledged) > 3 * rounds
    print(f"{rounds} kills, {len(acknowledged)} acknowledged runs: none lost")

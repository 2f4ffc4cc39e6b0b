"""A campaign in the browser: the leaderboard of 126 runs, all pairs of them, and the upload of a run.

`python -m bench.campaigns NAME` runs one contestant in its own process, and prints seconds and bytes as JSON.
"""

from __future__ import annotations

import http.client
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

from bench.assessors import PASSWORD
from bench.peers import peak_bytes
from bench.serving import folder

TEAMS, RUNS, TOPICS, DEPTH = 42, 3, 50, 100
UPLOAD_DEPTH = 1_000
BOARD = f"leaderboard of {TEAMS * RUNS} runs x {TOPICS} topics after a judgment"
AGAIN = "the same leaderboard again (median of 10)"
PAIRS = f"all {TEAMS * RUNS * (TEAMS * RUNS - 1) // 2:,} pairs of its runs"
UPLOAD = f"upload and check of a run with {TOPICS * UPLOAD_DEPTH:,} lines"


def run_text(tag: str, depth: int, seed: int) -> str:
    rng = random.Random(seed)
    lines = []
    for topic in range(1, TOPICS + 1):
        docs = rng.sample(range(5 * depth), depth)
        docs.sort(key=lambda doc: (doc % 7) + rng.random() * (1 + seed % 9))  # better and worse runs
        lines += [f"{topic} Q0 d{doc} {rank} {depth - rank} {tag}\n" for rank, doc in enumerate(docs, 1)]
    return "".join(lines)


def make_campaign(place: str, *, teams: int) -> str:
    """A campaign whose pool is judged, in the phase submission; a seventh of the documents is relevant."""
    from cranfield.building.campaign.campaign_setup import init_campaign
    from cranfield.building.campaign.campaign_store import Campaign, build_pool
    from cranfield.building.campaign.submitting import submit
    from cranfield.building.serve.project.accounts import add_account, hashed

    Path(f"{place}/topics.tsv").write_text("".join(f"{topic}\ttopic {topic}\n" for topic in range(1, TOPICS + 1)))
    where = f"{place}/campaign"
    init_campaign(where, name="Bench", topics=f"{place}/topics.tsv")
    password = hashed(PASSWORD)
    with Campaign(where) as campaign:
        add_account(campaign.store, "olga", "organiser", PASSWORD)
        for team in range(teams):
            campaign.add_team(f"t{team}", f"t{team}", "x@example.org", password, 0.0, log=False)
            for run in range(RUNS):
                text = run_text(f"t{team}-{run}", DEPTH, team * RUNS + run)
                assert submit(campaign, f"t{team}", "run.txt", text.encode()).submission
        campaign.open_phase("pooling", "olga")
        build_pool(campaign, "olga")
        rows = campaign.store.database.read("SELECT topic, doc FROM pool ORDER BY position")
        campaign.store.database.write(
            lambda connection: connection.run_many(
                """INSERT INTO judgment (request, topic, doc, assessor, action, state, grade, reason, milliseconds,
                position, judged_at, purpose, counted)
                VALUES (?, ?, ?, 'olga', 'judge', 'graded', ?, '', 900, ?, 0, 'pool', 1)""",
                [
                    (f"request-{at}", topic, doc, 1.0 if int(doc[1:]) % 7 == 0 else 0.0, at)
                    for at, (topic, doc) in enumerate(rows)
                ],
            )
        )
        campaign.open_phase("submission", "olga")
    return where


class Site:
    """`cranfield campaign serve` in its own process, and a connection to it."""

    def __init__(self, where: str, name: str) -> None:
        command = [sys.executable, "-m", "cranfield", "campaign", "serve", where, "--no-browser", "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        found = re.search(r":(\d+)/", self.process.stdout.readline())
        assert found
        self.log_in(int(found[1]), name)

    @classmethod
    def to(cls, port: int, name: str) -> Site:
        """Another connection to a server that runs."""
        site = cls.__new__(cls)
        site.log_in(port, name)
        return site

    def log_in(self, port: int, name: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        form = urlencode({"name": name, "password": PASSWORD})
        for _ in range(100):
            try:
                answer = self.call("POST", "/login", form.encode(), "application/x-www-form-urlencoded")
                break
            except OSError:
                time.sleep(0.05)
        self.cookie = answer[1]["set-cookie"].partition(";")[0]

    cookie = ""

    def call(self, method: str, path: str, body: bytes = b"", kind: str = "") -> tuple[int, dict[str, str], str]:
        headers = {"cookie": self.cookie} | ({"content-type": kind} if kind else {})
        self.connection.request(method, path, body or None, headers)
        answer = self.connection.getresponse()
        first = {name.lower(): value for name, value in reversed(answer.getheaders())}  # the cookie of the session
        return answer.status, first, answer.read().decode()

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.process.wait(20)


def seen(site: Site, path: str, words: str) -> float:
    began = time.perf_counter()
    status, _, page = site.call("GET", path)
    seconds = time.perf_counter() - began
    assert (status, words in page) == (200, True), page[:500]
    return seconds


def leaderboard() -> float:
    with folder() as place, Site(make_campaign(place, teams=TEAMS), "olga") as site:
        return seen(site, "/leaderboard", "t41-2")


def leaderboard_again() -> float:
    with folder() as place, Site(make_campaign(place, teams=TEAMS), "olga") as site:
        seen(site, "/leaderboard", "t41-2")
        return sorted(seen(site, "/leaderboard", "t41-2") for _ in range(10))[5]


def pairs() -> float:
    with folder() as place, Site(make_campaign(place, teams=TEAMS), "olga") as site:
        seen(site, "/leaderboard", "t41-2")
        return min(seen(site, "/compare", "p adjusted") for _ in range(3))


def upload() -> float:
    with folder() as place, Site(make_campaign(place, teams=1), "t0") as site:
        page = site.call("GET", "/team")[2]
        csrf = re.search(r'name="csrf" value="([^"]+)"', page)
        assert csrf
        times = []
        for number in range(3):
            text = run_text(f"new-{number}", UPLOAD_DEPTH, number)
            body = (
                f'--b\r\ncontent-disposition: form-data; name="csrf"\r\n\r\n{csrf[1]}\r\n'
                f'--b\r\ncontent-disposition: form-data; name="run"; filename="run.txt"\r\n'
                f"content-type: text/plain\r\n\r\n{text}\r\n--b--\r\n"
            ).encode()
            began = time.perf_counter()
            status, _, answer = site.call("POST", "/team/runs", body, "multipart/form-data; boundary=b")
            times.append(time.perf_counter() - began)
            assert status in (200, 303), answer[:2000]
        return min(times)


CONTESTANTS: dict[str, Callable[[], float]] = {
    BOARD: leaderboard,
    AGAIN: leaderboard_again,
    PAIRS: pairs,
    UPLOAD: upload,
}
LIMITS = {BOARD: 5.0, AGAIN: 0.2, PAIRS: 2.0, UPLOAD: 2.0}
"""Time limits in seconds."""


def main(name: str) -> None:
    began = time.perf_counter()
    seconds = CONTESTANTS[name]()
    spent = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "with_imports": spent, "spent": spent, "peak": peak_bytes()}))


if __name__ == "__main__":
    main(sys.argv[1])

"""Eight teams upload runs of 19.5 MB at the same time, while somebody else looks at pages.

`python -m bench.uploads` prints for each kind of file the peak memory of the server (with its child processes), the
longest wait of the other person for a page, and the time until all teams have an answer. Linux only.
"""

from __future__ import annotations

import itertools
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.assessors import PASSWORD
from bench.campaigns import Site
from bench.serving import folder

TEAMS, TOPICS, DEPTH, DOCUMENTS = 8, 520, 1_000, 300_000
LIMIT_BYTES, LIMIT_WAIT = 600_000_000, 1.0
"""What the server may take, and how long others may wait."""
SIZE = 19_500_000


def document(team: int, topic: int, rank: int) -> str:
    return f"doc-{(rank * 37 + topic * 11 + team) % DOCUMENTS:06}"


def plain(team: int) -> Iterator[str]:
    """A run as it should be."""
    for topic in range(TOPICS):
        for rank in range(DEPTH):
            yield f"{topic} Q0 {document(team, topic, rank)} {rank + 1} {DEPTH - rank} tag-{team}\n"


def unknown(team: int) -> Iterator[str]:
    """Documents that are not in the collection, every one another."""
    for topic in range(TOPICS):
        for rank in range(DEPTH):
            yield f"{topic} Q0 x-{team}-{topic * DEPTH + rank:07} {rank + 1} {DEPTH - rank} tag-{team}\n"


def scattered(team: int) -> Iterator[str]:
    """The lines of no topic are together."""
    for rank in range(DEPTH):
        for topic in range(TOPICS):
            yield f"{topic} Q0 {document(team, topic, rank)} {rank + 1} {DEPTH - rank} tag-{team}\n"


def faulty(team: int) -> Iterator[str]:
    """Each line is short, and repeats a document."""
    yield f"0 Q0 a 1 1 tag-{team}\n"
    while True:
        yield f"0 Q0 a 1 1 {team}\n"


def topics(team: int) -> Iterator[str]:
    """Each line has another topic."""
    for number in itertools.count():
        yield f"{number} Q0 a 1 1 tag-{team}\n"


def tags(team: int) -> Iterator[str]:
    """Each line has another tag."""
    for number in itertools.count():
        yield f"0 Q0 a 1 1 {team}-{number}\n"


def blank(team: int) -> Iterator[str]:
    """Empty lines."""
    yield f"0 Q0 a 1 1 tag-{team}\n"
    while True:
        yield "\n" * 1_000


KINDS: dict[str, Callable[[int], Iterator[str]]] = {
    work.__name__: work for work in (plain, unknown, scattered, faulty, topics, tags, blank)
}


def body_of(csrf: str, kind: str, team: int) -> bytes:
    lines: list[str] = []
    size = 0
    for line in KINDS[kind](team):
        size += len(line)
        if size > SIZE:
            break
        lines.append(line)
    return (
        f'--b\r\ncontent-disposition: form-data; name="csrf"\r\n\r\n{csrf}\r\n'
        f'--b\r\ncontent-disposition: form-data; name="run"; filename="run.txt"\r\n'
        f"content-type: text/plain\r\n\r\n{''.join(lines)}\r\n--b--\r\n"
    ).encode()


def make_campaign(place: str) -> str:
    from cranfield.building.campaign.campaign_setup import init_campaign
    from cranfield.building.campaign.campaign_store import Campaign
    from cranfield.building.serve.project.accounts import add_account, hashed

    Path(f"{place}/topics.tsv").write_text("".join(f"{topic}\ttopic {topic}\n" for topic in range(TOPICS)))
    Path(f"{place}/ids.txt").write_text("".join(f"doc-{doc:06}\n" for doc in range(DOCUMENTS)))
    where = f"{place}/campaign"
    init_campaign(where, name="Bench", topics=f"{place}/topics.tsv", doc_ids=f"{place}/ids.txt")
    toml = Path(where, "campaign.toml")
    toml.write_text(toml.read_text().replace("all_topics = true", "all_topics = false"))
    password = hashed(PASSWORD)
    with Campaign(where) as campaign:
        add_account(campaign.store, "olga", "organiser", PASSWORD)
        for team in range(TEAMS):
            campaign.add_team(f"t{team}", f"t{team}", "x@example.org", password, 0.0, log=False)
    return where


def memory(process: int) -> int:
    """The memory of a process and its children now, in bytes."""
    total = 0
    try:
        status = Path(f"/proc/{process}/status").read_text()
        for line in Path(f"/proc/{process}/task/{process}/children").read_text().split():
            total += memory(int(line))
    except OSError:
        return 0
    found = re.search(r"RssAnon:\s+(\d+)", status)
    return total + (int(found[1]) * 1024 if found else 0)


def measured(kind: str) -> tuple[int, float, float]:
    """Peak bytes, the longest wait of others in seconds, and seconds until all have an answer."""
    with folder() as place, Site(make_campaign(place), "olga") as organiser:
        port, process = organiser.connection.port, organiser.process.pid
        teams = [Site.to(port, f"t{team}") for team in range(TEAMS)]
        bodies = []
        for team, site in enumerate(teams):
            site.connection.close()
            csrf = re.search(r'name="csrf" value="([^"]+)"', site.call("GET", "/team")[2])
            assert csrf
            bodies.append(body_of(csrf[1], kind, team))
        for site in (organiser, *teams):
            site.connection.close()  # the server would do so while the files were made; the next call opens it again
        answers: list[int] = []

        def send(team: int) -> None:
            status, _, page = teams[team].call("POST", "/team/runs", bodies[team], "multipart/form-data; boundary=b")
            assert status in (200, 303, 422), page[:2000]
            answers.append(status)

        threads = [threading.Thread(target=send, args=(team,)) for team in range(TEAMS)]
        began, longest, peaks = time.perf_counter(), 0.0, [0]

        def watch() -> None:
            while len(answers) < TEAMS:
                peaks[0] = max(peaks[0], memory(process))
                time.sleep(0.005)

        for thread in (*threads, threading.Thread(target=watch, daemon=True)):
            thread.start()
        while any(thread.is_alive() for thread in threads):
            asked = time.perf_counter()
            assert organiser.call("GET", "/campaign")[0] == 200
            longest = max(longest, time.perf_counter() - asked)
            time.sleep(0.01)
        assert len(answers) == TEAMS
        return peaks[0], longest, time.perf_counter() - began


def main() -> None:
    met = True
    for kind in sys.argv[1:] or KINDS:
        peak, wait, seconds = measured(kind)
        met &= peak <= LIMIT_BYTES and wait <= LIMIT_WAIT
        print(f"{kind}: {TEAMS} uploads of {SIZE / 1e6:.1f} MB: {peak / 1e6:,.0f} MB, others wait {wait:.2f} s, "
              f"all answered after {seconds:.1f} s", flush=True)  # fmt: skip
    sys.exit(not met)


if __name__ == "__main__":
    main()

"""Uploads over HTTP to a campaign that is served by a process of its own.

Runs, forms and requests are changed at random. For every request: an answer that is no error of the server, or a closed
connection; afterwards the server runs, answers others, and has no traceback in its log.
"""

from __future__ import annotations

import atexit
import http.client
import random
import re
import shutil
import socket
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import urlencode

from fuzzing import Target
from mutation import PIECES, mutate

from cranfield.building.campaign.campaign_setup import init_campaign
from cranfield.building.campaign.campaign_store import Campaign

PASSWORD = "a long password"
RUN = b"".join(b"%d Q0 d%d %d %d tag\n" % (topic, doc, doc + 1, 9 - doc) for topic in (1, 2) for doc in range(5))
FORM = (
    b'--b\r\ncontent-disposition: form-data; name="csrf"\r\n\r\nCSRF\r\n--b\r\ncontent-disposition: form-data; '
    b'name="run"; filename="run.txt"\r\ncontent-type: text/plain\r\n\r\nRUN\r\n--b--\r\n'
)
REQUEST = (
    b"POST /team/runs HTTP/1.1\r\nhost: localhost\r\ncookie: COOKIE\r\n"
    b"content-type: multipart/form-data; boundary=b\r\ncontent-length: LENGTH\r\nconnection: close\r\n\r\n"
)
WORDS = [
    b"\r\n", b"\r\n\r\n", b"transfer-encoding: chunked\r\n", b"content-length: 5\r\n", b"content-length: -1\r\n",
    b"--b", b"--b--", b"expect: 100-continue\r\n", b"0\r\n\r\n", b"filename*=utf-8''%ff", b'name="run"', b"\0",
    b"content-type: ", b"multipart/form-data", b"GET ", b"/team/mark", b"/login", b"HTTP/1.0", b"host: evil\r\n",
    b"x" * 9_000, b"%", b"csrf=CSRF&digest=x&counts=1",
]  # fmt: skip


class Server:
    """The served campaign, and the cookie and secret of a team in it."""

    def __init__(self) -> None:
        self.folder = mkdtemp()
        Path(self.folder, "topics.tsv").write_text("1\ta\n2\tb\n")
        where = f"{self.folder}/campaign"
        init_campaign(where, name="x", topics=f"{self.folder}/topics.tsv", measures=["AP"])
        toml = Path(where, "campaign.toml")
        toml.write_text(toml.read_text().replace("submissions = 30 ", "submissions = 1000000 "))
        with Campaign(where) as campaign:
            campaign.register("red", "Red", "red@example.org", PASSWORD, campaign.join_code)
        self.log = Path(self.folder, "log")
        command = [sys.executable, "-m", "cranfield", "campaign", "serve", where, "--no-browser", "--port", "0"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        atexit.register(self.stop)
        assert self.process.stdout is not None
        found = re.search(rb":(\d+)/", self.process.stdout.readline())
        assert found, self.log.read_text()
        self.port = int(found[1])
        self.log_in()

    def log_in(self) -> None:
        for attempt in range(100):
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                form = urlencode({"name": "red", "password": PASSWORD})
                kind = {"content-type": "application/x-www-form-urlencoded", "host": "localhost"}
                connection.request("POST", "/login", form, kind)
                break
            except OSError:
                assert attempt < 99, "the server does not answer"
                time.sleep(0.1)
        answer = connection.getresponse()
        answer.read()
        self.cookie = answer.headers["set-cookie"].partition(";")[0].encode()
        connection.request("GET", "/team", headers={"cookie": self.cookie.decode(), "host": "localhost"})
        found = re.search(rb'name="csrf" value="([^"]+)"', connection.getresponse().read())
        assert found
        self.csrf = found[1]
        connection.close()

    def alive(self) -> None:
        assert self.process.poll() is None, f"the server ended: {self.log.read_text()[-3000:]}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/login", headers={"host": "localhost"})
        assert connection.getresponse().status == 200
        connection.close()
        log = self.log.read_text(errors="replace")
        self.log.write_text("")
        assert "Traceback" not in log, log[-5000:]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)


@cache
def server() -> Server:
    return Server()


def make(rng: random.Random) -> bytes:
    """A request; COOKIE, CSRF and LENGTH are replaced when it is sent, unless they were changed."""
    what = rng.random()
    run = mutate(RUN, rng, PIECES) if what < 0.6 else RUN
    body = FORM.replace(b"RUN", run)
    if 0.5 < what < 0.8:
        body = mutate(body, rng, WORDS, rng.choice([1, 2, 5]))
    head = mutate(REQUEST, rng, WORDS, rng.choice([1, 2])) if what > 0.75 else REQUEST
    if not what < 0.95:
        body = body[: rng.randrange(len(body))] if rng.random() < 0.5 else body + body
    return head + body


def send(path: Path) -> None:
    served = server()
    data = path.read_bytes().replace(b"COOKIE", served.cookie).replace(b"CSRF", served.csrf)
    head, _, body = data.partition(b"\r\n\r\n")
    data = data.replace(b"LENGTH", str(len(body)).encode(), 1)
    answer = b""
    with socket.create_connection(("127.0.0.1", served.port), timeout=3) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while block := connection.recv(65536):
                answer += block
        except OSError:
            pass  # the server may close the connection, or wait for more
    found = re.match(rb"HTTP/1\.\d (\d{3})", answer)
    assert found or not answer, answer[:200]
    assert not found or int(found[1]) < 500, answer[:2000]
    served.alive()
    if found and found[1] == b"303" and b"/login" in answer and b"/team/runs" in head:
        served.log_in()  # an input may have logged the team out


TARGETS = {"http": Target(make, send)}

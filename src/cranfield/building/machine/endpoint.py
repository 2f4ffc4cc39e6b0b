"""Ask an OpenAI-compatible endpoint: one request at a time, with a deadline, a bounded answer and no redirects."""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import SplitResult, urlsplit

from cranfield.errors import CranfieldError, UsageError
from cranfield.text import cut, one_line, shown

MOST_BYTES = 8 << 20
"""The longest response that is read."""
RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
"""Statuses after which the same request may succeed later."""
LONGEST = 86_400.0
"""The longest time, in seconds, to wait for an answer or between attempts: a day."""
OF_THE_ITEM = frozenset({400, 413, 414, 422})
"""Statuses that a single document can cause, such as one that is too long."""


class EndpointError(CranfieldError):
    """The endpoint cannot be used: no further request makes sense."""


class AskError(Exception):
    """A request failed. `again` says whether it may succeed later, `wait` when (seconds)."""

    def __init__(self, message: str, *, again: bool, wait: float = 0.0, too_many: bool = False) -> None:
        super().__init__(message)
        self.again = again
        self.wait = wait
        self.too_many = too_many
        """The endpoint asks for fewer requests (429)."""


@dataclass(frozen=True)
class Answer:
    """What the model answered."""

    text: str
    finish: str = ""
    """Why the model stopped: `stop`, `length`, ..."""
    refused: bool = False
    usage: Mapping[str, int] = field(default_factory=dict)
    """Tokens, as the endpoint counts them."""


@dataclass(frozen=True)
class Endpoint:
    """Where to ask, for what model, with which parameters. The key is neither shown nor written."""

    url: str
    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request, such as temperature and max_tokens."""
    key: str | None = field(default=None, repr=False)
    timeout: float = 120.0
    """Seconds for a whole request."""

    def __post_init__(self) -> None:
        split = _split(self.url)
        if split.scheme not in ("http", "https") or not split.hostname:
            raise UsageError(f"endpoint == {shown(self.url)}, must be a URL such as https://host/v1")
        if not _is_host(split.hostname) or re.search(r"[^\x21-\x7e]", split.path):
            raise UsageError(
                f"endpoint == {shown(self.url)} is not a URL: the host or the path has characters that it cannot have, "
                "or a part of the host is empty or too long"
            )
        if split.username is not None or split.password is not None:
            raise UsageError("endpoint has a user name or password; put the key into an environment variable instead")
        if split.query or split.fragment:
            start = shown(re.split("[?#]", self.url)[0])
            raise UsageError(f"endpoint == {start} and more, must be a URL without ? and #, such as https://host/v1")
        if not self.model:
            raise UsageError("model == '', must be the name of a model of the endpoint")
        if not 0 < self.timeout <= LONGEST:
            raise UsageError(f"timeout == {self.timeout!r}, must be above 0 and at most {LONGEST:,.0f}, a day")
        if self.key is not None and re.search(r"[^\x21-\x7e]", self.key):
            raise UsageError("the key has characters that a header cannot hold; check the environment variable")

    @property
    def path(self) -> str:
        """The path of the request."""
        base = _split(self.url).path.rstrip("/")
        return base if base.endswith("/chat/completions") else f"{base}/chat/completions"

    def ask(self, prompt: str) -> Answer:
        """Send a prompt and return the answer; `AskError` if there is none, `EndpointError` if there will be none."""
        deadline = time.monotonic() + self.timeout
        message = {"role": "user", "content": prompt}
        body = json.dumps({**self.parameters, "model": self.model, "messages": [message], "stream": False})
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "cranfield"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        connection = self._connection()
        try:
            connection.connect()
            connection.sock.settimeout(_left(deadline))
            with _shut_down_at(deadline, connection.sock):
                connection.request("POST", self.path, body.encode("ascii"), headers)
                connection.sock.settimeout(_left(deadline))
                response = connection.getresponse()
            data = _read(response, connection, deadline)
        except ssl.SSLCertVerificationError as error:
            raise EndpointError(f"{self.url}: the certificate is not valid: {error.verify_message}") from None
        except TimeoutError:
            raise AskError(f"no answer within {self.timeout:g} seconds", again=True) from None
        except socket.gaierror as error:
            raise AskError(f"the host is not found ({error.strerror})", again=True) from None
        except (OSError, http.client.HTTPException) as error:
            if time.monotonic() >= deadline:
                raise AskError(f"no answer within {self.timeout:g} seconds", again=True) from None
            reason = one_line(str(error)) or type(error).__name__
            raise AskError(f"the connection failed ({self._safe(reason)})", again=True) from None
        finally:
            connection.close()
        if response.status == 200:
            return _answer(data)
        raise self._failure(response, data)

    def _connection(self) -> http.client.HTTPConnection:
        split = _split(self.url)
        assert split.hostname is not None
        if split.scheme == "https":
            return http.client.HTTPSConnection(split.hostname, split.port, timeout=self.timeout)
        return http.client.HTTPConnection(split.hostname, split.port, timeout=self.timeout)

    def _failure(self, response: http.client.HTTPResponse, data: bytes) -> Exception:
        status = response.status
        said = f"HTTP {status} {response.reason}".rstrip()
        if message := self._safe(_message(data)):
            said += f": {message}"
        if status in RETRIED or status >= 500:
            wait = _retry_after(response.getheader("Retry-After"))
            return AskError(said, again=True, wait=wait, too_many=status == 429)
        if status in OF_THE_ITEM:
            return AskError(said, again=False)
        if 300 <= status < 400:
            target = shown(response.getheader("Location") or "nowhere")
            return EndpointError(
                f"{self.url} redirects to {target}; redirects are not followed, because the key would be sent there. "
                "If you trust that address, give it as the endpoint"
            )
        if status in (401, 403):
            key = "the key is wrong or not allowed" if self.key else "no key was sent"
            return EndpointError(f"{self.url}: {said} ({key})")
        return EndpointError(f"{self.url}: POST {self.path} gives {said}")

    def _safe(self, text: str) -> str:
        """A text of the endpoint for a message, without the key."""
        return text.replace(self.key, "[key]") if self.key else text


def _split(url: str) -> SplitResult:
    try:
        split = urlsplit(url)
        split.port  # noqa: B018 raises an error if it is not a number
    except ValueError as error:
        raise UsageError(f"endpoint == {shown(url)} is not a URL: {error}") from None
    return split


def _is_host(name: str) -> bool:
    """Can a name be looked up?

    >>> _is_host("bücher.example"), _is_host("a..b"), _is_host("a b")
    (True, False, False)
    """
    try:
        name.encode("idna")
    except UnicodeError:
        return False
    return re.search(r"[\x00-\x20\x7f]", name) is None


def _left(deadline: float) -> float:
    """The seconds until a deadline; an error if there are none."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


@contextmanager
def _shut_down_at(deadline: float, connected: socket.socket) -> Iterator[None]:
    """End a connection at a deadline: it never times out by itself if a byte of the headers comes now and then."""
    # Not the method of a TLS socket, which would change its state while another thread reads from it.
    timer = threading.Timer(_left(deadline), socket.socket.shutdown, (connected, socket.SHUT_RDWR))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _read(response: http.client.HTTPResponse, connection: http.client.HTTPConnection, deadline: float) -> bytes:
    """The body of a response: all of it, in time, and not too long."""
    parts: list[bytes] = []
    size = 0
    while True:
        left = _left(deadline)
        if connection.sock is not None:
            connection.sock.settimeout(left)
        part = response.read1(1 << 16)
        if not part:
            break
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise AskError(f"the response is longer than {MOST_BYTES >> 20} MB", again=False)
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(parts)


def _answer(data: bytes) -> Answer:
    """The answer in a response of the endpoint."""
    try:
        reply = json.loads(data)
        choice = reply["choices"][0]
        message = choice["message"]
        text, refusal = message.get("content"), message.get("refusal")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        start = cut(one_line(data[:200].decode("utf-8", "replace")), 80)
        raise AskError(f"the response is not that of a chat completion: {start!r}", again=True) from None
    if isinstance(text, list):  # a text in parts
        text = "".join(str(part.get("text") or "") for part in text if isinstance(part, dict))
    refused = not text and bool(refusal)
    usage = reply.get("usage")
    counts = {
        str(name): int(count)
        for name, count in (usage.items() if isinstance(usage, dict) else ())
        if isinstance(count, int) and not isinstance(count, bool)
    }
    content = str(refusal) if refused else "" if text is None else str(text)
    return Answer(content, str(choice.get("finish_reason") or ""), refused, counts)


def _message(data: bytes) -> str:
    """The beginning of what the endpoint says about an error."""
    text = data[:2000].decode("utf-8", "replace")
    try:
        error = json.loads(data)["error"]
        text = str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return cut(one_line(text), 200)


def _retry_after(header: str | None) -> float:
    """The seconds to wait that a response asks for: a number, or a date.

    >>> _retry_after("2"), _retry_after("soon"), _retry_after(None)
    (2.0, 0.0, 0.0)
    """
    if header is None:
        return 0.0
    if re.fullmatch(r"\s*\d{1,9}(\.\d*)?\s*", header):
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0

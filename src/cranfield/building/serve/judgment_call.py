"""`POST /api/judge`: record a judgment. The answer comes when it is on disk, with the next document.

This is the call that people wait for with every key, so it does without the layers of a web framework. It makes the
same checks as every other page (`Checks`, `Site.session`, `Site.denial`, `has_token`), and adds the same headers.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from starlette.types import Receive, Scope, Send

from cranfield.building.serve.accounts import JUDGES
from cranfield.building.serve.database import Connection, StoreError
from cranfield.building.serve.judging_pages import answer, entry_of, known_offers
from cranfield.building.serve.offers import Offers
from cranfield.building.serve.request_text import json_object
from cranfield.building.serve.web_app import JUDGE, LOG, OUR_FAULT, STATUS, STRANGER, Site
from cranfield.building.serve.web_security import FORGED, Checks, has_token
from cranfield.errors import CranfieldError, UsageError

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class Refusal(UsageError):
    """A request that is refused, with the code of the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class JudgmentCall:
    """The ASGI application for this one address."""

    def __init__(self, site: Site, checks: Checks) -> None:
        self.site = site
        self.checks = checks
        self.most = checks.most(JUDGE)
        self.headers = [(name.encode(), value.encode()) for name, value in checks.headers.items()]
        self.headers.append((b"content-type", b"application/json"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])}
        refusal = self.checks.refusal(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if len(body) > self.most:
                await self.checks.too_large(JUDGE)(scope, receive, send)
                return
            if not message.get("more_body"):
                break
        status, content = await self._answer(headers, body)
        data = _ENCODER.encode(content).encode()
        length = (b"content-length", str(len(data)).encode())
        await send({"type": "http.response.start", "status": status, "headers": [*self.headers, length]})
        await send({"type": "http.response.body", "body": data})

    async def _answer(self, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
        """The code and content of the answer."""
        try:
            return 200, await self.site.judging.in_loop(partial(self._change, headers, body))
        except Refusal as refusal:
            return refusal.status, {"error": str(refusal)}
        except StoreError as error:
            LOG.error("%s", error)
            return STATUS.get(error.kind, 503), {"error": str(error)}
        except CranfieldError as error:
            return 400, {"error": str(error)}
        except Exception:
            LOG.exception("POST %s", JUDGE)
            return 500, {"error": OUR_FAULT}

    def _change(self, headers: dict[str, str], body: bytes, connection: Connection, offers: Offers) -> dict[str, Any]:
        """Check who sends what, and record it, all in one transaction."""
        site = self.site
        session = site.session(headers)
        if session is None:
            raise Refusal(401, STRANGER)
        if denial := site.denial(session, JUDGES, JUDGE):
            raise Refusal(403, denial)
        if not has_token(session, headers.get("x-csrf-token")):
            raise Refusal(403, FORGED)
        sent, pages = json_object(body), site.pages()
        entry, offer = entry_of(pages, session, sent, offers)
        given = site.judging.record(connection, offers, entry, offer)
        return {"saved": True, **answer(pages, given, session.assessor, known_offers(sent))}

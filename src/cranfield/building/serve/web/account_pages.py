"""The pages by which people come in and go out, and change their own password."""

from __future__ import annotations

import asyncio
import hmac
import math
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from cranfield.building.serve.project import accounts
from cranfield.building.serve.project.accounts import ROLES, Session
from cranfield.building.serve.web.limits import Key, login_keys
from cranfield.building.serve.web.web_app import Site, failure, for_role, site_of
from cranfield.building.serve.web.web_security import cookie, cookie_name, form_of, set_cookie
from cranfield.errors import UsageError

NO_PASSWORDS = "this project has no passwords; open the address that the server printed"
BROWSER_SECONDS = 365 * 24 * 3600.0
"""How long a browser is known after a login."""


async def enter(request: Request) -> Response:
    """Let the local user in, who knows the key in the printed address."""
    site = site_of(request)
    key = request.query_params.get("key", "")
    if site.open_to_key is None or not hmac.compare_digest(key.encode(), site.open_to_key.encode()):
        return RedirectResponse("/login", 303)
    return await site.entered(request, site.local_user)


async def login_page(request: Request) -> Response:
    """The form for name and password."""
    site = site_of(request)
    if site.open_to_key is not None:
        message = "Open the address that the server printed in the terminal: it holds the key to this project."
        return site.render("message.html", None, 401, heading="This project is private", message=message)
    return site.render("login.html", None, message="", name="")


async def login(request: Request) -> Response:
    """Check name and password."""
    site = site_of(request)
    if site.open_to_key is not None:
        return failure(request, 403, NO_PASSWORDS)
    form = await form_of(request, fields=10)
    name, password = str(form.get("name", ""))[:100], str(form.get("password", ""))
    sent = cookie(request.headers, "known", secure=site.secure) or ""
    browser = await run_in_threadpool(accounts.known_browser, site.store, name, sent)
    keys = login_keys(name, request.client.host if request.client else "", browser)
    if wait := site.limit.take(*keys):
        return _too_often(site, "login.html", None, wait, name=name)
    kept = await _matching(site, name, password, keys)
    if kept is None:
        return site.render("login.html", None, 401, message="The name or the password is wrong.", name=name)
    response = await site.entered(request, name, kept=kept)
    if browser is None:
        sent = await run_in_threadpool(accounts.browser_token, site.store, name)
    set_cookie(response, request.headers, sent, "known", secure=site.secure, seconds=BROWSER_SECONDS)
    return response


async def _matching(site: Site, name: str, password: str, keys: tuple[Key, ...]) -> str | None:
    """The hash of the password, if it is right. The try has been counted before, and counts no longer if it is."""
    async with site.hashing:
        kept = await run_in_threadpool(accounts.matching_hash, site.store, name, password)
    if kept is not None:
        site.limit.right(*keys)
    return kept


def _too_often(site: Site, template: str, session: Session | None, wait: float, **values: Any) -> Response:
    seconds = math.ceil(wait)
    message = f"Too many wrong passwords. Try again in {seconds} second{'s' * (seconds > 1)}."
    response = site.render(template, session, 429, message=message, **values)
    response.headers["retry-after"] = str(seconds)
    return response


async def logout(request: Request, session: Session) -> Response:
    """End the session, and give back the documents that are not judged."""
    site = site_of(request)
    await asyncio.wrap_future(site.judging.release(session.assessor))
    await run_in_threadpool(accounts.end_session, site.store, cookie(request.headers, secure=site.secure) or "")
    response = RedirectResponse("/login", 303)
    response.delete_cookie(cookie_name(request.headers, secure=site.secure), path="/", secure=site.secure)
    return response


async def password_page(request: Request, session: Session) -> Response:
    """The form to change one's own password."""
    return site_of(request).render("password.html", session, message="", shortest=accounts.SHORTEST_PASSWORD)


async def change_password(request: Request, session: Session) -> Response:
    """Change one's own password: the role stays, and all other sessions end."""
    site = site_of(request)
    if site.open_to_key is not None:
        raise UsageError(NO_PASSWORDS)
    form = await form_of(request, fields=10)
    now, new, again = (str(form.get(name, "")) for name in ("now", "new", "again"))
    shortest = accounts.SHORTEST_PASSWORD
    key = ("own password", session.assessor)
    if wait := site.limit.take(key):
        return _too_often(site, "password.html", session, wait, shortest=shortest)
    kept = await _matching(site, session.assessor, now, (key,))
    if kept is None:
        message, status = "Your password now is another one.", 401
    elif new != again:
        message, status = "You wrote two different new passwords.", 400
    else:
        async with site.hashing:
            changed = partial(accounts.set_password, site.store, session.assessor, new, before=kept)
            kept = await run_in_threadpool(changed)
        return await site.entered(request, session.assessor, kept=kept)
    return site.render("password.html", session, status, message=message, shortest=shortest)


ROUTES = [
    Route("/enter", enter),
    Route("/login", login_page),
    Route("/login", login, methods=["POST"]),
    Route("/logout", for_role(logout, *ROLES), methods=["POST"]),
    Route("/password", for_role(password_page, *ROLES)),
    Route("/password", for_role(change_password, *ROLES), methods=["POST"]),
]

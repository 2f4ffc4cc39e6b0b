"""Guesses are slow, and the right password is not kept out."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2 as httpx
import pytest

from cranfield.building.serve.project import accounts
from cranfield.building.serve.project.store import Store
from cranfield.building.serve.web.limits import FORGET, KINDS, MANY_PEOPLE, LoginLimit, login_keys
from tests.building.serve.web import PASSWORD, app_of

FREE = KINDS["name at address"].free


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def app(sqlite_store: Store, clock: Clock) -> Any:
    made = app_of(sqlite_store)
    made.state.site.limit = LoginLimit(clock)
    return made


async def guess(app: Any, name: str, password: str, host: str = "192.0.2.1", **cookies: str) -> httpx.Response:
    transport = httpx.ASGITransport(app, client=(host, 50000))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", cookies=cookies) as browser:
        return await browser.post("/login", data={"name": name, "password": password})


def code(app: Any, name: str, password: str, host: str = "192.0.2.1", **cookies: str) -> int:
    return asyncio.run(guess(app, name, password, host, **cookies)).status_code


def test_of_guesses_at_the_same_time_only_the_free_ones_are_checked(app: Any, monkeypatch: Any) -> None:
    checked = []
    right = accounts.matching_hash
    monkeypatch.setattr(accounts, "matching_hash", lambda *more: checked.append(more[1]) or right(*more))

    async def attack() -> list[int]:
        answers = await asyncio.gather(*(guess(app, "anna", f"wrong {i}") for i in range(200)))
        return sorted(answer.status_code for answer in answers)

    assert asyncio.run(attack()) == [401] * FREE + [429] * (200 - FREE)
    assert checked == ["anna"] * FREE


def test_a_guesser_keeps_out_nobody_but_themselves(app: Any, clock: Clock) -> None:
    for _ in range(30):
        app.state.site.limit.take(*login_keys("anna", "192.0.2.1", None))
        clock.now += 1000.0  # a patient guesser
    assert code(app, "anna", "a wrong password") == 401
    answer = asyncio.run(guess(app, "anna", PASSWORD))
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "900"
    assert "Try again in 900 seconds" in answer.text
    assert code(app, "anna", PASSWORD, host="198.51.100.7") == 303  # the right password from elsewhere
    assert code(app, "ben", PASSWORD) == 303  # and everybody else behind the same address


def test_a_browser_that_is_known_is_not_kept_out_by_a_guesser_at_the_same_address(app: Any) -> None:
    """Behind a proxy, everybody has the same address."""
    cookies = dict(asyncio.run(guess(app, "anna", PASSWORD)).cookies)
    assert set(cookies) == {"cranfield_session", "cranfield_known"}
    while code(app, "anna", "a wrong password") != 429:
        pass
    assert code(app, "anna", PASSWORD) == 429
    assert code(app, "anna", PASSWORD, cranfield_known=cookies["cranfield_known"]) == 303
    assert code(app, "anna", PASSWORD, cranfield_known="x" + cookies["cranfield_known"]) == 429
    codes = [code(app, "anna", "a wrong password", cranfield_known=cookies["cranfield_known"]) for _ in range(FREE + 1)]
    assert codes == [401] * FREE + [429]  # it may not guess without end either


def test_the_sign_of_a_browser_holds_for_one_person(app: Any, sqlite_store: Store) -> None:
    token = accounts.browser_token(sqlite_store, "anna")
    assert accounts.known_browser(sqlite_store, "anna", token)
    for name, other in {"ben": token, "anna": token[:-1], "olga": "", "cleo": ".", "x": "é.\u20ac"}.items():
        assert accounts.known_browser(sqlite_store, name, other) is None


def test_one_address_with_many_names_and_one_name_from_many_addresses_wait_for_seconds_at_most(clock: Clock) -> None:
    limit = LoginLimit(clock)
    for number in range(MANY_PEOPLE.free):
        assert limit.take(*login_keys(f"n{number}", "192.0.2.1", None)) == 0
        assert limit.take(*login_keys("anna", f"198.51.100.{number}", None)) == 0
    for number in range(50):
        spread, sprayed = login_keys("anna", f"203.0.113.{number}", None), login_keys(f"m{number}", "192.0.2.1", None)
        assert 0 < limit.take(*sprayed) <= MANY_PEOPLE.longest
        assert 0 < limit.take(*spread) <= MANY_PEOPLE.longest
        clock.now += MANY_PEOPLE.longest
        assert limit.take(*spread) == limit.take(*sprayed) == 0


def test_a_class_that_logs_in_at_once_does_not_wait(clock: Clock) -> None:
    limit = LoginLimit(clock)
    for number in range(3 * MANY_PEOPLE.free):
        keys = login_keys(f"n{number}", "192.0.2.1", None)
        assert limit.take(*keys) == 0
        limit.right(*keys)


def test_the_wait_doubles_and_the_right_password_or_an_hour_forgets(clock: Clock) -> None:
    limit, key = LoginLimit(clock), ("name at address", "anna", "192.0.2.1")
    waits = []
    for _ in range(FREE + 12):
        waits.append(limit.take(key))
        clock.now += waits[-1]
        if waits[-1]:
            assert limit.take(key) == 0
    assert waits == [0.0] * FREE + [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 900.0, 900.0, 900.0]
    clock.now += 900
    assert limit.take(key) == 0
    limit.right(key)
    assert [limit.take(key) for _ in range(FREE + 1)] == [0.0] * FREE + [2.0]
    clock.now += FORGET + 1
    assert [limit.take(key) for _ in range(FREE + 1)] == [0.0] * FREE + [2.0]


def test_what_is_remembered_is_bounded(clock: Clock, monkeypatch: Any) -> None:
    monkeypatch.setattr(LoginLimit, "MOST", 10)
    limit = LoginLimit(clock)
    for number in range(100):
        limit.take(("browser", str(number)))
    assert len(limit._tries) == 10

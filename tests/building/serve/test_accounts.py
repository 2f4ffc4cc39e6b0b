"""A project keeps an organiser, and everybody changes their own password without changing anything else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from cranfield.building.serve.project import accounts
from cranfield.building.serve.project.accounts import add_account, matching_hash, set_active, set_password, set_role
from cranfield.building.serve.project.importing import import_log, import_qrels
from cranfield.building.serve.project.store import Store
from cranfield.errors import DataError, UsageError
from tests.building.serve.test_log_file import ROW
from tests.building.serve.web import PASSWORD, Client, app_of

NEW = "another password"


@pytest.fixture
def app(sqlite_store: Store) -> Any:
    return app_of(sqlite_store)


def roles(store: Store) -> dict[str, str]:
    return {one.name: one.role for one in accounts.accounts(store) if one.active}


@pytest.mark.parametrize(
    "change",
    [
        lambda store: add_account(store, "olga", "assessor"),
        lambda store: add_account(store, "olga", "assessor", NEW),
        lambda store: set_role(store, "olga", "assessor"),
        lambda store: set_active(store, "olga", False),
    ],
)
def test_the_last_organiser_stays_one(app: Any, sqlite_store: Store, change: Callable[[Store], None]) -> None:
    with pytest.raises(UsageError, match="'olga' is the last organiser; make somebody else an organiser first"):
        change(sqlite_store)
    assert roles(sqlite_store)["olga"] == "organiser"
    assert matching_hash(sqlite_store, "olga", PASSWORD)
    add_account(sqlite_store, "local", "organiser")  # who cannot log in, for want of a password
    with pytest.raises(UsageError, match="is the last organiser"):
        change(sqlite_store)
    add_account(sqlite_store, "otto", "organiser", PASSWORD)
    change(sqlite_store)
    assert roles(sqlite_store).get("olga") != "organiser"


def test_two_organisers_cannot_remove_each_other(app: Any, sqlite_store: Store) -> None:
    add_account(sqlite_store, "otto", "organiser", PASSWORD)
    olga, otto = Client(app, "olga"), Client(app, "otto")
    assert olga.form("/organise/accounts/role", name="otto", role="assessor").status_code == 303
    assert otto.form("/organise/accounts/role", name="olga", role="assessor").status_code == 403
    answer = olga.form("/organise/accounts/role", name="olga", role="assessor")
    assert (answer.status_code, "is the last organiser" in answer.text) == (400, True)


def test_the_form_for_new_people_changes_nobody_who_is_there(app: Any, sqlite_store: Store) -> None:
    olga = Client(app, "olga")
    before = accounts.accounts(sqlite_store)
    for name in ("olga", "anna"):
        answer = olga.form("/organise/accounts", name=name, role="assessor")
        assert (answer.status_code, "has an account" in answer.text) == (400, True)
        assert matching_hash(sqlite_store, name, PASSWORD)
    assert accounts.accounts(sqlite_store) == before


def test_a_new_password_keeps_the_role_and_who_is_off_stays_off(app: Any, sqlite_store: Store) -> None:
    add_account(sqlite_store, "otto", "organiser", PASSWORD)
    set_active(sqlite_store, "otto", False)
    before = accounts.accounts(sqlite_store)
    olga = Client(app, "olga")
    assert "is shown only now" in olga.form("/organise/accounts/password", name="otto").text
    assert accounts.accounts(sqlite_store) == before
    add_account(sqlite_store, "otto", password=NEW)  # as in the terminal, without a role
    assert roles(sqlite_store)["otto"] == "organiser"
    own = olga.form("/organise/accounts/password", name="olga")
    assert (own.status_code, "/password" in own.text) == (400, True)
    assert olga.form("/organise/accounts/password", name="nobody").status_code == 400


@pytest.mark.parametrize("name", ["olga", "anna"])
def test_everybody_changes_their_own_password(app: Any, sqlite_store: Store, name: str) -> None:
    here, there = Client(app, name), Client(app, name)
    assert "Change your password" in here.http.get("/password").text
    wrong = here.form("/password", now="a wrong password", new=NEW, again=NEW)
    assert (wrong.status_code, "Your password now is another one" in wrong.text) == (401, True)
    assert here.form("/password", now=PASSWORD, new=NEW, again="x" + NEW).status_code == 400
    assert here.form("/password", now=PASSWORD, new="short", again="short").status_code == 400
    assert matching_hash(sqlite_store, name, PASSWORD)
    role = roles(sqlite_store)[name]
    assert here.form("/password", now=PASSWORD, new=NEW, again=NEW).status_code == 303
    assert (matching_hash(sqlite_store, name, NEW) is not None, roles(sqlite_store)[name]) == (True, role)
    assert here.http.get("/judge").status_code == 200
    assert there.http.get("/judge").status_code == 303  # other sessions have ended


def test_a_session_that_was_left_open_is_no_place_to_guess_the_password(app: Any) -> None:
    anna = Client(app, "anna")
    codes = [anna.form("/password", now=f"wrong {i}", new=NEW, again=NEW).status_code for i in range(7)]
    assert codes == [401] * 5 + [429] * 2


def test_the_rules_hold_in_both_databases(store: Store) -> None:
    add_account(store, "red", "team", PASSWORD)
    add_account(store, "olga", "organiser", PASSWORD)
    with pytest.raises(UsageError, match="'red' is a team"):
        set_role(store, "red", "organiser")
    with pytest.raises(UsageError, match="there is no account 'nobody'"):
        set_password(store, "nobody", PASSWORD)
    with pytest.raises(UsageError, match="'olga' is the last organiser"):
        set_active(store, "olga", False)
    set_password(store, "olga", NEW)
    assert (matching_hash(store, "olga", NEW) is not None, roles(store)["olga"]) == (True, "organiser")
    assert accounts.known_browser(store, "olga", accounts.browser_token(store, "olga"))


@pytest.mark.parametrize(
    ("first", "second"),
    [("olga", "OLGA"), ("Andr\u00e9", "Andre\u0301"), ("stra\u00dfe", "STRASSE"), ("anna2", "anna\uff12")],
)
def test_two_names_that_look_alike_are_refused_wherever_people_are_added(
    sqlite_store: Store, first: str, second: str, tmp_path: Any
) -> None:
    """Case, accents written in two ways, wide letters; the same name is still that person."""
    add_account(sqlite_store, first, "organiser", PASSWORD)
    message = "differ in more than case or the form of their letters"
    with pytest.raises(UsageError, match=message):
        add_account(sqlite_store, second)
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({**ROW, "assessor": second}) + "\n")
    with pytest.raises(DataError, match=rf"log\.jsonl:1: assessor: .*{message}"):
        import_log(sqlite_store, str(log))
    qrels = tmp_path / "old.qrels"
    qrels.write_text("1 0 d1 1\n")
    with pytest.raises(UsageError, match=message):
        import_qrels(sqlite_store, str(qrels), second)
    add_account(sqlite_store, first, password=NEW)
    assert matching_hash(sqlite_store, first, NEW)


def test_an_account_is_made_once_although_two_organisers_make_it(app: Any, sqlite_store: Store) -> None:
    olga = Client(app, "olga")
    assert "dora" in olga.form("/organise/accounts", name="dora", role="assessor").text
    answer = olga.form("/organise/accounts", name="DORA", role="organiser")
    assert (answer.status_code, "is too much like" in answer.text) == (400, True)
    answer = olga.form("/organise/accounts", name="paul", role="team")
    assert (answer.status_code, "paul" in roles(sqlite_store)) == (400, False)
    assert roles(sqlite_store)["dora"] == "assessor"


@pytest.mark.parametrize(
    "change", [lambda store: set_password(store, "anna", NEW), lambda store: set_active(store, "anna", False)]
)
def test_a_password_that_is_changed_while_it_is_checked_lets_nobody_in(
    app: Any, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch, change: Callable[[Store], Any]
) -> None:
    """The hash takes a while, and a guesser can make it wait: the session would outlive the password."""
    kept = accounts.matching_hash(sqlite_store, "anna", PASSWORD)
    anna = Client(app, "anna")
    change(sqlite_store)
    monkeypatch.setattr(accounts, "matching_hash", lambda *more: kept)  # the answer of a moment ago
    answer = anna.http.post("/login", data={"name": "anna", "password": PASSWORD})
    assert (answer.status_code, "your password was changed in the meantime" in answer.text) == (400, True)
    assert sqlite_store.database.read("SELECT 1 FROM session WHERE assessor = 'anna'") == []


def test_who_changes_an_old_password_does_not_undo_a_newer_one(
    app: Any, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, kept = Client(app, "anna"), accounts.matching_hash(sqlite_store, "anna", PASSWORD)

    def checked(*more: Any) -> str | None:
        set_password(sqlite_store, "anna", NEW)  # by an organiser, in the meantime
        return kept

    monkeypatch.setattr(accounts, "matching_hash", checked)
    answer = anna.form("/password", now=PASSWORD, new="of the thief", again="of the thief")
    assert (answer.status_code, "your password was changed in the meantime" in answer.text) == (400, True)
    monkeypatch.undo()
    assert matching_hash(sqlite_store, "anna", NEW)

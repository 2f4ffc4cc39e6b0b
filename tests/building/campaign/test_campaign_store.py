"""Teams and submissions: what is refused, what is marked, and the order of things that happen at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cranfield.building.campaign import campaign_store
from cranfield.building.campaign.campaign_export import export_campaign
from cranfield.building.campaign.campaign_results import Scoreboard
from cranfield.building.campaign.campaign_setup import import_campaign
from cranfield.building.campaign.campaign_site import campaign_app
from cranfield.building.campaign.campaign_store import Campaign, ClosedError, WrongCodeError, build_pool
from cranfield.building.campaign.submitting import mark, submit
from cranfield.building.serve.project import accounts
from cranfield.building.serve.project.accounts import add_account
from cranfield.errors import DataError, UsageError
from tests.building.campaign.players import PASSWORD, judge_all, make_campaign, ranking, run_text
from tests.building.serve.conftest import PostgresServer


@pytest.fixture
def campaign(tmp_path: Path) -> Iterator[Campaign]:
    make_campaign(tmp_path)
    with Campaign(str(tmp_path / "notes")) as made:
        join(made, "red", "blue")
        yield made


def join(campaign: Campaign, *names: str) -> None:
    for name in names:
        campaign.register(name, name.title(), f"{name}@example.org", PASSWORD, campaign.join_code)


def give(campaign: Campaign, team: str, run: int, tag: str | None = None) -> str:
    receipt = submit(campaign, team, f"{team}.txt", run_text(team, run, tag=tag).encode())
    assert receipt.submission, receipt.findings
    return receipt.submission.digest


def counting(campaign: Campaign) -> list[str]:
    return [one.tag for one in campaign.submissions(counting=True)]


@pytest.mark.parametrize("name", ["olga", "RED", "../up", "a b", "", "x" * 41, "<b>"])
def test_a_team_cannot_take_a_name_that_is_used_or_unsafe(campaign: Campaign, name: str) -> None:
    with pytest.raises(UsageError, match="name =="):
        join(campaign, name)
    assert [team.name for team in campaign.teams()] == ["red", "blue"]


def test_a_wrong_join_code_lets_nobody_in(campaign: Campaign) -> None:
    with pytest.raises(WrongCodeError):
        campaign.register("pink", "", "p@example.org", PASSWORD, "wrong")
    old = campaign.join_code
    campaign.new_join_code("olga")
    with pytest.raises(WrongCodeError):
        campaign.register("pink", "", "p@example.org", PASSWORD, old)


def test_an_account_of_a_team_never_becomes_one_of_a_judge(campaign: Campaign) -> None:
    with pytest.raises(UsageError, match="'red' has the role team"):
        add_account(campaign.store, "red", "assessor", PASSWORD)


def test_the_same_content_is_noticed(campaign: Campaign) -> None:
    data = run_text("red", 0).encode()
    first, second = submit(campaign, "red", "a.txt", data), submit(campaign, "red", "b.txt", data)
    assert (first.known, second.known) == (False, True)
    assert second.submission == first.submission
    with pytest.raises(UsageError, match="another team has submitted exactly this content"):
        submit(campaign, "blue", "c.txt", data)


def test_a_tag_belongs_to_one_team(campaign: Campaign) -> None:
    give(campaign, "red", 0, "ours")
    with pytest.raises(UsageError, match="the tag 'OURS' is used by another team"):
        give(campaign, "blue", 0, "OURS")
    assert len(list((Path(campaign.folder) / "runs").iterdir())) == 1  # nothing of what was refused stays


def test_a_new_file_with_the_same_tag_takes_the_place_of_the_old_one(campaign: Campaign) -> None:
    old, new = give(campaign, "red", 0, "ours"), give(campaign, "red", 1, "ours")
    assert [(one.digest, one.counts) for one in campaign.submissions()] == [(old, False), (new, True)]
    with pytest.raises(UsageError, match="has the same tag and counts"):
        mark(campaign, "red", old, True)
    mark(campaign, "red", new, False)
    mark(campaign, "red", old, True)
    assert [one.digest for one in campaign.submissions(counting=True)] == [old]


def test_only_as_many_runs_count_as_the_rules_allow(campaign: Campaign) -> None:
    digests = [give(campaign, "red", run, f"r{run}") for run in range(4)]
    assert counting(campaign) == ["r0", "r1", "r2"]
    with pytest.raises(UsageError, match="3 runs already count"):
        mark(campaign, "red", digests[3], True)
    mark(campaign, "red", digests[0], False)
    mark(campaign, "red", digests[3], True)
    assert counting(campaign) == ["r1", "r2", "r3"]


def test_nothing_changes_after_submissions_have_closed(campaign: Campaign) -> None:
    digest = give(campaign, "red", 0)
    campaign.open_phase("pooling", "olga")
    for act in (
        lambda: give(campaign, "red", 1),
        lambda: mark(campaign, "red", digest, False),
        lambda: join(campaign, "x"),
    ):
        with pytest.raises(ClosedError):
            act()
    assert counting(campaign) == ["red-0"]


def test_runs_of_a_team_that_is_off_do_not_count(campaign: Campaign) -> None:
    give(campaign, "red", 0)
    give(campaign, "blue", 0)
    campaign.switch_team("red", False, "olga")
    assert counting(campaign) == ["blue-0"]


def test_submissions_at_the_same_moment_have_an_order_and_keep_the_rules(campaign: Campaign) -> None:
    errors: list[BaseException] = []

    def work(team: str, run: int) -> None:
        try:
            give(campaign, team, run, f"{team}-{run}")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(team, run)) for run in range(6) for team in ("red", "blue")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    made = campaign.submissions()
    assert [one.number for one in made] == sorted({one.number for one in made})
    assert len(made) == 12
    for team in ("red", "blue"):
        assert [one.counts for one in made if one.team == team] == [True] * 3 + [False] * 3  # the first three count


def play(campaign: Campaign) -> None:
    """Submissions, a pool, judgments and results."""
    for run in range(2):
        for team in ("red", "blue"):
            give(campaign, team, run)
    give(campaign, "red", 2, "red-0")
    with pytest.raises(AssertionError):
        give(campaign, "blue", 2, "no tag like this!")
    campaign.open_phase("pooling", "olga")
    build_pool(campaign, "olga")
    campaign.store.write_guidelines("Be kind.\n\nAnd \t fair.", "olga")
    campaign.open_phase("judging", "olga")
    add_account(campaign.store, "anna", "assessor", PASSWORD)
    judge_all(campaign_app(campaign), "anna", PASSWORD)
    campaign.open_phase("results", "olga")


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_export_is_imported_again_with_equal_content(campaign: Campaign, tmp_path: Path) -> None:
    campaign.add_known_documents(["extra-1", "extra-2"])
    play(campaign)
    export_campaign(campaign, str(tmp_path / "files"))
    with import_campaign(str(tmp_path / "copy"), str(tmp_path / "files")) as copy:
        export_campaign(copy, str(tmp_path / "again"))
        assert Scoreboard(copy).results().scores == Scoreboard(campaign).results().scores
        assert copy.submissions() == [
            one
            if round(one.submitted_at, 6) == one.submitted_at
            else type(one)(**{**vars(one), "submitted_at": two.submitted_at})
            for one, two in zip(campaign.submissions(), copy.submissions(), strict=True)
        ]
    files, again = files_of(tmp_path / "files"), files_of(tmp_path / "again")
    assert list(files) == list(again) or sorted(files) == sorted(again)
    assert {name for name in files if files[name] != again[name]} == set()
    assert {"qrels.txt", "leaderboard.csv", "pool.tsv", "teams.csv", "log.jsonl", "sheets/red.csv"} <= files.keys()
    assert not any(b"scrypt" in content for content in files.values())


def test_a_changed_run_is_not_imported(campaign: Campaign, tmp_path: Path) -> None:
    give(campaign, "red", 0)
    export_campaign(campaign, str(tmp_path / "files"))
    (run,) = (tmp_path / "files" / "runs" / "red").iterdir()
    run.write_text(run.read_text().replace("d1 ", "d2 "))
    with pytest.raises(DataError, match="has the digest"):
        import_campaign(str(tmp_path / "copy"), str(tmp_path / "files"))
    assert not (tmp_path / "copy").exists()


def test_an_import_reads_no_file_outside_its_folder(campaign: Campaign, tmp_path: Path) -> None:
    give(campaign, "red", 0)
    export_campaign(campaign, str(tmp_path / "files"))
    path = tmp_path / "files" / "submissions.csv"
    path.write_text(path.read_text().replace("runs/red/", "../../red/"))
    with pytest.raises(DataError, match="is outside the export"):
        import_campaign(str(tmp_path / "copy"), str(tmp_path / "files"))


def test_a_pool_is_replaced_until_something_is_offered_and_then_only_grows(campaign: Campaign) -> None:
    give(campaign, "red", 0)
    first = {(topic, doc) for topic in map(str, range(1, 11)) for doc in ranking("red", 0, topic)[:10]}
    campaign.open_phase("pooling", "olga")
    build_pool(campaign, "olga")
    assert set(campaign.store.database.read("SELECT topic, doc FROM pool")) == first
    campaign.open_phase("submission", "olga")
    digest = give(campaign, "blue", 0)
    mark(campaign, "red", campaign.submissions("red")[0].digest, False)
    campaign.open_phase("pooling", "olga")
    build_pool(campaign, "olga")
    second = {(topic, doc) for topic in map(str, range(1, 11)) for doc in ranking("blue", 0, topic)[:10]}
    assert set(campaign.store.database.read("SELECT topic, doc FROM pool")) == second != first
    campaign.open_phase("judging", "olga")
    add_account(campaign.store, "anna", "assessor", PASSWORD)
    judge_all(campaign_app(campaign), "anna", PASSWORD)
    campaign.open_phase("submission", "olga")
    mark(campaign, "blue", digest, False)
    mark(campaign, "red", campaign.submissions("red")[0].digest, True)
    campaign.open_phase("pooling", "olga")
    build_pool(campaign, "olga")
    assert set(campaign.store.database.read("SELECT topic, doc FROM pool")) == first | second


@pytest.mark.parametrize(
    ("meanwhile", "message"),
    [
        (lambda campaign: campaign.open_phase("submission", "otto"), "now is the phase submission"),
        (lambda campaign: campaign.switch_team("red", False, "otto"), "other runs count since the pool was begun"),
    ],
)
def test_a_pool_is_kept_only_if_nothing_changed_while_it_was_made(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[Campaign], None], message: str
) -> None:
    """Two organisers: one makes the pool, which takes a while, the other opens a phase or switches a team off."""
    give(campaign, "red", 0)
    give(campaign, "blue", 0)
    campaign.open_phase("pooling", "olga")
    make = campaign_store.make_pool

    def slow(*more: Any, **options: Any) -> Any:
        meanwhile(campaign)
        return make(*more, **options)

    monkeypatch.setattr(campaign_store, "make_pool", slow)
    with pytest.raises(UsageError, match=message):
        build_pool(campaign, "olga")
    assert campaign.store.database.read("SELECT 1 FROM pool") == []
    assert "pool" not in [event.what for event in campaign.events()]


@pytest.mark.parametrize(
    ("meanwhile", "error"),
    [
        (lambda campaign: campaign.open_phase("pooling", "olga"), ClosedError),
        (lambda campaign: campaign.new_join_code("olga"), WrongCodeError),
    ],
)
def test_nobody_registers_after_the_end_because_the_password_took_a_while(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[Campaign], Any], error: type[Exception]
) -> None:
    def slow(password: str) -> str:
        meanwhile(campaign)
        return accounts.NOBODY

    monkeypatch.setattr(accounts, "hashed", slow)
    with pytest.raises(error):
        join(campaign, "pink")
    assert [team.name for team in campaign.teams()] == ["red", "blue"]


def test_an_adaptive_method_chooses_while_people_judge(tmp_path: Path) -> None:
    make_campaign(tmp_path, toml={'method = "depth"': 'method = "max-mean"', "# budget = 500": "budget = 40"})
    with Campaign(str(tmp_path / "notes")) as campaign:
        join(campaign, "red", "blue")
        give(campaign, "red", 0)
        give(campaign, "blue", 0)
        campaign.open_phase("pooling", "olga")
        build_pool(campaign, "olga")
        campaign.open_phase("judging", "olga")
        add_account(campaign.store, "anna", "assessor", PASSWORD)
        assert judge_all(campaign_app(campaign), "anna", PASSWORD) == 40
        judged = campaign.store.database.read("SELECT topic, COUNT(*) FROM current_qrels GROUP BY topic")
        assert dict(judged) == dict.fromkeys(map(str, range(1, 11)), 4)  # 40 documents over ten topics


@pytest.mark.xdist_group("postgres")
def test_a_campaign_works_in_postgresql(tmp_path: Path, postgres: PostgresServer) -> None:
    make_campaign(tmp_path, database=postgres.database())
    with Campaign(str(tmp_path / "notes")) as campaign:
        join(campaign, "red", "blue")
        play(campaign)
        board = Scoreboard(campaign).results().leaderboard()
        assert sorted(board.run) == ["blue-0", "blue-1", "red-0", "red-1"]

"""Documents are handed out as leases: the overlap holds, nothing is lost, and checks are slipped in unseen."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cranfield.building.serve.database.database import Connection
from cranfield.building.serve.project.accounts import add_account
from cranfield.building.serve.project.judging import Judging
from cranfield.building.serve.project.judging_modes import Document, PoolEntry
from cranfield.building.serve.project.judgment_log import Entry
from cranfield.building.serve.project.offer_memory import AHEAD
from cranfield.building.serve.project.store import Store
from cranfield.errors import UsageError
from tests.building.serve.working import Clock, counts, new_request, say, wipe, work


@pytest.fixture
def judging(store: Store, clock: Clock) -> Judging:
    return Judging(store, clock=clock)


def test_one_assessor_judges_the_pool_in_its_order_topic_by_topic(judging: Judging) -> None:
    assert work(judging, "anna") == [(topic, f"d{i}") for topic in "12" for i in range(10)]


def test_an_assessor_has_a_few_documents_at_a_time_and_gets_the_same_after_a_reload(
    judging: Judging, store: Store, clock: Clock
) -> None:
    first = judging.offers("anna").result(10).offers
    assert len(first) == AHEAD
    assert judging.offers("anna").result(10).offers == first
    assert Judging(store, clock=clock).offers("anna").result(10).offers == first


def test_two_assessors_get_different_documents_and_first_different_topics(judging: Judging) -> None:
    anna, ben = (judging.offers(name).result(10).offers for name in ("anna", "ben"))
    assert {offer.topic for offer in anna} == {"1"}
    assert {offer.topic for offer in ben} == {"2"}
    judging.offers("ben", topic="1").result(10)
    both = [(offer.topic, offer.doc) for name in ("anna", "ben") for offer in judging.offers(name).result(10).offers]
    assert len(set(both)) == len(both)
    assert {topic for topic, _ in both} == {"1"}


def test_an_unknown_topic_is_refused(judging: Judging) -> None:
    with pytest.raises(UsageError, match="there is no topic '7'"):
        judging.offers("anna", topic="7").result(10)


@pytest.mark.parametrize("overlap", [1, 2, 3])
def test_each_document_gets_exactly_as_many_judgments_as_the_overlap(store: Store, clock: Clock, overlap: int) -> None:
    store.set_settings(store.settings().changed(overlap=overlap))
    judging = Judging(store, clock=clock)
    for name in ("anna", "ben", "cleo"):
        work(judging, name)
    assert set(counts(store).values()) == {overlap}
    assert len(counts(store)) == 20


def test_the_overlap_holds_when_many_judge_at_once(store: Store) -> None:
    names = [f"worker{i}" for i in range(8)]
    for name in names:
        add_account(store, name)
    store.set_settings(store.settings().changed(overlap=3))
    judging = Judging(store)
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda name: work(judging, name), names))
    assert counts(store) == {(topic, f"d{i}"): 3 for topic in "12" for i in range(10)}
    assert all(len(set(one)) == len(one) for one in done)  # nobody judged a document twice
    assert store.database.read("SELECT COUNT(*) FROM judgment WHERE counted = 0") == [(0,)]


def test_a_lease_that_expires_goes_to_others_and_a_late_judgment_is_kept_but_does_not_count(
    judging: Judging, store: Store, clock: Clock
) -> None:
    slow = judging.offers("anna").result(10).offers[0]
    clock.now += 901  # the lease is 900 s
    assert ("1", slow.doc) in work(judging, "ben")
    late = say(judging, "anna", slow)
    assert late.row is not None
    assert late.row.counted == 0
    assert counts(store)["1", slow.doc] == 1


def test_activity_renews_a_lease(judging: Judging, clock: Clock) -> None:
    mine = judging.offers("anna").result(10).offers[0]
    for _ in range(5):
        clock.now += 800
        judging.offers("anna").result(10)
    assert ("1", mine.doc) not in work(judging, "ben")


def test_an_expired_offer_that_nobody_else_took_is_still_good(judging: Judging, clock: Clock) -> None:
    mine = judging.offers("anna").result(10).offers[0]
    clock.now += 10_000
    given = say(judging, "anna", mine)
    assert given.row is not None
    assert given.row.counted == 1


def test_a_document_that_was_not_offered_cannot_be_judged(judging: Judging, store: Store) -> None:
    with pytest.raises(UsageError, match="'d9' of topic '2' was not offered to you"):
        judging.judge(Entry(new_request(), "2", "d9", "anna", grade=1)).result(10)
    assert not counts(store)
    assert len(judging.offers("anna").result(10).offers) == AHEAD  # and work goes on


def test_a_retry_after_the_judgment_reserves_nothing_twice(judging: Judging, store: Store) -> None:
    offer = judging.offers("anna").result(10).offers[0]
    entry = Entry(new_request(), offer.topic, offer.doc, "anna", grade=1, offer=offer.id)
    first, again = judging.judge(entry).result(10), judging.judge(entry).result(10)
    assert first == again
    assert counts(store)["1", "d0"] == 1


def test_undo_gives_the_document_back_first(judging: Judging, store: Store) -> None:
    first, second, _ = judging.offers("anna").result(10).offers
    say(judging, "anna", first)
    say(judging, "anna", second)
    given = judging.undo("anna", new_request()).result(10)
    assert given.undone == 1
    assert ("1", second.doc) in {(offer.topic, offer.doc) for offer in given.offers}
    assert set(counts(store)) == {("1", first.doc)}
    assert set(work(judging, "anna")) == {(topic, f"d{i}") for topic in "12" for i in range(10)} - {("1", first.doc)}


def test_bulk_undo_takes_back_many_and_a_retry_no_more(judging: Judging, store: Store) -> None:
    work(judging, "anna", most=8)
    request = new_request()
    assert judging.undo("anna", request, times=5).result(10).undone == 5
    assert judging.undo("anna", request, times=5).result(10).undone == 5
    assert sum(counts(store).values()) == 3
    assert judging.undo("anna", new_request(), times=100).result(10).undone == 3
    assert set(work(judging, "anna")) == {(topic, f"d{i}") for topic in "12" for i in range(10)}


def test_cannot_judge_goes_to_another_assessor(judging: Judging) -> None:
    first = judging.offers("anna").result(10).offers[0]
    say(judging, "anna", first, None, "cannot")
    assert ("1", first.doc) not in work(judging, "anna")
    assert work(judging, "ben") == [("1", first.doc)]


def test_later_comes_back_at_the_end_of_the_topic_and_then_at_the_very_end(judging: Judging) -> None:
    given = judging.offers("anna").result(10)
    order = []
    put_off = {"d1": 2, "d3": 1}
    while given.offers:
        offer = given.offers[0]
        state = "graded"
        if offer.topic == "1" and put_off.get(offer.doc, 0):
            put_off[offer.doc] -= 1
            state = "later"
        order.append((offer.topic, offer.doc, state))
        given = say(judging, "anna", offer, 1.0 if state == "graded" else None, state)
    one = [(doc, state) for topic, doc, state in order if topic == "1"]
    assert one[:10] == [(f"d{i}", "later" if i in (1, 3) else "graded") for i in range(10)]
    assert one[10:] == [("d1", "later"), ("d3", "graded"), ("d1", "graded")]
    assert order[-1] == ("1", "d1", "graded")


def test_the_budget_is_never_exceeded(store: Store) -> None:
    store.set_settings(store.settings().changed(budget=7))
    judging = Judging(store)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda name: work(judging, name), ("anna", "ben", "cleo")))
    assert sum(counts(store).values()) == 7
    assert judging.offers("anna").result(10).expected == 7


def test_progress_counts_what_counts(judging: Judging) -> None:
    work(judging, "anna", most=4)
    given = judging.offers("ben").result(10)
    assert (given.mine, given.done, given.expected) == (0, 4, 20)
    assert judging.offers("anna").result(10).mine == 4


# ---- checks of the assessor


def gain_of_each(judging: Judging, name: str, state: str) -> dict[str, set[tuple[int, int, int]]]:
    """{purpose of a document: what the numbers of the header gain when an assessor answers it in one way}."""
    gains: dict[str, set[tuple[int, int, int]]] = {}
    given = judging.offers(name).result(10)
    for turn in range(60):
        if not given.offers:
            break
        offer = given.offers[0]
        said = state if turn > 8 and turn % 2 else "graded"
        after = say(judging, name, offer, 1.0 if said == "graded" else None, said)
        gain = (after.mine - given.mine, after.done - given.done, after.expected - given.expected)
        if said == state and after.offers:  # the last answer of all is known to be the last
            gains.setdefault(offer.purpose, set()).add(gain)
        given = after
    return gains


@pytest.mark.parametrize("state", ["graded", "cannot", "later"])
def test_the_numbers_of_the_header_are_the_same_for_checks(sqlite_store: Store, state: str) -> None:
    """A gold or repeated document changes each number just as a document of the pool does, whatever is answered."""
    sqlite_store.add_gold([(topic, f"g{i}", 2) for i in range(9) for topic in "12"])
    gains: dict[str, set[tuple[int, int, int]]] = {}
    for seed in range(4):
        sqlite_store.set_settings(sqlite_store.settings().changed(gold_rate=0.3, repeat_rate=0.4, seed=seed))
        for purpose, changes in gain_of_each(Judging(sqlite_store), "anna", state).items():
            gains.setdefault(purpose, set()).update(changes)
        sqlite_store.database.write(wipe)
    assert set(gains) == {"pool", "gold", "repeat"}
    wanted = {"graded": (1, 1, 0), "cannot": (1, 0, 0), "later": (0, 0, 0)}[state]
    assert gains == {purpose: {wanted} for purpose in gains}


def test_an_undo_changes_the_numbers_of_the_header_in_the_same_way_for_checks(sqlite_store: Store) -> None:
    sqlite_store.add_gold([(topic, f"g{i}", 2) for i in range(9) for topic in "12"])
    sqlite_store.set_settings(sqlite_store.settings().changed(gold_rate=0.3, repeat_rate=0.4, seed=3))
    judging = Judging(sqlite_store)
    seen = set()
    given = judging.offers("anna").result(10)
    for _ in range(20):
        offer = given.offers[0]
        given = say(judging, "anna", offer)
        back = judging.undo("anna", new_request()).result(10)
        assert (given.mine - back.mine, given.done - back.done, given.expected - back.expected) == (1, 1, 0)
        assert back.row is not None
        assert back.row.state == "none"
        assert offer.doc in {one.doc for one in back.offers}
        again = next(one for one in back.offers if (one.topic, one.doc) == (offer.topic, offer.doc))
        assert again.purpose == offer.purpose
        given = say(judging, "anna", again)
        seen.add(offer.purpose)
    assert seen == {"pool", "gold", "repeat"}


def test_a_check_that_is_put_off_comes_back_as_the_same_check(sqlite_store: Store) -> None:
    sqlite_store.add_gold([(topic, f"g{i}", 2) for i in range(3) for topic in "12"])
    sqlite_store.set_settings(sqlite_store.settings().changed(gold_rate=0.3, repeat_rate=0.4, seed=3))
    judging = Judging(sqlite_store)
    put_off: dict[tuple[str, str, str], int] = {}
    given = judging.offers("anna").result(10)
    while given.offers:
        offer = given.offers[0]
        key = (offer.topic, offer.doc, offer.purpose)
        put_off[key] = put_off.get(key, 0) + 1
        later = put_off[key] == 1
        given = say(judging, "anna", offer, None if later else 1.0, "later" if later else "graded")
    assert {purpose for _, _, purpose in put_off} == {"pool", "gold", "repeat"}
    assert set(put_off.values()) == {2}
    assert len(counts(sqlite_store)) == 20  # no gold document counts


@pytest.mark.parametrize("restarted", [False, True])
def test_checks_come_again_after_another_topic_or_a_login_as_all_documents_do(store: Store, restarted: bool) -> None:
    """A document that stays away after a look at another topic would be known to be a check."""
    store.add_gold([(topic, f"g{i}", 2) for i in range(9) for topic in "12"])
    store.set_settings(store.settings().changed(gold_rate=0.3, repeat_rate=0.4, seed=3, order="own"))
    judging, purposes = Judging(store), set()
    work(judging, "anna", most=8)
    for turn in range(10):
        before = judging.offers("anna").result(10).offers
        purposes.update(offer.purpose for offer in before)
        topic = before[0].topic
        if turn % 2:
            judging.offers("anna", topic="2" if topic == "1" else "1").result(10)
        else:
            judging.release("anna").result(10)
        judging = Judging(store) if restarted else judging
        after = judging.offers("anna", topic=topic).result(10).offers
        assert [(one.doc, one.purpose) for one in after] == [(one.doc, one.purpose) for one in before]
        say(judging, "anna", after[0])
    assert purposes == {"pool", "gold", "repeat"}


def test_the_header_ends_at_its_goal_with_and_without_checks(sqlite_store: Store) -> None:
    judging = Judging(sqlite_store)
    work(judging, "anna")
    given = judging.offers("anna").result(10)
    assert (given.mine, given.done, given.expected) == (20, 20, 20)
    sqlite_store.database.write(wipe)
    sqlite_store.set_settings(sqlite_store.settings().changed(repeat_rate=0.2))
    judging = Judging(sqlite_store)
    work(judging, "anna")
    given = judging.offers("anna").result(10)
    assert given.done == given.expected == 25  # by arithmetic: 20 / (1 - 0.2)


def test_gold_is_slipped_in_at_its_rate_and_does_not_count(store: Store, clock: Clock) -> None:
    store.add_gold([("1", f"g{i}", 2) for i in range(5)] + [("1", "d3", 0)])
    store.set_settings(store.settings().changed(gold_rate=0.3))
    judging = Judging(store, clock=clock)
    done = work(judging, "anna")
    gold = [item for item in done if item in {("1", f"g{i}") for i in range(5)} | {("1", "d3")}]
    assert 1 <= len(gold) <= 6
    assert len(done) == len(set(done)) == 19 + len(gold)  # d3 is gold, and not judged as a document of the pool
    assert len(counts(store)) == 19
    purposes = Counter(purpose for (purpose,) in store.database.read("SELECT purpose FROM judgment"))
    assert purposes == {"pool": 19, "gold": len(gold)}
    assert work(judging, "ben") == []  # gold alone is no reason to go on


def test_repeats_are_documents_that_the_assessor_judged_a_while_ago(store: Store, clock: Clock) -> None:
    store.set_settings(store.settings().changed(repeat_rate=0.4))
    judging = Judging(store, clock=clock)
    done = work(judging, "anna")
    repeats = [(at, item) for at, item in enumerate(done) if item in done[:at]]
    assert repeats
    assert all(at - done.index(item) > 5 for at, item in repeats)
    assert max(Counter(done).values()) == 2
    assert len(counts(store)) == 20


def test_the_same_seed_slips_in_the_same_checks(store: Store, clock: Clock) -> None:
    store.set_settings(store.settings().changed(repeat_rate=0.4, overlap=2, seed=7))
    judging = Judging(store, clock=clock)
    anna = work(judging, "anna")

    store.database.write(wipe)
    judging.reload()
    assert work(judging, "anna") == anna


# ---- documents found by search


def test_a_document_found_by_search_enters_the_pool_with_its_query(judging: Judging, store: Store) -> None:
    store.add_documents([Document("far", "", "flutter of tails")])
    given = judging.find("anna", "1", "far", "tail flutter").result(10)
    say(judging, "anna", given.offers[0], 2.0)
    assert store.database.read("SELECT source, query, added_by FROM pool WHERE doc = 'far'") == [
        ("found", "tail flutter", "anna")
    ]
    assert store.database.read("SELECT grade FROM current_qrels WHERE doc = 'far'") == [(2.0,)]
    assert store.database.read("SELECT purpose FROM judgment") == [("found",)]


def test_a_found_document_is_judged_by_others_too_when_overlap_asks_for_it(store: Store, clock: Clock) -> None:
    store.set_settings(store.settings().changed(overlap=2))
    judging = Judging(store, clock=clock)
    store.add_documents([Document("far", "", "x")])
    say(judging, "anna", judging.find("anna", "1", "far", "x").result(10).offers[0])
    assert ("1", "far") in work(judging, "ben")


def test_only_documents_of_the_collection_can_be_found(judging: Judging) -> None:
    with pytest.raises(UsageError, match="there is no document 'none'"):
        judging.find("anna", "1", "none", "x").result(10)


# ---- memory follows the database


def test_a_change_that_is_not_committed_leaves_no_trace_in_memory(store: Store) -> None:
    judging = Judging(store)
    offer = judging.offers("anna").result(10).offers[0]

    def break_it(connection: Connection) -> None:
        connection.run("ALTER TABLE judgment RENAME COLUMN reason TO reasons")

    def mend_it(connection: Connection) -> None:
        connection.run("ALTER TABLE judgment RENAME COLUMN reasons TO reason")

    store.database.write(break_it)
    entry = Entry(new_request(), offer.topic, offer.doc, "anna", grade=1, offer=offer.id)
    with pytest.raises(Exception, match="reason"):
        judging.judge(entry).result(10)
    store.database.write(mend_it)
    assert judging.offers("anna").result(10).done == 0
    assert judging.judge(entry).result(10).done == 1


@pytest.mark.parametrize("seed", range(8))
def test_memory_is_what_a_fresh_start_reads_whatever_people_do(store: Store, clock: Clock, seed: int) -> None:
    """A random walk of judgments, changes, undos and waiting: the server that ran all along offers the same documents
    as one that has just been started, and the overlap and the budget hold."""
    rng = random.Random(seed)
    store.add_gold([("1", "g1", 1), ("2", "g2", 0)])
    limits: dict[str, Any] = ({}, {"budget": 20}, {"most_per_topic": 8}, {"budget": 24, "share": "adaptive"})[seed % 4]
    order = ("pool", "own")[seed // 4]
    store.set_settings(store.settings().changed(overlap=2, gold_rate=0.2, repeat_rate=0.2, order=order, **limits))
    judging = Judging(store, clock=clock)
    names = ("anna", "ben", "cleo")
    for _ in range(150):
        name = rng.choice(names)
        clock.now += rng.choice([1, 5, 1000])
        draw = rng.random()
        if draw < 0.15:
            judging.undo(name, new_request(), times=rng.choice([1, 1, 3])).result(10)
        elif draw < 0.2:
            judging.release(name).result(10)
        else:
            offers = judging.offers(name).result(10).offers
            if offers:
                state = rng.choice(["graded"] * 6 + ["cannot", "later"])
                say(judging, name, rng.choice(offers), float(rng.randrange(3)) if state == "graded" else None, state)
    assert max(counts(store).values()) <= 2
    assert sum(counts(store).values()) <= limits.get("budget", limits.get("most_per_topic", 20) * 2)
    for name in names:
        mine = judging.offers(name).result(10)
        anew = Judging(store, clock=clock).offers(name).result(10)
        assert (mine.mine, mine.done, mine.expected) == (anew.mine, anew.done, anew.expected)
        assert mine.offers == anew.offers


def test_a_refused_judgment_does_not_make_the_server_read_everything_again(store: Store) -> None:
    """Reading a project with a million judgments takes seconds, which one wrong request must not cost."""
    judging = Judging(store)
    judging.load()
    before = judging._offers
    with pytest.raises(UsageError, match="was not offered to you"):
        judging.judge(Entry(new_request(), "2", "d9", "anna", grade=1)).result(10)
    assert judging._offers is before


def test_a_document_that_is_given_back_is_offered_to_those_who_passed_it(judging: Judging, store: Store) -> None:
    held = [(offer.topic, offer.doc) for offer in judging.offers("anna").result(10).offers]
    assert held
    assert not set(held).intersection(work(judging, "ben"))  # who has then seen the whole pool
    judging.release("anna").result(10)
    states = store.database.read("SELECT state FROM offer WHERE assessor = 'anna'")
    assert [state for (state,) in states] == ["released"] * len(held)
    assert work(judging, "ben") == held
    assert set(counts(store).values()) == {1}
    assert len(counts(store)) == 20


def test_a_start_reads_sums_and_documents_that_need_judgments_whatever_was_judged(sqlite_store: Store) -> None:
    """A million judgments cost no more rows than a few."""
    store = sqlite_store
    read: list[Any] = []
    store.add_pool(PoolEntry("1", f"e{number}", {}) for number in range(300))
    assert len(work(Judging(store), "anna", most=300)) == 300
    fresh, glance = Judging(store), store.database.glance

    def count(statement: str, *values: Any) -> list[Any]:
        rows = glance(statement, *values)
        read.extend(rows)
        return rows

    store.database.glance = count  # type: ignore[method-assign]
    assert fresh.offers("ben").result(10).done == 300
    assert 10 <= len(read) < 50


def test_a_clock_that_goes_back_does_not_reserve_documents_for_days(sqlite_store: Store, clock: Clock) -> None:
    clock.now = 1_000_000.0
    judging = Judging(sqlite_store, clock=clock)
    mine = {(one.topic, one.doc) for one in judging.offers("anna").result(10).offers}
    clock.now = 1_000.0
    for again in (judging, Judging(sqlite_store, clock=clock)):  # in a running server, and after a start
        assert not mine & {(one.topic, one.doc) for one in again.offers("ben").result(10).offers}
    clock.now += sqlite_store.settings().lease + 1
    assert mine <= set(work(judging, "ben"))

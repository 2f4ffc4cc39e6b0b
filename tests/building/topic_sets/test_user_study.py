"""The balance of plans for user studies is counted here from their rows, not from the squares behind them."""

from collections import Counter
from itertools import pairwise, permutations, product

import pytest

from cranfield.building.topic_sets.user_study import read_topic_ids, user_study, williams
from cranfield.errors import DataError, UsageError


def rows(study):
    columns = study.columns()
    return list(zip(*(column.tolist() for column in columns.values()), strict=True))


def orders(study):
    """{user: systems in the order in which the user meets them}, read from the rows."""
    met = {}
    for user, _, _, _, system in rows(study):
        met.setdefault(user, {}).setdefault(system)
    return {user: list(systems) for user, systems in met.items()}


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6, 7])
def test_a_full_set_of_users_is_balanced_in_every_respect(k):
    systems, topics = [f"s{i}" for i in range(k)], [f"t{i}" for i in range(2 * k)]
    users = k * k * (2 if k % 2 else 1)
    study = user_study(systems, topics, users, seed=k)
    searched = Counter((topic, system) for _, _, _, topic, system in rows(study))
    assert searched == dict.fromkeys(product(topics, systems), users // k)
    in_block = Counter((block, system) for _, _, block, _, system in rows(study))
    assert in_block == dict.fromkeys(product(range(1, k + 1), systems), 2 * users // k)
    of_topic = Counter((block, topic) for _, _, block, topic, _ in rows(study))
    assert of_topic == dict.fromkeys(product(range(1, k + 1), topics), users // k)
    follows = Counter(pair for order in orders(study).values() for pair in pairwise(order))
    assert follows == dict.fromkeys(permutations(systems, 2), users // k)
    assert not any("would balance" in note for note in study.notes)


def test_every_user_sees_every_topic_once_and_every_system_in_one_block():
    study = user_study("abc", [f"t{i}" for i in range(7)], 5)
    for user in study.users:
        mine = [row for row in rows(study) if row[0] == user]
        assert [row[1] for row in mine] == [1, 2, 3, 4, 5, 6, 7]
        assert sorted(row[3] for row in mine) == sorted(study.topics)
        assert len({(row[2], row[4]) for row in mine}) == 3
    assert study.notes[-1] == "groups of 2 or 3 topics, because 7 topics are not a multiple of 3"


def test_notes_say_how_unbalanced_a_plan_is():
    study = user_study("abc", ["x", "y", "z"], 4)
    counts = Counter((topic, system) for _, _, _, topic, system in rows(study))
    assert (min(counts.values()), max(counts.values())) == (1, 2)  # 4 users for 3 systems
    assert study.notes[0] == "every topic is used 1 to 2 times with every system; 6 users would balance this"
    assert study.notes[2].endswith("; 6 users would balance this")  # three systems need six orders


def test_the_design_of_williams_for_three_treatments():
    # The six orders of three treatments are the design: each follows each other twice.
    assert sorted(map(tuple, williams(3).tolist())) == sorted(permutations(range(3)))


def test_a_seed_gives_the_same_plan():
    first, again, other = (user_study("abcd", range(20), 8, seed=seed) for seed in (3, 3, 4))
    assert rows(first) == rows(again) != rows(other)


@pytest.mark.parametrize(
    ("systems", "topics", "users", "message"),
    [
        ("a", "xyz", 4, "1 system, must be 2 or more"),
        ("abc", "xy", 4, "2 topics for 3 systems"),
        ("aba", "xyz", 4, "systems must differ, but 'a' appear"),
        ("ab", "xx", 4, "topics must differ"),
        ("ab", "xy", 0, "users == 0, must be a whole number, 1 or more"),
        ("ab", "xy", "four", "must be a number of users or a list of names"),
        ("ab", "xy", 10**9, "1,000,000,000 users × 2 topics"),
        (["a", ""], "xy", 4, "a system has an empty name"),
    ],
)
def test_plans_that_cannot_be_made(systems, topics, users, message):
    with pytest.raises(UsageError, match=message):
        user_study(systems, topics, users)


def test_topics_are_read_from_any_file_of_topics_or_a_list_of_ids(tmp_path):
    ids, table = tmp_path / "ids.txt", tmp_path / "topics.tsv"
    ids.write_text("# topics\n301\n302\n")
    table.write_text("301\torganised crime\n302\tpolio\n")
    assert read_topic_ids(ids) == read_topic_ids(table) == ("301", "302")
    ids.write_text("301\n302\n301\n")
    with pytest.raises(DataError, match=r"ids.txt:3: topic '301' appears twice, first on line 1"):
        read_topic_ids(ids)

"""Preferences from clicks: the rules by hand, and a literal version on both engines."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pytest

from cranfield.errors import UsageError
from cranfield.online.engines import open_engine
from cranfield.online.log_measures.click_preferences import RULES, click_preferences
from tests.online.log_measures.small_logs import Rows, log_of, random_rows


def one_list(docs: str, clicks: str, *, text: str = "shoes", users: int = 1) -> Rows:
    """A log of one list; `clicks` are the documents in the order of the clicks."""
    rows = Rows([], [], [])
    for u in range(users):
        query = f"q{u}"
        base = {"query_id": query, "user": f"u{u}", "session": None}
        rows.queries.append({**base, "time": 0, "text": text, "arm": None, "device": None})
        rows.shown += [
            {"query_id": query, "position": i, "doc": doc, "propensity": None} for i, doc in enumerate(docs, 1)
        ]
        for time, doc in enumerate(clicks, 1):
            event = {**base, "time": time, "action": "click", "doc": doc, "position": docs.index(doc) + 1}
            rows.events.append({**event, "value": None, "dwell": None})
    return rows


def pairs(rows: Rows, rule: str) -> set[str]:
    found = click_preferences(log_of(rows, open_engine("duckdb")), [rule], least=1)
    return {f"{better}>{worse}" for better, worse in zip(found.better, found.worse, strict=True)}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("skip-above", {"c>b", "e>b", "e>d"}),
        ("last-click-skip-above", {"c>b"}),
        ("earlier-click", {"e>a", "c>a", "c>e"}),
        ("skip-previous", {"c>b", "e>d"}),
        ("no-click-next", {"a>b", "c>d", "e>f"}),
    ],
)
def test_the_rules_on_a_list_by_hand(rule: str, expected: set[str]) -> None:
    """The list is a b c d e f g, and the user clicks a, then e, then c."""
    assert pairs(one_list("abcdefg", "aec"), rule) == expected


def test_joachims_example_has_his_preferences() -> None:
    """Joachims et al. 2005, §5: of the ranking l1 … l7 the user clicks l1, l3 and l5; rules 1, 2, 4 and 5."""
    rows = one_list("1234567", "135")
    assert pairs(rows, "skip-above") == {"3>2", "5>2", "5>4"}
    assert pairs(rows, "last-click-skip-above") == {"5>2", "5>4"}
    assert pairs(rows, "skip-previous") == {"3>2", "5>4"}
    assert pairs(rows, "no-click-next") == {"1>2", "3>4", "5>6"}


def test_a_second_click_on_a_document_does_not_count_again() -> None:
    found = click_preferences(log_of(one_list("ab", "bbb"), open_engine("duckdb")), least=1)
    assert found.times.tolist() == [1]


def literal_pairs(rows: Rows, rules: list[str]) -> tuple[Counter[Any], dict[Any, set[str]]]:
    times: Counter[Any] = Counter()
    users: dict[Any, set[str]] = defaultdict(set)
    for query in rows.queries:
        text = " ".join((query["text"] or "").lower().split())
        if not text:
            continue
        position: dict[str, int] = {}
        for row in rows.shown:
            if row["query_id"] == query["query_id"]:
                position[row["doc"]] = min(row["position"], position.get(row["doc"], 99))
        click: dict[str, int] = {}
        for event in rows.events:
            if event["query_id"] == query["query_id"] and event["action"] == "click":
                click[event["doc"]] = min(event["time"], click.get(event["doc"], event["time"]))
        for better in click:
            for worse in position:
                if better == worse or better not in position:
                    continue
                skipped, step = worse not in click, position[worse] - position[better]
                true = {
                    "skip-above": skipped and step < 0,
                    "last-click-skip-above": skipped and step < 0 and click[better] == max(click.values()),
                    "earlier-click": not skipped and click[worse] < click[better],
                    "skip-previous": skipped and step == -1,
                    "no-click-next": skipped and step == 1,
                }
                for rule in rules:
                    if true[rule]:
                        times[text, better, worse] += 1
                        users[text, better, worse].add(query["user"])
    return times, users


def check(found: Any, rows: Rows, rules: list[str], least: int) -> None:
    times, users = literal_pairs(rows, rules)
    keys = list(zip(found.query, found.better, found.worse, strict=True))
    assert sorted(keys) == sorted(key for key in times if len(users[key]) >= least)
    assert keys
    for i, (query, better, worse) in enumerate(keys):
        assert found.times[i] == times[query, better, worse]
        assert found.users[i] == len(users[query, better, worse])
        assert found.reverse[i] == times[query, worse, better]


@pytest.mark.parametrize("rule", RULES)
def test_counts_are_those_of_the_literal_version(rule: str) -> None:
    rows = random_rows(seed=4, users=60)
    check(click_preferences(log_of(rows, open_engine("duckdb")), [rule], least=1), rows, [rule], 1)


@pytest.mark.xdist_group("spark")
def test_several_rules_add_up_on_both_engines(spark: Any) -> None:
    rows, rules = random_rows(seed=4, users=60), ["skip-above", "no-click-next"]
    for engine in (open_engine("duckdb"), spark):
        check(click_preferences(log_of(rows, engine), rules, least=1), rows, rules, 1)


def test_cycles_are_found_and_the_shortest_one_is_shown() -> None:
    rows = Rows([], [], [])
    for n, (docs, clicks) in enumerate([("ab", "b"), ("bc", "c"), ("ca", "a")]):
        made = one_list(docs, clicks, text="Red  Shoes")
        for part in (made.queries, made.shown, made.events):
            for row in part:
                row["query_id"] = f"q{n}"
        rows.queries += made.queries
        rows.shown += made.shown
        rows.events += made.events
    found = click_preferences(log_of(rows, open_engine("duckdb")), least=1)
    assert [str(cycle) for cycle in found.cycles] == ["a > c > b > a (query 'red shoes')"]
    assert any(note.startswith("intransitive: 3 of 3 pairs are in cycles, in 1 query") for note in found.notes)


def test_without_cycles_a_note_says_so() -> None:
    found = click_preferences(log_of(one_list("abc", "c"), open_engine("duckdb")), least=1)
    assert found.cycles == ()
    assert any(note.startswith("no cycles") for note in found.notes)


def test_pairs_of_few_users_are_left_out() -> None:
    log = log_of(one_list("ab", "b", users=4), open_engine("duckdb"))
    assert click_preferences(log, least=4).times.tolist() == [4]
    assert len(click_preferences(log, least=5).times) == 0


def test_an_unknown_rule_is_refused() -> None:
    log = log_of(one_list("ab", "b"), open_engine("duckdb"))
    with pytest.raises(UsageError, match="no rule for preferences 'skip-abov'; did you mean 'skip-above'"):
        click_preferences(log, ["skip-abov"])
    with pytest.raises(UsageError, match="no rule for preferences; there are skip-above"):
        click_preferences(log, [])


def test_too_many_pairs_are_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    module = sys.modules["cranfield.online.log_measures.click_preferences"]
    monkeypatch.setattr(module, "MOST_PAIRS", 1)
    with pytest.raises(UsageError, match=r"2 pairs of documents, more than 1 pair of documents; .* raise least="):
        click_preferences(log_of(one_list("abc", "c"), open_engine("duckdb")), least=1)

"""Statistics of diversity judgments, as in Table 1 of seed 002 (Sakai 2013)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cranfield.assessed.intents import of_intents
from cranfield.collection.stats import Spread
from tests.cli.conftest import in_process as cranfield

RELEVANT = {"informational": {3: 1328, 2: 620, 1: 489}, "navigational": {3: 137, 2: 43, 1: 18}}
"""Table 1: relevant documents by type and grade; 68 informational and 31 navigational intents on 24 topics."""
INTENTS = {"informational": 68, "navigational": 31}


def like_table_1() -> tuple[bytes, dict[str, dict[str, str]]]:
    """Judgments with the counts of Table 1: every topic has intents of both types, dealt out in turn."""
    lines: list[str] = []
    types: dict[str, dict[str, str]] = {}
    for kind, intents in INTENTS.items():
        names = [(f"{1 + n % 24}", f"{kind[0]}{n // 24}") for n in range(intents)]
        for topic, intent in names:
            types.setdefault(topic, {})[intent] = kind
        grades = [grade for grade, count in RELEVANT[kind].items() for _ in range(count)]
        for n, grade in enumerate(grades):
            topic, intent = names[n % intents]
            lines.append(f"{topic} {intent} {kind[0]}{n} {grade}\n")
    lines.append("1 i0 n0 0\n")  # judged, not relevant; so that a document has two labels
    return "".join(lines).encode(), types


def test_counts_are_those_of_table_1() -> None:
    qrels, types = like_table_1()
    statistics = of_intents(qrels, types)
    every, informational, navigational = statistics.groups
    assert statistics.topics == 24
    # "99 with at least one relevant document (68 informational; 31 navigational)"; "4.1 (all); 2.8; 1.3" a topic
    assert [group.per_topic.total for group in statistics.groups] == [99, 68, 31]
    assert [round(group.per_topic.mean, 1) for group in statistics.groups] == [4.1, 2.8, 1.3]
    # "2,635 across 99 intents (1,465; 663; 507); 2,437 across 68 (1,328; 620; 489); 198 across 31 (137; 43; 18)"
    assert [group.relevant.total for group in statistics.groups] == [2635, 2437, 198]
    assert every.by_level == {3: 1465, 2: 663, 1: 507}
    assert informational.by_level == RELEVANT["informational"]
    assert navigational.by_level == RELEVANT["navigational"]


def test_intents_per_topic_and_per_document_by_hand() -> None:
    qrels = b"1 a d1 1\n1 b d1 2\n1 b d2 1\n1 b d3 0\n2 a d1 1\n"
    statistics = of_intents(qrels, {"1": {"a": "nav", "b": "inf"}, "2": {"a": "inf"}})
    assert [group.per_topic for group in statistics.groups] == [
        Spread(total=3, mean=1.5, min=1, median=1.5, max=2),
        Spread(total=2, mean=1.0, min=1, median=1.0, max=1),
        Spread(total=1, mean=0.5, min=0, median=0.5, max=1),
    ]
    assert statistics.groups[1].relevant == Spread(total=3, mean=1.5, min=1, median=1.5, max=2)
    # d1 of topic 1 is relevant to a and b; d2 of topic 1 and d1 of topic 2 to one intent each
    assert statistics.per_document == Spread(total=4, mean=4 / 3, min=1, median=1.0, max=2)
    assert statistics.relevant_documents == 3
    assert len(of_intents(qrels).groups) == 1  # no types are given


def test_a_higher_threshold_counts_only_higher_grades() -> None:
    qrels, types = like_table_1()
    statistics = of_intents(qrels, types, rel=3)
    assert statistics.groups[0].relevant.total == 1465
    assert np.isclose(statistics.groups[0].relevant.mean, 1465 / 99)


def test_the_verb_prints_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    qrels, types = like_table_1()
    Path("qrels").write_bytes(qrels)
    Path("types").write_text("".join(f"{t} {i} {kind}\n" for t, row in types.items() for i, kind in row.items()))
    done = cranfield("collection", "stats", "qrels", "--intent-types", "types")
    rows = {line.split()[0]: line.split()[1:] for line in done.out.splitlines() if line.strip()}
    assert rows["all"] == ["99", "4.1", "3", "5", "2635", "507", "663", "1465"]
    assert rows["navigational"] == ["31", "1.3", "1", "2", "198", "18", "43", "137"]
    data = json.loads(cranfield("collection", "stats", "qrels", "--format", "json").out)
    assert data["intents"]["groups"][0]["by_level"] == {"1": 507, "2": 663, "3": 1465}
    Path("plain").write_text("1 0 d1 1\n")
    assert "intents" not in json.loads(cranfield("collection", "stats", "plain", "--format", "json").out)

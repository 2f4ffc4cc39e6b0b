"""The texts and intents of the sample collection: complete, well formed, different, and in line with the judgments."""

from __future__ import annotations

import json
import re
import warnings
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

import pytest

import cranfield as cf
from tests.samples.test_sample import RUNS, read_qrels, read_run

NOTES = Path(cf.sample().notes)
INTENTS = Path(cf.sample().intents)
TOPICS = [str(topic) for topic in range(101, 113)]
DEPTH = 10


def read_notes() -> dict[str, dict[str, str]]:
    notes: dict[str, dict[str, str]] = {}
    for line in NOTES.read_bytes().decode("utf-8").splitlines():
        note = json.loads(line)
        assert note["doc_id"] not in notes
        notes[note["doc_id"]] = note
    return notes


def read_intents() -> list[dict[str, str]]:
    header, *rows = (line.split("\t") for line in INTENTS.read_text("utf-8").splitlines())
    return [dict(zip(header, row, strict=True)) for row in rows]


def first_documents(*, default_order: bool) -> set[str]:
    """The first documents of all runs; by default, tied documents are in descending order of their ids."""
    documents: set[str] = set()
    for run in RUNS:
        lists = read_run(run)
        for topic in TOPICS:
            order = list(lists[topic])
            if default_order:
                order.sort(key=lambda doc: (lists[topic][doc], doc), reverse=True)
            documents.update(order[:DEPTH])
    return documents


def words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.lower())


def test_notes_are_the_first_documents_in_the_order_of_the_file_and_in_the_default_order() -> None:
    assert set(read_notes()) == first_documents(default_order=False) | first_documents(default_order=True)


@pytest.mark.parametrize("order", ["score", "rank"])
def test_every_document_that_the_toolkit_ranks_first_has_a_text(order: str) -> None:
    notes = read_notes()
    every = {topic: dict.fromkeys(notes, 1) for topic in TOPICS}  # all documents with a text are judged 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cf.CranfieldWarning)  # topics of the runs that are not judged here
        scores = cf.evaluate(every, cf.sample().runs, cf.P @ DEPTH, order=order)
    assert scores.means().tolist() == [[1.0] * len(RUNS)]


def test_a_line_is_a_json_object_with_three_texts_in_the_order_of_ids() -> None:
    assert NOTES.read_bytes().endswith(b"}\n")
    for note in read_notes().values():
        assert list(note) == ["doc_id", "title", "text"]
        assert all(isinstance(value, str) and value == " ".join(value.split()) for value in note.values())
    assert list(read_notes()) == sorted(read_notes())


def test_titles_have_4_to_10_words_and_texts_40_to_90() -> None:
    for note in read_notes().values():
        assert 4 <= len(note["title"].split()) <= 10, note
        assert 40 <= len(note["text"].split()) <= 90, note
        assert note["text"].endswith((".", "?")), note


def test_small_enough_to_ship() -> None:
    assert 100_000 < NOTES.stat().st_size < 250_000


def test_no_two_notes_are_alike() -> None:
    notes = read_notes()
    assert len({note["title"].lower() for note in notes.values()}) == len(notes)
    sentences = Counter(part for note in notes.values() for part in re.split(r"(?<=[.?]) ", note["text"]))
    assert max(sentences.values()) == 1
    split = {doc: note["text"].lower().split() for doc, note in notes.items()}
    phrases = {doc: {tuple(text[i : i + 5]) for i in range(len(text) - 4)} for doc, text in split.items()}
    for (first, some), (second, others) in combinations(phrases.items(), 2):
        assert len(some & others) < 0.1 * min(len(some), len(others)), (first, second)


def test_every_topic_has_judged_and_unjudged_texts_and_together_they_have_all_grades() -> None:
    notes, qrels = read_notes(), read_qrels()
    for topic in TOPICS:
        grades = Counter(qrels[topic].get(doc) for doc in notes)
        assert grades[None] > 0
        assert grades[0] > 0
        assert sum(grades[grade] for grade in (1, 2, 3)) >= 3
    all_grades = Counter(qrels[topic].get(doc) for topic in TOPICS for doc in notes)
    assert all(all_grades[grade] >= 20 for grade in (0, 1, 2, 3))


def test_texts_with_a_higher_grade_have_more_words_of_the_topic() -> None:
    """A coarse check that texts agree with their judgments, in all topics: the share of words of the topic's title."""
    notes, qrels = read_notes(), read_qrels()
    text = {doc: set(words(note["title"] + " " + note["text"])) for doc, note in notes.items()}
    shares: dict[int, list[float]] = defaultdict(list)
    for topic in ET.parse(cf.sample().topics).iterfind("topic"):
        title = {word for word in words(topic.findtext("title", "")) if len(word) > 3}
        for doc, grade in qrels[topic.findtext("identifier", "")].items():
            if doc in text:
                shares[grade].append(len(title & text[doc]) / len(title))
    mean = [sum(shares[grade]) / len(shares[grade]) for grade in (0, 1, 2, 3)]
    assert mean[0] + 0.1 < mean[1] < mean[2] < mean[3]


def test_intents_of_three_topics_with_both_types_and_probabilities_that_sum_to_1() -> None:
    of_topic: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in read_intents():
        assert list(row) == ["topic", "intent", "text", "type", "probability"]
        assert re.fullmatch(r"\w+", row["intent"])
        assert len(row["text"].split()) >= 5
        of_topic[row["topic"]].append(row)
    assert set(of_topic) == {"103", "107", "111"}
    assert {row["type"] for row in read_intents()} == {"inf", "nav"}
    for rows in of_topic.values():
        assert 2 <= len({row["intent"] for row in rows}) == len(rows) <= 4
        assert sum(float(row["probability"]) for row in rows) == pytest.approx(1)


def test_measures_of_diversity_read_the_probabilities_and_types(tmp_path: Path) -> None:
    """Topic 107: the run has a document for `growth` (.5, inf) and one for `stress` (.2, nav), none for `life` (.3)."""
    side = tmp_path / "intents.txt"
    side.write_text("".join(f"{r['topic']} {r['intent']} {r['probability']} {r['type']}\n" for r in read_intents()))
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("107 growth NOTE-1769 1\n107 stress NOTE-0228 1\n107 life NOTE-0491 1\n")
    run = {"107": {"NOTE-1769": 2.0, "NOTE-0228": 1.0}}
    scores = cf.evaluate(str(qrels), {"run": run}, ["I-rec@2", "P-IA@2"], intent_probabilities=str(side))
    # P-IA: half of the two documents serves each of two intents
    assert scores.mean()["run"] == pytest.approx({"I-rec@2": 2 / 3, "P-IA@2": 0.5 * 0.5 + 0.2 * 0.5})

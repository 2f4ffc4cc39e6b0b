"""What a machine judge reads: prompts, scales, documents, pools; what it makes of answers; and where it may ask."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from cranfield.building.document_texts import DocumentTexts, read_texts
from cranfield.building.machine.asking import Patience, waiting_time
from cranfield.building.machine.endpoint import Endpoint
from cranfield.building.machine.labelling import label
from cranfield.building.machine.questions import (
    DEFAULT,
    SCALE,
    LabelPlan,
    Prompt,
    digest,
    read_grade,
    read_items,
    read_prompts,
    read_scale,
)
from cranfield.collection.topics import Topic, Topics
from cranfield.errors import DataError, UsageError

# -- prompts


def test_text_that_is_filled_in_is_not_filled_in_again() -> None:
    topic = Topic("1", "{document} {scale}", description="{0} {query!r} {x.__class__}", narrative="{{query}}")
    text = Prompt("p", "{query}|{description}|{narrative}|{document}|{scale}").render(topic, "{query} %s {", {"0": ""})
    assert text == "{document} {scale}|{0} {query!r} {x.__class__}|{{query}}|{query} %s {|0"


def test_the_default_prompt_has_everything() -> None:
    topic = Topic("1", "wing flutter", "At high speed.", "Only wings.")
    text = Prompt("default", DEFAULT).render(topic, "A document.", SCALE)
    assert all(part in text for part in ("wing flutter", "At high speed.", "Only wings.", "A document.", "3: the doc"))
    assert '{"grade": 0}' in text


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{query} {document} {grad}", "{grad} cannot be filled in; a prompt can have {query}, {description}"),
        ("{query}", "has no {document}, so the model would not see it"),
        ("", "has no {query}, {document}"),
    ],
)
def test_a_prompt_that_cannot_work_is_refused(template: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        Prompt("p", template)
    assert message in str(error.value)


def test_prompts_are_named_after_their_files(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "short.txt").write_text("{query} {document}")
    (prompt,) = read_prompts([tmp_path / "a" / "short.txt"])
    assert (prompt.name, prompt.digest) == ("short", digest("{query} {document}"))
    with pytest.raises(UsageError, match="two prompts are called 'short'"):
        read_prompts([tmp_path / "a" / "short.txt", tmp_path / "b" / "short.txt"])


def test_scales(tmp_path: Path) -> None:
    file = tmp_path / "scale.txt"
    file.write_text("# grades\n0: not relevant\n1 relevant\n")
    assert read_scale(str(file)) == {"0": "not relevant", "1": "relevant"}
    assert read_scale("0, 1,2") == {"0": "", "1": "", "2": ""}
    for wrong in ("0", "a,b", "1,1.0", ""):
        with pytest.raises(UsageError, match="must be two or more different numbers"):
            read_scale(wrong)
    file.write_text("0 no\nyes it is\n")
    with pytest.raises(DataError, match=r"scale.txt:2: 'yes' is not a grade"):
        read_scale(str(file))


# -- answers


@pytest.mark.parametrize(
    ("answer", "grade"),
    [
        ('{"grade": 2}', "2"),
        ('```json\n{"grade": "2"}\n```', "2"),
        ('{"Relevance": 2.0, "why": "{nested}"}', "2"),
        ('The query asks {x}. So: {"grade": 2} as {"grade": 2}', "2"),
        ("2", "2"),
        (" **2** ", "2"),
        ("Grade: 2.", "2"),
        ("2.0", "2"),
        ("##final score: 2", "2"),
        ("## Final Score: 2", "2"),
        ("##final score 2", "2"),
        ("##final score: [2]", "2"),
        ("##final score: **2**.", "2"),
        ("The passage names a place.\nM: 3\nT: 1\n##final score: 2", "2"),
        ("The match ends 3 to 1, so ##final score: 2", "2"),
        ("##final_score = 2", "2"),
        ("###Relevance category: 2", "2"),
        ("**Final score:** 2", "2"),
        ("Final score: 2 (answers in part)", "2"),
        ("Relevance: 2\nReason: it has 3 of 4 facts.", "2"),
        ("Score: 2/3", "2"),
        ("Score: 2 out of 3", "2"),
        ("M: 1\nT: 3\nO: 2", "2"),
        ('[{"M": 1, "T": 3, "O": 2}]', "2"),
        ('{"final_score": 2}', "2"),
        ('{"result": {"score": 2}}', "2"),
        ("<score>2</score>", "2"),
        ("It fits: [[2]]", "2"),
        (r"So the grade is \boxed{2}.", "2"),
        ("It fits in part. Therefore the final score is 2.", "2"),
        ("2 - answers in part", "2"),
        ("2\n\nThe document answers in part.", "2"),
        ("It answers in part.\n\n**2**", "2"),
        ('<think>Perhaps {"grade": 1}? Score: 3</think>\n##final score: 2', "2"),
        ("<think>##final score: 2", None),
        ("##final score: 1\n##final score: 2", None),
        ("##final score: 2-3", None),
        ("##final score: 2 or 3", None),
        ("##final score: 7", None),
        ("##final score: high", None),
        ("Score: 2/5", None),
        ("Score: 1-2", None),
        ("Score: 2, perhaps 3", None),
        ("M: 1\nT: 3", None),
        ("The final score is 2 to 1, said the referee.", None),
        ("1. It names a place.\n2. It names a year.", None),
        ("1\nor\n2", None),
        ("2/3", None),
        ("", None),
        ("  \n", None),
        ("not relevant", None),
        ("I give 2", None),
        ('{"grade": 4}', None),
        ('{"grade": null}', None),
        ('{"grade": [2]}', None),
        ('{"grade": true}', None),
        ('{"grade": 1} or {"grade": 2}', None),
        ('{"grade": 1.5}', None),
        ('{"grade": "nan"}', None),
        ('{"grade": 1e999}', None),
        ("-1", None),
        ('{"grade": 2', None),
        ("{" * 2000, None),
        ('{"a":' * 5000, None),
    ],
)
def test_only_a_clear_grade_of_the_scale_is_one(answer: str, grade: str | None) -> None:
    reading = read_grade(answer, list(SCALE))
    assert reading.grade == grade
    assert bool(reading.problem) == (grade is None)


# -- documents and pools


def test_documents_are_read_from_lines_of_json_tabs_and_folders(tmp_path: Path) -> None:
    lines = [{"docno": "d1", "title": "Wings", "contents": "They flutter."}, {"docno": "d2", "contents": "Other."}]
    with gzip.open(tmp_path / "docs.jsonl.gz", "wt") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "docs.tsv").write_text("d1\tThey\tflutter.\nd2\tOther.\n")
    (tmp_path / "named.tsv").write_text("url\tdoc_id\ttext\nx\td1\tThey flutter.\n")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "d1.txt").write_text("They flutter.")
    (folder / "d2").write_text("Other.")
    assert read_texts(tmp_path / "docs.jsonl.gz", ["d1"]).texts == {"d1": "Wings\n\nThey flutter."}
    assert read_texts(tmp_path / "docs.tsv", ["d1", "d9"]).texts == {"d1": "They\tflutter."}
    assert read_texts(tmp_path / "docs.tsv", ["d1", "d9"]).missing == ("d9",)
    assert read_texts(tmp_path / "named.tsv", ["d1"]).texts == {"d1": "They flutter."}
    assert read_texts(folder, ["d1", "d2", "../docs.tsv"]).texts == {"d1": "They flutter.", "d2": "Other."}
    assert read_texts(folder, ["../docs.tsv"]).missing == ("../docs.tsv",)  # an id is not a path


def test_documents_that_cannot_be_judged_are_listed(tmp_path: Path) -> None:
    for name, content in {"e": b" \n", "b": b"a\0b", "l": b"caf\xe9", "g": b"good"}.items():
        (tmp_path / name).write_bytes(content)
    texts = read_texts(tmp_path, ["e", "b", "l", "g", "m"])
    assert (texts.empty, texts.binary, texts.damaged, texts.missing) == (("e",), ("b",), ("l",), ("m",))
    assert texts.texts == {"l": "caf\ufffd", "g": "good"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty, expected documents"),
        ('{"doc_id": "d1", "text": "a"}\n{"doc_id"\n', ":2: not valid JSON"),
        ('{"name": "d1", "text": "a"}\n', ":1: no id of the document among name, text"),
        ('{"doc_id": "d1", "words": "a"}\n', ":1: no text of the document among doc_id, words"),
        ('{"doc_id": "d1", "text": {"a": 5}}\n', ":1: text is {'a': 5}, expected text"),
        ('{"doc_id": "d1", "text": "a"}\n{"doc_id": "d1", "text": "a"}\n', ":2: document 'd1' appears twice"),
        ("d1\n", ":1: neither JSON-lines nor a table"),
        ("d1\ta\nd2\n", ":2: 1 column, expected an id, a tab and a text"),
        ("doc_id\ttext\nd1\n", ":2: 1 column, expected 2 as in the header"),
        ("<!doctype html>\n", "is an HTML page"),
        ("{}\n[1]\n", ":1: no id of the document among no names"),
    ],
)
def test_bad_files_of_documents(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "docs"
    path.write_text(content)
    with pytest.raises(DataError) as error:
        read_texts(path, ["d1"])
    assert message in str(error.value)


def test_two_files_of_one_document_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "d1.txt").write_text("a")
    (tmp_path / "d1.html").write_text("a")
    with pytest.raises(DataError, match=r"document 'd1' may be d1.html or d1.txt"):
        read_texts(tmp_path, ["d1"])


@pytest.mark.parametrize(
    "content",
    [
        "topic\tdoc\n1\ta\n1\tb\n1\ta\n",
        "rank,query_id,doc_id\n1,1,a\n2,1,b\n",
        "# made by a pool\ntopic\tdoc\n1\ta\n1\tb\n",
        "1 0 a 1\n1 0 b 0\n",
        "1 Q0 a 1 9 x\n1 Q0 b 2 8 x\n",
    ],
)
def test_pools_judgments_and_runs_are_items(tmp_path: Path, content: str) -> None:
    path = tmp_path / "pool"
    path.write_text(content)
    assert read_items(path) == (("1", "a"), ("1", "b"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("topic\tdoc\n1\n", ":2: 1 column, expected 2 as on line 1: topic doc"),
        ("topic\tdoc\n1\t\n", ":2: the document is '', expected a text that is not empty"),
        ("1 a\n", "expected a table with a header that names topic and doc"),
    ],
)
def test_bad_pools(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "pool.tsv"
    path.write_text(content)
    with pytest.raises(DataError) as error:
        read_items(path)
    assert message in str(error.value)


def test_a_plan_counts_what_it_cannot_ask_and_what_it_cuts() -> None:
    topics = Topics([Topic("1", "flutter"), Topic("2", " ", "only a description")])
    documents = DocumentTexts({"a": "x" * 30, "b": "short"}, ("m",), ("e",), ("z",))
    items = (("1", "a"), ("1", "b"), ("1", "m"), ("1", "e"), ("1", "z"), ("2", "a"), ("3", "a"))
    plan = LabelPlan.of(topics, items, documents, (Prompt("p", "{query} {document}"),), SCALE, "m", most_characters=10)
    assert plan.items == (("1", "a"), ("1", "b"))
    assert {why: len(found) for why, found in plan.unasked.items()} == {
        "topic": 2, "missing": 1, "empty": 1, "binary": 1
    }  # fmt: skip
    assert "1 document is cut to the first 10 characters" in plan.notes
    assert any(note.endswith("has no title: 2 a, 3 a") for note in plan.notes)
    assert [question.cut for question in plan.questions()] == [True, False]
    assert plan.characters() == len("flutter xxxxxxxxxx") + len("flutter short")
    with pytest.raises(UsageError, match="nothing to ask: 1 item not asked, because the document has no text"):
        LabelPlan.of(topics, (("1", "m"),), documents, (Prompt("p", "{query} {document}"),), SCALE, "m")


# -- where to ask


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "ftp://host/v1"}, "must be a URL such as https://host/v1"),
        ({"url": "host/v1"}, "must be a URL such as https://host/v1"),
        ({"url": ""}, "must be a URL such as https://host/v1"),
        ({"url": "http://host:port/v1"}, "is not a URL"),
        ({"url": "https://me:secret@host/v1"}, "put the key into an environment variable"),
        ({"url": "https://host/v1?key=secret"}, "must be a URL without ? and #"),
        ({"model": ""}, "must be the name of a model"),
        ({"timeout": 0.0}, "timeout == 0.0, must be above 0"),
        ({"key": "a\r\nb"}, "characters that a header cannot hold"),
    ],
)
def test_bad_endpoints(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as error:
        Endpoint(**{"url": "https://host/v1", "model": "m", **options})  # type: ignore[arg-type]
    assert message in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("base", ["https://host/v1", "https://host/v1/", "https://host/v1/chat/completions"])
def test_the_path_of_an_endpoint(base: str) -> None:
    assert Endpoint(base, "m").path == "/v1/chat/completions"


def test_waits_double_up_to_the_longest_and_vary_by_half() -> None:
    patience = Patience(first_wait=1, longest_wait=10)
    assert [waiting_time(patience, attempt, 0.0) for attempt in range(1, 7)] == [1, 2, 4, 8, 10, 10]
    assert waiting_time(patience, 3, 1.0) == 2


def test_a_patience_that_cannot_be_is_an_error() -> None:
    wrong: list[tuple[dict[str, object], str]] = [
        ({"concurrency": 0}, "concurrency == 0"), ({"attempts": 1.5}, "attempts == 1.5"),
        ({"first_wait": -1}, "first_wait == -1"),
    ]  # fmt: skip
    for options, message in wrong:
        with pytest.raises(UsageError, match=message):
            label(None, None, "", **options)  # type: ignore[arg-type]

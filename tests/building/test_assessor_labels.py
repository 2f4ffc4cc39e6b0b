"""Reading the labels of several assessors."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cranfield import CranfieldError
from cranfield.building.assessor_labels import Labels
from cranfield.building.merging import merge
from cranfield.errors import DataError, UsageError

CROWD = "task,worker,label\nt1,anna,1\nt1,ben,0\nt2,anna,2\n"


def written(folder: Path, text: str | bytes, name: str = "labels.csv") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_a_crowd_table_is_read(tmp_path: Path) -> None:
    labels = Labels.read(written(tmp_path, CROWD))
    assert (labels.items, labels.workers, labels.scale) == (("t1", "t2"), ("anna", "ben"), ("0", "1", "2"))
    assert labels.matrix().tolist() == [[1, 0], [2, -1]]
    assert labels.counts().tolist() == [[1, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    "text",
    [
        "topic,doc,assessor,grade\n1,d1,anna,1\n1,d1,ben,0\n1,d2,anna,2\n",
        "qid\tdocno\tworker_id\tlabel\n1\td1\tanna\t1.0\n1\td1\tben\t0\n1\td2\tanna\t2\n",
        "\ufefftopic;doc;annotator;rel\r\n1;d1;anna;1\r\n1;d1;ben;0\r\n1;d2;anna;2\r\n",
        "1 anna d1 1\n1 ben d1 0\n1 anna d2 2\n",
        "\n".join(
            json.dumps({"topic": "1", "doc": doc, "worker": worker, "label": label})
            for doc, worker, label in [("d1", "anna", 1), ("d1", "ben", 0), ("d2", "anna", 2)]
        ),
    ],
)
def test_topic_and_document_may_have_two_columns(tmp_path: Path, text: str) -> None:
    labels = Labels.read(written(tmp_path, text))
    assert labels.topics == ("1", "1")
    assert labels.docs == ("d1", "d2")
    assert labels.matrix().tolist() == [[1, 0], [2, -1]]
    assert labels.qrels_of("anna").to_dict() == {"1": {"d1": 1, "d2": 2}}


@pytest.mark.parametrize(
    "header",
    ["!amt_worker_ids\torig_id\tresponse", "workerID\ttask\tlabel", "Worker-ID\tTask ID\tRating"],
)
def test_usual_names_of_published_tables_are_known(tmp_path: Path, header: str) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text(f"{header}\nx\tt1\t1\ny\tt1\t0\n")
    labels = Labels.of(path)
    assert (labels.items, labels.workers, labels.label.tolist()) == (("t1",), ("x", "y"), [1, 0])
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("topicID,docID,workerID,label\n7,d1,x,1\n")
    assert (Labels.of(pairs, scale=[0, 1]).topics, Labels.of(pairs).docs) == (("7",), ("d1",))


def test_columns_are_named_by_role(tmp_path: Path) -> None:
    rows = [
        {"frage": "t1", "worker": "wrong", "wer": "x", "grade": 1},
        {"frage": "t1", "worker": "wrong", "wer": "y", "grade": 0},
    ]
    columns = {"task": "frage", "assessor": "wer"}
    path = tmp_path / "labels.csv"
    path.write_text("frage,worker,wer,grade\nt1,wrong,x,1\nt1,wrong,y,0\n")
    for thing in (rows, path):
        labels = Labels.of(thing, columns=columns)
        assert (labels.items, labels.workers) == (("t1",), ("x", "y"))
    with pytest.raises(DataError, match="no column 'nobody' for the assessor; there are frage, worker, wer, grade"):
        Labels.of(rows, columns={"task": "frage", "assessor": "nobody"})
    with pytest.raises(UsageError, match="columns: no role 'colour'; there are topic, doc, task, assessor, label"):
        Labels.of(rows, columns={"colour": "frage"})
    with pytest.raises(DataError, match=r"no column for the task among .*; to name it: Labels\.of\(\.\.\., columns="):
        Labels.of(rows)


def test_a_task_may_be_split_into_topic_and_document() -> None:
    labels = Labels.of([("301:d:1", "anna", 1)], separator=":")
    assert (labels.topics, labels.docs) == (("301",), ("d:1",))
    with pytest.raises(CranfieldError, match="task 'd1' is not a topic, ':' and a document"):
        Labels.of([("d1", "anna", 1)], separator=":")


def test_qrels_of_several_assessors_are_read(tmp_path: Path) -> None:
    anna = written(tmp_path, "1 0 d1 1\n1 0 d2 2\n", "anna.qrels")
    ben = written(tmp_path, "1 0 d1 0\n", "ben.qrels")
    for thing in ([anna, ben], {"anna": anna, "ben": {"1": {"d1": 0}}}):
        labels = Labels.of(thing)
        assert labels.workers == ("anna", "ben")
        assert labels.matrix().tolist() == [[1, 0], [2, -1]]


def test_frames_are_read_with_times_groups_and_costs() -> None:
    import pandas as pd
    import polars as pl

    columns = {
        "topic": [1, 1], "doc": ["d1", "d1"], "worker": ["anna", "ben"], "label": [1.0, None],
        "time": ["2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"], "group": ["expert", "crowd"], "cost": [0.5, 0.1],
    }  # fmt: skip
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
        labels = Labels.of(frame)
        assert len(labels) == 1
        assert labels.notes == ("1 row without a label, left out",)
        assert labels.group == ("expert",)
        assert labels.cost is not None
        assert labels.cost.tolist() == [0.5]
        assert labels.time is not None
        assert labels.time.tolist() == [1767225600.0]  # date -d 2026-01-01T00:00:00Z +%s


def test_words_have_an_order_only_if_a_scale_is_given() -> None:
    rows = [("t1", "anna", "yes"), ("t1", "ben", "no"), ("t2", "ben", "maybe")]
    labels = Labels.of(rows)
    assert not labels.ordered
    with pytest.raises(CranfieldError, match="words without an order"):
        _ = labels.values
    labels = Labels.of(rows, scale=["no", "maybe", "yes"])
    assert labels.matrix().tolist() == [[2, 0], [-1, 1]]
    assert labels.values.tolist() == [0, 1, 2]


def test_numbers_are_sorted_as_numbers() -> None:
    labels = Labels.of([("t", "a", "10"), ("t", "b", "9"), ("t", "c", "9.0"), ("t", "d", "-1")])
    assert labels.scale == ("-1", "9", "10")
    assert np.array_equal(labels.values, [-1, 9, 10])


def test_an_assessor_who_contradicts_himself_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, CROWD + "t1,ben,2\nt2,anna,2\n")
    with pytest.raises(CranfieldError, match=r"labels.csv:5: ben gives t1 two labels, 0 and 2; 1 label contradicts?"):
        Labels.read(path)
    assert Labels.read(path, on_duplicate="first").matrix().tolist() == [[1, 0], [2, -1]]
    last = Labels.read(path, on_duplicate="last")
    assert last.matrix().tolist() == [[1, 2], [2, -1]]
    assert last.notes == (
        "2 repeated labels of an item by the same assessor, left out; 1 of them differs, the last one counts",
    )
    assert len(Labels.read(path, on_duplicate="keep")) == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("task,worker,label\n", "labels.csv:1: holds only a header"),
        ("task,worker,label\nt1,anna,\n", "holds no labels"),
        ("task,worker,label\nt1,anna,1\nt2,anna\n", ":3: 2 columns, expected 3 as on line 1"),
        ("task,worker,label\n,anna,1\n", ":2: the task is empty"),
        ("task,worker,label,time\nt1,anna,1,noon\n", ":2: the time is 'noon', expected a number or a date"),
        ("task,worker,label,group\nt1,a,1,x\nt2,a,1,y\n", ":3: a is in two groups, 'x' and 'y'"),
        ("task,user,text,label\nt1,a,b,1\nt1,a,b,2\n", "two labels"),
        ("task,who,label,topic\nt1,a,1,1\n", "no column for the assessor among task, who, label, topic"),
        ('{"task": 1, "worker": "a", "label": 1}\n{"task": 2}\n', ":2: no worker, label, which line 1 has"),
        ('{"task": 1, "worker": "a", "label": 1}\n{oops\n', ":2: not valid JSON"),
        (b"\x00\x01\x02", "binary"),
    ],
)
def test_wrong_files_are_explained(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(CranfieldError, match=message):
        Labels.read(written(tmp_path, text))


def test_a_label_outside_the_scale_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CranfieldError, match=r"csv:4: label '2' is not on the scale 0, 1; in all, 1 label outside it"):
        Labels.read(written(tmp_path, CROWD), scale=[0, 1])


def test_items_without_topics_cannot_become_qrels() -> None:
    with pytest.raises(CranfieldError, match="the topics of items are unknown"):
        Labels.of([("t1", "anna", 1)]).to_qrels(np.array([1.0]))


def test_numbers_keep_all_their_digits() -> None:
    """A column of whole numbers with a missing cell is a column of floats in pandas."""
    frame = pd.DataFrame({"task": [12345671.0, 12345672.0], "worker": ["a", "a"], "label": [0.12345671, 0.12345672]})
    labels = Labels.of(frame)
    assert labels.items == ("12345671", "12345672")
    assert labels.scale == ("0.12345671", "0.12345672")
    assert labels.values.tolist() == [0.12345671, 0.12345672]
    judged = Labels.of({"a": {"1": {"d1": 12345671, "d2": 12345672}}, "b": {"1": {"d1": 12345671}}})
    assert judged.scale == ("12345671", "12345672")


def test_advice_about_repeated_labels_is_an_argument_that_exists() -> None:
    """`merge` itself has no `on_duplicate`."""
    rows = [("t1", "a", "1"), ("t1", "a", "0"), ("t1", "b", "1")]
    with pytest.raises(CranfieldError, match=r"keep all of them by Labels\.of\(\.\.\., on_duplicate='keep'\)"):
        merge(rows)
    assert merge(Labels.of(rows, on_duplicate="keep")).probability.tolist() == [2 / 3]


def test_a_table_of_labels_is_read_in_a_few_bytes_per_row(tmp_path: Path) -> None:
    """Columns are numbers, and each distinct text is kept once; lists of texts took 194 bytes per row, this 128.

    What a block of the file takes while it is split does not grow with the file, so it is the difference that counts.
    """

    def peak(docs: int) -> int:
        path = tmp_path / "labels.csv"
        lines = (f"t{doc // 100},d{doc},w{doc % 7 * 3 + vote},{doc % 3}\n" for doc in range(docs) for vote in range(3))
        path.write_text("topic,doc,worker,label\n" + "".join(lines))
        tracemalloc.start()
        labels = Labels.of(path)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(labels) == 3 * docs
        return most

    peak(1000)
    assert peak(60_000) - peak(30_000) < 160 * 90_000

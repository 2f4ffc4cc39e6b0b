"""Python objects that change while they are read, or have the wrong type, never crash or give wrong numbers."""

from __future__ import annotations

import contextlib
import time
from collections import ChainMap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cranfield as cf
from cranfield.assessed import joined_runs

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")

QRELS = {"1": {"a": 1, "b": 0}, "2": {"c": 2}}
RUN = {"1": {"a": 1.0, "x": 0.5}, "2": {"c": 1.0}}


def ap(qrels: Any, run: Any, **options: Any) -> float:
    return float(cf.evaluate(qrels, run, ["AP"], **options).means().item())


class Emptying:
    """A number that empties the dict that holds it when it is converted."""

    def __init__(self, home: dict[str, Any]) -> None:
        self.home = home

    def __float__(self) -> float:
        self.home.clear()
        return 1.0


def test_a_dict_that_changes_while_it_is_read_is_read_as_it_was() -> None:
    documents: dict[str, Any] = {}
    documents.update({f"document-{i:04d}": Emptying(documents) for i in range(1000)})
    names = list(documents)
    assert ap({"1": dict.fromkeys(names, 1)}, {"1": documents}) == 1.0  # all 1,000 are relevant and retrieved
    documents.update({name: Emptying(documents) for name in names})
    assert len(cf.Qrels.of({"1": documents})) == 1000


def test_a_topic_under_two_keys_with_the_same_text_is_an_error() -> None:
    with pytest.raises(cf.DataError, match="topic '1' appears twice, as different Python objects"):
        ap(QRELS, {1: {"a": 1.0}, "1": {"b": 1.0}})


def test_a_keyboard_interrupt_while_a_number_is_converted_is_raised() -> None:
    class Interrupted:
        def __float__(self) -> float:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ap(QRELS, {"1": {"a": Interrupted()}})


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"1": {("a",): 1.0}}, r"an id is \('a',\), expected text or an integer"),
        ({"": {"a": 1.0}}, "an empty topic id"),
        ({"1": {"\ud800": 1.0}}, "an id contains half a surrogate pair"),
        ({"\ud800": RUN}, "the run name '.*' contains half a surrogate pair"),
        ({"1": {"a": 1.0}, "2": 5}, "'2' has the number 5, one level too few: expected"),
        ({}, "is empty: it has no topic"),
        (pd.Series([1.0]), "record 1 is 1.0, expected a dict, a named tuple or"),
        (np.array(3.0), "iteration over a 0-d array"),
    ],
)
def test_objects_that_are_not_runs_are_refused(run: Any, message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        ap(QRELS, run)


@pytest.mark.parametrize(
    "run",
    [
        {"1": ChainMap({"a": 1.0}), "2": {"c": 1.0}},
        bytearray(b"1 Q0 a 1 1 t\n2 Q0 c 1 1 t\n"),
        memoryview(b"1 Q0 a 1 1 t\n2 Q0 c 1 1 t\n"),
        [{"query_id": "1", "doc_id": "a", "score": 1.0}, {"query_id": "2", "doc_id": "c", "score": 1.0}],
    ],
    ids=lambda run: type(run).__name__,
)
def test_a_run_may_have_other_types(run: Any) -> None:
    assert ap(QRELS, run) == 1.0


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
@pytest.mark.parametrize("name", ["depth", "threads"])
def test_depth_and_threads_must_be_whole_numbers(name: str, value: Any) -> None:
    with pytest.raises(cf.UsageError, match=f"{name} == {value!r}, must be a whole number, 1 or more"):
        ap(QRELS, RUN, **{name: value})


def test_depth_and_threads_may_be_huge(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("1 Q0 a 1 1 t\n2 Q0 c 1 1 t\n")
    assert ap(QRELS, str(tmp_path / "run"), depth=10**30, threads=10**30) == 1.0


def test_only_some_files_are_open_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_runs, "MOST_FILES", 3)
    for number in range(10):
        (tmp_path / f"{number}.run").write_text(f"1 Q0 a 1 1 run{number}\n2 Q0 c 1 1 run{number}\n")
    pending = []
    join_files = joined_runs.RunJoiner._join_files

    def spy(joiner: joined_runs.RunJoiner) -> None:
        pending.append(len(joiner.pending))
        join_files(joiner)

    monkeypatch.setattr(joined_runs.RunJoiner, "_join_files", spy)
    scores = cf.evaluate(QRELS, str(tmp_path / "*.run"), ["AP"])
    assert scores.runs == tuple(f"run{number}" for number in range(10))
    assert max(pending) == 3


def test_an_exception_in_progress_stops_reading(tmp_path: Path) -> None:
    """The exception waits for the threads; if it left them running, the process would end."""
    lines = b"".join(b"1 Q0 document-%07d 1 %d t\n" % (i, i) for i in range(1_500_000))
    (tmp_path / "run").write_bytes(lines)

    def progress(done: int, total: int) -> None:
        raise ZeroDivisionError

    with contextlib.suppress(ZeroDivisionError):  # a machine that reads the file in a tenth of a second never calls it
        ap({"1": {"a": 1, "document-0000001": 1}}, str(tmp_path / "run"), threads=2, progress=progress)


def test_lines_are_counted_once_if_every_list_has_a_duplicate(tmp_path: Path) -> None:
    """Counting lines for each of 50,000 lists would take minutes."""
    line = "".join(f"q{i} Q0 d 1 1.0 t\nq{i} Q0 d 2 0.5 t\n" for i in range(50_000))
    (tmp_path / "run").write_text(line)
    began = time.monotonic()
    with pytest.raises(cf.DataError, match=r"run:2: document 'd' appears twice for topic 'q0', first on line 1; to"):
        ap({"q0": {"d": 1}}, str(tmp_path / "run"))
    assert time.monotonic() - began < 10


def test_a_user_defined_measure_that_fails_is_named() -> None:
    @cf.measure
    def Broken(lists: Any) -> Any:
        return lists.nonsense

    @cf.measure
    def Short(lists: Any) -> Any:
        return np.zeros(1)

    try:
        with pytest.raises(cf.UsageError, match=r"user-defined measure Broken failed: AttributeError: .*nonsense"):
            cf.evaluate(QRELS, RUN, [Broken])
        with pytest.raises(cf.UsageError, match=r"user-defined measure Short failed: .*one number for each of 2 lists"):
            cf.evaluate(QRELS, RUN, [Short])
    finally:
        from cranfield.measures.base import REGISTRY

        del REGISTRY["Broken"], REGISTRY["Short"]


@pytest.mark.parametrize("grades", [[[1, 2], [1]], [["high", "low"]], [[1j, 2]]])
def test_arrays_must_be_matrices_of_numbers(grades: Any) -> None:
    with pytest.raises(cf.UsageError, match=r"must be matrices of numbers \(queries × documents\)"):
        cf.assess_arrays(grades, grades)


def test_arrays_without_documents_are_empty_lists() -> None:
    lists = cf.assess_arrays(np.zeros((2, 0)), np.zeros((2, 0)))
    assert (lists.retrieved.tolist(), lists.grade.tolist()) == ([0, 0], [])


def test_measures_and_topics_of_the_wrong_type() -> None:
    with pytest.raises(cf.UsageError, match="5 is not a measure"):
        cf.evaluate(QRELS, RUN, 5)  # type: ignore[arg-type]
    with pytest.raises(cf.UsageError, match="explain: 2 measures given, must be one"):
        cf.explain(QRELS, RUN, "1", ["AP", "RR"])  # type: ignore[arg-type]
    assert cf.explain({1: {7: 1}}, {1: {7: 0.5}}, 1, "AP").score == 1.0  # type: ignore[arg-type]

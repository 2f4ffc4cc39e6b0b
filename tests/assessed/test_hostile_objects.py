"""Python objects that change, lie or are of the wrong kind: an error of ours, never a crash or a wrong number."""

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
    """A number that empties the dict it is in when it is looked at."""

    def __init__(self, home: dict[str, Any]) -> None:
        self.home = home

    def __float__(self) -> float:
        self.home.clear()
        return 1.0


def test_a_dict_that_changes_under_the_walk_is_read_as_it_was() -> None:
    documents: dict[str, Any] = {}
    documents.update({f"document-{i:04d}": Emptying(documents) for i in range(1000)})
    names = list(documents)
    assert ap({"1": dict.fromkeys(names, 1)}, {"1": documents}) == 1.0  # all 1,000 are relevant and retrieved
    documents.update({name: Emptying(documents) for name in names})
    assert len(cf.Qrels.of({"1": documents})) == 1000


def test_a_topic_under_two_keys_that_read_alike_is_an_error() -> None:
    with pytest.raises(cf.DataError, match="topic '1' appears twice, as different Python objects"):
        ap(QRELS, {1: {"a": 1.0}, "1": {"b": 1.0}})


def test_ctrl_c_while_a_number_is_converted_goes_through() -> None:
    class Interrupted:
        def __float__(self) -> float:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ap(QRELS, {"1": {"a": Interrupted()}})


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ({"1": {("a",): 1.0}}, r"an id is \('a',\), expected text or an integer"),
        ({"": {"a": 1.0}}, "an empty topic id"),
        ({"1": {"\ud800": 1.0}}, "an id has half a surrogate pair in it"),
        ({"\ud800": RUN}, "the name '.*' of a run has half a surrogate pair"),
        ({"1": {"a": 1.0}, "2": 5}, "topic '2': expected a dict of documents"),
        ({}, "is empty: there is no topic in it"),
        (pd.Series([1.0]), "record 1 is 1.0, expected a dict, a named tuple or"),
        (np.array(3.0), "iteration over a 0-d array"),
    ],
)
def test_what_is_no_run_is_refused_in_our_words(run: Any, told: str) -> None:
    with pytest.raises(cf.CranfieldError, match=told):
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
def test_other_shapes_of_the_same_run(run: Any) -> None:
    assert ap(QRELS, run) == 1.0


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
@pytest.mark.parametrize("name", ["depth", "threads"])
def test_depth_and_threads_are_whole_numbers(name: str, value: Any) -> None:
    with pytest.raises(cf.UsageError, match=f"{name} == {value!r}, must be a whole number, 1 or more"):
        ap(QRELS, RUN, **{name: value})


def test_depth_and_threads_may_be_huge(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("1 Q0 a 1 1 t\n2 Q0 c 1 1 t\n")
    assert ap(QRELS, str(tmp_path / "run"), depth=10**30, threads=10**30) == 1.0


def test_files_beyond_those_held_open_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_runs, "MOST_FILES", 3)
    for number in range(10):
        (tmp_path / f"{number}.run").write_text(f"1 Q0 a 1 1 run{number}\n2 Q0 c 1 1 run{number}\n")
    held = []
    whole = joined_runs.Parts._join_files
    monkeypatch.setattr(
        joined_runs.Parts, "_join_files", lambda parts: (held.append(len(parts.pending)), whole(parts))[1]
    )
    scores = cf.evaluate(QRELS, str(tmp_path / "*.run"), ["AP"])
    assert scores.runs == tuple(f"run{number}" for number in range(10))
    assert max(held) == 3


def test_progress_that_raises_ends_the_reading(tmp_path: Path) -> None:
    """The threads are waited for: an exception that left them behind would end the process."""
    lines = b"".join(b"1 Q0 document-%07d 1 %d t\n" % (i, i) for i in range(1_500_000))
    (tmp_path / "run").write_bytes(lines)

    def progress(done: int, total: int) -> None:
        raise ZeroDivisionError

    with contextlib.suppress(ZeroDivisionError):  # a machine that reads it in a tenth of a second is never asked
        ap({"1": {"a": 1, "document-0000001": 1}}, str(tmp_path / "run"), threads=2, progress=progress)


def test_a_duplicate_in_every_list_costs_one_look_at_the_file(tmp_path: Path) -> None:
    """With a count of lines for each of 50,000 lists this takes minutes."""
    line = "".join(f"q{i} Q0 d 1 1.0 t\nq{i} Q0 d 2 0.5 t\n" for i in range(50_000))
    (tmp_path / "run").write_text(line)
    began = time.monotonic()
    with pytest.raises(cf.DataError, match=r"run:2: document 'd' appears twice for topic 'q0', first on line 1; to"):
        ap({"q0": {"d": 1}}, str(tmp_path / "run"))
    assert time.monotonic() - began < 10


def test_a_measure_of_the_user_that_fails_is_named() -> None:
    @cf.measure
    def Broken(lists: Any) -> Any:
        return lists.nonsense

    @cf.measure
    def Short(lists: Any) -> Any:
        return np.zeros(1)

    try:
        with pytest.raises(cf.UsageError, match=r"Broken, a measure of yours, failed: AttributeError: .*nonsense"):
            cf.evaluate(QRELS, RUN, [Broken])
        with pytest.raises(cf.UsageError, match=r"Short, a measure of yours, failed: .*one number for each of 2 lists"):
            cf.evaluate(QRELS, RUN, [Short])
    finally:
        from cranfield.measures.base import REGISTRY

        del REGISTRY["Broken"], REGISTRY["Short"]


@pytest.mark.parametrize("grades", [[[1, 2], [1]], [["high", "low"]], [[1j, 2]]])
def test_arrays_that_are_no_matrix_of_numbers(grades: Any) -> None:
    with pytest.raises(cf.UsageError, match=r"must be matrices of numbers \(queries × documents\)"):
        cf.assess_arrays(grades, grades)


def test_arrays_without_documents_are_empty_lists() -> None:
    lists = cf.assess_arrays(np.zeros((2, 0)), np.zeros((2, 0)))
    assert (lists.retrieved.tolist(), lists.grade.tolist()) == ([0, 0], [])


def test_measures_and_topics_of_the_wrong_kind() -> None:
    with pytest.raises(cf.UsageError, match="5 is no measure"):
        cf.evaluate(QRELS, RUN, 5)  # type: ignore[arg-type]
    with pytest.raises(cf.UsageError, match="explain: 2 measures given, must be one"):
        cf.explain(QRELS, RUN, "1", ["AP", "RR"])  # type: ignore[arg-type]
    assert cf.explain({1: {7: 1}}, {1: {7: 0.5}}, 1, "AP").score == 1.0  # type: ignore[arg-type]

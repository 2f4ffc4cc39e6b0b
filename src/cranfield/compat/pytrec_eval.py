"""A replacement for pytrec_eval: change only the import line.

    import cranfield.compat.pytrec_eval as pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(qrel, {"map", "ndcg_cut.10"})
    results = evaluator.evaluate(run)   # {topic: {measure: value}}

Names, keys and values are the same (trec_eval 9.0.8 on dicts); it is several times faster. The differences are
listed in docs/coming_from/pytrec_eval.md.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    supported_nicknames: dict[str, set[str]]
    supported_measures: set[str]

T = TypeVar("T")

__version__ = "0.5.11"
"""The version of pytrec_eval-terrier that this module replaces."""

__all__ = ["RelevanceEvaluator", "parse_qrel", "parse_run", "supported_measures", "supported_nicknames"]


def __getattr__(name: str) -> Any:
    """The names of measures are read from trec_eval's table on first use, so that this module is imported fast."""
    if name == "supported_nicknames":
        return _nicknames()
    if name == "supported_measures":
        return _nicknames()["all_trec"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _nicknames() -> dict[str, set[str]]:
    from cranfield.compat.trec_measures import NICKNAMES, TABLE

    known = {entry.name for entry in TABLE if entry.since <= 9}
    return {nickname: known.intersection(NICKNAMES[nickname]) for nickname in ("official", "set", "all_trec")}


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """A run from the lines of a TREC file: {topic: {document: score}}.

    >>> parse_run(["q1 Q0 d1 1 2.5 mine"])["q1"]
    {'d1': 2.5}
    """
    return _parsed(f_run, 6, lambda cells: float(cells[4]))


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """Judgments from the lines of a TREC file: {topic: {document: relevance}}.

    >>> parse_qrel(["q1 0 d1 2"])["q1"]
    {'d1': 2}
    """
    return _parsed(f_qrel, 4, lambda cells: int(cells[3]))


def _parsed(lines: Iterable[str], width: int, value: Callable[[list[str]], T]) -> dict[str, dict[str, T]]:
    lists: dict[str, dict[str, T]] = defaultdict(dict)
    for number, line in enumerate(lines, 1):
        cells = line.split()
        if len(cells) != width:
            raise ValueError(f"line {number}: {len(cells)} columns, expected {width}")
        topic, doc = cells[0], cells[2]
        if doc in lists[topic]:  # an AssertionError, since callers of pytrec_eval catch that
            raise AssertionError(f"line {number}: document {doc!r} appears twice for topic {topic!r}")
        lists[topic][doc] = value(cells)
    return lists


def compute_aggregated_measure(measure: str, values: Sequence[float]) -> float:
    """Combine topics: a sum for `num_…`, the geometric mean for `gm_…` (whose values are logarithms), else the mean.

    >>> compute_aggregated_measure("map", [0.5, 1.0])
    0.75
    """
    import numpy as np

    if measure.startswith("num_"):
        return float(np.sum(values))
    if measure.startswith("gm_"):
        return float(np.exp(np.sum(values) / len(values)))
    return float(np.mean(values))


class RelevanceEvaluator:
    """Judgments {topic: {document: relevance}} prepared to score runs {topic: {document: score}}.

    `measures` are names (`map`), names with parameters (`P_5`, `ndcg_cut.5,10`) or nicknames (`official`).

    >>> evaluator = RelevanceEvaluator({"q1": {"d1": 1, "d2": 0}}, {"map", "P_5"})
    >>> evaluator.evaluate({"q1": {"d1": 0.1, "d2": 0.9}})
    {'q1': {'map': 0.5, 'P_5': 0.2}}
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, float]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        from cranfield import _core
        from cranfield.compat.trec_lists import TrecQrels
        from cranfield.compat.trec_measures import Setting
        from cranfield.compat.trec_request import Request

        self._request = Request(_combined(measures))
        self._setting = Setting(level=_whole("relevance_level", relevance_level))
        self._judged_only = bool(_whole("judged_docs_only_flag", judged_docs_only_flag))
        judged = {topic: documents for topic, documents in query_relevance.items() if len(documents) > 0}
        _check_keys(judged, "relevance")
        table = _with_numbers(judged, lambda lists: _core.table_from_dict(lists, "", "relevance"))
        self._qrels = TrecQrels(_core.judged(table, "error"), whole_grades=False)
        self._row = {topic: row for row, topic in enumerate(self._qrels.topics)}

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """{topic: {measure: value}} for the topics that both the run and the judgments have."""
        if not scores:
            return {}
        if not isinstance(scores, dict):
            raise TypeError(f"scores are of type {type(scores).__name__}, must be a dict of dicts")
        import numpy as np

        from cranfield import _core

        _check_keys(scores, "scores")
        joined = _with_numbers(
            scores, lambda lists: _core.join_dicts(self._qrels.core, [("run", lists)], "score", True, 0)
        )
        lists = self._qrels.lists(joined, judged_only=self._judged_only)
        columns = self._request.columns(lists, self._setting, typed_names=False)
        names = [column.name for column in columns]
        rows = [(topic, row) for topic in scores if (row := self._row.get(topic)) is not None]
        at = np.array([row for _, row in rows], dtype=np.int64)
        constant = {"runid": 0.0, "text": 0.0, "num_q": 1.0}  # the values of pytrec_eval for these on a topic
        cells = [
            [constant[column.summary]] * len(rows)
            if column.summary in constant
            else np.asarray(column.values)[at].tolist()
            for column in columns
        ]
        by_topic = zip(*cells, strict=True) if cells else [()] * len(rows)
        return {topic: dict(zip(names, values, strict=True)) for (topic, _), values in zip(rows, by_topic, strict=True)}


def _whole(name: str, value: Any) -> int:
    """A whole number, also as a number of numpy, as True or as False."""
    try:
        return int(value) if type(value).__name__ in ("bool", "bool_") else index(value)
    except TypeError:
        raise TypeError(f"{name} == {value!r}, must be an int") from None


def _check_keys(lists: Mapping[str, Mapping[str, float]], noun: str) -> None:
    """Raise the TypeErrors of pytrec_eval: keys must be strings, and each topic must have a dict of documents.

    Only the first document of a topic is checked: checking all would take as long as scoring them.
    """
    for topic, documents in lists.items():
        if not isinstance(topic, str):
            raise TypeError(f"{noun}: topic {topic!r} is of type {type(topic).__name__}, must be str")
        if not isinstance(documents, dict):
            raise TypeError(f"{noun}: topic {topic!r} has a {type(documents).__name__}, must be a dict of documents")
        for doc in documents:
            if not isinstance(doc, str):
                raise TypeError(f"{noun}: topic {topic!r} has document {doc!r}, must be str")
            break


def _with_numbers(lists: dict[str, Any], use: Callable[[dict[str, Any]], T]) -> T:
    """Apply `use` to the lists. The core refuses True and False, which count as 1 and 0 here."""
    try:
        return use(lists)
    except ValueError as error:
        kinds = {type(value) for documents in lists.values() for value in documents.values()}
        if any(issubclass(kind, str | bytes) or not hasattr(kind, "__float__") for kind in kinds):
            raise TypeError(str(error)) from None
        if bool not in kinds:
            raise
    return use({topic: {doc: float(value) for doc, value in documents.items()} for topic, documents in lists.items()})


def _combined(measures: Iterable[str]) -> list[str]:
    """Expand nicknames, and combine the parameters of a measure that several names have."""
    parameters: dict[str, set[str]] = {}
    for measure in measures:
        for name in _nicknames().get(measure, {measure}):
            if name in _nicknames()["all_trec"]:
                parameters.setdefault(name, set())
                continue
            base, numbers = _with_parameters(name)
            parameters.setdefault(base, set()).update(numbers)
    return [f"{name}.{','.join(sorted(numbers))}" if numbers else name for name, numbers in parameters.items()]


NUMBER = r"[0-9]+(?:\.[0-9]+)?"


def _with_parameters(name: str) -> tuple[str, list[str]]:
    for base in _nicknames()["all_trec"]:
        match = re.match(rf"{re.escape(base)}[._]({NUMBER}(?:,{NUMBER})*)", name)
        if match:
            return base, match.group(1).split(",")
    raise ValueError(f"unsupported measure {name}")

"""The C code of trec_eval 9.0.8 inside pytrec_eval, called directly for formats that pytrec_eval does not offer."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_long, c_void_p, pointer
from pathlib import Path

import pytrec_eval_ext


class Argument(Structure):
    _fields_ = [("measure", c_char_p), ("parameters", c_char_p)]


class Settings(Structure):
    _fields_ = [
        *((name, c_long) for name in ("query_flag", "summary_flag", "debug_level")),
        ("debug_query", c_char_p),
        *((name, c_long) for name in ("relation_flag", "complete", "judged_only", "documents", "level", "depth")),
        *((name, c_char_p) for name in ("judgments_format", "results_format")),
        ("z_scores", c_long),
        ("arguments", POINTER(Argument)),
    ]


class Value(Structure):
    _fields_ = [("name", c_char_p), ("value", c_double)]


class Values(Structure):
    _fields_ = [
        ("topic", c_char_p),
        ("topics", c_long),
        ("values", POINTER(Value)),
        ("number", c_long),
        ("space", c_long),
    ]


class Results(Structure):
    _fields_ = [("topic", c_char_p), ("run", c_char_p), ("format", c_char_p), ("data", c_void_p)]


class AllResults(Structure):
    _fields_ = [("number", c_long), ("space", c_long), ("each", POINTER(Results))]


class Judgments(Structure):
    _fields_ = [("topic", c_char_p), ("format", c_char_p), ("data", c_void_p)]


class AllJudgments(Structure):
    _fields_ = [("number", c_long), ("space", c_long), ("each", POINTER(Judgments))]


Prepare = ctypes.CFUNCTYPE(ctypes.c_int, POINTER(Settings), c_void_p, POINTER(Values))
Compute = ctypes.CFUNCTYPE(
    ctypes.c_int, POINTER(Settings), POINTER(Judgments), POINTER(Results), c_void_p, POINTER(Values)
)


class Measure(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("explanation", c_char_p),
        ("prepare", Prepare),
        ("compute", Compute),
        *((name, c_void_p) for name in ("add", "average", "print_topic", "print_all", "parameters")),
        ("index", c_long),
    ]


LIBRARY = ctypes.CDLL(pytrec_eval_ext.__file__)
READERS = {"prefs": "te_get_prefs", "qrels_prefs": "te_get_qrels_prefs", "qrels_jg": "te_get_qrels_jg"}
ALL = 2**62


def values(
    judgments: Path, run: Path, format: str, names: list[str], *, depth: int | None, judged_only: bool, level: int
) -> dict[tuple[str, str], float]:
    """The values of measures by topic and name, or nothing if no topic is in both files.

    The C code keeps the last topic by its name: calls one after the other must not end and begin with the same topic.
    """
    settings = Settings(judgments_format=format.encode(), results_format=b"trec_results", level=level)
    settings.depth, settings.judged_only = ALL if depth is None else depth, judged_only
    settings.arguments = pointer(Argument())
    judged, results = AllJudgments(), AllResults()
    assert getattr(LIBRARY, READERS[format])(byref(settings), str(judgments).encode(), byref(judged)) == 1
    assert LIBRARY.te_get_trec_results(byref(settings), str(run).encode(), byref(results)) == 1
    scores, measures = Values(), [Measure.in_dll(LIBRARY, f"te_meas_{name}") for name in names]
    before = [measure.index for measure in measures]
    for measure in measures:
        assert measure.prepare(byref(settings), ctypes.addressof(measure), byref(scores)) != -1
    by_topic = {judged.each[i].topic: judged.each[i] for i in range(judged.number)}
    out = {}
    for i in range(results.number):
        list_ = results.each[i]
        if list_.topic not in by_topic:
            continue
        for k in range(scores.number):
            scores.values[k].value = 0.0
        for measure in measures:
            answer = measure.compute(
                byref(settings), byref(by_topic[list_.topic]), byref(list_), ctypes.addressof(measure), byref(scores)
            )
            assert answer != -1
        for k in range(scores.number):
            out[list_.topic.decode(), scores.values[k].name.decode()] = scores.values[k].value
    for measure, index in zip(measures, before, strict=True):
        measure.index = index
    return out

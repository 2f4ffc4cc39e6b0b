"""The figure of effectiveness against seconds with many runs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from cranfield.report.figures import describe_efficiency


def columns(seconds: list[float]) -> dict[str, Any]:
    count = len(seconds)
    names = [f"run{number}" for number in range(count)]
    front = [number % 10 == 0 for number in range(count)]
    scores = np.linspace(0.1, 0.5, count)
    return {"measure": ["AP"] * count, "run": names, "effectiveness": scores, "mean": seconds, "front": front}


def test_seconds_of_very_different_size_are_on_a_log_axis() -> None:
    figure = describe_efficiency(columns([0.001, 0.01, 9.0]))
    assert figure.x.log
    assert 0 < (figure.x.low or 0) < 0.001
    assert figure.x.label.endswith("log scale")
    drawn = figure.draw().to_dict()
    scales = [layer["encoding"]["x"]["scale"] for layer in drawn["layer"] if "scale" in layer["encoding"]["x"]]
    assert {scale["type"] for scale in scales} == {"log"}


def test_seconds_of_similar_size_or_0_are_on_a_linear_axis_from_0() -> None:
    for seconds in ([1.0, 2.0, 3.0], [0.0, 0.01, 9.0]):
        axis = describe_efficiency(columns(seconds)).x
        assert (axis.log, axis.low) == (False, 0.0)


def test_with_many_runs_only_those_on_the_front_have_names() -> None:
    few, many = (describe_efficiency(columns(np.linspace(1, 20, count).tolist())) for count in (10, 126))
    assert len(_names(few)) > 1
    assert _names(many) <= {f"run{number}" for number in range(0, 126, 10)}
    assert _names(many)


def test_runs_on_the_front_are_filled_and_the_others_are_not() -> None:
    drawn = describe_efficiency(columns(np.linspace(1, 20, 30).tolist())).draw().to_dict()
    points = [layer for layer in drawn["layer"] if layer["mark"]["type"] == "point"]
    by_fill = {layer["mark"]["filled"]: len(_rows(drawn, layer)) for layer in points}
    assert by_fill == {True: 3, False: 27}


def _rows(drawn: dict[str, Any], layer: dict[str, Any]) -> list[dict[str, Any]]:
    data = layer["data"]
    rows = data["values"] if "values" in data else drawn["datasets"][data["name"]]
    return list(json.loads(rows) if isinstance(rows, str) else rows)


def _names(figure: Any) -> set[str]:
    drawn = figure.draw().to_dict()
    texts = [layer for layer in drawn["layer"] if layer["mark"]["type"] == "text"]
    return {row["short"] for layer in texts for row in _rows(drawn, layer)}

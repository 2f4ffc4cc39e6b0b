"""Calibrate a measure: estimate its parameters from a log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cranfield import check
from cranfield.errors import UsageError
from cranfield.online.calibration.calibrated import Calibrated
from cranfield.online.calibration.click_moves import calibrate_MP
from cranfield.online.calibration.click_parameters import MODEL_OF, calibrate_click_measure
from cranfield.online.calibration.reading_time import SPEED, calibrate_TBG, calibrate_U
from cranfield.online.calibration.stopping import calibrate_ERR, calibrate_RBP
from cranfield.online.calibration.viewed_lists import viewed_lists
from cranfield.online.logs.log import Log

MEASURES = ("RBP", "ERR", "TBG", "U", "MP", *MODEL_OF)
"""The measures that can be calibrated."""
NEED_GRADES = ("ERR", "TBG", *MODEL_OF)
"""Those whose parameters belong to grades, so that judgments are needed."""


def calibrate(
    log: Log,
    measure: str,
    qrels: Mapping[str, Mapping[str, float]] | None = None,
    *,
    topics: Mapping[str, str] | None = None,
    lengths: Mapping[str, float] | None = None,
    depth: int = 10,
    timed: bool = False,
    restart: bool = True,
    rel: float = 1.0,
    speed: float = SPEED,
    level: float = 0.95,
    seed: int = 0,
    **fit: Any,
) -> Calibrated:
    """Estimate the parameters of a measure from a log of clicks.

    measure: one of `MEASURES`. ERR, TBG and the measures on click models also need judgments.
    qrels: {topic: {document: grade}}.
    topics: {topic: text of the query}; default: the topics of the judgments are the texts of the queries.
    lengths: {document: length}, in words for TBG and in characters for U.
    depth: the deepest rank that MP counts moves between.
    timed: for MP, also estimate how long a visit to each rank lasts.
    restart: for MP, whether the last click of a query is followed by the first click of another.
    rel: the lowest grade that TBG counts as relevant.
    speed: characters that a reader of U reads in a second.
    seed: of the draws for the intervals of MP.
    fit: settings of the click model, see `fit_clicks`: `prior`, `steps`, `exact`, ...

    References: Ferro & Maistro 2024 §5; Smucker & Clarke, SIGIR 2012; Ferrante, Ferro & Maistro, SIGIR 2014; Chuklin,
    Serdyukov & de Rijke, SIGIR 2013
    """
    if measure not in MEASURES:
        raise check.nearest(measure, MEASURES, "measure to calibrate")
    check.between("calibrate", low=0.5, high=0.9999, level=level)
    check.whole("calibrate", depth=depth)
    check.positive("calibrate", speed=speed)
    if qrels is None and measure in NEED_GRADES:
        raise UsageError(f"{measure} has parameters by grade, so that judgments are needed: give qrels")
    if fit and measure not in MODEL_OF:
        raise UsageError(f"{measure} uses no click model, so that {', '.join(fit)} would do nothing")
    if timed and measure != "MP":
        raise UsageError(f"timed is for MP, and would do nothing for {measure}")
    if lengths is not None and measure not in ("TBG", "U"):
        raise UsageError(f"lengths are for TBG and U, and would do nothing for {measure}")
    if measure == "MP":
        result = calibrate_MP(log, level, depth=depth, timed=timed, restart=restart, seed=seed)
    elif measure in MODEL_OF:
        from cranfield.online.clicks.click_fitting import fit_clicks

        assert qrels is not None
        model = fit_clicks(log, MODEL_OF[measure], level=level, **fit)
        result = calibrate_click_measure(measure, model, qrels, level, topics)
    else:
        viewed = viewed_lists(log, qrels if measure in NEED_GRADES else None, topics)
        if measure == "RBP":
            result = calibrate_RBP(viewed, level)
        elif measure == "ERR":
            result = calibrate_ERR(viewed, level)
        elif measure == "TBG":
            result = calibrate_TBG(viewed, level, rel, lengths)
        else:
            result = calibrate_U(viewed, level, lengths, speed)
    return replace(result, notes=tuple(dict.fromkeys([*result.notes, *log.notes])))

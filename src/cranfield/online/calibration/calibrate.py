"""Calibrate a measure: estimate its parameters from a log; for measures on a click model, from a fitted one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from cranfield import check
from cranfield.declared.operation import Seed, about, operation
from cranfield.errors import DataError, UsageError
from cranfield.measures.base import REGISTRY
from cranfield.measures.gain import number
from cranfield.notes import caution_note, method_note
from cranfield.online.calibration.calibrated import Calibrated, Estimated, rounded
from cranfield.online.calibration.reader_moves import calibrate_ERR, calibrate_MP, calibrate_RBP, viewed_lists
from cranfield.online.calibration.reading_time import SPEED, calibrate_TBG, calibrate_U
from cranfield.online.clicks.click_kinds import ATTRACTIVENESS, CONTINUATION, EXAMINATION, SATISFACTION
from cranfield.online.clicks.click_model import ClickModel
from cranfield.online.clicks.models.cascade_models import AFTER_HIT, AFTER_MISS, AFTER_SKIP
from cranfield.online.few_users import LEVELS
from cranfield.online.logs.log import Log
from cranfield.text import counted
from cranfield.types import Array

MODEL_OF = {
    "uPBM": "PBM", "uUBM": "UBM", "uDCM": "DCM", "rrDCM": "DCM", "uCCM": "CCM", "rrCCM": "CCM", "uDBN": "DBN",
    "rrDBN": "DBN", "EBU": "DBN", "uSDBN": "SDBN", "rrSDBN": "SDBN",
}  # fmt: skip
"""The click model of each measure. EBU's readers are those of DBN."""
SINGLE = {"CCM": {"t1": AFTER_SKIP, "t2": AFTER_MISS, "t3": AFTER_HIT}, "DBN": {"go_on": CONTINUATION}}
"""{model: {parameter of the measure: parameter of the model}}"""
BY_RANK = {"PBM": {"examined": EXAMINATION}, "UBM": {"examined": EXAMINATION}, "DCM": {"go_on": CONTINUATION}}
BY_GRADE = {"attractive": ATTRACTIVENESS, "satisfied": SATISFACTION}


def calibrate_click_measure(
    name: str,
    model: ClickModel,
    qrels: Mapping[str, Mapping[str, float]],
    level: float,
    topics: Mapping[str, str] | None = None,
) -> Calibrated:
    r"""A measure on a click model, with the parameters of a fitted model.

    The attractiveness of a grade is the mean over the judged documents of that grade, each weighted by how often it was
    shown; its satisfaction the same, weighted by clicks. The intervals are over topics (delta method of the ratio of
    sums per topic), and do not contain the uncertainty of each document's own estimate. Parameters of ranks and of the
    whole model come with their own intervals.

    .. math:: \hat a_g = \frac{\sum_{d: g_d = g} n_d\, \hat a_d}{\sum_{d: g_d = g} n_d}
    """
    if name not in MODEL_OF:
        raise UsageError(f"{name} is not a measure on a click model; those are {', '.join(MODEL_OF)}")
    if model.model != MODEL_OF[name]:
        raise UsageError(f"{name} needs the click model {MODEL_OF[name]}, not {model.model}")
    estimates: list[Estimated] = []
    settings: dict[str, Any] = {}
    pairs = model.pair_columns()
    grade, topic, unjudged = _grades(pairs, qrels, topics)
    weights = {"attractive": pairs["impressions"], "satisfied": pairs["clicks"]}
    for parameter, of_model in BY_GRADE.items():
        if parameter in REGISTRY[name].parameters():
            of_grades = _by_grade(
                parameter, pairs[of_model], weights[parameter].astype(np.float64), grade, topic, level
            )
            estimates += of_grades
            settings[parameter] = {_grade(estimate): min(rounded(estimate.value), 1.0) for estimate in of_grades}
    for parameter, of_model in BY_RANK.get(model.model, {}).items():
        values = model.value(of_model)
        places = _places(model.model, len(values))
        shown = model.observations.get(of_model, np.zeros(len(values)))
        estimates += [
            Estimated(
                parameter, place, float(values.value[i]), float(values.low[i]), float(values.high[i]), int(shown[i])
            )
            for i, place in enumerate(places)
        ]
        settings[parameter] = [min(rounded(value), 1.0) for value in values.value.tolist()]
    for parameter, of_model in SINGLE.get(model.model, {}).items():
        if parameter in REGISTRY[name].parameters():
            values = model.value(of_model)
            estimates.append(
                Estimated(
                    parameter,
                    "",
                    float(values.value[0]),
                    float(values.low[0]),
                    float(values.high[0]),
                    model.impressions,
                )
            )
            settings[parameter] = min(rounded(float(values.value[0])), 1.0)
    notes = [
        *model.notes,
        method_note(f"parameters of grades: means over judged documents of the {model.model}, intervals by topic"),
    ]
    if unjudged:
        notes.append(caution_note(f"{counted(unjudged, 'document')} of queries without a judgment left out"))
    return Calibrated(REGISTRY[name](**settings), tuple(estimates), level, tuple(notes))


def _grades(
    pairs: Mapping[str, Any], qrels: Mapping[str, Mapping[str, float]], topics: Mapping[str, str] | None
) -> tuple[Array, Any, int]:
    """The grade of every pair (NaN if not judged), its topic, and how many are not judged."""
    names = None if topics is None else {text.strip().lower(): topic for topic, text in topics.items()}
    topic = [
        str(query) if names is None else names.get(str(query).strip().lower(), "") for query in pairs["query"].tolist()
    ]
    grade = np.array(
        [qrels.get(of, {}).get(str(doc), np.nan) for of, doc in zip(topic, pairs["doc"].tolist(), strict=True)],
        dtype=np.float64,
    )
    if np.isnan(grade).all():
        raise DataError(
            "log", None,
            "no document of the click model is judged; are the topics of the judgments those of the log? Give the "
            "texts of the topics: topics=",
        )  # fmt: skip
    return grade, np.array(topic, dtype=object), int(np.isnan(grade).sum())


def _by_grade(parameter: str, value: Array, weight: Array, grade: Array, topic: Any, level: float) -> list[Estimated]:
    """The weighted mean of each grade, with an interval over topics."""
    from scipy.special import stdtrit

    entries = []
    for each in np.unique(grade[~np.isnan(grade)]).tolist():
        mine = (grade == each) & (weight > 0)
        if not mine.any():
            continue
        of, at = np.unique(topic[mine].astype(str), return_inverse=True)
        above, below = np.bincount(at, (weight * value)[mine]), np.bincount(at, weight[mine])
        mean = above.sum() / below.sum()
        count, reach = len(of), np.nan
        if count > 1:
            error = np.sqrt(count / (count - 1) * np.square(above - mean * below).sum()) / below.sum()
            reach = float(stdtrit(count - 1, (1 + level) / 2)) * error
        low, high = max(mean - reach, 0.0), min(mean + reach, 1.0)
        if np.isnan(reach):
            low = high = np.nan
        entries.append(Estimated(parameter, f"grade {number(each)}", float(mean), low, high, int(below.sum())))
    return entries


def _grade(estimate: Estimated) -> float:
    return float(estimate.of.removeprefix("grade "))


def _places(model: str, size: int) -> list[str]:
    if model != "UBM":
        return [f"rank {rank}" for rank in range(1, size + 1)]
    places: list[str] = []
    rank = 0
    while len(places) < size:
        rank += 1
        places += [f"rank {rank}, " + (f"click at {last}" if last else "no click above") for last in range(rank)]
    return places


MEASURES = ("RBP", "ERR", "TBG", "U", "MP", *MODEL_OF)
"""The measures that can be calibrated."""
NEED_GRADES = ("ERR", "TBG", *MODEL_OF)
"""Those whose parameters belong to grades, so that judgments are needed."""


@operation
def calibrate(
    log: Log,
    measure: str,
    qrels: Mapping[str, Mapping[str, float]] | None = None,
    *,
    topics: Mapping[str, str] | None = None,
    lengths: Mapping[str, float] | None = None,
    depth: Annotated[int, about("MP: the deepest rank whose moves are counted.", least=1, rare=True)] = 10,
    timed: Annotated[bool, about("MP: also estimate how long a visit to each rank lasts.")] = False,
    restart: Annotated[
        bool,
        about(
            "MP: count only moves within queries, not from the last click to the first of another query.",
            spelled="--no-restart",
        ),
    ] = True,
    rel: Annotated[
        float, about("TBG: the lowest grade that counts as relevant.", spelled="--rel GRADE", rare=True)
    ] = 1.0,
    speed: Annotated[
        float, about("U: characters that are read in a second.", above=0, spelled="--speed N", rare=True)
    ] = SPEED,
    level: Annotated[
        float, about("Confidence level of the intervals.", spelled="--level L", rare=True, **LEVELS)
    ] = 0.95,
    seed: Seed = 0,
    **fit: Any,
) -> Calibrated:
    """Estimate the parameters of a measure from a log of clicks.

    measure: one of `MEASURES`. ERR, TBG and the measures on click models also need judgments.
    qrels: {topic: {document: grade}}.
    topics: {topic: text of the query}; default: the topics of the judgments are the texts of the queries.
    lengths: {document: length}, in words for TBG and in characters for U.
    fit: settings of the click model, see `fit_clicks`: `prior`, `steps`, `exact`, ...

    References: Ferro & Maistro 2024 §5; Smucker & Clarke, SIGIR 2012; Ferrante, Ferro & Maistro, SIGIR 2014; Chuklin,
    Serdyukov & de Rijke, SIGIR 2013
    """
    if measure not in MEASURES:
        raise check.nearest(measure, MEASURES, "measure to calibrate")
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

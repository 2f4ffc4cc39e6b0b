"""Calibrate a measure: estimate its parameters from a log; for measures on a click model, from a fitted one.

Those of TBG and U are how long readers take for snippets and documents, and how long they go on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from cranfield import check
from cranfield.declared.operation import Seed, about, operation
from cranfield.errors import DataError, UsageError
from cranfield.frames import need
from cranfield.measures.base import REGISTRY
from cranfield.measures.gain import number
from cranfield.measures.readers.time import TBG, U
from cranfield.notes import caution_note, method_note
from cranfield.online.calibration.calibrated import Calibrated, Estimated, ratio_of_sums, rounded
from cranfield.online.calibration.reader_moves import (
    ViewedLists,
    calibrate_ERR,
    calibrate_MP,
    calibrate_RBP,
    viewed_lists,
)
from cranfield.online.clicks.click_kinds import ATTRACTIVENESS, CONTINUATION, EXAMINATION, SATISFACTION
from cranfield.online.clicks.click_model import ClickModel
from cranfield.online.clicks.models.cascade_models import AFTER_HIT, AFTER_MISS, AFTER_SKIP
from cranfield.online.expressions import nw
from cranfield.online.few_users import LEVELS
from cranfield.online.logs.log import CLICK, Log
from cranfield.online.moments import Moments, moments
from cranfield.text import counted
from cranfield.types import Array

MICRO = 1e6
SATISFIED = 30.0
"""Seconds on a document from which a click counts as satisfied (Ferro & Maistro 2024 §6.5)."""
SPEED = 20.0
"""Characters that a reader reads in a second, by default: 200 words of 6 characters in a minute."""


def calibrate_TBG(
    viewed: ViewedLists, level: float, rel: float = 1.0, words: Mapping[str, float] | None = None
) -> Calibrated:
    r"""TBG's times, click probabilities and half-life.

    `click_rel` and `click_non` are clicks divided by documents seen, relevant or not. `save_rel` is the share of clicks
    on relevant documents that last 30 seconds or more. The times are those of all clicks, also on documents without a
    judgment. `summary` is the time to the first click divided by its rank, Σ t / Σ r. With the `words` of documents,
    `per_word` and `overhead` are the line of dwell times against words (least squares); without, `per_word` is 0 and
    `overhead` the mean dwell time. `h` is ln 2 times the mean time that readers stay with a list (to the end of the
    last click's dwell time), as if that were exponential.
    """
    clicks = _clicks(viewed)
    relevant = nw.col("grade") >= rel
    docs = viewed.documents.select(
        "user",
        nw.when(relevant).then(nw.col("clicked")).otherwise(0.0).alias("clicks_rel"),
        nw.when(relevant).then(1.0).otherwise(0.0).alias("seen_rel"),
        nw.when(relevant).then(0.0).otherwise(nw.col("clicked")).alias("clicks_non"),
        nw.when(relevant).then(0.0).otherwise(1.0).alias("seen_non"),
    )
    seen = _per_user(docs, ["clicks_rel", "seen_rel", "clicks_non", "seen_non"])
    timed = clicks.filter(~nw.col("dwell").is_null())
    saved = timed.select(
        "user",
        nw.when(relevant & (nw.col("dwell") >= SATISFIED)).then(1.0).otherwise(0.0).alias("saved"),
        nw.when(relevant).then(1.0).otherwise(0.0).alias("opened"),
        "dwell",
        nw.lit(1.0).alias("one"),
    )
    _need_dwell(viewed, clicks)
    dwell = _per_user(saved, ["saved", "opened", "dwell", "one"])
    times = _list_times(viewed, clicks)
    estimates = [
        ratio_of_sums(times, "h", "", "stay", "lists", level, times=math.log(2)),
        ratio_of_sums(seen, "click_rel", "", "clicks_rel", "seen_rel", level, most=1.0),
        ratio_of_sums(dwell, "save_rel", "", "saved", "opened", level, most=1.0),
        ratio_of_sums(seen, "click_non", "", "clicks_non", "seen_non", level, most=1.0),
        ratio_of_sums(times, "summary", "", "first", "first_rank", level),
    ]
    notes = list(viewed.notes)
    if words is None:
        estimates.append(ratio_of_sums(dwell, "overhead", "", "dwell", "one", level))
        notes.append("without the lengths of documents, the time for a document does not depend on its length")
        per_word = 0.0
    else:
        line, lost = _line(viewed, timed, words, level)
        estimates += line
        per_word = max(line[0].value, 0.0)
        if lost:
            notes.append(
                caution_note(
                    f"{counted(lost, 'click')} on documents without a length left out of per_word and overhead"
                )
            )
    values: dict[str, Any] = {
        estimate.parameter: rounded(estimate.value) for estimate in estimates if not math.isnan(estimate.value)
    }
    values["per_word"] = rounded(per_word)
    values["overhead"] = max(values.get("overhead", 0.0), 0.0)
    return Calibrated(TBG(**values, rel=rel), tuple(estimates), level, tuple(notes))


def calibrate_U(
    viewed: ViewedLists, level: float, characters: Mapping[str, float] | None = None, speed: float = SPEED
) -> Calibrated:
    r"""U's L, from how much text readers get through, and F, the fraction of a document that they read.

    The text that a reader gets through is a snippet of 200 characters for each document down to the last click, and
    `speed` characters for each second on a clicked document. U's linear decay is right for a reader whose last offset
    is uniform between 0 and L; its mean is L/2, so L is twice the mean. With the lengths of documents in characters, F
    is the text read in clicked documents divided by their length.
    """
    clicks = _clicks(viewed)
    _need_dwell(viewed, clicks)
    snippet = float(U().snippet)
    read = clicks.group_by("query_id").agg(nw.col("dwell").fill_null(0.0).sum().alias("_dwell"))
    lists = (
        viewed.documents.group_by("query_id", "user")
        .agg(nw.col("last").max())
        .join(read, on="query_id", how="left")
        .select(
            "user",
            (nw.col("last") * snippet + nw.col("_dwell").fill_null(0.0) * speed).alias("text"),
            nw.lit(1.0).alias("lists"),
        )
    )
    sums = _per_user(lists, ["text", "lists"])
    estimates = [ratio_of_sums(sums, "L", "", "text", "lists", level, times=2.0)]
    notes = [*viewed.notes, method_note(f"{speed:g} characters are read in a second, and {snippet:g} for a snippet")]
    settings: dict[str, Any] = {"L": rounded(estimates[0].value)}
    if characters is not None:
        lengths = _lengths(viewed, characters)
        opened = clicks.filter(~nw.col("dwell").is_null()).join(lengths, on="doc", how="inner")
        parts = opened.select("user", (nw.col("dwell") * speed).alias("read"), nw.col("doc_length").alias("size"))
        F = ratio_of_sums(_per_user(parts, ["read", "size"]), "F", "", "read", "size", level)
        estimates.append(F)
        settings["F"] = min(rounded(F.value), 1.0)
        if F.value > 1:
            notes.append(
                caution_note(
                    f"F is estimated as {F.value:.3g}, above 1: readers are slower than {speed:g} characters a second"
                )
            )
    return Calibrated(U(**settings), tuple(estimates), level, tuple(notes))


def _clicks(viewed: ViewedLists) -> Any:
    """The first click on each document that was seen, judged or not: when, how long, and the document's grade."""
    events = (
        viewed.log.events.filter((nw.col("action") == CLICK) & ~nw.col("doc").is_null())
        .group_by("query_id", "doc")
        .agg(nw.col("time").min(), nw.col("dwell").max())
    )
    return viewed.log.engine.keep(
        viewed.seen.filter(nw.col("clicked") > 0)
        .join(events, on=["query_id", "doc"], how="inner")
        .with_columns(nw.col("dwell").cast(nw.Float64))
    )


def _list_times(viewed: ViewedLists, clicks: Any) -> Moments:
    """For each user: seconds with a list, seconds to the first click and the sum of its rank, and the lists."""
    asked = viewed.log.queries.select("query_id", nw.col("time").alias("asked"))
    timed = clicks.join(asked, on="query_id", how="inner").with_columns(
        ((nw.col("time") - nw.col("asked")) / MICRO).alias("after")
    )
    timed = timed.filter(nw.col("after") >= 0)
    firsts = timed.group_by("query_id").agg(nw.col("after").min().alias("_first"))
    first_rank = (
        timed.join(firsts, on="query_id", how="inner")
        .filter(nw.col("after") == nw.col("_first"))
        .group_by("query_id")
        .agg(nw.col("position").min().alias("_rank"))
    )
    lists = (
        timed.with_columns((nw.col("after") + nw.col("dwell").fill_null(0.0)).alias("_until"))
        .group_by("query_id", "user")
        .agg(nw.col("_until").max().alias("stay"), nw.col("after").min().alias("first"))
        .join(first_rank, on="query_id", how="inner")
        .select(
            "user", "stay", "first", nw.col("_rank").cast(nw.Float64).alias("first_rank"), nw.lit(1.0).alias("lists")
        )
    )
    return _per_user(lists, ["stay", "first", "first_rank", "lists"])


def _line(viewed: ViewedLists, timed: Any, words: Mapping[str, float], level: float) -> tuple[list[Estimated], int]:
    """The least-squares line of dwell times against the words of documents, and the clicks without a length."""
    from scipy.special import stdtrit

    every = viewed.log.engine.count(timed)
    known = timed.join(_lengths(viewed, words), on="doc", how="inner")
    known = known.select("dwell", nw.col("doc_length").alias("words"))
    table = moments(known, ["words", "dwell"])
    n = int(table.n[0]) if len(table.n) else 0
    if n < 3 or not table.cov[0, 0, 0] > 0:
        raise DataError(
            viewed.log.origin or "log", None,
            f"{counted(n, 'click')} on documents with lengths, or all equally long: too little for seconds per word",
        )  # fmt: skip
    (x, y), cov = table.mean[0], table.cov[0]
    slope = cov[0, 1] / cov[0, 0]
    residual = max((cov[1, 1] - slope * cov[0, 1]) * (n - 1) / (n - 2), 0.0)
    error = math.sqrt(residual / (cov[0, 0] * (n - 1)))
    at_zero = math.sqrt(residual * (1 / n + x**2 / (cov[0, 0] * (n - 1))))
    t = float(stdtrit(n - 2, (1 + level) / 2))
    overhead = y - slope * x
    return [
        Estimated("per_word", "", float(slope), float(slope - t * error), float(slope + t * error), n),
        Estimated("overhead", "", float(overhead), float(overhead - t * at_zero), float(overhead + t * at_zero), n),
    ], every - n


def _lengths(viewed: ViewedLists, lengths: Mapping[str, float]) -> Any:
    pyarrow = need("pyarrow", "calibrate")
    values = np.array(list(lengths.values()), dtype=np.float64)
    return viewed.log.engine.read(pyarrow.table({"doc": list(lengths), "doc_length": values}))


def _per_user(rows: Any, columns: list[str]) -> Moments:
    return moments(rows.group_by("user").agg(*(nw.col(name).sum() for name in columns)), columns)


def _need_dwell(viewed: ViewedLists, clicks: Any) -> None:
    """Complain if no click has a dwell time."""
    known = viewed.log.engine.row(clicks.select(nw.col("dwell").count().alias("n")))["n"]
    if not known:
        raise DataError(
            viewed.log.origin or "log",
            None,
            "no click has a dwell time (seconds on the document), so no times can be learned",
        )


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
            "MP: count moves from the last click of a query to the first of another one too.",
            off="MP: count only moves within queries, not from the last click to the first of another query.",
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

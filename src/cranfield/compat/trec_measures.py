"""The measures of trec_eval: names, defaults, and values equal to the last bit to those of the C program.

A value is computed by the measure of cranfield if that adds the same numbers in the same order. An undefined score is 0
here, since trec_eval has no undefined scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.compat.trec_lists import NOT_IN_POOL, POOLED, GroupedLists, PairGain, TrecLists
from cranfield.compat.trec_prefs import PreferenceLists, TopicPreferences, in_scope
from cranfield.errors import UsageError
from cranfield.measures.gain import LINEAR, Gain, gained
from cranfield.measures.ranked_lists import first, incomplete, ranked, sets, trec
from cranfield.types import Array

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
LEAST = 0.00001
"""Smaller scores count as this in a geometric mean."""


@dataclass(frozen=True)
class Setting:
    """Options that affect measures: -l, -N and the version of trec_eval."""

    level: int = 1
    documents: int = 0
    dialect: int = 9

    def __post_init__(self) -> None:
        if self.level < 0:
            raise UsageError(f"relevance level == {self.level}, must be 0 or more")


Kind = Any
"""A class of measures; the table knows its parameters."""
Parameters = tuple[Any, ...]
Compute = Callable[[TrecLists, Setting, Parameters], list[Array]]


@dataclass(frozen=True)
class Entry:
    """A measure of the table.

    `takes` is the kind of its parameters: `none`, `cutoffs` (whole numbers, sorted), `points` (numbers, sorted),
    `numbers` (not sorted), `gains` (level=gain pairs). `summary` is how values of topics are combined: `mean`, `sum`,
    `log` (the exponential of the mean of logarithms; not printed per topic), `text` (only per topic), `runid` or
    `num_q` (only over all topics).
    """

    name: str
    compute: Compute | None
    """None for runid, num_q and relstring, which are computed elsewhere."""
    takes: str = "none"
    defaults: Parameters = ()
    summary: str = "mean"
    since: int = 9
    reads: str = "qrels"
    """The judgments it needs: `qrels`, `groups` (of judges), `preferences`, or `any`."""


def _defined(values: Array) -> Array:
    return np.where(np.isnan(values), 0.0, values)


def _ours(kind: Kind) -> Compute:
    """A measure of cranfield at the relevance level."""
    return lambda lists, setting, _: [_defined(kind(rel=setting.level).evaluate(lists))]


def _cut(kind: Kind) -> Compute:
    """A measure of cranfield at the relevance level and every cutoff."""

    def compute(lists: TrecLists, setting: Setting, cutoffs: Parameters) -> list[Array]:
        measure = kind(rel=setting.level) if "rel" in kind.parameters() else kind()
        return [_defined((measure @ cutoff).evaluate(lists)) for cutoff in cutoffs]

    return compute


def _graded(lists: TrecLists, pairs: Parameters) -> tuple[TrecLists, Gain]:
    """The gain of the pairs, and lists with every document that has a level in the pairs."""
    if not pairs:
        return lists, LINEAR
    if any(level == NOT_IN_POOL for level, _ in pairs):
        lists = lists.dense()
    return lists, PairGain("table", pairs)


def _gained(kind: Kind) -> Compute:
    def compute(lists: TrecLists, setting: Setting, pairs: Parameters) -> list[Array]:
        lists, gain = _graded(lists, pairs)
        with np.errstate(divide="ignore", invalid="ignore"):
            return [_defined(kind(gain=gain).evaluate(lists))]

    return compute


def _over_judges(compute: Compute) -> Compute:
    """The mean of a measure over the groups of judgments."""

    def mean(lists: TrecLists, setting: Setting, parameters: Parameters) -> list[Array]:
        assert isinstance(lists, GroupedLists)
        return lists.mean(lambda group: compute(group, setting, parameters))

    return mean


def _preferences(value: Callable[[TopicPreferences], float]) -> Compute:
    """A value of each topic's preferences."""

    def compute(lists: TrecLists, setting: Setting, _: Parameters) -> list[Array]:
        assert isinstance(lists, PreferenceLists)
        return lists.each(value)

    return compute


def _fulfilled(topic: TopicPreferences, scope: str) -> int:
    return sum(in_scope(group.counts, scope)[0] for group in topic.groups)


def _log_of(compute: Compute) -> Compute:
    def logs(lists: TrecLists, setting: Setting, parameters: Parameters) -> list[Array]:
        return [np.array([math.log(max(x, LEAST)) for x in compute(lists, setting, parameters)[0].tolist()])]

    return logs


def _counts(lists: TrecLists, setting: Setting) -> tuple[Array, Array, Array]:
    """The numbers of relevant documents retrieved, of documents retrieved and of relevant documents of each topic."""
    return lists.relevant(setting.level).count, lists.retrieved.astype(np.float64), lists.num_rel(setting.level)


def _count(place: int) -> Compute:
    return lambda lists, setting, _: [_counts(lists, setting)[place]]


def _utility(lists: TrecLists, setting: Setting, coefficients: Parameters) -> list[Array]:
    if len(coefficients) != 4:
        raise UsageError(f"utility: {len(coefficients)} coefficients, must be 4, as in utility.1,-1,0,0")
    a, b, c, d = coefficients
    hits, retrieved, relevant = _counts(lists, setting)
    elsewhere = setting.documents + hits - retrieved - relevant
    return [a * hits + b * (retrieved - hits) + c * (relevant - hits) + d * elsewhere]


def _set_f(lists: TrecLists, setting: Setting, betas: Parameters) -> list[Array]:
    x, (hits, retrieved, relevant) = betas[0], _counts(lists, setting)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision, recall = hits / retrieved, hits / relevant
        score = (x + 1.0) * precision * recall / (x * precision + recall)
    return [np.where(hits > 0, score, 0.0)]


def _multiples(lists: TrecLists, setting: Setting, multiples: Parameters) -> list[Array]:
    hits, relevant = lists.relevant(setting.level), lists.num_rel(setting.level)
    out = []
    for multiple in multiples:
        depth = np.trunc(multiple * relevant + 0.9)
        above = np.bincount(hits.row[hits.rank <= depth[hits.row]], minlength=lists.rows)
        out.append(np.divide(above, depth, out=np.zeros(lists.rows), where=depth > 0))
    return out


def _interpolated(lists: TrecLists, setting: Setting, points: Parameters) -> list[Array]:
    """Interpolated precision at each recall point; trec_eval matches the points from the last to the first.

    A point that needs more relevant documents than the list has is 0 if no point has been matched before. Otherwise
    matching stops: this point and all earlier ones get the best precision of the whole list. So do points that need
    no document. With sorted points only the latter happens.
    """
    hits, (count, retrieved, relevant) = lists.relevant(setting.level), _counts(lists, setting)
    best = np.append(hits.running_max_from_below(hits.nth / hits.rank), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = np.where(count > 0, best[hits.start[:-1]], count / retrieved)
    passing, waiting = np.ones(lists.rows, dtype=bool), np.ones(lists.rows, dtype=bool)
    last_matched = count
    out = []
    for point in reversed(points):
        needed = _needed(point * relevant, setting.dialect)
        passing &= needed > count
        waiting &= passing | ((needed >= 1) & (needed <= last_matched))
        matched = waiting & ~passing
        at = np.where(matched, hits.start[:-1] + needed.astype(np.int64) - 1, 0)
        out.append(np.where(passing, 0.0, np.where(matched, best[at], whole)))
        last_matched = np.where(matched, needed, last_matched)
    return out[::-1]


def _needed(relevant: Array, dialect: int) -> Array:
    """The number of relevant documents of a recall point."""
    if dialect == 9:
        return np.trunc(relevant + 0.9)
    size = np.abs(relevant)  # to the nearest whole number, halves away from zero
    return np.asarray(np.copysign(np.floor(size) + (size - np.floor(size) >= 0.5), relevant))


def _average_interpolated(lists: TrecLists, setting: Setting, points: Parameters) -> list[Array]:
    total = np.zeros(lists.rows)
    for precision in reversed(_interpolated(lists, setting, points)):
        total = total + precision
    return [total / len(points)]


def _g(lists: TrecLists, _: Setting, pairs: Parameters) -> list[Array]:
    if not pairs:
        return [_defined(trec.G().evaluate(lists))]
    # with pairs, gains can exceed those of the ideal list, where G of cranfield is undefined
    lists, gain = _graded(lists, pairs)
    hits, gains = gained(lists, gain)
    ideal = lists.ideal(gain)
    cost = ideal.hits.running(np.maximum(ideal.gain, 1.0))
    beyond = np.maximum(hits.rank - ideal.length[hits.row], 0.0)
    lag = 2.0 + (ideal.at(cost, hits.row, hits.rank) + beyond) - hits.running(gains)
    logs = [math.log2(x) if x > 0 else (-math.inf if x == 0 else math.nan) for x in lag.tolist()]
    with np.errstate(divide="ignore", invalid="ignore"):
        total, best = hits.sum(gains / np.array(logs)), ideal.sum(ideal.gain)
        return [np.divide(total, best, out=np.zeros(lists.rows), where=best > 0)]


def _ndcg_rel(lists: TrecLists, setting: Setting, pairs: Parameters) -> list[Array]:
    return [np.maximum(values, 0.0) for values in _gained(trec.nDCGrel)(lists, setting, pairs)]


def _rndcg(lists: TrecLists, setting: Setting, pairs: Parameters) -> list[Array]:
    relevant = lists.num_rel(setting.level)
    lists, gain = _graded(lists, pairs)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = trec.Rndcg(gain).evaluate(lists)
    return [np.where(relevant == 0, 0.0, values)]


def relstring(lists: TrecLists, how_many: float) -> list[str]:
    """The grades of the first documents: `-` not in the pool, `.` pooled but not judged, `>` above 9."""
    depth = min(max(int(how_many), 0), int(lists.retrieved.max(initial=0)))
    signs = np.full((lists.rows, depth), b"-", dtype="S1")
    top = lists.rank <= depth
    grade = lists.grade[top]
    sign = np.where(grade > 9, ord(">"), np.where(grade == POOLED, ord("."), grade + ord("0"))).astype(np.uint8)
    signs.view(np.uint8).reshape(lists.rows, depth)[lists.row[top], lists.rank[top] - 1] = sign
    lengths = np.minimum(lists.retrieved, depth).tolist()
    return [bytes(line[:length].tobytes()).decode("ascii") for line, length in zip(signs, lengths, strict=True)]


def _persistence(pairs: Parameters) -> tuple[float, Parameters]:
    """p, and the gain pairs without it."""
    return {"p": 0.9, **dict(pairs)}["p"], numbered(pairs)


def numbered(pairs: Parameters) -> Parameters:
    """The pairs whose level is a number."""
    return tuple(pair for pair in pairs if not isinstance(pair[0], str))


def _rbp(lists: TrecLists, setting: Setting, pairs: Parameters) -> list[Array]:
    """Gains of a topic are scaled to 0 .. 1 if some are outside, as the C program intends."""
    p, pairs = _persistence(pairs)
    lists, gain = _graded(lists, pairs)
    top = np.zeros(lists.rows)
    np.maximum.at(top, lists.judged.topic, lists.judged.grade)
    named = [worth for _, worth in pairs]
    low = min([0.0, *named])
    unnamed = np.array([_highest_unnamed(level, pairs) for level in top.tolist()])
    high = np.maximum(max([1.0, *named]), unnamed)[lists.set_of_row]
    hits, gains = gained(lists, gain)
    scaled = (low < 0) | (high > 1)
    gains = np.where(scaled[hits.row], (gains - low) / (high[hits.row] - low), gains)
    return [(1.0 - p) * hits.sum(gains * ranked.persistence(p, hits.rank))]


def _highest_unnamed(top: float, pairs: Parameters) -> float:
    """The highest level up to `top` that no pair names, 0 if there is none."""
    named = {level for level, _ in pairs}
    while top > 0 and top in named:
        top -= 1.0
    return max(top, 0.0)


PREFERENCES: tuple[tuple[str, Callable[[TopicPreferences], float], str], ...] = (
    ("num_prefs_poss", lambda topic: sum(group.counts.possible for group in topic.groups), "sum"),
    ("num_prefs_ful", lambda topic: _fulfilled(topic, "all"), "sum"),
    ("num_prefs_ful_ret", lambda topic: _fulfilled(topic, "both"), "sum"),
    ("simp", lambda topic: topic.simple("all"), "mean"),
    ("pair", lambda topic: topic.by_pair("all"), "mean"),
    ("avgjg", lambda topic: topic.by_group("all"), "mean"),
    ("avgjg_Rnonrel", lambda topic: topic.as_many_nonrelevant(False), "mean"),
    ("simp_ret", lambda topic: topic.simple("both"), "mean"),
    ("pair_ret", lambda topic: topic.by_pair("both"), "mean"),
    ("avgjg_ret", lambda topic: topic.by_group("both"), "mean"),
    ("avgjg_Rnonrel_ret", lambda topic: topic.as_many_nonrelevant(True), "mean"),
    ("simp_imp", lambda topic: topic.simple("one"), "mean"),
    ("pair_imp", lambda topic: topic.by_pair("one"), "mean"),
    ("avgjg_imp", lambda topic: topic.by_group("one"), "mean"),
)
"""Name, value and summary of the measures of preferences."""

TABLE: tuple[Entry, ...] = (
    Entry("runid", None, summary="runid", reads="any"),
    Entry("num_q", None, summary="num_q", reads="any"),
    Entry("num_ret", _count(1), summary="sum"),
    Entry("num_rel", _count(2), summary="sum"),
    Entry("num_rel_ret", _count(0), summary="sum"),
    Entry("map", _ours(ranked.AP)),
    Entry("gm_map", _log_of(_ours(ranked.AP)), summary="log"),
    Entry("Rprec", lambda lists, setting, _: _multiples(lists, setting, (1.0,))),
    Entry("bpref", _ours(incomplete.bpref)),
    Entry("recip_rank", _ours(first.RR)),
    Entry("iprec_at_recall", _interpolated, "points", ranked.ELEVEN),
    Entry("P", _cut(sets.P), "cutoffs", CUTOFFS),
    Entry("relstring", None, "numbers", (10.0,), "text"),
    Entry("recall", _cut(sets.R), "cutoffs", CUTOFFS),
    Entry("infAP", _ours(incomplete.infAP)),
    Entry("gm_bpref", _log_of(_ours(incomplete.bpref)), summary="log"),
    Entry("Rprec_mult", _multiples, "points", MULTIPLES),
    Entry("utility", _utility, "numbers", (1.0, -1.0, 0.0, 0.0)),
    Entry("11pt_avg", _average_interpolated, "numbers", ranked.ELEVEN),
    Entry("binG", _ours(trec.binG)),
    Entry("G", _g, "gains"),
    Entry("dcg", _gained(ranked.DCG), "gains", since=10),
    Entry("ideal_dcg", _gained(trec.ideal_dcg), "gains", since=10),
    Entry("ndcg", _gained(ranked.nDCG), "gains"),
    Entry("ndcg_rel", _ndcg_rel, "gains"),
    Entry("Rndcg", _rndcg, "gains"),
    Entry("ndcg_cut", _cut(ranked.nDCG), "cutoffs", CUTOFFS),
    Entry("map_cut", _cut(ranked.AP), "cutoffs", CUTOFFS),
    Entry("relative_P", _cut(trec.RelativeP), "cutoffs", CUTOFFS),
    Entry("success", _cut(sets.Success), "cutoffs", (1, 5, 10)),
    Entry("set_P", _ours(sets.P)),
    Entry("set_relative_P", _ours(trec.RelativeP)),
    Entry("set_recall", _ours(sets.R)),
    Entry("set_map", _ours(sets.SetAP)),
    Entry("set_F", _set_f, "numbers", (1.0,)),
    Entry("num_nonrel_judged_ret", _ours(trec.NumNonrelRet), summary="sum"),
    *(
        Entry(f"prefs_{name}", _preferences(value), summary=summary, reads="preferences")
        for name, value, summary in PREFERENCES
    ),
    Entry("map_avgjg", _over_judges(_ours(ranked.AP)), reads="groups"),
    Entry("P_avgjg", _over_judges(_cut(sets.P)), "cutoffs", CUTOFFS, reads="groups"),
    Entry("Rprec_mult_avgjg", _over_judges(_multiples), "points", MULTIPLES, reads="groups"),
    Entry("yaap", _ours(trec.yaap)),
    Entry("rbp", _rbp, "gains", since=10),
    Entry(
        "rbp_resid", lambda lists, _, pairs: [trec.rbp_resid(_persistence(pairs)[0]).evaluate(lists)], "gains", since=10
    ),
    Entry("unj", _cut(trec.unj), "cutoffs", (5, 10, 20), since=10),
)

_NAMES = [entry.name for entry in TABLE]


def _names(reads: str) -> tuple[str, ...]:
    return tuple(entry.name for entry in TABLE if entry.reads in (reads, "any"))


NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": tuple(_NAMES[: _NAMES.index("P") + 1]),
    "set": (*_NAMES[:5], "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
    "all_trec": tuple(name for name in _names("qrels") if name not in ("dcg", "ideal_dcg", "yaap")),
    "all_prefs": _names("preferences"),
    "prefs": _names("preferences")[:8],
    "qrels_jg": _names("groups"),
}


_FULFILLED = "Preferences that the list fulfils, of all that are possible"
_BY_GROUP = "The mean over groups of the preferences that the list fulfils, of those that are possible"
_BY_PAIR = "The mean over pairs of documents of the share of groups whose preference the list fulfils"
_BALANCED = "As prefs_avgjg, if every group had as many documents that are not relevant as relevant ones"
_BOTH, _ONE = "; only pairs with both documents retrieved.", "; only pairs with a retrieved document."

OWN = {
    "runid": "The name of the run: the last column of its file.",
    "num_q": "The number of topics.",
    "gm_map": "The geometric mean over topics of average precision, with values below 0.00001 raised to it.",
    "gm_bpref": "The geometric mean over topics of bpref, with values below 0.00001 raised to it.",
    "relstring": "The grades of the first documents as text: - is not in the pool, . is in the pool but not judged.",
    "Rprec_mult": "Precision at multiples of R, the number of relevant documents.",
    "prefs_num_prefs_poss": "The number of preferences that a list could fulfil.",
    "prefs_num_prefs_ful": "The number of preferences that the list fulfils.",
    "prefs_num_prefs_ful_ret": f"The number of preferences that the list fulfils{_BOTH}",
    "prefs_simp": f"{_FULFILLED}.",
    "prefs_simp_ret": f"{_FULFILLED}{_BOTH}",
    "prefs_simp_imp": f"{_FULFILLED}{_ONE}",
    "prefs_pair": f"{_BY_PAIR}.",
    "prefs_pair_ret": f"{_BY_PAIR}{_BOTH}",
    "prefs_pair_imp": f"{_BY_PAIR}{_ONE}",
    "prefs_avgjg": f"{_BY_GROUP}.",
    "prefs_avgjg_ret": f"{_BY_GROUP}{_BOTH}",
    "prefs_avgjg_imp": f"{_BY_GROUP}{_ONE}",
    "prefs_avgjg_Rnonrel": f"{_BALANCED}.",
    "prefs_avgjg_Rnonrel_ret": f"{_BALANCED}{_BOTH}",
    "map_avgjg": "Average precision, the mean over the judges of a topic.",
    "P_avgjg": "Precision at a rank, the mean over the judges of a topic.",
    "Rprec_mult_avgjg": "Precision at multiples of R, the mean over the judges of a topic.",
}
"""Measures that `cranfield eval` does not have."""


def explained(name: str) -> str:
    """What a measure of trec_eval is.

    >>> explained("recip_rank")
    'Reciprocal rank: one over the rank of the first relevant document.'
    """
    if name in OWN:
        return OWN[name]
    from cranfield.measures import parse

    return " ".join((type(parse(name)).__doc__ or "").strip().split("\n\n")[0].split())

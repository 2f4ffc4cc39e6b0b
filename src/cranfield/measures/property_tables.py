"""What tables say about measures: their properties, their families, what views do to them, and their scale.

Properties are tabulated as by Sakai 2014, in Fig. 6 for ranked lists and Fig. 7 for diversity. A family is a file whose
first line is its title and summary. The scale is the one answer that all verbs give, with the verdicts of Ferro &
Maistro 2024 §7.7, on the orders of lists by rank (RBTO) or by set (SBTO, or the sum of grades). They hold for a single
topic; across topics the step of the scale must also be the same.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from cranfield.errors import UsageError
from cranfield.measures.base import REGISTRY, Measure, Properties
from cranfield.measures.gain import Gain, number
from cranfield.measures.naming.parse import parse
from cranfield.views.by_intent import ByIntent, GlobalGain, Sharp
from cranfield.views.view import View

SHARED = {name: name.replace("_", "-") for name in ("normalised", "recall_free", "diminishing", "lengths")}
"""The rows of both figures, and their names here."""

RANKED = {"graded": "graded", **SHARED, "nonlinear": "nonlinear"}
"""The rows of Fig. 6. Discriminative power is left out: it depends on the runs as well."""

DIVERSE = {"graded": "intent grades", "intent_probabilities": "intent probabilities", **SHARED}
"""The rows of Fig. 7. The concordance test is left out: it depends on the runs as well."""

MEANINGS = {
    "graded": "a better grade can count more",
    "intent grades": "a better grade for an intent can count more",
    "intent probabilities": "intents are weighted by their probability",
    "normalised": "the best list scores 1 on every topic with relevant documents (for alpha-nDCG, nERR-IA and nNRBP "
    "the best list is found greedily, and another list can score more)",
    "recall-free": "the relevant documents that were missed need not be known",
    "diminishing": "a relevant document is worth less after another one (for the same intent), and never more",
    "lengths": "the lengths of documents or snippets count",
    "nonlinear": "readers who do not go straight down the list can be scored: by the text that they read (U), or by "
    "their moves (MP)",
}

READ_BY_INTENT = ("D-nDCG", "D#-nDCG", "D-Q", "D-U", "nDCG-IA", "Q-IA", "U-IA", "DIN-nDCG", "DIN#-nDCG", "P+Q#")
"""Diversity measures that are views of other measures: a few of very many."""


def properties_of(measure: Measure) -> Properties:
    """The properties of a measure, including what its views -IA, D-, DIN- and # change.

    >>> properties_of(parse("D#-nDCG")).intent_probabilities, properties_of(parse("nDCG-IA")).normalised
    (True, False)
    """
    properties = measure.properties
    for view in map(str, measure.split_views()[1]):
        if view == "IA":  # no list is ideal for all intents at once
            properties = properties.replace(normalised=False, intent_probabilities=True)
        if view in ("D", "DIN"):
            properties = properties.replace(intent_probabilities=properties.graded)
        if view == "DIN":  # the ideal list ignores types; which document serves an intent depends on those above it
            properties = properties.replace(normalised=False, diminishing=False, additive=False)
        if view == "#":  # an intent is found once: intent recall diminishes, and adding it to a sum keeps that
            diminishing = properties.diminishing or properties.additive
            properties = properties.replace(diminishing=diminishing, additive=False)
            if measure.cutoff is not None:  # with more intents than ranks, no list has all of them
                properties = properties.replace(normalised=False)
    return properties


UNKNOWN_IN_OTHER_LISTS = ("diminishing", "additive")
"""What a document is worth next to others depends on how the whole list is read."""


def property_values(measure: Measure) -> dict[str, Any]:
    """The properties by name; None where a view of the whole list leaves a property unknown.

    >>> plain, condensed = property_values(parse("P")), property_values(parse("P'"))
    >>> plain["additive"], condensed["additive"], condensed["recall_free"]
    (True, None, True)
    """
    unknown = UNKNOWN_IN_OTHER_LISTS if measure.split_views()[0] else ()
    return {**asdict(properties_of(measure)), **dict.fromkeys(unknown)}


def footnotes(names: Iterable[str]) -> tuple[str, ...]:
    """Notes that a table with these measures needs."""
    shown = tuple(names)
    caveats = {known: kind.caveat for known, kind in REGISTRY.items() if kind.caveat}
    return tuple(dict.fromkeys(caveats[known] for known in caveats if any(name.startswith(known) for name in shown)))


def lower_is_better(measure: str) -> bool:
    """Whether low scores are good; False for a name that is not a measure.

    Names can come from files of scores, so `module:name` imports nothing.

    >>> lower_is_better("AP"), lower_is_better("my own"), lower_is_better("this:s")
    (False, False, False)
    """
    return better_of(measure) == "lower"


def better_of(measure: str) -> str:
    """Which scores are good, `higher`, `lower` or `neither`; `higher` for a name that is not a measure."""
    try:
        return parse(measure).properties.better
    except UsageError:
        return "higher"


def range_of(measure: str) -> tuple[float, float] | None:
    """The lowest and the highest possible score, perhaps infinite; None for a name that is not a measure.

    >>> range_of("AP"), range_of("DCG@10"), range_of("my own")
    ((0.0, 1.0), (0.0, inf), None)
    """
    try:
        properties = parse(measure).properties
    except UsageError:
        return None
    return float(properties.low), float(properties.high)


def ranked() -> dict[str, Properties]:
    """Fig. 6: every measure except the diversity measures."""
    return {name: kind.properties for name, kind in REGISTRY.items() if kind.needs != "intents"}


def diverse() -> dict[str, Properties]:
    """Fig. 7: every diversity measure, and a few measures read by intent."""
    own = {name: kind.properties for name, kind in REGISTRY.items() if kind.needs == "intents"}
    return own | {name: properties_of(parse(name)) for name in READ_BY_INTENT}


ORDER = (
    "ranked_lists.sets", "ranked_lists.counts", "ranked_lists.ranked",
    "ranked_lists.graded", "ranked_lists.first", "ranked_lists.ncu", "readers.cwl",
    "readers.cwl_members", "ranked_lists.recall", "ranked_lists.estimates", "ranked_lists.compatibility",
    "ranked_lists.total_orders", "readers.time", "ranked_lists.incomplete", "ranked_lists.sampled",
    "several_needs.diversity", "several_needs.novelty", "several_needs.difficulty", "several_needs.multidimensional",
    "ranked_lists.trec",
)  # fmt: skip
"""The order of the families in lists; a family that is not named here comes last."""
OWN = "Measures of your own"


def title_and_summary(kind: type[Measure]) -> tuple[str, str]:
    """The title of a measure's family, and what its measures have in common.

    >>> title_and_summary(REGISTRY["AP"])
    ('Ranked lists, many relevant documents', 'measures for a reader who wants to find many.')
    """
    if not kind.__module__.startswith("cranfield."):
        return OWN, ""
    first = (inspect.getdoc(sys.modules[kind.__module__]) or kind.__module__).split("\n")[0]
    title, _, summary = first.partition(": ")
    return title.rstrip("."), summary


def by_family() -> dict[str, list[type[Measure]]]:
    """All measures, grouped by the module of their family, in the order of lists."""
    modules = dict.fromkeys(f"cranfield.measures.{family}" for family in ORDER)
    modules.update(dict.fromkeys(kind.__module__ for kind in REGISTRY.values()))
    families: dict[str, list[type[Measure]]] = {module: [] for module in modules}
    for kind in REGISTRY.values():
        families[kind.__module__].append(kind)
    return {module: kinds for module, kinds in families.items() if kinds}


VIEW_DESCRIPTIONS = {
    "-IA": "the list is scored once for each intent, with the grades for that intent, and the scores are averaged by "
    "intent probability: Σ_i Pr(i|q) {M}_i (Agrawal et al. 2009)",
    "D-": "a document's gains for all intents are added up, g(r) = Σ_i Pr(i|q) g_i(r), and the ideal list is ranked by "
    "this global gain (Sakai & Song 2011); `gain` says what a grade for an intent is worth",
    "DIN-": "a document's gains for all intents are added up, but a navigational intent j counts only at the first "
    "document relevant to it: g(r) = Σ_i Pr(i|q) g_i(r) + Σ_j isnew_j(r) Pr(j|q) g_j(r), where i are the informational "
    "intents; the ideal list is that of D- (Sakai 2012); `gain` says what a grade for an intent is worth. In Q "
    "and AP, a document whose navigational intents were all served above it, and that serves no other, is not relevant "
    "at its rank: I(r), which is J(r) in the paper, is 0 and C(r) does not count it, but R does. The paper leaves this "
    "open; NTCIREVAL's figures are the same",
    "#": "the measure is combined with intent recall: γ I-rec + (1 − γ) {M}, γ = {gamma} (`gamma`; Sakai & Song 2011)",
    "'": "unjudged documents are removed and the ranks closed up: r becomes the number of judged documents down to r "
    "(condensed lists, Sakai 2007); a negative grade is not a judgment unless a gain table has it",
    "[best]": "unjudged documents in the list count as judged with the highest grade, for every intent if there are "
    "intents; R and the ideal list grow with them",
    "[worst]": "unjudged documents in the list count as judged with grade 0",
    "[ties]": "the mean over all orders of documents with the same score, (1/n) Σ {M} over n orders (McSherry & Najork "
    "2008)",
    "[ties=best]": "documents with the same score are put in the best order: high grades first, or the order that "
    "scores best if more than grades counts",
    "[ties=worst]": "documents with the same score are put in the worst order: high grades last, or the order that "
    "scores worst if more than grades counts",
}
"""What a view does, by the way it is written in a name; {M} is the measure inside the view."""

WRITTEN = {"IA": "-IA", "D": "D-", "DIN": "DIN-", "#": "#", "condensed": "'"}
"""How a view is written in a measure's name; other views are written in brackets."""


def describe_views(measure: Measure) -> dict[str, str]:
    """The views of a measure in the order they apply: how each is written, and what it does.

    >>> from cranfield.measures.naming.parse import parse
    >>> list(describe_views(parse("D#-nDCG'@10")))
    ["'", 'D-', '#']
    """
    inner = measure.__dict__.get("inner")  # CAM and MM pass their views on to the measure inside
    descriptions = describe_views(inner) if isinstance(inner, Measure) else {}
    head, tail = measure.split_views()
    for view in (*head, *reversed(tail)):
        written = WRITTEN.get(str(view), f"[{view}]")
        gamma = number(view.gamma) if isinstance(view, Sharp) else ""
        text = VIEW_DESCRIPTIONS.get(written, "a view defined elsewhere")
        descriptions[written] = text.format(M=_inside(measure, view), gamma=gamma)
    return descriptions


def _inside(measure: Measure, view: View) -> str:
    """The name of what a view is applied to; for # that includes -IA, D- or DIN-."""
    if not isinstance(view, Sharp):
        return measure.name
    by_intent = tuple(view for view in measure.views if isinstance(view, GlobalGain | ByIntent))
    return str(type(measure)(views=by_intent))


OF_LISTS = "on the total orders of lists, by rank or by set"
"""The order that the verdict is relative to (Ferro & Maistro 2024 §7.7–7.8)."""
RATIO_GRADES = "the grades are on a ratio scale"
STEPS = {
    "length": "all lists have the same length",
    "relevant": "all topics have equally many relevant documents",
}
"""{what the step of a scale depends on: when it is the same for all topics}."""
SMALL = 1e-9


class ScaleType(NamedTuple):
    """The scale of a measure."""

    kind: str
    """`interval`, `ratio`, `not interval`, or `unknown` for a name that is not a measure."""
    conditions: tuple[str, ...] = ()
    """An interval scale only if all of these hold; they depend on the data, so they are not known here."""

    @property
    def holds(self) -> bool | None:
        """Whether it is an interval scale across topics, as means need; False if that depends on conditions."""
        return None if self.kind == "unknown" else self.kind != "not interval" and not self.conditions

    @property
    def verdict(self) -> str:
        """How to say it after "is" or "are".

        >>> scale_of("R@10").verdict
        'on an interval scale only if all topics have equally many relevant documents'
        """
        if self.kind == "unknown":
            return "on a scale that is not known"
        if self.kind == "not interval":
            return f"not on an interval scale, {OF_LISTS}"
        if self.conditions:
            return f"on an interval scale only if {' and '.join(self.conditions)}"
        return f"on {'a' if self.kind == 'ratio' else 'an'} {self.kind} scale, {OF_LISTS}"

    @property
    def lacking(self) -> str:
        """Why it is not an interval scale, after "... need an interval scale; AP is".

        >>> scale_of("AP").lacking, scale_of("R@10").lacking
        ('not on one', 'on one only if all topics have equally many relevant documents')
        """
        return f"on one only if {' and '.join(self.conditions)}" if self.conditions else "not on one"

    @property
    def words(self) -> str:
        """The kind with its conditions, for a cell of a table."""
        return f"{self.kind} if {' and '.join(self.conditions)}" if self.conditions else self.kind


def scale_of(measure: Measure | type[Measure] | str) -> ScaleType:
    """The scale of a measure, given as a measure or by its name.

    >>> scale_of("AP").holds, scale_of("P@10").holds, scale_of("my own").holds
    (False, True, None)
    >>> scale_of("RBP(p=0.5)").holds, scale_of("RBP").holds, scale_of('RBP(p=0.5, gain="linear")').conditions
    (True, False, ('the highest grade is 1', 'the grades are on a ratio scale'))
    """
    from cranfield.measures.naming.parse import parse
    from cranfield.measures.property_tables import properties_of

    try:
        parsed = parse(str(measure() if isinstance(measure, type) else measure))
    except UsageError:
        return ScaleType("unknown")
    properties = properties_of(parsed)
    if properties.scale == "interval iff p = 1/2":
        return _rank_biased(parsed)
    if not properties.scale.startswith(("interval", "ratio")):
        return ScaleType("not interval")
    conditions = [RATIO_GRADES] if properties.scale == f"interval iff {RATIO_GRADES}" else []
    steps = [part for part in STEPS if part in properties.step and not (part == "length" and parsed.cutoff is not None)]
    return ScaleType(properties.scale.partition(" ")[0], (*conditions, *(STEPS[part] for part in steps)))


def _rank_biased(measure: Measure) -> ScaleType:
    """RBP: p = 1/2; graded, p = G/(G + 1), where G is the smallest gap of gains as a share of the largest gain.

    With grades 0 to c on a ratio scale all gaps are 1/c, so p = 1/(c + 1).
    """
    p, gain = float(getattr(measure, "p", 0.0)), getattr(measure, "gain", None)
    if gain is None:
        return ScaleType("interval" if p == 0.5 else "not interval")
    worth = Gain.of(gain)
    if worth.kind == "table" and not worth.unlisted:
        gaps = np.diff([0.0, *sorted(gains for _, gains in worth.table if gains > 0)])
        even = len(gaps) > 0 and float(np.ptp(gaps)) <= SMALL * float(gaps.max())
        fits = even and abs(p - 1 / (len(gaps) + 1)) <= SMALL
        return ScaleType("interval", (RATIO_GRADES,)) if fits else ScaleType("not interval")
    highest = round(1 / p) - 1 if p > 0 else 0
    if highest < 1 or abs(p - 1 / (highest + 1)) > SMALL or (worth.kind == "exp" and highest > 1):
        return ScaleType("not interval")
    return ScaleType("interval", (f"the highest grade is {highest}", RATIO_GRADES))


def declared_scale(scale: str, step: str) -> str:
    """The scale of a measure with any parameters, from its `Properties`, for its page.

    >>> declared_scale("interval", "relevant").partition("; ")[2]
    'across topics only if all topics have equally many relevant documents'
    """
    means = [STEPS[part] + (" (without a cutoff)" if part == "length" else "") for part in STEPS if part in step]
    return f"{scale}, {OF_LISTS}" + (f"; across topics only if {' and '.join(means)}" if means else "")

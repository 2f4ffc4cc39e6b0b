"""The families of measures, each a file whose first line is its title and summary; and what views do to a measure."""

from __future__ import annotations

import inspect
import sys

from cranfield.measures.base import REGISTRY, Measure
from cranfield.measures.gain import number
from cranfield.views.by_intent import ByIntent, GlobalGain, Sharp
from cranfield.views.view import View

ORDER = (
    "ranked_lists.sets", "ranked_lists.contingency", "ranked_lists.counts", "ranked_lists.ranked",
    "ranked_lists.graded", "ranked_lists.first", "ranked_lists.ncu", "ranked_lists.ntcir", "readers.cwl",
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

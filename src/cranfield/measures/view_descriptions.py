"""How a measure's name is read: what each view in it does to the list or to the score, in a sentence."""

from __future__ import annotations

from cranfield.measures.base import Measure
from cranfield.measures.gain import number
from cranfield.views.by_intent import ByIntent, GlobalGain, Sharp
from cranfield.views.view import View

READINGS = {
    "-IA": "the list is scored once for each intent, by the grades for that intent, and the scores are averaged by "
    "intent probability: Σ_i Pr(i|q) {M}_i (Agrawal et al. 2009)",
    "D-": "a document's gains for all intents are taken together, g(r) = Σ_i Pr(i|q) g_i(r), and the ideal list is "
    "ranked by these (Sakai & Song 2011); `gain` says what a grade for an intent is worth",
    "DIN-": "a document's gains for all intents are taken together, but a navigational intent j counts only at the "
    "first document relevant to it: g(r) = Σ_i Pr(i|q) g_i(r) + Σ_j isnew_j(r) Pr(j|q) g_j(r), i being informational "
    "intents; the ideal list is that of D- (Sakai 2012); `gain` says what a grade for an intent is worth",
    "#": "intent recall beside the measure: γ I-rec + (1 − γ) {M}, γ = {gamma} (`gamma`; Sakai & Song 2011)",
    "'": "unjudged documents are removed and ranks closed up: r becomes the number of judged documents down to r "
    "(condensed lists, Sakai 2007)",
    "[best]": "unjudged documents of the list are read as judged, of the highest grade, for every intent where there "
    "are any; R and the ideal list grow with them",
    "[worst]": "unjudged documents of the list are read as judged, of grade 0",
    "[ties]": "the mean over all orders of the documents that have the same score, (1/n) Σ {M} over n orders (McSherry "
    "& Najork 2008)",
    "[ties=best]": "documents that have the same score are put in the best order: high grades first, or where more "
    "than grades counts the order that scores best",
    "[ties=worst]": "documents that have the same score are put in the worst order: high grades last, or where more "
    "than grades counts the order that scores worst",
}
"""What a view does, by how it is written; M is the measure that is read so."""

DIVIDES_BY_R = (
    'Sakai\'s {D}{M}@l divides by min(l, R): that is {D}{M}(norm="min")@l, and without norm="min" it divides by R'
)


def written(view: View) -> str:
    """How a view is written in a measure's name."""
    if isinstance(view, GlobalGain):
        return f"{view}-"
    if isinstance(view, Sharp):
        return "#"
    return view.mark or f"[{view}]"


def readings(measure: Measure) -> dict[str, str]:
    """How the list is read, view by view: as written, and what it means.

    >>> from cranfield.measures.naming.parse import parse
    >>> list(readings(parse("D#-nDCG'@10")))
    ["'", 'D-', '#']
    """
    within = measure.__dict__.get("inner")  # CAM and MM of a measure hand views on to that one
    found = readings(within) if isinstance(within, Measure) else {}
    head, tail = measure.split_views()
    for view in (*head, *reversed(tail)):
        mark = written(view)
        gamma = number(view.gamma) if isinstance(view, Sharp) else ""
        told = READINGS.get(mark, "a view of its own").format(M=_inner(measure, view), gamma=gamma)
        if isinstance(view, GlobalGain) and measure.__dict__.get("norm") == "R":
            told += f". {DIVIDES_BY_R.format(D=mark, M=measure.name)}"
        found[mark] = told
    return found


def _inner(measure: Measure, view: View) -> str:
    """What is scored within a view: the measure, with the views by intent that stand further in."""
    if not isinstance(view, Sharp):
        return measure.name
    by_intent = tuple(one for one in measure.views if isinstance(one, GlobalGain | ByIntent))
    return str(type(measure)().replace(views=by_intent))

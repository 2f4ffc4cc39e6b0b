"""A sentence about each measure of trec_eval, for `trec_eval -h -m NAME`."""

from __future__ import annotations

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

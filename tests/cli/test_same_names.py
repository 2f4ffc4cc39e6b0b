"""An option of a verb has the name that the parameter has in Python; a parameter of several values is a plural."""

from __future__ import annotations

from cranfield.cli import every_verb, find
from cranfield.cli.declare import all_settings, declared

SEVERAL = {
    "meta swap --size": "sizes",
    "meta correlate --coefficient": "coefficients",
    "meta robust --size": "sizes",
    "meta tests --test": "tests",
    "labels agree --coefficient": "coefficients",
}
"""The option takes one value and may be repeated; the parameter takes all of them, so it is a plural."""
WORDS_OF_PYTHON = {
    "convert --from": "from_",
    "meta study --import": "modules",
    "machine ppi --lambda": "tuning",
}
"""The option is a word that Python keeps for itself, so that no parameter can be called so."""
OPPOSITES = {
    "meta swap --disjoint": "replacement",
}
"""The option is a flag for what the parameter says is not so."""
LONGER = {
    "compare --effect-size": "effect",
    "compare --p-values": "method",
    "power --number-of-systems": "systems",
    "meta swap --bin-width": "width",
    "meta concord --gold-measure": "gold",
    "meta robust --confusions": "confusion",
    "meta scale --number-of-grades": "grades",
    "meta gtheory --wanted-coefficient": "target",
    "meta online --subsets": "draws",
    "pool build --least-probability": "least",
    "pool contributions --pool-depth": "depth",
    "pool simulate --leave-out-runs": "leave_out",
    "pool bias --pool-depth": "depth",
    "judge serve --grade-names": "grades",
    "judge serve --sharing": "share",
    "judge serve --document-order": "order",
    "log sessions --sessions": "by",
    "log preferences --preference-rule": "rules",
    "log demo --advantage": "effect",
    "log demo --needs": "topics",
    "interleave power --tied": "ties",
    "clicks fit --by-counting": "exact",
    "clicks fit --counted-clicks": "clicks",
    "clicks evaluate --by-counting": "exact",
    "clicks evaluate --counted-clicks": "clicks",
    "clicks simulate --simulated-sessions": "sessions",
    "clicks judgments --top-grade": "top",
    "collection sample-topics --sampling": "draw",
    "collection sample-topics --least-asked": "times",
    "collection sample-topics --least-users": "users",
    "labels agree --label-weights": "weights",
    "labels agree --rel": "relevant",
    "labels agree --resampled": "unit",
    "labels agree --intervals": "interval",
    "labels merge --label-ties": "ties",
    "labels merge --length-scale": "length",
    "labels assessors --next": "count",
    "labels assessors --label-ties": "ties",
    "labels assessors --length-scale": "length",
    "labels assessors --stop-rule": "stop",
    "labels assessors --margin-factor": "margin",
    "labels aware --weighting": "weights",
    "labels aware --weight-power": "power",
    "labels aware --relevant-rates": "rates",
    "machine audit --family-depth": "depth",
    "machine ppi --intervals": "interval",
    "answers citations --count": "counted_citations",
    "answers bleu --most-n": "most",
    "answers sessions --gains-from": "gains",
}
"""A word has one meaning in all verbs, so the option has a longer name; the parameter should follow. Add none here."""


def different() -> dict[str, str]:
    """{verb and option: parameter} where an option of a setting is not called like the setting."""
    out = {}
    for verb in every_verb():
        settings = all_settings(find(verb))
        for each in declared(find(verb)):
            names = {one.lstrip("-").removeprefix("no-").replace("-", "_") for one in each.spellings}
            if each.spellings and each.name in settings and each.name not in names:
                out[f"{verb} {each.spellings[0]}"] = each.name
    return out


def test_an_option_of_a_setting_is_called_like_the_parameter() -> None:
    assert different() == {**SEVERAL, **WORDS_OF_PYTHON, **OPPOSITES, **LONGER}


def test_a_parameter_of_several_values_is_the_plural_of_the_option() -> None:
    assert all(f"{option.partition('--')[2]}s" == name for option, name in SEVERAL.items())

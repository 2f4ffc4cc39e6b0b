"""The defaults of a text, where ours differ: `--as sakai2007`. `docs/defaults.md` gives the reasons for ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield import check

TEXTS = ("sakai2007", "sakai2013", "sakai2014", "course2015", "ferro2024")
SHARE = {"asl": "share"}
TESTS: Mapping[str, Mapping[str, Any]] = {
    "sakai2007": {"test": "bootstrap", "correction": "none", "resamples": 1000, **SHARE},
    "sakai2013": {"test": "randomised-tukey", "resamples": 5000, **SHARE},
    "sakai2014": {"test": "randomised-tukey", **SHARE},
    "course2015": {"test": "t", "correction": "none"},
    "ferro2024": {"test": "tukey"},
}
"""{text: {option: value}} of a verb that tests; none of them is set if the test is given."""
OF_TEST: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "course2015": {"wilcoxon": {"correction": "none", "continuity": 0.5}}
}
"""{text: {test: {option: value}}}, if that test is given."""
OTHERS: Mapping[str, Mapping[str, Any]] = {
    "sakai2007": {"coefficients": "tau-a"},
    "sakai2013": {"coefficients": "tau-a,tau-ap-symmetric"},
    "sakai2014": {"coefficients": "tau-a,tau-ap"},
}
"""{text: {option: value}} of every verb that has the option."""
MEASURES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "sakai2013": {
        "AP": {"norm": "min"},
        **{name: {"gain": "exp"} for name in ("nDCG", "Q", "P+", "P+Q")},
    },
    "sakai2014": {"AP": {"norm": "min"}},
    "course2015": {"nDCG": {"gain": "exp"}, "DCG": {"discount": "jk"}},
    "ferro2024": {"nDCG": {"discount": "jk"}, "DCG": {"discount": "jk"}},
}
"""{text: {measure: {parameter: value}}}. Sakai 2013 gives the grades 1, 2, 3 the gains 1, 3, 7 (§2.1)."""


def options_as(text: str, options: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    """Options as a text has them; those that were given stay, and only `known` options are set.

    >>> options_as("sakai2007", {"resamples": 50}, {"test", "asl", "resamples"})
    {'resamples': 50, 'test': 'bootstrap', 'asl': 'share'}
    >>> options_as("course2015", {"test": "wilcoxon"}, {"test", "correction", "continuity"})
    {'test': 'wilcoxon', 'correction': 'none', 'continuity': 0.5}
    """
    check.one_of("papers", TEXTS, text=text)
    values = dict(OTHERS.get(text, {}))
    if known & {"asl", "correction"}:  # otherwise, a test is something else
        given = options.get("test")
        values |= TESTS[text] if given is None else OF_TEST.get(text, {}).get(given, {})
    return {**options, **{name: value for name, value in values.items() if name in known and name not in options}}


def measure_as(text: str, name: str) -> str:
    """The name of a measure with the parameters of a text; parameters in the name stay.

    >>> measure_as("sakai2014", "AP@10"), measure_as("sakai2014", "AP(norm=R)@10"), measure_as("sakai2007", "AP@10")
    ('AP(norm="min")@10', 'AP@10', 'AP@10')
    """
    from cranfield.measures.naming.parse import parse

    check.one_of("papers", TEXTS, text=text)
    measure = parse(name)
    changes = MEASURES.get(text, {}).get(measure.name, {})
    if measure.name == "AP" and measure.cutoff is None:
        changes = {}  # without a cutoff, min(l, R) is R
    return str(measure.replace(**{key: value for key, value in changes.items() if f"{key}=" not in name}))

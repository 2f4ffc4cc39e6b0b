"""The classical analysis of repeated measures: each effect is tested against its interaction with the topics."""

from __future__ import annotations

import math
from typing import Any

from cranfield.comparison.anova.anova import TOTAL, Anova, Source, layout_for
from cranfield.comparison.anova.factors import TOPIC
from cranfield.comparison.anova.model import Model, terms_of
from cranfield.comparison.effects import omega_squared
from cranfield.comparison.test_result import Effect
from cranfield.errors import UsageError
from cranfield.frames import need

SPHERICITY = (
    "every effect is tested against its interaction with topics; this assumes sphericity: all differences between "
    "levels vary alike"
)


def repeated_measures(data: Any, measure: Any = None, *, factors: Any = None, across: str | None = None) -> Anova:
    r"""Topics × factors of systems, where every topic has a score for every combination of levels.

    .. math:: F_A = \frac{MS_A}{MS_{topic:A}}, \qquad F_{AB} = \frac{MS_{AB}}{MS_{topic:AB}}

    The topics are the subjects, a sample: an effect is large if it is large beside the way in which it differs between
    topics. The parameters are those of `anova`; all factors and all their interactions are in the model. Topics without
    a score for some combination are left out. With systems alone it is `two_way`. There is no correction for a lack of
    sphericity; `mixed` estimates the variances instead.

    Reference: Winer, Statistical Principles in Experimental Design, 1971, ch. 4 and 7

    >>> scores = {"a": [0.2, 0.3, 0.6], "b": [0.3, 0.5, 0.6], "c": [0.3, 0.3, 0.5], "d": [0.6, 0.5, 0.8]}
    >>> grid = {"run": ["a", "b", "c", "d"], "stemmer": ["no", "yes"] * 2, "model": ["tf", "tf", "bm25", "bm25"]}
    >>> print(repeated_measures(scores, "AP", factors=grid)["stemmer"])
    stemmer: F(1) = 121.0000, p = 0.0082, ω² = 0.909, large
    """
    layout = layout_for(data, measure, factors, across, None, None, None, "listwise")
    nested = [name for name, factor in layout.factors.items() if factor.parents]
    if nested:
        raise UsageError(
            f"repeated measures: {nested[0]} is nested in other factors; give one score per topic and combination"
        )
    if not layout.balanced:
        raise UsageError(
            f"{layout.measure}: some topic has no score for some combination of levels; use anova or mixed, which need "
            "not have all"
        )
    model = Model(layout, terms_of(layout, len(layout.factors)))
    sums = model.sums()
    rows = {
        term.name: Source(term.name, ss if ss > 1e-13 * sums.total_ss else 0.0, df, ss / df)
        for term, ss, df in zip(model.terms, sums.ss, sums.df, strict=True)
    }
    fdtrc = need("scipy.special", "an analysis of variance").fdtrc
    table: list[Source] = []
    for term in model.terms:
        row = rows[term.name]
        error = model.term([*term.factors, TOPIC])
        if TOPIC in term.factors or error is None:
            if term.factors == {TOPIC}:
                table.append(row)
            continue
        below = rows[error.name]
        f = row.ms / below.ms if below.ss > 0 else math.inf if row.ss > 0 else 0.0
        effect = omega_squared(f, row.df, layout.n) if math.isfinite(f) else Effect("ω²", 1.0, words="large")
        p = float(fdtrc(row.df, below.df, f)) if math.isfinite(f) else 0.0
        table += [Source(row.source, row.ss, row.df, row.ms, f, p, effect, below.source), below]
    table.append(Source(TOTAL, sums.total_ss, layout.n - 1))
    return Anova(tuple(table), layout.measure, "balanced", model, (*layout.notes, SPHERICITY))

"""Measures: do they rank the runs alike, and how many differences does each find?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.comparison.pair_tests import TESTS
from cranfield.errors import UsageError
from cranfield.meta.agreement.correlation import correlate
from cranfield.meta.stability.discrimination import discriminative_power
from cranfield.report.figures import describe_asl, describe_correlations
from cranfield.report.pages.report_parts import Block, FigureBlock, Section, TableBlock
from cranfield.report.run_report.experiment import Experiment
from cranfield.text import counted

RESAMPLES = 500
MOST_POINTS = 400
"""The most points of a curve of p-values; with more pairs, evenly spaced ones are drawn."""


def measures_section(experiment: Experiment) -> Section:
    """Kendall's τ of the rankings by all pairs of measures, and the discriminative power of each measure."""
    scores, settings = experiment.scores, experiment.settings
    if len(scores.runs) < 3:
        raise UsageError("there are fewer than three runs, so there are no rankings to compare")
    blocks: list[Block] = []
    text = []
    if len(scores.measures) > 1:
        agreement = correlate(scores, level=settings.level, resamples=RESAMPLES, seed=settings.seed)
        text.append("Agreement: Kendall's τ_b of the rankings of runs by each pair of measures; 1 is the same ranking.")
        blocks.append(FigureBlock("agreement", describe_correlations(agreement)))
        blocks.append(TableBlock("agreement_pairs", agreement.pairs(), "Agreement of measures"))
    else:
        text.append("The agreement of measures was not computed: it needs two measures or more.")
    # Resampling 8,000 pairs by all measures would take much longer than everything else.
    test = "t" if TESTS.find(settings.test).resampling else settings.test
    power = discriminative_power(scores, test=test, alpha=settings.alpha, seed=settings.seed)
    text.append(
        "Discriminative power: the share of pairs of runs that differ significantly by a measure. It says how "
        "consistent a measure is over topics, not whether it measures the right thing."
    )
    blocks.append(TableBlock("discriminative_power", power.table(), "Discriminative power", data=power.data()))
    curves = {name: np.sort(power.p_of(name)) for name in power.measures}
    pairs = len(next(iter(curves.values())))
    if pairs > 1:
        figure = describe_asl(curves, alpha=settings.alpha, test=f"{test} test, {counted(power.topics, 'topic')}")
        if pairs > MOST_POINTS:
            kept = np.unique(np.linspace(0, pairs - 1, MOST_POINTS).astype(int))
            rows = np.concatenate([kept + pairs * at for at in range(len(curves))])
            thinned = {name: column[rows] for name, column in figure.data.items()}
            text.append(f"The curves have {len(kept)} of {pairs:,} points, evenly spaced.")
            figure = replace(figure, data=thinned)
        blocks.append(FigureBlock("p_values", figure))
    return Section("measures", "Measures", tuple(text), (), tuple(blocks))

"""The methods in a paragraph for a paper, with citations."""

from __future__ import annotations

from collections.abc import Callable

from cranfield import __version__
from cranfield.comparison.pair_tests import TESTS
from cranfield.errors import CranfieldError
from cranfield.report.pages.report_parts import Section
from cranfield.report.run_report.citations import (
    BY_CORRECTION,
    BY_TEST,
    METHODS_TEXT,
    bibtex,
    citations_of,
    cited,
    paragraph_blocks,
)
from cranfield.report.run_report.experiment import Experiment
from cranfield.table import escape_latex
from cranfield.text import counted

Cite = Callable[[tuple[str, str] | None], str]
"""Takes the key and the entry of a work, and returns its citation."""


def methods_section(experiment: Experiment) -> Section:
    """A paragraph in LaTeX with keys of citations, and the entries in BibTeX."""
    works: dict[str, str] = {}

    def cite(work: tuple[str, str] | None) -> str:
        if work is None:
            return ""
        works[work[0]] = work[1]
        return f"~\\cite{{{work[0]}}}"

    sentences = _sentences(experiment, cite)
    return Section("methods", "Methods", (METHODS_TEXT,), (), paragraph_blocks(sentences, works))


def _sentences(experiment: Experiment, cite: Cite) -> list[str]:
    scores, settings = experiment.scores, experiment.settings
    known = citations_of(scores.measures)
    measures = [f"{escape_latex(name)}{cite(known.get(name))}" for name in scores.measures]
    named = measures[0] if len(measures) == 1 else f"{', '.join(measures[:-1])} and {measures[-1]}"
    sizes = f"{counted(len(scores.runs), 'run')} on {counted(len(scores.topics), 'topic')}"
    sentences = [f"We evaluated {sizes} by {named}, computed with cranfield {escape_latex(__version__)}."]
    if experiment.runs and experiment.options.order in (None, "score"):
        broken = {
            "z-a": "broken by document identifier as trec\\_eval does",
            "a-z": "broken by document identifier in ascending order",
            "file": "kept in the order of the file",
        }[experiment.options.ties]
        sentences.append(f"Documents were ranked by score, with ties {broken}.")
    elif experiment.runs:
        rule = {"rank": "the rank in the file", "file": "their order in the file"}[str(experiment.options.order)]
        sentences.append(f"Documents were ranked by {rule}.")
    if scores.missing_rule == "zero" and scores.missing.any():
        sentences.append("Judged topics that a run lacks were scored as empty lists.")
    elif scores.missing.any():
        sentences.append("Judged topics that a run lacks were left out of its mean.")
    if len(scores.topics) > 1:
        percent = escape_latex(f"{settings.level:.0%}")
        sentences.append(f"Intervals of means are {percent} intervals by Student's $t$ over topics.")
    try:
        comparison = experiment.comparison
    except CranfieldError:
        return sentences
    test = TESTS.find(comparison.test)
    work = (BY_TEST[test.name], bibtex(BY_TEST[test.name])) if test.name in BY_TEST else cited(test.source, test.name)
    tested = (
        f"We compared {counted(comparison.comparisons, 'pair')} of runs by {escape_latex(experiment.measure)} with the "
    )
    tested += f"two-sided {escape_latex(test.name)} test{cite(work)} at $\\alpha = {comparison.alpha:g}$"
    if comparison.resamples:
        tested += f" ($B = {comparison.resamples}$ resamples, seed {comparison.seed})"
    if comparison.simultaneous:
        tested += ", which tests all pairs together"
    elif comparison.correction == "none":
        tested += ", without a correction for the number of comparisons"
    else:
        key = BY_CORRECTION.get(comparison.correction)
        work_of = None if key is None else (key, bibtex(key))
        tested += f", with the {escape_latex(comparison.correction)} correction{cite(work_of)} of the $p$-values"
    sentences.append(f"{tested}; {comparison.significant:,} of them differ significantly.")
    if len(scores.measures) > 1 and len(scores.runs) > 2:
        work_of = ("kendall1945", bibtex("kendall1945"))
        sentences.append(f"Agreement of measures is Kendall's $\\tau_b$ of the rankings of runs{cite(work_of)}.")
    if len(scores.runs) > 2:
        power = f"Discriminative power{cite(('sakai2006', bibtex('sakai2006')))}"
        sentences.append(f"{power} is the share of pairs of runs with $p \\le \\alpha$, without correction.")
    if settings.pool_depth is not None and experiment.runs:
        work_of = ("webber2009", bibtex("webber2009"))
        loss = f"the loss of a run without the documents that only it contributed{cite(work_of)}"
        sentences.append(f"The bias of the pool (depth {settings.pool_depth}) is {loss}.")
    return sentences

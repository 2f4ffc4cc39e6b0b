"""The methods of a report in a paragraph for a paper, with citations in BibTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cranfield import __version__
from cranfield.comparison.pair_tests import TESTS
from cranfield.errors import CranfieldError
from cranfield.evaluation.evaluator import as_measures
from cranfield.measures.base import Measure
from cranfield.report.pages.report_parts import Block, Content, ListingBlock
from cranfield.report.reports.experiment import Experiment
from cranfield.table import escape_latex
from cranfield.text import counted, enumerated, one_line

ENTRIES = {
    "jarvelin2002": (
        "article", "Kalervo J{\\\"a}rvelin and Jaana Kek{\\\"a}l{\\\"a}inen",
        "Cumulated gain-based evaluation of {IR} techniques",
        "journal = {ACM Transactions on Information Systems}, volume = {20}, number = {4}, pages = {422--446}", 2002,
        "10.1145/582415.582418",
    ),
    "buckley2005": (
        "incollection", "Chris Buckley and Ellen M. Voorhees", "Retrieval System Evaluation",
        "booktitle = {TREC: Experiment and Evaluation in Information Retrieval}, pages = {53--75}, "
        "publisher = {MIT Press}", 2005, "",
    ),
    "moffat2008": (
        "article", "Alistair Moffat and Justin Zobel",
        "Rank-biased precision for measurement of retrieval effectiveness",
        "journal = {ACM Transactions on Information Systems}, volume = {27}, number = {1}, pages = {2:1--2:27}", 2008,
        "10.1145/1416950.1416952",
    ),
    "student1908": (
        "article", "Student", "The probable error of a mean",
        "journal = {Biometrika}, volume = {6}, number = {1}, pages = {1--25}", 1908, "10.1093/biomet/6.1.1",
    ),
    "wilcoxon1945": (
        "article", "Frank Wilcoxon", "Individual comparisons by ranking methods",
        "journal = {Biometrics Bulletin}, volume = {1}, number = {6}, pages = {80--83}", 1945, "10.2307/3001968",
    ),
    "holm1979": (
        "article", "Sture Holm", "A simple sequentially rejective multiple test procedure",
        "journal = {Scandinavian Journal of Statistics}, volume = {6}, number = {2}, pages = {65--70}", 1979, "",
    ),
    "benjamini1995": (
        "article", "Yoav Benjamini and Yosef Hochberg",
        "Controlling the false discovery rate: a practical and powerful approach to multiple testing",
        "journal = {Journal of the Royal Statistical Society: Series B (Methodological)}, volume = {57}, number = {1}, "
        "pages = {289--300}", 1995,
        "10.1111/j.2517-6161.1995.tb02031.x",
    ),
    "kendall1945": (
        "article", "Maurice G. Kendall", "The treatment of ties in ranking problems",
        "journal = {Biometrika}, volume = {33}, number = {3}, pages = {239--251}", 1945, "10.1093/biomet/33.3.239",
    ),
    "sakai2006": (
        "inproceedings", "Tetsuya Sakai", "Evaluating evaluation metrics based on the bootstrap",
        "booktitle = {Proceedings of SIGIR 2006}, pages = {525--532}", 2006, "10.1145/1148170.1148261",
    ),
    "webber2009": (
        "inproceedings", "William Webber and Laurence A. F. Park", "Score adjustment for correction of pooling bias",
        "booktitle = {Proceedings of SIGIR 2009}, pages = {444--451}", 2009, "10.1145/1571941.1572018",
    ),
    "cohen1960": (
        "article", "Jacob Cohen", "A coefficient of agreement for nominal scales",
        "journal = {Educational and Psychological Measurement}, volume = {20}, number = {1}, pages = {37--46}", 1960,
        "10.1177/001316446002000104",
    ),
    "cohen1968": (
        "article", "Jacob Cohen",
        "Weighted kappa: nominal scale agreement with provision for scaled disagreement or partial credit",
        "journal = {Psychological Bulletin}, volume = {70}, number = {4}, pages = {213--220}", 1968, "10.1037/h0026256",
    ),
    "yilmaz2008": (
        "inproceedings", "Emine Yilmaz and Javed A. Aslam and Stephen Robertson",
        "A new rank correlation coefficient for information retrieval",
        "booktitle = {Proceedings of SIGIR 2008}, pages = {587--594}", 2008, "10.1145/1390334.1390435",
    ),
    "webber2010": (
        "article", "William Webber and Alistair Moffat and Justin Zobel",
        "A similarity measure for indefinite rankings",
        "journal = {ACM Transactions on Information Systems}, volume = {28}, number = {4}, pages = {20:1--20:38}", 2010,
        "10.1145/1852102.1852106",
    ),
}  # fmt: skip
"""{key: (type, authors, title, where, year, DOI)} of works that most reports cite.

Authors, titles, pages and years are those of the bibliographies of Sakai 2007 and 2014 and of Ferro & Maistro 2024
where these have them; Holm, Kendall and Cohen, and all DOIs, those of other published bibliographies.
"""

METHODS_TEXT = (
    "A paragraph for a paper. Check it against your experiment: it says how the numbers of this report were made."
)
BY_DOI = {entry[5]: key for key, entry in ENTRIES.items() if entry[5]}
BY_TEST = {"t": "student1908", "wilcoxon": "wilcoxon1945"}
BY_CORRECTION = {"holm": "holm1979", "bh": "benjamini1995", "benjamini-hochberg": "benjamini1995"}


def bibtex(key: str) -> str:
    """A known work in BibTeX.

    >>> print(bibtex("holm1979").splitlines()[0])
    @article{holm1979,
    """
    kind, authors, title, where, year, doi = ENTRIES[key]
    fields = [
        f"author = {{{authors}}}",
        f"title = {{{title}}}",
        *re.split(r", (?=\w+ = )", where),
        f"year = {{{year}}}",
    ]
    fields += [f"doi = {{{doi}}}"] if doi else []
    return f"@{kind}{{{key},\n  " + ",\n  ".join(fields) + "\n}"


def reference_of(measure: Measure) -> str:
    """The reference in the docstring of a measure; empty if there is none.

    >>> reference_of(as_measures("AP")[0])
    'Buckley & Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation in IR, 2005'
    """
    return _reference(type(measure).__doc__)


def _reference(docstring: str | None) -> str:
    text = re.search(r"References?: (.*?)(?:\n\s*\n|\Z)", docstring or "", re.DOTALL)
    return one_line(" ".join(text[1].split())) if text else ""


def cited_in(function: Callable[..., Any]) -> tuple[str, str] | None:
    """The key and the entry of the first work in the docstring of a function; None if it names none."""
    reference = _reference(function.__doc__)
    return cited(reference, function.__name__) if reference else None


def cited(reference: str, name: str) -> tuple[str, str]:
    """The key of the first work of a reference, and its BibTeX entry: a known work, or the reference as a note.

    >>> cited("Sakai, SIGIR 2006, doi:10.1145/1148170.1148261", "power")[0]
    'sakai2006'
    >>> print(cited("Smith & Jones, A Journal 3, 2031", "X@10")[1])
    @misc{smith2031,
      author = {Smith and Jones},
      note = {Smith \\& Jones, A Journal 3, 2031},
      year = {2031}
    }
    """
    first = reference.partition(";")[0].strip()
    doi = re.search(r"doi:(\S+?)[.,;]?$", first)
    if doi and doi[1] in BY_DOI:
        return BY_DOI[doi[1]], bibtex(BY_DOI[doi[1]])
    if first.startswith("Buckley & Voorhees, Retrieval System Evaluation"):
        return "buckley2005", bibtex("buckley2005")
    year = re.search(r"\b(1[89]|20)\d\d\b", first)
    authors = first.partition(",")[0]
    surname = re.sub(r"[^a-z]", "", authors.split()[0].casefold()) if authors else ""
    key = f"{surname or re.sub(r'[^a-z]', '', name.casefold()) or 'work'}{year[0] if year else ''}"
    note = re.sub(r",? ?doi:\S+$", "", first).replace("&", "\\&")
    fields = [f"author = {{{authors.replace(' & ', ' and ').replace(' et al.', ' and others')}}}", f"note = {{{note}}}"]
    fields += [f"year = {{{year[0]}}}"] if year else []
    fields += [f"doi = {{{doi[1]}}}"] if doi else []
    return key, f"@misc{{{key},\n  " + ",\n  ".join(fields) + "\n}"


def citations_of(measures: Iterable[str]) -> dict[str, tuple[str, str]]:
    """{measure: (key, entry)} of the measures that name a reference."""
    works = {}
    for name in measures:
        try:
            (measure,) = as_measures(name)
        except Exception:  # a score file may hold numbers under any name
            continue
        if reference := reference_of(measure):
            works[name] = cited(reference, name)
    return works


def methods_blocks(sentences: Iterable[str], keys: Iterable[str]) -> tuple[Block, ...]:
    """A paragraph in LaTeX, and the known works that it cites, in BibTeX."""
    return paragraph_blocks(sentences, {key: bibtex(key) for key in keys})


def paragraph_blocks(sentences: Iterable[str], entries: Mapping[str, str]) -> tuple[Block, ...]:
    """A paragraph in LaTeX, and the entries that it cites, in BibTeX, by key."""
    blocks = [ListingBlock("methods", " ".join(sentences), "Paragraph (LaTeX)", "tex")]
    if entries:
        text = "\n\n".join(entries[key] for key in sorted(entries))
        blocks.append(ListingBlock("references", text, "References (BibTeX)", "bib"))
    return tuple(blocks)


class Works(dict[str, str]):
    """The works that a paragraph cites: {key: BibTeX entry}."""

    def cite(self, work: tuple[str, str] | str | None) -> str:
        """The citation of a work, given as its key and entry, or as the key of a known one; None is not cited."""
        if work is None:
            return ""
        key, entry = (work, bibtex(work)) if isinstance(work, str) else work
        self[key] = entry
        return f"~\\cite{{{key}}}"


def methods_section(experiment: Experiment) -> Content:
    """A paragraph in LaTeX with keys of citations, and the entries in BibTeX."""
    works = Works()
    sentences = _sentences(experiment, works.cite)
    return Content((METHODS_TEXT,), blocks=paragraph_blocks(sentences, works))


def _sentences(experiment: Experiment, cite: Callable[[tuple[str, str] | str | None], str]) -> list[str]:
    scores, settings = experiment.scores, experiment.settings
    known = citations_of(scores.measures)
    measures = [f"{escape_latex(name)}{cite(known.get(name))}" for name in scores.measures]
    sizes = f"{counted(len(scores.runs), 'run')} on {counted(len(scores.topics), 'topic')}"
    sentences = [
        f"We evaluated {sizes} by {enumerated(measures)}, computed with cranfield {escape_latex(__version__)}."
    ]
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
    work = BY_TEST.get(test.name) or cited(test.source, test.name)
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
        known_as = cite(BY_CORRECTION.get(comparison.correction))
        tested += f", with the {escape_latex(comparison.correction)} correction{known_as} of the $p$-values"
    sentences.append(f"{tested}; {comparison.significant:,} of them differ significantly.")
    if len(scores.measures) > 1 and len(scores.runs) > 2:
        sentences.append(f"Agreement of measures is Kendall's $\\tau_b$ of the rankings of runs{cite('kendall1945')}.")
    if len(scores.runs) > 2:
        power = f"Discriminative power{cite('sakai2006')}"
        sentences.append(f"{power} is the share of pairs of runs with $p \\le \\alpha$, without correction.")
    if settings.pool_depth is not None and experiment.runs:
        loss = f"the loss of a run without the documents that only it contributed{cite('webber2009')}"
        sentences.append(f"The bias of the pool (depth {settings.pool_depth}) is {loss}.")
    return sentences

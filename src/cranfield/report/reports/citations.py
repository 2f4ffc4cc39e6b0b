"""The methods of a report in a paragraph for a paper, with citations in BibTeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from cranfield import __version__
from cranfield.comparison.pair_tests import TESTS
from cranfield.errors import CranfieldError
from cranfield.evaluation.evaluator import as_measures
from cranfield.measures.base import Measure
from cranfield.report.pages.report_parts import Block, Content, ListingBlock
from cranfield.report.reports.experiment import Experiment
from cranfield.scores.mean_intervals import score_range
from cranfield.table import escape_latex
from cranfield.text import counted, enumerated, one_line

METHODS_TEXT = (
    "A paragraph for a paper. Check it against your experiment: it says how the numbers of this report were made."
)
BY_TEST = {"t": "student1908", "wilcoxon": "wilcoxon1945"}
BY_CORRECTION = {"holm": "holm1979", "bh": "benjamini1995", "benjamini-hochberg": "benjamini1995"}


class Work(NamedTuple):
    """A work of `references.bib`."""

    key: str
    kind: str
    """What BibTeX calls it, such as `article`."""
    fields: dict[str, str]

    def bibtex(self) -> str:
        """The entry, a line per field."""
        fields = ",\n  ".join(f"{name} = {{{value}}}" for name, value in self.fields.items())
        return f"@{self.kind}{{{self.key},\n  {fields}\n}}"

    @property
    def surnames(self) -> list[str]:
        """The last words of the names of the authors, in plain letters."""
        return [plain_letters(author.split()[-1]) for author in self.fields["author"].split(" and ")]


@cache
def works() -> dict[str, Work]:
    """{key: work} of all works of `references.bib`, which has one a line."""
    text = files("cranfield.report.reports").joinpath("references.bib").read_text("utf-8")
    entries = re.findall(r"^@(\w+){(\w+), (.*)}$", text, re.MULTILINE)
    field = re.compile(r"(\w+) = {((?:[^{}]|{[^{}]*})*)}")
    return {key: Work(key, kind, dict(field.findall(fields))) for kind, key, fields in entries}


def plain_letters(text: str) -> str:
    """Text in small letters without accents, braces and signs, to compare titles and names by.

    >>> plain_letters('J{\\\\"a}rvelin') == plain_letters("Järvelin")
    True
    """
    return re.sub("[^a-z0-9]", "", unicodedata.normalize("NFKD", text).casefold())


def bibtex(key: str) -> str:
    """A known work in BibTeX.

    >>> print(bibtex("holm1979").splitlines()[0])
    @article{holm1979,
    """
    return works()[key].bibtex()


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
    """The key of the first work of a reference, and its BibTeX entry: a known work, or what the reference says of it.

    >>> cited("Sakai, SIGIR 2006, doi:10.1145/1148170.1148261", "power")[0]
    'sakai2006'
    >>> print(cited("Smith & Jones, On Y, A Journal 3(2), 2031", "X@10")[1])
    @article{smith2031,
      author = {Smith and Jones},
      title = {On Y},
      journal = {A Journal},
      volume = {3},
      number = {2},
      year = {2031}
    }
    """
    first = reference.partition(";")[0].strip().removeprefix("after ")
    work = known_work(first) or described_work(first, name)
    return work.key, work.bibtex()


DOI = re.compile(r",? ?doi:(\S+?)[.,;]?$")
YEAR = re.compile(r"\b(1[89]|20)\d\d\b")
AUTHORS = re.compile(r"(?!\d)(?:(?:[^,&]+, )*[^,&]+ & [^,(]+?(?=,| \d{4}|$)|[^,]+? et al\.|[^,]+?(?=,| \d{4}|$))")
CONFERENCE = re.compile(r"(?:in )?([A-Z][A-Za-z-]+) (\d{4})")
JOURNAL = re.compile(r"(.+?) (\d{1,3})(?:\(([^)]+)\))?")
PAGES = re.compile(r"(\d+)[-–](\d+)")
PROGRAM = "trec_eval"


def known_work(reference: str) -> Work | None:
    """The work of `references.bib` that a reference names, by its DOI, its title, or its authors and year."""
    doi, year, authors = DOI.search(reference), YEAR.search(reference), AUTHORS.match(reference)
    if doi is not None:
        return next((work for work in works().values() if work.fields.get("doi") == doi[1]), None)
    of_year = [work for work in works().values() if year is not None and work.fields["year"] == year[0]]
    text = plain_letters(reference)
    titled = [work for work in of_year if plain_letters(work.fields["title"]) in text]
    if titled or authors is None:
        return max(titled, key=lambda work: len(work.fields["title"]), default=None)
    surnames = [plain_letters(author.split()[-1]) for author in re.split(", | & ", authors[0])]
    same = [work for work in of_year if work.surnames == surnames]
    return same[0] if len(same) == 1 else None


def described_work(reference: str, name: str) -> Work:
    """A work with what a reference says: authors, title, venue, year and DOI.

    >>> described_work("Hull, The TREC-7 Filtering Track, 1998", "F").fields
    {'author': 'Hull', 'title': 'The TREC-7 Filtering Track', 'year': '1998'}
    """
    doi, year, authors = DOI.search(reference), YEAR.search(reference), AUTHORS.match(reference)
    who = authors[0] if authors is not None else ""
    surname = plain_letters(who.split(",")[0].split(" & ")[0].split()[-1]) if who else ""
    kind, fields = "misc", {"author": re.sub(", | & ", " and ", who.replace(" et al.", " and others"))}
    rest = DOI.sub("", reference[len(who) :]).strip(", ")
    parts = [part for part in rest.split(", ") if part != (year[0] if year else "")]
    title = []
    for part in parts:
        if held := CONFERENCE.fullmatch(part):
            kind, fields["booktitle"] = "inproceedings", f"Proceedings of {held[0].removeprefix('in ')}"
        elif pages := PAGES.fullmatch(part):
            fields["pages"] = f"{pages[1]}--{pages[2]}"
        elif part.startswith(PROGRAM):
            title.append(part)
            fields["howpublished"] = "\\url{https://github.com/usnistgov/trec_eval}"
        elif printed := JOURNAL.fullmatch(part):
            kind, fields["journal"], fields["volume"] = "article", printed[1], printed[2]
            fields |= {"number": printed[3]} if printed[3] else {}
        else:
            title.append(part)
    author = {"author": fields.pop("author")}
    fields = {**author, **({"title": ", ".join(title)} if title else {}), **fields}
    fields |= {"year": year[0]} if year else {}
    fields |= {"doi": doi[1]} if doi else {}
    key = f"{surname or plain_letters(re.sub('[^A-Za-z]', '', name)) or 'work'}{year[0] if year else ''}"
    key += "other" if key in works() else ""
    written = {name: value if name == "doi" else value.replace("&", "\\&") for name, value in fields.items()}
    return Work(key, kind, written)


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


def methods_texts(experiment: Experiment) -> list[str]:
    """The paragraph alone, and the entries that it cites, if there are any."""
    return [block.text for block in methods_section(experiment).blocks if isinstance(block, ListingBlock)]


def _of_means(experiment: Experiment, cite: Callable[[tuple[str, str] | str | None], str]) -> str:
    """How the intervals of the leaderboard are computed (`scores.mean_intervals`)."""
    scores = experiment.scores[experiment.measure]
    if score_range(experiment.measure, scores.values[0]) is None:
        hall = cited("Hall, On the Removal of Skewness by Transformation, JRSS B 54(1), 1992", "skewness")
        return f"by Student's $t$ over topics, corrected for skewness{cite(hall)}"
    weights = "with half a topic more at the end of the range of the measure"
    return f"by the Bayesian bootstrap{cite('rubin1981')} over topics, {weights}"


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
        sentences.append(f"Intervals of means are {percent} intervals {_of_means(experiment, cite)}.")
    try:
        comparison = experiment.comparison
    except CranfieldError:
        return sentences
    test = TESTS.find(comparison.test)
    work = BY_TEST.get(test.name) or cited(test.source, test.name)
    compared = f"{counted(comparison.comparisons, 'pair')} of runs"
    if settings.baseline is not None:
        compared = f"{counted(comparison.comparisons, 'run')} with the baseline {escape_latex(settings.baseline)}"
    tested = f"We compared {compared} by {escape_latex(experiment.measure)} with the "
    tested += f"two-sided {escape_latex(test.name)} test{cite(work)} at $\\alpha = {comparison.alpha:g}$"
    if comparison.resamples:
        tested += f" ($B = {comparison.resamples}$ resamples, seed {comparison.seed})"
    if comparison.simultaneous:
        tested += ", which tests all pairs together"
    elif comparison.correction == "none":
        tested += ", without a correction for the number of comparisons"
    else:
        known_as = cite(BY_CORRECTION.get(comparison.correction))
        tested += f", with the {escape_latex(comparison.correction.title())} correction{known_as} of the $p$-values"
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
